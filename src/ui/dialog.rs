//! The dialogs that cover the window, and which of them has the keyboard.
//!
//! They lie on each other in the order in which they came: the newest is the top one, and no key reaches what lies under
//! it. When one goes, the keyboard goes back to what had it before the dialog came. Must not know what any of them asks.

use egui::{Context, Id, LayerId, Order, Popup, Response, Ui};

use crate::app::{AppState, Closing, Panel};

use super::panel::composer;

/// How many frames the keyboard is given back in: the layer of a dialog outlives it by one.
const FRAMES_BACK: u8 = 2;

/// A dialog that covers the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog {
    Palette,
    Shortcuts,
    Sent,
    /// A picture that is shown large.
    Picture,
    Path,
    Undo,
    Link,
    /// Deleting a conversation of a server.
    Deletion,
    DeletionOfAll,
    Closing,
    /// The question about a call.
    Confirm,
}

impl Dialog {
    /// The id of its area, and of what is remembered of it.
    pub fn id(self) -> Id {
        Id::unique(("dialog", self as u8))
    }

    fn layer(self) -> LayerId {
        LayerId::new(Order::Foreground, self.id())
    }
}

/// A dialog, and what had the keyboard before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    dialog: Dialog,
    before: Id,
}

/// The open dialogs between frames, the newest last.
#[derive(Debug, Default)]
pub struct Dialogs {
    open: Vec<Open>,
    /// What gets the keyboard back, and in how many more frames.
    back: Option<(Id, u8)>,
}

/// Which dialogs the state asks for. Of those that come in the same frame the last one is the top one: nothing covers a
/// question about what the model may do.
pub fn wanted(state: &AppState, has_large_picture: bool) -> Vec<Dialog> {
    let is_panel = |panel| state.panel == Some(panel);
    let all = [
        (Dialog::Palette, is_panel(Panel::Palette)),
        (Dialog::Shortcuts, is_panel(Panel::Shortcuts)),
        (Dialog::Sent, is_panel(Panel::Sent)),
        (Dialog::Picture, has_large_picture),
        (Dialog::Path, state.path.is_some()),
        (Dialog::Undo, state.undo.is_some()),
        (Dialog::Link, state.link.is_some()),
        (Dialog::Deletion, state.threads.doomed.is_some()),
        (Dialog::DeletionOfAll, state.asks_to_delete_all),
        (Dialog::Closing, state.closing == Closing::Asked),
        (Dialog::Confirm, state.confirms.shown().is_some()),
    ];
    all.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(dialog, _)| dialog).collect()
}

impl Dialogs {
    /// The one that has the keyboard.
    pub fn top(&self) -> Option<Dialog> {
        self.open.last().map(|open| open.dialog)
    }

    /// Before a frame is drawn: takes in which dialogs are wanted now, and moves the keyboard accordingly.
    pub fn update(&mut self, ctx: &Context, wanted: &[Dialog]) {
        let top = self.top();
        // The composer is what a person most likely goes on with.
        let focused = ctx.memory(egui::Memory::focused).unwrap_or_else(composer::message_id);
        let (left, is_new) = self.replace(wanted, focused);
        if self.top() != top {
            // A menu of what is covered now, or gone.
            Popup::close_all(ctx);
            if let Some(top) = self.top() {
                ctx.move_to_top(top.layer());
            }
        }
        if is_new {
            self.back = None;
            // The new one gives the keyboard to its own first control.
            ctx.memory_mut(|memory| memory.surrender_focus(focused));
        } else if let Some(before) = left {
            self.back = Some((before, FRAMES_BACK));
        }
        if let Some((back, frames)) = self.back.take() {
            ctx.memory_mut(|memory| memory.request_focus(back));
            self.back = (frames > 1).then_some((back, frames - 1));
            ctx.request_repaint();
        }
    }

    /// The keyboard goes there when the last dialog has gone.
    pub fn return_to(&mut self, id: Id) {
        if let Some(lowest) = self.open.first_mut() {
            lowest.before = id;
        }
    }

    /// Makes the wanted dialogs the open ones. Gives what had the keyboard before the ones on top came that are gone now,
    /// and whether there is a new one.
    fn replace(&mut self, wanted: &[Dialog], focused: Id) -> (Option<Id>, bool) {
        let mut left = None;
        let mut kept = Vec::with_capacity(wanted.len());
        for open in std::mem::take(&mut self.open) {
            if wanted.contains(&open.dialog) {
                // What lay between is gone: the keyboard goes to what was before that.
                kept.push(Open { before: left.take().unwrap_or(open.before), ..open });
            } else {
                left = left.or(Some(open.before));
            }
        }
        let count = kept.len();
        let mut before = left.unwrap_or(focused);
        for &dialog in wanted {
            if !kept.iter().any(|open: &Open| open.dialog == dialog) {
                kept.push(Open { dialog, before });
                before = composer::message_id();
            }
        }
        self.open = kept;
        (left, self.open.len() > count)
    }
}

/// Gives the keyboard to a dialog's first control where the dialog is the top one and nothing in it has it.
pub fn offer_focus(ui: &Ui, top: Option<Dialog>, dialog: Dialog, first: &Response) {
    if top == Some(dialog) && ui.memory(|memory| memory.focused().is_none()) {
        first.request_focus();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &'static str) -> Id {
        Id::unique(name)
    }

    #[test]
    fn the_newest_dialog_is_the_top_one_and_gives_the_keyboard_back_to_the_one_below() {
        let mut dialogs = Dialogs::default();
        assert_eq!(dialogs.replace(&[Dialog::Confirm], id("message")), (None, true));
        assert_eq!(dialogs.replace(&[Dialog::Closing, Dialog::Confirm], id("deny")), (None, true));
        assert_eq!(dialogs.top(), Some(Dialog::Closing));
        assert_eq!(dialogs.replace(&[Dialog::Confirm], id("stay")), (Some(id("deny")), false));
        assert_eq!(dialogs.top(), Some(Dialog::Confirm));
        assert_eq!(dialogs.replace(&[], id("deny")), (Some(id("message")), false));
    }

    #[test]
    fn a_covered_dialog_that_goes_leaves_the_keyboard_where_it_is_and_its_way_back_to_the_one_above() {
        let mut dialogs = Dialogs::default();
        dialogs.replace(&[Dialog::Undo], id("message"));
        dialogs.replace(&[Dialog::Undo, Dialog::Confirm], id("cancel"));
        assert_eq!(dialogs.replace(&[Dialog::Confirm], id("deny")), (None, false));
        assert_eq!(dialogs.replace(&[], id("deny")), (Some(id("message")), false));
    }

    #[test]
    fn a_dialog_in_place_of_another_gives_back_what_the_other_would_have() {
        let mut dialogs = Dialogs::default();
        dialogs.replace(&[Dialog::Palette], id("message"));
        assert_eq!(dialogs.replace(&[Dialog::Shortcuts], id("query")), (Some(id("message")), true));
        assert_eq!(dialogs.replace(&[], id("close")), (Some(id("message")), false));
    }
}
