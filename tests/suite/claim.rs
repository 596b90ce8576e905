//! What a command starts from is what was read at the yes, also while another call of Nod could put another folder in the
//! way: one of the two waits for the other. Without that the other folder's script runs.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and write to a pipe")]

use std::fs;
use std::path::{Path, PathBuf};

use nod::ir::{StartMoment, Tier, ToolResult};
use nod::port::{Answer, Event, TurnOptions};
use nod::tool::find;
use nod::workspace::{Purpose, Root, resolve};
use serde_json::json;

use crate::confinement::{run_tool, walls, within};
use crate::support::desk::{Desk, Setup};

/// It stands before its script until somebody opens the other end.
const START: &str = "sh dir/x.sh < door";
const EXCHANGE: &str = "mv dir old && mv evil dir";

/// An allowed folder in which a command can be held up between its start and the opening of its script.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap());
        for (folder, text) in [("dir", "good"), ("evil", "evil")] {
            fs::create_dir(ground.path(folder)).unwrap();
            fs::write(ground.path(folder).join("x.sh"), format!("echo {text}\n")).unwrap();
        }
        rustix::fs::mknodat(
            rustix::fs::CWD,
            ground.path("door"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The line with a word that no other process has.
    fn line(&self, line: &str) -> String {
        let mark = self.0.path().file_name().unwrap().to_str().unwrap();
        format!("{line} # {mark}")
    }

    /// Waits until the shell of this line is there: everything stands in its place for it.
    fn until_at_work(&self, line: &str) {
        let line = self.line(line);
        within("the shell is there", || {
            fs::read_dir("/proc").unwrap().flatten().any(|process| {
                let told = fs::read(process.path().join("cmdline")).unwrap_or_default();
                let words: Vec<&[u8]> = told.split(|byte| *byte == 0).collect();
                words.contains(&line.as_bytes()) && words.contains(&b"-c".as_slice())
            })
        });
    }

    fn open_the_door(&self) {
        fs::OpenOptions::new().write(true).open(self.path("door")).unwrap();
    }
}

fn options() -> TurnOptions {
    TurnOptions { enabled_tools: vec!["run_command".into()], ..TurnOptions::default() }
}

fn desk() -> Desk {
    Desk::with(Setup::new(Vec::new()))
}

fn begin(desk: &mut Desk, ground: &Ground, line: &str) {
    let args = json!({"command": ground.line(line)}).to_string();
    desk.begin_tool_in(ground.0.path(), "run_command", &args, options());
    let asked = desk.asked();
    desk.answer(&asked, Answer::AllowOnce);
}

fn until_it_waits(desk: &mut Desk) {
    desk.until(|event| matches!(event, Event::Notice { key: "notice-waits-for-other", .. }));
}

fn printed(result: &ToolResult) -> &str {
    result.result["stdout"].as_str().unwrap_or_default()
}

fn has_tier_a() -> bool {
    walls(Tier::A).is_some()
}

#[test]
fn what_a_command_starts_from_cannot_be_exchanged_by_another_command_of_nod() {
    let Some(walls) = walls(Tier::A) else { return };
    // The control, past the gate: the other folder's script runs although it is held.
    let ground = Ground::new();
    let root = Root::open(ground.0.path()).unwrap();
    let target = resolve(&root, &nod::policy::RelPath::default(), Purpose::Read).unwrap();
    let started = find("run_command").unwrap().starts(&json!({"command": START}), &[target], &[root]);
    assert_eq!(started.files.iter().map(|file| file.moment).collect::<Vec<_>>(), [StartMoment::First]);
    let ran = std::thread::scope(|scope| {
        let first = scope.spawn(|| run_tool(&walls, ground.0.path(), &ground.line(START)));
        ground.until_at_work(START);
        run_tool(&walls, ground.0.path(), EXCHANGE).unwrap();
        ground.open_the_door();
        first.join().unwrap().unwrap()
    });
    assert_eq!((&ran["stdout"], &ran["exchangedWhileRunning"]), (&json!("evil\n"), &json!(true)), "{ran}");

    let (ground, mut one, mut other) = (Ground::new(), desk(), desk());
    begin(&mut one, &ground, START);
    ground.until_at_work(START);
    begin(&mut other, &ground, EXCHANGE);
    until_it_waits(&mut other);
    ground.open_the_door();
    assert_eq!(printed(&one.tool_end()), "good\n");
    // Afterwards the other one does what it was allowed to.
    assert!(other.tool_end().success);
    assert_eq!(fs::read_to_string(ground.path("dir/x.sh")).unwrap(), "echo evil\n");
}

#[test]
fn a_command_that_could_exchange_something_ends_before_one_starts_from_it() {
    if !has_tier_a() {
        return;
    }
    let (ground, mut one, mut other) = (Ground::new(), desk(), desk());
    let line = format!("cat < door; {EXCHANGE}");
    begin(&mut other, &ground, &line);
    ground.until_at_work(&line);
    begin(&mut one, &ground, "sh dir/x.sh");
    until_it_waits(&mut one);
    ground.open_the_door();
    assert!(other.tool_end().success);
    // It is another script by now, so the yes is none to it.
    let anew = one.asked();
    assert!(anew.is_asked_anew);
    one.answer(&anew, Answer::Deny { reason: String::new() });
    assert_eq!(one.tool_end().code(), Some("CONFIRMATION_REJECTED"));
}

#[test]
fn file_tools_wait_for_what_runs_and_work_beside_it() {
    if !has_tier_a() {
        return;
    }
    let (ground, mut one, mut other) = (Ground::new(), desk(), desk());
    begin(&mut one, &ground, START);
    ground.until_at_work(START);
    let beside = json!({"path": "dir/beside.txt", "content": "fine"}).to_string();
    assert!(other.tool_in(ground.0.path(), "write_file", &beside, &Answer::AllowOnce, options()).success);
    let begin_write = |desk: &mut Desk| {
        let args = json!({"path": "dir/x.sh", "content": "echo evil\n"}).to_string();
        desk.begin_tool_in(ground.0.path(), "write_file", &args, options());
        let asked = desk.asked();
        desk.answer(&asked, Answer::AllowOnce);
    };
    begin_write(&mut other);
    until_it_waits(&mut other);
    let mut third = desk();
    third.begin_tool_in(ground.0.path(), "delete_file", r#"{"path": "dir", "recursive": true}"#, options());
    let asked = third.asked();
    third.answer(&asked, Answer::AllowOnce);
    until_it_waits(&mut third);
    assert_eq!(fs::read_to_string(ground.path("dir/x.sh")).unwrap(), "echo good\n");
    ground.open_the_door();
    assert_eq!(printed(&one.tool_end()), "good\n");
    // One of them comes first; the other finds what is there then.
    other.until(|event| matches!(event, Event::ToolEnded { .. } | Event::ConfirmAsked(_)));
    third.until(|event| matches!(event, Event::ToolEnded { .. } | Event::ConfirmAsked(_)));
    assert_ne!(fs::read_to_string(ground.path("dir/x.sh")).unwrap_or_default(), "echo good\n");
}

#[test]
fn commands_in_other_folders_and_such_as_start_from_nothing_go_beside_each_other() {
    if !has_tier_a() {
        return;
    }
    let (ground, elsewhere) = (Ground::new(), Ground::new());
    let (mut one, mut other) = (desk(), desk());
    begin(&mut one, &ground, START);
    ground.until_at_work(START);
    begin(&mut other, &elsewhere, EXCHANGE);
    assert!(other.tool_end().success);
    ground.open_the_door();
    assert_eq!(printed(&one.tool_end()), "good\n");
    let line = "cat < door";
    begin(&mut one, &ground, line);
    ground.until_at_work(line);
    begin(&mut other, &ground, EXCHANGE);
    assert!(other.tool_end().success);
    ground.open_the_door();
    assert!(one.tool_end().success);
}

/// Whoever is left over from a process that was killed holds nothing up.
#[test]
fn a_killed_nod_holds_nothing_up() {
    if !has_tier_a() {
        return;
    }
    let ground = Ground::new();
    let data = tempfile::tempdir().unwrap();
    let nod = |line: &str| {
        let mut nod = std::process::Command::new(env!("CARGO_BIN_EXE_nod"));
        nod.arg("--data-dir").arg(data.path()).args(["tool", "run_command"]);
        nod.arg(json!({"command": ground.line(line)}).to_string()).arg("--folder").arg(ground.0.path());
        nod.args(["--approve", "all", "--enable-tool", "run_command"]).env("HOME", data.path());
        nod.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        nod.stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut killed = nod(START);
    ground.until_at_work(START);
    let mut other = desk();
    begin(&mut other, &ground, EXCHANGE);
    until_it_waits(&mut other);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(other.tool_end().success);
    let is_there = |path: &Path| path.join("x.sh").exists();
    assert!(is_there(&ground.path("dir")) && is_there(&ground.path("old")));
}
