//! An engine with a scripted model, a folder to work in, a home and a data folder, all temporary.
#![expect(clippy::disallowed_methods, reason = "a desk has files of its own")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use nod::engine::{
    ConfiguredProviders, Engine, EngineOptions, Inbox, Keys, Place, ProviderSource, Storage, system_clock,
};
use nod::ir::{
    CallId, CallRecord, CallStatus, Clock, ConfirmMode, Decider, Error, Request, Session, SessionId, State,
    ThinkingLevel, ToolCall, ToolResult, UnixMs,
};
use nod::port::{Answer, Command, ConfirmRequest, Event, Settings, TurnEnd, TurnOptions};
use nod::provider::Provider;
use nod::provider::scripted::{Scripted, Step};
use nod::sandbox::BUBBLEWRAP_PATHS;
use nod::secret::MemoryVault;
use nod::tool::Tool;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

/// Longer than anything that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Gives the same provider for every id.
pub(crate) struct Only(pub(crate) Arc<dyn Provider>);

impl ProviderSource for Only {
    fn ids(&self, _: &Settings) -> Vec<String> {
        vec![self.0.provider_id().to_owned()]
    }

    fn provider<'a>(
        &'a self,
        _: &'a str,
        _: Place<'a>,
        _: &'a Settings,
    ) -> BoxFuture<'a, Result<Arc<dyn Provider>, Error>> {
        Box::pin(async { Ok(Arc::clone(&self.0)) })
    }
}

/// The engine and all around it.
pub(crate) struct Desk {
    pub(crate) engine: Option<Engine>,
    /// `None` once the only front end went away.
    pub(crate) inbox: Option<Inbox>,
    /// Where the model may work.
    pub(crate) folder: TempDir,
    pub(crate) home: TempDir,
    pub(crate) data: TempDir,
    pub(crate) session: SessionId,
    pub(crate) requests: watch::Receiver<Vec<Request>>,
    /// Every event so far.
    pub(crate) seen: Vec<Event>,
    setup: Setup,
}

/// What may differ from desk to desk.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) source: Arc<dyn ProviderSource>,
    pub(crate) requests: watch::Receiver<Vec<Request>>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) storage: Storage,
    pub(crate) clock: Clock,
    pub(crate) settings: Vec<(&'static str, Value)>,
    /// Provider and model of the session.
    pub(crate) model: (&'static str, &'static str),
    /// Where a bubblewrap may be.
    pub(crate) bubblewraps: Vec<PathBuf>,
    /// For how long what was deleted can be brought back.
    pub(crate) restorable: Duration,
}

impl Setup {
    /// The model answers these, one after the other; nothing is kept.
    pub(crate) fn new(answers: Vec<Vec<Step>>) -> Self {
        Self::scripted(Scripted::new(answers, system_clock()))
    }

    pub(crate) fn scripted(provider: Arc<Scripted>) -> Self {
        Self {
            requests: provider.requests(),
            source: Arc::new(Only(provider)),
            tools: nod::tool::all(),
            storage: Storage::InMemory,
            clock: system_clock(),
            settings: Vec::new(),
            model: ("scripted", "script"),
            bubblewraps: BUBBLEWRAP_PATHS.iter().map(PathBuf::from).collect(),
            restorable: nod::port::RESTORABLE,
        }
    }

    /// The model is behind a server that speaks Ollama's format.
    pub(crate) fn ollama(url: &str) -> Self {
        Self {
            source: Arc::new(ConfiguredProviders {
                clock: system_clock(),
                keys: Arc::new(Keys::new(Arc::new(MemoryVault::default()))),
            }),
            settings: vec![("models.ollama_url", json!(url))],
            model: ("ollama", "qwen3:8b"),
            ..Self::new(Vec::new())
        }
    }

    pub(crate) fn kept(mut self) -> Self {
        self.storage = Storage::InFolder;
        self
    }

    pub(crate) fn with_tools(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.tools = tools;
        self
    }

    /// Commands are switched on and may run unconfined.
    pub(crate) fn with_commands(mut self) -> Self {
        self.settings.push(("tools.disabled", json!([])));
        self.settings.push(("safety.never_unconfined", json!(false)));
        self
    }
}

impl Desk {
    /// A desk at which the model answers these, one after the other.
    pub(crate) fn new(answers: Vec<Vec<Step>>) -> Self {
        Self::with(Setup::new(answers))
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let temp = || tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap();
        let (folder, home, data) = (temp(), temp(), temp());
        let (engine, inbox) = start(&setup, home.path(), data.path());
        let mut desk = Self {
            engine: Some(engine),
            inbox: Some(inbox),
            folder,
            home,
            data,
            session: SessionId::new(""),
            requests: setup.requests.clone(),
            seen: Vec::new(),
            setup,
        };
        for (key, value) in desk.setup.settings.clone() {
            desk.set(key, value);
        }
        desk.send(Command::CreateSession);
        let session = desk.opened();
        desk.session = session.id.clone();
        desk.send(Command::SetModel {
            session: session.id.clone(),
            provider: desk.setup.model.0.into(),
            model: desk.setup.model.1.into(),
        });
        desk.send(Command::AddFolder { session: session.id, path: desk.folder.path().to_path_buf() });
        desk.until(|event| matches!(event, Event::SettingsChanged(s) if !s.safety.folders.is_empty()));
        desk
    }

    /// Ends the engine and starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        self.stop_engine();
        self.start_engine();
    }

    pub(crate) fn stop_engine(&mut self) {
        self.engine.take().unwrap().shutdown();
    }

    pub(crate) fn start_engine(&mut self) {
        let (engine, inbox) = start(&self.setup, self.home.path(), self.data.path());
        (self.engine, self.inbox) = (Some(engine), Some(inbox));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn send(&self, command: Command) {
        self.engine.as_ref().unwrap().send(command).unwrap();
    }

    pub(crate) fn say(&self, text: &str) {
        self.send(Command::Send { session: self.session.clone(), text: text.into(), images: Vec::new() });
    }

    pub(crate) fn stop(&self) {
        self.send(Command::Stop(self.session.clone()));
    }

    pub(crate) fn answer(&self, request: &ConfirmRequest, answer: Answer) {
        self.send(Command::Answer { confirm: request.id.clone(), answer, decider: Decider::Person });
    }

    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.send(Command::SetSetting { key: key.into(), value: value.into() });
        self.until(|event| matches!(event, Event::SettingsChanged(_)));
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Event {
        let event = self.inbox.as_ref().unwrap().recv_timeout(PATIENCE);
        let Some(event) = event else { panic!("nothing came any more; so far: {:#?}", self.seen) };
        self.seen.push(event.clone());
        event
    }

    /// Takes events until one fits; gives it.
    pub(crate) fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.next();
            if fits(&event) {
                return event;
            }
        }
    }

    pub(crate) fn opened(&mut self) -> Session {
        match self.until(|event| matches!(event, Event::SessionOpened { .. })) {
            Event::SessionOpened { session, .. } => *session,
            _ => unreachable!(),
        }
    }

    pub(crate) fn until_state(&mut self, wanted: State) {
        self.until(|event| matches!(event, Event::StateChanged { state, .. } if *state == wanted));
    }

    pub(crate) fn asked(&mut self) -> ConfirmRequest {
        match self.until(|event| matches!(event, Event::ConfirmAsked(_))) {
            Event::ConfirmAsked(request) => *request,
            _ => unreachable!(),
        }
    }

    pub(crate) fn turn_end(&mut self) -> TurnEnd {
        match self.until(|event| matches!(event, Event::TurnEnded(_))) {
            Event::TurnEnded(end) => *end,
            _ => unreachable!(),
        }
    }

    /// Goes on to the end of the turn and says yes to everything.
    pub(crate) fn turn_end_allowing(&mut self) -> TurnEnd {
        loop {
            match self.next() {
                Event::ConfirmAsked(request) => self.answer(&request, Answer::AllowOnce),
                Event::TurnEnded(end) => return *end,
                _ => {}
            }
        }
    }

    /// Whether anybody was asked so far.
    pub(crate) fn was_asked(&self) -> bool {
        self.seen.iter().any(|event| matches!(event, Event::ConfirmAsked(_)))
    }

    /// The last row of each call that was seen, in the order of their first.
    pub(crate) fn calls(&self) -> Vec<CallRecord> {
        let mut rows: Vec<CallRecord> = Vec::new();
        for event in &self.seen {
            let Event::CallChanged(row) = event else { continue };
            match rows.iter_mut().find(|known| known.call.id == row.call.id) {
                Some(known) => known.clone_from(row),
                None => rows.push((**row).clone()),
            }
        }
        rows
    }

    /// The results that the model was sent with the last request, in their order.
    pub(crate) fn sent_results(&self) -> Vec<ToolResult> {
        let requests = self.requests.borrow();
        let messages = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
        messages.into_iter().filter_map(|message| message.tool_result).collect()
    }

    /// One call through the gate as the command line makes it, in the default mode; asks are answered with `answer`.
    pub(crate) fn tool(&mut self, name: &str, args: &Value, answer: &Answer) -> ToolResult {
        self.tool_with(name, &args.to_string(), answer, TurnOptions::default())
    }

    pub(crate) fn tool_with(&mut self, name: &str, args: &str, answer: &Answer, options: TurnOptions) -> ToolResult {
        let folder = self.folder.path().to_path_buf();
        self.tool_in(&folder, name, args, answer, options)
    }

    /// The same with another allowed folder.
    pub(crate) fn tool_in(
        &mut self,
        folder: &Path,
        name: &str,
        args: &str,
        answer: &Answer,
        options: TurnOptions,
    ) -> ToolResult {
        self.begin_tool_in(folder, name, args, options);
        loop {
            match self.next() {
                Event::ConfirmAsked(request) => self.answer(&request, answer.clone()),
                Event::ToolEnded { result, .. } => return *result,
                _ => {}
            }
        }
    }

    /// Begins a call whose questions the test answers itself.
    pub(crate) fn begin_tool(&mut self, name: &str, args: &str, options: TurnOptions) {
        let folder = self.folder.path().to_path_buf();
        self.begin_tool_in(&folder, name, args, options);
    }

    /// The result of the call that was begun.
    pub(crate) fn tool_end(&mut self) -> ToolResult {
        match self.until(|event| matches!(event, Event::ToolEnded { .. })) {
            Event::ToolEnded { result, .. } => *result,
            _ => unreachable!(),
        }
    }

    /// The person's home folder.
    pub(crate) fn home_path(&self) -> PathBuf {
        self.home.path().to_path_buf()
    }

    /// A call with several allowed folders, every question of which is answered so.
    pub(crate) fn tool_among(&mut self, folders: &[&Path], name: &str, args: &str, answer: &Answer) -> ToolResult {
        self.begin_tool_among(folders, name, args, TurnOptions::default());
        loop {
            match self.next() {
                Event::ConfirmAsked(request) => self.answer(&request, answer.clone()),
                Event::ToolEnded { result, .. } => return *result,
                _ => {}
            }
        }
    }

    pub(crate) fn begin_tool_in(&self, folder: &Path, name: &str, args: &str, options: TurnOptions) {
        self.begin_tool_among(&[folder], name, args, options);
    }

    fn begin_tool_among(&self, folders: &[&Path], name: &str, args: &str, options: TurnOptions) {
        let session = Session {
            id: self.session.clone(),
            title: "tool".into(),
            folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
            ..blank_session("")
        };
        let call = ToolCall {
            id: CallId::new(format!("call-{}", self.seen.len())),
            name: name.into(),
            args: json!({}),
            iteration: 0,
            timestamp: UnixMs(0),
            raw_args: Some(args.to_owned()),
            parse_error: None,
            marks: Vec::new(),
        };
        self.send(Command::RunTool { session: Box::new(session), call, options });
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.shutdown();
        }
    }
}

fn start(setup: &Setup, home: &Path, data: &Path) -> (Engine, Inbox) {
    let mut options = EngineOptions::new(data, env!("CARGO_BIN_EXE_nod"));
    options.storage = setup.storage;
    options.home = Some(home.to_path_buf());
    options.providers = Arc::clone(&setup.source);
    options.tools.clone_from(&setup.tools);
    options.bubblewraps.clone_from(&setup.bubblewraps);
    options.restorable = setup.restorable;
    options.clock = Arc::clone(&setup.clock);
    let engine = Engine::start(options).unwrap();
    let inbox = engine.subscribe(Arc::new(|| {}));
    (engine, inbox)
}

/// A session with nothing in it, in the default mode.
pub(crate) fn blank_session(id: &str) -> Session {
    Session {
        id: SessionId::new(id),
        title: String::new(),
        provider: String::new(),
        model: String::new(),
        thinking: ThinkingLevel::Auto,
        folders: Vec::new(),
        mode: ConfirmMode::Changes,
        system_prompt: None,
        pinned: false,
        is_local_only: false,
        head: None,
        draft: String::new(),
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    }
}

/// A call of the command line in this state, as the ledger keeps it.
pub(crate) fn blank_call(session: &str, id: &str, status: CallStatus) -> CallRecord {
    CallRecord {
        call: ToolCall {
            id: CallId::new(id),
            name: "write_file".into(),
            args: json!({}),
            iteration: 0,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        session: SessionId::new(session),
        message: None,
        status,
        args_hash: String::new(),
        target: None,
        verdict: None,
        decider: None,
        grounds: nod::ir::Grounds::default(),
        reason: None,
        preview: None,
        result: None,
        created_at: UnixMs(0),
        started_at: (status == CallStatus::Running).then_some(UnixMs(1)),
        finished_at: None,
    }
}
