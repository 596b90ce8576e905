//! Whether a text looks made by chance rather than by a person for people.

use super::placeholder::is_placeholder;

/// Whether the text could be a password or a key: long enough, of several kinds of signs, few of them repeated.
pub(super) fn is_random(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
    let (lower, upper) = (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase));
    let (digit, sign) = (has(u8::is_ascii_digit), has(u8::is_ascii_punctuation));
    let count = [lower, upper, digit, sign].into_iter().filter(|has| *has).count();
    // Without a digit it must hold everything else: words and names hold less.
    let is_mixed = digit || (sign && lower && upper && !is_name(text));
    text.len() >= 8
        && count >= 2
        && is_mixed
        && is_mostly_ascii(text)
        && entropy(text) >= 2.7
        && !is_placeholder(text)
        && !is_path(text)
}

/// Whether the text could be what a person chose as a password: it may be shorter than what a program makes.
pub(super) fn is_password(text: &str) -> bool {
    const SHORTEST: usize = 6;
    let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let is_short = (SHORTEST..12).contains(&text.len()) && is_mixed && entropy(text) >= 2.1;
    let is_short = is_short && is_mostly_ascii(text) && !is_placeholder(text) && !is_path(text);
    (is_random(text) || is_short) && !is_measure(text)
}

/// `1024.5ms`, `v1.2.3`: how much, how often, which.
fn is_measure(text: &str) -> bool {
    let figures = text.trim_start_matches('v').trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    text.len() - figures.len() <= 4 && figures.bytes().all(|byte| byte.is_ascii_digit() || b".,:/-+".contains(&byte))
}

/// Whether several words are a phrase that somebody remembers, and no sentence of a program about one.
pub(super) fn is_phrase(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let is_plain = |word: &String| {
        word.len() <= 24
            && word.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>{}[]".contains(&byte))
            && !SENTENCE_WORDS.contains(&word.trim_end_matches([',', '.', ':', '!', '?', ';']))
            && !["pass", "pwd", "kennwort", "letter", "character", "digit"].iter().any(|part| word.contains(part))
    };
    let is_sentence = text.trim_end().ends_with(['.', ':', '?', '!', ',']);
    (2..=25).contains(&words.len()) && !is_sentence && words.iter().all(is_plain) && !is_placeholder(text)
}

/// What sentences are made of, and phrases to remember are not.
const SENTENCE_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "your",
    "you",
    "my",
    "must",
    "should",
    "can",
    "enter",
    "type",
    "please",
    "is",
    "are",
    "was",
    "be",
    "to",
    "of",
    "and",
    "or",
    "not",
    "no",
    "for",
    "with",
    "at",
    "by",
    "as",
    "least",
    "new",
    "old",
    "current",
    "confirm",
    "forgot",
    "forgotten",
    "reset",
    "change",
    "invalid",
    "wrong",
    "incorrect",
    "required",
    "missing",
    "again",
    "here",
    "in",
    "on",
    "this",
    "that",
    "if",
    "it",
    "its",
    "from",
    "min",
    "max",
    "minimum",
    "more",
    "than",
    "does",
    "has",
    "have",
    "use",
    "used",
    "see",
    "der",
    "die",
    "das",
    "und",
    "oder",
    "ihr",
    "bitte",
    "mindestens",
    "le",
    "la",
    "les",
    "votre",
    "de",
    "su",
    "el",
    "string",
    "optional",
    "default",
    "none",
    "null",
];

/// Letters of both cases and nothing else, which no words make up: `oLDzbLtCGDMw`, and no `accessTokenName`.
pub(super) fn is_letter_jumble(text: &str) -> bool {
    const SHORTEST: usize = 12;
    if text.len() < SHORTEST || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) || entropy(text) < 3.0 {
        return false;
    }
    // A word begins at a capital before a small letter, and can be spoken.
    let mut odd_words = 0;
    let mut has_vowel = true;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase) {
            odd_words += usize::from(!has_vowel);
            has_vowel = false;
        }
        has_vowel |= b"aeiouy".contains(&byte.to_ascii_lowercase());
    }
    odd_words + usize::from(!has_vowel) >= 2
}

/// `1*tchar`, `*(ALPHA`: a rule of a grammar; `^(?=.*[0-9])`, `\\d{8,}`: what a text is matched with; `C:\\keys`: a path.
/// `&TokenBuffer`, `&core::Text`: a type.
pub(super) fn is_notation(text: &str) -> bool {
    let is_type = text
        .strip_prefix('&')
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_:".contains(&byte)));
    let repeated = text.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('*');
    let repeated = repeated.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    is_type
        || repeated
            .is_some_and(|rule| rule.len() > 1 && rule.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-'))
        || ["(?", "\\d", "\\w", "\\s", "[a-z", "[A-Z", "[0-9", ":\\"].iter().any(|part| text.contains(part))
}

/// Not words of another script about a password.
fn is_mostly_ascii(text: &str) -> bool {
    text.chars().filter(char::is_ascii).count() * 2 > text.chars().count()
}

/// Whether a text of several kinds of signs could stand in any other text by chance: a date, a version, an address in
/// figures, words with a number of at most two figures behind them (`windows10`, `utf8-text`).
pub(super) fn is_ordinary(text: &str) -> bool {
    let is_joint = |c: char| matches!(c, '.' | '-' | '_' | '/' | ':');
    text.split(is_joint).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let small = word.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or(word);
        let is_word = small.bytes().all(|byte| byte.is_ascii_lowercase());
        word.is_empty()
            || ((is_word || word.bytes().all(|byte| byte.is_ascii_uppercase())) && part.len() <= word.len() + 2)
    })
}

/// `some.name-of_words`: letters in groups.
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'-' | b'_' | b'/' | b':'))
}

/// A name of code: `config.apiKey2`, `MY_TOKEN_V2`, `self.token1`.
pub(super) fn is_code_name(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_constant = text.contains('_') && !text.bytes().any(|byte| byte.is_ascii_lowercase());
    digits <= 2 && text.split('.').all(is_word) && (text.contains('.') || is_constant)
}

fn is_path(text: &str) -> bool {
    text.starts_with("./")
        || text.starts_with("~/")
        || text.contains("://")
        || (text.starts_with('/') && text.len() < 60)
}

/// Shannon's entropy, in bits a byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = text.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
