-- What loosens beyond one chat carries codes too: one over the settings of safety and tools, one over the providers, one over
-- the servers that may call. They get theirs in this step, if everything shows that nobody has changed them.
CREATE TABLE seal (
    name TEXT NOT NULL PRIMARY KEY,
    code TEXT NOT NULL
) STRICT, WITHOUT ROWID;
