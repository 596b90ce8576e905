//! Ollama's answer, line by line, to what the IR's stream carries. Pure: bytes and time come in, nothing is sent.

use serde_json::Value;

use super::wire::{CallIn, ChatLine};
use crate::ir::{
    CallId, Error, ErrorCode, FinishReason, PerfStats, Request, StreamBody, TokenUsage, ToolCall, ToolCallDelta, UnixMs,
};
use crate::provider::answer::{CallIds, Ending};
use crate::provider::arguments::{Arguments, parse_arguments};
use crate::provider::half_character;
use crate::provider::mistake::Mistake;
use crate::provider::retry::{self, Refusal, RetryHeaders};

/// Most calls of one answer, and most bytes of their arguments.
const CALLS: usize = 512;
const CALL_BYTES: usize = 24 * 1024 * 1024;

/// Reads the lines of one answer.
pub(super) struct Decoder<'a> {
    request: &'a Request,
    ids: CallIds<'a>,
    slots: Vec<Slot>,
    line: u64,
    model: String,
    usage: Option<TokenUsage>,
    perf: Option<PerfStats>,
    done: bool,
    reason: Option<FinishReason>,
    /// Bytes of arguments so far.
    call_bytes: usize,
}

/// A call whose arguments later lines may still extend.
struct Slot {
    id: CallId,
    /// What the server sent, maybe nothing.
    wire_id: String,
    index: Option<i64>,
    name: String,
    arguments: Arguments,
    line: u64,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(request: &'a Request, model: &str) -> Self {
        Self {
            request,
            ids: CallIds::new(request),
            call_bytes: 0,
            slots: Vec::new(),
            line: 0,
            model: model.to_owned(),
            usage: None,
            perf: None,
            done: false,
            reason: None,
        }
    }

    /// Whether the last line came.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The model that answers: as it was asked for, until the server says another name.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Reads one line; what it carries is added to `out`.
    pub(super) fn line(&mut self, line: &str, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        // What stands behind the last line may be anything.
        if self.done {
            return Ok(());
        }
        let taken = half_character::read(line, |line| Ok(self.take(serde_json::from_str(line)?, now, out)));
        taken.unwrap_or_else(|problem| Err(super::fault::not_our_format(line, &problem)))
    }

    fn take(&mut self, parsed: ChatLine<'_>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.line += 1;
        if let Some(error) = parsed.error.filter(|error| !error.is_null()) {
            return self.error_line(&error, now, out);
        }
        if let Some(model) = parsed.model.filter(|model| !model.0.is_empty() && model.0 != self.model) {
            self.model = model.0.into_owned();
        }
        if let Some(message) = parsed.message {
            if let Some(delta) = message.thinking.filter(|text| !text.0.is_empty()) {
                out.push(StreamBody::ReasoningDelta { delta: delta.0.into_owned() });
            }
            if let Some(delta) = message.content.filter(|text| !text.0.is_empty()) {
                out.push(StreamBody::TextDelta { delta: delta.0.into_owned() });
            }
            for call in message.tool_calls.unwrap_or_default() {
                self.call(call, out)?;
            }
        }
        if parsed.prompt_eval_count.is_some() || parsed.eval_count.is_some() {
            let (input, output) = (whole(parsed.prompt_eval_count), whole(parsed.eval_count));
            self.usage = Some(TokenUsage {
                input_tokens: input,
                output_tokens: output,
                total_tokens: input.saturating_add(output),
                ..TokenUsage::default()
            });
        }
        if parsed.eval_duration.is_some() || parsed.load_duration.is_some() || parsed.prompt_eval_duration.is_some() {
            let per_second = |count: f64, nanos: f64| (nanos > 0.0).then(|| count / (nanos / 1e9));
            self.perf = Some(PerfStats {
                load_duration_ms: parsed.load_duration.map(nanos_to_ms),
                prompt_eval_duration_ms: parsed.prompt_eval_duration.map(nanos_to_ms),
                eval_duration_ms: parsed.eval_duration.map(nanos_to_ms),
                tokens_per_second: parsed
                    .eval_count
                    .zip(parsed.eval_duration)
                    .and_then(|(count, nanos)| per_second(count, nanos)),
            });
        }
        if let Some(reason) = parsed.done_reason.filter(|reason| !reason.0.is_empty()) {
            // Unknown reasons end an answer as well as `stop` does.
            self.reason = Some(if reason.0 == "length" { FinishReason::Length } else { FinishReason::Stop });
        }
        self.done = parsed.done == Some(true);
        Ok(())
    }

    /// The end of the body: the calls are complete now.
    pub(super) fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        // Some versions end with a reason and no `done`.
        if !self.done && self.reason.is_none() {
            let mut error = Error::new(
                ErrorCode::NetworkError,
                "The connection to Ollama ended in the middle of the answer. Send the message again.",
            )
            .retryable();
            error.provider_code = Some("disconnected".into());
            return Err(error);
        }
        let mut finish_reason = self.reason.unwrap_or(FinishReason::Stop);
        // An answer that was cut off may hold half a call, so none of them is run.
        if finish_reason != FinishReason::Length {
            for slot in self.slots {
                if slot.name.is_empty() {
                    continue;
                }
                finish_reason = FinishReason::ToolCalls;
                out.push(StreamBody::ToolCallComplete {
                    tool_call: ToolCall {
                        id: slot.id,
                        name: slot.name,
                        marks: slot.arguments.marks(),
                        args: slot.arguments.args,
                        iteration: self.request.meta.iteration,
                        timestamp: now,
                        raw_args: slot.arguments.raw,
                        parse_error: slot.arguments.error,
                    },
                });
            }
        }
        out.extend(self.usage.map(|usage| StreamBody::Usage { usage }));
        Ok(Ending { finish_reason, perf: self.perf, provider_state: None })
    }

    fn call(&mut self, call: CallIn<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let wire_id = call.id.map(|id| id.0.into_owned()).unwrap_or_default();
        let Some(function) = call.function else { return Ok(()) };
        let name = function.name.map(|name| name.0.trim().to_owned()).unwrap_or_default();
        let raw = function.arguments.map_or("", |raw| raw.get());
        self.call_bytes = self.call_bytes.saturating_add(raw.len());
        if self.call_bytes > CALL_BYTES || self.slots.len() >= CALLS {
            let words = format!(
                "The answer cannot be used: its calls are larger than {CALL_BYTES} bytes or more than {CALLS}."
            );
            let error = Error::new(ErrorCode::InvalidResponse, words);
            return Err(Error { provider_code: Some("too_large".into()), ..error });
        }
        let arguments = parse_arguments(raw);
        let found = self
            .slots
            .iter_mut()
            .enumerate()
            .rev()
            .find(|(_, slot)| slot.line != self.line && slot.may_grow(&wire_id, function.index, &name, &arguments));
        let index = if let Some((index, slot)) = found {
            slot.grow(&arguments);
            index
        } else {
            self.slots.push(Slot {
                id: self.ids.next(&wire_id),
                wire_id,
                index: function.index,
                name: name.clone(),
                arguments,
                line: self.line,
            });
            self.slots.len() - 1
        };
        out.push(StreamBody::ToolCallDelta {
            tool_call_delta: ToolCallDelta {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                name: Some(name).filter(|name| !name.is_empty()),
                args_delta: Some(raw.to_owned()).filter(|raw| !raw.is_empty()),
            },
        });
        Ok(())
    }

    /// A call that the server itself could not read is the model's mistake: it goes back to the model as that call's
    /// failed result. Everything else ends the answer.
    fn error_line(&mut self, error: &Value, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let text = retry::error_text(&error.to_string());
        if let Some(mistake) = Mistake::in_text(&text) {
            out.push(self.mistake(mistake));
            self.done = true;
            return Ok(());
        }
        let refusal = Refusal { status: 200, text: &text, headers: &RetryHeaders::default() };
        Err(super::fault::refused(refusal, &self.model, now))
    }

    /// Takes in a call that the server could not read.
    pub(super) fn mistake(&mut self, mistake: Mistake) -> StreamBody {
        let delta = ToolCallDelta {
            index: u32::try_from(self.slots.len()).unwrap_or(u32::MAX),
            name: Some(mistake.name.clone()),
            args_delta: Some(mistake.raw.clone()),
        };
        self.slots.push(Slot {
            id: self.ids.next(""),
            wire_id: String::new(),
            index: None,
            name: mistake.name.clone(),
            arguments: mistake.into_arguments(),
            line: self.line,
        });
        self.done = true;
        StreamBody::ToolCallDelta { tool_call_delta: delta }
    }
}

impl Slot {
    /// Whether a call on a later line is more of this one. Servers give every parallel call the same index, and some the
    /// same id, so what contradicts this call is another one.
    fn may_grow(&self, wire_id: &str, index: Option<i64>, name: &str, more: &Arguments) -> bool {
        let is_same_call = if !wire_id.is_empty() && !self.wire_id.is_empty() {
            wire_id == self.wire_id
        } else {
            match (index, self.index) {
                (Some(theirs), Some(ours)) => theirs == ours,
                _ => name.is_empty(),
            }
        };
        is_same_call
            && (name.is_empty() || name == self.name)
            && self.arguments.error.is_none()
            && more.error.is_none()
            && is_extension(&self.arguments.args, &more.args)
    }

    fn grow(&mut self, more: &Arguments) {
        merge(&mut self.arguments.args, &more.args);
        if self.arguments.raw.is_none() {
            self.arguments.raw.clone_from(&more.raw);
        }
    }
}

/// Whether `new` contradicts nothing in `old`.
fn is_extension(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            new.iter().all(|(key, new)| old.get(key).is_none_or(|old| is_extension(old, new)))
        }
        (Value::String(old), Value::String(new)) => new.starts_with(old.as_str()),
        (old, new) => old == new,
    }
}

fn merge(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, new) in new {
                match old.get_mut(key) {
                    Some(old) => merge(old, new),
                    None => drop(old.insert(key.clone(), new.clone())),
                }
            }
        }
        (old, new) => new.clone_into(old),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at both ends")]
fn whole(count: Option<f64>) -> u64 {
    count.unwrap_or_default() as u64
}

fn nanos_to_ms(nanos: f64) -> u64 {
    whole(Some(nanos / 1e6))
}
