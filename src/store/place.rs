//! Where the database lies: its folder, who may read it, the lock of the one writer, copies, and what is set aside.
//!
//! Nothing here is ever deleted but copies that were replaced by newer ones.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::ir::UnixMs;

use super::{Distrust, StoreError, seal};

/// The database's name in the data folder.
const DATABASE: &str = "nod.db";

/// Copies from before a change of format that are kept.
const KEPT_BACKUPS: usize = 3;

/// A data folder that was checked and is ours to write.
#[derive(Debug)]
pub(super) struct Place {
    /// The database.
    pub(super) database: PathBuf,
    /// Held while this process may write.
    pub(super) lock: File,
    /// What others could read or change before, and now cannot.
    pub(super) repaired: Vec<PathBuf>,
}

/// The path of the database in a folder that exists, without any link on the way.
pub(super) fn database_in(data_dir: &Path) -> Result<PathBuf, StoreError> {
    let folder =
        fs::canonicalize(data_dir).map_err(|source| StoreError::io("Opening the data folder", data_dir, source))?;
    Ok(folder.join(DATABASE))
}

/// Makes the folder and an empty file where they are missing, checks both and takes the lock.
pub(super) fn prepare(data_dir: &Path) -> Result<Place, StoreError> {
    make_private_folder(data_dir).map_err(|source| StoreError::io("Making the data folder", data_dir, source))?;
    let database = database_in(data_dir)?;
    let mut repaired = Vec::new();
    if let Some(folder) = database.parent() {
        check_private(folder, 0o700, &mut repaired)?;
    }
    let private = ["", "-wal", "-shm", "-journal", ".lock"].map(|suffix| beside(&database, suffix));
    for file in private.into_iter().chain([seal::file_in(data_dir)]) {
        if check_file(&file)? {
            check_private(&file, 0o600, &mut repaired)?;
        }
    }
    let lock = take_lock(&beside(&database, ".lock"))?;
    // Made here so that it is private from its first byte on; SQLite gives its log the same permissions.
    private_file(&database).map_err(|source| StoreError::io("Making the database", &database, source))?;
    Ok(Place { database, lock, repaired })
}

/// The one writer's lock. The operating system lets go of it when the process ends, however that happens.
fn take_lock(path: &Path) -> Result<File, StoreError> {
    let file = private_file(path).map_err(|source| StoreError::io("Making the lock file", path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(StoreError::io("Locking the data folder", path, source)),
    }
}

/// Whether a file is there; refuses what is not a plain file.
pub(super) fn check_file(path: &Path) -> Result<bool, StoreError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(StoreError::io("Looking at the database", path, source)),
    };
    let problem = if found.is_symlink() {
        Distrust::Link
    } else if found.is_file() {
        return Ok(true);
    } else {
        Distrust::NotAFile
    };
    Err(StoreError::Untrusted { path: path.to_owned(), problem })
}

/// Refuses what belongs to somebody else; takes away what others may do with it.
#[cfg(unix)]
fn check_private(path: &Path, mode: u32, repaired: &mut Vec<PathBuf>) -> Result<(), StoreError> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let found = fs::metadata(path).map_err(|source| StoreError::io("Looking at the database", path, source))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(StoreError::Untrusted { path: path.to_owned(), problem: Distrust::ForeignOwner });
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|source| StoreError::io("Making the database private", path, source))?;
        repaired.push(path.to_owned());
    }
    Ok(())
}

/// Elsewhere the folder of the person's profile is private by itself.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature on every system")]
fn check_private(_path: &Path, _mode: u32, _repaired: &mut Vec<PathBuf>) -> Result<(), StoreError> {
    Ok(())
}

/// Makes a folder, and those above it that are missing, into which only the person can look.
///
/// # Errors
/// When the system does not let it.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Opens a file for writing that only the person may read, empty when it is new.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// `nod.db` → `nod.db<suffix>`.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies the whole database to `nod.db.backup-<format>`, complete or not at all.
pub(super) fn back_up(connection: &Connection, database: &Path, format: i64) -> Result<(), StoreError> {
    copy(connection, &beside(database, &format!(".backup-{format}")))?;
    for old in backups(database).into_iter().skip(KEPT_BACKUPS) {
        // One copy too many does no harm.
        fs::remove_file(old).ok();
    }
    Ok(())
}

/// Copies the whole database to a file, in place of what is there, complete or not at all.
pub(super) fn copy(connection: &Connection, target: &Path) -> Result<(), StoreError> {
    let part = beside(target, ".part");
    let failed = |source| StoreError::io("Copying the database", target, source);
    if part.exists() {
        fs::remove_file(&part).map_err(failed)?;
    }
    private_file(&part).map_err(failed)?;
    connection
        .execute("VACUUM INTO ?1", [part.to_string_lossy()])
        .map_err(|error| StoreError::from(error).at(&part))?;
    File::open(&part).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::rename(&part, target).map_err(failed)
}

/// The copies there are, newest format first.
pub(super) fn backups(database: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let prefix = format!("{name}.backup-");
    let mut found: Vec<(u64, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Moves a damaged database and its log out of the way.
pub(super) fn set_aside(database: &Path, now: UnixMs) -> StoreError {
    let aside = beside(database, &format!(".corrupt-{}", now.0));
    // The log first: alone beside a new database it would be played into that one.
    let log = beside(database, "-wal");
    let log_moved = if log.exists() { fs::rename(&log, beside(&aside, "-wal")) } else { Ok(()) };
    let moved = log_moved.and_then(|()| fs::rename(database, &aside));
    // The log's index holds nothing of its own, and the mark has done its work.
    fs::remove_file(beside(database, "-shm")).ok();
    fs::remove_file(beside(database, ".suspect")).ok();
    match moved {
        Ok(()) => StoreError::Corrupt {
            path: database.to_owned(),
            aside: Some(aside),
            backup: backups(database).into_iter().next(),
        },
        Err(source) => StoreError::io("Setting the damaged database aside", database, source),
    }
}

/// Copies a backup beside the database that it shall replace; gives the copy.
pub(super) fn copy_in(backup: &Path, database: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source: io::Error| {
        if source.kind() == io::ErrorKind::NotFound {
            StoreError::Missing { what: "backup", id: backup.display().to_string() }
        } else {
            StoreError::io("Reading the backup", backup, source)
        }
    };
    let found = fs::canonicalize(backup).map_err(failed)?;
    if found == *database || !fs::metadata(&found).map_err(failed)?.is_file() {
        return Err(StoreError::Untrusted { path: backup.to_owned(), problem: Distrust::NotAFile });
    }
    let part = beside(database, ".restore-part");
    discard(&part);
    let mut copy = private_file(&part).map_err(failed)?;
    copy.set_len(0).map_err(failed)?;
    io::copy(&mut File::open(&found).map_err(failed)?, &mut copy).map_err(failed)?;
    copy.sync_all().map_err(failed)?;
    Ok(part)
}

/// Puts a prepared copy in the database's place; gives where the replaced one lies now, if there was one.
pub(super) fn swap(part: &Path, database: &Path, now: UnixMs) -> Result<Option<PathBuf>, StoreError> {
    let failed = |source| StoreError::io("Restoring the backup", database, source);
    let has_one = fs::metadata(database).is_ok_and(|found| found.len() > 0);
    let aside = beside(database, &format!(".replaced-{}", now.0));
    // The log first: alone beside another database it would be played into that one.
    let log = beside(database, "-wal");
    if fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        fs::rename(&log, beside(&aside, "-wal")).map_err(failed)?;
    }
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(beside(database, suffix)).ok();
    }
    if has_one {
        fs::rename(database, &aside).map_err(failed)?;
    }
    fs::rename(part, database).map_err(failed)?;
    Ok(has_one.then_some(aside))
}

/// Removes a copy that was made here and is of no use any more, with its log.
pub(super) fn discard(part: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(beside(part, suffix)).ok();
    }
}

/// Remembers that SQLite found damage, so that the next start looks closely.
pub(super) fn mark_suspect(database: &Path) {
    if !database.as_os_str().is_empty() {
        private_file(&beside(database, ".suspect")).ok();
    }
}

/// Larger files are only checked after a crash: a check reads the whole file (about 15 ms a megabyte), in bytes.
const ALWAYS_CHECKED_BYTES: u64 = 8 * 1024 * 1024;
/// Larger files are only checked when SQLite has come upon damage, in bytes.
const CHECKED_AFTER_CRASH_BYTES: u64 = 128 * 1024 * 1024;

/// Whether the whole file should be checked before it is used. Ask before a connection is opened.
pub(super) fn needs_check(database: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    let bytes = size(database);
    let was_cut_off = size(&beside(database, "-wal")) > 0;
    bytes > 0
        && (bytes <= ALWAYS_CHECKED_BYTES
            || (was_cut_off && bytes <= CHECKED_AFTER_CRASH_BYTES)
            || beside(database, ".suspect").exists())
}

/// The whole file was checked and is sound.
pub(super) fn clear_suspect(database: &Path) {
    fs::remove_file(beside(database, ".suspect")).ok();
}
