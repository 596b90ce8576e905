//! The end of everything that a command started.
//!
//! Linux: the helper is a child subreaper, so that a process whose parent ends becomes the helper's own child, whatever
//! sessions and groups it made. "No child left" therefore means "nothing left". Elsewhere only the shell's process group
//! is ended.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};

/// Reaps what has ended, without waiting. `false` when there is no child at all.
pub(super) fn reap(on_ended: &mut dyn FnMut(Pid, WaitStatus)) -> bool {
    // In a fork bomb processes end as fast as they are reaped: whoever calls must come to the killing too.
    const MOST: usize = 4096;
    for _ in 0..MOST {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_ended(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Kills and reaps until no child is left.
pub(super) fn end_all(shell: Pid, on_ended: &mut dyn FnMut(Pid, WaitStatus)) {
    // Its own group needs no look at the table, and is all there is of most commands; with bubblewrap the kernel ends
    // everything in it.
    kill_process_group(shell, Signal::KILL).ok();
    freeze();
    while reap(on_ended) {
        kill_round(shell);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{end_session, freeze, has_more_threads_than, kill_round};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};

    use rustix::process::{Pid, Signal, getpgrp, getpid, getsid, kill_process, kill_process_group};

    /// A line of the process table.
    struct Process {
        pid: Pid,
        parent: i32,
        group: i32,
        session: i32,
        threads: u64,
    }

    /// Stops all descendants, so that a fork bomb cannot outrun the killing: what is stopped does not fork.
    pub(in super::super) fn freeze() {
        const ROUNDS: usize = 20;
        let mut stopped = HashSet::new();
        for _ in 0..ROUNDS {
            let found = descendants();
            signal_groups(&found, Signal::STOP);
            let fresh: Vec<Pid> = found.iter().map(|process| process.pid).filter(|pid| stopped.insert(*pid)).collect();
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
        let found = descendants();
        signal_groups(&found, Signal::KILL);
        for process in found {
            kill_process(process.pid, Signal::KILL).ok();
        }
    }

    /// Signals the processes' groups whole. The kernel lets no fork of a group slip by meanwhile: only so is a fork bomb
    /// caught that makes processes faster than the table can be read. A group cannot reach beyond its session, which
    /// began with this process.
    fn signal_groups(processes: &[Process], signal: Signal) {
        let own = getpgrp().as_raw_nonzero().get();
        let groups: HashSet<i32> =
            processes.iter().map(|process| process.group).filter(|group| *group != own).collect();
        for group in groups.into_iter().filter(|group| *group > 1).filter_map(Pid::from_raw) {
            kill_process_group(group, signal).ok();
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

    /// Whether the processes below this one have more threads than this. The shell's group stands still meanwhile, so
    /// that it cannot outrun the counting; it stays so when there are too many.
    pub(in super::super) fn has_more_threads_than(most: u64, shell: Pid) -> bool {
        kill_process_group(shell, Signal::STOP).ok();
        let threads: u64 = descendants().iter().map(|process| process.threads).sum();
        if threads <= most {
            kill_process_group(shell, Signal::CONT).ok();
        }
        threads > most
    }

    /// What is below this process. A parent that ends while the table is read cuts off what is below it: whoever is still
    /// in this process's session is found without.
    fn descendants() -> Vec<Process> {
        let own = getpid();
        let own_session = getsid(None).map_or(-1, |session| session.as_raw_nonzero().get());
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        let mut found = Vec::new();
        for process in process_table() {
            if process.pid == own {
                continue;
            }
            if process.parent == own.as_raw_nonzero().get() || process.session == own_session {
                found.push(process);
            } else {
                children.entry(process.parent).or_default().push(process);
            }
        }
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|process| process.pid.as_raw_nonzero().get()) {
            found.extend(children.remove(&parent).unwrap_or_default());
            next += 1;
        }
        found
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
        let mut fields = rest.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Of `man 5 proc_pid_stat`: the twentieth field of all.
        let threads = fields.nth(13)?.parse().ok()?;
        Some(Process { pid, parent, group, session, threads })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_with_brackets_does_not_shift_the_fields() {
            let pid = Pid::from_raw(7).unwrap();
            let line = b"7 (a) S 1 2 (b)) S 3 4 5 0 -1 4194560 9999999999 0 0 0 1 2 0 0 20 0 6 0 70\n";
            let process = parse_stat(pid, line).unwrap();
            assert_eq!((process.parent, process.group, process.session, process.threads), (3, 4, 5, 6));
        }

        #[test]
        fn this_process_is_in_the_table() {
            assert!(process_table().iter().any(|process| process.pid == getpid()));
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use group::{end_session, freeze, has_more_threads_than, kill_round};

#[cfg(not(target_os = "linux"))]
mod group {
    use rustix::process::{Pid, Signal, kill_process_group};

    pub(in super::super) fn freeze() {}

    /// Nobody counts here: the system's own limit is all there is.
    pub(in super::super) fn has_more_threads_than(_most: u64, _shell: Pid) -> bool {
        false
    }

    pub(in super::super) fn kill_round(shell: Pid) {
        kill_process_group(shell, Signal::KILL).ok();
    }

    pub(in super::super) fn end_session(_leader: Pid) {}
}
