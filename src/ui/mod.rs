//! The window: the only room that names egui. It draws from the state of `app` and pushes intents.
//!
//! While drawing nothing is sent, locked, waited for, parsed, sorted or opened.

pub mod font;
pub mod icon;
pub mod markdown;
pub mod theme;
pub mod widget;
