//! What a server turned out not to take, so that it is not offered again.

/// What was learnt of a model at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRefusal {
    /// The wire format.
    pub format: String,
    /// The server.
    pub address: String,
    /// The model; empty for all of the server.
    pub model: String,
    /// As the adapter that learnt it writes it; nobody else reads it.
    pub learnt: String,
}
