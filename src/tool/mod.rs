//! The tools: one file each with its argument struct, definition, preview and run. This list is all there is to add one.
//!
//! A tool never opens a path by its text and never starts a process: it gets opened, checked `Target`s in a `Permit`,
//! and only `engine::gate` issues a permit.

mod create_directory;
mod delete_file;
mod diff;
mod edit_file;
mod list_directory;
mod permit;
mod read_file;
mod run_command;
pub mod schema;
mod search_files;
#[cfg(test)]
mod testing;
mod text;
mod veil;
mod visible;
mod workspace_list_files;
mod workspace_read_file;
mod write_file;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ir::{Access, Confinement, Failure, LinkedOutside, Network, Preview, Started, Tier, ToolDef};
use crate::policy::{MaskedSecret, Surroundings};
use crate::sandbox::Bubblewrap;
use crate::workspace::{GuardReport, Purpose, Root, Taken, Target};

pub use diff::{Content, change};
pub use permit::Permit;

/// A tool. Everything else about a call (policy, ledger, card) follows from what it declares here.
pub trait Tool: Send + Sync {
    /// What the model and the settings page are told.
    fn definition(&self) -> ToolDef;

    /// What it does to the computer.
    fn access(&self) -> Access;

    /// Takes arguments apart that have passed the schema: which paths and which command it wants. No disk.
    ///
    /// # Errors
    /// `INVALID_ARGUMENTS`, `CONTENT_TOO_LARGE` and what else the text alone shows.
    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure>;

    /// What a confirmation shows. `targets` are in the order of `ToolRequest::paths`.
    ///
    /// # Errors
    /// What makes the call pointless already now (`EDIT_NOT_FOUND`, `NOT_A_FILE`, …): the person is not asked then.
    fn preview(&self, args: &Value, targets: &[Target], context: &PreviewContext) -> Result<Preview, Failure>;

    /// Which files of the allowed folders it starts as programs: a yes is bound to what they hold. Reads them.
    fn starts(&self, _args: &Value, _targets: &[Target], _roots: &[Root]) -> Started {
        Started::default()
    }

    /// The bytes that the file will hold, where that is known before it runs: the journal tells by them whether a file is
    /// still what was left there. A tool that writes a file without saying this cannot be undone.
    fn leaves(
        &self,
        _args: &Value,
        _targets: &[Target],
        _limits: &Limits,
        _withheld: Option<&[MaskedSecret]>,
    ) -> Option<Vec<u8>> {
        None
    }

    /// Does it. Blocks: the engine calls it on a thread for that. Gives the result object without `success`.
    ///
    /// # Errors
    /// A failure is an answer for the model; it becomes `{success: false, error, code}` with what `RunError` adds.
    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError>;
}

/// What a call wants to touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRequest {
    /// The paths, in the order in which `preview` and `run` get their targets.
    pub paths: Vec<PathWanted>,
    /// The command line, for `run_command`.
    pub command: Option<String>,
}

/// One path that a call wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWanted {
    /// As the model gave it.
    pub given: String,
    /// For what.
    pub purpose: Purpose,
}

/// What `preview` may know beyond the targets.
#[derive(Debug, Clone, Default)]
pub struct PreviewContext {
    /// Limits in force.
    pub limits: Limits,
    /// How far the kernel confines a command.
    pub confinement: Confinement,
    /// The session's allowed folders, in which a command may write.
    pub roots: Vec<Root>,
    /// What `Tool::starts` found.
    pub started: Started,
    /// The same as [`RunContext::withheld`]: whether a call makes sense must not tell of them either.
    pub withheld: Option<Vec<MaskedSecret>>,
}

/// What `run` gets beside its permit.
pub struct RunContext {
    /// Cancelled when the person stops the turn: return `CANCELLED` within 100 ms then.
    pub cancel: CancellationToken,
    /// Limits in force.
    pub limits: Limits,
    /// Where live output and progress go.
    pub progress: Box<dyn Fn(Progress) + Send + Sync>,
    /// The program to start as the helper stage of commands: this very program.
    pub helper: PathBuf,
    /// The computer around the allowed folders: what is blocked is left out of listings and searches, and the home
    /// folder is where the trash is.
    pub surroundings: Surroundings,
    /// Absolute paths whose sensitive name the person lifted in this session: these are listed and searched.
    pub lifted: Vec<PathBuf>,
    /// There when the result goes to a model on another machine: what is known of the session's secrets. Those that are not
    /// sent as they are must not be found out by what a tool answers.
    pub withheld: Option<Vec<MaskedSecret>>,
    /// What stands around a command; of no meaning to other tools.
    pub walls: CommandWalls,
    /// Where it is told what was put back after a command.
    pub guard_log: GuardLog,
}

/// What outlives a command's guard. The default keeps nothing.
#[derive(Debug, Default)]
pub struct GuardLog {
    /// The folder for what is needed to finish the look after a command, should Nod not live to see it, and for the names
    /// from which folders went.
    pub records: Option<PathBuf>,
    /// Takes what was taken away, so that it can be brought back.
    pub put_back: Option<std::sync::mpsc::SyncSender<PutBack>>,
}

/// Something that was taken away or replaced after a command.
#[derive(Debug, Clone)]
pub struct PutBack {
    /// Its allowed folder.
    pub root: Root,
    /// The path from there.
    pub path: String,
    /// What lay there.
    pub taken: Taken,
    /// What lies there now; `None` for nothing.
    pub left: Option<Taken>,
}

impl PutBack {
    /// All of a report that can be brought back.
    pub fn of(report: &GuardReport, roots: &[Root]) -> Vec<Self> {
        let all = report.reverted.iter().filter_map(|reverted| {
            let (root, taken) = (roots.get(reverted.root)?.clone(), reverted.taken.clone()?);
            Some(Self { root, path: reverted.path.clone(), taken, left: reverted.left.clone() })
        });
        all.collect()
    }
}

/// How a command is confined, as it was approved. The default is not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandWalls {
    /// How far.
    pub tier: Tier,
    /// Whether it may use the network.
    pub network: Network,
    /// The system's bubblewrap, which tier A needs.
    pub bubblewrap: Option<Bubblewrap>,
    /// In how many places nobody can look, at most: so many were approved.
    pub unseen: u64,
    /// Which files it can change outside its folders: these were approved.
    pub linked: LinkedOutside,
    /// Which files it starts, with what they held when it was approved.
    pub started: Started,
}

/// Something to show while a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// New output of a command.
    Output {
        /// Whether it came on the error stream.
        is_stderr: bool,
        /// The new text.
        text: String,
    },
    /// How much has been looked at.
    Scanned {
        /// Files so far.
        files: u64,
    },
}

/// A failed run, with fields that its result object carries beside `success`, `error` and `code`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunError {
    /// Code and sentence.
    pub failure: Failure,
    /// More fields of the result object (the output of a command that failed, for example); null for none.
    pub details: Value,
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        Self { failure, details: Value::Null }
    }
}

impl From<crate::workspace::WorkspaceError> for RunError {
    fn from(error: crate::workspace::WorkspaceError) -> Self {
        Failure::from(error).into()
    }
}

/// The limits of the tools: one settings group.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The largest file that is read whole, and the most text that one read returns, in bytes.
    pub read_bytes: u64,
    /// The most lines that a read without an end returns.
    pub read_lines: u64,
    /// The largest content that is written and the largest file that is edited, in bytes.
    pub write_bytes: u64,
    /// The most entries of a listing.
    pub list_entries: usize,
    /// The largest file that is searched, in bytes.
    pub search_file_bytes: u64,
    /// The most files that one search looks into.
    pub search_files: usize,
    /// The most matching lines that a search returns of one file.
    pub search_matches_per_file: usize,
    /// The most that is kept of each output stream of a command, in bytes.
    pub command_output_bytes: usize,
    /// How long a command may run by default, in milliseconds.
    pub command_timeout_ms: u64,
    /// The longest time that a call may ask for, in milliseconds.
    pub command_timeout_max_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_bytes: 1_048_576,
            read_lines: 500,
            write_bytes: 5 * 1_048_576,
            list_entries: 500,
            search_file_bytes: 500 * 1024,
            search_files: 50_000,
            search_matches_per_file: 10,
            command_output_bytes: 100 * 1024,
            command_timeout_ms: 30_000,
            command_timeout_max_ms: 120_000,
        }
    }
}

/// Every tool, in the order in which models and the settings page see them.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::ReadFile),
        Arc::new(write_file::WriteFile),
        Arc::new(edit_file::EditFile),
        Arc::new(list_directory::ListDirectory),
        Arc::new(search_files::SearchFiles),
        Arc::new(create_directory::CreateDirectory),
        Arc::new(delete_file::DeleteFile),
        Arc::new(run_command::RunCommand),
    ]
}

/// What a server may call over the device link. These are not in the list of the models of this computer, and those are not
/// in this one.
pub fn for_servers() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(workspace_list_files::WorkspaceListFiles), Arc::new(workspace_read_file::WorkspaceReadFile)]
}

/// The version of the tools that servers may call: a change of what one of them means is another version.
pub const SERVER_TOOL_VERSION: &str = "1";

/// The tool of this name.
pub fn find(name: &str) -> Option<Arc<dyn Tool>> {
    all().into_iter().find(|tool| tool.definition().name == name)
}

/// The only target of a tool with one path.
fn only(targets: &[Target]) -> Result<&Target, Failure> {
    targets.first().ok_or_else(|| Failure::new(crate::ir::Code::InvalidArguments, "The call names no path."))
}

/// The request of a tool with one path.
fn one_path(given: String, purpose: Purpose) -> ToolRequest {
    ToolRequest { paths: vec![PathWanted { given, purpose }], command: None }
}

/// The answer to a call that the person stopped.
fn cancelled() -> Failure {
    Failure::new(crate::ir::Code::Cancelled, "Stopped by the person.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_tools_are_there_in_their_order() {
        let names: Vec<String> = all().iter().map(|tool| tool.definition().name).collect();
        assert_eq!(
            names,
            [
                "read_file",
                "write_file",
                "edit_file",
                "list_directory",
                "search_files",
                "create_directory",
                "delete_file",
                "run_command"
            ]
        );
        assert!(names.iter().all(|name| find(name).is_some()));
        assert!(find("format_disk").is_none());
    }

    #[test]
    fn every_schema_is_plain_and_refuses_what_it_does_not_know() {
        for tool in all() {
            let def = tool.definition();
            let text = def.parameters.to_string();
            assert_eq!(def.parameters["type"], json!("object"), "{}", def.name);
            assert_eq!(def.parameters["additionalProperties"], json!(false), "{}", def.name);
            for word in ["$ref", "$schema", "anyOf", "oneOf", "null", "format", "title"] {
                assert!(!text.contains(&format!("\"{word}\"")), "{}: {word}: {text}", def.name);
            }
            let described = def.parameters["properties"].as_object().unwrap().values();
            assert!(described.clone().all(|property| property["description"].is_string()), "{}: {text}", def.name);
        }
    }

    #[test]
    fn a_model_is_told_what_read_file_takes() {
        assert_eq!(
            read_file::ReadFile.definition().parameters,
            json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "Path of the file, absolute or relative to the first allowed folder.",
                    },
                    "encoding": {
                        "type": "string",
                        "enum": ["utf-8", "latin1", "base64"],
                        "description": "How to return the content. `base64` and `latin1` read any bytes; `utf-8` reads text only.",
                        "default": "utf-8",
                    },
                    "start_line": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "First line to return, counted from 1.",
                    },
                    "end_line": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Last line to return, inclusive. Default: start_line + 499.",
                    },
                },
                "required": ["path"],
                "additionalProperties": false,
            })
        );
    }
}
