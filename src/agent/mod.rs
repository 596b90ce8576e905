//! One turn of a conversation as a pure machine: `step(input) -> effects`. No async, no IO, no clock.
//!
//! The engine carries the effects out and feeds back what came of them. Prompt building, the history that a model is
//! sent and the estimate of its size live here too.

mod estimate;
mod history;
mod machine;
mod prompt;
mod repetition;
mod shorten;

pub use estimate::{estimate_message, estimate_request, estimate_text};
pub use history::history_for_model;
pub use machine::{AfterCall, Effect, Input, Machine, Outcome, RoundEnd, TurnConfig};
pub use prompt::{PromptLanguage, PromptParts, cancelled_words, system_prompt};
pub use shorten::{Shortened, shorten};
