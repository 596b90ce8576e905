//! Files with a second name outside the allowed folder (3.7).

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use nod::ir::ConfirmMode;
use nod::policy::AskReason;

use super::Control::{Damages, Shows};
use super::ground::{ATTACK, Ground, Piece, SECRET};
use super::{Bench, Ran, case};

fn second_name() -> [Piece; 1] {
    [Piece::HardLink("ws/h.txt", "out/private.txt")]
}

fn is_named(_: &Ground, ran: &Ran) {
    assert!(ran.question().reasons.contains(&AskReason::HardLink), "{:?}", ran.question().reasons);
}

#[test]
fn a_write_never_goes_into_a_file_that_has_another_name() {
    Bench::new().holds(vec![
        case("3.7.1", "read where every call is asked: the other name is told")
            .with(second_name())
            .mode(ConfirmMode::EveryCall)
            .read("h.txt")
            .asked()
            .also(is_named),
        case("3.7.2", "written").with(second_name()).write("h.txt").asked().control(Damages).also(is_named).also(
            |ground, _| {
                assert_eq!(ground.read("ws/h.txt"), ATTACK);
                assert_eq!(ground.read("out/private.txt"), SECRET);
                assert_eq!(fs::metadata(ground.path("ws/h.txt")).unwrap().nlink(), 1);
            },
        ),
        case("3.7.2", "written where nothing is asked")
            .with(second_name())
            .mode(ConfirmMode::Automatic)
            .write("h.txt")
            .runs()
            .control(Damages)
            .also(|ground, _| assert_eq!(ground.read("out/private.txt"), SECRET)),
        case("3.7.4", "edited").with(second_name()).edit("h.txt", SECRET).asked().control(Damages).also(is_named),
        case("3.7.4", "through a link")
            .with(second_name())
            .with([Piece::Link("ws/l", "h.txt")])
            .write("l")
            .asked()
            .control(Damages),
        case("3.7.4", "deleted: the other name stays").with(second_name()).delete("h.txt").asked().also(|ground, _| {
            assert!(!ground.path("ws/h.txt").exists());
            assert_eq!(ground.read("out/private.txt"), SECRET);
        }),
        case("3.7.4", "linked while the question is open")
            .write("a.txt")
            .meanwhile(|ground| fs::hard_link(ground.path("ws/a.txt"), ground.path("out/later.txt")).unwrap())
            .asked()
            .also(|ground, _| assert_eq!(ground.read("out/later.txt"), "inside\n"))
            .control(Shows(|ground| {
                fs::write(ground.path("ws/a.txt"), ATTACK).unwrap();
                assert_eq!(ground.read("out/later.txt"), ATTACK);
            })),
    ]);
}

#[test]
fn second_names_inside_are_ordinary() {
    Bench::new().holds(vec![
        case("3.7.5", "as packages have them").with([Piece::HardLink("ws/h.txt", "ws/a.txt")]).read("h.txt").runs(),
        case("3.7.5", "found by a search")
            .with([Piece::HardLink("ws/h.txt", "ws/a.txt")])
            .search(".", "inside")
            .runs()
            .also(|_, ran| assert_eq!(ran.result.result["total_matches"], 2)),
    ]);
}
