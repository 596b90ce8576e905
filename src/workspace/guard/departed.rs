//! Names from which folders and links went away by what Nod ran: kept for a while, so that what comes to lie there by a
//! later call is judged as in the place of another.
//!
//! A name is kept as the number that stands for its whole path, so that it is known in every allowed folder, in Nod's own
//! folder. What is lost of it is judged as a name that nobody had.

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::Hasher as _;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kept::Object;
use super::look::{Found, top_of};
use super::moved::thing_at;
use super::{Guard, GuardedRoot};
use crate::workspace::Target;

/// Beside the records of runs.
const FILE: &str = "departed.json";
/// The newest are kept.
const MOST: usize = 10_000;
/// A command that takes away more than this is remembered by the outermost ones.
const MOST_OF_ONE: usize = 2_000;
/// Thirty days.
const KEPT_FOR_NS: i128 = 30 * 24 * 3600 * 1_000_000_000;

/// A name that somebody had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Departed {
    /// Of the whole path.
    number: u64,
    /// What it led to; none that there is where that is not known.
    object: Object,
    /// In nanoseconds since 1970.
    at_ns: i128,
}

impl Guard {
    /// What is known of names that folders had before, in the folder for records; what this command takes away is noted
    /// there too.
    pub fn recall(&mut self, records: &Path) {
        let known = known(records);
        for guarded in &mut self.roots {
            guarded.before.recall(known.iter().copied());
        }
        self.records = Some(records.to_path_buf());
    }
}

/// The names that are kept in this folder, by their numbers, and what they led to.
pub(super) fn known(records: &Path) -> Vec<(u64, Object)> {
    let now_ns = now_ns();
    let known = File::open(records.join(FILE)).and_then(|file| {
        file.lock_shared()?;
        read(&file)
    });
    let kept = known.unwrap_or_default().into_iter().filter(|one| now_ns - one.at_ns < KEPT_FOR_NS);
    kept.map(|one| (one.number, one.object)).collect()
}

impl GuardedRoot {
    /// Notes what is no more.
    pub(super) fn note_departed(&self, records: &Path, after: &Found) {
        let is_gone = |number: &u64| !after.paths.contains_key(number);
        let gone: HashMap<u64, Object> = self
            .before
            .paths
            .iter()
            .filter(|(number, _)| is_gone(number))
            .map(|(one, object)| (*one, *object))
            .collect();
        let all: HashSet<u64> = gone.keys().copied().collect();
        let is_outermost = |number: &u64| self.before.above.get(number).is_none_or(|above| !all.contains(above));
        let is_few = all.len() <= MOST_OF_ONE;
        let folders = gone.into_iter().filter(|(number, _)| is_few || is_outermost(number));
        let links = self.before.links.iter().filter(|(path, _)| thing_at(self.root.folder(), path).is_none());
        let links = links.map(|(path, link)| (self.before.number_of(path), link.end.unwrap_or_default()));
        note(records, folders.chain(links).collect());
    }
}

/// Notes that a tool has taken a folder away.
pub fn note_departed(records: &Path, target: &Target) {
    note(records, vec![(top_of(target.resolved()).finish(), Object::default())]);
}

fn note(records: &Path, gone: Vec<(u64, Object)>) {
    if gone.is_empty() {
        return;
    }
    if let Err(error) = open(records).and_then(|file| add(&file, gone)) {
        tracing::warn!(%error, "names that folders had could not be kept");
    }
}

/// The file, for this process alone.
fn open(records: &Path) -> io::Result<File> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(records)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(records.join(FILE))?;
    file.lock()?;
    Ok(file)
}

fn read(mut file: &File) -> io::Result<Vec<Departed>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // A new one is empty; what cannot be read is written anew.
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn add(mut file: &File, gone: Vec<(u64, Object)>) -> io::Result<()> {
    let known = read(file)?;
    let now_ns = now_ns();
    let mut all: Vec<Departed> = known.into_iter().filter(|one| now_ns - one.at_ns < KEPT_FOR_NS).collect();
    let numbers: HashSet<u64> = all.iter().map(|one| one.number).collect();
    let new = gone.into_iter().filter(|(number, _)| !numbers.contains(number));
    all.extend(new.map(|(number, object)| Departed { number, object, at_ns: now_ns }));
    file.rewind()?;
    file.set_len(0)?;
    let oldest = all.len().saturating_sub(MOST);
    file.write_all(&serde_json::to_vec(all.get(oldest..).unwrap_or_default())?)
}

#[expect(clippy::disallowed_methods, reason = "names are kept for days, and a clock set back keeps them longer")]
fn now_ns() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}
