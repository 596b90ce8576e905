-- A session that was forked has its calls from another one, and finds what takes them back by the call.
CREATE INDEX undo_by_call ON undo (call);
