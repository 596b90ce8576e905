//! Markdown on the screen: nothing in it is trusted, nothing in it is lost.

use egui::accesskit::Role as Reader;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use nod::app::Intent;
use nod::ir::Role;

use crate::scene::{Scene, message};

fn shown(text: &str) -> Harness<'static, Scene> {
    let mut window = Scene::new(vec![message("a", Role::Assistant, text)], Vec::new()).open();
    window.run_steps(4);
    window
}

/// Everything that a screen reader reads, in one string.
fn words(window: &Harness<'_, Scene>) -> String {
    window
        .query_all_by_role(Reader::Label)
        .filter_map(|node| node.accesskit_node().value().or_else(|| node.accesskit_node().label()))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_link_opens_its_true_address() {
    let mut window = shown("See [the docs](https://example.com/true).");
    window.get_by_role_and_label(Reader::Link, "the docs").click();
    window.run_steps(3);
    assert_eq!(window.state().intents, [Intent::OpenLink("https://example.com/true".to_owned())]);
}

#[test]
fn only_web_and_mail_addresses_are_links() {
    let text =
        "[a](javascript:alert(1)) [b](file:///etc/passwd) [c](data:text/html,x) [d](https://ok.example) <me@x.org>";
    let window = shown(text);
    let links: Vec<String> =
        window.query_all_by_role(Reader::Link).filter_map(|node| node.accesskit_node().label()).collect();
    assert_eq!(links, ["d", "me@x.org"]);
    assert!(words(&window).contains("a b c d"));
}

#[test]
fn an_image_is_not_fetched_but_shows_its_words_and_its_host() {
    let window = shown("![a chart](https://tracker.example/p.png?id=1)");
    assert!(words(&window).contains("a chart (tracker.example)"));
    assert!(window.state().intents.is_empty());
}

#[test]
fn html_is_text() {
    let window = shown("before <b>bold</b>\n\n<script>alert(1)</script>\n");
    let words = words(&window);
    assert!(words.contains("<b>bold</b>") && words.contains("<script>alert(1)</script>"), "{words}");
}

#[test]
fn code_is_copied_as_it_is() {
    let mut window = shown("```rust\nlet x = 1;\n\tlet y = 2;\n```\n");
    window.get_by_role_and_label(Reader::Button, "Copy").click();
    window.run_steps(3);
    assert_eq!(window.state().intents, [Intent::CopyText("let x = 1;\n\tlet y = 2;\n".to_owned())]);
}

#[test]
fn long_code_is_folded_and_opens() {
    let code: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let mut window = shown(&format!("```\n{code}```\n"));
    assert!(!words(&window).contains("line 60"));
    window.get_by_label("Show all 60 lines").click();
    window.run_steps(4);
    assert!(words(&window).contains("line 60"));
}

#[test]
fn deceptive_characters_in_code_are_drawn_as_escapes() {
    let window = shown("```\naccess \u{202E}detnarg\n```\n");
    let words = words(&window);
    assert!(words.contains("\\u{202E}") && !words.contains('\u{202E}'), "{words:?}");
}

#[test]
fn a_table_shows_every_cell() {
    let window = shown("| a | b |\n|---|--:|\n| one | two |\n| three | four |\n");
    for cell in ["a", "b", "one", "two", "three", "four"] {
        assert!(window.query_by_label(cell).is_some(), "{cell}");
    }
}

#[test]
fn a_hostile_answer_is_shown_without_laying_all_of_it_out() {
    for text in
        [">".repeat(100_000), "x".repeat(10_000_000), format!("|{}\n|{}\n", "a|".repeat(10_000), "-|".repeat(10_000))]
    {
        let mut window = shown(&text);
        window.run_steps(2);
        let stats = window.state_mut().transcript().stats();
        assert!(stats.drawn < 40, "{stats:?}");
    }
}

#[test]
fn a_huge_answer_is_taken_in_piece_by_piece() {
    let text = "A paragraph of prose that is long enough to count.\n\n".repeat(40_000);
    let mut window = shown(&text);
    window.run_steps(20);
    assert!(window.state_mut().transcript().is_at_end());
    assert!(window.state_mut().transcript().stats().drawn < 60);
}
