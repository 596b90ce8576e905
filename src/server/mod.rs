//! `nod-server`: an agent on a server that uses a person's computer through the device link.
//!
//! Users come in with tokens (`token`), devices with one-time tickets (`ticket`) over a WebSocket (`socket`, `connection`).
//! A call of a device's tool goes through `service` (write down, dispatch, wait, reconcile), a conversation through `agent`.
//! What must not be forgotten is in the `ledger`; several processes find each other's devices over the `bus`.
//! Nothing here touches a person's files, and nothing here draws.

mod agent;
mod args;
mod bus;
mod caller;
mod connection;
mod door;
mod heart;
mod http;
pub mod ledger;
mod listener;
mod metrics;
mod name;
mod running;
#[cfg(test)]
mod sequence_tests;
mod serve;
mod service;
mod socket;
mod ticket;
mod token;
mod tool;

pub use args::{run, run_with};
pub use caller::Caller;
