//! Contents under their hashes: a private folder that only this program looks into.
//!
//! A content is written whole and durably under another name first, so that under its hash there is all of it or nothing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::JournalError;

/// How much is read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Of a disk this much stays free: the change itself and the database need room too.
const SPARE_BYTES: u64 = 8 * 1024 * 1024;

/// The contents that are kept. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Images {
    folder: Arc<Path>,
    /// Gone with the last clone, where nothing is to stay.
    _passing: Option<Arc<TempDir>>,
}

/// A content that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// SHA-256, hex: also its name.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}

impl Images {
    /// The contents in this folder; it is made, and closed to others, where that is needed.
    ///
    /// # Errors
    /// When it cannot be made, or is no folder of its own.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if !fs::symlink_metadata(folder)?.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "the folder of the journal is no folder"));
        }
        #[cfg(unix)]
        fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Self { folder: folder.into(), _passing: None })
    }

    /// The contents in this folder, for reading alone: nothing is made.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.into(), _passing: None }
    }

    /// Contents that go with this program.
    ///
    /// # Errors
    /// When there is no place for them.
    pub fn passing() -> io::Result<Self> {
        let folder = TempDir::with_prefix("nod-undo-")?;
        Ok(Self { folder: folder.path().into(), _passing: Some(Arc::new(folder)) })
    }

    /// Keeps a content. It is on the disk when this returns.
    ///
    /// # Errors
    /// `TooLarge` past `limit_bytes`; `Io` when the disk is full or fails. Nothing is kept then.
    pub fn keep(&self, source: &mut dyn Read, limit_bytes: u64) -> Result<Image, JournalError> {
        let mut file = tempfile::Builder::new().prefix("new-").tempfile_in(&*self.folder)?;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        let mut bytes = 0_u64;
        loop {
            let count = match source.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            bytes += count as u64;
            if bytes > limit_bytes {
                return Err(JournalError::TooLarge { limit_bytes });
            }
            let read = piece.get(..count).unwrap_or_default();
            hasher.update(read);
            file.write_all(read)?;
        }
        let image = Image { hash: hex::encode(hasher.finalize()), bytes };
        let path = self.path(&image.hash)?;
        // What is there may have been damaged since: then the right bytes, which are at hand, take its place.
        if fs::metadata(&path).is_ok_and(|there| there.len() == bytes) && self.is_whole(&image.hash) {
            return Ok(image);
        }
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|failed| failed.error)?;
        self.sync()?;
        Ok(image)
    }

    /// Opens a content. Reading fails at its end if it is not what was kept.
    ///
    /// # Errors
    /// `Gone` when it is not there.
    pub fn open_image(&self, hash: &str) -> Result<impl Read + use<>, JournalError> {
        match File::open(self.path(hash)?) {
            Ok(file) => Ok(Verified { file, hasher: Some(Sha256::new()), hash: hash.to_owned() }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(JournalError::Gone),
            Err(error) => Err(error.into()),
        }
    }

    /// The whole of a content.
    ///
    /// # Errors
    /// `Gone`, `Damaged`, `TooLarge` past `limit_bytes`, `Io`.
    pub fn read(&self, hash: &str, limit_bytes: u64) -> Result<Vec<u8>, JournalError> {
        let mut bytes = Vec::new();
        let mut reader = self.open_image(hash)?.take(limit_bytes.saturating_add(1));
        reader.read_to_end(&mut bytes).map_err(|error| {
            if error.kind() == ErrorKind::InvalidData { JournalError::Damaged } else { JournalError::Io(error) }
        })?;
        if bytes.len() as u64 > limit_bytes { Err(JournalError::TooLarge { limit_bytes }) } else { Ok(bytes) }
    }

    fn is_whole(&self, hash: &str) -> bool {
        self.open_image(hash).is_ok_and(|mut image| io::copy(&mut image, &mut io::sink()).is_ok())
    }

    /// Whether a content is there.
    pub fn has(&self, hash: &str) -> bool {
        self.path(hash).is_ok_and(|path| path.exists())
    }

    /// Every content, by its hash, with its size in bytes; and what a crash left half-written.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn all(&self) -> io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&*self.folder)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, entry.metadata().map_or(0, |it| it.len())));
            }
        }
        Ok(found)
    }

    /// Removes a content, or what was half-written, by its name.
    ///
    /// # Errors
    /// When it cannot be removed; one that is gone already is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        if name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(ErrorKind::InvalidInput.into());
        }
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether so many bytes more fit on the disk; yes where the system does not say.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.free_bytes().is_none_or(|free| free >= bytes.saturating_add(SPARE_BYTES))
    }

    #[cfg(unix)]
    fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&*self.folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the same signature on every system")]
    const fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn path(&self, hash: &str) -> Result<PathBuf, JournalError> {
        // A hash comes back from the database: it must not lead anywhere else.
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { Ok(self.folder.join(hash)) } else { Err(JournalError::Damaged) }
    }

    #[cfg(unix)]
    fn sync(&self) -> io::Result<()> {
        File::open(&*self.folder)?.sync_all()
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the same signature on every system")]
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a content and holds it against its hash at the end.
struct Verified {
    file: File,
    hasher: Option<Sha256>,
    hash: String,
}

impl Read for Verified {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let Some(hasher) = &mut self.hasher else { return Ok(count) };
        hasher.update(buffer.get(..count).unwrap_or_default());
        if count == 0 && !buffer.is_empty() {
            let found = self.hasher.take().map(|hasher| hex::encode(hasher.finalize()));
            if found.as_deref() != Some(self.hash.as_str()) {
                return Err(io::Error::new(ErrorKind::InvalidData, "what was kept is damaged"));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images() -> (TempDir, Images) {
        let temp = tempfile::tempdir().unwrap();
        let images = Images::open(&temp.path().join("undo")).unwrap();
        (temp, images)
    }

    #[test]
    fn a_content_comes_back_as_it_was_and_is_kept_once() {
        let (_temp, images) = images();
        let image = images.keep(&mut &b"hello"[..], 5).unwrap();
        assert_eq!(image.hash, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assert_eq!(images.keep(&mut &b"hello"[..], 5).unwrap(), image);
        assert_eq!(images.read(&image.hash, 5).unwrap(), b"hello");
        assert_eq!(images.all().unwrap(), [(image.hash, 5)]);
    }

    #[test]
    fn what_is_too_large_leaves_nothing() {
        let (_temp, images) = images();
        assert!(matches!(images.keep(&mut &b"hello"[..], 4), Err(JournalError::TooLarge { limit_bytes: 4 })));
        assert_eq!(images.all().unwrap(), []);
    }

    #[test]
    fn a_damaged_content_is_not_given_out() {
        let (temp, images) = images();
        let image = images.keep(&mut &b"hello"[..], 5).unwrap();
        fs::write(temp.path().join("undo").join(&image.hash), "jello").unwrap();
        assert!(matches!(images.read(&image.hash, 5), Err(JournalError::Damaged)));
        // The right bytes take its place when they are kept again.
        images.keep(&mut &b"hello"[..], 5).unwrap();
        assert_eq!(images.read(&image.hash, 5).unwrap(), b"hello");
        assert!(matches!(images.read("../../secret", 5), Err(JournalError::Damaged)));
        assert!(matches!(images.read(&"0".repeat(64), 5), Err(JournalError::Gone)));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_person_can_look_into_it() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (temp, images) = images();
        let folder = temp.path().join("undo");
        let image = images.keep(&mut &b"hello"[..], 5).unwrap();
        assert_eq!(fs::metadata(folder.join(image.hash)).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        Images::open(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink("/", temp.path().join("link")).unwrap();
        assert!(Images::open(&temp.path().join("link")).is_err());
    }
}
