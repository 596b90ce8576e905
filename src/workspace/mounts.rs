//! Where something is mounted, as far as the system says.

use std::path::Path;

/// Whether something is mounted anywhere below the folder.
#[cfg(target_os = "linux")]
pub(super) fn any_below(folder: &Path) -> bool {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    mount_points(&table).iter().any(|point| point != folder && point.starts_with(folder))
}

/// What is mounted below these folders and is none of them, outer before inner.
///
/// # Errors
/// When the system does not tell.
#[cfg(target_os = "linux")]
pub fn mounts_below(folders: &[&Path]) -> std::io::Result<Vec<std::path::PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    let is_below = |point: &Path| folders.iter().any(|folder| point != *folder && point.starts_with(folder));
    let mut below: Vec<_> = mount_points(&table)
        .into_iter()
        .filter(|point| is_below(point) && !folders.contains(&point.as_path()))
        .collect();
    below.sort();
    below.dedup();
    Ok(below)
}

/// Elsewhere the system is not asked: its confinement goes by paths, wherever they are mounted.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn mounts_below(_folders: &[&Path]) -> std::io::Result<Vec<std::path::PathBuf>> {
    Ok(Vec::new())
}

/// Elsewhere a mount is another device, and a move to the trash does not go from one device to another.
#[cfg(not(target_os = "linux"))]
pub(super) fn any_below(_folder: &Path) -> bool {
    false
}

/// The fifth field of each line, in which blanks and backslashes are written as octal escapes.
#[cfg(target_os = "linux")]
fn mount_points(table: &[u8]) -> Vec<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(|point| std::ffi::OsString::from_vec(unescape(point)).into()).collect()
}

#[cfg(target_os = "linux")]
fn unescape(mut field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    while let Some((first, rest)) = field.split_first() {
        field = rest;
        let octal = if *first == b'\\' { rest.first_chunk::<3>() } else { None };
        let value = octal.and_then(|digits| {
            digits.iter().try_fold(0_u8, |value, digit| match digit {
                b'0'..=b'7' => value.checked_mul(8)?.checked_add(digit - b'0'),
                _ => None,
            })
        });
        match value {
            Some(value) => {
                bytes.push(value);
                field = rest.get(3..).unwrap_or_default();
            }
            None => bytes.push(*first),
        }
    }
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_are_read() {
        let table = b"36 35 98:0 /mnt1 /my\\040disk/a\\134b rw,noatime master:1 - ext3 /dev/root rw\n\n";
        assert_eq!(mount_points(table), [Path::new("/my disk/a\\b")]);
    }

    #[test]
    fn proc_is_mounted_below_the_root_folder_and_nothing_below_a_new_one() {
        assert!(any_below(Path::new("/")));
        let temp = tempfile::tempdir().unwrap();
        assert!(!any_below(temp.path()));
        assert!(mounts_below(&[Path::new("/")]).unwrap().contains(&"/proc".into()));
        assert!(mounts_below(&[temp.path()]).unwrap().is_empty());
    }
}
