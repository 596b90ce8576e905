-- This machine only: nothing leaves for another host on behalf of the session.
ALTER TABLE session ADD COLUMN is_local_only INTEGER NOT NULL DEFAULT 0;

-- Token-like values that were found in what a session sends, by the hash of each: never the value itself.
CREATE TABLE secret (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id TEXT NOT NULL, -- SHA-256 of the value, hex
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    tail TEXT NOT NULL, -- its last characters, at most four
    is_released INTEGER NOT NULL, -- the person has it sent as it is
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

-- The calls and messages that hold each of them.
CREATE TABLE secret_place (
    session TEXT NOT NULL,
    secret TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (session, secret, place),
    FOREIGN KEY (session, secret) REFERENCES secret (session, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The hosts that a session has reached, or tried to.
CREATE TABLE contact (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    host TEXT NOT NULL,
    requests INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (session, host)
) STRICT, WITHOUT ROWID;
