//! The key that rules and the end of the audit are sealed with, so that an edit of the database from outside is noticed.
//!
//! It never lies in the database. Whoever opens the store may bring it from the system's keyring; else it is a private
//! file beside the database. It keeps nobody out who can run programs as the person: it tells what Nod wrote from what
//! Nod did not.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::anchor::{self, Anchor};
use super::{StoreError, place};

/// The key's file in the data folder, where no keyring has it.
const FILE: &str = "seal.key";
/// Bytes of a key.
const BYTES: usize = 32;

/// A key for codes. Shows nothing of itself.
#[derive(Clone)]
pub struct SealKey {
    bytes: [u8; BYTES],
    /// Whether nothing can have been sealed with it before.
    is_new: bool,
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey(…)")
    }
}

impl SealKey {
    /// A key that nobody knows.
    ///
    /// # Errors
    /// `Io` when the system gives no randomness.
    pub fn random() -> Result<Self, StoreError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| StoreError::io("Making a key", Path::new(""), std::io::Error::other(error.to_string())))?;
        Ok(Self { bytes, is_new: true })
    }

    /// A key that was kept elsewhere; `is_new` when nothing can have been sealed with it before.
    pub fn from_bytes(bytes: [u8; BYTES], is_new: bool) -> Self {
        Self { bytes, is_new }
    }

    /// A key that was kept as text; `None` when the text is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let bytes = hex::decode(text.trim()).ok()?.try_into().ok()?;
        Some(Self { bytes, is_new: false })
    }

    /// The key as text, for the one place that keeps it.
    pub fn to_text(&self) -> String {
        hex::encode(self.bytes)
    }

    /// Whether nothing can have been sealed with it before.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The key in a data folder's own file; `None` when there is no such file.
    ///
    /// # Errors
    /// `Untrusted` when the file is a link or no file; `Io`.
    pub fn in_folder(data_dir: &Path) -> Result<Option<Self>, StoreError> {
        let path = file_in(data_dir);
        if !place::check_file(&path)? {
            return Ok(None);
        }
        let mut text = String::new();
        fs::File::open(&path)
            .and_then(|file| file.take(1024).read_to_string(&mut text))
            .map_err(|source| StoreError::io("Reading the key", &path, source))?;
        Ok(Self::from_text(&text))
    }

    /// Keeps the key in the data folder's own file, whole or not at all, for the person alone.
    ///
    /// # Errors
    /// `ReadOnly`, `Full`, `Io`.
    pub fn keep_in_folder(&self, data_dir: &Path) -> Result<(), StoreError> {
        let path = file_in(data_dir);
        let half: PathBuf = data_dir.join(format!("{FILE}.new"));
        let write = || -> std::io::Result<()> {
            let mut file = place::private_file(&half)?;
            file.set_len(0)?;
            file.write_all(self.to_text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&half, &path)
        };
        write().map_err(|source| StoreError::io("Keeping the key", &path, source))
    }

    /// The code of some texts; in another order, or otherwise divided, they have another one.
    pub(super) fn code(&self, parts: &[&str]) -> Result<String, StoreError> {
        Ok(hex::encode(self.mac(parts)?.finalize().into_bytes()))
    }

    /// Whether a code is that of these texts.
    pub(super) fn fits(&self, parts: &[&str], code: &str) -> bool {
        let (Ok(mac), Ok(code)) = (self.mac(parts), hex::decode(code)) else { return false };
        mac.verify_slice(&code).is_ok()
    }

    fn mac(&self, parts: &[&str]) -> Result<Hmac<Sha256>, StoreError> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.bytes).map_err(|error| {
            StoreError::io("Making a code", Path::new(""), std::io::Error::other(error.to_string()))
        })?;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Ok(mac)
    }
}

/// Where a data folder's own key lies.
pub(super) fn file_in(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// The key of a data folder whose lock is held: from `elsewhere`, else from its file, else a new one in that file.
pub(super) fn of_folder(data_dir: &Path, elsewhere: impl FnOnce() -> Option<SealKey>) -> Result<SealKey, StoreError> {
    if let Some(key) = elsewhere() {
        if key.is_new() {
            anchor::write(data_dir, &key, &Anchor::of_nothing())?;
        }
        return Ok(key);
    }
    if let Some(key) = SealKey::in_folder(data_dir)? {
        return Ok(key);
    }
    let key = SealKey::random()?;
    // Before the key: whatever happens now, a key that was there before has an anchor beside it.
    anchor::write(data_dir, &key, &Anchor::of_nothing())?;
    key.keep_in_folder(data_dir)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_fits_its_own_texts_and_key_alone() {
        let (key, other) = (SealKey::random().unwrap(), SealKey::random().unwrap());
        let code = key.code(&["ab", "c"]).unwrap();
        assert!(key.fits(&["ab", "c"], &code));
        for parts in [&["a", "bc"][..], &["abc"], &["c", "ab"], &["ab", "c", ""]] {
            assert!(!key.fits(parts, &code), "{parts:?}");
        }
        assert!(!other.fits(&["ab", "c"], &code) && !key.fits(&["ab", "c"], "") && !key.fits(&["ab", "c"], "zz"));
        assert!(SealKey::from_text(&key.to_text()).unwrap().fits(&["ab", "c"], &code));
        assert!(!format!("{key:?}").contains(&key.to_text()));
    }

    #[test]
    fn the_file_is_for_the_person_alone_and_half_a_key_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let first = of_folder(folder.path(), || None).unwrap();
        assert!(first.is_new());
        let again = of_folder(folder.path(), || None).unwrap();
        assert_eq!((again.to_text(), again.is_new()), (first.to_text(), false));
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            assert_eq!(fs::metadata(folder.path().join(FILE)).unwrap().mode() & 0o777, 0o600);
        }
        assert!(SealKey::from_text("abcd").is_none() && SealKey::from_text("").is_none());
    }
}
