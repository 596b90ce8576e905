//! Which files a command starts, with what they hold now: read before the question, and once more in the last step before it
//! runs. In tier A what was read then of those that it starts first stands in their place for the command. What is swapped
//! elsewhere in the moment between that look and the start of the shell is not noticed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::ir::{StartMoment, Started, StartedFile};
use crate::policy::{Language, NamedFile, RelPath, is_taken_for_plain, started_files};
use crate::workspace::{Purpose, Root, Target, resolve};

/// The largest file whose content is bound, and the most of all of one command, in bytes.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The largest script that is read for what it starts in its turn: as much as a command line that is taken apart.
const SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// Where the system, or its package manager, keeps programs.
const SYSTEM_FOLDERS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/run/current-system/sw/bin",
    "/snap/bin",
];
/// More files than these are not followed.
const FILES_MAX: usize = 64;

/// The largest file that is held for the command while it runs, in bytes.
const HELD_BYTES_MAX: usize = 1024 * 1024;

/// What is read of a file.
struct Read {
    sha256: String,
    text: Option<String>,
    content: Option<Vec<u8>>,
    mode: u32,
}

/// A file that a command starts first, as it was read.
#[derive(Debug)]
pub(super) struct Held {
    /// Its real path.
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    /// Its permissions, as far as they are for reading and running it.
    pub(super) mode: u32,
}

/// What a command line starts that begins in this folder.
pub(super) fn started(command: &str, cwd: &Target, roots: &[Root]) -> Started {
    look(command, cwd, roots).0
}

/// The same, with the content of what it starts first.
pub(super) fn look(command: &str, cwd: &Target, roots: &[Root]) -> (Started, Vec<Held>) {
    let mut look = Look {
        cwd,
        roots,
        files: Vec::new(),
        held: Vec::new(),
        seen: Vec::new(),
        bytes_left: BYTES_MAX,
        scripts: VecDeque::new(),
    };
    let mut is_complete = true;
    let mut writes = false;
    look.scripts.push_back(Script { text: command.to_owned(), folder: Some(String::new()), is_first: true });
    while let Some(Script { text, folder, is_first }) = look.scripts.pop_front() {
        let named = started_files(&text, folder.as_deref());
        is_complete &= named.is_complete;
        writes |= named.writes;
        for file in named.files {
            let is_first = is_first && file.is_first;
            is_complete &= look.take(NamedFile { is_first, ..file });
        }
    }
    let Look { mut files, mut held, .. } = look;
    for file in &mut files {
        match file.moment {
            StartMoment::First if writes => file.moment = StartMoment::FirstBesideWriting,
            StartMoment::First | StartMoment::FirstBesideWriting | StartMoment::Later => {}
        }
    }
    let is_held =
        |path: &Path| files.iter().any(|file| Path::new(&file.path) == path && file.moment != StartMoment::Later);
    held.retain(|held| is_held(&held.path));
    // A script that is written while it runs is not the one that was read.
    is_complete &= !writes || files.is_empty();
    is_complete = is_complete && !finds_programs_in(roots);
    (Started { files, is_complete }, held)
}

/// A text that is still to be read.
struct Script {
    text: String,
    /// In which it starts.
    folder: Option<String>,
    is_first: bool,
}

struct Look<'look> {
    cwd: &'look Target,
    roots: &'look [Root],
    files: Vec<StartedFile>,
    held: Vec<Held>,
    /// What was looked at: a script starts something else in another folder.
    seen: Vec<(PathBuf, NamedFile)>,
    bytes_left: u64,
    scripts: VecDeque<Script>,
}

impl Look<'_> {
    /// Reads a file that is named. Says whether all is known of it.
    fn take(&mut self, named: NamedFile) -> bool {
        let Some(path) = self.place(&named.path) else { return false };
        let entry = (path, named);
        if self.seen.contains(&entry) {
            return entry.1.language != Language::Other;
        }
        if self.seen.len() >= FILES_MAX {
            return false;
        }
        self.seen.push(entry.clone());
        let (path, named) = entry;
        let Some((root, relative)) = self.below(&path) else { return false };
        let target = resolve(root, &relative, Purpose::Read).ok();
        let read = target.as_ref().and_then(|target| Some((self.read(target)?, target.resolved() == path)));
        let (sha256, script, content) = match read {
            // Over a link the path may lead elsewhere, whatever stands where it leads now.
            Some((Read { sha256, text, content, mode }, is_direct)) => {
                (Some(sha256), text, content.filter(|_| is_direct).map(|content| (content, mode)))
            }
            None if named.is_named => (None, None, None),
            None => return false,
        };
        let is_known = sha256.is_some();
        let moment = match &content {
            Some(_) if named.is_first && named.is_named => StartMoment::First,
            Some(_) | None => StartMoment::Later,
        };
        let file = StartedFile { path: path.display().to_string(), sha256, moment };
        match self.files.iter_mut().find(|other| other.path == file.path) {
            Some(known) if known.sha256 == file.sha256 => {
                if file.moment == StartMoment::Later {
                    known.moment = StartMoment::Later;
                }
            }
            Some(_) | None => {
                if let (StartMoment::First, Some((content, mode))) = (file.moment, content) {
                    self.held.push(Held { path: path.clone(), content, mode });
                }
                self.files.push(file);
            }
        }
        let is_shell = match named.language {
            Language::Shell => true,
            Language::ByFirstLine => script.as_deref().is_some_and(is_for_shell),
            Language::Other => false,
        };
        match script.filter(|_| is_shell) {
            Some(script) if is_known => {
                self.scripts.push_back(Script { text: script, folder: named.folder, is_first: named.is_first });
                true
            }
            Some(_) | None => false,
        }
    }

    /// SHA-256 of a file, its text where it is short enough for a script, and its content where that can be held.
    fn read(&mut self, target: &Target) -> Option<Read> {
        let most = FILE_BYTES_MAX.min(self.bytes_left);
        let mut reader = target.reader().ok()?.take(most + 1);
        let (mut hasher, mut text, mut length) = (Sha256::new(), Vec::new(), 0_u64);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = reader.read(&mut buffer).ok()?;
            let part = buffer.get(..count)?;
            if part.is_empty() {
                break;
            }
            hasher.update(part);
            length += count as u64;
            if text.len() <= HELD_BYTES_MAX {
                text.extend_from_slice(part);
            }
        }
        // What is too large was read all the same, as far as that.
        self.bytes_left = self.bytes_left.saturating_sub(length);
        if length > most {
            return None;
        }
        let content = (text.len() <= HELD_BYTES_MAX).then_some(text);
        let script = content.as_ref().filter(|content| content.len() <= SCRIPT_BYTES_MAX);
        let text = script.and_then(|content| String::from_utf8(content.clone()).ok());
        Some(Read { sha256: hex::encode(hasher.finalize()), text, content, mode: mode_of(target) })
    }

    /// Where a path leads from the folder in which the command starts; `None` where another way may be taken: behind a link,
    /// `..` leads to one place for `cd` and to another for a program.
    fn place(&self, path: &str) -> Option<PathBuf> {
        let mut place = self.cwd.resolved().to_path_buf();
        for part in Path::new(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    if !std::fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
                        return None;
                    }
                    place.pop();
                }
                Component::RootDir | Component::Prefix(_) | Component::Normal(_) => place.push(part.as_os_str()),
            }
        }
        Some(place)
    }

    /// In the innermost allowed folder that holds it. What lies elsewhere no tool has written.
    fn below(&self, path: &Path) -> Option<(&Root, RelPath)> {
        let inside = self.roots.iter().filter_map(|root| Some((root, path.strip_prefix(root.real_path()).ok()?)));
        let (root, rest) = inside.min_by_key(|(_, rest)| rest.components().count())?;
        let parts: Option<Vec<String>> = rest.iter().map(|part| part.to_str().map(str::to_owned)).collect();
        Some((root, RelPath::from_parts(parts?)?))
    }
}

/// A file's permissions, without those to write.
#[cfg(unix)]
fn mode_of(target: &Target) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let data = target.open_to_keep().ok().and_then(|file| file.metadata().ok());
    data.map_or(0, |data| data.permissions().mode()) & 0o555 | 0o400
}

#[cfg(not(unix))]
const fn mode_of(_target: &Target) -> u32 {
    0o400
}

/// Whether the system, or the shell that could not start it, reads this text as one for a shell of those that are read here.
fn is_for_shell(text: &str) -> bool {
    let Some(interpreter) = text.strip_prefix("#!") else { return !text.contains('\0') };
    let line = interpreter.lines().next().unwrap_or_default();
    matches!(
        line.trim(),
        "/bin/sh"
            | "/bin/bash"
            | "/bin/dash"
            | "/usr/bin/sh"
            | "/usr/bin/bash"
            | "/usr/bin/env bash"
            | "/usr/bin/env sh"
    )
}

/// Whether a program may be found by its name alone in an allowed folder, where a tool may have put it: in a folder of PATH,
/// or at the end of a link in one.
fn finds_programs_in(roots: &[Root]) -> bool {
    let environment = crate::sandbox::environment(Path::new("/"), "");
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str()).unwrap_or_default();
    leads_into(path, roots)
}

fn leads_into(path: &str, roots: &[Root]) -> bool {
    let is_inside = |place: &Path| roots.iter().any(|root| place.starts_with(root.real_path()));
    std::env::split_paths(path).any(|folder| {
        // A link may lead there, as one to the current version of something does.
        let leads_inside = |program: &Path| program.is_symlink() && is_inside(&real_path(program));
        // What the system did not install under a name of its own may run anything: a wrapper, or a second name of a file.
        let is_of_the_system = SYSTEM_FOLDERS.iter().any(|system| folder == Path::new(system));
        let is_another = |program: &Path| {
            !is_of_the_system && program.file_name().and_then(OsStr::to_str).is_some_and(is_taken_for_plain)
        };
        is_inside(&folder)
            || is_inside(&real_path(&folder))
            || programs_in(&folder).any(|program| leads_inside(&program) || is_another(&program))
    })
}

/// What lies in a folder of programs.
fn programs_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Where a folder really lies; what is not there yet, where its name says.
#[expect(clippy::disallowed_methods, reason = "it is compared, never opened")]
fn real_path(folder: &Path) -> PathBuf {
    let real = folder.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    real.map_or_else(|| folder.to_owned(), |(above, real)| real.join(folder.strip_prefix(above).unwrap_or(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_behind_a_link_lies_where_the_link_leads() {
        let place = tempfile::tempdir().unwrap();
        let real = real_path(place.path());
        std::fs::create_dir(real.join("bin")).unwrap();
        std::os::unix::fs::symlink("bin", real.join("link")).unwrap();
        for (name, expected) in [("bin", "bin"), ("link", "bin"), ("link/new", "bin/new"), ("none", "none")] {
            assert_eq!(real_path(&real.join(name)), real.join(expected), "{name}");
        }
    }

    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "files for a test")]
    #[test]
    fn a_program_that_is_a_link_into_an_allowed_folder_is_found_there() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let real = real_path(place.path());
        for folder in ["work/bin", "bin", "plain", "linked", "chain", "wrapper"] {
            std::fs::create_dir_all(real.join(folder)).unwrap();
        }
        std::fs::write(real.join("work/bin/date"), "").unwrap();
        std::fs::write(real.join("plain/tool"), "").unwrap();
        std::fs::write(real.join("wrapper/date"), "").unwrap();
        symlink("../plain/tool", real.join("bin/tool")).unwrap();
        symlink("../work/bin/date", real.join("linked/tool")).unwrap();
        symlink("../linked/tool", real.join("chain/tool")).unwrap();
        let roots = [Root::open(&real.join("work")).unwrap()];
        for (path, expected) in [
            ("plain", false),
            ("bin", false),
            ("none", false),
            ("work/bin", true),
            ("linked", true),
            ("chain", true),
            ("wrapper", true),
        ] {
            let path = real.join(path).display().to_string();
            assert_eq!(leads_into(&format!("/nowhere:{path}"), &roots), expected, "{path}");
        }
    }

    #[test]
    fn a_script_is_for_a_shell_by_its_first_line() {
        for (text, expected) in [
            ("echo a", true),
            ("#!/bin/sh\necho a", true),
            ("#! /bin/bash\n", true),
            ("#!/usr/bin/env bash\n", true),
            ("#!/bin/sh -x\n", false),
            ("#!/usr/bin/env python3\n", false),
            ("#!./own\n", false),
            ("\u{7f}ELF\0", false),
        ] {
            assert_eq!(is_for_shell(text), expected, "{text:?}");
        }
    }
}
