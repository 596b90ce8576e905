//! One integration binary: the engine with scripted providers, temporary folders and loopback servers, and the rules that
//! hold the house up.

mod architecture;
mod command;
mod provider;
mod search;
mod support;
