//! Passwords of letters alone or figures alone: `DB_PASSWORD=hunterzwei`, `password: correcthorse`. Nothing in such a value
//! shows what it is, so its place must: the form of the setting, what its name promises, and what stands around the line.
//!
//! A word of the trade (`required`, `string`, `userpassword`) is none, and so is a label of a translation.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::placeholder::is_placeholder;
use super::vocabulary::{is_common, is_of_trade};
use super::{Secret, SecretKind};

/// Shorter ones are as often something else.
const SHORTEST: usize = 6;
/// How much of a line is looked at on each side, in bytes.
const LONGEST_LINE: usize = 1024;
/// Names of what a person chose.
const NAMES: &str = r"pass(?:word|wd|phrase|code)|pwd|pswd|secret|passwort|kennwort|contrase(?:ñ|n)a|senha|wachtwoord|пароль|密码|密碼|口令|パスワード|비밀번호";
/// The same, where they are a word of their own or the last one of several.
const SHORT_NAMES: &str = r"(?:(?-u:\b)|_)(?:pass|pw|psk)|(?-i:[a-z0-9](?:Pass|Pw))";
const ENDINGS: &str = r"(?:[_-]?key)?(?:[_-]?(?:base|value|prod|production|dev|test|live|staging|v?[0-9]{1,2}))?";

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = format!("(?:(?:{NAMES}){ENDINGS}|{SHORT_NAMES})");
    let joint = r"[ \t]*(?:=>|:=|={1,3}|[:：])[ \t]*|[ \t]+";
    Regex::new(&format!(
        r#"(?i)(?<name>{name})(?<close>\\?["'`])?[\])]?(?<joint>{joint})(?<quote>\\?["'`])?(?<value>[a-z0-9][a-z0-9-]{{5,63}})"#
    ))
    .ok()
});
static IS_NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)(?:{NAMES}|(?:(?-u:\b)|_)(?:pass|pw|psk)(?-u:\b))")).ok());
/// What a line of code has and a line of settings has not.
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)\w\(|\)[ \t]*[;:{]?[ \t]*\r?$|;[ \t]*\r?$|=>|->|^[ \t]*(?:def|fn|func|function|let|const|var|val|return|import|from|class|struct|if|for|while|public|private|protected|package|use|type|interface|enum|self\.|this\.)(?-u:\b)").ok()
});
/// Beginnings of names that speak about a password and do not hold one: `reset_password`, `showPassword`.
static ABOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[_.-])(?:is|has|no|not|show|hide|forgot|forgotten|reset|change|changed|confirm|confirmation|enter|invalid|wrong|incorrect|require|required|need|needs|repeat|retype|edit|missing|label|labels|hint|error|errors|message|msg|text|title|placeholder|translation|i18n|type|format)[_.-]?(?:your[_.-]?)?$").ok()
});
/// What says in another line of settings that a password beside it is one.
static ACCOUNT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?im)^[ \t]*(?:user(?:name)?|login|account|host|machine|server|poll|tls|port)[ \t]+\S+[ \t]*\r?$").ok()
});

/// Letters or figures, and nothing else but hyphens between words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Figures,
    Small,
    Capital,
    /// As a label is written, or the name of a type.
    Title,
    Mixed,
}

/// Whether a value of small letters or of figures alone may be a password, should its name and its place say so.
pub(super) fn is_plain(value: &str) -> bool {
    matches!(letters(value), Some(Letters::Figures | Letters::Small)) && !is_nothing(value)
}

/// The same for a value whose name stands somewhere in the text before it.
pub(super) fn is_plain_behind(before: &str, value: &str) -> bool {
    is_plain(value) && IS_NAME.as_ref().is_some_and(|name| name.is_match(before))
}

/// Whether a password of letters or figures alone is looked for without its name too, as a whole word: not where it is a
/// word of any text, which a mask would only point at, or may be a date.
pub(super) fn is_known_alone(value: &str) -> bool {
    const SHORTEST_ALONE: usize = 8;
    let is_date = |value: &str| value.len() == 8 && (value.starts_with("19") || value.starts_with("20"));
    value.len() >= SHORTEST_ALONE
        && letters(value).is_some_and(|letters| letters != Letters::Figures || !is_date(value))
        && !is_common(value)
        && !is_nothing(value)
}

pub(super) fn find(text: &str) -> Vec<Secret> {
    let hits = NAMED.iter().flat_map(|pattern| pattern.captures_iter(text));
    let found = hits.filter_map(|hit| {
        let value = hit.name("value")?;
        let letters = letters(value.as_str())?;
        (Place::of(text, &hit)?.tells(letters) && !is_nothing(value.as_str()))
            .then(|| Secret { range: value.range(), kind: SecretKind::Password })
    });
    found.collect()
}

fn letters(value: &str) -> Option<Letters> {
    let all = |kind: fn(&u8) -> bool| value.bytes().filter(|byte| *byte != b'-').all(|byte| kind(&byte));
    let count = value.bytes().filter(|byte| *byte != b'-').count();
    if !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') || count < SHORTEST {
        return None;
    }
    let is_title = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_uppercase()) && bytes.all(|byte| byte.is_ascii_lowercase())
    };
    if all(u8::is_ascii_digit) {
        // A date or a telephone number has hyphens too.
        (count == value.len()).then_some(Letters::Figures)
    } else if all(u8::is_ascii_lowercase) {
        Some(Letters::Small)
    } else if all(u8::is_ascii_uppercase) {
        Some(Letters::Capital)
    } else if value.split('-').all(is_title) {
        Some(Letters::Title)
    } else {
        all(u8::is_ascii_alphabetic).then_some(Letters::Mixed)
    }
}

/// A stand-in. Who chooses a word with the word for it within says in documents what belongs there.
fn is_nothing(value: &str) -> bool {
    value.to_ascii_lowercase().contains("password") || is_placeholder(value) || is_of_trade(value)
}

/// Where a value stands.
struct Place<'text> {
    text: &'text str,
    /// What stands in its line before the whole name.
    before: &'text str,
    /// The name with all that belongs to it.
    name: &'text str,
    joint: &'text str,
    /// Whether the name stands between quotes, and whether the value does.
    is_name_quoted: bool,
    is_quoted: bool,
    /// What follows the value, without the quote that ends it.
    after: &'text str,
    start: usize,
}

impl<'text> Place<'text> {
    /// `None` where the value goes on or its quote is not closed.
    fn of(text: &'text str, hit: &Captures<'text>) -> Option<Self> {
        let (name, joint, value) = (hit.name("name")?, hit.name("joint")?, hit.name("value")?);
        let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '-');
        let head = text.get(..name.start())?;
        let start = head.trim_end_matches(is_part).len();
        // No setting stands further in a line: one of a megabyte is not read again for each name in it.
        let floor = head.floor_char_boundary(start.saturating_sub(LONGEST_LINE));
        let line = head.get(floor..).and_then(|near| near.rfind('\n')).map_or(floor, |at| floor + at + 1).min(start);
        let ceiling = text.floor_char_boundary(value.end().saturating_add(LONGEST_LINE));
        let after = text.get(value.end()..ceiling)?;
        let after = match hit.name("quote") {
            Some(quote) => after.strip_prefix(quote.as_str())?,
            None => after,
        };
        Some(Self {
            text,
            before: text.get(line..start)?,
            name: text.get(start..name.end())?,
            joint: joint.as_str(),
            is_name_quoted: hit.name("close").is_some(),
            is_quoted: hit.name("quote").is_some(),
            after,
            start,
        })
    }

    /// Whether it says that a value of these letters is a password.
    fn tells(&self, letters: Letters) -> bool {
        let lead_end = self.name.len() - self.name.rsplit(['_', '.', '-']).next().map_or(0, str::len);
        let lead = self.name.get(..lead_end).unwrap_or_default();
        if ABOUT.as_ref().is_some_and(|about| about.is_match(lead)) || self.is_said_about() {
            return false;
        }
        let is_word = matches!(letters, Letters::Small | Letters::Figures);
        if self.is_quoted {
            return self.joint.contains(['=', ':', '：']) && (is_word || (self.is_variable() && self.joint == "="));
        }
        match self.joint.trim() {
            "=" if self.joint == "=" => self.tells_tight(letters),
            // `{"password": 12345678}`
            ":" if self.is_name_quoted => {
                letters == Letters::Figures && self.after.trim_start().starts_with([',', '}'])
            }
            "=" | ":=" | "=>" | ":" | "：" => {
                let is_apart = self.joint.ends_with([' ', '\t', '：']) || self.joint.starts_with([' ', '\t']);
                is_word && is_apart && self.is_line() && !self.is_among_code()
            }
            "" => is_word && self.tells_apart(),
            _ => false,
        }
    }

    /// `DB_PASSWORD=hunterzwei`, `--password=hunterzwei`, `user=bob password=hunterzwei`, `;Pwd=hunterzwei;`, `?pwd=hunterzwei`
    fn tells_tight(&self, letters: Letters) -> bool {
        let is_word = matches!(letters, Letters::Small | Letters::Figures);
        let ends = |signs: &[char]| self.after.is_empty() || self.after.starts_with(signs);
        let is_first = self.before.is_empty() || self.before.ends_with([' ', '\t', '"', '\'', '`', ';', ':', '(']);
        if self.is_variable() {
            return letters != Letters::Mixed
                && is_first
                && ends(&[' ', '\t', '\r', '\n', '"', '\'', '`', ';', '&', '\\']);
        }
        if self.name.starts_with('-') {
            return is_word && ends(&[' ', '\t', '\r', '\n', '"', '\'', '`', ';', '\\', '|']);
        }
        let is_in_query = self.before.ends_with(['?', '&', ';', '#']) || (self.before.ends_with("; "));
        if is_in_query {
            return is_word && ends(&['&', ';', '"', '\'', '`', ' ', '\r', '\n', '#', '\\']) && self.has_neighbour();
        }
        let is_among_pairs =
            self.before.ends_with([' ', '"', '\'']) && ends(&[' ', '"', '\'', '\r', '\n']) && self.has_neighbour();
        let is_setting = self.is_line() && !self.is_among_code();
        (is_word && is_among_pairs && !self.before.contains('(') && !self.before.contains('<'))
            || (letters != Letters::Mixed && is_setting)
    }

    /// `--password hunterzwei`, `ENV DB_PASSWORD hunterzwei`, `password hunterzwei` below the name of an account.
    fn tells_apart(&self) -> bool {
        let next = self.after.trim_start_matches([' ', '\t']);
        let is_over = next.is_empty() || next.starts_with(['\r', '\n', '-', '\\', '|', ';', '&', '>', '<', '"', '\'']);
        if self.name.starts_with("--") {
            let next = next.split_whitespace().next().unwrap_or_default();
            let is_place = next.contains(['/', '@', '=']) || next.contains("://");
            return is_over && !self.after.starts_with(['.', ',', '"', '\'', ')', ':', '`', '<', '/'])
                || is_place && self.after.starts_with(' ');
        }
        let command = self.before.trim();
        let is_declared =
            ["ENV", "ARG", "setenv", "setx", "set -gx", "set -x"].contains(&command) && self.is_variable();
        let is_setting = self.is_line()
            && self.neighbours().is_some_and(|around| ACCOUNT.as_ref().is_some_and(|account| account.is_match(around)))
            && !self.is_among_code();
        is_over && (is_declared || is_setting)
    }

    /// `DB_PASSWORD`
    fn is_variable(&self) -> bool {
        self.name.len() > 3
            && self.name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    }

    /// `showPassword`, `resetPassword`
    fn is_said_about(&self) -> bool {
        const VERBS: [&str; 18] = [
            "show",
            "hide",
            "reset",
            "forgot",
            "change",
            "confirm",
            "enter",
            "invalid",
            "wrong",
            "incorrect",
            "is",
            "has",
            "no",
            "require",
            "need",
            "repeat",
            "toggle",
            "missing",
        ];
        VERBS.iter().any(|verb| {
            self.name.strip_prefix(verb).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        })
    }

    /// Whether the line is this setting and nothing else.
    fn is_line(&self) -> bool {
        let before = self.before.trim_matches([' ', '\t', '"', '\'']);
        let after = self.after.split('\n').next().unwrap_or_default();
        let rest = after.trim_start_matches([' ', '\t', '\r']);
        let is_over = rest.is_empty() || (rest.starts_with('#') && rest.len() < after.len());
        is_over && ["", "export", "set", "-", "+", ">", "*", "$"].contains(&before)
    }

    /// Whether another pair stands right before it or behind it.
    fn has_neighbour(&self) -> bool {
        let is_pair = |text: Option<&str>| text.is_some_and(|text| text.contains('='));
        let signs = [' ', '&', ';', '?', '#'];
        let first = self.before.trim_end_matches(signs).rsplit(signs).next();
        let next = self.after.split(['\n', '"', '\'']).next().unwrap_or_default();
        is_pair(first) || is_pair(next.trim_start_matches(signs).split(signs).next()) || self.before.contains("://")
    }

    /// Some lines before and after its own.
    fn neighbours(&self) -> Option<&'text str> {
        const LINES: usize = 4;
        const BYTES: usize = 800;
        let floor = self.text.floor_char_boundary(self.start.saturating_sub(BYTES));
        let head = self.text.get(floor..self.start)?;
        let begin = head.rmatch_indices('\n').nth(LINES).map_or(0, |(at, _)| at + 1);
        let ceiling = self.text.floor_char_boundary(self.start.saturating_add(BYTES));
        let tail = self.text.get(self.start..ceiling)?;
        let end = tail.match_indices('\n').nth(LINES).map_or(tail.len(), |(at, _)| at);
        self.text.get(floor + begin..self.start + end)
    }

    fn is_among_code(&self) -> bool {
        self.neighbours().is_none_or(|around| CODE.as_ref().is_none_or(|code| code.is_match(around)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;

    fn found(text: &str) -> Vec<&str> {
        find_secrets(text).into_iter().map(|secret| &text[secret.range]).collect()
    }

    /// Each has a control: the same with a name that says nothing.
    #[test]
    fn a_word_is_a_password_where_its_name_and_its_place_say_so() {
        let mut wrong = Vec::new();
        for shape in [
            "DB_PASSWORD=@",
            "export DB_PASSWORD='@'",
            "DB_PASSWORD=@ # of the shop",
            "PGPASSWORD=@ psql -h db",
            "docker run -e POSTGRES_PASSWORD=@ postgres",
            "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=@\n",
            "ENV POSTGRES_PASSWORD @",
            "user: bob\npassword: @\nhost: db\n",
            "- user: bob\n  password: @ # old\n",
            "password: '@'",
            "[db]\nuser = bob\npassword = @\nhost = db\n",
            "spring.datasource.password=@",
            "user=bob\r\npassword=@\r\n",
            "password = \"@\"",
            "\"password\" = \"@\"",
            "{\"user\": \"bob\", \"password\": \"@\"}",
            "{\\\"password\\\": \\\"@\\\"}",
            "let password = '@';",
            "connect(user=\"bob\", password=\"@\")",
            "if (password == \"@\") {",
            "'password' => '@',",
            "$config['password'] = '@';",
            "os.environ[\"DB_PASSWORD\"] = \"@\"",
            "process.env.DB_PASSWORD || '@'",
            "tool --password=@ --verbose",
            "tool --admin-password @ --verbose",
            "tool --password @ https://example.org",
            "host=localhost user=bob password=@ dbname=x",
            "Server=db;Uid=app;Password=@;",
            "https://example.org/login?user=bob&password=@",
            "<password>@</password>",
            "<add key=\"DbPassword\" value=\"@\" />",
            "- name: DB_PASSWORD\n  value: @\n",
            "user,password\nbob,@\n",
            "INSERT INTO users (name, password) VALUES ('bob', '@');",
            "host mail.local\nuser bob\npassword @\n",
            "数据库密码：@",
            "密码=@",
        ] {
            for value in ["hunterzwei", "12345678", "correct-horse"] {
                if value == "correct-horse" && shape.contains("http") {
                    continue;
                }
                let text = shape.replace('@', value);
                let control = text.replace("assword", "olour").replace("ASSWORD", "OLOUR").replace("密码", "颜色");
                if found(&text) != [value] || found(&control) != [""; 0] {
                    wrong.push((found(&text).join(" "), found(&control).join(" "), text));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn other_names_of_what_a_person_chose_count_too() {
        for name in [
            "passwd",
            "pwd",
            "passphrase",
            "passcode",
            "db_pass",
            "dbPass",
            "wifi_psk",
            "secret_key_base",
            "api_secret",
        ] {
            for text in [format!("{name}=sommerregen\n"), format!("\"{name}\": \"sommerregen\"")] {
                assert_eq!(found(&text), ["sommerregen"], "{text}");
            }
        }
        assert_eq!(found("DB_PASSWORD=Sommerregen\nAPI_SECRET=HUNTERZWEI\n"), ["Sommerregen", "HUNTERZWEI"]);
        // What a program made is never a word.
        assert_eq!(found("token=sommerregen\napi_key=sommerregen\nTOKEN_COUNT=12345678\n"), [""; 0]);
    }

    #[test]
    fn words_of_code_of_translations_and_of_documents_stay_as_they_are() {
        let mut taken = Vec::new();
        for text in [
            "password: String",
            "    password: str\n",
            "password: string\n",
            "let password = read_line()",
            "password = getpass\n",
            "password = os.environ[\"X\"]",
            "password: \"\"",
            "password: ${PASS}",
            "password: <your password>",
            "password: changeme\npassword: example\npassword: required\npassword: encrypted\n",
            "DB_PASSWORD=password\nDB_PASSWORD=postgres\nDB_PASSWORD=changeme\nDB_PASSWORD=mysecretpassword\n",
            "PASSWORD_MIN_LENGTH = 12345678",
            "password_field: \"customer\"",
            "password_timeout: 1234567",
            "\"password\": \"Passwort\"",
            "\"password\": \"Adgangskode\", \"pwd\": \"Contrasenya\"",
            "\"login.password\": \"Parola\"",
            "password=Mot de passe",
            "password=Passwort\npassword=Wachtwoord\n",
            "\"enterPassword\": \"Enter your password\"",
            "\"resetPassword\": \"zurücksetzen\", \"changePassword\": \"wechseln\", \"forgotPassword\": \"vergessen\"",
            "\"password\": \"密码\"",
            "password=密码",
            "msgid \"Password\"\nmsgstr \"Kennwort\"\n",
            "password-label = Kennwort",
            "<input type=\"password\" name=\"password\" placeholder=\"Kennwort\">",
            "<label for=\"password\">Kennwort</label>",
            "<Password>Reset</Password>",
            "The password is checked.",
            "Use --password followed by a word, or --password-file.",
            "the --password option",
            "usage: tool --password PASSWORD --user USER",
            "password: {type: string}",
            "password:\n  type: string\n  format: password\n",
            "password = 'test'\nassert login(password='secret')\nlogin(password=\"testpass\")",
            "login(user,\n    password=entered\n)",
            "x = 1\nfoo(a)\npassword = something\nbar(b)\n",
            "user = get(user)\npassword = candidate\nreturn user\n",
            "const { user, password: candidate } = body;",
            "{ password: candidate, user: user }",
            "password: candidate,\n",
            "self.password = candidate\n",
            "type: \"password-reset\", password: 'required'",
            "bypass=everything\ncompass: northwest\n",
            "password: 12345\n",
        ] {
            if !found(text).is_empty() {
                taken.push((text, found(text)));
            }
        }
        assert!(taken.is_empty(), "{taken:#?}");
    }
}
