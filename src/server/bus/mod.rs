//! How the processes of one server find each other's devices: one trait, in one process or over NATS.
//!
//! Nothing here is kept: what must not be lost is in the ledger, and news that does not arrive is made up for by it.

mod local;
mod nats;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::link::wire::{CallRequest, OfferedTool};

use super::connection::{Device, Rank};

/// Why a message did not go out.
#[derive(Debug, thiserror::Error)]
pub(super) enum BusError {
    /// The bus is not there.
    #[error("the bus does not answer: {detail}. Check that NATS runs at the address of --bus.")]
    Unreachable {
        /// Its own words.
        detail: String,
    },
    /// The address names no bus.
    #[error("{address} is no bus: use local or nats://HOST:PORT.")]
    Address {
        /// As it was given.
        address: String,
    },
}

/// A question to whoever holds a device's connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Question {
    /// Which connection, which tools?
    Describe,
    /// Send this, if that connection is still there.
    Dispatch { connection_id: String, request: Box<CallRequest> },
    /// Take this call back: if that connection, which carried it, is still there, or without one whatever is.
    Cancel { connection_id: Option<String>, tool_call_id: String, reason: String },
}

/// The answer of whoever holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// What is connected.
    Device { rank: Rank, tools: Vec<OfferedTool> },
    /// It was sent.
    Sent,
    /// That connection is gone.
    Gone,
}

/// What every process should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum News {
    /// A device has connected.
    Registered { user: String, device_id: String, rank: Rank },
    /// A connection has ended.
    Lost { connection_id: String },
    /// A call's result is in the ledger.
    Result { user: String, tool_call_id: String },
}

/// What a process does with what comes over the bus.
pub(super) trait Listener: Send + Sync {
    /// Answers; `None` when the device is not connected here.
    fn answer(&self, device: &Device, question: Question) -> Option<Reply>;

    /// What the others should know once the bus is back: what was told meanwhile may not have reached them.
    fn retell(&self) -> Vec<News>;

    /// Takes news in; gives what the others should know in return.
    fn hear(&self, news: News) -> Option<News>;
}

/// The bus.
pub(super) trait Bus: Send + Sync {
    /// Asks the other processes; `None` when the device is connected nowhere. While the bus is away only a cancel waits for
    /// it: what else is asked is of no use later.
    fn ask<'a>(&'a self, device: &'a Device, question: Question) -> BoxFuture<'a, Result<Option<Reply>, BusError>>;

    /// Tells the other processes, at once or when they can be reached again.
    fn tell(&self, news: News) -> BoxFuture<'_, Result<(), BusError>>;
}

/// Joins the bus at an address: `local`, or `nats://HOST:PORT`.
///
/// # Errors
/// When the address names no bus, or it does not answer.
pub(super) async fn join(address: &str, listener: Arc<dyn Listener>) -> Result<Arc<dyn Bus>, BusError> {
    if address == "local" {
        return Ok(Arc::new(local::LocalBus));
    }
    if address.starts_with("nats://") || address.starts_with("tls://") {
        return Ok(Arc::new(nats::NatsBus::join(address, listener).await?));
    }
    Err(BusError::Address { address: address.to_owned() })
}
