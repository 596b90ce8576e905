//! Short-lived view data: what a list draws, made from the state when it is drawn. Texts are keys; no sentence is built here.

use crate::ir::{Cost, Error, LinkProblem, Session, SessionId, Support, UnixMs};
use crate::port::ModelsState;

use super::models::{GUIDE, OLLAMA};
use super::session::{Badge, is_unused};
use super::{AppState, Intent, Panel, PathPurpose, SettingsPage};

const DAY_MS: i64 = 86_400_000;

/// One row of the sidebar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidebarRow {
    /// The key of a group's name.
    Heading(&'static str),
    /// The sessions that live on this server follow.
    Server { url: String, host: String, is_loading: bool },
    /// Why a server's list is not the newest.
    ServerProblem { url: String, problem: LinkProblem },
    /// There are more of them, or all are shown.
    MoreThreads { url: String, count: usize, is_unfolded: bool },
    Session {
        id: SessionId,
        /// Empty until the first message.
        title: String,
        badge: Badge,
        is_selected: bool,
        is_pinned: bool,
    },
}

/// The sidebar's rows: those of servers, then pinned, today, yesterday, last 7 days, older; newest first in each.
pub fn sidebar_rows(state: &AppState, now: UnixMs) -> Vec<SidebarRow> {
    let mut rows = super::thread::rows(state);
    rows.reserve(state.sessions.len() + 5);
    let mut last = None;
    for (group, session) in grouped(state, now) {
        if last != Some(group) {
            rows.push(SidebarRow::Heading(group.key()));
            last = Some(group);
        }
        rows.push(SidebarRow::Session {
            id: session.id.clone(),
            title: session.title.clone(),
            badge: state.badge(&session.id),
            is_selected: state.selected.as_ref() == Some(&session.id),
            is_pinned: session.pinned,
        });
    }
    rows
}

/// The sessions in the sidebar's order.
pub fn sidebar_order(state: &AppState, now: UnixMs) -> Vec<SessionId> {
    let here = grouped(state, now).into_iter().map(|(_, session)| &session.id);
    super::thread::order(state).chain(here).cloned().collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Pinned,
    Today,
    Yesterday,
    LastWeek,
    Older,
}

impl Group {
    const fn key(self) -> &'static str {
        match self {
            Self::Pinned => "sidebar-pinned",
            Self::Today => "sidebar-today",
            Self::Yesterday => "sidebar-yesterday",
            Self::LastWeek => "sidebar-last-week",
            Self::Older => "sidebar-older",
        }
    }
}

fn grouped(state: &AppState, now: UnixMs) -> Vec<(Group, &Session)> {
    let today = day_of(now, state.utc_offset_ms);
    let mut rows: Vec<(Group, &Session)> = state
        .sessions
        .iter()
        // An empty chat shows only while one is in it.
        .filter(|session| !is_unused(session) || state.selected.as_ref() == Some(&session.id))
        .map(|session| {
            let age = today - day_of(session.updated_at, state.utc_offset_ms);
            let group = match age {
                _ if session.pinned => Group::Pinned,
                // A clock that was set back shows the future as today.
                ..=0 => Group::Today,
                1 => Group::Yesterday,
                2..=7 => Group::LastWeek,
                8.. => Group::Older,
            };
            (group, session)
        })
        .collect();
    rows.sort_by(|(group, a), (other, b)| {
        group.cmp(other).then(b.updated_at.cmp(&a.updated_at)).then_with(|| a.id.cmp(&b.id))
    });
    rows
}

fn day_of(time: UnixMs, utc_offset_ms: i64) -> i64 {
    time.0.saturating_add(utc_offset_ms).div_euclid(DAY_MS)
}

/// How full the model's context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextGauge {
    pub used_tokens: u64,
    pub window_tokens: u64,
}

impl ContextGauge {
    /// 0 to 1.
    pub fn ratio(self) -> f32 {
        if self.window_tokens == 0 { 0.0 } else { (self.used_tokens as f32 / self.window_tokens as f32).min(1.0) }
    }
}

/// The gauge of the open session: the newest answer's own count against what the model is asked for.
pub fn context_gauge(state: &AppState) -> Option<ContextGauge> {
    let view = state.shown()?;
    let used = view.branch().rev().find_map(|record| {
        let usage = record.answer.as_ref()?.usage;
        (usage.input_tokens > 0).then_some(usage.input_tokens + usage.output_tokens)
    })?;
    let session = &view.session;
    let declared = state.models.find(&session.provider, &session.model).map_or(0, |model| model.context_window);
    let asked = if session.provider == OLLAMA { u64::from(state.settings.models.num_ctx) } else { 0 };
    let window_tokens = [declared, asked].into_iter().filter(|tokens| *tokens > 0).min()?;
    Some(ContextGauge { used_tokens: used, window_tokens })
}

/// What the shown branch cost, by currency, as far as prices were known.
pub fn session_costs(state: &AppState) -> Vec<Cost> {
    let mut costs: Vec<Cost> = Vec::new();
    let Some(view) = state.shown() else { return costs };
    for cost in view.branch().filter_map(|record| record.answer.as_ref()?.cost.as_ref()) {
        match costs.iter_mut().find(|known| known.currency == cost.currency) {
            Some(known) => known.amount += cost.amount,
            None => costs.push(cost.clone()),
        }
    }
    costs
}

/// An amount of money for a person: small ones with the digits that matter.
pub fn money(cost: &Cost) -> String {
    let sign = match cost.currency.as_str() {
        "USD" => "$",
        "EUR" => "€",
        "CNY" => "¥",
        _ => "",
    };
    let digits = if cost.amount >= 1.0 { 2 } else { 4 };
    if sign.is_empty() {
        format!("{:.digits$} {}", cost.amount, cost.currency)
    } else {
        format!("{sign}{:.digits$}", cost.amount)
    }
}

/// One row of the model picker.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelRow {
    Provider {
        id: String,
        /// Whether it is being asked now.
        is_loading: bool,
        /// Why it cannot be reached.
        problem: Option<Error>,
    },
    Model {
        provider: String,
        id: String,
        name: String,
        tools: Support,
        thinking: Support,
        images: Support,
        /// 0 when the provider does not say.
        context_tokens: u64,
        is_chosen: bool,
    },
}

/// The model picker's rows for a search text: providers with their models, this computer first, the guide last.
pub fn model_rows(state: &AppState, query: &str) -> Vec<ModelRow> {
    let query = query.trim().to_lowercase();
    let chosen = state.current().map(|session| (session.provider.as_str(), session.model.as_str()));
    let mut providers: Vec<&String> = state.models.providers.keys().collect();
    providers.sort_by_key(|id| (id.as_str() == GUIDE, id.as_str() != OLLAMA, id.as_str()));
    let mut rows = Vec::new();
    for id in providers {
        let mut models: Vec<ModelRow> = state
            .models
            .of(id)
            .iter()
            .filter(|model| {
                query.is_empty()
                    || model.id.to_lowercase().contains(&query)
                    || model.display_name.to_lowercase().contains(&query)
            })
            .map(|model| ModelRow::Model {
                provider: id.clone(),
                id: model.id.clone(),
                name: if model.display_name.is_empty() { model.id.clone() } else { model.display_name.clone() },
                tools: model.supports_tool_calling,
                thinking: model.supports_thinking,
                images: model.supports_images,
                context_tokens: model.context_window,
                is_chosen: chosen == Some((id.as_str(), model.id.as_str())),
            })
            .collect();
        let (is_loading, problem) = match state.models.providers.get(id) {
            Some(ModelsState::Loading) => (true, None),
            Some(ModelsState::Failed(error)) => (false, Some(error.clone())),
            Some(ModelsState::Ready(_)) | None => (false, None),
        };
        if models.is_empty() && !query.is_empty() {
            continue;
        }
        rows.push(ModelRow::Provider { id: id.clone(), is_loading, problem });
        rows.append(&mut models);
    }
    rows
}

/// One row of the command palette.
#[derive(Debug, Clone, PartialEq)]
pub struct PaletteRow {
    pub label: Label,
    pub kind: PaletteKind,
    /// Its keys, where it has some; the same in every language.
    pub keys: &'static str,
    pub intent: Intent,
}

/// A name: of ours, by its key, or as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    Key(&'static str),
    /// With the server's name in it.
    OfServer(&'static str, String),
    /// With the name of a prompt in it.
    OfPrompt(&'static str, String),
    Text(String),
}

/// What a row of the palette is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaletteKind {
    Action,
    Session,
    Model,
}

/// Everything that the palette offers, before the search text is applied: actions, sessions, models.
pub fn palette_rows(state: &AppState, now: UnixMs) -> Vec<PaletteRow> {
    let mut rows = Vec::new();
    let mut action = |key: &'static str, keys: &'static str, intent: Intent| {
        rows.push(PaletteRow { label: Label::Key(key), kind: PaletteKind::Action, keys, intent });
    };
    action("action-new-chat", "Ctrl N", Intent::NewChat);
    for url in state.homes() {
        rows.push(PaletteRow {
            label: Label::OfServer("action-new-thread", super::thread::host(url).to_owned()),
            kind: PaletteKind::Action,
            keys: "",
            intent: Intent::BeginThread(url.to_owned()),
        });
    }
    let mut action = |key: &'static str, keys: &'static str, intent: Intent| {
        rows.push(PaletteRow { label: Label::Key(key), kind: PaletteKind::Action, keys, intent });
    };
    action("action-add-folder", "", Intent::PickPath(PathPurpose::SessionFolder));
    action("action-type-folder", "", Intent::TypePath(PathPurpose::SessionFolder));
    action("action-choose-model", "", Intent::Open(Panel::Models));
    action("action-session-panel", "", Intent::Open(Panel::Session));
    action("action-history", "", Intent::ShowHistory(None));
    action("action-attach", "", Intent::PickPath(PathPurpose::Attachment));
    if state.is_running() {
        action("action-stop", "Esc", Intent::Stop);
    }
    if let Some(session) = state.current() {
        let id = session.id.clone();
        action("action-edit-last", "↑", Intent::EditLast);
        if id.is_on_server() {
            action("action-delete", "", Intent::DeleteSession(id.clone()));
        }
    }
    if let Some(session) = state.current().filter(|session| !session.id.is_on_server()) {
        let id = session.id.clone();
        action("action-show-sent", "", Intent::ShowSent);
        action("action-fork", "", Intent::ForkSession(id.clone()));
        let pin = if session.pinned { "action-unpin" } else { "action-pin" };
        action(pin, "", Intent::PinSession { session: id.clone(), pinned: !session.pinned });
        let lock = if session.is_local_only { "action-unlock" } else { "action-lock" };
        action(lock, "Ctrl Shift L", Intent::SetLocalOnly(!session.is_local_only));
        action("action-export", "", Intent::PickPath(PathPurpose::Export(id.clone())));
        action("action-delete", "", Intent::DeleteSession(id));
    }
    action("action-import", "", Intent::PickPath(PathPurpose::Import));
    action("action-toggle-sidebar", "Ctrl B", Intent::ToggleSidebar);
    action("action-refresh-models", "", Intent::RefreshModels(None));
    action("action-settings", "Ctrl ,", Intent::OpenSettings(SettingsPage::General));
    action("action-settings-models", "", Intent::OpenSettings(SettingsPage::Models));
    action("action-settings-tools", "", Intent::OpenSettings(SettingsPage::Tools));
    action("action-settings-safety", "", Intent::OpenSettings(SettingsPage::Safety));
    action("action-settings-prompts", "", Intent::OpenSettings(SettingsPage::Prompts));
    action("action-audit", "", Intent::OpenAudit);
    action("action-shortcuts", "?", Intent::Open(Panel::Shortcuts));
    action("action-quit", "Ctrl Q", Intent::RequestClose);
    if state.composer().is_some() {
        rows.extend(state.settings.prompts.library.iter().enumerate().map(|(index, prompt)| PaletteRow {
            label: Label::OfPrompt("action-insert-prompt", prompt.name.clone()),
            kind: PaletteKind::Action,
            keys: "",
            intent: Intent::InsertPrompt(index),
        }));
    }
    let far = super::thread::sessions(state);
    for session in far.chain(grouped(state, now).into_iter().map(|(_, session)| session)) {
        if !session.title.is_empty() {
            rows.push(PaletteRow {
                label: Label::Text(session.title.clone()),
                kind: PaletteKind::Session,
                keys: "",
                intent: Intent::SelectSession(session.id.clone()),
            });
        }
    }
    for row in model_rows(state, "") {
        if let ModelRow::Model { provider, id, name, .. } = row {
            rows.push(PaletteRow {
                label: Label::Text(name),
                kind: PaletteKind::Model,
                keys: "",
                intent: Intent::ChooseModel { provider, model: id },
            });
        }
    }
    rows
}

/// A size for a person; 1 MB is 1,048,576 bytes.
pub fn bytes(count: u64) -> String {
    const KB: f64 = 1024.0;
    let count_f = count as f64;
    if count_f < KB {
        return format!("{count} B");
    }
    let (value, unit) = if count_f < KB * KB {
        (count_f / KB, "KB")
    } else if count_f < KB * KB * KB {
        (count_f / KB / KB, "MB")
    } else {
        (count_f / KB / KB / KB, "GB")
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A number of tokens in a few characters: `8K`, `128K`, `1M`.
pub fn short_count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        // Windows are powers of two or round numbers; both read well.
        1_000..1_000_000 if tokens.is_multiple_of(1_024) && !tokens.is_multiple_of(1_000) => {
            format!("{}K", tokens / 1_024)
        }
        1_000..1_000_000 => format!("{}K", tokens / 1_000),
        _ if tokens.is_multiple_of(1_048_576) => format!("{}M", tokens / 1_048_576),
        _ => format!("{:.1}M", tokens as f64 / 1e6).replace(".0M", "M"),
    }
}

/// A number with its thousands apart.
pub fn grouped_number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A path with the home folder as `~`, for chips and lists. A confirmation shows the whole path.
pub fn short_path(path: &str, home: Option<&str>) -> String {
    let below = home.filter(|home| home.len() > 1).and_then(|home| path.strip_prefix(home));
    match below {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') || rest.starts_with('\\') => format!("~{rest}"),
        Some(_) | None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::{session, state_with};

    /// 2026-03-10 12:00 UTC.
    const NOON: i64 = 1_773_144_000_000;

    fn text_of(rows: &[SidebarRow]) -> String {
        rows.iter()
            .map(|row| match row {
                SidebarRow::Heading(key) => format!("# {key}\n"),
                SidebarRow::Server { .. } | SidebarRow::ServerProblem { .. } | SidebarRow::MoreThreads { .. } => {
                    "no server is set up".to_owned()
                }
                SidebarRow::Session { title, badge, is_selected, is_pinned, .. } => {
                    let mark = if *is_selected { ">" } else { " " };
                    let pin = if *is_pinned { " (pinned)" } else { "" };
                    format!("{mark} {title} {badge:?}{pin}\n")
                }
            })
            .collect()
    }

    #[test]
    fn the_sidebar_groups_by_pin_and_local_day_newest_first() {
        let hour = 3_600_000;
        let mut pinned = session("p", "Pinned one", NOON - 40 * DAY_MS);
        pinned.pinned = true;
        let mut state = state_with(vec![
            session("old", "Long ago", NOON - 30 * DAY_MS),
            session("week", "This week", NOON - 7 * DAY_MS),
            session("a", "Morning", NOON - 3 * hour),
            session("b", "Just now", NOON),
            session("y", "Yesterday late", NOON - 13 * hour),
            pinned,
            session("new", "", NOON),
        ]);
        state.selected = Some(SessionId::new("b"));
        state.failed.insert(SessionId::new("y"));
        state.activity.insert(SessionId::new("a"), crate::ir::State::Accumulating);
        assert_eq!(
            text_of(&sidebar_rows(&state, UnixMs(NOON))),
            "# sidebar-pinned\n  Pinned one None (pinned)\n\
             # sidebar-today\n> Just now None\n  Morning Running\n\
             # sidebar-yesterday\n  Yesterday late Failed\n\
             # sidebar-last-week\n  This week None\n\
             # sidebar-older\n  Long ago None\n"
        );
    }

    #[test]
    fn the_day_ends_at_local_midnight() {
        let mut state = state_with(vec![session("a", "Late", NOON - 13 * 3_600_000)]);
        // 23:00 UTC on the day before is 07:00 of today in Shanghai.
        state.utc_offset_ms = 8 * 3_600_000;
        assert_eq!(text_of(&sidebar_rows(&state, UnixMs(NOON))), "# sidebar-today\n  Late None\n");
    }

    #[test]
    fn sizes_and_numbers_read_well() {
        assert_eq!(
            [0, 1023, 1024, 1_048_576, 5_242_880, 12_582_912].map(bytes),
            ["0 B", "1023 B", "1.0 KB", "1.0 MB", "5.0 MB", "12 MB"]
        );
        assert_eq!([0, 999, 1000, 24_576, 1_234_567].map(grouped_number), ["0", "999", "1,000", "24,576", "1,234,567"]);
    }

    #[test]
    fn a_path_below_the_home_folder_is_short_and_a_neighbour_is_not() {
        assert_eq!(short_path("/home/ann/web", Some("/home/ann")), "~/web");
        assert_eq!(short_path("/home/ann", Some("/home/ann")), "~");
        assert_eq!(short_path("/home/anna/web", Some("/home/ann")), "/home/anna/web");
        assert_eq!(short_path("/srv", None), "/srv");
    }
}
