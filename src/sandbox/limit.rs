//! What one command may use of the computer: memory, processes, file size, open files, no core dumps.
//!
//! Limits of the kernel's `setrlimit`, set between fork and exec; a limit that is lower already stays.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};

/// The most processes and threads of one command at once. Root is above `setrlimit`: for root there is a control group, or
/// else the helper stage counts.
pub(super) const MOST_PROCESSES: u64 = 1024;
/// The longest file that a command may write, in bytes.
const FILE_BYTES: u64 = 4 << 30;
/// The most descriptors that one process may have open.
const OPEN_FILES: u64 = 4096;
/// Address space and data are never limited below this, in bytes: what a usual compiler needs.
const LEAST_MEMORY_BYTES: u64 = 2 << 30;

/// How far a command yields to other programs, the app among them: thousands of processes take no more than one would.
const COMMAND_NICENESS: i32 = 10;
/// How far the helper stage comes before them, where it may: whoever ends a fork bomb must not wait behind it.
const HELPER_NICENESS: i32 = -10;

/// Puts the helper stage before its command. Only root may, and only root's commands have no other bound.
pub(super) fn come_first() {
    setpriority_process(None, HELPER_NICENESS).ok();
}

/// Enough to hold still what is protected in thousands of repositories.
const MOST_OPEN_FILES: u64 = 65_536;
/// How many files this process could have open before it was given leave for more.
static OPEN_FILES_BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Lets this process have many files open, as far as it has leave: each protected file that is held still is one. What it
/// starts has the limit from before.
pub fn raise_open_files() {
    OPEN_FILES_BEFORE.get_or_init(|| {
        let old = getrlimit(Resource::Nofile);
        let most = old.maximum.map_or(MOST_OPEN_FILES, |maximum| maximum.min(MOST_OPEN_FILES));
        if old.current.is_some_and(|current| current < most) {
            // Where it may not, fewer files are held, and the question says so.
            setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..old }).ok();
        }
        old.current
    });
}

/// What the limit was before it was raised; `None` where it was not, or was none.
pub(super) fn open_files_before() -> Option<u64> {
    OPEN_FILES_BEFORE.get().copied().flatten()
}

/// Gives a process that was started meanwhile the limit from before.
pub(super) fn restore_open_files(before: Option<u64>) {
    let Some(before) = before else { return };
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|now| now > before) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(before), ..now }).ok();
    }
}

/// Every limit, as numbers: found out before the fork, set after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    limits: Vec<(Resource, u64)>,
}

impl Limits {
    /// The limits that fit this computer. Address space: as much as there is memory. Data (what is really written to):
    /// half of that. Processes count beside those that the person runs already.
    pub(super) fn of_this_computer() -> Self {
        let memory = memory_bytes();
        let limits = vec![
            (Resource::Core, 0),
            (Resource::Fsize, FILE_BYTES),
            (Resource::Nofile, OPEN_FILES),
            (Resource::Data, (memory / 2).max(LEAST_MEMORY_BYTES)),
            (Resource::As, memory.max(2 * LEAST_MEMORY_BYTES)),
            (Resource::Nproc, running_processes().saturating_add(MOST_PROCESSES)),
        ];
        Self { limits }
    }

    /// Sets them on this process, and that it yields to whoever watches over it. Neither allocates nor takes a lock.
    pub(super) fn apply(&self) -> std::io::Result<()> {
        setpriority_process(None, COMMAND_NICENESS)?;
        for (resource, wanted) in &self.limits {
            let old = getrlimit(*resource);
            let least = |one: Option<u64>| Some(one.map_or(*wanted, |one| one.min(*wanted)));
            let new = Rlimit { current: least(old.current), maximum: least(old.maximum) };
            match setrlimit(*resource, new) {
                Ok(()) => {}
                // Not every system has every limit.
                Err(rustix::io::Errno::INVAL) if cfg!(not(target_os = "linux")) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram.saturating_mul(u64::from(info.mem_unit))
}

#[cfg(not(target_os = "linux"))]
fn memory_bytes() -> u64 {
    8 << 30
}

/// How many processes and threads there are now, of everybody: never fewer than count against the person.
#[cfg(target_os = "linux")]
pub(super) fn running_processes() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    // "0.20 0.18 0.12 1/80 11206": of the fourth field the part after the slash.
    load.split(' ').nth(3).and_then(|field| field.split_once('/')?.1.parse().ok()).unwrap_or(0)
}

/// Elsewhere nobody counts; the limit is generous then.
#[cfg(not(target_os = "linux"))]
pub(super) fn running_processes() -> u64 {
    MOST_PROCESSES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limits: &Limits, resource: Resource) -> u64 {
        limits.limits.iter().find(|(known, _)| *known == resource).unwrap().1
    }

    #[test]
    fn memory_is_limited_to_what_the_computer_has_and_never_too_little_to_work_with() {
        let limits = Limits::of_this_computer();
        assert_eq!(of(&limits, Resource::Core), 0);
        assert!(of(&limits, Resource::Nproc) > MOST_PROCESSES);
        assert!(of(&limits, Resource::As) >= of(&limits, Resource::Data));
        assert!(of(&limits, Resource::Data) >= LEAST_MEMORY_BYTES);
        assert!(of(&limits, Resource::As) < 64 << 40);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_counted() {
        assert!(running_processes() > 0);
    }
}
