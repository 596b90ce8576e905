//! The escape function: what is drawn shows no invisible character, and nothing is taken out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nod::policy::{
    Segment, escape, escape_controls, escape_name, find_deceptive, find_deceptive_name, segments, segments_name,
};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

fuzz_target!(|text: &str| {
    for (is_multiline, is_name) in [(false, false), (true, false), (false, true), (true, true)] {
        let drawn = if is_name { escape_name(text, is_multiline) } else { escape(text, is_multiline) };
        for c in drawn.chars() {
            let may_stay = is_multiline && matches!(c, '\n' | '\t');
            assert!(may_stay || !is_invisible(c), "{c:?} of {text:?} is not seen");
        }
        let parts = if is_name { segments_name(text, is_multiline) } else { segments(text, is_multiline) };
        let joined: String = parts
            .into_iter()
            .map(|segment| match segment {
                Segment::Plain(plain) => plain.to_owned(),
                Segment::Escaped(escaped) => escaped,
            })
            .collect();
        assert_eq!(joined, drawn);
        let mut end = 0;
        let found = if is_name { find_deceptive_name(text, is_multiline) } else { find_deceptive(text, is_multiline) };
        for deception in found {
            assert!(deception.range.start >= end && !deception.range.is_empty());
            end = deception.range.end;
            assert!(deception.escape.is_ascii());
        }
        if !text.contains('\\') {
            assert_eq!(unescape(&drawn), text, "something was taken out");
        }
    }
    let prose = escape_controls(text);
    assert!(!prose.chars().any(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || turns(c)), "{prose:?}");
    if !text.contains('\\') {
        assert_eq!(unescape(&prose), text);
    }
});

/// Not seen, or taken for another space; by the categories of Unicode and the list of default-ignorable characters.
fn is_invisible(c: char) -> bool {
    use GeneralCategory as Category;
    let by_category = matches!(
        c.general_category(),
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::PrivateUse
            | Category::Unassigned
            | Category::Surrogate
    );
    let odd_space = c.general_category() == Category::SpaceSeparator && c != ' ';
    let ignorable = [
        0x34F..=0x34F,
        0x115F..=0x1160,
        0x17B4..=0x17B5,
        0x180B..=0x180F,
        0x2065..=0x2065,
        0x2800..=0x2800,
        0x3164..=0x3164,
        0xFE00..=0xFE0F,
        0xFFA0..=0xFFA0,
        0xE0000..=0xE0FFF,
    ];
    by_category || odd_space || ignorable.iter().any(|range| range.contains(&u32::from(c)))
}

fn turns(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Reads escapes back.
fn unescape(drawn: &str) -> String {
    let mut text = String::new();
    let mut rest = drawn;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let (c, after) = match after.as_bytes()[0] {
            b'n' => ('\n', &after[1..]),
            b'r' => ('\r', &after[1..]),
            b't' => ('\t', &after[1..]),
            _ => {
                let (digits, after) = after.strip_prefix("u{").unwrap().split_once('}').unwrap();
                (char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap(), after)
            }
        };
        text.push(c);
        rest = after;
    }
    text + rest
}
