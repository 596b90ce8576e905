//! Values that the tests of this room share.

use serde_json::json;

use crate::ir::{
    Access, CallId, ConfirmId, Message, MessageId, MessageRecord, MessageStatus, Preview, RiskLevel, Role, Session,
    SessionId, State, ToolCall, UnixMs,
};
use crate::policy::{AskReason, RuleScope, RuleSet};
use crate::port::{ConfirmRequest, RuleOffer};

use super::{AppState, Phase, SessionView};

pub(super) fn session(id: &str, title: &str, updated_at: i64) -> Session {
    Session {
        id: SessionId::new(id),
        title: title.to_owned(),
        provider: "ollama".to_owned(),
        model: "qwen3:8b".to_owned(),
        thinking: crate::ir::ThinkingLevel::Auto,
        folders: vec!["/projects".to_owned()],
        mode: crate::ir::ConfirmMode::Changes,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: UnixMs(updated_at),
        updated_at: UnixMs(updated_at),
    }
}

pub(super) fn state_with(sessions: Vec<Session>) -> AppState {
    AppState { sessions, has_sessions: true, phase: Phase::Running, ..AppState::default() }
}

/// A state with one open session.
pub(super) fn open_state() -> AppState {
    let one = session("s", "One", 0);
    let mut state = state_with(vec![one.clone()]);
    state.selected = Some(one.id.clone());
    state.composers.insert(one.id.clone(), super::composer::Composer::default());
    state.view =
        Some(SessionView::new(one, Vec::new(), false, Vec::new(), RuleSet::default(), State::Idle, Vec::new()));
    state
}

pub(super) fn message(id: &str, role: Role, text: &str) -> MessageRecord {
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

pub(crate) fn question(id: &str) -> ConfirmRequest {
    ConfirmRequest {
        id: ConfirmId::new(id),
        session: SessionId::new("s"),
        session_title: "One".to_owned(),
        model: "qwen3:8b".to_owned(),
        call: ToolCall {
            id: CallId::new(format!("call-{id}")),
            name: "write_file".to_owned(),
            args: json!({"path": "a.txt", "content": "x"}),
            iteration: 1,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        access: Access::Write,
        risk: RiskLevel::Medium,
        target: "/projects/a.txt".to_owned(),
        folder: Some("/projects".to_owned()),
        exists: false,
        unchanged_since_read: None,
        via_link: None,
        undoable: false,
        reasons: vec![AskReason::Mode],
        preview: Preview::NewFile { content: "x".to_owned() },
        content: None,
        model_words: String::new(),
        rule_proposals: vec![RuleScope::ToolInFolders { tool: "write_file".to_owned() }],
        dry_run: vec![(1, 2)],
        denials: vec![RuleOffer {
            scope: RuleScope::ToolInFolders { tool: "write_file".to_owned() },
            covered: 1,
            of: 2,
        }],
        server: None,
        expires_at: None,
        asked_at: UnixMs(0),
        is_asked_anew: false,
        plan_hash: "h".to_owned(),
    }
}
