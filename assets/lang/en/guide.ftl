# The built-in guide: a small rule-based assistant, no AI model.

guide-hello = Hello! I am the built-in guide. There is no AI model behind me: I understand a few kinds of requests and carry them out with the same tools, questions and safety as a real model would.
guide-unknown = I did not understand that. I am the built-in guide, not an AI model, so I only know a few kinds of requests.
guide-examples = You can write for example:
guide-example-list = list the files in src
guide-example-read = read README.md
guide-example-find = find TODO in src
guide-example-write = create notes.txt with Hello
guide-example-folder = create a folder called drafts
guide-example-replace = replace Hello with Goodbye in notes.txt
guide-example-delete = delete notes.txt
guide-example-run = run ls -la
guide-examples-end = Looking is done at once. Before anything is changed, you are asked. For free conversation choose a model at the top of the window.

## Before a call
guide-will-list = I look at what is in { $path }.
guide-will-read = I read { $path }.
guide-will-find = I look for { $query } in { $path }.
guide-will-write = I write { $path }. You will see its content before it is written.
guide-will-folder = I make the folder { $path }.
guide-will-replace = I change { $path }. You will see the change before it is made.
guide-will-delete = I delete { $path }. You will be asked first.
guide-will-run = I run { $command }. You will be asked first.
guide-this-folder = the first allowed folder
guide-tools-off = The tools are switched off in this chat, so I can only talk. Switch them on in Settings, under Tools.
guide-tool-off = The tool { $tool } is switched off. You can switch it on in Settings, under Tools.

## After a call
guide-listed = { $count ->
    [0] { $path } is empty.
    [one] { $path } holds one entry:
   *[other] { $path } holds { $count } entries:
}
guide-listed-hidden = { $count ->
    [one] One more is left out because it may hold secrets.
   *[other] { $count } more are left out because they may hold secrets.
}
guide-more = { $count ->
    [one] … and one more, on the card above.
   *[other] … and { $count } more, on the card above.
}
guide-read = { $path }, { $count ->
    [0] an empty file.
    [one] one line:
   *[other] lines { $first } to { $last }:
}
guide-read-bytes = { $path }, { $size } bytes. It is not plain text; its content is on the card above.
guide-found-none = I found nothing for { $query }.
guide-found = { $count ->
    [one] One match in { $files ->
        [one] one file:
       *[other] { $files } files:
    }
   *[other] { $count } matches in { $files ->
        [one] one file:
       *[other] { $files } files:
    }
}
guide-found-names = { $files ->
    [one] One file:
   *[other] { $files } files:
}
guide-at-limit = There may be more: the search stopped at its limit.
guide-created-file = { $path } is there now ({ $size } bytes).
guide-overwrote-file = { $path } was replaced ({ $size } bytes).
guide-created-folder = The folder { $path } is there now.
guide-had-folder = The folder { $path } was already there.
guide-changed = { $path } was changed in { $count ->
    [one] one place.
   *[other] { $count } places.
}
guide-trashed = { $path } is in the trash now. You can restore it from there.
guide-deleted = { $path } is deleted.
guide-ran = The command ended well.
guide-ran-silent = The command ended well and printed nothing.
guide-ran-failed = The command ended with code { $code }.
guide-ran-killed = The command was ended before it was done.
guide-done = Done.

## When it did not work
guide-refused = You said no, so I changed nothing.
guide-refused-because = You said no, so I changed nothing. Your reason: { $reason }
guide-refused-by-rule = One of your rules refuses this, so I changed nothing.
guide-not-asked = This needs a yes that nobody gave, so I changed nothing.
guide-not-found = There is no { $path }. To see what is there, write: list
guide-out-of-scope = { $path } lies outside the folders that this chat may use. Add its folder at the top of the window first.
guide-closed = { $path } is closed to tools, because it may hold secrets or belongs to the system. That protects you, and nobody can be talked out of it.
guide-not-a-file = { $path } is a folder, not a file.
guide-not-a-folder = { $path } is a file, not a folder.
guide-not-empty = { $path } is not empty. To delete it with all that is in it, write: delete the folder { $path }
guide-binary = { $path } is not a text file.
guide-too-large = { $path } is too large. To read a part of it, write: read lines 1 to 100 of { $path }
guide-edit-missing = The text to replace is not in { $path }. Nothing was changed.
guide-edit-twice = The text to replace is in { $path } more than once. To change every place, write “replace all …”. Nothing was changed.
guide-changed-meanwhile = { $path } changed after you were asked, so nothing was done. Ask again to see it as it is now.
guide-command-denied = That command is one of those that are never run here.
guide-unconfined = Commands cannot be confined on this computer, so they are not run. You can change that in Settings, under Safety.
guide-not-allowed = The system does not allow that for { $path }.
guide-no-space = The disk is full. Nothing was changed.
guide-cancelled = That was stopped.
guide-timed-out = That took too long and was stopped.
guide-failed = That did not work ({ $code }): { $detail }
