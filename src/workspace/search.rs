//! Search by name and content over a walk of opened handles, in parallel, with the same answer every time.
//!
//! One thread walks and numbers the files, a few others look into them, the calling thread collects. As soon as enough
//! is found, files with a number past the last result are left alone: what is returned depends on the order of names
//! alone, never on which thread was faster.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use tokio_util::sync::CancellationToken;

use super::look::{Looked, Looker, SearchQuery};
use super::walk::is_elsewhere;
use super::{Folder, Found, Target, WalkOptions, WalkOrder, WalkReport, WalkStart, WorkspaceError, walk};
use crate::policy::TargetKind;

/// How much is looked at and returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Files that are larger are not looked into.
    pub file_bytes: u64,
    /// Most files that are looked at.
    pub files: usize,
    /// Most matching lines of a file.
    pub matches_per_file: usize,
    /// Most matches in all.
    pub matches: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchOutcome {
    /// Files with matches, in the order of the walk.
    pub results: Vec<FileMatches>,
    /// Files that were looked at; where enough was found, up to the last result.
    pub files: u64,
    /// Files that were too large to look into.
    pub skipped_large: u64,
    /// Files that were not text.
    pub skipped_binary: u64,
    /// Files whose content is closed to the search; their names are not.
    pub skipped_closed: u64,
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Names that policy hides.
    pub hidden_by_policy: u64,
    /// The limit that kept something out of the answer; the most important one.
    pub limit: Option<SearchLimit>,
}

/// A limit that a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchLimit {
    /// There are more matches.
    Matches,
    /// There are more files.
    Files,
    /// There are deeper folders.
    Depth,
    /// A file has more matching lines.
    MatchesPerFile,
}

/// A file with its matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// Below the start; empty when the start is the file.
    pub relative: PathBuf,
    /// Its matches: the name first, then lines from the top.
    pub matches: Vec<LineMatch>,
    /// Whether the file has more matching lines.
    pub has_more: bool,
}

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// From 1; 0 for the file's name.
    pub line: u64,
    /// In characters, from 1; of the first match in the line.
    pub column: u64,
    /// The line without its line break, cut around the match when it is long.
    pub text: String,
    /// Whether it belongs to a private key, as the whole file shows.
    pub is_private_key: bool,
}

/// Why a search gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("stopped")]
    Cancelled,
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("the search could not start: {0}")]
    Threads(io::Error),
}

/// A file to look at.
struct Job {
    number: u64,
    parent: Folder,
    name: OsString,
    relative: PathBuf,
    hidden_by_policy: u64,
}

/// What became of a file, where that counts.
struct Done {
    number: u64,
    relative: PathBuf,
    hidden_by_policy: u64,
    looked: Looked,
}

/// Files that go to a thread at once.
const BATCH: usize = 16;
/// Batches that wait for each thread.
const QUEUE: usize = 8;
/// Results that wait to be collected.
const RESULTS: usize = 256;
/// More threads wait for the disk and for each other.
const MAX_THREADS: usize = 4;

/// Searches a file.
///
/// # Errors
/// When the target is no file, and when it is stopped.
pub fn search_file(
    target: &Target,
    query: &SearchQuery,
    limits: &SearchLimits,
    cancel: &CancellationToken,
) -> Result<SearchOutcome, SearchError> {
    let name = target.resolved().file_name().unwrap_or_default();
    let file = target.file()?.try_clone().map_err(|error| io_error(target.resolved(), error))?;
    let mut found = Collected::new(*limits);
    let looked = Looker::new(query, limits, cancel).look(Path::new(name), || rewound(file).map(Some));
    if cancel.is_cancelled() {
        return Err(SearchError::Cancelled);
    }
    found.add(Done { number: 0, relative: PathBuf::new(), hidden_by_policy: 0, looked });
    Ok(found.finish(1, &WalkReport::default(), false))
}

fn rewound(mut file: File) -> io::Result<File> {
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

fn io_error(path: &Path, source: io::Error) -> SearchError {
    SearchError::Workspace(WorkspaceError::io("Searching", path, source))
}

/// Searches a tree. `on_progress` hears how many files have been come by.
///
/// # Errors
/// When the start cannot be listed, when it is stopped, or when no thread can be started.
pub fn search_tree(
    start: &WalkStart,
    query: &SearchQuery,
    options: &SearchOptions<'_>,
    limits: &SearchLimits,
    on_progress: &(dyn Fn(u64) + Sync),
) -> Result<SearchOutcome, SearchError> {
    // The number of the file after which nothing counts any more.
    let last = AtomicU64::new(u64::MAX);
    let mount = start.mount()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let mut collected = Collected::new(*limits);
    let (walked, files, has_more_files) = std::thread::scope(|scope| {
        let (done_sender, done_receiver) = sync_channel::<Done>(RESULTS);
        let mut queues = Vec::new();
        for number in 0..threads {
            let (sender, receiver) = sync_channel::<Vec<Job>>(QUEUE);
            let done = done_sender.clone();
            let last = &last;
            named(&format!("search-{number}"))
                .spawn_scoped(scope, move || look_at_all(&receiver, &done, query, limits, last, mount, options))
                .map_err(SearchError::Threads)?;
            queues.push(sender);
        }
        drop(done_sender);
        let walker = named("search-walk")
            .spawn_scoped(scope, || walk_files(start, query, options, limits, queues, &last, on_progress))
            .map_err(SearchError::Threads)?;
        for done in done_receiver {
            collected.add(done);
            if let Some(number) = collected.last_that_counts() {
                last.store(number, Ordering::Relaxed);
            }
        }
        walker.join().unwrap_or_else(|_| Err(SearchError::Threads(io::Error::other("a thread of the search failed"))))
    })?;
    if options.cancel.is_cancelled() {
        return Err(SearchError::Cancelled);
    }
    Ok(collected.finish(files, &walked, has_more_files))
}

/// How a tree is searched.
#[derive(Clone, Copy)]
pub struct SearchOptions<'a> {
    /// Whether names that begin with a dot are looked at.
    pub include_hidden: bool,
    /// Whether `.gitignore` and its like count.
    pub respect_gitignore: bool,
    /// Whether policy hides this absolute path with this name.
    pub is_hidden_by_policy: &'a (dyn Fn(&Path, &OsStr) -> bool + Sync),
    /// Whether the content of the file with this path below the start is left alone.
    pub is_content_closed: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Stops the search.
    pub cancel: &'a CancellationToken,
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

type Walked = (WalkReport, u64, bool);

/// The walking thread: numbers the files and deals them out.
fn walk_files(
    start: &WalkStart,
    query: &SearchQuery,
    options: &SearchOptions<'_>,
    limits: &SearchLimits,
    queues: Vec<SyncSender<Vec<Job>>>,
    last: &AtomicU64,
    on_progress: &(dyn Fn(u64) + Sync),
) -> Result<Walked, SearchError> {
    const PROGRESS_EVERY: u64 = 500;
    let walk_options = WalkOptions {
        order: WalkOrder::DepthFirst,
        max_names: u64::MAX,
        max_depth: super::MAX_WALK_DEPTH + 1,
        include_hidden: options.include_hidden,
        respect_gitignore: options.respect_gitignore,
        is_hidden_by_policy: &|path, name| (options.is_hidden_by_policy)(path, name),
        cancel: options.cancel,
    };
    let most = limits.files as u64;
    let mut dealer = Dealer { queues, next: 0, batch: Vec::new() };
    let mut files = 0;
    let mut has_more_files = false;
    let report = walk(start, &walk_options, &mut |found: Found<'_>| {
        if found.kind != TargetKind::File || !query.wants(found.name) {
            return ControlFlow::Continue(());
        }
        if files >= most {
            has_more_files = true;
            return ControlFlow::Break(());
        }
        if files > last.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let job = Job {
            number: files,
            parent: found.parent.clone(),
            name: found.name.to_owned(),
            relative: found.relative.to_path_buf(),
            hidden_by_policy: found.hidden_by_policy,
        };
        files += 1;
        if files % PROGRESS_EVERY == 0 {
            on_progress(files);
        }
        dealer.deal(job)
    })?;
    match dealer.flush() {
        ControlFlow::Continue(()) => Ok((report, files, has_more_files)),
        ControlFlow::Break(()) => Err(SearchError::Threads(io::Error::other("the threads of the search have ended"))),
    }
}

/// Deals files out to the threads that look into them.
struct Dealer {
    queues: Vec<SyncSender<Vec<Job>>>,
    next: usize,
    batch: Vec<Job>,
}

impl Dealer {
    fn deal(&mut self, job: Job) -> ControlFlow<()> {
        self.batch.push(job);
        if self.batch.len() < BATCH { ControlFlow::Continue(()) } else { self.flush() }
    }

    /// Gives the batch to the first thread that has room, or waits for the next in turn.
    fn flush(&mut self) -> ControlFlow<()> {
        let mut batch = std::mem::take(&mut self.batch);
        for _ in 0..self.queues.len() {
            self.next = (self.next + 1) % self.queues.len().max(1);
            let Some(queue) = self.queues.get(self.next) else { break };
            match queue.try_send(batch) {
                Ok(()) => return ControlFlow::Continue(()),
                Err(TrySendError::Full(back) | TrySendError::Disconnected(back)) => batch = back,
            }
        }
        match self.queues.get(self.next).map(|queue| queue.send(batch)) {
            Some(Ok(())) => ControlFlow::Continue(()),
            Some(Err(_)) | None => ControlFlow::Break(()),
        }
    }
}

/// A looking thread.
fn look_at_all(
    jobs: &Receiver<Vec<Job>>,
    done: &SyncSender<Done>,
    query: &SearchQuery,
    limits: &SearchLimits,
    last: &AtomicU64,
    mount: u64,
    options: &SearchOptions<'_>,
) {
    let mut looker = Looker::new(query, limits, options.cancel);
    for job in jobs.iter().flatten() {
        // What is left in the queue is taken out and dropped.
        if options.cancel.is_cancelled() || job.number > last.load(Ordering::Relaxed) {
            continue;
        }
        let Job { number, parent, name, relative, hidden_by_policy } = job;
        let looked = looker.look(&relative, || {
            if (options.is_content_closed)(&relative) { Ok(None) } else { open(&parent, &name, mount).map(Some) }
        });
        if looked.counts() && done.send(Done { number, relative, hidden_by_policy, looked }).is_err() {
            return;
        }
    }
}

/// Opens a file that the walk came by. A file can be a mount too.
fn open(parent: &Folder, name: &OsStr, mount: u64) -> io::Result<File> {
    let (file, stat) = parent.open_listed_file(name)?;
    if is_elsewhere(stat.identity.mount, mount) {
        return Err(io::Error::other("it lies on another mount"));
    }
    Ok(file)
}

/// What was found so far, by the number of the file.
struct Collected {
    limits: SearchLimits,
    found: BTreeMap<u64, (u64, FileMatches)>,
    large: Vec<u64>,
    binary: Vec<u64>,
    closed: Vec<u64>,
    unreadable: Vec<u64>,
}

impl Collected {
    fn new(limits: SearchLimits) -> Self {
        Self {
            limits,
            found: BTreeMap::new(),
            large: Vec::new(),
            binary: Vec::new(),
            closed: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    fn add(&mut self, done: Done) {
        let Done { number, relative, hidden_by_policy, looked } = done;
        if looked.is_large {
            self.large.push(number);
        }
        if looked.is_binary {
            self.binary.push(number);
        }
        if looked.is_closed {
            self.closed.push(number);
        }
        if looked.is_unreadable {
            self.unreadable.push(number);
        }
        if !looked.matches.is_empty() {
            let file = FileMatches { relative, matches: looked.matches, has_more: looked.has_more };
            self.found.insert(number, (hidden_by_policy, file));
        }
    }

    /// The file with which one match more than may be returned is reached: what comes after it is of no use. One more,
    /// because only then it is certain that there are more.
    fn last_that_counts(&mut self) -> Option<u64> {
        let mut matches = 0;
        let last = self.found.iter().find_map(|(number, (_, file))| {
            matches += file.matches.len();
            (matches > self.limits.matches).then_some(*number)
        })?;
        self.found.split_off(&(last + 1));
        Some(last)
    }

    fn finish(mut self, files: u64, walked: &WalkReport, has_more_files: bool) -> SearchOutcome {
        let mut outcome =
            SearchOutcome { files, hidden_by_policy: walked.hidden_by_policy, ..SearchOutcome::default() };
        let mut limits = Vec::new();
        let mut end = u64::MAX;
        if let Some(last) = self.last_that_counts() {
            limits.push(SearchLimit::Matches);
            outcome.files = last + 1;
            outcome.hidden_by_policy = self.found.get(&last).map_or(0, |(hidden, _)| *hidden);
            end = last;
        } else {
            limits.extend(has_more_files.then_some(SearchLimit::Files));
            limits.extend((walked.too_deep > 0).then_some(SearchLimit::Depth));
            outcome.unreadable = walked.unreadable;
        }
        let count = |numbers: &[u64]| numbers.iter().filter(|number| **number <= end).count() as u64;
        outcome.skipped_large = count(&self.large);
        outcome.skipped_binary = count(&self.binary);
        outcome.skipped_closed = count(&self.closed);
        outcome.unreadable += count(&self.unreadable);
        let mut room = self.limits.matches;
        for (_, mut file) in self.found.into_values() {
            file.matches.truncate(room);
            room -= file.matches.len();
            if !file.matches.is_empty() {
                limits.extend(file.has_more.then_some(SearchLimit::MatchesPerFile));
                outcome.results.push(file);
            }
        }
        outcome.limit = limits.into_iter().min();
        outcome
    }
}
