//! A key to a provider. It can be sent, and never shown: it has no `Display`, and its `Debug` says nothing of it.

use std::fmt;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Box<str>);

impl SecretKey {
    /// The key in a text, without the space that copying brings along; `None` when nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The key itself: for the header that carries it, the keyring that stores it, and the filter that masks it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_never_shown() {
        let key = SecretKey::new(" sk-planted\n").unwrap();
        assert_eq!(key.expose(), "sk-planted");
        assert_eq!(format!("{key:?} {:#?}", Some(&key)).matches("planted").count(), 0);
        assert_eq!(SecretKey::new(" \t"), None);
    }
}
