//! Search and walk on real trees: the answers of a naive search, the same every time, and nothing from outside.
#![expect(clippy::disallowed_methods, reason = "trees are made by hand, and the tool is under test without the gate")]

use std::fmt::Write as _;
use std::path::Path;

use nod::ir::{CallId, Code};
use nod::policy::RelPath;
use nod::tool::{Limits, Permit, RunContext, RunError, find};
use nod::workspace::{Purpose, Root, resolve};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::run_context::run_context;

fn context(limits: Limits) -> RunContext {
    RunContext { limits, ..run_context() }
}

fn search_with(folder: &Path, path: &str, args: &Value, context: &RunContext) -> Result<Value, RunError> {
    let mut args = args.clone();
    args["path"] = path.into();
    call("search_files", folder, path, args, context)
}

fn call(tool: &str, folder: &Path, path: &str, args: Value, context: &RunContext) -> Result<Value, RunError> {
    let root = Root::open(folder).unwrap();
    let parts = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let target = resolve(&root, &RelPath::from_parts(parts).unwrap(), Purpose::Read).unwrap();
    let tool = find(tool).unwrap();
    tool.parse(&args)?;
    tool.run(Permit::issue(CallId("c1".into()), args, vec![target], vec![root], String::new()), context)
}

fn search(folder: &Path, args: &Value) -> Value {
    search_with(folder, "", args, &context(Limits::default())).unwrap()
}

/// Paths of the results.
fn paths(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|result| result["path"].as_str().unwrap()).collect()
}

fn put(folder: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
fn lines_have_numbers_and_columns_in_characters_from_one() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "src/main.ts", "first\r\n\timport 点头 Electron from 'electron';\r\nlast electron");
    let found = search(folder.path(), &json!({"query": "ELECTRON", "search_type": "content"}));
    let expected = json!({
        "query": "ELECTRON", "search_type": "content", "total_files": 1, "total_matches": 2,
        "results": [{"path": "src/main.ts", "matches": [
            {"line": 2, "text": "\timport 点头 Electron from 'electron';", "column": 12},
            {"line": 3, "text": "last electron", "column": 6},
        ]}],
        "truncated": false, "skipped_large": 0, "skipped_binary": 0, "skipped_suspicious": 0,
        "unreadable": 0, "hidden_by_policy": 0,
    });
    assert_eq!(found, expected);
    let found = search(folder.path(), &json!({"query": "ELECTRON", "case_sensitive": true}));
    assert_eq!(found["total_matches"], 0);
}

#[test]
fn names_match_by_part_by_glob_and_by_regex() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["a.ts", "B.TS", "lib/c.ts", "lib/deep/d.tsx", "notes.md"] {
        put(folder.path(), path, "");
    }
    let names = |args: Value| {
        let found = search(folder.path(), &args);
        paths(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"query": "*.ts", "search_type": "filename"})), ["B.TS", "a.ts", "lib/c.ts"]);
    assert_eq!(names(json!({"query": "*.ts", "case_sensitive": true})), ["a.ts", "lib/c.ts"]);
    assert_eq!(names(json!({"query": "lib/**/*.{ts,tsx}"})), ["lib/c.ts", "lib/deep/d.tsx"]);
    assert_eq!(names(json!({"query": ".ts"})), ["B.TS", "a.ts", "lib/c.ts", "lib/deep/d.tsx"]);
    assert_eq!(names(json!({"query": "^[ab]\\.", "regex": true})), ["B.TS", "a.ts"]);
    assert_eq!(names(json!({"query": "o", "file_extensions": ["MD", ".rs"]})), ["notes.md"]);
    let found = search(folder.path(), &json!({"query": "ote"}));
    assert_eq!(found["results"][0]["matches"], json!([{"line": 0, "text": "notes.md", "column": 2}]));
}

#[test]
fn a_broken_query_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        json!({"query": ""}),
        json!({"query": "a\nb"}),
        json!({"query": "(", "regex": true}),
        json!({"query": "[a", "search_type": "filename"}),
    ] {
        let error = search_with(folder.path(), "", &args, &context(Limits::default())).unwrap_err();
        assert_eq!(error.failure.code, Code::InvalidArguments, "{args}");
    }
    put(folder.path(), "x.txt", "let y = a[0](;");
    assert_eq!(search(folder.path(), &json!({"query": "a[0]("}))["total_matches"], 1);
}

#[test]
fn a_path_may_be_a_file_and_paths_can_be_used_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "sub/one.txt", "needle\n");
    put(folder.path(), "sub/two.txt", "needle\n");
    let in_file = search_with(folder.path(), "sub/one.txt", &json!({"query": "needle"}), &context(Limits::default()));
    assert_eq!(paths(&in_file.unwrap()), ["sub/one.txt"]);
    let in_folder = search_with(folder.path(), "sub", &json!({"query": "needle"}), &context(Limits::default()));
    assert_eq!(paths(&in_folder.unwrap()), ["sub/one.txt", "sub/two.txt"]);
}

#[test]
fn secrets_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), ".env", "SECRET=1");
    put(folder.path(), "id_rsa", "SECRET=2");
    put(folder.path(), "credentials/prod.json", "SECRET=3");
    put(folder.path(), "main.rs", "SECRET=4");
    let found = search(folder.path(), &json!({"query": "SECRET=", "include_hidden": true}));
    assert_eq!((paths(&found), &found["hidden_by_policy"]), (vec!["main.rs"], &json!(3)));
    let found = search(folder.path(), &json!({"query": "SECRET="}));
    assert_eq!(found["hidden_by_policy"], 3, "a dot does not make it uncounted");

    let mut lifted = context(Limits::default());
    lifted.lifted = vec![folder.path().join(".env")];
    let found = search_with(folder.path(), "", &json!({"query": "SECRET=", "include_hidden": true}), &lifted).unwrap();
    assert_eq!(paths(&found), [".env", "main.rs"]);
}

/// Reading such a file is asked in red each time: a search of the folder must not be the way around that.
#[test]
fn contents_under_a_suspicious_name_are_not_read_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "password.rs", "needle");
    put(folder.path(), "my.secrets.app/main.rs", "needle");
    put(folder.path(), "main.rs", "needle");
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!((paths(&found), &found["skipped_suspicious"]), (vec!["main.rs"], &json!(2)));
    let found = search(folder.path(), &json!({"query": "password"}));
    assert_eq!((paths(&found), &found["skipped_suspicious"]), (vec!["password.rs"], &json!(2)), "names are shown");
    let found = search(folder.path(), &json!({"query": "password", "search_type": "filename"}));
    assert_eq!((paths(&found), &found["skipped_suspicious"]), (vec!["password.rs"], &json!(0)));

    // The control: asked for by its name, and so asked of the person, the very file is read.
    let alone = search_with(folder.path(), "password.rs", &json!({"query": "needle"}), &context(Limits::default()));
    assert_eq!(paths(&alone.unwrap()), ["password.rs"]);
}

/// What is sensitive by its name is hidden whole, with all that is in it.
#[test]
fn sensitive_names_are_not_even_entered() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "secrets/main.rs", "needle");
    put(folder.path(), "passwords.json", "needle");
    put(folder.path(), "main.rs", "needle");
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!(
        (paths(&found), &found["hidden_by_policy"], &found["skipped_suspicious"]),
        (vec!["main.rs"], &json!(2), &json!(0))
    );
}

#[test]
fn ignored_and_hidden_files_are_left_out_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), ".git/info/exclude", "excluded.txt\n");
    put(folder.path(), ".gitignore", "# builds\n/target/\n*.log\n!keep.log\nnested/*.tmp\n");
    put(folder.path(), "pkg/.gitignore", "!again.log\nlocal.txt\n");
    put(folder.path(), "pkg/.ignore", "*.gen\n");
    put(folder.path(), "vendored/.git/HEAD", "");
    put(folder.path(), "vendored/.gitignore", "");
    for path in [
        "target/a.txt",
        "pkg/target/b.txt",
        "x.log",
        "keep.log",
        "pkg/again.log",
        "pkg/other.log",
        "local.txt",
        "pkg/local.txt",
        "pkg/c.gen",
        "c.gen",
        "excluded.txt",
        "nested/d.tmp",
        "nested/deep/d.tmp",
        ".hidden/e.txt",
        ".github/f.yml",
        "vendored/v.log",
    ] {
        put(folder.path(), path, "needle");
    }
    let found = search(folder.path(), &json!({"query": "needle", "search_type": "content"}));
    assert_eq!(
        paths(&found),
        ["c.gen", "keep.log", "local.txt", "nested/deep/d.tmp", "pkg/again.log", "pkg/target/b.txt", "vendored/v.log"]
    );
    let found = search(folder.path(), &json!({"query": "needle", "include_hidden": true}));
    assert!(paths(&found).starts_with(&[".github/f.yml", ".hidden/e.txt"]), "{found}");
    let found = search(folder.path(), &json!({"query": "needle", "respect_gitignore": false}));
    assert_eq!(found["total_matches"], 14);
    // The rules of the folders above the start count too.
    let below = search_with(folder.path(), "pkg", &json!({"query": "needle"}), &context(Limits::default())).unwrap();
    assert_eq!(paths(&below), ["pkg/again.log", "pkg/target/b.txt"]);
}

#[test]
fn limits_hold_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.txt", "needle\n".repeat(12));
    put(folder.path(), "b.txt", "needle\n");
    put(folder.path(), "big.txt", "needle\n".repeat(80_000));
    put(folder.path(), "c.bin", "needle\n\0");
    put(folder.path(), "late.bin", format!("needle\n{}\0", "x".repeat(200_000)));
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!(found["results"][0]["matches"].as_array().unwrap().len(), 10);
    assert_eq!((&found["results"][0]["truncated"], &found["limit"]), (&json!(true), &json!("search_matches_per_file")));
    assert_eq!(
        [&found["total_files"], &found["total_matches"], &found["skipped_large"], &found["skipped_binary"]],
        [&json!(5), &json!(11), &json!(1), &json!(2)]
    );
    let found = search(folder.path(), &json!({"query": "needle", "max_results": 10}));
    assert_eq!((&found["total_matches"], &found["limit"]), (&json!(10), &json!("max_results")));
    assert_eq!(paths(&found), ["a.txt"]);
    let found = search(folder.path(), &json!({"query": "needle", "max_results": 11}));
    assert_eq!((&found["total_matches"], &found["limit"]), (&json!(11), &json!("search_matches_per_file")));
    let few = context(Limits { search_files: 1, ..Limits::default() });
    let found = search_with(folder.path(), "", &json!({"query": "needle"}), &few).unwrap();
    assert_eq!(
        (paths(&found), &found["limit"], &found["truncated"]),
        (vec!["a.txt"], &json!("search_files"), &json!(true))
    );
}

#[test]
fn a_long_line_is_cut_around_the_match_at_character_borders() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "min.js", format!("{}needle{}\n", "点".repeat(60_000), "头".repeat(60_000)));
    let found = search(folder.path(), &json!({"query": "needle"}));
    let found = &found["results"][0]["matches"][0];
    let text = found["text"].as_str().unwrap();
    assert_eq!(found["column"], 60_001);
    assert_eq!(text, format!("…{}needle{}…", "点".repeat(100), "头".repeat(194)));
}

#[test]
fn utf16_with_its_mark_is_searched_and_invalid_utf8_too() {
    let folder = tempfile::tempdir().unwrap();
    let utf16: Vec<u8> = "\u{FEFF}a\nneedle 点\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(folder.path(), "utf16.txt", utf16);
    put(folder.path(), "latin1.txt", b"caf\xE9 needle\n");
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!(
        found["results"],
        json!([
            {"path": "latin1.txt", "matches": [{"line": 1, "text": "caf\u{FFFD} needle", "column": 6}]},
            {"path": "utf16.txt", "matches": [{"line": 2, "text": "needle 点", "column": 1}]},
        ])
    );
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_entered() {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "secret.rs", "needle");
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "real/in.rs", "needle");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.rs"), folder.path().join("out.rs")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(fifo.unwrap().success());
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!((paths(&found), &found["total_files"]), (vec!["real/in.rs"], &json!(1)));
}

#[test]
fn a_very_deep_tree_ends_at_the_depth_limit() {
    let folder = tempfile::tempdir().unwrap();
    let top = cap_std::fs::Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
    let mut dir = top.try_clone().unwrap();
    for depth in 0..1_000 {
        if depth % 50 == 0 {
            dir.write("needle.txt", "").unwrap();
        }
        dir.create_dir("d").unwrap();
        dir = dir.open_dir("d").unwrap();
    }
    let found = search(folder.path(), &json!({"query": "needle"}));
    assert_eq!((&found["limit"], &found["total_files"]), (&json!("depth"), &json!(3)));
    // Too deep for a removal by path.
    drop(dir);
    std::process::Command::new("rm").arg("-rf").arg(folder.path()).status().unwrap();
}

/// A tree of several hundred files that is the same for the same seed.
fn grow(folder: &Path, mut seed: u64) {
    let mut next = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    const WORDS: &[&str] =
        &["alpha", "Beta", "needle", "NEEDLE", "点头", "x", "", "ne", "edle", "\t", "{", "delta needle"];
    for _ in 0..600 {
        let mut path = String::new();
        for _ in 0..next(4) {
            path.push_str(["src/", "lib/", "Doc/", ".cache/", "a b/", "深/"][usize::try_from(next(6)).unwrap()]);
        }
        let extension = ["rs", "txt", "MD", "needle"][usize::try_from(next(4)).unwrap()];
        write!(path, "f{}.{extension}", next(400)).unwrap();
        let mut content = String::new();
        for _ in 0..next(60) {
            content.push_str(WORDS[usize::try_from(next(WORDS.len() as u64)).unwrap()]);
            content.push_str([" ", "\n", "\r\n", "."][usize::try_from(next(4)).unwrap()]);
        }
        if next(20) == 0 {
            content.push('\0');
        }
        if next(40) == 0 {
            content = content.repeat(2_000);
        }
        put(folder, &path, content);
    }
}

/// Line, text and column.
type Match = (u64, String, u64);

/// The same search without handles, threads or any library: slow and plain.
fn naive(folder: &Path, below: &str, query: &str, case_sensitive: bool, found: &mut Vec<(String, Vec<Match>)>) {
    let fold = |text: &str| if case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in names.into_iter().filter(|name| !name.starts_with('.')) {
        let (path, shown) = (folder.join(&name), format!("{below}{name}"));
        if path.is_dir() {
            naive(&path, &format!("{shown}/"), query, case_sensitive, found);
            continue;
        }
        let mut matches = Vec::new();
        if let Some(at) = fold(&name).find(&fold(query)) {
            matches.push((0, name.clone(), fold(&name)[..at].chars().count() as u64 + 1));
        }
        let content = std::fs::read_to_string(&path).unwrap();
        if content.len() <= 500 * 1024 && !content.contains('\0') {
            let lines = content.lines().enumerate().filter_map(|(index, line)| {
                let at = fold(line).find(&fold(query))?;
                Some((index as u64 + 1, line.to_owned(), fold(line)[..at].chars().count() as u64 + 1))
            });
            matches.extend(lines.take(10));
        }
        if !matches.is_empty() {
            found.push((shown, matches));
        }
    }
}

#[test]
fn a_search_gives_what_a_naive_search_gives_and_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    grow(folder.path(), 1);
    for (query, case_sensitive) in
        [("needle", false), ("NEEDLE", true), ("点头", false), ("f1", false), ("nowhere", false)]
    {
        let mut expected = Vec::new();
        naive(folder.path(), "", query, case_sensitive, &mut expected);
        let expected: Vec<Value> = expected
            .into_iter()
            .map(|(path, matches)| {
                let matches: Vec<Value> = matches
                    .into_iter()
                    .map(|(line, text, column)| json!({"line": line, "text": text, "column": column}))
                    .collect();
                json!({"path": path, "matches": matches})
            })
            .collect();
        let args = json!({"query": query, "case_sensitive": case_sensitive, "max_results": 100_000});
        let mut found = search(folder.path(), &args);
        for result in found["results"].as_array_mut().unwrap() {
            result.as_object_mut().unwrap().remove("truncated");
        }
        assert_eq!(found["results"], Value::from(expected), "{query}");
        // However the threads run: also where the answer is cut, it is the beginning of the whole one.
        let args = json!({"query": query, "case_sensitive": case_sensitive, "max_results": 7});
        let first = search(folder.path(), &args);
        for _ in 0..20 {
            assert_eq!(search(folder.path(), &args), first);
        }
    }
}

#[test]
fn a_stopped_search_says_so() {
    let folder = tempfile::tempdir().unwrap();
    grow(folder.path(), 2);
    let stopped = context(Limits::default());
    stopped.cancel.cancel();
    let error = search_with(folder.path(), "", &json!({"query": "needle"}), &stopped).unwrap_err();
    assert_eq!(error.failure.code, Code::Cancelled);
}

/// A file system that is mounted inside an allowed folder was not allowed with it.
#[cfg(target_os = "linux")]
#[test]
fn a_mount_inside_the_folder_is_not_entered() {
    use crate::support::own_process::{in_own_process, started_by};
    let namespace = ["--user", "--map-root-user", "--mount"];
    if std::process::Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| !status.success())
    {
        println!("this system has no user namespaces: nothing can be mounted here");
        return;
    }
    let prepare = |command| started_by("unshare", &namespace, &command);
    if !in_own_process("search::a_mount_inside_the_folder_is_not_entered", prepare) {
        return;
    }
    let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(outside.path(), "secret.rs", "needle");
    put(folder.path(), "real.rs", "needle");
    put(folder.path(), "one.rs", "");
    std::fs::create_dir(folder.path().join("mounted")).unwrap();
    for (from, onto) in [("", "mounted"), ("secret.rs", "one.rs")] {
        let (from, onto) = (outside.path().join(from), folder.path().join(onto));
        assert!(std::process::Command::new("mount").arg("--bind").args([from, onto]).status().unwrap().success());
    }
    for path in ["mounted/secret.rs", "one.rs"] {
        let content = std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert_eq!(content, "needle", "the control must see through the mount");
    }
    assert_eq!(paths(&search(folder.path(), &json!({"query": "needle"}))), ["real.rs"]);

    let args = json!({"path": ".", "recursive": true});
    let listed = call("list_directory", folder.path(), "", args, &context(Limits::default())).unwrap();
    let names: Vec<_> = listed["entries"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["mounted", "one.rs", "real.rs"]);
    assert_eq!(listed["entries"][0]["error"], "it lies on another mount");
}

#[test]
fn a_search_that_is_stopped_on_its_way_looks_at_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_200 {
        put(folder.path(), &format!("{number}.txt"), "needle\n");
    }
    // It reports every five hundred files.
    let reports_until = |stops: bool| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(10);
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let progress = move |_| {
            sender.try_send(()).unwrap();
            if stops {
                stop.cancel();
            }
        };
        let context = RunContext { cancel, progress: Box::new(progress), ..context(Limits::default()) };
        let args = json!({"query": "nothing like this", "search_type": "content"});
        let result = search_with(folder.path(), "", &args, &context).map_err(|error| error.failure.code);
        drop(context);
        (receiver.iter().count(), result.map(|_| ()))
    };
    assert_eq!(reports_until(true), (1, Err(Code::Cancelled)));
    assert_eq!(reports_until(false), (2, Ok(())), "the control goes on");
}
