//! What a frame draws from, and where it puts what the person did.

use std::collections::VecDeque;

use egui::{Event, Key, Modifiers, Ui};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::app::rows::{ModelRow, PaletteRow, SidebarRow};
use crate::app::{AppState, Intent};
use crate::ir::{SessionId, UnixMs};
use crate::lang::{Arg, Lang};
use crate::policy;

use super::dialog::{Dialog, Dialogs};
use super::picture::Pictures;
use super::theme::Theme;
use super::transcript::Transcript;

/// Characters of a text from elsewhere within a sentence.
const LONGEST_ARGUMENT: usize = 300;

/// What one frame reads, and the outbox that it fills.
pub struct Scene<'frame> {
    pub state: &'frame AppState,
    pub lang: &'frame Lang,
    pub theme: &'frame Theme,
    pub rows: &'frame Rows,
    /// The person's home folder, for short paths.
    pub home: Option<&'frame str>,
    pub now: UnixMs,
    /// The dialog that has the keyboard.
    pub top: Option<Dialog>,
    /// Intents of this frame, in their order. Survives a discarded pass.
    pub outbox: &'frame mut VecDeque<Intent>,
}

/// Lists that are sorted when something changed, not when they are drawn.
#[derive(Debug, Default)]
pub struct Rows {
    pub sidebar: Vec<SidebarRow>,
    pub models: Vec<ModelRow>,
    pub palette: Vec<PaletteRow>,
}

/// What the window remembers that is nobody else's business: half-typed fields, places, open menus.
#[derive(Default)]
pub struct ViewState {
    /// The open session as it is drawn; there from the moment that the window is attached.
    pub transcript: Option<Transcript>,
    pub composer: ComposerView,
    /// The session whose name is being typed.
    pub renaming: Option<(SessionId, String)>,
    pub search: String,
    pub model_query: String,
    pub palette: PaletteView,
    pub confirm: super::modal::confirm::ConfirmView,
    pub undo: super::modal::undo::UndoView,
    pub history: super::panel::history::HistoryView,
    pub path: String,
    pub settings: super::settings::SettingsView,
    pub audit: super::audit::AuditLook,
    /// The rule that is being made in the chat's panel.
    pub panel_rule: super::rule::form::RuleForm,
    /// The rule for all chats that is being made in the settings.
    pub standing_rule: super::rule::form::RuleForm,
    /// The composer gets the keyboard in the next frame.
    pub focus_composer: bool,
    pub focus_search: bool,
    /// What covers the window.
    pub dialogs: Dialogs,
    /// Whether an input method composes, or did a moment ago: the key that ended it may come late.
    pub is_composing: bool,
    /// When a composition ended.
    pub composed_at: Option<UnixMs>,
}

/// The composer's box between frames.
#[derive(Default)]
pub struct ComposerView {
    pub text: String,
    /// The attached pictures, while there are any.
    pub pictures: Option<Pictures>,
    /// The state's revision that `text` was taken from.
    pub revision: u64,
    /// The session that `text` belongs to.
    pub session: Option<SessionId>,
}

/// The palette's field between frames.
#[derive(Debug, Default)]
pub struct PaletteView {
    pub query: String,
    pub highlighted: usize,
    pub is_open: bool,
}

impl ViewState {
    /// Whether a picture is shown large, over everything else.
    pub fn has_large_picture(&self) -> bool {
        self.transcript.as_ref().is_some_and(Transcript::has_modal)
            || self.composer.pictures.as_ref().is_some_and(Pictures::is_large)
    }
}

impl Scene<'_> {
    /// The person did something.
    pub fn push(&mut self, intent: Intent) {
        self.outbox.push_back(intent);
    }

    /// Whether this dialog has the keyboard.
    pub fn leads(&self, dialog: Dialog) -> bool {
        self.top == Some(dialog)
    }

    /// Takes a key press out of this frame's input where this dialog has the keyboard.
    pub fn take_key(&self, ui: &Ui, dialog: Dialog, modifiers: Modifiers, key: Key) -> bool {
        self.leads(dialog) && take_key(ui, modifiers, key)
    }

    /// A text of the interface.
    pub fn text<'key>(&'key self, key: &'key str) -> &'key str {
        self.lang.text(key)
    }

    /// A moment by the local clock, as `strftime` writes it.
    pub fn moment(&self, at: UnixMs, format: &str) -> String {
        let seconds = i32::try_from(self.state.utc_offset_ms / 1000).unwrap_or(0);
        let zone = Offset::from_seconds(seconds).map_or(TimeZone::UTC, TimeZone::fixed);
        let written = |time: Timestamp| time.to_zoned_datetime(zone).strftime(format).to_string();
        Timestamp::from_millisecond(at.0).map(written).unwrap_or_default()
    }

    /// A text with owned arguments, as events carry them: they come from elsewhere, so what would deceive is escaped.
    pub fn filled(&self, key: &str, args: &[(&'static str, String)]) -> String {
        let args: Vec<(&str, Arg<'_>)> = args
            .iter()
            .map(|(name, value)| (*name, Arg::from(policy::one_line(value, LONGEST_ARGUMENT).into_owned())))
            .collect();
        self.lang.format(key, &args)
    }
}

/// Takes a key press out of this frame's input, if it is there with exactly these modifiers.
pub fn take_key(ui: &Ui, modifiers: Modifiers, key: Key) -> bool {
    ui.input_mut(|input| take_key_from(&mut input.events, modifiers, key))
}

/// The same for a press that decides something: of a key that is held down only the first counts, so that it cannot answer
/// what comes after. The repetitions are taken too, and mean nothing.
pub fn take_fresh_key(ui: &Ui, modifiers: Modifiers, key: Key) -> bool {
    ui.input_mut(|input| {
        let mut is_fresh = false;
        input.events.retain(|event| {
            let Event::Key { key: found, pressed: true, modifiers: held, repeat, .. } = event else { return true };
            let is_it = *found == key && held.matches_exact(modifiers);
            is_fresh |= is_it && !repeat;
            !is_it
        });
        is_fresh
    })
}

/// Takes a key press out of a list of events.
pub fn take_key_from(events: &mut Vec<Event>, modifiers: Modifiers, key: Key) -> bool {
    let found = events.iter().position(|event| {
        matches!(event, Event::Key { key: found, pressed: true, modifiers: held, .. }
            if *found == key && held.matches_exact(modifiers))
    });
    if let Some(index) = found {
        events.remove(index);
    }
    found.is_some()
}
