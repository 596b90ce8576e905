//! Pictures in messages: drawn, shown large, and words where they cannot be.

use base64::Engine as _;
use egui::Key;
use egui::accesskit::Role as Reader;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use nod::ir::{Image, MessageRecord, Role, SessionId};
use nod::port::{Command, Event, ImageFault};

use crate::scene::{Scene, call, conversation, message};
use crate::support::{self, Stage, opened};

fn address(width: u32, height: u32) -> String {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a head");
    writer.write_image_data(&vec![200; (width * height) as usize]).expect("pixels");
    writer.finish().expect("an end");
    format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes))
}

fn with_images(id: &str, addresses: &[&str]) -> MessageRecord {
    let mut record = message(id, Role::User, "Look");
    let images = addresses.iter().map(|address| Image { url: (*address).to_owned(), detail: None });
    record.message.images = Some(images.collect());
    record
}

/// Draws frames until the worker has brought what is waited for.
fn wait(window: &mut Harness<'_, Scene>, label: &str) {
    for _ in 0..10_000 {
        window.step();
        if window.query_by_label(label).is_some() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{label} never came");
}

#[test]
fn an_attached_image_is_drawn_and_a_click_shows_it_large() {
    let mut window = Scene::new(vec![with_images("u", &[&address(400, 200), &address(20, 20)])], Vec::new()).open();
    wait(&mut window, "Image 1: show larger");
    wait(&mut window, "Image 2: show larger");
    let first = window.get_by_label("Image 1: show larger").rect();
    let second = window.get_by_label("Image 2: show larger").rect();
    assert_eq!((first.size(), second.size()), (egui::vec2(220.0, 110.0), egui::vec2(20.0, 20.0)));
    assert!(!first.intersects(second));
    window.get_by_label("Image 1: show larger").click();
    window.run();
    assert_eq!(window.get_by_role_and_label(Reader::Image, "Image 1").rect().size(), egui::vec2(400.0, 200.0));
    window.key_press(Key::Escape);
    window.run();
    assert!(!window.state_mut().transcript().has_modal());
}

#[test]
fn an_image_in_an_answer_is_drawn_where_its_text_holds_it_and_moves_nothing_when_it_comes() {
    let text = format!("Before.\n\n![A square]({})\n\nAfter.", address(60, 40));
    let mut window = Scene::new(vec![message("a", Role::Assistant, &text)], Vec::new()).open();
    let before = window.get_by_label("After.").rect();
    wait(&mut window, "A square: show larger");
    assert_eq!(window.get_by_label("A square: show larger").rect().size(), egui::vec2(60.0, 40.0));
    assert_eq!(window.get_by_label("After.").rect(), before);
}

#[test]
fn what_cannot_be_shown_is_said_in_words_and_nothing_is_fetched() {
    let images = ["data:image/png;base64,AAAA", "https://pictures.example/a.png"];
    let mut window = Scene::new(vec![with_images("u", &images)], Vec::new()).open();
    wait(&mut window, "This image cannot be shown");
    window.get_by_label("Image at pictures.example").click();
    window.run();
    assert_eq!(window.state().intents, [nod::app::Intent::OpenImage(images[1].to_owned())]);
}

#[test]
fn an_image_from_elsewhere_is_loaded_only_after_its_address_was_shown() {
    const URL: &str = "https://pictures.example/a.png?who=me";
    let mut stage = Stage::open();
    let text = format!("Before.\n\n![A square]({URL})\n\nAfter.");
    stage.tell(opened("s", vec![support::message("a", Role::Assistant, &text)], vec![]));
    stage.settle();
    stage.commands();
    stage.harness.get_by_role_and_label(Reader::Link, "A square (pictures.example)").click();
    stage.settle();
    stage.harness.get_by_label("Load this image?");
    stage.harness.get_by_label(URL);
    let is_load = |command: &Command| matches!(command, Command::LoadImage { .. });
    assert!(!stage.sent().iter().any(is_load), "nothing before the word");
    stage.harness.get_by_label("Load").click();
    stage.settle();
    let session = SessionId::new("s");
    assert_eq!(stage.sent(), [Command::LoadImage { session: session.clone(), url: URL.to_owned() }]);
    stage.harness.get_by_label("Loading the image…");
    stage.tell(Event::ImageLoaded { session: session.clone(), url: URL.to_owned(), image: Err(ImageFault::Locked) });
    stage.settle();
    stage.harness.get_by_label_contains("The padlock of this chat is closed");
    stage.tell(Event::ImageLoaded { session, url: URL.to_owned(), image: Ok(address(60, 40)) });
    while stage.harness.query_by_label("A square (pictures.example): show larger").is_none() {
        std::thread::yield_now();
        stage.settle();
    }
}

#[test]
fn pictures_far_out_of_sight_are_not_kept() {
    let mut messages = vec![with_images("u", &[&address(400, 200)])];
    messages.extend(conversation(0, 200));
    let mut window = Scene::new(messages, Vec::new()).open();
    window.key_press_modifiers(egui::Modifiers::COMMAND, Key::Home);
    wait(&mut window, "Image 1: show larger");
    assert_eq!(window.state_mut().transcript().kept_pictures(), 1);
    window.key_press_modifiers(egui::Modifiers::COMMAND, Key::End);
    window.run();
    assert_eq!(window.state_mut().transcript().kept_pictures(), 0);
}

#[test]
fn five_megabytes_on_a_card_draw_only_the_lines_in_sight() {
    let mut record = call("c", "a", "read_file", nod::ir::CallStatus::Succeeded, None);
    let content = "let value = 12345;\n".repeat(270_000);
    record.result.as_mut().expect("a result").result = serde_json::json!({ "content": content, "size": 5_130_000 });
    let mut answer = message("a", Role::Assistant, "Here.");
    answer.message.tool_calls = Some(vec![record.call.clone()]);
    let mut scene = Scene::new(vec![answer], vec![record]);
    scene.view.calls.values_mut().for_each(|call| call.chosen_open = Some(true));
    let mut window = scene.open();
    window.step();
    let lines = window.query_all_by_label("let value = 12345;").count();
    assert!((5..60).contains(&lines), "{lines}");
}
