//! A provider that the person has set up, without its key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A provider that the person has set up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRecord {
    /// Its name: what the model picker and `--provider` call it.
    pub id: String,
    /// The known provider that it is one of: decides the wire format and the vendor's habits.
    pub preset: String,
    /// Where it is; empty for the preset's own address.
    #[serde(default)]
    pub base_url: String,
    /// Whether what it is sent leaves this machine, where the person says more than the address does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_remote: Option<bool>,
    /// How it is reached; the setting for all when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// A file with certificate authorities to trust besides the system's own, as PEM; the setting for all when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Where its key is.
    #[serde(default)]
    pub key: KeyPlace,
}

/// Where a provider's key is, and for which origin (scheme, host, port) it was entered. It is sent nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "camelCase")]
pub enum KeyPlace {
    /// There is none.
    #[default]
    Nowhere,
    /// In the system's keyring.
    Keyring { origin: String },
    /// In memory until Nod ends.
    ThisRun { origin: String },
    /// In the vendor's usual environment variable.
    Variable { name: String },
}

impl KeyPlace {
    /// The origin that a key of the person's own was entered for.
    pub fn origin(&self) -> Option<&str> {
        match self {
            Self::Keyring { origin } | Self::ThisRun { origin } => Some(origin),
            Self::Nowhere | Self::Variable { .. } => None,
        }
    }
}

/// How servers beyond this network are reached. This machine and the local network are never reached through a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Proxy {
    /// As the system and its environment variables say.
    #[default]
    System,
    /// Directly.
    Direct,
    /// Through this one: `http://`, `https://` or `socks5://`, host and port.
    Through(String),
}

/// A text that names no proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a proxy is `system`, `none`, or an address such as http://proxy.example:3128 or socks5://127.0.0.1:1080")]
pub struct NoProxy;

impl FromStr for Proxy {
    type Err = NoProxy;

    fn from_str(text: &str) -> Result<Self, NoProxy> {
        let text = text.trim();
        match text {
            "" | "system" => return Ok(Self::System),
            "none" => return Ok(Self::Direct),
            _ => {}
        }
        let (scheme, rest) = text.split_once("://").ok_or(NoProxy)?;
        let is_known = ["http", "https", "socks5", "socks5h"].contains(&scheme);
        let is_plain = !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control());
        // A password in an address would stand in the database.
        if is_known && is_plain && !rest.contains('@') { Ok(Self::Through(text.to_owned())) } else { Err(NoProxy) }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system"),
            Self::Direct => f.write_str("none"),
            Self::Through(address) => f.write_str(address),
        }
    }
}

impl TryFrom<String> for Proxy {
    type Error = NoProxy;

    fn try_from(text: String) -> Result<Self, NoProxy> {
        text.parse()
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> Self {
        proxy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::round_trip;

    #[test]
    fn a_record_keeps_its_names() {
        let record: ProviderRecord = round_trip(&json!({
            "id": "work",
            "preset": "openai-compatible",
            "baseUrl": "https://llm.example.com/v1",
            "isRemote": true,
            "proxy": "none",
            "caFile": "/projects/ca.pem",
            "key": {"place": "keyring", "origin": "https://llm.example.com"},
        }));
        assert_eq!(record.key.origin(), Some("https://llm.example.com"));
        assert_eq!(record.proxy, Some(Proxy::Direct));
    }

    #[test]
    fn a_proxy_is_a_word_or_an_address_without_a_password() {
        let read = |text: &str| text.parse::<Proxy>();
        assert_eq!(
            (read("system"), read(" none "), read("")),
            (Ok(Proxy::System), Ok(Proxy::Direct), Ok(Proxy::System))
        );
        for address in ["http://proxy:3128", "https://proxy.example:443", "socks5://127.0.0.1:1080"] {
            assert_eq!(read(address), Ok(Proxy::Through(address.into())));
            assert_eq!(read(address).unwrap().to_string(), address);
        }
        for wrong in ["proxy:3128", "ftp://proxy", "http://", "http://me:pass@proxy:1", "http://a b"] {
            assert_eq!(read(wrong), Err(NoProxy), "{wrong}");
        }
    }
}
