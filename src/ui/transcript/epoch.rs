//! When everything must be laid out anew: after a change of theme, sizes, scale, language or images from elsewhere, and whenever egui throws its
//! glyphs away (a full atlas, another font), because laid-out text points into them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use egui::{Color32, FontId, Galley, Ui};

use crate::lang::Lang;
use crate::ui::theme::Theme;

/// A number for the look in force.
#[derive(Default)]
pub(super) struct Epoch {
    number: u64,
    look: u64,
    /// Laid out through egui's own cache in every frame: another one tells that the cache was emptied.
    witness: Option<Arc<Galley>>,
}

impl Epoch {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Looks whether something changed; once a frame.
    pub(super) fn update(&mut self, ui: &Ui, theme: &Theme, lang: &Lang, images: u64) {
        let witness = ui.fonts_mut(|fonts| {
            fonts.layout_no_wrap("Nod".to_owned(), FontId::proportional(14.0), Color32::PLACEHOLDER)
        });
        let mut hasher = DefaultHasher::new();
        theme.mode.hash(&mut hasher);
        for size in [theme.message_size, theme.code_size, ui.ctx().pixels_per_point()] {
            size.to_bits().hash(&mut hasher);
        }
        lang.locale().hash(&mut hasher);
        images.hash(&mut hasher);
        let look = hasher.finish();
        let is_same = self.look == look && self.witness.as_ref().is_some_and(|old| Arc::ptr_eq(old, &witness));
        if !is_same {
            // Even numbers: a block that must be laid out alone takes the odd one.
            self.number += 2;
            self.look = look;
            self.witness = Some(witness);
        }
    }
}
