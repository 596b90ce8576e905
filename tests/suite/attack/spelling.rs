//! What other systems take for the same path: no difference of case (3.9), and the forms of Windows (3.10). On this
//! system only the judge of texts can be asked; there it is the same one.

use std::path::{Path, PathBuf};

use nod::policy::{Lexical, Platform, Surroundings, lexical};

use super::Control::{Leaks, Shows};
use super::ground::{Piece, SECRET};
use super::{Bench, case};

fn judged(given: &str, root: &str, surroundings: &Surroundings) -> String {
    match lexical(given, &[PathBuf::from(root)], &[], surroundings) {
        Ok(Lexical::Inside { relative, .. }) => format!("inside {}", relative.to_slash()),
        Ok(Lexical::Outside { absolute }) => format!("outside {}", absolute.display()),
        Err(failure) => failure.code.to_string(),
    }
}

/// The control: a program that looks for `..` as a part, for a leading slash and for names as they are listed.
fn careless(given: &str) -> bool {
    const LISTED: &[&str] = &["/etc", ".ssh", ".env", "C:\\Windows", "id_rsa", ".aws", ".gnupg"];
    !given.split('/').any(|part| part == "..") && !given.starts_with('/') && !LISTED.iter().any(|it| given.contains(it))
}

#[test]
fn closed_places_are_closed_in_any_case() {
    let mut bench = Bench::new();
    let home = bench.desk.home.path().to_path_buf();
    for (folder, file) in
        [(".SSH", "ID"), (".Aws", "config"), (".GnuPG", "x"), (".Config/GCloud", "x"), (".Claude", "x")]
    {
        std::fs::create_dir_all(home.join(folder)).unwrap();
        std::fs::write(home.join(folder).join(file), SECRET).unwrap();
    }
    bench.holds(vec![
        case("3.9.1", "keys").read("~/.SSH/ID").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.9.1", "keys in the allowed home").folders(&["{home}"]).read(".SSH/ID").refused(
            "BLOCKED_PATH_DENIED",
            Shows(|ground| assert!(Path::new(&ground.expand("{home}/.SSH/ID")).exists())),
        ),
        case("3.9.1", "sign-ins").read("~/.Aws/config").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.9.1", "rings").read("~/.GnuPG/x").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.9.1", "of a cloud").read("~/.Config/GCloud/x").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.9.1", "another agent").read("~/.Claude/x").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.9.2", "a name")
            .with([Piece::File("ws/.Env.Local", SECRET)])
            .read(".Env.Local")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.9.3", "here another case is another folder")
            .with([Piece::File("WS/x.txt", SECRET)])
            .write("{top}/WS/x.txt")
            .refused(
                "PATH_OUT_OF_SCOPE",
                Shows(|ground| {
                    let (asked, allowed) = (ground.expand("{top}/WS/x.txt"), ground.expand("{ws}"));
                    assert!(asked.to_lowercase().starts_with(&allowed.to_lowercase()), "folded texts are the same");
                }),
            ),
    ]);
}

#[test]
fn macos_takes_case_and_form_for_the_same_and_shows_folders_twice() {
    let macos = Surroundings { home: Some("/Users/me".into()), data_dir: None, platform: Platform::MacOs };
    for (number, given, expected) in [
        ("3.9.3", "/users/A/proj/x", "inside x"),
        ("3.9.4", "/Users/a/Proj2/x", "outside /Users/a/Proj2/x"),
        ("3.9.5", "/etc/hosts", "BLOCKED_PATH_DENIED"),
        ("3.9.5", "/private/etc/hosts", "BLOCKED_PATH_DENIED"),
        ("3.9.5", "/System/Volumes/Data/private/etc/hosts", "BLOCKED_PATH_DENIED"),
        ("3.9.5", "/PRIVATE/Etc/hosts", "BLOCKED_PATH_DENIED"),
        ("3.9.6", "/System/Volumes/Data/Users/me/.ssh/config", "BLOCKED_PATH_DENIED"),
        ("3.9.6", "~/library/keychains/x", "BLOCKED_PATH_DENIED"),
    ] {
        assert_eq!(judged(given, "/Users/a/Proj", &macos), expected, "{number} {given}");
    }
}

#[test]
fn the_forms_of_windows_open_nothing() {
    let windows = Surroundings { home: Some(r"C:\Users\me".into()), data_dir: None, platform: Platform::Windows };
    for (number, given, expected) in [
        ("3.10.1", r"c:\WINDOWS\System32\config\SAM", "BLOCKED_PATH_DENIED"),
        ("3.10.1", "C:/Windows/System32/config/SAM", "BLOCKED_PATH_DENIED"),
        ("3.10.2", r"C:\proj\..\ProgramData\x", "BLOCKED_PATH_DENIED"),
        ("3.10.3", r"\\server\share\x", "PATH_INVALID"),
        ("3.10.3", r"\\?\UNC\server\share", "PATH_INVALID"),
        ("3.10.3", r"\\.\pipe\x", "PATH_INVALID"),
        ("3.10.3", r"\/server/share", "PATH_INVALID"),
        ("3.10.4", r"\\?\C:\proj\a.txt", "PATH_INVALID"),
        ("3.10.5", "C:foo", "PATH_INVALID"),
        ("3.10.5", r"\foo", "PATH_INVALID"),
        ("3.10.5", "C:", "PATH_INVALID"),
        ("3.10.6", "a.txt:stream", "PATH_INVALID"),
        ("3.10.6", "a.txt::$DATA", "PATH_INVALID"),
        ("3.10.7", "CON", "PATH_INVALID"),
        ("3.10.7", "nul.txt", "PATH_INVALID"),
        ("3.10.7", "aux ", "PATH_INVALID"),
        ("3.10.7", "sub/com1.log", "PATH_INVALID"),
        ("3.10.7", "COM\u{B9}", "PATH_INVALID"),
        ("3.10.7", "CONOUT$", "PATH_INVALID"),
        ("3.10.8", "a. ", "PATH_INVALID"),
        ("3.10.8", r".. \x", "PATH_INVALID"),
        ("3.10.9", "SECRET~1.PEM", "SENSITIVE_PATH_DENIED"),
        ("3.10.9", r"C:\PROGRA~1\x", "BLOCKED_PATH_DENIED"),
        ("3.10.10", "PASSWO~1.DOC", "PATH_INVALID"),
        ("3.10.10", r"D:\SSH~1\x", "PATH_INVALID"),
        ("3.10.11", r"a/b\..\..\..\x", "PATH_OUT_OF_SCOPE"),
        ("3.10.11", r"..\out\x", "PATH_OUT_OF_SCOPE"),
        ("3.10.12", r"~\.ssh\x", "BLOCKED_PATH_DENIED"),
    ] {
        assert_eq!(judged(given, r"C:\proj", &windows), expected, "{number} {given}");
        let is_seen = given.contains(".ssh");
        assert!(is_seen || given.starts_with('/') || careless(given), "{number} {given}: the control sees it");
    }
    for (given, expected) in [
        (r"a/b\..\c.txt", "inside a/c.txt"),
        ("c:/PROJ/a.txt", "inside a.txt"),
        (r"D:\work\x", r"outside D:\work\x"),
        ("console.log", "inside console.log"),
    ] {
        assert_eq!(judged(given, r"C:\proj", &windows), expected, "{given}");
    }
}
