//! The Messages API's JSON, as private types. Requests are written strictly; answers are read leniently: every field may
//! be missing, null or unknown.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::few::Few;

/// Most entries of a list that are looked at: as many as the blocks of an answer may be, and more than a page has models.
const LISTED: usize = 10_001;

/// `POST v1/messages`.
#[derive(Debug, Serialize)]
pub(super) struct MessagesRequest<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) system: Vec<SystemBlock>,
    pub(super) messages: Vec<MessageOut<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) stop_sequences: &'a [String],
    pub(super) stream: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SystemBlock {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

/// What stands up to here is the same in every request.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolOut<'a> {
    pub(super) name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolChoice {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ThinkingOut {
    Enabled { budget_tokens: u32 },
    Adaptive,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig {
    pub(super) effort: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct MessageOut<'a> {
    pub(super) role: RoleOut,
    pub(super) content: Vec<BlockOut<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleOut {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum BlockOut<'a> {
    Made(MadeBlock<'a>),
    /// A block of the model's own, as it came.
    Kept(Value),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MadeBlock<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        content: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ImageSource<'a> {
    Base64 { media_type: String, data: Cow<'a, str> },
    Url { url: &'a str },
}

/// Text that is borrowed from the line unless it holds escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// One event of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct EventIn<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<DeltaIn<'a>>,
    /// Kept whole: a thinking block goes back as it came.
    pub(super) content_block: Option<Value>,
    #[serde(borrow)]
    pub(super) message: Option<MessageIn<'a>>,
    pub(super) usage: Option<UsageIn>,
    pub(super) error: Option<Value>,
}

/// The delta of a block, or of the whole message.
#[derive(Debug, Deserialize)]
pub(super) struct DeltaIn<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    /// A string by the book; some servers send the object itself.
    #[serde(borrow)]
    pub(super) partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
}

/// A message: its beginning in a stream, or all of it without streaming.
#[derive(Debug, Deserialize)]
pub(super) struct MessageIn<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) content: Option<Few<Value, LISTED>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<UsageIn>,
    pub(super) error: Option<Value>,
}

/// Counts so far, each for the whole message.
#[expect(clippy::struct_field_names, reason = "the API's names")]
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct UsageIn {
    pub(super) input_tokens: Option<f64>,
    pub(super) cache_creation_input_tokens: Option<f64>,
    pub(super) cache_read_input_tokens: Option<f64>,
    pub(super) output_tokens: Option<f64>,
}

/// `GET v1/models`. `data` must be there: other servers answer 200 to anything.
#[derive(Debug, Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Option<Few<ModelIn, LISTED>>,
    pub(super) has_more: Option<bool>,
    pub(super) last_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ModelIn {
    pub(super) id: Option<String>,
    pub(super) display_name: Option<String>,
    pub(super) max_input_tokens: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) capabilities: Option<CapabilitiesIn>,
}

/// Each is an object with `supported`, or a plain boolean.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CapabilitiesIn {
    pub(super) image_input: Option<Value>,
    pub(super) thinking: Option<Value>,
    pub(super) structured_outputs: Option<Value>,
}
