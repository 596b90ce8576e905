//! A session that lives on a server, as a person has it: a real `nod-server` with a scripted model, and the window's own
//! engine and state (all but its drawing) on the other side.
#![expect(clippy::disallowed_methods, reason = "a test measures time")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nod::app::{AppState, Intent, ItemKind, Phase};
use nod::engine::{Engine, EngineOptions, Inbox, Keys, system_clock};
use nod::ir::{CallStatus, Decider, LinkProblem, LinkState, MessageStatus, Role, SessionId, State};
use nod::port::{Answer, Command, Event};
use nod::secret::{MemoryVault, SecretKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::PATIENCE;
use super::operator::{Operator, Server};
use crate::link::laid_out;
use crate::support::ollama::{Gate, OllamaServer, Piece, Reply, calls_line, done_line, text_line, thinking_line};

/// The window without its pixels.
struct Window {
    state: AppState,
    engine: Option<Engine>,
    inbox: Inbox,
    vault: Arc<MemoryVault>,
    place: Option<TempDir>,
    url: String,
}

/// A server whose model says what a test tells it.
struct Setting {
    operator: Operator,
    model: OllamaServer,
    server: Server,
    token: String,
}

fn setting(operator: Operator) -> Setting {
    let token = operator.token("ann");
    let model = OllamaServer::start();
    let server = serve(&operator, &model, "127.0.0.1:0");
    Setting { operator, model, server, token }
}

fn serve(operator: &Operator, model: &OllamaServer, address: &str) -> Server {
    operator.serve_at(address, &["--provider", "ollama", "--base-url", &model.url(), "--model", "qwen3:8b"])
}

fn says(text: &str) -> Reply {
    Reply::stream([text_line(text), done_line("stop")])
}

fn calls(name: &str, arguments: Value) -> Reply {
    Reply::stream([calls_line(&[(name, arguments)]), done_line("stop")])
}

impl Window {
    fn open(place: TempDir, vault: Arc<MemoryVault>, url: &str) -> Self {
        let mut options = EngineOptions::new(place.path().join("data"), env!("CARGO_BIN_EXE_nod"));
        options.home = Some(place.path().join("home"));
        options.keys = Arc::new(Keys::new(vault.clone()));
        let engine = Engine::start(options).unwrap();
        let inbox = engine.subscribe(Arc::new(|| {}));
        let url = format!("{url}/");
        Self { state: AppState::default(), engine: Some(engine), inbox, vault, place: Some(place), url }
    }

    /// A new window in which the person adds the server; its conversations are listed.
    fn connected(server: &Server, token: &str) -> Self {
        let mut window = Self::open(laid_out(), Arc::default(), &server.url);
        let workspace = window.path().join("work").display().to_string();
        let put = Intent::PutLink { url: window.url.clone(), workspace, token: SecretKey::new(token) };
        window.act(put);
        window.is_listed();
        window
    }

    fn is_listed(&mut self) {
        self.until("the server's conversations are listed", |state| {
            let is_up = state.links.links.iter().any(|link| link.state == LinkState::Connected);
            is_up && state.threads.lists.values().any(|list| !list.is_loading)
        });
    }

    fn path(&self) -> &Path {
        self.place.as_ref().unwrap().path()
    }

    fn act(&mut self, intent: Intent) {
        let reaction = self.state.on_intent(intent, system_clock()());
        self.carry_out(reaction.commands);
    }

    fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            self.engine.as_ref().unwrap().send(command).unwrap();
        }
    }

    /// Takes events in until the window shows it.
    fn until(&mut self, what: &str, is_shown: impl Fn(&AppState) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_shown(&self.state) {
            let event = self.inbox.recv_timeout(until.saturating_duration_since(Instant::now()));
            let event = event.unwrap_or_else(|| panic!("{what}: {:#?}", self.seen()));
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        let reaction = self.state.on_event(event, system_clock()());
        self.carry_out(reaction.commands);
    }

    fn begin(&mut self) {
        self.act(Intent::BeginThread(self.url.clone()));
        self.until("a new conversation is open", |state| {
            state.shown().is_some_and(|view| view.session.id.is_on_server())
        });
    }

    fn types(&mut self, text: &str) {
        self.act(Intent::EditDraft { text: text.to_owned(), cursor: text.len() });
    }

    fn says(&mut self, text: &str) {
        self.types(text);
        self.act(Intent::Send);
    }

    fn is_over(&mut self, ended: State) {
        self.until("the turn is over", |state| state.shown().is_some_and(|view| view.state == ended));
    }

    fn answers(&mut self, answer: Answer) {
        self.until("a question", |state| !state.confirms.waiting.is_empty());
        let confirm = self.state.confirms.waiting[0].id.clone();
        self.carry_out(vec![Command::Answer { confirm, answer, decider: Decider::Person }]);
    }

    fn selected(&self) -> SessionId {
        self.state.selected.clone().unwrap()
    }

    /// What stands in the transcript.
    fn seen(&self) -> Vec<String> {
        let Some(view) = self.state.shown() else { return Vec::new() };
        let text = |id: &nod::ir::MessageId| {
            view.messages.get(id).map(|record| record.message.content.clone()).unwrap_or_default()
        };
        let item = |kind: &ItemKind| match kind {
            ItemKind::Person(id) => format!("> {}", text(id)),
            ItemKind::Answer(id) => text(id),
            ItemKind::Thinking(_) => "(thought)".to_owned(),
            ItemKind::Call(id) => {
                let row = &view.calls[id].record;
                format!("[{} {} {:?}]", row.call.name, row.call.args["path"].as_str().unwrap_or_default(), row.status)
            }
            ItemKind::CallGroup(ids) => format!("[{} reads]", ids.len()),
            ItemKind::Failure(id) => {
                format!("! {}", view.messages[id].error.as_ref().unwrap().provider_code.clone().unwrap_or_default())
            }
            ItemKind::Interrupted(id) => format!("({:?})", view.messages[id].status),
            ItemKind::Limit => "limit".to_owned(),
            ItemKind::Meta(_) => String::new(),
        };
        view.items.iter().map(|shown| item(&shown.kind)).filter(|words| !words.is_empty()).collect()
    }

    fn titles(&self) -> Vec<String> {
        let lists = self.state.threads.lists.values();
        lists.flat_map(|list| list.sessions.iter().map(|session| session.title.clone())).collect()
    }

    fn toasts(&self) -> Vec<&str> {
        self.state.toasts.shown.iter().map(|toast| toast.key).collect()
    }

    /// Closes the window and opens it anew, over the same files and keys.
    fn reopened(mut self) -> Self {
        // As the window does it: what was sent before is done before.
        self.carry_out(vec![Command::Quit]);
        self.until("the engine ends", |state| state.phase == Phase::Ended);
        self.engine.take().unwrap().shutdown();
        let (place, vault) = (self.place.take().unwrap(), Arc::clone(&self.vault));
        let url = self.url.trim_end_matches('/').to_owned();
        drop(self);
        let mut window = Self::open(place, vault, &url);
        window.until("the engine is up", |state| !state.data_dir.as_os_str().is_empty());
        window
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.shutdown();
        }
    }
}

fn a_conversation_begins_streams_uses_this_computer_and_is_there_after_a_restart(operator: Operator) {
    let Setting { model, server, token, operator: _operator } = setting(operator);
    let mut window = Window::connected(&server, &token);
    assert_eq!(window.titles(), [] as [String; 0]);
    let gate = Gate::new();
    let (first, rest) = (thinking_line("hm"), text_line("Let me look."));
    let call = calls_line(&[("workspace_list_files", json!({"path": "."}))]);
    model.answer(Reply::pieces([
        Piece::line(first),
        Piece::line(rest),
        Piece::Gate(gate.clone()),
        Piece::line(call),
        Piece::line(done_line("stop")),
    ]));
    model.answer(calls("workspace_read_file", json!({"path": "README.md"})));
    model.answer(says("It says hello."));
    window.begin();
    window.says("What is in README?");
    // It is shown as it comes, before the answer is over.
    window.until("the first words", |state| {
        state.shown().is_some_and(|view| view.branch().any(|record| record.message.content == "Let me look."))
    });
    assert_eq!(window.seen(), ["> What is in README?", "(thought)", "Let me look."]);
    assert_eq!(window.state.composer().unwrap().text, "");
    gate.open();
    window.answers(Answer::AllowOnce);
    window.is_over(State::Done);
    let whole = ["> What is in README?", "(thought)", "Let me look.", "[2 reads]", "It says hello."];
    assert_eq!(window.seen(), whole);
    let view = window.state.shown().unwrap();
    let read = view.calls.values().find(|call| call.record.call.name == "read_file").unwrap();
    assert_eq!(read.record.result.as_ref().unwrap().result["content"], "hello\n");
    let list = view.calls.values().find(|call| call.record.call.name == "list_directory").unwrap();
    assert!(
        list.record.result.as_ref().unwrap().result["entries"].as_array().is_some_and(|entries| entries.len() == 4)
    );
    let url = window.url.clone();
    window.until("the list has it", move |state| state.threads.lists[&url].sessions.len() == 1);
    assert_eq!(window.titles(), ["What is in README?"]);

    // Nothing of it is kept here: after a restart it comes from the server, and is the same.
    let id = window.selected();
    let mut window = window.reopened();
    window.is_listed();
    window.act(Intent::SelectSession(id));
    window.until("it is open", |state| state.shown().is_some_and(|view| !view.is_empty()));
    assert_eq!(window.seen(), whole);
}

#[test]
fn stop_ends_the_turn_on_the_server_and_closes_the_question() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    model.answer(calls("workspace_read_file", json!({"path": "README.md"})));
    window.begin();
    window.says("Read it");
    window.until("a question", |state| !state.confirms.waiting.is_empty());
    window.act(Intent::Stop);
    window.is_over(State::Cancelled);
    window.until("no question is left", |state| state.confirms.waiting.is_empty());
    assert_eq!(window.seen(), ["> Read it", "[read_file README.md Cancelled]", "(Stopped)"]);
    assert_eq!(model.chats().len(), 1, "the model was not asked again");
    // The next words go on in the same conversation.
    model.answer(says("Well then."));
    window.says("Never mind");
    window.is_over(State::Done);
    assert_eq!(window.seen().last().unwrap(), "Well then.");
}

fn editing_and_trying_again_branch_and_leave_the_old_conversation_as_it_was(operator: Operator) {
    let Setting { model, server, token, operator: _operator } = setting(operator);
    let mut window = Window::connected(&server, &token);
    window.begin();
    for (said, answer) in [("One", "First."), ("Two", "Second.")] {
        model.answer(says(answer));
        window.says(said);
        window.until("it is answered", |state| {
            let view = state.shown().unwrap();
            view.state == State::Done && view.branch().next_back().is_some_and(|last| last.message.content == answer)
        });
    }
    let original = window.selected();
    let person = |window: &Window, text: &str| {
        let view = window.state.shown().unwrap();
        view.branch().find(|record| record.message.content == text).unwrap().id.clone()
    };
    // Another text in the place of the second one.
    model.answer(says("Third."));
    window.act(Intent::EditMessage(person(&window, "Two")));
    window.says("Three");
    let is_answered_elsewhere = |state: &AppState, than: &SessionId| {
        state.selected.as_ref() != Some(than) && state.shown().is_some_and(|view| view.state == State::Done)
    };
    window.until("the branch is answered", |state| is_answered_elsewhere(state, &original));
    assert_eq!(window.seen(), ["> One", "First.", "> Three", "Third."]);
    let branch = window.selected();
    assert_ne!(branch, original);
    // Another answer to the first one, which the branch took over from its parent.
    model.answer(says("Erste."));
    window.act(Intent::Regenerate(person(&window, "First.")));
    window.until("the second branch is answered", |state| is_answered_elsewhere(state, &branch));
    assert_eq!(window.seen(), ["> One", "Erste."]);
    window.act(Intent::SelectSession(original));
    window.until("the old one is open", |state| state.shown().is_some_and(|view| view.items.len() > 4));
    assert_eq!(window.seen(), ["> One", "First.", "> Two", "Second."]);
}

fn a_server_that_dies_in_the_middle_of_an_answer_is_asked_again_and_try_again_goes_on(operator: Operator) {
    let Setting { model, server, token, operator } = setting(operator);
    let mut window = Window::connected(&server, &token);
    let gate = Gate::new();
    model.answer(Reply::pieces([Piece::line(text_line("Half an ans")), Piece::Gate(gate.clone())]));
    window.begin();
    window.says("Go");
    window.until("half of it", |state| {
        state.shown().is_some_and(|view| view.branch().any(|record| record.message.content == "Half an ans"))
    });
    let address = server.address.to_string();
    server.kill();
    gate.open();
    window.until("it says that it tries again", |state| {
        state.shown().is_some_and(|view| matches!(view.note, nod::app::TurnNote::Retrying { .. }))
    });
    let _server = serve(&operator, &model, &address);
    window.is_over(State::Failed);
    assert_eq!(window.seen(), ["> Go", "! server_interrupted"]);
    model.answer(says("A whole answer."));
    window.act(Intent::Retry);
    window.is_over(State::Done);
    assert_eq!(window.seen(), ["> Go", "A whole answer."]);
}

#[test]
fn what_is_typed_is_not_lost_when_the_server_is_not_there_and_is_there_after_a_restart() {
    let Setting { model, server, token, operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    window.begin();
    let address = server.address.to_string();
    server.kill();
    window.says("Are you there?");
    window.act(Intent::Stop);
    window.until("it comes back into its box", |state| {
        state.composer().is_some_and(|composer| composer.text == "Are you there?")
    });
    assert!(window.toasts().iter().any(|key| ["fault-thread-unsent", "link-problem-unreachable"].contains(key)));
    // A moment of rest, and it is kept.
    window.types("Are you there now?");
    let drafts = window.state.on_tick(nod::ir::UnixMs(system_clock()().0 + 10_000)).commands;
    assert_eq!(drafts.len(), 1);
    window.carry_out(drafts);
    let id = window.selected();
    let mut window = window.reopened();
    let _server = serve(&operator, &model, &address);
    window.is_listed();
    window.act(Intent::SelectSession(id));
    window.until("it is open", |state| state.composer().is_some_and(|composer| composer.text == "Are you there now?"));
    model.answer(says("Yes."));
    window.act(Intent::Send);
    window.is_over(State::Done);
    assert_eq!(window.seen(), ["> Are you there now?", "Yes."]);
    let titles = window.titles();
    assert_eq!(titles.len(), 1, "it was said once: {titles:?}");
}

#[test]
fn a_message_that_is_sent_while_an_answer_comes_waits_for_its_end() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    let gate = Gate::new();
    model.answer(Reply::pieces([
        Piece::line(text_line("First.")),
        Piece::Gate(gate.clone()),
        Piece::line(done_line("stop")),
    ]));
    model.answer(says("Second."));
    window.begin();
    window.says("One");
    window.until("the answer grows", |state| {
        state.shown().is_some_and(|view| view.branch().any(|record| record.message.role == Role::Assistant))
    });
    window.says("Two");
    window.until("it waits", |state| state.shown().is_some_and(|view| view.queued == ["Two"]));
    gate.open();
    window.until("both are answered", |state| {
        let view = state.shown().unwrap();
        view.state == State::Done && view.queued.is_empty() && view.items.len() > 4
    });
    assert_eq!(window.seen(), ["> One", "First.", "> Two", "Second."]);
}

#[test]
fn secrets_of_attached_files_stay_here_and_what_was_typed_goes_as_it_stands() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    let key = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6");
    model.answer(says("Seen."));
    model.answer(says("Seen too."));
    window.begin();
    // As the composer puts an attached file below the words.
    window.says(&format!("Look.\n\na.env:\n```\nthe key {key}\npassword=Tr0ub4dor&3\n```"));
    window.is_over(State::Done);
    let masked = "Look.\n\na.env:\n```\nthe key «masked: API key #1»\npassword=«masked: password #1»\n```";
    assert_eq!(window.seen(), [format!("> {masked}"), "Seen.".to_owned()], "what left is what is shown");
    assert!(window.toasts().contains(&"notice-server-masked"), "{:?}", window.toasts());
    let sent = model.last_chat().unwrap().to_string();
    assert!(sent.contains("«masked: API key #1»") && !sent.contains(&key) && !sent.contains("Tr0ub4dor"), "{sent}");
    // The control: the same words, typed.
    window.says(&format!("I mean {key}"));
    window.until("the second is answered", |state| {
        let view = state.shown().unwrap();
        view.state == State::Done && view.items.len() > 4
    });
    assert!(model.last_chat().unwrap().to_string().contains(&key));
}

#[test]
fn a_conversation_is_deleted_on_the_server_after_a_yes() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    model.answer(says("Hello."));
    window.begin();
    window.says("Hi");
    window.is_over(State::Done);
    let url = window.url.clone();
    window.until("the list has it", move |state| state.threads.lists[&url].sessions.len() == 1);
    window.act(Intent::DeleteSession(window.selected()));
    window.act(Intent::ConfirmDeletion);
    window.until("it is gone", |state| state.threads.lists.values().all(|list| list.sessions.is_empty()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let left = runtime.block_on(server.client(&token).get("/api/threads"));
    assert_eq!(left, (200, json!([])));
}

#[test]
fn a_token_that_counts_no_more_is_said_with_what_to_do() {
    let Setting { model, server, token, operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    model.answer(says("Hello."));
    window.begin();
    window.says("Hi");
    window.is_over(State::Done);
    let id = window.selected();
    operator.revoke("ann");
    let mut window = window.reopened();
    window.act(Intent::SelectSession(id.clone()));
    window.until("it says why", |state| state.threads.unreached.is_some());
    assert_eq!(window.state.threads.unreached, Some((id, LinkProblem::TokenRefused)));
}

#[test]
fn refusals_of_this_computer_are_on_the_cards_with_their_codes() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let mut window = Window::connected(&server, &token);
    model.answer(Reply::stream([
        calls_line(&[
            ("workspace_read_file", json!({"path": ".env"})),
            ("workspace_read_file", json!({"path": "../out/yes"})),
            ("workspace_read_file", json!({"path": "README.md"})),
        ]),
        done_line("stop"),
    ]));
    model.answer(says("I may not."));
    window.begin();
    window.says("Read everything");
    window.answers(Answer::Deny { reason: String::new() });
    window.is_over(State::Done);
    let view = window.state.shown().unwrap();
    let code = |path: &str| {
        let call = view.calls.values().find(|call| call.record.call.args["path"] == path).unwrap();
        let result = call.record.result.as_ref().unwrap();
        (call.record.status, result.code().unwrap_or_default().to_owned())
    };
    assert_eq!(code(".env"), (CallStatus::Denied, "SENSITIVE_PATH_DENIED".to_owned()));
    assert_eq!(code("../out/yes"), (CallStatus::Failed, "PATH_OUT_OF_SCOPE".to_owned()));
    assert_eq!(code("README.md"), (CallStatus::Denied, "CONFIRMATION_REJECTED".to_owned()));
    assert!(view.branch().all(|record| record.status == MessageStatus::Complete));
}

#[test]
fn a_server_that_is_connected_for_a_while_has_its_conversations_in_the_window_for_that_while() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    model.answer(says("From elsewhere."));
    let client = server.client(&token);
    runtime.block_on(async {
        let turn = client.prepare(json!({"input": "Asked elsewhere"})).await;
        client.run(&turn).await.rest().await;
    });
    // As `nod link` does while the window is open: the server is not added, and its token is kept nowhere.
    let mut window = Window::open(laid_out(), Arc::default(), &server.url);
    let (url, workspace) = (window.url.clone(), window.path().join("work"));
    let token = SecretKey::new(&token).unwrap();
    window.carry_out(vec![Command::RunLink { url: url.clone(), workspace, token }]);
    window.is_listed();
    assert_eq!(
        (window.titles(), &window.state.threads.lists[&url].problem),
        (vec!["Asked elsewhere".to_owned()], &None)
    );
    model.answer(says("From here."));
    window.begin();
    window.says("Asked here");
    window.is_over(State::Done);
    assert_eq!(window.seen(), ["> Asked here", "From here."]);
    window.until("the list has it", |state| state.threads.lists[&url].sessions.len() == 2);
    window.carry_out(vec![Command::StopLink { url: url.clone() }]);
    window.until("the server is gone", |state| state.links.links.is_empty());
    // Its token went with it.
    window.carry_out(vec![Command::ListThreads { url: url.clone() }]);
    window.until("nothing is asked of it any more", |state| {
        state.threads.lists.get(&url).is_some_and(|list| list.problem.is_some())
    });
}

#[test]
fn the_search_finds_titles_and_what_is_loaded_of_a_servers_conversations() {
    let Setting { model, server, token, operator: _operator } = setting(Operator::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = server.client(&token);
    model.answer(says("It ripens in autumn."));
    runtime.block_on(async {
        let turn = client.prepare(json!({"input": "When is the harvest?"})).await;
        client.run(&turn).await.rest().await;
    });
    let mut window = Window::connected(&server, &token);
    model.answer(says("收成在秋天。"));
    window.begin();
    window.says("收成是什么时候？");
    window.is_over(State::Done);
    let found = |window: &mut Window, query: &str| {
        window.act(Intent::Search(query.into()));
        window.until("an answer", |state| !state.search.is_searching);
        let hits = window.state.search.hits.iter();
        hits.map(|hit| (hit.title.clone(), hit.message.is_some(), hit.snippet.clone())).collect::<Vec<_>>()
    };
    let harvest = "When is the harvest?".to_owned();
    assert_eq!(found(&mut window, "HARVEST"), [(harvest.clone(), false, harvest.clone())]);
    // Not loaded yet: its words are the server's.
    assert!(found(&mut window, "autumn").is_empty());
    let here = "收成是什么时候？".to_owned();
    let places: Vec<(bool, String)> =
        found(&mut window, "收成").into_iter().map(|(_, is_message, text)| (is_message, text)).collect();
    assert!(places.contains(&(true, "收成在秋天。".into())) && places.contains(&(true, here.clone())), "{places:?}");
    // Once it was looked at, they are found, and a hit leads there.
    found(&mut window, "HARVEST");
    let hit = window.state.search.hits[0].clone();
    window.act(Intent::JumpTo { session: hit.session.clone(), message: None });
    window.until("it is open", |state| {
        state.shown().is_some_and(|view| view.session.id == hit.session && !view.is_empty())
    });
    window.act(Intent::Search("autumn".into()));
    window.until("a hit", |state| !state.search.is_searching);
    let hits = &window.state.search.hits;
    assert_eq!((hits.len(), hits[0].title.as_str(), hits[0].message.is_some()), (1, "When is the harvest?", true));
    // A server that is gone takes its conversations out of the search.
    window.act(Intent::RemoveLink(window.url.clone()));
    window.until("the server is gone", |state| state.links.links.is_empty());
    window.act(Intent::Search("harvest".into()));
    window.until("an answer", |state| !state.search.is_searching);
    assert!(window.state.search.hits.is_empty());
}

on_both_with_threads! {
    a_conversation_begins_streams_uses_this_computer_and_is_there_after_a_restart,
    editing_and_trying_again_branch_and_leave_the_old_conversation_as_it_was,
    a_server_that_dies_in_the_middle_of_an_answer_is_asked_again_and_try_again_goes_on,
}
