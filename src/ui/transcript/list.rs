//! The items as a list of parts: how high each is, and how it is drawn.

use egui::{Align, CornerRadius, Id, Layout, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::scroll::Heights;
use super::{Transcript, TranscriptLook, item, person, status};
use crate::app::{Intent, Item, ItemKind, SessionView};
use crate::ir::{CallId, MessageId, MessageStatus};
use crate::ui::card::{CardLook, CardView, Header, quantity, target, teller_key};
use crate::ui::icon::Icon;
use crate::ui::markdown::{DocumentView, LayoutStats, Look, Output};
use crate::ui::theme::{Theme, Type, radius, size, space};
use crate::ui::widget::{Tone, focus_ring, line_of_text, spinner_at};

/// Most bytes of text that are parsed in one frame.
const FEED_BYTES: usize = 192 * 1024;
/// The key of what stands below the last item.
const TAIL_KEY: u64 = u64::MAX;
const THINKING_HEADER: f32 = 28.0;
/// The longest text of a person that is shown at once, in bytes; the rest on demand.
const PERSON_BYTES: usize = 2400;

/// The items with everything that draws them, for one frame.
pub(super) struct List<'frame> {
    pub(super) transcript: &'frame mut Transcript,
    pub(super) view: &'frame SessionView,
    pub(super) theme: &'frame Theme,
    pub(super) look: TranscriptLook<'frame>,
    pub(super) width: f32,
    pub(super) ui: Ui,
    budget: usize,
    is_unfed: bool,
    /// Where the item that is being drawn stands so far.
    area: Rect,
}

/// What a part of an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A block of its document.
    Block(usize),
    /// The actions under a message of the person.
    Actions,
    /// The bar of a thinking block or a run of calls.
    Header,
    /// A card of a run of calls.
    Call(usize),
    /// All of it.
    Whole,
    /// What stands below the last item.
    Tail,
}

impl<'frame> List<'frame> {
    pub(super) fn new(
        transcript: &'frame mut Transcript,
        view: &'frame SessionView,
        theme: &'frame Theme,
        look: TranscriptLook<'frame>,
        width: f32,
        ui: Ui,
    ) -> Self {
        let budget = FEED_BYTES;
        Self { transcript, view, theme, look, width, ui, budget, is_unfed: false, area: Rect::NOTHING }
    }

    /// Whether some text was not taken in yet.
    pub(super) fn is_unfed(&self) -> bool {
        self.is_unfed
    }

    /// The text of an item, as it is to be shown.
    fn text(&self, item: &Item) -> Option<&'frame str> {
        let view = self.view;
        match &item.kind {
            ItemKind::Person(id) => {
                let text = view.messages.get(id)?.message.content.as_str();
                let is_long = text.len() > PERSON_BYTES && !view.toggled.contains(&item.key);
                Some(if is_long { beginning(text, PERSON_BYTES) } else { text })
            }
            ItemKind::Answer(id) => Some(view.messages.get(id)?.message.content.as_str()),
            ItemKind::Thinking(id) => view.messages.get(id)?.message.reasoning_content.as_deref(),
            ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => None,
        }
    }

    /// Whether the text of an item is cut.
    fn is_cut(&self, item: &Item) -> bool {
        match &item.kind {
            ItemKind::Person(id) => {
                let length = self.view.messages.get(id).map_or(0, |record| record.message.content.len());
                length > PERSON_BYTES && !self.view.toggled.contains(&item.key)
            }
            ItemKind::Answer(_)
            | ItemKind::Thinking(_)
            | ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => false,
        }
    }

    /// The document of an item, with its text taken in.
    fn document(&mut self, item: &Item) -> &mut DocumentView {
        let text = self.text(item).unwrap_or_default();
        let turn = self.transcript.turn;
        let entry = self.transcript.entries.entry(item.key).or_default();
        entry.used = turn;
        // Once a frame: within one frame every part must stand still.
        if (entry.revision != Some(item.revision) || !entry.is_fed) && entry.fed != turn {
            entry.fed = turn;
            if let ItemKind::Person(_) = item.kind {
                entry.view.set_plain(text);
                entry.is_fed = true;
            } else {
                let before = entry.view.document().source().len();
                entry.is_fed = entry.view.feed(text, self.budget.max(4096));
                let taken = entry.view.document().source().len().saturating_sub(before);
                self.budget = self.budget.saturating_sub(taken);
                self.is_unfed |= !entry.is_fed;
            }
            entry.revision = Some(item.revision);
        }
        &mut entry.view
    }

    fn item(&self, index: usize) -> Option<&'frame Item> {
        self.view.items.get(index)
    }

    /// Width that the blocks of an item have.
    fn block_width(&self, kind: &ItemKind) -> f32 {
        match kind {
            ItemKind::Person(_) => (self.width * size::BUBBLE - 2.0 * person::PADDING.x).floor(),
            ItemKind::Thinking(_) => self.width - 2.0 * space::XL,
            ItemKind::Answer(_)
            | ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => self.width,
        }
    }

    fn part(&mut self, item: Option<&Item>, part: usize) -> Part {
        let Some(item) = item else { return Part::Tail };
        match &item.kind {
            ItemKind::Person(_) => {
                if part < self.document(item).len() {
                    Part::Block(part)
                } else {
                    Part::Actions
                }
            }
            ItemKind::Answer(_) => Part::Block(part),
            ItemKind::Thinking(_) => part.checked_sub(1).map_or(Part::Header, Part::Block),
            ItemKind::CallGroup(_) => part.checked_sub(1).map_or(Part::Header, Part::Call),
            ItemKind::Call(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => Part::Whole,
        }
    }

    fn is_whole(&self, kind: &ItemKind) -> bool {
        match kind {
            ItemKind::Answer(id) | ItemKind::Thinking(id) => {
                self.view.messages.get(id).is_none_or(|record| record.status != MessageStatus::Streaming)
            }
            ItemKind::Person(_)
            | ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => true,
        }
    }

    fn measure_block(&mut self, item: &Item, block: usize) -> f32 {
        let width = self.block_width(&item.kind);
        let is_whole = self.is_whole(&item.kind);
        self.document(item);
        let Self { transcript, ui, theme, look, view, .. } = self;
        let images = &view.images;
        let Transcript { entries, highlighter, epoch, stats, pictures, .. } = &mut **transcript;
        let Some(entry) = entries.get_mut(&item.key) else { return 0.0 };
        let (lang, epoch, owner) = (look.lang, epoch.number(), salt(item));
        let mut look = Look { theme, lang, highlighter, epoch, is_whole, stats, pictures, images, owner };
        entry.view.measure(ui, &mut look, owner, block, width)
    }

    fn measure_card(&mut self, id: &CallId, width: f32) -> f32 {
        let Some(call) = self.view.calls.get(id) else { return 0.0 };
        let Self { transcript, ui, theme, look, view, .. } = self;
        let Transcript { cards, highlighter, .. } = &mut **transcript;
        let card = cards.entry(id.clone()).or_default();
        let look = CardLook { theme, lang: look.lang, highlighter, now: look.now, rules: &view.rules };
        card.height(ui, &look, call, width)
    }

    /// Draws a part; its rectangle has the height that was measured.
    pub(super) fn draw(&mut self, index: usize, part: usize, rect: Rect, intents: &mut Vec<Intent>) {
        let Some(item) = self.item(index) else {
            status::draw_tail(self, rect, intents);
            return;
        };
        let gap = if part == 0 { item::gap(&item.kind) } else { 0.0 };
        let inner = Rect::from_min_max(pos2(rect.left(), rect.top() + gap), rect.max);
        self.area = if part == 0 { inner } else { self.area.union(rect) };
        match self.part(Some(item), part) {
            Part::Block(block) => self.draw_block(item, block, inner, intents),
            Part::Actions => {
                let area = self.area;
                let is_cut = self.is_cut(item);
                if let ItemKind::Person(id) = &item.kind {
                    let below = person::draw_pictures(self, salt(item), id, inner, intents);
                    person::draw_actions(self, item.key, id, below, area, is_cut, intents);
                }
            }
            Part::Header => self.draw_header(item, inner, intents),
            Part::Call(number) => {
                if let ItemKind::CallGroup(ids) = &item.kind
                    && let Some(id) = ids.get(number)
                {
                    let rect = Rect::from_min_max(pos2(inner.left() + space::XL, inner.top() + space::S), inner.max);
                    self.draw_card(id, rect, intents);
                }
            }
            Part::Whole => match &item.kind {
                ItemKind::Call(id) => self.draw_card(id, inner, intents),
                ItemKind::Failure(id) => status::draw_failure(self, id, inner, intents),
                ItemKind::Limit => status::draw_limit(self, inner, intents),
                ItemKind::Meta(id) => status::draw_meta(self, id, inner, intents),
                ItemKind::Interrupted(id) => status::draw_interrupted(self, id, inner, intents),
                ItemKind::Person(_) | ItemKind::Thinking(_) | ItemKind::Answer(_) | ItemKind::CallGroup(_) => {}
            },
            Part::Tail => {}
        }
    }

    fn draw_block(&mut self, item: &Item, block: usize, rect: Rect, intents: &mut Vec<Intent>) {
        let width = self.block_width(&item.kind);
        let is_whole = self.is_whole(&item.kind);
        let Self { transcript, ui, theme, look, view, .. } = self;
        let images = &view.images;
        let Transcript { entries, highlighter, epoch, stats, pictures, .. } = &mut **transcript;
        let Some(entry) = entries.get_mut(&item.key) else { return };
        let at = match &item.kind {
            ItemKind::Person(_) => person::draw_bubble(ui, theme, &entry.view, block, rect, width),
            ItemKind::Thinking(_) => {
                let x = rect.left() + 8.0;
                ui.painter().vline(x, rect.y_range(), egui::Stroke::new(2.0, theme.colors.line));
                pos2(rect.left() + space::XL + space::XS, rect.top())
            }
            ItemKind::Answer(_)
            | ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => rect.min,
        };
        let mut out = Output::default();
        let (lang, epoch, owner) = (look.lang, epoch.number(), salt(item));
        let mut look = Look { theme, lang, highlighter, epoch, is_whole, stats, pictures, images, owner };
        entry.view.draw(ui, &mut look, owner, block, at, &mut out);
        intents.extend(out.opened.map(Intent::OpenLink));
        intents.extend(out.opened_image.map(Intent::OpenImage));
        intents.extend(out.copied.map(Intent::CopyText));
        if out.resized {
            ui.ctx().request_repaint();
        }
    }

    fn draw_card(&mut self, id: &CallId, rect: Rect, intents: &mut Vec<Intent>) {
        let Some(call) = self.view.calls.get(id) else { return };
        let Self { transcript, ui, theme, look, view, .. } = self;
        let Transcript { cards, highlighter, stats, .. } = &mut **transcript;
        stats.drawn += 1;
        let card: &mut CardView = cards.entry(id.clone()).or_default();
        let mut look = CardLook { theme, lang: look.lang, highlighter, now: look.now, rules: &view.rules };
        card.draw(ui, &mut look, call, &view.session.folders, rect, intents);
    }

    fn draw_header(&mut self, item: &Item, rect: Rect, intents: &mut Vec<Intent>) {
        let is_open = item::is_open(self.view, item, self.look.show_thinking);
        self.transcript.stats.drawn += 1;
        match &item.kind {
            ItemKind::Thinking(id) => {
                if self.draw_thinking_header(id, item.key, rect, is_open) {
                    intents.push(Intent::ToggleItem(item.key));
                }
            }
            ItemKind::CallGroup(ids) => {
                if self.draw_group_header(ids, item.key, rect, is_open) {
                    intents.push(Intent::ToggleItem(item.key));
                }
            }
            ItemKind::Person(_)
            | ItemKind::Answer(_)
            | ItemKind::Call(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => {}
        }
    }

    fn draw_thinking_header(&mut self, id: &MessageId, key: u64, rect: Rect, is_open: bool) -> bool {
        let Self { ui, theme, look, view, .. } = self;
        let colors = &theme.colors;
        let lang = look.lang;
        let is_growing = item::is_thinking(view, id);
        let took =
            view.messages.get(id).and_then(|record| record.answer.as_ref()).and_then(|answer| answer.thinking_ms);
        let text = match (is_growing, view.thinking_started, took) {
            (true, Some(started), _) => {
                let duration = quantity::whole_seconds(lang, look.now.since(started));
                lang.format("thinking-now", &[("duration", duration.into())])
            }
            (_, _, Some(ms)) => {
                let duration = quantity::whole_seconds(lang, ms.max(1000));
                lang.format("thinking-done", &[("duration", duration.into())])
            }
            (_, _, None) => lang.text("thinking-thought").to_owned(),
        };
        let galley = line_of_text(ui, theme, &text, Type::Control, egui::Color32::PLACEHOLDER, rect.width() - 60.0);
        let press = egui::Rect::from_min_size(rect.min, vec2(galley.size().x + 58.0, THINKING_HEADER));
        let response = ui.interact(press, Id::unique(("thinking", key)), Sense::click());
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, &text));
        focus_ring(ui, &response, press, radius::CONTROL, theme);
        let color = if response.hovered() { colors.text } else { colors.dim };
        let middle = press.center().y;
        let chevron = if is_open { Icon::ChevronDown } else { Icon::ChevronRight };
        chevron.paint_at(ui.painter(), pos2(press.left() + 8.0, middle), size::ICON, color);
        let center = pos2(press.left() + 32.0, middle);
        if is_growing {
            spinner_at(ui, theme, center, 13.0, colors.info);
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(500));
        } else {
            Icon::Brain.paint_at(ui.painter(), center, size::SMALL_ICON, color);
        }
        ui.painter().galley(pos2(press.left() + 48.0, middle - galley.size().y / 2.0), galley, color);
        response.clicked()
    }

    fn draw_group_header(&mut self, ids: &[CallId], key: u64, rect: Rect, is_open: bool) -> bool {
        let Self { ui, theme, look, view, .. } = self;
        let calls: Vec<_> = ids.iter().filter_map(|id| view.calls.get(id)).collect();
        let is_reading = calls.iter().all(|call| call.record.call.name == "read_file");
        let title_key = if is_reading { "group-read" } else { "group-looked" };
        let title = look.lang.format(title_key, &[("count", ids.len().into())]);
        let targets: Vec<String> = calls.iter().take(8).map(|call| target(call, &view.session.folders)).collect();
        let duration =
            calls.iter().filter_map(|call| call.record.result.as_ref()).map(|result| result.duration_ms).sum();
        let words = quantity::duration(look.lang, duration);
        let frame = Rect::from_min_size(rect.min, vec2(rect.width(), size::CARD_HEADER));
        let corner = CornerRadius::same(radius::CARD);
        ui.painter().rect(frame, corner, theme.colors.raised, theme.line(), egui::StrokeKind::Inside);
        let header = Header {
            icon: if is_reading { Icon::File } else { Icon::Search },
            title: &title,
            target: &targets.join(", "),
            teller: calls.first().and_then(|call| teller_key(&call.record)).map(|key| look.lang.text(key)),
            state: Some((Icon::Check, Tone::Good, &words)),
            is_running: false,
            is_open: Some(is_open),
        };
        header.draw(ui, theme, Id::unique(("group", key)), frame, 0.0)
    }

    /// A place for a few controls.
    pub(super) fn controls(&mut self, id: impl std::hash::Hash + std::fmt::Debug, rect: Rect, is_rtl: bool) -> Ui {
        let layout = if is_rtl { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) };
        let mut ui = self.ui.new_child(UiBuilder::new().id_salt(Id::unique(id)).max_rect(rect).layout(layout));
        ui.spacing_mut().item_spacing.x = 2.0;
        ui
    }

    /// How much was laid out and drawn so far.
    pub(super) fn stats(&mut self) -> &mut LayoutStats {
        &mut self.transcript.stats
    }

    /// Forgets blocks of long texts that are far out of sight, and pictures that are more than two screens away.
    pub(super) fn forget_unseen(&mut self, first: usize, last: usize, screen: f32) {
        let far = 2.0 * screen;
        let sizes = &self.transcript.sizes;
        let mut way = 0.0;
        let above = sizes.iter().take(first).rev().take_while(|height| near(&mut way, **height, far)).count();
        way = 0.0;
        let below = sizes.iter().skip(last).take_while(|height| near(&mut way, **height, far)).count();
        let items = self.view.items.get(first - above..(last + below).min(self.view.items.len())).unwrap_or_default();
        self.transcript.pictures.keep_near(|owner| items.iter().any(|item| salt(item) == owner));
        for index in [first, last.saturating_sub(1)] {
            let Some(item) = self.item(index) else { continue };
            if let Some(entry) = self.transcript.entries.get_mut(&item.key) {
                entry.view.forget_undrawn();
            }
        }
    }
}

impl Heights for List<'_> {
    fn items(&self) -> usize {
        if self.view.items.is_empty() { 0 } else { self.view.items.len() + 1 }
    }

    fn parts(&mut self, index: usize) -> usize {
        let Some(item) = self.item(index) else { return 1 };
        match &item.kind {
            ItemKind::Person(_) => self.document(item).len() + 1,
            ItemKind::Answer(_) => self.document(item).len().max(1),
            ItemKind::Thinking(_) if item::is_open(self.view, item, self.look.show_thinking) => {
                self.document(item).len() + 1
            }
            ItemKind::CallGroup(ids) if item::is_open(self.view, item, self.look.show_thinking) => ids.len() + 1,
            ItemKind::Thinking(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Call(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => 1,
        }
    }

    fn height(&mut self, index: usize, part: usize) -> f32 {
        let Some(item) = self.item(index) else { return status::tail_height(self) };
        let gap = if part == 0 { item::gap(&item.kind) } else { 0.0 };
        let width = self.width;
        let height = match self.part(Some(item), part) {
            Part::Block(block) => {
                let height = self.measure_block(item, block);
                match &item.kind {
                    ItemKind::Person(_) => {
                        let last = self.document(item).len() - 1;
                        height + person::padding(block, last)
                    }
                    ItemKind::Thinking(_)
                    | ItemKind::Answer(_)
                    | ItemKind::Call(_)
                    | ItemKind::CallGroup(_)
                    | ItemKind::Failure(_)
                    | ItemKind::Limit
                    | ItemKind::Meta(_)
                    | ItemKind::Interrupted(_) => height,
                }
            }
            Part::Actions => match &item.kind {
                ItemKind::Person(id) => person::ACTIONS + person::pictures_height(self.view, id, width),
                ItemKind::Thinking(_)
                | ItemKind::Answer(_)
                | ItemKind::Call(_)
                | ItemKind::CallGroup(_)
                | ItemKind::Failure(_)
                | ItemKind::Limit
                | ItemKind::Meta(_)
                | ItemKind::Interrupted(_) => person::ACTIONS,
            },
            Part::Header => match &item.kind {
                ItemKind::Thinking(_) => THINKING_HEADER,
                ItemKind::CallGroup(_)
                | ItemKind::Person(_)
                | ItemKind::Answer(_)
                | ItemKind::Call(_)
                | ItemKind::Failure(_)
                | ItemKind::Limit
                | ItemKind::Meta(_)
                | ItemKind::Interrupted(_) => size::CARD_HEADER,
            },
            Part::Call(number) => match &item.kind {
                ItemKind::CallGroup(ids) => {
                    ids.get(number).map_or(0.0, |id| self.measure_card(id, width - space::XL) + space::S)
                }
                ItemKind::Person(_)
                | ItemKind::Thinking(_)
                | ItemKind::Answer(_)
                | ItemKind::Call(_)
                | ItemKind::Failure(_)
                | ItemKind::Limit
                | ItemKind::Meta(_)
                | ItemKind::Interrupted(_) => 0.0,
            },
            Part::Whole => match &item.kind {
                ItemKind::Call(id) => self.measure_card(id, width),
                ItemKind::Failure(id) => status::failure_height(self, id),
                ItemKind::Limit => size::CONTROL + 2.0 * space::M,
                ItemKind::Meta(_) => status::META,
                ItemKind::Interrupted(_) => size::CONTROL,
                ItemKind::Person(_) | ItemKind::Thinking(_) | ItemKind::Answer(_) | ItemKind::CallGroup(_) => 0.0,
            },
            Part::Tail => 0.0,
        };
        let total = (gap + height).round();
        if let Some(known) = self.transcript.sizes.get_mut(index)
            && part == 0
            && matches!(item.kind, ItemKind::Call(_) | ItemKind::Meta(_) | ItemKind::Failure(_))
        {
            *known = total;
        }
        total
    }

    fn key(&self, index: usize) -> u64 {
        self.item(index).map_or(TAIL_KEY, |item| item.key)
    }
}

/// Goes on by an item of this height; whether it begins before `far`.
fn near(way: &mut f32, height: f32, far: f32) -> bool {
    let is_near = *way < far;
    *way += height;
    is_near
}

pub(super) fn salt(item: &Item) -> Id {
    Id::unique(("item", item.key))
}

/// The beginning of a text, up to the end of a line where there is one.
fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text.get(..end).unwrap_or(text);
    cut.rfind('\n').filter(|newline| *newline > limit / 2).and_then(|newline| cut.get(..newline)).unwrap_or(cut)
}
