//! All that the window shows, and the two ways to change it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::ir::{Confinement, SessionId, State, UnixMs};
use crate::policy::RuleSet;
use crate::port::{Command, Event, PresetInfo, Settings, Unanswered};

use super::composer::Composer;
use super::confirm::Confirms;
use super::models::{Models, OLLAMA};
use super::path::PathEntry;
use super::provider::{ProviderDesk, wrapped};
use super::remote_image::PendingLink;
use super::search::Search;
use super::toast::{Toasts, Tone};
use super::{AuditView, FaultChoice, HostAction, Intent, Panel, SessionView, SettingsPage};

/// The state of the window. Changed by `on_event`, `on_intent` and `on_tick` alone; drawing reads it.
#[derive(Debug, Default)]
pub struct AppState {
    pub phase: Phase,
    /// Where data lies.
    pub data_dir: PathBuf,
    /// Whether the person chose to go on without saving.
    pub is_unsaved: bool,
    /// What the data takes on the disk, once it was measured.
    pub data_bytes: Option<u64>,
    /// How far this computer confines commands; `None` until it was probed.
    pub confinement: Option<Confinement>,
    pub settings: Settings,
    /// All sessions, newest first.
    pub sessions: Vec<crate::ir::Session>,
    /// Whether the sessions have come.
    pub has_sessions: bool,
    /// Where each session's turn stands, as far as it was heard of.
    pub activity: HashMap<SessionId, State>,
    /// Sessions whose last turn failed and that were not looked at since.
    pub failed: HashSet<SessionId>,
    pub selected: Option<SessionId>,
    /// When the selected session was asked for: *loading* shows after 300 ms only.
    pub selected_at: UnixMs,
    /// The open session; another than the selected one while that is on its way.
    pub view: Option<SessionView>,
    pub composers: HashMap<SessionId, Composer>,
    pub confirms: Confirms,
    pub models: Models,
    /// The providers that can be set up.
    pub presets: Vec<PresetInfo>,
    pub desk: ProviderDesk,
    /// The open chat's last request, in lines of bearable length.
    pub sent: Vec<String>,
    pub search: Search,
    pub toasts: Toasts,
    pub path: Option<PathEntry>,
    /// Rules that hold in all sessions, as the settings list them.
    pub standing_rules: RuleSet,
    /// The audit, while it is looked at.
    pub audit: Option<AuditView>,
    /// The shown page of the settings.
    pub settings_page: Option<SettingsPage>,
    /// What lies over or beside the transcript.
    pub panel: Option<Panel>,
    /// A link that waits for a yes.
    pub link: Option<PendingLink>,
    /// An undo that waits for the person.
    pub undo: Option<super::undo::UndoQuestion>,
    pub history: super::undo::History,
    /// The servers that may call tools of this computer.
    pub links: super::link::Links,
    /// Sessions that live on servers.
    pub threads: super::thread::Threads,
    pub closing: Closing,
    /// What the local time is ahead of UTC, in milliseconds.
    pub utc_offset_ms: i64,
    pub(super) awaited_sessions: u32,
    pub(super) next_number: u64,
}

/// How far the program is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    /// The engine is starting.
    #[default]
    Starting,
    Running,
    /// The engine could not start.
    Faulted(StartFault),
    /// Everything is written and stopped.
    Ended,
}

/// Why the engine could not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFault {
    pub kind: StartFaultKind,
    /// The data folder that it was about.
    pub folder: PathBuf,
    /// The error's own words.
    pub detail: String,
}

/// What stands in the way of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartFaultKind {
    /// The data folder cannot be written.
    ReadOnly,
    /// The data was written by a newer Nod.
    Newer,
    /// No room on the disk.
    NoSpace,
    /// The database is damaged.
    Corrupt,
    /// Another program holds it.
    Locked,
    Other,
}

/// How far closing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closing {
    #[default]
    No,
    /// Work is running: the person is asked.
    Asked,
    /// The engine stops and writes.
    Quitting,
}

/// What follows from an event or an intent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reaction {
    pub commands: Vec<Command>,
    pub actions: Vec<HostAction>,
}

impl From<Command> for Reaction {
    fn from(command: Command) -> Self {
        Self { commands: vec![command], actions: Vec::new() }
    }
}

impl From<HostAction> for Reaction {
    fn from(action: HostAction) -> Self {
        Self { commands: Vec::new(), actions: vec![action] }
    }
}

impl Reaction {
    /// Nothing follows.
    pub fn none() -> Self {
        Self::default()
    }

    /// Both, in their order.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.commands.append(&mut other.commands);
        self.actions.append(&mut other.actions);
        self
    }
}

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
            Event::Exported { path, .. } | Event::AuditExported { path } => {
                let path = path.display().to_string();
                self.toasts.say(Tone::Good, "notice-exported", vec![("path", path)], now);
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
            Event::SentShown { session, text } => {
                if self.selected.as_ref() == Some(&session) {
                    self.sent = wrapped(&text);
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
            Event::UndoChanged { session, entries } => {
                if let Some(view) = self.view_of(&session) {
                    view.change_undo(entries);
                }
                Reaction::none()
            }
            Event::UndoPlanned(plan) => self.undo_planned(*plan),
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

            Intent::Send => self.send(now),
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

            Intent::EditDraft { text, cursor } => self.edit_draft(text, cursor, now),
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
            Intent::ConfirmUndo => self.confirm_undo(),
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

    /// Time passed: saves drafts that rest, lets toasts go.
    pub fn on_tick(&mut self, now: UnixMs) -> Reaction {
        self.toasts.expire(now);
        Reaction { commands: self.rested_drafts(now), actions: Vec::new() }
    }

    /// When `on_tick` has something to do next, or a question opens.
    pub fn next_tick(&self, now: UnixMs) -> Option<UnixMs> {
        let drafts = self.composers.values().filter_map(Composer::due_at).min();
        // A question that is open already needs no more frames.
        let confirm = self.confirms.opens_at().filter(|opens_at| *opens_at > now);
        [drafts, self.toasts.expires_at(), confirm].into_iter().flatten().min()
    }

    /// The engine did not take a command: nothing that the person gave is lost.
    pub fn on_refused(&mut self, command: Command, now: UnixMs) {
        self.toasts.fault("notice-engine-busy", Vec::new(), String::new(), now);
        if let Command::Answer { confirm, .. } = command {
            self.confirms.reopen(&confirm, now);
        } else if let Command::SaveDraft { session, .. } = command {
            if let Some(composer) = self.composers.get_mut(&session) {
                composer.mark_unsaved(now);
            }
        } else {
            self.give_back_unsent();
        }
    }

    /// The engine could not start.
    pub fn fail_start(&mut self, fault: StartFault) {
        self.phase = Phase::Faulted(fault);
    }

    /// The open session, if it is this one.
    pub(super) fn view_of(&mut self, session: &SessionId) -> Option<&mut SessionView> {
        self.view.as_mut().filter(|view| view.session.id == *session)
    }

    /// The open session, if it is the selected one.
    pub fn shown(&self) -> Option<&SessionView> {
        self.view.as_ref().filter(|view| Some(&view.session.id) == self.selected.as_ref())
    }

    /// The composer of the selected session.
    pub fn composer(&self) -> Option<&Composer> {
        self.composers.get(self.selected.as_ref()?)
    }

    pub(super) fn composer_mut(&mut self) -> Option<&mut Composer> {
        self.composers.get_mut(self.selected.as_ref()?)
    }

    pub(super) fn with_selected(&self, command: impl FnOnce(SessionId) -> Command) -> Reaction {
        self.selected.clone().map_or_else(Reaction::none, |session| command(session).into())
    }

    /// A number that tells a late answer from the awaited one.
    pub(super) fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}
