//! Panels, links and closing.

use crate::port::Command;

use super::Closing;
use super::remote_image::PendingLink;
use super::{AppState, HostAction, Panel, Phase, Reaction};

impl AppState {
    pub(super) fn open_panel(&mut self, panel: Panel) -> Reaction {
        // Opening it again closes it: the same key does both.
        self.panel = if self.panel == Some(panel) { None } else { Some(panel) };
        if self.panel == Some(Panel::Models) {
            self.settings_page = None;
        }
        Reaction::none()
    }

    /// Shows where a link leads before it leaves the window. Other schemes are text.
    pub(super) fn open_link(&mut self, link: PendingLink) -> Reaction {
        let lower = link.url.to_ascii_lowercase();
        if ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme)) {
            self.link = Some(link);
        }
        Reaction::none()
    }

    /// Sessions whose turn runs.
    pub fn running_count(&self) -> usize {
        self.activity.values().filter(|state| state.is_running()).count()
    }

    pub(super) fn request_close(&mut self) -> Reaction {
        if self.running_count() > 0 && self.closing == Closing::No && self.phase == Phase::Running {
            self.closing = Closing::Asked;
            return Reaction::none();
        }
        self.quit()
    }

    pub(super) fn quit(&mut self) -> Reaction {
        let mut commands = self.unsaved_drafts();
        self.closing = Closing::Quitting;
        match self.phase {
            Phase::Running => {
                commands.push(Command::Quit);
                Reaction { commands, actions: Vec::new() }
            }
            Phase::Starting | Phase::Faulted(_) | Phase::Ended => HostAction::Quit.into(),
        }
    }
}
