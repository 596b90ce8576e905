//! The engine as front ends hold it: start, send, subscribe, shut down.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ir::{CallId, Clock, ConfirmId, Session, UnixMs};
use crate::policy::{Platform, Surroundings};
use crate::port::{Command, Event, RESTORABLE, Settings};
use crate::provider::memory::memory;
use crate::sandbox::BUBBLEWRAP_PATHS;
use crate::secret::Keyring;
use crate::store::{Opened, Store, StoreError};
use crate::tool::Tool;

use super::aftermath;
use super::confinement::Confiner;
use super::confirm::Confirms;
use super::dispatch::Dispatcher;
use super::inbox::{Hub, Inbox, Wake};
use super::key::Keys;
use super::link::Board;
use super::lookup::preset_infos;
use super::news;
use super::provider::{ConfiguredProviders, ProviderSource};
use super::request::KnownModels;
use super::seal;
use super::setup;
use super::shared::{Shared, unique};
use super::uptime::Uptime;

/// Commands that may wait.
const COMMANDS: usize = 256;
/// Calls that are examined at once.
const MOST_LOOKS: usize = 8;
/// Reads and searches that run at once: a model may ask for hundreds in one answer.
const MOST_READS: usize = 4;
/// How long a command line may take to end after Ctrl+C.
const INTERRUPT: Duration = Duration::from_secs(5);
/// How long shutting down may take in all.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// The folder of what finishes the looks after commands, beside the database.
const GUARD_FOLDER: &str = "guard";

/// What an engine is started with.
pub struct EngineOptions {
    /// Where data lies; made if missing.
    pub data_dir: PathBuf,
    /// Whether anything is kept there.
    pub storage: Storage,
    /// The time.
    pub clock: Clock,
    /// Where providers come from.
    pub providers: Arc<dyn ProviderSource>,
    /// The keys of the person's accounts.
    pub keys: Arc<Keys>,
    /// The program that is started as the helper stage of commands: this very program.
    pub helper: PathBuf,
    /// Where the system's bubblewrap may be.
    pub bubblewraps: Vec<PathBuf>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The tools that there are.
    pub tools: Vec<Arc<dyn Tool>>,
    /// For how long what was deleted can be brought back, while the engine runs.
    pub restorable: Duration,
}

/// Where everything is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Storage {
    /// In the data folder.
    #[default]
    InFolder,
    /// Nowhere: gone with the engine. Only when the person says so, and in tests.
    InMemory,
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("The system gives no threads: {source}")]
    Threads { source: std::io::Error },
}

/// The command queue is full, or the engine has ended: nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Nod is too busy to take this now. Try again in a moment.")]
pub struct QueueFull;

/// The engine. Dropping it without [`Engine::shutdown`] stops everything where it stands.
pub struct Engine {
    handle: Handle,
    runtime: Option<Runtime>,
    ended: std::sync::mpsc::Receiver<()>,
}

/// The way to a running engine, for as many front ends as there are. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    quit: CancellationToken,
    hub: Arc<Hub>,
    confirms: Confirms,
    settings: watch::Receiver<Settings>,
    clock: Clock,
    data_dir: PathBuf,
    /// What the first front end is told besides.
    news: Arc<Mutex<Vec<Event>>>,
    /// The exit code that stands for the signal that asked the process to end; 0 before.
    ended_by: Arc<AtomicU8>,
}

/// The system's own clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        UnixMs(since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0))
    })
}

/// The data folder of this system's conventions; `None` without a home folder.
pub fn default_data_dir() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "nod").map(|dirs| dirs.data_dir().to_path_buf())
}

/// A folder's path without links: policy judges what a path resolves to, so it must know what its own folder resolves to.
fn real_folder(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

impl StartError {
    /// Whether another process has the data folder.
    pub fn is_folder_taken(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, StoreError::Locked { .. }),
            Self::Threads { .. } => false,
        }
    }
}

impl EngineOptions {
    /// The usual engine over a data folder. `helper` is the program for the helper stage of commands.
    pub fn new(data_dir: impl Into<PathBuf>, helper: impl Into<PathBuf>) -> Self {
        let keys = Arc::new(Keys::new(Arc::new(Keyring::default())));
        Self {
            data_dir: data_dir.into(),
            storage: Storage::InFolder,
            clock: system_clock(),
            providers: Arc::new(ConfiguredProviders { clock: system_clock(), keys: Arc::clone(&keys) }),
            keys,
            helper: helper.into(),
            bubblewraps: BUBBLEWRAP_PATHS.iter().map(PathBuf::from).collect(),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf()),
            tools: crate::tool::all(),
            restorable: RESTORABLE,
        }
    }
}

impl Engine {
    /// Opens the store, mends what a crash left, and starts. Blocks until that is done.
    ///
    /// # Errors
    /// When the store cannot be opened or there are no threads.
    pub fn start(options: EngineOptions) -> Result<Self, StartError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4)))
            .thread_name("nod-engine")
            .enable_all()
            .build()
            .map_err(|source| StartError::Threads { source })?;
        let opened = match options.storage {
            Storage::InFolder => {
                let key = || runtime.block_on(seal::find(options.keys.vault(), &options.data_dir));
                Store::open_sealed(&options.data_dir, Arc::clone(&options.clock), key)?
            }
            Storage::InMemory => Store::open_in_memory(Arc::clone(&options.clock))?,
        };
        Ok(runtime.block_on(Self::prepare(options, opened))?.onto(runtime))
    }

    async fn prepare(options: EngineOptions, opened: Opened) -> Result<Prepared, StartError> {
        let Opened { store, recovered } = opened;
        let (mut settings, problems) = Settings::from_stored(&store.settings().await?);
        settings.providers = setup::known(store.providers().await?);
        memory().restore(store.refusals().await?).await;
        for problem in problems {
            tracing::warn!(%problem, "a stored setting keeps its default");
        }
        let mut news = news::of(&recovered);
        let guard_records = match options.storage {
            Storage::InFolder => Some(options.data_dir.join(GUARD_FOLDER)),
            Storage::InMemory => None,
        };
        let hub = Arc::new(Hub::default());
        let (settings, watched) = watch::channel(settings);
        let shared = Arc::new(Shared {
            store,
            undo: super::undo::Undo::open(&options.data_dir, options.storage),
            hub: Arc::clone(&hub),
            confirms: Confirms::default(),
            models: KnownModels::default(),
            restorable: options.restorable,
            settings,
            providers: options.providers,
            keys: options.keys,
            tools: options.tools,
            clock: Arc::clone(&options.clock),
            uptime: Uptime::new(Arc::clone(&options.clock)),
            confiner: Confiner::new(options.helper.clone(), options.bubblewraps),
            helper: options.helper,
            guard_records: guard_records.clone(),
            surroundings: Surroundings {
                home: options.home,
                data_dir: Some(real_folder(&options.data_dir)),
                platform: Platform::current(),
            },
            links: Board::default(),
            server_question: tokio::sync::Mutex::default(),
            looks: Semaphore::new(MOST_LOOKS),
            reads: Arc::new(Semaphore::new(MOST_READS)),
            errands: TaskTracker::new(),
        });
        if let Some(folder) = guard_records {
            news.extend(aftermath::finish(&shared, folder, &recovered.calls).await);
        }
        let (commands, taken) = mpsc::channel(COMMANDS);
        let quit = CancellationToken::new();
        let handle = Handle {
            commands,
            quit: quit.clone(),
            hub,
            confirms: shared.confirms.clone(),
            settings: watched,
            clock: options.clock,
            data_dir: options.data_dir,
            news: Arc::new(Mutex::new(news)),
            ended_by: Arc::default(),
        };
        Ok(Prepared { handle, shared, taken, quit })
    }

    /// The way to this engine, for another front end.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// As [`Handle::send`].
    ///
    /// # Errors
    /// As [`Handle::send`].
    pub fn send(&self, command: Command) -> Result<(), QueueFull> {
        self.handle.send(command)
    }

    /// As [`Handle::subscribe`].
    pub fn subscribe(&self, wake: Wake) -> Inbox {
        self.handle.subscribe(wake)
    }

    /// From now on Ctrl+C, a terminal that closes (`SIGHUP`) and the system's request to end (`SIGTERM`) stop every turn as
    /// *Stop* does and end the engine, so that what a command has left is looked at; a second one ends the process at once.
    pub fn end_on_interrupt(&self) {
        let quit = self.handle.quit.clone();
        let ended_by = Arc::clone(&self.handle.ended_by);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                let Some(code) = interrupted().await else { return };
                ended_by.store(code, Ordering::SeqCst);
                quit.cancel();
                // A front end that is stuck (a pipe that nobody reads) does not keep the process.
                tokio::select! {
                    _ = interrupted() => {}
                    () = tokio::time::sleep(INTERRUPT) => {}
                }
                // The person asked twice, or nothing moves any more.
                std::process::exit(code.into());
            });
        }
    }

    /// Stops every turn, writes everything and ends, within ten seconds. The last event is `Ended`.
    pub fn shutdown(mut self) {
        self.handle.quit.cancel();
        if self.ended.recv_timeout(SHUTDOWN).is_err() {
            tracing::error!("the engine did not end in time; what is running is left behind");
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
    }
}

/// Waits for a signal that asks the process to end; gives the exit code that stands for it. `None` where none can be had.
async fn interrupted() -> Option<u8> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).ok()?;
        // What `nohup` has started goes on when the terminal closes.
        let mut hang_up = if ignores_hang_up().await { None } else { signal(SignalKind::hangup()).ok() };
        let hung_up = async {
            match &mut hang_up {
                Some(hang_up) => drop(hang_up.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            done = tokio::signal::ctrl_c() => done.ok().map(|()| 130),
            _ = terminate.recv() => Some(143),
            () = hung_up => Some(129),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.ok().map(|()| 130)
}

/// Whether the process was started with `SIGHUP` ignored; no where the system does not say.
#[cfg(unix)]
async fn ignores_hang_up() -> bool {
    let status = tokio::fs::read_to_string("/proc/self/status").await.unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.handle.hub.close();
            runtime.shutdown_background();
        }
    }
}

/// An engine whose parts are there and whose tasks are not.
struct Prepared {
    handle: Handle,
    shared: Arc<Shared>,
    taken: mpsc::Receiver<Command>,
    quit: CancellationToken,
}

impl Prepared {
    fn onto(self, runtime: Runtime) -> Engine {
        let (sender, ended) = std::sync::mpsc::sync_channel(1);
        let dispatcher = Dispatcher::new(self.shared);
        runtime.spawn(async move {
            dispatcher.run(self.taken, self.quit).await;
            // Nobody waits when the engine was dropped.
            sender.send(()).ok();
        });
        Engine { handle: self.handle, runtime: Some(runtime), ended }
    }
}

impl Handle {
    /// Asks for something. Never blocks; the answer is events.
    ///
    /// # Errors
    /// When too much waits already, or the engine has ended: nothing was done then.
    pub fn send(&self, command: Command) -> Result<(), QueueFull> {
        self.commands.try_send(command).map_err(|error| {
            tracing::error!(%error, "a command was refused");
            QueueFull
        })
    }

    /// The exit code that stands for the signal that asked the process to end, if one did.
    pub fn ended_by(&self) -> Option<u8> {
        Some(self.ended_by.load(Ordering::SeqCst)).filter(|code| *code != 0)
    }

    /// Whether the engine is ending.
    pub fn is_quitting(&self) -> bool {
        self.quit.is_cancelled()
    }

    /// Whether this question still waits for an answer.
    pub fn is_asked(&self, confirm: &ConfirmId) -> bool {
        !self.quit.is_cancelled() && self.confirms.waiting().iter().any(|request| request.id == *confirm)
    }

    /// A session that is not stored yet, with the settings' defaults: for a turn or a call of the command line.
    pub fn new_session(&self) -> Session {
        super::session::blank(&self.settings.borrow(), (self.clock)())
    }

    /// The settings as they are now.
    pub fn settings(&self) -> Settings {
        self.settings.borrow().clone()
    }

    /// A new id for a call of the command line.
    pub fn new_call_id(&self) -> CallId {
        CallId::new(unique("call_"))
    }

    /// Another front end. `wake` is called, from any thread, when events have come; it must not block. The inbox begins
    /// with `Started` and the questions that wait.
    pub fn subscribe(&self, wake: Wake) -> Inbox {
        let started = Event::Started {
            settings: Box::new(self.settings.borrow().clone()),
            data_dir: self.data_dir.clone(),
            presets: preset_infos(),
        };
        let mut first = vec![started];
        first.append(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        let waiting = self.confirms.waiting();
        first.extend(waiting.into_iter().map(|request| Event::ConfirmAsked(Box::new(request))));
        self.hub.subscribe(wake, first)
    }
}
