//! The box in which the person writes: attachments, completion, the mode, Send and Stop.

use egui::{
    Align2, Area, CornerRadius, Event, EventFilter, Frame, Id, ImeEvent, Key, KeyboardShortcut, Margin, Modifiers,
    Order, Panel, Rect, ScrollArea, Sense, TextEdit, Ui, pos2, vec2,
};

use super::attachment;
use crate::app::composer::{Choice, Composer};
use crate::app::{Intent, PathPurpose};
use crate::ir::ConfirmMode;
use crate::port::SendKey;
use crate::ui::icon::Icon;
use crate::ui::scene::{Scene, ViewState, take_fresh_key, take_key};
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, Chip, IconButton, MenuRow, at_right, focus_ring, line_of_text, menu, menu_heading};

/// It grows to this many lines.
const MOST_LINES: f32 = 10.0;

/// The text box, so that the keyboard can be sent here.
pub fn message_id() -> Id {
    Id::unique("message")
}

/// Draws the composer at the bottom of what is right of the sidebar.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let colors = scene.theme.colors;
    Panel::bottom("composer")
        .resizable(false)
        .show_separator_line(false)
        .frame(Frame::NONE.fill(colors.background).inner_margin(Margin { left: 16, right: 16, top: 4, bottom: 14 }))
        .show(ui, |ui| {
            let width = ui.available_width().min(size::COLUMN);
            let left = (ui.available_width() - width) / 2.0;
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
                ui.add_space(left);
                ui.vertical(|ui| {
                    ui.set_width(width);
                    content(ui, scene, view);
                });
            });
        });
    attachment::show_large(ui, scene, &mut view.composer.pictures);
}

fn content(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    ui.spacing_mut().item_spacing = vec2(space::S, space::XS);
    queue(ui, scene);
    let Some(composer) = scene.state.composer() else {
        // The box is there from the first frame on, so that nothing jumps when the session comes.
        let waiting = Composer::default();
        frame(ui, scene, view, &waiting, Availability::Waiting);
        return;
    };
    let rect = frame(ui, scene, view, composer, Availability::Ready);
    completion(ui, scene, composer, rect);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Availability {
    Ready,
    Waiting,
}

fn queue(ui: &mut Ui, scene: &mut Scene<'_>) {
    let Some(queued) = scene.state.shown().map(|view| &view.queued).filter(|queued| !queued.is_empty()) else { return };
    let mut taken = None;
    for (index, text) in queued.iter().enumerate() {
        ui.horizontal(|ui| {
            let colors = scene.theme.colors;
            let label = scene.lang.text("composer-queued");
            ui.label(scene.theme.rich(label, Type::MetaMedium, colors.warn));
            let width = ui.available_width() - 32.0;
            let line = text.lines().next().unwrap_or_default();
            let galley = line_of_text(ui, scene.theme, line, Type::Meta, colors.dim, width);
            let (rect, response) = ui.allocate_exact_size(galley.size(), Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, line));
            ui.painter().galley(rect.min, galley, colors.dim);
            if ui.add(IconButton::new(Icon::X, scene.lang.text("composer-unqueue")).small()).clicked() {
                taken = Some(index);
            }
        });
    }
    if let Some(index) = taken {
        scene.push(Intent::Unqueue(index));
    }
}

fn frame(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState, composer: &Composer, there: Availability) -> Rect {
    let colors = scene.theme.colors;
    let has_focus = ui.memory(|memory| memory.has_focus(message_id()));
    let border = if has_focus { colors.dim.gamma_multiply(0.5) } else { colors.line };
    let fill = if scene.theme.mode == crate::ui::theme::Mode::Dark { colors.raised } else { colors.background };
    let drawn = Frame::NONE
        .fill(fill)
        .stroke(egui::Stroke::new(1.0, border))
        .corner_radius(CornerRadius::same(radius::MODAL))
        .inner_margin(Margin { left: 14, right: 10, top: 10, bottom: 10 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            if composer.editing.is_some() {
                editing(ui, scene);
            }
            attachment::show(ui, scene, &mut view.composer.pictures, composer);
            text(ui, scene, view, composer, there);
            ui.add_space(space::S);
            foot(ui, scene, composer, there);
        });
    drawn.response.rect
}

fn editing(ui: &mut Ui, scene: &mut Scene<'_>) {
    ui.horizontal(|ui| {
        let colors = scene.theme.colors;
        ui.label(scene.theme.rich(scene.lang.text("composer-editing"), Type::MetaMedium, colors.accent));
        if ui.add(IconButton::new(Icon::X, scene.lang.text("composer-cancel-edit")).small()).clicked() {
            scene.push(Intent::CancelEdit);
        }
    });
}

fn text(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState, composer: &Composer, there: Availability) {
    let id = message_id();
    let session = scene.state.selected.clone();
    let is_taken_over = view.composer.session != session || view.composer.revision != composer.revision;
    if is_taken_over {
        view.composer.text.clone_from(&composer.text);
        view.composer.session = session;
        view.composer.revision = composer.revision;
        put_cursor(ui, id, &composer.text, composer.cursor);
    }
    let send_key = scene.state.settings.general.send_key;
    let has_list = composer.completion.as_ref().is_some_and(|completion| !completion.choices.is_empty());
    let is_ours = ui.memory(|memory| memory.has_focus(id)) && there == Availability::Ready;
    // Carried out after what was typed in the same frame has reached the draft.
    let meant = if is_ours { keys(ui, scene, view, has_list, send_key) } else { None };
    let newline = match send_key {
        SendKey::Enter => KeyboardShortcut::new(Modifiers::SHIFT, Key::Enter),
        SendKey::CtrlEnter => KeyboardShortcut::new(Modifiers::NONE, Key::Enter),
    };
    let line = scene.theme.line_height(Type::Body);
    let hint = match (send_key, scene.state.home()) {
        (SendKey::Enter, None) => "composer-hint",
        (SendKey::CtrlEnter, None) => "composer-hint-ctrl",
        (SendKey::Enter, Some(_)) => "composer-hint-server",
        (SendKey::CtrlEnter, Some(_)) => "composer-hint-server-ctrl",
    };
    let font = scene.theme.font(Type::Body);
    let format = scene.theme.format(Type::Body, scene.theme.colors.text);
    let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, width: f32| {
        let mut job = egui::text::LayoutJob::single_section(text.as_str().to_owned(), format.clone());
        job.wrap.max_width = width;
        ui.fonts_mut(|fonts| fonts.layout_job(job))
    };
    let output = ScrollArea::vertical()
        .max_height(MOST_LINES * line)
        .auto_shrink([false, true])
        .id_salt("message")
        .show(ui, |ui| {
            TextEdit::multiline(&mut view.composer.text)
                .id(id)
                .font(font)
                .hint_text(scene.theme.rich(scene.lang.text(hint), Type::Body, scene.theme.colors.faint))
                .frame(Frame::NONE)
                .margin(Margin::ZERO)
                .desired_width(f32::INFINITY)
                .desired_rows(1)
                .return_key(newline)
                .event_filter(EventFilter {
                    tab: has_list,
                    horizontal_arrows: true,
                    vertical_arrows: true,
                    escape: true,
                })
                .layouter(&mut layouter)
                .interactive(there == Availability::Ready)
                .show(ui)
        });
    let shown = output.inner;
    let response = shown.response.response.accessible_name(scene.lang.text("composer-message"));
    if std::mem::take(&mut view.focus_composer) {
        response.request_focus();
    }
    let cursor = shown
        .cursor_range
        .map_or(view.composer.text.len(), |range| byte_of(&view.composer.text, range.primary.index.0));
    if response.changed() || (response.has_focus() && cursor != composer.cursor) {
        scene.push(Intent::EditDraft { text: view.composer.text.clone(), cursor });
    }
    if let Some(intent) = meant {
        scene.push(intent);
    }
}

fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

fn put_cursor(ui: &Ui, id: Id, text: &str, cursor: usize) {
    let mut state = TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    let characters = text.get(..cursor).map_or(0, |before| before.chars().count());
    let at = egui::text::CCursor::new(characters);
    state.cursor.set_char_range(Some(egui::text::CCursorRange::one(at)));
    TextEdit::store_state(ui.ctx(), id, state);
}

/// Keys that mean something here, taken before the box sees them. An input method that composes keeps its own keys.
fn keys(ui: &Ui, scene: &Scene<'_>, view: &ViewState, has_list: bool, send_key: SendKey) -> Option<Intent> {
    if view.is_composing || has_ime_event(ui) {
        return None;
    }
    if has_list {
        if take_key(ui, Modifiers::NONE, Key::ArrowDown) {
            return Some(Intent::MoveCompletion(1));
        }
        if take_key(ui, Modifiers::NONE, Key::ArrowUp) {
            return Some(Intent::MoveCompletion(-1));
        }
        if take_key(ui, Modifiers::NONE, Key::Tab) || take_key(ui, Modifiers::NONE, Key::Enter) {
            return Some(Intent::AcceptCompletion(None));
        }
        if take_key(ui, Modifiers::NONE, Key::Escape) {
            return Some(Intent::CloseCompletion);
        }
    }
    let (modifiers, key) = match send_key {
        SendKey::Enter => (Modifiers::NONE, Key::Enter),
        SendKey::CtrlEnter => (Modifiers::COMMAND, Key::Enter),
    };
    if take_key(ui, modifiers, key) || (send_key == SendKey::CtrlEnter && take_key(ui, Modifiers::CTRL, key)) {
        return Some(Intent::Send);
    }
    let composer = scene.state.composer();
    if view.composer.text.is_empty() && take_key(ui, Modifiers::NONE, Key::ArrowUp) {
        return Some(Intent::EditLast);
    }
    let is_editing = composer.is_some_and(|composer| composer.editing.is_some());
    if take_fresh_key(ui, Modifiers::NONE, Key::Escape) {
        if is_editing {
            return Some(Intent::CancelEdit);
        }
        if scene.state.is_running() {
            return Some(Intent::Stop);
        }
    }
    None
}

/// Whether an input method said something in this frame.
pub fn has_ime_event(ui: &Ui) -> bool {
    ui.input(|input| input.events.iter().any(|event| matches!(event, Event::Ime(_))))
}

/// Whether an input method composes after this frame's events.
pub fn composes_after(events: &[Event], was_composing: bool) -> bool {
    events.iter().fold(was_composing, |composing, event| {
        if let Event::Ime(ImeEvent::Preedit { text, .. }) = event {
            !text.is_empty()
        } else {
            composing && !matches!(event, Event::Ime(ImeEvent::Commit(_)))
        }
    })
}

/// The key of a mode's name.
pub const fn mode_key(mode: ConfirmMode) -> &'static str {
    match mode {
        ConfirmMode::EveryCall => "mode-every-call",
        ConfirmMode::Changes => "mode-changes",
        ConfirmMode::DeletionsOnly => "mode-deletions",
        ConfirmMode::Automatic => "mode-automatic",
    }
}

/// Every mode, strictest first.
pub const MODES: [ConfirmMode; 4] =
    [ConfirmMode::EveryCall, ConfirmMode::Changes, ConfirmMode::DeletionsOnly, ConfirmMode::Automatic];

fn foot(ui: &mut Ui, scene: &mut Scene<'_>, composer: &Composer, there: Availability) {
    ui.horizontal(|ui| {
        ui.set_height(size::CONTROL);
        if ui.add(IconButton::new(Icon::Paperclip, scene.lang.text("composer-attach"))).clicked() {
            scene.push(Intent::PickPath(PathPurpose::Attachment));
        }
        mode(ui, scene);
        at_right(ui, "send", |ui| {
            if scene.state.is_running() {
                if !composer.is_empty() {
                    let send = Button::ghost(scene.lang.text("composer-queue")).icon(Icon::ArrowUp);
                    if ui.add(send).clicked() {
                        scene.push(Intent::Send);
                    }
                }
                let stop = Button::secondary(scene.lang.text("composer-stop")).icon(Icon::Square).shortcut("Esc");
                if ui.add(stop).clicked() {
                    scene.push(Intent::Stop);
                }
            } else {
                let is_disabled = composer.is_empty() || there == Availability::Waiting;
                let send = Button::primary(scene.lang.text("composer-send")).icon(Icon::ArrowUp).disabled(is_disabled);
                if ui.add(send).clicked() {
                    scene.push(Intent::Send);
                }
            }
        });
    });
}

fn mode(ui: &mut Ui, scene: &mut Scene<'_>) {
    // A server's agent has no mode: each of its reads waits for a yes.
    let here = scene.state.current().filter(|session| !session.id.is_on_server());
    let Some(mode) = here.map(|session| session.mode) else { return };
    let is_loose = mode == ConfirmMode::Automatic;
    let icon = if is_loose { Icon::ShieldAlert } else { Icon::Shield };
    let chip =
        ui.add(Chip::new(scene.lang.text(mode_key(mode))).icon(icon).trailing(Icon::ChevronDown).warning(is_loose));
    let chosen = menu(&chip, 320.0, |ui| {
        menu_heading(ui, scene.lang.text("mode-heading"));
        let mut chosen = None;
        for other in MODES {
            if ui.add(MenuRow::new(scene.lang.text(mode_key(other))).checked(other == mode)).clicked() {
                chosen = Some(Intent::SetMode(other));
            }
        }
        ui.add_space(space::XS);
        ui.horizontal(|ui| {
            ui.add_space(space::S);
            ui.label(scene.theme.rich(scene.lang.text("mode-always"), Type::Meta, scene.theme.colors.dim));
        });
        ui.add_space(space::XS);
        chosen
    });
    if let Some(intent) = chosen.and_then(|shown| shown.inner) {
        scene.push(intent);
    }
}

fn completion(ui: &Ui, scene: &mut Scene<'_>, composer: &Composer, around: Rect) {
    let Some(completion) = composer.completion.as_ref().filter(|completion| !completion.choices.is_empty()) else {
        return;
    };
    if !ui.memory(|memory| memory.has_focus(message_id())) {
        return;
    }
    let theme = scene.theme;
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .shadow(theme.shadow())
        .inner_margin(Margin::same(4));
    let width = around.width().min(460.0);
    let mut accepted = None;
    Area::new(Id::unique("completion"))
        .order(Order::Foreground)
        .pivot(Align2::LEFT_BOTTOM)
        .fixed_pos(around.left_top() - vec2(0.0, space::XS))
        .fade_in(false)
        .show(ui.ctx(), |ui| {
            frame.show(ui, |ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing.y = 0.0;
                ScrollArea::vertical().max_height(8.0 * size::ROW).auto_shrink([false, true]).show(ui, |ui| {
                    for (index, choice) in completion.choices.iter().enumerate() {
                        let is_highlighted = index == completion.highlighted;
                        if completion_row(ui, scene, choice, is_highlighted) {
                            accepted = Some(index);
                        }
                    }
                });
            });
        });
    if let Some(index) = accepted {
        scene.push(Intent::AcceptCompletion(Some(index)));
    }
}

fn completion_row(ui: &mut Ui, scene: &Scene<'_>, choice: &Choice, is_highlighted: bool) -> bool {
    let colors = scene.theme.colors;
    // Not a stop of the Tab key: the list is worked from the box.
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::CLICK);
    let (icon, name, detail, kind) = match choice {
        Choice::Path(path) => {
            let icon = if path.ends_with('/') { Icon::Folder } else { Icon::File };
            (icon, path.clone(), "", Type::Mono)
        }
        Choice::Command(command) => {
            (Icon::Command, format!("/{}", command.name), scene.lang.text(command.key), Type::Mono)
        }
        Choice::Prompt { name, beginning, .. } => {
            (Icon::MessageSquare, name.clone(), beginning.as_str(), Type::ControlMedium)
        }
    };
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, is_highlighted, name.as_str()));
    if is_highlighted || response.hovered() {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), colors.hover);
    }
    if is_highlighted {
        response.scroll_to_me(None);
    }
    focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 4, scene.theme);
    let left = rect.left() + space::S;
    icon.paint_at(ui.painter(), pos2(left + 7.0, rect.center().y), size::SMALL_ICON, colors.dim);
    let room = rect.width() - 2.0 * space::S - 22.0;
    let galley = line_of_text(ui, scene.theme, &name, kind, colors.text, room);
    let x = left + 22.0;
    let after = x + galley.size().x + space::M;
    ui.painter().galley(pos2(x, rect.center().y - galley.size().y / 2.0), galley, colors.text);
    if !detail.is_empty() {
        let galley = line_of_text(ui, scene.theme, detail, Type::Control, colors.dim, rect.right() - after - space::S);
        ui.painter().galley(pos2(after, rect.center().y - galley.size().y / 2.0), galley, colors.dim);
    }
    response.clicked()
}
