//! What was masked is told on the card, value by value, and the padlock is a click and a key away.

use std::collections::BTreeSet;

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use nod::app::Intent;
use nod::ir::{Contact, MessageId, Role, SessionId, UnixMs};
use nod::policy::{MaskedSecret, SecretKind};
use nod::port::{Command, Event, Language, SentPart, Settings};

use crate::support::{START, Stage, message, opened, session};

fn secret(number: u32, is_released: bool, place: &str) -> MaskedSecret {
    MaskedSecret {
        id: format!("{number:064x}"),
        kind: SecretKind::ApiKey,
        number,
        tail: "9f3a".to_owned(),
        is_released,
        places: BTreeSet::from([place.to_owned()]),
    }
}

#[test]
fn each_masked_value_can_be_sent_anyway_and_is_never_shown_whole() {
    let mut stage = Stage::open();
    stage.tell(opened("s", vec![message("m1", Role::User, "Look at this file")], vec![]));
    let secrets = vec![secret(1, false, "m1"), secret(2, true, "m1"), secret(3, false, "another")];
    stage.tell(Event::SecretsChanged { session: SessionId::new("s"), secrets });
    stage.settle();
    stage.commands();
    stage.harness.get_by_label("1 secret masked").click();
    stage.settle();
    let texts = stage.texts().join("\n");
    assert!(texts.contains("API key #1 · …9f3a") && !texts.contains("API key #3"), "{texts}");
    assert!(stage.harness.query_by_label("Mask again API key #2 · …9f3a").is_some());
    stage.harness.get_by_label("Send anyway API key #1 · …9f3a").click();
    stage.settle();
    let released =
        Command::ReleaseSecret { session: SessionId::new("s"), secret: format!("{:064x}", 1), is_released: true };
    assert_eq!(stage.sent(), [released]);
    assert_eq!(MessageId::new("m1").as_str(), "m1");
}

#[test]
fn the_padlock_is_closed_by_click_and_by_key_and_the_panel_lists_the_hosts() {
    let mut stage = Stage::open();
    stage.commands();
    stage.harness.get_by_label_contains("Press to close the padlock").click();
    stage.settle();
    let lock = |is_local_only| Command::SetLocalOnly { session: SessionId::new("s"), is_local_only };
    assert_eq!(stage.sent(), [lock(true)]);
    let locked = nod::ir::Session { is_local_only: true, ..session("s", "Config module") };
    stage.tell(Event::SessionChanged(Box::new(locked)));
    stage.settle();
    stage.harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::L);
    stage.settle();
    assert_eq!(stage.sent(), [lock(false)]);
    let contact = Contact {
        host: "api.exam\u{202E}ple.com".to_owned(),
        requests: 2,
        refused: 1,
        sent_bytes: 2048,
        received_bytes: 10,
        last_at: UnixMs(START),
    };
    stage.tell(Event::ContactsChanged { session: SessionId::new("s"), contacts: vec![contact] });
    stage.harness.get_by_label("Folders, mode and rules").click();
    stage.settle();
    let texts = stage.texts().join("\n");
    for part in ["api.exam\\u{202E}ple.com", "2 requests · 2.0 KB sent · 10 B received", "1 request held back"] {
        assert!(texts.contains(part), "{part:?} is missing in:\n{texts}");
    }
}

#[test]
fn what_left_in_clear_is_told_from_what_was_masked_and_nothing_hides_in_what_was_sent() {
    for (language, hidden) in [
        (Language::English, "my key is [API key: hidden here, but was sent], theirs masked: API key #1"),
        (Language::Chinese, "my key is [API 密钥：此处隐藏，但已发送], theirs masked: API key #1"),
    ] {
        let mut settings = Settings::default();
        settings.general.language = language;
        let mut stage = Stage::open_with(settings, [1280.0, 860.0]);
        stage.harness.state_mut().act(Intent::ShowSent);
        stage.settle();
        let parts = vec![
            SentPart::Text("POST http://127.0.0.1/\n\nphoto\u{202E}gnp.exe\nmy key is ".into()),
            SentPart::Hidden(SecretKind::ApiKey),
            SentPart::Text(", theirs masked: API key #1".into()),
        ];
        stage.tell(Event::SentShown { session: SessionId::new("s"), parts });
        stage.settle();
        let texts = stage.texts().join("\n");
        assert!(texts.contains(hidden) && texts.contains("photo\\u{202E}gnp.exe"), "{texts}");
        assert!(!texts.contains('\u{202E}'));
    }
}

#[test]
fn the_list_of_masked_values_shows_all_of_them_or_has_a_bar() {
    for size in [[1280.0, 860.0], [900.0, 600.0]] {
        for count in [1_u32, 8, 9, 14, 40] {
            let mut stage = Stage::open_with(Settings::default(), size);
            stage.tell(opened("s", vec![message("m1", Role::User, "Look at this file")], vec![]));
            let secrets = (1..=count).map(|number| secret(number, false, "m1")).collect();
            stage.tell(Event::SecretsChanged { session: SessionId::new("s"), secrets });
            stage.settle();
            stage.harness.get_by_label_contains("masked").click();
            stage.settle();
            let list: Vec<egui::Rect> =
                stage.harness.get_all_by_label_contains("Send anyway API key").map(|button| button.rect()).collect();
            assert_eq!(list.len(), count as usize);
            let first = list.iter().map(egui::Rect::top).fold(f32::MAX, f32::min);
            let last = list.iter().map(egui::Rect::bottom).fold(0.0, f32::max);
            let fits = last - first + 190.0 <= size[1];
            assert!(first >= 0.0 && (!fits || last <= size[1]), "{count} at {size:?}: from {first} to {last}");
            // With a bar the buttons end before it.
            let right = list.iter().map(egui::Rect::right).fold(0.0, f32::max);
            let heading = stage.harness.get_by_label_contains("Not sent to the model").rect();
            assert_eq!(heading.right() - right > 12.0, !fits, "{count} at {size:?}: {right} of {}", heading.right());
        }
    }
}
