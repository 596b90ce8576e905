-- What a run used, as its last event told it: JSON.
ALTER TABLE run ADD COLUMN usage TEXT;
