use proptest::prelude::*;

use super::*;

type Delta = (Option<i64>, &'static str, &'static str, Piece<'static>);

const NO: Piece<'static> = Piece::Nothing;

fn text(text: &str) -> Piece<'_> {
    Piece::Text(text)
}

fn assembled(deltas: &[Delta]) -> Vec<(String, String, String)> {
    let known = ["ls", "get", "grep", "read", "read_file"].map(Cow::Borrowed).to_vec();
    let mut assembler = Assembler::new(known);
    for (index, id, name, arguments) in deltas {
        assembler.push(Fragment { index: *index, id, name, arguments: *arguments }).unwrap();
    }
    assembler.finish().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

#[track_caller]
fn check(deltas: &[Delta], expected: &[(&str, &str, &str)]) {
    let found = assembled(deltas);
    let found: Vec<_> = found.iter().map(|(id, name, args)| (id.as_str(), name.as_str(), args.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn fragments_of_an_index_are_one_call_and_interleaved_calls_stay_apart() {
    check(
        &[
            (Some(0), "a", "ls", text("")),
            (Some(1), "b", "get", text("{\"q\"")),
            (Some(0), "", "", text("{\"p\":")),
            (Some(1), "", "", text(":1}")),
            (Some(0), "", "", text("2}")),
        ],
        &[("a", "ls", "{\"p\":2}"), ("b", "get", "{\"q\":1}")],
    );
}

#[test]
fn without_an_index_the_id_or_the_open_call_is_meant() {
    check(
        &[(None, "c1", "ls", text("{}")), (None, "c2", "get", text("{\"q\"")), (None, "", "", text(":1}"))],
        &[("c1", "ls", "{}"), ("c2", "get", "{\"q\":1}")],
    );
    check(
        &[(None, "c1", "get", NO), (None, "c2", "ls", NO), (None, "c1", "", text("{\"q\":1}"))],
        &[("c1", "get", "{\"q\":1}"), ("c2", "ls", "")],
    );
}

#[test]
fn another_id_at_the_same_index_is_another_call_and_what_follows_belongs_to_it() {
    check(
        &[
            (Some(0), "a", "get", text("{\"q\":1}")),
            (Some(0), "b", "get", text("{\"q\"")),
            (Some(0), "", "", text(":2}")),
        ],
        &[("a", "get", "{\"q\":1}"), ("b", "get", "{\"q\":2}")],
    );
}

#[test]
fn a_new_id_with_every_fragment_is_still_one_call() {
    check(
        &[
            (Some(0), "a", "get", text("")),
            (Some(0), "b", "", text("{\"q\"")),
            (Some(0), "c", "", text(":1}")),
            (Some(0), "d", "ls", text("{}")),
        ],
        &[("a", "get", "{\"q\":1}"), ("d", "ls", "{}")],
    );
}

#[test]
fn without_ids_a_whole_call_is_followed_by_another() {
    check(
        &[(Some(0), "", "get", text("{\"q\":1}")), (Some(0), "", "get", text("{\"q\":2}"))],
        &[("", "get", "{\"q\":1}"), ("", "get", "{\"q\":2}")],
    );
    check(
        &[
            (None, "", "get", text("{\"q\":1}")),
            (None, "", "ls", text("")),
            (None, "", "", text("{\"p\":")),
            (None, "", "", text("2}")),
        ],
        &[("", "get", "{\"q\":1}"), ("", "ls", "{\"p\":2}")],
    );
    check(
        &[(Some(0), "", "ls", text("{}")), (Some(0), "", "get", text("{\"q\":1}"))],
        &[("", "ls", "{}"), ("", "get", "{\"q\":1}")],
    );
}

#[test]
fn two_calls_with_one_id_stay_two() {
    check(
        &[(Some(0), "call_0", "ls", text("{}")), (Some(1), "call_0", "get", text("{\"q\":1}"))],
        &[("call_0", "ls", "{}"), ("call_0", "get", "{\"q\":1}")],
    );
    check(
        &[(None, "call_0", "get", text("{\"q\":1}")), (None, "call_0", "get", text("{\"q\":2}"))],
        &[("call_0", "get", "{\"q\":1}"), ("call_0", "get", "{\"q\":2}")],
    );
    check(
        &[
            (Some(0), "x", "get", text("")),
            (Some(1), "x", "get", text("")),
            (Some(1), "", "", text("{\"q\":2}")),
            (Some(0), "", "", text("{\"q\":1}")),
        ],
        &[("x", "get", "{\"q\":1}"), ("x", "get", "{\"q\":2}")],
    );
}

#[test]
fn an_index_that_counts_fragments_is_still_one_call() {
    check(
        &[(Some(0), "a", "get", text("{\"q\"")), (Some(1), "a", "", text(":1")), (Some(2), "a", "", text("}"))],
        &[("a", "get", "{\"q\":1}")],
    );
}

#[test]
fn sparse_indexes_keep_the_order_of_first_sight() {
    check(
        &[(Some(3), "b", "ls", text("{}")), (Some(1), "a", "get", text("{}")), (Some(-1), "c", "ls", text("{}"))],
        &[("b", "ls", "{}"), ("a", "get", "{}"), ("c", "ls", "{}")],
    );
}

#[test]
fn names_come_whole_again_in_pieces_or_late() {
    let whole = &[("a", "grep", "{\"q\":1}")];
    check(
        &[
            (Some(0), "a", "grep", text("{\"q\"")),
            (Some(0), "a", "grep", text(":1")),
            (Some(0), "a", "grep", text("}")),
        ],
        whole,
    );
    check(&[(Some(0), "a", "grep", text("{\"q\"")), (Some(0), "", "", text(":1}"))], whole);
    check(&[(Some(0), "a", "gr", NO), (Some(0), "", "ep", NO), (Some(0), "", "", text("{\"q\":1}"))], whole);
    check(&[(Some(0), "a", "gr", NO), (Some(0), "", "grep", NO), (Some(0), "", "", text("{\"q\":1}"))], whole);
    check(&[(Some(0), "a", "", text("{\"q\"")), (Some(0), "", "grep", text(":1}"))], whole);
    check(&[(None, "", "", text("{\"q\":1}")), (None, "a", "grep", NO)], whole);
    check(&[(Some(0), "a", "grep<|channel|>x", text("{\"q\":1}")), (Some(0), "", "", NO)], whole);
    check(&[(Some(0), "", "read", NO), (Some(0), "", "_file", NO)], &[("", "read_file", "")]);
    check(&[(None, "", "gr", NO), (None, "", "ep", NO)], &[("", "grep", "")]);
    check(
        &[(None, "", "grep", text("{\"q\"")), (None, "", "grep", text(":1}")), (None, "", "grep", text(""))],
        &[("", "grep", "{\"q\":1}")],
    );
    check(&[(Some(0), "", "invented", NO), (Some(0), "", "_name", NO)], &[("", "invented_name", "")]);
}

#[test]
fn a_call_without_a_name_is_left_out() {
    check(&[(Some(0), "a", "", text("{}")), (Some(1), "b", "ls", text("{}"))], &[("b", "ls", "{}")]);
}

#[test]
fn a_placeholder_is_replaced_and_a_resend_is_not_appended() {
    check(
        &[(Some(0), "a", "get", text("{}")), (Some(0), "", "", text("{\"q\":")), (Some(0), "", "", text("1}"))],
        &[("a", "get", "{\"q\":1}")],
    );
    check(
        &[(Some(0), "a", "get", text("{\"q\":1}")), (Some(0), "a", "get", text("{\"q\":1}"))],
        &[("a", "get", "{\"q\":1}")],
    );
    check(
        &[
            (Some(0), "a", "get", text("{")),
            (Some(0), "a", "get", text("{\"q\"")),
            (Some(0), "a", "get", text("{\"q\":\"x")),
            (Some(0), "a", "get", text("{\"q\":\"xy\"}")),
        ],
        &[("a", "get", "{\"q\":\"xy\"}")],
    );
}

#[test]
fn more_of_an_object_that_looks_like_its_beginning_is_not_taken_for_a_resend() {
    check(
        &[(Some(0), "a", "get", text("{\"a\":")), (Some(0), "", "", text("{\"a\":1}")), (Some(0), "", "", text("}"))],
        &[("a", "get", "{\"a\":{\"a\":1}}")],
    );
    // The same two pieces alone are a resend: only then is the whole JSON.
    check(
        &[(Some(0), "a", "get", text("{\"a\":")), (Some(0), "", "", text("{\"a\":1}"))],
        &[("a", "get", "{\"a\":1}")],
    );
}

#[test]
fn objects_on_the_wire_are_merged_by_key() {
    check(
        &[(Some(0), "a", "get", Piece::Object("{\"q\":1}")), (Some(0), "", "", Piece::Object("{\"r\":[2]}"))],
        &[("a", "get", "{\"q\":1,\"r\":[2]}")],
    );
    check(&[(Some(0), "a", "get", Piece::Object("{\"v\":1.10}"))], &[("a", "get", "{\"v\":1.10}")]);
}

#[test]
fn calls_and_bytes_are_bounded() {
    let mut assembler = Assembler::new(Vec::new());
    for index in 0..CALL_LIMIT {
        let index = Some(i64::try_from(index).unwrap());
        assembler.push(Fragment { index, name: "x", ..Fragment::default() }).unwrap();
    }
    assert_eq!(assembler.push(Fragment { index: Some(-1), name: "x", ..Fragment::default() }), Err(TooMuch));
    let mut assembler = Assembler::new(Vec::new());
    let megabyte = "x".repeat(1024 * 1024);
    let push = |assembler: &mut Assembler<'_>| {
        assembler.push(Fragment { arguments: Piece::Text(&megabyte), ..Fragment::default() })
    };
    for _ in 0..24 {
        push(&mut assembler).unwrap();
    }
    assert_eq!(push(&mut assembler), Err(TooMuch));
}

#[test]
fn a_name_with_every_fragment_of_a_huge_call_does_not_keep_a_core_busy_for_hours() {
    let mut assembler = Assembler::new(vec![Cow::Borrowed("get")]);
    let huge = format!("{{\"q\":\"{}", "x".repeat(4 * 1024 * 1024));
    assembler.push(Fragment { index: Some(0), id: "a", name: "get", arguments: text(&huge) }).unwrap();
    for _ in 0..5_000 {
        assembler.push(Fragment { index: Some(0), id: "", name: "get", arguments: NO }).unwrap();
    }
    assert!(!assembler.read.spend(1), "the limit was reached, and what followed cost nothing");
    assert_eq!(assembler.finish()[0].arguments, huge);
}

proptest! {
    #[test]
    fn whatever_comes_never_panics_and_every_call_has_a_name(
        deltas in proptest::collection::vec(
            (
                proptest::option::of(-1_i64..3),
                "(|a|b)",
                "(|ls|l|s|grep|<\\||é)",
                proptest::option::of("(\\{\\}|\\{|\\}|\"q\":|1|\\{\"q\":1\\}|é| )"),
                any::<bool>(),
            ),
            0..24,
        ),
    ) {
        let mut assembler = Assembler::new(vec![Cow::Borrowed("ls"), Cow::Borrowed("grep")]);
        for (index, id, name, arguments, is_object) in &deltas {
            let arguments = match arguments {
                None => Piece::Nothing,
                Some(text) if *is_object => Piece::Object(text),
                Some(text) => Piece::Text(text),
            };
            assembler.push(Fragment { index: *index, id, name, arguments }).unwrap();
        }
        prop_assert!(assembler.finish().iter().all(|call| !call.name.is_empty()));
    }

    #[test]
    fn arguments_cut_anywhere_are_put_together_again(
        text in r#"\{"a":"[a-z\{\}:,]{0,12}","b":\{"a":"[a-z]{0,3}"\}\}"#,
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        at.push(0);
        at.push(text.len());
        at.sort_unstable();
        let mut assembler = Assembler::new(vec![Cow::Borrowed("ls")]);
        assembler.push(Fragment { index: Some(0), id: "a", name: "ls", arguments: Piece::Nothing }).unwrap();
        for pair in at.windows(2) {
            let piece = Piece::Text(&text[pair[0]..pair[1]]);
            assembler.push(Fragment { index: Some(0), arguments: piece, ..Fragment::default() }).unwrap();
        }
        prop_assert_eq!(&assembler.finish()[0].arguments, &text);
    }
}
