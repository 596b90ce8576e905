//! Keys and clicks that were meant for something else: what is typed on when a question appears, and what comes before it
//! can have been read. Each of them begins the question's quiet time anew.

use egui::{Event, ImeEvent, Key, TouchPhase};

use crate::app::confirm::Confirms;
use crate::ir::UnixMs;

/// What a frame's input means for the question that is shown, or will be next.
#[derive(Debug, Default)]
pub(super) struct Strays {
    /// A pointer button went down before the question took answers: what follows until it is up again is no click.
    holds_early_press: bool,
}

impl Strays {
    /// Listens to the events of a frame, before anything is drawn. `writes` says whether a field of the question itself has
    /// the keyboard.
    pub(super) fn listen(&mut self, events: &[Event], confirms: &mut Confirms, writes: bool, now: UnixMs) {
        for event in events {
            let is_open = confirms.is_open(now);
            match stray(event, is_open) {
                Stray::Typing if !writes => confirms.type_on(now),
                Stray::Typing | Stray::None => {}
                Stray::Press if is_open => {}
                Stray::Press => {
                    self.holds_early_press |= matches!(event, Event::PointerButton { .. } | Event::Touch { .. });
                    confirms.disturb(now);
                }
                Stray::Release => {
                    if std::mem::take(&mut self.holds_early_press) {
                        confirms.disturb(now);
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stray {
    /// Text, or a key that edits text.
    Typing,
    /// A key or a click.
    Press,
    /// The end of a click.
    Release,
    None,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "egui's events; what is not listed asks for nothing")]
fn stray(event: &Event, is_open: bool) -> Stray {
    match event {
        // A space works the control that has the keyboard, once the question takes answers.
        Event::Text(text) if text == " " && is_open => Stray::Press,
        Event::Ime(ImeEvent::Preedit { text, .. }) if text.is_empty() => Stray::None,
        Event::Text(_)
        | Event::Paste(_)
        | Event::Ime(ImeEvent::Preedit { .. } | ImeEvent::Commit(_))
        | Event::Key { key: Key::Backspace | Key::Delete, pressed: true, .. } => Stray::Typing,
        Event::Key { pressed: true, .. }
        | Event::PointerButton { pressed: true, .. }
        | Event::Touch { phase: TouchPhase::Start, .. }
        | Event::AccessKitActionRequest(_) => Stray::Press,
        Event::PointerButton { pressed: false, .. }
        | Event::Touch { phase: TouchPhase::End | TouchPhase::Cancel, .. } => Stray::Release,
        _ => Stray::None,
    }
}

#[cfg(test)]
mod tests {
    use egui::Modifiers;

    use super::*;
    use crate::app::test_support::question;

    fn key(key: Key) -> Event {
        Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE }
    }

    fn button(pressed: bool) -> Event {
        let button = egui::PointerButton::Primary;
        Event::PointerButton { pos: egui::Pos2::ZERO, button, pressed, modifiers: Modifiers::NONE }
    }

    #[test]
    fn text_is_typing_and_a_space_is_only_so_before_the_question_takes_answers() {
        for is_open in [false, true] {
            assert_eq!(stray(&Event::Text("a".into()), is_open), Stray::Typing);
            assert_eq!(stray(&key(Key::Backspace), is_open), Stray::Typing);
            assert_eq!(stray(&key(Key::Tab), is_open), Stray::Press);
            assert_eq!(stray(&Event::PointerMoved(egui::Pos2::ZERO), is_open), Stray::None);
        }
        assert_eq!(stray(&Event::Text(" ".into()), true), Stray::Press);
        assert_eq!(stray(&Event::Text(" ".into()), false), Stray::Typing);
    }

    #[test]
    fn a_click_that_began_too_early_ends_as_none() {
        let mut confirms = Confirms::default();
        confirms.ask(question("q"), UnixMs(0));
        let mut strays = Strays::default();
        strays.listen(&[button(true)], &mut confirms, false, UnixMs(400));
        assert!(confirms.is_open(UnixMs(1_000)), "the button is still down");
        strays.listen(&[button(false)], &mut confirms, false, UnixMs(1_000));
        assert!(!confirms.is_open(UnixMs(1_000)), "what is clicked in this very frame does not count");
        // The next click is one.
        strays.listen(&[button(true)], &mut confirms, false, UnixMs(1_600));
        strays.listen(&[button(false)], &mut confirms, false, UnixMs(1_700));
        assert!(confirms.is_open(UnixMs(1_700)));
    }
}
