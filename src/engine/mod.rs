//! The imperative shell: owns the runtime, spawns, waits; one task per live session.
//!
//! `turn` drives the agent machine, `gate` is the one way to a tool, `confirm` keeps the questions, `inbox` carries events to
//! the front end. Nothing here draws.

mod instance;

pub use instance::{Claim, Handover, Ownership, Reply, Running, Visitor, claim};
