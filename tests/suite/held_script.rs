//! What a command starts first is what was read of it: exchanged between the last look and the start, the bytes of the yes run.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "scripts are exchanged behind Nod's back, and the tool is called without the gate"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nod::ir::{CallId, StartMoment, Tier};
use nod::policy::RelPath;
use nod::tool::{CommandWalls, Permit, Progress, RunContext, RunError, find};
use nod::workspace::{Purpose, Root, resolve};
use serde_json::{Value, json};

use crate::confinement::{helper, walls};
use crate::support::run_context::run_context;

/// A folder with a script that says "good", and what is put in its place.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&folder.path().join("x.sh"), "#!/bin/sh\necho good $0\n");
    put(&folder.path().join("evil"), "#!/bin/sh\necho evil\n");
    put(&folder.path().join("outer.sh"), "sh x.sh\n");
    symlink("x.sh", folder.path().join("link.sh")).unwrap();
    folder
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A helper that does something first: the moment between the last look at the scripts and the start.
fn helper_after(folder: &Path, deed: &str) -> PathBuf {
    let path = folder.join("helper");
    let nod = helper().display();
    put(&path, &format!("#!/bin/sh\ncd \"$(dirname \"$0\")/..\" && {{ {deed}; }} <&- && exec {nod} \"$@\"\n"));
    path
}

fn run(
    walls: &CommandWalls,
    folder: &Path,
    command: &str,
    deed: &str,
    on_output: impl Fn() + Send + Sync + 'static,
) -> (Vec<StartMoment>, Result<Value, RunError>) {
    let root = Root::open(folder).unwrap();
    let targets = vec![resolve(&root, &RelPath::default(), Purpose::Read).unwrap()];
    let (roots, args, tool) = (vec![root], json!({"command": command}), find("run_command").unwrap());
    let started = tool.starts(&args, &targets, &roots);
    let moments = started.files.iter().map(|file| file.moment).collect();
    let beside = folder.join("beside");
    fs::create_dir_all(&beside).unwrap();
    let context = RunContext {
        progress: Box::new(move |progress: Progress| {
            if matches!(progress, Progress::Output { .. }) {
                on_output();
            }
        }),
        helper: helper_after(&beside, deed),
        walls: CommandWalls { started, ..walls.clone() },
        ..run_context()
    };
    (moments, tool.run(Permit::issue(CallId::new("c1"), args, targets, roots, String::new()), &context))
}

/// What it printed, however it ended.
fn printed(ran: Result<Value, RunError>) -> String {
    let result = ran.unwrap_or_else(|error| error.details);
    result["stdout"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_is_exchanged_between_the_last_look_and_the_start_does_not_run_in_tier_a() {
    let Some(walls) = walls(Tier::A) else { return };
    for deed in ["mv evil x.sh", "cat evil > x.sh", "rm x.sh; ln -s evil x.sh"] {
        for (command, name) in [
            ("sh x.sh", "x.sh"),
            ("./x.sh", "./x.sh"),
            ("cd . && timeout 60 ./x.sh", "./x.sh"),
            ("sh x.sh | cat", "x.sh"),
            ("sh outer.sh", "x.sh"),
            ("sh x.sh > log; cat log", "x.sh"),
        ] {
            let folder = folder();
            let (moments, ran) = run(&walls, folder.path(), command, deed, || ());
            assert!(!moments.contains(&StartMoment::Later), "{command}: {moments:?}");
            assert_eq!(printed(ran), format!("good {name}\n"), "{command} after {deed}");
        }
        // The control: what is not held, because something else runs before it or a link leads there, is what lies there.
        for command in ["true a; ls > /dev/null; sh x.sh", "sh link.sh"] {
            let folder = folder();
            let (moments, ran) = run(&walls, folder.path(), command, deed, || ());
            assert_eq!(
                (moments, printed(ran)),
                (vec![StartMoment::Later], "evil\n".to_owned()),
                "{command} after {deed}"
            );
        }
    }
}

#[test]
fn without_bubblewrap_the_exchanged_script_runs_and_so_the_question_makes_no_promise() {
    let Some(walls) = walls(Tier::B) else { return };
    let folder = folder();
    let (moments, ran) = run(&walls, folder.path(), "sh x.sh", "mv evil x.sh", || ());
    assert_eq!((moments, printed(ran)), (vec![StartMoment::First], "evil\n".to_owned()));
}

#[test]
fn a_held_script_cannot_rewrite_itself_and_keeps_its_permissions() {
    let Some(walls) = walls(Tier::A) else { return };
    let folder = folder();
    let script = "echo 'echo evil' >> x.sh; mv evil x.sh; stat -c %a x.sh\n";
    fs::write(folder.path().join("x.sh"), script).unwrap();
    let (_, ran) = run(&walls, folder.path(), "sh x.sh 2> /dev/null", ":", || ());
    assert_eq!(printed(ran), "555\n");
    assert_eq!(fs::read_to_string(folder.path().join("x.sh")).unwrap(), script, "the person's own is as it was");
    fs::set_permissions(folder.path().join("x.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    let (_, ran) = run(&walls, folder.path(), "./x.sh", ":", || ());
    assert_eq!(ran.unwrap_err().details["exitCode"], 126, "what may not be run may not be run");
}

#[test]
fn a_script_that_is_exchanged_while_it_runs_is_told_of() {
    let Some(walls) = walls(Tier::A) else { return };
    for is_exchanged in [true, false] {
        let folder = folder();
        let place = folder.path().to_owned();
        fs::write(place.join("x.sh"), "echo ready; while [ ! -e go ]; do sleep 0.02; done\n").unwrap();
        let on_output = move || {
            if is_exchanged && place.join("evil").exists() {
                fs::rename(place.join("evil"), place.join("x.sh")).unwrap();
            }
            fs::write(place.join("go"), "").unwrap();
        };
        let (_, ran) = run(&walls, folder.path(), "sh x.sh", ":", on_output);
        assert_eq!(ran.unwrap().get("exchangedWhileRunning"), is_exchanged.then_some(&Value::Bool(true)));
    }
}
