//! What follows when a command has ended, whether Nod lived to see that or looks at its next start: what was moved goes
//! back, what was changed is put back, and which names went is remembered.

use std::ffi::OsString;
use std::path::Path;

use super::lead::{self, Led};
use super::linked::Which;
use super::name::Names;
use super::placeholder::{self, Left};
use super::{GuardReport, GuardedRoot, Revert, Reverted, below, record};

/// When a command had ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// In nanoseconds since 1970; `None` where nobody knows.
    pub(super) at_ns: Option<i128>,
    /// After a crash, when it can have ended at the latest: people have worked in its folders since.
    pub(super) at_the_latest_ns: Option<i128>,
}

/// Looks through the folders and mends them. Gives what changed so late that it is somebody else's, by the number of its
/// folder: it stays.
pub(super) fn look_back(
    roots: &mut [GuardedRoot],
    names: &mut Names,
    records: Option<&Path>,
    end: End,
    report: &mut GuardReport,
) -> Vec<(usize, Vec<OsString>)> {
    let mut moved = lead::none();
    let mut found = Vec::with_capacity(roots.len());
    for guarded in roots.iter_mut() {
        let number = guarded.number;
        let left = guarded.clear();
        report.reverted.extend(left.into_iter().map(|path| Reverted::new(number, &path, Revert::Left)));
        let (after, back) = guarded.move_back(names, end.at_ns);
        if end.at_the_latest_ns.is_some() {
            // They may have been moved since.
            for git in guarded.before.git_folders.iter().chain(&after.git_folders) {
                if placeholder::clear(guarded.root.folder(), git, &guarded.left_behind) == Left::There {
                    report.reverted.push(placeholder::told(number, git));
                }
            }
        }
        for git in guarded.before().moved_git(&after) {
            moved.git_folder(&below(&guarded.root, git));
        }
        found.push((after, back));
    }
    let mut later = Vec::new();
    for (guarded, (mut after, back)) in roots.iter_mut().zip(found) {
        // What the configuration of a repository names from its new place is obeyed there.
        let led = lead::below(&moved, guarded.root.real_path());
        let new: Vec<Led> = led.into_iter().filter(|led| !guarded.led.contains(led)).collect();
        if !new.is_empty() {
            let all: Vec<Led> = guarded.led.iter().cloned().chain(new).collect();
            after = guarded.look_again(names, &all);
        }
        if let Some(ended_ns) = end.at_ns {
            // What somebody waited to write is theirs.
            let latest_ns = end.at_the_latest_ns.unwrap_or(ended_ns);
            let left = record::leave_what_came_later(guarded, &mut after, &back, (ended_ns, latest_ns));
            later.extend(left.into_iter().map(|path| (guarded.number, path)));
            if end.at_the_latest_ns.is_some() {
                record::leave_what_went_later(guarded, &mut after, ended_ns);
            }
        }
        report.unseen += after.unseen();
        if let Some(records) = records {
            guarded.note_departed(records, &after);
        }
        report.add(back.into_iter().chain(guarded.before().put_back(&after, end.at_ns)));
        // What they lead to may be as it was by now.
        report.add(guarded.before().unlink(&after, Which::Unchanged, end.at_ns));
    }
    // What they lack may have come in another allowed folder.
    for guarded in roots.iter() {
        report.add(guarded.unmake_nearly());
    }
    later
}
