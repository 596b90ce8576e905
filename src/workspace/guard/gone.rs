//! Protected files that are gone while a command runs: git and editors do without them from that moment.
//!
//! Nobody is told that a name went, so they are looked for. Who replaces a file may take it away first, and who removes a
//! whole folder begins with one of its files: only what stays away is judged.
#![cfg(target_os = "linux")]

use std::ffi::OsString;

use super::hold::{Where, is_example};
use super::kept::{Content, descend};
use super::name::PickedUp;
use super::{Guard, GuardedRoot};

/// How many are looked for in one look.
const LOOKED_FOR_AT_ONCE: usize = 64;
/// How long one must be away, in nanoseconds.
const AWAY_NS: i128 = 500_000_000;

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Gone {
    all: Vec<Where>,
    next: usize,
    /// Those that are away, each with when that was seen first.
    away: Vec<(Where, i128)>,
}

impl Gone {
    /// Looks for what these folders have that is picked up at once and could be removed.
    pub(super) fn new(guarded: &[GuardedRoot]) -> Self {
        let mut all = Vec::new();
        for (number, guarded) in guarded.iter().enumerate() {
            let before = guarded.before();
            let is_one = |content: &Content| matches!(content, Content::File(_) | Content::Link(_));
            let picked_up = guarded.before.protected.iter().filter(|(path, kept)| {
                kept.when == PickedUp::AtOnce && is_one(&kept.content) && !is_example(path) && !before.is_fixed(path)
            });
            all.extend(picked_up.map(|(path, _)| (number, path.clone())));
        }
        Self { all, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Looks for some of them; gives those that have been away for long enough, each once.
    pub(super) fn look(&mut self, guard: &Guard, now_ns: i128) -> Vec<Where> {
        self.away.retain(|(file, _)| !is_there(guard, file));
        for _ in 0..self.all.len().min(LOOKED_FOR_AT_ONCE) {
            self.next = (self.next + 1) % self.all.len();
            let Some(file) = self.all.get(self.next) else { break };
            if !self.away.iter().any(|(known, _)| known == file) && !is_there(guard, file) {
                self.away.push((file.clone(), now_ns));
            }
        }
        let is_long = |since: i128| now_ns - since >= AWAY_NS;
        let (long, short) = std::mem::take(&mut self.away).into_iter().partition(|(_, since)| is_long(*since));
        self.away = short;
        let long: Vec<(Where, i128)> = long;
        self.all.retain(|file| !long.iter().any(|(gone, _)| gone == file));
        long.into_iter().map(|(file, _)| file).collect()
    }
}

fn is_there(guard: &Guard, (number, path): &(usize, Vec<OsString>)) -> bool {
    let Some((name, parents)) = path.split_last() else { return true };
    let folder = guard.roots.get(*number).and_then(|guarded| descend(guarded.root.folder(), parents));
    folder.is_some_and(|folder| folder.stat_of(name).is_ok())
}
