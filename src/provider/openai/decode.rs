//! An answer of this format, event by event, to what the IR's stream carries. Pure: text and time come in, nothing is sent.
//! A whole answer is one event with `message` instead of `delta`.

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault::{self, Complaint, Subject};
use super::kept::Kept;
use super::lenient;
use super::wire::{CallIn, Choice, Chunk, Delta, Mixed, Timings, Usage};
use crate::ir::{
    CallMark, Error, ErrorCode, FinishReason, PerfStats, Request, StreamBody, TokenUsage, ToolCall, ToolCallDelta,
    UnixMs,
};
use crate::provider::answer::{CallIds, Ending};
use crate::provider::arguments::{Arguments, parse_arguments};
use crate::provider::assembly::{Assembler, Fragment, Piece};
use crate::provider::body::Part;
use crate::provider::few::Few;
use crate::provider::framing::SseEvent;
use crate::provider::half_character;
use crate::provider::mistake::Mistake;
use crate::provider::text_call::{Recognition, Rest, TextCalls};
use crate::provider::think_tag::{Spoken, ThinkTags};
use crate::provider::tool_name::ToolNames;

/// Most reasoning details that are kept to go back, in pieces.
const DETAILS_LIMIT: usize = 10_000;
/// Most bytes of what is kept to go back: reasoning details, signatures of calls.
const KEPT_LIMIT: usize = 16 * 1024 * 1024;
/// A chunk whose fields are of the wrong types is read slowly up to this length, in bytes.
const SLOWLY_READ: usize = 1024 * 1024;

/// Reads the events of one answer.
pub(super) struct Decoder<'a> {
    request: &'a Request,
    subject: Subject<'a>,
    names: ToolNames<'a>,
    assembler: Assembler<'a>,
    tags: ThinkTags,
    printed: TextCalls<'a>,
    model: String,
    usage: Option<TokenUsage>,
    perf: Option<PerfStats>,
    reason: Option<Reason>,
    /// Which of several choices is read: the first that came.
    choice: Option<i64>,
    /// Something said that the answer is over: only then does it count.
    is_terminal: bool,
    /// Nothing is read any more.
    is_done: bool,
    has_thought: bool,
    /// Calls that the server could not read.
    mistakes: Vec<Mistake>,
    details: Vec<Value>,
    kept_bytes: usize,
    /// Extra content of calls, by slot.
    extra: Vec<(usize, Value)>,
}

/// Why the server says that its answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    Stop,
    Length,
    Filtered,
    Failed(String),
}

impl<'a> Decoder<'a> {
    pub(super) fn new(request: &'a Request, subject: Subject<'a>, recognition: Recognition) -> Self {
        let names = ToolNames::of(request);
        Self {
            request,
            subject,
            assembler: Assembler::new(names.on_the_wire()),
            tags: ThinkTags::default(),
            printed: TextCalls::new(names.on_the_wire(), recognition),
            names,
            model: subject.model.to_owned(),
            usage: None,
            perf: None,
            reason: None,
            choice: None,
            is_terminal: false,
            is_done: false,
            has_thought: false,
            mistakes: Vec::new(),
            details: Vec::new(),
            kept_bytes: 0,
            extra: Vec::new(),
        }
    }

    /// Whether the last event came.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the answer is whole, so that a broken connection takes nothing away.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The model that answers: as it was asked for, until the server says another name.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Reads a part of the body; what it carries is added to `out`.
    pub(super) fn part(&mut self, part: Part<'_>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        match part {
            Part::Event(event) => self.event(event, now, out),
            Part::Whole(text) => self.whole(text, now, out),
        }
    }

    /// Reads what the body's end cut off: half an event says nothing.
    pub(super) fn last_part(&mut self, part: Part<'_>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let is_half = match part {
            Part::Event(SseEvent { data, .. }) => {
                let data = data.trim();
                let is_unreadable = |problem: serde_json::Error| problem.is_eof() || !data.contains('\n');
                !is_end_marker(data) && serde_json::from_str::<IgnoredAny>(data).is_err_and(is_unreadable)
            }
            Part::Whole(_) => false,
        };
        if is_half { Ok(()) } else { self.part(part, now, out) }
    }

    /// Reads one event; what it carries is added to `out`.
    fn event(&mut self, event: SseEvent<'_>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.is_done || data.is_empty() || event.is_wrapped_comment() {
            return Ok(());
        }
        if is_end_marker(data) {
            self.is_terminal = true;
            self.is_done = true;
            return Ok(());
        }
        if event.name == "error" {
            return self.failed(data, now, out);
        }
        match self.chunk(data, now, out) {
            Ok(outcome) => outcome,
            // `event: ping` with words of its own means nothing.
            Err(_) if !event.name.is_empty() && event.name != "message" && !data.starts_with('{') => Ok(()),
            Err(problem) => self.lines(data, &problem, now, out),
        }
    }

    /// Reads a body that is no stream: one JSON value, or one a line.
    fn whole(&mut self, body: &str, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let body = body.trim();
        match self.chunk(body, now, out) {
            Ok(outcome) => outcome,
            // What was cut off is a disconnect, not garbage.
            Err(problem) if problem.is_eof() => Ok(()),
            Err(problem) => self.lines(body, &problem, now, out),
        }
    }

    /// Several values where one was due: the empty line between them is missing.
    fn lines(
        &mut self,
        data: &str,
        problem: &serde_json::Error,
        now: UnixMs,
        out: &mut Vec<StreamBody>,
    ) -> Result<(), Error> {
        let lines = || {
            data.split(['\n', '\r'])
                .map(|line| line.trim().trim_start_matches("data:").trim())
                .filter(|line| !line.is_empty())
        };
        let is_readable = |line: &str| {
            is_end_marker(line) || (line.starts_with('{') && serde_json::from_str::<IgnoredAny>(line).is_ok())
        };
        if lines().count() < 2 || !lines().next().is_some_and(is_readable) {
            return Err(fault::garbage(data, problem, self.subject));
        }
        for line in lines() {
            if is_readable(line) {
                self.event(SseEvent { name: "", data: line }, now, out)?;
            }
        }
        Ok(())
    }

    /// The outer error says that it could not be read at all.
    fn chunk(
        &mut self,
        data: &str,
        now: UnixMs,
        out: &mut Vec<StreamBody>,
    ) -> Result<Result<(), Error>, serde_json::Error> {
        if data.len() > SLOWLY_READ {
            return Ok(self.take(serde_json::from_str(data)?, data, now, out));
        }
        half_character::read(data, |data| match serde_json::from_str(data) {
            Ok(chunk) => Ok(self.take(chunk, data, now, out)),
            // Numbers as text and the like: rare, so read slowly.
            Err(problem) if problem.is_data() => match lenient::normalised(data) {
                Some(mended) => Ok(self.take(serde_json::from_str(&mended)?, &mended, now, out)),
                None => Err(problem),
            },
            Err(problem) => Err(problem),
        })
    }

    fn take(&mut self, chunk: Chunk<'_>, data: &str, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let is_error = chunk.object.is_some_and(|object| object.0 == "error");
        if is_error || chunk.error.is_some_and(|error| !matches!(error.get(), "null" | "{}" | "\"\"" | "false")) {
            return self.failed(data, now, out);
        }
        if let Some(model) = chunk.model.filter(|model| !model.0.is_empty() && model.0 != self.model) {
            self.model = model.0.into_owned();
        }
        for choice in chunk.choices.unwrap_or_default() {
            let index = choice.index.unwrap_or_default();
            if *self.choice.get_or_insert(index) == index {
                self.choice(choice, out)?;
            }
        }
        self.count(chunk.usage.as_deref());
        if let Some(timings) = chunk.timings {
            self.perf = Some(perf_of(*timings));
        }
        Ok(())
    }

    /// The server says that it failed. Where it could not read a call of the model's, that is the model's to mend.
    fn failed(&mut self, data: &str, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        match Mistake::in_text(&Complaint::of(data).text) {
            Some(mistake) => {
                self.mistake(mistake, out);
                Ok(())
            }
            None => Err(fault::in_stream(data, self.subject, now)),
        }
    }

    /// Takes in a call that the server could not read: the answer ends with it.
    pub(super) fn mistake(&mut self, mistake: Mistake, out: &mut Vec<StreamBody>) {
        let place = self.assembler.len() + self.mistakes.len();
        out.push(StreamBody::ToolCallDelta {
            tool_call_delta: ToolCallDelta {
                index: u32::try_from(place).unwrap_or(u32::MAX),
                name: Some(mistake.name.clone()),
                args_delta: Some(mistake.raw.clone()),
            },
        });
        self.mistakes.push(mistake);
        self.is_terminal = true;
        self.is_done = true;
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.count(choice.usage.as_deref());
        if let Some(delta) = choice.delta {
            self.delta(delta, out)?;
        }
        if let Some(message) = choice.message {
            self.is_terminal = true;
            self.delta(*message, out)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.0.trim().is_empty()) {
            self.is_terminal = true;
            let reason = Reason::of(reason.0.trim());
            // Once cut off it stays cut off.
            if self.reason != Some(Reason::Length) {
                self.reason = Some(reason);
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let details = delta.reasoning_details.and_then(|raw| self.details_in(raw.get()).transpose()).transpose()?;
        let fields = [delta.reasoning_content, delta.reasoning, delta.thinking];
        let thought = match fields.into_iter().find_map(Mixed::said) {
            Some(field) => field.into_either(),
            None if !delta.content.thinking().is_empty() => delta.content.thinking().to_owned(),
            None => details.iter().flatten().filter_map(text_of_detail).collect(),
        };
        for detail in details.into_iter().flatten() {
            self.keep_detail(detail);
        }
        if !thought.is_empty() {
            self.has_thought = true;
            if let Some(Spoken::Text(held)) = self.tags.stop_looking() {
                self.say(held, out);
            }
            out.push(StreamBody::ReasoningDelta { delta: thought });
        }
        if !delta.content.text().is_empty() {
            self.speak(delta.content.text(), out);
        }
        if !delta.refusal.text().is_empty() {
            self.say(delta.refusal.text().to_owned(), out);
        }
        for call in delta.tool_calls.map(|calls| calls.0).unwrap_or_default() {
            self.call(call, out)?;
        }
        if let Some(function) = delta.function_call {
            self.call(CallIn { function: Some(*function), ..CallIn::default() }, out)?;
        }
        Ok(())
    }

    /// The details of a chunk; `None` when they are something else.
    fn details_in(&mut self, raw: &str) -> Result<Option<Vec<Value>>, Error> {
        self.keep_bytes(raw.len())?;
        Ok(serde_json::from_str::<Few<Value, DETAILS_LIMIT>>(raw).ok().map(|details| details.0))
    }

    /// Counts what is kept to go back.
    fn keep_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > KEPT_LIMIT {
            Err(too_large("it carries more beside its words than can be kept"))
        } else {
            Ok(())
        }
    }

    /// Text of the answer, in which thinking may stand between tags.
    fn speak(&mut self, text: &str, out: &mut Vec<StreamBody>) {
        if self.tags.is_answering() {
            self.say(text.to_owned(), out);
            return;
        }
        let mut spoken = Vec::new();
        self.tags.push(text, &mut |piece| spoken.push(piece));
        for piece in spoken {
            match piece {
                Spoken::Thought(delta) => {
                    self.has_thought = true;
                    out.push(StreamBody::ReasoningDelta { delta });
                }
                Spoken::Text(text) => self.say(text, out),
            }
        }
    }

    fn say(&mut self, text: String, out: &mut Vec<StreamBody>) {
        let delta = self.printed.push(text);
        if !delta.is_empty() {
            out.push(StreamBody::TextDelta { delta });
        }
    }

    fn call(&mut self, call: CallIn<'_>, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let Some(function) = call.function else { return Ok(()) };
        // Mistral writes a missing id as the word.
        let id = call.id.map(|id| id.0).filter(|id| id != "null").unwrap_or_default();
        let name = function.name.map(|name| name.0).unwrap_or_default();
        let text: String;
        let arguments = match function.arguments.map(RawValue::get) {
            None | Some("null") => Piece::Nothing,
            Some(raw) if raw.starts_with('"') => {
                text = half_character::read_piece::<String>(raw).unwrap_or_default();
                Piece::Text(&text)
            }
            Some(raw) if raw.starts_with('{') => Piece::Object(raw),
            Some(raw) => Piece::Text(raw),
        };
        let args_delta = match arguments {
            Piece::Text(text) | Piece::Object(text) => Some(text).filter(|text| !text.is_empty()),
            Piece::Nothing => None,
        };
        let fragment = Fragment { index: call.index, id: &id, name: &name, arguments };
        let slot = self.assembler.push(fragment).map_err(|problem| too_large(&problem.to_string()))?;
        if let Some(raw) = call.extra_content.map(RawValue::get) {
            self.keep_bytes(raw.len())?;
            if let Ok(extra @ Value::Object(_)) = serde_json::from_str::<Value>(raw) {
                match self.extra.iter_mut().find(|(of, _)| *of == slot) {
                    Some((_, kept)) => *kept = extra,
                    None => self.extra.push((slot, extra)),
                }
            }
        }
        out.push(StreamBody::ToolCallDelta {
            tool_call_delta: ToolCallDelta {
                index: u32::try_from(slot).unwrap_or(u32::MAX),
                name: Some(name.into_owned()).filter(|name| !name.is_empty()),
                args_delta: args_delta.map(str::to_owned),
            },
        });
        Ok(())
    }

    /// Details come in pieces: text of one place is one text.
    fn keep_detail(&mut self, detail: Value) {
        let is_same = |last: &Value, name: &str| last.get(name) == detail.get(name);
        let is_more = |last: &&mut Value| {
            detail.get("index").is_some() && ["type", "index", "id"].iter().all(|name| is_same(last, name))
        };
        let Some(Value::Object(last)) = self.details.last_mut().filter(is_more) else {
            if self.details.len() < DETAILS_LIMIT {
                self.details.push(detail);
            }
            return;
        };
        let Value::Object(more) = detail else { return };
        for (key, value) in more {
            let is_text = matches!(key.as_str(), "text" | "summary" | "data");
            match (last.get_mut(&key), value) {
                (Some(Value::String(text)), Value::String(more)) if is_text => text.push_str(&more),
                (_, Value::Null) => {}
                (_, value) => drop(last.insert(key, value)),
            }
        }
    }

    /// The last count that counts something holds; counts are never added up.
    fn count(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let (input, output) = (whole(usage.prompt_tokens), whole(usage.completion_tokens));
        if input == 0 && output == 0 {
            return;
        }
        let positive = |count: Option<f64>| count.map(|count| whole(Some(count)));
        let cached = usage
            .prompt_cache_hit_tokens
            .or_else(|| usage.prompt_tokens_details.and_then(|details| details.cached_tokens))
            .or(usage.cached_tokens);
        let cache_hit_tokens = positive(cached);
        self.usage = Some(TokenUsage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: positive(usage.total_tokens)
                .filter(|total| *total > 0)
                .unwrap_or(input.saturating_add(output)),
            reasoning_tokens: positive(
                usage.completion_tokens_details.and_then(|details| details.reasoning_tokens).or(usage.reasoning_tokens),
            ),
            cache_hit_tokens,
            cache_miss_tokens: positive(usage.prompt_cache_miss_tokens)
                .or_else(|| cache_hit_tokens.map(|hit| input.saturating_sub(hit))),
        });
    }

    /// The end of the body: the calls are complete now.
    pub(super) fn finish(mut self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        if !self.is_terminal {
            return Err(fault::disconnected(self.subject));
        }
        if let Some(Reason::Failed(reason)) = &self.reason {
            return Err(fault::failed_inside(reason, self.subject));
        }
        match self.tags.finish() {
            Some(Spoken::Thought(delta)) => out.push(StreamBody::ReasoningDelta { delta }),
            Some(Spoken::Text(text)) => self.say(text, out),
            None => {}
        }
        // An answer that was cut off may hold half a call, so none of them is run.
        let is_whole = !matches!(self.reason, Some(Reason::Length | Reason::Filtered));
        let assembled = self.assembler.finish();
        let assembled = if is_whole { assembled } else { Vec::new() };
        let mut calls: Vec<(String, String, Arguments, Vec<CallMark>)> = Vec::with_capacity(assembled.len());
        let mut extra_content = Vec::new();
        for call in assembled {
            let extra = self.extra.iter().rev().find(|(slot, _)| *slot == call.slot);
            extra_content.push(extra.map_or(Value::Null, |(_, extra)| extra.clone()));
            let arguments = parse_arguments(&call.arguments);
            let marks = arguments.marks();
            calls.push((call.id, self.names.inward(&call.name), arguments, marks));
        }
        let native: Vec<(String, Value)> =
            calls.iter().map(|(_, name, arguments, _)| (name.clone(), arguments.args.clone())).collect();
        for mistake in std::mem::take(&mut self.mistakes) {
            calls.push((String::new(), self.names.inward(&mistake.name), mistake.into_arguments(), Vec::new()));
        }
        let Rest { calls: printed, text } = self.printed.finish(&native);
        if !text.is_empty() {
            out.push(StreamBody::TextDelta { delta: text });
        }
        for call in printed.into_iter().filter(|_| is_whole) {
            let arguments = parse_arguments(&call.arguments);
            let mut marks = arguments.marks();
            marks.push(CallMark::Printed);
            calls.push((String::new(), self.names.inward(&call.name), arguments, marks));
        }
        let finish_reason = match self.reason {
            Some(Reason::Length) => FinishReason::Length,
            Some(Reason::Filtered) => FinishReason::ContentFilter,
            Some(Reason::Stop | Reason::Failed(_)) | None if calls.is_empty() => FinishReason::Stop,
            Some(Reason::Stop | Reason::Failed(_)) | None => FinishReason::ToolCalls,
        };
        let mut ids = CallIds::new(self.request);
        out.extend(calls.into_iter().map(|(id, name, arguments, marks)| StreamBody::ToolCallComplete {
            tool_call: ToolCall {
                id: ids.next(&id),
                name,
                args: arguments.args,
                iteration: self.request.meta.iteration,
                timestamp: now,
                raw_args: arguments.raw,
                parse_error: arguments.error,
                marks,
            },
        }));
        out.extend(self.usage.map(|usage| StreamBody::Usage { usage }));
        let has_something_to_keep =
            self.has_thought || !self.details.is_empty() || extra_content.iter().any(|extra| !extra.is_null());
        let provider_state = has_something_to_keep
            .then(|| Kept::state(self.subject.provider, self.subject.model, self.details, extra_content))
            .flatten();
        Ok(Ending { finish_reason, perf: self.perf, provider_state })
    }
}

impl Reason {
    fn of(word: &str) -> Self {
        match word {
            "length" | "max_tokens" | "model_length" | "max_output_tokens" | "MAX_TOKENS" => Self::Length,
            "content_filter" | "SAFETY" | "sensitive" => Self::Filtered,
            "error" | "insufficient_system_resource" | "network_error" => Self::Failed(word.to_owned()),
            // Whether there are calls is seen by the calls; unknown reasons end an answer as well as `stop` does.
            _ => Self::Stop,
        }
    }
}

fn too_large(why: &str) -> Error {
    let mut error = Error::new(ErrorCode::InvalidResponse, format!("The answer cannot be used: {why}."));
    error.provider_code = Some("too_large".into());
    error
}

/// `[DONE]`, with space or quotes around it, in whatever case.
fn is_end_marker(data: &str) -> bool {
    data.len() <= 16 && data.trim_matches(|c: char| c.is_whitespace() || c == '"').eq_ignore_ascii_case("[DONE]")
}

fn text_of_detail(detail: &Value) -> Option<&str> {
    ["text", "summary"].iter().find_map(|name| detail.get(name)?.as_str())
}

fn perf_of(timings: Timings) -> PerfStats {
    PerfStats {
        load_duration_ms: None,
        prompt_eval_duration_ms: timings.prompt_ms.map(|millis| whole(Some(millis))),
        eval_duration_ms: timings.predicted_ms.map(|millis| whole(Some(millis))),
        tokens_per_second: timings.predicted_per_second.filter(|rate| rate.is_finite()),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at both ends")]
fn whole(count: Option<f64>) -> u64 {
    count.unwrap_or_default() as u64
}
