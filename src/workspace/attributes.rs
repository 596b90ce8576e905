//! What a file has beside its content and its bits: its access list (POSIX ACL) and the attributes that its person gave it.
//! A file that takes another's place gets both; `security.*` and whatever else programs are trusted by it does not.
//!
//! Where there is an access list, the middle bits of the mode are its mask, not the rights of the owning group: taken for
//! those, they would give the group what the list denies it.
#![cfg(unix)]

use std::fs::File;
use std::os::fd::AsFd;

#[cfg(target_os = "linux")]
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// The access list of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AccessList {
    /// It has none, or the system knows of none: the mode says it all.
    None,
    /// As the system stores it.
    There(Vec<u8>),
    /// It cannot be read.
    Unknown,
}

#[cfg(target_os = "linux")]
const ACCESS: &str = "system.posix_acl_access";
/// The longest value, and the longest list of names, that the system keeps.
#[cfg(target_os = "linux")]
const LONGEST: usize = 64 * 1024;
/// The attributes that belong to the person.
#[cfg(target_os = "linux")]
const PERSONS: &str = "user.";

#[cfg(target_os = "linux")]
pub(super) fn access_list(of: impl AsFd) -> AccessList {
    match value_of(&of, ACCESS) {
        Ok(list) => AccessList::There(list),
        Err(Errno::NODATA | Errno::NOTSUP) => AccessList::None,
        Err(_unreadable) => AccessList::Unknown,
    }
}

/// Elsewhere an access list does not stand in the mode.
#[cfg(not(target_os = "linux"))]
pub(super) fn access_list(_of: impl AsFd) -> AccessList {
    AccessList::None
}

impl AccessList {
    /// The permission bits with what the owning group itself may in the middle; where that is not known, the group gets
    /// no more than everybody.
    pub(super) fn own_bits(&self, mode: u32) -> u32 {
        let group = match self {
            Self::None => return mode,
            Self::There(list) => group_entry(list).map_or(mode & 0o007, |rights| (mode >> 3) & rights & 0o007),
            Self::Unknown => mode & 0o007 & (mode >> 3),
        };
        (mode & !0o070) | (group << 3)
    }
}

/// What the owning group's own entry allows: a list is a version and entries of a kind, rights and an id each.
fn group_entry(list: &[u8]) -> Option<u32> {
    const OWNING_GROUP: u16 = 0x04;
    let (entries, _) = list.get(4..)?.as_chunks::<8>();
    entries.iter().find_map(|[kind_low, kind_high, low, high, ..]| {
        let kind = u16::from_le_bytes([*kind_low, *kind_high]);
        (kind == OWNING_GROUP).then(|| u32::from(u16::from_le_bytes([*low, *high])))
    })
}

/// Takes away the access list that a folder gives to every new file in it: the file that it stands for had another, or none.
#[cfg(target_os = "linux")]
pub(super) fn clear_access(to: &File) -> std::io::Result<()> {
    match fremovexattr(to, ACCESS) {
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature on every system")]
pub(super) fn clear_access(_to: &File) -> std::io::Result<()> {
    Ok(())
}

/// Gives a file an access list. Where that cannot be, it keeps its bits, which are narrower.
#[cfg(target_os = "linux")]
pub(super) fn give_access(list: &AccessList, to: &File) {
    if let AccessList::There(list) = list
        && let Err(error) = fsetxattr(to, ACCESS, list, XattrFlags::empty())
    {
        tracing::warn!(%error, "a file's access list could not be kept; its group has no more rights than before");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn give_access(_list: &AccessList, _to: &File) {}

/// Copies what the person noted at a file. Nothing hangs on it: what cannot be copied is left out.
#[cfg(target_os = "linux")]
pub(super) fn copy_notes(from: &File, to: &File) {
    let mut names = vec![0; LONGEST];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else { return };
    names.truncate(length);
    for name in names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok()) {
        if name.starts_with(PERSONS)
            && let Ok(value) = value_of(from, name)
            && let Err(error) = fsetxattr(to, name, &value, XattrFlags::empty())
        {
            tracing::info!(%error, "a note at a file could not be kept");
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn copy_notes(_from: &File, _to: &File) {}

#[cfg(target_os = "linux")]
fn value_of(of: impl AsFd, name: &str) -> Result<Vec<u8>, Errno> {
    use std::os::fd::AsRawFd as _;
    let mut value = vec![0; LONGEST];
    let length = match fgetxattr(&of, name, value.as_mut_slice()) {
        // A handle without any right: what it stands for is reached by its number.
        Err(Errno::BADF) => {
            let by_number = format!("/proc/self/fd/{}", of.as_fd().as_raw_fd());
            rustix::fs::getxattr(by_number, name, value.as_mut_slice())?
        }
        other => other?,
    };
    value.truncate(length);
    Ok(value)
}

#[cfg(all(test, target_os = "linux"))]
pub(super) mod tests {
    use super::*;

    /// A list as the system stores it: kind, rights and id of each entry.
    pub(in crate::workspace) fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let bytes = entries.iter().flat_map(|(kind, rights, id)| {
            [&kind.to_le_bytes()[..], &rights.to_le_bytes()[..], &id.to_le_bytes()[..]].concat()
        });
        2_u32.to_le_bytes().into_iter().chain(bytes).collect()
    }

    /// One other person may read and write, the owning group may nothing, and the mask stands where the group's bits stood.
    pub(in crate::workspace) fn closed_to_its_group() -> Vec<u8> {
        const NOBODY: u32 = u32::MAX;
        list(&[(0x01, 6, NOBODY), (0x02, 6, 1000), (0x04, 0, NOBODY), (0x10, 6, NOBODY), (0x20, 0, NOBODY)])
    }

    #[test]
    fn where_there_is_a_list_the_group_has_what_its_entry_and_the_mask_both_allow() {
        let of_group = |rights| AccessList::There(list(&[(0x01, 7, 0), (0x04, rights, 0), (0x10, 7, 0), (0x20, 0, 0)]));
        for (access, mode, own) in [
            (AccessList::None, 0o660, 0o660),
            (AccessList::There(closed_to_its_group()), 0o660, 0o600),
            (of_group(4), 0o660, 0o640),
            (of_group(7), 0o650, 0o650),
            (AccessList::There(Vec::new()), 0o664, 0o644),
            (AccessList::Unknown, 0o664, 0o644),
            (AccessList::Unknown, 0o617, 0o617),
            (AccessList::Unknown, 0o770, 0o700),
        ] {
            assert_eq!(access.own_bits(mode), own, "{access:?} {mode:o}");
        }
    }
}
