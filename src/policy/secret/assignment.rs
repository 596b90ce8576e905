//! Values of names that speak of secrets: `password=`, `DB_PASS=`, `api_key:`, `"clientSecret": "…"`, `密码：`, in quotes with
//! spaces in them too.

use std::sync::LazyLock;

use regex::Regex;

use super::random::{is_code_name, is_letter_jumble, is_notation, is_ordinary, is_password, is_phrase, is_random};
use super::{Secret, SecretKind};

/// Words that such a name ends with.
const WORDS: &str = r"password|passwd|passphrase|passcode|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|credential|authorization|密码|口令|密钥|令牌|私钥|密碼|パスワード|비밀번호|passwort|kennwort|mot de passe|contrase(?:ñ|n)a|senha|wachtwoord|пароль";
/// What may follow the word.
const ENDINGS: &str =
    r"s?(?:[_-]?(?:key|id|value|base|key[_-]base|hash|prod|production|dev|test|live|staging|v?[0-9]{1,2}))?";
/// Words that say so only where they stand alone or as the last of several: `DB_PASS`, `dbPw`, and no `bypass`.
const SHORT_WORDS: &str = r"(?:(?-u:\b)|_)(?:pass|pswd|pw|psk)|(?-i:[a-z0-9](?:Pass|Pw))";
const QUOTE: &str = r#"(?:\\?["'`])?"#;
const EQUALS: &str = r"(?::=|=>|==|=|:|：)";
/// The type of what is declared, as Rust, TypeScript, Go and C write it; then what joins.
const DECLARED: &str =
    r"(?:\s*:\s*[A-Za-z&_][A-Za-z0-9_&<>'.|? \t]{0,60}=|[ \t]+string[ \t]*=|(?:\[[0-9]{0,6}\])?\s*(?::=|=>|==|=|:|：))";
/// A value may stand on the next line.
const GOES_ON: &str = r"(?:\\\r?\n\s*)?";

/// A name that speaks of secrets, whatever stands before it.
pub(super) static NAME: LazyLock<String> = LazyLock::new(|| format!("(?:(?:{WORDS}){ENDINGS}|{SHORT_WORDS})"));
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = &*NAME;
    let joint = format!(r"\s*{EQUALS}\s*{GOES_ON}|\s+(?:is|was)\s+|\s*[是为]\s*[：:]?\s*");
    let value = r#"([^\s\x00-\x1f"'`\\,;(){}\[\]<>，；：。“”]{6,512})"#;
    Regex::new(&format!("(?i)({name}){QUOTE}({joint}){QUOTE}{value}")).ok()
});
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = &*NAME;
    let value = r#"(\\?["'`])([^"'`\\\x00-\x1f]{6,200})"#;
    Regex::new(&format!(r"(?i)({name}){QUOTE}{DECLARED}\s*{GOES_ON}\(?{value}")).ok()
});
/// Between quotes with other quotes or a backslash inside.
static ESCAPED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = &*NAME;
    let value = r#"(?:"((?:[^"\\\x00-\x1f]|\\[^\x00-\x1f]){6,200})"|'((?:[^'\\\x00-\x1f]|\\[^\x00-\x1f]){6,200})')"#;
    Regex::new(&format!(r"(?i)({name}){QUOTE}{DECLARED}\s*{GOES_ON}{value}")).ok()
});
/// A line of a file of settings that is nothing else: its value ends where the line does.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let begin = r"^[ \t]*(?:export[ \t]+|set[ \t]+|-[ \t]+)?[a-z0-9_.-]{0,80}?";
    let value = r#"([^\s"'`\\(){}\[\]<>;,]*[;,][^\s"'`\\(){}\[\]<>=:]{1,200})"#;
    Regex::new(&format!(r"(?im){begin}({})[ \t]*[=:][ \t]*{value}[ \t]*\r?$", *NAME)).ok()
});
/// Words that a person chose to remember, without quotes, to the end of their line.
static PHRASE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = "(?:pass|seed|recovery|mnemonic)[_ -]?phrase|mnemonic";
    let words = "([a-z0-9-]{1,20}(?:[ \t]+[a-z0-9-]{1,20}){2,24})";
    Regex::new(&format!(r"(?im)(?:{name}){QUOTE}[ \t]*[:=][ \t]*{QUOTE}{words}{QUOTE}[ \t,]*\r?$")).ok()
});
static WHOLE_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i){}\z", *NAME)).ok());

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// As in a file of settings.
    Sign,
    /// As in a sentence, where many things may be said of a password.
    Word,
}

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for hit in ASSIGNED.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(name), Some(joint), Some(written)) = (hit.get(1), hit.get(2), hit.get(3)) else { continue };
        let is_said = !joint.as_str().contains([':', '=', '：']);
        let value =
            written.as_str().trim_end_matches(|end| matches!(end, '.' | ':' | '?' | '&') || (is_said && end == '!'));
        // A query's next parameter is none of the value.
        let value = value.split_once('&').filter(|(_, next)| next.contains('=')).map_or(value, |(value, _)| value);
        let is_call = text.get(written.end()..).is_some_and(|rest| rest.starts_with('(')) && is_dotted_name(value);
        let is_outcome = name.as_str() == "PASS" && joint.as_str().trim() == ":";
        let joint = if is_said { Joint::Word } else { Joint::Sign };
        if !is_call && !is_outcome && fits(name.as_str(), joint, value) {
            found.push(Secret { range: written.start()..written.start() + value.len(), kind: SecretKind::Password });
        }
    }
    for hit in QUOTED.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(name), Some(quote), Some(value)) = (hit.get(1), hit.get(2), hit.get(3)) else { continue };
        let is_closed = text.get(value.end()..).is_some_and(|rest| rest.starts_with(quote.as_str()));
        if is_closed && is_secret_value(name.as_str(), value.as_str()) {
            found.push(Secret { range: value.range(), kind: SecretKind::Password });
        }
    }
    for hit in ESCAPED.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2).or_else(|| hit.get(3))) else { continue };
        if value.as_str().contains(['\\', '"', '\'', '`']) && is_secret_value(name.as_str(), value.as_str()) {
            found.push(Secret { range: value.range(), kind: SecretKind::Password });
        }
    }
    for hit in LINE.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(name), Some(written)) = (hit.get(1), hit.get(2)) else { continue };
        let value = written.as_str().trim_end_matches([';', ',', '.']);
        if value.contains([';', ',']) && fits(name.as_str(), Joint::Sign, value) && !is_ordinary_list(value) {
            found.push(Secret { range: written.start()..written.start() + value.len(), kind: SecretKind::Password });
        }
    }
    let phrases = PHRASE.iter().flat_map(|pattern| pattern.captures_iter(text)).filter_map(|hit| hit.get(1));
    found.extend(
        phrases
            .filter(|words| is_phrase(words.as_str()))
            .map(|words| Secret { range: words.range(), kind: SecretKind::Password }),
    );
    found
}

fn fits(name: &str, joint: Joint, value: &str) -> bool {
    let is_any = match (joint, kind_of(name)) {
        (Joint::Word, _) => is_random(value) && !is_ordinary(value),
        (Joint::Sign, Named::Shortly) => is_password(value) && !is_ordinary(value),
        (Joint::Sign, Named::Password) => is_password(value),
        (Joint::Sign, Named::Key) => is_random(value),
    };
    let is_any = is_any || (joint == Joint::Sign && is_letter_jumble(value));
    is_any && !is_code_name(value) && !is_notation(value)
}

/// `a1,b2`: several ordinary words.
fn is_ordinary_list(value: &str) -> bool {
    value.split([';', ',']).all(is_ordinary)
}

/// What a name promises.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// What a person chose, which may be short.
    Password,
    /// The same by a word that means other things too.
    Shortly,
    /// What a program made.
    Key,
}

/// What tells the name of something that a person chose, in several languages.
const PASSWORDS: [&str; 15] = [
    "pass",
    "pwd",
    "pw",
    "pswd",
    "psk",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "kennwort",
    "contrase",
    "senha",
    "wachtwoord",
    "пароль",
];

fn kind_of(name: &str) -> Named {
    let lower = name.to_lowercase();
    let is_password = PASSWORDS.iter().any(|word| lower.contains(word));
    match (["pass", "pw", "pswd", "psk"].contains(&lower.as_str()), is_password) {
        (true, _) => Named::Shortly,
        (false, true) => Named::Password,
        (false, false) => Named::Key,
    }
}

/// `hashlib.sha256`: what is called.
fn is_dotted_name(text: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    text.split(['.', ':']).all(is_word)
}

/// Whether the value of a field with this name is a secret by the name alone, should it look random.
pub fn is_secret_name(name: &str) -> bool {
    WHOLE_NAME.as_ref().is_some_and(|pattern| pattern.is_match(name))
}

/// Whether the whole value fits a name that speaks of secrets.
pub(super) fn is_secret_value(name: &str, value: &str) -> bool {
    if value.len() > 512 {
        return false;
    }
    if value.contains(char::is_whitespace) {
        let holds_digit = value.bytes().any(|byte| byte.is_ascii_digit());
        let is_wordy = name.to_ascii_lowercase().contains("phrase");
        return kind_of(name) != Named::Key && (holds_digit || is_wordy) && is_phrase(value);
    }
    fits(name, Joint::Sign, value)
}
