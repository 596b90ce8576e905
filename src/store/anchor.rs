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
const PURPOSE: &str = "nod audit anchor 1";

/// A line of the audit that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) seq: u64,
    pub(super) hash: String,
}

/// What the file says; `None` where there is none, or none that Nod wrote with this key.
pub(super) fn read(data_dir: &Path, seal: &SealKey) -> Option<Anchor> {
    let path = data_dir.join(FILE);
    if !place::check_file(&path).ok()? {
        return None;
    }
    let mut text = String::new();
    fs::File::open(&path).ok()?.take(1024).read_to_string(&mut text).ok()?;
    let mut parts = text.split_whitespace();
    let (seq, hash, code) = (parts.next()?, parts.next()?, parts.next()?);
    let is_ours = seal.fits(&[PURPOSE, seq, hash], code);
    is_ours.then(|| Anchor { seq: seq.parse().unwrap_or(u64::MAX), hash: hash.to_owned() })
}

/// Writes the end of the audit down, whole or not at all.
///
/// # Errors
/// `ReadOnly`, `Full`, `Io`.
pub(super) fn write(data_dir: &Path, seal: &SealKey, anchor: &Anchor) -> Result<(), StoreError> {
    let seq = anchor.seq.to_string();
    let code = seal.code(&[PURPOSE, &seq, &anchor.hash])?;
    let (path, half) = (data_dir.join(FILE), data_dir.join(format!("{FILE}.new")));
    let write = || -> std::io::Result<()> {
        let mut file = place::private_file(&half)?;
        file.set_len(0)?;
        file.write_all(format!("{seq} {} {code}\n", anchor.hash).as_bytes())?;
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
        let anchor = Anchor { seq: 7, hash: "ab".into() };
        write(folder.path(), &key, &anchor).unwrap();
        assert_eq!(read(folder.path(), &key), Some(anchor));
        assert_eq!(read(folder.path(), &other), None);
        fs::write(folder.path().join(FILE), "8 ab cd").unwrap();
        assert_eq!(read(folder.path(), &key), None);
    }
}
