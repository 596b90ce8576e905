//! The stable codes of refused and failed tool calls (safety specification, "Stable codes").

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a tool call was refused or failed. The text form never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The stable text, for example `PATH_NOT_FOUND`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The arguments do not fit the tool's schema.
    InvalidArguments = "INVALID_ARGUMENTS",
    /// The tool exists but is switched off.
    ToolNotEnabled = "TOOL_NOT_ENABLED",
    /// There is no tool of that name.
    ToolNotAvailable = "TOOL_NOT_AVAILABLE",
    /// A pinned tool is no longer what was approved.
    ToolChanged = "TOOL_CHANGED",
    /// The path cannot be a path (NUL, device name, …).
    PathInvalid = "PATH_INVALID",
    /// Nothing is there.
    PathNotFound = "PATH_NOT_FOUND",
    /// The path leaves the allowed folders.
    PathOutOfScope = "PATH_OUT_OF_SCOPE",
    /// Absolute paths are refused on this channel.
    AbsolutePathDenied = "ABSOLUTE_PATH_DENIED",
    /// The name says that it holds secrets.
    SensitivePathDenied = "SENSITIVE_PATH_DENIED",
    /// The path is closed to tools always.
    BlockedPathDenied = "BLOCKED_PATH_DENIED",
    /// Something later executes this file.
    ProtectedPathDenied = "PROTECTED_PATH_DENIED",
    /// A file was needed.
    NotAFile = "NOT_A_FILE",
    /// A folder was needed.
    NotADirectory = "NOT_A_DIRECTORY",
    /// The folder to delete still holds something.
    DirectoryNotEmpty = "DIRECTORY_NOT_EMPTY",
    /// A pipe, socket or device.
    SpecialFileDenied = "SPECIAL_FILE_DENIED",
    /// More than may be read.
    FileTooLarge = "FILE_TOO_LARGE",
    /// Not text.
    BinaryFile = "BINARY_FILE",
    /// More than may be written.
    ContentTooLarge = "CONTENT_TOO_LARGE",
    /// The text to replace is not in the file.
    EditNotFound = "EDIT_NOT_FOUND",
    /// The text to replace is there more than once.
    EditAmbiguous = "EDIT_AMBIGUOUS",
    /// What was approved is no longer what is there.
    TargetChanged = "TARGET_CHANGED",
    /// The command is on the list of what is never run.
    CommandDenied = "COMMAND_DENIED",
    /// Running without confinement is not allowed.
    UnconfinedDenied = "UNCONFINED_DENIED",
    /// The address is refused.
    UrlDenied = "URL_DENIED",
    /// Too many at once.
    RateLimited = "RATE_LIMITED",
    /// The person said no, or could not be asked.
    ConfirmationRejected = "CONFIRMATION_REJECTED",
    /// A server used the same call's name with other arguments.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT",
    /// The question was answered too late.
    RequestExpired = "REQUEST_EXPIRED",
    /// Stopped by the person.
    Cancelled = "CANCELLED",
    /// Took longer than it may.
    TimedOut = "TIMED_OUT",
    /// The operating system reported an error.
    IoError = "IO_ERROR",
    /// The disk is full.
    NoSpace = "NO_SPACE",
    /// The operating system refused.
    PermissionDenied = "PERMISSION_DENIED",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that was refused or failed in the ordinary way: an answer for the model and the person,
/// not a fault of the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure.
    pub code: Code,
    /// One clear sentence that says what happened and what would work.
    pub message: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
