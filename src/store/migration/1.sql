CREATE TABLE session (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    thinking TEXT NOT NULL,
    mode TEXT NOT NULL,
    folders TEXT NOT NULL, -- JSON array
    system_prompt TEXT,
    pinned INTEGER NOT NULL,
    head TEXT, -- the last message of the shown branch
    draft TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER -- hidden since then, purged later
) STRICT;

CREATE TABLE message (
    row INTEGER PRIMARY KEY, -- also the order of writing: a child's is greater than its parent's
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    -- Checked at the end: a long branch goes in one sweep with its session, not link by link.
    parent TEXT REFERENCES message (id) DEFERRABLE INITIALLY DEFERRED,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT, -- JSON
    error TEXT, -- JSON
    body TEXT NOT NULL -- IR message as JSON; last, because it may be long
) STRICT;
CREATE INDEX message_by_place ON message (parent, session, role);
CREATE INDEX message_by_session ON message (session);
CREATE INDEX message_streaming ON message (status) WHERE status = 'streaming';

-- Streamed text as it came; folded into its message when that ends. Holds only what grows at the moment, so it needs no
-- index, and every append writes the fewest pages.
CREATE TABLE message_chunk (
    row INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES message (row) ON DELETE CASCADE,
    is_reasoning INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- The ledger.
CREATE TABLE call (
    row INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    message TEXT REFERENCES message (id) ON DELETE CASCADE,
    status TEXT NOT NULL,
    call TEXT NOT NULL, -- IR call as JSON, arguments included
    args_hash TEXT NOT NULL,
    target TEXT,
    verdict TEXT,
    decider TEXT,
    reason TEXT,
    preview TEXT, -- JSON
    result TEXT, -- JSON
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    UNIQUE (session, id)
) STRICT;
CREATE INDEX call_by_message ON call (message);
CREATE INDEX call_unfinished ON call (status) WHERE status IN ('pending', 'waiting', 'running');

CREATE TABLE rule (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    effect TEXT NOT NULL,
    scope TEXT NOT NULL, -- JSON
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    hits INTEGER NOT NULL
) STRICT;
CREATE INDEX rule_by_session ON rule (session);

-- Files whose sensitive name the person has lifted for one session.
CREATE TABLE lifted (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

-- Full text; rowid is the row of the message or session. Chinese, Japanese and Korean go in as overlapping pairs.
-- Beginnings of one and two characters have an index of their own; three would write more than it is worth.
CREATE VIRTUAL TABLE message_text USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2'
);
CREATE VIRTUAL TABLE title_text USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2'
);
