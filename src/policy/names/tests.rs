use super::*;

fn verdict(path: &str) -> NameVerdict {
    let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    judge_name(&parts)
}

#[test]
fn names_of_secrets_are_denied() {
    for (path, part) in [
        (".env", ".env"),
        (".ENV", ".ENV"),
        (".env.", ".env."),
        (".env ", ".env "),
        (".ｅｎｖ", ".ｅｎｖ"),
        (".env.local", ".env.local"),
        (".env.production.local", ".env.production.local"),
        (".env.example.bak", ".env.example.bak"),
        (".envrc", ".envrc"),
        ("a/b/.env", ".env"),
        (".env/x.md", ".env"),
        ("server.pem", "server.pem"),
        ("Server.KEY", "Server.KEY"),
        ("x.p12", "x.p12"),
        ("x.pfx", "x.pfx"),
        ("x.kdbx", "x.kdbx"),
        ("x.keystore", "x.keystore"),
        (".pem", ".pem"),
        ("server.pem.bak", "server.pem.bak"),
        ("server.key~", "server.key~"),
        ("server.key.old", "server.key.old"),
        ("server.pem.1", "server.pem.1"),
        ("server.pem.bak.2", "server.pem.bak.2"),
        ("server.pem.bak2", "server.pem.bak2"),
        ("server.key-old", "server.key-old"),
        ("server.key_backup", "server.key_backup"),
        ("server.pem (1)", "server.pem (1)"),
        ("server.pem.2026-11-30", "server.pem.2026-11-30"),
        ("#server.pem#", "#server.pem#"),
        (".server.pem.swp", ".server.pem.swp"),
        ("server.\u{212A}ey", "server.\u{212A}ey"),
        (".env~", ".env~"),
        (".env-old", ".env-old"),
        (".envrc.bak", ".envrc.bak"),
        (".npmrc~", ".npmrc~"),
        ("id_rsa", "id_rsa"),
        ("ID_RSA", "ID_RSA"),
        ("id_rsa_work", "id_rsa_work"),
        ("id_rsa.bak", "id_rsa.bak"),
        ("id_ed25519", "id_ed25519"),
        ("id_ecdsa_sk", "id_ecdsa_sk"),
        ("id_dsa", "id_dsa"),
        (".npmrc", ".npmrc"),
        (".pypirc", ".pypirc"),
        ("credentials", "credentials"),
        (".credentials", ".credentials"),
        ("config/credentials/prod.json", "credentials"),
        ("Credentials/readme.md", "Credentials"),
        ("passwords.txt", "passwords.txt"),
        ("password", "password"),
        ("my-password.json", "my-password.json"),
        ("db_passwd.yaml", "db_passwd.yaml"),
        ("client secret.json", "client secret.json"),
        ("secrets.yml", "secrets.yml"),
        ("secrets.prod.toml", "secrets.prod.toml"),
        ("secret.ini", "secret.ini"),
        ("credential.cfg", "credential.cfg"),
        ("aws.credentials.conf", "aws.credentials.conf"),
        ("passwords.csv", "passwords.csv"),
        ("secrets.xml", "secrets.xml"),
        ("passwords.db", "passwords.db"),
        ("passwords.sqlite", "passwords.sqlite"),
        ("Passwords.XLSX", "Passwords.XLSX"),
        ("passwords.docx", "passwords.docx"),
        ("passwords.ods", "passwords.ods"),
        ("passwords.txt.bak", "passwords.txt.bak"),
        ("secret2.txt", "secret2.txt"),
        (".secrets", ".secrets"),
        ("密码 password.txt", "密码 password.txt"),
        ("secret.key", "secret.key"),
    ] {
        assert_eq!(verdict(path), NameVerdict::Sensitive { part: part.to_owned() }, "{path}");
    }
}

#[test]
fn source_code_and_documents_that_speak_of_secrets_are_suspicious() {
    for path in [
        "password.rs",
        "password-reset.ts",
        "secrets.py",
        "credentials.go",
        "passwd.c",
        "secret.md",
        "passwords.html",
        "secrets.pdf",
        "secret_store.java",
        "Secret.PNG",
    ] {
        assert_eq!(verdict(path), NameVerdict::Suspicious { part: path.to_owned() }, "{path}");
    }
    // What is denied wins over what is suspicious, wherever it stands.
    assert_eq!(verdict("secrets.py/.env"), NameVerdict::Sensitive { part: ".env".to_owned() });
}

#[test]
fn ordinary_names_are_not_hit() {
    for path in [
        "monkey.keymap",
        "keyboard.rs",
        "environment.ts",
        "compass.rs",
        "passwordless.md",
        "passwordless",
        "secretary.txt",
        "secretion.csv",
        ".env.example",
        ".env.sample",
        ".ENV.Template",
        "env",
        "env.ts",
        ".environment",
        "id_rsa.pub",
        "id_ed25519_work.pub",
        "valid_rsa",
        "pem",
        "key",
        "keys.rs",
        "pem.md",
        "turnkey",
        "monkey-2",
        "release-2026.1",
        "envrc~",
        "a_copy",
        "#notes#",
        "npmrc",
        "bypass.txt",
        "README.md",
        "src/main.rs",
        "a.b.c",
        "~",
        "...",
        "中文.txt",
    ] {
        assert_eq!(verdict(path), NameVerdict::Ordinary, "{path}");
    }
    assert_eq!(judge_name(&[]), NameVerdict::Ordinary);
}
