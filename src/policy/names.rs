//! Names that speak of secrets.

use crate::ir::{Code, Failure};

use super::display::escape_name;
use super::fold::fold_name;

/// What a path's names say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameVerdict {
    /// Nothing special.
    Ordinary,
    /// Holds secrets by its name: never opened, whatever the person allowed.
    Sensitive {
        /// The part that says so.
        part: String,
    },
    /// Speaks of secrets but is source code or a document: asked in red, never remembered.
    Suspicious {
        /// The part that says so.
        part: String,
    },
}

/// Whole names.
const SENSITIVE_NAMES: &[&str] = &[".env", ".envrc", ".npmrc", ".pypirc", "credentials", ".credentials"];
/// `.env.*` that only show what an `.env` looks like.
const EXAMPLES: &[&str] = &[".env.example", ".env.sample", ".env.template"];
/// Extensions of keys and key stores.
const KEY_EXTENSIONS: &[&str] = &["pem", "key", "p12", "pfx", "kdbx", "keystore"];
/// Private keys of ssh, whatever follows; `.pub` is the public half.
const KEY_PREFIXES: &[&str] = &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"];
const SECRET_WORDS: &[&str] = &["password", "passwords", "passwd", "credential", "credentials", "secret", "secrets"];
/// What keeps data; a name without an extension counts as such too.
const DATA_EXTENSIONS: &[&str] = &[
    "txt", "json", "jsonl", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "csv", "tsv", "xml", "db", "sqlite",
    "sqlite3", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf", "numbers", "pages",
];
const BACKUP_WORDS: &[&str] = &[
    "bak", "backup", "old", "orig", "original", "save", "saved", "copy", "prev", "previous", "tmp", "temp", "swp",
    "swo",
];

/// Judges every part of a path after NFKC, case folding and cutting of trailing dots and spaces.
pub fn judge_name(parts: &[String]) -> NameVerdict {
    let mut suspicious = None;
    for part in parts {
        match judge_part(part) {
            NameVerdict::Ordinary => {}
            NameVerdict::Suspicious { part } => suspicious = suspicious.or(Some(part)),
            NameVerdict::Sensitive { part } => return NameVerdict::Sensitive { part },
        }
    }
    suspicious.map_or(NameVerdict::Ordinary, |part| NameVerdict::Suspicious { part })
}

fn judge_part(part: &str) -> NameVerdict {
    let name = fold_name(part);
    let sensitive = || NameVerdict::Sensitive { part: part.to_owned() };
    let original = without_backup_suffix(&name);
    if [name.as_str(), original].iter().any(|name| SENSITIVE_NAMES.contains(name))
        || (name.starts_with(".env.") && !EXAMPLES.contains(&name.as_str()))
    {
        return sensitive();
    }
    if KEY_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && name.rsplit('.').next() != Some("pub") {
        return sensitive();
    }
    let (stem, extension) = split_extension(original);
    if extension.is_some_and(|extension| KEY_EXTENSIONS.contains(&extension)) {
        return sensitive();
    }
    let is_word = |word: &str| SECRET_WORDS.contains(&word);
    if !stem.split(|c: char| !c.is_ascii_lowercase()).any(is_word) {
        return NameVerdict::Ordinary;
    }
    if extension.is_none_or(|extension| DATA_EXTENSIONS.contains(&extension)) {
        sensitive()
    } else {
        NameVerdict::Suspicious { part: part.to_owned() }
    }
}

/// `x.pem.bak`, `x.pem~`, `x.pem.2`, `x.pem-old`, `x.pem (1)`, `#x.pem#`, `x.pem.bak.old` → `x.pem`.
fn without_backup_suffix(name: &str) -> &str {
    let mut name = name.trim_start_matches('#');
    loop {
        let shorter = name.trim_end_matches(['~', '#', '.', ' ']);
        let shorter = match shorter.rsplit_once(['.', '-', '_', ' ']) {
            Some((before, suffix)) if !before.is_empty() && is_backup_suffix(suffix) => before,
            Some(_) | None => shorter,
        };
        if shorter.len() == name.len() {
            return name;
        }
        name = shorter;
    }
}

/// `bak`, `old2`, `7`, `(1)`.
fn is_backup_suffix(suffix: &str) -> bool {
    let word = suffix.trim_matches(['(', ')']).trim_end_matches(|c: char| c.is_ascii_digit());
    BACKUP_WORDS.contains(&word) || (word.is_empty() && !suffix.is_empty())
}

/// Stem and extension. A dot file has a stem only, but `.pem` alone is taken for a key.
fn split_extension(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some(("", extension)) if KEY_EXTENSIONS.contains(&extension) => ("", Some(extension)),
        None | Some(("", _)) => (name, None),
        Some((stem, extension)) => (stem, Some(extension)),
    }
}

/// The refusal of a sensitive name: the same whether anything of that name exists or not.
pub(super) fn sensitive_failure(part: &str) -> Failure {
    let name = escape_name(part, false);
    Failure::new(
        Code::SensitivePathDenied,
        format!(
            "The name `{name}` says that it holds secrets, so tools never open it: ask the person for what is needed from it."
        ),
    )
}

#[cfg(test)]
mod tests;
