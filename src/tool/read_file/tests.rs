use serde_json::json;

use super::super::testing::Place;
use super::*;

fn numbered(lines: u64) -> String {
    (1..=lines).fold(String::new(), |text, line| text + &format!("line {line}\n"))
}

#[test]
fn t01_an_existing_file_gives_its_content() {
    let place = Place::new();
    place.put("a.txt", "one\r\ntwo");
    assert_eq!(
        place.call(&ReadFile, json!({"path": "a.txt"})).unwrap(),
        json!({
            "path": place.shown("a.txt"),
            "content": "one\r\ntwo",
            "encoding": "utf-8",
            "size": 8,
            "lines": 2,
            "truncated": false,
            "line_range": [1, 2],
        })
    );
}

#[test]
fn t02_a_missing_file_is_said_to_be_missing() {
    let place = Place::new();
    let failure = place.call(&ReadFile, json!({"path": "none"})).unwrap_err().failure;
    assert_eq!(failure.code, Code::PathNotFound);
    assert!(failure.message.starts_with("There is no such file"), "{}", failure.message);
}

#[test]
fn t03_two_megabytes_are_too_large_and_one_is_not() {
    let place = Place::new();
    place.put("two", "x".repeat(2 << 20));
    place.put("one", "x".repeat(1 << 20));
    place.put("over", "x".repeat((1 << 20) + 1));
    let code = |path: &str| place.call(&ReadFile, json!({"path": path})).unwrap_err().failure.code;
    assert_eq!((code("two"), code("over")), (Code::FileTooLarge, Code::FileTooLarge));
    assert_eq!(place.call(&ReadFile, json!({"path": "one"})).unwrap()["size"], json!(1 << 20));
}

#[test]
fn without_a_range_at_most_500_lines_come() {
    let place = Place::new();
    place.put("long", numbered(600));
    let result = place.call(&ReadFile, json!({"path": "long"})).unwrap();
    assert_eq!(result["content"], json!(numbered(500)));
    assert_eq!(
        (&result["lines"], &result["truncated"], &result["limit"], &result["line_range"]),
        (&json!(600), &json!(true), &json!("read_lines"), &json!([1, 500]))
    );
}

#[test]
fn a_range_is_inclusive_and_ends_500_lines_on_by_default() {
    let place = Place::new();
    place.put("long", numbered(1000));
    let range = |args: Value| {
        let result = place.call(&ReadFile, args).unwrap();
        (result["content"].as_str().unwrap().to_owned(), result["line_range"].clone(), result["truncated"].clone())
    };
    assert_eq!(
        range(json!({"path": "long", "start_line": 2, "end_line": 3})),
        ("line 2\nline 3\n".into(), json!([2, 3]), json!(false))
    );
    assert_eq!(range(json!({"path": "long", "start_line": 400})).1, json!([400, 899]));
    assert_eq!(range(json!({"path": "long", "start_line": 400})).2, json!(true));
    assert_eq!(range(json!({"path": "long", "start_line": 990})).1, json!([990, 1000]));
    assert_eq!(range(json!({"path": "long", "end_line": 999})).1, json!([1, 999]));
}

#[test]
fn past_the_end_says_how_many_lines_there_are() {
    let place = Place::new();
    place.put("three", "1\n2\n3");
    place.put("empty", "");
    let failure = place.call(&ReadFile, json!({"path": "three", "start_line": 4})).unwrap_err().failure;
    assert_eq!(failure.code, Code::InvalidArguments);
    assert!(failure.message.contains("the file has 3 lines"), "{}", failure.message);
    let result = place.call(&ReadFile, json!({"path": "empty", "start_line": 1})).unwrap();
    assert_eq!((&result["content"], &result["lines"], &result["line_range"]), (&json!(""), &json!(0), &json!([0, 0])));
    assert!(place.call(&ReadFile, json!({"path": "three", "start_line": 2, "end_line": 1})).is_err());
}

#[test]
fn a_large_file_gives_a_range_within_the_limit() {
    let place = Place::new();
    let line = format!("{}\n", "é".repeat(500));
    place.put("large", line.repeat(3000));
    let result = place.call(&ReadFile, json!({"path": "large", "start_line": 10, "end_line": 2900})).unwrap();
    let kept = (1 << 20) / line.len() as u64;
    assert_eq!(
        (&result["line_range"], &result["limit"], &result["lines"]),
        (&json!([10, 9 + kept]), &json!("read_bytes"), &json!(3000))
    );
    assert_eq!(result["content"].as_str().unwrap().len() as u64, kept * line.len() as u64);
}

#[test]
fn one_endless_line_is_cut_between_characters() {
    let place = Place::new();
    place.put("line", format!("a{}", "é".repeat(1 << 20)));
    let result = place.call(&ReadFile, json!({"path": "line", "start_line": 1})).unwrap();
    assert_eq!(result["content"].as_str().unwrap().len(), (1 << 20) - 1);
    assert_eq!((&result["line_range"], &result["lines"]), (&json!([1, 1]), &json!(1)));
}

#[test]
fn marks_and_utf_16_are_recognised() {
    let place = Place::new();
    place.put("bom", "\u{FEFF}a\nb\n");
    let utf16: Vec<u8> = [0xFEFF].into_iter().chain("α\n😀\nγ".encode_utf16()).flat_map(u16::to_be_bytes).collect();
    place.put("wide", &utf16);
    for range in [json!({}), json!({"start_line": 1, "end_line": 9})] {
        let read = |path: &str| {
            let mut args = range.clone();
            args["path"] = path.into();
            place.call(&ReadFile, args).unwrap()
        };
        let (bom, wide) = (read("bom"), read("wide"));
        assert_eq!((&bom["content"], &bom["encoding"], &bom["bom"]), (&json!("a\nb\n"), &json!("utf-8"), &json!(true)));
        assert_eq!((&wide["content"], &wide["encoding"]), (&json!("α\n😀\nγ"), &json!("utf-16be")));
        assert_eq!((&bom["lines"], &wide["lines"]), (&json!(2), &json!(3)));
    }
    let second = place.call(&ReadFile, json!({"path": "wide", "start_line": 2, "end_line": 2})).unwrap();
    assert_eq!(second["content"], json!("😀\n"));
}

#[test]
fn binary_is_refused_as_text_with_its_likely_type_and_read_as_bytes() {
    let place = Place::new();
    place.put("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.put("latin", b"caf\xe9\n");
    for args in [json!({"path": "p.png"}), json!({"path": "p.png", "start_line": 1}), json!({"path": "latin"})] {
        let failure = place.call(&ReadFile, args.clone()).unwrap_err().failure;
        assert_eq!(failure.code, Code::BinaryFile, "{args}");
        assert!(failure.message.contains("base64"));
        assert_eq!(failure.message.contains("image/png"), args["path"] == "p.png");
    }
    let latin = place.call(&ReadFile, json!({"path": "latin", "encoding": "latin1"})).unwrap();
    assert_eq!((&latin["content"], &latin["encoding"]), (&json!("café\n"), &json!("latin1")));
    let range = place.call(&ReadFile, json!({"path": "latin", "encoding": "latin1", "start_line": 1})).unwrap();
    assert_eq!(range["content"], json!("café\n"));
    let bytes = place.call(&ReadFile, json!({"path": "latin", "encoding": "base64"})).unwrap();
    assert_eq!((&bytes["content"], &bytes["size"]), (&json!("Y2Fm6Qo="), &json!(5)));
}

#[test]
fn a_folder_is_no_file() {
    let place = Place::new();
    place.folder("d");
    assert_eq!(place.call(&ReadFile, json!({"path": "d"})).unwrap_err().failure.code, Code::NotAFile);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terabyte_of_nothing_is_refused_without_reading_it() {
    let place = Place::new();
    place.put("sparse", "");
    std::fs::OpenOptions::new().write(true).open(place.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    let code = |args: Value| place.call(&ReadFile, args).unwrap_err().failure.code;
    assert_eq!(code(json!({"path": "sparse"})), Code::FileTooLarge);
    assert_eq!(code(json!({"path": "sparse", "start_line": 1})), Code::BinaryFile);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_a_size_is_read_and_capped() {
    let mut limits = Limits::default();
    let target = crate::workspace::resolve_outside(std::path::Path::new("/proc/self/maps")).unwrap();
    assert_eq!(target.identity().bytes, 0);
    assert!(!target.read_all(limits.read_bytes).unwrap().is_empty());
    limits.read_bytes = 10;
    assert_eq!(Failure::from(target.read_all(limits.read_bytes).unwrap_err()).code, Code::FileTooLarge);
}
