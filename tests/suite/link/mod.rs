//! The device link with a server that does what a test tells it: registration, the fixed order of checks, the person's yes,
//! loss and return, and servers that mean no good.
#![expect(clippy::disallowed_methods, reason = "tests lay out their own files")]

mod clock;
mod command;
mod ending;
mod hostile;
pub(crate) mod kill;
mod repeat;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nod::engine::{Engine, EngineOptions, Inbox, Keys, system_clock};
use nod::ir::{Clock, Decider, LinkCall, LinkCallState, LinkState, LinkView};
use nod::port::{Answer, Command, ConfirmRequest, Event};
use nod::secret::{MemoryVault, SecretKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::desk::PATIENCE;
use crate::support::link_server::{Line, LinkServer, TOKEN};

const LIST: &str = "workspace.list_files";
const READ: &str = "workspace.read_file";

/// An engine with a workspace that a server may look into.
pub(crate) struct Desktop {
    engine: Option<Engine>,
    inbox: Inbox,
    pub(crate) place: TempDir,
    /// Every event so far.
    seen: Vec<Event>,
}

fn start(place: &Path, clock: Clock) -> (Engine, Inbox) {
    let mut options = EngineOptions::new(place.join("data"), env!("CARGO_BIN_EXE_nod"));
    options.home = Some(place.join("home"));
    options.keys = Arc::new(Keys::new(Arc::new(MemoryVault::default())));
    options.clock = clock;
    let engine = Engine::start(options).unwrap();
    let inbox = engine.subscribe(Arc::new(|| {}));
    (engine, inbox)
}

/// A place with a home, a workspace and what lies beside it.
pub(crate) fn laid_out() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for folder in ["home", "work/sub", "work/.git", "out"] {
        std::fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    for (path, content) in [
        ("work/README.md", "hello\n"),
        ("work/..foo", "legal\n"),
        ("work/.env", "TOKEN=planted"),
        ("work/.git/config", "url = https://user:planted@host"),
        ("work/key.txt", "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYaB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"),
        ("out/yes", "outside"),
    ] {
        std::fs::write(place.path().join(path), content).unwrap();
    }
    place
}

impl Desktop {
    pub(crate) fn new() -> Self {
        Self::over(laid_out())
    }

    pub(crate) fn over(place: TempDir) -> Self {
        Self::by_clock(place, system_clock())
    }

    fn by_clock(place: TempDir, clock: Clock) -> Self {
        let (engine, inbox) = start(place.path(), clock);
        Self { engine: Some(engine), inbox, place, seen: Vec::new() }
    }

    /// One that is connected to this server, and the server's end.
    fn connected(server: &LinkServer) -> (Self, Line) {
        Self::new().connected_to(server)
    }

    fn connected_to(self, server: &LinkServer) -> (Self, Line) {
        let mut desktop = self;
        desktop.run(server);
        let line = server.welcome();
        desktop.state_is(&LinkState::Connected);
        (desktop, line)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.place.path().join("work")
    }

    pub(crate) fn send(&self, command: Command) {
        self.engine.as_ref().unwrap().send(command).unwrap();
    }

    fn run(&self, server: &LinkServer) {
        self.connect(&server.url(), TOKEN);
    }

    /// Begins to connect to a server.
    pub(crate) fn connect(&self, url: &str, token: &str) {
        let token = SecretKey::new(token).unwrap();
        self.send(Command::RunLink { url: url.to_owned(), workspace: self.workspace(), token });
    }

    /// The next event that fits.
    pub(crate) fn next<T>(&mut self, fits: impl Fn(&Event) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            let event = self.inbox.recv_timeout(until.saturating_duration_since(Instant::now()));
            let event = event.expect("it happens in time");
            let found = fits(&event);
            self.seen.push(event);
            if let Some(found) = found {
                return found;
            }
        }
    }

    pub(crate) fn state_is(&mut self, state: &LinkState) {
        self.next(|event| state_of(event).filter(|now| now == state));
    }

    pub(crate) fn question(&mut self) -> ConfirmRequest {
        self.next(|event| match event {
            Event::ConfirmAsked(request) => Some(request.as_ref().clone()),
            _ => None,
        })
    }

    pub(crate) fn answer(&self, question: &ConfirmRequest, answer: Answer) {
        self.send(Command::Answer { confirm: question.id.clone(), answer, decider: Decider::Person });
    }

    /// The server goes away while a question is open, and the person says yes: the call runs all the same. Gives where the
    /// server is awaited.
    fn allows_while_away(&mut self, question: &ConfirmRequest, server: LinkServer, line: Line) -> SocketAddr {
        let address = server.address();
        drop((line, server));
        self.next(|event| matches!(state_of(event)?, LinkState::Waiting { .. }).then_some(()));
        self.answer(question, Answer::AllowOnce);
        self.next(|event| match event {
            Event::LinkCallChanged { call, .. } if call.state == LinkCallState::Succeeded => Some(()),
            _ => None,
        });
        address
    }

    pub(crate) fn closed(&mut self, question: &ConfirmRequest) {
        self.next(|event| match event {
            Event::ConfirmClosed { confirm, .. } if *confirm == question.id => Some(()),
            _ => None,
        });
    }

    /// Whether anybody was asked since the start. Everything that happened before this is looked at.
    pub(crate) fn was_asked(&mut self) -> bool {
        self.is_awake();
        self.seen.iter().any(|event| matches!(event, Event::ConfirmAsked(_)))
    }

    /// A server's calls as they are listed, newest first.
    fn listed(&mut self, url: &str) -> Vec<LinkCall> {
        self.send(Command::ListLinkCalls { url: url.to_owned() });
        self.next(|event| match event {
            Event::LinkCallsListed { calls, .. } => Some(calls.clone()),
            _ => None,
        })
    }

    /// Whether a question was closed by now.
    fn is_closed(&mut self, question: &ConfirmRequest) -> bool {
        self.is_awake();
        let is_it = |event: &Event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == question.id);
        self.seen.iter().any(is_it)
    }

    /// The engine answers other front ends.
    fn is_awake(&mut self) {
        self.send(Command::ListSessions);
        let listed = self.next(|event| match event {
            Event::SessionsListed(sessions) => Some(sessions.len()),
            _ => None,
        });
        assert_eq!(listed, 0, "a server's session is in no list");
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.shutdown();
        }
    }
}

fn views(event: &Event) -> Option<&[LinkView]> {
    match event {
        Event::LinksChanged { links, .. } => Some(links),
        _ => None,
    }
}

pub(crate) fn state_of(event: &Event) -> Option<LinkState> {
    views(event)?.first().map(|link| link.state.clone())
}

fn code(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn files_are_listed_without_a_question_and_secrets_are_not_there() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", LIST, &json!({"path": "."}));
    let result = line.hear();
    assert_eq!((&result["type"], &result["status"]), (&json!("tool.call.result"), &json!("succeeded")));
    let entries = result["output"]["entries"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sub", "..foo", "README.md", "key.txt"]);
    assert!(!result.to_string().contains(desktop.place.path().to_str().unwrap()), "no path of this computer leaves");
    assert!(!desktop.was_asked());
}

#[test]
fn a_file_is_read_after_a_yes_to_this_server_and_keys_in_it_are_masked() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "key.txt"}));
    let question = desktop.question();
    assert_eq!(question.server.as_deref(), Some(server.url().as_str()));
    assert_eq!((question.rule_proposals.len(), question.denials.len()), (0, 0), "nothing can be remembered");
    let left_ms = question.expires_at.unwrap().since(question.asked_at);
    assert!((59_000..=60_000).contains(&left_ms), "{left_ms}");
    assert_eq!(question.call.args, json!({"path": "key.txt"}));
    desktop.answer(&question, Answer::AllowOnce);
    let result = line.hear();
    assert_eq!(result["status"], "succeeded");
    let content = result["output"]["content"].as_str().unwrap();
    assert!(content.contains("masked") && !content.contains("aB3dE5"), "{content}");
}

#[test]
fn a_no_is_told_as_a_refusal() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    desktop.answer(&question, Answer::Deny { reason: "mine".into() });
    let result = line.hear();
    assert_eq!((&result["status"], code(&result)), (&json!("rejected"), "CONFIRMATION_REJECTED"));
    assert!(!result.to_string().contains("mine"), "the person's words stay here");
}

#[test]
fn every_refusal_before_the_question_has_its_code_and_nobody_is_asked() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    #[cfg(unix)]
    std::os::unix::fs::symlink("../out/yes", desktop.workspace().join("link")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".git/config", desktop.workspace().join("innocent")).unwrap();
    let absolute = desktop.workspace().join("README.md").display().to_string();
    let mut cases = vec![
        (READ, json!({"path": absolute}), "ABSOLUTE_PATH_DENIED"),
        (READ, json!({"path": "~/x"}), "ABSOLUTE_PATH_DENIED"),
        (READ, json!({"path": "../out/yes"}), "PATH_OUT_OF_SCOPE"),
        (LIST, json!({"path": ".."}), "PATH_OUT_OF_SCOPE"),
        (READ, json!({"path": ".env"}), "SENSITIVE_PATH_DENIED"),
        (READ, json!({"path": ".git/config"}), "SENSITIVE_PATH_DENIED"),
        (LIST, json!({"path": ".git"}), "SENSITIVE_PATH_DENIED"),
        (READ, json!({"path": "none.txt"}), "PATH_NOT_FOUND"),
        (READ, json!({"path": "README.md", "encoding": "base64"}), "INVALID_ARGUMENTS"),
        (READ, json!({"path": 7}), "INVALID_ARGUMENTS"),
        (READ, json!({}), "INVALID_ARGUMENTS"),
        (READ, json!({"path": "README.md", "max_bytes": 0}), "INVALID_ARGUMENTS"),
        ("write_file", json!({"path": "a", "content": "b"}), "TOOL_NOT_AVAILABLE"),
        ("run_command", json!({"command": "id"}), "TOOL_NOT_AVAILABLE"),
    ];
    if cfg!(unix) {
        cases.push((READ, json!({"path": "link"}), "PATH_OUT_OF_SCOPE"));
        cases.push((READ, json!({"path": "innocent"}), "SENSITIVE_PATH_DENIED"));
    }
    for (number, (tool, arguments, expected)) in cases.iter().enumerate() {
        line.ask(&format!("t:{number}"), tool, arguments);
        let result = line.hear();
        assert_eq!((&result["status"], code(&result)), (&json!("rejected"), *expected), "{tool} {arguments}");
    }
    for (change, expected) in [
        (json!({"device_id": "another"}), "DEVICE_MISMATCH"),
        (json!({"tool_version": "2"}), "TOOL_NOT_AVAILABLE"),
        (json!({"arguments_hash": "00"}), "INVALID_ARGUMENTS"),
        (json!({"expires_at": "2020-01-01T00:00:00Z"}), "REQUEST_EXPIRED"),
    ] {
        let mut request = line.request("t:changed", READ, &json!({"path": "README.md"}));
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        line.say(request);
        assert_eq!(code(&line.hear()), expected, "{change}");
    }
    assert!(!desktop.was_asked());
    // None of these took a place: the same name is free.
    line.ask("t:changed", READ, &json!({"path": "..foo"}));
    let question = desktop.question();
    desktop.answer(&question, Answer::AllowOnce);
    assert_eq!(line.hear()["output"]["content"], "legal\n");
}

#[cfg(unix)]
#[test]
fn a_file_with_another_name_is_refused_without_a_question() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let (inside, second) = (desktop.workspace().join("twice.txt"), desktop.workspace().join("../second"));
    std::fs::write(&inside, "KEY=1\n").unwrap();
    std::fs::hard_link(&inside, &second).unwrap();
    line.ask("t:1", READ, &json!({"path": "twice.txt"}));
    assert_eq!(code(&line.hear()), "PATH_OUT_OF_SCOPE");
    assert!(!desktop.was_asked());
    // The control: with one name it is asked.
    std::fs::remove_file(&second).unwrap();
    line.ask("t:2", READ, &json!({"path": "twice.txt"}));
    assert!(desktop.question().target.ends_with("twice.txt"));
}

#[test]
fn what_is_refused_answers_alike_whether_it_is_there_or_not_byte_for_byte() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    #[cfg(unix)]
    for (to, name) in [("../out/yes", "to-yes"), ("../out/no", "to-no"), (".env", "to-env"), (".git/none", "to-git")] {
        std::os::unix::fs::symlink(to, desktop.workspace().join(name)).unwrap();
    }
    let mut pairs = vec![
        ("../out/yes", "../out/no"),
        (".env", "sub/.env"),
        (".git/config", ".git/none"),
        ("sub/../../out/yes", "sub/../../out/no"),
        ("/etc/passwd", "/etc/nothing"),
    ];
    if cfg!(unix) {
        pairs.extend([("to-yes", "to-no"), ("to-env", "to-git")]);
    }
    for (there, missing) in pairs {
        let [one, other] = [there, missing].map(|path| {
            line.ask("t:pair", READ, &json!({"path": path}));
            let mut answer = line.hear();
            answer.as_object_mut().unwrap().retain(|name, _| name != "event_id" && name != "sequence");
            answer.to_string()
        });
        assert_eq!(one, other, "{there} and {missing}");
    }
    assert!(!desktop.was_asked());
}

#[test]
fn a_call_that_is_sent_twice_is_asked_and_run_once() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let arguments = json!({"path": "README.md"});
    line.ask("t:1", READ, &arguments);
    let question = desktop.question();
    let mut again = line.request("t:1", READ, &arguments);
    again["execution_id"] = json!("x2");
    line.say(again);
    line.ask("t:1", READ, &json!({"path": "..foo"}));
    let conflict = line.hear();
    assert_eq!(code(&conflict), "IDEMPOTENCY_CONFLICT");
    desktop.answer(&question, Answer::AllowOnce);
    let result = line.hear();
    assert_eq!((&result["status"], &result["execution_id"]), (&json!("succeeded"), &json!("x2")));
    std::fs::write(desktop.workspace().join("README.md"), "changed\n").unwrap();
    line.ask("t:1", READ, &arguments);
    let replay = line.hear();
    assert_eq!((&replay["output"]["content"], &replay["execution_id"]), (&json!("hello\n"), &json!("x-t:1")));
    desktop.is_awake();
    let questions = desktop.seen.iter().filter(|event| matches!(event, Event::ConfirmAsked(_))).count();
    assert_eq!(questions, 1);
}

#[test]
fn a_call_that_is_taken_back_closes_its_question() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    line.say(json!({"type": "tool.call.cancel", "tool_call_id": "t:1", "reason": "RUN_CANCELLED"}));
    desktop.closed(&question);
    desktop.answer(&question, Answer::AllowOnce);
    let result = line.hear();
    assert_eq!((&result["status"], code(&result)), (&json!("cancelled"), "CANCELLED_BY_SERVER"));
}

#[test]
fn a_question_closes_when_the_calls_time_is_over_and_a_late_yes_does_nothing() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let mut request = line.request("t:1", READ, &json!({"path": "README.md"}));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(2_500);
    request["expires_at"] = json!(soon.to_string());
    line.say(request);
    let question = desktop.question();
    desktop.closed(&question);
    desktop.answer(&question, Answer::AllowOnce);
    let result = line.hear();
    assert_eq!((&result["status"], code(&result)), (&json!("rejected"), "REQUEST_EXPIRED"));
}

#[test]
fn a_result_that_the_server_did_not_get_is_sent_after_its_return_until_it_is_acknowledged() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    let address = desktop.allows_while_away(&question, server, line);
    let server = LinkServer::at(address);
    for is_acknowledged in [false, true] {
        let mut line = server.welcome();
        let result = line.hear();
        assert_eq!((&result["tool_call_id"], &result["status"]), (&json!("t:1"), &json!("succeeded")));
        assert_eq!(result["output"]["content"], "hello\n");
        if is_acknowledged {
            line.ack("t:1");
            // The acknowledgement is through once something after it is answered.
            line.ask("t:2", LIST, &json!({"path": "sub"}));
            line.hear();
            line.ack("t:2");
            line.ask("t:3", LIST, &json!({"path": ".."}));
            line.hear();
        }
    }
    let mut line = server.welcome();
    line.ask("t:4", LIST, &json!({"path": "sub"}));
    assert_eq!(line.hear()["tool_call_id"], "t:4", "what was acknowledged is not sent again");
}

#[test]
fn a_connection_that_another_took_over_does_not_come_back_by_itself() {
    let server = LinkServer::new();
    let (mut desktop, line) = Desktop::connected(&server);
    line.close(4409);
    desktop.state_is(&LinkState::Replaced);
    assert!(server.accept_within(Duration::from_secs(3)).is_none());
    desktop.send(Command::RetryLink { url: server.url() });
    server.welcome();
}

#[test]
fn who_wants_no_connection_any_more_cancels_what_waits_and_sends_nothing() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    desktop.send(Command::StopLink { url: server.url() });
    desktop.closed(&question);
    let (code, heard) = line.hear_end();
    assert_eq!((code, heard), (Some(1000), Vec::new()));
    // When it is wanted again, the server hears what became of the call.
    desktop.run(&server);
    let result = server.welcome().hear();
    assert_eq!((&result["status"], super::link::code(&result)), (&json!("cancelled"), "CANCELLED"));
}

#[test]
fn a_server_is_added_with_its_token_paused_and_removed() {
    let server = LinkServer::new();
    let mut desktop = Desktop::new();
    let put = |token: &str| Command::PutLink {
        url: server.url(),
        workspace: desktop.workspace(),
        token: SecretKey::new(token),
    };
    let (wrong, right) = (put("wrong"), put(TOKEN));
    desktop.send(wrong);
    assert!(server.accept_within(Duration::from_secs(2)).is_none(), "a wrong token gets no ticket");
    desktop.next(|event| match state_of(event)? {
        LinkState::Waiting { problem: nod::ir::LinkProblem::TokenRefused, .. } => Some(()),
        _ => None,
    });
    desktop.send(right);
    let mut line = server.welcome();
    desktop.state_is(&LinkState::Connected);
    line.ask("t:1", LIST, &json!({"path": "sub"}));
    line.hear();
    desktop.send(Command::PauseLink { url: server.url(), is_paused: true });
    desktop.state_is(&LinkState::Paused);
    line.hear_end();
    let calls = desktop.listed(&server.url());
    assert_eq!(calls.iter().map(|call| call.tool_call_id.as_str()).collect::<Vec<_>>(), ["t:1"]);
    desktop.send(Command::PauseLink { url: server.url(), is_paused: false });
    // The token comes from where it was kept.
    server.welcome();
    desktop.send(Command::RemoveLink { url: server.url() });
    desktop.next(|event| views(event)?.is_empty().then_some(()));
}

#[test]
fn a_call_on_a_connection_of_before_is_heard_by_nobody() {
    let server = LinkServer::new();
    let (mut desktop, mut older) = Desktop::connected(&server);
    desktop.send(Command::StopLink { url: server.url() });
    desktop.run(&server);
    let mut newer = server.welcome();
    // The control: the same call on the connection of now.
    let request = older.request("t:1", READ, &json!({"path": "README.md"}));
    older.try_say(request.clone());
    let (_, heard) = older.hear_end();
    assert_eq!(heard, Vec::<Value>::new());
    assert!(!desktop.was_asked());
    newer.say(request);
    desktop.question();
}

#[test]
fn another_workspace_takes_back_what_waits_for_the_old_one() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    let other = desktop.place.path().join("out");
    let token = SecretKey::new(TOKEN);
    desktop.send(Command::PutLink { url: server.url(), workspace: other, token });
    desktop.closed(&question);
    // It ended without a result of the old folder, and what is asked now is asked of the new one.
    line.hear_end();
    let mut line = server.welcome();
    let result = line.hear();
    assert_eq!((&result["tool_call_id"], &result["status"]), (&json!("t:1"), &json!("cancelled")));
    line.ask("t:2", LIST, &json!({"path": "."}));
    let listed = line.hear();
    assert!(listed["output"].to_string().contains("\"yes\""), "{listed}");
}

#[test]
fn five_hundred_entries_with_the_longest_names_fit_into_one_frame() {
    let server = LinkServer::new();
    let (desktop, mut line) = Desktop::connected(&server);
    let folder = desktop.workspace().join("many");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..501 {
        std::fs::write(folder.join(format!("{number:0>255}")), "").unwrap();
    }
    line.ask("t:1", LIST, &json!({"path": "many"}));
    let result = line.hear();
    assert_eq!(result["status"], "succeeded", "{}", result["error"]);
    let entries = result["output"]["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &result["output"]["truncated"]), (500, &json!(true)));
}
