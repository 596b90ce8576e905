//! A host that a session has reached, or tried to.

use serde::{Deserialize, Serialize};

use super::UnixMs;

/// What a session had to do with one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contact {
    /// Its name or address, without port.
    pub host: String,
    /// Requests that left.
    pub requests: u64,
    /// Requests that the session's padlock held back.
    pub refused: u64,
    /// Bytes of the bodies that were sent.
    pub sent_bytes: u64,
    /// Bytes of the bodies that came back.
    pub received_bytes: u64,
    /// When the last request was made, or held back.
    pub last_at: UnixMs,
}
