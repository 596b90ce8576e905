//! A window whose engine is played by the test, and values to play it with.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use egui_kittest::Harness;
use egui_kittest::kittest::NodeT as _;
use nod::ir::*;
use nod::lang::Locale;
use nod::policy::{AskReason, Rule, RuleEffect, RuleMaker, RuleScope};
use nod::port::*;
use nod::ui::{Port, Window, WindowOptions};
use serde_json::json;

/// When every test begins: 2026-03-10 12:00 UTC.
pub(crate) const START: i64 = 1_773_144_000_000;

struct Played {
    events: Receiver<Event>,
    commands: SyncSender<Command>,
}

impl Port for Played {
    fn send(&mut self, command: Command) -> Result<(), Box<Command>> {
        self.commands.try_send(command).map_err(|refused| {
            let (std::sync::mpsc::TrySendError::Full(command) | std::sync::mpsc::TrySendError::Disconnected(command)) =
                refused;
            Box::new(command)
        })
    }

    fn drain(&mut self, _budget: Duration) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    fn is_empty(&self) -> bool {
        true
    }
}

/// Two of the providers that can be set up.
fn presets() -> Vec<PresetInfo> {
    let preset = |id: &str, name: &str, default_url: &str, needs_key| PresetInfo {
        id: id.into(),
        name: name.into(),
        default_url: default_url.into(),
        takes_key: true,
        needs_key,
        key_variable: String::new(),
        key_page: String::new(),
    };
    vec![
        preset("openai", "OpenAI", "https://api.openai.com/v1", true),
        preset("openai-compatible", "OpenAI-compatible", "", false),
    ]
}

/// The window and both ends of what it talks over.
pub(crate) struct Stage {
    pub(crate) harness: Harness<'static, Window>,
    events: SyncSender<Event>,
    commands: Receiver<Command>,
    clock: Arc<AtomicI64>,
}

impl Stage {
    /// A window of 1280×860 with these settings and no session yet.
    pub(crate) fn with(settings: Settings, size: [f32; 2]) -> Self {
        let (events, from_engine) = sync_channel(1024);
        let (to_engine, commands) = sync_channel(1024);
        let clock = Arc::new(AtomicI64::new(START));
        let read = Arc::clone(&clock);
        let mut options = WindowOptions::new(Arc::new(|_, _| panic!("the test plays the engine and starts none")));
        options.clock = Arc::new(move || UnixMs(read.load(Ordering::Relaxed)));
        options.locale = Locale::English;
        options.home = Some("/home/ann".into());
        let mut window = Window::new(options);
        window.connect(Box::new(Played { events: from_engine, commands: to_engine }));
        let data_dir = "/home/ann/.local/share/nod".into();
        events
            .send(Event::Started { settings: Box::new(settings), data_dir, presets: presets() })
            .expect("the window listens");
        let mut is_attached = false;
        let harness = Harness::builder()
            .with_size(size)
            .with_max_steps(40)
            .with_context_setup(nod::ui::font::install)
            .build_ui_state(
                move |ui, window: &mut Window| {
                    if !std::mem::replace(&mut is_attached, true) {
                        window.attach(ui.ctx());
                    }
                    window.logic(ui.ctx());
                    window.draw(ui);
                },
                window,
            );
        Self { harness, events, commands, clock }
    }

    /// The usual window in English with one open session.
    pub(crate) fn open() -> Self {
        Self::open_with(Settings::default(), [1280.0, 860.0])
    }

    /// The same with other settings and another size.
    pub(crate) fn open_with(mut settings: Settings, size: [f32; 2]) -> Self {
        // No animation: every picture is the last one.
        settings.general.animations = false;
        let mut stage = Self::with(settings, size);
        stage.tell(Event::SessionsListed(vec![session("s", "Config module"), session("t", "Release notes")]));
        stage.tell(opened("s", vec![message("m1", Role::User, "Read the server")], vec![]));
        stage.tell(models());
        stage.settle();
        stage.commands();
        stage
    }

    /// The engine reports something.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.send(event).expect("the window listens");
    }

    /// Time passes.
    pub(crate) fn pass(&mut self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::Relaxed);
    }

    /// Draws until nothing moves.
    pub(crate) fn settle(&mut self) {
        for _ in 0..6 {
            self.harness.step();
        }
    }

    /// What the window sent since the last call.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        self.commands.try_iter().collect()
    }

    /// What the window sent since the last call, without drafts and questions for models.
    pub(crate) fn sent(&mut self) -> Vec<Command> {
        let is_noise = |command: &Command| {
            matches!(
                command,
                Command::SaveDraft { .. }
                    | Command::ShowModels
                    | Command::RefreshModels { .. }
                    | Command::RefreshSessionModels { .. }
                    | Command::CompletePath { .. }
            )
        };
        self.commands().into_iter().filter(|command| !is_noise(command)).collect()
    }

    /// Every text that is on the screen, as a screen reader finds it.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for node in self.harness.root().children_recursive() {
            let node = node.accesskit_node();
            texts.extend(node.label());
            texts.extend(node.value());
            texts.extend(node.data().placeholder().map(str::to_owned));
        }
        texts.retain(|text| !text.trim().is_empty());
        texts
    }
}

/// A session of today.
pub(crate) fn session(id: &str, title: &str) -> Session {
    Session {
        id: SessionId::new(id),
        title: title.to_owned(),
        provider: "ollama".to_owned(),
        model: "qwen3:8b".to_owned(),
        thinking: ThinkingLevel::Auto,
        folders: vec!["/home/ann/projects/web".to_owned()],
        mode: ConfirmMode::Changes,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: Some(MessageId::new("m1")),
        draft: String::new(),
        created_at: UnixMs(START),
        updated_at: UnixMs(START - i64::from(id.bytes().next().unwrap_or_default())),
    }
}

/// A session as the engine opens it.
pub(crate) fn opened(id: &str, messages: Vec<MessageRecord>, rules: Vec<Rule>) -> Event {
    Event::SessionOpened {
        session: Box::new(session(id, if id == "s" { "Config module" } else { "Release notes" })),
        messages,
        has_older: false,
        calls: vec![],
        rules: rules.into(),
        state: State::Idle,
        queued: vec![],
    }
}

/// A whole message.
pub(crate) fn message(id: &str, role: Role, text: &str) -> MessageRecord {
    MessageRecord {
        id: MessageId::new(id),
        session: SessionId::new("s"),
        parent: None,
        message: Message::text(role, text, UnixMs(START)),
        status: MessageStatus::Complete,
        answer: None,
        error: None,
        version: (1, 1),
    }
}

/// Ollama with two models.
pub(crate) fn models() -> Event {
    let model = |id: &str, tools| ModelInfo {
        id: id.to_owned(),
        provider_id: "ollama".to_owned(),
        display_name: id.to_owned(),
        context_window: 40_960,
        max_output: 0,
        supports_streaming: true,
        supports_thinking: tools,
        supports_images: Support::No,
        supports_tool_calling: tools,
        supports_structured_output: Support::Unknown,
        is_elsewhere: false,
        pricing: None,
    };
    let list = vec![model("qwen3:8b", Support::Yes), model("gemma3:4b", Support::No)];
    Event::ModelsChanged { provider: "ollama".to_owned(), state: ModelsState::Ready(list) }
}

/// A rule of the open session.
pub(crate) fn rule() -> Rule {
    Rule {
        id: RuleId::new("r1"),
        session: Some(SessionId::new("s")),
        effect: RuleEffect::Allow,
        scope: RuleScope::ToolInFolders { tool: "write_file".to_owned() },
        made_by: RuleMaker::Modal,
        created_at: UnixMs(START),
        hits: 3,
    }
}

/// A question about a new file.
pub(crate) fn question(id: &str, content: &str) -> ConfirmRequest {
    ConfirmRequest {
        id: ConfirmId::new(id),
        session: SessionId::new("s"),
        session_title: "Config module".to_owned(),
        model: "qwen3:8b".to_owned(),
        call: ToolCall {
            id: CallId::new(format!("call-{id}")),
            name: "write_file".to_owned(),
            args: json!({"path": "src/config.ts", "content": content}),
            iteration: 1,
            timestamp: UnixMs(START),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        access: Access::Write,
        risk: RiskLevel::Medium,
        target: "/home/ann/projects/web/src/config.ts".to_owned(),
        folder: Some("/home/ann/projects/web".to_owned()),
        exists: false,
        unchanged_since_read: None,
        via_link: None,
        undoable: false,
        reasons: vec![AskReason::Mode],
        preview: Preview::NewFile { content: content.to_owned() },
        content: Some(nod::port::ContentFacts::of(content)),
        model_words: "I move the settings.".to_owned(),
        rule_proposals: vec![
            RuleScope::File {
                tool: "write_file".to_owned(),
                root: "/home/ann/projects/web".into(),
                file: "src/config.ts".to_owned(),
            },
            RuleScope::ToolInFolders { tool: "write_file".to_owned() },
        ],
        dry_run: vec![(1, 9), (4, 9)],
        denials: vec![
            RuleOffer {
                scope: RuleScope::File {
                    tool: "write_file".to_owned(),
                    root: "/home/ann/projects/web".into(),
                    file: "src/config.ts".to_owned(),
                },
                covered: 1,
                of: 9,
            },
            RuleOffer { scope: RuleScope::ToolInFolders { tool: "write_file".to_owned() }, covered: 4, of: 9 },
        ],
        server: None,
        expires_at: None,
        asked_at: UnixMs(START),
        is_asked_anew: false,
        plan_hash: "hash".to_owned(),
    }
}
