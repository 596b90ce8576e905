//! One integration binary: the engine with scripted providers, temporary folders and loopback servers, and the rules that
//! hold the house up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test may stop at once, in what it shares with others too, and looks for one event among many"
)]

#[cfg(target_os = "linux")]
mod aftermath;
mod anthropic;
mod architecture;
#[cfg(target_os = "linux")]
mod attack;
mod audit;
mod bounds;
#[cfg(target_os = "linux")]
mod claim;
mod cli;
mod command;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(all(unix, feature = "server"))]
mod device_link;
mod disk;
mod failover;
mod foreign_text;
mod gate;
mod gone;
mod guide;
#[cfg(target_os = "linux")]
mod hard_link;
mod held_script;
mod import;
mod key;
mod kill;
mod kill_point;
mod large_write;
#[cfg(target_os = "linux")]
mod lead;
mod link;
#[cfg(target_os = "linux")]
mod linked;
#[cfg(target_os = "linux")]
mod mapping;
#[cfg(target_os = "linux")]
mod moved;
#[cfg(target_os = "linux")]
mod nearly;
mod network;
mod openai;
mod order;
mod overflow;
mod padlock;
mod patience;
mod planted;
#[cfg(target_os = "linux")]
mod protection;
mod provider;
mod race;
mod recovery;
mod refusal;
mod replay;
mod restore;
mod rule;
#[cfg(target_os = "linux")]
mod scaffold;
mod scenarios;
#[cfg(all(target_os = "linux", feature = "gui"))]
mod screen_lock;
mod search;
mod shield;
mod started;
mod started_place;
mod steps;
mod stop;
mod store;
mod support;
mod switching;
mod tool_turn;
mod tools;
mod turn;
mod undo;
mod validity;
#[cfg(all(target_os = "linux", feature = "gui"))]
mod window;
