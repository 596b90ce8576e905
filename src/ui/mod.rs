//! The window: the only room that names egui. It draws from the state of `app` and pushes intents.
//!
//! While drawing nothing is sent, locked, waited for, parsed, sorted or opened.

pub mod audit;
pub mod card;
pub mod dialog;
pub mod font;
pub mod highlight;
pub mod host;
pub mod icon;
pub mod layout;
pub mod markdown;
pub mod modal;
mod notice;
pub mod panel;
pub mod picture;
pub mod rule;
pub mod safe_text;
pub mod scene;
mod screen_lock;
pub mod sentence;
pub mod settings;
mod stray;
mod task;
pub mod theme;
pub mod transcript;
mod waker;
pub mod widget;

pub use host::{Launcher, Port, Wake, Window, WindowOptions, run};
