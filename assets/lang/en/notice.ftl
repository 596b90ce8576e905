# notice

## From the engine
notice-recovered-calls = Nod closed while calls were running: { $count }. Check their targets; none is run again by itself.
notice-rules-changed = Rules changed, added or removed from outside: { $count }. They allow nothing, and what they may have refused is refused, until you remove them in the chat's panel or in Settings. `nod audit --verify` shows where they were made.
notice-grounds-changed = Changed from outside while Nod was closed: { $count } chats or opened protected files. Those chats ask before every call, have no folder and reach this machine only, and those files are closed, until you set them anew in the chat's panel.
notice-sessions-unproven = An older Nod kept these chats without anything that shows that nobody has changed them since: { $count }. They ask before every call, have no folder and reach this machine only, until you set them anew in the chat's panel.
notice-releases-changed = Masked values that something other than Nod had sent as they are: { $count }. They are masked again.
notice-undo-changed = Entries of the history of changes that were changed outside Nod, or that nothing vouches for: { $count }. They are shown as such, and neither undone nor done again.
notice-settings-changed = Settings of safety or tools were changed from outside while Nod was closed. The strictest hold: new chats ask before every call, have no folder, and tools are off, until you choose anew in Settings.
notice-providers-changed = Providers were changed from outside while Nod was closed. All of them count as elsewhere now, so secrets are masked for them. Look at their addresses in Settings, and save each that is right.
notice-servers-changed = Servers of the device link were changed from outside while Nod was closed. All of them are paused. Look at their folders in Settings before you let them go on.
notice-settings-unproven = An older Nod kept the settings of safety and tools without anything that shows that nobody has changed them since. The strictest hold in their place, until you choose anew in Settings.
notice-providers-unproven = An older Nod kept the providers without anything that shows that nobody has changed them since. All of them count as elsewhere until you save them anew in Settings.
notice-servers-unproven = An older Nod kept the servers of the device link without anything that shows that nobody has changed them since. All of them are paused until you let them go on in Settings.
notice-repaired = Other users of this computer could read Nod's own files, and now cannot: { $count }, the first of them { $path }. If others use this computer, treat what they hold as seen.
notice-audit-changed = The record of decisions was changed from outside, or its key was lost. Panel “Audit” or `nod audit --verify` shows where; look through your rules, as a refusal may be missing.
notice-look-put-back = A command was running when Nod closed. What something would execute later was put back; undo brings it back: { $paths }
notice-look-left = A command was running when Nod closed. It changed what something executes later, and that could not be put back: look at { $paths }
notice-look-later = A command was running when Nod closed. This changed after the command had ended, so it stays as it is: { $paths }
notice-look-gone = A command was running when Nod closed, and its folder is no longer there: { $paths }. Where you moved it to, look for what the command may have left in .git, and delete the file .git/commondir if all it says is “.”
notice-look-unseen = A command was running when Nod closed. Not all of its folders could be checked: { $paths }
notice-waits-for-other = A call waits: another one is under way in the same folders, and one of the two starts from a script that must not be exchanged meanwhile.
notice-folder-disk = This is a whole disk. Nod can read all of it except the blocked places: { $path }
notice-folder-home = This is a home folder. Secrets in it stay blocked, but a smaller folder is safer: { $path }
notice-folder-holds-blocked = Some places in this folder stay blocked: { $path }

## Short messages that need no answer
notice-undo = Undo
notify-answer = Nod waits for your answer
notify-ended = { $program }: the answer is ready
notify-failed = { $program }: the answer broke off
notice-question-expired = A question waited too long without an answer and was refused. The card in the chat shows which.
notice-question-locked = The screen was locked while a question waited, so it was refused. The card in the chat shows which.
notice-session-deleted = “{ $title }” was deleted
notice-sessions-deleted = Chats deleted: { $count }
notice-prompt-deleted = The prompt “{ $name }” was deleted
notice-exported = Exported to { $path }
notice-backed-up = Backed up to { $path }
notice-imported = Chats imported: { $count }
notice-provider-switched = { $to } answers now instead of { $from }.
notice-model-downloaded = { $model } was downloaded
notice-choose-model = Choose a model first; your text is still there.
notice-engine-busy = Too much at once: this was not taken. Try again in a moment.
notice-setting-refused = This setting does not take that value.
notice-attach-unreadable = { $name } cannot be read
notice-attach-large = { $name } is too large to attach. Make it smaller first.
notice-no-folder = No folder is allowed in this chat yet. Add one, and the files in it can be read.
notice-open-failed = No program on this computer opens { $path }
notice-attach-binary = { $name } is neither text nor an image that models take
notice-attach-damaged = { $name } is a damaged image and cannot be read
notice-server-masked = Secrets masked in the attached files: { $count }. This server's model is not on this computer. To send one all the same, type it yourself.
notice-attach-kind = { $name } is an image of a kind that models do not take. Save it as PNG or JPEG and attach that.

