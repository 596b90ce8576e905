//! User tokens: random, shown once, kept only as a hash.

use sha2::{Digest as _, Sha256};

/// Bytes of chance in a token: as many as its hash has.
const TOKEN_BYTES: usize = 32;

/// A user who has come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    /// The hash of the token: what it let in ends with it.
    pub(super) token: String,
}

/// A new token. It begins with a word of its own, so that scanners for leaked keys can find it.
///
/// # Errors
/// When the system gives no random bytes.
pub(super) fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(format!("nodt_{}", hex::encode(bytes)))
}

/// What the ledger keeps of a token. A plain hash will do: there is nothing to guess in 256 bits of chance.
pub(super) fn token_hash(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_their_hash_is_not_the_token() {
        let (first, second) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(first, second);
        assert_eq!(first.len(), 5 + 2 * TOKEN_BYTES);
        assert!(!token_hash(&first).contains(&first[5..]));
    }
}
