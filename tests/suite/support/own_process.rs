//! A test in a process of its own, with an environment or privileges of its own.
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
