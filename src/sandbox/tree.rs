//! The end of everything that a command started.
//!
//! Linux: the helper is a child subreaper, so that a process whose parent ends becomes the helper's own child, whatever
//! sessions and groups it made. "No child left" therefore means "nothing left". Elsewhere only the shell's process group
//! is ended.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

/// Reaps what has ended, without waiting. `false` when there is no child at all.
pub(super) fn reap(on_ended: &mut dyn FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_ended(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Kills and reaps until no child is left.
pub(super) fn end_all(shell: Pid, on_ended: &mut dyn FnMut(Pid, WaitStatus)) {
    freeze();
    while reap(on_ended) {
        kill_round(shell);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{end_session, freeze, kill_round};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;

    use rustix::process::{Pid, Signal, getpid, kill_process};

    /// A line of the process table.
    struct Process {
        pid: Pid,
        parent: i32,
        session: i32,
    }

    /// Stops all descendants, so that a fork bomb cannot outrun the killing: what is stopped does not fork.
    pub(in super::super) fn freeze() {
        const ROUNDS: usize = 20;
        let mut stopped = HashSet::new();
        for _ in 0..ROUNDS {
            let fresh: Vec<Pid> = descendants().into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            for pid in fresh {
                kill_process(pid, Signal::STOP).ok();
            }
        }
    }

    /// Kills every descendant that there is now. One that has just ended is no error.
    pub(in super::super) fn kill_round(_shell: Pid) {
        for pid in descendants() {
            kill_process(pid, Signal::KILL).ok();
        }
    }

    /// Kills every process of a session: what is left to do when the helper itself was killed.
    pub(in super::super) fn end_session(leader: Pid) {
        for process in process_table() {
            if process.session == leader.as_raw_nonzero().get() && process.pid != leader {
                kill_process(process.pid, Signal::KILL).ok();
            }
        }
    }

    fn descendants() -> Vec<Pid> {
        let table = process_table();
        let mut found = vec![getpid()];
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|pid| pid.as_raw_nonzero().get()) {
            found.extend(table.iter().filter(|process| process.parent == parent).map(|process| process.pid));
            next += 1;
        }
        found.split_off(1)
    }

    fn process_table() -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let number: i32 = entry.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read(entry.path().join("stat")).ok()?;
                parse_stat(Pid::from_raw(number)?, &stat)
            })
            .collect()
    }

    /// The fields after the program's name, which may hold anything, brackets included.
    fn parse_stat(pid: Pid, stat: &[u8]) -> Option<Process> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace().skip(1).map(str::parse);
        let parent = fields.next()?.ok()?;
        let session = fields.nth(1)?.ok()?;
        Some(Process { pid, parent, session })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_with_brackets_does_not_shift_the_fields() {
            let pid = Pid::from_raw(7).unwrap();
            let process = parse_stat(pid, b"7 (a) S 1 2 (b)) S 3 4 5 0 -1\n").unwrap();
            assert_eq!((process.parent, process.session), (3, 5));
        }

        #[test]
        fn this_process_is_in_the_table() {
            assert!(process_table().iter().any(|process| process.pid == getpid()));
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use group::{end_session, freeze, kill_round};

#[cfg(not(target_os = "linux"))]
mod group {
    use rustix::process::{Pid, Signal, kill_process_group};

    pub(in super::super) fn freeze() {}

    pub(in super::super) fn kill_round(shell: Pid) {
        kill_process_group(shell, Signal::KILL).ok();
    }

    pub(in super::super) fn end_session(_leader: Pid) {}
}
