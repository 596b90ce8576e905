//! What is on the disk while a command runs, so that a look that Nod did not live to see is finished at its next start.
//!
//! The person may have worked in the folder since: what changed after the command can have run is theirs and stays.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::kept::{Content, Kept, Object, descend};
use super::look::{Found, Look, MOST_FOLDERS, Top};
use super::name::{Names, PickedUp};
use super::{Guard, GuardReport, GuardedRoot, placeholder};
use crate::policy::TargetKind;
use crate::workspace::{Folder, Identity, Root, Stat};

/// The end of a command that Nod did not live to see comes this long after its time-out at most.
const GRACE: Duration = Duration::from_secs(10);
const FORM: u32 = 1;

/// A record on the disk. Dropped before the look is done, it stays there.
#[derive(Debug)]
pub struct GuardRecord {
    path: PathBuf,
}

/// A look that was finished after a crash.
#[derive(Debug)]
pub struct FinishedLook {
    /// What the record was marked with.
    pub mark: String,
    /// The allowed folders of the command, in their order.
    pub roots: Vec<Root>,
    /// What was found.
    pub report: GuardReport,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    form: u32,
    mark: String,
    timeout_ms: u64,
    roots: Vec<RecordedRoot>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedRoot {
    path: OsString,
    object: Object,
    git_folders: Vec<Vec<OsString>>,
    fixed: Vec<(Vec<OsString>, Object)>,
    /// The folders that protected things lie in.
    parents: Vec<Object>,
    is_cut: bool,
    protected: Vec<Recorded>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    path: Vec<OsString>,
    object: Object,
    bytes: u64,
    modified_ns: i128,
    mode: u32,
    is_picked_up_at_once: bool,
    content: RecordedContent,
}

#[derive(Debug, Serialize, Deserialize)]
enum RecordedContent {
    Folder,
    /// Base64.
    File(String),
    Link(OsString),
    UnknownFile,
    UnknownOther,
}

impl Guard {
    /// Puts on the disk, in Nod's own folder, what is needed to finish the look after a command that may take this long.
    /// `mark` comes back with what is found.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may run.
    pub fn record(&self, folder: &Path, mark: &str, timeout: Duration) -> io::Result<GuardRecord> {
        let roots = self.roots.iter().map(GuardedRoot::recorded).collect();
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let record = Record { form: FORM, mark: mark.to_owned(), timeout_ms, roots };
        make_private(folder)?;
        let temporary = tempfile::Builder::new().prefix("run-").suffix(".tmp").tempfile_in(folder)?;
        let (mut file, temporary) = temporary.into_parts();
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_all()?;
        let path = temporary.with_extension("json");
        temporary.persist_noclobber(&path).map_err(|refused| refused.error)?;
        // So that it is there after a loss of power too, where the system can.
        File::open(folder).and_then(|folder| folder.sync_all()).ok();
        Ok(GuardRecord { path })
    }
}

impl GuardRecord {
    /// The look is done: nothing is left to finish.
    #[expect(clippy::disallowed_methods, reason = "its own file in Nod's own folder")]
    pub fn done(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "the record of a command's look stays behind");
        }
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Finishes the looks whose records lie in Nod's own folder. A record that cannot be read, and one whose folder is gone, is
/// told in the log and goes.
#[expect(clippy::disallowed_methods, reason = "its own files in Nod's own folder")]
pub fn finish_looks(folder: &Path) -> Vec<FinishedLook> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut finished = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        match read(&path).and_then(|(record, begun_ns)| finish(record, begun_ns)) {
            Ok(look) => finished.push(look),
            Err(error) => tracing::warn!(%error, "the look after a command could not be finished"),
        }
        std::fs::remove_file(&path).ok();
    }
    finished
}

/// The record, and when it was written: right before the command ran.
fn read(path: &Path) -> io::Result<(Record, i128)> {
    let file = OpenOptions::new().read(true).open(path)?;
    let modified = file.metadata()?.modified()?;
    let begun = modified.duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    let record: Record = serde_json::from_reader(io::BufReader::new(file))?;
    if record.form != FORM {
        return Err(io::Error::other("it is of another version"));
    }
    Ok((record, i128::try_from(begun.as_nanos()).unwrap_or(i128::MAX)))
}

fn finish(record: Record, begun_ns: i128) -> io::Result<FinishedLook> {
    let Record { mark, timeout_ms, roots: recorded, .. } = record;
    let may_take = Duration::from_millis(timeout_ms).saturating_add(GRACE).as_nanos();
    let ended_ns = begun_ns.saturating_add(i128::try_from(may_take).unwrap_or(i128::MAX));
    let mut roots = Vec::with_capacity(recorded.len());
    let mut report = GuardReport::default();
    let mut names = Names::default();
    for (number, recorded) in recorded.into_iter().enumerate() {
        let root = Root::reopen(Path::new(&recorded.path)).map_err(io::Error::other)?;
        if (root.identity().device, root.identity().inode) != recorded.object {
            return Err(io::Error::other("the allowed folder is another one now"));
        }
        let guarded = GuardedRoot::from_record(root, recorded, number);
        for git in &guarded.before.git_folders {
            placeholder::clear(guarded.root.folder(), git);
        }
        let look = Look {
            root: &guarded.root,
            before: Some(&guarded.before),
            names: &mut names,
            watcher: None,
            number,
            most_folders: MOST_FOLDERS,
        };
        let mut after = look.whole();
        leave_what_came_later(&guarded, &mut after, ended_ns);
        report.unseen += after.unseen();
        report.reverted.extend(guarded.before().put_back(&after));
        roots.push(guarded.root.clone());
    }
    Ok(FinishedLook { mark, roots, report })
}

/// What changed after the command's last moment counts as it was before: it is the person's.
fn leave_what_came_later(guarded: &GuardedRoot, after: &mut Found, ended_ns: i128) {
    let before = &guarded.before.protected;
    let later: Vec<Vec<OsString>> = after
        .protected
        .iter()
        .filter(|(_, now)| now.stat.changed_ns > ended_ns)
        .map(|(path, _)| path.clone())
        .collect();
    for path in later {
        match before.get(&path) {
            Some(kept) => after.protected.insert(path, kept.clone()),
            None => after.protected.remove(&path),
        };
    }
    // What is gone may have been taken away later: its folder says when it changed last.
    let root = guarded.root.folder();
    for (path, kept) in before {
        let parents = path.split_last().map(|(_, parents)| parents).unwrap_or_default();
        let changed = |folder: Folder| folder.stat().is_ok_and(|stat| stat.changed_ns > ended_ns);
        if !after.protected.contains_key(path) && descend(root, parents).is_some_and(changed) {
            after.protected.insert(path.clone(), kept.clone());
        }
    }
}

impl GuardedRoot {
    fn recorded(&self) -> RecordedRoot {
        let Self { root, before, fixed, .. } = self;
        let parents = before.protected.keys().filter_map(|path| super::parent(root.folder(), path)).collect();
        let protected = before
            .protected
            .iter()
            .map(|(path, kept)| Recorded {
                path: path.clone(),
                object: kept.object(),
                bytes: kept.stat.identity.bytes,
                modified_ns: kept.stat.identity.modified_ns,
                mode: kept.stat.mode,
                is_picked_up_at_once: kept.when == PickedUp::AtOnce,
                content: match &kept.content {
                    Content::Folder => RecordedContent::Folder,
                    Content::File(bytes) => RecordedContent::File(STANDARD.encode(bytes)),
                    Content::Link(to) => RecordedContent::Link(to.clone().into()),
                    Content::Unknown if kept.stat.kind == TargetKind::File => RecordedContent::UnknownFile,
                    Content::Unknown => RecordedContent::UnknownOther,
                },
            })
            .collect();
        RecordedRoot {
            path: root.real_path().into(),
            object: (root.identity().device, root.identity().inode),
            git_folders: before.git_folders.clone(),
            fixed: fixed.iter().map(|top| (top.path.clone(), top.parent)).collect(),
            parents,
            is_cut: before.is_cut(),
            protected,
        }
    }

    fn from_record(root: Root, recorded: RecordedRoot, number: usize) -> Self {
        let protected: BTreeMap<Vec<OsString>, Kept> =
            recorded.protected.into_iter().map(|recorded| (recorded.path.clone(), recorded.into_kept())).collect();
        let before = Found {
            protected,
            git_folders: recorded.git_folders,
            folders: recorded.parents.into_iter().collect(),
            unreached: u64::from(recorded.is_cut),
            ..Found::default()
        };
        let fixed = recorded.fixed.into_iter().map(|(path, parent)| Top { path, parent }).collect();
        Self { root, number, before, fixed, placeholders: Vec::new() }
    }
}

impl Recorded {
    fn into_kept(self) -> Kept {
        let (kind, content) = match self.content {
            RecordedContent::Folder => (TargetKind::Folder, Content::Folder),
            RecordedContent::File(text) => {
                (TargetKind::File, STANDARD.decode(text).map_or(Content::Unknown, Content::File))
            }
            RecordedContent::Link(to) => (TargetKind::Link, Content::Link(to.into())),
            RecordedContent::UnknownFile => (TargetKind::File, Content::Unknown),
            RecordedContent::UnknownOther => (TargetKind::Special, Content::Unknown),
        };
        let (device, inode) = self.object;
        let identity =
            Identity { device, inode, bytes: self.bytes, modified_ns: self.modified_ns, ..Identity::default() };
        let stat = Stat { kind, identity, is_mount_point: false, mode: self.mode, owner: (0, 0), changed_ns: 0 };
        let when = if self.is_picked_up_at_once { PickedUp::AtOnce } else { PickedUp::Later };
        Kept { stat, content, when }
    }
}
