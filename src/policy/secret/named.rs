//! Values that a name speaks for without a plain `name = value`: in calls, other quotes, objects, elements and sentences, the
//! name before its value or behind it. One table; see `assignment` for the plain form and `credential` for places that say
//! by themselves what they hold.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::assignment::{NAME, is_secret_value};
use super::plain::is_plain_behind;
use super::random::{is_code_name, is_ordinary};
use super::{Secret, SecretKind};

/// What the form of a shape leaves to be shown by the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Only settings have this form: what would do behind `name =` does.
    Likely,
    /// Other things stand in such a form: no word with a number, no name of code.
    Own,
    /// The same for each of several values.
    Each,
}

/// Words for what a person chose, where a name that also speaks of other things (`token`) would say too little.
const PASSWORD: &str = r"(?:pass(?:word|wd|phrase|code)|pwd|pswd|secret|密码|密碼|口令)";
const QUOTE: &str = r#"\\?["'`]"#;
const QUOTED: &str = r#"(?<value>[^"'`\\\x00-\x1f]{6,200})"#;
const WORD: &str = r#"(?<value>[^\s"'`\\,;(){}\[\]<>]{6,200})"#;
/// What stands before the word of a name that is longer.
const LEAD: &str = r"[a-z0-9_. -]{0,80}?";

/// Each with a `name` and a `value`.
fn shapes() -> Vec<(String, Need)> {
    let name = format!("(?<name>{})", *NAME);
    let password = format!("(?<name>{PASSWORD})");
    vec![
        // `environ["DB_PASSWORD"] = "…"`, `env.DB_PASSWORD || "…"`, `getenv('DB_PASSWORD') ?: '…'`
        (
            format!(
                r"(?i){name}(?:{QUOTE}\s*[\])])?\s*(?:\|\|=?|\?\?=?|\?:|={{1,3}}|(?-u:\b)or(?-u:\b))\s*{QUOTE}{QUOTED}{QUOTE}"
            ),
            Need::Likely,
        ),
        // `setPassword("…")`, `.password("…")`
        (format!(r"(?i){name}\s*\(\s*{QUOTE}{QUOTED}{QUOTE}\s*\)"), Need::Own),
        // Three quotes, a bracket on the line above, a document of a shell or of Terraform.
        (
            format!(
                r#"(?i){name}(?:{QUOTE})?\s*(?:=>|=|:)\s*(?:[rbuf]{{0,2}}(?:"""|''')\\?|\(\s*{QUOTE}|<<[-~]?["']?[A-Z_]{{2,20}}["']?[ \t]*\r?\n)\s*{WORD}"#
            ),
            Need::Likely,
        ),
        // YAML with the type of a value or a mark to find it by.
        (
            format!(
                r#"(?im)^[ \t-]*["']?{LEAD}{name}["']?:[ \t]+(?:!{{1,2}}[a-z]{{1,20}}|&[a-z0-9_-]{{1,40}})[ \t]+["']?{WORD}["']?[ \t]*\r?$"#
            ),
            Need::Likely,
        ),
        // `"db_password": {"value": "…"}`, in YAML too.
        (
            format!(
                r"(?i){name}(?:{QUOTE})?\s*[:=]\s*\{{[^{{}}]{{0,200}}?(?-u:\b)(?:value|default|plaintext|string)(?:{QUOTE})?\s*[:=]\s*{QUOTE}{QUOTED}{QUOTE}"
            ),
            Need::Likely,
        ),
        (
            format!(
                r#"(?im)^[ \t-]*["']?{LEAD}{name}["']?:[ \t]*\r?\n[ \t]+(?:value|default):[ \t]+["']?{WORD}["']?[ \t]*\r?$"#
            ),
            Need::Likely,
        ),
        // An object that holds both: `{"key": "password", …, "value": "…"}`, and the name behind the value.
        (
            format!(
                r"(?i){QUOTE}(?:name|key|id|field|header|label|param(?:eter)?){QUOTE}\s*:\s*{QUOTE}{LEAD}{name}{QUOTE}[^{{}}]{{0,200}}?{QUOTE}value{QUOTE}\s*:\s*{QUOTE}{QUOTED}{QUOTE}"
            ),
            Need::Likely,
        ),
        (
            format!(
                r"(?i){QUOTE}value{QUOTE}\s*:\s*{QUOTE}{QUOTED}{QUOTE}\s*,[^{{}}]{{0,200}}?{QUOTE}(?:name|key|id|field|header|label|param(?:eter)?){QUOTE}\s*:\s*{QUOTE}{LEAD}{name}{QUOTE}"
            ),
            Need::Likely,
        ),
        // `"passwords": ["…", "…"]`, and the same in YAML.
        (
            format!(r"(?i){name}(?:{QUOTE})?\s*(?:=>|=|:)\s*(?<value>\[[^\[\]]+\]|(?:\r?\n[ \t]*-[ \t]+\S+[ \t]*)+)"),
            Need::Each,
        ),
        // Neighbours: `<key>password</key><string>…</string>`, `<td>Password</td><td>…</td>`
        (
            format!(
                r"(?i)<(?:key|t[dh]|dt|b|strong|label|name|span|code)(?:\s[^<>]{{0,120}})?>{LEAD}{name}\s*[:：]?\s*</[a-z]{{1,20}}>[:：]?\s*<[a-z0-9]{{1,20}}(?:\s[^<>]{{0,120}})?>\s*(?<value>[^<>\s]{{6,512}})\s*</"
            ),
            Need::Own,
        ),
        // A record of one field a line, as `psql` prints it; a table of two columns.
        (
            format!(
                r"(?im)^[ \t]*\|?[ \t]*[*`]{{0,2}}{LEAD}{name}[*`]{{0,2}}[ \t]*[|│][ \t]*`?(?<value>[^\s|`]{{6,512}})`?[ \t]*\|?[ \t]*\r?$"
            ),
            Need::Own,
        ),
        // A line of settings that is a name and a value: msmtp, fetchmail, NetworkManager, Cisco.
        (
            format!(
                r#"(?im)^[ \t]*(?:enable[ \t]+|username[ \t]+\S{{1,80}}[ \t]+)?[a-z0-9_.-]{{0,80}}?{name}[ \t]+(?:[0578][ \t]+)?["']?(?<value>[^\s"']{{6,200}})["']?[ \t]*\r?$"#
            ),
            Need::Own,
        ),
        // `ALTER USER bob PASSWORD '…'`, `user "bob" password "…"`
        (
            format!(
                r#"(?i)(?-u:\b){password}[ \t]+(?:"(?<value>[^"'\\\x00-\x1f]{{6,200}})"|'(?<single>[^"'\\\x00-\x1f]{{6,200}})')"#
            ),
            Need::Own,
        ),
        // Sentences: `password has been reset to: …`, `password for bob: …`, `密码 …`
        (
            format!(
                r"(?i){password}[ \t]+(?:for|of)[ \t]+[^\s:]{{1,80}}(?:[ \t]+(?:is|was|has been (?:re)?set to)[:：]?|[ \t]*[:：])[ \t]+(?<value>[^\s<>]{{6,200}})"
            ),
            Need::Own,
        ),
        (
            format!(
                r"(?i){password}[ \t]+(?:has been|was|is|is now)[ \t]+(?:(?:re)?set|changed|updated)[ \t]+to[ \t]*[:：]?[ \t]+(?<value>[^\s<>]{{6,200}})"
            ),
            Need::Own,
        ),
        (r"(?<name>密码|密碼|口令)[ \t]+(?<value>[!-;=?-~]{6,200})".into(), Need::Own),
    ]
}

static SHAPES: LazyLock<Vec<(Regex, Need)>> = LazyLock::new(|| {
    shapes().into_iter().filter_map(|(pattern, need)| Some((Regex::new(&pattern).ok()?, need))).collect()
});
/// Any name that speaks of secrets.
static ANY_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?i){}", *NAME)).ok());
/// The values of a list.
static ITEM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"[^\s"'`\\,\[\]]{6,200}"#).ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for part in parts(text) {
        let Some(shown) = text.get(part.clone()) else { continue };
        for (pattern, need) in SHAPES.iter() {
            let hits = pattern.captures_iter(shown).flat_map(|hit| values(&hit, *need));
            found.extend(hits.map(|Secret { range, kind }| {
                let range = part.start + range.start..part.start + range.end;
                Secret { range, kind }
            }));
        }
    }
    found
}

/// What lies around names that speak of secrets: most of a text is nothing of it.
fn parts(text: &str) -> Vec<Range<usize>> {
    const BEFORE: usize = 800;
    const AFTER: usize = 4096;
    let mut parts: Vec<Range<usize>> = Vec::new();
    for name in ANY_NAME.iter().flat_map(|pattern| pattern.find_iter(text)) {
        let begin = text.floor_char_boundary(name.start().saturating_sub(BEFORE));
        let end = text.floor_char_boundary(name.end().saturating_add(AFTER));
        match parts.last_mut() {
            Some(last) if begin <= last.end => last.end = end,
            Some(_) | None => parts.push(begin..end),
        }
    }
    parts
}

fn values(hit: &Captures<'_>, need: Need) -> Vec<Secret> {
    let (Some(name), Some(value)) = (hit.name("name"), hit.name("value").or_else(|| hit.name("single"))) else {
        return Vec::new();
    };
    let secret = |begin: usize, value: &str| {
        let value = if need == Need::Own { value.trim_end_matches(['.', ',', ';']) } else { value };
        let is_own = need == Need::Likely || !(is_ordinary(value) || is_code_name(value) || value.contains('('));
        let is_plain = need == Need::Likely && is_plain_behind(name.as_str(), value);
        (is_plain || (is_own && is_secret_value(name.as_str(), value)))
            .then(|| Secret { range: begin..begin + value.len(), kind: SecretKind::Password })
    };
    match need {
        Need::Likely | Need::Own => secret(value.start(), value.as_str()).into_iter().collect(),
        Need::Each => {
            let items = ITEM.iter().flat_map(|item| item.find_iter(value.as_str()));
            items.filter_map(|item| secret(value.start() + item.start(), item.as_str())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find_secrets(text).into_iter().map(|secret| &text[secret.range]).collect()
    }

    #[test]
    fn every_shape_is_a_pattern_with_a_name_and_a_value() {
        assert_eq!(SHAPES.len(), shapes().len());
        for (pattern, _) in SHAPES.iter() {
            let groups: Vec<&str> = pattern.capture_names().flatten().collect();
            assert!(groups.contains(&"name") && groups.contains(&"value"), "{pattern}");
        }
    }

    /// Each has a control: the same with a name that says nothing.
    #[test]
    fn a_value_is_found_by_its_name_in_every_form_of_code_settings_and_sentences() {
        let mut wrong = Vec::new();
        for shape in [
            "os.environ[\"DB_PASSWORD\"] = \"@\"",
            "$config['db']['password'] = '@';",
            "ENV['DB_PASSWORD'] ||= '@'",
            "const p = process.env.DB_PASSWORD || \"@\";",
            "process.env.DB_PASSWORD ?? '@'",
            "p = os.environ.get(\"DB_PASSWORD\") or \"@\"",
            "$p = getenv('DB_PASSWORD') ?: '@';",
            "source.setPassword(\"@\");",
            "    .password(\"@\")",
            "client.with_password( '@' )",
            "password = \"\"\"@\"\"\"",
            "password = '''\n@'''",
            "password = (\n    \"@\"\n)",
            "password = <<EOF\n@\nEOF",
            "db_password = <<-\"EOF\"\n  @\n  EOF",
            "password: !!str @\n",
            "- db_password: &main \"@\"\nother: *main\n",
            "\"db_password\": {\n  \"value\": \"@\",\n  \"type\": \"string\"\n}",
            "\"db_password\": {\"sensitive\": true, \"value\": \"@\"}",
            "db_password:\n  value: @\n",
            "{\"key\":\"password\",\"value\":\"@\",\"type\":\"string\"}",
            "{\"name\":\"password\",\"type\":\"text\",\"value\":\"@\"}",
            "{\"value\":\"@\",\"name\":\"DB_PASSWORD\"}",
            "{\"value\": \"@\", \"type\": \"text\", \"key\": \"password\"}",
            "{\\\"value\\\":\\\"@\\\",\\\"name\\\":\\\"DB_PASSWORD\\\"}",
            "{\"passwords\":[\"@\"]}",
            "passwords:\n  - @\n",
            "<key>password</key>\n<string>@</string>",
            "<tr>\n<td>Password:</td>\n<td class=\"v\">@</td>\n</tr>",
            "<name>javax.jdo.option.ConnectionPassword</name><value>@</value>",
            "-[ RECORD 1 ]----\nuser     | bob\npassword | @\n",
            "| **Password** | `@` |\n",
            "host mail.local\nuser bob\npassword @\n",
            "enable password @\n",
            "wifi.password @\n",
            "username bob password 0 @\n",
            "poll h user \"b\" password \"@\"",
            "ALTER USER bob PASSWORD '@';",
            "Enter password for bob: @",
            "Your password has been reset to: @",
            "The password was changed to @.",
            "账号 bob 密码 @",
        ] {
            let text = shape.replace('@', "Kx82LpQ8zz");
            let control =
                text.replace("password", "colour").replace("PASSWORD", "COLOUR").replace("Password", "Colour");
            let control = control.replace("密码", "颜色");
            if found(&text) != ["Kx82LpQ8zz"] || found(&control) != [""; 0] {
                wrong.push((found(&text).join(" "), found(&control).join(" "), text));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(found("{\"passwords\": [\"Kx82LpQ8zz\", 'Xq82LpwZ7']}"), ["Kx82LpQ8zz", "Xq82LpwZ7"]);
    }

    #[test]
    fn ordinary_code_tables_and_sentences_stay_as_they_are() {
        let mut taken = Vec::new();
        for text in [
            "process.env.DB_PASSWORD || \"\"",
            "process.env.DB_PASSWORD || \"changeme1\"",
            "os.environ[\"DB_PASSWORD\"] = os.environ[\"OTHER_2\"]",
            "form.password(\"Enter your password 2\")",
            "expect.token(\"identifier2\")",
            "tokens = [\"alpha1\", \"beta22\", self.next2]",
            "\"password\": {\"type\": \"string\", \"default\": \"\"}",
            "{\"name\": \"password\", \"in\": \"query\", \"value\": \"string\"}",
            "<td>Token</td><td>utf8_string</td>",
            "<th>Password</th><th>Since 2.4</th>",
            "| token | string2 |",
            "password VARCHAR(255)",
            "password dialog2\n",
            "secret 2026-11-30\n",
            "Enter password for bob: ",
            "password for the user2 account",
            "The password was changed to something-else1.",
            "password <<EOF1",
            "password: !required\n",
            "token: &mut TokenStream2,",
            "密码 至少8位",
            "密码 password1",
        ] {
            if !found(text).is_empty() {
                taken.push((text, found(text)));
            }
        }
        assert!(taken.is_empty(), "{taken:#?}");
    }
}
