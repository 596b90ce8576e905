//! What stands where a secret would stand: `your-key-here`, `xxxxxxxx`, `<token>`, `${DB_PASS}`, a documented example.
//!
//! Only a value that is one as a whole or for the most part. A hint somewhere within a value says nothing: `todo` stands by
//! chance in one of some ten thousand keys, and people make passwords of words.

/// One of these says that the value is none, if most of the value is made of such words.
const WORDS: &[&str] =
    &["changeme", "dummy", "example", "examples", "insert", "masked", "placeholder", "redacted", "todo", "your"];
/// What such values are made of besides.
const COMPANIONS: &[&str] = &[
    "a",
    "access",
    "api",
    "auth",
    "change",
    "client",
    "code",
    "db",
    "goes",
    "here",
    "id",
    "in",
    "it",
    "key",
    "me",
    "my",
    "or",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "private",
    "pwd",
    "replace",
    "secret",
    "service",
    "string",
    "the",
    "this",
    "to",
    "token",
    "value",
    "with",
];
/// What AWS writes in its documentation, and everybody after it.
const DOCUMENTED: &[&str] = &[
    "AIDAIOSFODNN7EXAMPLE",
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAI44QH8DHBEXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "ASIAI44QH8DHBEXAMPLE",
    "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
];
/// A sign that is repeated as often as this stands for something.
const REPEATED: usize = 4;
/// What brackets may hold that stand for a value.
const BRACKETS: [(&str, &str); 6] = [("${", "}"), ("$(", ")"), ("{{", "}}"), ("%(", ")"), ("<", ">"), ("{", "}")];

/// Whether the text is a stand-in: a variable, a hint, a run of one sign.
pub(super) fn is_placeholder(text: &str) -> bool {
    DOCUMENTED.contains(&text) || is_reference(text) || is_hint(text)
}

/// `$DB_PASS`, `process.env.DB_PASS`, `os.environ[…]`, `<<END`: the name of what holds the value; `{aes}…`: the value
/// under another key.
fn is_reference(text: &str) -> bool {
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-/>[](){}'\", ".contains(&byte));
    let is_marked = text.strip_prefix('{').and_then(|rest| rest.split_once('}')).is_some_and(|(mark, _)| {
        mark.starts_with(|first: char| first.is_ascii_lowercase())
            && mark.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    if text.starts_with("<<") || is_marked {
        return true;
    }
    if let Some(name) = text.strip_prefix('$') {
        return name.starts_with(|first: char| first.is_ascii_alphabetic() || "_{(".contains(first)) && is_name(name);
    }
    let lower = text.to_ascii_lowercase();
    let begins_at =
        |at: usize| !lower.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let speaks_of = |word: &&str| lower.match_indices(*word).any(|(at, _)| begins_at(at));
    ["env.", "environ", "getenv", "secrets."].iter().any(speaks_of) && is_name(text)
}

/// Whether hints make up more than half of it and the rest is plain words or figures.
fn is_hint(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut hint = vec![false; bytes.len()];
    let mut is_told = mark_brackets(text, &mut hint);
    is_told |= mark_runs(bytes, &mut hint);
    is_told |= mark_words(bytes, &mut hint);
    if !is_told {
        return false;
    }
    let is_joint = |byte: u8| b"-_./:, ".contains(&byte);
    let told = bytes.iter().zip(&hint).filter(|(byte, is_hint)| **is_hint || is_joint(**byte)).count();
    told * 2 > bytes.len() && !has_odd_rest(bytes, &hint, is_joint)
}

/// Whether what is no hint looks made by chance: letters and figures in one word, or other signs.
fn has_odd_rest(bytes: &[u8], hint: &[bool], is_joint: impl Fn(u8) -> bool) -> bool {
    const SHORT: usize = 2;
    let signs: Vec<(u8, bool)> = bytes.iter().copied().zip(hint.iter().copied()).collect();
    signs.split(|(byte, is_hint)| !is_hint && is_joint(*byte)).any(|word| {
        let rest: Vec<u8> = word.iter().filter(|(_, is_hint)| !is_hint).map(|(byte, _)| *byte).collect();
        let has = |kind: fn(&u8) -> bool| rest.iter().any(kind);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        has(|byte| !byte.is_ascii_alphanumeric()) || (is_mixed && rest.len() > SHORT)
    })
}

/// `<key>`, `${KEY}`, `{{ key }}`: with what they hold.
fn mark_brackets(text: &str, hint: &mut [bool]) -> bool {
    let mut is_told = false;
    for (open, close) in BRACKETS {
        let mut from = 0;
        while let Some(start) = text.get(from..).and_then(|rest| rest.find(open)).map(|at| from + at) {
            let Some(end) = text.get(start..).and_then(|rest| rest.find(close)).map(|at| start + at + close.len())
            else {
                break;
            };
            hint.iter_mut().take(end).skip(start).for_each(|sign| *sign = true);
            is_told = true;
            from = end;
        }
    }
    is_told
}

/// `xxxx`, `****`, `....`
fn mark_runs(bytes: &[u8], hint: &mut [bool]) -> bool {
    let mut is_told = false;
    let mut start = 0;
    for run in bytes.chunk_by(u8::eq_ignore_ascii_case) {
        if run.len() >= REPEATED {
            hint.iter_mut().skip(start).take(run.len()).for_each(|sign| *sign = true);
            is_told = true;
        }
        start += run.len();
    }
    is_told
}

/// Words in a row of letters that is made of them: `your`, `YourApiKeyHere`, `changeme`. `todosJuntos` is not.
fn mark_words(bytes: &[u8], hint: &mut [bool]) -> bool {
    let mut is_told = false;
    let mut start = 0;
    for part in bytes.chunk_by(|left, right| {
        let is_next_word = left.is_ascii_lowercase() && right.is_ascii_uppercase();
        left.is_ascii_alphabetic() && right.is_ascii_alphabetic() && !is_next_word
    }) {
        let word = String::from_utf8_lossy(part).to_ascii_lowercase();
        if let Some(has_word) = made_of_hints(&word) {
            hint.iter_mut().skip(start).take(part.len()).for_each(|sign| *sign = true);
            is_told |= has_word;
        }
        start += part.len();
    }
    is_told
}

/// Whether a row of small letters can be taken apart into the words of both lists, and whether one of the first is among
/// them; `None` where it cannot.
fn made_of_hints(row: &str) -> Option<bool> {
    const LONGEST: usize = 64;
    if row.is_empty() || row.len() > LONGEST || !row.is_ascii() {
        return None;
    }
    // What can be made of the first letters, for every count of them.
    let mut made: Vec<Option<bool>> = vec![None; row.len() + 1];
    if let Some(first) = made.first_mut() {
        *first = Some(false);
    }
    for end in 1..=row.len() {
        let so_far = row.get(..end).unwrap_or_default();
        let with = |word: &&'static str, is_word: bool| {
            let before = made.get(so_far.strip_suffix(*word)?.len()).copied().flatten()?;
            Some(before || is_word)
        };
        let words = WORDS.iter().filter_map(|word| with(word, true));
        let best = words.chain(COMPANIONS.iter().filter_map(|word| with(word, false))).max();
        if let Some(slot) = made.get_mut(end) {
            *slot = best;
        }
    }
    made.last().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;
    use super::*;

    #[test]
    fn what_is_a_stand_in_as_a_whole_or_for_the_most_part_is_one() {
        for text in [
            "your-api-key-here",
            "YOUR_API_KEY",
            "yourPasswordHere",
            "YourApiKey123",
            "your_password_1",
            "changeme",
            "change-me-changeme",
            "changeme123",
            "example",
            "example1",
            "dummy",
            "dummy-key-12",
            "TODO",
            "insert-token-here",
            "INSERT_KEY_2",
            "xxxxxxxxxxxx",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "sk-ant-api03-xxxxxxxxxxxxxxxxxxxx",
            "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX12",
            "AKIAXXXXXXXXXXXXXXXX",
            "********",
            "redacted",
            "masked1",
            "<password>",
            "<your-token-2>",
            "sk-<your key 1>",
            "${DB_PASS1}",
            "{{ db_pass_2 }}",
            "%(db_pass1)s",
            "$DB_PASS1",
            "$(cat pass1)",
            "{password1}",
            "process.env.DB_PASS1",
            "os.environ['DB_1']",
            "secrets.DB_PASS1",
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn a_hint_somewhere_in_a_value_hides_it_from_nobody() {
        for text in [
            "todosJuntos7X",
            "insertCoin77",
            "Reinserted#9Zq",
            "ToDoList2024!",
            "Dummy-Pa55-q9",
            "exampleUser#91",
            "Kx.....9Lq",
            "Kxxxxx9Lqm2",
            "$tr0ngPa55!",
            "Kx<9Lq2mm",
            "Pa{9}Lq2mmK",
            "9kenv.Lq2",
            "yourMom77#",
            "q7MaskedZ2",
            "ghp_wXKWbpL6axXXxvfKq2ZnR8sT4uYc1DeF7gH0",
            "AKIAQ3TODO7KXLM2WPRZ",
            "Zq7-${A}-Lm2XwT9kd",
            "my-pass-Zq7Lm2-todo",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn keys_with_a_word_in_them_and_keys_of_letters_alone_are_masked() {
        let body = "Zq7Lm2XwT9kdRb4Yc1VnP8sGh3Jf6Ka5";
        for word in ["todo", "ToDo", "insert", "dummy", "example", "xxxx", "xXXx", "masked", "redacted"] {
            let body = format!("{}{word}{}", &body[..16], &body[16..]);
            for key in
                [format!("ghp_{body}"), format!("sk-proj-{body}"), format!("sk_live_{body}"), format!("glpat-{body}")]
            {
                let text = format!("token = {key}\n");
                assert_eq!(find_secrets(&text).len(), 1, "{text}");
            }
        }
        for (text, count) in [
            ("id AKIAQKTZLMWPRBVXNDJY here", 1),
            ("aws_access_key_id = ASIAQKTZLMWPRBVXNDJY", 1),
            ("id AKIAIOSFODNN7EXAMPLE here", 0),
            ("id AKIAXXXXXXXXXXXXXXXX here", 0),
            ("password = \"todosJuntos7X\"", 1),
            ("password = \"Kx.....9Lq\"", 1),
            ("password = \"your-password-1\"", 0),
        ] {
            assert_eq!(find_secrets(text).len(), count, "{text}");
        }
    }
}
