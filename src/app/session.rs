//! The list of sessions: opening, naming, forking, deleting.

use std::collections::hash_map::Entry;
use std::path::PathBuf;

use crate::ir::{MessageId, Session, SessionId, UnixMs};
use crate::port::{Command, PresetInfo, Settings, StartsWith};

use super::Phase;
use super::composer::Composer;
use super::rows;
use super::toast::{ToastAction, Tone};
use super::{AppState, HostAction, Intent, Reaction, SessionView};

/// What the sidebar tells of a session at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Badge {
    None,
    Running,
    /// Waits for the person.
    Waiting,
    Failed,
}

impl AppState {
    /// What the sidebar tells of a session.
    pub fn badge(&self, session: &SessionId) -> Badge {
        if self.confirms.waiting.iter().any(|request| request.session == *session) {
            Badge::Waiting
        } else if self.activity.get(session).is_some_and(|state| state.is_running()) {
            Badge::Running
        } else if self.failed.contains(session) {
            Badge::Failed
        } else {
            Badge::None
        }
    }

    /// The selected session, from its view or from the list.
    pub fn current(&self) -> Option<&Session> {
        let selected = self.selected.as_ref()?;
        let known = || self.sessions.iter().find(|session| session.id == *selected);
        self.shown().map(|view| &view.session).or_else(known).or_else(|| self.threads.find(selected))
    }

    pub(super) fn started(&mut self, settings: Settings, data_dir: PathBuf, presets: Vec<PresetInfo>) -> Reaction {
        self.phase = Phase::Running;
        self.settings = settings;
        self.data_dir = data_dir;
        self.presets = presets;
        self.models.refresh(None);
        Reaction {
            commands: vec![Command::ListSessions, Command::ShowModels, Command::StartLinks],
            actions: Vec::new(),
        }
    }

    pub(super) fn sessions_listed(&mut self, sessions: Vec<Session>, now: UnixMs) -> Reaction {
        self.sessions = sessions;
        self.has_sessions = true;
        // A list of this computer's sessions says nothing of those that live on a server.
        let is_known = |id: &SessionId| id.is_on_server() || self.sessions.iter().any(|session| session.id == *id);
        if self.selected.as_ref().is_some_and(is_known) {
            return Reaction::none();
        }
        if self.settings.general.starts_with == StartsWith::NewChat && self.awaited_sessions == 0 {
            return self.new_chat(now);
        }
        let newest = self.sessions.iter().max_by_key(|session| session.updated_at).map(|session| session.id.clone());
        match newest {
            Some(session) => self.select(&session, now),
            None if self.awaited_sessions == 0 => self.new_chat(now),
            None => Reaction::none(),
        }
    }

    pub(super) fn new_chat(&mut self, now: UnixMs) -> Reaction {
        self.settings_page = None;
        self.audit = None;
        let empty = self.sessions.iter().find(|session| is_unused(session) && self.is_draft_empty(&session.id));
        if let Some(id) = empty.map(|session| session.id.clone()) {
            return self.select(&id, now).and(HostAction::FocusComposer.into());
        }
        self.awaited_sessions += 1;
        Reaction::from(Command::CreateSession).and(HostAction::FocusComposer.into())
    }

    fn is_draft_empty(&self, session: &SessionId) -> bool {
        self.composers.get(session).is_none_or(|composer| composer.text.is_empty() && composer.attachments.is_empty())
    }

    pub(super) fn select(&mut self, session: &SessionId, now: UnixMs) -> Reaction {
        self.settings_page = None;
        self.audit = None;
        self.failed.remove(session);
        self.threads.unreached = None;
        if self.selected.as_ref() == Some(session) && self.shown().is_some() {
            return Reaction::none();
        }
        let mut commands = self.unsaved_drafts();
        self.selected = Some(session.clone());
        self.selected_at = now;
        self.panel = None;
        commands.push(Command::OpenSession(session.clone()));
        Reaction { commands, actions: vec![HostAction::FocusComposer] }
    }

    pub(super) fn select_neighbour(&mut self, step: i32, now: UnixMs) -> Reaction {
        let order = rows::sidebar_order(self, now);
        let Some(at) = self.selected.as_ref().and_then(|id| order.iter().position(|other| other == id)) else {
            return Reaction::none();
        };
        let next = at.saturating_add_signed(isize::try_from(step).unwrap_or(0)).min(order.len().saturating_sub(1));
        match order.get(next).cloned() {
            Some(session) => self.select(&session, now),
            None => Reaction::none(),
        }
    }

    pub(super) fn jump_to(&mut self, session: &SessionId, message: Option<MessageId>, now: UnixMs) -> Reaction {
        let mut reaction = self.select(session, now);
        reaction.actions.extend(message.map(HostAction::ScrollTo));
        reaction
    }

    pub(super) fn session_opened(&mut self, view: SessionView, now: UnixMs) -> Reaction {
        let session = view.session.clone();
        let is_known =
            self.sessions.iter().any(|other| other.id == session.id) || self.threads.find(&session.id).is_some();
        self.activity.insert(session.id.clone(), view.state);
        self.put(session.clone());
        self.threads.unreached.take_if(|(of, _)| *of == session.id);
        let is_selected = self.selected.as_ref() == Some(&session.id);
        let is_awaited = !is_selected && !is_known && self.awaited_sessions > 0;
        if is_awaited {
            self.awaited_sessions -= 1;
        }
        if !is_selected && !is_awaited {
            return Reaction::none();
        }
        match self.composers.entry(session.id.clone()) {
            Entry::Occupied(_) => {}
            Entry::Vacant(entry) => {
                entry.insert(Composer::with_draft(session.draft));
            }
        }
        let commands = if is_awaited { self.unsaved_drafts() } else { Vec::new() };
        let toggled = self.view.take().filter(|old| old.session.id == session.id).map(|old| old.toggled);
        self.view = Some(view);
        if let (Some(view), Some(toggled)) = (&mut self.view, toggled) {
            view.toggled = toggled;
        }
        if is_awaited {
            self.selected = Some(session.id);
            self.selected_at = now;
            return Reaction { commands, actions: vec![HostAction::FocusComposer] };
        }
        Reaction { commands, actions: Vec::new() }
    }

    pub(super) fn session_changed(&mut self, session: Session) -> Reaction {
        if let Some(view) = self.view_of(&session.id) {
            view.session = session.clone();
        }
        self.put(session);
        Reaction::none()
    }

    fn put(&mut self, session: Session) {
        if session.id.is_on_server() {
            self.threads.put(session);
            return;
        }
        match self.sessions.iter_mut().find(|other| other.id == session.id) {
            Some(known) => *known = session,
            None => self.sessions.insert(0, session),
        }
    }

    pub(super) fn session_deleted(&mut self, session: &SessionId, now: UnixMs) -> Reaction {
        let order = rows::sidebar_order(self, now);
        let title = self.sessions.iter().find(|other| other.id == *session).map(|found| found.title.clone());
        let title = title.or_else(|| self.threads.find(session).map(|found| found.title.clone()));
        self.sessions.retain(|other| other.id != *session);
        self.threads.forget(session);
        self.confirms.forget_session(session, now);
        // What a server deleted is gone.
        let undo = (!session.is_on_server())
            .then(|| ToastAction { key: "notice-undo", intent: Intent::RestoreSession(session.clone()) });
        let title = title.unwrap_or_default();
        self.toasts.say_with(Tone::Info, "notice-session-deleted", vec![("title", title)], undo, now);
        if self.selected.as_ref() != Some(session) {
            return Reaction::none();
        }
        self.view = None;
        self.selected = None;
        let at = order.iter().position(|other| other == session).unwrap_or(0);
        let next = order.get(at + 1).or_else(|| at.checked_sub(1).and_then(|before| order.get(before))).cloned();
        match next {
            Some(next) => self.select(&next, now),
            None => self.new_chat(now),
        }
    }

    pub(super) fn sessions_deleted(&mut self, sessions: Vec<SessionId>, now: UnixMs) -> Reaction {
        self.sessions.retain(|other| !sessions.contains(&other.id));
        for session in &sessions {
            self.confirms.forget_session(session, now);
        }
        let count = vec![("count", sessions.len().to_string())];
        let is_shown = self.selected.as_ref().is_some_and(|selected| sessions.contains(selected));
        let undo = ToastAction { key: "notice-undo", intent: Intent::RestoreSessions(sessions) };
        self.toasts.say_with(Tone::Info, "notice-sessions-deleted", count, Some(undo), now);
        if !is_shown {
            return Reaction::none();
        }
        self.view = None;
        self.selected = None;
        self.new_chat(now)
    }

    pub(super) fn rename(session: SessionId, title: &str) -> Reaction {
        let title = title.trim().to_owned();
        if title.is_empty() {
            return Reaction::none();
        }
        Command::RenameSession { session, title }.into()
    }

    pub(super) fn fork(&mut self, session: &SessionId) -> Reaction {
        let head = self.sessions.iter().find(|other| other.id == *session).and_then(|found| found.head.clone());
        let head = head.or_else(|| {
            let view = self.view.as_ref().filter(|view| view.session.id == *session)?;
            view.branch().next_back().map(|record| record.id.clone())
        });
        let Some(at) = head else { return Reaction::none() };
        self.awaited_sessions += 1;
        Command::ForkSession { session: session.clone(), at }.into()
    }
}

/// A session in which nothing was ever said.
pub(super) fn is_unused(session: &Session) -> bool {
    session.head.is_none() && session.title.is_empty() && session.draft.is_empty() && !session.pinned
}
