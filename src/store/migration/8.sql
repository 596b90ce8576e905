-- What was typed for conversations that live on a server, by the session's id.
CREATE TABLE thread_draft (
    session TEXT NOT NULL PRIMARY KEY,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
