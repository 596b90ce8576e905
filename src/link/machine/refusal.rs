//! What a server is told of a refusal: one sentence for each code, so that two refusals of a kind are the same byte for byte,
//! and nothing of this computer (paths, names, system messages) is in them.

/// The sentence of a stable code.
pub fn sentence(code: &str) -> &'static str {
    match code {
        "DEVICE_MISMATCH" => "The call is for another device.",
        "TOOL_NOT_AVAILABLE" => "This computer does not offer that tool in that version.",
        "TOOL_NOT_ENABLED" => "The person at the computer has switched tools off.",
        "INVALID_ARGUMENTS" => "The arguments do not fit the tool's schema.",
        "ABSOLUTE_PATH_DENIED" => "Paths are relative to the workspace; absolute ones are refused.",
        "PATH_OUT_OF_SCOPE" => "The path leaves the workspace.",
        "SENSITIVE_PATH_DENIED" => "The name says that it holds secrets, so it is never opened.",
        "BLOCKED_PATH_DENIED" => "The place is closed to tools.",
        "SPECIAL_FILE_DENIED" => "It is a pipe, a socket or a device.",
        "PATH_INVALID" => "It cannot be a path.",
        "PATH_NOT_FOUND" => "There is nothing at this path in the workspace.",
        "NOT_A_FILE" => "It is a folder, not a file.",
        "NOT_A_DIRECTORY" => "It is a file, not a folder.",
        "FILE_TOO_LARGE" => "It is larger than may be read at once.",
        "BINARY_FILE" => "It is not text.",
        "REQUEST_EXPIRED" => "The call came, or was allowed, after its time.",
        "IDEMPOTENCY_CONFLICT" => "The same call was sent before with other arguments.",
        "CONFIRMATION_REJECTED" => "The person at the computer refused, or did not answer in time.",
        "CANCELLED_BY_SERVER" => "The call was taken back before it was done.",
        "CANCELLED" => "The person at the computer ended the connection, or gave it another folder.",
        "TIMED_OUT" => "It took longer than it may.",
        "TARGET_CHANGED" => "What is there keeps changing.",
        "DESKTOP_RESTARTED" => "The desktop ended while the call was under way; it may have run.",
        "RATE_LIMITED" => "Too many calls are under way, or too many results wait to be taken in.",
        "PERMISSION_DENIED" => "The operating system does not permit it.",
        _ => "It could not be done on this computer.",
    }
}
