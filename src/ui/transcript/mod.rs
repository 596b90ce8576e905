//! The transcript: a list of items of which only what can be seen is laid out, whatever their number and length.
//!
//! It draws the open session and pushes intents. Where it stands is its own (`scroll`): nothing that changes out of sight
//! moves what is in sight.

mod epoch;
mod item;
mod list;
mod person;
mod scroll;
mod scroll_bar;
mod status;

use std::collections::HashMap;

use egui::{Align2, Key, Modifiers, Rect, Sense, Ui, UiBuilder, pos2, vec2};

use super::card::CardView;
use super::highlight::Highlighter;
use super::icon::Icon;
use super::markdown::{DocumentView, LayoutStats};
use super::picture::Pictures;
use super::theme::{Theme, size, space};
use super::widget::{Button, Spinner};
use crate::app::{Intent, SessionView};
use crate::ir::{CallId, MessageId, SessionId, UnixMs};
use crate::lang::Lang;

use epoch::Epoch;
use list::List;
use scroll::{Heights as _, Scroll};

/// Entries and cards that are kept though they are out of sight.
const KEPT: usize = 160;
/// What drawing needs beside the session.
#[derive(Clone, Copy)]
pub struct TranscriptLook<'frame> {
    pub lang: &'frame Lang,
    pub now: UnixMs,
    /// Whether thinking is open while it streams.
    pub show_thinking: bool,
}

/// The transcript as it is shown.
pub struct Transcript {
    scroll: Scroll,
    /// How far to move in this frame, down is positive.
    delta: f32,
    entries: HashMap<u64, Entry>,
    cards: HashMap<CallId, CardView>,
    /// Heights of all items as far as they are known; for the scroll bar alone.
    sizes: Vec<f32>,
    sizes_of: (usize, u64, u64, u32),
    session: Option<SessionId>,
    /// Shown as soon as it is loaded.
    wanted: Option<MessageId>,
    highlighter: Highlighter,
    pictures: Pictures,
    epoch: Epoch,
    turn: u64,
    stats: LayoutStats,
}

/// What is kept of one item.
#[derive(Default)]
struct Entry {
    revision: Option<u64>,
    is_fed: bool,
    /// The frames in which it last took in text and was last used.
    fed: u64,
    used: u64,
    view: DocumentView,
}

impl Transcript {
    /// A transcript for a window.
    pub fn new(ctx: &egui::Context) -> Self {
        Self {
            scroll: Scroll::End,
            delta: 0.0,
            entries: HashMap::new(),
            cards: HashMap::new(),
            sizes: Vec::new(),
            sizes_of: (0, 0, 0, 0),
            session: None,
            wanted: None,
            highlighter: Highlighter::new(ctx),
            pictures: Pictures::new(ctx),
            epoch: Epoch::default(),
            turn: 0,
            stats: LayoutStats::default(),
        }
    }

    /// What the last frame laid out and drew.
    pub fn stats(&self) -> LayoutStats {
        self.stats
    }

    /// Whether a picture is shown large, over everything else.
    pub fn has_modal(&self) -> bool {
        self.pictures.is_large()
    }

    /// The pictures that are kept, for tests.
    pub fn kept_pictures(&self) -> usize {
        self.pictures.kept()
    }

    /// Whether it follows the newest text.
    pub fn is_at_end(&self) -> bool {
        self.scroll.is_at_end()
    }

    /// Shows this message as soon as it is loaded.
    pub fn scroll_to(&mut self, message: MessageId) {
        self.wanted = Some(message);
    }

    /// Follows the newest text again.
    pub fn scroll_to_end(&mut self) {
        self.scroll = Scroll::End;
    }

    /// Moves by `delta` points in the next frame; down is positive.
    pub fn scroll_by(&mut self, delta: f32) {
        self.delta += delta;
    }

    /// The colours of code, for whoever else shows some.
    pub fn highlighter(&mut self) -> &mut Highlighter {
        &mut self.highlighter
    }

    /// Draws the session in what is left of `ui`.
    pub fn show(&mut self, ui: &mut Ui, view: &SessionView, look: TranscriptLook<'_>, intents: &mut Vec<Intent>) {
        let theme = Theme::of(ui.ctx());
        let area = ui.available_rect_before_wrap();
        ui.allocate_rect(area, Sense::hover());
        self.begin(ui, view, &theme, look.lang);
        self.read_keys(ui, area.height());
        let width = (area.width() - 2.0 * space::XXL).clamp(120.0, size::COLUMN);
        let left = (area.center().x - width / 2.0).round();
        self.count_sizes(view, width);

        let mut child = ui.new_child(UiBuilder::new().id_salt("transcript").max_rect(area));
        child.set_clip_rect(area.intersect(ui.clip_rect()));
        let delta = std::mem::take(&mut self.delta);
        let mut scroll = self.scroll;
        let mut list = List::new(self, view, &theme, look, width, child);
        if let Some(place) = scroll.settle(&mut list, area.height(), delta) {
            let mut top = (area.top() + place.top).round();
            let (mut item, mut part) = (place.item, place.part);
            while item < list.items() && top < area.bottom() {
                let height = list.height(item, part);
                let rect = Rect::from_min_size(pos2(left, top), vec2(width, height));
                list.draw(item, part, rect, intents);
                top += height;
                part += 1;
                if part >= list.parts(item) {
                    part = 0;
                    item += 1;
                }
            }
            list.forget_unseen(place.item, item, area.height());
        }
        let is_unfed = list.is_unfed();
        self.scroll = scroll;
        if is_unfed {
            ui.ctx().request_repaint();
        }
        self.read_wheel(ui, area);
        self.scroll_bar(ui, view, &theme, look.lang, area);
        self.older_and_newest(ui, view, &theme, look.lang, area, intents);
        self.pictures.show_large(ui, &theme);
        self.forget();
    }

    /// Takes in what changed since the last frame.
    fn begin(&mut self, ui: &Ui, view: &SessionView, theme: &Theme, lang: &Lang) {
        self.turn += 1;
        self.stats = LayoutStats::default();
        self.highlighter.poll();
        self.pictures.poll(ui.ctx());
        self.epoch.update(ui, theme, lang, view.images.revision);
        if self.session.as_ref() != Some(&view.session.id) {
            self.session = Some(view.session.id.clone());
            self.entries.clear();
            self.cards.clear();
            self.sizes_of = (0, 0, 0, 0);
            self.scroll = Scroll::End;
        }
        let wanted = self.wanted.as_ref().and_then(|message| {
            view.items.iter().enumerate().find(|(_, item)| item::message(&item.kind) == Some(message))
        });
        if let Some((index, item)) = wanted {
            self.scroll = Scroll::At { key: item.key, item: index, part: 0, offset: -space::XXL };
            self.wanted = None;
        }
    }

    fn read_keys(&mut self, ui: &Ui, height: f32) {
        // A modal has the keyboard for itself.
        if !ui.is_enabled() || !ui.memory(|memory| memory.is_above_modal_layer(ui.layer_id())) {
            return;
        }
        let page = (height - 3.0 * space::XXL).max(space::XXL);
        let (page_up, page_down, home, end) = ui.input_mut(|input| {
            (
                input.consume_key(Modifiers::NONE, Key::PageUp),
                input.consume_key(Modifiers::NONE, Key::PageDown),
                input.consume_key(Modifiers::COMMAND, Key::Home),
                input.consume_key(Modifiers::COMMAND, Key::End),
            )
        });
        if page_up {
            self.delta -= page;
        }
        if page_down {
            self.delta += page;
        }
        if home {
            self.scroll = Scroll::At { key: 0, item: 0, part: 0, offset: 0.0 };
        }
        if end {
            self.scroll = Scroll::End;
        }
    }

    /// What the cards inside did not take of the wheel.
    fn read_wheel(&mut self, ui: &Ui, area: Rect) {
        if !ui.is_enabled() || !ui.rect_contains_pointer(area) {
            return;
        }
        let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
        if wheel.abs() > 0.0 {
            self.delta -= wheel;
            ui.ctx().request_repaint();
        }
    }

    /// Asks for earlier messages near the top, and offers the way back to the newest.
    fn older_and_newest(
        &mut self,
        ui: &mut Ui,
        view: &SessionView,
        theme: &Theme,
        lang: &Lang,
        area: Rect,
        intents: &mut Vec<Intent>,
    ) {
        let is_near_top = match self.scroll {
            Scroll::End => self.sizes.iter().sum::<f32>() < 2.0 * area.height(),
            Scroll::At { item, .. } => self.sizes.iter().take(item).sum::<f32>() < area.height(),
        };
        if view.has_older && !view.is_loading_older && is_near_top {
            intents.push(Intent::LoadOlder);
        }
        if view.is_loading_older && is_near_top {
            let place = Rect::from_center_size(pos2(area.center().x, area.top() + space::XL), vec2(16.0, 16.0));
            ui.put(place, Spinner::new(lang.text("transcript-loading")));
        }
        if !self.scroll.is_at_end() {
            let text = lang.text("transcript-newest");
            let place =
                Align2::CENTER_BOTTOM.anchor_size(pos2(area.center().x, area.bottom() - space::M), vec2(96.0, 32.0));
            ui.painter().add(theme.shadow().as_shape(place, 16));
            ui.painter().rect_filled(place, 8, theme.colors.background);
            if ui.put(place, Button::secondary(text).icon(Icon::ArrowDown).width(place.width())).clicked() {
                self.scroll = Scroll::End;
            }
        }
    }

    /// Makes the list of heights fit the items; a height is a guess until its item was seen.
    fn count_sizes(&mut self, view: &SessionView, width: f32) {
        let first = view.items.first().map_or(0, |item| item.key);
        let last = view.items.last().map_or(0, |item| item.key);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width in points")]
        let of = (view.items.len(), first, last, width as u32);
        if self.sizes_of == of {
            return;
        }
        let grown = self.sizes_of.0 + 1 == of.0 && self.sizes_of.1 == of.1 && self.sizes_of.3 == of.3;
        self.sizes_of = of;
        if grown {
            // An item at the end: the others keep their heights.
            self.sizes.truncate(of.0 - 1);
        } else {
            self.sizes.clear();
        }
        for item in view.items.iter().skip(self.sizes.len()) {
            self.sizes.push(item::guess(view, &item.kind, width));
        }
    }

    /// Drops what was not seen for long, to save memory.
    fn forget(&mut self) {
        if self.entries.len() > KEPT {
            let turn = self.turn;
            self.entries.retain(|_, entry| turn - entry.used < 240);
        }
        if self.cards.len() > KEPT {
            self.cards.clear();
        }
    }

    fn scroll_bar(&mut self, ui: &Ui, view: &SessionView, theme: &Theme, lang: &Lang, area: Rect) {
        let total: f32 = self.sizes.iter().sum();
        if total <= area.height() {
            return;
        }
        let above = match self.scroll {
            Scroll::End => total - area.height(),
            Scroll::At { key, item, part, offset } => {
                let parts = self.entries.get(&key).map_or(1, |entry| entry.view.len().max(part + 1).max(1));
                let inside = self.sizes.get(item).copied().unwrap_or(0.0) * part as f32 / parts as f32;
                self.sizes.iter().take(item).sum::<f32>() + inside + offset
            }
        };
        let Some(part) = scroll_bar::show(ui, theme, lang, area, above / total, area.height() / total) else { return };
        let mut rest = part * total;
        for (index, (item, height)) in view.items.iter().zip(&self.sizes).enumerate() {
            if rest <= *height {
                self.scroll = Scroll::At { key: item.key, item: index, part: 0, offset: rest };
                return;
            }
            rest -= height;
        }
        self.scroll = Scroll::End;
    }
}
