//! Text that tries to look like something else, made visible. One function for modal, card, log, notification
//! and terminal: it escapes, it never strips.
//!
//! No exceptions, on purpose: emoji joiners and variation selectors are escaped as well. Between what a person nods
//! to and what the bytes say nothing may hide, and a smuggler would hide exactly there.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use url::{Position, Url};

use super::look_alike::{Surface, find_look_alikes};

/// A stretch of text that would deceive if it were drawn as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deception {
    /// Byte range in the original.
    pub range: Range<usize>,
    /// What to draw instead, for example `\u{202E}`.
    pub escape: String,
}

/// A stretch of text as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment<'text> {
    /// As it is.
    Plain(&'text str),
    /// An escape, to be drawn in red.
    Escaped(String),
}

/// The text in the stretches in which it is drawn.
pub fn segments(text: &str, multiline: bool) -> Vec<Segment<'_>> {
    cut(text, find_deceptive(text, multiline))
}

/// The same for a path, a command or an address; see [`find_deceptive_name`].
pub fn segments_name(text: &str, multiline: bool) -> Vec<Segment<'_>> {
    cut(text, find_deceptive_name(text, multiline))
}

fn cut(text: &str, deceptions: Vec<Deception>) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    let mut done = 0;
    for Deception { range, escape } in deceptions {
        push_plain(&mut segments, text.get(done..range.start));
        done = range.end;
        segments.push(Segment::Escaped(escape));
    }
    push_plain(&mut segments, text.get(done..));
    segments
}

fn push_plain<'text>(segments: &mut Vec<Segment<'text>>, plain: Option<&'text str>) {
    if let Some(plain) = plain.filter(|plain| !plain.is_empty()) {
        segments.push(Segment::Plain(plain));
    }
}

/// Every character of category control, format, separator, private, unassigned or default-ignorable, odd spaces and
/// look-alikes of another script in a word. Line breaks and tabs are left alone where `multiline` is set.
pub fn find_deceptive(text: &str, multiline: bool) -> Vec<Deception> {
    find(text, multiline, Surface::Prose)
}

/// The same for what names or does something (path, file name, command, address): words that are wholly drawn as ASCII
/// and signs that pass for ASCII punctuation are deceptive there as well, though prose may hold them.
pub fn find_deceptive_name(text: &str, multiline: bool) -> Vec<Deception> {
    find(text, multiline, Surface::Name)
}

fn find(text: &str, multiline: bool, surface: Surface) -> Vec<Deception> {
    let hidden = text.char_indices().filter(|(_, c)| is_hidden(*c) && !(multiline && matches!(c, '\n' | '\t')));
    let mut found: Vec<Deception> = hidden.map(|(start, c)| deception(start, c)).collect();
    found.extend(piled_marks(text));
    if surface == Surface::Name && !multiline {
        found.extend(outer_spaces(text));
    }
    for range in find_look_alikes(text, surface) {
        let escape = text.get(range.clone()).unwrap_or_default().chars().map(escape_char).collect();
        found.push(Deception { range, escape });
    }
    found.sort_by_key(|deception| deception.range.start);
    // A hidden character may be a look-alike or a piled mark too.
    found.dedup_by(|later, earlier| later.range.start < earlier.range.end);
    found
}

fn deception(start: usize, c: char) -> Deception {
    Deception { range: start..start + c.len_utf8(), escape: escape_char(c) }
}

/// Marks without a letter, the same one twice, and more than four on one letter: they are drawn over each other or over the
/// lines above and below (UTS #39, 5.4).
fn piled_marks(text: &str) -> Vec<Deception> {
    const MOST_MARKS: usize = 4;
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let (mut before, mut marks, mut has_letter) = (None, 0, false);
    for (start, c) in text.char_indices() {
        let stacks = !c.is_ascii()
            && matches!(c.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark);
        if stacks {
            marks += 1;
            if marks > MOST_MARKS || before == Some(c) || !has_letter {
                found.push(deception(start, c));
            }
        } else {
            marks = 0;
            has_letter = !is_hidden(c);
        }
        before = Some(c);
    }
    found
}

/// Spaces at the ends of a name: drawn, they would be nothing.
fn outer_spaces(text: &str) -> Vec<Deception> {
    let head = text.len() - text.trim_start_matches(' ').len();
    let tail = text.trim_end_matches(' ').len().max(head);
    (0..head).chain(tail..text.len()).map(|start| deception(start, ' ')).collect()
}

/// The text with every deception replaced by its escape.
pub fn escape(text: &str, multiline: bool) -> Cow<'_, str> {
    escape_in(text, multiline, Surface::Prose)
}

/// The same for a path, a command or an address; see [`find_deceptive_name`].
pub fn escape_name(text: &str, multiline: bool) -> Cow<'_, str> {
    escape_in(text, multiline, Surface::Name)
}

fn escape_in(text: &str, multiline: bool, surface: Surface) -> Cow<'_, str> {
    // Most text is this.
    let has_outer_spaces = surface == Surface::Name && !multiline && (text.starts_with(' ') || text.ends_with(' '));
    if !has_outer_spaces
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~') || (multiline && matches!(byte, b'\n' | b'\t')))
    {
        return Cow::Borrowed(text);
    }
    let deceptions = find(text, multiline, surface);
    if deceptions.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + deceptions.len() * 8);
    let mut done = 0;
    for Deception { range, escape } in deceptions {
        escaped.push_str(text.get(done..range.start).unwrap_or_default());
        escaped.push_str(&escape);
        done = range.end;
    }
    escaped.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(escaped)
}

/// An address as it is shown before it is opened: a host with letters beyond ASCII in the form that is looked up
/// (`xn--…`), everything else with deceptions as escapes.
pub fn escape_address(address: &str) -> Cow<'_, str> {
    let encoded = encode_host(address);
    match encoded {
        Some(encoded) => Cow::Owned(escape_name(&encoded, false).into_owned()),
        None => escape_name(address, false),
    }
}

/// The address with its host as it is looked up, where it is written otherwise.
pub fn encode_host(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end)?;
    if authority.is_ascii() {
        return None;
    }
    let parsed = Url::parse(address).ok()?;
    let authority = &parsed[Position::BeforeUsername..Position::AfterPort];
    Some(format!("{scheme}://{authority}{rest}"))
}

/// What would command a terminal, turn the direction of a text, or hide words in it: for a model's prose, in which emoji
/// (with their joiners and selectors), wide spaces and several scripts are at home. Line breaks and tabs are left alone.
pub fn find_controls(text: &str) -> Vec<Deception> {
    let controls = text.char_indices().filter(|(_, c)| is_controlling(*c));
    controls.map(|(start, c)| deception(start, c)).collect()
}

/// The text with every one of those replaced by its escape.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_controlling) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_controlling(c) { escaped.push_str(&escape_char(c)) } else { escaped.push(c) }
    }
    Cow::Owned(escaped)
}

fn is_controlling(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{061C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// JSON that means the same and holds nothing that commands a terminal, turns its direction or is drawn as nothing: such
/// characters are `\\uXXXX` in its strings, as two halves above U+FFFF. JSON has none of them anywhere else. Spaces of any
/// width stay: Chinese paragraphs begin with one.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    // Other controls are escapes in every string; outside of one they are the layout.
    let is_space = |c: char| c.general_category() == GeneralCategory::SpaceSeparator;
    let is_raw = |c: char| c >= '\u{7F}' && is_hidden(c) && !is_space(c);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_raw(c) {
            for half in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                write!(escaped, "\\u{half:04x}").ok();
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a name holds a character that cannot be seen at all (odd spaces can be seen, if not told apart), a space at its
/// end or beginning among them.
pub(super) fn holds_unseen(name: &str) -> bool {
    name.starts_with(' ')
        || name.ends_with(' ')
        || name.chars().any(|c| {
            is_default_ignorable(c)
                || matches!(
                    c.general_category(),
                    GeneralCategory::Control
                        | GeneralCategory::Format
                        | GeneralCategory::LineSeparator
                        | GeneralCategory::ParagraphSeparator
                )
        })
}

/// Whether a character is drawn as nothing, as an odd space, or as nobody knows what.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    is_default_ignorable(c)
        // Braille with no dot, a note without a head, two fillers: they look like a space and count as signs.
        || matches!(c, '\u{2800}' | '\u{16FE4}' | '\u{1D159}' | '\u{1DA7F}')
        || matches!(
            c.general_category(),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
                | GeneralCategory::Surrogate
                | GeneralCategory::SpaceSeparator
        )
}

/// `Default_Ignorable_Code_Point` of the Unicode Character Database (DerivedCoreProperties.txt, stable since 4.1).
pub(super) const fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

pub(super) fn is_mark(c: char) -> bool {
    !c.is_ascii()
        && matches!(
            c.general_category(),
            GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark
        )
}

fn escape_char(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        _ => format!("\\u{{{:04X}}}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn prose_keeps_its_emoji_and_scripts_and_shows_what_turns_or_hides_it() {
        for (text, escaped) in [
            ("hi\u{202E}evil", "hi\\u{202E}evil"),
            ("a\u{200B}b\u{2060}c\u{FEFF}", "a\\u{200B}b\\u{2060}c\\u{FEFF}"),
            ("see \u{E0068}\u{E0069}", "see \\u{E0068}\\u{E0069}"),
            (
                "\u{1F469}\u{200D}\u{1F4BB} \u{2714}\u{FE0F} می\u{200C}خواهم\u{3000}中文\n\t",
                "\u{1F469}\u{200D}\u{1F4BB} \u{2714}\u{FE0F} می\u{200C}خواهم\u{3000}中文\n\t",
            ),
        ] {
            assert_eq!(escape_controls(text), escaped, "{text:?}");
        }
    }

    #[test]
    fn each_kind_of_hidden_character_is_drawn_as_an_escape() {
        for (text, escaped) in [
            ("photo\u{202E}gnp.exe", "photo\\u{202E}gnp.exe"),
            ("\u{1B}[2K\rok", "\\u{001B}[2K\\rok"),
            ("a\0b", "a\\u{0000}b"),
            ("bell\u{7}", "bell\\u{0007}"),
            ("del\u{7F}", "del\\u{007F}"),
            ("c1\u{9B}31m", "c1\\u{009B}31m"),
            ("a\u{200B}b", "a\\u{200B}b"),
            ("a\u{2066}b", "a\\u{2066}b"),
            ("a\u{FEFF}b", "a\\u{FEFF}b"),
            ("a\u{AD}b", "a\\u{00AD}b"),
            ("a\u{34F}b", "a\\u{034F}b"),
            ("a\u{FE0F}b", "a\\u{FE0F}b"),
            ("a\u{E0100}b", "a\\u{E0100}b"),
            ("a\u{E0041}b", "a\\u{E0041}b"),
            ("a\u{1D173}b", "a\\u{1D173}b"),
            ("a\u{115F}b", "a\\u{115F}b"),
            ("a\u{3164}b", "a\\u{3164}b"),
            ("a\u{FFA0}b", "a\\u{FFA0}b"),
            ("a\u{2800}b", "a\\u{2800}b"),
            ("a\u{A0}b", "a\\u{00A0}b"),
            ("a\u{202F}b", "a\\u{202F}b"),
            ("a\u{3000}b", "a\\u{3000}b"),
            ("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
            ("a\u{E000}b", "a\\u{E000}b"),
            ("a\u{378}b", "a\\u{0378}b"),
            ("a\u{10FFFF}b", "a\\u{10FFFF}b"),
            ("a\u{17B4}b", "a\\u{17B4}b"),
            ("\u{1F469}\u{200D}\u{1F4BB}", "\u{1F469}\\u{200D}\u{1F4BB}"),
        ] {
            assert_eq!(escape(text, false), escaped, "{text:?}");
            assert_eq!(escape(text, true), escaped, "{text:?}");
        }
    }

    #[test]
    fn line_breaks_and_tabs_stay_in_text_of_several_lines_only() {
        assert_eq!(escape("a\n\tb\r\n", true), "a\n\tb\\r\n");
        assert_eq!(escape("a\n\tb\r\n", false), "a\\n\\tb\\r\\n");
    }

    #[test]
    fn ordinary_text_of_any_language_is_left_alone() {
        for text in [
            "",
            "plain ASCII, with {braces} and \\u{202E} typed out",
            "读取 main.rs 并修改 foo() 函数，用 UTF-8 编码。",
            "API接口v2的JSON配置",
            "日本語テキストとEnglishの混在、カタカナ・ひらがな",
            "한국어 텍스트와 English",
            "привет мир, файл config.toml",
            "user_имя и ИМЯ_user",
            "καλημέρα κόσμε",
            "Δt = 3 μs, λ-calculus, Ωm",
            "مرحبا world",
            "naïve café Straße cafe\u{301}",
            "👍🏽 🇨🇳 ✓ → …",
            "हिन्दी पाठ",
        ] {
            assert_eq!(escape(text, true), text);
            assert!(matches!(escape(text, false), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_word_of_two_scripts_shows_its_strangers() {
        for (text, escaped) in [
            ("\u{441}onfig.toml", "\\u{0441}onfig.toml"),
            ("p\u{430}yp\u{430}l", "p\\u{0430}yp\\u{0430}l"),
            ("привeт", "прив\\u{0065}т"),
            ("g\u{3BF}\u{3BF}gle", "g\\u{03BF}\\u{03BF}gle"),
            ("\u{391}dmin", "\\u{0391}dmin"),
            ("r\u{585}\u{585}t", "r\\u{0585}\\u{0585}t"),
            ("re\u{301}s\u{443}", "re\u{301}s\\u{0443}"),
            ("中文\u{430}dmin", "中文\\u{0430}dmin"),
            ("a\u{200B}\u{430}b", "a\\u{200B}\\u{0430}b"),
        ] {
            assert_eq!(escape(text, false), escaped, "{text:?}");
        }
    }

    #[test]
    fn a_host_is_shown_as_it_is_looked_up() {
        for (address, shown) in [
            ("https://аррӏе.com/login", "https://xn--80ak6aa92e.com/login"),
            ("https://раураӏ.com:8443/a", "https://xn--80aa0cbo65f.com:8443/a"),
            ("https://bücher.example/книга?q=书", "https://xn--bcher-kva.example/книга?q=书"),
            ("https://例え.jp", "https://xn--r8jz45g.jp"),
            ("https://ｇｏｏｇｌｅ.com/", "https://google.com/"),
            ("https://example.com/a／b", "https://example.com/a\\u{FF0F}b"),
            ("https://example.com/报告", "https://example.com/报告"),
            ("mailto:арр@example.com", "mailto:\\u{0430}\\u{0440}\\u{0440}@example.com"),
        ] {
            assert_eq!(escape_address(address), shown, "{address}");
        }
        let shown = escape_address("https://accounts.google.com∕login.evil.com/");
        assert!(shown.is_ascii() && !shown.contains("google.com/"), "{shown}");
    }

    #[test]
    fn segments_are_the_text_in_order() {
        assert_eq!(
            segments("ab\u{202E}cd\u{200B}", false),
            [
                Segment::Plain("ab"),
                Segment::Escaped("\\u{202E}".to_owned()),
                Segment::Plain("cd"),
                Segment::Escaped("\\u{200B}".to_owned()),
            ]
        );
        assert_eq!(segments("", false), []);
        assert_eq!(segments("中文", false), [Segment::Plain("中文")]);
    }

    #[test]
    fn a_space_at_an_end_of_a_name_is_seen_and_one_within_is_left_alone() {
        assert_eq!(escape_name("a.txt ", false), "a.txt\\u{0020}");
        assert_eq!(escape_name("  my notes.txt", false), "\\u{0020}\\u{0020}my notes.txt");
        assert_eq!(escape_name("   ", false), "\\u{0020}\\u{0020}\\u{0020}");
        assert_eq!(escape_name("make all", false), "make all");
        // A line of a command may be indented; prose may end as it likes.
        assert_eq!(escape_name("  make ", true), "  make ");
        assert_eq!(escape(" words ", false), " words ");
        assert!(holds_unseen("a.txt ") && holds_unseen(" a.txt") && !holds_unseen("my notes.txt"));
    }

    #[test]
    fn marks_that_pile_up_or_have_no_letter_are_escaped() {
        let marks = "\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}";
        assert_eq!(escape(&format!("a{marks}b"), true), "a\u{300}\u{301}\u{302}\u{303}\\u{0304}\\u{0305}b");
        assert_eq!(escape("e\u{301}\u{301}", false), "e\u{301}\\u{0301}");
        assert_eq!(escape("\u{301}a", false), "\\u{0301}a");
        assert_eq!(escape("a\n\u{301}", true), "a\n\\u{0301}");
        // Words that are written with several marks.
        for word in ["Vie\u{302}\u{323}t", "ที่นี่", "שָׁלוֹם", "नमस्ते"] {
            assert_eq!(escape(word, false), word);
        }
    }

    #[test]
    fn without_the_guard_the_attack_is_invisible() {
        // The control: the standard library's own test sees none of these.
        let unseen = ['\u{202E}', '\u{2066}', '\u{200B}', '\u{FEFF}', '\u{E0100}', '\u{3164}', '\u{2800}', '\u{A0}']
            .into_iter()
            .chain(['\u{1D159}', '\u{16FE4}', '\u{1DA7F}']);
        assert!(unseen.clone().all(|c| !c.is_control()));
        assert!(unseen.clone().all(is_hidden));
    }

    proptest! {
        #[test]
        fn escape_leaves_no_hidden_character(text in any::<String>(), multiline in any::<bool>()) {
            for escaped in [escape(&text, multiline), escape_name(&text, multiline)] {
                let left = escaped.chars().find(|&c| is_hidden(c) && !(multiline && matches!(c, '\n' | '\t')));
                prop_assert_eq!(left, None);
            }
        }

        #[test]
        fn segments_put_together_are_the_escaped_text(text in any::<String>(), multiline in any::<bool>()) {
            let joined: String = segments(&text, multiline)
                .into_iter()
                .map(|segment| match segment {
                    Segment::Plain(plain) => plain.to_owned(),
                    Segment::Escaped(escape) => escape,
                })
                .collect();
            prop_assert_eq!(joined, escape(&text, multiline));
        }

        #[test]
        fn what_is_not_found_is_kept_byte_for_byte(text in any::<String>()) {
            for found in [find_deceptive(&text, false), find_deceptive_name(&text, false)] {
            prop_assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
            prop_assert!(found.iter().all(|deception| text.get(deception.range.clone()).is_some()));
            }
        }
    }

    #[test]
    fn json_keeps_its_meaning_and_its_layout_and_shows_what_it_hides() {
        let json = "{\n  \"a\": \"x\u{7F}\u{9B}\u{202E}\u{200B}\u{E0100} 中 \u{1F469}\"\n}";
        let expected = "{\n  \"a\": \"x\\u007f\\u009b\\u202e\\u200b\\udb40\\udd00 中 \u{1F469}\"\n}";
        assert_eq!(escape_json(json), expected);
        for untouched in ["{\"a\":\"中\\n\"}", "{\"a\":\"\u{3000}\u{3000}段落\u{A0}%\"}"] {
            assert!(matches!(escape_json(untouched), Cow::Borrowed(_)), "{untouched}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_changed_by_its_way_through_escaped_json(text in any::<String>()) {
            let json = Value::String(text).to_string();
            let escaped = escape_json(&json);
            let is_space = |c: char| c.general_category() == GeneralCategory::SpaceSeparator;
            prop_assert!(!escaped.chars().any(|c| is_hidden(c) && !is_space(c)), "{escaped}");
            prop_assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), serde_json::from_str::<Value>(&json).unwrap());
        }
    }
}
