//! What is refused by its text is refused before the disk is asked: the kernel lets this process touch no path at all,
//! and the answers are the same (3.1.1).

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::json;

use super::Bench;
use super::ground::Ground;
use crate::support::own_process::in_own_process;

/// Every call of the kernel that takes a path, on this computer.
fn path_calls() -> Vec<i64> {
    let mut calls = vec![
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_mkdirat,
        libc::SYS_unlinkat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_chdir,
        libc::SYS_truncate,
        libc::SYS_execve,
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        libc::SYS_open,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_access,
        libc::SYS_readlink,
        libc::SYS_mkdir,
        libc::SYS_unlink,
        libc::SYS_rename,
        libc::SYS_creat,
    ]);
    calls
}

/// From here on no thread of this process reaches any path.
fn close_the_disk() {
    let refuse = SeccompAction::Errno(u32::try_from(libc::EPERM).unwrap());
    let rules = path_calls().into_iter().map(|call| (call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
}

#[test]
fn a_refusal_by_text_touches_no_path() {
    let test = "attack::untouched::a_refusal_by_text_touches_no_path";
    let place = tempfile::tempdir().unwrap();
    // What is made there is removed from outside: the process itself cannot any more.
    let in_place = |mut command: std::process::Command| {
        command.env("TMPDIR", place.path());
        command
    };
    if !in_own_process(test, in_place) {
        return;
    }
    let mut bench = Bench::new();
    let ground = bench.ground(&[]);
    let refused = [
        ("PATH_OUT_OF_SCOPE", json!({"path": "../out/private.txt"})),
        ("PATH_OUT_OF_SCOPE", json!({"path": "../nope"})),
        ("PATH_OUT_OF_SCOPE", json!({"path": "missing/../../x"})),
        ("PATH_OUT_OF_SCOPE", json!({"path": "sub/../../ws/a.txt"})),
        ("PATH_INVALID", json!({"path": "a\0b"})),
        ("PATH_INVALID", json!({"path": ""})),
        ("PATH_INVALID", json!({"path": "x".repeat(300)})),
        ("SENSITIVE_PATH_DENIED", json!({"path": ".env"})),
        ("SENSITIVE_PATH_DENIED", json!({"path": "config/credentials/prod.json"})),
        ("SENSITIVE_PATH_DENIED", json!({"path": "{out}/server.key"})),
        ("BLOCKED_PATH_DENIED", json!({"path": "/etc/passwd"})),
        ("BLOCKED_PATH_DENIED", json!({"path": "/proc/self/environ"})),
        ("BLOCKED_PATH_DENIED", json!({"path": "~/.ssh/id"})),
        ("INVALID_ARGUMENTS", json!({"path": "a.txt", "root": "/"})),
    ];
    let answers = |bench: &mut Bench| -> Vec<String> {
        refused.iter().map(|(code, args)| answer(bench, &ground, "read_file", args, Some(code))).collect()
    };
    let with_a_disk = answers(&mut bench);
    let outside = json!({"path": "{out}/new.txt", "content": "x"});
    let write_with_a_disk = answer(&mut bench, &ground, "write_file", &outside, Some("PATH_OUT_OF_SCOPE"));
    answer(&mut bench, &ground, "read_file", &json!({"path": "a.txt"}), None);
    close_the_disk();
    assert!(std::fs::metadata("/").is_err(), "the disk is not closed: this proves nothing");
    assert_eq!(answers(&mut bench), with_a_disk);
    assert_eq!(answer(&mut bench, &ground, "write_file", &outside, Some("PATH_OUT_OF_SCOPE")), write_with_a_disk);
    // The control: what is not refused by its text asks the disk, and is told no.
    answer(&mut bench, &ground, "read_file", &json!({"path": "a.txt"}), Some("PERMISSION_DENIED"));
}

fn answer(bench: &mut Bench, ground: &Ground, tool: &str, args: &serde_json::Value, code: Option<&str>) -> String {
    let args = ground.expand_value(args).to_string();
    let folders = vec![ground.expand("{ws}")];
    let ran = bench.call(tool, args, folders, nod::ir::ConfirmMode::Changes, &mut |_| nod::port::Answer::AllowOnce);
    assert_eq!(ran.result.code(), code, "{:?}", ran.result);
    assert!(ran.asked.is_empty());
    ran.text()
}
