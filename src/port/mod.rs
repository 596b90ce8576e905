//! What every front end shares with the engine: a front end sends a `Command`, the engine reports an `Event`.
//! Pictures are made ready here, so that no front end sends one as it lay on the disk.

mod command;
mod confirm;
mod diagnosis;
mod error_text;
mod event;
pub mod picture;
mod preset;
mod settings;

use std::time::Duration;

pub use command::{Command, Fallback, ImageAttachment, TurnOptions};
pub use confirm::{Answer, ConfirmRequest, ContentFacts, RuleOffer, Unanswered};
pub use diagnosis::{Diagnosis, Sentence};
pub use error_text::error_text;
pub use event::{Event, ImageFault, ModelsState, SearchHit, SentPart, ThreadsState, TurnEnd, TurnOutcome, WrittenFile};
pub use preset::PresetInfo;
pub use settings::{
    GeneralSettings, Language, ModelSettings, PromptSettings, SafetySettings, SavedPrompt, SendKey, Settings,
    SettingsError, StartsWith, Theme, ToolSettings, WindowPlace,
};

/// For how long what was deleted can be brought back. What offers it is gone by then.
pub const RESTORABLE: Duration = Duration::from_secs(15);
