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
mod visible;
mod write_file;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ir::{Access, Failure, Preview, ToolDef};
use crate::policy::Surroundings;
use crate::workspace::{Purpose, Target};

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
#[derive(Debug, Clone)]
pub struct PreviewContext {
    /// Limits in force.
    pub limits: Limits,
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
    pub read_bytes: u64,
    pub read_lines: u64,
    pub write_bytes: u64,
    pub list_entries: usize,
    pub search_file_bytes: u64,
    pub search_files: usize,
    pub search_matches_per_file: usize,
    pub command_output_bytes: usize,
    pub command_timeout_ms: u64,
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
