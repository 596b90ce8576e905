//! What an intent of the person changes: one arm an intent, handed to the file of its area. Must not know how anything is
//! drawn.

use crate::ir::UnixMs;
use crate::port::Command;

use super::remote_image::PendingLink;
use super::toast::Tone;
use super::{AppState, Closing, FaultChoice, HostAction, Intent, Panel, Phase, Reaction, SettingsPage};

impl AppState {
    /// The person did something.
    pub fn on_intent(&mut self, intent: Intent, now: UnixMs) -> Reaction {
        if self.is_only_for_here(&intent, now) {
            return Reaction::none();
        }
        match intent {
            Intent::NewChat => self.new_chat(now),
            Intent::SelectSession(session) => self.select(&session, now),
            Intent::SelectNeighbour(step) => self.select_neighbour(step, now),
            Intent::JumpTo { session, message } => self.jump_to(&session, message, now),
            Intent::RenameSession { session, title } => Self::rename(session, &title),
            Intent::PinSession { session, pinned } => Command::PinSession { session, pinned }.into(),
            Intent::ForkSession(session) => self.fork(&session),
            Intent::DeleteSession(session) => self.delete_session(session),
            Intent::ConfirmDeletion => self.confirm_deletion(),
            Intent::CancelDeletion => {
                self.threads.doomed = None;
                Reaction::none()
            }
            Intent::BeginThread(url) => self.begin_thread(url),
            Intent::ListThreads(url) => Command::ListThreads { url }.into(),
            Intent::ToggleThreads(url) => self.toggle_threads(&url),
            Intent::RestoreSession(session) => Command::RestoreSession(session).into(),
            Intent::DeleteAllSessions => {
                self.asks_to_delete_all = true;
                Reaction::none()
            }
            Intent::ConfirmDeletionOfAll => {
                self.asks_to_delete_all = false;
                Command::DeleteAllSessions.into()
            }
            Intent::CancelDeletionOfAll => {
                self.asks_to_delete_all = false;
                Reaction::none()
            }
            Intent::RestoreSessions(sessions) => Command::RestoreSessions(sessions).into(),

            Intent::Send => {
                self.confirms.stop_typing();
                self.send(now)
            }
            Intent::Stop => self.with_selected(Command::Stop),
            Intent::Continue | Intent::Retry => self.with_selected(Command::Continue),
            Intent::EditMessage(message) => self.edit_message(&message),
            Intent::EditLast => self.edit_last(),
            Intent::CancelEdit => self.cancel_edit(),
            Intent::Regenerate(message) => self.with_selected(|session| Command::Regenerate { session, message }),
            Intent::SelectVersion { message, version } => {
                self.with_selected(|session| Command::SelectVersion { session, message, version })
            }
            Intent::ForkHere(message) => {
                self.awaited_sessions += 1;
                self.with_selected(|session| Command::ForkSession { session, at: message })
            }
            Intent::DeleteMessage(message) => self.with_selected(|session| Command::DeleteMessage { session, message }),
            Intent::Unqueue(index) => self.unqueue(index),
            Intent::LoadOlder => self.load_older(),
            Intent::ToggleCall(call) => {
                if let Some(view) = &mut self.view {
                    view.toggle_call(&call);
                }
                Reaction::none()
            }
            Intent::ToggleItem(key) => {
                if let Some(view) = &mut self.view {
                    view.toggle_item(key);
                }
                Reaction::none()
            }
            Intent::ReviewCall(call) => {
                if let Some(session) = &self.selected {
                    self.confirms.review(session, &call, now);
                }
                Reaction::none()
            }
            Intent::StopCall(call) => self.with_selected(|session| Command::StopCall { session, call }),
            Intent::CopyText(text) => HostAction::CopyText(text).into(),
            Intent::OpenLink(url) => self.open_link(PendingLink { url, is_image: false }),
            Intent::OpenImage(url) => self.open_link(PendingLink { url, is_image: true }),
            Intent::LoadImage => self.load_image(),
            Intent::ConfirmLink => {
                self.link.take().map_or_else(Reaction::none, |link| HostAction::OpenLink(link.url).into())
            }
            Intent::CancelLink => {
                self.link = None;
                Reaction::none()
            }
            Intent::OpenFile(path) => HostAction::OpenFile(path).into(),
            Intent::ShowInFolder(path) => HostAction::ShowInFolder(path).into(),

            Intent::EditDraft { text, cursor } => {
                if text.is_empty() {
                    self.confirms.stop_typing();
                }
                self.edit_draft(text, cursor, now)
            }
            Intent::AttachFiles(paths) => HostAction::ReadFiles(paths).into(),
            Intent::AttachImage(image) => self.attach(super::composer::Attachment::Image(image)),
            Intent::AttachText { name, text } => self.attach(super::composer::Attachment::Text { name, text }),
            Intent::OpenFailed(path) => {
                self.toasts.fault("notice-open-failed", vec![("path", path)], String::new(), now);
                Reaction::none()
            }
            Intent::AttachFailed { name, key } => {
                self.toasts.say(Tone::Bad, key, vec![("name", name)], now);
                Reaction::none()
            }
            Intent::RemoveAttachment(index) => self.remove_attachment(index),
            Intent::MoveCompletion(step) => self.move_completion(step),
            Intent::AcceptCompletion(index) => self.accept_completion(index, now),
            Intent::CloseCompletion => self.close_completion(),

            Intent::ChooseModel { provider, model } => self.choose_model(provider, model),
            Intent::RefreshModels(provider) => {
                self.models.refresh(provider.as_deref());
                match self.current().filter(|_| self.settings_page.is_none()).map(|session| session.id.clone()) {
                    Some(session) => Command::RefreshSessionModels { session, provider }.into(),
                    // Settings belong to no chat.
                    None => Command::RefreshModels { provider }.into(),
                }
            }
            Intent::SetThinking(thinking) => self.with_selected(|session| Command::SetThinking { session, thinking }),
            Intent::SetMode(mode) => self.with_selected(|session| Command::SetMode { session, mode }),
            Intent::AddFolderPath(path) => self.add_folder(path),
            Intent::RemoveFolder(path) => self.with_selected(|session| Command::RemoveFolder { session, path }),
            Intent::RevokeRule(rule) => {
                self.with_selected(|session| Command::RevokeRule { session: Some(session), rule })
            }
            Intent::TakeLiftBack(path) => self.with_selected(|session| Command::TakeLiftBack { session, path }),
            Intent::RevokeStandingRule(rule) => Command::RevokeRule { session: None, rule }.into(),
            Intent::MakeRule { session, effect, scope } => Command::MakeRule { session, effect, scope }.into(),

            Intent::ReleaseSecret { secret, is_released } => {
                self.with_selected(|session| Command::ReleaseSecret { session, secret, is_released })
            }
            Intent::SetLocalOnly(is_local_only) => {
                self.with_selected(|session| Command::SetLocalOnly { session, is_local_only })
            }

            Intent::PickPath(purpose) => self.pick_path(purpose),
            Intent::DialogClosed { purpose, paths, waited_ms } => self.dialog_closed(purpose, paths, waited_ms),
            Intent::TypePath(purpose) => self.type_path(purpose),
            Intent::EditPath(text) => self.edit_path(text),
            Intent::SubmitPath => self.submit_path(),
            Intent::CancelPath => {
                self.path = None;
                Reaction::none()
            }

            Intent::AllowOnce(confirm) => self.confirms.allow_once(&confirm, now),
            Intent::AllowWithNetwork(confirm) => self.confirms.allow_with_network(&confirm, now),
            Intent::AllowInSession { confirm, proposal } => self.confirms.allow_in_session(&confirm, proposal, now),
            Intent::AllowReads(reads) => self.confirms.allow_reads(&reads, now),
            Intent::Deny { confirm, reason } => self.confirms.deny(&confirm, reason, now),
            Intent::DenyInSession { confirm, offer } => self.confirms.deny_in_session(&confirm, offer, now),
            Intent::DenyAndStop(confirm) => self.confirms.deny_and_stop(&confirm, now),
            Intent::SeeConfirm { confirm, is_in_sight } => {
                self.confirms.see(&confirm, is_in_sight, now);
                Reaction::none()
            }
            Intent::IgnorePress => {
                self.confirms.ignore_press(now);
                Reaction::none()
            }
            Intent::ShowNeighbourConfirm(step) => {
                self.confirms.show_neighbour(step, now);
                Reaction::none()
            }

            Intent::PlanUndo { scope, direction } => self.plan_undo(scope, direction),
            Intent::ShowUndoStep { step, shows_change_since } => self.show_undo_step(step, shows_change_since),
            Intent::ChooseUndo { entry, choice } => self.choose_undo(entry, choice),
            Intent::ConfirmUndo => self.confirm_undo(now),
            Intent::CancelUndo => self.cancel_undo(),
            Intent::ShowHistory(path) => self.show_history(path),
            Intent::ToggleHistory(entry) => self.toggle_history(entry),

            Intent::OpenSettings(page) => {
                self.settings_page = Some(page);
                self.audit = None;
                self.panel = None;
                match page {
                    SettingsPage::Data => HostAction::Measure(self.data_dir.clone()).into(),
                    SettingsPage::Safety => Reaction {
                        commands: vec![Command::FindConfinement, Command::ListStandingRules],
                        actions: Vec::new(),
                    },
                    SettingsPage::Servers => self.list_open_calls(),
                    SettingsPage::General
                    | SettingsPage::Models
                    | SettingsPage::Tools
                    | SettingsPage::Prompts
                    | SettingsPage::Shortcuts
                    | SettingsPage::About => Reaction::none(),
                }
            }
            Intent::CloseSettings => {
                self.settings_page = None;
                HostAction::FocusComposer.into()
            }
            Intent::SetSetting { key, value } => self.set_setting(key, value, now),
            Intent::BeginProvider(preset) => self.begin_provider(&preset),
            Intent::OpenProvider(id) => self.open_provider(id),
            Intent::ShowSent => {
                self.sent.clear();
                self.panel = Some(Panel::Sent);
                self.with_selected(Command::ShowSent)
            }
            Intent::PutProvider { record, key } => self.put_provider(*record, key),
            Intent::RemoveProvider(id) => self.remove_provider(id),
            Intent::SetProviderKey { provider, key } => {
                self.models.tests.remove(&provider);
                Command::SetKey { provider, key }.into()
            }
            Intent::RemoveProviderKey(provider) => Command::RemoveKey { provider }.into(),
            Intent::TestProvider(provider) => self.test_provider(provider),
            Intent::PutPrompt { at, prompt } => self.put_prompt(at, prompt, now),
            Intent::RemovePrompt(index) => self.remove_prompt(index, now),
            Intent::InsertPrompt(index) => self.insert_prompt(index, now),
            Intent::SetPrice { model, price } => self.set_price(model, price, now),
            Intent::ResetSetting(key) => Command::ResetSetting { key: key.to_owned() }.into(),
            Intent::PullModel { provider, model } => self.pull_model(provider, &model),
            Intent::CancelPull { provider, model } => Command::CancelPull { provider, model }.into(),

            Intent::BeginLink(url) => self.begin_link(url),
            Intent::CloseLinkForm => {
                self.links.form = None;
                Reaction::none()
            }
            Intent::PutLink { url, workspace, token } => self.put_link(url, &workspace, token),
            Intent::PauseLink { url, is_paused } => Command::PauseLink { url, is_paused }.into(),
            Intent::RetryLink(url) => Command::RetryLink { url }.into(),
            Intent::RemoveLink(url) => Command::RemoveLink { url }.into(),
            Intent::ToggleLinkCalls(url) => self.toggle_link_calls(url),

            Intent::OpenAudit => self.open_audit(),
            Intent::CloseAudit => {
                self.audit = None;
                Reaction::none()
            }
            Intent::FilterAudit(filter) => self.filter_audit(filter),
            Intent::LoadAuditPage(page) => self.load_audit_page(page),

            Intent::DataMeasured(bytes) => {
                self.data_bytes = Some(bytes);
                Reaction::none()
            }

            Intent::Search(query) => self.change_search(query),
            Intent::ClearSearch => {
                self.search.clear();
                Reaction::none()
            }
            Intent::Open(panel) => self.open_panel(panel),
            Intent::ClosePanel => {
                self.panel = None;
                Reaction::none()
            }
            Intent::ToggleSidebar => {
                let show = !self.settings.general.show_sidebar;
                self.set_setting("general.show_sidebar", show.into(), now)
            }
            Intent::NoteScreenLock { is_locked } => Command::NoteScreenLock { is_locked }.into(),
            Intent::DismissToast(toast) => {
                self.toasts.dismiss(toast);
                Reaction::none()
            }

            Intent::AnswerFault(choice) => {
                self.is_unsaved = choice == FaultChoice::WithoutSaving;
                self.phase = Phase::Starting;
                HostAction::Restart(choice).into()
            }
            Intent::RequestClose => self.request_close(),
            Intent::ConfirmClose => self.quit(),
            Intent::CancelClose => {
                self.closing = Closing::No;
                Reaction::none()
            }
        }
    }
}
