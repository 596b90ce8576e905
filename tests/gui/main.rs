//! The real window without a screen: driven by role and accessible name, with an engine that a test plays.

mod chat;
mod confirm;
mod markdown;
mod scene;
mod settings;
mod support;
mod transcript;
mod window;
