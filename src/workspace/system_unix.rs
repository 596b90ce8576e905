//! The system calls behind `Folder` on Unix. Each takes one name beneath an opened folder and follows no link.
#![cfg(unix)]

use std::fs::File;
use std::io::Result;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::attributes::{AccessList, access_list, clear_access, copy_notes, give_access};
use super::folder::{Hold, Privacy};
use super::{Identity, Stat};
use crate::policy::TargetKind;

#[cfg(target_os = "linux")]
pub(super) fn stat_handle(handle: impl AsFd) -> Result<Stat> {
    stat_at(handle, Path::new(""), AtFlags::EMPTY_PATH)
}

#[cfg(target_os = "linux")]
pub(super) fn stat_name(dir: &Dir, name: &Path) -> Result<Stat> {
    stat_at(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
}

/// A bind mount has the device number of what it shows: only the mount's own number tells it apart.
#[cfg(target_os = "linux")]
fn stat_at(at: impl AsFd, name: &Path, flags: AtFlags) -> Result<Stat> {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};
    let stat = statx(at.as_fd(), name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID)?;
    let mount = if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        // Before Linux 5.8. A name's mount is unknown then; every handle's is found out once it is opened.
        if name.as_os_str().is_empty() { mount_from_fdinfo(at.as_fd()) } else { 0 }
    } else {
        stat.stx_mnt_id
    };
    let mode = u32::from(stat.stx_mode);
    let is_birth_known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born_ns = i128::from(stat.stx_btime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_btime.tv_nsec);
    Ok(Stat {
        kind: kind_of(mode),
        identity: Identity {
            device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            mount,
            links: u64::from(stat.stx_nlink),
            bytes: stat.stx_size,
            modified_ns: i128::from(stat.stx_mtime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_mtime.tv_nsec),
        },
        is_mount_point: stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        mode: mode & 0o7777,
        owner: (stat.stx_uid, stat.stx_gid),
        changed_ns: i128::from(stat.stx_ctime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_ctime.tv_nsec),
        born_ns: if is_birth_known { born_ns } else { 0 },
    })
}

#[cfg(target_os = "linux")]
fn mount_from_fdinfo(handle: std::os::fd::BorrowedFd<'_>) -> u64 {
    use std::os::fd::AsRawFd as _;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd())).unwrap_or_default();
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn stat_handle(handle: impl AsFd) -> Result<Stat> {
    Ok(plain_stat(&rustix::fs::fstat(handle)?))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn stat_name(dir: &Dir, name: &Path) -> Result<Stat> {
    Ok(plain_stat(&rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the widths and signs of these fields differ from system to system"
)]
fn plain_stat(stat: &rustix::fs::Stat) -> Stat {
    let mode = u32::from(stat.st_mode);
    Stat {
        kind: kind_of(mode),
        identity: Identity {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            // One mount is one device here.
            mount: stat.st_dev as u64,
            links: u64::from(stat.st_nlink),
            bytes: stat.st_size as u64,
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        },
        is_mount_point: false,
        mode: mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
        changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
        born_ns: 0,
    }
}

fn kind_of(mode: u32) -> TargetKind {
    match mode & 0o170_000 {
        0o100_000 => TargetKind::File,
        0o040_000 => TargetKind::Folder,
        0o120_000 => TargetKind::Link,
        _ => TargetKind::Special,
    }
}

#[cfg(target_os = "linux")]
pub(super) fn path_of_handle(handle: impl AsFd) -> Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

#[cfg(target_vendor = "apple")]
pub(super) fn path_of_handle(handle: impl AsFd) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(rustix::fs::getpath(handle)?.into_bytes())))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn path_of_handle(_handle: impl AsFd) -> Result<PathBuf> {
    Err(std::io::ErrorKind::Unsupported.into())
}

pub(super) fn open_folder(dir: &Dir, name: &Path) -> Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty());
    // A folder that may be passed through but not listed.
    #[cfg(target_os = "linux")]
    let opened = match opened {
        Err(Errno::ACCESS) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(dir, name, flags, Mode::empty())
        }
        other => other,
    };
    Ok(as_dir(opened?))
}

pub(super) fn open_above(dir: &Dir) -> Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(as_dir(rustix::fs::openat(dir, "..", flags, Mode::empty())?))
}

/// Non-blocking, so that a pipe that was put there meanwhile cannot hang the program.
pub(super) fn open_file(dir: &Dir, name: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?))
}

pub(super) fn create_folder(dir: &Dir, name: &Path, privacy: Privacy) -> Result<()> {
    let mode = match privacy {
        Privacy::Owner => 0o700,
        Privacy::Umask => 0o777,
    };
    Ok(rustix::fs::mkdirat(dir, name, Mode::from_bits_truncate(mode))?)
}

pub(super) fn create_file(dir: &Dir, name: &Path, privacy: Privacy) -> Result<File> {
    let mode = match privacy {
        Privacy::Owner => 0o600,
        Privacy::Umask => 0o666,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(dir, name, flags, Mode::from_bits_truncate(mode))?))
}

pub(super) fn rename(from: &Dir, name: &Path, into: &Dir, new_name: &Path) -> Result<()> {
    Ok(rustix::fs::renameat(from, name, into, new_name)?)
}

pub(super) fn rename_new(from: &Dir, name: &Path, into: &Dir, new_name: &Path) -> Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(from, name, into, new_name, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system or the kernel does not offer it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return Ok(done?),
    }
    // A second name is never made where one is; folders cannot have one and get the check alone.
    match rustix::fs::linkat(from, name, into, new_name, AtFlags::empty()) {
        Ok(()) => Ok(rustix::fs::unlinkat(from, name, AtFlags::empty())?),
        Err(Errno::PERM | Errno::ISDIR | Errno::NOTSUP) => match stat_name(into, new_name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => rename(from, name, into, new_name),
            Ok(_) => Err(Errno::EXIST.into()),
            Err(error) => Err(error),
        },
        Err(error) => Err(error.into()),
    }
}

pub(super) fn exchange(dir: &Dir, name: &Path, other: &Path) -> Result<bool> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(dir, name, dir, other, rustix::fs::RenameFlags::EXCHANGE) {
        // The file system or the kernel does not offer it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return Ok(done.map(|()| true)?),
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    let _unused = (dir, name, other);
    Ok(false)
}

pub(super) fn create_link(dir: &Dir, name: &Path, to: &Path) -> Result<()> {
    Ok(rustix::fs::symlinkat(to, dir, name)?)
}

pub(super) fn may_write(dir: &Dir, name: &Path) -> Result<()> {
    Ok(rustix::fs::accessat(dir, name, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS)?)
}

pub(super) fn may_list(dir: &Dir) -> bool {
    rustix::fs::accessat(dir, ".", rustix::fs::Access::READ_OK, AtFlags::EACCESS).is_ok()
}

/// Whether this user may go through a folder, or execute a file, wherever links lead.
pub(super) fn may_pass(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// A path as it is written in a file.
pub(super) fn path_from(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Opens a file or folder and takes the hold on it, without waiting.
pub(super) fn hold(dir: &Dir, name: &Path, hold: Hold) -> Result<File> {
    use rustix::fs::FlockOperation;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let operation = match hold {
        Hold::Shared => FlockOperation::NonBlockingLockShared,
        Hold::Alone => FlockOperation::NonBlockingLockExclusive,
    };
    rustix::fs::flock(&opened, operation)?;
    Ok(File::from(opened))
}

/// Gives a hold up, also where the file is open in a process that is just being started.
pub(super) fn let_go(held: &File) {
    // What cannot be given up ends with the file.
    rustix::fs::flock(held, rustix::fs::FlockOperation::Unlock).ok();
}

pub(super) fn sync_folder(dir: &Dir) -> Result<()> {
    Ok(rustix::fs::fsync(dir)?)
}

/// The permission bits of what is opened, with the owning group's own rights where an access list's mask stands.
pub(super) fn own_bits(handle: impl AsFd, mode: u32) -> u32 {
    access_list(handle).own_bits(mode)
}

/// Gives a new file the permissions, the access list, the person's notes and, as far as the system allows, the owner of the
/// file that it replaces.
pub(super) fn take_over(file: &File, old: &Stat, replaced: &File) -> Result<()> {
    use rustix::fs::{Gid, Uid, fchmod, fchown};
    let new = stat_handle(file)?;
    let mut access = access_list(replaced);
    // Whoever runs it next must not get rights that nobody nodded to.
    let mut mode = access.own_bits(old.mode & 0o1777);
    if new.owner != old.owner {
        let (user, group) = old.owner;
        let group_kept = fchown(file, None, Some(Gid::from_raw(group))).is_ok();
        if !group_kept {
            // Another group than the one that was meant gets no more than everybody.
            mode &= !0o070 | ((mode & 0o007) << 3);
            access = AccessList::None;
        }
        // Only root can do this; for everybody else the new file is theirs, as with any editor that writes this way.
        fchown(file, Some(Uid::from_raw(user)), None).ok();
    }
    clear_access(file)?;
    fchmod(file, Mode::from_bits_truncate(mode))?;
    give_access(&access, file);
    copy_notes(replaced, file);
    Ok(())
}

/// Sets the permission bits.
pub(super) fn set_mode(file: &File, mode: u32) -> Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_bits_truncate(mode))?)
}

/// Sets the permission bits of a folder that may have been opened without the right to list it, and opens it with that.
pub(super) fn open_up(dir: &Dir, mode: u32) -> Result<Dir> {
    let mode = Mode::from_bits_truncate(mode);
    // A handle without any right takes no permissions itself; what it stands for is reached by its number.
    #[cfg(target_os = "linux")]
    rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd()), mode)?;
    #[cfg(not(target_os = "linux"))]
    rustix::fs::fchmod(dir, mode)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(as_dir(rustix::fs::openat(dir, ".", flags, Mode::empty())?))
}

/// Opens an absolute path for reading without touching what is there before it is known to be a file or a folder.
#[cfg(target_os = "linux")]
pub(super) fn open_outside(path: &Path) -> Result<(OwnedFd, Stat)> {
    use std::os::fd::AsRawFd as _;
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let stat = stat_handle(&handle)?;
    match stat.kind {
        TargetKind::File | TargetKind::Folder => {}
        TargetKind::Missing | TargetKind::Link | TargetKind::Special => return Ok((handle, stat)),
    }
    // The same object through its handle: nothing is looked up again.
    let again = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(again, flags, Mode::empty())?;
    let opened_stat = stat_handle(&opened)?;
    Ok((opened, opened_stat))
}

#[cfg(target_vendor = "apple")]
pub(super) fn open_outside(path: &Path) -> Result<(OwnedFd, Stat)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = stat_handle(&opened)?;
    Ok((opened, stat))
}

pub(super) fn as_dir(handle: OwnedFd) -> Dir {
    Dir::from_std_file(File::from(handle))
}
