//! The trash of the freedesktop.org specification 1.0, through handles: what goes in is moved from the folder that is
//! held, never looked up by its path again.
#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read as _, Result, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::folder::Privacy;
use super::{Folder, Stat, Target, WorkspaceError};

/// How far up the top of a disk is looked for.
const MAX_LEVELS: usize = 256;

/// The longest note that is read, in bytes.
const NOTE_BYTES: u64 = 64 * 1024;

/// How many things of one name the trash keeps.
const MAX_SAME_NAME: usize = 10_000;

/// Where deleted things go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trash {
    /// The folder that holds the person's `Trash` folder; `None` when there is no home.
    data_home: Option<PathBuf>,
    /// Whether a disk's own trash may be used for what lies on another disk than the person's.
    with_disks: bool,
}

/// Whether it lies in the trash now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    /// The disk has none, and none can be made.
    NoTrash,
}

impl Trash {
    /// The person's trash: in `XDG_DATA_HOME` where that is set, else in `.local/share` of the home folder.
    pub fn of_person(home: Option<&Path>) -> Self {
        let set = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        Self { data_home: set.or_else(|| home.map(|home| home.join(".local/share"))), with_disks: true }
    }

    /// A trash in this folder and nowhere else: there is none for other disks.
    pub fn in_folder(data_home: PathBuf) -> Self {
        Self { data_home: Some(data_home), with_disks: false }
    }

    /// Whether there is a trash, or one can be made, on the disk of this folder. Changes nothing.
    pub(super) fn takes(&self, parent: &Folder) -> bool {
        let Ok(here) = parent.stat() else { return false };
        let home_stat = self.data_home.as_ref().and_then(|data_home| {
            let existing = data_home.ancestors().find_map(|path| Folder::open_ambient(path).ok())?;
            existing.stat().ok()
        });
        if home_stat.is_some_and(|home| is_same_disk(&home, &here)) {
            return true;
        }
        if !self.with_disks {
            return false;
        }
        let Ok((top, _)) = top_of_disk(parent, &here) else { return false };
        match top.stat_of(&own_trash_name()) {
            Ok(_) => top.open_folder(&own_trash_name()).is_ok(),
            Err(_missing) => top.may_write_self().is_ok(),
        }
    }

    /// Moves an entry into the trash, if it is what the target was.
    ///
    /// # Errors
    /// `TARGET_CHANGED` with the entry back at its place, `PERMISSION_DENIED`, `NO_SPACE`, `IO_ERROR`.
    pub(super) fn take(
        &self,
        parent: &Folder,
        name: &OsStr,
        target: &Target,
    ) -> std::result::Result<Taken, WorkspaceError> {
        let failed = |source: std::io::Error| {
            if source.kind() == ErrorKind::NotFound {
                return target.changed();
            }
            WorkspaceError::io("Moving to the trash", target.resolved(), source)
        };
        let here = parent.stat().map_err(failed)?;
        let Some(bin) = self.open_for(parent, &here, target.resolved()) else { return Ok(Taken::NoTrash) };
        let Some((trash_name, info_name)) = bin.put(parent, name).map_err(failed)? else { return Ok(Taken::NoTrash) };
        let moved = bin.files.stat_of(&trash_name).map_err(failed)?;
        if !target.is_what_was_shown(&moved) {
            // If its old name is taken again already, it stays in the trash, from where it can be put back.
            if bin.files.rename_new(&trash_name, parent, name).is_ok() {
                bin.info.remove_file(&info_name).map_err(failed)?;
            }
            return Err(target.changed());
        }
        bin.files.sync();
        parent.sync();
        Ok(Taken::Yes)
    }

    /// Moves a thing back from the trash, if it is still there: it came from this very path, and `was` knows it again.
    ///
    /// # Errors
    /// `AlreadyExists` when the name is taken, and what the system reports.
    pub(super) fn put_back(
        &self,
        parent: &Folder,
        name: &OsStr,
        resolved: &Path,
        was: &dyn Fn(&Stat) -> bool,
    ) -> Result<bool> {
        let here = parent.stat()?;
        let Some(bin) = self.open_for(parent, &here, resolved) else { return Ok(false) };
        let Some((trash_name, info_name)) = bin.find(name, was)? else { return Ok(false) };
        bin.files.rename_new(&trash_name, parent, name)?;
        if !was(&parent.stat_of(name)?) {
            // Somebody put another thing there meanwhile: it goes back to where it was.
            parent.rename_new(name, &bin.files, &trash_name)?;
            return Ok(false);
        }
        // Without its thing a note means nothing; whoever removed it already has done what is done here.
        bin.info.remove_file(&info_name).ok();
        parent.sync();
        Ok(true)
    }

    /// The trash for a disk: the person's own if it lies there, else the disk's.
    fn open_for(&self, parent: &Folder, here: &Stat, resolved: &Path) -> Option<Bin> {
        let home = self.data_home.as_ref().and_then(|data_home| {
            std::fs::create_dir_all(data_home).ok()?;
            let data_home = Folder::open_ambient(data_home).ok()?;
            is_same_disk(&data_home.stat().ok()?, here).then_some(())?;
            Bin::open(&make(&data_home, OsStr::new("Trash")).ok()?, resolved.to_path_buf()).ok()
        });
        home.or_else(|| {
            self.with_disks.then_some(())?;
            let (top, levels) = top_of_disk(parent, here).ok()?;
            let top_path = resolved.ancestors().nth(levels + 1)?;
            let trash = shared_trash(&top).or_else(|_none| make(&top, &own_trash_name())).ok()?;
            // On its own disk a trash writes where things were relative to the disk, which may be mounted elsewhere.
            Bin::open(&trash, resolved.strip_prefix(top_path).ok()?.to_path_buf()).ok()
        })
    }
}

/// An opened trash.
struct Bin {
    files: Folder,
    info: Folder,
    /// Where the thing comes from, as the trash writes it.
    origin: PathBuf,
}

impl Bin {
    fn open(trash: &Folder, origin: PathBuf) -> Result<Self> {
        Ok(Self { files: make(trash, OsStr::new("files"))?, info: make(trash, OsStr::new("info"))?, origin })
    }

    /// Moves an entry in under a free name; gives that name and the name of its note. None when the entry turns out to
    /// lie on another disk.
    fn put(&self, parent: &Folder, name: &OsStr) -> Result<Option<(OsString, OsString)>> {
        for count in 1..MAX_SAME_NAME {
            let trash_name = numbered(name, count);
            let mut info_name = trash_name.clone();
            info_name.push(".trashinfo");
            let mut note = match self.info.create_file(&info_name, Privacy::Owner) {
                Ok(note) => note,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let noted = self.note(&mut note);
            let moved = noted.and_then(|()| parent.rename_new(name, &self.files, &trash_name));
            let Err(error) = moved else { return Ok(Some((trash_name, info_name))) };
            self.info.remove_file(&info_name)?;
            if error.kind() == ErrorKind::CrossesDevices {
                return Ok(None);
            }
            if error.kind() != ErrorKind::AlreadyExists {
                return Err(error);
            }
        }
        Err(std::io::Error::other("the trash is full of things of this name"))
    }

    /// The thing that came from this bin's origin under this name and that `was` knows again, with the name of its note.
    fn find(&self, name: &OsStr, was: &dyn Fn(&Stat) -> bool) -> Result<Option<(OsString, OsString)>> {
        let stem = numbered(name, 1);
        for trash_name in self.files.names()? {
            if !trash_name.as_bytes().starts_with(stem.as_bytes())
                || !self.files.stat_of(&trash_name).is_ok_and(|it| was(&it))
            {
                continue;
            }
            let mut info_name = trash_name.clone();
            info_name.push(".trashinfo");
            let mut note = String::new();
            let (file, _) = match self.info.open_file(&info_name) {
                Ok(opened) => opened,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            file.take(NOTE_BYTES).read_to_string(&mut note)?;
            let origin = percent_encoded(&self.origin);
            if note.lines().any(|line| line.strip_prefix("Path=") == Some(origin.as_str())) {
                return Ok(Some((trash_name, info_name)));
            }
        }
        Ok(None)
    }

    /// The note that says where it comes from and when it went. The moment is the file system's own: the note was made
    /// just now.
    fn note(&self, note: &mut std::fs::File) -> Result<()> {
        let made_ns = super::system::stat_handle(&*note)?.identity.modified_ns;
        let moment = jiff::Timestamp::from_nanosecond(made_ns).map_err(std::io::Error::other)?;
        let local = moment.to_zoned_datetime(jiff::tz::TimeZone::system());
        let origin = percent_encoded(&self.origin);
        let date = local.strftime("%Y-%m-%dT%H:%M:%S");
        note.write_all(format!("[Trash Info]\nPath={origin}\nDeletionDate={date}\n").as_bytes())?;
        note.sync_all()
    }
}

/// Opens a folder, made private if it is missing.
fn make(above: &Folder, name: &OsStr) -> Result<Folder> {
    match above.create_folder(name, Privacy::Owner) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    above.open_folder(name)
}

/// A name goes from one folder to another only within one mount.
fn is_same_disk(one: &Stat, other: &Stat) -> bool {
    (one.identity.device, one.identity.mount) == (other.identity.device, other.identity.mount)
}

/// The topmost folder of the disk that a folder lies on, and how many levels it lies above.
fn top_of_disk(folder: &Folder, here: &Stat) -> Result<(Folder, usize)> {
    let mut top = folder.clone();
    for levels in 0..MAX_LEVELS {
        let above = top.above()?;
        let above_stat = above.stat()?;
        if !is_same_disk(&above_stat, here) || above_stat.identity.is_same_object(&top.stat()?.identity) {
            return Ok((top, levels));
        }
        top = above;
    }
    Err(std::io::Error::other("the folders lie too deep in each other"))
}

/// The trash that an administrator set up for all: only if it is a sticky folder and no link, as the specification asks.
fn shared_trash(top: &Folder) -> Result<Folder> {
    let shared = top.open_folder(OsStr::new(".Trash"))?;
    if shared.stat()?.mode & 0o1000 == 0 {
        return Err(ErrorKind::PermissionDenied.into());
    }
    make(&shared, OsStr::new(&user().to_string()))
}

fn own_trash_name() -> OsString {
    format!(".Trash-{}", user()).into()
}

fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// `name`, `name.2`, `name.3` …, short enough for its note to have a name too.
fn numbered(name: &OsStr, count: usize) -> OsString {
    const LONGEST: usize = 255 - ".trashinfo".len() - ".10000".len();
    let bytes = name.as_bytes();
    let mut numbered = OsStr::from_bytes(bytes.get(..LONGEST).unwrap_or(bytes)).to_owned();
    if count > 1 {
        numbered.push(format!(".{count}"));
    }
    numbered
}

fn percent_encoded(path: &Path) -> String {
    let encoded = path.as_os_str().as_bytes().iter().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            char::from(*byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_disk_is_where_it_is_mounted() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::open_ambient(temp.path()).unwrap();
        let (top, levels) = top_of_disk(&folder, &folder.stat().unwrap()).unwrap();
        let path = folder.true_path().unwrap();
        assert_eq!(top.true_path().unwrap(), path.ancestors().nth(levels).unwrap());
        // In a changed root the top is that root, wherever the disk is mounted.
        #[cfg(target_os = "linux")]
        assert!(top.stat().unwrap().is_mount_point || top.true_path().unwrap() == std::path::Path::new("/"));
    }

    #[test]
    fn names_stay_short_enough_for_their_notes() {
        assert_eq!(numbered(OsStr::new("a"), 1), "a");
        assert_eq!(numbered(OsStr::new("a"), 2), "a.2");
        let long = "x".repeat(255);
        assert!(numbered(OsStr::new(&long), 9_999).len() + ".trashinfo".len() <= 255);
    }
}
