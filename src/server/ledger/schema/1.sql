-- The ledger's tables, the same text for SQLite and PostgreSQL. Times are Unix milliseconds; JSON is text.
CREATE TABLE user_token (
    name TEXT NOT NULL, hash TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, revoked_at BIGINT
);
CREATE UNIQUE INDEX user_token_live ON user_token (name) WHERE revoked_at IS NULL;

CREATE TABLE used_ticket (jti TEXT NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL);
CREATE INDEX used_ticket_expiry ON used_ticket (expires_at);

CREATE TABLE replica (id TEXT NOT NULL PRIMARY KEY, seen_at BIGINT NOT NULL);

CREATE TABLE thread (
    id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, parent TEXT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE INDEX thread_by_owner ON thread (owner, updated_at);

CREATE TABLE run (
    id TEXT NOT NULL PRIMARY KEY, turn TEXT NOT NULL UNIQUE,
    thread TEXT NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    place BIGINT NOT NULL, owner TEXT NOT NULL, device TEXT, status TEXT NOT NULL, error TEXT, replica TEXT,
    created_at BIGINT NOT NULL, ended_at BIGINT, UNIQUE (thread, place)
);
CREATE INDEX run_alive ON run (replica) WHERE status = 'running';

CREATE TABLE message (
    thread TEXT NOT NULL REFERENCES thread (id) ON DELETE CASCADE, place BIGINT NOT NULL,
    run TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (thread, place)
);
CREATE INDEX message_by_run ON message (run);

CREATE TABLE model_call (
    thread TEXT NOT NULL REFERENCES thread (id) ON DELETE CASCADE, id TEXT NOT NULL, PRIMARY KEY (thread, id)
);

CREATE TABLE tool_call (
    id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, device TEXT NOT NULL, thread TEXT NOT NULL, run TEXT NOT NULL,
    tool TEXT NOT NULL, arguments TEXT NOT NULL, arguments_hash TEXT NOT NULL, status TEXT NOT NULL, output TEXT,
    error_code TEXT, error_message TEXT, replica TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE INDEX tool_call_by_thread ON tool_call (thread);
CREATE INDEX tool_call_open ON tool_call (replica) WHERE status IN ('created', 'dispatched');

CREATE TABLE tool_execution (
    id TEXT NOT NULL PRIMARY KEY, call TEXT NOT NULL REFERENCES tool_call (id) ON DELETE CASCADE,
    attempt_no BIGINT NOT NULL, status TEXT NOT NULL, connection TEXT NOT NULL, started_at BIGINT NOT NULL,
    ended_at BIGINT, UNIQUE (call, attempt_no)
);
