//! Files, names, patterns and texts that are made to take all memory or all time (3.5).

use std::fs;
use std::time::{Duration, Instant};

use nod::ir::{ChangeNote, Preview, Unshown};
use serde_json::json;

use super::Control::Shows;
use super::ground::{Ground, Piece};
use super::{ATTACK, Bench, case};

const MEGABYTE: usize = 1_048_576;
/// Far less than reading what is refused would take, far more than refusing takes on a machine under load.
const SOON: Duration = Duration::from_secs(10);

fn file(ground: &Ground, path: &str, content: impl AsRef<[u8]>) {
    fs::write(ground.path(path), content).unwrap();
}

/// Shows that what is refused is as large as it says.
fn holds_more_than_a_megabyte(ground: &Ground) {
    let largest = fs::read_dir(ground.ws()).unwrap().flatten().map(|entry| entry.metadata().unwrap().len()).max();
    assert!(largest.unwrap() > MEGABYTE as u64);
}

#[test]
fn what_is_too_large_is_refused_and_never_read_whole() {
    let begun = Instant::now();
    let mut bench = Bench::new();
    let too_large = Shows(holds_more_than_a_megabyte);
    let sparse = || Piece::Sparse("ws/sparse", 1 << 40);
    bench.holds(vec![
        case("3.5.1", "exactly a megabyte")
            .with([Piece::Do(|ground| file(ground, "ws/big.txt", "0123456789abcde\n".repeat(MEGABYTE / 16)))])
            .read("big.txt")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["size"], MEGABYTE)),
        case("3.5.2", "a byte more")
            .with([Piece::Do(|ground| file(ground, "ws/big.txt", "x".repeat(MEGABYTE + 1)))])
            .read("big.txt")
            .refused("FILE_TOO_LARGE", too_large),
        case("3.5.3", "a terabyte of nothing").with([sparse()]).read("sparse").refused("FILE_TOO_LARGE", too_large),
        case("3.5.3", "as base64")
            .with([sparse()])
            .call("read_file", json!({"path": "sparse", "encoding": "base64"}))
            .refused("FILE_TOO_LARGE", too_large),
        case("3.5.12", "its first lines")
            .with([sparse()])
            .call("read_file", json!({"path": "sparse", "start_line": 1, "end_line": 2}))
            .refused("BINARY_FILE", too_large),
        case("3.5.12", "its first lines as bytes")
            .with([sparse()])
            .call("read_file", json!({"path": "sparse", "start_line": 1, "encoding": "latin1"}))
            .runs()
            .also(|_, ran| {
                assert_eq!(ran.result.result["truncated"], true);
                assert!(ran.result.result["content"].as_str().unwrap().len() <= MEGABYTE);
            }),
        case("3.5.3", "searched").with([sparse()]).search(".", "x").runs().also(|_, ran| {
            assert_eq!(ran.result.result["skipped_large"], 1);
        }),
        case("3.5.3", "edited").with([sparse()]).edit("sparse", "x").refused("FILE_TOO_LARGE", too_large),
        case("3.5.3", "overwritten: what was there is described, not shown")
            .with([sparse()])
            .write("sparse")
            .asked()
            .also(|ground, ran| {
                let [ChangeNote::Replaces { what: Unshown::TooLarge { .. } }] = ran.question().preview.notes() else {
                    panic!("not described: {:?}", ran.question().preview)
                };
                assert_eq!(ground.read("ws/sparse"), ATTACK);
            }),
        case("3.5.4", "five megabytes written")
            .call("write_file", json!({"path": "new.txt", "content": "x".repeat(5 * MEGABYTE)}))
            .asked()
            .also(|ground, ran| {
                let Preview::NewFile { content } = &ran.question().preview else { panic!("not a new file") };
                assert_eq!(content.len(), 5 * MEGABYTE, "shown whole");
                assert_eq!(fs::metadata(ground.path("ws/new.txt")).unwrap().len(), 5 * MEGABYTE as u64);
            }),
        case("3.5.4", "a byte more")
            .call("write_file", json!({"path": "new.txt", "content": "x".repeat(5 * MEGABYTE + 1)}))
            .refused("CONTENT_TOO_LARGE", Shows(|ground| file(ground, "ws/new.txt", "x".repeat(5 * MEGABYTE + 1)))),
        case("3.5.4", "arguments past all bounds")
            .call("write_file", json!({"path": "new.txt", "content": "x".repeat(7 * MEGABYTE)}))
            .refused("CONTENT_TOO_LARGE", Shows(|ground| file(ground, "ws/new.txt", "x".repeat(7 * MEGABYTE)))),
        case("3.5.16", "a replacement that would make a terabyte")
            .with([Piece::Do(|ground| file(ground, "ws/a.txt", "x".repeat(MEGABYTE)))])
            .call(
                "edit_file",
                json!({"path": "a.txt", "edits": [
                    {"old_text": "x", "new_text": "y".repeat(MEGABYTE), "replace_all": true},
                ]}),
            )
            .refused("CONTENT_TOO_LARGE", Shows(|_| assert!(MEGABYTE.checked_mul(MEGABYTE).unwrap() > 1 << 39))),
        case("3.5.16", "a text that overlaps itself everywhere")
            .with([Piece::Do(|ground| file(ground, "ws/a.txt", "x".repeat(2 * MEGABYTE)))])
            .call("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "x".repeat(MEGABYTE), "new_text": ""}]}))
            .refused("EDIT_AMBIGUOUS", Shows(holds_more_than_a_megabyte)),
        case("3.5.17", "an archive is bytes, and never unpacked")
            .with([Piece::Do(|ground| file(ground, "ws/a.zip", b"PK\x03\x04\x14\0\0\0\x08\0"))])
            .read("a.zip")
            .refused("BINARY_FILE", Shows(|ground| assert!(fs::read(ground.path("ws/a.zip")).is_ok()))),
    ]);
    assert!(begun.elapsed() < SOON * 6, "{:?}", begun.elapsed());
}

#[test]
fn searches_and_listings_end_at_their_limits_and_say_so() {
    let mut bench = Bench::new();
    bench.desk.set("tools.limits", json!({"search_files": 20}));
    let many = |ground: &Ground, count: usize| {
        fs::create_dir(ground.path("ws/many")).unwrap();
        for number in 0..count {
            file(ground, &format!("ws/many/{number:03}.txt"), "needle\n");
        }
    };
    let numbers = |ran: &super::Ran| {
        let found = ran.result.result["results"].as_array().unwrap().iter();
        found.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let twenty_one = Piece::Do(|ground| {
        fs::create_dir(ground.path("ws/many")).unwrap();
        for number in 0..21 {
            file(ground, &format!("ws/many/{number:03}.txt"), "needle\n");
        }
    });
    bench.holds(vec![
        case("3.5.6", "an entry more than a listing holds")
            .with([Piece::Do(|ground| {
                fs::create_dir(ground.path("ws/many")).unwrap();
                (0..501).for_each(|number| file(ground, &format!("ws/many/{number}"), ""));
            })])
            .list("many")
            .runs()
            .also(|_, ran| {
                assert_eq!(ran.result.result["entries"].as_array().unwrap().len(), 500);
                assert_eq!((&ran.result.result["total"], &ran.result.result["truncated"]), (&json!(501), &json!(true)));
            }),
        case("3.5.7", "a line of 400 KB is cut at a character")
            .with([Piece::Do(|ground| {
                file(ground, "ws/long.txt", format!("{}needle{}", "字".repeat(60_000), "字".repeat(60_000)));
            })])
            .search("long.txt", "needle")
            .runs()
            .also(|_, ran| {
                let text = ran.result.result["results"][0]["matches"][0]["text"].as_str().unwrap().to_owned();
                assert!(text.contains("needle") && text.chars().count() <= 500, "{}", text.len());
            }),
        case("3.5.8", "a file just over what is searched")
            .with([Piece::Do(|ground| file(ground, "ws/large.txt", "needle\n".repeat(75_000)))])
            .search(".", "needle")
            .runs()
            .also(|_, ran| {
                assert_eq!(ran.result.result["skipped_large"], 1);
                assert_eq!(ran.result.result["total_matches"], 0);
            }),
        case("3.5.9", "a file more than is scanned").with([twenty_one.clone()]).search("many", "needle").runs().also(
            |_, ran| {
                assert_eq!(ran.result.result["truncated"], true);
                assert_eq!(ran.result.result["limit"], "search_files");
            },
        ),
        case("3.5.14", "a pattern that backtracks for ever elsewhere")
            .with([Piece::Do(|ground| file(ground, "ws/long.txt", "a".repeat(400_000)))])
            .call("search_files", json!({"path": ".", "query": "(a|a)*(a|a)*(a+)+$x", "regex": true}))
            .runs(),
        case("3.5.14", "a pattern that is too large")
            .call("search_files", json!({"path": ".", "query": "((a{1000}){1000}){1000}", "regex": true}))
            .refused("INVALID_ARGUMENTS", Shows(|_| ())),
        case("3.5.18", "ignore rules without end")
            .with([Piece::Sparse("ws/.gitignore", 1 << 40)])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 1)),
        case("3.5.18", "a hundred thousand ignore rules")
            .with([Piece::Do(|ground| {
                let rules: Vec<String> = (0..100_000).map(|number| format!("*{number}*")).collect();
                file(ground, "ws/.gitignore", rules.join("\n"));
            })])
            .search("sub", "below")
            .runs(),
        case("3.5.18", "ignore rules in a pipe")
            .with([Piece::Pipe("ws/.gitignore")])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 1)),
        case("3.5.18", "ignore rules in a link to outside are not read")
            .with([Piece::File("out/rules", "a.txt\n"), Piece::Link("ws/.gitignore", "{out}/rules")])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 1)),
    ]);
    // The same folder gives the same part of itself every time.
    let ground = bench.ground(&[]);
    many(&ground, 40);
    let row = || case("3.5.9", "the same every time").search("many", "needle").runs();
    let first = numbers(&bench.run(&row(), &ground));
    assert_eq!(first.len(), 20);
    assert_eq!(numbers(&bench.run(&row(), &ground)), first);
}

/// A chain of folders, removed again by a program that can: it is too deep for a removal by path.
fn deep(ground: &Ground) {
    let top = cap_std::fs::Dir::open_ambient_dir(ground.ws(), cap_std::ambient_authority()).unwrap();
    top.create_dir("d").unwrap();
    let mut dir = top.open_dir("d").unwrap();
    for _ in 0..5_000 {
        dir.create_dir("d").unwrap();
        dir = dir.open_dir("d").unwrap();
    }
}

#[test]
fn five_thousand_folders_in_each_other_exhaust_nothing() {
    let mut bench = Bench::new();
    let ground = bench.ground(&[]);
    deep(&ground);
    let listed = bench.run(&case("3.5.11", "listed").list(".").runs(), &ground);
    assert!(listed.result.success, "{:?}", listed.result);
    let everything = json!({"path": ".", "recursive": true, "max_depth": 100_000});
    assert!(bench.run(&case("3.5.11", "listed to the end").call("list_directory", everything), &ground).result.success);
    let searched = bench.run(&case("3.5.11", "searched").search(".", "needle"), &ground);
    assert_eq!(searched.result.result["limit"], "depth", "{:?}", searched.result);
    let deleted = bench.run(&case("3.5.11", "deleted").delete_tree("d"), &ground);
    assert_eq!(deleted.asked.len(), 1);
    assert!(matches!(deleted.question().preview, Preview::Tree { at_least: true, .. }));
    std::process::Command::new("rm").arg("-rf").arg(ground.ws()).status().unwrap();
}
