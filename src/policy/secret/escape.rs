//! A text whose signs are written as escapes: of JSON (in JSON, in JSON), of addresses (`%3D`), of HTML (`&quot;`), of mails
//! (`=3D`). A model reads over them; what is found in what they stand for is masked where it was written.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Secret, block, find_short};

/// One escape. However often it was escaped again, it is one: `\\\"`, `%253D`, `&amp;quot;`.
static ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        \\+(?: u\{(?<braced>[0-9A-Fa-f]{1,6})\} | u(?<unicode>[0-9A-Fa-f]{4}) | x(?<byte>[0-7][0-9A-Fa-f]) | (?<letter>[nrt"'/]) )
      | %(?:25)*(?<percent>[2-7][0-9A-Fa-f]|0[9AaDd])
      | =(?<mail>3D)
      | &(?:amp;)*(?: \#(?<decimal>[0-9]{2,5}); | \#[xX](?<hex>[0-9A-Fa-f]{2,4}); | (?<name>lt|gt|quot|apos|amp|nbsp); )
        "#,
    )
    .ok()
});

/// A text with its escapes written out.
struct Plain {
    text: String,
    stretches: Vec<Stretch>,
}

/// A part of a plain text and where it comes from.
struct Stretch {
    here: usize,
    there: usize,
    /// How many bytes it has there, if it is an escape; else as many as here.
    escape_bytes: Option<usize>,
}

/// What is found when the escapes are read for what they stand for, where nothing is known yet.
pub(super) fn find(text: &str, known: &[Secret]) -> Vec<Secret> {
    let Some(plain) = Plain::of(text) else { return Vec::new() };
    let mut found = if block::may_hold(plain.text.as_bytes()) { block::find(&plain.text) } else { Vec::new() };
    found.extend(find_short(&plain.text));
    let place = |secret: Secret| Some(Secret { range: plain.place(&secret.range)?, kind: secret.kind });
    let is_new = |secret: &Secret| {
        let from = known.partition_point(|known| known.range.end <= secret.range.start);
        known.get(from).is_none_or(|known| known.range.start >= secret.range.end)
    };
    found.into_iter().filter_map(place).filter(is_new).collect()
}

impl Plain {
    fn of(text: &str) -> Option<Self> {
        let mut plain = Self { text: String::new(), stretches: Vec::new() };
        let mut done = 0;
        for hit in ESCAPE.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let (Some(whole), Some(sign)) = (hit.get(0), meaning(&hit)) else { continue };
            plain.keep(text, done..whole.start());
            let stretch =
                Stretch { here: plain.text.len(), there: whole.start(), escape_bytes: Some(whole.range().len()) };
            plain.stretches.push(stretch);
            plain.text.push(sign);
            done = whole.end();
        }
        if plain.stretches.is_empty() {
            return None;
        }
        plain.keep(text, done..text.len());
        Some(plain)
    }

    fn keep(&mut self, text: &str, range: Range<usize>) {
        if let Some(kept) = text.get(range.clone()).filter(|kept| !kept.is_empty()) {
            self.stretches.push(Stretch { here: self.text.len(), there: range.start, escape_bytes: None });
            self.text.push_str(kept);
        }
    }

    /// Where a part of it is written, from its first sign to its last.
    fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start)?;
        Some(self.origin(range.start)?.start..self.origin(last)?.end)
    }

    fn origin(&self, at: usize) -> Option<Range<usize>> {
        let index = self.stretches.partition_point(|stretch| stretch.here <= at).checked_sub(1)?;
        let Stretch { here, there, escape_bytes } = self.stretches.get(index)?;
        Some(match escape_bytes {
            Some(bytes) => *there..there + bytes,
            None => there + (at - here)..there + (at - here) + 1,
        })
    }
}

/// The sign that an escape stands for; a break of a line for what cannot be seen.
fn meaning(hit: &Captures<'_>) -> Option<char> {
    let number = |name: &str, radix: u32| {
        let written = hit.name(name)?;
        char::from_u32(u32::from_str_radix(written.as_str(), radix).ok()?)
    };
    let sign = if let Some(letter) = hit.name("letter") {
        match letter.as_str() {
            "n" | "r" => '\n',
            "t" => '\t',
            sign => sign.chars().next()?,
        }
    } else if let Some(name) = hit.name("name") {
        match name.as_str() {
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            _ => '&',
        }
    } else {
        let hexadecimal = ["braced", "unicode", "byte", "percent", "mail", "hex"];
        hexadecimal.into_iter().find_map(|name| number(name, 16)).or_else(|| number("decimal", 10))?
    };
    Some(if sign.is_control() && sign != '\t' { '\n' } else { sign })
}

#[cfg(test)]
mod tests {
    use super::super::{Masker, find_secrets};
    use super::*;

    const SIGNS: &str = "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6";

    fn masked(text: &str) -> String {
        Masker::default()
            .text("call", text)
            .replace("«masked: API key #1»", "#K")
            .replace("«masked: password #1»", "#P")
    }

    #[test]
    fn a_key_is_masked_whatever_stands_directly_before_it() {
        let keys = [
            format!("ghp_{SIGNS}"),
            format!("github_pat_{}_{SIGNS}", &SIGNS[..22]),
            format!("sk-proj-{SIGNS}{SIGNS}"),
            format!("sk-ant-api03-{SIGNS}"),
            format!("AKIA{}", "J7Q2W5K3Z6X4M2N7"),
            format!("xoxb-123456789012-{}", &SIGNS[..24]),
            format!("glpat-{}", &SIGNS[..20]),
            format!("npm_{SIGNS}"),
            format!("hf_{}", &SIGNS[..34]),
            format!("AIza{}", &SIGNS[..35]),
            format!("sk_live_{}", &SIGNS[..24]),
        ];
        for key in &keys {
            for (before, after) in [
                ("\\n", "\\nfoo"),
                ("\\t", " x"),
                ("\"k=1\\n", "\\nfoo\""),
                ("a%20", "&b"),
                ("a%2520", "%2520b"),
                ("a\\u003d", ""),
                ("a=3D", "\n"),
                ("token", ", x"),
                ("0", ""),
                ("x_", ""),
                ("+", "\n"),
                ("-", "\n"),
                ("a\\\\\\n", "\\\\\\nb"),
                ("&quot;", "&quot;"),
            ] {
                let text = format!("{before}{key}{after}");
                assert_eq!(masked(&text), format!("{before}#K{after}"));
            }
        }
    }

    /// Each has two readings: the name with its value, and the same with a name that says nothing.
    #[test]
    fn a_password_is_masked_however_its_name_and_sign_are_escaped() {
        let value = "Kx82LpQ8zz";
        for text in [
            "password\\u003d@",
            "password%3D@&a=b",
            "?a=b%26password%3D@%26c%3Dd",
            "&lt;password&gt;@&lt;/password&gt;",
            "&amp;lt;password&amp;gt;@&amp;lt;/password&amp;gt;",
            "{&quot;password&quot;: &quot;@&quot;}",
            "{&#34;password&#34;:&#34;@&#34;}",
            r#"{"a":"{\"b\":\"{\\\"password\\\":\\\"@\\\"}\"}"}"#,
            r#"{"a":"{\\\\\\\"password\\\\\\\":\\\\\\\"@\\\\\\\"}"}"#,
            r#"{"\u5bc6\u7801": "@"}"#,
            r#"{"text":"user: bob\npassword: @\nhost: a"}"#,
        ] {
            let text = text.replace('@', value);
            assert_eq!(masked(&text), text.replace(value, "#P"));
            let control = text.replace("password", "colour").replace("\\u5bc6\\u7801", "\\u989c\\u8272");
            assert_eq!(masked(&control), control);
        }
    }

    #[test]
    fn ordinary_escapes_and_words_hold_no_secret() {
        for text in [
            r"C:\new\table\users\passwords.txt",
            r"the task-2026-11-30-report-of-all and the risk-a1b2c3d4e5f6a7b8",
            r"https://a.example/%E5%AF%86%E7%A0%81?q=a%20b%3Dc",
            r#"print("password:\n%s" % value)"#,
            "x=3D1, y = 20%, 5 &lt; 6 &amp;&amp; a",
            "XAKIAQUWERTYUIOPASDFGHJK",
            "pnpm_config_registry_and_more_of_it",
        ] {
            assert_eq!(find_secrets(text), [], "{text}");
        }
    }

    #[test]
    fn a_place_is_that_of_the_whole_escape() {
        let plain = Plain::of("a\\u003db%20&quot;").unwrap();
        assert_eq!(plain.text, "a=b \"");
        let places: Vec<_> = (0..5).map(|at| plain.place(&(at..at + 1)).unwrap()).collect();
        assert_eq!(places, [0..1, 1..7, 7..8, 8..11, 11..17]);
        assert!(Plain::of("nothing of it").is_none());
    }
}
