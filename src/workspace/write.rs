//! Writing a file so that a crash, a full disk or a race leaves either the old file or the new one, whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::time::Duration;

use super::create::make_folders;
use super::folder::Privacy;
use super::target::Object;
use super::{Folder, Stat, Target, WorkspaceError, system};
use crate::policy::TargetKind;

/// How long after a file was replaced somebody who had it open may still begin to write into the old one.
const LATE: Duration = Duration::from_millis(5);

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Whether the file was not there before.
    pub created: bool,
    /// How much was written, in bytes.
    pub bytes: u64,
}

impl Target {
    /// Writes the whole file: into a new file beside it, which then takes its name. A file with other names (hard links)
    /// keeps its content under those.
    ///
    /// # Errors
    /// `NOT_A_FILE`, `TARGET_CHANGED` when something else has the name now, `NO_SPACE` and `PERMISSION_DENIED` with the old
    /// file whole, `IO_ERROR`.
    pub fn write(&self, bytes: &[u8]) -> std::result::Result<Written, WorkspaceError> {
        self.write_from(&mut &*bytes, Mode::AsItWas)
    }

    /// The same from a reader: what it gives to its end becomes the file, or nothing does.
    ///
    /// # Errors
    /// As [`Target::write`], and whatever the reader reports.
    pub fn write_from(&self, source: &mut dyn Read, mode: Mode) -> std::result::Result<Written, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Writing the file", self.resolved(), source);
        let (parent, name, missing) = match (self.stat.kind, &self.parent, self.names.split_last()) {
            (TargetKind::File | TargetKind::Missing, Some(parent), Some((name, missing))) => {
                (parent, OsStr::new(name), missing)
            }
            (TargetKind::Folder | TargetKind::Link | TargetKind::Special, _, _) | (_, _, None) | (_, None, _) => {
                return Err(self.not_a_file());
            }
        };
        let created = self.stat.kind == TargetKind::Missing;
        let made = make_folders(parent, missing, self)?;
        let folder = &made.deepest().clone();
        if !created {
            folder.may_write(name).map_err(failed)?;
        }
        let privacy = if created { Privacy::Umask } else { Privacy::Owner };
        let mut temporary = Temporary::create(folder, privacy).map_err(failed)?;
        let replaced = match &self.object {
            _ if created => None,
            Object::File(file) => Some((&self.stat, file)),
            Object::Folder(_) | Object::Nothing => return Err(self.not_a_file()),
        };
        let bytes = temporary.fill(source, replaced, mode).map_err(failed)?;
        if created {
            temporary.become_new(name).map_err(|error| {
                if error.kind() == ErrorKind::AlreadyExists { self.changed() } else { failed(error) }
            })?;
        } else {
            let is_shown =
                |now: &Stat| now.kind == TargetKind::File && now.identity.is_same_content(&self.stat.identity);
            let now = folder.stat_of(name).map_err(|_gone| self.changed())?;
            if !is_shown(&now) || !temporary.replace(name, &is_shown).map_err(failed)? {
                return Err(self.changed());
            }
        }
        folder.sync();
        made.keep();
        Ok(Written { created, bytes })
    }
}

/// Which permissions a written file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Those of the file that it replaces, or those that any new file gets.
    AsItWas,
    /// These bits, without setuid and setgid: nobody nodded to those.
    Exactly(u32),
}

/// A file that nobody knows of yet; removed when dropped, unless it got its name.
struct Temporary<'folder> {
    folder: &'folder Folder,
    name: OsString,
    file: File,
    /// The permissions that a new file gets by the person's umask.
    mode: u32,
    placed: bool,
}

impl<'folder> Temporary<'folder> {
    /// With `Privacy::Umask` the system itself works the umask out; then the file is closed to others until it is done.
    fn create(folder: &'folder Folder, privacy: Privacy) -> Result<Self> {
        let name = private_name()?;
        let file = folder.create_file(&name, privacy)?;
        let mut temporary = Self { folder, name, file, mode: 0, placed: false };
        temporary.mode = system::stat_handle(&temporary.file)?.mode;
        system::set_mode(&temporary.file, 0o600)?;
        Ok(temporary)
    }

    /// Gives how much came, in bytes.
    fn fill(&mut self, source: &mut dyn Read, replaced: Option<(&Stat, &File)>, mode: Mode) -> Result<u64> {
        let bytes = std::io::copy(source, &mut self.file)?;
        match (replaced, mode) {
            (Some((old, file)), Mode::AsItWas) => system::take_over(&self.file, old, file)?,
            (None, Mode::AsItWas) => system::set_mode(&self.file, self.mode)?,
            (Some((old, file)), Mode::Exactly(bits)) => {
                system::take_over(&self.file, &Stat { mode: bits, ..*old }, file)?;
            }
            (None, Mode::Exactly(bits)) => system::set_mode(&self.file, bits & 0o1777)?,
        }
        self.file.sync_all()?;
        Ok(bytes)
    }

    fn become_new(&mut self, name: &OsStr) -> Result<()> {
        self.folder.rename_new(&self.name, self.folder, name)?;
        self.placed = true;
        Ok(())
    }

    /// Takes the name of a file. Where the system can exchange two names, the old file is looked at once more when nobody
    /// finds it by its name any longer, and again a moment later for whoever had it open; it gets its name back if somebody
    /// changed it: then nothing was replaced, and this says so. It is the same file, so who is still writing loses nothing.
    fn replace(&mut self, name: &OsStr, is_shown: &dyn Fn(&Stat) -> bool) -> Result<bool> {
        let ours = system::stat_handle(&self.file)?;
        if !self.folder.exchange(&self.name, name)? {
            self.folder.rename(&self.name, self.folder, name)?;
            self.placed = true;
            return Ok(true);
        }
        // From here on the temporary name is the old file's: it is not removed before it was looked at.
        self.placed = true;
        let was_shown = is_shown(&self.folder.stat_of(&self.name)?) && {
            std::thread::sleep(LATE);
            is_shown(&self.folder.stat_of(&self.name)?)
        };
        if !was_shown {
            self.folder.exchange(&self.name, name)?;
            let aside = self.folder.stat_of(&self.name)?.identity;
            if !aside.is_same_content(&ours.identity) {
                // Somebody has put yet another file there, or written into ours meanwhile: that gets the name, and the one
                // before it stays beside it.
                self.folder.exchange(&self.name, name)?;
                return Ok(false);
            }
        }
        self.folder.remove_file(&self.name)?;
        Ok(was_shown)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing more can be done about a file that cannot be removed.
            self.folder.remove_file(&self.name).ok();
        }
    }
}

/// A name that nobody can guess, for what must not be found while it is in between.
pub(super) fn private_name() -> Result<OsString> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(OsString::from(format!(".nod-{:032x}", u128::from_ne_bytes(random))))
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::path::Path;

    use super::*;
    use crate::ir::{Code, Failure};
    use crate::policy::RelPath;
    use crate::workspace::{Purpose, Root, resolve};

    fn target(root: &Root, path: &str) -> Target {
        let parts = path.split('/').map(str::to_owned).collect();
        resolve(root, &RelPath::from_parts(parts).unwrap(), Purpose::Write).unwrap()
    }

    fn folder() -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        (temp, root)
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file_and_leaves_nothing_beside_it() {
        let (temp, root) = folder();
        let written = target(&root, "a/b/new.txt").write(b"hello").unwrap();
        assert_eq!(written, Written { created: true, bytes: 5 });
        assert_eq!(fs::read(temp.path().join("a/b/new.txt")).unwrap(), b"hello");
        assert_eq!(names(&temp.path().join("a/b")), ["new.txt"]);
        fs::File::create(temp.path().join("other")).unwrap();
        let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().permissions().mode();
        assert_eq!(mode("a/b/new.txt"), mode("other"));
    }

    #[test]
    fn an_old_file_keeps_its_permissions_but_not_setuid_and_setgid() {
        let (temp, root) = folder();
        let path = temp.path().join("tool");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6751)).unwrap();
        assert_eq!(target(&root, "tool").write(b"new").unwrap(), Written { created: false, bytes: 3 });
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(temp.path()), ["tool"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_old_file_keeps_its_access_list_and_notes_and_its_group_gets_no_more_than_before() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        const LIST: &str = "system.posix_acl_access";
        let value = |path: &Path, name: &str| {
            let mut value = vec![0; 1024];
            getxattr(path, name, value.as_mut_slice()).map(|length| value[..length].to_vec()).ok()
        };
        let (temp, root) = folder();
        let path = temp.path().join("shared");
        let access = crate::workspace::attributes::tests::closed_to_its_group();
        fs::write(&path, "old").unwrap();
        if setxattr(&path, LIST, &access, XattrFlags::empty()).is_err() {
            // A disk without access lists has nothing to keep.
            return;
        }
        let has_notes = setxattr(&path, "user.origin", b"here", XattrFlags::empty()).is_ok();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o660, "the mask stands where the group's rights stood");
        // The control: whoever takes these bits for the group's makes a file that its group can read and write.
        let careless = temp.path().join("careless");
        fs::write(&careless, "new").unwrap();
        fs::set_permissions(&careless, fs::Permissions::from_mode(mode(&path))).unwrap();
        assert_eq!((mode(&careless) & 0o070, value(&careless, LIST)), (0o060, None));

        for (bytes, mode_bits) in [("new", Mode::AsItWas), ("older", Mode::Exactly(target(&root, "shared").mode()))] {
            target(&root, "shared").write_from(&mut bytes.as_bytes(), mode_bits).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
            assert_eq!((mode(&path), value(&path, LIST)), (0o660, Some(access.clone())));
            assert_eq!(value(&path, "user.origin"), has_notes.then(|| b"here".to_vec()));
        }
        // What is made anew where the file is gone is open to nobody more.
        let bits = target(&root, "shared").mode();
        assert_eq!(bits, 0o600);
        fs::remove_file(&path).unwrap();
        target(&root, "shared").write_from(&mut &b"again"[..], Mode::Exactly(bits)).unwrap();
        assert_eq!(mode(&path) & 0o070, 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_replaced_file_does_not_get_the_list_that_its_folder_gives_to_new_ones() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let (temp, root) = folder();
        let path = temp.path().join("mine");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let access = crate::workspace::attributes::tests::closed_to_its_group();
        if setxattr(temp.path(), "system.posix_acl_default", &access, XattrFlags::empty()).is_err() {
            return;
        }
        let has_list = |path: &Path| getxattr(path, "system.posix_acl_access", vec![0; 1024].as_mut_slice()).is_ok();
        target(&root, "mine").write(b"new").unwrap();
        assert_eq!((fs::metadata(&path).unwrap().permissions().mode() & 0o777, has_list(&path)), (0o640, false));
        // The control: a new file has it.
        target(&root, "new").write(b"new").unwrap();
        assert!(has_list(&temp.path().join("new")));
    }

    #[test]
    fn a_write_never_goes_into_a_file_with_another_name() {
        let (temp, root) = folder();
        let outside = tempfile::tempdir_in(temp.path().parent().unwrap()).unwrap();
        let kept = outside.path().join("kept");
        fs::write(&kept, "old").unwrap();
        fs::hard_link(&kept, temp.path().join("one")).unwrap();
        fs::hard_link(&kept, temp.path().join("two")).unwrap();
        target(&root, "one").write(b"new").unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"old");
        assert_eq!(fs::read(temp.path().join("one")).unwrap(), b"new");
        // The attack works on a plain write.
        fs::write(temp.path().join("two"), "attack").unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"attack");
    }

    #[test]
    fn a_link_inside_stays_a_link_and_its_target_is_written() {
        let (temp, root) = folder();
        fs::write(temp.path().join("real"), "old").unwrap();
        symlink("real", temp.path().join("link")).unwrap();
        target(&root, "link").write(b"new").unwrap();
        assert!(fs::symlink_metadata(temp.path().join("link")).unwrap().is_symlink());
        assert_eq!(fs::read(temp.path().join("real")).unwrap(), b"new");
    }

    #[test]
    fn what_appeared_or_changed_since_is_never_overwritten() {
        let (temp, root) = folder();
        fs::write(temp.path().join("old"), "1").unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let (new, deep, old, swapped) =
            (target(&root, "new"), target(&root, "deep/new"), target(&root, "old"), target(&root, "swapped"));
        fs::write(temp.path().join("new"), "theirs").unwrap();
        fs::create_dir(temp.path().join("deep")).unwrap();
        fs::write(temp.path().join("old"), "theirs").unwrap();
        symlink(outside.path(), temp.path().join("swapped")).unwrap();
        for target in [new, deep, old, swapped] {
            assert_eq!(Failure::from(target.write(b"ours").unwrap_err()).code, Code::TargetChanged);
        }
        assert_eq!(fs::read(temp.path().join("new")).unwrap(), b"theirs");
        assert_eq!(fs::read(temp.path().join("old")).unwrap(), b"theirs");
        assert_eq!(fs::metadata(outside.path()).unwrap().size(), 0);
        assert_eq!(names(temp.path()), ["deep", "new", "old", "swapped"]);
    }

    /// Never as long as the one before, nor as the other's: some systems tell the time in steps of milliseconds.
    fn person(number: u64) -> String {
        format!("person {number}{}\n", ".".repeat(usize::try_from(number % 7).unwrap()))
    }

    fn other(number: u64) -> String {
        format!("other {number:040}\n")
    }

    /// What a person's writes in place came to while something else replaced the file again and again, for a while: how
    /// many were made, and how many of them were replaced by somebody who had not seen them.
    fn writes_and_losses(replace: impl Fn(&Path, u64) -> Option<String> + Sync) -> (u64, u64) {
        let (temp, _root) = folder();
        let path = temp.path().join("notes");
        fs::write(&path, person(0)).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let replacing = scope.spawn(|| {
                // What each of the other's versions replaced.
                let mut replaced = std::collections::HashMap::new();
                let mut number = 0;
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    number += 1;
                    if let Some(seen) = replace(&path, number) {
                        replaced.insert(other(number), seen);
                    }
                }
                replaced
            });
            // What was there when the person's writes came.
            let mut found = Vec::new();
            // Whom the machine keeps waiting between finding the file and its first change is promised nothing.
            let mut was_prompt = true;
            let mut promised = Vec::new();
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_secs(2) {
                let opening = std::time::Instant::now();
                // As an editor does that writes in place.
                let mut file = fs::File::options().read(true).write(true).open(&path).unwrap();
                found.push(std::io::read_to_string(&file).unwrap());
                promised.push(was_prompt);
                file.set_len(0).unwrap();
                was_prompt = opening.elapsed() < LATE;
                std::io::Seek::rewind(&mut file).unwrap();
                std::io::Write::write_all(&mut file, person(found.len() as u64).as_bytes()).unwrap();
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            let replaced = replacing.join().unwrap();
            // Where two wrote at once, one of them is kept beside the file.
            let beside: Vec<_> =
                names(temp.path()).iter().map(|name| fs::read_to_string(temp.path().join(name)).unwrap()).collect();
            let is_lost = |(written, here): (usize, &String)| {
                // What a version replaced may itself be a version of the other.
                let mut seen = here;
                while let Some(before) = replaced.get(seen) {
                    seen = before;
                }
                let last = person(written as u64);
                *seen != last && !beside.contains(&last)
            };
            let losses = found.iter().enumerate().filter(|write| promised[write.0] && is_lost(*write)).count();
            (found.len() as u64, losses as u64)
        })
    }

    #[test]
    fn who_writes_into_the_file_at_the_very_moment_has_its_name_back_and_is_hardly_ever_missed() {
        let (writes, losses) = writes_and_losses(|path, number| {
            let root = Root::open(path.parent().unwrap()).unwrap();
            let target = target(&root, "notes");
            let seen = fs::read_to_string(path).unwrap();
            // Somebody is in the middle of writing: nothing that anybody would nod to.
            if seen.is_empty() {
                return None;
            }
            target.write(other(number).as_bytes()).is_ok().then_some(seen)
        });
        assert!(writes > 100, "{writes}");
        // The control: a plain rename, after the same look.
        let (writes_without, losses_without) = writes_and_losses(|path, number| {
            let seen = fs::read_to_string(path).unwrap();
            let aside = path.with_extension("new");
            fs::write(&aside, other(number)).unwrap();
            fs::rename(&aside, path).unwrap();
            Some(seen)
        });
        // No system replaces a file only if nobody has it open: on a machine that keeps both waiting, the two can miss each
        // other one time in thousands.
        let (lost, lost_without) = (losses * writes_without, losses_without * writes);
        assert!(
            lost_without > 20 * lost,
            "{losses} of {writes}, without the guard {losses_without} of {writes_without}"
        );
    }

    #[test]
    fn a_failed_write_takes_its_folders_back() {
        let (temp, root) = folder();
        let target = target(&root, "a/b/c");
        let made = make_folders(root.folder(), &["a".into(), "b".into()], &target).unwrap();
        assert_eq!(names(&temp.path().join("a")), ["b"]);
        drop(made);
        assert!(names(temp.path()).is_empty());
    }

    #[test]
    fn a_folder_is_no_file() {
        let (temp, root) = folder();
        fs::create_dir(temp.path().join("d")).unwrap();
        assert_eq!(Failure::from(target(&root, "d").write(b"x").unwrap_err()).code, Code::NotAFile);
    }
}
