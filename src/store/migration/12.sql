-- What takes a change back carries a code that only Nod can make. Entries of before get theirs when the store is opened next,
-- if everything shows that nobody has changed them.
ALTER TABLE undo ADD COLUMN code TEXT NOT NULL DEFAULT '';
