//! The running turn of a session: sending, stopping, queueing, ending.

use crate::ir::{CallRecord, Code, Error, MessageId, MessageRecord, Role, SessionId, State, ToolResult, UnixMs};
use crate::port::{Command, TurnEnd, TurnOutcome};

use super::session_view::TurnNote;
use super::toast::{ToastAction, Tone};
use super::{AppState, HostAction, Intent, Panel, PathPurpose, Reaction};

impl AppState {
    /// The first call that needs a folder, where there is none yet, asks for one.
    pub(super) fn offer_folder(&mut self, record: &CallRecord, now: UnixMs) {
        let left_scope = record.result.as_ref().and_then(ToolResult::code) == Some(Code::PathOutOfScope.as_str());
        let has_none = self.current().is_some_and(|session| session.id == record.session && session.folders.is_empty());
        if left_scope && has_none {
            let add = ToastAction { key: "top-add-folder", intent: Intent::PickPath(PathPurpose::SessionFolder) };
            self.toasts.say_with(Tone::Warn, "notice-no-folder", Vec::new(), Some(add), now);
        }
    }

    /// Whether the selected session's turn runs.
    pub fn is_running(&self) -> bool {
        self.selected.as_ref().and_then(|session| self.activity.get(session)).is_some_and(|state| state.is_running())
    }

    pub(super) fn send(&mut self, now: UnixMs) -> Reaction {
        let Some(session) = self.selected.clone() else { return Reaction::none() };
        let Some(composer) = self.composers.get(&session) else { return Reaction::none() };
        if let Some(command) = composer.typed_command() {
            if let Some(composer) = self.composer_mut() {
                composer.clear();
            }
            return self.run_slash(&command, now);
        }
        if composer.is_empty() {
            return Reaction::none();
        }
        let has_model = self.current().is_some_and(|session| !session.model.is_empty());
        if !has_model {
            self.panel = Some(Panel::Models);
            self.toasts.say(Tone::Warn, "notice-choose-model", Vec::new(), now);
            return Reaction::none();
        }
        if self.home().is_some() && self.composer().is_some_and(super::composer::Composer::has_image) {
            self.toasts.say(Tone::Warn, "fault-thread-images", Vec::new(), now);
            return Reaction::none();
        }
        if self.is_blind() && self.composer().is_some_and(super::composer::Composer::has_image) {
            self.toasts.say(Tone::Warn, "notice-no-vision", Vec::new(), now);
            return Reaction::none();
        }
        let Some(composer) = self.composers.get_mut(&session) else { return Reaction::none() };
        let editing = composer.editing.clone();
        let (text, images) = composer.take_for_sending();
        let command = match editing {
            Some(message) => Command::EditMessage { session, message, text },
            None => Command::Send { session, text, images },
        };
        Reaction::from(command).and(HostAction::ScrollToEnd.into())
    }

    /// Text that the engine did not take goes back into its box.
    pub(super) fn give_back_unsent(&mut self) {
        for composer in self.composers.values_mut() {
            composer.give_back();
        }
    }

    pub(super) fn state_changed(&mut self, session: SessionId, state: State) -> Reaction {
        if let Some(view) = self.view_of(&session) {
            view.set_state(state);
        }
        self.activity.insert(session, state);
        Reaction::none()
    }

    pub(super) fn message_changed(&mut self, record: MessageRecord) -> Reaction {
        let session = record.session.clone();
        let is_person = record.message.role == Role::User;
        let known = self.sessions.iter_mut().find(|known| known.id == session);
        if let Some(known) = known.or_else(|| self.threads.find_mut(&session)) {
            known.updated_at = known.updated_at.max(record.message.timestamp);
            known.head.get_or_insert_with(|| record.id.clone());
        }
        if let Some(view) = self.view_of(&session) {
            view.change_message(record);
        }
        if is_person { self.acknowledge(session) } else { Reaction::none() }
    }

    pub(super) fn queue_changed(&mut self, session: &SessionId, queued: Vec<String>) -> Reaction {
        if let Some(view) = self.view_of(session) {
            view.queued = queued;
        }
        self.acknowledge(session.clone())
    }

    /// The engine has the person's text: only now the kept draft goes.
    fn acknowledge(&mut self, session: SessionId) -> Reaction {
        let Some(composer) = self.composers.get_mut(&session) else { return Reaction::none() };
        if !composer.acknowledge() {
            return Reaction::none();
        }
        let text = composer.text.clone();
        Command::SaveDraft { session, text }.into()
    }

    pub(super) fn unqueue(&mut self, index: usize) -> Reaction {
        let text = self.shown().and_then(|view| view.queued.get(index)).cloned();
        if let (Some(text), Some(composer)) = (text, self.composer_mut())
            && composer.is_empty()
        {
            composer.set_text(text);
        }
        self.with_selected(|session| Command::Unqueue { session, index }).and(HostAction::FocusComposer.into())
    }

    pub(super) fn load_older(&mut self) -> Reaction {
        let Some(view) = self.view.as_mut().filter(|view| view.has_older && !view.is_loading_older) else {
            return Reaction::none();
        };
        let Some(before) = view.branch().next().map(|record| record.id.clone()) else { return Reaction::none() };
        view.is_loading_older = true;
        Command::LoadOlder { session: view.session.id.clone(), before }.into()
    }

    pub(super) fn retrying(&mut self, session: &SessionId, attempt: u32, wait_ms: u64, error: Error, now: UnixMs) {
        let until = UnixMs(now.0.saturating_add(i64::try_from(wait_ms).unwrap_or(i64::MAX)));
        if let Some(view) = self.view_of(session) {
            view.note = TurnNote::Retrying { attempt, until, error };
        }
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEnd) -> Reaction {
        let state = match end.outcome {
            TurnOutcome::Done | TurnOutcome::Denied | TurnOutcome::Limit => State::Done,
            TurnOutcome::Failed => State::Failed,
            TurnOutcome::Stopped => State::Cancelled,
        };
        self.activity.insert(end.session_id.clone(), state);
        if end.outcome == TurnOutcome::Failed && self.selected.as_ref() != Some(&end.session_id) {
            self.failed.insert(end.session_id.clone());
        }
        if let Some(view) = self.view_of(&end.session_id) {
            view.end_turn(state, end.outcome == TurnOutcome::Limit && end.can_continue);
        }
        Reaction::none()
    }

    pub(super) fn edit_message(&mut self, message: &MessageId) -> Reaction {
        let text =
            self.shown().and_then(|view| view.messages.get(message)).map(|record| record.message.content.clone());
        let (Some(text), Some(composer)) = (text, self.composer_mut()) else { return Reaction::none() };
        composer.edit(message.clone(), text);
        HostAction::FocusComposer.into()
    }

    pub(super) fn edit_last(&mut self) -> Reaction {
        let last = self.shown().and_then(|view| view.last_of_person()).map(|record| record.id.clone());
        last.map_or_else(Reaction::none, |message| self.edit_message(&message))
    }

    pub(super) fn cancel_edit(&mut self) -> Reaction {
        if let Some(composer) = self.composer_mut() {
            composer.cancel_edit();
        }
        HostAction::FocusComposer.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::{message, open_state, question};
    use crate::ir::{CallId, CallStatus};
    use crate::port::Event;

    const NOW: UnixMs = UnixMs(1_000);

    fn typed(state: &mut AppState, text: &str) {
        state.on_intent(Intent::EditDraft { text: text.to_owned(), cursor: text.len() }, NOW);
    }

    fn text(state: &AppState) -> &str {
        state.composer().map_or("", |composer| composer.text.as_str())
    }

    fn failed_call(code: Code) -> CallRecord {
        let result = ToolResult {
            tool_call_id: CallId::new("c"),
            tool_name: "read_file".to_owned(),
            result: serde_json::json!({"success": false, "code": code.as_str()}),
            summary: None,
            success: false,
            error: Some("no".to_owned()),
            duration_ms: 0,
            timestamp: NOW,
        };
        let row = CallRecord::new(question("q").call, SessionId::new("s"), None, NOW);
        CallRecord { status: CallStatus::Denied, result: Some(result), ..row }
    }

    #[test]
    fn the_first_call_that_needs_a_folder_offers_to_add_one_and_only_where_there_is_none() {
        let offers = |folders: &[&str], code| {
            let mut state = open_state();
            let view = state.view.as_mut().unwrap();
            view.session.folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
            state.on_event(Event::CallChanged(Box::new(failed_call(code))), NOW);
            let intent = state.toasts.shown.first().and_then(|toast| toast.action.clone()).map(|action| action.intent);
            intent == Some(Intent::PickPath(PathPurpose::SessionFolder))
        };
        assert!(offers(&[], Code::PathOutOfScope));
        assert!(!offers(&["/projects"], Code::PathOutOfScope));
        assert!(!offers(&[], Code::PathNotFound));
    }

    #[test]
    fn another_address_of_the_models_is_asked_for_its_models() {
        let mut state = open_state();
        let mut settings = state.settings.clone();
        settings.general.show_sidebar = !settings.general.show_sidebar;
        let quiet = state.on_event(Event::SettingsChanged(Box::new(settings.clone())), NOW);
        assert_eq!(quiet.commands, []);
        settings.models.ollama_url = "http://127.0.0.1:1234".to_owned();
        let asked = state.on_event(Event::SettingsChanged(Box::new(settings)), NOW);
        assert_eq!(asked.commands, [Command::RefreshModels { provider: Some("ollama".into()) }]);
    }

    #[test]
    fn sending_empties_the_box_and_the_kept_draft_goes_only_when_the_engine_has_the_text() {
        let mut state = open_state();
        typed(&mut state, "hello ");
        let session = SessionId::new("s");
        let sent = state.on_intent(Intent::Send, NOW);
        assert_eq!(
            sent.commands,
            [Command::Send { session: session.clone(), text: "hello".to_owned(), images: Vec::new() }]
        );
        assert_eq!(text(&state), "");
        let record = message("m", Role::User, "hello");
        let acknowledged = state.on_event(Event::MessageChanged(Box::new(record)), NOW);
        assert_eq!(acknowledged.commands, [Command::SaveDraft { session, text: String::new() }]);
    }

    #[test]
    fn nothing_typed_is_lost_when_a_send_fails() {
        let mut state = open_state();
        typed(&mut state, "hello");
        state.on_intent(Intent::Send, NOW);
        typed(&mut state, "and more");
        let fault = Event::Fault { key: "fault", args: Vec::new(), detail: "disk full".to_owned() };
        state.on_event(fault, NOW);
        assert_eq!(text(&state), "hello\nand more");
    }

    #[test]
    fn a_full_command_queue_gives_the_text_back_and_says_so() {
        let mut state = open_state();
        typed(&mut state, "hello");
        let mut sent = state.on_intent(Intent::Send, NOW);
        state.on_refused(sent.commands.remove(0), NOW);
        assert_eq!(text(&state), "hello");
        assert_eq!(state.toasts.shown.len(), 1);
    }

    #[test]
    fn without_a_model_the_picker_opens_and_the_text_stays() {
        let mut state = open_state();
        if let Some(view) = &mut state.view {
            view.session.model.clear();
        }
        typed(&mut state, "hello");
        assert_eq!(state.on_intent(Intent::Send, NOW).commands, []);
        assert_eq!((text(&state), state.panel), ("hello", Some(Panel::Models)));
    }

    #[test]
    fn editing_the_last_message_keeps_what_was_typed_for_afterwards() {
        let mut state = open_state();
        state.on_event(Event::MessageChanged(Box::new(message("m", Role::User, "first"))), NOW);
        typed(&mut state, "half a thought");
        state.on_intent(Intent::EditLast, NOW);
        assert_eq!(text(&state), "first");
        typed(&mut state, "better");
        let sent = state.on_intent(Intent::Send, NOW);
        assert_eq!(
            sent.commands,
            [Command::EditMessage {
                session: SessionId::new("s"),
                message: MessageId::new("m"),
                text: "better".to_owned()
            }]
        );
        assert_eq!(text(&state), "half a thought");
    }

    #[test]
    fn a_draft_is_kept_when_the_keyboard_rests_and_not_at_every_key() {
        let mut state = open_state();
        typed(&mut state, "h");
        assert_eq!(state.on_tick(UnixMs(NOW.0 + 399)).commands, []);
        let rested = state.on_tick(UnixMs(NOW.0 + 400));
        assert_eq!(rested.commands, [Command::SaveDraft { session: SessionId::new("s"), text: "h".to_owned() }]);
        assert_eq!(state.on_tick(UnixMs(NOW.0 + 9_000)).commands, []);
    }

    #[test]
    fn a_slash_command_runs_and_is_not_sent() {
        let mut state = open_state();
        typed(&mut state, "/stop");
        let reaction = state.on_intent(Intent::Send, NOW);
        assert_eq!(reaction.commands.last(), Some(&Command::Stop(SessionId::new("s"))));
        assert_eq!(text(&state), "");
    }

    #[test]
    fn a_completed_file_replaces_its_beginning_and_a_late_answer_is_dropped() {
        let mut state = open_state();
        typed(&mut state, "read @sr");
        let asked = state.on_intent(Intent::EditDraft { text: "read @src".to_owned(), cursor: 9 }, NOW);
        let [Command::CompletePath { prefix, number, .. }] = asked.commands.as_slice() else { panic!("{asked:?}") };
        assert_eq!(prefix, "src");
        let number = *number;
        state.on_event(Event::PathsCompleted { number: number - 1, paths: vec!["old".to_owned()] }, NOW);
        state.on_event(Event::PathsCompleted { number, paths: vec!["src/main.rs".to_owned()] }, NOW);
        state.on_intent(Intent::AcceptCompletion(None), NOW);
        assert_eq!(text(&state), "read `src/main.rs` ");
    }

    #[test]
    fn a_failed_turn_in_the_background_leaves_a_badge_until_it_is_looked_at() {
        let mut state = open_state();
        let other = SessionId::new("other");
        let end = TurnEnd {
            session_id: other.clone(),
            outcome: TurnOutcome::Failed,
            content: String::new(),
            usage: crate::ir::TokenUsage::default(),
            rounds: 1,
            error: None,
            can_continue: false,
        };
        state.on_event(Event::TurnEnded(Box::new(end)), NOW);
        assert_eq!(state.badge(&other), crate::app::session::Badge::Failed);
        state.on_intent(Intent::SelectSession(other.clone()), NOW);
        assert_eq!(state.badge(&other), crate::app::session::Badge::None);
    }

    #[test]
    fn closing_with_work_running_asks_first() {
        let mut state = open_state();
        state.activity.insert(SessionId::new("s"), State::Executing);
        assert_eq!(state.on_intent(Intent::RequestClose, NOW), Reaction::none());
        assert_eq!(state.closing, crate::app::Closing::Asked);
        assert_eq!(state.on_intent(Intent::ConfirmClose, NOW).commands, [Command::Quit]);
    }
}
