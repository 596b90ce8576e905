//! A control group for one command of root: the kernel's bound on its processes, which `setrlimit` is not for root.
//!
//! The stage enters a group of its own before it starts anything, so that everything is born inside. Both versions of
//! control groups are known (`man 7 cgroups`). Where none can be made (in most containers) the stage counts instead.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What the names of our groups begin with; the rest is the stage's process id.
const PREFIX: &str = "nod-command-";

/// A group with a limit that this process has entered.
pub(super) struct Group {
    folder: PathBuf,
    /// Where this process was before.
    before: PathBuf,
}

impl Group {
    /// Makes a group that holds so many processes and threads besides this one, and enters it.
    ///
    /// # Errors
    /// The last reason, where no place for a group was one.
    pub(super) fn enter(most: u64) -> io::Result<Self> {
        let membership = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for own in own_folders(&membership, &mounts) {
            // In version 2 a group with processes in it cannot have limited groups below it; beside it is as good.
            for parent in [Some(own.as_path()), own.parent()].into_iter().flatten() {
                remove_left_over(parent);
                let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
                match fs::create_dir(&folder).and_then(|()| enter(&folder, most)) {
                    Ok(()) => return Ok(Self { folder, before: own.clone() }),
                    Err(error) => {
                        fs::remove_dir(&folder).ok();
                        refused = error;
                    }
                }
            }
        }
        Err(refused)
    }
}

impl Drop for Group {
    /// Leaves it, and removes it when nothing is in it.
    fn drop(&mut self) {
        if move_here(&self.before).is_ok() {
            fs::remove_dir(&self.folder).ok();
        }
    }
}

fn enter(folder: &Path, most: u64) -> io::Result<()> {
    write(&folder.join("pids.max"), &most.saturating_add(1).to_string())?;
    move_here(folder)
}

fn move_here(folder: &Path) -> io::Result<()> {
    write(&folder.join("cgroup.procs"), "0")
}

/// Writes to one of the kernel's files. One that is not there is not made.
fn write(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// Removes groups whose stage was killed. One that still has processes stays: the kernel refuses.
fn remove_left_over(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

/// The folders of the groups that this process is in and that may limit processes, from `/proc/self/cgroup` and
/// `/proc/self/mountinfo`.
fn own_folders(membership: &str, mounts: &str) -> Vec<PathBuf> {
    membership
        .lines()
        .filter_map(|line| {
            // "8:pids:/user.slice" in version 1, "0::/user.slice" in version 2.
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_second = controllers.is_empty();
            (is_second || controllers.split(',').any(|controller| controller == "pids")).then_some((is_second, path))
        })
        .filter_map(|(is_second, path)| Some(mount_of(mounts, is_second)?.join(path.trim_start_matches('/'))))
        .collect()
}

/// Where the file system of these groups is mounted.
fn mount_of(mounts: &str, is_second: bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (fields, rest) = line.split_once(" - ")?;
        let mut rest = rest.split(' ');
        let (kind, options) = (rest.next()?, rest.nth(1)?);
        let is_it = match kind {
            "cgroup2" => is_second,
            "cgroup" => !is_second && options.split(',').any(|option| option == "pids"),
            _ => false,
        };
        // Only a mount of the whole: a part of it shows other paths than those of the membership.
        let mut fields = fields.split(' ').skip(3);
        (is_it && fields.next()? == "/").then_some(PathBuf::from(fields.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "29 24 0:24 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                         36 24 0:33 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
                         38 24 0:35 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_group_is_found_in_both_versions() {
        assert_eq!(
            own_folders("8:pids:/\n4:memory:/a\n0::/b\n", FIRST),
            [PathBuf::from("/sys/fs/cgroup/pids/"), PathBuf::from("/sys/fs/cgroup/unified/b")]
        );
        let second = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            own_folders("0::/user.slice/user-0.slice/session-1.scope\n", second),
            [PathBuf::from("/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope")]
        );
        assert_eq!(
            own_folders("0::/\n", "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n"),
            [""; 0].map(PathBuf::from)
        );
    }
}
