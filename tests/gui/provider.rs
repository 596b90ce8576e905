//! Providers on the page of the models: set up from a preset, with a key that shows nowhere, and what is wrong with a
//! connection.

use egui::accesskit::Role as Kind;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use nod::app::{Intent, SettingsPage};
use nod::ir::{
    AnswerMeta, Cost, Error, ErrorCode, FinishReason, KeyPlace, MessageRecord, ProviderRecord, Role, SessionId,
    TokenUsage,
};
use nod::port::{Command, Diagnosis, Event, Sentence, Settings};
use nod::secret::SecretKey;

use crate::support::{Stage, message, opened};

const PLANTED: &str = "sk-planted-51d2e84b06";

fn page(settings: Settings) -> Stage {
    let mut stage = Stage::open_with(settings, [1280.0, 2400.0]);
    stage.harness.state_mut().act(Intent::OpenSettings(SettingsPage::Models));
    stage.settle();
    stage.commands();
    stage
}

fn with_provider(key: KeyPlace) -> Settings {
    let record = ProviderRecord {
        id: "work".into(),
        preset: "openai-compatible".into(),
        base_url: "https://llm.example.com/v1".into(),
        key,
        ..ProviderRecord::default()
    };
    Settings { providers: vec![record], ..Settings::default() }
}

#[test]
fn a_provider_is_added_with_a_key_that_is_shown_and_kept_nowhere_in_the_window() {
    let mut stage = page(Settings::default());
    stage.harness.get_by_role_and_label(Kind::Button, "Add provider").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::MenuItem, "OpenAI").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::PasswordInput, "Key").focus();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::PasswordInput, "Key").type_text(PLANTED);
    stage.settle();
    let shown = stage.harness.get_by_role_and_label(Kind::PasswordInput, "Key").accesskit_node().value();
    assert!(shown.is_some_and(|value| !value.contains("sk-") && !value.is_empty()));
    // Neither what was copied nor what was undone brings it back.
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    stage.settle();
    stage.harness.event(egui::Event::Copy);
    stage.settle();
    let copied = stage
        .harness
        .output()
        .platform_output
        .commands
        .iter()
        .any(|command| matches!(command, egui::OutputCommand::CopyText(text) if text.contains("sk-")));
    assert!(!copied);
    assert!(!stage.texts().iter().any(|text| text.contains(PLANTED)));
    stage.harness.get_by_role_and_label(Kind::Button, "Add").click();
    stage.settle();
    let record = ProviderRecord { id: "openai".into(), preset: "openai".into(), ..ProviderRecord::default() };
    let key = SecretKey::new(PLANTED).unwrap();
    assert_eq!(
        stage.sent(),
        [Command::PutProvider(Box::new(record)), Command::SetKey { provider: "openai".into(), key }]
    );
    assert!(stage.harness.query_by_role_and_label(Kind::PasswordInput, "Key").is_none(), "the form is gone");
    stage.harness.get_by_role_and_label(Kind::Button, "Add provider").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::MenuItem, "OpenAI").click();
    stage.settle();
    let empty = stage.harness.get_by_role_and_label(Kind::PasswordInput, "Key").accesskit_node().value();
    assert!(empty.is_none_or(|value| value.is_empty()), "the next form begins empty");
}

#[test]
fn where_a_key_is_and_for_which_address_is_said() {
    let mut stage = page(with_provider(KeyPlace::Keyring { origin: "https://llm.example.com".into() }));
    stage.harness.get_by_role_and_label(Kind::Button, "Edit, work").click();
    stage.settle();
    assert!(stage.harness.query_by_label_contains("In the keyring, for https://llm.example.com").is_some());
    stage.harness.get_by_role_and_label(Kind::Button, "Remove key").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RemoveKey { provider: "work".into() }]);
}

#[test]
fn a_test_says_what_is_wrong_and_takes_a_better_address_over() {
    let mut stage = page(with_provider(KeyPlace::Nowhere));
    stage.harness.get_by_role_and_label(Kind::Button, "Test, work").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::TestProvider { provider: "work".into(), model: None }],);
    let url = "https://llm.example.com/api/v1";
    stage.tell(Event::ProviderTested(Box::new(Diagnosis {
        provider: "work".into(),
        is_good: false,
        finding: Sentence::new("connection-other-path").with("url", "https://llm.example.com/v1"),
        advice: vec![Sentence::new("advice-use-address").with("url", url)],
        better_url: Some(url.into()),
        detail: String::new(),
    })));
    stage.settle();
    assert!(stage.harness.query_by_label_contains("the models are at another path").is_some());
    stage.harness.get_by_role_and_label(Kind::Button, "Use this address").click();
    stage.settle();
    let Some(Command::PutProvider(record)) = stage.sent().pop() else { panic!("not taken over") };
    assert_eq!(record.base_url, url);
}

#[test]
fn a_key_that_could_not_go_into_the_keyring_is_said_to_be_for_this_run() {
    let mut stage = page(with_provider(KeyPlace::Nowhere));
    stage.tell(Event::KeyKept { provider: "work".into(), problem: Some("no keyring answers".into()) });
    stage.settle();
    let said =
        stage.harness.query_by_label_contains("is kept until Nod ends: no keyring answers. Nothing was written.");
    assert!(said.is_some());
}

fn answered(content: &str, meta: AnswerMeta) -> MessageRecord {
    let mut record = message("m2", Role::Assistant, content);
    record.answer = Some(meta);
    record
}

fn meta(model: &str) -> AnswerMeta {
    AnswerMeta {
        provider: "ollama".into(),
        model: model.into(),
        usage: TokenUsage { output_tokens: 40, ..TokenUsage::default() },
        perf: None,
        latency_ms: 1_500,
        first_token_ms: Some(300),
        thinking_ms: None,
        finish_reason: FinishReason::Stop,
        cost: None,
        is_thought_alone: false,
        left_out: None,
        place: None,
    }
}

#[test]
fn when_another_provider_takes_over_a_toast_says_so_and_the_answer_names_who_gave_it() {
    let mut stage = Stage::open();
    stage.tell(Event::ProviderSwitched {
        session: SessionId::new("s"),
        from: "anthropic · claude-sonnet-4-5".into(),
        to: "ollama · qwen3:8b".into(),
        error: Error::new(ErrorCode::ModelOverloaded, "Anthropic is overloaded."),
    });
    let question = message("m1", Role::User, "Read the server");
    stage.tell(opened("s", vec![question, answered("Here I am.", meta("qwen3:8b"))], vec![]));
    stage.settle();
    let toast = "ollama · qwen3:8b answers now instead of anthropic · claude-sonnet-4-5.";
    assert!(stage.texts().iter().any(|text| text == toast), "{:?}", stage.texts());
    assert!(stage.harness.query_all_by_label("qwen3:8b").count() >= 1, "{:?}", stage.texts());
}

#[test]
fn what_is_unusual_of_an_answer_stands_under_it() {
    let mut stage = Stage::open();
    let cost = Cost { amount: 0.0123, currency: "USD".into() };
    let unusual = AnswerMeta { cost: Some(cost), is_thought_alone: true, left_out: Some(12), ..meta("m") };
    let question = message("m1", Role::User, "Read the server");
    stage.tell(opened("s", vec![question, answered("Hm.", unusual)], vec![]));
    stage.settle();
    for words in ["≈ $0.0123", "its thinking, as the answer", "12 earlier messages not sent"] {
        assert!(stage.harness.query_by_label(words).is_some(), "{words}: {:?}", stage.texts());
    }
}
