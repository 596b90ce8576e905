use crate::ir::{Access, ConfirmMode, RiskLevel};
use crate::policy::{Origin, Platform, Shown, Surroundings, judge_command};

use super::*;

fn relative(path: &str) -> RelPath {
    RelPath::from_parts(path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()).unwrap()
}

fn write_to(path: &str) -> CallFacts {
    let root = PathBuf::from("/projects/ws");
    CallFacts {
        origin: Origin::Model,
        tool: "write_file".to_owned(),
        access: Access::Write,
        risk: RiskLevel::Medium,
        mode: ConfirmMode::Changes,
        args_hash: "hash".to_owned(),
        plan_hash: "plan".to_owned(),
        command_text: String::new(),
        roots: vec![root.clone()],
        surroundings: Surroundings { home: None, data_dir: None, platform: Platform::Linux },
        targets: vec![TargetFacts {
            given: path.to_owned(),
            resolved: relative(path).below(&root),
            place: PathPlace::Inside { root, relative: relative(path), resolved_relative: relative(path) },
            kind: TargetKind::File,
            links: 1,
            other_mount: false,
            is_mount_point: false,
            is_home: false,
            lifted: false,
            reaches: Vec::new(),
        }],
        command: None,
        remember_commands: false,
        starts_only_known: true,
        shown: Shown::default(),
    }
}

fn of_kind(kind: TargetKind, mut facts: CallFacts) -> CallFacts {
    facts.targets[0].kind = kind;
    facts
}

fn exact(target: &str) -> RuleScope {
    RuleScope::ExactCall { tool: "write_file".to_owned(), args_hash: "hash".to_owned(), target: target.to_owned() }
}

fn file(root: &str, file: &str) -> RuleScope {
    RuleScope::File { tool: "write_file".to_owned(), root: PathBuf::from(root), file: file.to_owned() }
}

fn like(folder: &str, extension: &str) -> RuleScope {
    RuleScope::FilesLike {
        tool: "write_file".to_owned(),
        root: PathBuf::from("/projects/ws"),
        folder: folder.to_owned(),
        extension: extension.to_owned(),
    }
}

fn everywhere(tool: &str) -> RuleScope {
    RuleScope::ToolInFolders { tool: tool.to_owned() }
}

fn covers(effect: RuleEffect, scope: RuleScope, facts: &CallFacts) -> bool {
    let rule = Rule {
        id: RuleId::new("rule"),
        session: Some(SessionId::new("session")),
        effect,
        scope,
        made_by: RuleMaker::Panel,
        created_at: UnixMs(0),
        hits: 0,
    };
    !matching_rules(facts, &[rule]).is_empty()
}

fn allows(scope: RuleScope, facts: &CallFacts) -> bool {
    covers(RuleEffect::Allow, scope, facts)
}

fn denies(scope: RuleScope, facts: &CallFacts) -> bool {
    covers(RuleEffect::Deny, scope, facts)
}

#[test]
fn proposals_go_from_narrow_to_broad() {
    let expected = [
        exact("/projects/ws/docs/a.md"),
        file("/projects/ws", "docs/a.md"),
        like("docs", "md"),
        everywhere("write_file"),
    ];
    assert_eq!(proposals(&write_to("docs/a.md")), expected);
    // No extension: nothing to be like.
    let expected = [exact("/projects/ws/LICENSE"), file("/projects/ws", "LICENSE"), everywhere("write_file")];
    assert_eq!(proposals(&write_to("LICENSE")), expected);
    assert_eq!(proposals(&write_to(".gitignore")).len(), 3);
    // A folder is no file.
    let expected = [exact("/projects/ws/docs"), everywhere("write_file")];
    assert_eq!(proposals(&of_kind(TargetKind::Folder, write_to("docs"))), expected);
}

#[test]
fn every_proposal_covers_the_call_that_it_was_made_for() {
    for path in ["docs/a.md", "a.md", "LICENSE", "中文/文.txt"] {
        let facts = write_to(path);
        for scope in proposals(&facts) {
            assert!(allows(scope.clone(), &facts), "{path} {scope:?}");
            assert!(denies(scope.clone(), &facts), "{path} {scope:?}");
        }
    }
}

#[test]
fn nothing_is_offered_for_what_no_rule_may_cover() {
    let with = |access, path: &str| CallFacts { access, ..write_to(path) };
    let mut outside = with(Access::Read, "a.md");
    outside.targets[0].place = PathPlace::Outside;
    let mut other_mount = write_to("a.md");
    other_mount.targets[0].other_mount = true;
    let command = |line: &str, remember_commands| CallFacts {
        tool: "run_command".to_owned(),
        command: Some(judge_command(line)),
        remember_commands,
        ..with(Access::Execute, "a")
    };
    for facts in [
        with(Access::Delete, "a.md"),
        write_to("package.json"),
        write_to("password.rs"),
        with(Access::Read, "a\u{200B}.md"),
        outside,
        other_mount,
        command("ls", false),
        command("echo 'open", true),
        CallFacts { command: None, ..command("ls", true) },
    ] {
        assert_eq!(proposals(&facts), [], "{facts:?}");
        assert!(!allows(everywhere(&facts.tool), &facts), "{facts:?}");
    }
    assert_eq!(
        proposals(&command("ls", true)),
        [RuleScope::IdenticalPlan {
            tool: "run_command".to_owned(),
            plan_hash: "plan".to_owned(),
            target: String::new()
        }]
    );
}

#[test]
fn a_name_of_mixed_scripts_is_allowed_by_no_rule_that_did_not_name_it() {
    // Cyrillic `а` and `о`, Greek `ο`, a wholly Cyrillic `арр`, a full stop that is none, a look-alike folder on the way.
    for path in
        ["not\u{435}s.txt", "c\u{3BF}nfig.txt", "\u{430}\u{440}\u{440}.txt", "a\u{2024}b.txt", "d\u{43E}cs/a.txt"]
    {
        let facts = write_to(path);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        // The control: by folder and extension alone it is like the others, and a refusal of those covers it.
        assert!(denies(like(folder, "txt"), &facts), "{path:?}");
        assert!(!allows(like(folder, "txt"), &facts) && !allows(everywhere("write_file"), &facts), "{path:?}");
        let named = file("/projects/ws", path);
        assert!(allows(named.clone(), &facts), "{path:?}: the person has seen this very name");
        assert_eq!(proposals(&facts), [exact(&format!("/projects/ws/{path}")), named], "{path:?}");
    }
    for path in ["中文文件.txt", "报告v2.txt", "naïve.txt", "отчёт.txt", "notes.txt"] {
        assert!(allows(like("", "txt"), &write_to(path)), "{path:?}");
    }
}

#[test]
fn allowing_goes_by_identity() {
    for (scope, path, is_covered) in [
        (exact("/projects/ws/a.md"), "a.md", true),
        (exact("/projects/ws/b.md"), "a.md", false),
        (file("/projects/ws", "a.md"), "a.md", true),
        (file("/projects/ws", "a.md"), "A.md", false),
        (file("/projects/ws", "a.md"), "sub/a.md", false),
        (file("/projects/ws", "a.md"), "a.md.bak", false),
        (file("/projects/ws2", "a.md"), "a.md", false),
        (file("/projects", "ws/a.md"), "a.md", false),
        (like("", "md"), "a.md", true),
        (like("", "md"), "sub/a.md", false),
        (like("sub", "md"), "sub/a.md", true),
        (like("sub", "md"), "sub/deep/a.md", false),
        (like("sub", "md"), "sub2/a.md", false),
        (like("sub", "md"), "sub/a.txt", false),
        (like("sub", "md"), "sub/a.MD", false),
        (like("", "md"), ".md", false),
        (everywhere("write_file"), "any/thing.x", true),
        (everywhere("edit_file"), "any/thing.x", false),
    ] {
        assert_eq!(allows(scope.clone(), &write_to(path)), is_covered, "{scope:?} {path}");
    }
}

#[test]
fn denying_goes_by_whatever_may_be_meant() {
    for (scope, path, is_covered) in [
        (exact("/elsewhere"), "a.md", true),
        (file("/projects/ws", "a.md"), "A.MD", true),
        (file("/projects/ws", "a.md"), "a.md. ", true),
        (file("/projects/WS", "a.md"), "a.md", true),
        (file("/projects/ws", "a.md"), "b.md", false),
        (like("Sub", "MD"), "sub/a.md", true),
        (like("sub", "md"), "sub/deep/a.md", false),
        (everywhere("write_file"), "a", true),
        (everywhere("read_file"), "a", false),
    ] {
        assert_eq!(denies(scope.clone(), &write_to(path)), is_covered, "{scope:?} {path}");
    }
    // A deletion can be denied by a rule, if never allowed by one.
    assert!(denies(everywhere("write_file"), &CallFacts { access: Access::Delete, ..write_to("a") }));
}

#[test]
fn a_rule_follows_the_link_to_what_it_allows() {
    let mut through_link = write_to("link.md");
    through_link.targets[0].place = PathPlace::Inside {
        root: PathBuf::from("/projects/ws"),
        relative: relative("link.md"),
        resolved_relative: relative("docs/real.md"),
    };
    assert!(!allows(file("/projects/ws", "link.md"), &through_link));
    assert!(allows(file("/projects/ws", "docs/real.md"), &through_link));
    assert!(denies(file("/projects/ws", "link.md"), &through_link));
    assert!(denies(file("/projects/ws", "docs/real.md"), &through_link));
}

#[test]
fn one_path_that_is_not_covered_is_enough_to_ask() {
    let mut two = write_to("a.md");
    two.targets.push(write_to("b.md").targets.remove(0));
    assert!(!allows(file("/projects/ws", "a.md"), &two));
    assert!(denies(file("/projects/ws", "a.md"), &two));
    assert!(allows(like("", "md"), &two));
    let none = CallFacts { targets: Vec::new(), ..write_to("a") };
    assert!(!allows(everywhere("write_file"), &none));
}

#[test]
fn a_rule_reads_back_as_it_was_written() {
    let rule = Rule {
        id: RuleId::new("r"),
        session: Some(SessionId::new("s")),
        effect: RuleEffect::Allow,
        scope: like("docs", "md"),
        made_by: RuleMaker::Modal,
        created_at: UnixMs(7),
        hits: 2,
    };
    let text = serde_json::to_string(&rule).unwrap();
    assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    // A rule that does not parse is no rule.
    assert!(serde_json::from_str::<Rule>(&text.replace("files-like", "files-unlike")).is_err());
}

#[test]
fn the_same_folder_is_the_same_from_another_allowed_folder() {
    let by_hand = |folder: &str| RuleScope::FilesLike {
        tool: "write_file".to_owned(),
        root: PathBuf::from(folder),
        folder: String::new(),
        extension: "md".to_owned(),
    };
    for (folder, path, is_covered) in [
        ("/projects/ws/docs", "docs/a.md", true),
        ("/projects/ws", "docs/a.md", false),
        ("/projects/ws/doc", "docs/a.md", false),
        ("/projects/ws", "a.md", true),
    ] {
        assert_eq!(allows(by_hand(folder), &write_to(path)), is_covered, "{folder} {path}");
        assert_eq!(denies(by_hand(folder), &write_to(path)), is_covered, "{folder} {path}");
    }
}

#[test]
fn a_refused_file_is_refused_from_every_allowed_folder_that_it_lies_in() {
    let refused = |root: &str, file: &str| RuleScope::File {
        tool: "write_file".to_owned(),
        root: PathBuf::from(root),
        file: file.to_owned(),
    };
    for (root, file, is_covered) in [
        ("/projects/ws", "docs/a.md", true),
        ("/projects", "ws/Docs/A.md", true),
        ("/projects/ws/docs", "a.md", true),
        ("/projects/ws/docs", "docs/a.md", false),
        ("/projects/ws", "a.md", false),
    ] {
        assert_eq!(denies(refused(root, file), &write_to("docs/a.md")), is_covered, "{root} {file}");
    }
}

#[test]
fn an_identical_command_is_the_same_plan_and_no_plan_is_like_none() {
    let run = |plan_hash: &str| CallFacts {
        tool: "run_command".to_owned(),
        access: Access::Execute,
        command: Some(judge_command("ls")),
        command_text: "ls".to_owned(),
        remember_commands: true,
        plan_hash: plan_hash.to_owned(),
        ..write_to("")
    };
    let identical = |plan_hash: &str| RuleScope::IdenticalPlan {
        tool: "run_command".to_owned(),
        plan_hash: plan_hash.to_owned(),
        target: "ls".to_owned(),
    };
    assert_eq!(proposals(&run("plan")), [identical("plan")]);
    assert!(allows(identical("plan"), &run("plan")) && denies(identical("plan"), &run("plan")));
    // Another confinement, folder or list of allowed folders is another plan.
    assert!(!allows(identical("plan"), &run("other")));
    assert!(!allows(identical(""), &run("")));
    // The narrow scope of other tools allows no command.
    assert!(!allows(
        RuleScope::ExactCall {
            tool: "run_command".to_owned(),
            args_hash: "hash".to_owned(),
            target: "/projects/ws".to_owned()
        },
        &run("plan")
    ));
}

#[test]
fn whatever_it_is_a_person_may_refuse_it_for_good() {
    for facts in [
        CallFacts { access: Access::Delete, tool: "delete_file".to_owned(), ..write_to("a.md") },
        write_to("package.json"),
        CallFacts { access: Access::Execute, tool: "run_command".to_owned(), command: None, ..write_to("a") },
    ] {
        let offered = super::super::denials(&facts);
        assert!(offered.len() >= 2, "{offered:?}");
        for scope in offered {
            assert!(denies(scope.clone(), &facts), "{scope:?}");
        }
    }
}

#[test]
fn by_hand_nothing_is_allowed_that_is_always_asked() {
    let tool = |name: &str| everywhere(name);
    for (effect, scope, may_be) in [
        (RuleEffect::Allow, tool("write_file"), true),
        (RuleEffect::Allow, tool("delete_file"), false),
        (RuleEffect::Allow, tool("run_command"), false),
        (RuleEffect::Deny, tool("delete_file"), true),
        (RuleEffect::Deny, tool("run_command"), true),
        (RuleEffect::Allow, like("docs", "md"), true),
        (RuleEffect::Allow, exact("/projects/ws/a.md"), false),
        (RuleEffect::Deny, exact("/projects/ws/a.md"), false),
    ] {
        assert_eq!(super::super::may_be_made(effect, &scope), may_be, "{effect:?} {scope:?}");
    }
}
