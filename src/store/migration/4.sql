-- What a decision rested on (JSON), for the card and the audit.
ALTER TABLE call ADD COLUMN grounds TEXT;

-- Rules carry a code that only Nod can make; one without a session holds in all of them. Allow rules from before have no
-- code: they are asked for again. Whatever else was there stays and is shown as changed from outside.
CREATE TABLE sealed_rule (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT REFERENCES session (id) ON DELETE CASCADE,
    effect TEXT NOT NULL,
    scope TEXT NOT NULL, -- JSON
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    hits INTEGER NOT NULL,
    code TEXT NOT NULL -- HMAC over all other columns but the row
) STRICT;
INSERT INTO sealed_rule SELECT row, id, session, effect, scope, made_by, created_at, hits, '' FROM rule
    WHERE effect <> 'allow';
DROP TABLE rule;
ALTER TABLE sealed_rule RENAME TO rule;
CREATE INDEX rule_by_session ON rule (session);

-- The audit: only added to. The entry is the text that is hashed; what is searched for is read out of it, so that there is
-- nothing beside it that could say something else.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY, -- from 1, without gaps
    entry TEXT NOT NULL, -- JSON
    hash TEXT NOT NULL, -- SHA-256 over the hash before, the number and the entry
    time INTEGER AS (CASE WHEN json_valid(entry) THEN entry ->> '$.time' END) VIRTUAL,
    act TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.act' END) VIRTUAL,
    session TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.session' END) VIRTUAL,
    tool TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.tool' END) VIRTUAL,
    verdict TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.verdict' END) VIRTUAL,
    decider TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.decider' END) VIRTUAL,
    rule TEXT AS (CASE WHEN json_valid(entry) THEN entry ->> '$.rule' END) VIRTUAL
) STRICT;
CREATE INDEX audit_by_session ON audit (session);
CREATE INDEX audit_of_rules ON audit (rule) WHERE act IN ('rule-made', 'rule-revoked');
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;

-- Where the audit ends, with a code that only Nod can make: what is cut off at the end is noticed.
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    code TEXT NOT NULL
) STRICT;
