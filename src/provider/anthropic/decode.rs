//! The API's answer, event by event or whole, to what the IR's stream carries. Pure: text and time come in, nothing is
//! sent.

use std::collections::HashMap;

use serde_json::Value;

use super::fault;
use super::kept::{Kept, KeptBlock};
use super::usage::Usage;
use super::wire::{DeltaIn, EventIn, MessageIn};
use crate::ir::{CallId, Error, ErrorCode, FinishReason, Request, StreamBody, ToolCall, ToolCallDelta, UnixMs};
use crate::provider::answer::{CallIds, Ending};
use crate::provider::arguments::parse_arguments;
use crate::provider::framing::SseEvent;
use crate::provider::half_character;
use crate::provider::tool_name::ToolNames;

/// Most bytes of arguments, thinking and signatures of one answer.
const KEPT_LIMIT: usize = 16 * 1024 * 1024;
/// Most blocks of one answer.
const BLOCK_LIMIT: usize = 10_000;

/// Longest error that is read, in bytes.
const LONGEST_COMPLAINT: usize = 1024 * 1024;

/// Reads one answer.
pub(super) struct Decoder<'a> {
    request: &'a Request,
    provider: &'a str,
    asked_model: &'a str,
    names: ToolNames<'a>,
    ids: CallIds<'a>,
    model: String,
    blocks: Vec<Block>,
    /// The newest block of each index.
    by_index: HashMap<u64, usize>,
    calls: u32,
    kept_bytes: usize,
    usage: Usage,
    reason: Option<FinishReason>,
    is_done: bool,
}

/// A block of the answer.
enum Block {
    Text {
        bytes: usize,
    },
    /// The block as it began; text and signature come after.
    Thinking {
        raw: Value,
        text: String,
        signature: String,
    },
    /// As it came: nobody can read it.
    Redacted(Value),
    Call(Call),
    /// Of a kind that Nod does not ask for.
    Other,
}

struct Call {
    id: CallId,
    number: u32,
    name: String,
    /// What the block began with.
    input: Value,
    /// What came after.
    text: String,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(request: &'a Request, provider: &'a str, model: &'a str) -> Self {
        Self {
            request,
            provider,
            asked_model: model,
            names: ToolNames::of(request),
            ids: CallIds::new(request),
            model: model.to_owned(),
            blocks: Vec::new(),
            by_index: HashMap::new(),
            calls: 0,
            kept_bytes: 0,
            usage: Usage::default(),
            reason: None,
            is_done: false,
        }
    }

    /// Whether the last event came.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The model that answers: as it was asked for, until the server says another name.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Reads one event; what it carries is added to `out`.
    pub(super) fn event(&mut self, event: SseEvent<'_>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.is_done || data.is_empty() || event.is_wrapped_comment() {
            return Ok(());
        }
        if event.is_done_marker() {
            // Not of this format, but some gateways close every stream with it.
            self.is_done = self.reason.is_some();
            return Ok(());
        }
        let taken = half_character::read(data, |data| {
            let parsed = serde_json::from_str(data)?;
            Ok(self.take(parsed, SseEvent { data, ..event }, now, out))
        });
        match taken {
            Ok(outcome) => outcome,
            Err(_) if event.name == "error" => Err(fault::in_stream(&Value::from(data), &self.model, now)),
            Err(problem) => Err(fault::not_our_format(data, &problem)),
        }
    }

    fn take(
        &mut self,
        parsed: EventIn<'_>,
        event: SseEvent<'_>,
        now: UnixMs,
        out: &mut Vec<StreamBody>,
    ) -> Result<(), Error> {
        let kind = parsed.kind.as_ref().map_or(event.name, |kind| kind.0.as_ref());
        if kind == "error" || event.name == "error" || parsed.error.as_ref().is_some_and(|error| !error.is_null()) {
            let error = parsed.error.unwrap_or_else(|| Value::from(event.data));
            return Err(fault::in_stream(&error, &self.model, now));
        }
        match kind {
            "content_block_delta" => {
                if let Some(delta) = parsed.delta {
                    self.delta(parsed.index, delta, out)?;
                }
            }
            "content_block_start" => self.begin(parsed.index, parsed.content_block.unwrap_or_default(), out)?,
            "message_start" => {
                if let Some(message) = parsed.message {
                    self.message(message, out)?;
                }
            }
            "message_delta" => {
                if let Some(reason) = parsed.delta.and_then(|delta| delta.stop_reason) {
                    self.reason(&reason.0);
                }
                self.usage.add(parsed.usage);
            }
            "message_stop" => self.is_done = true,
            // `content_block_stop` says nothing that the next event does not; `ping` keeps the line open; what is unknown
            // is for others.
            _ => {}
        }
        Ok(())
    }

    /// Reads an answer that came whole.
    pub(super) fn whole(&mut self, text: &str, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        // Errors inside of an array are short.
        if text.starts_with('[')
            && text.len() <= LONGEST_COMPLAINT
            && let Ok(array @ Value::Array(_)) = serde_json::from_str(text)
        {
            return Err(fault::in_stream(&array, &self.model, now));
        }
        let taken = half_character::read(text, |text| {
            let message = serde_json::from_str(text)?;
            Ok(self.take_whole(message, text, now, out))
        });
        taken.unwrap_or_else(|problem| Err(fault::not_our_format(text, &problem)))
    }

    fn take_whole(
        &mut self,
        message: MessageIn<'_>,
        text: &str,
        now: UnixMs,
        out: &mut Vec<StreamBody>,
    ) -> Result<(), Error> {
        if let Some(error) = message.error.as_ref().filter(|error| !error.is_null()) {
            return Err(fault::in_stream(error, &self.model, now));
        }
        if message.content.is_none() {
            return Err(fault::not_anthropic(text));
        }
        self.message(message, out)?;
        self.is_done = true;
        Ok(())
    }

    /// The end of the body: the calls are complete now.
    pub(super) fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        // Some gateways end with a reason and no `message_stop`.
        if !self.is_done && self.reason.is_none() {
            let mut error = Error::new(
                ErrorCode::NetworkError,
                "The connection ended in the middle of the answer. Send the message again.",
            )
            .retryable();
            error.provider_code = Some("disconnected".into());
            return Err(error);
        }
        let mut finish_reason = self.reason.unwrap_or(FinishReason::Stop);
        // An answer that was cut off may hold half a call, and one that was refused is not meant: none of them is run.
        let may_call = match finish_reason {
            FinishReason::Stop | FinishReason::ToolCalls => true,
            FinishReason::Length | FinishReason::ContentFilter | FinishReason::Error => false,
        };
        let mut kept = Vec::with_capacity(self.blocks.len());
        let mut has_calls = false;
        for block in self.blocks {
            match block {
                Block::Text { bytes } => kept.push(KeptBlock::Text(bytes)),
                Block::Thinking { raw, text, signature } => kept.extend(signed(raw, text, signature)),
                Block::Redacted(raw) => kept.push(KeptBlock::Thinking(raw)),
                Block::Call(call) if may_call && !call.name.is_empty() => {
                    has_calls = true;
                    kept.push(KeptBlock::Call);
                    out.push(StreamBody::ToolCallComplete { tool_call: call.complete(self.request, now) });
                }
                Block::Call(_) | Block::Other => {}
            }
        }
        if may_call {
            finish_reason = if has_calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        }
        out.extend(self.usage.total().map(|usage| StreamBody::Usage { usage }));
        let provider_state = Kept::state(self.provider, self.asked_model, kept);
        Ok(Ending { finish_reason, perf: None, provider_state })
    }

    fn message(&mut self, message: MessageIn<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        if let Some(model) = message.model.filter(|model| !model.0.is_empty()) {
            self.model = model.0.into_owned();
        }
        self.usage.add(message.usage);
        for block in message.content.unwrap_or_default() {
            self.begin(None, block, out)?;
        }
        if let Some(reason) = message.stop_reason {
            self.reason(&reason.0);
        }
        Ok(())
    }

    fn reason(&mut self, reason: &str) {
        self.reason = match reason {
            "" => return,
            "max_tokens" | "model_context_window_exceeded" => Some(FinishReason::Length),
            "refusal" => Some(FinishReason::ContentFilter),
            "tool_use" => Some(FinishReason::ToolCalls),
            // `end_turn`, `stop_sequence`, `pause_turn`; unknown ones end an answer as well.
            _ => Some(FinishReason::Stop),
        };
    }

    /// A block begins; without streaming it is whole.
    fn begin(&mut self, index: Option<u64>, raw: Value, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        if self.blocks.len() >= BLOCK_LIMIT {
            return Err(too_large());
        }
        let text_of = |field: &str| raw.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let block = match raw.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => {
                let delta = text_of("text");
                let bytes = delta.len();
                out.push(StreamBody::TextDelta { delta });
                Block::Text { bytes }
            }
            "thinking" => {
                let (text, signature) = (text_of("thinking"), text_of("signature"));
                self.keep(text.len() + signature.len())?;
                out.push(StreamBody::ReasoningDelta { delta: text.clone() });
                Block::Thinking { raw, text, signature }
            }
            "redacted_thinking" => {
                self.keep(text_of("data").len())?;
                Block::Redacted(raw)
            }
            "tool_use" => {
                let name = self.names.inward(&text_of("name"));
                let input = raw.get("input").cloned().unwrap_or_default();
                let id = self.ids.next(&text_of("id"));
                let number = self.calls;
                self.calls += 1;
                let whole = is_given(&input).then(|| input.to_string());
                self.keep(whole.as_ref().map_or(0, String::len))?;
                out.push(fragment(number, Some(name.clone()), whole));
                Block::Call(Call { id, number, name, input, text: String::new() })
            }
            _ => Block::Other,
        };
        if let Some(index) = index {
            self.by_index.insert(index, self.blocks.len());
        }
        self.blocks.push(block);
        Ok(())
    }

    fn delta(&mut self, index: Option<u64>, delta: DeltaIn<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let place = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.blocks.len().checked_sub(1),
        };
        if let Some(text) = delta.text.filter(|text| !text.0.is_empty()) {
            let delta = text.0.into_owned();
            self.text(place, index, delta.len());
            out.push(StreamBody::TextDelta { delta });
        }
        if let Some(thinking) = delta.thinking.filter(|thinking| !thinking.0.is_empty()) {
            self.keep(thinking.0.len())?;
            if let Some(Block::Thinking { text, .. }) = self.at(place) {
                text.push_str(&thinking.0);
            }
            out.push(StreamBody::ReasoningDelta { delta: thinking.0.into_owned() });
        }
        if let Some(new) = delta.signature {
            self.keep(new.0.len())?;
            if let Some(Block::Thinking { signature, .. }) = self.at(place) {
                // It comes whole: a second one replaces the first.
                *signature = new.0.into_owned();
            }
        }
        if let Some(json) = delta.partial_json.and_then(|raw| json_text(raw.get())) {
            self.keep(json.len())?;
            if let Some(Block::Call(call)) = self.at(place) {
                call.add(&json);
                out.push(fragment(call.number, None, Some(json)));
            }
        }
        Ok(())
    }

    /// Text belongs to its block; where the server named none, a new one begins.
    fn text(&mut self, place: Option<usize>, index: Option<u64>, more: usize) {
        if let Some(Block::Text { bytes }) = self.at(place) {
            *bytes += more;
            return;
        }
        if let Some(index) = index {
            self.by_index.insert(index, self.blocks.len());
        }
        self.blocks.push(Block::Text { bytes: more });
    }

    fn at(&mut self, place: Option<usize>) -> Option<&mut Block> {
        self.blocks.get_mut(place?)
    }

    fn keep(&mut self, bytes: usize) -> Result<(), Error> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > KEPT_LIMIT { Err(too_large()) } else { Ok(()) }
    }
}

impl Call {
    fn add(&mut self, json: &str) {
        // Some servers begin with an empty object and send the real one after it.
        if self.text.trim() == "{}" && !json.trim().is_empty() {
            self.text.clear();
        }
        self.text.push_str(json);
    }

    fn complete(self, request: &Request, now: UnixMs) -> ToolCall {
        let text =
            if self.text.trim().is_empty() && is_given(&self.input) { self.input.to_string() } else { self.text };
        let arguments = parse_arguments(&text);
        ToolCall {
            id: self.id,
            name: self.name,
            marks: arguments.marks(),
            args: arguments.args,
            iteration: request.meta.iteration,
            timestamp: now,
            raw_args: arguments.raw,
            parse_error: arguments.error,
        }
    }
}

/// Whether a block began with its arguments: `{}` only says that they will come.
fn is_given(input: &Value) -> bool {
    match input {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => true,
    }
}

/// A fragment of arguments: a string by the book, the object itself from some servers.
fn json_text(raw: &str) -> Option<String> {
    let text = if raw.starts_with('"') { half_character::read_piece(raw).ok()? } else { raw.to_owned() };
    (!text.is_empty() && text != "null").then_some(text)
}

fn fragment(index: u32, name: Option<String>, args_delta: Option<String>) -> StreamBody {
    StreamBody::ToolCallDelta {
        tool_call_delta: ToolCallDelta { index, name: name.filter(|name| !name.is_empty()), args_delta },
    }
}

/// A thinking block as it goes back; without a signature it could not.
fn signed(mut raw: Value, text: String, signature: String) -> Option<KeptBlock> {
    if signature.is_empty() {
        return None;
    }
    let fields = raw.as_object_mut()?;
    fields.insert("thinking".into(), text.into());
    fields.insert("signature".into(), signature.into());
    Some(KeptBlock::Thinking(raw))
}

fn too_large() -> Error {
    let mut error = Error::new(ErrorCode::InvalidResponse, "The answer grew too large and was broken off. Try again.");
    error.provider_code = Some("too_large".into());
    error
}
