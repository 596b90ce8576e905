//! Writes that the kernel tells nobody of: through a shared mapping of what git obeys, with the file kept open or not. They
//! are stopped before they happen, and each gets through where nothing keeps it from happening.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files, start processes and keep deadlines")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nod::ir::Tier;
use nod::tool::CommandWalls;
use nod::workspace::{Guard, Root, Watched, Watching};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::confinement::{also_as_ordinary_user, helper, run_tool, run_tool_watched, spec, walls};
use crate::protection::{Project, code, has_git};
use crate::support::own_process::{in_own_process, started_by};

const ORDER: &str = "NOD_TEST_MAPPING";

/// Maps a file and writes into it what another holds, as its order says; then says so and stays. Without an order it is no
/// test: it is what the commands of the others start.
#[test]
fn writes_through_a_mapping() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [how, path, content] = order.split('|').collect::<Vec<_>>().try_into().unwrap();
    if how == "lease" {
        let is_leased = nod::sandbox::lease(File::open(path).unwrap()).is_ok();
        return println!("{}", if is_leased { "leased" } else { "refused" });
    }
    let content = fs::read(content).unwrap();
    let opened = if how == "renamed" { "copy" } else { path };
    match how {
        "renamed" => drop(fs::copy(path, opened).unwrap()),
        "made" => fs::write(path, ".\n").unwrap(),
        _ => {}
    }
    let file = OpenOptions::new().read(true).write(true).open(opened).unwrap();
    let mut map = Map::of(&file);
    let kept = (how != "closed" && how != "renamed").then_some(file);
    if how == "renamed" {
        fs::rename(opened, path).unwrap();
    }
    if how == "made" || how == "renamed" {
        // What says nothing bad yet may be let pass: long enough to be stopped on a slow computer too.
        std::thread::sleep(Duration::from_secs(3));
    }
    map.write(&content);
    std::io::stdout().write_all(b"planted\n").unwrap();
    std::thread::sleep(Duration::from_mins(1));
    drop(kept);
}

struct Map {
    address: *mut u8,
    length: usize,
}

impl Map {
    #[expect(unsafe_code, reason = "a mapping has no safe form")]
    fn of(file: &File) -> Self {
        let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the address is the kernel's choice, and the mapping stays until the process ends.
        let address = unsafe { mmap(std::ptr::null_mut(), length, rights, MapFlags::SHARED, file, 0) }.unwrap();
        Self { address: address.cast(), length }
    }

    #[expect(unsafe_code, reason = "a mapping has no safe form")]
    fn write(&mut self, content: &[u8]) {
        let mut whole = content.to_vec();
        whole.resize(self.length, b'\n');
        // SAFETY: the mapping is as long as what is written, and nobody else in this process uses it.
        unsafe { std::ptr::copy_nonoverlapping(whole.as_ptr(), self.address, self.length) };
    }
}

/// A repository whose configuration is long enough for what the attack writes over it.
struct Ground {
    project: Project,
    before: String,
}

impl Ground {
    fn new() -> Self {
        let project = Project::new();
        let folder = project.folder();
        let config = folder.join(".git/config");
        let before = format!("{}# {}\n", fs::read_to_string(&config).unwrap(), "long ".repeat(200));
        fs::write(config, &before).unwrap();
        let mark = project.mark();
        let evil = format!("[core]\nrepositoryformatversion = 0\nfsmonitor = \"id > {}; false\"\n", mark.display());
        fs::write(folder.join("evil"), evil).unwrap();
        fs::write(folder.join("above"), "..").unwrap();
        Self { project, before }
    }

    fn folder(&self) -> PathBuf {
        self.project.folder()
    }

    /// This very program, which maps.
    fn maps(how: &str, path: &str, content: &str) -> String {
        let program = std::env::current_exe().unwrap();
        format!(
            "{ORDER}='{how}|{path}|{content}' '{}' --exact mapping::writes_through_a_mapping --nocapture",
            program.display()
        )
    }

    fn config(&self) -> String {
        fs::read_to_string(self.folder().join(".git/config")).unwrap()
    }

    fn is_obeyed(&self) -> bool {
        self.project.ask_git();
        self.project.mark().exists()
    }
}

/// What maps and how, each with what is told afterwards.
fn attacks() -> [(&'static str, String, &'static str); 5] {
    let map = Ground::maps;
    let above = format!("cp -r .git/objects .git/refs .; cp evil config; {}", map("made", ".git/commondir", "above"));
    [
        ("kept open", map("open", ".git/config", "evil"), "prevented"),
        ("closed before it is written", map("closed", ".git/config", "evil"), "prevented"),
        ("by a second name", format!("ln .git/config x; {}", map("open", "x", "evil")), "prevented"),
        ("under a file that says the same", map("renamed", ".git/config", "evil"), "restored"),
        ("what points elsewhere", above, "removed"),
    ]
}

/// Runs it and lets git be asked as soon as it says that it is done; gives what came of it.
fn attack(walls: &CommandWalls, ground: &Ground, command: &str) -> Result<Value, nod::tool::RunError> {
    let cancel = CancellationToken::new();
    let (stop, folder) = (cancel.clone(), ground.folder());
    let ask_once_planted = move |text: &str| {
        if text.contains("planted") {
            crate::protection::ask_git(&folder);
            stop.cancel();
        }
    };
    run_tool_watched(walls, &ground.folder(), command, cancel, ask_once_planted)
}

#[test]
fn what_git_obeys_is_not_written_through_a_mapping() {
    also_as_ordinary_user("mapping::what_git_obeys_is_not_written_through_a_mapping");
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    for (name, command, state) in attacks() {
        let control = Ground::new();
        let ran = attack(&CommandWalls::default(), &control, &command);
        assert!(control.project.mark().exists(), "the control must be obeyed: {name}: {ran:?}");

        let ground = Ground::new();
        let is_over = AtomicBool::new(false);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    ground.project.ask_git();
                }
            });
            let ran = attack(&tier_b, &ground, &command);
            is_over.store(true, Ordering::SeqCst);
            ran
        });
        assert!(!ground.is_obeyed(), "{name}: {ran:?}");
        assert_eq!((code(&ran), ground.config()), (Some("PROTECTED_PATH_DENIED"), ground.before.clone()), "{name}");
        let told = &ran.unwrap_err().details["reverted"][0]["state"];
        assert_eq!(*told, json!(state), "{name}");
    }
}

/// The same guard and the same walls, without the hold on what is there: the attack gets through.
#[test]
fn without_the_hold_a_mapping_that_is_kept_open_is_obeyed() {
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    let ground = Ground::new();
    let root = Root::open(&ground.folder()).unwrap();
    let mut guard = Guard::take(std::slice::from_ref(&root), Watching::Yes);
    let command = Ground::maps("open", ".git/config", "evil");
    let spec = spec(&tier_b, &ground.folder(), &command, Duration::from_mins(1));
    let (end, ended) = UnixStream::pair().unwrap();
    let stop = CancellationToken::new();
    let watched = std::thread::scope(|scope| {
        let watch = scope.spawn(|| guard.watch(ended.as_fd(), &|| stop.cancel()));
        let mut ask = |_is_error, text: &str| {
            if text.contains("planted") {
                ground.project.ask_git();
                stop.cancel();
            }
        };
        nod::sandbox::run(&spec, helper(), &stop, &mut ask).unwrap();
        drop(end);
        watch.join().unwrap()
    });
    assert!(ground.project.mark().exists(), "{:?}", watched.stopped_for);
    guard.revert(Watched::default());
    assert_eq!(ground.config(), ground.before, "only afterwards it is put back");
}

#[test]
fn whoever_opens_it_to_write_is_stopped_before_anything_is_changed() {
    also_as_ordinary_user("mapping::whoever_opens_it_to_write_is_stopped_before_anything_is_changed");
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    for (command, changes) in [
        ("exec 3<>.git/config && echo opened", false),
        (": > .git/config && echo opened", true),
        ("truncate -s 0 .git/config && echo opened", true),
        ("cat evil > .git/config && echo opened", true),
        ("truncate -s 0 .mcp.json && echo opened", false),
    ] {
        let (control, ground) = (Ground::new(), Ground::new());
        for ground in [&control, &ground] {
            fs::write(ground.folder().join(".mcp.json"), "{}\n").unwrap();
        }
        let ran = run_tool(&CommandWalls::default(), &control.folder(), command).unwrap();
        assert_eq!((&ran["stdout"], control.config() != control.before), (&json!("opened\n"), changes), "{command}");
        let ran = run_tool(&tier_b, &ground.folder(), &format!("{command}; sleep 60"));
        assert_eq!((code(&ran), ground.config()), (Some("PROTECTED_PATH_DENIED"), ground.before.clone()), "{command}");
        let details = ran.unwrap_err().details;
        assert_eq!((&details["stdout"], &details["reverted"][0]["state"]), (&json!(""), &json!("prevented")));
        assert_eq!(fs::read_to_string(ground.folder().join(".mcp.json")).unwrap(), "{}\n");
    }
}

#[test]
fn what_somebody_writes_already_is_read_again_and_again_instead() {
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    let ground = Ground::new();
    let writer = OpenOptions::new().append(true).open(ground.folder().join(".git/config")).unwrap();
    let ran = run_tool(&tier_b, &ground.folder(), &Ground::maps("open", ".git/config", "evil"));
    assert_eq!((code(&ran), ground.config()), (Some("PROTECTED_PATH_DENIED"), ground.before.clone()), "{ran:?}");
    assert_eq!(ran.unwrap_err().details["reverted"][0]["state"], "restored");
    drop(writer);
}

#[test]
fn the_persons_own_save_waits_for_a_moment_and_goes_through() {
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    let ground = Ground::new();
    let path = ground.folder().join(".git/config");
    let save = move |text: &str| {
        if text.contains("ready") {
            let path = path.clone();
            std::thread::spawn(move || save(&path));
        }
    };
    let began = Instant::now();
    let ran = run_tool_watched(&tier_b, &ground.folder(), "echo ready; sleep 60", CancellationToken::new(), save);
    assert_eq!(code(&ran), Some("PROTECTED_PATH_DENIED"), "{ran:?}");
    let saved = ground.folder().join(".git/saved");
    while !saved.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "the save hangs");
        std::thread::yield_now();
    }
    // The kernel would make it wait for 45 seconds.
    let waited: u64 = fs::read_to_string(saved).unwrap().parse().unwrap();
    assert!(waited < 20_000, "{waited} ms");
    assert_eq!(ground.config(), format!("{}# mine\n", ground.before), "what they wrote stays");
}

#[test]
fn what_is_read_only_by_one_name_is_not_written_by_another() {
    also_as_ordinary_user("mapping::what_is_read_only_by_one_name_is_not_written_by_another");
    for tier in [Tier::A, Tier::B] {
        let Some(walls) = walls(tier).filter(|_| has_git()) else { continue };
        let (control, ground) = (Ground::new(), Ground::new());
        for ground in [&control, &ground] {
            fs::hard_link(ground.folder().join(".git/config"), ground.folder().join("second")).unwrap();
        }
        let command = "cat evil > second && echo written";
        run_tool(&CommandWalls::default(), &control.folder(), command).unwrap();
        assert!(control.is_obeyed());
        let ran = run_tool(&walls, &ground.folder(), &format!("{command}; sleep 60"));
        assert!(!ground.is_obeyed(), "{tier:?}: {ran:?}");
        assert_eq!((code(&ran), ground.config()), (Some("PROTECTED_PATH_DENIED"), ground.before.clone()), "{tier:?}");
    }
}

/// The helper that watches over the command of this process.
fn own_helper() -> Pid {
    let children = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        parent == Some(std::process::id().to_string().as_str())
    });
    let numbers: Vec<i32> = children.filter_map(|child| child.file_name().to_str()?.parse().ok()).collect();
    let [helper] = numbers.as_slice() else { panic!("{numbers:?}") };
    Pid::from_raw(*helper).unwrap()
}

/// Where the system has no room for another watch, a command could change what git obeys while nobody looks.
#[test]
fn without_room_for_a_watch_no_command_runs() {
    const TEST: &str = "mapping::without_room_for_a_watch_no_command_runs";
    const SHUT: &str = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"";
    let words = ["--user", "--map-root-user", "sh", "-c", SHUT, "sh"];
    let may_shut = started_by("unshare", &words, &std::process::Command::new("true")).status();
    let Some(walls) = walls(Tier::B).filter(|_| may_shut.is_ok_and(|status| status.success())) else { return };
    let folder = tempfile::tempdir().unwrap();
    if !in_own_process(TEST, |command| started_by("unshare", &words, &command)) {
        // The control: with room for one it runs.
        run_tool(&walls, folder.path(), "touch ran").unwrap();
        assert!(folder.path().join("ran").exists());
        return;
    }
    let ran = run_tool(&walls, folder.path(), "touch ran");
    assert_eq!((code(&ran), folder.path().join("ran").exists()), (Some("IO_ERROR"), false), "{ran:?}");
}

/// On a busy machine the killing takes its time: until it is done nobody who waits to write is let go on.
#[test]
fn a_command_that_is_slow_to_die_writes_nothing_after_all() {
    const TEST: &str = "mapping::a_command_that_is_slow_to_die_writes_nothing_after_all";
    if !in_own_process(TEST, |command| command) {
        return;
    }
    for tier in [Tier::A, Tier::B] {
        let Some(walls) = walls(tier).filter(|_| has_git()) else { continue };
        let ground = Ground::new();
        let folder = ground.folder();
        fs::hard_link(folder.join(".git/config"), folder.join("second")).unwrap();
        let command = "touch begun; while [ ! -e go ]; do sleep 0.01; done; cat evil > second; sleep 60";
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(run_tool(&walls, &folder, command)).unwrap());
            while !folder.join("begun").exists() {
                std::thread::yield_now();
            }
            let helper = own_helper();
            kill_process(helper, Signal::STOP).unwrap();
            fs::write(folder.join("go"), "").unwrap();
            // Nobody kills it meanwhile.
            let early = ended.recv_timeout(Duration::from_secs(1));
            kill_process(helper, Signal::CONT).unwrap();
            assert!(early.is_err(), "{tier:?}: whoever waits is let go on: {early:?}, {}", ground.config());
            let ran = ended.recv().unwrap();
            assert_eq!(
                (code(&ran), ground.config()),
                (Some("PROTECTED_PATH_DENIED"), ground.before.clone()),
                "{tier:?}"
            );
        });
    }
}

#[test]
fn a_command_makes_nobody_wait_for_a_lease_of_its_own() {
    // In tier A this program cannot be reached; what is refused there is the same list.
    let Some(tier_b) = walls(Tier::B).filter(|_| has_git()) else { return };
    let ground = Ground::new();
    let command = Ground::maps("lease", "evil", "evil");
    let control = run_tool(&CommandWalls::default(), &ground.folder(), &command).unwrap();
    assert!(control["stdout"].as_str().unwrap().contains("leased"), "{control}");
    let ran = run_tool(&tier_b, &ground.folder(), &command).unwrap();
    assert!(ran["stdout"].as_str().unwrap().contains("refused"), "{ran}");
}

fn save(path: &Path) {
    let began = Instant::now();
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"# mine\n").unwrap();
    let beside = path.with_file_name("saving");
    fs::write(&beside, began.elapsed().as_millis().to_string()).unwrap();
    fs::rename(beside, path.with_file_name("saved")).unwrap();
}
