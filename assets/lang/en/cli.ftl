# The command line

cli-engine-ended = The engine ended before the answer came. Please try again.
cli-engine-busy = The engine has too much to do to take this. Please try again.
cli-no-window = This build has no window. `nod --help` shows what it can do.
cli-no-display = The window cannot be opened here: { $detail }. It needs a display (DISPLAY or WAYLAND_DISPLAY) with OpenGL. Without one, use the command line: `nod --help`.
cli-handover-broken = The running Nod took this command and ended before it answered ({ $detail }). Look at its result before you try again.
cli-no-model = No model is chosen. Say --model NAME (`nod models` lists Ollama's), or try the built-in guide: --provider guide.
cli-no-provider = There is no provider named { $id }. Choose one of: { $known }.
cli-no-such-tool = There is no tool named { $tool }. `nod tools` lists them.
cli-folder-blocked = Closed to tools whatever you allow: { $path }
cli-folder-wide = This folder is very wide; what is closed to tools in it stays closed: { $path }
cli-cut-off = The answer was cut off at its longest; tool calls in it were not run.
cli-empty-answer = The model answered nothing.
cli-command-line = Command line
cli-folder-taken = Another Nod has been using this data folder for a minute and takes no commands. Wait until it is done, or choose another folder with --data-dir.
restore-done = The backup is in place. Its record has { $lines } lines, and a line that says that it was restored.
restore-left-behind = Lines that only the replaced database has: { $lines }
restore-aside = The replaced database is kept as { $path }
restore-from-elsewhere = It was made elsewhere: conversations and their texts came along. Their calls are shown as told by an imported file, and no change that was made there can be undone here. Rules count for nothing, chats ask before every call and have no folder, tools are off, providers count as elsewhere and servers are paused until you set them anew, and the record says that its beginning cannot be vouched for. Keys are never in a backup.
cli-bad-input = Standard input cannot be read as text: { $detail }
cli-empty-prompt = The prompt is empty. Say what you want, for example: nod exec "list the files here" --folder .
cli-bad-image = This image cannot be attached: { $path } ({ $detail })
cli-not-an-image = not an image file
cli-session-missing = No conversation has the id { $id }. `nod sessions list` shows all.
cli-no-hosts = No host was contacted on behalf of this conversation.
cli-hosts = Hosts contacted on behalf of this conversation:
cli-host = - { $host }: requests { $requests }, held back by the padlock { $refused }, bytes sent { $sent }, bytes received { $received }
cli-session-ambiguous = More than one conversation has an id that begins with { $id }. Say more of it.
cli-untitled = (no title)

cli-retrying = Attempt { $attempt } failed: { $detail } Trying again in { $seconds } s.
cli-switched = { $from } does not answer ({ $detail }); { $to } answers instead.
cli-shortened = The conversation is longer than the model can read. It was sent again without { $count } earlier messages, and with older calls cut.
cli-turn-denied = Denied and stopped.
cli-turn-stopped = Stopped.
cli-turn-limit = Stopped at a limit. Go on with: nod exec --session { $session } "go on"
cli-call-succeeded = ✓ { $tool } { $target }
cli-call-failed = ✗ { $tool } { $target } — { $detail }
cli-call-denied = ⊘ { $tool } { $target } — { $detail }
cli-call-cancelled = ⊘ { $tool } { $target } — cancelled
cli-call-unknown = ? { $tool } { $target } — the outcome is unknown: check the target

cli-ask-heading = { $tool } wants to work on { $target }
cli-ask-question = Allow { $tool } on { $target }? [y = yes, once; n = no, with a reason if you like; s = no, and stop] {""}
cli-ask-question-command = Allow { $tool } in { $target }? [y = yes, once; n = no, with a reason if you like; s = no, and stop] {""}
cli-ask-question-network = Allow { $tool } in { $target }? [y = yes, once; net = yes, and with the network; n = no, with a reason if you like; s = no, and stop] {""}
cli-ask-words = The model says, in its own words:
cli-ask-words-guide = The guide says:
cli-ask-words-cut = … { $count } more characters of it
cli-ask-folder = allowed in { $folder }
cli-ask-arguments = arguments: { $arguments }
cli-ask-limit = stopped after { $seconds } s
cli-ask-starts = starts { $path } as it is now (SHA-256 { $hash }…)
cli-ask-starts-until = starts { $path } as it is now (SHA-256 { $hash }…), unless another program changes it before it starts
cli-ask-starts-changeable = starts { $path }, whose content may change before it starts (now SHA-256 { $hash }…)
cli-ask-starts-unknown = starts { $path }, whose content is not known: it is not there, too large, or unreadable
cli-ask-environment = environment: { $variables }
cli-ask-expires = denied by itself after { $seconds } s
cli-ask-link = through the link { $link }
cli-ask-tree = { $count } entries, { $bytes } bytes
cli-ask-tree-at-least = at least { $count } entries, { $bytes } bytes: more than can be counted here
cli-ask-unconfined = Nothing confines this command: it can do whatever you can.
cli-ask-outside = This lies outside the allowed folders.
cli-ask-hidden = The name holds characters that cannot be seen, or spaces at an end; they are written as escapes here.
cli-ask-deceptive = Some characters in here are invisible or look like others: they are written as escapes.
cli-ask-protected = Something later executes this file.
cli-ask-hard-link = The file has other names (hard links).
cli-ask-other-mount = This lies on another file system than its folder.
cli-ask-not-undoable = This cannot be undone.
cli-ask-unparsed = The command line could not be taken apart: look at it closely.
cli-bad-moment = “{ $text }” is no moment: write a day like 2025-11-30, or a time like 2025-11-30T18:00

cli-can-tools = tools
cli-can-think = thinking
cli-can-see = images
cli-tool-on = on
cli-tool-off = off

doctor-data-folder = Data folder
doctor-database = Database
doctor-provider = Provider
doctor-confinement = Confinement of commands
doctor-display = Display
doctor-dialog = Folder dialog
doctor-mend-no-data-folder = The first start makes it.
doctor-mend-data-folder = Make the folder writable for you, or choose another with --data-dir.
doctor-mend-no-database = Nothing has been stored yet; the first start makes the database.
doctor-mend-database = Copy the data folder somewhere safe first. Beside nod.db there may be a backup (nod.db.backup-…) that can take its place.
doctor-mend-provider = For local models install Ollama from https://ollama.com and start it with `ollama serve`; another address is set with `nod config set models.ollama_url URL`.
doctor-mend-confinement = This system has nothing that Nod can confine commands with: run_command stays off until you switch it on, and every command is asked in red.
doctor-mend-no-bubblewrap = For the best confinement install bubblewrap (Debian, Ubuntu: sudo apt install bubblewrap; Fedora: sudo dnf install bubblewrap), then start Nod again.
doctor-mend-bubblewrap-failed = bubblewrap could not set up its namespaces: the system may forbid user namespaces (sysctl kernel.unprivileged_userns_clone, AppArmor), or this is a container.
doctor-mend-landlock = Confinement needs Landlock: Linux 5.13 or newer with “landlock” among its security modules (lsm=…), for tier B Linux 6.2 or newer.
doctor-mend-probe = The confinement did not stand its own test, so it is not used. Please report this with the line above.
doctor-mend-display = The window needs a display (DISPLAY or WAYLAND_DISPLAY); the command line works without.
doctor-mend-dialog = Neither a desktop portal nor zenity is there: folders are typed in Nod's own field.
