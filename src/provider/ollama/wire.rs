//! Ollama's JSON, as private types. Requests are written strictly; answers are read leniently: every field may be
//! missing, null or unknown.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::few::Few;

/// Most entries of a list that are looked at.
const LISTED: usize = 1_024;

/// `POST /api/chat`.
#[derive(Debug, Serialize)]
pub(super) struct ChatRequest<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) think: Option<Think>,
    pub(super) options: Options<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keep_alive: Option<KeepAlive<'a>>,
    /// `false`: an overflow is an error instead of silently losing the oldest messages.
    pub(super) truncate: bool,
    pub(super) shift: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ChatMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallOut<'a> {
    pub(super) id: String,
    pub(super) function: FunctionOut<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionOut<'a> {
    pub(super) index: usize,
    pub(super) name: &'a str,
    /// Always an object: Ollama does not read a string here.
    pub(super) arguments: Cow<'a, Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: ToolFunction<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolFunction<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) parameters: &'a Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Think {
    Switch(bool),
    Level(&'static str),
}

#[derive(Debug, Serialize)]
pub(super) struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) num_ctx: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) num_predict: Option<u32>,
    pub(super) temperature: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) stop: &'a [String],
}

/// Seconds, or a duration such as `5m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum KeepAlive<'a> {
    Seconds(i64),
    Duration(&'a str),
}

/// Text that is borrowed from the line unless it holds escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// One line of a chat's answer, or the whole answer without streaming.
#[derive(Debug, Deserialize)]
pub(super) struct ChatLine<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<MessageIn<'a>>,
    pub(super) done: Option<bool>,
    #[serde(borrow)]
    pub(super) done_reason: Option<Text<'a>>,
    pub(super) error: Option<Value>,
    pub(super) load_duration: Option<f64>,
    pub(super) prompt_eval_count: Option<f64>,
    pub(super) prompt_eval_duration: Option<f64>,
    pub(super) eval_count: Option<f64>,
    pub(super) eval_duration: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageIn<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Few<CallIn<'a>, LISTED>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallIn<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionIn<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionIn<'a> {
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// `GET /api/version`.
#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
}

/// `GET /api/tags`. `models` must be there: other servers answer 200 to anything.
#[derive(Debug, Deserialize)]
pub(super) struct Tags {
    pub(super) models: Option<Few<TagModel, LISTED>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TagModel {
    pub(super) name: Option<String>,
    pub(super) model: Option<String>,
    pub(super) details: Option<Details>,
    pub(super) capabilities: Option<Few<String, LISTED>>,
    pub(super) remote_model: Option<String>,
    pub(super) remote_host: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Details {
    pub(super) parameter_size: Option<String>,
    pub(super) context_length: Option<u64>,
}

/// `POST /api/show`.
#[derive(Debug, Serialize)]
pub(super) struct ShowRequest<'a> {
    pub(super) model: &'a str,
}

#[derive(Debug, Deserialize)]
pub(super) struct Show {
    pub(super) details: Option<Details>,
    pub(super) model_info: Option<serde_json::Map<String, Value>>,
    pub(super) capabilities: Option<Few<String, LISTED>>,
    pub(super) parameters: Option<String>,
    pub(super) remote_model: Option<String>,
    pub(super) remote_host: Option<String>,
}

/// `GET /api/ps`: the models that are loaded.
#[derive(Debug, Deserialize)]
pub(super) struct Loaded {
    pub(super) models: Option<Few<LoadedModel, LISTED>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LoadedModel {
    pub(super) name: Option<String>,
    pub(super) model: Option<String>,
    /// The window that was really set up.
    pub(super) context_length: Option<u64>,
}

/// `POST /api/pull`.
#[derive(Debug, Serialize)]
pub(super) struct PullRequest<'a> {
    pub(super) model: &'a str,
    pub(super) stream: bool,
}

/// One line of a download.
#[derive(Debug, Deserialize)]
pub(super) struct PullLine {
    pub(super) status: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) total: Option<u64>,
    pub(super) completed: Option<u64>,
    pub(super) error: Option<Value>,
}
