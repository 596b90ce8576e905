//! When a command that Nod did not live to see the end of can have done something last.
//!
//! While a command runs its record is touched every second, and its helper ends all of it when Nod is gone: what changed
//! later than the last touch is not the command's, unless something of it has outlived its helper. That is looked for among
//! the running processes: who is confined as a command is, and began after it.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use serde::{Deserialize, Serialize};

/// From one sign of life to the next.
const EVERY: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// The next sign and the end of what ran come this long after the last sign at most.
const GRACE_NS: i128 = 5_000_000_000;
/// What is just ending is waited for in so many steps.
const STEPS: u32 = 20;
const STEP: Duration = Duration::from_millis(50);
/// The kernel tells times to programs in hundredths of a second (`man 5 proc_pid_stat`).
const TICKS_PER_SECOND: u64 = 100;

/// What tells at the next start whether something of a command can still run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Birth {
    /// The system's start, by its own name for it.
    boot: String,
    /// Since that start, in hundredths of a second.
    ticks: u64,
    /// A command that can hold this process up could make it look dead.
    may_stop_nod: bool,
}

impl Birth {
    /// Now; `None` where the system does not tell.
    pub(super) fn now(may_stop_nod: bool) -> Option<Self> {
        Some(Self { boot: boot()?, ticks: uptime_ticks()?, may_stop_nod })
    }

    /// After what moment nothing of the command can have run, in nanoseconds since 1970; `None` where nobody knows.
    /// `last_sign_ns` is when its record was touched last.
    pub(super) fn end_ns(&self, last_sign_ns: i128) -> Option<i128> {
        if boot()? != self.boot {
            // The record itself may not have reached the disk since: but nothing outlives the system.
            return booted_ns();
        }
        if self.may_stop_nod {
            return None;
        }
        for _ in 0..STEPS {
            if !may_have_survived(self.ticks)? {
                return Some(last_sign_ns.saturating_add(GRACE_NS));
            }
            std::thread::sleep(STEP);
        }
        None
    }
}

/// Touches the record every second until `end` can be read or is closed.
pub(super) fn stay(record: &File, end: BorrowedFd<'_>) {
    loop {
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let unchanged = rustix::fs::Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        // Without it the time-out alone says how long the command may have run.
        futimens(record, &Timestamps { last_access: unchanged, last_modification: now }).ok();
        let mut waited = [PollFd::from_borrowed_fd(end, PollFlags::IN)];
        match poll(&mut waited, Some(&EVERY)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

fn uptime_ticks() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, part) = text.split_whitespace().next()?.split_once('.')?;
    let (seconds, hundredths): (u64, u64) = (seconds.parse().ok()?, part.get(..2)?.parse().ok()?);
    Some(seconds.saturating_mul(TICKS_PER_SECOND).saturating_add(hundredths))
}

fn booted_ns() -> Option<i128> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let seconds: i128 = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000_000_000))
}

/// Whether a process runs that began after this and is confined as a command is; `None` where that cannot be seen.
fn may_have_survived(ticks: u64) -> Option<bool> {
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let mut processes =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    Some(processes.any(|process| {
        let read = |name| std::fs::read_to_string(process.path().join(name)).unwrap_or_default();
        began_at(&read("stat")).is_some_and(|began| began >= ticks) && is_confined(&read("status"))
    }))
}

/// The twenty-second field, counted after the program's name, which may hold anything.
fn began_at(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Both stay with a process and all that it starts, whatever it does.
fn is_confined(status: &str) -> bool {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let has_ended = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
    !has_ended && field("NoNewPrivs:") == Some("1") && field("Seccomp:") == Some("2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_understood() {
        let birth = Birth::now(false).unwrap();
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(began_at(&own).unwrap() <= birth.ticks + 1);
        assert_eq!(began_at("7 (a) S (b)) S 3 4 5 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 6 0 70 1 2"), Some(70));
        assert!(booted_ns().unwrap() > 0);
    }

    #[test]
    fn who_is_confined_and_has_not_ended_may_be_the_commands() {
        let confined = "Name:\ta\nState:\tS (sleeping)\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert!(is_confined(confined));
        for (part, other) in [("S (sl", "Z (zo"), ("NoNewPrivs:\t1", "NoNewPrivs:\t0"), ("Seccomp:\t2", "Seccomp:\t0")]
        {
            assert!(!is_confined(&confined.replace(part, other)), "{other}");
        }
        assert!(!is_confined(""));
    }

    #[test]
    fn after_another_start_of_the_system_nothing_runs_on_and_who_may_be_held_up_says_nothing() {
        let now = Birth::now(false).unwrap();
        let before = Birth { boot: "another".into(), may_stop_nod: true, ..now.clone() };
        assert_eq!(before.end_ns(7), booted_ns());
        assert_eq!(Birth { may_stop_nod: true, ..now }.end_ns(7), None);
    }
}
