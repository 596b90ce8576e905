//! What goes with the message, above its text: pictures as they look, text files as chips. Each can be taken away.

use egui::{Align2, CornerRadius, Id, Rect, Sense, StrokeKind, Ui, pos2, vec2};

use crate::app::composer::{Attachment, Composer};
use crate::app::{Intent, rows};
use crate::lang::Arg;
use crate::port::ImageAttachment;
use crate::ui::icon::Icon;
use crate::ui::picture::{Fit, Pictures, Shown};
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Chip, IconButton, line_of_text};

/// Height of a picture's tile.
const TILE: f32 = 48.0;
/// Longest name on a tile.
const NAME: f32 = 160.0;
/// The button that takes a picture away.
const REMOVE: f32 = 24.0;

/// Draws what is attached; `pictures` are there while there is one to be drawn.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, pictures: &mut Option<Pictures>, composer: &Composer) {
    if composer.has_image() {
        pictures.get_or_insert_with(|| Pictures::new(ui.ctx())).poll(ui.ctx());
    } else {
        *pictures = None;
    }
    if composer.attachments.is_empty() {
        return;
    }
    let mut removed = None;
    ui.horizontal_wrapped(|ui| {
        for (index, attachment) in composer.attachments.iter().enumerate() {
            let remove = scene.lang.format("composer-remove", &[("name", Arg::from(attachment.name()))]);
            let is_removed = match (attachment, pictures.as_mut()) {
                (Attachment::Image(image), Some(pictures)) => tile(ui, scene, pictures, (index, image), &remove),
                (Attachment::Image(_), None) | (Attachment::Text { .. }, _) => chip(ui, attachment, &remove),
            };
            if is_removed {
                removed = Some(index);
            }
        }
    });
    ui.add_space(space::XS);
    if let Some(pictures) = pictures {
        pictures.keep_near(|_| false);
    }
    if let Some(index) = removed {
        scene.push(Intent::RemoveAttachment(index));
    }
}

/// Shows the picture that was pressed, over everything.
pub fn show_large(ui: &Ui, scene: &Scene<'_>, pictures: &mut Option<Pictures>) {
    if let Some(pictures) = pictures {
        pictures.show_large(ui, scene.theme);
    }
}

/// A picture with its name and size. Gives whether it is taken away.
fn tile(
    ui: &mut Ui,
    scene: &Scene<'_>,
    pictures: &mut Pictures,
    (index, image): (usize, &ImageAttachment),
    remove: &str,
) -> bool {
    let theme = scene.theme;
    let colors = &theme.colors;
    let name = line_of_text(ui, theme, &image.name, Type::Meta, colors.text, NAME);
    let bytes = line_of_text(ui, theme, &rows::bytes(image.bytes), Type::Meta, colors.dim, NAME);
    let text = name.size().x.max(bytes.size().x);
    let width = TILE + space::XS + text + space::XS + REMOVE + space::XS;
    let (rect, _) = ui.allocate_exact_size(vec2(width, TILE), Sense::hover());
    ui.painter().rect(rect, CornerRadius::same(radius::CARD), colors.hover, theme.line(), StrokeKind::Inside);
    let place = Rect::from_min_size(rect.min, vec2(TILE, TILE)).shrink(space::XS);
    let id = Id::unique(("attached", index));
    if image.image.url.starts_with("data:image/png") || image.image.url.starts_with("data:image/jpeg") {
        let address = image.image.url.as_str();
        let shown = Shown { key: image.digest, owner: id, name: &image.name, address, fit: Fit::Cover };
        pictures.draw(ui, theme, scene.lang, id, place, shown);
    } else {
        Icon::Image.paint_at(ui.painter(), place.center(), size::ICON, colors.dim);
    }
    let left = rect.left() + TILE + space::XS;
    let middle = rect.center().y;
    let above = Align2::LEFT_BOTTOM.anchor_size(pos2(left, middle), name.size());
    ui.painter().galley(above.min, name, colors.text);
    let below = Align2::LEFT_TOP.anchor_size(pos2(left, middle), bytes.size());
    ui.painter().galley(below.min, bytes, colors.dim);
    let corner = pos2(rect.right() - space::XS - REMOVE, middle - REMOVE / 2.0);
    ui.put(Rect::from_min_size(corner, vec2(REMOVE, REMOVE)), IconButton::new(Icon::X, remove).small()).clicked()
}

/// A file with its size. Gives whether it is taken away.
fn chip(ui: &mut Ui, attachment: &Attachment, remove: &str) -> bool {
    let icon = match attachment {
        Attachment::Image(_) => Icon::Image,
        Attachment::Text { .. } => Icon::FileText,
    };
    let bytes = rows::bytes(attachment.bytes());
    let chip = Chip::new(attachment.name()).icon(icon).detail(&bytes).trailing(Icon::X).name(remove).max_width(220.0);
    ui.add(chip).on_hover_text(remove).clicked()
}
