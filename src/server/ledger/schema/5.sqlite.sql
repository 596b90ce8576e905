-- SQLite alone, where a change costs as many pages as it touches, and keys of text lie all over theirs: calls have numbers,
-- and their dispatches go by those. The calls of a conversation are found by their ids, which begin with its own.
CREATE TABLE tool_call_new (
    number INTEGER NOT NULL PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, device TEXT NOT NULL,
    thread TEXT NOT NULL, run TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, arguments_hash TEXT NOT NULL,
    status TEXT NOT NULL, output TEXT, error_code TEXT, error_message TEXT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, UNIQUE (owner, id)
);
INSERT INTO tool_call_new (owner, id, device, thread, run, tool, arguments, arguments_hash, status, output, error_code,
        error_message, created_at, updated_at)
    SELECT owner, id, device, thread, run, tool, arguments, arguments_hash, status, output, error_code, error_message,
        created_at, updated_at FROM tool_call;
CREATE TABLE tool_execution_new (
    call INTEGER NOT NULL REFERENCES tool_call_new (number) ON DELETE CASCADE, attempt_no BIGINT NOT NULL,
    id TEXT NOT NULL, status TEXT NOT NULL, connection TEXT NOT NULL, replica TEXT NOT NULL,
    started_at BIGINT NOT NULL, ended_at BIGINT, PRIMARY KEY (call, attempt_no)
) WITHOUT ROWID;
INSERT INTO tool_execution_new (call, attempt_no, id, status, connection, replica, started_at, ended_at)
    SELECT tool_call_new.number, sent.attempt_no, sent.id, sent.status, sent.connection, sent.replica, sent.started_at,
        sent.ended_at
    FROM tool_execution AS sent
    JOIN tool_call_new ON tool_call_new.owner = sent.owner AND tool_call_new.id = sent.call;
DROP TABLE tool_execution;
DROP TABLE tool_call;
ALTER TABLE tool_call_new RENAME TO tool_call;
ALTER TABLE tool_execution_new RENAME TO tool_execution;
CREATE INDEX tool_execution_open ON tool_execution (status) WHERE status = 'dispatched';
