//! All that the window shows.

use super::SessionView;

/// The state of the window. Changed by `on_event` and `on_intent` alone; drawing reads it.
#[derive(Debug, Default)]
pub struct AppState {
    /// The open session.
    pub view: Option<SessionView>,
}
