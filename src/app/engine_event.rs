//! What an event of the engine changes: one arm an event, handed to the file of its area. Must not know how anything is drawn.

use crate::ir::UnixMs;
use crate::port::{Command, Event, Unanswered, WrittenFile};

use super::models::OLLAMA;
use super::toast::Tone;
use super::{AppState, HostAction, Phase, Reaction, SessionView};

impl AppState {
    /// The engine reported something.
    pub fn on_event(&mut self, event: Event, now: UnixMs) -> Reaction {
        match event {
            Event::Started { settings, data_dir, presets } => self.started(*settings, data_dir, presets),
            Event::SessionsListed(sessions) => self.sessions_listed(sessions, now),
            Event::SessionOpened { session, messages, has_older, calls, rules, state, queued } => {
                let view = SessionView::new(*session, messages, has_older, calls, rules, state, queued);
                self.session_opened(view, now)
            }
            Event::OlderLoaded { session, messages, has_older, calls } => {
                if let Some(view) = self.view_of(&session) {
                    view.prepend(messages, has_older, calls);
                }
                Reaction::none()
            }
            Event::SessionChanged(session) => self.session_changed(*session),
            Event::SessionDeleted(session) => self.session_deleted(&session, now),
            Event::SessionsDeleted(sessions) => self.sessions_deleted(sessions, now),
            Event::FileWritten { what, path } => {
                let key = match what {
                    WrittenFile::Export => "notice-exported",
                    WrittenFile::Backup => "notice-backed-up",
                };
                self.toasts.say(Tone::Good, key, vec![("path", path.display().to_string())], now);
                Reaction::none()
            }
            Event::SessionsImported(sessions) => {
                // A single one opens, which says it.
                if sessions.len() > 1 {
                    self.toasts.say(Tone::Good, "notice-imported", vec![("count", sessions.len().to_string())], now);
                }
                Reaction::none()
            }
            Event::StateChanged { session, state } => self.state_changed(session, state),
            Event::MessageChanged(record) => self.message_changed(*record),
            Event::Streamed { session, message, event } => {
                if let Some(view) = self.view_of(&session) {
                    view.stream(&message, &event.body, now);
                }
                Reaction::none()
            }
            Event::CallChanged(record) => {
                self.offer_folder(&record, now);
                if let Some(view) = self.view_of(&record.session.clone()) {
                    view.change_call(*record);
                }
                Reaction::none()
            }
            Event::CallOutput { session, call, text, is_stderr: _ } => {
                if let Some(view) = self.view_of(&session) {
                    view.append_output(&call, &text);
                }
                Reaction::none()
            }
            Event::CallProgressed { session, call, files } => {
                if let Some(view) = self.view_of(&session) {
                    view.progress(&call, files);
                }
                Reaction::none()
            }
            Event::LiftedChanged { session, files } => {
                if let Some(view) = self.view_of(&session) {
                    view.lifted = files;
                }
                Reaction::none()
            }
            Event::SecretsChanged { session, secrets } => {
                if let Some(view) = self.view_of(&session) {
                    view.set_secrets(secrets);
                }
                Reaction::none()
            }
            Event::ContactsChanged { session, contacts } => {
                if let Some(view) = self.view_of(&session) {
                    view.contacts = contacts;
                }
                Reaction::none()
            }
            Event::ImageLoaded { session, url, image } => {
                self.image_loaded(&session, url, image);
                Reaction::none()
            }
            Event::ConfirmAsked(request) => {
                self.confirms.ask(*request, now);
                Reaction::none()
            }
            Event::ConfirmClosed { confirm, session: _, unanswered } => {
                self.confirms.close(&confirm, now);
                // Whoever was away finds it when they are back.
                match unanswered {
                    None => {}
                    Some(Unanswered::Expired) => self.toasts.keep(Tone::Warn, "notice-question-expired"),
                    Some(Unanswered::ScreenLocked) => self.toasts.keep(Tone::Warn, "notice-question-locked"),
                }
                Reaction::none()
            }
            Event::ProviderSwitched { session: _, from, to, error } => {
                let args = vec![("from", from), ("to", to)];
                self.toasts.say_why(Tone::Warn, "notice-provider-switched", args, error, now);
                Reaction::none()
            }
            Event::Retrying { session, attempt, wait_ms, error } => {
                self.retrying(&session, attempt, wait_ms, error, now);
                Reaction::none()
            }
            Event::QueueChanged { session, queued } => self.queue_changed(&session, queued),
            Event::TurnEnded(end) => self.turn_ended(&end),
            Event::RulesChanged { session, rules } => {
                match session {
                    None => self.standing_rules = rules,
                    Some(session) => {
                        if let Some(view) = self.view_of(&session) {
                            view.rules = rules;
                        }
                    }
                }
                Reaction::none()
            }
            Event::AuditLoaded { number, offset, rows, total, last } => {
                self.audit_loaded(number, offset, rows, total, last);
                Reaction::none()
            }
            Event::AuditChecked { number, check } => {
                self.audit_checked(number, check);
                Reaction::none()
            }
            Event::ModelsChanged { provider, state } => {
                self.models.change(provider, state);
                Reaction::none()
            }
            Event::PullProgressed { provider, model, status, completed_bytes, total_bytes, is_done, error } => {
                self.pull_progressed(provider, model, status, (completed_bytes, total_bytes), is_done, error, now)
            }
            Event::SettingsChanged(settings) => {
                let is_elsewhere = self.settings.models.ollama_url != settings.models.ollama_url;
                self.settings = *settings;
                self.models.keep_only(&self.settings.providers);
                if !is_elsewhere {
                    return Reaction::none();
                }
                // Another address is another list of models.
                let provider = Some(OLLAMA.to_owned());
                self.models.refresh(provider.as_deref());
                Command::RefreshModels { provider }.into()
            }
            Event::KeyKept { provider, problem } => self.key_kept(provider, problem, now),
            Event::SentShown { session, parts } => {
                if self.selected.as_ref() == Some(&session) {
                    self.sent = super::sent::lines(parts);
                }
                Reaction::none()
            }
            Event::ProviderTested(found) => {
                self.models.tested(*found);
                Reaction::none()
            }
            Event::SearchFound { number, hits } => {
                self.search.found(number, hits);
                Reaction::none()
            }
            Event::PathsCompleted { number, paths } => self.paths_completed(number, paths),
            // The command line's own calls show up as `CallChanged`; the gauge shows the newest answer's own count, not an
            // estimate.
            Event::ConfinementFound(confinement) => {
                self.confinement = Some(*confinement);
                Reaction::none()
            }
            Event::LinksChanged { device_id, links } => self.links_changed(device_id, links),
            Event::ThreadsListed { url, threads } => self.threads_listed(url, threads),
            Event::ThreadUnreached { session, problem } => self.thread_unreached(session, problem),
            Event::SessionMoved { from, to } => self.session_moved(&from, to, now),
            Event::LinkCallChanged { url, call } => {
                self.links.change_call(&url, call);
                Reaction::none()
            }
            Event::LinkCallsListed { url, calls } => {
                self.links.list_calls(&url, calls);
                Reaction::none()
            }
            // That a history was shortened stands under its answer.
            Event::ToolEnded { .. } | Event::ContextMeasured { .. } | Event::HistoryShortened { .. } => {
                Reaction::none()
            }
            Event::UndoChanged { session, mut entries } => {
                if let Some(view) = &mut self.view {
                    // Of other sessions only what this one has copied.
                    entries.retain(|entry| view.session.id == session || view.undo.contains_key(&entry.id));
                    if !entries.is_empty() {
                        view.change_undo(entries);
                    }
                }
                Reaction::none()
            }
            Event::UndoPlanned(plan) => self.undo_planned(*plan, now),
            Event::UndoApplied { session: _, scope, direction, results } => {
                self.undo_applied(scope, direction, &results, now)
            }
            Event::UndoShown { entry, preview } => self.undo_shown(entry, preview),
            Event::Notice { key, args } => {
                self.toasts.say(Tone::Info, key, args, now);
                Reaction::none()
            }
            Event::Fault { key, args, detail } => {
                self.undo_failed(key);
                self.toasts.fault(key, args, detail, now);
                self.give_back_unsent();
                Reaction::none()
            }
            Event::Raised => HostAction::Raise.into(),
            Event::Ended => {
                self.phase = Phase::Ended;
                HostAction::Quit.into()
            }
        }
    }
}
