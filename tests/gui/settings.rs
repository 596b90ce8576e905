//! The settings: every page by name, applied at once, in both languages.

use egui::accesskit::Role as Kind;
use egui_kittest::kittest::Queryable as _;
use nod::app::{Intent, Panel, PathPurpose, SettingsPage};
use nod::ir::SessionId;
use nod::port::{Command, Event, Language, Settings, StartsWith, Theme};
use serde_json::json;

use crate::support::{Stage, opened, question, rule, session};

fn page(page: SettingsPage) -> Stage {
    let mut stage = Stage::open_with(Settings::default(), [1280.0, 1600.0]);
    stage.harness.state_mut().act(Intent::OpenSettings(page));
    stage.settle();
    stage.commands();
    stage
}

fn set(stage: &mut Stage) -> Vec<(String, serde_json::Value)> {
    stage
        .sent()
        .into_iter()
        .map(|command| match command {
            Command::SetSetting { key, value } => (key, value),
            other => panic!("not a setting: {other:?}"),
        })
        .collect()
}

#[test]
fn the_language_changes_while_running() {
    let mut stage = page(SettingsPage::General);
    stage.harness.get_by_role_and_label(Kind::ComboBox, "Language").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::MenuItemRadio, "简体中文").click();
    stage.settle();
    assert_eq!(set(&mut stage), [("general.language".to_owned(), json!("zh-CN"))]);
    assert!(stage.harness.query_by_label("返回对话").is_some());
    stage.harness.get_by_label("返回对话").click();
    stage.settle();
    assert!(stage.harness.query_by_label("新建对话").is_some());
}

#[test]
fn the_theme_changes_while_running() {
    let mut stage = page(SettingsPage::General);
    stage.harness.get_by_role_and_label(Kind::ComboBox, "Theme").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::MenuItemRadio, "Dark").click();
    stage.settle();
    assert_eq!(set(&mut stage), [("general.theme".to_owned(), json!("dark"))]);
    assert_eq!(stage.harness.ctx.theme(), egui::Theme::Dark);
}

#[test]
fn a_tool_is_switched_on_by_name() {
    let mut stage = page(SettingsPage::Tools);
    stage.harness.get_by_role_and_label(Kind::Switch, "run_command").click();
    stage.settle();
    assert_eq!(set(&mut stage), [("tools.disabled".to_owned(), json!([]))]);
}

#[test]
fn a_number_applies_when_it_fits_and_not_before() {
    let mut stage = page(SettingsPage::Models);
    let name = "Context window (num_ctx)";
    stage.harness.get_by_role_and_label(Kind::TextInput, name).focus();
    stage.settle();
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::TextInput, name).type_text("8");
    stage.settle();
    assert_eq!(set(&mut stage), []);
    stage.harness.get_by_role_and_label(Kind::TextInput, name).type_text("192");
    stage.settle();
    assert_eq!(set(&mut stage), [("models.num_ctx".to_owned(), json!(8192))]);
}

#[test]
fn the_listed_tools_are_the_tools_there_are() {
    let there: Vec<_> =
        nod::tool::all().iter().map(|tool| (tool.definition().name, tool.definition().risk_level)).collect();
    let listed: Vec<_> = nod::app::settings::TOOLS.iter().map(|tool| (tool.name.to_owned(), tool.risk)).collect();
    let sorted = |mut list: Vec<(String, nod::ir::RiskLevel)>| {
        list.sort();
        list
    };
    assert_eq!(sorted(there), sorted(listed));
}

/// Words that are the same in every language: names, keys, code.
const SAME_EVERYWHERE: &[&str] = &[
    "Nod",
    "Ollama",
    "AI",
    "API",
    "Markdown",
    "JSON",
    "Enter",
    "Ctrl",
    "Shift",
    "Esc",
    "Tab",
    "PgUp",
    "PgDn",
    "F2",
    "B",
    "K",
    "N",
    "Q",
    "F",
    "num_ctx",
    "OpenAI",
    "DeepSeek",
    "Agnes",
    "Anthropic",
    "PEM",
    "SSL_CERT_FILE",
    "MB",
    "KB",
    "GB",
    "pt",
    "English",
    "ollama.com",
    "run_command",
    "nod",
    "restore",
    "Apache",
    "Inter",
    "Noto",
    "Sans",
    "SC",
    "JetBrains",
    "Mono",
    "OFL",
    "Lucide",
    "ISC",
    "Windows",
    "Program",
    "Files",
    "credentials",
    "Rust",
    "shell",
];

fn english_words(text: &str) -> Vec<String> {
    // Paths, models, tools, addresses and versions are data.
    let is_data = |word: &str| {
        word.contains(['/', '\\', '_', ':', '.', '*', '~', '@']) || word.chars().any(|c| c.is_ascii_digit())
    };
    text.split_whitespace()
        .filter(|word| !is_data(word))
        .flat_map(|word| word.split(|c: char| !c.is_ascii_alphabetic()))
        .filter(|word| word.len() > 1 && !SAME_EVERYWHERE.contains(word))
        .map(str::to_owned)
        .collect()
}

#[test]
fn in_chinese_no_screen_shows_english() {
    let mut settings = Settings::default();
    settings.general.language = Language::Chinese;
    settings.general.theme = Theme::Light;
    let mut stage = Stage::open_with(settings, [1280.0, 2600.0]);
    let mut found = Vec::new();
    let mut look = |stage: &mut Stage, screen: &str| {
        stage.settle();
        for text in stage.texts() {
            // What people and models wrote, and names of chats, are theirs.
            let is_theirs =
                ["Config module", "Release notes", "Read the server", "I move the settings", "export const"];
            if is_theirs.iter().any(|words| text.contains(words)) {
                continue;
            }
            for word in english_words(&text) {
                found.push(format!("{screen}: {word:?} in {text:?}"));
            }
        }
    };
    look(&mut stage, "main");
    for page in SettingsPage::ALL {
        stage.harness.state_mut().act(Intent::OpenSettings(page));
        look(&mut stage, page.key());
    }
    stage.harness.state_mut().act(Intent::CloseSettings);
    for panel in [Panel::Palette, Panel::Shortcuts, Panel::Session, Panel::Models] {
        stage.tell(Event::RulesChanged { session: Some(SessionId::new("s")), rules: vec![rule()].into() });
        stage.settle();
        stage.harness.state_mut().act(Intent::Open(panel));
        look(&mut stage, &format!("{panel:?}"));
        stage.harness.state_mut().act(Intent::ClosePanel);
    }
    stage.harness.state_mut().act(Intent::TypePath(PathPurpose::SessionFolder));
    look(&mut stage, "path");
    stage.harness.state_mut().act(Intent::CancelPath);
    stage.tell(opened("s", vec![], vec![]));
    look(&mut stage, "welcome");
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const a = 1;"))));
    look(&mut stage, "confirm");
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn all_chats_are_deleted_after_a_question_and_come_back_by_one_press() {
    let mut stage = page(SettingsPage::Data);
    stage.harness.get_by_label("Delete all…").click();
    stage.settle();
    assert_eq!(stage.sent(), [], "nothing is deleted before a yes");
    stage.harness.get_by_label("Cancel").click();
    stage.settle();
    stage.harness.get_by_label("Delete all…").click();
    stage.settle();
    stage.harness.get_by_label("Delete all").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::DeleteAllSessions]);
    let gone = vec![SessionId::new("s")];
    stage.tell(Event::SessionsDeleted(gone.clone()));
    stage.settle();
    stage.commands();
    stage.harness.get_by_label("Undo").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RestoreSessions(gone)]);
}

#[test]
fn a_start_shows_the_last_chat_or_a_new_one_as_was_chosen() {
    for (starts_with, first) in [
        (StartsWith::LastChat, Command::OpenSession(SessionId::new("s"))),
        (StartsWith::NewChat, Command::CreateSession),
    ] {
        let mut settings = Settings::default();
        settings.general.starts_with = starts_with;
        let mut stage = Stage::with(settings, [1280.0, 860.0]);
        stage.settle();
        stage.commands();
        stage.tell(Event::SessionsListed(vec![session("s", "Config module")]));
        stage.settle();
        assert!(stage.commands().contains(&first), "{starts_with:?}");
    }
}
