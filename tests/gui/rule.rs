//! Rules in the window: made by hand in the panel and the settings, taken back, and shown when something else changed them.

use egui_kittest::kittest::Queryable as _;
use nod::app::{Intent, SettingsPage};
use nod::ir::{RuleId, SessionId};
use nod::policy::{BrokenRule, Meant, RuleEffect, RuleScope, RuleSet};
use nod::port::{Command, Event, Settings};

use crate::support::{Stage, rule};

fn panel(stage: &mut Stage) {
    stage.harness.get_by_label("Folders, mode and rules").click();
    stage.settle();
}

#[test]
fn a_refusal_is_made_in_the_panel() {
    let mut stage = Stage::open();
    panel(&mut stage);
    stage.harness.get_by_label("Always refuse something…").click();
    stage.settle();
    stage.harness.get_by_label("Which tool").click();
    stage.settle();
    stage.harness.get_by_label("delete_file").click();
    stage.settle();
    stage.harness.get_by_label("Refuse from now on").click();
    stage.settle();
    let scope = RuleScope::ToolInFolders { tool: "delete_file".to_owned() };
    let session = Some(SessionId::new("s"));
    assert_eq!(stage.sent(), [Command::MakeRule { session, effect: RuleEffect::Deny, scope }]);
}

#[test]
fn a_rule_that_was_changed_from_outside_is_named_as_such_and_can_be_removed() {
    let mut stage = Stage::open();
    let changed = RuleId::new("rule_1");
    let rules =
        RuleSet { intact: vec![rule()], broken: vec![BrokenRule { id: changed.clone(), meant: Meant::NoRefusal }] };
    stage.tell(Event::RulesChanged { session: Some(SessionId::new("s")), rules });
    panel(&mut stage);
    assert!(stage.harness.query_by_label_contains("was changed from outside").is_some());
    stage.harness.get_by_label("Remove the changed rule rule_1").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RevokeRule { session: Some(SessionId::new("s")), rule: changed }]);
}

#[test]
fn a_rule_for_every_chat_is_made_and_taken_back_in_the_settings() {
    // Tall enough that the whole page is in sight.
    let mut stage = Stage::open_with(Settings::default(), [1280.0, 1800.0]);
    stage.harness.state_mut().act(Intent::OpenSettings(SettingsPage::Safety));
    stage.settle();
    assert!(stage.sent().contains(&Command::ListStandingRules));
    let mut standing = rule();
    standing.session = None;
    stage.tell(Event::RulesChanged { session: None, rules: vec![standing.clone()].into() });
    stage.settle();
    stage.harness.get_by_label("Revoke: write_file anywhere in the allowed folders").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RevokeRule { session: None, rule: standing.id }]);
    stage.harness.get_by_label("Make a rule…").click();
    stage.settle();
    stage.harness.get_by_label("What the rule does").click();
    stage.settle();
    stage.harness.get_by_label("Allow without asking").click();
    stage.settle();
    // What is always asked is not even offered.
    stage.harness.get_by_label("Which tool").click();
    stage.settle();
    assert!(
        stage.harness.query_by_label("run_command").is_none() && stage.harness.query_by_label("delete_file").is_none()
    );
    stage.harness.get_by_label("edit_file").click();
    stage.settle();
    stage.harness.get_by_label("Allow from now on").click();
    stage.settle();
    let scope = RuleScope::ToolInFolders { tool: "edit_file".to_owned() };
    assert_eq!(stage.sent(), [Command::MakeRule { session: None, effect: RuleEffect::Allow, scope }]);
}
