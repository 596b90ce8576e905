//! The question about one call, by keyboard and by mouse.

use egui::{Event as Input, ImeEvent, Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use nod::ir::{
    Access, CommandPreview, ConfirmId, Decider, Leak, LinkedOutside, Network, Preview, RiskLevel, Started, StartedFile,
    Tier,
};
use nod::port::{Answer, Command, ConfirmRequest, Event};

use crate::support::{Stage, question};

fn asked() -> Stage {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
    stage.settle();
    stage
}

fn ready() -> Stage {
    let mut stage = asked();
    stage.pass(600);
    stage.settle();
    stage.commands();
    stage
}

fn answers(stage: &mut Stage) -> Vec<Answer> {
    stage
        .sent()
        .into_iter()
        .map(|command| match command {
            Command::Answer { confirm, answer, decider } => {
                assert_eq!((confirm, decider), (ConfirmId::new("q"), Decider::Person));
                answer
            }
            other => panic!("not an answer: {other:?}"),
        })
        .collect()
}

#[test]
fn deny_has_the_keyboard_and_plain_enter_denies() {
    let mut stage = ready();
    assert!(stage.harness.get_by_label("Deny").is_focused());
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }]);
}

#[test]
fn ctrl_enter_allows_once_and_only_after_the_guard() {
    let mut stage = asked();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), []);
    stage.pass(600);
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn no_key_answers_a_question_under_the_dialog_of_a_closing_window() {
    let mut stage = ready();
    let state = nod::ir::State::Confirming;
    stage.tell(Event::StateChanged { session: nod::ir::SessionId::new("s"), state });
    stage.harness.state_mut().act(nod::app::Intent::RequestClose);
    stage.settle();
    assert!(stage.harness.query_by_label_contains("Stop what is running?").is_some(), "{:?}", stage.texts());
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), []);
    // The control: once the dialog is gone, the same key answers.
    stage.harness.state_mut().act(nod::app::Intent::CancelClose);
    stage.settle();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn a_key_that_is_held_down_answers_nothing_that_comes_after() {
    for (modifiers, key) in
        [(Modifiers::COMMAND, Key::Enter), (Modifiers::NONE, Key::Escape), (Modifiers::NONE, Key::Enter)]
    {
        let mut stage = asked();
        // Down since before the guard ended: what follows are repetitions.
        stage.harness.key_down_modifiers(modifiers, key);
        stage.settle();
        stage.pass(600);
        stage.settle();
        stage.harness.key_down_modifiers(modifiers, key);
        stage.settle();
        assert_eq!(answers(&mut stage), [], "{modifiers:?} {key:?}");
        // Released and pressed again it counts.
        stage.harness.key_up_modifiers(modifiers, key);
        stage.harness.key_down_modifiers(modifiers, key);
        stage.settle();
        assert_eq!(answers(&mut stage).len(), 1, "{modifiers:?} {key:?}");
    }
}

#[test]
fn a_click_allows_once_and_not_before_the_guard() {
    let mut stage = asked();
    stage.harness.get_by_label("Allow once").click();
    stage.settle();
    assert_eq!(answers(&mut stage), []);
    stage.pass(600);
    stage.settle();
    stage.harness.get_by_label("Allow once").click();
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn escape_denies() {
    let mut stage = ready();
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }]);
}

#[test]
fn plain_enter_and_space_never_approve_even_where_allow_has_the_keyboard() {
    for key in [Key::Enter, Key::Space] {
        let mut stage = ready();
        stage.harness.get_by_label("Allow once").focus();
        stage.settle();
        assert!(stage.harness.get_by_label("Allow once").is_focused());
        stage.harness.key_press(key);
        stage.settle();
        assert_eq!(answers(&mut stage), [], "{key:?}");
    }
}

#[test]
fn a_refusal_carries_the_persons_words() {
    let mut stage = ready();
    stage.harness.get_by_label("Deny and say why").click();
    stage.settle();
    stage.harness.get_by_label("Reason").type_text("use TOML instead");
    stage.settle();
    // In the field of a refusal not even Ctrl+Enter approves.
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: "use TOML instead".to_owned() }]);
}

fn preedit(stage: &mut Stage, text: &str) {
    let active_range_chars = None;
    stage.harness.event(Input::Ime(ImeEvent::Preedit { text: text.to_owned(), active_range_chars }));
    stage.settle();
}

#[test]
fn no_key_of_an_input_method_that_composes_a_reason_answers_or_closes_the_question() {
    let keys = [
        (Modifiers::NONE, Key::Enter),
        (Modifiers::NONE, Key::Escape),
        (Modifiers::COMMAND, Key::Enter),
        (Modifiers::NONE, Key::Space),
    ];
    for (modifiers, key) in keys {
        let mut stage = ready();
        stage.harness.get_by_label("Deny and say why").click();
        stage.settle();
        assert!(stage.harness.get_by_label("Reason").is_focused());
        preedit(&mut stage, "tai chang");
        stage.harness.key_press_modifiers(modifiers, key);
        stage.settle();
        assert_eq!(answers(&mut stage), [], "{key:?} belongs to the input method");
        // The key that ends the composition may come with its result or a frame later.
        stage.harness.event(Input::Ime(ImeEvent::Commit("太长".to_owned())));
        stage.harness.key_press_modifiers(modifiers, key);
        stage.settle();
        assert_eq!(answers(&mut stage), [], "{key:?} ended the composition");
    }
}

#[test]
fn what_an_input_method_composed_is_the_reason_once_it_is_sent() {
    let mut stage = ready();
    stage.harness.get_by_label("Deny and say why").click();
    stage.settle();
    preedit(&mut stage, "tai chang");
    stage.harness.event(Input::Ime(ImeEvent::Commit("太长".to_owned())));
    stage.settle();
    stage.pass(100);
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: "太长".to_owned() }]);
}

#[test]
fn ctrl_enter_approves_nothing_while_an_input_method_composes_over_the_question() {
    let mut stage = ready();
    preedit(&mut stage, "ni");
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert_eq!(answers(&mut stage), []);
}

#[test]
fn deny_and_stop_ends_the_turn() {
    let mut stage = ready();
    stage.harness.get_by_label("Deny and say why").click();
    stage.settle();
    stage.harness.get_by_label("Deny and stop").click();
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::DenyAndStop]);
}

#[test]
fn a_rule_is_chosen_from_sentences_with_a_dry_run() {
    let mut stage = ready();
    stage.harness.get_by_label("Allow in this session").click();
    stage.settle();
    stage.harness.get_by_label_contains("would have allowed 4 of the last 9 calls").click();
    stage.settle();
    let scope = question("q", "").rule_proposals[1].clone();
    assert_eq!(answers(&mut stage), [Answer::AllowInSession { scope }]);
}

#[test]
fn a_refusal_for_good_is_chosen_from_sentences_with_a_dry_run() {
    let mut stage = ready();
    stage.harness.get_by_label("Deny, and always deny…").click();
    stage.settle();
    stage.harness.get_by_label_contains("would have refused 4 of the last 9 calls").click();
    stage.settle();
    let scope = question("q", "").denials[1].scope.clone();
    assert_eq!(answers(&mut stage), [Answer::DenyInSession { scope }]);
}

#[test]
fn it_shows_what_the_program_knows_and_labels_the_models_words() {
    let stage = ready();
    let texts = stage.texts().join("\n");
    for part in [
        "Create a file?",
        "~/projects/web/src/config.ts",
        "qwen3:8b · “Config module”",
        "medium risk",
        "The model says: “I move the settings.”",
    ] {
        assert!(texts.contains(part), "{part:?} is missing in:\n{texts}");
    }
}

#[test]
fn several_questions_say_how_many_and_can_be_looked_through() {
    let mut stage = asked();
    stage.tell(Event::ConfirmAsked(Box::new(question("q2", "second"))));
    stage.settle();
    assert!(stage.harness.query_by_label("1 of 2 waiting").is_some());
    stage.harness.get_by_label("Next question").click();
    stage.settle();
    assert!(stage.harness.query_by_label("2 of 2 waiting").is_some());
}

#[test]
fn the_keyboard_goes_back_where_it_was() {
    let mut stage = Stage::open();
    stage.harness.get_by_label("Search chats").focus();
    stage.settle();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "x"))));
    stage.settle();
    assert!(stage.harness.get_by_label("Deny").is_focused());
    stage.pass(600);
    stage.settle();
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert!(stage.harness.get_by_label("Search chats").is_focused());
}

#[test]
fn keys_do_not_reach_the_window_behind() {
    let mut stage = ready();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::N);
    stage.settle();
    assert_eq!(stage.sent(), []);
    assert!(stage.harness.query_by_label("Deny").is_some());
}

#[test]
fn deceptive_characters_are_told_in_red_words() {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "safe\u{202E}txt.exe"))));
    stage.settle();
    assert!(stage.harness.query_by_label_contains("invisible or look like others").is_some());
}

#[test]
fn five_megabytes_are_prepared_in_parts_and_the_end_is_there() {
    let mut content = "0123456789 abcdefghijklmnopqrstuvwxyz\n".repeat(140_000);
    content.push_str("the very end");
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", &content))));
    for _ in 0..60 {
        stage.harness.step();
    }
    stage.harness.get_by_label("Preview").focus();
    stage.settle();
    stage.harness.key_press(Key::End);
    stage.settle();
    let shapes = format!("{:?}", stage.harness.output().shapes);
    assert!(shapes.contains("the very end"), "the last line is not drawn");
    assert!(!shapes.contains("\"0123456789 abcdefghijklmnopqrstuvwxyz\" 1"), "only rows in sight are drawn");
}

#[test]
fn several_waiting_reads_are_answered_from_one_list() {
    let mut stage = Stage::open();
    for (id, target) in [("a", "/etc/hostname"), ("b", "/usr/share/dict/words")] {
        let mut read = question(id, "");
        read.access = nod::ir::Access::Read;
        read.preview = nod::ir::Preview::Nothing;
        read.target = target.to_owned();
        read.folder = None;
        stage.tell(Event::ConfirmAsked(Box::new(read)));
    }
    stage.settle();
    stage.pass(600);
    stage.settle();
    assert!(stage.harness.query_by_label_contains("/usr/share/dict/words").is_some(), "{:?}", stage.texts());
    stage.commands();
    stage.harness.get_by_label("Allow these 2 reads once").click();
    stage.settle();
    let confirms: Vec<_> = stage
        .sent()
        .into_iter()
        .map(|command| match command {
            Command::Answer { confirm, answer: Answer::AllowOnce, .. } => confirm.to_string(),
            other => panic!("not a yes: {other:?}"),
        })
        .collect();
    assert_eq!(confirms, ["a", "b"]);
}

#[test]
fn what_replaces_a_picture_says_so_in_words_of_the_program() {
    use nod::ir::{ChangeNote, DiffLine, DiffTag, Preview, Unshown};
    let mut request = question("q", "(image/png, 2064 bytes)\n");
    let text = "(image/png, 2064 bytes)\n".to_owned();
    let what = Unshown::Binary { media_type: "image/png".to_owned(), bytes: 2064 };
    request.preview = Preview::Diff {
        lines: vec![DiffLine { tag: DiffTag::Added, old_line: None, new_line: Some(1), text }],
        added: 1,
        removed: 0,
        notes: vec![ChangeNote::Replaces { what }],
    };
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(request)));
    stage.settle();
    let said = "Replaces all that is there, which cannot be shown as text: image/png, 2,064 bytes.";
    assert!(stage.harness.query_by_label_contains(said).is_some(), "{:?}", stage.texts());
}

#[test]
fn a_change_without_lines_says_what_changes_and_can_be_answered() {
    use nod::ir::{ChangeNote, Preview};
    let mut request = question("q", "a");
    let encoding = ChangeNote::Encoding { from: "UTF-16 LE".to_owned(), to: "UTF-8".to_owned() };
    request.preview = Preview::Diff { lines: vec![], added: 0, removed: 0, notes: vec![encoding] };
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(request)));
    stage.settle();
    stage.pass(600);
    stage.settle();
    for said in ["The encoding changes from UTF-16 LE to UTF-8.", "(no line changes)"] {
        assert!(stage.harness.query_by_label_contains(said).is_some(), "{said}: {:?}", stage.texts());
    }
    stage.harness.get_by_label("Allow once").click();
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

/// A change of a large file: only its last line.
fn last_line_changed() -> (String, nod::port::ConfirmRequest) {
    let body = "0123456789 abcdefghijklmnopqrstuvwxyz\n".repeat(138_000);
    let content = format!("{body}the very end\r\n");
    let line = |tag, number, text: &str| nod::ir::DiffLine {
        tag,
        old_line: (tag != nod::ir::DiffTag::Added).then_some(number),
        new_line: (tag != nod::ir::DiffTag::Removed).then_some(number),
        text: text.to_owned(),
    };
    let mut lines: Vec<_> = body.lines().zip(1..).map(|(text, n)| line(nod::ir::DiffTag::Context, n, text)).collect();
    lines.push(line(nod::ir::DiffTag::Removed, 138_001, "the old end\n"));
    lines.push(line(nod::ir::DiffTag::Added, 138_001, "the very end\t \r\n"));
    let mut request = question("q", &content);
    request.preview = nod::ir::Preview::Diff { lines, added: 1, removed: 1, notes: vec![] };
    (content, request)
}

#[test]
fn the_only_change_of_five_megabytes_is_one_key_away_and_what_is_written_is_told_exactly() {
    let (content, request) = last_line_changed();
    assert!(content.len() > 5_000_000);
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(request)));
    for _ in 0..120 {
        stage.harness.step();
    }
    stage.pass(600);
    stage.settle();
    let drawn = |stage: &Stage| format!("{:?}", stage.harness.output().shapes);
    assert!(!drawn(&stage).contains("the very end"));
    assert!(stage.harness.query_by_label_contains("more lines below").is_some(), "{:?}", stage.texts());
    let texts = stage.texts().join("\n");
    let hash = nod::port::ContentFacts::of(&content).sha256;
    assert!(texts.contains(&hash) && texts.contains("5,244,014 bytes"), "{texts}");
    stage.harness.key_press(Key::F7);
    stage.settle();
    let shown = drawn(&stage);
    // Its tab, its last space and its carriage return are drawn.
    assert!(shown.contains("the very end→   ·\\\\r"), "the last line is not drawn as it is");
    assert!(stage.harness.query_by_label_contains("Change 1 of 1").is_some());
    assert!(stage.harness.query_by_label_contains("more lines below").is_none());
    // Only what is in sight is laid out, whatever the size.
    assert!(shown.matches("0123456789 abcdefghijklmnopqrstuvwxyz").count() < 200);
}

#[test]
fn the_allowed_folder_stands_apart_from_the_target() {
    let stage = ready();
    let texts = stage.texts();
    assert!(texts.iter().any(|text| text == "~/projects/web"), "{texts:?}");
}

/// A question about a command that runs in this tier.
fn command_question(tier: Tier, gaps: &[Leak]) -> ConfirmRequest {
    let mut request = question("q", "");
    "run_command".clone_into(&mut request.call.name);
    request.call.args = serde_json::json!({"command": "make"});
    request.access = Access::Execute;
    request.risk = RiskLevel::Critical;
    request.preview = Preview::Command(CommandPreview {
        command: "make".to_owned(),
        cwd: "/home/ann/projects/web".to_owned(),
        environment: vec![("PATH".to_owned(), "/usr/bin".to_owned())],
        timeout_ms: 30_000,
        tier,
        gaps: gaps.to_vec(),
        network: Network::Denied,
        unseen: 0,
        linked: LinkedOutside::default(),
        started: Started::default(),
    });
    request
}

fn asked_command(tier: Tier, gaps: &[Leak]) -> Stage {
    asked_about(command_question(tier, gaps))
}

fn asked_about(request: ConfirmRequest) -> Stage {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(request)));
    stage.settle();
    stage.pass(600);
    stage.settle();
    stage.commands();
    stage
}

#[test]
fn a_command_names_the_files_that_it_starts_with_what_they_hold() {
    use nod::ir::StartMoment::{First, FirstBesideWriting, Later};
    let known = || Some("0123456789abcdef".repeat(4));
    let held = "build.sh as it is now (SHA-256 0123456789abcdef…)";
    let until = "build.sh as it is now (SHA-256 0123456789abcdef…), unless another program changes it before it starts";
    let may_change = "build.sh: its content may change before it starts (now SHA-256 0123456789abcdef…)";
    for (tier, moment, sha256, expected) in [
        (Tier::A, First, known(), held),
        (Tier::A, FirstBesideWriting, known(), held),
        (Tier::A, Later, known(), may_change),
        (Tier::B, First, known(), until),
        (Tier::B, FirstBesideWriting, known(), may_change),
        (Tier::Unconfined, Later, known(), may_change),
        (Tier::A, First, None, "build.sh (not there, too large, or unreadable: its content is not known)"),
    ] {
        let mut request = command_question(tier, &[]);
        let Preview::Command(command) = &mut request.preview else { unreachable!() };
        let path = "/home/ann/projects/web/build.sh".to_owned();
        command.started = Started { files: vec![StartedFile { path, sha256, moment }], is_complete: false };
        request.reasons.push(nod::policy::AskReason::Unremembered);
        let stage = asked_about(request);
        let texts = stage.texts();
        assert!(texts.iter().any(|text| text == "Starts"), "{texts:?}");
        assert!(texts.iter().any(|text| text == expected), "{texts:?}");
        stage.harness.get_by_label_contains("does not fix all that it starts");
    }
    // The control: a command that starts none has no such row.
    assert!(!asked_command(Tier::A, &[]).texts().iter().any(|text| text == "Starts"));
}

#[test]
fn a_command_says_its_tier_and_what_that_does_not_stop() {
    let stage = asked_command(Tier::B, &[Leak::ReadOutside, Leak::ChangeMode]);
    stage.harness.get_by_label("confined (tier B)");
    stage.harness.get_by_label_contains("read your other files, change the permissions of your other files");
    let stage = asked_command(Tier::A, &[]);
    stage.harness.get_by_label("confined (tier A)");
    assert!(stage.harness.query_by_label_contains("It can still").is_none());
    let stage = asked_command(Tier::Unconfined, &Leak::ALL);
    stage.harness.get_by_label("unconfined");
    assert!(stage.harness.query_by_label("Allow for this run").is_none());
}

#[test]
fn the_network_is_off_until_the_person_ticks_it_for_this_run() {
    let mut stage = asked_command(Tier::A, &[]);
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);

    let mut stage = asked_command(Tier::A, &[]);
    stage.harness.get_by_role_and_label(egui::accesskit::Role::Switch, "Allow for this run").click();
    stage.settle();
    // A rule never allows the network.
    assert!(stage.harness.query_by_label("Allow in this session").is_none());
    stage.harness.get_by_label("Allow once").click();
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::AllowWithNetwork]);
}

#[test]
fn other_words_colours_or_sizes_begin_the_guard_anew() {
    use nod::port::{Language, Settings, Theme};
    let mut look = Settings::default();
    look.general.animations = false;
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = look.clone();
        change(&mut settings);
        settings
    };
    let changed = [
        with(&|settings| settings.general.language = Language::Chinese),
        with(&|settings| settings.general.theme = Theme::Dark),
        with(&|settings| settings.general.ui_scale = 1.25),
        with(&|settings| settings.general.code_font_size += 4.0),
    ];
    let press = |stage: &mut Stage| {
        stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Enter);
        stage.settle();
        answers(stage)
    };
    for settings in changed.into_iter().map(Some).chain([None]) {
        let mut stage = ready();
        match settings {
            Some(settings) => stage.tell(Event::SettingsChanged(Box::new(settings))),
            None => {
                stage.harness.set_size(egui::vec2(1100.0, 800.0));
            }
        }
        stage.settle();
        assert_eq!(press(&mut stage), [], "what was about to be pressed may be something else");
        stage.pass(600);
        stage.settle();
        assert_eq!(press(&mut stage), [Answer::AllowOnce]);
    }
    // The control: where nothing changes, the press counts at once.
    let mut stage = ready();
    stage.settle();
    assert_eq!(press(&mut stage), [Answer::AllowOnce]);
}
