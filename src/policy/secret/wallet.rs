//! Private keys of wallets as they are exported (WIF): base58 with a check sum, which nothing else has by chance.

use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::{Secret, SecretKind};

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Of the main network and of that for tests.
const VERSIONS: [u8; 2] = [0x80, 0xef];

static EXPORTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[59KLc][1-9A-HJ-NP-Za-km-z]{50,51}(?-u:\b)").ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let hits = EXPORTED.iter().flat_map(|pattern| pattern.find_iter(text));
    hits.filter(|hit| is_key(hit.as_str()))
        .map(|hit| Secret { range: hit.range(), kind: SecretKind::PrivateKey })
        .collect()
}

/// A version, 32 bytes, whether the key is used in its short form, and the check sum of it all.
fn is_key(text: &str) -> bool {
    let Some(bytes) = decoded(text) else { return false };
    let Some((key, sum)) = bytes.split_last_chunk::<4>() else { return false };
    let is_sound = matches!(key, [version, rest @ ..] if VERSIONS.contains(version)
        && (rest.len() == 32 || matches!(rest, [.., 1] if rest.len() == 33)));
    is_sound && Sha256::digest(Sha256::digest(key)).starts_with(sum)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    // The last byte first.
    let mut bytes: Vec<u8> = Vec::with_capacity(40);
    for sign in text.bytes() {
        let mut carry = ALPHABET.iter().position(|known| *known == sign)?;
        for byte in &mut bytes {
            carry += usize::from(*byte) * 58;
            *byte = u8::try_from(carry & 0xff).ok()?;
            carry >>= 8;
        }
        if carry > 0 {
            bytes.push(u8::try_from(carry).ok()?);
        }
    }
    bytes.reverse();
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;

    #[test]
    fn a_key_is_known_by_its_check_sum() {
        // The keys of the number one, as every book on the matter prints them.
        for key in [
            "5HpHagT65TZzG1PH3CSu63k8DbpvD8s5ip4nEB3kEsreAnchuDf",
            "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn",
        ] {
            let text = format!("my key: {key}, and more");
            let found: Vec<&str> = find_secrets(&text).into_iter().map(|secret| &text[secret.range]).collect();
            assert_eq!(found, [key]);
            // The control: one sign is another one.
            assert_eq!(find_secrets(&text.replace("Df,", "Dg,").replace("Wn,", "Wo,")), []);
        }
    }
}
