//! A test in a process of its own, with an environment or privileges of its own.
#![expect(clippy::print_stderr, reason = "a test that cannot be shown as both users says so")]
#![expect(clippy::disallowed_methods, reason = "a test that starts itself again starts a process")]

use std::process::Command;

/// Runs this test (by its full name) again in a process that `prepare` sets up; `true` in that process. `prepare` may
/// replace the command by one that starts the program given as its arguments, with the same arguments.
pub(crate) fn in_own_process(test: &str, prepare: impl FnOnce(Command) -> Command) -> bool {
    const INNER: &str = "NOD_TEST_INNER";
    if std::env::var_os(INNER).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    let output = prepare(command).env(INNER, "1").output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test has another name");
    false
}

/// The same command, started by another program with these first arguments.
pub(crate) fn started_by(program: &str, first: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(program);
    outer.args(first).arg(command.get_program()).args(command.get_args());
    outer
}

const ROLE: &str = "NOD_TEST_ORDINARY";

/// Whether this is the second run of a test, as an ordinary user.
pub(crate) fn is_ordinary_run() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Runs this test again as an ordinary user, where root may.
#[cfg(target_os = "linux")]
pub(crate) fn also_as_ordinary_user(test: &str) {
    let is_root = rustix::process::geteuid().is_root();
    if is_ordinary_run() {
        assert!(!is_root);
        return;
    }
    if !is_root {
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

/// Elsewhere there is one kind of user.
#[cfg(not(target_os = "linux"))]
pub(crate) fn also_as_ordinary_user(_test: &str) {}
