//! What the tests draw: sessions made of a few messages and calls, and a window that holds only the transcript.

use egui_kittest::Harness;
use nod::app::{Intent, SessionView};
use nod::ir::{
    CallId, CallRecord, CallStatus, ConfirmMode, Message, MessageId, MessageRecord, MessageStatus, Preview, Role,
    Session, SessionId, State, StreamBody, ThinkingLevel, ToolCall, ToolResult, UnixMs,
};
use nod::lang::{Lang, Locale};
use nod::ui::font;
use nod::ui::theme::{Mode, Theme};
use nod::ui::transcript::{Transcript, TranscriptLook};

/// A window with a transcript.
pub(crate) struct Scene {
    pub(crate) transcript: Option<Transcript>,
    pub(crate) view: SessionView,
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    pub(crate) intents: Vec<Intent>,
}

impl Scene {
    pub(crate) fn new(messages: Vec<MessageRecord>, calls: Vec<CallRecord>) -> Self {
        let view = SessionView::new(
            session(),
            messages,
            false,
            calls,
            nod::policy::RuleSet::default(),
            State::Done,
            Vec::new(),
        );
        Self {
            transcript: None,
            view,
            lang: Lang::new(Locale::English),
            theme: Theme { animations: false, ..Theme::new(Mode::Dark) },
            intents: Vec::new(),
        }
    }

    pub(crate) fn transcript(&mut self) -> &mut Transcript {
        self.transcript.as_mut().expect("a frame was drawn")
    }

    /// Adds text at the end of a streaming message.
    pub(crate) fn stream(&mut self, message: &str, text: &str) {
        let body = StreamBody::TextDelta { delta: text.to_owned() };
        self.view.stream(&MessageId::new(message), &body, UnixMs(0));
    }

    /// The window, after its first frame.
    pub(crate) fn open(self) -> Harness<'static, Self> {
        Harness::builder()
            .with_size([900.0, 700.0])
            .with_max_steps(40)
            .with_context_setup(font::install)
            .build_ui_state(
                |ui, scene: &mut Self| {
                    scene.theme.install(ui.ctx());
                    let transcript = scene.transcript.get_or_insert_with(|| Transcript::new(ui.ctx()));
                    let look = TranscriptLook { lang: &scene.lang, now: UnixMs(10_000), show_thinking: true };
                    transcript.show(ui, &scene.view, look, &mut scene.intents);
                },
                self,
            )
    }
}

fn session() -> Session {
    Session {
        id: SessionId::new("s"),
        title: "Test".to_owned(),
        provider: "ollama".to_owned(),
        model: "qwen3:8b".to_owned(),
        thinking: ThinkingLevel::Auto,
        folders: vec!["/projects/web".to_owned()],
        mode: ConfirmMode::Changes,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: UnixMs(0),
        updated_at: UnixMs(0),
    }
}

pub(crate) fn message(id: &str, role: Role, text: &str) -> MessageRecord {
    MessageRecord {
        id: MessageId::new(id),
        session: SessionId::new("s"),
        parent: None,
        message: Message::text(role, text, UnixMs(0)),
        status: MessageStatus::Complete,
        answer: None,
        error: None,
        version: (1, 1),
    }
}

/// Questions and answers in turn, each with its number in it.
pub(crate) fn conversation(first: usize, count: usize) -> Vec<MessageRecord> {
    (first..first + count)
        .map(|number| {
            if number % 2 == 0 {
                message(&format!("m{number}"), Role::User, &format!("Question {number}"))
            } else {
                let text =
                    format!("Answer {number} with **bold** text.\n\n- one\n- two\n\n```rust\nlet x = {number};\n```\n");
                message(&format!("m{number}"), Role::Assistant, &text)
            }
        })
        .collect()
}

pub(crate) fn call(id: &str, message: &str, name: &str, status: CallStatus, preview: Option<Preview>) -> CallRecord {
    let result = matches!(status, CallStatus::Succeeded).then(|| ToolResult {
        tool_call_id: CallId::new(id),
        tool_name: name.to_owned(),
        result: serde_json::json!({ "content": "first\nsecond\n", "line_range": [1, 2], "size": 13 }),
        summary: None,
        success: true,
        error: None,
        duration_ms: 100,
        timestamp: UnixMs(0),
    });
    CallRecord {
        call: ToolCall {
            id: CallId::new(id),
            name: name.to_owned(),
            args: serde_json::json!({ "path": "src/a.rs" }),
            iteration: 1,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        session: SessionId::new("s"),
        message: Some(MessageId::new(message)),
        status,
        args_hash: String::new(),
        target: Some("/projects/web/src/a.rs".to_owned()),
        verdict: None,
        decider: None,
        grounds: nod::ir::Grounds::default(),
        reason: None,
        preview,
        result,
        created_at: UnixMs(0),
        started_at: Some(UnixMs(0)),
        finished_at: None,
    }
}
