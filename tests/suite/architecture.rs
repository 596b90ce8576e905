//! The rules of the house as tests: arrows, file lengths, no glob re-exports, texts only through keys, platform code behind
//! `cfg`. A new arrow is a design change: add it to the table here and say why in the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Which room may name which (`crate::…`), as the architecture says. `lang` is a room of its own, because the window and the
/// command line speak to people from the same files.
const ARROWS: &[(&str, &[&str])] = &[
    ("ir", &[]),
    ("lang", &[]),
    // A key travels as a type that shows nothing of itself, through every room from the field where it is typed to the
    // header where it is sent.
    ("secret", &[]),
    ("policy", &["ir"]),
    ("workspace", &["ir", "policy"]),
    ("sandbox", &["ir", "policy"]),
    // Relative paths and kinds of targets have their names from `policy`.
    ("journal", &["ir", "policy", "workspace"]),
    // The built-in guide speaks to people.
    ("provider", &["ir", "lang", "secret"]),
    ("store", &["ir", "policy"]),
    ("tool", &["ir", "policy", "workspace", "sandbox"]),
    ("agent", &["ir", "policy"]),
    ("port", &["ir", "policy", "secret"]),
    (
        "engine",
        &[
            "ir",
            "policy",
            "workspace",
            "sandbox",
            "provider",
            "store",
            "tool",
            "agent",
            "port",
            "secret",
            "journal",
            "link",
        ],
    ),
    ("link", &["ir", "policy", "workspace", "port", "secret"]),
    // A front end: the machine of `agent` with tools on another computer, whose frames are the link's; arguments are checked
    // against their schema as everywhere.
    ("server", &["ir", "port", "agent", "provider", "engine", "policy", "link", "tool", "secret"]),
    ("app", &["ir", "policy", "port", "secret"]),
    ("cli", &["ir", "lang", "policy", "port", "engine", "secret"]),
    ("ui", &["ir", "lang", "policy", "port", "app", "secret"]),
];

/// Most lines of a file without its tests.
const LONGEST_FILE: usize = 800;

struct Source {
    path: PathBuf,
    room: String,
    text: String,
}

impl Source {
    /// The lines before the file's tests, with their numbers from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .take_while(|(_, line)| *line != "#[cfg(test)]")
    }

    /// The same without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let src = manifest_dir().join("src");
    let mut paths = Vec::new();
    rust_files(&src, &mut paths);
    paths.sort();
    assert!(paths.len() > 30, "the walk found the sources");
    paths
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(&src).unwrap().to_path_buf();
            let room = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
            Source { text: std::fs::read_to_string(&path).unwrap(), path: relative, room }
        })
        .collect()
}

fn fail_with(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn rooms_name_only_the_rooms_they_may() {
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut problems = Vec::new();
    for source in sources() {
        // The binary brings a front end and the engine together; the library's root lists the rooms.
        if ["lib", "main", "desktop", "bin"].contains(&source.room.as_str()) {
            continue;
        }
        let Some(allowed) = arrows.get(source.room.as_str()) else {
            problems.push(format!(
                "{}: the room `{}` is not in the table of arrows",
                source.path.display(),
                source.room
            ));
            continue;
        };
        for (number, line) in source.code() {
            for piece in line.split("crate::").skip(1) {
                let named: String = piece.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if named != source.room && arrows.contains_key(named.as_str()) && !allowed.contains(&named.as_str()) {
                    problems.push(format!(
                        "{}:{number}: `{}` may not name `{named}`",
                        source.path.display(),
                        source.room
                    ));
                }
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn only_the_window_names_its_libraries() {
    let window_only = ["egui", "eframe", "rfd", "pulldown_cmark", "syntect"];
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| source.room != "ui") {
        for (number, line) in source.code() {
            for library in window_only {
                if line.contains(&format!("{library}::")) || line.contains(&format!("use {library}")) {
                    problems.push(format!("{}:{number}: only `ui` names {library}", source.path.display()));
                }
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn outside_types_of_http_and_sql_stay_in_their_rooms() {
    let mut problems = Vec::new();
    for source in sources() {
        for (number, line) in source.code() {
            for (library, rooms) in [("rusqlite::", &["store", "server"][..]), ("reqwest::", &["provider"])] {
                if line.contains(library) && !rooms.contains(&source.room.as_str()) {
                    problems.push(format!("{}:{number}: {library} belongs to {rooms:?}", source.path.display()));
                }
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn a_providers_wire_types_are_private_to_it() {
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| source.room == "provider") {
        let is_wire = source.path.file_stem().is_some_and(|stem| stem == "wire");
        for (number, line) in source.code() {
            if is_wire && line.trim_start().starts_with("pub ") {
                problems.push(format!("{}:{number}: a wire type must not leave its provider", source.path.display()));
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for source in sources() {
        let lines = source.lines().count();
        if lines > LONGEST_FILE {
            problems.push(format!("{}: {lines} lines without tests, more than {LONGEST_FILE}", source.path.display()));
        }
    }
    fail_with(&problems);
}

#[test]
fn every_file_says_what_it_is_for() {
    let problems: Vec<_> = sources()
        .iter()
        .filter(|source| !source.text.starts_with("//!") && !source.path.ends_with("tests.rs"))
        .map(|source| format!("{}: begins without a `//!` line", source.path.display()))
        .collect();
    fail_with(&problems);
}

#[test]
fn nothing_is_re_exported_by_glob_and_no_module_is_named_for_nothing() {
    let empty_names = ["utils", "util", "helpers", "helper", "common", "misc", "manager"];
    let mut problems = Vec::new();
    for source in sources() {
        let stem = source.path.file_stem().unwrap().to_str().unwrap();
        if empty_names.contains(&stem) {
            problems.push(format!("{}: the name says nothing", source.path.display()));
        }
        for (number, line) in source.code() {
            let line = line.trim_start();
            if line.starts_with("pub use") && line.contains('*') {
                problems.push(format!("{}:{number}: re-export by name", source.path.display()));
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn what_holds_on_one_platform_only_stands_behind_cfg() {
    // Names that exist on Unix or Linux alone. A line that uses one needs `cfg(` above it in its item or module.
    let unix_only = ["rustix::", "libc::", "std::os::unix", "/proc/", "std::os::fd"];
    let mut problems = Vec::new();
    for source in sources() {
        let is_whole_file_gated = source.text.contains("#![cfg(") || is_gated_in_parent(&source);
        if is_whole_file_gated {
            continue;
        }
        let lines: Vec<_> = source.lines().collect();
        for (index, (number, line)) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if !unix_only.iter().any(|name| code.contains(name)) {
                continue;
            }
            if code.contains('"') && !code.contains("::") {
                // A path in a text (a rule about `/proc`, say) is data, not an API.
                continue;
            }
            if !is_under_cfg(&lines, index) {
                problems.push(format!(
                    "{}:{number}: platform code outside `cfg`: {}",
                    source.path.display(),
                    line.trim()
                ));
            }
        }
    }
    fail_with(&problems);
}

/// Whether the `mod` line that brings this file in has a `cfg` above it.
fn is_gated_in_parent(source: &Source) -> bool {
    let stem = source.path.file_stem().unwrap().to_str().unwrap();
    let folder = source.path.parent().unwrap();
    let (parent, name) = if stem == "mod" {
        let name = folder.file_name().unwrap_or_default().to_str().unwrap().to_owned();
        (folder.parent().unwrap_or(Path::new("")).join("mod.rs"), name)
    } else {
        (folder.join("mod.rs"), stem.to_owned())
    };
    let src = manifest_dir().join("src");
    let parent = if src.join(&parent).exists() { parent } else { PathBuf::from("lib.rs") };
    let text = std::fs::read_to_string(src.join(parent)).unwrap();
    let lines: Vec<_> = text.lines().collect();
    lines.iter().enumerate().any(|(index, line)| {
        let line = line.trim();
        (line == format!("mod {name};")
            || line == format!("pub mod {name};")
            || line == format!("pub(crate) mod {name};"))
            && index > 0
            && (lines[index - 1].contains("cfg(unix") || lines[index - 1].contains("cfg(target_os"))
    })
}

/// Whether an attribute `#[cfg(…)]` or a `cfg!` stands above the line at an enclosing or equal indentation.
fn is_under_cfg(lines: &[(usize, &str)], index: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut limit = indent(lines[index].1);
    if lines[index].1.contains("cfg(") {
        return true;
    }
    for (_, line) in lines[..index].iter().rev() {
        if line.trim().is_empty() {
            continue;
        }
        let here = indent(line);
        let is_cfg = line.trim_start().starts_with("#[cfg(") || line.contains("cfg!(");
        if here <= limit {
            if is_cfg {
                return true;
            }
            // A sibling item or statement of the same depth ends the search at that depth.
            let ends_sibling = here < limit || line.trim_start().starts_with('}') || line.trim_end().ends_with(';');
            if ends_sibling {
                if here == 0 && (line.starts_with('}') || line.trim_end().ends_with(';')) {
                    return false;
                }
                limit = here;
                if line.trim_end().ends_with(';') || line.trim_start().starts_with('}') {
                    // What precedes is another statement: only something less indented can still gate us.
                    if limit == 0 {
                        return false;
                    }
                    limit -= 1;
                }
            }
        }
    }
    false
}

#[test]
fn the_window_shows_no_sentence_that_is_not_in_the_language_files() {
    // Literals that reach a person: a word with a space behind it, or a capitalised word, in a call that draws text.
    let draws =
        ["label(", "heading(", "button(", "on_hover_text(", "hint_text(", "RichText::new(", "monospace(", "small("];
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| source.room == "ui") {
        for (number, line) in source.code() {
            for call in draws {
                for piece in line.split(call).skip(1) {
                    let Some(literal) = piece.strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                        continue;
                    };
                    if is_key_name(literal) {
                        continue;
                    }
                    let words = literal.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
                    if words > 0 && !literal.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit()) {
                        problems
                            .push(format!("{}:{number}: a text that is not a key: {literal:?}", source.path.display()));
                    }
                }
            }
        }
    }
    fail_with(&problems);
}

/// Whether a text names keys of the keyboard, which are the same in every language.
fn is_key_name(text: &str) -> bool {
    let is_key = |word: &str| ["Ctrl", "Shift", "Enter", "Esc", "Tab"].contains(&word) || word.chars().count() == 1;
    text.split([' ', '+']).all(is_key)
}

#[test]
fn every_text_key_that_code_names_exists() {
    let keys: BTreeSet<&str> =
        nod::lang::Locale::English.sources().iter().flat_map(|(_, text)| nod::lang::keys_of(text)).collect();
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| source.room == "ui" || source.room == "cli") {
        for (number, line) in source.code() {
            for call in [".text(\"", ".format(\""] {
                for piece in line.split(call).skip(1) {
                    let key = piece.split('"').next().unwrap_or_default();
                    if !keys.contains(key) {
                        problems.push(format!("{}:{number}: no text has the key {key:?}", source.path.display()));
                    }
                }
            }
        }
    }
    fail_with(&problems);
}

#[test]
fn every_key_that_an_event_or_an_error_carries_exists() {
    let keys: BTreeSet<&str> =
        nod::lang::Locale::English.sources().iter().flat_map(|(_, text)| nod::lang::keys_of(text)).collect();
    let kinds = ["fault-", "notice-", "store-", "error-"];
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let sources = sources();
    for source in sources.iter().filter(|source| ["engine", "store", "port"].contains(&source.room.as_str())) {
        for (number, line) in source.code() {
            for literal in line.split('"').skip(1).step_by(2) {
                let is_key = kinds.iter().any(|kind| literal.starts_with(kind))
                    && literal.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if is_key && !literal.ends_with('-') {
                    seen.insert(literal);
                    if !keys.contains(literal) {
                        problems.push(format!("{}:{number}: no text has the key {literal:?}", source.path.display()));
                    }
                }
            }
        }
    }
    assert!(seen.contains("fault-no-session") && seen.contains("store-full") && seen.contains("error-unknown"));
    fail_with(&problems);
}

/// The codes that adapters and the engine give are found in their source, so that a new one cannot be forgotten.
#[test]
fn every_code_of_a_provider_has_a_text_of_its_own() {
    let mut found = BTreeSet::new();
    for source in sources().iter().filter(|source| ["provider", "engine"].contains(&source.room.as_str())) {
        let code: String = source.code().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        for marker in ["ErrorCode::", "provider_code = Some("] {
            for piece in code.split(marker).skip(1) {
                // The code follows the kind within its own tuple or statement.
                let near: String = piece.chars().take_while(|c| !['>', ';', '!'].contains(c)).take(120).collect();
                // Only literals that end before the cut.
                let (whole, _) = near.rsplit_once('"').unwrap_or_default();
                for literal in whole.split('"').skip(1).step_by(2) {
                    if !literal.is_empty() && literal.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                        found.insert(literal.to_owned());
                    }
                }
            }
        }
    }
    for known in ["connection_refused", "tools_not_supported", "chat_not_supported", "sign_in", "disconnected"] {
        assert!(found.contains(known), "the search finds {known}: {found:?}");
    }
    let plain = nod::ir::Error::new(nod::ir::ErrorCode::Unknown, "");
    let problems: Vec<_> = found
        .into_iter()
        .filter(|code| {
            let error = nod::ir::Error { provider_code: Some(code.clone()), ..plain.clone() };
            nod::port::error_text(&error).0 == nod::port::error_text(&plain).0
        })
        .map(|code| format!("{code}: no text of its own in `port::error_text`"))
        .collect();
    fail_with(&problems);
}

#[test]
fn no_test_is_switched_off() {
    let mut files = Vec::new();
    rust_files(&manifest_dir().join("tests"), &mut files);
    rust_files(&manifest_dir().join("src"), &mut files);
    let marker = concat!("#[", "ignore");
    let problems: Vec<_> = files
        .iter()
        .filter(|path| std::fs::read_to_string(path).unwrap().contains(marker))
        .map(|path| path.display().to_string())
        .collect();
    fail_with(&problems);
}
