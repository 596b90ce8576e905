//! What several test files share.

pub(crate) mod desk;
pub(crate) mod ollama;
pub(crate) mod own_process;
