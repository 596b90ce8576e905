//! A lease on a file (`man 2 fcntl`, "Leases"): whoever would open it for writing, or truncate it, waits until it is given
//! up.
#![cfg(unix)]

use std::fs::File;

/// A file that nobody opens for writing while this is kept, but for `lease-break-time` at most (45 s by default).
#[derive(Debug)]
pub struct Lease {
    #[cfg(target_os = "linux")]
    file: File,
}

/// Why there is no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLease {
    /// Somebody has it open for writing already.
    Busy,
    /// The system, the file system or the file's owner allows none.
    Impossible,
}

/// Takes a lease on a file that was opened for reading, by an opening of its own.
///
/// # Errors
/// Where none is given.
#[cfg(target_os = "linux")]
pub fn lease(file: File) -> Result<Lease, NoLease> {
    linux::take(&file)?;
    Ok(Lease { file })
}

/// Elsewhere nobody gives one.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn lease(file: File) -> Result<Lease, NoLease> {
    drop(file);
    Err(NoLease::Impossible)
}

impl Lease {
    /// Whether somebody waits to write.
    pub fn is_wanted(&self) -> bool {
        #[cfg(target_os = "linux")]
        return linux::is_wanted(&self.file);
        #[cfg(not(target_os = "linux"))]
        return false;
    }
}

#[cfg(target_os = "linux")]
impl Drop for Lease {
    fn drop(&mut self) {
        // Closing alone does not do: a process that is just being started may have the file open too, for a moment.
        linux::give_up(&self.file);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;
    use std::sync::OnceLock;

    use super::NoLease;

    /// Of the kernel's `asm-generic/fcntl.h`.
    const F_SETSIG: libc::c_int = 10;
    /// Who waits must wait longer than a command takes to be stopped.
    const SHORTEST_WAIT_S: u64 = 5;

    pub(super) fn take(file: &File) -> Result<(), NoLease> {
        if !waits_long_enough() {
            return Err(NoLease::Impossible);
        }
        // The kernel's word that somebody waits is asked for, not sent: a signal that a process ignores unless it says
        // otherwise, instead of one that would end it.
        fcntl(file, F_SETSIG, libc::SIGURG).map_err(|_old| NoLease::Impossible)?;
        fcntl(file, libc::F_SETLEASE, libc::F_RDLCK).map(|_done| ()).map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN) => NoLease::Busy,
            _ => NoLease::Impossible,
        })
    }

    pub(super) fn is_wanted(file: &File) -> bool {
        fcntl(file, libc::F_GETLEASE, 0).is_ok_and(|now| now != libc::F_RDLCK)
    }

    pub(super) fn give_up(file: &File) {
        // What cannot be given up ends with the file.
        fcntl(file, libc::F_SETLEASE, libc::F_UNLCK).ok();
    }

    fn waits_long_enough() -> bool {
        static WAITS: OnceLock<bool> = OnceLock::new();
        *WAITS.get_or_init(|| {
            let seconds = std::fs::read_to_string("/proc/sys/fs/lease-break-time").unwrap_or_default();
            seconds.trim().parse().is_ok_and(|seconds: u64| seconds >= SHORTEST_WAIT_S)
        })
    }

    #[expect(unsafe_code, reason = "no safe form of these commands is offered")]
    fn fcntl(file: &File, command: libc::c_int, value: libc::c_int) -> std::io::Result<libc::c_int> {
        // SAFETY: the descriptor is open as long as `file` is, and these commands take one number and no pointer.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, value) };
        if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(done) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn who_would_write_waits_until_it_is_given_up_and_who_reads_does_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        std::fs::write(&path, "before").unwrap();
        let write = || OpenOptions::new().write(true).open(&path);
        let held = lease(File::open(&path).unwrap());
        let Ok(held) = held else { panic!("{held:?}") };
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), held.is_wanted()), ("before", false));
        std::thread::scope(|scope| {
            let writer = scope.spawn(write);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !held.is_wanted() {
                assert!(Instant::now() < deadline, "nobody waits");
                std::thread::yield_now();
            }
            assert!(!writer.is_finished());
            drop(held);
            assert!(writer.join().unwrap().is_ok());
        });
        let _writer = write().unwrap();
        assert_eq!(lease(File::open(&path).unwrap()).unwrap_err(), NoLease::Busy);
    }

    #[test]
    fn a_pipe_has_none() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(lease(reader).unwrap_err(), NoLease::Impossible);
    }
}
