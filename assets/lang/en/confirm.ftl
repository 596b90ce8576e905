# confirm

## The question about one call
confirm-title-read = Read a file outside your folders?
confirm-title-list = List a folder outside your folders?
confirm-title-search = Search a folder outside your folders?
confirm-title-read-inside = Read a file?
confirm-title-list-inside = List a folder?
confirm-title-search-inside = Search a folder?
confirm-title-create = Create a file?
confirm-title-folder = Create a folder?
confirm-title-change = Change a file?
confirm-title-delete = Delete this?
confirm-title-delete-many = Delete a folder with everything in it?
confirm-title-command = Run a command?
confirm-place = { $place } of { $count } waiting
confirm-next = Next question
confirm-previous = Previous question
confirm-wide = Show over the whole window
confirm-narrow = Show smaller
confirm-fact-file = File
confirm-fact-folder = Folder
confirm-fact-in = Runs in
confirm-fact-place = Place
confirm-fact-link = Through
confirm-fact-allowed = Allowed in
confirm-fact-content = Content
confirm-fact-what = What
confirm-fact-starts = Starts
confirm-fact-limit = At most
confirm-fact-environment = Environment
confirm-fact-by = Asked by
confirm-fact-state = State
confirm-outside = outside every allowed folder
confirm-seconds = { $seconds ->
    [one] { $seconds } second, then it is stopped
   *[other] { $seconds } seconds, then it is stopped
}
confirm-by = { $model } · “{ $title }”
confirm-by-command-line = the command line
confirm-what-create = Create with { $lines ->
    [one] { $lines } line
   *[other] { $lines } lines
} ({ $size })
confirm-what-change = Replace the content: { $added ->
    [one] { $added } line
   *[other] { $added } lines
} added, { $removed } removed
confirm-what-replace = Replace all of its content
confirm-what-delete = Delete { $count ->
    [one] one entry
   *[other] { $count } entries
} ({ $size })
confirm-what-delete-at-least = Delete at least { $count } entries (at least { $size }): more than can be counted here
confirm-what-delete-one = Delete it
confirm-what-command = Run this command line in a shell
confirm-what-read = Read its content and give it to the model
confirm-what-list = List what is in it and give the names to the model
confirm-what-search = Search it and give what is found to the model
confirm-what-folder = Create it, with its parents where they are missing
confirm-new = new
confirm-exists = exists
confirm-unchanged = unchanged since read
confirm-changed = changed since it was read
confirm-never-read = not read before
confirm-undoable = can be undone
confirm-to-trash = goes to the trash
confirm-not-undoable = cannot be undone
risk-low = low risk
risk-medium = medium risk
risk-high = high risk
risk-critical = critical risk
confirm-asked-anew = This changed after you were asked. This is how it is now.
confirm-unconfined-detail = Unconfined: this command can do whatever you can do on this computer, also outside your folders.
confirm-deceptive = Some characters in here are invisible or look like others. They are shown as red escapes.
confirm-reason-outside = It lies outside your folders: only reading is possible, and you are asked each time.
confirm-reason-name = Its name says that it may hold secrets: “{ $part }”.
confirm-reason-hidden = Its name holds invisible characters, or spaces at an end: { $name }
confirm-reason-protected = Other programs run what is written here.
confirm-reason-hard-link = The file has other names too (hard links); a change here does not reach those.
confirm-reason-mount = It lies on another disk than its allowed folder.
confirm-reason-unseen = Places in its folders that Nod cannot look at, or cannot hold still: { $count } or more. Secrets there can be read, and files that something runs can be changed.
confirm-reason-linked = Files in these folders that have further names outside them: { $count } (such as { $path }). What the command writes into them changes there too.
confirm-reason-linked-uncounted = Not all files in these folders could be counted: { $count } or more have further names outside them. What the command writes into such a file changes there too.
confirm-reason-not-undoable = It cannot be undone: the old content is too large to be kept, or the disk is too full.
confirm-reason-unparsed = The command line could not be taken apart: read it with care.
confirm-reason-unremembered = This yes does not fix all that it starts: something may start that is not named here, or a script may change before it starts. No rule covers it.
confirm-reason-rule = A rule of this chat was changed from outside, so it is asked. Look at the rules at the right.
confirm-empty-file = (an empty file)
confirm-no-change = (the content stays as it is)
confirm-no-line-changes = (no line changes)
change-replaces = Replaces all that is there, which cannot be shown as text: { $what }.
change-becomes = What it becomes cannot be shown as text: { $what }.
change-encoding = The encoding changes from { $from } to { $to }.
change-last-break = The last line gets a line break.
change-no-last-break = The last line loses its line break.
unshown-binary = { $name }, { $bytes } bytes
unshown-data = unknown binary data, { $bytes } bytes
unshown-large = too large to show, { $bytes } bytes
unshown-not-kept = not kept, { $bytes } bytes
unshown-link = a link to { $name }
unshown-folder = a folder
confirm-empty-folder = (an empty folder)
confirm-empty-command = (an empty command)
confirm-show-whole = Show all of “{ $fact }”
confirm-show-less = Show less of “{ $fact }”
confirm-words-cut = … { $count } more characters: all of it is in the chat
confirm-scroll = Show what it would do: until then it cannot be allowed
confirm-typed = You were typing, so that press did not count. Press Ctrl+Enter again to allow.
confirm-preview = Preview
confirm-content = { $bytes } bytes · SHA-256 { $hash }
confirm-starts = { $path } as it is now (SHA-256 { $hash }…)
confirm-starts-until = { $path } as it is now (SHA-256 { $hash }…), unless another program changes it before it starts
confirm-starts-changeable = { $path }: its content may change before it starts (now SHA-256 { $hash }…)
confirm-starts-unknown = { $path } (not there, too large, or unreadable: its content is not known)
confirm-next-change = Next change
confirm-previous-change = Previous change
confirm-changes = { $count ->
    [one] 1 change
   *[other] { $count } changes
}
confirm-change-place = Change { $place } of { $count }
confirm-more-lines = { $count ->
    [one] 1 more line below
   *[other] { $count } more lines below
}
confirm-arguments = All arguments
confirm-show-arguments = All arguments
confirm-hide-arguments = Hide arguments
confirm-model-says = The model says: “{ $words }”
confirm-guide-says = The guide says: “{ $words }”
confirm-deny = Deny
confirm-deny-why = Deny and say why
confirm-deny-stop = Deny and stop
confirm-send-denial = Send
confirm-reason-field = Reason
confirm-reason-hint = Why not? The model reads this.
confirm-allow-session = Allow in this session
confirm-allow-once = Allow once
confirm-rules-heading = Until this chat is deleted, allow without asking:
confirm-dry-run = would have allowed { $allowed } of the last { $of } calls
confirm-deny-session = Deny, and always deny…
confirm-refusals-heading = Deny this, and from now on refuse in this chat:
confirm-dry-run-deny = would have refused { $denied } of the last { $of } calls
confirm-reads = { $count ->
    [one] { $count } read waits
   *[other] { $count } reads wait
}
confirm-allow-reads = Allow these { $count } reads once

