//! What several test files share.

pub(crate) mod anthropic;
pub(crate) mod desk;
pub(crate) mod exchange;
pub(crate) mod link_server;
pub(crate) mod ollama;
#[cfg(unix)]
pub(crate) mod own_hand;
pub(crate) mod own_process;
pub(crate) mod probe;
pub(crate) mod run_context;
#[cfg(all(target_os = "linux", feature = "gui"))]
pub(crate) mod screen;
pub(crate) mod validity;
#[cfg(all(target_os = "linux", feature = "gui"))]
pub(crate) mod window;
#[cfg(target_os = "linux")]
pub(crate) mod without;
