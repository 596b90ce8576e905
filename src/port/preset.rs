//! A provider that can be set up, as front ends offer it.

/// A provider that can be set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PresetInfo {
    /// Its id.
    pub id: String,
    /// Its name, the same in every language.
    pub name: String,
    /// Where it usually is; empty when only the person can say.
    pub default_url: String,
    /// Whether it can take a key.
    pub takes_key: bool,
    /// Whether it does nothing without one.
    pub needs_key: bool,
    /// The environment variable that usually holds its key; empty for none.
    pub key_variable: String,
    /// The page on which a person gets a key; empty for none.
    pub key_page: String,
}
