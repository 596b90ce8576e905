# settings

## The settings
settings-title = Settings
settings-back = Back to the chat
settings-page-general = General
settings-page-models = Models
settings-page-tools = Tools
settings-page-safety = Safety
settings-page-prompts = Prompts
settings-page-data = Data
settings-page-shortcuts = Shortcuts
settings-page-about = About
settings-choose = Choose…
settings-open-folder = Open folder
settings-copy-path = Copy path

## General
settings-general-line = How the window looks and types. Every change applies at once.
settings-language = Language
settings-language-system = As the system
settings-language-en = English
settings-language-zh = 简体中文
settings-theme = Theme
settings-theme-system = As the system
settings-theme-light = Light
settings-theme-dark = Dark
settings-scale = Size of everything
settings-message-size = Text size of messages
settings-code-size = Text size of code
settings-animations = Animations
settings-animations-help = Off: nothing fades or slides, and spinners stand still.
settings-writing = Writing
settings-send-key = Send with
settings-send-key-help = The other key breaks the line.
settings-send-enter = Enter
settings-send-ctrl-enter = Ctrl+Enter
settings-start = Start
settings-starts-with = When Nod starts
settings-starts-with-last = Last chat
settings-starts-with-new = New chat
settings-show-sidebar = Show the sidebar

## Models
settings-models-line = Where answers come from. Keys are kept in the system’s keyring, never in a file.
settings-ollama-url = Address of Ollama
settings-ollama-running = { $count ->
    [one] running · { $count } model
   *[other] running · { $count } models
}
settings-ollama-asking = asking…
settings-test = Test
settings-guide-help = no AI model · understands a few typed requests
settings-always-there = always there
settings-installed = Models
settings-no-models = No model yet
settings-no-models-help = Download one below; small ones work on most computers.
settings-context-k = { $tokens } tokens of context
settings-context-unknown = context unknown
settings-no-tools = no tools
settings-pull = Download a model
settings-pull-help = By its name in Ollama's library.
settings-pull-field = Name of the model
settings-pull-start = Download
settings-pull-starting = starting…
settings-pull-progress = { $done } of { $total }
settings-pull-cancel = Cancel the download of { $model }
settings-defaults = Defaults
settings-default-model = Model for new chats
settings-default-none = none chosen
settings-num-ctx = Context window (num_ctx)
settings-num-ctx-help = Tokens that Ollama is asked for; more needs more memory.
settings-keep-alive = Keep the model loaded
settings-keep-alive-help = For example 5m or 1h; empty for Ollama's own default.
settings-temperature = Temperature
settings-temperature-help = 0 is the most predictable, 2 the wildest.
settings-thinking = Thinking of new chats
settings-thinking-help = For models that can think first.
settings-show-thinking = Show thinking while it streams
settings-max-rounds = Most rounds in one turn
settings-max-rounds-help = A round is one request to the model and the calls it asks for.

## Tools
settings-tools-line = What a model may ask for. Each call still goes through your folders and your yes.
settings-tools-master = Tools
settings-tools-master-help = Off: models can only talk.
settings-tools-each = Each tool
settings-tool-read-file = Reads a file's text
settings-tool-list-directory = Lists a folder
settings-tool-search-files = Finds files by name and text
settings-tool-write-file = Writes a whole file
settings-tool-edit-file = Changes parts of a file
settings-tool-create-directory = Creates a folder
settings-tool-delete-file = Moves files and folders to the trash; always asked
settings-tool-run-command = Runs a command in a shell, confined by the kernel; always asked
settings-command-note = A command changes whatever it likes in your allowed folders, and that cannot be undone here. Leave run_command off unless you need it.
settings-limits = Limits
settings-limit-read-bytes = Largest file to read, in bytes
settings-limit-read-lines = Most lines read at once
settings-limit-write-bytes = Largest file to write, in bytes
settings-limit-list = Most entries of a listing
settings-limit-search-bytes = Largest file to search, in bytes
settings-limit-search-files = Most files searched
settings-limit-matches = Most matches in one file
settings-limit-output = Most output of a command, in bytes
settings-limit-timeout = Usual time limit of a command, in milliseconds
settings-limit-timeout-max = Longest time limit of a command, in milliseconds

## Safety
settings-safety-line = Nothing changes without your nod.
settings-mode = New chats ask before
settings-unconfined = Never run commands unconfined
settings-unconfined-help = While this is on, a command runs only where the kernel confines it.
settings-remember-commands = Rules may cover an identical command
settings-remember-commands-help = Only the very same command in the same folder, and only where all that it runs is known: installed programs, and scripts as they were. Not builds, tests or programs of a project.
settings-answer-within = Most seconds that a question waits
settings-answer-within-help = Then it is refused. A locked screen refuses it too, where the system reports one. 0: for as long as it takes.
settings-rules = Rules for every chat
settings-no-rules = None. A rule made here holds in every chat; one from a question holds in its own chat alone.
settings-audit = Record
settings-audit-help = Every decision and what became of it: who, when, on what grounds. Never what was in it.
settings-audit-open = Open
settings-default-folders = Folders of new chats
settings-no-default-folders = None: a new chat begins without a folder.
settings-add-default-folder = Add a folder
settings-default-folders-help = A new chat starts with the folders that you used last.
settings-blocked = Always closed
settings-blocked-system = Folders of the system
settings-blocked-windows = Folders of Windows
settings-blocked-keys = Keys and accounts in your home folder
settings-blocked-names = Names that say “secret”
settings-blocked-writes = Never written: other programs run them
settings-blocked-help = Browser profiles, keyrings, other agents' settings and Nod's own data are closed too. No setting and no rule opens them.

## Prompts
settings-prompts-line = Words that every chat begins with.
settings-uses-system-prompt = Use a system prompt
settings-uses-system-prompt-help = Off keeps the words below without sending them.
settings-system-prompt = System prompt
settings-system-prompt-hint = For example: Answer briefly. I write Rust.
settings-prompts-note = Empty for none. It is added to Nod's own instructions for tools, which stay.
settings-prompt-library = Prompt library
settings-prompt-library-note = Insert one with / and a part of its name in the message box, or from the palette (Ctrl K). Nothing is sent before you send it.
settings-prompt-none = No prompts yet
settings-prompt-none-help = Words that you send again and again, each under a name.
settings-prompt-add = Add prompt
settings-prompt-new = New prompt
settings-prompt-name = Name of the prompt
settings-prompt-text = Text of the prompt
settings-prompt-text-hint = For example: Look through this folder and list what is out of date.
settings-prompt-insert = Insert
settings-prompt-edit = Edit
settings-prompt-delete = Delete
settings-prompt-save = Save
settings-prompt-cancel = Cancel
settings-prompt-no-name = It needs a name.
settings-prompt-name-taken = Another prompt has this name.
settings-prompt-no-text = It needs a text.
settings-prompt-too-long = Too long: at most 60 characters for the name and 32 KB for the text.
settings-prompt-too-many = There are 200 already. Delete one first.

## Data
settings-data-line = Everything stays on this computer.
settings-data-folder = Folder
settings-data-size = Size
settings-data-measuring = measuring…
settings-data-chats = Chats
settings-export = Export this chat
settings-export-help = As JSON, which can be imported again, or as Markdown to read.
settings-export-start = Export…
settings-export-all = Export all chats
settings-export-all-help = All chats of this computer in one file, as JSON or as Markdown.
settings-export-all-start = Export all…
settings-import = Import chats
settings-import-help = From a JSON file that Nod has exported, of one chat or of all. Folders, mode and system prompt are not taken over.
settings-import-start = Import…
settings-data-whole = Everything
settings-backup = Back up
settings-backup-help = A copy of the database: chats, settings, rules and the record of decisions. Keys and the files kept for undo are not in it. To go back to it, quit Nod and run: nod restore FILE. On another computer only the conversations come along: rules, modes and folders are tied to this one.
settings-backup-start = Back up…
settings-delete-all = Delete all chats
settings-delete-all-help = All chats of this computer. Settings, rules and the record of decisions stay.
settings-delete-all-start = Delete all…
delete-all-title = Delete all chats?
delete-all-detail = { $count ->
    [one] The one chat of this computer will be deleted, and what runs in it ends.
   *[other] All { $count } chats of this computer will be deleted, and what runs in them ends.
} The message that follows offers to undo it. After some seconds they are removed from the file for good, with what was kept to undo their changes.
delete-all = Delete all
settings-data-note = A deleted chat can be brought back from its message for some seconds; then it is removed from the file for good. Backups and exports, and the copies that Nod makes before an upgrade (nod.db.backup-…), keep what they hold.

## Shortcuts, About
settings-shortcuts-line = Press ? anywhere to see them.
settings-about-name = Nod
settings-about-line = A desktop agent that asks before it changes anything.
settings-version = Version
settings-licence = Licence
settings-fonts = Fonts and icons
settings-help = Help
settings-logs = Log folder
settings-diagnostics = Diagnostics
settings-diagnostics-help = Version and counts; no message, no file, no key.
settings-diagnostics-copy = Copy diagnostics
settings-diagnostics-text = Nod { $version }, { $system } { $machine }, data in { $folder }, chats: { $sessions }, providers: { $providers }

