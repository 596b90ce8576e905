//! A full disk and a mounted disk, as far as one may make them here: in a mount namespace of one's own, and with a limit
//! on the size of files, which everybody may set.
//!
//! A test starts itself again in such a place: `PLACE` says where, and then it is the one that acts.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and start themselves in a confined place")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nod::ir::{Code, Failure};
use nod::policy::RelPath;
use nod::workspace::{Deleted, Extent, Purpose, Root, Target, Trash, resolve};

const PLACE: &str = "NOD_TEST_PLACE";

fn target(root: &Root, path: &str, purpose: Purpose) -> Target {
    let parts = path.split('/').map(str::to_owned).collect();
    resolve(root, &RelPath::from_parts(parts).unwrap(), purpose).unwrap()
}

/// Runs this test again after a shell has set the place up. Gives whether that was possible.
fn again(test: &str, place: &Path, launcher: &[&str], set_up: &str) -> bool {
    let script = format!("{set_up} || exit 97; echo the-place-is-ready; exec \"$1\" --exact {test} --nocapture");
    let mut words = launcher.iter().chain(&["sh", "-c", &script, "sh"]).copied().collect::<Vec<_>>();
    let program = words.remove(0);
    let output = Command::new(program)
        .args(words)
        .arg(std::env::current_exe().unwrap())
        .env(PLACE, place)
        .env_remove("XDG_DATA_HOME")
        .output()
        .map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned(), output.stderr));
    let Ok((success, stdout, stderr)) = output else { return false };
    if !stdout.contains("the-place-is-ready") {
        return false;
    }
    assert!(success && stdout.contains("1 passed"), "{stdout}\n{}", String::from_utf8_lossy(&stderr));
    true
}

#[test]
fn a_full_disk_leaves_the_old_file_whole_and_nothing_beside_it() {
    if let Some(place) = std::env::var_os(PLACE) {
        return fill_the_disk(&PathBuf::from(place));
    }
    let temp = tempfile::tempdir().unwrap();
    let test = "disk::a_full_disk_leaves_the_old_file_whole_and_nothing_beside_it";
    // The signal that a file has grown too large would end the program before it sees the error.
    let limited = again(test, temp.path(), &["env"], "trap '' XFSZ; ulimit -f 100");
    assert!(limited, "no limit on the size of files could be set");
    let small = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=256k tmpfs '{}'", small.path().display());
    if !again(test, small.path(), &["unshare", "--user", "--map-root-user", "--mount"], &mount) {
        eprintln!("no small disk may be mounted here: tested with a limit on the size of files alone");
    }
}

fn fill_the_disk(place: &Path) {
    let root = Root::open(place).unwrap();
    let old = "old\n".repeat(500);
    fs::write(place.join("old"), &old).unwrap();
    let large = vec![b'x'; 400 * 1024];
    for path in ["old", "new", "a/b/new"] {
        let error = target(&root, path, Purpose::Write).write(&large).unwrap_err();
        let failure = Failure::from(error);
        assert_eq!(failure.code, Code::NoSpace, "{path}: {}", failure.message);
    }
    assert_eq!(fs::read_to_string(place.join("old")).unwrap(), old);
    let names: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["old"]);
    // Without the guard the old file is gone.
    assert!(fs::write(place.join("old"), &large).is_err());
    assert_ne!(fs::read_to_string(place.join("old")).unwrap(), old);
}

#[test]
fn a_disk_of_its_own_has_a_trash_of_its_own() {
    if let Some(place) = std::env::var_os(PLACE) {
        return use_the_trash_of_the_disk(&PathBuf::from(place));
    }
    let small = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=256k tmpfs '{}'", small.path().display());
    let test = "disk::a_disk_of_its_own_has_a_trash_of_its_own";
    if !again(test, small.path(), &["unshare", "--user", "--map-root-user", "--mount"], &mount) {
        eprintln!("no disk may be mounted here: the trash of another disk was not tried");
    }
}

fn use_the_trash_of_the_disk(place: &Path) {
    let home = tempfile::tempdir().unwrap();
    let trash = Trash::of_person(Some(home.path()));
    fs::create_dir_all(place.join("ws/sub")).unwrap();
    fs::write(place.join("ws/sub/a b"), "kept").unwrap();
    let root = Root::open(&place.join("ws")).unwrap();
    let file = target(&root, "sub/a b", Purpose::Delete);
    assert!(file.is_restorable_after_delete(&trash));
    assert!(!place.join(".Trash-0").exists(), "asking changes nothing");
    assert_eq!(file.delete(Extent::Single, &[], &trash, &|| false).unwrap(), Deleted { trashed: true });
    assert_eq!(fs::read(place.join(".Trash-0/files/a b")).unwrap(), b"kept");
    let note = fs::read_to_string(place.join(".Trash-0/info/a b.trashinfo")).unwrap();
    assert!(note.starts_with("[Trash Info]\nPath=ws/sub/a%20b\nDeletionDate="), "{note}");

    // Where no trash may be made, nothing goes for good unless the person was told.
    fs::remove_dir_all(place.join(".Trash-0")).unwrap();
    fs::write(place.join(".Trash-0"), "in the way").unwrap();
    fs::write(place.join("ws/b"), "").unwrap();
    let untold = target(&root, "b", Purpose::Delete);
    assert!(untold.delete(Extent::Single, &[], &trash, &|| false).is_err());
    assert!(place.join("ws/b").exists());
    let told = target(&root, "b", Purpose::Delete);
    assert!(!told.is_restorable_after_delete(&trash));
    assert_eq!(told.delete(Extent::Single, &[], &trash, &|| false).unwrap(), Deleted { trashed: false });
    assert!(!place.join("ws/b").exists());
}

#[test]
fn a_mounted_folder_is_told_apart_and_never_deleted() {
    if let Some(place) = std::env::var_os(PLACE) {
        return look_at_the_mount(&PathBuf::from(place));
    }
    // Without any rights: what every Linux has.
    let root = Root::open(Path::new("/")).unwrap();
    let facts = target(&root, "proc", Purpose::Read).facts("proc");
    assert!(facts.other_mount && facts.is_mount_point);
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir_all(temp.path().join("ws/sub/mounted")).unwrap();
    let mount = format!("mount --rbind /etc '{}'", temp.path().join("ws/sub/mounted").display());
    let test = "disk::a_mounted_folder_is_told_apart_and_never_deleted";
    if !again(test, &temp.path().join("ws"), &["unshare", "--user", "--map-root-user", "--mount"], &mount) {
        eprintln!("nothing may be mounted here: tested with /proc alone");
    }
}

fn look_at_the_mount(place: &Path) {
    let root = Root::open(place).unwrap();
    let mounted = target(&root, "sub/mounted", Purpose::Delete);
    let facts = mounted.facts("sub/mounted");
    assert!(facts.other_mount && facts.is_mount_point);
    assert!(target(&root, "sub/mounted/passwd", Purpose::Read).facts("").other_mount);
    assert!(!target(&root, "sub", Purpose::Read).facts("sub").other_mount);
    for path in ["sub/mounted", "sub"] {
        let refused = target(&root, path, Purpose::Delete).check_deletion(Extent::Tree, &[]).unwrap_err();
        assert_eq!(refused.code(), Code::BlockedPathDenied, "{path}");
    }
    // Another device number would not tell it on one disk: that is why mounts are compared.
    let same_disk = device(Path::new("/etc")) == device(place);
    assert_eq!(same_disk, mounted.identity().device == root.identity().device);
}

fn device(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::dev(&fs::metadata(path).unwrap())
}

/// The old version cannot be kept: the call stops before its effect. Told that it cannot be undone, the person may still say
/// yes.
#[test]
fn a_full_disk_stops_a_change_that_could_not_be_undone() {
    if let Some(place) = std::env::var_os(PLACE) {
        return change_what_cannot_be_kept(&PathBuf::from(place));
    }
    let temp = tempfile::tempdir().unwrap();
    let test = "disk::a_full_disk_stops_a_change_that_could_not_be_undone";
    let set_up = format!(
        "trap '' XFSZ; head -c 9000000 /dev/zero | tr '\\0' x > '{}'/large; ulimit -f 8000",
        temp.path().display()
    );
    assert!(again(test, temp.path(), &["env"], &set_up), "no limit on the size of files could be set");
}

fn change_what_cannot_be_kept(place: &Path) {
    use crate::support::desk::{Desk, Setup};
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    fs::rename(place.join("large"), desk.path("large")).unwrap();
    let args = serde_json::json!({"path": "large", "content": "small"});
    let result = desk.tool("write_file", &args, &nod::port::Answer::AllowOnce);
    assert_eq!(result.code(), Some("NO_SPACE"), "{result:?}");
    assert_eq!(fs::metadata(desk.path("large")).unwrap().len(), 9_000_000, "nothing was changed");
    let kept: Vec<_> = fs::read_dir(desk.data.path().join("undo")).unwrap().collect();
    assert!(kept.is_empty(), "{kept:?}");
    // The control: where nobody asks for it to be kept, the old content is gone.
    desk.set("safety.undo_file_mb", 0);
    assert!(desk.tool("write_file", &args, &nod::port::Answer::AllowOnce).success);
    assert_eq!(desk.read("large"), "small");
}

/// The signal aside, a limit on the size of files is a full disk to whoever writes.
#[test]
fn what_a_full_disk_lets_nobody_put_back_is_handed_on_and_nothing_of_nods_own_stays() {
    use nod::workspace::{Guard, Revert, Taken, Watched, Watching};
    let test = "disk::what_a_full_disk_lets_nobody_put_back_is_handed_on_and_nothing_of_nods_own_stays";
    let act = |place: &Path| {
        let mut guard = Guard::take(&[Root::open(place).unwrap()], Watching::No);
        guard.fix(100);
        let has_stand_in = place.join(".git/commondir").exists();
        drop(guard);
        let guard = Guard::take(&[Root::open(place).unwrap()], Watching::No);
        fs::remove_file(place.join(".git/hooks/pre-commit")).unwrap();
        let reverted = guard.revert(Watched::default()).reverted;
        (has_stand_in, reverted.into_iter().map(|one| (one.path, one.how, one.taken, one.left)).collect::<Vec<_>>())
    };
    let hook = || Taken::File { content: b"#!/bin/sh\n".to_vec(), mode: 0o755 };
    if let Some(place) = std::env::var_os(PLACE) {
        let path = ".git/hooks/pre-commit".to_owned();
        assert_eq!(act(&PathBuf::from(place)), (false, vec![(path, Revert::Left, Some(hook()), None)]));
        return;
    }
    for is_full in [true, false] {
        let temp = tempfile::tempdir().unwrap();
        for (path, text) in [(".git/HEAD", "ref: refs/heads/main\n"), (".git/hooks/pre-commit", "#!/bin/sh\n")] {
            fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
            fs::write(temp.path().join(path), text).unwrap();
        }
        for part in ["objects", "refs"] {
            fs::create_dir_all(temp.path().join(".git").join(part)).unwrap();
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(temp.path().join(".git/hooks/pre-commit"), mode).unwrap();
        if is_full {
            assert!(again(test, temp.path(), &["env"], "trap '' XFSZ; ulimit -f 0"), "no limit could be set");
        } else {
            // The control: with room there is a stand-in, and the hook is put back.
            let path = ".git/hooks/pre-commit".to_owned();
            assert_eq!(act(temp.path()), (true, vec![(path, Revert::Restored, None, Some(hook()))]));
        }
    }
}
