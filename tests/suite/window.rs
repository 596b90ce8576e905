//! The real program with its real window on a virtual display, from an empty computer to changed files.
//!
//! Each test has a display and a computer of its own. What the program did is read from its files and its database, what it
//! shows from the display's pixels.
#![expect(clippy::disallowed_methods, reason = "a test lays out files and starts programs")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nod::ir::{CallRecord, CallStatus, MessageStatus, Verdict};
use serde_json::json;

use crate::support::ollama::{Gate, OllamaServer, Piece, Reply, calls_line, done_line, text_line};
use crate::support::own_process::{in_own_process, started_by};
use crate::support::screen::{Screen, until};
use crate::support::window::{Home, Window, accent, color};

/// A computer with a project on it, whose dialogs choose that project.
fn home_with_project() -> Home {
    let home = Home::new();
    home.write("project/main.rs", "fn main() {\n    // TODO: greet\n}\n");
    home.write("project/README.md", "# Greeter\n");
    home.choose_in_dialogs(&home.path("project"));
    home
}

/// Chooses the guide and the project, as the first start asks for both.
pub(crate) fn set_up(window: &Window<'_>, home: &Home) {
    window.wait_for_composer();
    window.choose("guide");
    until("the guide is chosen", || home.chat().filter(|chat| chat.session.provider == "guide"));
    window.wait_until_bright();
    window.choose("Add a folder…");
    let project = home.path("project").display().to_string();
    until("the folder is added", || home.chat().filter(|chat| chat.session.folders == [project.as_str()]));
    window.wait_until_bright();
}

fn set(home: &Home, key: &str, value: &str) {
    let output = home.run(&["config", "set", key, value]);
    assert!(output.status.success(), "{output:?}");
}

/// New chats talk to this server.
fn choose_model(home: &Home, server: &OllamaServer) {
    set(home, "models.ollama_url", &server.url());
    set(home, "models.default_provider", "ollama");
    set(home, "models.default_model", "qwen3:8b");
}

fn outcome(call: &CallRecord) -> (CallStatus, Option<Verdict>) {
    (call.status, call.verdict)
}

const ALLOWED: (CallStatus, Option<Verdict>) = (CallStatus::Succeeded, Some(Verdict::Allowed));
const DENIED: (CallStatus, Option<Verdict>) = (CallStatus::Denied, Some(Verdict::Denied));

#[test]
fn from_nothing_a_person_works_on_a_project_and_each_change_waits_for_a_yes() {
    let (home, screen) = (home_with_project(), Screen::start());
    let window = Window::open(&home, &screen);
    set_up(&window, &home);
    assert_eq!(home.read("dialogs"), "--no-markup --file-selection --directory\n");

    // Looking is done at once.
    window.say("list");
    let answer = window.answer();
    assert!(answer.contains("main.rs") && answer.contains("README.md"), "{answer}");
    window.say("read main.rs");
    assert!(window.answer().contains("// TODO: greet"));
    window.say("find TODO");
    assert!(window.answer().contains("main.rs"));

    // Deny by key: nothing is there.
    window.say("create notes.txt with hello there");
    let asked = window.wait_for_question();
    assert!(!home.has("project/notes.txt"), "nothing is written before a yes");
    window.press("Escape");
    let denied = home.ended_call();
    assert_eq!((denied.id(), outcome(&denied)), (asked.id(), DENIED));
    window.answer();
    assert!(!home.has("project/notes.txt"));

    // Allow by key: exactly that is there.
    window.wait_until_bright();
    window.say("create notes.txt with hello there");
    window.wait_for_question();
    window.press("ctrl+Return");
    assert_eq!(outcome(&home.ended_call()), ALLOWED);
    window.answer();
    assert_eq!(home.read("project/notes.txt"), "hello there\n");

    // Allow by mouse: the file is in the trash.
    window.wait_until_bright();
    window.say("delete notes.txt");
    window.wait_for_question();
    window.click(window.picture().middle_of(accent()).unwrap());
    assert_eq!(outcome(&home.ended_call()), ALLOWED);
    window.answer();
    assert!(!home.has("project/notes.txt"));
    assert_eq!(home.read("share/Trash/files/notes.txt"), "hello there\n");

    window.close();
    assert_eq!(home.problems(), Vec::<String>::new());
}

/// *Deny* has the keyboard: from there to *Allow once*, until its frame is drawn.
fn step_to_approval(window: &Window<'_>) {
    const MOST_STEPS: usize = 6;
    const FRAME_PIXELS: usize = 100;
    let (x, y) = window.picture().middle_of(accent()).unwrap();
    let button = [x - 90, y - 24, 180, 48];
    let without = window.picture().part(button);
    let has_it = |_| window.step("Tab").part(button).difference(&without) > FRAME_PIXELS;
    assert!((0..MOST_STEPS).any(has_it), "no step leads there");
}

#[test]
fn plain_enter_and_space_approve_nothing_wherever_the_keyboard_is() {
    let (home, screen) = (home_with_project(), Screen::start());
    let window = Window::open(&home, &screen);
    set_up(&window, &home);
    window.say("create notes.txt with hello there");
    let asked = window.wait_for_question();
    step_to_approval(&window);
    window.press("Return");
    window.press("space");
    window.press("KP_Enter");
    // Keys come in their order: a yes by any of them would have come before this no.
    window.press("Escape");
    let ended = home.ended_call();
    assert_eq!((ended.id(), outcome(&ended)), (asked.id(), DENIED));
    window.answer();

    // The control: the same place, with the key that approves.
    window.wait_until_bright();
    window.say("create notes.txt with hello there");
    window.wait_for_question();
    step_to_approval(&window);
    window.press("ctrl+Return");
    assert_eq!(outcome(&home.ended_call()), ALLOWED);

    // *Deny* itself takes Enter.
    window.wait_until_bright();
    window.say("create other.txt with hello there");
    window.wait_for_question();
    window.press("Return");
    assert_eq!(outcome(&home.ended_call()), DENIED);
    assert!(!home.has("project/other.txt"));
}

#[test]
fn an_allow_rule_lets_the_same_write_through_until_it_is_revoked_and_outlives_a_restart() {
    const REQUEST: &str = "create notes.txt with hello there";
    let (home, screen) = (home_with_project(), Screen::start());
    let window = Window::open(&home, &screen);
    set_up(&window, &home);
    window.say(REQUEST);
    window.wait_for_question();
    // Three steps from *Deny* is the menu of rules; its first row is the narrowest.
    for _ in 0..3 {
        window.step("Tab");
    }
    window.step("Return");
    window.step("Tab");
    window.press("ctrl+Return");
    assert_eq!(outcome(&home.ended_call()), ALLOWED);
    window.answer();
    let rules = until("the rule is kept", || Some(home.rules()).filter(|rules| !rules.is_empty()));
    assert_eq!(rules.len(), 1);

    window.wait_until_bright();
    window.say(REQUEST);
    window.answer();
    let through = home.ended_call();
    assert_eq!((outcome(&through), through.decider), (ALLOWED, Some(nod::ir::Decider::Rule)));

    // After a restart everything is there and looks as it did.
    let before = window.still();
    window.close();
    let kept = home.chat().unwrap();
    let window = Window::open(&home, &screen);
    window.wait_for_composer();
    assert_eq!(home.chat().unwrap(), kept);
    let after = window.still();
    let transcript = [350, 100, 850, 600];
    assert_eq!(after.part(transcript).difference(&before.part(transcript)), 0, "the chat looks otherwise than before");
    window.say(REQUEST);
    window.answer();
    assert_eq!(home.ended_call().decider, Some(nod::ir::Decider::Rule));
    assert_eq!(home.rules()[0].hits, 2);

    // In the panel the rule's button is the last place but one before the message box: below it a refusal can be made.
    window.choose("rules of this chat");
    window.wait_until_bright();
    window.still();
    window.step("shift+Tab");
    window.step("shift+Tab");
    window.press("Return");
    until("the rule is gone", || home.rules().is_empty().then_some(()));
    window.choose("rules of this chat");
    window.wait_until_bright();
    window.still();
    window.say(REQUEST);
    window.wait_for_question();
    window.press("Escape");
    assert_eq!(outcome(&home.ended_call()), DENIED);
}

#[test]
fn without_a_dialog_the_path_is_typed_and_completed() {
    let (home, screen) = (Home::new(), Screen::start());
    home.write("project/main.rs", "");
    let window = Window::open(&home, &screen);
    window.wait_for_composer();
    window.choose("Add a folder…");
    // The palette goes, the dialog that is not there fails, and the field for a path comes.
    let light = color(|theme| theme.colors.sidebar.to_array());
    until("the field for a path comes", || (window.is_dim() && window.still().count(light) < 10_000).then_some(()));
    window.type_text(&home.path("proj").display().to_string());
    window.still();
    window.step("Right");
    window.press("Return");
    let project = home.path("project").display().to_string();
    until("the folder is added", || home.chat().filter(|chat| chat.session.folders == [project.as_str()]));
}

#[test]
fn a_second_start_raises_the_window_and_command_lines_are_answered_there() {
    let (home, screen) = (home_with_project(), Screen::start());
    let mut window = Window::open(&home, &screen);
    window.wait_for_composer();
    assert!(!window.asks_for_attention());
    let second = home.nod().env("DISPLAY", screen.name()).output().unwrap();
    assert!(second.status.success(), "{second:?}");
    until("the window is raised", || window.asks_for_attention().then_some(()));
    assert_eq!(window.count(), 1);

    // A tool call asks in the window, and its answer comes out where it was called.
    let arguments = json!({"path": "made.txt", "content": "made\n"}).to_string();
    let call = |words: &[&str]| home.nod().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let caller = call(&["tool", "write_file", &arguments, "--folder", "."]);
    window.wait_for_question();
    assert!(!home.has("project/made.txt"));
    window.press("ctrl+Return");
    let output = caller.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["bytesWritten"], 5, "{printed}");
    assert_eq!(home.read("project/made.txt"), "made\n");

    window.wait_until_bright();
    let caller = call(&["exec", "--provider", "guide", "--folder", ".", "delete made.txt"]);
    window.wait_for_question();
    window.press("Escape");
    let output = caller.wait_with_output().unwrap();
    assert_eq!(outcome(&home.ended_call()), DENIED);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(home.read("project/made.txt"), "made\n");

    // A setting changes what is to be seen, at once; readers read beside the window.
    window.wait_until_bright();
    let output = home.run(&["config", "set", "general.theme", "dark"]);
    assert!(output.status.success(), "{output:?}");
    let light = color(|theme| theme.colors.background.to_array());
    until("the window is dark", || (window.picture().count(light) < 10_000).then_some(()));
    let output = home.run(&["config", "get", "general.theme"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "\"dark\"", "{output:?}");
    assert!(home.run(&["sessions", "list"]).status.success());
    assert!(window.is_open());
}

#[test]
fn closing_while_something_runs_asks_first_and_then_everything_is_written() {
    let (home, screen) = (home_with_project(), Screen::start());
    let server = OllamaServer::start();
    choose_model(&home, &server);
    let gate = Gate::new();
    server.answer(Reply::pieces([
        Piece::line(text_line("As far as this.")),
        Piece::Gate(gate.clone()),
        Piece::line(done_line("stop")),
    ]));
    let mut window = Window::open(&home, &screen);
    window.wait_for_composer();
    window.say("go on");
    gate.wait_until_reached();
    window.press_close();
    window.wait_until_dim();
    window.still();
    assert!(window.is_open());
    // *Keep working* is what Esc means.
    window.press("Escape");
    window.wait_until_bright();
    assert!(window.is_open());
    window.write("waits for its turn");
    window.press("Return");
    until("the message is queued", || home.chat().filter(|chat| chat.session.draft.is_empty()));
    window.write("not sent yet");
    window.press_close();
    window.wait_until_dim();
    window.still();
    window.step("Tab");
    window.press("Return");
    assert!(window.ended().success());
    let chat = home.chat().unwrap();
    let last = chat.messages.last().unwrap();
    assert_eq!((last.message.content.as_str(), last.status), ("As far as this.", MessageStatus::Stopped));
    assert_eq!(chat.session.draft, "waits for its turn\n\nnot sent yet");
    assert_eq!(home.problems(), Vec::<String>::new());
    drop(window);
    gate.open();
}

#[test]
fn told_to_end_the_window_ends_what_runs_and_keeps_what_was_typed() {
    let (home, screen) = (home_with_project(), Screen::start());
    let server = OllamaServer::start();
    choose_model(&home, &server);
    set(&home, "tools.disabled", "[]");
    let command = "echo alias ls=false > .bashrc; : > begun; /bin/sleep 600";
    server.answer(Reply::stream([
        text_line("I run it."),
        calls_line(&[("run_command", json!({"command": command}))]),
        done_line("stop"),
    ]));
    let mut window = Window::open(&home, &screen);
    window.wait_for_composer();
    window.choose("Add a folder…");
    let project = home.path("project").display().to_string();
    until("the folder is added", || home.chat().filter(|chat| chat.session.folders == [project.as_str()]));
    window.wait_until_bright();
    window.say("run it");
    window.wait_for_question();
    window.press("ctrl+Return");
    until("the command runs", || home.has("project/begun").then_some(()));
    window.wait_until_bright();
    window.write("not sent yet");
    assert!(home.has("project/.bashrc"));
    let id = rustix::process::Pid::from_raw(window.process_id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    window.ended();
    assert!(!home.has("project/.bashrc"), "what it made is looked at");
    let chat = home.chat().unwrap();
    let calls: Vec<_> = chat.calls.iter().map(|call| call.status).collect();
    assert_eq!((chat.session.draft.as_str(), calls.as_slice()), ("not sent yet", &[CallStatus::Cancelled][..]));
    assert_eq!(home.problems(), Vec::<String>::new());
}

#[test]
fn a_read_only_data_folder_says_so_and_trying_again_leads_on() {
    let (home, screen) = (home_with_project(), Screen::start());
    let set_mode = |mode: &str| {
        let done = Command::new("chmod").arg(mode).arg(home.path("data")).status().unwrap();
        assert!(done.success());
    };
    home.write("data/logs/nod.log", "");
    set_mode("0500");
    // Root writes everywhere unless it gives that power away.
    let mut command = home.nod();
    if rustix::process::geteuid().is_root() {
        let powers = "-dac_override,-dac_read_search";
        let weaker = started_by("/usr/bin/setpriv", &["--bounding-set", powers, "--inh-caps", powers], &command);
        command = like(&command, weaker);
    }
    let window = Window::open_by(command, &home, &screen);
    let bad = color(|theme| theme.colors.bad.to_array());
    until("the message is shown", || (window.picture().count(bad) > 20).then_some(()));
    assert!(!home.has("data/nod.db"));

    // Trying again without a change comes back to it.
    window.step("Tab");
    window.press("Return");
    window.still();
    until("the message is shown again", || (window.picture().count(bad) > 20).then_some(()));

    set_mode("0700");
    window.click(window.picture().middle_of(accent()).unwrap());
    window.wait_for_composer();
    window.write("works now");
}

#[test]
fn on_a_full_disk_nothing_typed_is_lost() {
    const OWN_PLACE: &[&str] = &["--user", "--map-root-user", "--mount"];
    let mount = |place: &Path| {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(place);
        mount
    };
    let probe = tempfile::tempdir().unwrap();
    let is_possible =
        started_by("unshare", OWN_PLACE, &mount(probe.path())).output().is_ok_and(|done| done.status.success());
    if !is_possible {
        eprintln!("no small disk may be mounted here: tested with a limit on the size of files alone");
        return;
    }
    let test = "window::on_a_full_disk_nothing_typed_is_lost";
    if !in_own_process(test, |command| started_by("unshare", OWN_PLACE, &command)) {
        return;
    }
    let home = home_with_project();
    let place = home.path("data");
    std::fs::create_dir(&place).unwrap();
    assert!(mount(&place).status().unwrap().success());
    let filler = place.join("filler");
    let fill = |_: u32| {
        // As much as fits: the copy ends with an error.
        let copied = Command::new("dd")
            .args(["if=/dev/zero", "bs=4k"])
            .arg(format!("of={}", filler.display()))
            .stderr(Stdio::null())
            .status();
        assert!(!copied.unwrap().success(), "the disk is larger than it was made");
    };
    let empty = |_: u32| std::fs::remove_file(&filler).unwrap();
    fill(0);
    survive(&home, home.nod(), fill, empty);
}

#[test]
fn where_no_file_may_grow_nothing_typed_is_lost() {
    let home = home_with_project();
    let limit = |process: u32, limit: &str| {
        let limit = format!("--fsize={limit}:unlimited");
        let set = Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status().unwrap();
        assert!(set.success());
    };
    // The signal that a file has grown too large would end the program before it sees the error.
    let script = "trap '' XFSZ; ulimit -S -f 0; exec \"$0\"";
    let command = like(&home.nod(), started_by("/bin/sh", &["-c", script], &home.nod()));
    survive(&home, command, |process| limit(process, "0"), |process| limit(process, "unlimited"));
}

/// Starts with no room at all, gets some, runs out of it while something is sent, and gets it back.
fn survive(home: &Home, command: Command, fill: impl Fn(u32), empty: impl Fn(u32)) {
    let screen = Screen::start();
    let window = Window::open_by(command, home, &screen);
    let bad = color(|theme| theme.colors.bad.to_array());
    let is_told = || (window.picture().count(bad) > 5).then_some(());
    until("the message is shown", is_told);
    empty(window.process_id());
    window.click(window.picture().middle_of(accent()).unwrap());
    window.wait_for_composer();
    window.choose("guide");
    until("the guide is chosen", || home.chat().filter(|chat| chat.session.provider == "guide"));
    window.wait_until_bright();

    // What is sent comes back to the message box, and can be sent once there is room.
    window.write("help");
    window.still();
    assert_eq!(is_told(), None);
    fill(window.process_id());
    window.press("Return");
    until("the message is shown", is_told);
    window.still();
    assert_eq!(home.chat().unwrap().messages.len(), 0);
    empty(window.process_id());
    window.press("Return");
    window.answer();
    let chat = home.chat().unwrap();
    assert_eq!(chat.messages[0].message.content, "help");
    assert_eq!(chat.session.draft, "");
    window.close();
    assert_eq!(home.problems(), Vec::<String>::new());
}

/// The same surroundings for another command.
fn like(command: &Command, mut other: Command) -> Command {
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    other.current_dir(command.get_current_dir().unwrap());
    other
}

#[test]
fn an_idle_window_costs_nothing() {
    let (home, screen) = (home_with_project(), Screen::start());
    let window = Window::open(&home, &screen);
    window.wait_for_composer();
    window.still();
    // Without the keyboard there is no caret that blinks.
    screen.take_keyboard_away();
    let process = window.process_id();
    let of_process = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
    // Clock ticks of 10 ms, and how often the window's own thread went to sleep.
    let cost = || {
        let stat = of_process("stat");
        let ticks: u64 = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .sum();
        let status = of_process(&format!("task/{process}/status"));
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        let sleeps: u64 = line.split_whitespace().last().unwrap().parse().unwrap();
        (ticks, sleeps)
    };
    // What the last frame left to do may take a moment.
    let spent = until("it rests", || {
        let before = cost();
        std::thread::park_timeout(Duration::from_secs(2));
        let after = cost();
        Some((after.0 - before.0, after.1 - before.1)).filter(|(ticks, sleeps)| *ticks <= 1 && *sleeps <= 2)
    });
    assert!(spent.0 <= 1);
}
