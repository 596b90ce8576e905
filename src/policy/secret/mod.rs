//! Token-like text: provider keys, tokens, passwords in addresses, assignments and files of credentials, private keys. Finds
//! them, and masks them in what leaves this machine.
//!
//! A text is searched as it is written, without what draws nothing, and without the breaks of its lines too ([`reading`]): a
//! colour or a line break at a key or within it hides it from nobody. So is what its escapes stand for ([`escape`]), and a key that is
//! written in several strings.
//!
//! Every pattern is a regular expression without backtracking, so that the time grows with the text alone. A hit is not
//! trusted for its prefix only: it must look random too. What is found here is data; nothing is refused because of it.

mod assignment;
mod block;
mod credential;
mod encoded;
mod escape;
mod html_table;
mod insert;
mod known;
mod kubernetes;
mod mask;
mod named;
mod option;
mod part;
mod placeholder;
mod plain;
mod random;
mod reading;
mod table;
mod token;
mod vocabulary;
mod wallet;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use assignment::is_secret_name;
pub use mask::{MaskedSecret, Masker, secret_id};
pub use part::{KEY_CONTEXT_BYTES, key_lines, key_lines_of_part, note_key_lines};

/// What a found text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    /// A key of a provider, in that provider's own form.
    ApiKey,
    /// A bearer token, a JSON web token.
    Token,
    /// The value of a password-like name, or the password of an address.
    Password,
    /// A block of a private key.
    PrivateKey,
}

impl SecretKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ApiKey, Self::Token, Self::Password, Self::PrivateKey];

    /// Its name for a model.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::Token => "token",
            Self::Password => "password",
            Self::PrivateKey => "private key",
        }
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Where, in bytes.
    pub range: Range<usize>,
    /// What.
    pub kind: SecretKind,
}

/// A text without its secrets, for logs: each is only named.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = find_secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    for Secret { range, kind } in found {
        redacted.push_str(text.get(done..range.start).unwrap_or_default());
        redacted.push_str("«masked: ");
        redacted.push_str(kind.words());
        redacted.push('»');
        done = range.end;
    }
    redacted.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// Every secret in a text, in order, none inside another.
pub fn find_secrets(text: &str) -> Vec<Secret> {
    let mut known = in_order(find_written(text));
    // What draws nothing first: where a line ends must be known before any two are put together.
    for reading in [reading::bare(text), reading::of(text)].into_iter().flatten() {
        let found = reading.placed(in_order(find_written(&reading.text)), &known);
        if !found.is_empty() {
            known.extend(found);
            known = in_order(known);
        }
    }
    if let Some(reading) = reading::joined(text) {
        let found = reading.placed(in_order(token::find(&reading.text)), &known);
        if !found.is_empty() {
            known.extend(found);
            known = in_order(known);
        }
    }
    let escaped = escape::find(text, &known);
    if !escaped.is_empty() {
        known.extend(escaped);
        known = in_order(known);
    }
    known
}

/// Every secret in a text as it is written, in no order.
fn find_written(text: &str) -> Vec<Secret> {
    let mut found = block::find(text);
    found.extend(find_short(text));
    found.extend(encoded::find(text));
    found
}

/// All but blocks of keys and what is written in another way.
fn find_short(text: &str) -> Vec<Secret> {
    let mut found = token::find(text);
    found.extend(assignment::find(text));
    found.extend(credential::find(text));
    found.extend(kubernetes::find(text));
    found.extend(named::find(text));
    found.extend(plain::find(text));
    found.extend(insert::find(text));
    found.extend(table::find(text));
    found.extend(html_table::find(text));
    found.extend(wallet::find(text));
    found
}

/// Of two that overlap the longer one stays: a block before what stands in it, a key before the name that it has.
fn in_order(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut kept: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match kept.last_mut() {
            Some(last) if secret.range.start < last.range.end => last.range.end = last.range.end.max(secret.range.end),
            Some(_) | None => kept.push(secret),
        }
    }
    kept
}
