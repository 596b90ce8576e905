-- Every key costs each call: a dispatch is found by its call, and the open calls by their open dispatches.
CREATE TABLE tool_execution_new (
    owner TEXT NOT NULL, call TEXT NOT NULL, attempt_no BIGINT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL,
    connection TEXT NOT NULL, replica TEXT NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT,
    PRIMARY KEY (owner, call, attempt_no), FOREIGN KEY (owner, call) REFERENCES tool_call (owner, id) ON DELETE CASCADE
);
INSERT INTO tool_execution_new (owner, call, attempt_no, id, status, connection, replica, started_at, ended_at)
    SELECT owner, call, attempt_no, id, status, connection, replica, started_at, ended_at FROM tool_execution;
DROP TABLE tool_execution;
ALTER TABLE tool_execution_new RENAME TO tool_execution;
CREATE INDEX tool_execution_open ON tool_execution (replica) WHERE status = 'dispatched';
DROP INDEX tool_call_open;
