//! What Ollama's refusals and silences mean for a person: each with what to do next.

use crate::ir::{Error, ErrorCode, UnixMs};
use crate::provider::http::{HttpError, HttpProblem};
use crate::provider::retry::{Refusal, classify, with_detail};

/// Model families that call tools well.
const TOOL_FAMILIES: &str = "Qwen 3, Llama 3.x, Mistral, Command R+, Phi-4 or DeepSeek";

/// No answer from the address.
pub(super) fn unreachable(error: HttpError) -> Error {
    let HttpError { origin, problem } = &error;
    let message = match problem {
        HttpProblem::NothingListens => Some(format!(
            "Ollama does not run at {origin}. Start it (open the Ollama app, or run `ollama serve`), or change the \
             address in Settings › Models.{}",
            if origin.ends_with(":11434") { "" } else { " Ollama's usual port is 11434." }
        )),
        HttpProblem::UnknownHost => {
            Some(format!("There is no host of that name: {origin}. Check Ollama's address in Settings › Models."))
        }
        HttpProblem::FirstByte(patience) => Some(format!(
            "Ollama at {origin} did not answer within {} seconds. It may still be loading the model: try again, or \
             choose a smaller model.",
            patience.as_secs()
        )),
        HttpProblem::Refused(_)
        | HttpProblem::KeyInAddress
        | HttpProblem::Locked
        | HttpProblem::Setup(_)
        | HttpProblem::Connect(_)
        | HttpProblem::Untrusted(_)
        | HttpProblem::NotTls(_)
        | HttpProblem::Proxy(_)
        | HttpProblem::CertificateFile { .. }
        | HttpProblem::Redirect
        | HttpProblem::Silent(_)
        | HttpProblem::Broken(_)
        | HttpProblem::TooLarge(_) => None,
    };
    let mut error = Error::from(error);
    if let Some(message) = message {
        error.message = message;
    }
    error
}

/// Ollama said no, before or during its answer.
pub(super) fn refused(refusal: Refusal<'_>, model: &str, now: UnixMs) -> Error {
    let text = refusal.text.to_lowercase();
    let known = if text.contains("does not support tools") {
        Some((
            ErrorCode::Unknown,
            "tools_not_supported",
            format!(
                "{model} cannot call tools. Choose a model that can ({TOOL_FAMILIES}), or switch the tools off to just chat."
            ),
        ))
    } else if text.contains("does not support thinking") {
        Some((
            ErrorCode::Unknown,
            "thinking_not_supported",
            format!("{model} cannot think first. Set its thinking to off, or choose another model."),
        ))
    } else if text.contains("does not support chat") || text.contains("does not support generate") {
        Some((ErrorCode::Unknown, "chat_not_supported", format!("{model} cannot chat. Choose another model.")))
    } else if text.contains("unexpected endpoint") {
        return not_ollama(refusal.text);
    } else if text.contains("model") && text.contains("not found") && matches!(refusal.status, 400 | 404 | 200) {
        Some((
            ErrorCode::ModelNotFound,
            "model_not_found",
            format!(
                "Ollama has no model named {model}. Pull it: run `ollama pull {model}`, or use *Pull* in Settings › \
                 Models."
            ),
        ))
    } else if refusal.status == 401 {
        Some((
            ErrorCode::AuthInvalid,
            "sign_in",
            format!("{model} runs in Ollama's cloud and needs a sign-in: run `ollama signin`."),
        ))
    } else if matches!(refusal.status, 404 | 405 | 501) {
        return not_ollama(refusal.text);
    } else {
        None
    };
    let mut error = classify(refusal, now);
    if let Some((code, provider_code, message)) = known {
        error.code = code;
        error.provider_code = Some(provider_code.into());
        error.retryable = false;
        error.message = message;
    }
    error
}

/// Something answers there, and it is not Ollama.
pub(super) fn not_ollama(detail: &str) -> Error {
    let message = with_detail(
        "Something answers at that address, but not in Ollama's format. Check the address in Settings › Models \
         (Ollama's own is http://127.0.0.1:11434)",
        detail,
    );
    let mut error = Error::new(ErrorCode::InvalidResponse, message);
    error.provider_code = Some("not_ollama".into());
    error
}

/// A list or a description that is not Ollama's.
pub(super) fn not_our_list(body: &str, problem: &serde_json::Error) -> Error {
    not_ollama(&format!("{problem}: {}", body.trim()))
}

/// A line that is not Ollama's JSON.
pub(super) fn not_our_format(line: &str, problem: &serde_json::Error) -> Error {
    if line.trim_start().starts_with('<') {
        return not_ollama(line);
    }
    let start: String = line.chars().take(120).collect();
    let mut error = Error::new(
        ErrorCode::InvalidResponse,
        format!(
            "The server sent something that is not Ollama's format ({problem}). Check the address, or try again: {start}"
        ),
    );
    error.provider_code = Some("garbage".into());
    error
}
