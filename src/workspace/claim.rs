//! Who runs what and who changes what, among all calls that any Nod of this user has under way.
//!
//! What a command starts first stands in its place as it was read; but whoever exchanges a folder on the way there leads
//! the same path to other bytes. So a command that starts from such files, and a call that may change something on the way
//! to them, do not run at the same time. Each says in a file, which it holds locked for as long as it lives, what it runs
//! and what it may change. The person's own programs know nothing of that.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a call needs to stay as it is, and what it may change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Claim {
    /// Files that it starts from, by their real paths.
    runs: Vec<OsString>,
    /// Folders in which it may change anything, and files; by their real paths.
    changes: Vec<OsString>,
}

/// A claim that holds until this is dropped, or its process ends.
#[derive(Debug)]
pub struct Claimed {
    #[cfg(target_os = "linux")]
    _held: linux::Held,
}

impl Claim {
    /// What a call starts from, and what it may change.
    pub fn new(runs: impl IntoIterator<Item = PathBuf>, changes: impl IntoIterator<Item = PathBuf>) -> Self {
        let names = |paths: &mut dyn Iterator<Item = PathBuf>| paths.map(PathBuf::into_os_string).collect();
        Self { runs: names(&mut runs.into_iter()), changes: names(&mut changes.into_iter()) }
    }

    /// Takes it; `None` while another call's stands against it.
    ///
    /// # Errors
    /// When it cannot be made known to others.
    pub fn take(&self) -> io::Result<Option<Claimed>> {
        if self.runs.is_empty() && self.changes.is_empty() {
            return Ok(Some(Claimed::of_nothing()));
        }
        #[cfg(target_os = "linux")]
        return linux::take(self).map(|held| held.map(|held| Claimed { _held: held }));
        // Nothing is held in its place there.
        #[cfg(not(target_os = "linux"))]
        return Ok(Some(Claimed::of_nothing()));
    }

    /// Whether both at once could lead the path of what one of them runs to something else.
    fn is_against(&self, other: &Self) -> bool {
        self.leads_elsewhere(other) || other.leads_elsewhere(self)
    }

    fn leads_elsewhere(&self, other: &Self) -> bool {
        let is_on_the_way = |run: &OsString| self.changes.iter().any(|change| Path::new(run).starts_with(change));
        other.runs.iter().any(is_on_the_way)
    }
}

impl Claimed {
    fn of_nothing() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            _held: linux::Held::default(),
        }
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "its own files in a folder of its own")]
mod linux {
    use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
    use std::io::{self, Read as _, Write as _};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::Claim;

    /// Held for the moment in which a claim is compared and made known.
    const GATE: &str = "gate";
    const ENDING: &str = "claim";
    const STEP: Duration = Duration::from_millis(1);
    const STEPS: u32 = 100;
    static NEXT: AtomicU64 = AtomicU64::new(0);

    /// The file that says what is claimed, locked.
    #[derive(Debug, Default)]
    pub(super) struct Held(Option<(PathBuf, File)>);

    impl Drop for Held {
        fn drop(&mut self) {
            if let Some((path, file)) = self.0.take() {
                std::fs::remove_file(path).ok();
                // Closing alone does not do: a process that is just being started may have it open too, for a moment.
                file.unlock().ok();
            }
        }
    }

    pub(super) fn take(claim: &Claim) -> io::Result<Option<Held>> {
        match folder() {
            Ok(folder) => take_in(&folder, claim),
            // Who runs such files is refused then, so there is nothing to keep from them.
            Err(_) if claim.runs.is_empty() => Ok(Some(Held::default())),
            Err(error) => Err(error),
        }
    }

    /// The same for all of this user's programs, whatever their surroundings say.
    fn folder() -> io::Result<PathBuf> {
        let user = rustix::process::getuid().as_raw();
        let places = [format!("/run/user/{user}/nod-claims"), format!("/tmp/nod-claims-{user}")];
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in places.map(PathBuf::from) {
            match own_folder(&place, user) {
                Ok(()) => return Ok(place),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn own_folder(place: &Path, user: u32) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let found = std::fs::symlink_metadata(place)?;
        let is_own = found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0;
        if is_own { Ok(()) } else { Err(io::Error::other("the folder for claims is somebody else's")) }
    }

    pub(super) fn take_in(folder: &Path, claim: &Claim) -> io::Result<Option<Held>> {
        let gate = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(folder.join(GATE))?;
        if !lock_soon(&gate)? {
            return Ok(None);
        }
        let taken = take_alone(folder, claim);
        gate.unlock().ok();
        taken
    }

    fn take_alone(folder: &Path, claim: &Claim) -> io::Result<Option<Held>> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) && is_in_the_way(&path, claim) {
                return Ok(None);
            }
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}-{number}.{ENDING}", std::process::id()));
        // One of an earlier process with the same number was dead, and is gone by now.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = file.try_lock().map_err(io::Error::from).and_then(|()| Ok(serde_json::to_vec(claim)?));
        let written = written.and_then(|text| file.write_all(&text));
        let held = Held(Some((path, file)));
        written.map(|()| Some(held))
    }

    /// A moment passes quickly, unless its process was held up.
    fn lock_soon(gate: &File) -> io::Result<bool> {
        for _ in 0..STEPS {
            match gate.try_lock() {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether another call's claim stands against this one. One whose process has ended goes.
    fn is_in_the_way(path: &Path, claim: &Claim) -> bool {
        let Ok(mut file) = File::open(path) else { return false };
        if file.try_lock_shared().is_ok() {
            std::fs::remove_file(path).ok();
            return false;
        }
        let mut text = Vec::new();
        let other = file.read_to_end(&mut text).ok().and_then(|_| serde_json::from_slice::<Claim>(&text).ok());
        // One that cannot be read may say anything.
        other.is_none_or(|other| other.is_against(claim))
    }
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "files for a test")]
mod tests {
    use super::*;

    fn claim(runs: &[&str], changes: &[&str]) -> Claim {
        Claim::new(runs.iter().map(PathBuf::from), changes.iter().map(PathBuf::from))
    }

    #[test]
    fn only_what_can_lead_the_way_of_a_run_elsewhere_stands_against_it() {
        let run = claim(&["/p/a/b/x.sh"], &["/p/a"]);
        for (other, expected) in [
            (claim(&[], &["/p/a"]), true),
            (claim(&[], &["/p"]), true),
            (claim(&[], &["/"]), true),
            (claim(&[], &["/p/a/b/x.sh"]), true),
            (claim(&[], &["/p/a/b/x"]), false),
            (claim(&[], &["/p/a/c"]), false),
            (claim(&["/p/a/other.sh"], &[]), true),
            (claim(&["/p/b/other.sh"], &["/p/b"]), false),
        ] {
            assert_eq!((run.is_against(&other), other.is_against(&run)), (expected, expected), "{other:?}");
        }
        let writer = claim(&[], &["/p"]);
        assert!(!writer.is_against(&writer), "who runs nothing of it may go beside another");
    }

    #[test]
    fn a_claim_holds_until_it_is_dropped_and_one_of_a_dead_process_holds_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (run, change) = (claim(&["/p/x.sh"], &["/p"]), claim(&[], &["/p"]));
        let take = |claim: &Claim| linux::take_in(place.path(), claim).unwrap();
        let files = || std::fs::read_dir(place.path()).unwrap().count() - 1;
        let first = take(&run).unwrap();
        assert!(take(&change).is_none() && take(&run).is_none());
        assert!(take(&claim(&[], &["/q"])).is_some(), "it is no matter of another folder");
        drop(first);
        let (one, other) = (take(&change).unwrap(), take(&change).unwrap());
        assert!(take(&run).is_none());
        drop(one);
        assert!(take(&run).is_none());
        drop(other);
        assert_eq!(files(), 0);
        let left = place.path().join("1-1.claim");
        std::fs::write(&left, serde_json::to_vec(&run).unwrap()).unwrap();
        assert!(take(&change).is_some() && !left.exists());
        std::fs::write(&left, "what is this").unwrap();
        let unreadable = std::fs::File::open(&left).unwrap();
        unreadable.lock().unwrap();
        assert!(take(&change).is_none());
    }
}
