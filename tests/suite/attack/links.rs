//! Links that lead out, round and back, and what takes their place while a question is open (3.2).

use std::fs;
use std::os::unix::fs::symlink;

use nod::ir::{ConfirmMode, Preview, Session};
use nod::port::{Answer, Command};
use serde_json::json;

use super::Control::{Damages, Leaks, Plants, Shows};
use super::ground::{ATTACK, Ground, Piece, SECRET};
use super::{Bench, case, session};

#[test]
fn no_link_leads_out() {
    let out_folder = || Piece::Link("ws/l", "{out}");
    Bench::new().holds(vec![
        case("3.2.1", "an absolute link to a file outside")
            .with([Piece::Link("ws/l", "{out}/private.txt")])
            .read("l")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.2", "a relative link to a file outside")
            .with([Piece::Link("ws/sub/l", "../../out/private.txt")])
            .read("sub/l")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.2", "whatever its name says: a name outside is not judged as one inside")
            .with([Piece::File("out/server.key", SECRET), Piece::Link("ws/sub/l", "../../out/server.key")])
            .read("sub/l")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.3", "a chain of links")
            .with([
                Piece::Link("ws/l1", "l2"),
                Piece::Link("ws/l2", "sub/l3"),
                Piece::Link("ws/sub/l3", "../l4"),
                Piece::Link("ws/l4", "{out}/private.txt"),
            ])
            .read("l1")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.3", "a link to what the kernel shows of this process")
            .with([Piece::Link("ws/l", "/proc/self/root")])
            .list("l")
            .refused("PATH_OUT_OF_SCOPE", Shows(|ground| assert!(fs::metadata(ground.path("ws/l")).is_ok()))),
        case("3.2.3", "a link to an opened file of this process")
            .with([Piece::Link("ws/l", "/proc/self/fd/0")])
            .read("l")
            .refused("PATH_OUT_OF_SCOPE", Shows(|ground| assert!(fs::symlink_metadata(ground.path("ws/l")).is_ok()))),
        case("3.2.4", "a link to itself")
            .with([Piece::Link("ws/l", "l")])
            .read("l")
            .refused("PATH_INVALID", Shows(|ground| assert!(fs::read(ground.path("ws/l")).is_err()))),
        case("3.2.4", "two links that lead round")
            .with([Piece::Link("ws/l1", "sub/l2"), Piece::Link("ws/sub/l2", "../l1")])
            .write("l1/x.txt")
            .refused("PATH_INVALID", Shows(|ground| assert!(fs::read(ground.path("ws/l1")).is_err()))),
        case("3.2.6", "a file below a folder outside")
            .with([out_folder()])
            .read("l/private.txt")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.6", "written").with([out_folder()]).write("l/new.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.6", "edited")
            .with([out_folder()])
            .edit("l/private.txt", SECRET)
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.6", "deleted").with([out_folder()]).delete("l/private.txt").refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.6", "deleted as a tree")
            .with([out_folder()])
            .delete_tree("l/folder")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.6", "back by two dots, after the link was followed")
            .with([Piece::Link("ws/l", "{out}/folder"), Piece::Link("ws/m", "l/../private.txt")])
            .read("m")
            .refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.14", "listed").with([out_folder()]).list("l").refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.14", "searched").with([out_folder()]).search("l", SECRET).refused("PATH_OUT_OF_SCOPE", Leaks),
        case("3.2.15", "folders made through a link")
            .with([out_folder()])
            .make("l/b/c")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.16", "a new file through a link to nothing")
            .with([Piece::Link("ws/l", "{out}/new.txt")])
            .write("l")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.16", "a new folder through a link to nothing")
            .with([Piece::Link("ws/l", "{out}/new")])
            .make("l/folder")
            .refused(
                "PATH_OUT_OF_SCOPE",
                Shows(|ground| {
                    fs::create_dir_all(ground.path("out/new")).unwrap();
                    fs::create_dir(ground.path("ws/l/folder")).unwrap();
                    assert!(ground.path("out/new/folder").exists());
                }),
            ),
        case("3.2.17", "an edit through a link")
            .with([Piece::Link("ws/l", "../out/private.txt")])
            .edit("l", SECRET)
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.17", "a write over a link")
            .with([Piece::Link("ws/l", "../out/private.txt")])
            .write("l")
            .refused("PATH_OUT_OF_SCOPE", Damages),
        case("3.2.12", "a plain name for a secret")
            .with([Piece::File("ws/.env", SECRET), Piece::Link("ws/notes.txt", ".env")])
            .read("notes.txt")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.2.12", "a plain name for what git runs")
            .with([Piece::File("ws/.git/hooks/pre-commit", ""), Piece::Link("ws/notes.txt", ".git/hooks/pre-commit")])
            .write("notes.txt")
            .refused("PROTECTED_PATH_DENIED", Plants),
        case("3.2.12", "a plain name for git's folder")
            .with([Piece::File("ws/.git/HEAD", ""), Piece::Link("ws/docs", ".git")])
            .write("docs/config")
            .refused("PROTECTED_PATH_DENIED", Plants),
    ]);
}

#[test]
fn what_a_link_out_leads_to_is_not_told() {
    let mut bench = Bench::new();
    let mut pair = |number, what, path: &str, one: &[Piece], other: &[Piece]| {
        for row in [case(number, what).read(path), case(number, what).search(path, "x")] {
            bench.alike(&row.refused("PATH_OUT_OF_SCOPE", Leaks), one, other);
        }
    };
    let link = Piece::Link("ws/l", "{out}/x");
    pair("3.2.1", "a link to a file outside", "l", &[Piece::File("out/x", SECRET), link.clone()], &[link]);
    let link = Piece::Link("ws/sub/l", "../../out/x");
    pair("3.2.2", "a relative link", "sub/l", &[Piece::File("out/x", SECRET), link.clone()], &[link]);
    let link = Piece::Link("ws/l", "{out}");
    pair("3.2.6", "a file below a link out", "l/x", &[Piece::File("out/x", SECRET), link.clone()], &[link]);
    let link = Piece::Link("ws/l", "{out}/x");
    pair("3.2.6", "below a folder that is not there", "l/y", &[Piece::File("out/x/y", SECRET), link.clone()], &[link]);
}

#[test]
fn links_inside_work_and_are_shown() {
    Bench::new().holds(vec![
        case("3.2.11", "a link inside is followed").with([Piece::Link("ws/l", "sub/b.txt")]).read("l").runs().also(
            |ground, ran| {
                assert_eq!(ran.result.result["path"], ground.expand("{ws}/sub/b.txt"));
                assert_eq!(ran.result.result["content"], "below\n");
            },
        ),
        case("3.2.11", "and both its ends are shown").with([Piece::Link("ws/l", "sub/b.txt")]).write("l").asked().also(
            |ground, ran| {
                assert_eq!(ran.question().via_link.as_deref(), Some("l"));
                assert_eq!(ran.question().target, ground.expand("{ws}/sub/b.txt"));
                assert!(fs::symlink_metadata(ground.path("ws/l")).unwrap().is_symlink());
                assert_eq!(ground.read("ws/sub/b.txt"), ATTACK);
            },
        ),
        case("3.2.18", "an absolute link back into the folder")
            .with([Piece::Link("ws/l", "{ws}/sub/b.txt")])
            .read("l")
            .runs(),
        case("3.2.13", "a listing shows links and looks into none")
            .with([Piece::Link("ws/l", "{out}"), Piece::Link("ws/m", "{out}/private.txt")])
            .list(".")
            .runs()
            .also(|_, ran| {
                let entries = ran.result.result["entries"].as_array().unwrap();
                let of = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap();
                for name in ["l", "m"] {
                    assert_eq!(of(name)["type"], "symlink");
                    assert!(of(name)["size"].is_null());
                }
                assert!(!ran.text().contains("private"), "{}", ran.text());
            })
            .control(Shows(|ground| assert!(ground.path("ws/l/private.txt").exists()))),
        case("3.2.13", "a search looks into none")
            .with([Piece::Link("ws/l", "{out}"), Piece::Link("ws/m", "{out}/private.txt")])
            .search(".", SECRET)
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 0))
            .control(Leaks),
        case("3.2.9", "a deletion of a link takes the link")
            .with([Piece::Link("ws/l", "{out}")])
            .delete("l")
            .asked()
            .also(|ground, ran| {
                assert!(matches!(&ran.question().preview, Preview::Tree { count: 1, bytes: 0, .. }));
                assert!(fs::symlink_metadata(ground.path("ws/l")).is_err());
            })
            .control(Shows(|ground| fs::remove_dir_all(ground.path("ws/l/folder")).unwrap())),
        case("3.2.9", "as a tree too").with([Piece::Link("ws/l", "{out}")]).delete_tree("l").asked(),
        case("3.2.10", "a tree with links in it takes the links")
            .with([
                Piece::File("ws/tree/x", ""),
                Piece::Link("ws/tree/l", "{out}"),
                Piece::Link("ws/tree/m", "{out}/private.txt"),
            ])
            .delete_tree("tree")
            .asked()
            .also(|ground, _| assert!(!ground.path("ws/tree").exists())),
    ]);
}

/// Puts a link to the world outside where something was.
fn swap(ground: &Ground, path: &str, to: &str) {
    fs::rename(ground.path(path), ground.path("ws/moved-away")).ok();
    symlink(ground.path(to), ground.path(path)).unwrap();
}

#[test]
fn what_was_shown_is_what_is_changed_whatever_takes_its_place() {
    let file = |ground: &Ground| swap(ground, "ws/a.txt", "out/private.txt");
    let folder = |ground: &Ground| swap(ground, "ws/sub", "out");
    fn untouched(ground: &Ground, _: &super::Ran) {
        assert_eq!(ground.read("out/private.txt"), SECRET);
        assert_eq!(fs::read_dir(ground.path("out")).unwrap().count(), 2);
    }
    Bench::new().holds(vec![
        case("3.2.7", "a file is exchanged for a link after the question came")
            .write("a.txt")
            .meanwhile(file)
            .asked_then("PATH_OUT_OF_SCOPE", Damages)
            .also(untouched),
        case("3.2.7", "the same for an edit")
            .edit("a.txt", "inside")
            .meanwhile(file)
            .asked_then("PATH_OUT_OF_SCOPE", Damages)
            .also(untouched),
        case("3.2.8", "its folder is exchanged")
            .write("sub/new.txt")
            .meanwhile(folder)
            .asked_then("PATH_OUT_OF_SCOPE", Damages)
            .also(untouched),
        case("3.2.8", "its folder is exchanged before a deletion")
            .with([Piece::File("ws/sub/private.txt", "mine")])
            .delete("sub/private.txt")
            .meanwhile(folder)
            .asked_then("PATH_OUT_OF_SCOPE", Damages)
            .also(untouched),
        case("3.2.8", "its folder is exchanged before folders are made")
            .make("sub/x/y")
            .meanwhile(folder)
            .asked_then("PATH_OUT_OF_SCOPE", Damages)
            .also(untouched),
        case("3.2.8", "a folder is exchanged before it is deleted as a tree")
            .delete_tree("sub")
            .meanwhile(folder)
            .asked()
            // It is asked anew, about the link; what goes is the link.
            .also(|ground, ran| {
                assert_eq!(ran.asked.len(), 2);
                assert!(ran.asked[1].is_asked_anew);
                assert_eq!(ground.read("out/private.txt"), SECRET);
                assert!(ground.path("ws/moved-away/b.txt").exists());
            }),
        case("3.2.7", "a read that was asked about")
            .with([Piece::File("ws/secret_store.py", "mine")])
            .read("secret_store.py")
            .mode(ConfirmMode::EveryCall)
            .meanwhile(|ground| swap(ground, "ws/secret_store.py", "out/private.txt"))
            .asked_then("PATH_OUT_OF_SCOPE", Leaks),
    ]);
}

/// A command that may write in one allowed folder can exchange another one that lies in it.
#[test]
fn an_allowed_folder_that_is_exchanged_for_a_link_is_no_longer_allowed() {
    let mut bench = Bench::new();
    let ground = bench.ground(&[Piece::Folder("ws/inner")]);
    let inner = session("inner", vec![ground.expand("{ws}/inner")], ConfirmMode::Automatic);
    let write = |bench: &mut Bench, session: &Session, name: &str| {
        let args = json!({"path": name, "content": ATTACK}).to_string();
        bench.call_in(session.clone(), "write_file", args, &mut |_| Answer::AllowOnce).result
    };
    assert!(write(&mut bench, &inner, "before.txt").success);
    bench.desk.set("safety.folders", json!([ground.expand("{ws}/inner")]));
    swap(&ground, "ws/inner", "out");
    let outside = ground.snapshot("out");
    assert_eq!(write(&mut bench, &inner, "after.txt").code(), Some("TARGET_CHANGED"));
    // Neither does a new session, nor another folder that is added to the last used ones, follow it.
    bench.desk.set("safety.folders", json!([ground.expand("{ws}/inner"), ground.expand("{ws}/sub")]));
    bench.desk.send(Command::CreateSession);
    let fresh = Session { mode: ConfirmMode::Automatic, ..bench.desk.opened() };
    assert_eq!(fresh.folders, [ground.expand("{ws}/inner"), ground.expand("{ws}/sub")]);
    assert_eq!(write(&mut bench, &fresh, "after.txt").code(), Some("TARGET_CHANGED"));
    assert_eq!(ground.snapshot("out"), outside);
    // The control: opened by its path, the allowed folder is the world outside.
    fs::write(ground.path("ws/inner/after.txt"), ATTACK).unwrap();
    assert_ne!(ground.snapshot("out"), outside);
    // Named by the person now, it is what it is now, and is shown as that.
    let anew = session("anew", vec![ground.expand("{ws}/inner")], ConfirmMode::EveryCall);
    let args = json!({"path": "anew.txt", "content": "x"}).to_string();
    let ran = bench.call_in(anew, "write_file", args, &mut |_| Answer::AllowOnce);
    assert_eq!(ran.question().folder, Some(ground.expand("{out}")));
}
