//! Letters and signs that pass for ASCII, found by the confusables of UTS #39. A word deceives where every letter of it
//! that could give its script away has an ASCII twin: `арр` does, `привет` does not.
//!
//! Must not judge what is not seen at all: that is `display`'s.

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_script::{Script, UnicodeScript as _};
use unicode_security::confusable_detection::skeleton;

use super::display::{is_default_ignorable, is_mark};

/// What a text is, which decides what is ordinary in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    /// Sentences and the content of files: signs of every language are at home.
    Prose,
    /// Paths, file names, commands, addresses: a sign that passes for an ASCII one changes what is done.
    Name,
}

/// What takes the place of an ASCII sign in code and addresses and has next to no use in prose.
const RARE_IN_PROSE: &str = "\u{37E}\u{2024}\u{2044}\u{2215}\u{29F8}\u{A789}";
/// Signs that stand in ordinary Chinese and Japanese names; wide, so beside a wide letter nobody takes them for ASCII.
/// None of them parts a path or a command.
const CUSTOMARY_BESIDE_WIDE: &str = "，！？：（）～〜〔〕“”‘’";
/// Ordinary letters of Latin alphabets, though one or two others look like them.
const ORDINARY_LATIN: &str = "ÆæŒœıĲĳþŉſ";
/// Signs of ordinary names whose likeness changes nothing (`1920×1080`, `…`).
const ORDINARY_SIGNS: &str = "…×™";
/// Words this short (Russian `с`, `ее`; Greek `να`) are read in the script of the word beside them.
const SHORT_WORD: usize = 2;

/// The byte ranges of look-alikes, in order.
pub(super) fn find_look_alikes(text: &str, surface: Surface) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut words = Vec::new();
    let mut word = Word::default();
    let (mut line, mut before) = (0, None);
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        // What is drawn as nothing does not end a word: it would be the easiest way to part two scripts.
        if is_default_ignorable(c) {
            continue;
        }
        if c.is_alphanumeric() || is_mark(c) {
            word.push(start, c, line, surface);
        } else {
            std::mem::take(&mut word).finish(&mut words);
            line += usize::from(c == '\n');
            let after = chars.peek().map(|(_, c)| *c);
            if is_false_sign(c, [before, after], surface) {
                found.push(start..start + c.len_utf8());
            }
        }
        before = Some(c);
    }
    word.finish(&mut words);
    judge_words(text, &words, surface, &mut found);
    found.sort_by_key(|range| range.start);
    found.dedup();
    found
}

fn judge_words(text: &str, words: &[Word], surface: Surface, found: &mut Vec<Range<usize>>) {
    let of_lines: HashSet<(usize, Script)> =
        words.iter().flat_map(|word| word.own.iter().map(|script| (word.line, *script))).collect();
    for (index, word) in words.iter().enumerate() {
        let beside = |other: Option<&Word>, script: Script| {
            other.is_some_and(|other| {
                let gap = if other.start < word.start { other.end..word.start } else { word.end..other.start };
                other.own.contains(&script) && matches!(text.get(gap), Some(" " | "_" | "-"))
            })
        };
        let is_excused = |script: Script| match surface {
            Surface::Prose => word.has_latin || of_lines.contains(&(word.line, script)),
            Surface::Name => {
                let previous = index.checked_sub(1).and_then(|index| words.get(index));
                let is_short = !word.has_latin && word.twins.len() <= SHORT_WORD;
                is_short && (beside(previous, script) || beside(words.get(index + 1), script))
            }
        };
        let twins = word.twins.iter().filter(|(_, script)| !word.own.contains(script) && !is_excused(*script));
        let twins: Vec<Range<usize>> = twins.map(|(range, _)| range.clone()).collect();
        // A lone Greek letter of a sentence is a sign of a formula.
        let is_formula = surface == Surface::Prose
            && twins.len() == 1
            && word.twins.iter().all(|(_, script)| *script == Script::Greek);
        let twins = if is_formula { Vec::new() } else { twins };
        // Where the look-alikes are shown, the true ASCII beside them may stand.
        let is_shown = |range: &&Range<usize>| twins.is_empty() || range.len() > 1;
        found.extend(word.strangers.iter().filter(is_shown).cloned());
        found.extend(twins);
    }
}

/// A word, as far as its letters matter.
#[derive(Default)]
struct Word {
    start: usize,
    end: usize,
    line: usize,
    latin: Vec<Range<usize>>,
    foreign: Vec<Range<usize>>,
    /// The rarer letters where Latin is mixed with a script of look-alikes.
    strangers: Vec<Range<usize>>,
    /// What passes for ASCII, with its family of scripts.
    twins: Vec<(Range<usize>, Script)>,
    /// The families of letters that nobody takes for ASCII.
    own: Vec<Script>,
    has_latin: bool,
}

impl Word {
    fn push(&mut self, start: usize, c: char, line: usize, surface: Surface) {
        if self.end == 0 {
            (self.start, self.line) = (start, line);
        }
        let range = start..start + c.len_utf8();
        self.end = range.end;
        if c.is_ascii_alphabetic() {
            self.has_latin = true;
            self.latin.push(range);
            return;
        }
        if c.is_ascii() || is_mark(c) {
            if c.is_ascii() {
                self.end_part();
            }
            return;
        }
        let script = c.script();
        if script == Script::Latin {
            self.has_latin = true;
            self.latin.push(range.clone());
        } else if is_foreign(c) {
            self.foreign.push(range.clone());
        } else if !c.is_alphabetic() {
            self.end_part();
        }
        let is_plain = matches!(script, Script::Latin | Script::Common | Script::Inherited);
        let may_pass = match surface {
            Surface::Prose => script == Script::Greek || is_foreign(c),
            Surface::Name => !ORDINARY_LATIN.contains(c),
        };
        if may_pass && looks_ascii(c) {
            self.twins.push((range, family(script)));
        } else if !is_plain && !self.own.contains(&family(script)) {
            self.own.push(family(script));
        }
    }

    /// Where a word mixes Latin with a script of look-alikes, the letters of the rarer one are the strangers. Digits part
    /// a word for this: `API2имя` is two.
    fn end_part(&mut self) {
        let latin = std::mem::take(&mut self.latin);
        let foreign = std::mem::take(&mut self.foreign);
        if !latin.is_empty() && !foreign.is_empty() {
            self.strangers.extend(if foreign.len() > latin.len() { latin } else { foreign });
        }
    }

    fn finish(mut self, words: &mut Vec<Self>) {
        self.end_part();
        if !(self.strangers.is_empty() && self.twins.is_empty() && self.own.is_empty()) {
            words.push(self);
        }
    }
}

/// The scripts that stand in one word as a matter of course count as one; wide Latin letters stand among Han.
const fn family(script: Script) -> Script {
    let stands_among_han = matches!(
        script,
        Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
            | Script::Hangul
            | Script::Latin
            | Script::Common
            | Script::Inherited
    );
    if stands_among_han { Script::Han } else { script }
}

/// Whether a letter or a digit is drawn as ASCII ones are.
fn looks_ascii(c: char) -> bool {
    let mut buffer = [0; 4];
    skeleton(c.encode_utf8(&mut buffer)).all(|c| c.is_ascii())
}

/// Whether a sign passes for an ASCII one where it stands.
fn is_false_sign(c: char, beside: [Option<char>; 2], surface: Surface) -> bool {
    if c.is_ascii() {
        return false;
    }
    match surface {
        Surface::Prose => RARE_IN_PROSE.contains(c),
        Surface::Name => {
            let is_beside = |test: fn(char) -> bool| beside.into_iter().flatten().any(test);
            let is_customary = ORDINARY_SIGNS.contains(c)
                || (CUSTOMARY_BESIDE_WIDE.contains(c) && is_beside(is_wide))
                // The apostrophe of a word (Ukrainian `сім’я`).
                || (c == '’' && is_beside(|c| c.is_alphabetic() && !c.is_ascii()));
            !is_customary && passes_for_sign(c)
        }
    }
}

/// Whether a sign is drawn as one ASCII character, or holds ASCII punctuation, by its looks or by its compatibility form.
fn passes_for_sign(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    let passes =
        |form: String| form.is_ascii() && (form.len() == 1 || form.bytes().any(|byte| byte.is_ascii_punctuation()));
    passes(skeleton(text).collect()) || passes(text.nfkc().collect())
}

/// Letters of Chinese, Japanese and Korean, and their quotation marks and stops.
fn is_wide(c: char) -> bool {
    matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Bopomofo | Script::Hangul)
        || matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | 'ー')
}

/// Letters that pass for Latin ones. Chinese, Japanese, Korean, Arabic, … beside Latin are ordinary; so are the Greek
/// letters of formulas (`Δt`, `μs`), which look like no Latin letter.
fn is_foreign(c: char) -> bool {
    let script = c.script();
    if script == Script::Greek {
        return "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳαγικνορτυχϲάίόύήϊΰϋώ".contains(c);
    }
    matches!(
        script,
        Script::Cyrillic
            | Script::Armenian
            | Script::Cherokee
            | Script::Coptic
            | Script::Lisu
            | Script::Georgian
            | Script::Deseret
            | Script::Glagolitic
            | Script::Osage
            | Script::Warang_Citi
    )
}

#[cfg(test)]
mod tests {
    use crate::policy::{escape, escape_name};

    #[test]
    fn a_word_that_is_wholly_drawn_as_ascii_is_escaped() {
        for (name, escaped) in [
            ("арр.py", "\\u{0430}\\u{0440}\\u{0440}.py"),
            ("аррӏе.com", "\\u{0430}\\u{0440}\\u{0440}\\u{04CF}\\u{0435}.com"),
            ("арр2", "\\u{0430}\\u{0440}\\u{0440}2"),
            ("src/а.rs", "src/\\u{0430}.rs"),
            ("中文арр", "中文\\u{0430}\\u{0440}\\u{0440}"),
            ("данные/арр", "данные/\\u{0430}\\u{0440}\\u{0440}"),
            ("данные арр", "данные \\u{0430}\\u{0440}\\u{0440}"),
            ("ου.txt", "\\u{03BF}\\u{03C5}.txt"),
            ("ΑΡΡ", "\\u{0391}\\u{03A1}\\u{03A1}"),
            ("confiɡ", "confi\\u{0261}"),
            ("éɡ", "é\\u{0261}"),
            ("ｒｍ", "\\u{FF52}\\u{FF4D}"),
            ("𝐫𝐦", "\\u{1D42B}\\u{1D426}"),
            ("subノcode.py", "sub\\u{30CE}code.py"),
            ("fooꓸpy", "foo\\u{A4F8}py"),
            ("foo٠py", "foo\\u{0660}py"),
        ] {
            assert_eq!(escape_name(name, false), escaped, "{name:?}");
        }
    }

    #[test]
    fn every_sign_that_passes_for_ascii_is_escaped_in_a_name() {
        for sign in "\u{2044}\u{2215}\u{29F8}\u{FF0F}\u{FF0E}\u{FF1B}\u{37E}\u{2024}\u{A789}\u{2025}\u{FF3C}\u{2216}\u{FF5C}\u{FF06}\
                     \u{FF04}\u{FF1E}\u{2010}\u{2011}\u{2013}\u{2212}\u{2236}\u{FE55}\u{2100}\u{207D}\u{FF40}\u{201A}\u{2223}\u{FF20}\
                     \u{FF03}\u{FF02}\u{FE52}"
            .chars()
        {
            for (before, after) in [("sub", "code.py"), ("报告", "最终"), ("", ""), ("данные", "файл")] {
                let escaped = format!("{before}\\u{{{:04X}}}{after}", u32::from(sign));
                assert_eq!(escape_name(&format!("{before}{sign}{after}"), false), escaped, "U+{:04X}", u32::from(sign));
            }
        }
        assert_eq!(escape_name("rm（1）", false), "rm\\u{FF08}1\\u{FF09}");
    }

    #[test]
    fn ordinary_names_of_every_language_stay_readable() {
        for name in [
            "файл с данными.txt",
            "О_проекте-и-о-людях.md",
            "имя/привет/ордер.rs",
            "сім’я.txt",
            "ёлка й.txt",
            "Αρχείο.txt",
            "πώς να τρέξω.md",
            "/projects/报告（最终版）.docx",
            "第一章：开始，完。《书》.md",
            "“引用”的话.txt",
            "ノート.txt",
            "日本語ＮＨＫ番組１.txt",
            "一〇二.md",
            "한국어 문서.hwp",
            "naïve café Straße Æble œuvre kapı þing.txt",
            "1920×1080 … 2ª m².png",
            "مرحبا.txt",
            "हिन्दी पाठ",
            "שלום.txt",
            "user_имя",
            "👍🏽 ✓ → ·",
            "git commit -m '修复：路径（一）'",
        ] {
            assert_eq!(escape_name(name, false), name);
        }
    }

    #[test]
    fn prose_of_every_language_stays_readable() {
        for text in [
            "你好，世界！这是（一个）测试；参见：第／章．",
            "日本語の「文」、ＡＢＣ。ノ",
            "Он с ней, а она у окна: сор, ухо, хор.",
            "Το ου και το να; όχι.",
            "let α = 3 and σx = ρ",
            "It’s “quoted” – really — 5 − 3 = 2, 1∶2",
        ] {
            assert_eq!(escape(text, true), text);
        }
    }

    #[test]
    fn code_does_not_hide_a_look_alike_among_prose() {
        for (text, escaped) in [
            ("import арр\n# привет", "import \\u{0430}\\u{0440}\\u{0440}\n# привет"),
            ("let а = 1", "let \\u{0430} = 1"),
            ("return\u{37E}", "return\\u{037E}"),
            ("https://accounts.google.com∕login", "https://accounts.google.com\\u{2215}login"),
        ] {
            assert_eq!(escape(text, true), escaped);
        }
    }
}
