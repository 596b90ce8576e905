//! Where the audit ended when the store was last opened or closed, in a file beside the database. A database that is whole in
//! itself but older than this, put back from a copy, does not lead there.
//!
//! It tells of a database that was put back alone. Who puts the whole folder back puts this back too.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use super::seal::SealKey;
use super::{StoreError, place};

/// The file in the data folder.
const FILE: &str = "audit.anchor";
/// What its code is for.
const PURPOSE: &str = "nod audit anchor 2";
/// What it was for before the format was written down too.
const FORMER_PURPOSE: &str = "nod audit anchor 1";

/// A line of the audit that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) seq: u64,
    pub(super) hash: String,
    /// The database's format then; 0 where that was not written down. It never becomes older.
    pub(super) format: i64,
}

impl Anchor {
    /// Of a record that has no line yet.
    pub(super) const fn of_nothing() -> Self {
        Self { seq: 0, hash: String::new(), format: 0 }
    }

    pub(super) const fn is_of_nothing(&self) -> bool {
        self.seq == 0 && self.hash.is_empty()
    }
}

/// What the file says; `None` where there is none, or none that Nod wrote with this key.
pub(super) fn read(data_dir: &Path, seal: &SealKey) -> Option<Anchor> {
    let path = data_dir.join(FILE);
    if !place::check_file(&path).ok()? {
        return None;
    }
    let mut text = String::new();
    fs::File::open(&path).ok()?.take(1024).read_to_string(&mut text).ok()?;
    let parts: Vec<&str> = text.trim_end().split(' ').collect();
    let (seq, hash, format) = match parts.as_slice() {
        [seq, hash, format, code] if seal.fits(&[PURPOSE, seq, hash, format], code) => (*seq, *hash, *format),
        [seq, hash, code] if seal.fits(&[FORMER_PURPOSE, seq, hash], code) => (*seq, *hash, "0"),
        _ => return None,
    };
    let (seq, format) = (seq.parse().unwrap_or(u64::MAX), format.parse().unwrap_or(i64::MAX));
    Some(Anchor { seq, hash: hash.to_owned(), format })
}

/// Writes the end of the audit down, whole or not at all.
///
/// # Errors
/// `ReadOnly`, `Full`, `Io`.
pub(super) fn write(data_dir: &Path, seal: &SealKey, anchor: &Anchor) -> Result<(), StoreError> {
    let (seq, format) = (anchor.seq.to_string(), anchor.format.to_string());
    let code = seal.code(&[PURPOSE, &seq, &anchor.hash, &format])?;
    let (path, half) = (data_dir.join(FILE), data_dir.join(format!("{FILE}.new")));
    let write = || -> std::io::Result<()> {
        let mut file = place::private_file(&half)?;
        file.set_len(0)?;
        file.write_all(format!("{seq} {} {format} {code}\n", anchor.hash).as_bytes())?;
        file.sync_all()?;
        fs::rename(&half, &path)
    };
    write().map_err(|source| StoreError::io("Writing down where the audit ends", &path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_with_the_same_key_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (key, other) = (SealKey::random().unwrap(), SealKey::random().unwrap());
        assert_eq!(read(folder.path(), &key), None);
        for anchor in [Anchor { seq: 7, hash: "ab".into(), format: 11 }, Anchor::of_nothing()] {
            write(folder.path(), &key, &anchor).unwrap();
            assert_eq!(read(folder.path(), &key), Some(anchor));
        }
        assert_eq!(read(folder.path(), &other), None);
        // One of a Nod that wrote no format yet.
        let former = key.code(&[FORMER_PURPOSE, "7", "ab"]).unwrap();
        fs::write(folder.path().join(FILE), format!("7 ab {former}\n")).unwrap();
        assert_eq!(read(folder.path(), &key), Some(Anchor { seq: 7, hash: "ab".into(), format: 0 }));
        for forged in ["8 ab cd".to_owned(), "7 ab 11 cd".to_owned(), format!("7 ab 11 {former}")] {
            fs::write(folder.path().join(FILE), forged).unwrap();
            assert_eq!(read(folder.path(), &key), None);
        }
    }
}
