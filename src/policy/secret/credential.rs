//! Secrets that are known by the place where they stand: in files of credentials, in statements, as the value of an element,
//! and the hashes of passwords. See `option` for those among the arguments of a command.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::Regex;

use super::assignment::NAME;
use super::option;
use super::placeholder::is_placeholder;
use super::plain::is_plain_behind;
use super::random::{entropy, is_code_name, is_letter_jumble, is_notation, is_ordinary, is_password};
use super::{Secret, SecretKind};

/// What the text at such a place must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// The place alone says so.
    Place,
    /// It must look like a password too.
    Looks,
    /// The same, and a word of letters alone is none there.
    LooksAlone,
    /// The same where other things stand in such a form.
    LooksOwn,
    /// `name:password` in base64.
    Basic,
    /// The whole form is proof.
    Form,
    /// Forty signs, as AWS makes them.
    Forty,
}

/// Two strings, of which the second is the password.
const PAIR: &str = r#"["'][^"'\r\n]{1,80}["']\s*,\s*["']([^"'\r\n]{4,200})["']"#;

/// Each with the value in its first group.
fn shapes() -> Vec<(String, Proof)> {
    let name = &*NAME;
    vec![
        // .netrc, in one line or in several.
        (r"(?m)^[ \t]*(?:machine[ \t]+\S+|default)\s+(?:(?:login|account)\s+\S+\s+)+password\s+(\S{3,200})".into(), Proof::Place),
        (r"(?m)^[ \t]*machine[ \t]+\S+\s+password\s+(\S{3,200})\s+login\s".into(), Proof::Place),
        (r#"(?-u:\b)login\s+\S{1,80}\s+password\s+([^\s'"]\S{5,199})"#.into(), Proof::LooksOwn),
        // .pgpass
        (r"(?m)^[A-Za-z0-9_.*-]{1,200}:(?:\*|[56]432):[^:\s]{1,80}:[^:\s]{1,80}:(\S{4,200})\r?$".into(), Proof::Place),
        (r"(?m)^[A-Za-z0-9_.*-]{1,200}:[0-9]{3,5}:[^:\s]{1,80}:[^:\s]{1,80}:(\S{6,200})\r?$".into(), Proof::LooksOwn),
        // Docker's config.json, .npmrc
        (r#"\\?"auth\\?"\s*:\s*\\?"([A-Za-z0-9+/_-]{8,}={0,2})\\?""#.into(), Proof::Basic),
        (r#"(?-u:\b)_auth["']?\s*[:=]\s*["']?([A-Za-z0-9+/]{8,}={0,2})"#.into(), Proof::Basic),
        // crypt(3), htpasswd, Django, LDAP. Compose files double the dollar.
        (r"(\${1,2}(?:1|apr1)\${1,2}[./A-Za-z0-9]{1,8}\${1,2}[./A-Za-z0-9]{22})".into(), Proof::Form),
        (r"(\${1,2}2[abxy]?\${1,2}[0-9]{2}\${1,2}[./A-Za-z0-9]{53})".into(), Proof::Form),
        (r"(\${1,2}(?:[56]|sm3)\${1,2}(?:rounds=[0-9]{1,9}\${1,2})?[./A-Za-z0-9]{1,16}\${1,2}[./A-Za-z0-9]{43,86})".into(), Proof::Form),
        (r"(\${1,2}(?:gy|y)\${1,2}[./A-Za-z0-9]{1,12}\${1,2}[./A-Za-z0-9]{0,86}\${1,2}[./A-Za-z0-9]{43})".into(), Proof::Form),
        (r"(\${1,2}(?:argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9-]{0,12}|bcrypt-sha256|7)\$[A-Za-z0-9=,.$+/]{4,120}\$[A-Za-z0-9+/.]{16,})".into(), Proof::Form),
        (r"((?-u:\b)(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt)\$[A-Za-z0-9=,.$+/]{4,120}\$[A-Za-z0-9+/.]{16,}={0,2})".into(), Proof::Form),
        (r"(\{(?:S?SHA(?:256|384|512)?|S?MD5)\}[A-Za-z0-9+/]{22,}={0,2})".into(), Proof::Form),
        // Calls and statements that name it: PHP, environments, SQL, Terraform.
        (format!(r#"(?i)\(\s*["'][a-z0-9_.-]{{0,80}}?{name}["']\s*,\s*["']([^"'\r\n]{{6,200}})["']"#), Proof::LooksOwn),
        (r#"(?i)(?-u:\b)identified\s+(?:with\s+\S{1,80}\s+)?(?:by|as)\s+(?:password\s+)?["']([^"'\r\n]{4,200})["']"#.into(), Proof::Place),
        (r#"(?i)(?-u:\b)(?:with|encrypted|set)\s+password\s*(?:=\s*)?(?:password\s*\(\s*)?["']([^"'\r\n]{4,200})["']"#.into(), Proof::Place),
        (format!(r#"(?i)(?-u:\b)variable\s+"[a-z0-9_-]{{0,80}}?{name}"\s*\{{[^{{}}]{{0,400}}?(?-u:\b)default\s*=\s*"([^"\r\n]{{6,200}})""#), Proof::Looks),
        // A name and its password one after the other, in calls and pairs.
        (format!(r"(?i)(?-u:\b)(?:NetworkCredential|UsernamePasswordCredentials|PasswordAuthentication|(?:http_?|set_?)?(?:basic|digest)_?auth|login|sign_?in|authenticate)\s*\(\s*{PAIR}"), Proof::LooksOwn),
        (format!(r"(?i)(?-u:\b)(?:auth|creds?|credentials?)\s*[:=]\s*[(\[]\s*{PAIR}"), Proof::LooksOwn),
        (format!(r"(?-u:\b)getConnection\s*\([^()\r\n]{{1,200}}?,\s*{PAIR}"), Proof::LooksOwn),
        (r#"(?i)(?-u:\b)(?:user(?:name)?|login)[ \t:=]+[^\s,;/]{1,60}[,;/]?[ \t]+(?:and[ \t]+)?(?:pass(?:word)?|pwd|pw)[ \t:=]+([^\s,;'"]{4,200})"#.into(), Proof::LooksOwn),
        (r"(?im)(?-u:\b)(?:login|user(?:name)?|credentials?|creds|account)[ \t]*[:=][ \t]*[^\s/:]{1,60}[ \t]+/[ \t]+([^\s/]{6,200})[ \t]*\r?$".into(), Proof::LooksOwn),
        // Strings with a letter before the quote: Python, SQL.
        (format!(r#"(?i){name}\s*[:=]\s*(?:[bun]|rb|br)["']([^"'\r\n]{{6,200}})["']"#), Proof::Looks),
        // Keys that encrypt or sign, by the words before "key".
        (r#"(?i)(?:^|[^a-z0-9])(?:app|enc|hmac|aes|cipher|crypt|master|session|cookie|storage|pre_?shared|shared)_?key["']?\s*[:=]\s*["']?(?:base64:|hex:|0x)?([A-Za-z0-9+/_-]{24,200}={0,2})"#.into(), Proof::LooksOwn),
        // Lines of settings: Dockerfile, OpenLDAP, Redis; a block of YAML; what a phone reads from a picture.
        (format!(r#"(?im)^[ \t]*(?:env|arg|setenv|setx(?:[ \t]+/m)?|set[ \t]+-[a-z]{{1,4}})[ \t]+[a-z0-9_]{{0,80}}?{name}[ \t]+["']?([^\s"']{{6,512}})["']?[ \t]*\r?$"#), Proof::Looks),
        (r#"(?im)^[ \t]*(?:bindpw|rootpw|rootbindpw|requirepass|masterauth)[ \t]+["']?([^\s"']{4,200})"#.into(), Proof::Place),
        (format!(r#"(?im)^[ \t-]*["']?[a-z0-9_.-]{{0,80}}?{name}["']?:[ \t]*[|>][+-]?[0-9]?[ \t]*\r?\n[ \t]+(\S{{6,512}})[ \t]*\r?$"#), Proof::Looks),
        (r"WIFI:(?:[A-OQ-Z]:[^;\r\n]{0,100};){0,6}P:([^;\r\n]{4,100});".into(), Proof::Place),
        // Addresses of databases that are none: Go's drivers, Oracle's.
        (r#"(?-u:\b)[A-Za-z0-9_.-]{1,60}:([^\s:@/"'`]{3,200})@(?:tcp6?|udp|unix)\("#.into(), Proof::Place),
        (r#"(?i)(?-u:\b)(?:oracle:(?:thin|oci8?):|(?:sqlplus|sqlldr|expdp|impdp)[ \t]+(?:-\S+[ \t]+){0,3}["']?)[a-z0-9_$.-]{1,60}/([^\s@/"']{3,200})"#.into(), Proof::Place),
        (r#"(?i)ConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\r\n]{4,200})["']"#.into(), Proof::Place),
        // Elements and their attributes; Kubernetes' pairs of a name and a value.
        (format!(r"(?i)<[a-z0-9_:.-]{{0,80}}?{name}(?:\s[^<>]{{0,200}})?>\s*([^<>\s]{{6,512}})\s*</"), Proof::Looks),
        (format!(r#"(?i)(?:key|name|id|property)\s*=\s*["'][a-z0-9_:. -]{{0,80}}?{name}["'][^<>]{{0,80}}?\svalue\s*=\s*["']([^"'<>\s]{{6,512}})["']"#), Proof::Looks),
        (format!(r#"(?i)(?:key|name|id|property)\s*=\s*["'][a-z0-9_:. -]{{0,80}}?{name}["'][^<>]{{0,80}}>\s*([^<>\s]{{6,512}})\s*</"#), Proof::Looks),
        (format!(r#"(?i)name["']?\s*:\s*["']?[a-z0-9_.-]{{0,80}}?{name}["']?\s*,?\s*["']?value["']?\s*:\s*["']?([^\s"',}}]{{6,512}})"#), Proof::Looks),
        // What stands beside the word and has the form of one.
        (r"(?i:secret)[^\r\n]{0,40}?[^A-Za-z0-9/+]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)".into(), Proof::Forty),
    ]
}

static SHAPES: LazyLock<Vec<(Regex, Proof)>> = LazyLock::new(|| {
    let compiled =
        shapes().into_iter().chain(option::shapes()).map(|(pattern, proof)| Some((Regex::new(&pattern).ok()?, proof)));
    compiled.flatten().collect()
});

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for (pattern, proof) in SHAPES.iter() {
        for hit in pattern.captures_iter(text) {
            let (Some(whole), Some(value)) = (hit.get(0), hit.get(1)) else { continue };
            let before = text.get(whole.start()..value.start()).unwrap_or_default();
            let is_plain = *proof == Proof::Looks && is_plain_behind(before, value.as_str());
            if is_plain || proves(*proof, value.as_str()) {
                found.push(Secret { range: value.range(), kind: SecretKind::Password });
            }
        }
    }
    found
}

fn proves(proof: Proof, value: &str) -> bool {
    match proof {
        Proof::Form => true,
        Proof::Place => {
            let is_port = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
            let is_word =
                ["password", "passwd", "pass", "secret", "token"].contains(&value.to_ascii_lowercase().as_str());
            !is_port && !is_word && !value.starts_with('-') && !is_placeholder(value)
        }
        Proof::Looks | Proof::LooksAlone => {
            (is_password(value) || is_letter_jumble(value))
                && !is_code_name(value)
                && !is_notation(value)
                && !value.starts_with('-')
        }
        Proof::LooksOwn => proves(Proof::Looks, value) && !is_ordinary(value),
        Proof::Basic => {
            let decoded = STANDARD_NO_PAD.decode(value.trim_end_matches('=')).ok();
            let plain = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            plain.is_some_and(|plain| {
                plain.split_once(':').is_some_and(|(name, password)| {
                    !name.is_empty() && !password.is_empty() && plain.bytes().all(|byte| byte.is_ascii_graphic())
                })
            })
        }
        Proof::Forty => {
            let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
            has(u8::is_ascii_lowercase)
                && has(u8::is_ascii_uppercase)
                && has(u8::is_ascii_digit)
                && entropy(value) >= 4.0
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
    fn every_shape_is_a_pattern_with_one_value() {
        assert_eq!(SHAPES.len(), shapes().len() + option::shapes().len());
        assert!(SHAPES.iter().all(|(pattern, _)| pattern.captures_len() == 2));
    }

    #[test]
    fn passwords_are_found_in_every_kind_of_file_that_holds_them() {
        let crypt = "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6kL9nP2qR5sT8uW1xY4zA7bC0dG3eM6aB3dE6gH9jK2mN5pQ8rS";
        let hashes = [
            format!("$6$saltsalt${}", &crypt[..86]),
            format!("$5$rounds=5000$saltsalt${}", &crypt[..43]),
            format!("$1$saltsalt${}", &crypt[..22]),
            format!("$apr1$saltsalt${}", &crypt[..22]),
            format!("$2b$12${}", &crypt[..53]),
            format!("$$2y$$05$${}", &crypt[..53]),
            format!("$y$j9T$saltsaltsalt${}", &crypt[..43]),
            format!("$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ${}", &crypt[..43]),
            format!("pbkdf2_sha256$260000$saltsalt${}=", &crypt[..43]),
            format!("{{SSHA}}{}", &crypt[..32]),
        ];
        for hash in &hashes {
            for text in [format!("bob:{hash}:19700:0:99999:7:::"), format!("bob:{hash}\n"), format!("hash = '{hash}'")]
            {
                assert_eq!(found(&text), [hash.as_str()], "{text}");
            }
        }
        let forty = &crypt[..40];
        let mut missed = Vec::new();
        for (text, value) in [
            ("DB_PASS=hunt3r22", "hunt3r22"),
            ("DB_PASS=hunter22", "hunter22"),
            ("export MYSQL_PW=Xq82Lp", "Xq82Lp"),
            ("dbPass: 'Xq82LpwZ'", "Xq82LpwZ"),
            ("user: bob  pass: Xq82Lp", "Xq82Lp"),
            ("Server=db;Uid=app;Pwd=Xq82Lpw;", "Xq82Lpw"),
            ("spring.datasource.password=Xq82LpwZ", "Xq82LpwZ"),
            ("[mail]\npasswd = pw-Xq82\n", "pw-Xq82"),
            ("{\"password\":\"pw-Xq82\"}", "pw-Xq82"),
            ("password: \"Xq(82),{Lp}\"", "Xq(82),{Lp}"),
            ("PASSWORD=\"horse battery 77\"", "horse battery 77"),
            ("passphrase = correct horse battery", "correct horse battery"),
            (
                "mnemonic: \"abandon ability able about above absent absorb abstract absurd abuse access accident\"",
                "abandon ability able about above absent absorb abstract absurd abuse access accident",
            ),
            ("<password>hunter22</password>", "hunter22"),
            ("<db:Password enc=\"no\">\n  Xq82LpwZ\n</db:Password>", "Xq82LpwZ"),
            ("<add key=\"DbPassword\" value=\"Xq82LpwZ\" />", "Xq82LpwZ"),
            ("<property name=\"javax.jdo.option.ConnectionPassword\">Xq82LpwZ</property>", "Xq82LpwZ"),
            ("- name: DB_PASSWORD\n  value: Xq82LpwZ\n", "Xq82LpwZ"),
            ("machine h login bob password zqmmkpqq", "zqmmkpqq"),
            ("machine api.example.org\n  login bob\n  password Zq81mmKp\n", "Zq81mmKp"),
            ("db.local:5432:shop:bob:qwertzuiop\n", "qwertzuiop"),
            ("*:*:*:bob:Zq81mmKp", "Zq81mmKp"),
            ("{\"auths\":{\"r.local\":{\"auth\":\"Ym9iOlhxODJMcHda\"}}}", "Ym9iOlhxODJMcHda"),
            ("//r.local/:_auth=Ym9iOlhxODJMcHda", "Ym9iOlhxODJMcHda"),
            ("curl -sSu bob:Xy72kkLq https://api.example.org", "Xy72kkLq"),
            ("curl https://api.example.org \\\n  --user 'bob:correct'", "correct"),
            ("https://bob:Xy72kkLq@api.example.org/x", "Xy72kkLq"),
            ("mysql -h db -u bob -pKk82LqzX shop", "Kk82LqzX"),
            ("sshpass -p Kk82LqzX ssh bob@h", "Kk82LqzX"),
            ("redis-cli -h cache -a Kk82LqzX ping", "Kk82LqzX"),
            ("docker login r.local -u bob -p Kk82LqzX", "Kk82LqzX"),
            ("tool --admin-password Kk82LqzX --verbose", "Kk82LqzX"),
            ("openssl rsa -passin pass:Kk82LqzX -in k", "Kk82LqzX"),
            ("db, err := sql.Open(\"mysql\", \"bob:Kk82LqzX@tcp(db:3306)/app\")", "Kk82LqzX"),
            ("jdbc:oracle:thin:bob/Kk82LqzX@h:1521/x", "Kk82LqzX"),
            ("sqlplus -S bob/Kk82LqzX@orcl", "Kk82LqzX"),
            ("wpa_passphrase home Kk82LqzX", "Kk82LqzX"),
            ("htpasswd -b f bob Kk82LqzX", "Kk82LqzX"),
            ("htpasswd -nbB -C 10 bob Kk82LqzX\n", "Kk82LqzX"),
            ("echo Kk82LqzX | sudo -S ls", "Kk82LqzX"),
            ("echo \"Kk82LqzX\" | docker login -u b --password-stdin", "Kk82LqzX"),
            ("printf '%s' 'Kk82LqzX' | gh secret set DB", "Kk82LqzX"),
            ("gh secret set DB_PASSWORD -b\"Kk82LqzX\"", "Kk82LqzX"),
            ("aws secretsmanager create-secret --name a --secret-string Kk82LqzX", "Kk82LqzX"),
            ("aws ssm put-parameter --name /db/password --value Kk82LqzX --type SecureString", "Kk82LqzX"),
            ("ConvertTo-SecureString \"Kk82LqzX\" -AsPlainText -Force", "Kk82LqzX"),
            ("The database password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
            ("口令是 Qw9zz88Kp1", "Qw9zz88Kp1"),
            ("数据库密码为：Kx92mfQ7pL", "Kx92mfQ7pL"),
            ("define('DB_PASSWORD', 'fbdUwFDrz3e3');", "fbdUwFDrz3e3"),
            ("const API_KEY: &str = \"uo5Zbcb99JpX\";", "uo5Zbcb99JpX"),
            ("  private password: string = \"CTQE8phIECUy\";", "CTQE8phIECUy"),
            ("var password string = \"CTQE8phIECUy\"", "CTQE8phIECUy"),
            ("char password[32] = \"CTQE8phIECUy\";", "CTQE8phIECUy"),
            ("CREATE USER bob IDENTIFIED BY '8Ajlb0cdkbx9';", "8Ajlb0cdkbx9"),
            ("CREATE USER bob IDENTIFIED WITH mysql_native_password BY 'qwertz';", "qwertz"),
            ("ALTER ROLE bob WITH PASSWORD 'ZFqJDGf1rB85';", "ZFqJDGf1rB85"),
            ("create role bob login encrypted password 'ZFqJDGf1rB85';", "ZFqJDGf1rB85"),
            ("new NetworkCredential(\"bob\", \"Kk82LqzX\")", "Kk82LqzX"),
            ("requests.get(url, auth=('bob', 'Kk82LqzX'))", "Kk82LqzX"),
            ("auth = HTTPBasicAuth(\"bob\", \"Kk82LqzX\")", "Kk82LqzX"),
            ("DriverManager.getConnection(url, \"bob\", \"Kk82LqzX\");", "Kk82LqzX"),
            ("smtp.login('bob@example.org', 'Kk82LqzX')", "Kk82LqzX"),
            ("CREDS = (\"bob\", \"Kk82LqzX\")", "Kk82LqzX"),
            ("user bob, pass Kk82LqzX", "Kk82LqzX"),
            ("Login: bob / Kk82LqzX", "Kk82LqzX"),
            ("app.secret_key = b'Kk82LqzXw9'", "Kk82LqzXw9"),
            ("CREATE LOGIN bob WITH PASSWORD = N'Kk82LqzX'", "Kk82LqzX"),
            ("APP_KEY=base64:Kk82LqzXw9Tt4Rm7Bv3Hn6Pc1Yd5Gs8Jf2Za0WuEo=", "Kk82LqzXw9Tt4Rm7Bv3Hn6Pc1Yd5Gs8Jf2Za0WuEo="),
            ("ENC_KEY=Kk82LqzXw9Tt4Rm7Bv3Hn6Pc", "Kk82LqzXw9Tt4Rm7Bv3Hn6Pc"),
            ("PresharedKey = Kk82LqzXw9Tt4Rm7Bv3Hn6Pc1Yd5Gs8Jf2Za0WuEo=", "Kk82LqzXw9Tt4Rm7Bv3Hn6Pc1Yd5Gs8Jf2Za0WuEo="),
            ("xfreerdp /u:bob /p:Kk82LqzX /v:h", "Kk82LqzX"),
            ("chpasswd <<< \"root:Kk82LqzX\"", "Kk82LqzX"),
            ("usermod -p Kk82LqzX bob", "Kk82LqzX"),
            ("mysqladmin -u root password Kk82LqzX", "Kk82LqzX"),
            ("vault kv put secret/db value=Kk82LqzX", "Kk82LqzX"),
            ("variable \"db_password\" {\n  default = \"NGekTf3sEz8M\"\n}", "NGekTf3sEz8M"),
            ("FROM x\nENV POSTGRES_PASSWORD T7SegYErymNH\nRUN y\n", "T7SegYErymNH"),
            ("setx DB_PASSWORD bP5VVPCn7WwS", "bP5VVPCn7WwS"),
            ("set -gx API_TOKEN bP5VVPCn7WwS", "bP5VVPCn7WwS"),
            ("bindpw 3eG4n6noitUg", "3eG4n6noitUg"),
            ("requirepass rMODIe4xBDZc\n", "rMODIe4xBDZc"),
            ("db:\n  password: |\n    ZgRCZ3IwEF6y\n  user: bob\n", "ZgRCZ3IwEF6y"),
            ("password: >-\n  5kyy3JBNWqb9\n\n", "5kyy3JBNWqb9"),
            ("WIFI:T:WPA;S:home;P:sIo3rMpTYIuN;;", "sIo3rMpTYIuN"),
            ("psk=\"LkqvLYlKnvGG\"", "LkqvLYlKnvGG"),
            ("[wifi-security]\npsk=niynAsM2Bw1X\n", "niynAsM2Bw1X"),
            ("echo \"bob:3IgN95Dci7xD\" | sudo chpasswd", "3IgN95Dci7xD"),
            ("smbclient //srv/x -U bob%JXltetlY2CLT", "JXltetlY2CLT"),
            (r"net use Z: \\srv\x /user:bob 3puYM2IPQGtE", "3puYM2IPQGtE"),
            (r"net use Z: \\srv\x 3puYM2IPQGtE /user:bob", "3puYM2IPQGtE"),
            ("mongo -u bob -p qOkrjPyKwA55", "qOkrjPyKwA55"),
            ("http -a bob:xWCVPdZGrwp0 GET x", "xWCVPdZGrwp0"),
            ("Passwort: C7dComJAg", "C7dComJAg"),
            ("mot de passe : ZOjVK25tK", "ZOjVK25tK"),
            ("contraseña: omCPd1sqS", "omCPd1sqS"),
            ("パスワード：HefPsla14", "HefPsla14"),
            ("пароль: HefPsla14", "HefPsla14"),
            ("密码：YNPPtPQvv9", "YNPPtPQvv9"),
            ("export GITHUB_TOKEN=oLDzbLtCGDMw", "oLDzbLtCGDMw"),
            ("{\"client_secret\":\"aBcDeFgHiJkLmNoPqRsTuVwXyZ\"}", "aBcDeFgHiJkLmNoPqRsTuVwXyZ"),
            ("password=Kx82;LpQ8zz", "Kx82;LpQ8zz"),
            ("user=bob\npassword=Kx82,LpQ9zz\nport=1\n", "Kx82,LpQ9zz"),
            ("password=\"pa\\\"ss9Kx82\"", "pa\\\"ss9Kx82"),
            ("password = \"pa'ss9Kx82\"", "pa'ss9Kx82"),
            ("password: Summer2026!", "Summer2026!"),
            ("The password is Summer2k26x!", "Summer2k26x"),
            ("PASSWORD = \\\n    'Xq82LpwZ'\n", "Xq82LpwZ"),
            ("https://5WE2RlTZQcYTbYTTBPynZzih6tZg1v@github.com/x/y.git", "5WE2RlTZQcYTbYTTBPynZzih6tZg1v"),
            (
                "Cookie: lang=de; session=XZY7rzsj6HoV5D0bA2DAzqx2T4Rc1hotdHNYgt0s; a=b",
                "XZY7rzsj6HoV5D0bA2DAzqx2T4Rc1hotdHNYgt0s",
            ),
            (
                "< Set-Cookie: sid=gCWBn1Bue6bsBu4RstbtSPrwfm74O5bFGEhS2v3y; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
                "gCWBn1Bue6bsBu4RstbtSPrwfm74O5bFGEhS2v3y",
            ),
            (
                "apiVersion: v1\nkind: Secret\ndata:\n  tls.key: 7ih/8bB9X/A01W6Grl+3QVJSWCo87SPK\nmetadata:\n  name: app-tls\n",
                "7ih/8bB9X/A01W6Grl+3QVJSWCo87SPK",
            ),
            (
                "{\"data\": {\"conf\": \"c2VjcmV0\"}, \"kind\": \"Secret\", \"metadata\": {\"name\": \"app-conf\"}}",
                "c2VjcmV0",
            ),
        ] {
            if found(text) != [value] {
                missed.push((text, found(text)));
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
        assert_eq!(found(&format!("the secret of the account: {forty}\n")), [forty]);
    }

    #[test]
    fn ordinary_lines_of_code_and_settings_stay_as_they_are() {
        let mut taken = Vec::new();
        for text in [
            "password: string",
            "pass: bool,",
            "password: Option<String>,",
            "PASSWORD_MIN_LENGTH=8",
            "passwordMaxLength: 128, passwordHint: \"At least 8 characters\"",
            "password = models.CharField(max_length=128)",
            "password VARCHAR(255) NOT NULL",
            "password = hashlib.sha256(data).hexdigest()",
            "token = base64.b64encode(raw)",
            "pwd = os.path.join(root2, name)",
            "PWD=/projects/app1/src",
            "if password is not None and len(password) >= 8:",
            "the password is required; a password was expired2 days ago",
            "\"password\": \"Enter your password (8 characters or more)\"",
            "\"password\": \"Password must have 8 letters\"",
            "password: 'Passwort vergessen?'",
            "\"pwd\": \"请输入6-20位密码\"",
            "passphrase: a sequence of words that unlocks the key",
            "passphrase = read_line()",
            "It costs $5.00, or $6 for 2, and $1$ is a group.",
            "re.sub(r'(a)(b)', '$2$1', text)",
            "test_password_reset_2 ... ok",
            "--- PASS: TestLogin/v2_Accepts8Signs (0.00s)",
            "PASS: tests/auth_2.test.js",
            "pass: 12/20, fail: 3/20",
            "first pass = 1024.5ms",
            "bypass=Route53Zone1; compass=N45E120X; trespass: Q7rt92mm",
            "commit 9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
            "550e8400-e29b-41d4-a716-446655440000",
            "sha256:9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "src/main.rs:120:5:error:E0382x",
            "docker run --name mysql -p3306:3306 -u 1000:1000 mysql:8",
            "curl -u \"$USER:$PASS\" https://example.org",
            "mysql -u root -p shop < dump.sql",
            "sshpass -p \"$SSHPASS\" ssh me@host",
            "bob:%s@tcp(%s)/app and ${USER}:${PASS}@tcp(db:3306)",
            "htpasswd -c /etc/htpasswd bob",
            "echo \"$PASSWORD\" | docker login -u b --password-stdin",
            "echo Kk82LqzX | sed -S x | grep sudo",
            "gh secret list; gh secret set NAME --body \"$VALUE\"",
            "tool --password <password> --token TOKEN --secret-name app",
            "machine learning in 24 hours: login form, password field",
            "{\"auth\":\"required-by-2\", \"auths\": {}}",
            "<password>${db.password}</password>",
            "<input type=\"password\" name=\"password\" id=\"pw\" value=\"\">",
            "<Password>Reset</Password>",
            "<string name=\"password\">Password</string>",
            "<property name=\"password\">{aes}COQLCE6DU6GtcS5P=</property>",
            "tar xzf app-1.2.3.tgz && unzip -P",
            "The secret of https://example.org/a/b/c/d/e/f/g/h/i/j/k/l/m/n is simple.",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
            "alice ALL=(ALL) NOPASSWD: /usr/bin/apt-get2",
            "token          = 1*tchar",
            "auth-token = 1*128token-char",
            "fn login(user: &str, password: &str) -> Result<Token2, Error> {",
            "let token: String = request.token2().to_owned();",
            "let password: Option<String> = args.get_one(\"password\").cloned();",
            "const TOKEN_HEADER: &str = \"x-session-id\";",
            "pub secret: Secret<32>,",
            "const token: string = await getToken(user1);",
            "password: string = '';",
            "const password = useState<string>('');",
            "this.password = credentials.passwordField2;",
            "export const accessToken: string = tokenService.currentTokenOrThrow();",
            "func Login(user, password string) (Token1, error) {",
            "password := r.FormValue(\"password\")",
            "token, err := jwt.ParseWithClaims(raw, claims, keyFunc2)",
            "var password string = os.Getenv(\"PASSWORD1\")",
            "password = getpass.getpass('Password: ')",
            "token = secrets.token_urlsafe(32)",
            "def check(self, password: str = None, token: Optional[str] = None) -> bool:",
            "self.token = token or os.environ.get('APP_TOKEN', '')",
            "parser.add_argument('--password', help='the password of the user1')",
            "private String password = config.getPassword();",
            "String token = request.getHeader(\"Authorization\");",
            "private final PasswordEncoder passwordEncoder = new BCryptPasswordEncoder();",
            "user.setPassword(passwordEncoder.encode(dto.getPassword()));",
            "ACCESS_TOKEN=accessTokenOfTheUser",
            "\"token\": \"accessTokenProviderFactory\"",
            "\"client_secret\": \"ClientSecretParameterName\"",
            "password: \"^(?=.*[A-Z])(?=.*\\\\d).{8,}$\"",
            "\"token\": \"\\\\d{6}-[a-z]{4}\"",
            "\"secret\": \"C:\\\\Users\\\\bob1\\\\key\"",
            "IDENTIFIED BY '${DB_PASSWORD}'",
            "ALTER USER bob WITH PASSWORD '<password>';",
            "password: |\n  Enter your password here\n",
            "ENV TOKEN_FILE /run/secrets/token1",
            "docker run --name mongo -p 27017:27017 mongo:7",
            "mongosh -u bob -p --authenticationDatabase admin",
            "net use Z: \\\\srv\\x /user:bob /persistent:yes",
            "Cookie: theme=dark; lang=en-US",
            "Set-Cookie: theme=dark; Path=/; Max-Age=31536000; SameSite=Lax",
            "cookie = SimpleCookie(headers.get_all('Cookie2'))",
            "git@github.com:owner/repository.git and ssh://deploy-user-of-the-shop@host1/x",
            "kind: ConfigMap\ndata:\n  mode: production1\n  level: debug\n",
            "kind: Secret\nmetadata:\n  name: app-secret-1\n  labels: {app: shop1}\n",
            "username, password, token1, token2 = row",
            "tokens: alpha,beta,gamma2",
            "mot de passe : obligatoire, au moins 8 signes",
            "Passwort: mindestens 8 Zeichen",
            "密码：至少8位，含字母",
        ] {
            if !found(text).is_empty() {
                taken.push((text, found(text)));
            }
        }
        assert!(taken.is_empty(), "{taken:#?}");
    }
}
