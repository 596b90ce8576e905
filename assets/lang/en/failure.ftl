# failure

## What is kept: the data folder and its database
store-read-only = The data folder cannot be written to, so nothing is saved. Make it writable or choose another folder: { $path }
store-full = The disk is full, so this was not saved. Free some space and try again: { $path }
store-newer = Your data was written by a newer Nod. Nothing was changed. Update Nod, or open the data for reading only: { $path }
store-corrupt-in-place = The database is damaged. Restart Nod to set it aside: { $path }
store-corrupt = The database is damaged and was set aside, not deleted: { $aside }. There is no backup yet; you can start with an empty one.
store-corrupt-backup = The database is damaged and was set aside, not deleted: { $aside }. You can restore the last backup ({ $backup }) or start with an empty one.
store-locked = Another Nod is using this data folder. Use that one, or close it and try again: { $path }
store-untrusted-link = The data was not opened because a link stands in its place. Put the real file there: { $path }
store-untrusted-not-a-file = The data was not opened because something else than a file stands in its place: { $path }
store-untrusted-owner = The data was not opened because it belongs to another user. Choose another folder: { $path }
store-untrusted-database = This database belongs to another program and was not opened. Choose another folder: { $path }
store-untrusted-schema = The database holds “{ $name }”, which Nod did not make, and was not opened: { $path }
store-missing = This is not there any more: { $id }
store-conflict = This is already there or already done: { $id }
store-format = A stored value cannot be read. { $detail }
store-import = This file cannot be imported. { $detail }
store-io = Saving or reading failed. { $detail }
store-closed = The data is closed already. Start Nod again.

## Commands that could not be done
fault-no-session = This chat is not there any more.
fault-no-message = This message is not there any more.
fault-not-an-answer = Only an answer can be made anew.
fault-nothing-to-continue = There is nothing to go on from.
fault-busy = This chat is still working. Stop it first, or wait until it is done.
fault-turn-broken = This answer broke off because of a fault in Nod. What had come is kept; try again.
fault-queue-full = Too many messages wait in this chat already. Wait until some are answered.
fault-folder = This folder cannot be opened: { $path }
fault-folder-blocked = This folder is closed to Nod’s tools and was not added: { $path }
fault-export = The chat could not be written to this file: { $path }
fault-import = This file could not be read as a chat: { $path }
fault-setting-unknown = There is no setting of this name: { $key }
fault-setting-value = This setting does not take that value: { $key }

### window begin
## Nod could not start
fault-start-read-only = Nod cannot write to its data folder
fault-start-read-only-detail = Nothing can be saved in { $folder }. Make the folder writable, or choose another one.
fault-start-newer = Your data was written by a newer Nod
fault-start-newer-detail = Nothing in { $folder } was changed. Update Nod, or use another folder.
fault-start-no-space = The disk is full
fault-start-no-space-detail = There is no room left for { $folder }. Free some space and try again, or choose another folder.
fault-start-corrupt = Nod's database is damaged
fault-start-corrupt-detail = The data in { $folder } cannot be read. Nothing is deleted. Try again, or choose another folder.
fault-start-locked = Nod is already running
fault-start-locked-detail = Another Nod uses { $folder }. Close it and try again, or choose another folder.
fault-start-failed = Nod could not start
fault-start-failed-detail = Something went wrong with { $folder }. Try again, or choose another folder.
fault-start-retry = Try again
fault-start-other = Choose another folder…
fault-start-unsaved = Go on without saving
fault-start-unsaved-detail = Without saving, everything of this run is gone when the window closes.
### window end
