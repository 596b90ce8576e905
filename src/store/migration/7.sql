-- The device link. This installation has one name, for ever.
CREATE TABLE device (
    row INTEGER PRIMARY KEY CHECK (row = 1),
    id TEXT NOT NULL
) STRICT;

-- Servers that may call tools of this computer. Their calls are recorded in a session of their own, which no list shows.
CREATE TABLE link_server (
    row INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    key_origin TEXT, -- the origin that a token in the keyring was entered for
    is_paused INTEGER NOT NULL
) STRICT;

-- Calls that were taken in: a place is taken before anything runs, and a result stays until the server has it.
CREATE TABLE link_execution (
    server TEXT NOT NULL,
    tool_call TEXT NOT NULL,
    execution TEXT NOT NULL, -- the dispatch that was heard last
    arguments_hash TEXT NOT NULL,
    tool TEXT NOT NULL,
    path TEXT NOT NULL,
    reserved_at INTEGER NOT NULL,
    state TEXT NOT NULL, -- 'running' until it is over
    output TEXT, -- JSON; dropped when the server has it
    code TEXT,
    message TEXT,
    duration_ms INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    ended_at INTEGER,
    acked_at INTEGER,
    PRIMARY KEY (server, tool_call)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_execution_owed ON link_execution (server, ended_at) WHERE ended_at IS NOT NULL AND acked_at IS NULL;
CREATE INDEX link_execution_acked ON link_execution (acked_at) WHERE acked_at IS NOT NULL;
CREATE INDEX link_execution_running ON link_execution (state) WHERE state = 'running';

-- Sessions that belong to a server.
ALTER TABLE session ADD COLUMN server TEXT;
