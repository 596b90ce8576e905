//! Files that are picked up at once, held still while a command runs: whoever would write into one waits until the command
//! is over.
//!
//! A write through a shared mapping tells nobody anything before the file is closed, and by then git may have obeyed. So a
//! writer is kept from having the file open at all: by a lease, where the kernel gives one. Where it does not (another
//! owner's file, a file system without leases, somebody who was writing already), the file is read again and again.
#![cfg(target_os = "linux")]

use std::ffi::OsString;

use super::harmless;
use super::kept::{Kept, Object, object_of};
use super::lease::{Lease, Leased, TakeLease};
use super::{Guard, GuardedRoot, open_file};
use crate::workspace::system;

/// A protected file: the number of its allowed folder, and its path from there.
pub(super) type Where = (usize, Vec<OsString>);

/// More files than this are not held at a time, and fewer where a process may not have many open.
const MOST_HELD: u64 = 16_384;
/// How many of those that are not held are read in one round.
const READ_AT_ONCE: usize = 64;
/// A thing that has only just appeared may still be written by whoever rightly made it, for so many rounds.
const ROUNDS_TO_FINISH: u8 = 1;

/// What is held, and what is not.
#[derive(Debug, Default)]
pub(super) struct Holds {
    take: Option<TakeLease>,
    held: Vec<Held>,
    loose: Vec<Loose>,
    next: usize,
    most: usize,
}

#[derive(Debug)]
struct Held {
    file: Where,
    object: Object,
    lease: Box<dyn Lease>,
    is_told: bool,
}

/// What came of an attempt.
enum Attempt {
    Held(Held),
    Busy,
    Impossible,
}

/// One that no lease was given for.
#[derive(Debug)]
struct Loose {
    file: Where,
    /// For what has appeared meanwhile: in how many more rounds somebody may have it open for writing.
    rounds: Option<u8>,
}

/// What a round over those that are not held found.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// To be compared.
    pub(super) read: Vec<Where>,
    /// Appeared harmless, and somebody still has them open for writing.
    pub(super) unfinished: Vec<Where>,
}

impl Holds {
    /// Holds what these folders have that is picked up at once and not fixed otherwise: what is outermost first, examples of
    /// hooks last.
    pub(super) fn take(guarded: &[GuardedRoot], take: TakeLease) -> Self {
        let mut files: Vec<Where> = Vec::new();
        for (number, guarded) in guarded.iter().enumerate() {
            let before = guarded.before();
            let picked_up = guarded.before.protected.iter().filter(|(_, kept)| kept.is_held_still());
            // What is read-only by this name may be written by another.
            let paths = picked_up.map(|(path, kept)| (path, kept.has_other_names()));
            let paths = paths.chain(guarded.before.harmless.iter().map(|path| (path, false)));
            let open = paths.filter(|(path, has_other_names)| *has_other_names || !before.is_fixed(path));
            files.extend(open.map(|(path, _)| (number, path.clone())));
        }
        files.sort_by_key(|(number, path)| (is_example(path), path.len(), *number));
        let mut holds = Self { take: Some(take), most: most_held(), ..Self::default() };
        for file in files {
            match holds.hold(guarded, &file) {
                Attempt::Held(held) => holds.held.push(held),
                // An example runs only by another name, and that is seen: with a thousand of them no round would end.
                Attempt::Busy | Attempt::Impossible if is_example(&file.1) => {}
                Attempt::Busy | Attempt::Impossible => holds.loose.push(Loose { file, rounds: None }),
            }
        }
        holds
    }

    /// Whether somebody may be kept waiting.
    pub(super) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether there is anything to look after.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.loose.is_empty()
    }

    /// Those that somebody waits to write and that were not told yet.
    pub(super) fn wanted(&mut self) -> Vec<Where> {
        let wanted = self.held.iter_mut().filter(|held| !held.is_told && held.lease.is_wanted());
        wanted
            .map(|held| {
                held.is_told = true;
                held.file.clone()
            })
            .collect()
    }

    /// Another file has come to lie there, which says the same. `false` when somebody has it open for writing.
    pub(super) fn renew(&mut self, guard: &Guard, file: Where, now: &Kept) -> bool {
        if self.held.iter().any(|held| held.file == file && held.object == now.object()) {
            return true;
        }
        self.held.retain(|held| held.file != file);
        self.loose.retain(|loose| loose.file != file);
        match self.hold(&guard.roots, &file) {
            Attempt::Held(held) => self.held.push(held),
            Attempt::Busy => return false,
            Attempt::Impossible => self.loose.push(Loose { file, rounds: None }),
        }
        true
    }

    /// Something harmless has appeared: it must stay so.
    pub(super) fn add_harmless(&mut self, file: Where, now: &Kept) {
        // Another one may have taken its name.
        self.held.retain(|held| held.file != file || held.object == now.object());
        let is_known = self.held.iter().any(|held| held.file == file) || self.loose.iter().any(|one| one.file == file);
        if self.take.is_some() && !is_known {
            self.loose.push(Loose { file, rounds: Some(ROUNDS_TO_FINISH) });
        }
    }

    /// Whether a round is due at every look: something has only just appeared.
    pub(super) fn is_urgent(&self) -> bool {
        self.loose.iter().any(|loose| loose.rounds.is_some())
    }

    /// Tries again for what is not held, some of it at a time.
    pub(super) fn round(&mut self, guard: &Guard) -> Round {
        let mut found = Round::default();
        for _ in 0..self.loose.len().min(READ_AT_ONCE) {
            if self.next >= self.loose.len() {
                self.next = 0;
            }
            let Some(Loose { file, rounds }) = self.loose.get(self.next) else { break };
            let (file, rounds) = (file.clone(), *rounds);
            found.read.push(file.clone());
            match self.hold(&guard.roots, &file) {
                Attempt::Held(held) => {
                    self.loose.swap_remove(self.next);
                    self.held.push(held);
                    continue;
                }
                Attempt::Busy if rounds == Some(0) => {
                    self.loose.swap_remove(self.next);
                    found.unfinished.push(file);
                    continue;
                }
                Attempt::Busy | Attempt::Impossible => {}
            }
            if let Some(loose) = self.loose.get_mut(self.next) {
                loose.rounds = rounds.map(|rounds| rounds.saturating_sub(1));
            }
            self.next += 1;
        }
        found
    }

    fn hold(&self, guarded: &[GuardedRoot], file: &Where) -> Attempt {
        let (number, path) = file;
        let Some(take) = self.take.filter(|_| self.held.len() < self.most) else { return Attempt::Impossible };
        let opened = guarded.get(*number).and_then(|guarded| open_file(guarded.root.folder(), path));
        let Some((opened, stat)) =
            opened.and_then(|opened| system::stat_handle(&opened).ok().map(|stat| (opened, stat)))
        else {
            return Attempt::Impossible;
        };
        match take(opened) {
            Leased::Granted(lease) => {
                Attempt::Held(Held { file: file.clone(), object: object_of(&stat), lease, is_told: false })
            }
            Leased::Busy => Attempt::Busy,
            Leased::Impossible => Attempt::Impossible,
        }
    }
}

/// How many of the protected files are neither held nor counted as examples, where nothing else keeps writers from them.
pub(super) fn left_over(guarded: &[GuardedRoot]) -> u64 {
    let all = guarded.iter().flat_map(|guarded| guarded.before.protected.iter());
    let wanted = all.filter(|(path, kept)| kept.is_held_still() && !is_example(path)).count();
    wanted.saturating_sub(most_held()) as u64
}

pub(super) fn is_example(path: &[OsString]) -> bool {
    path.last().is_some_and(|name| harmless::is_example(name))
}

/// A quarter of what this process may have open: several commands may run, and the rest of it needs some too.
fn most_held() -> usize {
    let may_open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(MOST_HELD.min(may_open / 4)).unwrap_or(0)
}
