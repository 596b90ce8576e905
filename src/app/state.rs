//! All that the window shows. What the engine reports and what the person does change it: `engine_event`, `person_intent`.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::ir::{Confinement, SessionId, State, UnixMs};
use crate::policy::RuleSet;
use crate::port::{Command, PresetInfo, Settings};

use super::composer::Composer;
use super::confirm::Confirms;
use super::models::Models;
use super::path::PathEntry;
use super::provider::ProviderDesk;
use super::remote_image::PendingLink;
use super::search::Search;
use super::toast::Toasts;
use super::{AuditView, Closing, Panel, Phase, Reaction, SentLine, SessionView, SettingsPage, StartFault};

/// The state of the window. Changed by `on_event`, `on_intent` and `on_tick` alone; drawing reads it.
#[derive(Debug, Default)]
pub struct AppState {
    pub phase: Phase,
    /// Where data lies.
    pub data_dir: PathBuf,
    /// Whether the person chose to go on without saving.
    pub is_unsaved: bool,
    /// What the data takes on the disk, once it was measured.
    pub data_bytes: Option<u64>,
    /// How far this computer confines commands; `None` until it was probed.
    pub confinement: Option<Confinement>,
    pub settings: Settings,
    /// All sessions, newest first.
    pub sessions: Vec<crate::ir::Session>,
    /// Whether the sessions have come.
    pub has_sessions: bool,
    /// Where each session's turn stands, as far as it was heard of.
    pub activity: HashMap<SessionId, State>,
    /// Sessions whose last turn failed and that were not looked at since.
    pub failed: HashSet<SessionId>,
    pub selected: Option<SessionId>,
    /// When the selected session was asked for: *loading* shows after 300 ms only.
    pub selected_at: UnixMs,
    /// The open session; another than the selected one while that is on its way.
    pub view: Option<SessionView>,
    pub composers: HashMap<SessionId, Composer>,
    pub confirms: Confirms,
    pub models: Models,
    /// The providers that can be set up.
    pub presets: Vec<PresetInfo>,
    pub desk: ProviderDesk,
    /// The open chat's last request, in lines of bearable length.
    pub sent: Vec<SentLine>,
    pub search: Search,
    pub toasts: Toasts,
    pub path: Option<PathEntry>,
    /// Rules that hold in all sessions, as the settings list them.
    pub standing_rules: RuleSet,
    /// The audit, while it is looked at.
    pub audit: Option<AuditView>,
    /// The shown page of the settings.
    pub settings_page: Option<SettingsPage>,
    /// What lies over or beside the transcript.
    pub panel: Option<Panel>,
    /// A link that waits for a yes.
    pub link: Option<PendingLink>,
    /// An undo that waits for the person.
    pub undo: Option<super::undo::UndoQuestion>,
    pub history: super::undo::History,
    /// The servers that may call tools of this computer.
    pub links: super::link::Links,
    /// Sessions that live on servers.
    pub threads: super::thread::Threads,
    /// Whether the person is asked about the deletion of all sessions of this computer.
    pub asks_to_delete_all: bool,
    pub closing: Closing,
    /// What the local time is ahead of UTC, in milliseconds.
    pub utc_offset_ms: i64,
    pub(super) awaited_sessions: u32,
    pub(super) next_number: u64,
}

impl AppState {
    /// Time passed: saves drafts that rest, lets toasts go.
    pub fn on_tick(&mut self, now: UnixMs) -> Reaction {
        self.toasts.expire(now);
        Reaction { commands: self.rested_drafts(now), actions: Vec::new() }
    }

    /// When `on_tick` has something to do next, or a question opens.
    pub fn next_tick(&self, now: UnixMs) -> Option<UnixMs> {
        let drafts = self.composers.values().filter_map(Composer::due_at).min();
        // A question that is open already needs no more frames.
        let confirm = self.confirms.opens_at().filter(|opens_at| *opens_at > now);
        [drafts, self.toasts.expires_at(), confirm].into_iter().flatten().min()
    }

    /// The engine did not take a command: nothing that the person gave is lost.
    pub fn on_refused(&mut self, command: Command, now: UnixMs) {
        self.toasts.fault("notice-engine-busy", Vec::new(), String::new(), now);
        if let Command::Answer { confirm, .. } = command {
            self.confirms.reopen(&confirm, now);
        } else if let Command::SaveDraft { session, .. } = command {
            if let Some(composer) = self.composers.get_mut(&session) {
                composer.mark_unsaved(now);
            }
        } else {
            self.give_back_unsent();
        }
    }

    /// The engine could not start.
    pub fn fail_start(&mut self, fault: StartFault) {
        self.phase = Phase::Faulted(fault);
    }

    /// The open session, if it is this one.
    pub(super) fn view_of(&mut self, session: &SessionId) -> Option<&mut SessionView> {
        self.view.as_mut().filter(|view| view.session.id == *session)
    }

    /// The open session, if it is the selected one.
    pub fn shown(&self) -> Option<&SessionView> {
        self.view.as_ref().filter(|view| Some(&view.session.id) == self.selected.as_ref())
    }

    /// The composer of the selected session.
    pub fn composer(&self) -> Option<&Composer> {
        self.composers.get(self.selected.as_ref()?)
    }

    pub(super) fn composer_mut(&mut self) -> Option<&mut Composer> {
        self.composers.get_mut(self.selected.as_ref()?)
    }

    pub(super) fn with_selected(&self, command: impl FnOnce(SessionId) -> Command) -> Reaction {
        self.selected.clone().map_or_else(Reaction::none, |session| command(session).into())
    }

    /// A number that tells a late answer from the awaited one.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}
