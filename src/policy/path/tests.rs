use proptest::prelude::*;

use super::*;

fn linux() -> Surroundings {
    Surroundings {
        home: Some(PathBuf::from("/home/me")),
        data_dir: Some(PathBuf::from("/home/me/.local/share/nod")),
        platform: Platform::Linux,
    }
}

fn macos() -> Surroundings {
    Surroundings { home: Some(PathBuf::from("/Users/me")), data_dir: None, platform: Platform::MacOs }
}

fn windows() -> Surroundings {
    Surroundings {
        home: Some(PathBuf::from(r"C:\Users\me")),
        data_dir: Some(PathBuf::from(r"C:\Users\me\AppData\Local\Nod")),
        platform: Platform::Windows,
    }
}

/// What a path means, in short: `0:sub/a.txt`, `outside /x`, or the code of the refusal.
fn judged(given: &str, roots: &[&str], surroundings: &Surroundings) -> String {
    let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
    match lexical(given, &roots, &[], surroundings) {
        Ok(Lexical::Inside { root, relative }) => format!("{root}:{}", relative.to_slash()),
        Ok(Lexical::Outside { absolute }) => format!("outside {}", absolute.display()),
        Err(failure) => failure.code.to_string(),
    }
}

fn check(cases: &[(&str, &str)], roots: &[&str], surroundings: &Surroundings) {
    for (given, expected) in cases {
        assert_eq!(judged(given, roots, surroundings), *expected, "{given:?} in {roots:?}");
    }
}

#[test]
fn relative_paths_start_at_the_first_folder_and_never_leave_it() {
    check(
        &[
            ("a.txt", "0:a.txt"),
            ("./a//b/./c", "0:a/b/c"),
            (".", "0:"),
            ("./", "0:"),
            ("sub/../a.txt", "0:a.txt"),
            ("a/b/../../c", "0:c"),
            ("sub/..", "0:"),
            ("..", "PATH_OUT_OF_SCOPE"),
            ("../outside.txt", "PATH_OUT_OF_SCOPE"),
            ("../nope", "PATH_OUT_OF_SCOPE"),
            ("sub/../../ws/a.txt", "PATH_OUT_OF_SCOPE"),
            ("missing/../../x", "PATH_OUT_OF_SCOPE"),
            ("../ws/a.txt", "PATH_OUT_OF_SCOPE"),
            ("a/../../ws", "PATH_OUT_OF_SCOPE"),
            ("../../etc/passwd", "PATH_OUT_OF_SCOPE"),
            ("../../../../../../etc/passwd", "PATH_OUT_OF_SCOPE"),
            ("..foo", "0:..foo"),
            ("...", "0:..."),
            ("a/..b/c", "0:a/..b/c"),
            ("foo..", "0:foo.."),
            ("%2e%2e/x", "0:%2e%2e/x"),
            ("..%2fx", "0:..%2fx"),
            ("a\\..\\..\\x", "0:a\\..\\..\\x"),
            ("-rf", "0:-rf"),
            ("CON", "0:CON"),
            ("aux.c", "0:aux.c"),
            ("a:b", "0:a:b"),
            ("中文 文件.md", "0:中文 文件.md"),
            ("", "PATH_INVALID"),
            ("a\0b", "PATH_INVALID"),
            ("../a\0b", "PATH_INVALID"),
            (".env\0.txt", "PATH_INVALID"),
        ],
        &["/projects/ws", "/projects/other"],
        &linux(),
    );
}

#[test]
fn lengths_are_judged_before_the_disk() {
    let surroundings = linux();
    let roots = ["/projects/ws"];
    assert_eq!(judged(&"a".repeat(255), &roots, &surroundings), format!("0:{}", "a".repeat(255)));
    assert_eq!(judged(&"a".repeat(256), &roots, &surroundings), "PATH_INVALID");
    assert_eq!(judged(&"a/".repeat(2048), &roots, &surroundings), format!("0:{}", vec!["a"; 2048].join("/")));
    assert_eq!(judged(&"a/".repeat(2049), &roots, &surroundings), "PATH_INVALID");
    // 100 characters of three bytes are too long a name for Linux, not for macOS.
    assert_eq!(judged(&"字".repeat(100), &roots, &surroundings), "PATH_INVALID");
    assert_eq!(judged(&"字".repeat(100), &roots, &macos()), format!("0:{}", "字".repeat(100)));
}

#[test]
fn absolute_paths_find_the_innermost_folder_part_by_part() {
    check(
        &[
            ("/projects/ws/a.txt", "0:a.txt"),
            ("/projects/ws", "0:"),
            ("/projects/ws/", "0:"),
            ("//projects///ws/./a.txt", "0:a.txt"),
            ("/projects/ws/sub/../a.txt", "0:a.txt"),
            ("/projects/ws/inner/a.txt", "1:a.txt"),
            ("/projects/ws/inner", "1:"),
            ("/projects/ws/inner2/a.txt", "0:inner2/a.txt"),
            ("/projects/ws2/a.txt", "outside /projects/ws2/a.txt"),
            ("/projects/w", "outside /projects/w"),
            ("/projects/WS/a.txt", "outside /projects/WS/a.txt"),
            ("/projects", "outside /projects"),
            ("/", "outside /"),
            ("/projects/ws/../../etc/passwd", "BLOCKED_PATH_DENIED"),
            ("/projects/ws/../other/a.txt", "outside /projects/other/a.txt"),
            ("/../../projects/x", "outside /projects/x"),
        ],
        &["/projects/ws", "/projects/ws/inner"],
        &linux(),
    );
}

#[test]
fn without_a_folder_only_absolute_paths_have_a_meaning() {
    check(
        &[
            ("a.txt", "PATH_OUT_OF_SCOPE"),
            (".", "PATH_OUT_OF_SCOPE"),
            ("../a.txt", "PATH_OUT_OF_SCOPE"),
            ("/projects/a.txt", "outside /projects/a.txt"),
            ("a\0", "PATH_INVALID"),
        ],
        &[],
        &linux(),
    );
    let failure = lexical("a.txt", &[], &[], &linux()).unwrap_err();
    assert!(failure.message.contains("add a folder"), "{}", failure.message);
}

#[test]
fn the_home_folder_is_reached_by_tilde_and_slash_only() {
    check(
        &[
            ("~/notes/a.md", "outside /home/me/notes/a.md"),
            ("~/ws/a.md", "0:a.md"),
            ("~//ws/a.md", "0:a.md"),
            ("~/.ssh/id_rsa", "BLOCKED_PATH_DENIED"),
            ("~/.SSH/ID_RSA", "BLOCKED_PATH_DENIED"),
            ("~/../other/x", "PATH_OUT_OF_SCOPE"),
            ("~", "0:~"),
            ("~root/x", "0:~root/x"),
            ("a/~/b", "0:a/~/b"),
            ("$HOME/x", "0:$HOME/x"),
        ],
        &["/home/me/ws"],
        &linux(),
    );
    let nowhere = Surroundings { home: None, ..linux() };
    assert_eq!(judged("~/x", &["/projects/ws"], &nowhere), "PATH_OUT_OF_SCOPE");
}

#[test]
fn blocked_places_and_sensitive_names_are_refused_by_text_alone() {
    check(
        &[
            ("/etc/crontab", "BLOCKED_PATH_DENIED"),
            ("/etc/passwd", "BLOCKED_PATH_DENIED"),
            ("/ETC/passwd", "BLOCKED_PATH_DENIED"),
            ("/proc/self/environ", "BLOCKED_PATH_DENIED"),
            ("/dev/zero", "BLOCKED_PATH_DENIED"),
            ("/sys/kernel", "BLOCKED_PATH_DENIED"),
            ("/home/me/.local/share/nod/nod.db", "BLOCKED_PATH_DENIED"),
            ("/home/me/.local/share/nod", "BLOCKED_PATH_DENIED"),
            (".env", "SENSITIVE_PATH_DENIED"),
            ("config/credentials/prod.json", "SENSITIVE_PATH_DENIED"),
            ("/home/me/ws/.ENV.local", "SENSITIVE_PATH_DENIED"),
            ("/home/me/other/server.key", "SENSITIVE_PATH_DENIED"),
            ("sub/../.env", "SENSITIVE_PATH_DENIED"),
            (".env.example", "0:.env.example"),
            ("password-reset.ts", "0:password-reset.ts"),
        ],
        &["/home/me/ws"],
        &linux(),
    );
}

#[test]
fn a_chosen_folder_never_opens_what_is_blocked_in_it() {
    check(
        &[
            ("etc/passwd", "BLOCKED_PATH_DENIED"),
            ("home/me/.ssh/config", "BLOCKED_PATH_DENIED"),
            ("home/me/x", "0:home/me/x"),
            ("/etc/hosts", "BLOCKED_PATH_DENIED"),
        ],
        &["/"],
        &linux(),
    );
    check(&[("passwd", "BLOCKED_PATH_DENIED"), (".", "BLOCKED_PATH_DENIED")], &["/etc"], &linux());
    check(&[(".config/gcloud/x", "BLOCKED_PATH_DENIED"), (".config/x", "0:.config/x")], &["/home/me"], &linux());
}

#[test]
fn the_folder_that_the_person_chose_is_not_judged_by_its_name() {
    check(&[("a.md", "0:a.md"), ("/projects/secrets/a.md", "0:a.md")], &["/projects/secrets"], &linux());
}

#[test]
fn a_lifted_file_passes_and_no_other() {
    let roots = [PathBuf::from("/projects/ws")];
    let lifted = [PathBuf::from("/projects/ws/.env")];
    let inside =
        |name: &str| Lexical::Inside { root: 0, relative: RelPath::from_parts(vec![name.to_owned()]).unwrap() };
    assert_eq!(lexical(".env", &roots, &lifted, &linux()), Ok(inside(".env")));
    assert_eq!(lexical("/projects/ws/sub/../.env", &roots, &lifted, &linux()), Ok(inside(".env")));
    for given in [".env.local", "sub/.env", "/projects/ws2/.env"] {
        assert_eq!(lexical(given, &roots, &lifted, &linux()).unwrap_err().code, Code::SensitivePathDenied, "{given}");
    }
    // Outside of the allowed folders nothing can be lifted.
    assert_eq!(lexical("/projects/ws/.env", &[], &lifted, &linux()).unwrap_err().code, Code::SensitivePathDenied);
    // What is blocked cannot be lifted.
    let lifted = [PathBuf::from("/home/me/.ssh/id_rsa")];
    let roots = [PathBuf::from("/home/me")];
    assert_eq!(lexical(".ssh/id_rsa", &roots, &lifted, &linux()).unwrap_err().code, Code::BlockedPathDenied);
}

#[test]
fn macos_ignores_case_and_form_and_sees_through_private() {
    check(
        &[
            ("/users/A/proj/x", "0:x"),
            ("/Users/a/Caf\u{e9}/x", "1:x"),
            ("/Users/a/Proj2/x", "outside /Users/a/Proj2/x"),
            ("/etc/hosts", "BLOCKED_PATH_DENIED"),
            ("/private/etc/hosts", "BLOCKED_PATH_DENIED"),
            ("/System/Volumes/Data/private/etc/hosts", "BLOCKED_PATH_DENIED"),
            ("/Private/ETC/hosts", "BLOCKED_PATH_DENIED"),
            ("/System/Library/x", "BLOCKED_PATH_DENIED"),
            ("~/Library/Keychains/login.keychain-db", "BLOCKED_PATH_DENIED"),
            ("/System/Volumes/Data/Users/me/.ssh/config", "BLOCKED_PATH_DENIED"),
            ("/System/Volumes/Data/Users/me/x.md", "outside /System/Volumes/Data/Users/me/x.md"),
            ("/private/tmp/x", "outside /private/tmp/x"),
        ],
        &["/Users/a/Proj", "/Users/a/Cafe\u{301}"],
        &macos(),
    );
}

#[test]
fn windows_forms_are_read_as_windows_reads_them() {
    check(
        &[
            (r"a\b.txt", "0:a/b.txt"),
            ("a/b.txt", "0:a/b.txt"),
            (r"C:\proj\a.txt", "0:a.txt"),
            ("c:/PROJ/a.txt", "0:a.txt"),
            (r"D:\x", r"outside D:\x"),
            (r"D:\", r"outside D:\"),
            (r"C:\proj2\a", r"outside C:\proj2\a"),
            (r"a/b\..\..\x", "0:x"),
            (r"a/b\..\..\..\x", "PATH_OUT_OF_SCOPE"),
            (r"..\x", "PATH_OUT_OF_SCOPE"),
            (r"C:\Windows\System32\config\SAM", "BLOCKED_PATH_DENIED"),
            (r"C:\PROGRA~1\x", "BLOCKED_PATH_DENIED"),
            (r"c:\program files\x", "BLOCKED_PATH_DENIED"),
            (r"C:\ProgramData\x", "BLOCKED_PATH_DENIED"),
            (r"C:\proj\..\Windows\x", "BLOCKED_PATH_DENIED"),
            (r"C:\Users\me\.ssh\id_rsa", "BLOCKED_PATH_DENIED"),
            (r"~\.aws\credentials", "BLOCKED_PATH_DENIED"),
            (r"C:\Users\me\AppData\Local\Nod\nod.db", "BLOCKED_PATH_DENIED"),
            (r"\\server\share\x", "PATH_INVALID"),
            ("//server/share", "PATH_INVALID"),
            (r"\/server\share", "PATH_INVALID"),
            (r"\\?\C:\proj\a.txt", "PATH_INVALID"),
            (r"\\.\PhysicalDrive0", "PATH_INVALID"),
            (r"\??\C:\x", "PATH_INVALID"),
            ("C:foo", "PATH_INVALID"),
            ("C:", "PATH_INVALID"),
            (r"\foo", "PATH_INVALID"),
            ("/foo", "PATH_INVALID"),
            ("CON", "PATH_INVALID"),
            ("nul.txt", "PATH_INVALID"),
            ("aux ", "PATH_INVALID"),
            ("aux .txt", "PATH_INVALID"),
            ("com1.log", "PATH_INVALID"),
            ("COM\u{b9}", "PATH_INVALID"),
            ("lpt\u{b2}.txt", "PATH_INVALID"),
            ("CONIN$", "PATH_INVALID"),
            (r"sub\PRN\x.txt", "PATH_INVALID"),
            (r"NUL\..\x", "PATH_INVALID"),
            (r"C:\proj\Con.tar.gz", "PATH_INVALID"),
            ("a.txt:stream", "PATH_INVALID"),
            ("a.txt::$DATA", "PATH_INVALID"),
            (r"C:\proj\a.txt:x", "PATH_INVALID"),
            ("a.", "PATH_INVALID"),
            ("a ", "PATH_INVALID"),
            (".. ", "PATH_INVALID"),
            (r"...\x", "PATH_INVALID"),
            ("a?b", "PATH_INVALID"),
            ("a\nb", "PATH_INVALID"),
            ("company.txt", "0:company.txt"),
            ("com10", "0:com10"),
            ("console.log", "0:console.log"),
            ("nullable.rs", "0:nullable.rs"),
            ("SECRET~1.PEM", "SENSITIVE_PATH_DENIED"),
            ("SECRET~1.TXT", "SENSITIVE_PATH_DENIED"),
            ("PASSWO~1.TXT", "PATH_INVALID"),
            (r"sub\LONGN~12\x", "PATH_INVALID"),
            (r"D:\SSH~1\config", "PATH_INVALID"),
            ("notes~1x.txt", "0:notes~1x.txt"),
            ("a longer name~1.txt", "0:a longer name~1.txt"),
            ("backup.txt~", "0:backup.txt~"),
        ],
        &[r"C:\proj"],
        &windows(),
    );
}

#[test]
fn refusals_of_a_kind_are_the_same_byte_for_byte() {
    let roots = [PathBuf::from("/projects/ws")];
    let refusal = |given: &str| lexical(given, &roots, &[], &linux()).unwrap_err();
    assert_eq!(refusal("../outside.txt"), refusal("../nope"));
    assert_eq!(refusal("missing/../../x"), refusal("src/../../x"));
    assert_eq!(refusal("/etc/passwd"), refusal("/etc/nope"));
    assert_eq!(refusal("here/.env"), refusal("nowhere/.env"));
}

#[test]
fn a_name_is_one_name() {
    for name in ["", ".", "..", "a/b", "a\0"] {
        assert_eq!(RelPath::from_parts(vec![name.to_owned()]), None, "{name:?}");
    }
    let path = RelPath::default().child("a").and_then(|path| path.child("..b")).unwrap();
    assert_eq!(path.to_slash(), "a/..b");
    assert_eq!(path.child(".."), None);
}

/// The control: joining texts, as a program without this room would, leaves the folder.
#[test]
fn joined_as_text_the_attack_leaves_the_folder() {
    let joined = Path::new("/projects/ws").join("sub/../../../etc/passwd");
    let plain = Absolute::from_path(&joined, Platform::Linux).unwrap().to_path(Platform::Linux);
    assert_eq!(plain, Path::new("/etc/passwd"));
}

fn any_platform() -> impl Strategy<Value = Surroundings> {
    prop_oneof![Just(linux()), Just(macos()), Just(windows())]
}

proptest! {
    #[test]
    fn a_path_never_leaves_its_folder(
        given in r"([a-z.~:\\/ ]|\.\.|/|\\){0,24}",
        surroundings in any_platform(),
    ) {
        let root = match surroundings.platform {
            Platform::Linux | Platform::MacOs => "/projects/ws",
            Platform::Windows => r"C:\work\ws",
        };
        if let Ok(Lexical::Inside { relative, .. }) = lexical(&given, &[PathBuf::from(root)], &[], &surroundings) {
            let separators: &[char] = match surroundings.platform {
                Platform::Linux | Platform::MacOs => &['/'],
                Platform::Windows => &['/', '\\'],
            };
            for part in relative.parts() {
                prop_assert!(!part.is_empty() && part != "." && part != ".." && !part.contains(separators), "{part:?}");
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(given in any::<String>(), surroundings in any_platform()) {
        let roots = [PathBuf::from("/projects/ws")];
        drop(lexical(&given, &roots, &[], &surroundings));
        drop(lexical(&given, &[], &[], &surroundings));
    }
}
