//! Nod: a native desktop agent that asks before it changes anything.
//!
//! # The house
//! Rooms in reading order; an arrow says who may name whom, and a test holds it.
//!
//! ```text
//!      ui (gui)                  cli
//!        │ Intent                  │ Command
//!        ▼                         │
//!       app  ◄──── Event ──┐       │
//!        └────── Command ──┴───► engine: runtime, one task per live session
//!            agent · policy · provider · tool · workspace · sandbox · store
//!                                  ▼
//!                                 ir
//! ```
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may stop at once"
    )
)]

pub mod agent;
pub mod app;
pub mod cli;
pub mod engine;
pub mod ir;
pub mod lang;
pub mod policy;
pub mod port;
pub mod provider;
pub mod sandbox;
pub mod store;
pub mod tool;
#[cfg(feature = "gui")]
pub mod ui;
pub mod workspace;
