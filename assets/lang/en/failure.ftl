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

## Answers and downloads that failed
error-network-timeout = The model’s server did not answer in time. Try again, or choose a smaller model.
error-network = The connection to the model’s server failed. Check the address and the network, then try again.
error-auth-invalid = The server does not accept the key or sign-in. Check it in Settings.
error-auth-expired = The key or sign-in has expired. Renew it in Settings.
error-rate-limited = Too many requests at once. Wait a moment and try again.
error-quota-exceeded = The account’s limit is used up. Raise it, or choose another model.
error-model-overloaded = The server is overloaded. Try again in a moment.
error-model-not-found = This model is not there, or none is chosen. Choose one, or download it in Settings › Models.
error-context-length-exceeded = The conversation is longer than the model can read. Start a new chat, or give the model a larger context.
error-output-length-exceeded = The answer reached the longest that the model may write, and ends here.
error-content-filtered = The server held the answer back. Ask in another way.
error-parse = What came could not be read. Try again. { $detail }
error-invalid-response = The server’s answer could not be used. Try again, or choose another model. { $detail }
error-max-iterations = Stopped: the limit of rounds is reached, or the model kept repeating itself. Continue goes on from here.
error-user-aborted = Stopped. What had come is kept.
error-timeout = This took longer than allowed and was stopped. What had come is kept.
error-unknown = Something went wrong: { $detail }
error-not-saved = This could not be saved, so the answer ended here. { $detail }
error-address-refused = That address is not used. Check it in Settings › Models. { $detail }
error-setup = No request could be made. { $detail }
error-connection-refused = Nothing answers at the model’s address. Start the server (Ollama: `ollama serve`), or check the address in Settings › Models.
error-unknown-host = The server was not found. Check the address in Settings › Models.
error-connection-failed = There is no connection to the server. Check the network, then try again.
error-redirected = The server points to another address and was not followed. Check the address in Settings › Models.
error-first-byte-timeout = The server did not begin to answer in time. A large model may still be loading: try again.
error-idle-timeout = The server stopped in the middle of its answer. Try again.
error-disconnected = The connection broke during the answer. Try again.
error-too-large = The server’s answer is too large and was not taken.
error-tools-not-supported = This model cannot call tools. Choose one that can, such as qwen3, or switch the tools off to just chat.
error-thinking-not-supported = This model cannot think first. Set its thinking to off, or choose another model.
error-chat-not-supported = This model cannot chat. Choose another model.
error-model-not-pulled = Ollama does not have this model yet. Download it in Settings › Models, or choose another one.
error-sign-in = This model runs in Ollama’s cloud and needs a sign-in: run `ollama signin`.
error-not-ollama = Something answers at that address, but it is not Ollama. Check the address in Settings › Models (Ollama’s own is http://127.0.0.1:11434).
error-garbage = The server sent something that is not Ollama’s format. Check the address in Settings › Models, or try again.
error-image-unavailable = The attached image cannot be fetched. Attach the file itself instead.
error-no-such-model = There is no model of this name to download. Look for its name at https://ollama.com/library.

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

