//! Answers in the form of Anthropic's Messages API and of OpenAI's chat completions, for the scripted server.

use serde_json::{Value, json};

use super::ollama::{Piece, Reply};

/// One event of the Messages API.
pub(crate) fn event(kind: &str, mut fields: Value) -> String {
    fields["type"] = kind.into();
    format!("event: {kind}\ndata: {fields}\n\n")
}

/// A text.
pub(crate) fn says(text: &str) -> Reply {
    let block = event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": text}}));
    stream([block], "end_turn")
}

/// Signed thinking and a call.
pub(crate) fn thinks_and_calls(thought: &str, name: &str, arguments: &Value) -> Reply {
    let start = |index: u8, block: Value| event("content_block_start", json!({"index": index, "content_block": block}));
    let delta = |index: u8, delta: Value| event("content_block_delta", json!({"index": index, "delta": delta}));
    let blocks = [
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": thought})),
        delta(0, json!({"type": "signature_delta", "signature": "c2lnbmVk"})),
        start(1, json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": arguments.to_string()})),
    ];
    stream(blocks, "tool_use")
}

/// One message, whole, as it comes without streaming.
pub(crate) fn whole(content: &Value, reason: &str) -> Reply {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": reason, "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    Reply::json(200, &message)
}

/// A refusal.
pub(crate) fn refuses(status: u16, kind: &str, words: &str) -> Reply {
    Reply::json(status, &json!({"type": "error", "error": {"type": kind, "message": words}}))
}

fn stream<const N: usize>(blocks: [String; N], reason: &str) -> Reply {
    let delta = json!({"delta": {"stop_reason": reason}, "usage": {"input_tokens": 3, "output_tokens": 2}});
    let end = [event("message_delta", delta), event("message_stop", json!({}))];
    Reply::pieces(blocks.into_iter().chain(end).map(|event| Piece::Bytes(event.into_bytes())))
}
