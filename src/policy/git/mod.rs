//! What git's configuration says, as far as somebody else's files are run or obeyed by it. Text only: where a path leads is
//! found out by `workspace`.

mod config;
mod harmless;
mod lead;

pub use config::{GitSetting, parse_git_config};
pub use harmless::is_harmless_git_config;
pub use lead::{GitLead, HOOK_NAMES, git_lead};
