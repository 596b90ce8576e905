//! What was met once, and stands elsewhere again.

use super::*;

#[test]
fn a_value_keeps_its_placeholder_and_is_sent_only_where_it_was_released() {
    let (first, second) = (format!("ghp_{}", signs(36)), format!("ghp_{}", signs(40)));
    let mut masker = Masker::default();
    let one = masker.value("call_1", &json!({"content": format!("a={first}\nb={second}"), "path": "/projects/a"}));
    assert_eq!(one, json!({"content": "a=«masked: API key #1»\nb=«masked: API key #2»", "path": "/projects/a"}));
    let mut known = masker.secrets();
    for secret in &mut known {
        secret.is_released = secret.number == 2;
    }
    let mut masker = Masker::new(known);
    let two = masker.value("call_2", &json!([first, second, {"token": "Xy12!abcQ9"}]));
    assert_eq!(two, json!(["«masked: API key #1»", second, {"token": "«masked: password #1»"}]));
    let secrets = masker.secrets();
    let shown: Vec<_> =
        secrets.iter().map(|secret| (secret.kind, secret.number, secret.tail.len(), secret.places.len())).collect();
    assert!(shown.contains(&(SecretKind::ApiKey, 1, 4, 2)), "{shown:?}");
    assert!(shown.contains(&(SecretKind::Password, 1, 0, 1)), "a short value shows no part of itself: {shown:?}");
    assert!(secrets.iter().all(|secret| !format!("{secret:?}").contains(&first)));
}

#[test]
fn what_repeats_a_found_value_in_other_words_is_masked_too() {
    let key = format!("sk-{}", signs(48));
    let mut masker = Masker::default();
    masker.text("call", &format!("OPENAI={key}"));
    assert_eq!(masker.known(&format!("I saw x{key}x.")), "I saw x«masked: API key #1»x.");
    assert_eq!(
        masker.known_in(&json!({"command": [format!("echo {key}")]})),
        json!({"command": ["echo «masked: API key #1»"]})
    );
}

#[test]
fn a_short_password_that_was_met_by_its_name_is_known_everywhere() {
    for password in ["Tr0ub4dor&3", "Xy12!abc", "p4ssw0rd", "hunter2024", "Kx9-mQ2z"] {
        let prose = format!("Use {password}, so x{password} will do.");
        let mut masker = Masker::default();
        assert_eq!(masker.text("before", &prose), prose, "nothing is known yet");
        masker.text("call", &format!("password={password}"));
        let expected = "Use «masked: password #1», so x«masked: password #1» will do.";
        assert_eq!(masker.known(&prose), expected);
        assert_eq!(masker.again("before", &prose), expected);
        let secrets = masker.secrets();
        assert_eq!(secrets[0].places, ["before".to_owned(), "call".to_owned()].into());
    }
}

#[test]
fn a_password_of_letters_that_was_met_by_its_name_is_known_as_a_whole_word() {
    for password in ["hunterzwei", "Sommerregen", "12345678", "correct-horse"] {
        let prose = format!(
            "Use {password}, say \"{password}\", \u{1b}[32m{password}\u{1b}[0m.\n{password}\nNo x{password} or {password}s."
        );
        let mut masker = Masker::default();
        assert_eq!(masker.text("before", &prose), prose, "nothing is known yet");
        masker.text("call", &format!("DB_PASSWORD={password}"));
        let mark = "«masked: password #1»";
        let expected = prose.replace(password, mark);
        let expected = expected.replace(&format!("x{mark}"), &format!("x{password}"));
        let expected = expected.replace(&format!("{mark}s"), &format!("{password}s"));
        assert_eq!(masker.known(&prose), expected);
        // Known by its sum alone, it is hidden from a search.
        let again = Masker::new(masker.secrets());
        assert_eq!(again.withheld(&prose).len(), 4, "{password}");
        assert!(again.withheld("Use something else, say 87654321.").is_empty());
        assert!(Masker::default().withheld(&prose).is_empty(), "the control");
    }
    // A word of any text, and what may be a date, only where the name stands.
    for password in ["elephant", "20251130"] {
        let mut masker = Masker::default();
        let shown = masker.text("call", &format!("DB_PASSWORD={password}\nno {password} here")).into_owned();
        assert_eq!(shown, format!("DB_PASSWORD=«masked: password #1»\nno {password} here"));
    }
}

#[test]
fn a_word_that_stands_in_any_text_is_masked_only_where_its_name_stands() {
    for word in
        ["windows10", "Windows10", "version-2", "2025-11-30", "10.0.12.34", "v1.2.3-rc4", "utf8_text", "section_4"]
    {
        let mut masker = Masker::default();
        masker.text("call", &format!("password={word}"));
        let prose = format!("It runs on {word} since then.");
        assert_eq!(masker.known(&prose), prose);
    }
}
