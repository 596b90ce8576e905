//! The messages of a request as the API wants them: user and assistant in turns, the person first, every result of an
//! answer's calls in the one message behind it and before anything else, signed thinking where it was.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::kept::{Kept, KeptBlock};
use super::wire::{BlockOut, ImageSource, MadeBlock, MessageOut, RoleOut};
use crate::ir::{Image, Message, Role};
use crate::provider::call_name::CallNames;
use crate::provider::data_uri::{base64_of, media_type_of};
use crate::provider::tool_name::ToolNames;

/// What the API can look at.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Who is asked: signed thinking goes back to nobody else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
}

/// A history, ready to be sent.
pub(super) struct Encoded<'a> {
    pub(super) messages: Vec<MessageOut<'a>>,
    /// Whether calls or results stand in it: the API wants their tools described then.
    pub(super) has_calls: bool,
    /// The tools that were called, under the API's names.
    pub(super) called: Vec<String>,
}

/// Encodes a valid history (`provider::history`).
pub(super) fn encode<'a>(history: &'a [Cow<'a, Message>], names: &ToolNames<'_>, asked: Asked<'_>) -> Encoded<'a> {
    let mut out = Encoded { messages: Vec::with_capacity(history.len()), has_calls: false, called: Vec::new() };
    let mut ids = CallNames::default();
    let mut open: VecDeque<String> = VecDeque::new();
    for message in history {
        match message.role {
            Role::Tool => {
                let (Some(result), Some(tool_use_id)) = (&message.tool_result, open.pop_front()) else { continue };
                let block =
                    MadeBlock::ToolResult { tool_use_id, content: result.for_model(), is_error: !result.success };
                out.push(RoleOut::User, [BlockOut::Made(block)]);
            }
            // Stands in the request's own field.
            Role::System => {}
            Role::User => out.push(RoleOut::User, said(message)),
            Role::Assistant => {
                let called: Vec<String> = message.calls().iter().map(|call| ids.next(call.id.as_str())).collect();
                open.extend(called.iter().cloned());
                let blocks = answered(message, called, names, asked);
                for call in message.calls() {
                    let name = names.outward(&call.name).into_owned();
                    if !out.called.contains(&name) {
                        out.called.push(name);
                    }
                }
                out.push(RoleOut::Assistant, blocks);
            }
        }
    }
    out.has_calls = !out.called.is_empty();
    out
}

impl<'a> Encoded<'a> {
    /// Neighbours of one role are one message.
    fn push(&mut self, role: RoleOut, blocks: impl IntoIterator<Item = BlockOut<'a>>) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.role == role) {
            last.content.extend(blocks);
            return;
        }
        let content: Vec<_> = blocks.into_iter().collect();
        if !content.is_empty() {
            self.messages.push(MessageOut { role, content });
        }
    }
}

fn said(message: &Message) -> Vec<BlockOut<'_>> {
    let mut blocks: Vec<BlockOut<'_>> = message.images.iter().flatten().map(image).collect();
    blocks.extend(text(&message.content));
    blocks
}

/// The API refuses blocks without a visible character.
fn text(text: &str) -> Option<BlockOut<'_>> {
    (!text.trim().is_empty()).then(|| BlockOut::Made(MadeBlock::Text { text: Cow::Borrowed(text) }))
}

fn image(image: &Image) -> BlockOut<'_> {
    let Some(data) = base64_of(&image.url) else {
        return BlockOut::Made(MadeBlock::Image { source: ImageSource::Url { url: &image.url } });
    };
    let media_type = media_type_of(&image.url).unwrap_or_default();
    if !IMAGE_TYPES.contains(&media_type.as_str()) {
        let note = format!("[An image of a kind that this model cannot see was attached here: {media_type}]");
        return BlockOut::Made(MadeBlock::Text { text: Cow::Owned(note) });
    }
    BlockOut::Made(MadeBlock::Image { source: ImageSource::Base64 { media_type, data } })
}

fn answered<'a>(message: &'a Message, ids: Vec<String>, names: &ToolNames<'_>, asked: Asked<'_>) -> Vec<BlockOut<'a>> {
    let mut calls = message.calls().iter().zip(ids).map(|(call, id)| {
        let name = Cow::Owned(names.outward(&call.name).into_owned());
        let input =
            if call.args.is_object() { Cow::Borrowed(&call.args) } else { Cow::Owned(Value::Object(Map::new())) };
        BlockOut::Made(MadeBlock::ToolUse { id, name, input })
    });
    let Some(kept) = Kept::of(message, asked.provider, asked.model) else {
        // Calls are last, whatever came between them.
        return text(&message.content).into_iter().chain(calls).collect();
    };
    let mut rest = message.content.as_str();
    let mut blocks = Vec::with_capacity(kept.blocks.len());
    for block in kept.blocks {
        match block {
            KeptBlock::Thinking(raw) => blocks.push(BlockOut::Kept(raw)),
            KeptBlock::Text(bytes) => {
                let (this, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
                blocks.extend(text(this));
                rest = after;
            }
            KeptBlock::Call => blocks.extend(calls.next()),
        }
    }
    blocks
}
