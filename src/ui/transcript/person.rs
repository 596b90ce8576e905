//! A message of the person: a bubble at the right, with its actions under it while the pointer or the keyboard is there.

use egui::{Align, CornerRadius, Id, Pos2, Rect, Ui, Vec2, pos2, vec2};

use super::list::List;
use super::status;
use crate::app::remote_image::RemoteImage;
use crate::app::{Intent, SessionView};
use crate::ir::MessageId;
use crate::ui::icon::Icon;
use crate::ui::markdown::{DocumentView, Link, image_fault_key};
use crate::ui::picture::{self, Fit, Shown};
use crate::ui::theme::{Theme, radius, space};
use crate::ui::widget::{Button, IconButton};

pub(super) const PADDING: Vec2 = vec2(14.0, 10.0);
/// Height of the row of actions.
pub(super) const ACTIONS: f32 = 26.0;
/// Most that an attached image takes, in points.
const PICTURE: Vec2 = vec2(220.0, 165.0);

/// What the bubble adds to the height of a block.
pub(super) fn padding(block: usize, last: usize) -> f32 {
    (if block == 0 { PADDING.y } else { 0.0 }) + (if block == last { PADDING.y } else { 0.0 })
}

/// Draws the bubble behind a block and gives the block's corner.
pub(super) fn draw_bubble(ui: &Ui, theme: &Theme, view: &DocumentView, block: usize, rect: Rect, width: f32) -> Pos2 {
    let last = view.len().saturating_sub(1);
    // One block is as wide as its text; more are as wide as a bubble can be.
    let inner = if last == 0 { view.natural_width(0).min(width) } else { width };
    let left = (rect.right() - inner - 2.0 * PADDING.x).round();
    let bubble = Rect::from_min_max(pos2(left, rect.top()), rect.max);
    let round = |is_edge: bool| if is_edge { radius::MODAL } else { 0 };
    let corner = CornerRadius {
        nw: round(block == 0),
        ne: round(block == 0),
        sw: round(block == last),
        se: if block == last { radius::INLINE } else { 0 },
    };
    ui.painter().rect_filled(bubble, corner, theme.colors.accent_soft);
    let top = if block == 0 { PADDING.y } else { 0.0 };
    pos2(left + PADDING.x, rect.top() + top)
}

/// How many pictures stand beside each other.
fn per_row(width: f32) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count, at least 1")]
    let count = ((width + space::S) / (PICTURE.x + space::S)).floor().max(1.0) as usize;
    count
}

/// Height of the attached images.
pub(super) fn pictures_height(view: &SessionView, id: &MessageId, width: f32) -> f32 {
    let images = view.messages.get(id).and_then(|record| record.message.images.as_ref()).map_or(0, Vec::len);
    images.div_ceil(per_row(width)) as f32 * (PICTURE.y + space::S)
}

/// Draws the attached images under the bubble; what is left of the rectangle.
pub(super) fn draw_pictures(
    list: &mut List<'_>,
    owner: Id,
    id: &MessageId,
    rect: Rect,
    intents: &mut Vec<Intent>,
) -> Rect {
    let images = list.view.messages.get(id).and_then(|record| record.message.images.as_deref()).unwrap_or_default();
    let per_row = per_row(rect.width());
    let (theme, lang) = (list.theme, list.look.lang);
    let mut top = rect.top();
    for (row, images) in images.chunks(per_row).enumerate() {
        let first = row * per_row;
        top += space::S;
        let mut right = rect.right();
        // The last one stands at the right edge.
        for (index, image) in images.iter().enumerate().rev() {
            let number = first + index + 1;
            let place = Rect::from_min_max(pos2(right - PICTURE.x, top), pos2(right, top + PICTURE.y));
            let salt = owner.with(("picture", number));
            let loaded = match list.view.images.get(&image.url) {
                Some(RemoteImage::Loaded(address)) => Some(&**address),
                Some(RemoteImage::Loading | RemoteImage::Failed(_)) | None => None,
            };
            let held = picture::is_data(&image.url).then_some(image.url.as_str());
            if let Some(address) = held.or(loaded) {
                let name = lang.format("picture-name", &[("number", number.into())]);
                // A message never changes, so its id and the number stand for the address.
                let key = Id::unique((id, number)).value();
                let shown = Shown { key, owner, name: &name, address, fit: Fit::Whole(Align::Max) };
                list.transcript.pictures.draw(&list.ui, theme, lang, salt, place, shown);
            } else {
                let link = Link { address: image.url.clone(), is_image: true };
                let host = crate::policy::escape_name(link.host().unwrap_or_default(), false).into_owned();
                let text = match list.view.images.get(&image.url) {
                    Some(RemoteImage::Loading) => lang.text("picture-loading").to_owned(),
                    Some(RemoteImage::Failed(fault)) => lang.text(image_fault_key(*fault)).to_owned(),
                    Some(RemoteImage::Loaded(_)) | None => lang.format("picture-elsewhere", &[("host", host.into())]),
                };
                let mut ui = list.controls(salt, place, true);
                if ui.add(Button::secondary(&text).icon(Icon::Image)).clicked() && link.is_openable() {
                    intents.push(Intent::OpenImage(image.url.clone()));
                }
            }
            right -= PICTURE.x + space::S;
        }
        top += PICTURE.y;
    }
    Rect::from_min_max(pos2(rect.left(), top), rect.max)
}

/// Draws the row under the bubble.
pub(super) fn draw_actions(
    list: &mut List<'_>,
    key: u64,
    id: &MessageId,
    rect: Rect,
    area: Rect,
    is_cut: bool,
    intents: &mut Vec<Intent>,
) {
    let Some(record) = list.view.messages.get(id) else { return };
    let lang = list.look.lang;
    let theme = list.theme;
    let row = Rect::from_min_max(pos2(rect.left(), rect.top() + 2.0), rect.max);
    let mut ui = list.controls(("person", key), row, true);
    if is_cut && ui.add(Button::ghost(lang.text("message-show-all")).small()).clicked() {
        intents.push(Intent::ToggleItem(key));
    }
    let masked = list.view.masked_in(id);
    if !masked.is_empty() {
        intents.extend(crate::ui::card::masked::chip(&mut ui, lang, &masked));
    }
    status::reveal(&mut ui, area.union(rect), ("person shown", key), |ui| {
        // What a server has said is the server's.
        let is_here = !record.session.is_on_server();
        if is_here && ui.add(IconButton::new(Icon::Trash, lang.text("message-delete")).small()).clicked() {
            intents.push(Intent::DeleteMessage(id.clone()));
        }
        if is_here && ui.add(IconButton::new(Icon::GitFork, lang.text("message-fork")).small()).clicked() {
            intents.push(Intent::ForkHere(id.clone()));
        }
        if ui.add(IconButton::new(Icon::Pencil, lang.text("message-edit")).small()).clicked() {
            intents.push(Intent::EditMessage(id.clone()));
        }
        if ui.add(IconButton::new(Icon::Copy, lang.text("copy-message")).small()).clicked() {
            intents.push(Intent::CopyText(record.message.content.clone()));
        }
    });
    status::draw_versions(&mut ui, theme, lang, record, intents);
}
