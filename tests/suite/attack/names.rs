//! Names of secrets, names that something later executes, and names that look like options (3.3).

use nod::ir::{ConfirmMode, Session};
use nod::policy::{AskReason, RuleScope};
use nod::port::{Answer, Command};
use serde_json::json;

use super::Control::{Leaks, Plants, Shows};
use super::ground::{ATTACK, Piece, SECRET};
use super::{Bench, Case, case, session};

const SENSITIVE: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".envrc",
    ".ENV",
    ".env.",
    ".env ",
    ".env~",
    "deep/er/.env",
    "server.pem",
    "server.key",
    "Server.KEY.bak",
    "store.p12",
    "store.pfx",
    "store.kdbx",
    "release.keystore",
    "id_rsa",
    "id_ed25519_work",
    "id_ecdsa.old",
    "id_dsa",
    ".npmrc",
    ".pypirc",
    "credentials",
    ".credentials/token",
    "config/credentials/prod.json",
    "passwords.txt",
    "my password.csv",
    "client-secret.json",
    "db_passwd.yaml",
    "secrets.toml",
    "secrets.sqlite",
    "passwords.xlsx",
    "secrets",
];

/// A row with a file of this name, which holds the secret.
fn holding(number: &'static str, what: &'static str, name: &'static str) -> Case {
    let path: &'static str = format!("ws/{name}").leak();
    case(number, what).with([Piece::File(path, SECRET)])
}

#[test]
fn names_of_secrets_are_refused_unasked() {
    let mut cases = Vec::new();
    for name in SENSITIVE {
        let row = || holding("3.3.1", name, name);
        cases.push(row().read(name).refused("SENSITIVE_PATH_DENIED", Leaks));
        cases.push(row().write(name).refused("SENSITIVE_PATH_DENIED", Plants));
        cases.push(row().edit(name, SECRET).refused("SENSITIVE_PATH_DENIED", Plants));
        cases.push(row().delete(name).refused("SENSITIVE_PATH_DENIED", Plants));
        cases.push(row().search(name, SECRET).refused("SENSITIVE_PATH_DENIED", Leaks));
    }
    cases.push(case("3.3.2", "a folder of that name").make(".env/x").refused("SENSITIVE_PATH_DENIED", Plants));
    cases.push(
        case("3.3.2", "a name that is given outside")
            .with([Piece::File("out/server.key", SECRET)])
            .read("{out}/server.key")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
    );
    cases.push(
        case("3.3.8", "a plain link to one")
            .with([Piece::File("ws/.env", SECRET), Piece::Link("ws/notes.txt", ".env")])
            .read("notes.txt")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
    );
    cases.push(
        case("3.3.8", "a name of a secret that is a plain link")
            .with([Piece::File("ws/notes.txt", SECRET), Piece::Link("ws/.env", "notes.txt")])
            .read(".env")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
    );
    Bench::new().holds(cases);
}

#[test]
fn whether_a_secret_is_there_is_not_told() {
    let mut bench = Bench::new();
    for name in [".env", "sub/.env.local", "config/credentials/prod.json", "id_rsa"] {
        let path: &'static str = format!("ws/{name}").leak();
        let folder = Piece::Folder("ws/config/credentials");
        bench.alike(
            &case("3.3.1", "present and absent").read(name).refused("SENSITIVE_PATH_DENIED", Leaks),
            &[folder.clone(), Piece::File(path, SECRET)],
            &[folder],
        );
    }
    bench.alike(
        &case("3.3.8", "behind a link").read("l").refused("SENSITIVE_PATH_DENIED", Leaks),
        &[Piece::Link("ws/l", ".env"), Piece::File("ws/.env", SECRET)],
        &[Piece::Link("ws/l", ".env")],
    );
}

#[test]
fn ordinary_names_are_not_hit() {
    let mut cases = Vec::new();
    for name in [
        "monkey.keymap",
        "keyboard.rs",
        "environment.ts",
        "compass.rs",
        "passwordless.md",
        "secretary.txt",
        ".env.example",
        ".env.sample",
        ".env.template",
        "id_rsa.pub",
        "key.txt",
        "pem",
        "-rf",
        "--help",
    ] {
        cases.push(holding("3.3.5", name, name).read(name).runs());
        cases.push(holding("3.3.5", name, name).write(name).asked());
    }
    Bench::new().holds(cases);
}

#[test]
fn source_code_that_speaks_of_secrets_is_asked_about_and_never_remembered() {
    let mut cases = Vec::new();
    for name in ["secrets.py", "password-reset.ts", "credentials.go", "secret.md", "passwd.c"] {
        for mode in [ConfirmMode::Changes, ConfirmMode::Automatic] {
            let asked = |row: Case| {
                row.mode(mode).asked().also(|_, ran| {
                    let question = ran.question();
                    let speaks = |reason: &AskReason| matches!(reason, AskReason::SuspiciousName { .. });
                    assert!(question.reasons.iter().any(speaks), "{:?}", question.reasons);
                    assert_eq!(question.rule_proposals, []);
                })
            };
            cases.push(asked(holding("3.3.4", name, name).read(name)));
            cases.push(asked(holding("3.3.4", name, name).write(name)));
        }
    }
    Bench::new().holds(cases);
}

#[test]
fn listings_and_searches_leave_secrets_out_and_count_them() {
    let secrets = [
        Piece::File("ws/.env", SECRET),
        Piece::File("ws/sub/server.key", SECRET),
        Piece::File("ws/credentials/prod.md", SECRET),
    ];
    Bench::new().holds(vec![
        case("3.3.6", "a listing").with(secrets.clone()).list(".").runs().also(|_, ran| {
            assert_eq!(ran.result.result["hidden_by_policy"], 3);
            assert!(!ran.text().contains(".env") && !ran.text().contains("credentials"), "{}", ran.text());
        }),
        case("3.3.7", "a search of contents")
            .with(secrets.clone())
            .search(".", SECRET)
            .runs()
            .also(|_, ran| {
                assert_eq!(ran.result.result["total_matches"], 0);
                assert_eq!(ran.result.result["hidden_by_policy"], 3);
            })
            .control(Leaks),
        case("3.3.7", "a search of names").with(secrets).search(".", ".env").runs().also(|_, ran| {
            assert_eq!(ran.result.result["total_matches"], 0);
        }),
        case("3.3.7", "what only speaks of secrets is found by name and not read")
            .with([Piece::File("ws/secrets.py", SECRET)])
            .search(".", SECRET)
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 0))
            .control(Leaks),
    ]);
}

const DENIED: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/Config",
    ".git /hooks/x",
    "sub/.git/config",
    ".git/modules/lib/config",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".config/fish/config.fish",
    ".gitconfig",
    ".mcp.json",
    "sub/.MCP.json",
    ".vscode/tasks.json",
    ".VSCode/Tasks.json",
    ".cursor/mcp.json",
];

const ASKED: &[&str] = &[
    "app.desktop",
    "package.json",
    "Makefile",
    "build.rs",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".vscode/settings.json",
    ".claude/settings.json",
    ".codex/config.toml",
    "setup.py",
    ".git/info/attributes",
    "nod.service",
    ".husky/pre-commit",
];

#[test]
fn what_something_later_executes_is_refused_or_asked_in_red() {
    let mut cases = Vec::new();
    for name in DENIED {
        cases.push(case("3.3.9", name).write(name).refused("PROTECTED_PATH_DENIED", Plants));
        cases.push(holding("3.3.9", name, name).edit(name, SECRET).refused("PROTECTED_PATH_DENIED", Plants));
        cases.push(
            case("3.3.9", name).mode(ConfirmMode::Automatic).write(name).refused("PROTECTED_PATH_DENIED", Plants),
        );
    }
    for name in ASKED {
        for mode in [ConfirmMode::Changes, ConfirmMode::Automatic] {
            cases.push(case("3.3.9", name).mode(mode).write(name).asked().also(|_, ran| {
                assert!(ran.question().reasons.contains(&AskReason::ProtectedWrite), "{:?}", ran.question().reasons);
                assert_eq!(ran.question().rule_proposals, [], "never rememberable");
            }));
        }
    }
    cases.push(case("3.3.10", "git's folder is not made").make(".git/hooks").refused("PROTECTED_PATH_DENIED", Plants));
    cases.push(case("3.3.10", "nor a file in its place").write(".git").refused("PROTECTED_PATH_DENIED", Plants));
    cases.push(
        case("3.3.10", "an allowed folder that is git's own")
            .with([Piece::Folder("ws/.git/hooks")])
            .folders(&["{ws}/.git"])
            .write("hooks/pre-commit")
            .refused(
                "PROTECTED_PATH_DENIED",
                Shows(|ground| {
                    std::fs::write(ground.path("ws/.git/hooks/pre-commit"), ATTACK).unwrap();
                }),
            ),
    );
    cases.push(
        case("3.3.10", "reading them is no harm").with([Piece::File("ws/.git/config", "x")]).read(".git/config").runs(),
    );
    Bench::new().holds(cases);
}

#[test]
fn names_that_look_like_options_are_names() {
    let bystanders = || [Piece::File("ws/-rf", "x"), Piece::File("ws/--help", "x"), Piece::File("ws/*", "x")];
    Bench::new().holds(vec![
        case("3.3.11", "deleting -rf takes -rf").with(bystanders()).delete("-rf").asked().also(|ground, _| {
            assert!(!ground.path("ws/-rf").exists());
            assert!(ground.path("ws/--help").exists() && ground.path("ws/a.txt").exists());
        }),
        case("3.3.11", "deleting * takes *").with(bystanders()).delete("*").asked().also(|ground, _| {
            assert!(!ground.path("ws/*").exists() && ground.path("ws/a.txt").exists());
        }),
        case("3.3.11", "making --help").make("--help-me").asked(),
        case("3.3.12", "searching for an option").search(".", "--pre=sh").runs(),
    ]);
}

#[test]
fn only_the_person_lifts_a_secret_and_only_that_one_in_that_session() {
    let mut bench = Bench::new();
    let ground = bench.ground(&[Piece::File("ws/.env", SECRET), Piece::File("ws/sub/.env", SECRET)]);
    let session = session("lifting", vec![ground.expand("{ws}")], ConfirmMode::Changes);
    let read = |bench: &mut Bench, session: &Session, args: serde_json::Value| {
        bench.call_in(session.clone(), "read_file", args.to_string(), &mut |_| Answer::AllowOnce).result
    };
    let denied = Some("SENSITIVE_PATH_DENIED");
    assert_eq!(read(&mut bench, &session, json!({"path": ".env"})).code(), denied);
    bench.desk.send(Command::LiftSensitive { session: session.id.clone(), path: ground.path("ws/.env") });
    // The command is answered by nothing: it is seen in what follows.
    let lifted = (0..1000).find_map(|_| {
        let result = read(&mut bench, &session, json!({"path": ".env"}));
        result.success.then_some(result)
    });
    assert_eq!(lifted.unwrap().result["content"], SECRET);
    assert_eq!(read(&mut bench, &session, json!({"path": "sub/.env"})).code(), denied);
    let other = Session { id: nod::ir::SessionId::new("another"), ..session.clone() };
    assert_eq!(read(&mut bench, &other, json!({"path": ".env"})).code(), denied);
    // The model has no word for it.
    let asked = read(&mut bench, &session, json!({"path": "sub/.env", "lifted": true}));
    assert_eq!(asked.code(), Some("INVALID_ARGUMENTS"));
}

#[test]
fn a_rule_never_covers_protected_files_and_red_questions() {
    let mut bench = Bench::new();
    let ground = bench.ground(&[]);
    let session = session("ruled", vec![ground.expand("{ws}")], ConfirmMode::Changes);
    let write = |bench: &mut Bench, path: &str| {
        let args = json!({"path": path, "content": path}).to_string();
        let ran =
            bench.call_in(session.clone(), "write_file", args, &mut |question| match question.rule_proposals.last() {
                Some(scope @ RuleScope::ToolInFolders { .. }) => Answer::AllowInSession { scope: scope.clone() },
                _ => Answer::AllowOnce,
            });
        assert!(ran.result.success, "{:?}", ran.result);
        ran.asked.len()
    };
    assert_eq!(write(&mut bench, "one.txt"), 1);
    assert_eq!(write(&mut bench, "two.txt"), 0, "the control: the rule works");
    for path in ["package.json", "Makefile", "secrets.py", ".github/workflows/ci.yml"] {
        assert_eq!(write(&mut bench, path), 1, "{path}");
    }
    let args = json!({"path": "one.txt"}).to_string();
    let deleted = bench.call_in(session.clone(), "delete_file", args, &mut |question| {
        assert_eq!(question.rule_proposals, []);
        Answer::AllowOnce
    });
    assert_eq!(deleted.asked.len(), 1);
}
