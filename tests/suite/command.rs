//! Commands: what they get, what is kept of them, and that nothing of them stays. The helper is the real program.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "a test of processes starts processes and keeps deadlines")]

use std::fs::File;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nod::ir::{CallId, Code, Preview, Tier};
use nod::policy::RelPath;
use nod::sandbox::{Captured, CommandOutcome, CommandSpec, Confine, Ending, SandboxError, run};
use nod::tool::{CommandWalls, Permit, PreviewContext, Progress, RunContext, RunError, find};
use nod::workspace::{Purpose, Root, Target, resolve, resolve_outside};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::own_process::in_own_process;
use crate::support::run_context::run_context;

const LONG: Duration = Duration::from_mins(1);
/// Far longer than anything takes on a machine under load, far shorter than what runs when nothing ends it.
const GONE: Duration = Duration::from_secs(20);

fn helper() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nod"))
}

fn spec(folder: &Path, command: &str, timeout: Duration) -> CommandSpec {
    CommandSpec {
        command: command.into(),
        cwd: File::open(folder).unwrap(),
        cwd_path: folder.into(),
        timeout,
        output_bytes: 100 * 1024,
        confine: Confine::default(),
    }
}

fn try_run(command: &str, timeout: Duration) -> Result<CommandOutcome, SandboxError> {
    let folder = tempfile::tempdir().unwrap();
    run(&spec(folder.path(), command, timeout), helper(), &CancellationToken::new(), &mut |_, _| {})
}

fn ran(command: &str) -> CommandOutcome {
    try_run(command, LONG).unwrap()
}

fn whole(text: &str) -> Captured {
    Captured { text: text.into(), dropped_bytes: 0 }
}

/// Waits until `condition` holds, and fails when it does not within `limit`.
fn within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::yield_now();
    }
}

/// Whether a live (not zombie) process has this text in its arguments, shells that were merely told it aside.
fn sleeper_lives(marker: &str) -> bool {
    !sleepers(marker).is_empty()
}

/// The processes that sleep this long.
fn sleepers(marker: &str) -> Vec<i32> {
    let arguments = format!("sleep\0{marker}\0");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.ends_with(arguments.as_bytes()))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The name of the program that a process runs now, or nothing once it is gone.
fn program_name(process: i32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// A number of seconds to sleep that nobody else sleeps.
fn marker(digits: u32) -> String {
    format!("7{digits}.{}", std::process::id())
}

/// Starts `command` (which must start `sleep <marker>` somehow), stops it when the sleeper lives, and waits for its end.
fn stop_when_started(command: &str, marker: &str) -> CommandOutcome {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let folder = tempfile::tempdir().unwrap();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            within(GONE, "the command starts", || sleeper_lives(marker));
            stop.cancel();
        });
        run(&spec(folder.path(), command, LONG), helper(), &cancel, &mut |_, _| {}).unwrap()
    });
    within(GONE, "everything is gone", || !sleeper_lives(marker));
    outcome
}

#[test]
fn both_streams_and_the_exit_code_come_back() {
    let outcome = ran("echo out; echo err >&2; exit 3");
    assert_eq!((outcome.stdout, outcome.stderr, outcome.ending), (whole("out\n"), whole("err\n"), Ending::Exited(3)));
}

#[test]
fn a_signal_is_reported_as_such_and_not_as_an_exit_code() {
    assert_eq!(ran("kill -TERM $$").ending, Ending::Signalled(15));
    assert_eq!(ran("kill -9 0").ending, Ending::Signalled(9));
    assert_eq!(ran("sh -c 'kill -9 $$'; exit $?").ending, Ending::Exited(137));
}

#[test]
fn the_shell_gets_exactly_the_text() {
    assert_eq!(ran("printf '%s|' 'a  b' \"\\$\"\necho \"x\ty\"").stdout, whole("a  b|$|x\ty\n"));
    assert_eq!(ran("-x").ending, Ending::Exited(127));
    assert_eq!(ran("").ending, Ending::Exited(0));
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(ran("cat; echo done").stdout, whole("done\n"));
}

#[test]
fn invalid_utf8_is_replaced_and_nothing_around_it_lost() {
    assert_eq!(ran(r"printf 'a\377b\344\275'").stdout, whole("a\u{FFFD}b\u{FFFD}"));
}

#[test]
fn the_folder_is_entered_by_its_handle() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    std::fs::create_dir(&before).unwrap();
    let spec = spec(&before, "/bin/pwd -P", LONG);
    std::fs::rename(&before, &after).unwrap();
    std::fs::create_dir(&before).unwrap();
    let outcome = run(&spec, helper(), &CancellationToken::new(), &mut |_, _| {}).unwrap();
    assert_eq!(outcome.stdout, whole(&format!("{}\n", after.canonicalize().unwrap().display())));
}

#[test]
fn the_environment_is_exactly_the_list() {
    let planted = |mut command: Command| {
        command.env("OPENAI_API_KEY", "sk-planted").env("BASH_ENV", "/planted").env("LD_LIBRARY_PATH", "/planted");
        command.env("GIT_SSH_COMMAND", "planted").env("SSH_AUTH_SOCK", "/planted");
        command
    };
    if !in_own_process("command::the_environment_is_exactly_the_list", planted) {
        return;
    }
    let careless = Command::new("sh").args(["-c", "env"]).output().unwrap();
    assert!(String::from_utf8_lossy(&careless.stdout).contains("sk-planted"), "the control must leak");

    let text = ran("env; cat /proc/$PPID/environ").stdout.text;
    let mut names: Vec<&str> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"], "{text}");
}

#[test]
fn the_temporary_folder_is_private_and_gone_afterwards() {
    let outcome = ran("stat -c %a \"$TMPDIR\" && touch \"$TMPDIR/x\" && echo \"$TMPDIR\"");
    let lines: Vec<&str> = outcome.stdout.text.lines().collect();
    assert_eq!((lines[0], outcome.ending), ("700", Ending::Exited(0)));
    assert!(!PathBuf::from(lines[1]).exists());
}

#[test]
fn inherited_descriptors_are_closed() {
    if !in_own_process("command::inherited_descriptors_are_closed", |command| command) {
        return;
    }
    let open = File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let list = "ls -l /proc/$$/fd /proc/$PPID/fd";
    let careless = Command::new("sh").args(["-c", list]).output().unwrap();
    assert!(String::from_utf8_lossy(&careless.stdout).contains("/etc/passwd"), "the control must leak");

    let outcome = ran(list);
    assert!(outcome.stdout.text.contains("/dev/null"), "{outcome:?}");
    assert!(!outcome.stdout.text.contains("/etc/passwd"), "{}", outcome.stdout.text);
}

#[test]
fn no_new_privileges_no_core_dumps_no_terminal() {
    let text =
        ran("grep NoNewPrivs /proc/self/status; ulimit -c; ( : </dev/tty ) 2>/dev/null || echo none").stdout.text;
    assert_eq!(text, "NoNewPrivs:\t1\n0\nnone\n");
}

#[test]
fn output_without_end_is_capped_drained_and_takes_no_memory() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    for command in ["yes", "head -c 100G /dev/zero", "yes >&2"] {
        let before = resident();
        let (mut pieces, mut live_bytes) = (0, 0);
        let folder = tempfile::tempdir().unwrap();
        let spec = spec(folder.path(), command, Duration::from_secs(1));
        let outcome = run(&spec, helper(), &CancellationToken::new(), &mut |_, text| {
            pieces += 1;
            live_bytes += text.len();
        })
        .unwrap();
        assert_eq!(outcome.ending, Ending::TimedOut, "{command}");
        assert!(outcome.duration < Duration::from_millis(1_500), "{command}: {:?}", outcome.duration);
        let kept = if command.contains(">&2") { &outcome.stderr } else { &outcome.stdout };
        assert!(kept.text.len() <= 100 * 1024 && kept.text.len() > 100 * 1000, "{command}: {}", kept.text.len());
        assert!(kept.dropped_bytes > 1024 * 1024 && kept.text.contains("bytes left out"), "{command}");
        assert!((2..=30).contains(&pieces), "{command}: {pieces} pieces a second");
        assert!(live_bytes < 30 * 20 * 1024, "{command}: {live_bytes} bytes shown live");
        let grown = resident().saturating_sub(before);
        assert!(grown < 20 * 1024, "{command}: {grown} KB more");
    }
}

#[test]
fn past_the_cap_a_command_goes_on_to_its_own_end() {
    let outcome = ran("head -c 5000000 /dev/zero | tr '\\0' x; echo end >&2; exit 4");
    assert_eq!((outcome.stderr, outcome.ending), (whole("end\n"), Ending::Exited(4)));
    assert!(outcome.stdout.text.starts_with("xxx") && outcome.stdout.text.ends_with("xxx"));
    assert_eq!(outcome.stdout.text.matches('x').count() as u64 + outcome.stdout.dropped_bytes, 5_000_000);
}

#[test]
fn live_output_comes_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let mut seen = Vec::new();
    let outcome = run(
        &spec(folder.path(), "echo first; echo second >&2; sleep 60", LONG),
        helper(),
        &cancel,
        &mut |is_stderr, text| {
            seen.push((is_stderr, text.to_owned()));
            if seen.len() == 2 {
                cancel.cancel();
            }
        },
    )
    .unwrap();
    seen.sort();
    assert_eq!(seen, [(false, "first\n".to_owned()), (true, "second\n".to_owned())]);
    assert_eq!(
        (outcome.ending, outcome.stdout, outcome.stderr),
        (Ending::Cancelled, whole("first\n"), whole("second\n"))
    );
}

#[test]
fn killing_the_process_group_alone_leaves_a_setsid_child_alive() {
    // The control: this is why there is a helper stage.
    let marker = marker(10);
    let mut shell = Command::new("sh")
        .args(["-c", &format!("setsid sleep {marker} & wait")])
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // Not `setsid` itself, which carries the same arguments and is still in the group.
    within(GONE, "the control starts", || sleepers(&marker).iter().any(|process| program_name(*process) == "sleep"));
    let group = rustix::process::Pid::from_child(&shell);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    shell.wait().unwrap();
    let left = sleepers(&marker);
    for process in &left {
        let process = rustix::process::Pid::from_raw(*process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    }
    assert!(!left.is_empty(), "the control must leave its child alive");
}

#[test]
fn stop_ends_setsid_children_double_forks_and_what_ignores_signals() {
    for (number, escape) in [
        "sleep MARK",
        "setsid sleep MARK & wait",
        "(setsid sleep MARK &) ; sleep 61",
        "setsid sh -c 'setsid setsid sleep MARK & sleep 62' & sleep 63",
        "trap '' TERM INT HUP; nohup setsid sleep MARK & wait",
    ]
    .iter()
    .enumerate()
    {
        let marker = marker(20 + u32::try_from(number).unwrap());
        let outcome = stop_when_started(&escape.replace("MARK", &marker), &marker);
        assert_eq!(outcome.ending, Ending::Cancelled, "{escape}");
    }
}

/// The specification says a tenth of a second; a machine under load gets more, and the command would take a minute.
#[test]
fn a_stop_returns_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let mut stopped_at = None;
    run(&spec(folder.path(), "echo; setsid sleep 60 & yes", LONG), helper(), &cancel, &mut |_, _| {
        stopped_at.get_or_insert_with(Instant::now);
        cancel.cancel();
    })
    .unwrap();
    assert!(stopped_at.unwrap().elapsed() < GONE);
}

#[test]
fn a_stop_before_the_start_runs_to_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = run(&spec(folder.path(), "sleep 60", LONG), helper(), &cancel, &mut |_, _| {}).unwrap();
    assert_eq!(outcome.ending, Ending::Cancelled);
}

#[test]
fn the_time_out_ends_a_setsid_child_too() {
    let marker = marker(30);
    let command = format!("setsid sleep {marker} & echo started; wait");
    let outcome = try_run(&command, Duration::from_millis(500)).unwrap();
    assert_eq!((outcome.ending, outcome.stdout), (Ending::TimedOut, whole("started\n")));
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn what_a_finished_command_leaves_in_the_background_is_ended_and_holds_nothing_up() {
    let marker = marker(40);
    let outcome = ran(&format!("setsid sleep {marker} & sleep 64 & echo done; exit 5"));
    assert_eq!((outcome.ending, outcome.stdout), (Ending::Exited(5), whole("done\n")));
    assert!(outcome.duration < Duration::from_secs(5), "{:?}", outcome.duration);
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn a_command_that_kills_its_helper_is_an_error_and_leaves_nothing_in_its_session() {
    let marker = marker(50);
    let result = try_run(&format!("sleep {marker} & kill -9 $PPID; sleep 65"), LONG);
    assert!(matches!(result, Err(SandboxError::HelperLost)), "{result:?}");
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn a_terminated_helper_ends_its_command_first() {
    let marker = marker(60);
    let outcome = try_run(&format!("setsid sleep {marker} & kill -TERM $PPID; wait"), LONG).unwrap();
    assert_eq!(outcome.ending, Ending::Signalled(9));
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn when_nod_itself_is_killed_its_command_ends() {
    const ROLE: &str = "NOD_TEST_MARKER";
    if let Ok(marker) = std::env::var(ROLE) {
        ran(&format!("setsid sleep {marker} & wait"));
        return;
    }
    let marker = marker(70);
    let mut app = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "command::when_nod_itself_is_killed_its_command_ends"])
        .env(ROLE, &marker)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    within(GONE, "the command starts", || sleeper_lives(&marker));
    app.kill().unwrap();
    app.wait().unwrap();
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn a_fork_bomb_with_a_bound_is_gone_within_a_second() {
    // Forks until 300 processes wait, then goes on forking as they are killed.
    let marker = marker(80);
    let command = format!("for i in $(seq 300); do setsid sleep {marker} & done; while :; do sleep 0 & done");
    let outcome = try_run(&command, Duration::from_secs(2)).unwrap();
    // Where the killed are replaced faster than they go, the bound on processes is met; where the kernel is the one that
    // holds it, the shell may say so and end before anybody has counted.
    let is_bound_by_kernel = outcome.ending == Ending::Exited(2) && outcome.stderr.text.contains("Cannot fork");
    assert!(is_bound_by_kernel || matches!(outcome.ending, Ending::TimedOut | Ending::TooManyProcesses), "{outcome:?}");
    within(GONE, "everything is gone", || !sleeper_lives(&marker));
}

#[test]
fn a_helper_that_is_not_there_or_not_ours_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (helper, expected) in [("/nowhere/nod", "starting the helper process failed"), ("/bin/true", "")] {
        let spec = spec(folder.path(), "echo", LONG);
        let error = run(&spec, Path::new(helper), &CancellationToken::new(), &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn the_helper_by_hand_says_what_it_is() {
    let mut by_hand = Command::new(helper())
        .arg("__run")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    by_hand.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(!by_hand.wait().unwrap().success());
    assert!(text.contains("not for use by hand"), "{text}");
}

/// Runs the tool in a folder, with a sub-folder as its `cwd` where one is given.
fn run_tool(folder: &Path, args: &Value, progress: Box<dyn Fn(Progress) + Send + Sync>) -> Result<Value, RunError> {
    let root = Root::open(folder).unwrap();
    let tool = find("run_command").unwrap();
    let wanted = tool.parse(args)?.paths.remove(0);
    let parts = wanted.given.split('/').filter(|part| *part != ".").map(str::to_owned).collect();
    let (targets, roots) = (vec![resolve(&root, &RelPath::from_parts(parts).unwrap(), wanted.purpose)?], vec![root]);
    let started = tool.starts(args, &targets, &roots);
    let context = RunContext {
        progress,
        helper: helper().to_path_buf(),
        walls: CommandWalls { started, ..CommandWalls::default() },
        ..run_context()
    };
    tool.run(Permit::issue(CallId::new("c1"), args.clone(), targets, roots, String::new()), &context)
}

#[test]
fn the_tool_gives_the_output_live_and_as_its_result() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/file.txt"), "x").unwrap();
    let (sender, receiver) = std::sync::mpsc::sync_channel(100);
    let progress = Box::new(move |progress| sender.send(progress).unwrap());
    let mut result = run_tool(folder.path(), &json!({"command": "ls -a", "cwd": "sub"}), progress).unwrap();
    assert!(result["duration"].as_u64().unwrap() < 60_000);
    result["duration"] = 0.into();
    assert_eq!(
        result,
        json!({
            "stdout": ".\n..\nfile.txt\n", "stderr": "", "exitCode": 0, "duration": 0, "timedOut": false,
            "truncated": false, "sandboxed": false,
        })
    );
    let live: Vec<Progress> = receiver.iter().collect();
    assert_eq!(live, [Progress::Output { is_stderr: false, text: ".\n..\nfile.txt\n".into() }]);
}

#[test]
fn the_tool_fails_with_the_output_when_the_command_fails() {
    let folder = tempfile::tempdir().unwrap();
    let failed = run_tool(folder.path(), &json!({"command": "echo so far; exit 9"}), Box::new(|_| {})).unwrap_err();
    assert_eq!((&failed.details["stdout"], &failed.details["exitCode"]), (&json!("so far\n"), &json!(9)));
    let args = json!({"command": "echo so far; sleep 60", "timeout": 300});
    let failed = run_tool(folder.path(), &args, Box::new(|_| {})).unwrap_err();
    assert_eq!(failed.failure.code, Code::TimedOut);
    assert_eq!((&failed.details["stdout"], &failed.details["exitCode"]), (&json!("so far\n"), &Value::Null));
    assert_eq!((&failed.details["signal"], &failed.details["timedOut"]), (&json!("SIGKILL"), &json!(true)));
}

#[test]
fn a_command_starts_only_in_a_folder_inside_the_allowed_ones_and_shows_all_it_gets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let root = Root::open(folder.path()).unwrap();
    let tool = find("run_command").unwrap();
    let context = PreviewContext::default();
    let args = json!({"command": "ls\nrm -rf x", "timeout": 999_999});
    let preview = |target: Target| tool.preview(&args, &[target], &context);

    let outside = preview(resolve_outside(Path::new("/usr")).unwrap()).unwrap_err();
    assert_eq!(outside.code, Code::PathOutOfScope);
    let file = resolve(&root, &RelPath::from_parts(vec!["file".into()]).unwrap(), Purpose::Read).unwrap();
    assert_eq!(preview(file).unwrap_err().code, Code::NotADirectory);

    let inside = resolve(&root, &RelPath::default(), Purpose::Read).unwrap();
    let cwd = inside.resolved().display().to_string();
    let Preview::Command(shown) = preview(inside).unwrap() else { panic!("not a command") };
    assert_eq!((shown.command.as_str(), shown.timeout_ms, shown.tier), ("ls\nrm -rf x", 120_000, Tier::Unconfined));
    assert_eq!(shown.cwd, cwd);
    let names: Vec<&str> = shown.environment.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"]);
}
