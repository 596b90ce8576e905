//! Attacks on the gate, as tables: each row is one call on a real tree through the real engine, with the person saying
//! yes to whatever they are asked. What is held against every row: its code, whether anybody was asked, and that the
//! world outside the allowed folder is afterwards what it was, byte for byte.
//!
//! An attack that is refused has a control: the same call by a program that joins texts and opens what comes out. It
//! must succeed there, else the row proves nothing. A new attack is a row in the table of its kind.
#![expect(clippy::disallowed_methods, reason = "attacks and their controls change files behind the gate's back")]

mod ground;

mod commands;
mod confirm;
mod database;
mod encodings;
mod hard_links;
mod injection;
mod links;
mod mounts;
mod names;
mod paths;
mod sizes;
mod special;
mod spelling;
mod untouched;

use nod::ir::{CallId, ConfirmMode, Session, SessionId, ThinkingLevel, ToolCall, ToolResult, UnixMs};
use nod::port::{Answer, Command, ConfirmRequest, Event, TurnOptions};
use nod::provider::scripted::Step;
use serde_json::{Value, json};

use crate::support::desk::{Desk, Setup};

use ground::{ATTACK, Ground, Piece, SECRET};

/// One row.
struct Case {
    /// Of the list of known attacks; a sibling that the list leaves out has a number between its neighbours'.
    number: &'static str,
    what: &'static str,
    pieces: Vec<Piece>,
    tool: &'static str,
    args: Value,
    /// The arguments as they are typed, where they are no JSON value.
    raw: Option<&'static str>,
    mode: ConfirmMode,
    /// The allowed folders.
    folders: Vec<&'static str>,
    /// What somebody does while the person looks at the first question.
    meanwhile: Option<fn(&Ground)>,
    expected: Expected,
    control: Control,
    also: Vec<fn(&Ground, &Ran)>,
}

/// What must come of it.
#[derive(Clone, Copy)]
enum Expected {
    /// Nothing yet: a row that says nothing is a mistake.
    Unsaid,
    /// Refused with this code, nobody asked, nothing changed anywhere.
    Refused(&'static str),
    /// Runs without a question.
    Runs,
    /// Runs after a yes.
    Asked,
    /// Asked, and ends with this code after the yes.
    AskedThen(&'static str),
}

/// What the same call does without the gate.
#[derive(Clone, Copy)]
enum Control {
    /// Nothing bad: an ordinary call that must go on working.
    Lawful,
    /// Reads what it must not.
    Leaks,
    /// Changes the world outside.
    Damages,
    /// Changes something in the allowed folder that nobody may change.
    Plants,
    /// Succeeds as this shows.
    Shows(fn(&Ground)),
}

/// What came of a call.
struct Ran {
    result: ToolResult,
    asked: Vec<ConfirmRequest>,
}

impl Ran {
    fn question(&self) -> &ConfirmRequest {
        self.asked.first().expect("nobody was asked")
    }

    /// The raw result as the ledger and the card have it.
    fn text(&self) -> String {
        self.result.result.to_string()
    }
}

fn session(id: &str, folders: Vec<String>, mode: ConfirmMode) -> Session {
    Session {
        id: SessionId::new(id),
        title: "attack".into(),
        provider: String::new(),
        model: String::new(),
        thinking: ThinkingLevel::Auto,
        folders,
        mode,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    }
}

/// The beginning of a row.
fn case(number: &'static str, what: &'static str) -> Case {
    Case {
        number,
        what,
        pieces: Vec::new(),
        tool: "",
        args: Value::Null,
        raw: None,
        mode: ConfirmMode::Changes,
        folders: vec!["{ws}"],
        meanwhile: None,
        expected: Expected::Unsaid,
        control: Control::Lawful,
        also: Vec::new(),
    }
}

impl Case {
    fn with(mut self, pieces: impl IntoIterator<Item = Piece>) -> Self {
        self.pieces.extend(pieces);
        self
    }

    fn call(mut self, tool: &'static str, args: Value) -> Self {
        (self.tool, self.args) = (tool, args);
        self
    }

    fn typed(mut self, tool: &'static str, args: &'static str) -> Self {
        (self.tool, self.raw) = (tool, Some(args));
        self
    }

    fn read(self, path: &str) -> Self {
        self.call("read_file", json!({"path": path}))
    }

    fn list(self, path: &str) -> Self {
        self.call("list_directory", json!({"path": path, "recursive": true, "include_hidden": true}))
    }

    fn search(self, path: &str, query: &str) -> Self {
        self.call("search_files", json!({"path": path, "query": query, "include_hidden": true}))
    }

    fn write(self, path: &str) -> Self {
        self.call("write_file", json!({"path": path, "content": ATTACK}))
    }

    fn edit(self, path: &str, old: &str) -> Self {
        self.call("edit_file", json!({"path": path, "edits": [{"old_text": old, "new_text": ATTACK}]}))
    }

    fn make(self, path: &str) -> Self {
        self.call("create_directory", json!({"path": path}))
    }

    fn delete(self, path: &str) -> Self {
        self.call("delete_file", json!({"path": path}))
    }

    fn delete_tree(self, path: &str) -> Self {
        self.call("delete_file", json!({"path": path, "recursive": true}))
    }

    fn mode(mut self, mode: ConfirmMode) -> Self {
        self.mode = mode;
        self
    }

    fn folders(mut self, folders: &[&'static str]) -> Self {
        self.folders = folders.to_vec();
        self
    }

    fn meanwhile(mut self, act: fn(&Ground)) -> Self {
        self.meanwhile = Some(act);
        self
    }

    fn refused(mut self, code: &'static str, control: Control) -> Self {
        (self.expected, self.control) = (Expected::Refused(code), control);
        self
    }

    fn runs(mut self) -> Self {
        self.expected = Expected::Runs;
        self
    }

    fn asked(mut self) -> Self {
        self.expected = Expected::Asked;
        self
    }

    fn asked_then(mut self, code: &'static str, control: Control) -> Self {
        (self.expected, self.control) = (Expected::AskedThen(code), control);
        self
    }

    fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    fn also(mut self, check: fn(&Ground, &Ran)) -> Self {
        self.also.push(check);
        self
    }
}

/// An engine at which one attack after the other is tried, each in a session and on a tree of its own.
struct Bench {
    desk: Desk,
    calls: usize,
}

impl Bench {
    fn new() -> Self {
        Self::with(Setup::new(Vec::<Vec<Step>>::new()))
    }

    fn with(setup: Setup) -> Self {
        Self { desk: Desk::with(setup), calls: 0 }
    }

    fn ground(&self, pieces: &[Piece]) -> Ground {
        Ground::new(self.desk.home.path(), pieces)
    }

    /// Tries every row and says of all that fail why.
    fn holds(&mut self, cases: Vec<Case>) {
        let mut broken = Vec::new();
        for case in cases {
            let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.try_case(&case)));
            if let Err(problem) = tried.unwrap_or_else(|_| Err("see above".into())) {
                broken.push(format!("{} {}: {problem}", case.number, case.what));
            }
        }
        assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    }

    fn try_case(&mut self, case: &Case) -> Result<(), String> {
        let ground = self.ground(&case.pieces);
        let before = (ground.snapshot("out"), ground.snapshot("ws"));
        let ran = self.run(case, &ground);
        let code = ran.result.code().map(str::to_owned);
        let (wants_question, wanted) = match case.expected {
            Expected::Unsaid => return Err("the row does not say what must come of it".into()),
            Expected::Refused(code) => (false, Some(code)),
            Expected::Runs => (false, None),
            Expected::Asked => (true, None),
            Expected::AskedThen(code) => (true, Some(code)),
        };
        if code.as_deref() != wanted || ran.result.success != wanted.is_none() {
            return Err(format!("wanted {wanted:?}, got {code:?}: {:.600}", ran.text()));
        }
        if wants_question == ran.asked.is_empty() {
            return Err(format!("asked {} times: {:?}", ran.asked.len(), ran.asked.first().map(|ask| &ask.reasons)));
        }
        let outside_may_change = case.meanwhile.is_some() || case.folders != ["{ws}"];
        if !outside_may_change && ground.snapshot("out") != before.0 {
            return Err("the world outside is no longer what it was".into());
        }
        if matches!(case.expected, Expected::Refused(_)) && ground.snapshot("ws") != before.1 {
            return Err("a refused call has changed something".into());
        }
        for check in &case.also {
            check(&ground, &ran);
        }
        self.prove(case)
    }

    /// The control.
    fn prove(&self, case: &Case) -> Result<(), String> {
        let ground = self.ground(&case.pieces);
        let before = ground.snapshot("out");
        if let Some(act) = case.meanwhile {
            act(&ground);
        }
        let args = ground.expand_value(&case.args);
        let succeeds = match case.control {
            Control::Lawful => !matches!(case.expected, Expected::Refused(_)),
            Control::Leaks => {
                let read = ground.unguarded(case.tool, &args);
                read.is_ok_and(|text| text.contains(SECRET) || text.contains("private"))
            }
            Control::Damages => ground.unguarded(case.tool, &args).is_ok() && ground.snapshot("out") != before,
            Control::Plants => ground.unguarded(case.tool, &args).is_ok(),
            Control::Shows(show) => {
                show(&ground);
                true
            }
        };
        if succeeds { Ok(()) } else { Err("the attack does not work without the gate: the row proves nothing".into()) }
    }

    /// One call on one tree.
    fn run(&mut self, case: &Case, ground: &Ground) -> Ran {
        let args = case.raw.map_or_else(|| ground.expand_value(&case.args).to_string(), |raw| ground.expand(raw));
        let folders: Vec<String> = case.folders.iter().map(|folder| ground.expand(folder)).collect();
        let mut meanwhile = case.meanwhile;
        self.call(case.tool, args, folders, case.mode, &mut |_| {
            if let Some(act) = meanwhile.take() {
                act(ground);
            }
            Answer::AllowOnce
        })
    }

    /// One call through the gate; `answer` says what the person says.
    fn call(
        &mut self,
        tool: &str,
        args: String,
        folders: Vec<String>,
        mode: ConfirmMode,
        answer: &mut dyn FnMut(&ConfirmRequest) -> Answer,
    ) -> Ran {
        let session = session(&format!("attack-{}", self.calls), folders, mode);
        self.call_in(session, tool, args, answer)
    }

    fn call_in(
        &mut self,
        session: Session,
        tool: &str,
        args: String,
        answer: &mut dyn FnMut(&ConfirmRequest) -> Answer,
    ) -> Ran {
        self.calls += 1;
        let call = ToolCall {
            id: CallId::new(format!("call-{}", self.calls)),
            name: tool.into(),
            args: json!({}),
            iteration: 0,
            timestamp: UnixMs(0),
            raw_args: Some(args),
            parse_error: None,
            marks: Vec::new(),
        };
        self.desk.send(Command::RunTool { session: Box::new(session), call, options: TurnOptions::default() });
        let mut asked = Vec::new();
        loop {
            match self.desk.next() {
                Event::ConfirmAsked(request) => {
                    let answer = answer(&request);
                    self.desk.answer(&request, answer);
                    asked.push(*request);
                }
                Event::ToolEnded { result, .. } => {
                    // What was seen of one attack is no business of the next.
                    self.desk.seen.clear();
                    return Ran { result: *result, asked };
                }
                _ => {}
            }
        }
    }

    /// The same refused call on two trees: the answers are the same, byte for byte, although the trees differ in what a
    /// program without the gate tells apart.
    fn alike(&mut self, case: &Case, one: &[Piece], other: &[Piece]) {
        let Expected::Refused(code) = case.expected else { panic!("only refusals are compared") };
        let answers = [one, other].map(|pieces| {
            let ground = self.ground(pieces);
            let before = ground.snapshot("");
            let ran = self.run(case, &ground);
            assert_eq!(ran.result.code(), Some(code), "{} {}: {:?}", case.number, case.what, ran.result);
            assert!(ran.asked.is_empty(), "{} {}", case.number, case.what);
            assert_eq!(ground.snapshot(""), before, "{} {}", case.number, case.what);
            (ground.without_place(&ran.text()), ground.without_place(&ran.result.for_model()))
        });
        assert_eq!(answers[0], answers[1], "{} {}", case.number, case.what);
        let tells = [one, other].map(|pieces| {
            let ground = self.ground(pieces);
            ground.unguarded(case.tool, &ground.expand_value(&case.args)).is_ok()
        });
        assert_ne!(tells[0], tells[1], "{} {}: the control tells nothing apart", case.number, case.what);
    }
}
