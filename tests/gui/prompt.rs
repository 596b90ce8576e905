//! The prompt library: kept in the settings, inserted by a slash, from the palette and from its page.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use nod::app::{Intent, SettingsPage};
use nod::port::{Command, PromptSettings, SavedPrompt, Settings};
use serde_json::json;

use crate::support::Stage;

fn stage() -> Stage {
    let prompt = |name: &str, text: &str| SavedPrompt { name: name.to_owned(), text: text.to_owned() };
    let library =
        vec![prompt("Code review", "Look at this change.\nSay what is wrong."), prompt("Commit", "Write it.")];
    let settings = Settings { prompts: PromptSettings { library }, ..Settings::default() };
    Stage::open_with(settings, [1280.0, 1400.0])
}

fn page() -> Stage {
    let mut stage = stage();
    stage.harness.state_mut().act(Intent::OpenSettings(SettingsPage::Prompts));
    stage.settle();
    stage
}

fn press(stage: &mut Stage, name: &str) {
    stage.harness.get_by_role_and_label(Role::Button, name).click();
    stage.settle();
}

fn write(stage: &mut Stage, name: &str, text: &str) {
    stage.harness.get_by_label(name).focus();
    stage.settle();
    stage.harness.get_by_label(name).type_text(text);
    stage.settle();
}

fn draft(stage: &Stage) -> String {
    stage.harness.state().state().composer().map(|composer| composer.text.clone()).unwrap_or_default()
}

#[test]
fn a_prompt_is_added_with_a_name_and_a_text() {
    let mut stage = page();
    press(&mut stage, "Add prompt");
    assert!(stage.harness.get_by_label("Name of the prompt").is_focused());
    write(&mut stage, "Name of the prompt", "code REVIEW");
    write(&mut stage, "Text of the prompt", "Say it in one line.");
    assert!(stage.harness.query_by_label("Another prompt has this name.").is_some(), "{:?}", stage.texts());
    press(&mut stage, "Save");
    assert_eq!(stage.sent(), [], "a name that is taken is not kept");
    write(&mut stage, "Name of the prompt", " short");
    press(&mut stage, "Save");
    let value = json!([
        {"name": "Code review", "text": "Look at this change.\nSay what is wrong."},
        {"name": "code REVIEW short", "text": "Say it in one line."},
        {"name": "Commit", "text": "Write it."},
    ]);
    assert_eq!(stage.sent(), [Command::SetSetting { key: "prompts.library".to_owned(), value }]);
    assert!(stage.harness.query_by_label("Edit, code REVIEW short").is_some(), "{:?}", stage.texts());
}

#[test]
fn a_prompt_is_edited_deleted_and_brought_back() {
    let mut stage = page();
    press(&mut stage, "Edit, Commit");
    write(&mut stage, "Text of the prompt", " Briefly.");
    press(&mut stage, "Save");
    let kept = |stage: &Stage| stage.harness.state().state().settings.prompts.library.clone();
    assert_eq!(kept(&stage).get(1).map(|prompt| prompt.text.as_str()), Some("Write it. Briefly."));
    press(&mut stage, "Delete, Code review");
    assert_eq!(kept(&stage).len(), 1);
    press(&mut stage, "Undo");
    assert_eq!(kept(&stage).first().map(|prompt| prompt.name.as_str()), Some("Code review"));
}

#[test]
fn a_slash_and_a_part_of_the_name_insert_the_text_and_send_nothing() {
    let mut stage = stage();
    write(&mut stage, "Message", "/revi");
    assert!(stage.harness.query_by_label("Code review").is_some(), "{:?}", stage.texts());
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(draft(&stage), "Look at this change.\nSay what is wrong.");
    assert_eq!(stage.sent(), []);
    assert!(stage.harness.get_by_label("Message").is_focused());
    // The cursor stands behind it.
    stage.harness.get_by_label("Message").type_text(" Thanks.");
    stage.settle();
    assert_eq!(draft(&stage), "Look at this change.\nSay what is wrong. Thanks.");
}

#[test]
fn the_palette_and_the_page_insert_it_too() {
    let mut stage = stage();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    stage.settle();
    stage.harness.get_by_label("Search actions, chats and models").type_text("commit");
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(draft(&stage), "Write it.");
    let mut stage = page();
    press(&mut stage, "Insert, Commit");
    assert_eq!(draft(&stage), "Write it.");
    assert!(stage.harness.get_by_label("Message").is_focused(), "and the page makes room for the chat");
}
