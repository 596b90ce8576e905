//! Pipes, sockets, devices, folders in a file's place, and what the system does not let one read (3.6).

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::mpsc;
use std::time::Duration;

use super::Control::Shows;
use super::ground::{Ground, Piece};
use super::{Bench, case};
use crate::support::own_process::{in_own_process, started_by};

/// A program that just opens a pipe waits until somebody opens its other end.
fn a_plain_open_hangs(ground: &Ground) {
    let path = ground.path("ws/pipe");
    let (done, is_done) = mpsc::sync_channel(1);
    let reader = path.clone();
    let thread = std::thread::Builder::new()
        .spawn(move || {
            drop(fs::File::open(reader).unwrap());
            done.send(()).unwrap();
        })
        .unwrap();
    assert!(is_done.recv_timeout(Duration::from_millis(100)).is_err(), "it did not wait");
    // Opened for both, a pipe waits for nobody, and lets the other go on.
    let other_end = fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap();
    thread.join().unwrap();
    drop(other_end);
}

#[test]
fn what_is_neither_file_nor_folder_is_refused_at_once() {
    let pipe = || Piece::Pipe("ws/pipe");
    let socket = || Piece::Socket("ws/socket");
    let hangs = Shows(a_plain_open_hangs);
    let is_socket = Shows(|ground| assert!(fs::File::open(ground.path("ws/socket")).is_err()));
    Bench::new().holds(vec![
        case("3.6.1", "a pipe read").with([pipe()]).read("pipe").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "a pipe written").with([pipe()]).write("pipe").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "a pipe edited").with([pipe()]).edit("pipe", "x").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "a pipe listed").with([pipe()]).list("pipe").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "a pipe searched").with([pipe()]).search("pipe", "x").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "a pipe deleted").with([pipe()]).delete("pipe").refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.2", "behind a link")
            .with([pipe(), Piece::Link("ws/l", "pipe")])
            .read("l")
            .refused("SPECIAL_FILE_DENIED", hangs),
        case("3.6.3", "a socket").with([socket()]).read("socket").refused("SPECIAL_FILE_DENIED", is_socket),
        case("3.6.3", "a socket written").with([socket()]).write("socket").refused("SPECIAL_FILE_DENIED", is_socket),
        case("3.6.4", "a device behind a link")
            .with([Piece::Link("ws/l", "/dev/zero")])
            .read("l")
            .refused("PATH_OUT_OF_SCOPE", Shows(|ground| assert!(fs::File::open(ground.path("ws/l")).is_ok()))),
        case("3.6.5", "the kernel's view of a process")
            .read("/proc/self/environ")
            .refused("BLOCKED_PATH_DENIED", Shows(|_| assert!(fs::read("/proc/self/environ").is_ok()))),
        case("3.6.5", "a device without end")
            .read("/dev/zero")
            .refused("BLOCKED_PATH_DENIED", Shows(|_| assert!(fs::File::open("/dev/zero").is_ok()))),
        case("3.6.5", "the kernel's settings")
            .read("/sys/kernel/notes")
            .refused("BLOCKED_PATH_DENIED", Shows(|_| assert!(fs::metadata("/sys").is_ok()))),
        case("3.6.5", "by another spelling")
            .read("//proc/./self/../self/environ")
            .refused("BLOCKED_PATH_DENIED", Shows(|_| assert!(fs::read("//proc/./self/../self/environ").is_ok()))),
    ]);
}

#[test]
fn walks_pass_special_files_by() {
    Bench::new().holds(vec![
        case("3.6.6", "a listing names them")
            .with([Piece::Pipe("ws/pipe"), Piece::Socket("ws/socket")])
            .list(".")
            .runs()
            .also(|_, ran| {
                let entries = ran.result.result["entries"].as_array().unwrap();
                for name in ["pipe", "socket"] {
                    assert_eq!(entries.iter().find(|entry| entry["name"] == name).unwrap()["type"], "other");
                }
            }),
        case("3.6.6", "a search does not open them")
            .with([Piece::Pipe("ws/pipe"), Piece::Socket("ws/socket")])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 1)),
        case("3.6.6", "a tree with them is deleted")
            .with([Piece::Pipe("ws/tree/pipe"), Piece::Socket("ws/tree/socket")])
            .delete_tree("tree")
            .asked()
            .also(|ground, _| assert!(!ground.path("ws/tree").exists())),
    ]);
}

#[test]
fn a_folder_is_no_file_and_a_file_no_folder() {
    let fails = Shows(|ground| assert!(fs::read(ground.path("ws/sub")).is_err()));
    Bench::new().holds(vec![
        case("3.6.7", "a folder read").read("sub").refused("NOT_A_FILE", fails),
        case("3.6.7", "a file listed").list("a.txt").refused("NOT_A_DIRECTORY", fails),
        case("3.6.7", "a file below a file").read("a.txt/x").refused("NOT_A_DIRECTORY", fails),
        case("3.6.8", "a folder written").write("sub").refused("NOT_A_FILE", fails),
        case("3.6.8", "a folder edited").edit("sub", "x").refused("NOT_A_FILE", fails),
        case("3.6.8", "a folder over a file").make("a.txt").refused("NOT_A_DIRECTORY", fails),
        case("3.6.8", "a folder below a file").make("a.txt/x").refused("NOT_A_DIRECTORY", fails),
        case("3.6.8", "a full folder deleted as if it were empty").delete("sub").refused("DIRECTORY_NOT_EMPTY", fails),
        case("3.6.8", "nothing deleted").delete("nothing").refused("PATH_NOT_FOUND", fails),
        case("3.6.8", "the allowed folder deleted")
            .delete_tree(".")
            .refused("BLOCKED_PATH_DENIED", Shows(|ground| fs::remove_dir_all(ground.ws()).unwrap())),
        case("3.6.8", "the allowed folder deleted by its full name")
            .delete_tree("{ws}")
            .refused("BLOCKED_PATH_DENIED", Shows(|ground| fs::remove_dir_all(ground.ws()).unwrap())),
    ]);
}

/// Root may read everything: for this it becomes somebody else.
#[test]
fn what_the_system_does_not_permit_is_said_as_that() {
    let test = "attack::special::what_the_system_does_not_permit_is_said_as_that";
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
    if rustix::process::geteuid().is_root() && !in_own_process(test, |command| started_by("setpriv", &nobody, &command))
    {
        return;
    }
    let is_closed = Shows(|ground| assert!(fs::read(ground.path("ws/a.txt")).is_err()));
    Bench::new().holds(vec![
        case("3.6.9", "a file that may not be read")
            .with([Piece::Mode("ws/a.txt", 0o000)])
            .read("a.txt")
            .refused("PERMISSION_DENIED", is_closed),
        case("3.6.9", "a file that may not be written")
            .with([Piece::Mode("ws/a.txt", 0o444)])
            .write("a.txt")
            .asked_then(
                "PERMISSION_DENIED",
                Shows(|ground| {
                    assert!(fs::write(ground.path("ws/a.txt"), "x").is_err());
                }),
            )
            .also(|ground, _| assert_eq!(ground.read("ws/a.txt"), "inside\n")),
        case("3.6.10", "a folder in which nothing may be made")
            .with([Piece::Mode("ws/sub", 0o555)])
            .write("sub/new.txt")
            .asked_then(
                "PERMISSION_DENIED",
                Shows(|ground| {
                    assert!(fs::write(ground.path("ws/sub/new.txt"), "x").is_err());
                }),
            ),
        case("3.6.10", "one closed folder does not fail a search")
            .with([Piece::Mode("ws/sub", 0o000)])
            .search(".", "inside")
            .runs()
            .also(|ground, ran| {
                assert_eq!(ran.result.result["total_matches"], 1);
                ground.put(&Piece::Mode("ws/sub", 0o755));
            }),
        case("3.6.10", "nor a listing").with([Piece::Mode("ws/sub", 0o000)]).list(".").runs().also(|ground, ran| {
            assert!(ran.text().contains("a.txt"), "{}", ran.text());
            ground.put(&Piece::Mode("ws/sub", 0o755));
        }),
    ]);
}
