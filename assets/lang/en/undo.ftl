# undo

## What was changed, and where it stands
undo-created = created
undo-changed = changed
undo-folder-made = folder made
undo-deleted = deleted
undo-put-back = put back after a command
undo-state-begun = unknown
undo-state-done = done
undo-state-undone = undone
undo-state-redone = done again
undo-state-void = not done
undo-state-stale = no longer kept
undo-state-altered = changed outside Nod

## Actions
panel-changes = Changes
action-history = Show the history of changes
undo-undo = Undo
undo-redo = Redo
undo-turn = Undo this turn
undo-session = Undo everything in this chat
undo-history = History of changes
undo-history-line = What was changed in this chat, newest first. Old versions are kept for { $days } days.
undo-history-of = Changes of this file
undo-history-all = All files
undo-history-empty = Nothing has been changed in this chat.
undo-history-show = Show what changed in { $path }
undo-this-file = Only this file
undo-command = Commands cannot be undone
undo-stale = Can no longer be undone
undo-altered = What takes this back was changed outside Nod, or nothing vouches for it: it is neither undone nor done again.

## The question
undo-title-undo = Undo { $count ->
        [one] this change?
       *[other] { $count } changes?
    }
undo-title-redo = Redo { $count ->
        [one] this change?
       *[other] { $count } changes?
    }
undo-line = This is what it would change. Nothing has been changed yet, and it can be taken back too.
undo-line-changed = Something changed meanwhile: this is how it stands now. Look at it again.
undo-line-conflict = Somebody changed a file since. Choose for each; without a choice it stays as it is.
undo-planning = Looking at the files…
undo-executed-later = Something executes or obeys what this changes: git, a shell, a build, an editor or an agent. Go on only if you know what it does.
undo-preview = Preview of the change
undo-action-restore = puts the earlier version back
redo-action-restore = puts the undone version back
undo-action-remove = removes it
undo-action-remove-if-empty = removes the folder if it is empty
undo-action-nothing = is that way already
undo-action-conflict = was changed since
undo-action-follows = follows the choice above
undo-action-gone = the old version is no longer kept
undo-action-refused = refused
undo-choice-keep = Keep the file as it is
undo-choice-put-back = Put the earlier version back
redo-choice-put-back = Put the undone version back
undo-choice-remove = Remove it all the same
undo-choice-put-back-detail = What is there now is kept and can be brought back.
undo-choice-save-beside = Save the earlier version beside it
redo-choice-save-beside = Save the undone version beside it
undo-show-change-since = What was changed since
undo-show-step = What putting it back would change
undo-cancel = Cancel
undo-go-undo = Undo
undo-go-redo = Redo

## Short messages
notice-undone = Undone
notice-undone-many = { $count } changes undone
notice-undone-left = { $count } undone; { $left } stay as they are
notice-redone = Done again
notice-redone-many = { $count } changes done again
notice-redone-left = { $count } done again; { $left } stay as they are
notice-redo = Redo
notice-undo-nothing = Nothing was changed.
notice-undo-not-empty = The folder is not empty and stays: { $path }
notice-undo-failed = This could not be undone: { $path }

## Faults
fault-undo = This cannot be undone now.
fault-undo-missing = There is nothing here that could be undone or redone.
fault-undo-ambiguous = More than one change has an id that begins like this: give more of it.
fault-undo-altered = What takes this back was changed outside Nod, or nothing vouches for it, so nothing was done. Look at the file yourself.
fault-undo-space = The disk is full, so what is there now could not be kept and nothing was changed. Make room and try again.

## The command line
cli-undo-missing = There is no change with this id: { $id }. `nod undo list` shows all.
cli-undo-ambiguous = More than one change has an id that begins like this: { $id }
cli-undo-changed = Something changed while it was looked at, so nothing was done. Try again.
cli-undo-more-lines = … { $count } more lines: nod undo show { $id }
cli-undo-ask = Do it all the same? [y = yes; anything else: no]
cli-undo-declined = Nothing was done.
cli-undo-needs-yes = Nothing was done: this needs a yes, and nobody can be asked here. Look at it with `nod undo show`, then run it in a terminal or with --yes.
cli-undo-done = Undone: { $path }
cli-undo-redone = Done again: { $path }
cli-undo-nothing = It is that way already: { $path }
cli-undo-kept = Somebody changed it since, so it stays as it is: { $path }. Say --if-changed put-back or save-beside to have the other version.
cli-undo-not-empty = The folder is not empty and stays: { $path }
cli-undo-saved-beside = The other version lies at { $detail }
cli-undo-failed = Not done: { $path }. { $detail }

## Settings
settings-undo = Undo
settings-undo-days = Keep old versions for
settings-undo-days-help = In days. Older changes cannot be undone any more.
settings-undo-file = Largest file or folder that is kept
settings-undo-file-help = In MB. Before a larger one is changed, Nod says that it cannot be undone. Deleted ones go to the system’s trash.
settings-undo-space = Room for old versions
settings-undo-space-help = In MB. The oldest go first.
