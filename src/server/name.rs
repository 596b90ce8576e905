//! What a client may call something. Every id from outside comes through here before the ledger, a log or another process
//! sees it: its length and letters are bounded, so that it is one line of text wherever it is shown.
//!
//! An id that is looked up and cannot be one is simply not found; one that is to be kept is refused with its reason.

/// The longest id of a thread, a run, a turn or a device, in bytes.
const LONGEST: usize = 128;
/// The longest id of a call: its thread, a colon, the model's own id.
const LONGEST_CALL: usize = 2 * LONGEST + 1;

/// Whether it can be the id of a run, a turn or a device, or a model's id of a call.
pub(super) fn is_name(text: &str) -> bool {
    fits(text, LONGEST)
}

/// Whether it can be the id of a thread. Without a colon, so that a call's id names one thread only.
pub(super) fn is_thread(text: &str) -> bool {
    fits(text, LONGEST) && !text.contains(':')
}

/// Whether it can be the id of a call.
pub(super) fn is_call(text: &str) -> bool {
    fits(text, LONGEST_CALL)
}

/// Whether it can be a stable code of an error.
pub(super) fn is_code(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn fits(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_printable() {
        for good in ["t", "0197-aa~2", &"x".repeat(LONGEST), "a/b?c#d%"] {
            assert!(is_name(good) && is_thread(good) && is_call(good), "{good}");
        }
        for bad in ["", " ", "a b", "a\0", "a\n", "\u{202e}a", "\u{9b}", "é", "点", &"x".repeat(LONGEST + 1)] {
            assert!(!is_name(bad) && !is_thread(bad), "{bad:?}");
        }
        assert!(is_call("thread:call_1") && is_name("thread:call_1") && !is_thread("thread:call_1"));
        assert!(is_call(&"x".repeat(LONGEST_CALL)) && !is_call(&"x".repeat(LONGEST_CALL + 1)) && !is_call("a\r"));
        assert!(is_code("PATH_OUT_OF_SCOPE") && !is_code("\u{202e}X") && !is_code("code") && !is_code(""));
    }
}
