//! What has the keyboard is in sight.

use egui::{Id, Ui};

use crate::ui::theme::space;

/// Within a scroll area, after its content: scrolls to what has the keyboard when that has just got it.
pub fn follow_focus(ui: &Ui) {
    let id = ui.scope_id().with("focus that was followed");
    let focused = ui.memory(egui::Memory::focused);
    let followed: Option<Id> = ui.data(|data| data.get_temp::<Option<Id>>(id)).flatten();
    if focused == followed {
        return;
    }
    ui.data_mut(|data| data.insert_temp(id, focused));
    let Some(response) = focused.and_then(|focused| ui.ctx().read_response(focused)) else { return };
    if response.layer_id == ui.layer_id() && ui.min_rect().contains(response.rect.center()) {
        // With its ring, and a little of what it belongs to.
        ui.scroll_to_rect(response.rect.expand2(egui::vec2(0.0, space::L)), None);
        ui.ctx().request_repaint();
    }
}
