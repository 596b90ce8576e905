-- Ids that clients choose are their user's own: two users may choose the same, and neither can tell. A dispatch belongs to
-- the process that waits for it. A deleted thread leaves its id: it is not used again, and late results for it are known.
CREATE TABLE thread_new (
    owner TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, parent TEXT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (owner, id)
);
INSERT INTO thread_new (owner, id, title, parent, created_at, updated_at)
    SELECT owner, id, title, parent, created_at, updated_at FROM thread;

CREATE TABLE run_new (
    owner TEXT NOT NULL, id TEXT NOT NULL, turn TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, place BIGINT NOT NULL,
    device TEXT, status TEXT NOT NULL, error TEXT, usage TEXT, replica TEXT,
    created_at BIGINT NOT NULL, ended_at BIGINT, PRIMARY KEY (owner, id), UNIQUE (owner, thread, place),
    FOREIGN KEY (owner, thread) REFERENCES thread_new (owner, id) ON DELETE CASCADE
);
INSERT INTO run_new (owner, id, turn, thread, place, device, status, error, usage, replica, created_at, ended_at)
    SELECT owner, id, turn, thread, place, device, status, error, usage, replica, created_at, ended_at FROM run;

CREATE TABLE message_new (
    owner TEXT NOT NULL, thread TEXT NOT NULL, place BIGINT NOT NULL, run TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (owner, thread, place),
    FOREIGN KEY (owner, thread) REFERENCES thread_new (owner, id) ON DELETE CASCADE
);
INSERT INTO message_new (owner, thread, place, run, body)
    SELECT thread.owner, message.thread, message.place, message.run, message.body
    FROM message JOIN thread ON thread.id = message.thread;

CREATE TABLE model_call_new (
    owner TEXT NOT NULL, thread TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (owner, thread, id),
    FOREIGN KEY (owner, thread) REFERENCES thread_new (owner, id) ON DELETE CASCADE
);
INSERT INTO model_call_new (owner, thread, id)
    SELECT thread.owner, model_call.thread, model_call.id FROM model_call JOIN thread ON thread.id = model_call.thread;

CREATE TABLE tool_call_new (
    owner TEXT NOT NULL, id TEXT NOT NULL, device TEXT NOT NULL, thread TEXT NOT NULL, run TEXT NOT NULL,
    tool TEXT NOT NULL, arguments TEXT NOT NULL, arguments_hash TEXT NOT NULL, status TEXT NOT NULL, output TEXT,
    error_code TEXT, error_message TEXT, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);
INSERT INTO tool_call_new (owner, id, device, thread, run, tool, arguments, arguments_hash, status, output, error_code,
        error_message, created_at, updated_at)
    SELECT owner, id, device, thread, run, tool, arguments, arguments_hash, status, output, error_code, error_message,
        created_at, updated_at FROM tool_call;

CREATE TABLE tool_execution_new (
    id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, call TEXT NOT NULL, attempt_no BIGINT NOT NULL,
    status TEXT NOT NULL, connection TEXT NOT NULL, replica TEXT NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT,
    UNIQUE (owner, call, attempt_no),
    FOREIGN KEY (owner, call) REFERENCES tool_call_new (owner, id) ON DELETE CASCADE
);
INSERT INTO tool_execution_new (id, owner, call, attempt_no, status, connection, replica, started_at, ended_at)
    SELECT tool_execution.id, tool_call.owner, tool_execution.call, attempt_no, tool_execution.status, connection,
        tool_call.replica, started_at, ended_at
    FROM tool_execution JOIN tool_call ON tool_call.id = tool_execution.call;

DROP TABLE tool_execution;
DROP TABLE tool_call;
DROP TABLE model_call;
DROP TABLE message;
DROP TABLE run;
DROP TABLE thread;
ALTER TABLE thread_new RENAME TO thread;
ALTER TABLE run_new RENAME TO run;
ALTER TABLE message_new RENAME TO message;
ALTER TABLE model_call_new RENAME TO model_call;
ALTER TABLE tool_call_new RENAME TO tool_call;
ALTER TABLE tool_execution_new RENAME TO tool_execution;

CREATE INDEX thread_by_owner ON thread (owner, updated_at);
CREATE INDEX run_alive ON run (replica) WHERE status = 'running';
CREATE INDEX message_by_run ON message (owner, run);
CREATE INDEX tool_call_by_thread ON tool_call (owner, thread);
CREATE INDEX tool_call_open ON tool_call (owner, id) WHERE status IN ('created', 'dispatched');
CREATE INDEX tool_execution_open ON tool_execution (replica) WHERE status = 'dispatched';

CREATE TABLE deleted_thread (owner TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (owner, id));

-- Of two connections of one device the one that was let in later counts, whichever process hears of which first.
ALTER TABLE used_ticket ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
CREATE INDEX used_ticket_place ON used_ticket (place);
