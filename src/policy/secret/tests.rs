//! The corpus: what must be found, whole, and what must be left alone. Keys are put together here, so that no scanner of a
//! repository takes them for real ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod met;

/// Signs as a generator of keys gives them.
fn signs(count: usize) -> String {
    "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6kL9nP2qR5sT8uW1xY4zA7bC0dG3eM6".chars().cycle().take(count).collect()
}

fn hex_signs(count: usize) -> String {
    "9f8e7d6c5b4a39281706f5e4d3c2b1a0".chars().cycle().take(count).collect()
}

fn key_block(name: &str, lines: usize) -> String {
    let body: Vec<String> = (0..lines).map(|line| signs(128).chars().skip(line % 9).take(64).collect()).collect();
    format!("-----BEGIN {name}-----\n{}\n-----END {name}-----", body.join("\n"))
}

fn found(text: &str) -> Vec<(SecretKind, String)> {
    find_secrets(text).into_iter().map(|secret| (secret.kind, text[secret.range].to_owned())).collect()
}

/// One of every kind that shows what it is.
fn provider_keys() -> Vec<String> {
    let upper = "J7Q2W5K3Z6X4M2N7";
    vec![
        format!("sk-{}", signs(48)),
        format!("sk-{}", hex_signs(32)),
        format!("sk-ant-api03-{}-{}", signs(40), signs(30)),
        format!("sk-proj-{}_{}", signs(40), signs(30)),
        format!("sk-or-v1-{}", hex_signs(64)),
        format!("AKIA{upper}"),
        format!("AIza{}", &signs(40)[..35]),
        format!("ghp_{}", signs(36)),
        format!("github_pat_{}_{}", signs(22), signs(40)),
        format!("xoxb-123456789012-{}", signs(24)),
        format!("glpat-{}", signs(20)),
        format!("npm_{}", signs(36)),
        format!("hf_{}", signs(34)),
        // All letters, as most of that provider's are.
        "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".to_owned(),
        format!("ASIA{}", "1QW89K3Z6X4M0N7B"),
        format!("AGE-SECRET-KEY-1{}", "QQPZ7R8S9T0V2W3X4Y5Z6A7C8D9E0F2G3H4J5K6L7M8N9P0Q2R3S4T5"),
        format!("MTk4{}.Gh4x9Q.{}", &signs(60)[..20], &signs(60)[10..48]),
        format!("discord.com/api/webhooks/123456789012345678/{}", signs(60)),
        format!("hooks.slack.com/services/T01ABCD2EFG/B02HIJK3LMN/{}", signs(24)),
        format!("xapp-1-A012BCD3EFG-{}", hex_signs(64)),
        format!("pypi-AgEIcHlwaS5vcmc{}", signs(60)),
        format!("rk_test_{}", signs(24)),
        format!("SK{}", hex_signs(32)),
        format!("key-{}", hex_signs(32)),
        format!("{}-us12", hex_signs(32)),
        format!("123456789:AA{}", &signs(40)[..33]),
        format!("ya29.{}", signs(60)),
        format!("GOCSPX-{}", signs(28)),
        format!("1//0{}", signs(60)),
        format!("dapi{}", hex_signs(32)),
        format!("dop_v1_{}", hex_signs(64)),
        format!("ATATT3{}", signs(66)),
        format!("glsa_{}_{}", &signs(40)[..32], &hex_signs(8)),
        format!("NRAK-{}", "A1B2C3D4E5F6G7H8J9K0L1M2N3P"),
        format!("PMAK-{}-{}", hex_signs(24), hex_signs(34)),
        format!("pul-{}", hex_signs(40)),
        format!("rubygems_{}", hex_signs(48)),
        format!("sntrys_{}", signs(66)),
        format!("tskey-auth-{}", signs(40)),
        format!("figd_{}", signs(40)),
        format!("sb_secret_{}", signs(32)),
        format!("pscale_tkn_{}", signs(43)),
        format!("dp.pt.{}", signs(43)),
        format!("pat{}.{}", &signs(30)[..14], hex_signs(64)),
        format!("{}.atlasv1.{}", &signs(30)[..14], signs(66)),
        format!("aB38Q~{}", &signs(40)[..33]),
        format!("sq0atp-{}", signs(22)),
        format!("oy2{}", "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0u1v"),
        format!("hvs.{}", signs(40)),
        format!("phx_{}", signs(43)),
        format!("rnd_{}", signs(28)),
        format!("re_{}_{}", signs(8), signs(24)),
        format!("sl.u.{}", signs(130)),
        "pat-na1-1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d".to_owned(),
        format!("nsec1{}", "qpzry9x8gf2tvdw0s3jn54khce6mua7lqpzry9x8gf2tvdw0s3jn54khce"),
        format!("lsv2_pt_{}_{}", hex_signs(32), &hex_signs(10)),
        format!("sk_live_{}", signs(24)),
        format!("rk_live_{}", signs(99)),
        format!("sk-svcacct-{}", signs(60)),
        format!("sk-{}", hex_signs(32)),
        format!("glrt-{}", signs(20)),
        format!("glsoat-{}", signs(20)),
        format!("whsec_{}", signs(32)),
        format!("shpat_{}", hex_signs(32)),
        format!("EAAA{}", &signs(66)[..60]),
        format!("EAACEdEose0cBA{}", signs(120)),
        format!("{}JQQJ99{}", &signs(52), &signs(26)),
        format!("{}+ASt{}g==", signs(76), &signs(5)),
        format!("xkeysib-{}-{}", hex_signs(64), signs(16)),
        format!(
            "dt0c01.{}.{}",
            "A1B2C3D4E5F6G7H8J9K0L1M2", "A1B2C3D4E5F6G7H8J9K0L1M2N3P4Q5R6S7T8U9V0W1X2Y3Z4A5B6C7D8E9F0G1H2"
        ),
        format!("fm2_{}", signs(66)),
        format!("sk.eyJ{}.{}", signs(60), signs(22)),
        format!("AKCp{}", signs(69)),
        format!("ATBB{}", signs(32)),
        format!("aio_{}", signs(28)),
        format!("squ_{}", hex_signs(40)),
        format!("sgp_{}", hex_signs(40)),
        format!("shippo_live_{}", hex_signs(40)),
        format!("EZAK{}", signs(54)),
        format!("lin_oauth_{}", hex_signs(64)),
        "access-production-9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0".to_owned(),
        format!("glc_{}", signs(60)),
        format!("hvb.{}", signs(60)),
        format!("doo_v1_{}", hex_signs(64)),
        format!("sk_{}", hex_signs(48)),
        format!("SG.{}.{}", signs(22), signs(43)),
        format!("LTAI5t{}", signs(18)),
        format!("AKID{}", signs(32)),
        format!("bce-v3/ALTAK-{}/{}", signs(21), hex_signs(40)),
        format!("{}.{}", hex_signs(32), signs(16)),
        format!("gsk_{}", signs(52)),
        format!("xai-{}", signs(60)),
        format!("secret_{}", signs(43)),
        format!("xprv{}", signs(107).replace('0', "1")),
    ]
}

#[test]
fn keys_of_providers_are_found_whole_in_any_surroundings() {
    for key in provider_keys() {
        for text in [
            key.clone(),
            format!("KEY is {key}, use it"),
            format!("{{\"k\":\"{key}\"}}"),
            format!("钥匙是{key}。"),
            format!("export K={key}\n"),
            format!("curl -H 'x: {key}' https://example.org"),
        ] {
            assert_eq!(found(&text), [(SecretKind::ApiKey, key.clone())], "{text}");
        }
    }
}

#[test]
fn a_colour_at_a_key_hides_it_not_and_what_stands_around_it_stays() {
    const MARK: &str = "«masked: API key #1»";
    let mut wrong = Vec::new();
    for key in provider_keys() {
        for (before, after) in [
            ("", ""),
            ("commit \u{1b}[33m", ""),
            ("commit \u{1b}[33m", "\u{1b}[0m\nDate: Monday\n"),
            ("x \u{1b}[01;31m\u{1b}[K", "\u{1b}[m\u{1b}[K\nfoo bar\n"),
            ("\u{1b}[33m", "\u{1b}[0m, next"),
            ("\u{1b}[33m", ", next\n"),
            ("24 \u{1b}[33m", "\u{1b}[0m\n25 |x"),
            ("24 ", "\nv2 of it"),
            ("", "\nDone2day\n"),
            ("a\u{200b}", "\r\nnext1 line\r\n"),
            ("{\"text\":\"\\u001b[33m", "\\u001b[0m\\nnext\"}"),
            ("\\033[1;32m", "\\033[0m next"),
        ] {
            let text = format!("{before}{key}{after}");
            let masked = Masker::default().text("call", &text).into_owned();
            if masked != format!("{before}{MARK}{after}") {
                wrong.push((text, masked));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_coloured_password_is_known_by_its_name_and_later_by_itself() {
    for text in [
        "password: \u{1b}[32mZq77NewOne1\u{1b}[0m\nuser: bob",
        "password: \u{1b}[32mZq77NewOne1\u{1b}[0m\n28 password",
        "\u{1b}[36mpassword: Zq77NewOne1\u{1b}[0m\nnext: x\n",
    ] {
        let mut masker = Masker::default();
        assert_eq!(masker.text("call", text), text.replace("Zq77NewOne1", "«masked: password #1»"));
        assert_eq!(masker.text("call", "it is Zq77NewOne1 now"), "it is «masked: password #1» now");
    }
}

#[test]
fn tokens_and_passwords_are_found_by_what_stands_before_them() {
    let token = signs(40);
    let jwt = format!("eyJ{}.eyJ{}.{}", signs(20), signs(60), signs(43));
    for (text, kind, value) in [
        (format!("Authorization: Bearer {token}"), SecretKind::Token, token.clone()),
        (format!("-H \"Authorization: Basic {token}==\""), SecretKind::Token, format!("{token}==")),
        (format!("x-api-key: {token}"), SecretKind::Token, token.clone()),
        (format!("token {jwt} end"), SecretKind::Token, jwt.clone()),
        (format!("{jwt}…"), SecretKind::Token, jwt),
        ("postgres://app:s3cr3t@db.local/x".into(), SecretKind::Password, "s3cr3t".into()),
        ("https://me:qwertz@host/".into(), SecretKind::Password, "qwertz".into()),
        ("postgresql+asyncpg://app:s3/cr3t@db.local:5432/x".into(), SecretKind::Password, "s3/cr3t".into()),
        ("redis://:p4ss-w0rd@cache:6379/0".into(), SecretKind::Password, "p4ss-w0rd".into()),
        (
            format!("AccountName=store;AccountKey={}==;EndpointSuffix=core.windows.net", &signs(100)[..86]),
            SecretKind::Password,
            format!("{}==", &signs(100)[..86]),
        ),
        (
            format!("https://store.blob.core.windows.net/c/b?sv=2024-01-01&sp=r&sig={}%3D", &signs(60)[..43]),
            SecretKind::Token,
            format!("{}%3D", &signs(60)[..43]),
        ),
        ("DB_PASSWORD=Tr0ub4dor&3x".into(), SecretKind::Password, "Tr0ub4dor&3x".into()),
        ("password: \"hunter2hunter2\"".into(), SecretKind::Password, "hunter2hunter2".into()),
        ("clientSecret = 'k9$Lm2#pQ7z'".into(), SecretKind::Password, "k9$Lm2#pQ7z".into()),
        (format!("aws_secret_access_key = {token}"), SecretKind::Password, token.clone()),
        (format!(r#"{{\"api_key\": \"{token}\"}}"#), SecretKind::Password, token.clone()),
        ("数据库密码：Kx92mfQ7pL".into(), SecretKind::Password, "Kx92mfQ7pL".into()),
        (format!("https://x.org/?token={token}&page=2"), SecretKind::Password, token),
    ] {
        assert_eq!(found(&text), [(kind, value)], "{text}");
    }
}

#[test]
fn what_opens_an_address_is_masked_wherever_in_it_it_stands() {
    let (token, guid) = (signs(30), "9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0");
    let bot = format!("123456789:AA{}", &signs(40)[..33]);
    let hook = format!("hooks.slack.com/services/T01ABCD2EFG/B02HIJK3LMN/{}", signs(24));
    for (text, value) in [
        (format!("https://example.org/a;token={token};b=1"), token.as_str()),
        (format!("https://example.org/a#access_token={token}&token_type=bearer"), &token),
        (format!("https://example.org/a?state=1&access_token={token}"), &token),
        (format!("https://example.org/cb?code={token}&scope=mail"), &token),
        (format!("<a href=\"https://example.org/cb?a=1&amp;code={token}\">"), &token),
        (format!("https://example.org/b?sp=r&sig={token}%3D"), &format!("{token}%3D")),
        (format!("https://api.telegram.org/bot{bot}/sendMessage"), &bot),
        (format!("https://{hook}"), &hook),
        (format!("https://open.feishu.cn/open-apis/bot/v2/hook/{guid}"), guid),
        (format!("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={guid}"), guid),
        (format!("https://hooks.zapier.com/hooks/catch/1234567/{token}"), &token),
        ("ftp://bob:hunterzwei@host/x".into(), "hunterzwei"),
        ("amqps://app:s3cr3t@mq/v".into(), "s3cr3t"),
        ("mongodb+srv://app:hunterzwei@cluster.example.org/db".into(), "hunterzwei"),
        ("postgres://app:p@ss-w0rd@db.local/x".into(), "p@ss-w0rd"),
    ] {
        let values: Vec<String> = found(&text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [value], "{text}");
    }
    for text in [
        "https://example.org/?code=200&key=value",
        "https://example.org/?code=ERR_CONNECTION_REFUSED_2&key=section-2-of-the-documentation",
        "https://example.org/a;version=2025-11-30T07:00:00;code=utf8_unicode_ci",
        "https://hooks.zapier.com/hooks/catch/<account>/<hook>",
        "https://api.telegram.org/bot<token>/sendMessage",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn private_keys_are_found_whole_however_they_are_written() {
    for name in
        ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        let block = key_block(name, 12);
        let escaped = block.replace('\n', "\\n");
        let encoded = STANDARD.encode(&block);
        for (text, whole) in [
            (format!("before\n{block}\nafter"), block.clone()),
            (format!("{{\"private_key\": \"{escaped}\"}}"), escaped.clone()),
            (format!("tls.key: {encoded}"), encoded.clone()),
            (block.replace('\n', "\r\n"), block.replace('\n', "\r\n")),
        ] {
            assert_eq!(found(&text), [(SecretKind::PrivateKey, whole)], "{text}");
        }
    }
}

#[test]
fn a_private_key_that_was_cut_is_found_as_far_as_it_goes() {
    let block = key_block("RSA PRIVATE KEY", 20);
    let lines: Vec<&str> = block.lines().collect();
    for (part, name) in [(&lines[..9], "its head"), (&lines[5..], "its tail"), (&lines[3..15], "its middle")] {
        let text = part.join("\n");
        assert_eq!(found(&text), [(SecretKind::PrivateKey, text.clone())], "{name}");
    }
    // Beside a mark of what was left out, and with breaks written as they are in JSON.
    let middle = lines[3..15].join("\\n");
    for text in [format!("…{middle}…"), format!("out\n[… 9 bytes left out …]\n{middle}\nmore"), format!("x\n{middle}…")]
    {
        assert_eq!(found(&text), [(SecretKind::PrivateKey, middle.clone())], "{text}");
    }
    let cut = lines[..9].join("\n");
    let text = format!("{cut}\n\nThese words come after it and stay.");
    assert_eq!(found(&text), [(SecretKind::PrivateKey, cut)]);
}

#[test]
fn the_beginning_of_a_key_at_the_end_of_a_cut_text_is_found() {
    for prefix in ["sk-ant-", "ghp_", "AKIA", "xoxb-", "hf_"] {
        let part = format!("{prefix}{}", "J7Q2W5");
        for text in [format!("key={part}"), format!("key={part}…"), format!("key: {part}\n")] {
            assert_eq!(found(&text), [(SecretKind::ApiKey, part.clone())], "{text}");
        }
    }
}

#[test]
fn ordinary_text_holds_no_secret() {
    let image =
        STANDARD.encode((0..4_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect::<Vec<u8>>());
    let wrapped: Vec<String> =
        image.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    for text in [
        "550e8400-e29b-41d4-a716-446655440000".to_owned(),
        format!("commit {}", hex_signs(40)),
        format!("sha256:{}  file.tar.gz", hex_signs(64)),
        format!("\"integrity\": \"sha512-{}==\"", signs(86)),
        format!("data:image/png;base64,{image}"),
        wrapped.join("\n"),
        "读取 main.rs 并修改 foo() 函数，用 UTF-8 编码。密码由用户输入，密钥在系统钥匙串里。".to_owned(),
        "def task_runner(max_tokens=4096, tokenizer='gpt2', token_count: int = 12345678): pass".to_owned(),
        "const apiKey = process.env.API_KEY_2; let token = getToken(req);".to_owned(),
        "password = os.environ['DB_PASSWORD_2']".to_owned(),
        "password: ${DB_PASSWORD}\npassword: <your password>\nAPI_KEY=your-api-key-here1\nsecret: changeme123"
            .to_owned(),
        "postgres://user:password@localhost/db and postgres://user:${PW}@localhost".to_owned(),
        "pip install scikit-learn sk-learn-contrib-tools-for-everyone task-1234567890abcdef123456".to_owned(),
        "Authorization: required. A bearer of good news, basic understanding.".to_owned(),
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----".to_owned(),
        key_block("CERTIFICATE", 12),
        key_block("PUBLIC KEY", 6),
        format!("ssh-ed25519 {} me@host", signs(68)),
        "The password must have 8 characters: letters, digits and one sign.".to_owned(),
        "2026-11-30T02:55:00.123456Z 192.168.100.200:8080 v1.2.3-beta.4+build.5".to_owned(),
        "https://example.org/a/b?c=d:e@f".to_owned(),
        "http://localhost:3000/@vite/client and http://127.0.0.1:8080/users/me@example.org".to_owned(),
        "from huggingface_hub import hf_hub_download, hf_file_system, HfFileSystemResolvedPath".to_owned(),
        "npm_config_registry npm_package_devDependencies_typescript_eslint".to_owned(),
        "ModuleNotFoundError.Module.ModuleNotFoundErrorInTheSystem, NotificationCenter.Shared.DefaultNotificationsForEveryWindow"
            .to_owned(),
        "key-value-store-for-everyone-and-all, us12 SKIPPED, cio, glc_options, pat".to_owned(),
        "fn parse(tokens: &TokenBuffer, password: &core::Text) {}".to_owned(),
        String::new(),
    ] {
        assert_eq!(found(&text), [], "{text}");
    }
}

#[test]
fn a_key_over_several_texts_in_a_row_is_masked_line_by_line() {
    let block = key_block("OPENSSH PRIVATE KEY", 6);
    let matches: Vec<Value> =
        block.lines().enumerate().map(|(at, text)| json!({"line": at + 1, "file": "a.txt", "text": text})).collect();
    let masked = Masker::default().value("call", &json!({"matches": matches, "note": "six lines of a file"}));
    let text = masked.to_string();
    assert!(block.lines().filter(|line| !line.starts_with('-')).all(|line| !text.contains(line)), "{text}");
    assert_eq!((&masked["note"], &masked["matches"][1]["file"]), (&json!("six lines of a file"), &json!("a.txt")));
}

/// Lines of a key's body, each of this width.
fn body(lines: usize, width: usize) -> Vec<String> {
    (0..lines).map(|line| signs(300).chars().skip(line % 9 + 1).take(width).collect()).collect()
}

fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<_> = text.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
    lines.join("\n") + "\n"
}

fn masked(value: &Value) -> String {
    Masker::default().value("call", value).to_string()
}

#[test]
fn any_part_of_a_key_is_known_by_the_file_around_it() {
    for width in [20, 48, 60, 64, 70, 76, 100, 900] {
        let lines = body(9, width);
        let before = "notes\n-----BEGIN RSA PRIVATE KEY-----\n";
        let after = "\n-----END RSA PRIVATE KEY-----\nmore\n";
        for (first, count) in [(0, 1), (0, 2), (3, 1), (3, 2), (4, 4), (7, 2), (8, 1)] {
            let shown = lines[first..first + count].join("\n");
            let before = [before.to_owned(), lines[..first].join("\n"), "\n".repeat(first.min(1))].concat();
            let after = format!("\n{}{after}", lines[first + count..].join("\n"));
            let named = key_lines_of_part(&before, &shown, &after);
            let mut result = json!({"content": shown});
            note_key_lines(&mut result, &named);
            let masked = masked(&result);
            assert!(lines.iter().all(|line| !masked.contains(line.as_str())), "{width}, {first}, {count}: {masked}");
            // The control: without the file around it, two lines of an odd width pass.
            if width == 48 && count == 2 {
                assert!(find_secrets(&shown).is_empty());
            }
        }
    }
}

#[test]
fn a_part_names_only_what_it_does_not_show_by_itself() {
    let block = key_block("PRIVATE KEY", 6);
    let whole = format!("a\n{block}\nb\n");
    assert_eq!(key_lines_of_part("", &whole, ""), Vec::<[u64; 2]>::new());
    assert_eq!(key_lines_of_part("x\n", "y\nz", "\nw\n"), Vec::<[u64; 2]>::new());
    assert_eq!(key_lines(&whole), [[2, 9]]);
    let (public, certificate) = (key_block("PUBLIC KEY", 6), key_block("CERTIFICATE", 30));
    assert_eq!(key_lines(&format!("{public}\n{certificate}\n")), Vec::<[u64; 2]>::new());
    // The end of a certificate at the top of a page, and its beginning at the foot of one.
    let lines: Vec<&str> = certificate.lines().collect();
    assert_eq!(found(&lines[20..].join("\n")), []);
    assert_eq!(found(&lines[..20].join("\n")), []);
}

#[test]
fn a_command_may_print_any_line_of_a_key() {
    let lines = body(9, 64);
    let openssh = body(9, 70);
    let printed = [
        lines[4].clone(),
        format!("{}\n", openssh[4]),
        lines[4..6].join("\n"),
        format!("{}\nAb3=\n", lines[4]),
        format!("     5\t{}\n     6\t{}\n", lines[4], lines[5]),
        format!("key.txt:5:{}\nkey.txt-6-{}\n", lines[4], lines[5]),
        format!("+{}\n+{}\n", lines[4], lines[5]),
        format!("    \"{}\"\n    \"{}\"\n", lines[4], lines[5]),
        format!("> {}\n> {}\ndone\n", lines[4], lines[5]),
    ];
    for text in printed {
        let masked = masked(&json!({"exit_code": 0, "stdout": text, "stderr": ""}));
        let all = lines.iter().chain(&openssh);
        assert!(all.clone().all(|line| !masked.contains(line.as_str())), "{text}: {masked}");
    }
    let image = STANDARD.encode([&b"\x89PNG\r\n\x1a\n"[..], &[7, 130, 201].repeat(200)].concat());
    let wrapped = |width| wrapped(&image, width);
    let ordinary = [
        format!("{}  file.tar.gz\n{}  other.tar.gz\n", hex_signs(64), hex_signs(64)),
        format!("\"integrity\": \"sha384-{}\",\n\"integrity\": \"sha384-{}\"\n", signs(64), signs(64)),
        format!("sha384-{}\n", signs(64)),
        wrapped(64),
        wrapped(76),
        key_block("CERTIFICATE", 5),
        format!("first\n{}\nlast\n", signs(64)),
        "drwxr-xr-x 2 me me 4096 Nov 30 07:00 src\n".to_owned(),
    ];
    for text in ordinary {
        assert_eq!(masked(&json!({"stdout": text})), json!({"stdout": text}).to_string());
    }
}

#[test]
fn a_line_of_a_key_that_was_met_whole_is_known_everywhere() {
    let block = key_block("RSA PRIVATE KEY", 9);
    let line = block.lines().nth(4).unwrap();
    let mut masker = Masker::default();
    assert!(
        masker.value("one", &json!({"error": format!("odd: {line} there")})).to_string().contains(line),
        "the control"
    );
    masker.value("two", &json!({"content": block}));
    assert_eq!(masker.known(&format!("odd: {line} there")), "odd: «masked: private key #1» there");
}

#[test]
fn secrets_in_base64_and_in_utf_16_are_masked_where_they_are_written() {
    let key = format!("ghp_{}", signs(36));
    let plain = format!("first line of it\nTOKEN is {key}, and more words after it\n{}", key_block("PRIVATE KEY", 4));
    for skipped in 0..9 {
        let encoded = STANDARD.encode(&plain);
        let cut = &encoded[skipped..];
        for written in [cut.to_owned(), wrapped(cut, 76), cut.replace('+', "-").replace('/', "_")] {
            let masked = masked(&json!({"content": written, "encoding": "base64"}));
            assert!(masked.contains("«masked: API key #1»") && masked.contains("«masked: private key #1»"), "{masked}");
            let secret = STANDARD.encode(&plain[26..]);
            assert!(!masked.contains(&secret[8..40]), "{skipped}: {masked}");
        }
    }
    let digits = hex::encode(&plain);
    for written in [digits.clone(), digits.to_uppercase(), wrapped(&digits, 60)] {
        let masked = masked(&json!({"content": written}));
        assert!(masked.contains("«masked: API key #1»") && masked.contains("«masked: private key #1»"), "{masked}");
        assert!(masked.contains(&written[..20]), "what stands before it stays: {masked}");
    }
    let utf16: String = plain.encode_utf16().flat_map(u16::to_le_bytes).map(char::from).collect();
    let masked = masked(&json!({"content": utf16, "encoding": "latin1"}));
    let spread: String = key.chars().flat_map(|sign| [sign, '\0']).collect();
    let inner = json!(spread.trim_end_matches('\0')).to_string();
    assert!(json!({"content": utf16}).to_string().contains(inner.trim_matches('"')), "the control");
    assert!(!masked.contains(inner.trim_matches('"')), "{masked}");
    let harmless = STANDARD.encode("Just some words of a person, which nobody needs to hide from anyone at all.");
    assert_eq!(found(&harmless), []);
}

/// Of anything that an attacker may repeat, four times as much takes about four times as long.
#[test]
#[expect(clippy::disallowed_methods, reason = "what is tested is how long it takes")]
fn time_grows_with_the_text_alone() {
    const BYTES: usize = 300_000;
    let key = |at: usize| format!("ghp_{at:08}{}\n", signs(28));
    let many_keys: String = (0..BYTES / 40).map(key).collect();
    let repeated = [
        "-----BEGIN PRIVATE KEY-----\n".to_owned(),
        "-----END PRIVATE KEY-----\n".to_owned(),
        format!("…\n{}\n{}\n{}\n", signs(64), signs(64), signs(64)),
        "password=".to_owned(),
        "\u{1b}[33mpassword=\u{1b}[0m".to_owned(),
        "password=a;".to_owned(),
        "password=abcdefg ".to_owned(),
        "--password abcdefg\n".to_owned(),
        "password: &str ".to_owned(),
        "Cookie: a=b; ".to_owned(),
        "kind: Secret\ndata:\n  a: bcde\n---\n".to_owned(),
        "(\"password\", net use \\\\a mongo -p ".to_owned(),
        "WIFI:T:a;P:password: |\n".to_owned(),
        "password is ".to_owned(),
        "name: password value: ".to_owned(),
        "<password><password ".to_owned(),
        "curl -u mysql -p secret ".to_owned(),
        "machine a login b ".to_owned(),
        "\u{1b}]\u{1b}[".to_owned(),
        "\\".to_owned(),
        "\\n%20".to_owned(),
        "%25".to_owned(),
        "&amp;".to_owned(),
        "password,a\n".to_owned(),
        "|password".to_owned(),
        "user,password\na,b\n".to_owned(),
        "-ghp_".to_owned(),
        "aB3dE6gH9jK2mN5pQ8rS\n".to_owned(),
        "\u{200b}a".to_owned(),
        "a:b:c:d:e:123:".to_owned(),
        "$6$a$".to_owned(),
        "INSERT INTO a (password) VALUES (b".to_owned(),
        "INSERT INTO a (password) VALUES ('b'), ".to_owned(),
        "<tr><td>password<td><b>".to_owned(),
        "password: [a".to_owned(),
        "passwords:\n  - abcdef\n".to_owned(),
        "{\"value\": \"abcdef\", \"name\": ".to_owned(),
        "password || password ( password | ".to_owned(),
        "<key>password</key><a>".to_owned(),
        "password for a: ".to_owned(),
        "echo abcd | sudo -n ".to_owned(),
        "htpasswd -b a ".to_owned(),
        "\"a\" + ".to_owned(),
        "\\_".to_owned(),
        "a=\n".to_owned(),
        hex_signs(64),
        " ".to_owned(),
        signs(66),
    ];
    let texts = repeated.iter().map(|part| part.repeat(BYTES / part.len()));
    for text in texts.chain([many_keys]) {
        let timed = |text: &str| {
            let begun = std::time::Instant::now();
            Masker::default().text("call", text);
            begun.elapsed()
        };
        let half: String = text.chars().take(text.chars().count() / 4).collect();
        let (short, long) = (timed(&half), timed(&text));
        // Twice the factor, and some ticks of a busy machine: a square would be sixteen.
        assert!(long < short * 9 + std::time::Duration::from_millis(400), "{short:?}, {long:?}: {text:.40}");
    }
}

#[test]
fn a_secret_in_a_file_that_is_no_text_is_masked_in_its_base64() {
    let key = format!("ghp_{}", signs(36));
    let noise: Vec<u8> = (0..2_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    let binary = STANDARD.encode(
        [&b"SQLite format 3\0\x10\x00\xff\xfe\x01"[..], &noise, b"\x03\x05", key.as_bytes(), b"\0\x05", &noise]
            .concat(),
    );
    let shown = masked(&json!({"content": binary, "encoding": "base64"}));
    assert!(shown.contains("«masked: API key #1»") && shown.contains(&binary[binary.len() - 200..]), "{shown}");
    assert_eq!(found(&STANDARD.encode(&noise)), []);
}

proptest! {
    #[test]
    fn spans_are_in_order_apart_and_on_borders_of_characters(text in "(sk-|ghp_|password=|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|[a-zA-Z0-9中 \\\\n\"=:/@.-]){0,60}") {
        let secrets = find_secrets(&text);
        prop_assert!(secrets.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        prop_assert!(secrets.iter().all(|secret| !secret.range.is_empty() && text.get(secret.range.clone()).is_some()));
    }

    #[test]
    fn what_is_masked_holds_no_secret_any_more(text in "(sk-[a-z0-9]{30}|ghp_[A-Za-z0-9]{36}|[a-z中 ]{5}){0,12}") {
        let mut masker = Masker::default();
        let masked = masker.text("place", &text).into_owned();
        prop_assert_eq!(found(&masked), []);
    }
}
