//! The real window without a screen: driven by role and accessible name, with an engine that a test plays.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::float_cmp,
    clippy::format_collect,
    clippy::wildcard_enum_match_arm,
    reason = "a test may stop at once, says what it wants and nothing more, and compares places exactly"
)]

mod attachment;
mod audit;
mod chat;
mod confirm;
mod confirm_whole;
mod expiry;
mod focus;
mod link;
mod markdown;
mod picture;
mod prompt;
mod provider;
mod rule;
mod scene;
mod settings;
mod shield;
mod support;
mod thread;
mod transcript;
mod undo;
mod window;
