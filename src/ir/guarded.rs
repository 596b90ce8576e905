//! Which settings decide what is asked, masked and reached: the store keeps them under a code, and a change is on record.

/// The beginnings of their keys.
const GROUPS: [&str; 2] = ["safety.", "tools."];
/// Single ones of other groups: what counts as this machine, and who hears what is said to others.
const SINGLE: [&str; 4] = ["models.ollama_url", "models.ollama_is_remote", "models.proxy", "models.ca_file"];

/// Those of which a person may have chosen something stricter than what holds without a choice.
pub const STRICT_SETTINGS: [&str; 5] =
    ["safety.mode", "safety.folders", "tools.enabled", "tools.disabled", "models.ollama_is_remote"];

/// Whether a setting is one of them.
pub fn is_guarded_setting(key: &str) -> bool {
    GROUPS.iter().any(|group| key.starts_with(group)) || SINGLE.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loosens_is_guarded_and_how_the_window_looks_is_not() {
        assert!(STRICT_SETTINGS.into_iter().all(is_guarded_setting));
        for key in ["safety.never_unconfined", "tools.limits", "models.ollama_url"] {
            assert!(is_guarded_setting(key), "{key}");
        }
        for key in ["general.theme", "models.temperature", "safetynet"] {
            assert!(!is_guarded_setting(key), "{key}");
        }
    }
}
