-- What takes changes back. The contents lie beside the database, under their hashes.
CREATE TABLE undo (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    call TEXT NOT NULL,
    message TEXT,
    operation TEXT NOT NULL,
    reverts TEXT, -- the entry that this one takes back
    place TEXT NOT NULL, -- JSON
    before TEXT NOT NULL, -- JSON
    after TEXT NOT NULL, -- JSON
    made_folders INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER
) STRICT;
CREATE INDEX undo_by_session ON undo (session);
CREATE INDEX undo_by_reverts ON undo (reverts) WHERE reverts IS NOT NULL;
CREATE INDEX undo_by_time ON undo (created_at);

-- Which contents an entry needs: what nobody needs is removed.
CREATE TABLE undo_image (
    undo INTEGER NOT NULL REFERENCES undo (row) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (undo, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX undo_image_by_hash ON undo_image (hash);
