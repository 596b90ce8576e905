//! The command line's grammar. What it says of itself (`--help`) is complete, with examples.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// A native desktop AI agent that asks before it changes anything.
#[derive(Debug, Parser)]
#[command(
    name = "nod",
    version,
    about = "A native desktop AI agent that asks before it changes anything.",
    long_about = "A native desktop AI agent that asks before it changes anything.\n\nWithout a command, `nod` opens its \
                  window. Every command below runs the same engine, store, policy and ledger without one.",
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage, 3 denied or stopped at a limit, 130 interrupted."
)]
pub struct Arguments {
    /// What to do; without it the window opens.
    #[command(subcommand)]
    pub command: Option<Task>,

    /// Where data is kept
    #[arg(long, global = true, value_name = "DIR", env = "NOD_DATA_DIR")]
    pub data_dir: Option<PathBuf>,

    /// Language of what people read
    #[arg(long, global = true, value_name = "LANG", value_parser = ["en", "zh-CN"], overrides_with = "lang")]
    pub lang: Option<String>,

    /// Say more on standard error (repeat for more)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Say only what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Say something to a model and see the turn to its end
    Exec(Box<ExecArgs>),
    /// Run one tool call through the same gate that models go through
    Tool(ToolArgs),
    /// Let a server's agent use this computer's read-only tools, until interrupted
    Link(LinkArgs),
    /// List the tools with schema, risk and state
    Tools(ListArgs),
    /// List a provider's models
    Models(ModelsArgs),
    /// List the providers and whether they can be reached; set them up, look at their connection, give them their keys
    Providers(ProvidersArgs),
    /// Look at, search, export, import and delete conversations
    #[command(subcommand)]
    Sessions(SessionsTask),
    /// Put a backup in the place of the database; no Nod may be running
    Restore(RestoreArgs),
    /// See who decided what, and whether that record is whole
    Audit(AuditArgs),
    /// Take back what was changed, and do it again
    #[command(subcommand)]
    Undo(UndoTask),
    /// Read and change the settings of the window
    #[command(subcommand)]
    Config(ConfigTask),
    /// Find out what is wrong on this computer and how to mend it
    Doctor(ListArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `nod restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "The backup must end with this computer's own seal. What it replaces is kept beside it, and the \
                        record says what was done.\n\nExample:\n  nod restore ~/nod-backup.db"
)]
pub struct RestoreArgs {
    /// The backup, as Settings made it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Take one of another computer too: its conversations come along; modes, folders, rules and the seal of its record do not
    #[arg(long)]
    pub from_elsewhere: bool,
}

/// `nod exec`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nod exec --model qwen3:8b \"What is in this folder?\" --folder .\n  \
                  nod exec --provider guide --folder ~/notes list files\n  \
                  echo \"Summarise README.md\" | nod exec --model qwen3:8b --folder . -\n  \
                  nod exec --model qwen3:8b --folder . --approve writes --json \"Write a changelog\"")]
pub struct ExecArgs {
    /// What to say; `-` reads it from standard input
    #[arg(required = true, value_name = "PROMPT")]
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Who answers: `ollama`, `openai`, `deepseek`, `agnes-ai`, `anthropic`, …, `openai-compatible` (with --base-url), or
    /// `guide` (built in, no AI model); the settings' default otherwise
    #[arg(long, value_name = "ID")]
    pub provider: Option<String>,
    /// Another address of the provider, for this turn
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the provider's key
    #[arg(long, value_name = "VAR")]
    pub api_key_env: Option<String>,
    /// The model; the settings' default otherwise
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How hard the model should think
    #[arg(long, value_name = "LEVEL")]
    pub think: Option<Think>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    pub session: Option<String>,
    /// Begin a new conversation (the default)
    #[arg(long)]
    pub new: bool,
    /// Attach an image (repeatable)
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// A system prompt of your own
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// The tools that may be used, by name with commas between; `none` for none
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,
    /// Who answers when the provider cannot
    #[arg(long, value_name = "ID", requires = "fallback_model")]
    pub fallback_provider: Option<String>,
    /// The model that answers then
    #[arg(long, value_name = "MODEL", requires = "fallback_provider")]
    pub fallback_model: Option<String>,
    /// Another address of that provider
    #[arg(long, value_name = "URL", requires = "fallback_provider")]
    pub fallback_base_url: Option<String>,
    /// Ask for the whole answer at once
    #[arg(long)]
    pub no_stream: bool,
    /// Most requests to the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rounds: Option<u32>,
    /// Stop the turn after so many milliseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_ms: Option<u64>,
    /// Print events as JSON Lines, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `nod tool`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nod tool read_file '{\"path\":\"README.md\"}' --folder .\n  \
                  nod tool write_file - --folder . --approve writes < arguments.json\n\n\
                  Prints the result object on one line. A refused or failed call exits 1, one that lacked a yes 3.")]
pub struct ToolArgs {
    /// The tool's name (see `nod tools`)
    pub name: String,
    /// Its arguments as a JSON object; `-` reads them from standard input
    pub arguments: String,
    #[command(flatten)]
    pub gate: GateArgs,
}

/// `nod link`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  NOD_TOKEN=… nod link --server https://nod.example.com --token-env NOD_TOKEN --workspace ~/project\n\n\
                  Listing files needs no yes; each file that is read does. Nothing is written and no command is run. Ends with \
                  Ctrl+C."
)]
pub struct LinkArgs {
    /// The server's address: https, or http on this machine
    #[arg(long, value_name = "URL")]
    pub server: String,
    /// The environment variable that holds the user token
    #[arg(long, value_name = "VAR")]
    pub token_env: String,
    /// The one folder that the server may look into
    #[arg(long, value_name = "DIR")]
    pub workspace: PathBuf,
    /// Who says yes when a file is to be read
    #[arg(long, value_name = "WHO", default_value = "ask")]
    pub confirm: LinkConfirm,
    /// Print one JSON line for each change of the connection and each call, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Who says yes to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum LinkConfirm {
    /// Ask on the terminal, or in the window that has the data folder; denied where there is neither
    Ask,
    /// Every file in the workspace that is not secret
    Allow,
    /// Nothing
    Deny,
}

/// What a tool may touch, and who says yes.
#[derive(Debug, Clone, Args)]
pub struct GateArgs {
    /// An allowed folder (repeatable; the first is the working folder)
    #[arg(long, value_name = "DIR")]
    pub folder: Vec<PathBuf>,
    /// What is allowed without asking
    #[arg(long, value_name = "WHAT", default_value = "ask")]
    pub approve: Approve,
    /// Switch a tool on for this run (repeatable), for example `run_command`
    #[arg(long, value_name = "TOOL")]
    pub enable_tool: Vec<String>,
    /// Let commands run although the kernel does not confine them
    #[arg(long)]
    pub allow_unconfined: bool,
}

/// Who says yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Approve {
    /// Ask on the terminal; denied where there is none
    Ask,
    /// Reads that need a yes
    Reads,
    /// Reads, writes, edits and new folders
    Writes,
    /// Deletions and commands too
    All,
    /// Nothing
    Never,
}

/// How hard the model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Think {
    Off,
    Low,
    Medium,
    High,
    Max,
}

/// Lists.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `nod models`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nod models --provider ollama --base-url http://127.0.0.1:11434")]
pub struct ModelsArgs {
    /// Whose models
    #[arg(long, value_name = "ID", default_value = "ollama")]
    pub provider: String,
    /// Another address of the provider
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the provider's key
    #[arg(long, value_name = "VAR")]
    pub api_key_env: Option<String>,
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `nod providers`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nod providers add openai && nod providers set-key openai < key.txt\n  \
                  nod providers add work --preset openai-compatible --base-url https://llm.example.com/v1 --ca-file ca.pem\n  \
                  nod providers test work --model qwen3\n\n\
                  Keys go into the system's keyring, never into a file.")]
pub struct ProvidersArgs {
    /// What to do; a list without it
    #[command(subcommand)]
    pub task: Option<ProvidersTask>,
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What to do with providers.
#[derive(Debug, Subcommand)]
pub enum ProvidersTask {
    /// The providers that are used, and whether they can be reached
    List(ListArgs),
    /// The providers that can be set up
    Presets(ListArgs),
    /// Set a provider up, or change one
    #[command(after_help = "Examples:\n  nod providers add deepseek\n  \
                      nod providers add lab --preset ollama --base-url http://192.168.1.7:11434 --remote no")]
    Add(AddProviderArgs),
    /// Forget a provider and its key
    Remove {
        /// Its name
        name: String,
    },
    /// Find out what is wrong with a connection, and what to do
    Test {
        /// Its name
        name: String,
        /// Whether this model is there too
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Print JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Keep a key, from standard input, in the system's keyring; it is sent to the provider's present address alone
    #[command(after_help = "Example:\n  nod providers set-key openai < key.txt")]
    SetKey {
        /// The provider's name
        name: String,
    },
    /// Forget a key
    RemoveKey {
        /// The provider's name
        name: String,
    },
}

/// `nod providers add`.
#[derive(Debug, Args)]
pub struct AddProviderArgs {
    /// What to call it: what `--provider` and the window's list say
    pub name: String,
    /// Which of `nod providers presets` it is; the name itself otherwise
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<String>,
    /// Where it is; the preset's own address otherwise
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// How it is reached: `system`, `none`, or a proxy such as `http://proxy.example:3128`
    #[arg(long, value_name = "PROXY")]
    pub proxy: Option<String>,
    /// A file with certificate authorities to trust besides the system's own (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Whether what it is sent leaves this computer; by its address otherwise
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub remote: Option<Remote>,
}

/// Whether a provider is away from this computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Remote {
    /// What it is sent leaves this computer
    Yes,
    /// It is this computer, whatever its address looks like
    No,
}

/// `nod sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionsTask {
    /// All conversations, newest first
    List(ListArgs),
    /// One conversation as text
    Show {
        /// Its id (a beginning that no other shares will do)
        id: String,
        /// Print JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Find a text in all conversations
    Search {
        /// What to find
        text: String,
        /// Print JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Print one conversation whole
    #[command(after_help = "Example:\n  nod sessions export 0198c2 --format json > chat.json")]
    Export {
        /// Its id
        id: String,
        /// JSON keeps everything and can be imported again; Markdown is for reading
        #[arg(long, value_enum, default_value = "json")]
        format: ExportFormat,
    },
    /// Bring an exported conversation back; its folders, mode and system prompt are not taken over
    Import {
        /// A file that `export --format json` wrote
        file: PathBuf,
    },
    /// Delete one conversation
    Delete {
        /// Its id
        id: String,
    },
}

/// How a conversation is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum ExportFormat {
    /// Everything, in the internal representation
    Json,
    /// For reading
    Md,
}

/// `nod audit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nod audit --verdict denied --since 2025-11-01\n  nod audit --tool write_file --by \
                  person --limit 20\n  nod audit --json > audit.jsonl\n  nod audit --verify\n\n\
                  --verify exits 1 when the record was changed or cut."
)]
pub struct AuditArgs {
    /// Examine the whole record: every line against the one before, and its end
    #[arg(long, conflicts_with_all = ["csv", "session", "tool", "verdict", "by", "since", "until", "limit"])]
    pub verify: bool,
    /// Print JSON Lines and nothing else
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print a table for a spreadsheet
    #[arg(long)]
    pub csv: bool,
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only this tool
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only what was allowed, or only what was denied
    #[arg(long, value_name = "VERDICT")]
    pub verdict: Option<Yes>,
    /// Only what this one decided
    #[arg(long, value_name = "WHO")]
    pub by: Option<Who>,
    /// Not before this day or moment (local time, or with a zone)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Before this day or moment
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only the newest N lines
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Yes {
    Allowed,
    Denied,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Who {
    /// What nobody can switch off
    BuiltIn,
    /// A rule that the person made
    Rule,
    /// The person, asked
    Person,
    /// The conversation's mode
    Mode,
    /// `--approve`
    Flag,
    /// Nobody: the question was not answered
    Timeout,
}

/// `nod undo`.
#[derive(Debug, Subcommand)]
pub enum UndoTask {
    /// What was changed, newest first
    #[command(after_help = "Examples:\n  nod undo list\n  nod undo list --session 0198c2 --json\n  \
                            nod undo list --path notes.md")]
    List {
        /// Only of this conversation (a beginning of its id that no other shares will do)
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Only changes of this path
        #[arg(long, value_name = "PATH")]
        path: Option<PathBuf>,
        /// Print JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// What one change did, as a diff
    Show {
        /// Its id (a beginning that no other shares will do)
        id: String,
        /// Print JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Take one change back
    #[command(
        after_help = "Examples:\n  nod undo apply undo_0198c2\n  nod undo apply undo_0198c2 --if-changed save-beside\n  nod undo apply undo_0198c2 --call\n\n\
                            Where the file is no longer what was left there, nothing is done unless --if-changed says \
                            so; what put-back replaces is kept and can be brought back. Exits 3 then, and where a \
                            yes is missing: what git, a shell, a build, an editor or an agent executes or obeys is \
                            changed only after a yes at the terminal, or with --yes."
    )]
    Apply(UndoArgs),
    /// Do one change again that was taken back
    #[command(after_help = "Examples:\n  nod undo redo undo_0198c2\n  nod undo redo undo_0198c2 --yes\n\n\
                            As with apply, what something executes or obeys is changed only after a yes at the terminal, \
                            or with --yes; exits 3 where that is missing.")]
    Redo(UndoArgs),
}

/// `nod undo apply` and `nod undo redo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The change's id (a beginning that no other shares will do)
    pub id: String,
    /// Everything that the same call changed, or that was put back after it
    #[arg(long)]
    pub call: bool,
    /// What to do if somebody changed the file since
    #[arg(long, value_enum, default_value = "keep")]
    pub if_changed: IfChanged,
    /// Do it also where something executes or obeys what it changes; without this a terminal asks, and elsewhere nothing
    /// is done
    #[arg(long)]
    pub yes: bool,
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What to do where a file is no longer what was left there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum IfChanged {
    /// Leave it as it is
    Keep,
    /// Put the other version in its place
    PutBack,
    /// Write the other version beside it under a new name
    SaveBeside,
}

/// `nod config`.
#[derive(Debug, Subcommand)]
pub enum ConfigTask {
    /// All settings with their values
    List(ListArgs),
    /// One setting's value
    Get {
        /// Its key, for example `general.language`
        key: String,
    },
    /// Change one setting
    #[command(after_help = "Examples:\n  nod config set general.theme dark\n  nod config set models.num_ctx 32768")]
    Set {
        /// Its key
        key: String,
        /// Its value: JSON, or a plain word
        value: String,
    },
    /// Put one setting back to its default
    Reset {
        /// Its key
        key: String,
    },
}
