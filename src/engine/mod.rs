//! The imperative shell: owns the runtime, spawns, waits; one task per live session.
//!
//! A front end sends a `Command` and reads `Event`s from its `Inbox`. `dispatch` takes commands in their order, `turn`
//! drives the agent machine, `round` asks the model, `gate` is the one way to a tool, `confirm` keeps the questions,
//! `transcript` is what front ends see of a session. Nothing here draws.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the room that spawns, reads the clock and shares state between its tasks"
)]

mod ability;
mod aftermath;
mod archive;
mod audit;
mod coercion;
mod complete;
mod confinement;
mod confirm;
mod connection;
mod conversation;
mod crash;
mod dispatch;
mod doctor;
mod export;
mod fault;
mod folder;
mod gate;
mod inbox;
mod instance;
mod key;
mod link;
mod logging;
mod lookup;
mod model;
mod network;
mod news;
mod provider;
mod remote_image;
mod request;
mod restore;
mod round;
mod rule;
mod seal;
mod sent;
mod session;
mod setting;
mod setup;
mod shared;
mod shield;
mod start;
mod transcript;
mod turn;
mod undo;
mod uptime;

pub use archive::Archive;
pub use audit::AuditFormat;
pub use coercion::mend_arguments;
pub use connection::{diagnose, diagnose_and_wait};
pub use crash::guard_crashes;
pub use doctor::{Finding, Health, examine};
pub use export::markdown;
pub use inbox::{Inbox, Wake};
pub use instance::{Departure, Handover, Reply, Visitor, can_hand_over, hand_over, serve};
pub use key::Keys;
pub use link::link_address;
pub use logging::{LogGuard, start_logging};
pub use lookup::{check_health, folder_concern, list_models, only_model, presets, provider_ids, tool_definitions};
pub use provider::{ConfiguredProviders, Place, ProviderSource};
pub use restore::{BackupFrom, Restoration, restore};
pub use start::{Engine, EngineOptions, Handle, QueueFull, StartError, Storage, default_data_dir, system_clock};
