//! The real window without a screen: driven by role and accessible name, with an engine that a test plays.

mod chat;
mod confirm;
mod settings;
mod support;
mod window;
