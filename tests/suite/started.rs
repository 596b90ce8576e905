//! What lies in the files that a command starts is a part of what is allowed.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "scripts are exchanged behind Nod's back, and permits made to see the tool alone"
)]

use nod::ir::{CallId, CallStatus, Code, Decider, Preview, Started};
use nod::policy::{AskReason, RelPath, RuleScope};
use nod::port::{Answer, ConfirmRequest};
use nod::provider::scripted::Step;
use nod::tool::{CommandWalls, Permit, RunContext, find};
use nod::workspace::{Purpose, Root, resolve};
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::run_context::run_context;

fn run(command: &str) -> Step {
    Step::call("run_command", json!({"command": command}))
}

/// One call and the end of the turn, so many times; commands may be remembered.
fn desk(commands: &[&str]) -> Desk {
    let turns = commands.iter().flat_map(|command| [vec![run(command)], vec![Step::text("ok")]]).collect();
    let mut desk = Desk::with(Setup::new(turns).with_commands());
    desk.set("safety.remember_commands", true);
    desk
}

fn started(asked: &ConfirmRequest) -> Started {
    let Preview::Command(command) = &asked.preview else { panic!("{:?}", asked.preview) };
    command.started.clone()
}

/// The names of the files that are shown, each with whether its content is known.
fn shown(asked: &ConfirmRequest) -> Vec<(String, bool)> {
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    started(asked).files.iter().map(|file| (name(&file.path), file.sha256.is_some())).collect()
}

/// What the last call printed, and who decided.
fn printed(desk: &Desk) -> (String, Option<Decider>) {
    let row = desk.calls().pop().unwrap();
    let result = row.result.unwrap().result;
    (result["stdout"].as_str().unwrap_or_default().to_owned(), row.decider)
}

#[test]
fn a_script_that_is_exchanged_while_the_question_waits_is_asked_anew() {
    for command in ["sh build.sh", "./build.sh", "cd . && env LANG=C sh build.sh", "sh outer.sh", ". ./build.sh"] {
        for is_exchanged in [true, false] {
            let mut desk = desk(&[command]);
            desk.write("build.sh", "#!/bin/sh\necho one\n");
            desk.write("outer.sh", "sh build.sh\n");
            make_executable(&desk, "build.sh");
            desk.say("go");
            let first = desk.asked();
            assert!(shown(&first).contains(&("build.sh".to_owned(), true)), "{command}: {:?}", started(&first));
            if is_exchanged {
                desk.write("build.sh", "#!/bin/sh\necho two\n");
            }
            desk.answer(&first, Answer::AllowOnce);
            if is_exchanged {
                let second = desk.asked();
                assert!(second.is_asked_anew, "{command}");
                assert_ne!(started(&first), started(&second), "{command}: the question shows the new state");
                assert_eq!(desk.calls().last().unwrap().result, None, "{command}: nothing ran");
                desk.answer(&second, Answer::AllowOnce);
            }
            desk.turn_end();
            let expected = if is_exchanged { "two\n" } else { "one\n" };
            assert_eq!(printed(&desk), (expected.to_owned(), Some(Decider::Person)), "{command}");
        }
    }
}

#[test]
fn the_same_length_and_time_do_not_pass_for_the_same_content() {
    let mut desk = desk(&["sh build.sh"]);
    desk.write("build.sh", "echo one\n");
    let time = std::fs::metadata(desk.path("build.sh")).unwrap().modified().unwrap();
    desk.say("go");
    let first = desk.asked();
    desk.write("build.sh", "echo two\n");
    std::fs::File::options().write(true).open(desk.path("build.sh")).unwrap().set_modified(time).unwrap();
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    desk.answer(&second, Answer::Deny { reason: String::new() });
    desk.turn_end();
    assert_eq!(desk.calls().last().unwrap().status, CallStatus::Denied);
}

#[test]
fn a_rule_for_a_command_holds_as_long_as_its_scripts_are_as_they_were() {
    for command in ["sh build.sh", "sh outer.sh"] {
        let mut desk = desk(&[command, command, command, command]);
        desk.write("build.sh", "echo one\n");
        desk.write("outer.sh", "sh build.sh\n");
        desk.say("go");
        let asked = desk.asked();
        let [scope @ RuleScope::IdenticalPlan { .. }] = asked.rule_proposals.as_slice() else {
            panic!("{:?}", asked.rule_proposals)
        };
        desk.answer(&asked, Answer::AllowInSession { scope: scope.clone() });
        desk.turn_end();
        // The control: the same script is not asked again.
        desk.say("go");
        desk.turn_end();
        assert_eq!(printed(&desk), ("one\n".to_owned(), Some(Decider::Rule)), "{command}");
        desk.write("build.sh", "echo two\n");
        desk.say("go");
        let asked = desk.asked();
        desk.answer(&asked, Answer::Deny { reason: String::new() });
        desk.turn_end();
        assert_eq!(desk.calls().last().unwrap().status, CallStatus::Denied, "{command}");
        desk.write("build.sh", "echo one\n");
        desk.say("go");
        desk.turn_end();
        assert_eq!(printed(&desk), ("one\n".to_owned(), Some(Decider::Rule)), "{command}");
    }
}

#[test]
fn no_rule_is_offered_for_a_command_that_runs_what_may_become_something_else() {
    for (command, files) in [
        ("python3 b.py", &[("b.py", true)][..]),
        ("make", &[("Makefile", true)]),
        ("npm test", &[("package.json", true)]),
        ("cargo --version", &[]),
        ("sh missing.sh", &[("missing.sh", false)]),
        ("sh folder", &[("folder", false)]),
        ("sh link.sh", &[("link.sh", false)]),
        ("sh calls-python.sh", &[("calls-python.sh", true), ("b.py", true)]),
        ("sh writes.sh", &[("writes.sh", true)]),
        ("cp build.sh c.sh; sh c.sh", &[("c.sh", false)]),
        ("$nothing", &[]),
    ] {
        let mut desk = desk(&[command]);
        for (name, text) in [
            ("b.py", "print(1)\n"),
            ("Makefile", "all:\n\techo a\n"),
            ("package.json", "{}"),
            ("folder/a", ""),
            ("calls-python.sh", "python3 b.py\n"),
            ("build.sh", "echo one\n"),
            ("writes.sh", "echo a > b\n"),
        ] {
            desk.write(name, text);
        }
        std::os::unix::fs::symlink("/etc/profile", desk.path("link.sh")).unwrap();
        desk.say("go");
        let asked = desk.asked();
        assert_eq!(asked.rule_proposals, [], "{command}");
        assert!(asked.reasons.contains(&AskReason::Unremembered), "{command}: {:?}", asked.reasons);
        let files: Vec<_> = files.iter().map(|(name, is_known)| ((*name).to_owned(), *is_known)).collect();
        assert_eq!(shown(&asked), files, "{command}");
        desk.answer(&asked, Answer::Deny { reason: String::new() });
        desk.turn_end();
    }
    // The control.
    let mut desk = desk(&["ls -la"]);
    desk.say("go");
    let asked = desk.asked();
    assert_eq!(asked.rule_proposals.len(), 1, "{:?}", asked.reasons);
    assert!(!asked.reasons.contains(&AskReason::Unremembered));
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
}

/// Whether a rule could be made at all is nothing to this: the setting is off here.
#[test]
fn what_only_the_shell_puts_together_is_bound_too_and_the_question_says_where_that_is_not_all() {
    for (command, is_all) in [
        ("sh -- build.sh", true),
        ("cd sub && sh ../build.sh", true),
        ("sh \"$PWD/build.sh\"", true),
        ("cd sub; sh ../build.sh; cat build.sh | sh", false),
        ("cat build.sh | sh", false),
        ("BASH_ENV=build.sh bash -c :", false),
        ("exec < build.sh; sh", false),
    ] {
        let turns = vec![vec![run(command)], vec![Step::text("ok")]];
        let mut desk = Desk::with(Setup::new(turns).with_commands());
        desk.write("build.sh", "echo one\n");
        desk.write("sub/a", "");
        desk.say("go");
        let first = desk.asked();
        let is_said = first.reasons.contains(&AskReason::Unremembered);
        assert_eq!((started(&first).is_complete, is_said), (is_all, !is_all), "{command}: {:?}", first.reasons);
        let is_bound = shown(&first) == [("build.sh".to_owned(), true)];
        // Behind a `cd` that may fail nothing is named.
        assert_eq!(is_bound, !command.contains("cd sub;"), "{command}: {:?}", started(&first));
        desk.write("build.sh", "echo two\n");
        desk.answer(&first, Answer::AllowOnce);
        if is_bound {
            let second = desk.asked();
            assert!(second.is_asked_anew, "{command}");
            desk.answer(&second, Answer::Deny { reason: String::new() });
        }
        desk.turn_end();
    }
}

#[test]
fn a_file_that_a_build_tool_would_find_first_is_another_plan() {
    let mut desk = desk(&["make"]);
    desk.write("Makefile", "all:\n\t@echo one\n");
    desk.say("go");
    let first = desk.asked();
    desk.write("GNUmakefile", "all:\n\t@echo two\n");
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    assert_eq!(shown(&second), [("GNUmakefile".to_owned(), true), ("Makefile".to_owned(), true)]);
    desk.answer(&second, Answer::Deny { reason: String::new() });
    desk.turn_end();
}

#[test]
fn a_file_too_large_to_be_bound_is_said_to_be_unknown_and_remembered_never() {
    let mut desk = desk(&["./big"]);
    std::fs::File::create(desk.path("big")).unwrap().set_len(40 << 20).unwrap();
    desk.say("go");
    let asked = desk.asked();
    assert_eq!((shown(&asked), asked.rule_proposals.len()), (vec![("big".to_owned(), false)], 0));
    desk.answer(&asked, Answer::Deny { reason: String::new() });
    desk.turn_end();
}

fn make_executable(desk: &Desk, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(desk.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The last look, in the tool itself, where the gate has let it through already.
#[test]
fn a_script_that_is_exchanged_after_the_last_question_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("build.sh"), "echo one\n").unwrap();
    let tool = find("run_command").unwrap();
    let args = json!({"command": "sh build.sh"});
    let outcome = |change: &dyn Fn()| {
        let roots = vec![Root::open(folder.path()).unwrap()];
        let targets = vec![resolve(&roots[0], &RelPath::default(), Purpose::Read).unwrap()];
        let started = tool.starts(&args, &targets, &roots);
        change();
        let context = RunContext {
            helper: env!("CARGO_BIN_EXE_nod").into(),
            walls: CommandWalls { started, ..CommandWalls::default() },
            ..run_context()
        };
        tool.run(Permit::issue(CallId::new("c1"), args.clone(), targets, roots, String::new()), &context)
    };
    assert_eq!(outcome(&|| ()).unwrap()["stdout"], "one\n");
    let exchange = || std::fs::write(folder.path().join("build.sh"), "echo two\n").unwrap();
    assert_eq!(outcome(&exchange).unwrap_err().failure.code, Code::TargetChanged);
}
