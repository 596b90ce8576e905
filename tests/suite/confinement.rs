//! Confinement of commands: what gets through each tier, what happens where the kernel lacks something, and what a
//! confined command finds and leaves behind. The helper is the real program, and every attack is really run.
//!
//! Where this kernel lacks what a tier stands on, the test says so and asserts that the tier was not taken.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files, start processes and keep deadlines")]
#![expect(clippy::print_stderr, reason = "what cannot be shown on this computer is said")]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nod::ir::{AuditAct, AuditFilter, AuditOrigin, CallId, Leak, Network, ObstacleKind, Preview, Tier};
use nod::policy::RelPath;
use nod::port::{Answer, TurnOptions};
use nod::sandbox::{
    BUBBLEWRAP_PATHS, Bubblewrap, CommandOutcome, CommandSpec, Confine, Ending, Place, SandboxError, Treatment, attack,
    probe, run,
};
use nod::tool::{CommandWalls, GuardLog, Permit, Progress, RunContext, RunError, find};
use nod::workspace::{Purpose, Root, resolve};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::desk::{Desk, Setup};
use crate::support::own_process::{in_own_process, started_by};
use crate::support::run_context::run_context;
use crate::support::without::{Lack, without};

const LONG: Duration = Duration::from_mins(1);

pub(crate) fn helper() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nod"))
}

fn bubblewraps() -> Vec<PathBuf> {
    BUBBLEWRAP_PATHS.iter().map(PathBuf::from).collect()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The walls of a tier, where this computer has it. Where it does not, the probe must have said why.
pub(crate) fn walls(tier: Tier) -> Option<CommandWalls> {
    let bubblewraps = if tier == Tier::A { bubblewraps() } else { Vec::new() };
    let found = probe(helper(), &bubblewraps);
    if found.confinement.tier == tier {
        return Some(CommandWalls { tier, bubblewrap: found.bubblewrap, ..CommandWalls::default() });
    }
    let why: Vec<_> = found.confinement.obstacles.iter().filter(|obstacle| obstacle.tier == tier).collect();
    assert!(!why.is_empty(), "the tier is not there, and nobody says why: {found:?}");
    eprintln!("tier {tier:?} cannot be shown here: {why:?}");
    None
}

/// Both tiers of Linux that this computer has.
pub(crate) fn tiers() -> Vec<CommandWalls> {
    [Tier::A, Tier::B].into_iter().filter_map(walls).collect()
}

/// Runs this test again as an ordinary user, where root may; `true` in the process that shall go on.
pub(crate) fn also_as_ordinary_user(test: &str) {
    const ROLE: &str = "NOD_TEST_ORDINARY";
    if std::env::var_os(ROLE).is_some() {
        assert!(!is_root());
        return;
    }
    if !is_root() {
        eprintln!("{test}: not root, so shown as an ordinary user alone");
        return;
    }
    let words = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    let output = started_by("setpriv", &words, &command).env(ROLE, "1").env("HOME", "/nonexistent").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "as an ordinary user: {text}");
    eprintln!("as an ordinary user:\n{text}");
}

pub(crate) fn spec(walls: &CommandWalls, folder: &Path, command: &str, timeout: Duration) -> CommandSpec {
    let folder = folder.canonicalize().unwrap();
    CommandSpec {
        command: command.into(),
        cwd: File::open(&folder).unwrap(),
        cwd_path: folder.clone(),
        timeout,
        output_bytes: 100 * 1024,
        confine: Confine {
            tier: walls.tier,
            network: walls.network,
            bubblewrap: walls.bubblewrap.clone(),
            places: vec![Place { handle: File::open(&folder).unwrap(), path: folder, treatment: Treatment::Writable }],
            ..Confine::default()
        },
    }
}

fn ran_in(walls: &CommandWalls, folder: &Path, command: &str) -> CommandOutcome {
    run(&spec(walls, folder, command, LONG), helper(), &CancellationToken::new(), &mut |_, _| {}).unwrap()
}

fn ran(walls: &CommandWalls, command: &str) -> CommandOutcome {
    ran_in(walls, tempfile::tempdir().unwrap().path(), command)
}

#[test]
fn without_walls_every_attack_gets_through() {
    let leaks = attack(Tier::Unconfined, Network::Denied, None, helper()).unwrap();
    let not_shown: Vec<Leak> = Leak::ALL.into_iter().filter(|leak| !leaks.contains(leak)).collect();
    // What this kernel or this user does not have cannot be lost; everything else must be, else the probe proves nothing.
    let may_lack = [Leak::Capability, Leak::IoUring, Leak::KeyRing, Leak::UserNamespace];
    assert!(not_shown.iter().all(|leak| may_lack.contains(leak)), "the control must leak: {not_shown:?}");
    assert!(!is_root() || leaks.contains(&Leak::Capability));
    if !not_shown.is_empty() {
        eprintln!("the control could not show: {not_shown:?}");
    }
    also_as_ordinary_user("confinement::without_walls_every_attack_gets_through");
}

#[test]
fn tier_a_stops_every_attack() {
    if let Some(walls) = walls(Tier::A) {
        let leaks = attack(Tier::A, Network::Denied, walls.bubblewrap.as_ref(), helper()).unwrap();
        assert_eq!(leaks, []);
    }
    also_as_ordinary_user("confinement::tier_a_stops_every_attack");
}

#[test]
fn tier_b_stops_all_but_the_gaps_that_it_names() {
    if walls(Tier::B).is_some() {
        let mut leaks = attack(Tier::B, Network::Denied, None, helper()).unwrap();
        // Stopped only by Landlock's sixth version.
        leaks.retain(|leak| *leak != Leak::Signal);
        assert_eq!(leaks, [Leak::ChangeMode, Leak::ChangeTimes, Leak::ReadOutside]);
    }
    also_as_ordinary_user("confinement::tier_b_stops_all_but_the_gaps_that_it_names");
}

#[test]
fn with_the_network_ticked_the_internet_is_reached_and_nothing_else() {
    for walls in tiers() {
        let leaks = attack(walls.tier, Network::Allowed, walls.bubblewrap.as_ref(), helper()).unwrap();
        let new: Vec<Leak> = leaks.into_iter().filter(|leak| !walls.tier.known_gaps().contains(leak)).collect();
        assert_eq!(new, [Leak::ConnectTcp, Leak::SendUdp], "{:?}", walls.tier);
    }
}

#[test]
fn without_bubblewrap_tier_b_holds_and_says_what_to_install() {
    let found = probe(helper(), &[PathBuf::from("/nowhere/bwrap")]).confinement;
    assert_eq!((found.obstacles[0].tier, found.obstacles[0].kind), (Tier::A, ObstacleKind::NoBubblewrap));
    if found.tier == Tier::Unconfined {
        eprintln!("tier B cannot be shown here: {:?}", found.obstacles);
        assert_eq!(found.obstacles[1].tier, Tier::B);
    } else {
        assert_eq!((found.tier, found.obstacles.len()), (Tier::B, 1));
    }
}

/// The tier that the probe finds in a process that lacks something, and what stood in the way.
fn probed_without(test: &str, lacks: &[Lack], check: impl FnOnce()) {
    if in_own_process(test, |command| without(command, lacks)) {
        check();
    }
}

#[test]
fn without_landlock_nothing_is_confined_and_nothing_runs_unasked() {
    probed_without(
        "confinement::without_landlock_nothing_is_confined_and_nothing_runs_unasked",
        &[Lack::Landlock],
        || {
            let found = probe(helper(), &bubblewraps()).confinement;
            assert_eq!(found.tier, Tier::Unconfined);
            let kinds: Vec<ObstacleKind> = found.obstacles.iter().map(|obstacle| obstacle.kind).collect();
            assert!(kinds.contains(&ObstacleKind::NoLandlock), "{kinds:?}");
            nothing_runs_unconfined_but_by_the_persons_word();
        },
    );
}

#[test]
fn without_user_namespaces_the_tier_falls_to_b() {
    probed_without("confinement::without_user_namespaces_the_tier_falls_to_b", &[Lack::UserNamespaces], || {
        let found = probe(helper(), &bubblewraps()).confinement;
        if Path::new(BUBBLEWRAP_PATHS[0]).exists() {
            assert_eq!(found.obstacles[0].kind, ObstacleKind::BubblewrapFailed);
        } else {
            eprintln!("bubblewrap is not installed: its failure was not shown");
        }
        assert!(matches!(found.tier, Tier::B | Tier::Unconfined), "{found:?}");
        if found.tier == Tier::B {
            let mut desk = Desk::with(Setup::new(Vec::new()));
            let result = desk.tool_with("run_command", r#"{"command": "echo hi"}"#, &Answer::AllowOnce, commands_on());
            assert_eq!((result.success, &result.result["tier"]), (true, &json!("b")));
        }
    });
}

#[test]
fn without_landlock_and_user_namespaces_nothing_is_confined() {
    let lacks = [Lack::Landlock, Lack::UserNamespaces];
    probed_without("confinement::without_landlock_and_user_namespaces_nothing_is_confined", &lacks, || {
        assert_eq!(probe(helper(), &bubblewraps()).confinement.tier, Tier::Unconfined);
        nothing_runs_unconfined_but_by_the_persons_word();
    });
}

#[test]
fn without_seccomp_nothing_is_confined() {
    probed_without("confinement::without_seccomp_nothing_is_confined", &[Lack::Seccomp], || {
        let found = probe(helper(), &bubblewraps()).confinement;
        assert_eq!(found.tier, Tier::Unconfined, "{found:?}");
        nothing_runs_unconfined_but_by_the_persons_word();
    });
}

#[test]
fn without_openat2_the_tiers_hold_as_before() {
    let before = probe(helper(), &bubblewraps()).confinement.tier;
    if in_own_process("confinement::without_openat2_the_tiers_hold_as_before", |command| {
        without(command, &[Lack::Openat2])
    }) {
        assert_eq!(probe(helper(), &bubblewraps()).confinement.tier, before);
        let mut desk = Desk::with(Setup::new(Vec::new()));
        desk.write("a.txt", "text\n");
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("note.txt"), "outside\n").unwrap();
        symlink(outside.path(), desk.path("out")).unwrap();
        let read = |desk: &mut Desk, path: &str| desk.tool("read_file", &json!({"path": path}), &Answer::AllowOnce);
        assert_eq!(read(&mut desk, "a.txt").result["content"], "text\n");
        assert_eq!(read(&mut desk, "out/note.txt").code(), Some("PATH_OUT_OF_SCOPE"));
    }
}

fn commands_on() -> TurnOptions {
    TurnOptions { enabled_tools: vec!["run_command".into()], ..TurnOptions::default() }
}

/// In a process whose kernel confines nothing.
fn nothing_runs_unconfined_but_by_the_persons_word() {
    let mut desk = Desk::with(Setup::new(Vec::new()));
    let args = r#"{"command": "touch ran"}"#;
    let result = desk.tool_with("run_command", args, &Answer::AllowOnce, TurnOptions::default());
    assert_eq!(result.code(), Some("TOOL_NOT_ENABLED"));
    let result = desk.tool_with("run_command", args, &Answer::AllowOnce, commands_on());
    assert_eq!(result.code(), Some("UNCONFINED_DENIED"), "{result:?}");
    assert!(!desk.was_asked() && !desk.path("ran").exists());
    // The control: with the person's word for this run it is asked, and runs.
    let lifted = TurnOptions { allow_unconfined: true, ..commands_on() };
    let result = desk.tool_with("run_command", args, &Answer::AllowOnce, lifted);
    assert!(result.success && desk.was_asked() && desk.path("ran").exists(), "{result:?}");
    assert_eq!(result.result["sandboxed"], false);
}

#[test]
fn a_confined_command_needs_no_leave_and_is_always_asked() {
    let expected = probe(helper(), &bubblewraps()).confinement;
    if !expected.tier.is_confined() {
        return eprintln!("nothing confines here: {:?}", expected.obstacles);
    }
    let mut desk = Desk::with(Setup::new(Vec::new()));
    let result = desk.tool_with("run_command", r#"{"command": "echo hi"}"#, &Answer::AllowOnce, commands_on());
    assert!(result.success && desk.was_asked(), "{result:?}");
    assert_eq!((&result.result["sandboxed"], &result.result["tier"]), (&json!(true), &json!(expected.tier)));
    let Some(Preview::Command(shown)) = desk.calls().last().and_then(|row| row.preview.clone()) else {
        panic!("the ledger keeps what was shown")
    };
    assert_eq!((shown.tier, shown.gaps, shown.network), (expected.tier, expected.gaps, Network::Denied));
}

#[test]
fn the_tick_for_the_network_is_part_of_the_run_and_of_its_record() {
    if tiers().is_empty() {
        return;
    }
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let command = format!("perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(q({address}))'");
    let args = json!({"command": command}).to_string();
    let mut desk = Desk::with(Setup::new(Vec::new()));
    let refused = desk.tool_with("run_command", &args, &Answer::AllowOnce, commands_on());
    assert!(!refused.success && refused.result["network"] == false, "{refused:?}");
    let allowed = desk.tool_with("run_command", &args, &Answer::AllowWithNetwork, commands_on());
    assert!(allowed.success && allowed.result["network"] == true, "{allowed:?}");
    let Some(Preview::Command(shown)) = desk.calls().last().and_then(|row| row.preview.clone()) else {
        panic!("the ledger keeps what was approved")
    };
    assert_eq!(shown.network, Network::Allowed);
    // The audit tells of both, with the tier, and who called.
    desk.send(nod::port::Command::LoadAudit { filter: AuditFilter::default(), offset: 0, number: 1 });
    let lines = desk.until(|event| matches!(event, nod::port::Event::AuditLoaded { .. }));
    let nod::port::Event::AuditLoaded { rows, .. } = lines else { unreachable!() };
    let entries = rows.into_iter().rev().filter_map(|row| row.entry);
    let told: Vec<_> = entries
        .filter(|entry| entry.tool == "run_command")
        .map(|entry| (entry.act, entry.origin, entry.tier, entry.detail))
        .collect();
    let line = |act, detail: &str| (act, AuditOrigin::CommandLine, Some(shown.tier), detail.to_owned());
    let expected = [
        line(AuditAct::Decided, ""),
        line(AuditAct::Ended, ""),
        line(AuditAct::Decided, "network"),
        line(AuditAct::Ended, "network"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn when_the_tier_falls_between_the_yes_and_the_run_it_is_asked_anew() {
    if walls(Tier::A).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("bwrap");
    let real = bubblewraps().into_iter().find(|path| path.exists()).unwrap();
    symlink(real, &link).unwrap();
    let mut desk = Desk::with(Setup { bubblewraps: vec![link.clone()], ..Setup::new(Vec::new()) });
    desk.begin_tool("run_command", r#"{"command": "touch ran"}"#, commands_on());
    let first = desk.asked();
    let Preview::Command(shown) = &first.preview else { panic!("not a command") };
    assert_eq!((shown.tier, first.is_asked_anew), (Tier::A, false));
    fs::remove_file(&link).unwrap();
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    let Preview::Command(shown) = &second.preview else { panic!("not a command") };
    assert!(second.is_asked_anew && shown.tier != Tier::A, "{shown:?}");
    assert_ne!(first.plan_hash, second.plan_hash);
    desk.answer(&second, Answer::Deny { reason: String::new() });
    assert_eq!(desk.tool_end().code(), Some("CONFIRMATION_REJECTED"));
    assert!(!desk.path("ran").exists());
}

#[test]
fn a_confinement_that_cannot_be_set_up_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Tier A without its bubblewrap, as if it had gone after the last look.
    let walls = CommandWalls { tier: Tier::A, ..CommandWalls::default() };
    let result =
        run(&spec(&walls, folder.path(), "touch ran", LONG), helper(), &CancellationToken::new(), &mut |_, _| {});
    assert!(matches!(result, Err(SandboxError::Confinement { .. })), "{result:?}");
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_folder_that_holds_closed_places_is_none_for_a_command() {
    if tiers().is_empty() {
        return;
    }
    let mut desk = Desk::with(Setup::new(Vec::new()));
    let home = desk.home_path();
    let result = desk.tool_in(&home, "run_command", r#"{"command": "touch ran"}"#, &Answer::AllowOnce, commands_on());
    assert_eq!(result.code(), Some("BLOCKED_PATH_DENIED"), "{result:?}");
    assert!(!desk.was_asked() && !home.join("ran").exists());
}

#[test]
fn the_environment_is_exactly_the_list_and_no_process_shows_another() {
    // In tier B the arguments of other processes can be read, so the key is one that nobody else speaks of.
    let key = format!("sk-planted-{}", std::process::id());
    let planted = |mut command: Command| {
        command.env("OPENAI_API_KEY", &key).env("BASH_ENV", "/planted").env("LD_LIBRARY_PATH", "/planted");
        command
    };
    if !in_own_process("confinement::the_environment_is_exactly_the_list_and_no_process_shows_another", planted) {
        return;
    }
    let key = std::env::var("OPENAI_API_KEY").unwrap();
    let look = "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'";
    let careless = Command::new("sh").args(["-c", look]).output().unwrap();
    assert!(String::from_utf8_lossy(&careless.stdout).contains(&key), "the control must leak");
    for walls in tiers() {
        let text = ran(&walls, "env").stdout.text;
        let mut names: Vec<&str> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"], "{:?}", walls.tier);
        let text = ran(&walls, look).stdout.text;
        assert!(!text.contains(&key), "{:?}: {text}", walls.tier);
        if walls.tier == Tier::A {
            let first = ran(&walls, "wc -c < /proc/1/environ; tr '\\0' ' ' < /proc/1/cmdline");
            let text = first.stdout.text + &first.stderr.text;
            assert!(!text.contains(env!("CARGO_MANIFEST_DIR")), "{text}");
        }
    }
}

#[test]
fn an_inherited_descriptor_is_closed() {
    if !in_own_process("confinement::an_inherited_descriptor_is_closed", |command| command) {
        return;
    }
    let open = File::open("/etc/hostname").or_else(|_| File::open("/etc/passwd")).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let name = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open))).unwrap();
    let list = "ls -l /proc/self/fd /proc/$$/fd /proc/$PPID/fd";
    let careless = Command::new("sh").args(["-c", list]).output().unwrap();
    let name = name.to_str().unwrap();
    assert!(String::from_utf8_lossy(&careless.stdout).contains(name), "the control must leak");
    for walls in tiers() {
        let text = ran(&walls, list).stdout.text;
        assert!(text.contains("/dev/null") && !text.contains(name), "{:?}: {text}", walls.tier);
        assert!(!text.contains("memfd"), "{:?}: {text}", walls.tier);
    }
}

#[test]
fn in_tier_a_the_home_is_empty_and_the_rest_of_the_disk_is_not_there() {
    let Some(walls) = walls(Tier::A) else { return };
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "sk-outside").unwrap();
    let socket = outside.path().join("docker.sock");
    let _listens = UnixListener::bind(&socket).unwrap();
    let command = format!(
        "ls -A \"$HOME\"; cat '{0}/secret'; ls '{0}'; ls /run/user /var/run /sys; touch /usr/x /etc/x; id -u; \
         touch \"$TMPDIR/mine\" \"$HOME/mine\" && echo wrote",
        outside.path().display()
    );
    let outcome = ran(&walls, &command);
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(outcome.stdout.text, format!("{user}\nwrote\n"), "{}", outcome.stderr.text);
    assert!(!outcome.stderr.text.contains("sk-outside"));
}

#[test]
fn a_folder_below_the_home_is_shown_at_its_own_path() {
    let Some(walls) = walls(Tier::A) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "here").unwrap();
    let real = folder.path().canonicalize().unwrap();
    let outcome = ran_in(&walls, folder.path(), "pwd; cat file; echo new > made; echo $PWD");
    assert_eq!(outcome.stdout.text, format!("{0}\nhere{0}\n", real.display()));
    assert_eq!(fs::read_to_string(folder.path().join("made")).unwrap(), "new\n");
}

#[test]
fn a_signal_and_an_exit_code_are_told_apart() {
    for walls in tiers() {
        assert_eq!(ran(&walls, "kill -TERM $$").ending, Ending::Signalled(15), "{:?}", walls.tier);
        assert_eq!(ran(&walls, "sh -c 'kill -9 $$'; exit $?").ending, Ending::Exited(137), "{:?}", walls.tier);
        assert_eq!(ran(&walls, "exit 7").ending, Ending::Exited(7), "{:?}", walls.tier);
    }
}

fn sleepers(marker: &str) -> usize {
    let arguments = format!("sleep\0{marker}\0");
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.ends_with(arguments.as_bytes())).count()
}

pub(crate) fn within(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn stop_and_time_out_end_setsid_children_too() {
    for (number, walls) in tiers().into_iter().enumerate() {
        let marker = format!("88{number}.{}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let cancel = CancellationToken::new();
        let command = format!("setsid setsid sleep {marker} & (setsid sleep {marker} &) ; wait; sleep 70");
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                within("both start", || sleepers(&marker) == 2);
                cancel.cancel();
            });
            run(&spec(&walls, folder.path(), &command, LONG), helper(), &cancel, &mut |_, _| {}).unwrap()
        });
        assert_eq!(outcome.ending, Ending::Cancelled);
        within("everything is gone after a stop", || sleepers(&marker) == 0);
        let spec = spec(&walls, folder.path(), &command, Duration::from_millis(500));
        let outcome = run(&spec, helper(), &CancellationToken::new(), &mut |_, _| {}).unwrap();
        assert_eq!(outcome.ending, Ending::TimedOut);
        within("everything is gone after a time-out", || sleepers(&marker) == 0);
    }
}

#[test]
fn limits_stop_a_fork_bomb_and_a_giant_allocation() {
    let own_groups = || ran(&CommandWalls::default(), "cat /proc/self/cgroup").stdout.text;
    let kernel_counts = !is_root() || own_groups().contains("nod-command-");
    for walls in tiers() {
        let limits = ran(&walls, "ulimit -c; ulimit -v; ulimit -n; ulimit -f").stdout.text;
        assert!(limits.starts_with("0\n") && !limits.contains("unlimited"), "{:?}: {limits}", walls.tier);
        let giant = ran(&walls, "dd if=/dev/zero of=/dev/null bs=64G count=1");
        assert!(matches!(giant.ending, Ending::Exited(code) if code != 0), "{:?}: {giant:?}", walls.tier);
        assert_is_held(&walls, "bomb() { [ -e fuse ] && bomb | bomb & }; bomb; sleep 60");
        // One whose processes each leave the group is too much for counting: that the kernel does.
        if kernel_counts {
            let line =
                "echo '[ -e fuse ] && { setsid sh bomb & setsid sh bomb & sleep 60; }' > bomb; sh bomb; sleep 60";
            assert_is_held(&walls, line);
        }
    }
}

/// The bomb lives as long as its fuse: should it not be caught, the end of this test puts it out.
fn assert_is_held(walls: &CommandWalls, bomb: &str) {
    const MOST: usize = 1024;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fuse"), "").unwrap();
    let marker = folder.path().canonicalize().unwrap();
    let order = spec(walls, folder.path(), bomb, Duration::from_secs(4));
    let (outcome, peak) = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&order, helper(), &CancellationToken::new(), &mut |_, _| {}));
        let mut peak = 0;
        while !run.is_finished() {
            peak = peak.max(processes_in(&marker));
        }
        (run.join().unwrap(), peak)
    });
    within("everything is gone", || processes_in(&marker) == 0);
    fs::remove_file(folder.path().join("fuse")).unwrap();
    let ending = outcome.unwrap().ending;
    let is_held = matches!(ending, Ending::TooManyProcesses | Ending::TimedOut | Ending::Exited(_));
    // An ordinary user's other processes count too.
    assert!(is_held && peak <= 2 * MOST, "{:?}: {ending:?}, {peak} at once: {bomb}", walls.tier);
    eprintln!("{:?}: {ending:?}, {peak} at once: {bomb}", walls.tier);
}

#[test]
fn other_programs_of_the_person_are_out_of_reach() {
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let line = format!(
        "prlimit --pid {0} --nofile=77 2>/dev/null && echo limits; renice -n 19 -p {0} >/dev/null 2>&1 && echo turn; \
         chrt --idle --pid 0 {0} 2>/dev/null && echo scheduler; ionice -c 3 -p {0} 2>/dev/null && echo disk; \
         id=$(ipcmk -M 4096 2>/dev/null) && echo memory && ipcrm -m ${{id##*: }}; prlimit --nofile=66 sh -c 'echo own; nice true && echo own'",
        other.id()
    );
    let said = |walls: &CommandWalls| ran(walls, &line).stdout.text;
    for walls in tiers() {
        // Tier A has numbered memory of its own.
        let own = if walls.tier == Tier::A { "memory\nown\nown\n" } else { "own\nown\n" };
        assert_eq!(said(&walls), own, "{:?}", walls.tier);
    }
    let control = said(&CommandWalls::default());
    assert!(
        control.starts_with("limits\nturn\nscheduler\ndisk\nmemory\nown\n"),
        "the control must reach it: {control}"
    );
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_limit_on_processes_is_above_what_builds_need_and_counts_what_lives() {
    for walls in tiers() {
        // Many at once, and more in a row than may live at once.
        let many = "i=0; while [ $i -lt 300 ]; do sleep 50 & all=\"$all $!\"; i=$((i+1)); done; \
                    i=0; while [ $i -lt 2000 ]; do (:); i=$((i+1)); done; kill $all; wait; echo done";
        let outcome = ran(&walls, many);
        assert_eq!((outcome.ending, outcome.stdout.text.as_str()), (Ending::Exited(0), "done\n"), "{:?}", walls.tier);
    }
}

/// How many processes have this folder as their own.
fn processes_in(folder: &Path) -> usize {
    let folders =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    folders.filter(|own| own == folder).count()
}

/// Runs the tool itself, which guards what something executes later.
pub(crate) fn run_tool(walls: &CommandWalls, folder: &Path, command: &str) -> Result<Value, RunError> {
    run_tool_watched(walls, folder, command, CancellationToken::new(), |_| {})
}

/// The same, with a folder for what outlives it.
pub(crate) fn run_tool_recorded(
    walls: &CommandWalls,
    folder: &Path,
    command: &str,
    records: &Path,
) -> Result<Value, RunError> {
    let log = GuardLog { records: Some(records.to_path_buf()), put_back: None };
    run_tool_logged(walls, folder, command, CancellationToken::new(), |_| {}, log)
}

/// The same, with what it prints as it comes, and a stop.
pub(crate) fn run_tool_watched(
    walls: &CommandWalls,
    folder: &Path,
    command: &str,
    cancel: CancellationToken,
    on_output: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Value, RunError> {
    run_tool_logged(walls, folder, command, cancel, on_output, GuardLog::default())
}

fn run_tool_logged(
    walls: &CommandWalls,
    folder: &Path,
    command: &str,
    cancel: CancellationToken,
    on_output: impl Fn(&str) + Send + Sync + 'static,
    guard_log: GuardLog,
) -> Result<Value, RunError> {
    let root = Root::open(folder).unwrap();
    let targets = vec![resolve(&root, &RelPath::default(), Purpose::Read).unwrap()];
    let roots = vec![root];
    let args = json!({"command": command});
    let tool = find("run_command").unwrap();
    let started = tool.starts(&args, &targets, &roots);
    let context = RunContext {
        cancel,
        progress: Box::new(move |progress: Progress| {
            if let Progress::Output { text, .. } = progress {
                on_output(&text);
            }
        }),
        helper: helper().to_path_buf(),
        walls: CommandWalls { started, ..walls.clone() },
        guard_log,
        ..run_context()
    };
    tool.run(Permit::issue(CallId::new("c1"), args, targets, roots, String::new()), &context)
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        (".git/config", "[core]\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        ("lib/.git/config", "[lib]\n"),
        (".mcp.json", "{}\n"),
        (".vscode/tasks.json", "{}\n"),
        (".env", "KEY=sk-inside\n"),
        ("src/main.rs", "fn main() {}\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const EVIL: &str = "echo evil > .bashrc; echo fine > src/new.rs; for file in .git/config .git/hooks/pre-commit lib/.git/config .mcp.json .vscode/tasks.json; do \
                    echo evil > $file; done; echo evil > .git/hooks/post-checkout; mkdir -p new/.git/hooks; \
                    echo evil > new/.git/hooks/x; chmod 755 .git/hooks/*";

fn protected(folder: &Path) -> Vec<String> {
    [".git/config", ".git/hooks/pre-commit", "lib/.git/config", ".mcp.json", ".vscode/tasks.json"]
        .iter()
        .map(|path| fs::read_to_string(folder.join(path)).unwrap())
        .collect()
}

#[test]
fn a_folder_that_a_command_closed_hides_nothing_from_the_look_after_it() {
    also_as_ordinary_user("confinement::a_folder_that_a_command_closed_hides_nothing_from_the_look_after_it");
    const HIDE: &str = "cp -r .git other; echo ../other > .git/commondir; chmod 311 .git; mkdir -p new/.git/hooks; \
                        echo evil > new/.git/hooks/pre-commit; chmod 111 new/.git/hooks new/.git new; \
                        mkdir -p half/.git; echo evil > half/.git/config; chmod 400 half/.git half";
    const HIDDEN: [&str; 3] = [".git/commondir", "new/.git/hooks/pre-commit", "half/.git/config"];
    for walls in tiers() {
        let repository = repository();
        run_tool(&walls, repository.path(), HIDE).unwrap_or_else(|error| error.details);
        for path in ["half", "half/.git", "new", "new/.git", "new/.git/hooks", ".git"] {
            let path = repository.path().join(path);
            if path.exists() {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let left: Vec<&str> = HIDDEN.into_iter().filter(|path| repository.path().join(path).exists()).collect();
        assert_eq!(left, Vec::<&str>::new(), "{:?}", walls.tier);
    }
    let control = repository();
    run_tool(&CommandWalls::default(), control.path(), "echo ../other > .git/commondir").unwrap();
    assert!(control.path().join(".git/commondir").exists(), "the control must change it");
}

#[test]
fn a_flood_of_names_hides_no_change_of_a_repository_that_was_there() {
    for walls in tiers() {
        let repository = repository();
        let flood = "echo ../other > .git/commondir; seq 60000 | sed 's/^/!/' | xargs touch";
        run_tool(&walls, repository.path(), flood).unwrap_or_else(|error| error.details);
        assert!(!repository.path().join(".git/commondir").exists(), "{:?}", walls.tier);
    }
}

#[test]
fn what_something_executes_later_is_read_only_or_put_back_and_reported() {
    let control = repository();
    let before = protected(control.path());
    run_tool(&CommandWalls::default(), control.path(), EVIL).unwrap();
    assert_eq!(protected(control.path()), vec!["evil\n"; 5], "the control must change them");

    for walls in tiers() {
        let folder = repository();
        let result = run_tool(&walls, folder.path(), EVIL).unwrap_or_else(|error| error.details);
        assert_eq!(protected(folder.path()), before, "{:?}: {result}", walls.tier);
        for path in [".git/hooks/post-checkout", "new/.git/hooks/x", ".bashrc"] {
            assert!(!folder.path().join(path).exists(), "{:?}: {path}", walls.tier);
        }
        let mode = fs::metadata(folder.path().join(".git/hooks/pre-commit")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0, "{:?}", walls.tier);
        assert_eq!(fs::read_to_string(folder.path().join("src/new.rs")).unwrap(), "fine\n");
        let reverted: Vec<&str> =
            result["reverted"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
        assert!(reverted.contains(&".bashrc"), "{reverted:?}");
        match walls.tier {
            // It could not even be tried.
            Tier::A => {
                assert!(!reverted.contains(&".git/config") && reverted.contains(&"new/.git/hooks/x"), "{reverted:?}");
                assert!(result["stderr"].as_str().unwrap().contains("Read-only file system"), "{result}");
            }
            _ => assert!(reverted.contains(&".git/config"), "{reverted:?}"),
        }
    }
}

#[test]
fn in_tier_a_a_repository_cannot_be_moved_away_and_secrets_are_covered() {
    let Some(walls) = walls(Tier::A) else { return };
    let folder = repository();
    let result = run_tool(&walls, folder.path(), "mv .git away; cat .env; echo evil >> .env; true").unwrap();
    let text = format!("{}{}", result["stdout"], result["stderr"]);
    assert!(!folder.path().join("away").exists() && !text.contains("sk-inside"), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join(".env")).unwrap(), "KEY=sk-inside\n");
}

#[test]
fn doctor_says_which_tier_holds() {
    let data = tempfile::tempdir().unwrap();
    let output = Command::new(helper())
        .args(["--data-dir", data.path().to_str().unwrap(), "doctor", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let findings: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = findings.iter().find(|finding| finding["subject"] == "confinement").unwrap();
    let expected = match probe(helper(), &bubblewraps()).confinement.tier {
        Tier::A => "A: ",
        Tier::B => "B: ",
        Tier::Seatbelt => "Seatbelt",
        Tier::Unconfined => "C",
    };
    assert!(found["detail"].as_str().unwrap().starts_with(expected), "{found}");
}

/// Only names the type: a bubblewrap is found by the probe alone.
#[test]
fn a_bubblewrap_that_is_not_the_systems_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    let planted = place.path().join("bwrap");
    fs::write(&planted, "#!/bin/sh\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o777)).unwrap();
    let found = probe(helper(), &[planted]);
    assert_eq!(found.bubblewrap, None::<Bubblewrap>);
    assert_eq!(found.confinement.obstacles[0].kind, ObstacleKind::NoBubblewrap);
}
