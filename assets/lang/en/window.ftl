# window

## The window's own words
window-cancel = Cancel
window-close = Close
window-dismiss = Dismiss
window-drop = Drop to attach files, or to add a folder
window-loading = Loading

## Sidebar
sidebar-new-chat = New chat
sidebar-search = Search chats
sidebar-untitled = New chat
sidebar-pinned = Pinned
sidebar-today = Today
sidebar-yesterday = Yesterday
sidebar-last-week = Last 7 days
sidebar-older = Older
sidebar-running = running
sidebar-waiting = waiting for you
sidebar-failed = failed
sidebar-unsaved = not saved
sidebar-rename = Name of the chat
sidebar-searching = Searching…
sidebar-nothing-found = Nothing found
sidebar-found-title = In the title of the chat
session-rename = Rename
session-pin = Pin
session-unpin = Unpin
session-fork = Fork
session-export = Export…
session-delete = Delete

## Top bar
top-show-sidebar = Show sidebar
top-chat-menu = Chat menu
top-session-panel = Folders, mode and rules
top-locked = This machine only: nothing leaves it. Press to open the padlock
top-unlocked = Other machines can be reached. Press to close the padlock
top-model = Model
top-choose-model = Choose a model
top-no-model = no AI model
top-thinking = Thinking: { $level }
top-thinking-heading = How hard the model thinks
top-context = Context: { $used } of { $window } tokens
top-add-folder = Add folder
top-folders = { $count ->
    [one] { $count } folder
   *[other] { $count } folders
}
folder-open = Open in the file manager
folder-copy = Copy path
folder-remove = Remove from this chat
thinking-auto = Auto
thinking-off = Off
thinking-low = Low
thinking-medium = Medium
thinking-high = High
thinking-max = Max
provider-ollama = Ollama
provider-guide = Guide
picker-search = Search models
picker-refresh = Refresh the models
picker-loading = Asking for models
picker-tools = tools
picker-thinking = thinking
picker-images = images
picker-guide = Built-in guide (no AI model)
picker-no-tools = { $model } cannot use tools: it can only talk.
picker-manage = Manage models

## Composer
composer-message = Message
composer-hint = Message — Enter to send, @ for files, / for commands
composer-hint-ctrl = Message — Ctrl+Enter to send, @ for files, / for commands
composer-send = Send
composer-stop = Stop
composer-queue = Send next
composer-queued = Next:
composer-unqueue = Take this message back
composer-editing = Editing an earlier message
composer-cancel-edit = Stop editing
composer-attach = Attach files
composer-remove = Remove { $name }
mode-heading = What Nod asks you about
mode-every-call = Ask before every call
mode-changes = Ask before changes
mode-deletions = Ask before deletions
mode-automatic = Don't ask (not recommended)
mode-always = Deletions and commands are always asked.
slash-new = Start a new chat
slash-model = Choose the model
slash-folder = Add a folder
slash-mode = Change what is asked
slash-stop = Stop the answer
slash-continue = Go on from here
slash-fork = Copy this chat
slash-export = Export this chat
slash-settings = Open the settings
slash-help = Show all shortcuts

## Welcome
welcome-title = What should we work on?
welcome-promise = Nod reads, writes and searches in the folders you choose — and asks before it changes anything.
welcome-ollama-runs = Ollama is running
welcome-models-here = { $count ->
    [one] { $count } model on this computer
   *[other] { $count } models on this computer
}
welcome-models = { $count ->
    [one] { $count } model
   *[other] { $count } models
}
welcome-tools = { $model } can use tools
welcome-no-tools = { $model } cannot use tools
welcome-use = Use { $model }
welcome-using = Using { $model }
welcome-ollama-empty = Ollama is running, without a model
welcome-ollama-empty-detail = Download one to begin
welcome-download = Download a model
welcome-ollama-search = Looking for Ollama on this computer
welcome-ollama-missing = Ollama was not found
welcome-ollama-missing-detail = Nothing answers at { $url } — start it, or install it from ollama.com
welcome-again = Look again
welcome-cloud = Use a cloud model
welcome-cloud-detail = DeepSeek · Agnes · OpenAI · Anthropic · any compatible address
welcome-key = Add key
welcome-provider = { $name } is set up
welcome-guide = Just look around
welcome-guide-detail = Built-in guide, no AI model: try list, read, find, create, delete
welcome-start = Start
welcome-guide-chosen = Chosen
welcome-folder = Choose a folder
welcome-folder-chosen = Folder: { $folders }
welcome-folder-detail = Nothing outside it is ever changed
welcome-choose = Choose…
welcome-folder-more = Add another…

## The panel of a chat
panel-title = This chat
panel-folders = Allowed folders
panel-no-folders = None yet. Tools can only work in a folder that you add.
panel-first-folder = first
panel-first-folder-detail = Relative paths start here
panel-remove-folder = Remove { $folder }
panel-add-folder = Choose…
panel-type-folder = Type a path
panel-network = Network
panel-local-only = This machine only
panel-local-only-detail = Nothing that this chat does leaves this machine: answers, lists of models and images included.
panel-no-hosts = No host has been contacted yet.
panel-host = { $requests ->
    [one] { $requests } request
   *[other] { $requests } requests
} · { $sent } sent · { $received } received
panel-host-refused = { $count ->
    [one] { $count } request held back by the padlock
   *[other] { $count } requests held back by the padlock
}
panel-mode = Asks before
panel-sensitive = Protected files
panel-sensitive-detail = Files whose names speak of secrets (.env, keys) are closed to tools. You can open one of them to this chat, in an allowed folder; the model cannot ask for it.
panel-sensitive-lift = Open one file…
panel-sensitive-close = Close again: { $file }
panel-rules = Rules of this chat
panel-no-rules = None. “Allow in this session” makes one; it goes with the chat.
panel-rule-allow = Allowed without asking: { $rule }
panel-rule-deny = Always refused: { $rule }
panel-rule-by-modal = { $hits ->
    [one] Made when you were asked · used once
   *[other] Made when you were asked · used { $hits } times
}
panel-rule-by-panel = { $hits ->
    [one] Made here · used once
   *[other] Made here · used { $hits } times
}
panel-rule-by-settings = { $hits ->
    [one] made in the settings · decided { $hits } call
   *[other] made in the settings · decided { $hits } calls
}
panel-rule-broken = This rule was changed from outside.
panel-rule-broken-detail = Nod did not write it like this, so it allows nothing. If it was a refusal, everything of its tool is refused; and every other call is asked, until you remove it.
panel-remove-broken = Remove
panel-remove-broken-name = Remove the changed rule { $rule }
panel-standing-rules = { $count ->
    [one] One rule for every chat holds here too.
   *[other] { $count } rules for every chat hold here too.
}
panel-standing-open = Open the settings
panel-revoke = Revoke
panel-revoke-name = Revoke: { $rule }

## Rules as sentences
rule-exact = { $tool } with exactly these arguments, on { $target }
rule-file = { $tool } on { $file }
rule-like = { $tool } on { $pattern } directly in { $folder }
rule-tool = { $tool } anywhere in the allowed folders
rule-identical = { $tool }, only this very command, with the files it starts as they are now: { $command }

## A rule made by hand
rule-form-refuse = Always refuse something…
rule-form-add = Make a rule…
rule-form-effect = What the rule does
rule-form-deny = Always refuse
rule-form-allow = Allow without asking
rule-form-tool = Which tool
rule-form-place = Where
rule-form-anywhere = everywhere
rule-form-in-folder = files of one kind in one folder
rule-form-folder = Folder (absolute path)
rule-form-extension = Ending, for example md
rule-form-make-deny = Refuse from now on
rule-form-make-allow = Allow from now on
rule-form-cancel = Cancel
rule-form-allow-note = Only inside the allowed folders of a chat. Deletions, commands and files that other programs run are asked all the same.

## Command palette
palette-search = Search actions, chats and models
palette-nothing = Nothing of that name
action-new-chat = New chat
action-add-folder = Add a folder…
action-type-folder = Add a folder by its path
action-choose-model = Choose the model
action-session-panel = Folders, mode and rules of this chat
action-attach = Attach files…
action-stop = Stop the answer
action-edit-last = Edit your last message
action-fork = Fork this chat
action-pin = Pin this chat
action-unpin = Unpin this chat
action-lock = This machine only: close the padlock of this chat
action-unlock = Open the padlock of this chat
action-export = Export this chat…
action-delete = Delete this chat
action-import = Import a chat…
action-toggle-sidebar = Show or hide the sidebar
action-refresh-models = Refresh the models
action-settings = Settings
action-settings-models = Settings: Models
action-settings-tools = Settings: Tools
action-settings-safety = Settings: Safety
action-settings-prompts = Settings: Prompts
action-insert-prompt = Insert prompt: { $name }
action-audit = Audit: who decided what
action-shortcuts = All shortcuts
action-quit = Quit

## Shortcuts
keys-title = Shortcuts
keys-group-chats = Chats
keys-group-message = Message
keys-group-confirm = When you are asked
keys-group-window = Window
keys-new-chat = New chat
keys-next-chat = Next chat
keys-previous-chat = Previous chat
keys-search = Search all chats
keys-rename = Rename the chat
keys-lock = This machine only: close or open the padlock
keys-next-change = Next change in the preview
keys-send = Send
keys-newline = New line
keys-edit-last = Edit your last message (empty box)
keys-files = Complete a file name
keys-commands = Commands
keys-stop = Stop the answer
keys-deny = Deny
keys-allow = Allow once
keys-move = Move between the buttons
keys-palette = Command palette
keys-sidebar = Show or hide the sidebar
keys-settings = Settings
keys-help = This list
keys-zoom-in = Larger
keys-zoom-out = Smaller
keys-quit = Quit

## Typed paths, links, closing
path-title-folder = Choose a folder
path-title-data = Choose a folder for Nod's data
path-title-attach = Attach files
path-title-export = Export the chat
path-title-export-all = Export all chats
path-title-backup = Back up
path-title-audit = Export the audit
path-title-import = Import chats
path-title-sensitive = Open one protected file to this chat
path-typed = Type its path; → completes it.
path-no-dialog = No file dialog opened on this system, so type the path; → completes it.
path-field = Path
path-hint = ~/projects/web
path-use = Use this path
link-title = Open this link?
link-detail = It leads to exactly this address, in your browser:
link-more = … { $count } more characters: copy it to read them
link-look-alike = Letters or signs in it look like others. The site is written the way it is looked up, and other look-alikes are shown as escapes.
link-open = Open
link-copy = Copy address
link-image-title = Load this image?
link-image-detail = It lies at exactly this address. Loading it tells that server that you look:
link-load = Load
closing-title = Stop what is running?
closing-title-idle = Quit Nod?
closing-detail = { $count ->
    [0] Nothing is running any more. Everything is kept.
    [one] One chat is still working. What has come so far is kept.
   *[other] { $count } chats are still working. What has come so far is kept.
}
closing-stay = Keep working
closing-stop = Stop and quit
closing-stay-idle = Stay
closing-go = Quit

