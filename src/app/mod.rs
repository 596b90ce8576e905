//! Everything that the window shows, without a window: the state and its reducer, one file per area.
//!
//! A person makes an [`Intent`]; the reducer answers with commands for the engine and with [`HostAction`]s for the window.
//! Events of the engine change the state. Pure: no egui, no clock (the time comes in), no disk, no lock.

pub mod audit;
pub mod composer;
pub mod confirm;
pub mod models;
pub mod path;
pub mod preview;
pub mod prompt;
pub mod provider;
pub mod remote_image;
pub mod rows;
pub mod search;
pub mod session;
pub mod settings;
pub mod thread;
pub mod toast;
pub mod undo;

mod engine_event;
mod intent;
pub mod link;
mod person_intent;
mod phase;
mod reaction;
mod sent;
mod session_view;
mod state;
#[cfg(test)]
pub(crate) mod test_support;
mod turn;
mod window;

pub use audit::AuditView;
pub use intent::{FaultChoice, HostAction, Intent, Panel, PathPurpose, SettingsPage};
pub use phase::{Closing, Phase, StartFault, StartFaultKind};
pub use reaction::Reaction;
pub use sent::SentLine;
pub use session_view::{CallView, Item, ItemKind, SessionView, TurnNote};
pub use state::AppState;
