//! What is on the disk while a command runs, so that a look that Nod did not live to see is finished at its next start.
//!
//! The person may have worked in the folder since: what changed after the command can have run (`life`) is theirs and stays.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::end::End;
use super::kept::{Content, Kept, Object, descend};
use super::lead::Led;
use super::life::{self, Birth};
use super::linked::Linked;
use super::look::{Found, Top, top_of};
use super::name::{Names, PickedUp};
use super::nearly::Nearly;
use super::{Guard, GuardReport, GuardedRoot, Reverted, departed, end, placeholder};
use crate::policy::TargetKind;
use crate::workspace::{Folder, Identity, Root, Stat};

/// The end of a command that Nod did not live to see comes this long after its time-out at most.
const GRACE: Duration = Duration::from_secs(10);
const FORM: u32 = 2;
/// More folders, and more links, are not known any more after a crash.
const MOST_FOLDERS: usize = 100_000;

/// A record on the disk. Dropped before the look is done, it stays there.
#[derive(Debug)]
pub struct GuardRecord {
    path: PathBuf,
    file: File,
}

/// What a record says of the run.
#[derive(Debug, Clone, Copy)]
pub struct RecordedRun<'run> {
    /// Comes back with what is found.
    pub mark: &'run str,
    /// How long the command may take.
    pub timeout: Duration,
    /// Whether the command may be able to hold Nod up: then Nod's signs of life say nothing of its end.
    pub may_stop_nod: bool,
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
    /// What changed when the command could no longer run, by the number of its folder and the path, with `/`: it stays.
    pub later: Vec<(usize, String)>,
    /// Allowed folders that are not where they were, and are not found.
    pub gone: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    form: u32,
    mark: String,
    timeout_ms: u64,
    /// In nanoseconds since 1970; without it, when the record was touched last.
    #[serde(default)]
    begun_ns: Option<i128>,
    #[serde(default)]
    birth: Option<Birth>,
    roots: Vec<RecordedRoot>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedRoot {
    path: OsString,
    object: Object,
    git_folders: Vec<Vec<OsString>>,
    fixed: Vec<(Vec<OsString>, Object)>,
    /// What was put where nothing was.
    #[serde(default)]
    placeholders: Vec<Object>,
    /// The folders that protected things lie in.
    parents: Vec<Object>,
    is_cut: bool,
    /// Which folders lay where, as far as something protected lies in or below them.
    #[serde(default)]
    places: Vec<(Vec<OsString>, Object)>,
    protected: Vec<Recorded>,
    #[serde(default)]
    led: Vec<Led>,
    /// What becomes a repository by what appears elsewhere.
    #[serde(default)]
    nearly: Vec<Nearly>,
    /// All folders that were looked at, or the first of very many: each by the number that stands for its path, with that of
    /// the folder above.
    #[serde(default)]
    folders: Vec<(u64, Object, u64)>,
    #[serde(default)]
    links: Vec<(Vec<OsString>, OsString, Option<Object>)>,
    #[serde(default)]
    parts: Vec<Vec<OsString>>,
    #[serde(default)]
    tops: Vec<(Vec<OsString>, Object)>,
    #[serde(default)]
    closed: Vec<(Vec<OsString>, Object)>,
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
    /// Puts on the disk, in Nod's own folder, what is needed to finish the look after a command.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may run.
    pub fn record(&self, folder: &Path, run: &RecordedRun<'_>) -> io::Result<GuardRecord> {
        let roots = self.roots.iter().map(GuardedRoot::recorded).collect();
        let timeout_ms = u64::try_from(run.timeout.as_millis()).unwrap_or(u64::MAX);
        make_private(folder)?;
        let temporary = tempfile::Builder::new().prefix("run-").suffix(".tmp").tempfile_in(folder)?;
        let (mut file, temporary) = temporary.into_parts();
        let record = Record {
            form: FORM,
            mark: run.mark.to_owned(),
            timeout_ms,
            begun_ns: Some(touched_ns(&file)?),
            birth: Birth::now(run.may_stop_nod),
            roots,
        };
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_all()?;
        let path = temporary.with_extension("json");
        temporary.persist_noclobber(&path).map_err(|refused| refused.error)?;
        // So that it is there after a loss of power too, where the system can.
        File::open(folder).and_then(|folder| folder.sync_all()).ok();
        Ok(GuardRecord { path, file })
    }
}

impl GuardRecord {
    /// Shows that Nod lives, until `end` can be read or is closed.
    #[cfg(unix)]
    pub fn stay(&self, end: std::os::fd::BorrowedFd<'_>) {
        life::stay(&self.file, end);
    }

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

/// Finishes the looks whose records lie in Nod's own folder. A record that cannot be read is told in the log and goes.
#[expect(clippy::disallowed_methods, reason = "its own files in Nod's own folder")]
pub fn finish_looks(folder: &Path) -> Vec<FinishedLook> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut finished = Vec::new();
    let is_of_a_run = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
    for path in entries.map(|entry| entry.path()).filter(is_of_a_run) {
        match read(&path) {
            Ok((record, touched_ns)) => finished.push(finish(record, touched_ns, folder)),
            Err(error) => tracing::warn!(%error, "the look after a command could not be finished"),
        }
        std::fs::remove_file(&path).ok();
    }
    finished
}

/// The record, and when it was touched last.
fn read(path: &Path) -> io::Result<(Record, i128)> {
    let file = OpenOptions::new().read(true).open(path)?;
    let touched_ns = touched_ns(&file)?;
    let record: Record = serde_json::from_reader(io::BufReader::new(file))?;
    if record.form != FORM {
        return Err(io::Error::other("it is of another version"));
    }
    Ok((record, touched_ns))
}

fn touched_ns(file: &File) -> io::Result<i128> {
    let modified = file.metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(i128::try_from(modified.as_nanos()).unwrap_or(i128::MAX))
}

fn finish(record: Record, touched_ns: i128, folder: &Path) -> FinishedLook {
    let departed = departed::known(folder);
    let Record { mark, timeout_ms, begun_ns, birth, roots: recorded, .. } = record;
    let may_take = Duration::from_millis(timeout_ms).saturating_add(GRACE).as_nanos();
    let latest_ns = begun_ns.unwrap_or(touched_ns).saturating_add(i128::try_from(may_take).unwrap_or(i128::MAX));
    let known_ns = birth.and_then(|birth| birth.end_ns(touched_ns));
    let ended_ns = known_ns.map_or(latest_ns, |known| known.min(latest_ns));
    let mut look = FinishedLook {
        mark,
        roots: Vec::with_capacity(recorded.len()),
        report: GuardReport::default(),
        later: Vec::new(),
        gone: Vec::new(),
    };
    let mut roots = Vec::with_capacity(recorded.len());
    for recorded in recorded {
        let number = roots.len();
        let Some(root) = find_again(&recorded) else {
            look.gone.push(PathBuf::from(recorded.path));
            continue;
        };
        let mut guarded = GuardedRoot::from_record(root, recorded, number);
        guarded.before.recall(departed.iter().copied());
        // Before anything is put back, which would be later too.
        guarded.nearly.retain(|nearly| !nearly.came_later(&guarded.root, ended_ns));
        look.roots.push(guarded.root.clone());
        roots.push(guarded);
    }
    let end = End { at_ns: Some(ended_ns), at_the_latest_ns: Some(latest_ns) };
    let later = end::look_back(&mut roots, &mut Names::default(), Some(folder), end, &mut look.report);
    look.later.extend(later.into_iter().map(|(number, path)| (number, super::shown(&path))));
    look
}

/// The allowed folder: where it was, or under another name beside.
fn find_again(recorded: &RecordedRoot) -> Option<Root> {
    let is_it = |root: &Root| object_at_top(root) == Some(recorded.object);
    let path = Path::new(&recorded.path);
    if let Some(root) = Root::reopen(path).ok().filter(is_it) {
        return Some(root);
    }
    let above = Folder::open_ambient(path.parent()?).ok()?;
    let names = above.names().ok()?;
    let has_it =
        |name: &&OsString| above.stat_of(name).is_ok_and(|stat| super::kept::object_of(&stat) == recorded.object);
    let renamed = names.iter().find(has_it)?;
    Root::reopen(&above.true_path().ok()?.join(renamed)).ok().filter(is_it)
}

fn object_at_top(root: &Root) -> Option<Object> {
    root.folder().stat().ok().map(|stat| super::kept::object_of(&stat))
}

/// What changed after the command's last moment counts as it was before: it is the person's. Gives what of it is told: not
/// what changed when anybody could have known that it is theirs. What Nod itself has moved `back` since is not.
pub(super) fn leave_what_came_later(
    guarded: &GuardedRoot,
    after: &mut Found,
    back: &[Reverted],
    (ended_ns, latest_ns): (i128, i128),
) -> Vec<Vec<OsString>> {
    let before = &guarded.before.protected;
    let later: Vec<(Vec<OsString>, i128)> = after
        .protected
        .iter()
        .filter(|(path, now)| now.stat.changed_ns > ended_ns && !back.iter().any(|one| one.is_at(guarded.number, path)))
        .map(|(path, now)| (path.clone(), now.stat.changed_ns))
        .collect();
    let mut told = Vec::new();
    for (path, changed_ns) in later {
        let is_another = match (before.get(&path), after.protected.get(&path)) {
            (Some(kept), Some(now)) => !kept.is_same(now),
            (None, _) | (_, None) => true,
        };
        match before.get(&path) {
            Some(kept) => after.protected.insert(path.clone(), kept.clone()),
            None => after.protected.remove(&path),
        };
        if is_another && changed_ns <= latest_ns {
            told.push(path);
        }
    }
    told
}

/// What is gone may have been taken away later: its folder says when it changed last.
pub(super) fn leave_what_went_later(guarded: &GuardedRoot, after: &mut Found, ended_ns: i128) {
    let root = guarded.root.folder();
    for (path, kept) in &guarded.before.protected {
        let parents = path.split_last().map(|(_, parents)| parents).unwrap_or_default();
        let changed = |folder: Folder| folder.stat().is_ok_and(|stat| stat.changed_ns > ended_ns);
        if !after.protected.contains_key(path) && descend(root, parents).is_some_and(changed) {
            after.protected.insert(path.clone(), kept.clone());
        }
    }
}

impl GuardedRoot {
    fn recorded(&self) -> RecordedRoot {
        let Self { root, before, fixed, placeholders, led, nearly, .. } = self;
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
            object: object_at_top(root).unwrap_or_default(),
            git_folders: before.git_folders.clone(),
            fixed: fixed.iter().map(|top| (top.path.clone(), top.parent)).collect(),
            placeholders: placeholders.iter().filter_map(placeholder::Placeholder::made).collect(),
            parents,
            is_cut: before.is_cut(),
            places: before.places.iter().map(|(object, path)| (path.clone(), *object)).collect(),
            protected,
            led: led.clone(),
            nearly: nearly.clone(),
            folders: before.folders_by_number().take(MOST_FOLDERS).collect(),
            links: before
                .links
                .iter()
                .take(MOST_FOLDERS)
                .map(|(path, link)| (path.clone(), link.to.clone().into(), link.end))
                .collect(),
            parts: before.parts.iter().cloned().collect(),
            tops: before.tops.iter().map(|top| (top.path.clone(), top.parent)).collect(),
            closed: before.closed.iter().map(|(object, path)| (path.clone(), *object)).collect(),
        }
    }

    fn from_record(root: Root, recorded: RecordedRoot, number: usize) -> Self {
        let protected: BTreeMap<Vec<OsString>, Kept> =
            recorded.protected.into_iter().map(|recorded| (recorded.path.clone(), recorded.into_kept())).collect();
        let links = recorded.links.into_iter().map(|(path, to, end)| (path, Linked { to: to.into(), end }));
        let folders = recorded.folders.iter().map(|(_, object, _)| *object);
        let before = Found {
            top: top_of(Path::new(&recorded.path)),
            protected,
            tops: recorded.tops.into_iter().map(|(path, parent)| Top { path, parent }).collect(),
            git_folders: recorded.git_folders,
            folders: recorded.parents.into_iter().chain(folders).collect(),
            above: recorded.folders.iter().map(|(number, _, above)| (*number, *above)).collect(),
            links: links.collect(),
            parts: recorded.parts.into_iter().collect(),
            closed: recorded.closed.into_iter().map(|(path, object)| (object, path)).collect(),
            unreached: u64::from(recorded.is_cut),
            ..Found::default()
        };
        let mut before = before.with_places(recorded.places.into_iter());
        before.recall(recorded.folders.iter().map(|(number, object, _)| (*number, *object)));
        let (led, nearly) = (recorded.led, recorded.nearly);
        let fixed = recorded.fixed.into_iter().map(|(path, parent)| Top { path, parent }).collect();
        let (placeholders, left_behind) = (Vec::new(), recorded.placeholders);
        Self { root, number, before, led, nearly, fixed, placeholders, left_behind }
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
        let (device, inode, born_ns) = self.object;
        let identity =
            Identity { device, inode, bytes: self.bytes, modified_ns: self.modified_ns, ..Identity::default() };
        let stat =
            Stat { kind, identity, is_mount_point: false, mode: self.mode, owner: (0, 0), changed_ns: 0, born_ns };
        let when = if self.is_picked_up_at_once { PickedUp::AtOnce } else { PickedUp::Later };
        Kept { stat, content, when }
    }
}
