//! A request of the IR to chat completions, by a vendor's dialect and by what its server refused before. Pure.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::dialect::{CallIdForm, Dialect, MaxTokens, NoText, ReasoningBack};
use super::kept::Author;
use super::refused::Refused;
use super::wire::{
    CallOut, ChatMessage, ChatRequest, Content, FunctionOut, ImageUrl, PartOut, StreamOptions, ThinkingFields, Tool,
    ToolFunction,
};
use crate::ir::{Error, ErrorCode, ImageDetail, Message, Request, Role};
use crate::provider::history::valid_history;
use crate::provider::tool_name::ToolNames;

/// Longest id of a call.
const ID_LIMIT: usize = 40;

/// What a request needs beside itself.
pub(super) struct Encoding<'a> {
    pub(super) dialect: &'static Dialect,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) stream: bool,
    pub(super) refused: Refused,
    /// Unless thinking is switched off.
    pub(super) wants_thinking: bool,
    pub(super) names: &'a ToolNames<'a>,
}

/// The body of a request for a chat.
pub(super) fn chat(request: &Request, with: &Encoding<'_>) -> Result<Vec<u8>, Error> {
    let history = joined(valid_history(&request.messages));
    let Encoding { dialect, refused, .. } = with;
    let params = &request.params;
    let thinks = dialect.is_reasoning_model(with.model);
    let limit = params.max_tokens.filter(|_| !refused.max_tokens);
    let named_completion = (dialect.max_tokens == MaxTokens::Completion || thinks) != refused.max_tokens_name;
    let tools = tools(request, with);
    let body = ChatRequest {
        model: with.model,
        messages: messages(request, &history, with),
        parallel_tool_calls: dialect.parallel_tool_calls.filter(|_| !tools.is_empty() && !refused.parallel_tool_calls),
        tool_stream: (dialect.tool_stream && with.stream && !tools.is_empty() && !refused.tool_stream).then_some(true),
        tools,
        stream: with.stream,
        stream_options: (with.stream && dialect.stream_options && !refused.stream_options)
            .then_some(StreamOptions { include_usage: true }),
        temperature: (!thinks && !refused.temperature).then(|| params.temperature.unwrap_or(0.0)),
        top_p: params.top_p.filter(|_| !thinks && !refused.top_p),
        max_tokens: limit.filter(|_| !named_completion),
        max_completion_tokens: limit.filter(|_| named_completion),
        stop: params.stop_sequences.as_deref().filter(|stop| !stop.is_empty() && !refused.stop),
        thinking: if refused.thinking { ThinkingFields::default() } else { dialect.thinking_fields(params) },
    };
    serde_json::to_vec(&body)
        .map_err(|error| Error::new(ErrorCode::Unknown, format!("The request cannot be written as JSON: {error}.")))
}

/// Neighbouring answers as one: templates want the roles to alternate.
fn joined(history: Vec<Cow<'_, Message>>) -> Vec<Cow<'_, Message>> {
    let mut joined: Vec<Cow<'_, Message>> = Vec::with_capacity(history.len());
    for message in history {
        let is_second_answer = message.role == Role::Assistant
            && joined.last().is_some_and(|last| last.role == Role::Assistant && last.calls().is_empty());
        match joined.last_mut() {
            Some(last) if is_second_answer => {
                let first = std::mem::take(&mut last.to_mut().content);
                let mut whole = message.into_owned();
                whole.content = [first.as_str(), whole.content.as_str()]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n\n");
                *last = Cow::Owned(whole);
            }
            Some(_) | None => joined.push(message),
        }
    }
    joined
}

fn messages<'a>(request: &Request, history: &'a [Cow<'_, Message>], with: &'a Encoding<'_>) -> Vec<ChatMessage<'a>> {
    // Templates want one system message, and that first.
    let mut system = request.system_prompt.joined();
    for message in history.iter().filter(|message| message.role == Role::System && !message.content.is_empty()) {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&message.content);
    }
    let mut out = Vec::with_capacity(history.len() + 1);
    let mut system = Some(system).filter(|system| !system.trim().is_empty());
    if !with.refused.system_role
        && let Some(system) = system.take()
    {
        out.push(ChatMessage { role: "system", content: Content::Text(Cow::Owned(system)), ..ChatMessage::default() });
    }
    let turns = Turns::of(history);
    let mut ids = CallIds::new(with.dialect.call_ids);
    for (index, message) in history.iter().enumerate() {
        match message.role {
            Role::System => {}
            Role::User => out.push(user(message, system.take())),
            Role::Assistant => out.push(assistant(message, turns.place_of(index), &mut ids, with)),
            Role::Tool => out.extend(message.tool_result.as_ref().map(|result| ChatMessage {
                role: "tool",
                content: Content::Text(Cow::Owned(result.for_model())),
                tool_call_id: Some(ids.answered(result.tool_call_id.as_str())),
                ..ChatMessage::default()
            })),
        }
    }
    if let Some(system) = system {
        let content = Content::Text(Cow::Owned(system));
        out.insert(0, ChatMessage { role: "user", content, ..ChatMessage::default() });
    }
    out
}

fn user<'a>(message: &'a Message, before: Option<String>) -> ChatMessage<'a> {
    let text: Cow<'a, str> = match before {
        Some(before) => Cow::Owned(format!("{before}\n\n{}", message.content)),
        None => Cow::Borrowed(&message.content),
    };
    let images = message.images.as_deref().unwrap_or_default();
    let content = if images.is_empty() {
        Content::Text(text)
    } else {
        let words = (!text.trim().is_empty()).then_some(PartOut::Text { text });
        let pictures = images.iter().map(|image| PartOut::ImageUrl {
            image_url: ImageUrl {
                url: Cow::Borrowed(&image.url),
                detail: image.detail.map(|detail| match detail {
                    ImageDetail::Low => "low",
                    ImageDetail::High => "high",
                    ImageDetail::Auto => "auto",
                }),
            },
        });
        Content::Parts(words.into_iter().chain(pictures).collect())
    };
    ChatMessage { role: "user", content, ..ChatMessage::default() }
}

fn assistant<'a>(message: &'a Message, place: TurnPlace, ids: &mut CallIds, with: &'a Encoding<'_>) -> ChatMessage<'a> {
    let author = Author::of(message, with.provider, with.model);
    let calls = message.calls();
    let extra = |index: usize| match &author {
        Author::Same(kept) => kept.extra_content.get(index).filter(|extra| !extra.is_null()).cloned(),
        Author::Other | Author::Unknown => None,
    };
    let has_text = !message.content.trim().is_empty();
    let content = match with.dialect.no_text {
        NoText::Null if !has_text => Content::Null,
        NoText::Null | NoText::Empty => Content::Text(Cow::Borrowed(&message.content)),
    };
    let tool_calls = ids.begin(calls.iter().map(|call| call.id.as_str())).into_iter().zip(calls).enumerate();
    let tool_calls = tool_calls.map(|(index, (id, call))| CallOut {
        id,
        kind: "function",
        function: FunctionOut {
            name: with.names.outward(&call.name),
            arguments: if call.args.is_object() { call.args.to_string() } else { "{}".into() },
        },
        extra_content: extra(index),
    });
    let tool_calls = tool_calls.collect();
    ChatMessage {
        role: "assistant",
        content,
        reasoning_content: reasoning_content(message, &author, place, with),
        reasoning_details: match author {
            Author::Same(kept) if with.dialect.reasoning_back == ReasoningBack::Details => {
                Some(Value::Array(kept.reasoning_details)).filter(|details| *details != Value::Array(Vec::new()))
            }
            Author::Same(_) | Author::Other | Author::Unknown => None,
        },
        tool_calls,
        tool_call_id: None,
    }
}

fn reasoning_content<'a>(
    message: &'a Message,
    author: &Author,
    place: TurnPlace,
    with: &Encoding<'_>,
) -> Option<Cow<'a, str>> {
    if with.refused.reasoning_back || !with.wants_thinking {
        return None;
    }
    // What another model thought means nothing to this one.
    let own = message.reasoning_content.as_deref().filter(|text| !text.trim().is_empty() && *author != Author::Other);
    if with.refused.silent_history {
        return Some(Cow::Borrowed(own.unwrap_or(" ")));
    }
    match with.dialect.reasoning_back {
        ReasoningBack::Never | ReasoningBack::Details => None,
        ReasoningBack::ToolLoop => own.filter(|_| place.has_calls && place.is_last).map(Cow::Borrowed),
        ReasoningBack::ToolTurns => place.has_calls.then(|| Cow::Borrowed(own.unwrap_or_default())),
        ReasoningBack::ToolTurnsNotEmpty => place.has_calls.then(|| Cow::Borrowed(own.unwrap_or(" "))),
    }
}

/// Where a message stands: a turn is what lies between two messages of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct TurnPlace {
    /// The turn called tools.
    has_calls: bool,
    /// It is the turn that goes on now.
    is_last: bool,
}

struct Turns {
    /// By the message's place in the history.
    turn: Vec<usize>,
    has_calls: Vec<bool>,
}

impl Turns {
    fn of(history: &[Cow<'_, Message>]) -> Self {
        let mut turns = Self { turn: Vec::with_capacity(history.len()), has_calls: vec![false] };
        for message in history {
            if message.role == Role::User {
                turns.has_calls.push(false);
            }
            turns.turn.push(turns.has_calls.len() - 1);
            if let Some(has_calls) = turns.has_calls.last_mut() {
                *has_calls |= !message.calls().is_empty();
            }
        }
        turns
    }

    fn place_of(&self, index: usize) -> TurnPlace {
        let turn = self.turn.get(index).copied().unwrap_or_default();
        TurnPlace {
            has_calls: self.has_calls.get(turn).copied().unwrap_or_default(),
            is_last: turn + 1 == self.has_calls.len(),
        }
    }
}

fn tools<'a>(request: &'a Request, with: &'a Encoding<'_>) -> Vec<Tool<'a>> {
    let offered: HashMap<&str, &str> = with.names.pairs().collect();
    let of = |tool: &'a crate::ir::ToolDef| {
        let name = offered.get(tool.name.as_str())?;
        Some(Tool {
            kind: "function",
            function: ToolFunction {
                name: Cow::Owned((*name).to_owned()),
                description: &tool.description,
                parameters: &tool.parameters,
            },
        })
    };
    request.tools.iter().flatten().filter_map(of).collect()
}

/// Ids of calls as the server takes them: each its own, whatever the history holds, and the same for a call and its answer.
struct CallIds {
    form: CallIdForm,
    taken: HashSet<String>,
    /// Of the newest message with calls.
    current: Vec<(String, String)>,
}

impl CallIds {
    fn new(form: CallIdForm) -> Self {
        Self { form, taken: HashSet::new(), current: Vec::new() }
    }

    fn begin<'i>(&mut self, ids: impl Iterator<Item = &'i str>) -> Vec<String> {
        self.current.clear();
        ids.map(|id| {
            let mut wire = self.fitted(id, 0);
            let mut number = 1;
            while !self.taken.insert(wire.clone()) {
                wire = self.fitted(id, number);
                number += 1;
            }
            self.current.push((id.to_owned(), wire.clone()));
            wire
        })
        .collect()
    }

    /// The id that the answer to `id` carries. The answers stand in the order of the calls.
    fn answered(&mut self, id: &str) -> String {
        match self.current.iter().position(|(own, _)| own == id) {
            Some(at) => self.current.remove(at).1,
            None => self.fitted(id, 0),
        }
    }

    fn fitted(&self, id: &str, number: u32) -> String {
        let fits = match self.form {
            CallIdForm::Usual => {
                let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                (1..=ID_LIMIT).contains(&id.len()) && id.bytes().all(is_usual)
            }
            CallIdForm::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        };
        if fits && number == 0 {
            return id.to_owned();
        }
        let hash = hex::encode(Sha256::digest(format!("{number} {id}")));
        match self.form {
            CallIdForm::Usual => format!("call_{}", hash.get(..24).unwrap_or_default()),
            CallIdForm::Nine => hash.get(..9).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_are_unique_and_the_same_for_a_call_and_its_answer() {
        for (form, length) in [(CallIdForm::Usual, 1..=40), (CallIdForm::Nine, 9..=9)] {
            let mut ids = CallIds::new(form);
            let own = ["a", "a", "", "functions.ls:0", "call_0198c2f0c0ffee70b1a2c3d4e5f60718", "ABCdef123"];
            let mut given = Vec::new();
            for _ in 0..2 {
                let calls = ids.begin(own.into_iter());
                let answers: Vec<String> = own.iter().map(|id| ids.answered(id)).collect();
                assert_eq!(calls, answers);
                given.extend(calls);
            }
            let unique: HashSet<&String> = given.iter().collect();
            assert_eq!(unique.len(), given.len());
            for id in &given {
                assert!(length.contains(&id.len()), "{id}");
                assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')), "{id}");
            }
            assert_eq!(given[5], "ABCdef123", "what fits stays");
        }
    }
}
