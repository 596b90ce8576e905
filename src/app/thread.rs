//! Sessions that live on servers: their lists, and what can be done with them here.

use std::collections::BTreeMap;

use crate::ir::{LinkProblem, LinkState, Session, SessionId, UnixMs};
use crate::port::{Command, ThreadsState};

use super::rows::SidebarRow;
use super::toast::Tone;
use super::{AppState, HostAction, Intent, PathPurpose, Reaction};

/// Conversations of one server that are listed before the person asks for more.
const FIRST: usize = 5;

/// Sessions that live on servers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Threads {
    /// By the server's address.
    pub lists: BTreeMap<String, ThreadList>,
    /// The selected session, while it cannot be shown, and why.
    pub unreached: Option<(SessionId, LinkProblem)>,
    /// A session that waits for the yes to being deleted for good.
    pub doomed: Option<Session>,
}

/// What is known of one server's conversations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadList {
    /// Newest first; the last list that came.
    pub sessions: Vec<Session>,
    /// Why there is no newer list.
    pub problem: Option<LinkProblem>,
    pub is_loading: bool,
    /// Whether the sidebar shows all of them.
    pub is_unfolded: bool,
}

impl Threads {
    /// A session that a list has.
    pub fn find(&self, id: &SessionId) -> Option<&Session> {
        let (url, _) = id.home()?;
        self.lists.get(url)?.sessions.iter().find(|session| session.id == *id)
    }

    pub(super) fn find_mut(&mut self, id: &SessionId) -> Option<&mut Session> {
        let (url, _) = id.home()?;
        self.lists.get_mut(url)?.sessions.iter_mut().find(|session| session.id == *id)
    }

    /// Takes a session in, new or changed.
    pub(super) fn put(&mut self, session: Session) {
        let Some((url, _)) = session.id.home() else { return };
        let list = self.lists.entry(url.to_owned()).or_default();
        match list.sessions.iter_mut().find(|known| known.id == session.id) {
            Some(known) => *known = session,
            None => list.sessions.insert(0, session),
        }
    }

    pub(super) fn forget(&mut self, id: &SessionId) {
        for list in self.lists.values_mut() {
            list.sessions.retain(|session| session.id != *id);
        }
    }

    pub(super) fn listed(&mut self, url: String, threads: ThreadsState) {
        let list = self.lists.entry(url).or_default();
        list.is_loading = threads == ThreadsState::Loading;
        match threads {
            ThreadsState::Loading => {}
            ThreadsState::Ready(sessions) => (list.sessions, list.problem) = (sessions, None),
            ThreadsState::Failed(problem) => list.problem = Some(problem),
        }
    }
}

impl AppState {
    /// The servers on which a session can live, in their order: those that are not paused.
    pub fn homes(&self) -> impl Iterator<Item = &str> {
        let wanted = self.links.links.iter().filter(|link| link.state != LinkState::Paused);
        wanted.map(|link| link.server.url.as_str())
    }

    /// The selected session's server; `None` for a session of this computer.
    pub fn home(&self) -> Option<&str> {
        self.selected.as_ref().and_then(SessionId::home).map(|(url, _)| url)
    }

    /// Asks servers that can be reached from now on for their conversations.
    pub(super) fn list_threads_of(&self, before: &[(String, LinkState)]) -> Reaction {
        let was_connected = |url: &str| before.iter().any(|(of, state)| of == url && *state == LinkState::Connected);
        let commands = self.links.links.iter().filter(|link| link.state == LinkState::Connected);
        let commands = commands.filter(|link| !was_connected(&link.server.url));
        let commands = commands.map(|link| Command::ListThreads { url: link.server.url.clone() }).collect();
        Reaction { commands, actions: Vec::new() }
    }

    pub(super) fn threads_listed(&mut self, url: String, threads: ThreadsState) -> Reaction {
        self.threads.listed(url, threads);
        Reaction::none()
    }

    pub(super) fn begin_thread(&mut self, url: String) -> Reaction {
        self.settings_page = None;
        self.audit = None;
        self.awaited_sessions += 1;
        Reaction::from(Command::BeginThread { url }).and(HostAction::FocusComposer.into())
    }

    pub(super) fn toggle_threads(&mut self, url: &str) -> Reaction {
        if let Some(list) = self.threads.lists.get_mut(url) {
            list.is_unfolded = !list.is_unfolded;
        }
        Reaction::none()
    }

    /// A branch: what was typed and not sent goes along.
    pub(super) fn session_moved(&mut self, from: &SessionId, to: SessionId, now: UnixMs) -> Reaction {
        if let Some(composer) = self.composers.remove(from) {
            self.composers.insert(to.clone(), composer);
        }
        if self.selected.as_ref() == Some(from) {
            self.selected = Some(to);
            self.selected_at = now;
        }
        Reaction::none()
    }

    pub(super) fn thread_unreached(&mut self, session: SessionId, problem: LinkProblem) -> Reaction {
        if self.selected.as_ref() == Some(&session) {
            self.threads.unreached = Some((session, problem));
        }
        Reaction::none()
    }

    /// Deletes a session of this computer; asks first for one of a server, where nothing brings it back.
    pub(super) fn delete_session(&mut self, session: SessionId) -> Reaction {
        if !session.is_on_server() {
            return Command::DeleteSession(session).into();
        }
        self.threads.doomed = self.threads.find(&session).cloned();
        Reaction::none()
    }

    pub(super) fn confirm_deletion(&mut self) -> Reaction {
        let doomed = self.threads.doomed.take();
        doomed.map_or_else(Reaction::none, |session| Command::DeleteSession(session.id).into())
    }

    /// Whether what the person wants is not for a session that lives on a server; says so then.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nearly everything is for every session")]
    pub(super) fn is_only_for_here(&mut self, intent: &Intent, now: UnixMs) -> bool {
        let on_selected = matches!(
            intent,
            Intent::ChooseModel { .. }
                | Intent::SetThinking(_)
                | Intent::SetMode(_)
                | Intent::SetLocalOnly(_)
                | Intent::AddFolderPath(_)
                | Intent::RemoveFolder(_)
                | Intent::ForkHere(_)
                | Intent::DeleteMessage(_)
                | Intent::ShowSent
                | Intent::ShowHistory(_)
                | Intent::PickPath(PathPurpose::SessionFolder | PathPurpose::SensitiveFile)
                | Intent::TypePath(PathPurpose::SessionFolder | PathPurpose::SensitiveFile)
        ) && self.home().is_some();
        let named = match intent {
            Intent::RenameSession { session, .. }
            | Intent::PinSession { session, .. }
            | Intent::ForkSession(session)
            | Intent::PickPath(PathPurpose::Export(session)) => session.is_on_server(),
            _ => false,
        };
        if on_selected || named {
            self.toasts.say(Tone::Info, "notice-not-on-server", Vec::new(), now);
        }
        on_selected || named
    }
}

/// The sidebar's rows for the sessions of servers.
pub(super) fn rows(state: &AppState) -> Vec<SidebarRow> {
    let mut rows = Vec::new();
    for url in state.homes() {
        let list = state.threads.lists.get(url);
        let is_loading = list.is_some_and(|list| list.is_loading);
        rows.push(SidebarRow::Server { url: url.to_owned(), host: host(url).to_owned(), is_loading });
        let Some(list) = list else { continue };
        if let Some(problem) = &list.problem {
            rows.push(SidebarRow::ServerProblem { url: url.to_owned(), problem: problem.clone() });
        }
        rows.extend(shown(state, list).map(|session| SidebarRow::Session {
            id: session.id.clone(),
            title: session.title.clone(),
            badge: state.badge(&session.id),
            is_selected: state.selected.as_ref() == Some(&session.id),
            is_pinned: false,
        }));
        if list.sessions.len() > FIRST {
            let (count, is_unfolded) = (list.sessions.len(), list.is_unfolded);
            rows.push(SidebarRow::MoreThreads { url: url.to_owned(), count, is_unfolded });
        }
    }
    rows
}

/// The sessions of servers in the sidebar's order.
pub(super) fn order(state: &AppState) -> impl Iterator<Item = &SessionId> {
    let lists = state.homes().filter_map(|url| state.threads.lists.get(url));
    lists.flat_map(move |list| shown(state, list).map(|session| &session.id))
}

/// All sessions of servers, as the palette offers them.
pub(super) fn sessions(state: &AppState) -> impl Iterator<Item = &Session> {
    state.homes().filter_map(|url| state.threads.lists.get(url)).flat_map(|list| &list.sessions)
}

/// The newest of a list, and the one that is open.
fn shown<'state>(state: &'state AppState, list: &'state ThreadList) -> impl Iterator<Item = &'state Session> {
    let is_shown = move |(index, session): &(usize, &Session)| {
        *index < FIRST || list.is_unfolded || state.selected.as_ref() == Some(&session.id)
    };
    list.sessions.iter().enumerate().filter(is_shown).map(|(_, session)| session)
}

/// A server's address as it is shown: without what every address has.
pub fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::{open_state, session};
    use crate::ir::{KeyPlace, LinkServer, LinkView, State};
    use crate::policy::RuleSet;
    use crate::port::Event;

    const URL: &str = "https://nod.example/";
    const NOW: UnixMs = UnixMs(1);

    fn link(state: LinkState) -> Event {
        let server =
            LinkServer { url: URL.into(), workspace: "/projects".into(), key: KeyPlace::Nowhere, is_paused: false };
        let links = vec![LinkView { server, state, sent_bytes: 0 }];
        Event::LinksChanged { device_id: "d".into(), links }
    }

    fn far(thread: &str, title: &str) -> Session {
        Session { id: SessionId::on_server(URL, thread), ..session("", title, 0) }
    }

    fn opened(thread: &str, draft: &str) -> Event {
        let session = Session { draft: draft.to_owned(), ..far(thread, "") };
        Event::SessionOpened {
            session: Box::new(session),
            messages: Vec::new(),
            has_older: false,
            calls: Vec::new(),
            rules: RuleSet::default(),
            state: State::Idle,
            queued: Vec::new(),
        }
    }

    fn listed(count: usize) -> Event {
        let sessions = (0..count).map(|number| far(&format!("t{number}"), &format!("Chat {number}"))).collect();
        Event::ThreadsListed { url: URL.into(), threads: ThreadsState::Ready(sessions) }
    }

    fn titles(state: &AppState) -> Vec<String> {
        let words = |row: &SidebarRow| match row {
            SidebarRow::Server { host, .. } => host.clone(),
            SidebarRow::ServerProblem { problem, .. } => problem.text().0.to_owned(),
            SidebarRow::MoreThreads { count, .. } => format!("{count} in all"),
            SidebarRow::Session { title, .. } => title.clone(),
            SidebarRow::Heading(key) => (*key).to_owned(),
        };
        rows(state).iter().map(words).collect()
    }

    #[test]
    fn a_server_is_asked_for_its_conversations_when_it_is_connected_and_not_at_every_word() {
        let mut state = open_state();
        assert_eq!(state.on_event(link(LinkState::Connecting), NOW).commands, []);
        let asked = vec![Command::ListThreads { url: URL.into() }];
        assert_eq!(state.on_event(link(LinkState::Connected), NOW).commands, asked);
        assert_eq!(state.on_event(link(LinkState::Connected), NOW).commands, []);
    }

    #[test]
    fn the_newest_are_listed_under_their_server_and_the_rest_when_asked_for() {
        let mut state = open_state();
        state.on_event(link(LinkState::Connected), NOW);
        state.on_event(listed(7), NOW);
        let first = ["nod.example", "Chat 0", "Chat 1", "Chat 2", "Chat 3", "Chat 4", "7 in all"];
        assert_eq!(titles(&state), first);
        state.on_intent(Intent::ToggleThreads(URL.into()), NOW);
        assert_eq!(titles(&state).len(), 9);
        // A list that cannot be had any more leaves what was known.
        let threads = ThreadsState::Failed(LinkProblem::TokenRefused);
        state.on_event(Event::ThreadsListed { url: URL.into(), threads }, NOW);
        assert_eq!(titles(&state)[1], "link-problem-token");
        assert_eq!(titles(&state).len(), 10);
        state.on_event(link(LinkState::Paused), NOW);
        assert_eq!(titles(&state), [] as [String; 0]);
    }

    #[test]
    fn a_branch_takes_what_was_typed_and_the_persons_eyes_along() {
        let mut state = open_state();
        let (from, to) = (SessionId::on_server(URL, "t0"), SessionId::on_server(URL, "t1"));
        state.on_intent(Intent::SelectSession(from.clone()), NOW);
        state.on_event(opened("t0", "half a"), NOW);
        assert_eq!(state.composer().map(|composer| composer.text.as_str()), Some("half a"));
        state.on_event(Event::SessionMoved { from: from.clone(), to: to.clone() }, NOW);
        state.on_event(opened("t1", ""), NOW);
        assert_eq!(state.shown().map(|view| &view.session.id), Some(&to));
        assert_eq!(state.composer().map(|composer| composer.text.as_str()), Some("half a"));
    }

    #[test]
    fn a_session_of_a_server_is_deleted_after_a_yes_and_cannot_be_brought_back() {
        let mut state = open_state();
        state.on_event(link(LinkState::Connected), NOW);
        state.on_event(listed(2), NOW);
        let id = SessionId::on_server(URL, "t1");
        assert_eq!(state.on_intent(Intent::DeleteSession(id.clone()), NOW).commands, []);
        assert_eq!(state.threads.doomed.as_ref().map(|doomed| &doomed.id), Some(&id));
        let sent = state.on_intent(Intent::ConfirmDeletion, NOW);
        assert_eq!(sent.commands, [Command::DeleteSession(id.clone())]);
        state.on_event(Event::SessionDeleted(id), NOW);
        assert_eq!(titles(&state), ["nod.example", "Chat 0"]);
        assert!(state.toasts.shown.iter().all(|toast| toast.action.is_none()));
    }

    #[test]
    fn what_only_a_session_of_this_computer_has_is_not_sent_for_one_of_a_server() {
        let mut state = open_state();
        let id = SessionId::on_server(URL, "t0");
        state.on_intent(Intent::SelectSession(id.clone()), NOW);
        state.on_event(opened("t0", ""), NOW);
        let pin = Intent::PinSession { session: id, pinned: true };
        for intent in [Intent::SetLocalOnly(true), Intent::ShowSent, pin] {
            assert_eq!(state.on_intent(intent, NOW).commands, []);
        }
        assert_eq!(state.toasts.shown.len(), 1);
    }

    #[test]
    fn one_that_cannot_be_shown_says_why_until_it_is_chosen_again() {
        let mut state = open_state();
        let id = SessionId::on_server(URL, "t0");
        state.on_intent(Intent::SelectSession(id.clone()), NOW);
        let problem = LinkProblem::TokenRefused;
        state.on_event(Event::ThreadUnreached { session: id.clone(), problem: problem.clone() }, NOW);
        assert_eq!(state.threads.unreached, Some((id.clone(), problem)));
        let asked = state.on_intent(Intent::SelectSession(id.clone()), NOW);
        assert_eq!((asked.commands, &state.threads.unreached), (vec![Command::OpenSession(id.clone())], &None));
        state.on_event(opened("t0", ""), NOW);
        assert_eq!(state.shown().map(|view| view.state), Some(State::Idle));
    }
}
