-- What a person has opened for a chat carries a code that only Nod can make, as rules do. Protected files that were opened
-- before have none and are closed again, and values that were sent as they are are masked again; chats get theirs when the
-- store is opened next.
DELETE FROM lifted;
ALTER TABLE lifted ADD COLUMN code TEXT NOT NULL DEFAULT '';
UPDATE secret SET is_released = 0;
ALTER TABLE secret ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN code TEXT NOT NULL DEFAULT '';
