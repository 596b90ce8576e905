//! The servers that may call tools of this computer, as the window shows them.

use std::path::PathBuf;

use crate::ir::{LinkCall, LinkState, LinkView};
use crate::port::Command;
use crate::secret::SecretKey;

use super::{AppState, Reaction};

/// Calls that the list of one server holds.
const MOST_CALLS: usize = 200;

/// The device link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Links {
    /// This installation's name; empty before there is a link.
    pub device_id: String,
    /// Every server, with its connection.
    pub links: Vec<LinkView>,
    /// The server whose calls are open, and its calls, newest first.
    pub open: Option<(String, Vec<LinkCall>)>,
    /// The form for a server, while it is filled in.
    pub form: Option<LinkForm>,
}

/// What is filled in about a server, but for its token and what is still being typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkForm {
    /// The server that is changed; `None` for a new one.
    pub url: Option<String>,
    /// The folder that was chosen.
    pub workspace: String,
}

impl Links {
    pub(super) fn change(&mut self, device_id: String, links: Vec<LinkView>) {
        self.device_id = device_id;
        self.links = links;
        let is_known = |url: &str| self.links.iter().any(|link| link.server.url == url);
        if self.open.as_ref().is_some_and(|(url, _)| !is_known(url)) {
            self.open = None;
        }
    }

    pub(super) fn change_call(&mut self, url: &str, call: LinkCall) {
        let Some((_, calls)) = self.open.as_mut().filter(|(open, _)| open == url) else { return };
        // A refused one is a row of its own, whatever name the server gave it.
        let is_known = |known: &&mut LinkCall| {
            if call.is_recorded {
                known.is_recorded && known.tool_call_id == call.tool_call_id
            } else {
                **known == call
            }
        };
        if let Some(known) = calls.iter_mut().find(is_known) {
            *known = call;
        } else {
            calls.insert(0, call);
            calls.truncate(MOST_CALLS);
        }
    }

    pub(super) fn list_calls(&mut self, url: &str, listed: Vec<LinkCall>) {
        if let Some((_, calls)) = self.open.as_mut().filter(|(open, _)| open == url) {
            *calls = listed;
        }
    }

    /// The connection that the foot of the sidebar speaks of: the first one that is up, else the first that is wanted.
    pub fn foremost(&self) -> Option<&LinkView> {
        let is_up = |link: &&LinkView| link.state == LinkState::Connected;
        let is_wanted = |link: &&LinkView| link.state != LinkState::Paused;
        self.links.iter().find(is_up).or_else(|| self.links.iter().find(is_wanted)).or_else(|| self.links.first())
    }
}

/// The key of a connection's state.
pub const fn state_key(state: &LinkState) -> &'static str {
    match state {
        LinkState::Paused => "link-paused",
        LinkState::Connecting => "link-connecting",
        LinkState::Connected => "link-connected",
        LinkState::Waiting { .. } => "link-waiting",
        LinkState::Replaced => "link-replaced",
        LinkState::Stopped { .. } => "link-stopped",
    }
}

impl AppState {
    pub(super) fn links_changed(&mut self, device_id: String, links: Vec<LinkView>) -> Reaction {
        let before =
            self.links.links.iter().map(|link| (link.server.url.clone(), link.state.clone())).collect::<Vec<_>>();
        self.links.change(device_id, links);
        let links = &self.links.links;
        self.threads.lists.retain(|url, _| links.iter().any(|link| link.server.url == *url));
        self.list_threads_of(&before)
    }

    /// Opens the form for a new server (`None`), or for one that is there.
    pub(super) fn begin_link(&mut self, url: Option<String>) -> Reaction {
        let known = self.links.links.iter().find(|link| Some(&link.server.url) == url.as_ref());
        let workspace = known.map(|link| link.server.workspace.clone()).unwrap_or_default();
        self.links.form = Some(LinkForm { url, workspace });
        Reaction::none()
    }

    pub(super) fn choose_workspace(&mut self, path: &std::path::Path) -> Reaction {
        if let Some(form) = &mut self.links.form {
            form.workspace = path.display().to_string();
        }
        Reaction::none()
    }

    pub(super) fn put_link(&mut self, url: String, workspace: &str, token: Option<SecretKey>) -> Reaction {
        self.links.form = None;
        Command::PutLink { url, workspace: PathBuf::from(workspace), token }.into()
    }

    /// Opens a server's calls, or closes them.
    pub(super) fn toggle_link_calls(&mut self, url: String) -> Reaction {
        if self.links.open.as_ref().is_some_and(|(open, _)| *open == url) {
            self.links.open = None;
            return Reaction::none();
        }
        self.links.open = Some((url.clone(), Vec::new()));
        Command::ListLinkCalls { url }.into()
    }

    /// The page comes into sight: the open calls are asked for anew.
    pub(super) fn list_open_calls(&self) -> Reaction {
        self.links
            .open
            .as_ref()
            .map_or_else(Reaction::none, |(url, _)| Command::ListLinkCalls { url: url.clone() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Intent;
    use crate::ir::{KeyPlace, LinkCallState, LinkProblem, LinkServer, UnixMs};
    use crate::port::Event;

    fn link(url: &str, state: LinkState) -> LinkView {
        let server = LinkServer {
            url: url.into(),
            workspace: "/projects/a".into(),
            key: KeyPlace::Nowhere,
            is_paused: state == LinkState::Paused,
        };
        LinkView { server, state, sent_bytes: 0 }
    }

    fn call(id: &str, state: LinkCallState) -> LinkCall {
        LinkCall {
            tool_call_id: id.into(),
            is_recorded: true,
            tool: "workspace.read_file".into(),
            path: "a.txt".into(),
            state,
            code: None,
            sent_bytes: 0,
            at: UnixMs(1),
        }
    }

    fn with(links: Vec<LinkView>) -> AppState {
        let mut state = AppState::default();
        state.on_event(Event::LinksChanged { device_id: "d".into(), links }, UnixMs(0));
        state
    }

    #[test]
    fn the_foot_speaks_of_the_connection_that_is_up() {
        let waiting = LinkState::Waiting { until: UnixMs(9), problem: LinkProblem::Silent };
        let links = [("a", LinkState::Paused), ("b", waiting), ("c", LinkState::Connected)];
        let mut state = with(links.map(|(url, state)| link(url, state)).to_vec());
        let foremost = |state: &AppState| state.links.foremost().map(|link| link.server.url.clone());
        assert_eq!(foremost(&state).as_deref(), Some("c"));
        state.links.links.pop();
        assert_eq!(foremost(&state).as_deref(), Some("b"));
        state.links.links.pop();
        assert_eq!(foremost(&state).as_deref(), Some("a"));
        state.links.links.pop();
        assert_eq!(foremost(&state), None);
    }

    #[test]
    fn the_calls_of_the_open_server_are_followed_and_go_with_it() {
        let mut state = with(vec![link("a", LinkState::Connected), link("b", LinkState::Connected)]);
        let reaction = state.on_intent(Intent::ToggleLinkCalls("a".into()), UnixMs(0));
        assert_eq!(reaction.commands, [Command::ListLinkCalls { url: "a".into() }]);
        let calls = vec![call("t:1", LinkCallState::Succeeded)];
        state.on_event(Event::LinkCallsListed { url: "a".into(), calls }, UnixMs(0));
        for (url, id, state_now) in [
            ("a", "t:2", LinkCallState::Running),
            ("b", "t:3", LinkCallState::Running),
            ("a", "t:2", LinkCallState::Failed),
        ] {
            state.on_event(Event::LinkCallChanged { url: url.into(), call: call(id, state_now) }, UnixMs(0));
        }
        let expected = vec![call("t:2", LinkCallState::Failed), call("t:1", LinkCallState::Succeeded)];
        assert_eq!(state.links.open, Some(("a".into(), expected)));
        // Two tries under the name of a call that is over: it stays as it is.
        let refused =
            |path: &str| LinkCall { is_recorded: false, path: path.into(), ..call("t:1", LinkCallState::Rejected) };
        for path in ["x", "y", "y"] {
            let event = Event::LinkCallChanged { url: "a".into(), call: refused(path) };
            state.on_event(event, UnixMs(0));
        }
        let calls = state.links.open.as_ref().map(|(_, calls)| calls.clone()).unwrap_or_default();
        let done = [call("t:2", LinkCallState::Failed), call("t:1", LinkCallState::Succeeded)];
        assert_eq!((&calls[..2], &calls[2..]), (&[refused("y"), refused("x")][..], &done[..]));
        let links = vec![link("b", LinkState::Connected)];
        state.on_event(Event::LinksChanged { device_id: "d".into(), links }, UnixMs(0));
        assert_eq!(state.links.open, None);
    }

    #[test]
    fn a_form_begins_with_what_is_known_and_ends_with_a_command() {
        let mut state = with(vec![link("a", LinkState::Connected)]);
        state.on_intent(Intent::BeginLink(Some("a".into())), UnixMs(0));
        let form = LinkForm { url: Some("a".into()), workspace: "/projects/a".into() };
        assert_eq!(state.links.form, Some(form));
        let put = Intent::PutLink { url: "a".into(), workspace: "/projects/b".into(), token: None };
        let reaction = state.on_intent(put, UnixMs(0));
        let command = Command::PutLink { url: "a".into(), workspace: "/projects/b".into(), token: None };
        assert_eq!((reaction.commands, &state.links.form), (vec![command], &None));
    }
}
