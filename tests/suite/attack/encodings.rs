//! Names in other spellings, letters that cannot be seen, bytes that are no text, and arguments that say two things (3.4).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use nod::policy::{AskReason, escape};
use serde_json::json;

use super::Control::{Leaks, Plants, Shows};
use super::ground::{Piece, SECRET};
use super::{Bench, case};

#[test]
fn another_spelling_of_a_name_is_the_same_name() {
    Bench::new().holds(vec![
        case("3.4.1", "full-width letters")
            .with([Piece::File("ws/.ｅｎｖ", SECRET)])
            .read(".ｅｎｖ")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.4.1", "the sign for kelvin")
            .with([Piece::File("ws/server.\u{212A}ey", SECRET)])
            .read("server.\u{212A}ey")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.4.1", "the long s")
            .with([Piece::File("ws/\u{17F}ecrets.json", SECRET)])
            .read("\u{17F}ecrets.json")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.4.1", "small capitals of a word in another form")
            .with([Piece::File("ws/ＩＤ＿ＲＳＡ", SECRET)])
            .read("ＩＤ＿ＲＳＡ")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.4.2", "what git runs in full-width letters")
            .write(".ｇｉｔ/hooks/x")
            .refused("PROTECTED_PATH_DENIED", Plants),
    ]);
}

const UNSEEN: &[&str] = &[
    ".e\u{200B}nv",
    "id\u{AD}_rsa",
    "photo\u{202E}gnp.exe",
    "a\u{2066}b.txt",
    "a\u{FEFF}b.txt",
    "a\u{E0041}b.txt",
    "a\u{FE0F}b.txt",
    "a\u{3164}b.txt",
    "a\u{2028}b.txt",
    "line\nbreak.txt",
    "bell\u{7}.txt",
    "esc\u{1b}[2K.txt",
    "carriage\rreturn.txt",
];

#[test]
fn under_a_name_that_cannot_be_seen_nothing_is_written_and_reading_is_asked_with_the_escape() {
    let mut cases = Vec::new();
    for name in UNSEEN {
        let path: &'static str = format!("ws/{name}").leak();
        let there = || case("3.4.3", name).with([Piece::File(path, "x")]);
        cases.push(case("3.4.3", name).write(name).refused("PATH_INVALID", Plants));
        cases.push(case("3.4.4", name).make(name).refused("PATH_INVALID", Plants));
        cases.push(there().edit(name, "x").refused("PATH_INVALID", Plants));
        for row in [there().read(name), there().delete(name)] {
            cases.push(row.asked().also(|_, ran| {
                let hidden = ran.question().reasons.iter().find_map(|reason| match reason {
                    AskReason::HiddenCharacters { escaped } => Some(escaped.clone()),
                    _ => None,
                });
                let escaped = hidden.expect("the question says that something is hidden");
                assert!(escaped.is_ascii() && escaped.contains('\\'), "{escaped}");
                assert_eq!(escape(&escaped, false), escaped, "it shows all there is");
                assert_eq!(ran.question().rule_proposals, []);
            }));
        }
    }
    Bench::new().holds(cases);
}

#[test]
fn look_alikes_of_another_script_are_marked_in_what_is_shown() {
    Bench::new().holds(vec![
        case("3.4.11", "a Cyrillic letter among Latin ones")
            .with([Piece::File("ws/config.toml", "x"), Piece::File("ws/\u{441}onfig.toml", "y")])
            .write("\u{441}onfig.toml")
            .asked()
            .also(|_, ran| {
                let shown = escape(&ran.question().target, false);
                assert!(shown.contains("\\u{0441}onfig.toml"), "{shown}");
            }),
    ]);
}

#[test]
fn bytes_that_are_no_text_are_never_taken_for_what_stands_in_their_place() {
    let bad = |ground: &super::Ground| {
        fs::write(ground.ws().join(OsStr::from_bytes(b"x\xFF")), SECRET).unwrap();
    };
    Bench::new().holds(vec![
        case("3.4.5", "the replacement character does not open the file that has no text")
            .with([Piece::Do(bad)])
            .read("x\u{FFFD}")
            .refused(
                "PATH_NOT_FOUND",
                Shows(|ground| {
                    let first = fs::read_dir(ground.ws())
                        .unwrap()
                        .flatten()
                        .find(|entry| entry.file_name().to_string_lossy() == "x\u{FFFD}");
                    assert_eq!(fs::read_to_string(first.unwrap().path()).unwrap(), SECRET);
                }),
            ),
        case("3.4.5", "with both there it opens its own")
            .with([Piece::Do(bad), Piece::File("ws/x\u{FFFD}", "mine")])
            .read("x\u{FFFD}")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["content"], "mine")),
        case("3.4.6", "a listing with such a name goes on").with([Piece::Do(bad)]).list(".").runs().also(|_, ran| {
            assert!(ran.text().contains("x\u{FFFD}") && ran.text().contains("a.txt"), "{}", ran.text());
        }),
        case("3.4.6", "a search too")
            .with([Piece::Do(bad)])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 1)),
        case("3.4.6", "a tree with such a name is deleted whole")
            .with([Piece::Do(|ground| {
                fs::create_dir(ground.path("ws/tree")).unwrap();
                fs::write(ground.path("ws/tree").join(OsStr::from_bytes(b"\xC0\xAE")), "x").unwrap();
            })])
            .delete_tree("tree")
            .asked()
            .also(|ground, _| assert!(!ground.path("ws/tree").exists())),
        case("3.4.7", "an overlong dot is no dot")
            .with([Piece::File("ws/private.txt", SECRET)])
            .read("\u{C0}\u{AE}\u{C0}\u{AE}/out/private.txt")
            .refused(
                "PATH_NOT_FOUND",
                Shows(|ground| {
                    assert_eq!(fs::read_to_string(ground.ws().join("../out/private.txt")).unwrap(), SECRET);
                }),
            ),
        case("3.4.7", "a link whose text is no text")
            .with([Piece::Do(|ground| {
                std::os::unix::fs::symlink(OsStr::from_bytes(b"\xFF"), ground.path("ws/l")).unwrap();
            })])
            .read("l")
            .refused("PATH_INVALID", Shows(|ground| assert!(fs::read_link(ground.path("ws/l")).is_ok()))),
    ]);
}

#[test]
fn arguments_mean_one_thing_or_nothing() {
    let deep: &'static str = format!(r#"{{"path":{}1{}}}"#, "[".repeat(200), "]".repeat(200)).leak();
    let last_wins = Shows(|_| {
        let read: serde_json::Value = serde_json::from_str(r#"{"path":"a.txt","path":"../out/private.txt"}"#).unwrap();
        assert_eq!(read["path"], "../out/private.txt", "a lax reader takes the last");
    });
    let lax = Shows(|_| {
        #[derive(serde::Deserialize)]
        struct Lax {
            path: String,
        }
        let read: Lax = serde_json::from_str(r#"{"path":"a.txt","root":"/"}"#).unwrap();
        assert_eq!(read.path, "a.txt", "a lax reader passes over what it does not know");
    });
    Bench::new().holds(vec![
        case("3.4.9", "a name twice")
            .typed("read_file", r#"{"path":"a.txt","path":"../out/private.txt"}"#)
            .refused("INVALID_ARGUMENTS", last_wins),
        case("3.4.9", "the same, spelled with an escape")
            .typed("read_file", r#"{"path":"a.txt","\u0070ath":"/etc/passwd"}"#)
            .refused("INVALID_ARGUMENTS", last_wins),
        case("3.4.9", "twice further in")
            .typed(
                "edit_file",
                r#"{"path":"a.txt","edits":[{"old_text":"inside","new_text":"x","new_text":"attack"}]}"#,
            )
            .refused("INVALID_ARGUMENTS", last_wins),
        case("3.4.9", "twice in a write, the harmless one first")
            .typed("write_file", r#"{"path":"a.txt","content":"ok","content":"attack"}"#)
            .refused("INVALID_ARGUMENTS", last_wins),
        case("3.4.10", "an argument that is none")
            .call("read_file", json!({"path": "a.txt", "root": "/"}))
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "a yes of one's own")
            .call("write_file", json!({"path": "a.txt", "content": "x", "approved": true}))
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "a name in other letters")
            .call("read_file", json!({"Path": "a.txt"}))
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "a list for a text")
            .call("read_file", json!({"path": ["a.txt", "../out/private.txt"]}))
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "a text for a number")
            .call("read_file", json!({"path": "a.txt", "start_line": "1"}))
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "no object").typed("read_file", r#"["a.txt"]"#).refused("INVALID_ARGUMENTS", lax),
        case("3.4.10", "two objects")
            .typed("read_file", r#"{"path":"a.txt"}{"path":"../out/private.txt"}"#)
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.8", "half a pair of surrogates")
            .typed("read_file", r#"{"path":"\ud800"}"#)
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.12", "nested without end").typed("read_file", deep).refused("INVALID_ARGUMENTS", lax),
        case("3.4.13", "a mark before the text")
            .typed("read_file", "\u{FEFF}{\"path\":\"a.txt\"}")
            .refused("INVALID_ARGUMENTS", lax),
        case("3.4.13", "a number that is none")
            .typed("read_file", r#"{"path":"a.txt","start_line":1e999}"#)
            .refused("INVALID_ARGUMENTS", lax),
    ]);
}
