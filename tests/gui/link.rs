//! The device link in the window: servers in Settings, the foot of the sidebar, the question of a server with its countdown.

use egui::accesskit::Role as Kind;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use nod::app::{Intent, SettingsPage};
use nod::ir::{
    Access, ConfirmId, Decider, KeyPlace, LinkCall, LinkCallState, LinkProblem, LinkServer, LinkState, LinkView,
    Preview, RiskLevel, UnixMs,
};
use nod::policy::AskReason;
use nod::port::{Answer, Command, ConfirmRequest, Event, Language, Settings};
use nod::secret::SecretKey;
use serde_json::json;

use crate::support::{START, Stage, question};

const URL: &str = "https://nod.example/";
const PLANTED: &str = "token-planted-7c1d";

fn link(state: LinkState) -> LinkView {
    let server = LinkServer {
        url: URL.into(),
        workspace: "/home/ann/projects/web".into(),
        key: KeyPlace::Keyring { origin: "https://nod.example".into() },
        is_paused: state == LinkState::Paused,
    };
    LinkView { server, state, sent_bytes: 2048 }
}

fn told(state: LinkState) -> Event {
    Event::LinksChanged { device_id: "dev_1".into(), links: vec![link(state)] }
}

fn page(state: Option<LinkState>) -> Stage {
    let mut stage = Stage::open_with(Settings::default(), [1280.0, 1400.0]);
    if let Some(state) = state {
        stage.tell(told(state));
    }
    stage.harness.state_mut().act(Intent::OpenSettings(SettingsPage::Servers));
    stage.settle();
    stage.commands();
    stage
}

fn server_question() -> ConfirmRequest {
    let mut request = question("q", "");
    "workspace.read_file".clone_into(&mut request.call.name);
    request.call.args = json!({"path": "README.md"});
    request.access = Access::Read;
    request.risk = RiskLevel::Medium;
    request.exists = true;
    URL.clone_into(&mut request.model);
    "/home/ann/projects/web/README.md".clone_into(&mut request.target);
    request.reasons = vec![AskReason::Server];
    request.preview = Preview::Nothing;
    request.content = None;
    request.model_words = String::new();
    request.rule_proposals = Vec::new();
    request.dry_run = Vec::new();
    request.denials = Vec::new();
    request.server = Some(URL.to_owned());
    request.expires_at = Some(UnixMs(START + 60_000));
    request
}

#[test]
fn a_server_is_added_with_a_token_that_is_shown_nowhere() {
    let mut stage = page(None);
    stage.harness.get_by_role_and_label(Kind::Button, "Add a server").click();
    stage.settle();
    let is_disabled =
        |stage: &Stage| stage.harness.get_by_role_and_label(Kind::Button, "Connect").accesskit_node().is_disabled();
    assert!(is_disabled(&stage), "nothing is filled in");
    for (kind, name, text) in
        [(Kind::TextInput, "Address", "https://nod.example"), (Kind::PasswordInput, "User token", PLANTED)]
    {
        stage.harness.get_by_role_and_label(kind, name).focus();
        stage.settle();
        stage.harness.get_by_role_and_label(kind, name).type_text(text);
        stage.settle();
    }
    assert!(is_disabled(&stage), "there is no folder");
    stage.harness.state_mut().act(Intent::TypePath(nod::app::PathPurpose::Workspace));
    stage.harness.state_mut().act(Intent::EditPath("/home/ann/projects/web".into()));
    stage.harness.state_mut().act(Intent::SubmitPath);
    stage.settle();
    assert!(!stage.texts().iter().any(|text| text.contains(PLANTED)));
    stage.commands();
    stage.harness.get_by_role_and_label(Kind::Button, "Connect").click();
    stage.settle();
    let (url, workspace) = ("https://nod.example".to_owned(), "/home/ann/projects/web".into());
    assert_eq!(stage.sent(), [Command::PutLink { url, workspace, token: SecretKey::new(PLANTED) }]);
    stage.harness.get_by_role_and_label(Kind::Button, "Add a server").click();
    stage.settle();
    let empty = stage.harness.get_by_role_and_label(Kind::PasswordInput, "User token").accesskit_node().value();
    assert!(empty.is_none_or(|value| value.is_empty()), "the next form begins empty");
}

#[test]
fn a_server_says_how_it_stands_and_is_paused_tried_and_removed() {
    let mut stage = page(Some(LinkState::Connected));
    assert!(stage.texts().iter().any(|text| text.contains("Connected · ~/projects/web · 2.0 KB sent")));
    assert!(stage.texts().iter().any(|text| text.contains("dev_1")));
    stage.harness.get_by_role_and_label(Kind::Button, "Disconnect, nod.example").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::PauseLink { url: URL.into(), is_paused: true }]);

    let problem = LinkProblem::TokenRefused;
    stage.tell(told(LinkState::Waiting { until: UnixMs(START + 1_000), problem }));
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("does not accept the token")));
    stage.harness.get_by_role_and_label(Kind::Button, "Try now, nod.example").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RetryLink { url: URL.into() }]);

    stage.harness.get_by_role_and_label(Kind::Button, "Edit, nod.example").click();
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::Button, "Remove this server").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RemoveLink { url: URL.into() }]);
}

#[test]
fn the_calls_of_a_server_are_listed_as_they_come_with_what_was_sent() {
    let mut stage = page(Some(LinkState::Connected));
    stage.harness.get_by_role_and_label(Kind::Button, "Calls, nod.example").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::ListLinkCalls { url: URL.into() }]);
    let call = LinkCall {
        tool_call_id: "t:1".into(),
        is_recorded: true,
        tool: "workspace.read_file".into(),
        path: "README.md".into(),
        state: LinkCallState::Running,
        code: None,
        sent_bytes: 0,
        at: UnixMs(START),
    };
    stage.tell(Event::LinkCallsListed { url: URL.into(), calls: Vec::new() });
    stage.tell(Event::LinkCallChanged { url: URL.into(), call: call.clone() });
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("waiting for you, or running")));
    let call = LinkCall { state: LinkCallState::Succeeded, sent_bytes: 4096, ..call };
    stage.tell(Event::LinkCallChanged { url: URL.into(), call });
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("workspace.read_file  README.md")));
    assert!(stage.texts().iter().any(|text| text.contains("done · 4.0 KB sent")));
}

#[test]
fn the_foot_of_the_sidebar_says_whether_local_tools_are_there_and_leads_to_the_servers() {
    let mut stage = Stage::open();
    assert!(!stage.texts().iter().any(|text| text.contains("Local tools")));
    stage.tell(told(LinkState::Connecting));
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("Local tools: Connecting …")));
    stage.tell(told(LinkState::Connected));
    stage.settle();
    stage.harness.get_by_label("Local tools: Connected · web").click();
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("An agent on a server can look into one folder")));
}

#[test]
fn the_foot_says_every_state_in_both_languages_and_names_this_device() {
    let waiting = || LinkState::Waiting { until: UnixMs(START), problem: LinkProblem::Silent };
    let stopped = || LinkState::Stopped { problem: LinkProblem::NoToken };
    let english = [
        (LinkState::Paused, "Local tools: Paused"),
        (LinkState::Connecting, "Local tools: Connecting …"),
        (LinkState::Connected, "Local tools: Connected · web"),
        (waiting(), "Local tools: Not connected; trying again"),
        (LinkState::Replaced, "Local tools: Connected in another window"),
        (stopped(), "Local tools: Not connected"),
    ];
    let chinese = [
        (LinkState::Paused, "本机工具：已暂停"),
        (LinkState::Connecting, "本机工具：连接中……"),
        (LinkState::Connected, "本机工具：已连接 · web"),
        (waiting(), "本机工具：未连接，正在重试"),
        (LinkState::Replaced, "本机工具：已在另一个窗口连接"),
        (stopped(), "本机工具：未连接"),
    ];
    for (language, device, states) in
        [(Language::English, "This device: dev_1", english), (Language::Chinese, "本设备：dev_1", chinese)]
    {
        let mut settings = Settings::default();
        settings.general.language = language;
        let mut stage = Stage::open_with(settings, [1280.0, 860.0]);
        let [.., (_, last)] = &states;
        for (state, words) in &states {
            stage.tell(told(state.clone()));
            stage.settle();
            assert!(stage.harness.query_by_label(words).is_some(), "{words}: {:?}", stage.texts());
        }
        assert!(!stage.texts().iter().any(|text| text.contains(device)));
        stage.harness.get_by_label(last).hover();
        for _ in 0..20 {
            stage.settle();
        }
        assert!(stage.texts().iter().any(|text| text.contains(device)), "{:?}", stage.texts());
    }
}

#[test]
fn who_waits_for_the_next_try_is_told_when_it_is_and_long_words_of_a_server_are_cut() {
    let detail = "x".repeat(7 << 20);
    let problem = LinkProblem::Protocol { detail };
    let stage = page(Some(LinkState::Waiting { until: UnixMs(START + 12_000), problem }));
    let texts = stage.texts();
    let seconds = jiff::Timestamp::from_millisecond(START + 12_000).unwrap().strftime(":%M:%S").to_string();
    let told = texts.iter().find(|text| text.contains("Not connected; next try at ")).expect("it is said");
    assert!(told.contains(&seconds), "{seconds}: {told:.200}");
    assert!(texts.iter().all(|text| text.len() < 5_000));
}

#[test]
fn a_servers_question_names_it_counts_down_and_offers_a_yes_for_once_and_a_no() {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(server_question())));
    stage.settle();
    let texts = stage.texts();
    for expected in ["Send this file to a server?", URL, "workspace.read_file", "Hide arguments"] {
        assert!(texts.iter().any(|text| text.contains(expected)), "{expected}");
    }
    assert!(texts.iter().any(|text| text.contains("in 60 seconds")));
    let buttons = ["Allow in this session", "Deny and say why"];
    assert!(buttons.iter().all(|name| stage.harness.query_by_role_and_label(Kind::Button, name).is_none()));
    stage.pass(20_000);
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("in 40 seconds")));
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Enter);
    stage.settle();
    let (confirm, answer) = (ConfirmId::new("q"), Answer::AllowOnce);
    assert_eq!(stage.sent(), [Command::Answer { confirm, answer, decider: Decider::Person }]);
}

#[test]
fn two_questions_of_servers_are_never_answered_with_one_yes() {
    let mut stage = Stage::open();
    for id in ["a", "b"] {
        let request = ConfirmRequest { id: ConfirmId::new(id), ..server_question() };
        stage.tell(Event::ConfirmAsked(Box::new(request)));
    }
    stage.settle();
    assert!(!stage.texts().iter().any(|text| text.contains("Allow these")), "{:?}", stage.texts());
    assert!(stage.harness.state().state().confirms.reads().is_empty());
}
