//! Paths as text: leaving the folder, coming back, absolute, odd and too long (3.1).

use nod::port::{Command, Event};
use serde_json::json;

use super::Control::{Damages, Leaks, Shows};
use super::ground::{Piece, SECRET};
use super::{Bench, case};

#[test]
fn no_path_leaves_its_folder_by_its_text() {
    let long_name = "x".repeat(256);
    let long_path = format!("{}private.txt", "./".repeat(2100));
    Bench::new().holds(vec![
        case("3.1.1", "a relative path to a file outside")
            .read("../out/private.txt")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.1.1", "the same for writing").write("../out/private.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for a new file").write("../out/new.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for an edit").edit("../out/private.txt", SECRET).refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for a folder").make("../out/new/folder").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for a deletion").delete("../out/private.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for a tree").delete_tree("../out").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.1", "the same for a listing").list("../out").refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.1.1", "the same for a search").search("../out", SECRET).refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.1.2", "an absolute path outside is never written")
            .write("{out}/private.txt")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.2", "nor a new one").write("{out}/new.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.2", "nor made").make("{out}/new").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.2", "nor deleted").delete("{out}/private.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.2", "nor edited").edit("{out}/private.txt", SECRET).refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.2", "it is read after a question that says that it lies outside")
            .read("{out}/private.txt")
            .asked()
            .also(|ground, ran| {
                assert_eq!(ran.question().target, ground.expand("{out}/private.txt"));
                assert_eq!(ran.question().folder, None);
                assert_eq!(ran.question().rule_proposals, []);
            }),
        case("3.1.6", "a folder whose name begins like the allowed one's is outside")
            .with([Piece::File("ws-evil/x.txt", SECRET)])
            .write("{top}/ws-evil/x.txt")
            .refused(
                "PATH_OUT_OF_SCOPE",
                Shows(|ground| {
                    let path = ground.expand("{top}/ws-evil/x.txt");
                    assert!(path.starts_with(&ground.expand("{ws}")), "a comparison of texts takes it for inside");
                }),
            ),
        case("3.1.6", "and asked for when read")
            .with([Piece::File("ws-evil/x.txt", SECRET)])
            .read("{top}/ws-evil/x.txt")
            .asked(),
        case("3.1.8", "the folder above").list("..").refused(
            "PATH_OUT_OF_SCOPE",
            Shows(|ground| {
                assert!(std::fs::read_dir(ground.ws().join("..")).unwrap().count() > 1);
            }),
        ),
        case("3.1.9", "a NUL is never where a path ends").read("../out/private.txt\0/../../ws/a.txt").refused(
            "PATH_INVALID",
            Shows(|ground| {
                let text = "../out/private.txt\0/../../ws/a.txt";
                let cut = text.split('\0').next().unwrap();
                assert_eq!(std::fs::read_to_string(ground.ws().join(cut)).unwrap(), SECRET);
            }),
        ),
        case("3.1.9", "nor in a write").write("a.txt\0.md").refused(
            "PATH_INVALID",
            Shows(|ground| {
                std::fs::write(ground.ws().join("a.txt\0.md".split('\0').next().unwrap()), "attack").unwrap();
            }),
        ),
        case("3.1.10", "a name that is too long").read(&long_name).refused(
            "PATH_INVALID",
            Shows(|ground| {
                assert!(std::fs::read(ground.ws().join("x".repeat(256))).is_err());
            }),
        ),
        case("3.1.10", "a path that is too long").read(&long_path).refused(
            "PATH_INVALID",
            Shows(|ground| {
                assert!(std::fs::read(ground.ws().join("./".repeat(2100))).is_err());
            }),
        ),
        case("3.1.11", "leaving and coming back")
            .with([Piece::File("ws/private.txt", SECRET)])
            .read("sub/../../ws/private.txt")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.1.11", "leaving by the allowed folder's own name")
            .write("../ws/../out/new.txt")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.1.12", "through a file that is no folder").write("a.txt/../../out/new.txt").refused(
            "PATH_OUT_OF_SCOPE",
            Shows(|ground| {
                std::fs::write(ground.ws().join("sub/../../out/new.txt"), "attack").unwrap();
            }),
        ),
        case("3.1.13", "percent signs are no escapes")
            .read("%2e%2e/out/private.txt")
            .refused("PATH_NOT_FOUND", Shows(decoded)),
        case("3.1.13", "nor before a separator")
            .read("..%2fout%2fprivate.txt")
            .refused("PATH_NOT_FOUND", Shows(decoded)),
        case("3.1.13", "nor doubly").read("%252e%252e/out").refused("PATH_NOT_FOUND", Shows(decoded)),
        case("3.1.14", "a backslash is a letter here").read("..\\out\\private.txt").refused(
            "PATH_NOT_FOUND",
            Shows(|ground| {
                let path = "..\\out\\private.txt".replace('\\', "/");
                assert_eq!(std::fs::read_to_string(ground.ws().join(path)).unwrap(), SECRET);
            }),
        ),
        case("3.1.17", "the home folder's neighbours").read("~/../x").refused(
            "PATH_OUT_OF_SCOPE",
            Shows(|ground| {
                assert!(std::path::Path::new(&ground.expand("{home}/..")).exists());
            }),
        ),
        case("3.1.18", "without a folder a relative path is nowhere")
            .folders(&[])
            .read("a.txt")
            .refused("PATH_OUT_OF_SCOPE", Shows(|ground| assert!(ground.path("ws/a.txt").exists()))),
        case("3.1.18", "nor is a write").folders(&[]).write("a.txt").refused(
            "PATH_OUT_OF_SCOPE",
            Shows(|ground| {
                std::fs::write(ground.path("ws/a.txt"), "attack").unwrap();
            }),
        ),
    ]);
}

fn decoded(ground: &super::Ground) {
    assert_eq!(std::fs::read_to_string(ground.ws().join("../out/private.txt")).unwrap(), SECRET);
}

#[test]
fn what_is_there_outside_is_not_told() {
    let mut bench = Bench::new();
    let there = [Piece::File("out/x", SECRET), Piece::Folder("ws/way")];
    let gone = [Piece::Folder("ws/way")];
    for (number, path) in [("3.1.1", "../out/x"), ("3.1.11", "sub/../../out/x"), ("3.1.12", "way/../../out/x")] {
        let row = |tool: &'static str| {
            case(number, "present and absent").call(tool, json!({"path": path})).refused("PATH_OUT_OF_SCOPE", Leaks)
        };
        bench.alike(&row("read_file"), &there, &gone);
    }
    // Escape by text is judged before the disk says that the way is missing.
    let row = case("3.1.12", "a way that is there and one that is not")
        .read("way/../../out/private.txt")
        .refused("PATH_OUT_OF_SCOPE", Leaks);
    bench.alike(&row, &[Piece::Folder("ws/way")], &[]);
}

#[test]
fn ordinary_paths_go_on_working() {
    Bench::new().holds(vec![
        case("3.1.3", "the normal form is what is read and shown").read("sub/../a.txt").runs().also(|ground, ran| {
            assert_eq!(ran.result.result["path"], ground.expand("{ws}/a.txt"));
            assert_eq!(ran.result.result["content"], "inside\n");
        }),
        case("3.1.3", "and asked about").write("sub/../sub/./b.txt").asked().also(|ground, ran| {
            assert_eq!(ran.question().target, ground.expand("{ws}/sub/b.txt"));
            assert_eq!(ran.question().folder.as_deref(), Some(ground.expand("{ws}").as_str()));
        }),
        case("3.1.4", "dots and doubled separators").read(".//sub/.././a.txt").runs(),
        case("3.1.5", "an absolute path inside").read("{ws}/sub/b.txt").runs(),
        case("3.1.5", "an absolute path inside, written").write("{ws}/new.txt").asked(),
        case("3.1.7", "two dots before a name").with([Piece::File("ws/..foo", "x")]).read("..foo").runs(),
        case("3.1.7", "three dots").with([Piece::File("ws/...", "x")]).read("...").runs(),
        case("3.1.7", "two dots in the middle").with([Piece::File("ws/a/..b/c", "x")]).read("a/..b/c").runs(),
        case("3.1.7", "two dots behind a name").with([Piece::File("ws/foo..", "x")]).read("foo..").runs(),
        case("3.1.8", "the folder itself").list(".").runs(),
        case("3.1.13", "a name with percent signs").with([Piece::File("ws/%2e%2e", "x")]).read("%2e%2e").runs(),
        case("3.1.16", "a folder that was chosen through a link")
            .with([Piece::Link("chosen", "{ws}")])
            .folders(&["{top}/chosen"])
            .read("a.txt")
            .runs(),
        case("3.1.16", "and nothing else through it")
            .with([Piece::Link("chosen", "{ws}")])
            .folders(&["{top}/chosen"])
            .read("../out/private.txt")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.1.17", "a tilde alone is a name").with([Piece::File("ws/~", "x")]).read("~").runs(),
        case("3.1.17", "variables are no names of folders").write("$HOME/x.txt").asked().also(|ground, _| {
            assert_eq!(ground.read("ws/$HOME/x.txt"), super::ATTACK);
        }),
        case("3.1.17", "nor is a command").write("$(id)/`id`.txt").asked().also(|ground, _| {
            assert_eq!(ground.read("ws/$(id)/`id`.txt"), super::ATTACK);
        }),
    ]);
}

#[test]
fn a_folder_that_is_too_wide_is_warned_of_and_opens_nothing_that_is_closed() {
    let mut bench = Bench::new();
    let home = bench.desk.home.path().to_path_buf();
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/config"), SECRET).unwrap();
    bench.holds(vec![
        case("3.1.15", "the whole disk").folders(&["/"]).read("etc/passwd").refused(
            "BLOCKED_PATH_DENIED",
            Shows(|_| {
                assert!(std::fs::read("/etc/passwd").is_ok());
            }),
        ),
        case("3.1.15", "the whole disk, written").folders(&["/"]).write("etc/nod-attack").refused(
            "BLOCKED_PATH_DENIED",
            // Nobody writes there to prove it.
            Shows(|_| assert!(std::path::Path::new("/etc").is_dir())),
        ),
        case("3.1.15", "what the kernel shows").folders(&["/"]).read("proc/self/environ").refused(
            "BLOCKED_PATH_DENIED",
            Shows(|_| assert!(std::path::Path::new("/proc/self").exists() || cfg!(not(target_os = "linux")))),
        ),
        case("3.1.15", "a home folder").folders(&["{home}"]).read(".ssh/config").refused(
            "BLOCKED_PATH_DENIED",
            Shows(|ground| {
                assert_eq!(std::fs::read_to_string(ground.expand("{home}/.ssh/config")).unwrap(), SECRET);
            }),
        ),
        case("3.1.15", "a listing of a home leaves it out").folders(&["{home}"]).list(".").runs().also(|_, ran| {
            assert!(!ran.text().contains(".ssh"), "{}", ran.text());
            assert_eq!(ran.result.result["hidden_by_policy"], 1);
        }),
        case("3.1.15", "by the tilde").read("~/.ssh/config").refused("BLOCKED_PATH_DENIED", Leaks),
        case("3.1.15", "a home folder is never deleted")
            .folders(&["{home}"])
            .delete_tree(".")
            .refused("BLOCKED_PATH_DENIED", Shows(|ground| assert!(ground.path("ws").exists()))),
        case("3.1.15", "a folder above an allowed one")
            .folders(&["{top}", "{ws}"])
            .delete_tree("ws")
            .refused("BLOCKED_PATH_DENIED", Shows(|ground| std::fs::remove_dir_all(ground.ws()).unwrap())),
    ]);
    for path in ["/", "/home", home.to_str().unwrap()] {
        let session = bench.desk.session.clone();
        bench.desk.send(Command::AddFolder { session, path: path.into() });
        let warned = bench.desk.until(|event| matches!(event, Event::Notice { .. } | Event::Fault { .. }));
        let is_missing = !std::path::Path::new(path).exists();
        assert!(matches!(warned, Event::Notice { .. }) || is_missing, "{path}: {warned:?}");
    }
}
