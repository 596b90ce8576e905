//! The JSON of chat completions, as private types. Requests are written strictly, by the dialect; answers are read
//! leniently: every field may be missing, null, of a neighbouring type, or unknown.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::few::Few;

/// Most choices of a chunk that are looked at: one is asked for.
const CHOICES: usize = 16;
/// Most pieces of calls in a chunk: more than the calls of an answer may be.
const CALLS: usize = 1_024;

/// `POST …/chat/completions`.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatRequest<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<&'a [String]>,
    #[serde(flatten)]
    pub(super) thinking: ThinkingFields,
}

/// Every vendor's switch for thinking; at most what one of them takes is set.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct ThinkingFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chat_template_kwargs: Option<TemplateArguments>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ThinkingSwitch {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clear_thinking: Option<bool>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enabled: Option<bool>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct TemplateArguments {
    pub(super) enable_thinking: bool,
    /// What the templates of other model families call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct ChatMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
}

/// The content of a message: text, parts with images, or null.
#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    #[default]
    Null,
    Text(Cow<'a, str>),
    Parts(Vec<PartOut<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PartOut<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallOut<'a> {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: FunctionOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionOut<'a> {
    pub(super) name: Cow<'a, str>,
    /// JSON in a string: that is how this format has it.
    pub(super) arguments: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: ToolFunction<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolFunction<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) description: &'a str,
    pub(super) parameters: &'a Value,
}

/// Text that is borrowed from the event unless it holds escapes.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// One event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) object: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) choices: Option<Few<Choice<'a>, CHOICES>>,
    // What is rare stands behind a pointer: a delta is moved several times, and there are thousands a second.
    pub(super) usage: Option<Box<Usage>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) timings: Option<Box<Timings>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// Instead of `delta` in an answer that comes whole.
    #[serde(borrow)]
    pub(super) message: Option<Box<Delta<'a>>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    /// Some vendors count here.
    pub(super) usage: Option<Box<Usage>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Mixed<'a>,
    #[serde(borrow)]
    pub(super) refusal: Mixed<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Mixed<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Mixed<'a>,
    #[serde(borrow)]
    pub(super) thinking: Mixed<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<OneOrMany<'a>>,
    /// What came before `tool_calls`.
    #[serde(borrow)]
    pub(super) function_call: Option<Box<FunctionIn<'a>>>,
}

/// A list of calls; one server sends a call that is not in a list.
#[derive(Debug)]
pub(super) struct OneOrMany<'a>(pub(super) Vec<CallIn<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for OneOrMany<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Calls;
        impl<'de> Visitor<'de> for Calls {
            type Value = OneOrMany<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("calls")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut calls = Vec::new();
                while calls.len() < CALLS
                    && let Some(call) = items.next_element::<Option<CallIn<'de>>>()?
                {
                    calls.extend(call);
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(OneOrMany(calls))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                let call = CallIn::deserialize(serde::de::value::MapAccessDeserializer::new(fields))?;
                Ok(OneOrMany(vec![call]))
            }
        }
        deserializer.deserialize_any(Calls)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallIn<'a> {
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionIn<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionIn<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    /// Text as the format says, or an object as some servers have it.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Text where the format says text, and everything else that servers put there: null, parts, an object.
#[derive(Debug, Default)]
pub(super) enum Mixed<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Parts(Box<PartIn>),
}

impl Mixed<'_> {
    /// What is said.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Text(text) => text,
            Self::Parts(parts) => &parts.text,
        }
    }

    /// What parts of the kind `thinking` say.
    pub(super) fn thinking(&self) -> &str {
        match self {
            Self::Nothing | Self::Text(_) => "",
            Self::Parts(parts) => &parts.thinking,
        }
    }

    /// What is said, or else thought.
    pub(super) fn into_either(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.into_owned(),
            Self::Parts(parts) if parts.text.is_empty() => parts.thinking,
            Self::Parts(parts) => parts.text,
        }
    }

    /// Unless it says nothing.
    pub(super) fn said(self) -> Option<Self> {
        (!self.text().is_empty() || !self.thinking().is_empty()).then_some(self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Mixed<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MixedVisitor)
    }
}

struct MixedVisitor;

impl<'de> Visitor<'de> for MixedVisitor {
    type Value = Mixed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Mixed::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Mixed::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Mixed::Text(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Mixed::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Mixed::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Mixed::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Mixed::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Mixed::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = PartIn::default();
        while let Some(part) = parts.next_element::<PartIn>()? {
            all.text.push_str(&part.text);
            all.thinking.push_str(&part.thinking);
        }
        Ok(Mixed::Parts(Box::new(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        Ok(Mixed::Parts(Box::new(PartIn::from_map(fields)?)))
    }
}

/// A part of a content: `{"type": "text", "text": …}`, `{"type": "thinking", "thinking": [ … ]}`, or plain text.
#[derive(Debug, Default)]
pub(super) struct PartIn {
    text: String,
    thinking: String,
}

impl PartIn {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut part = Self::default();
        let mut is_thinking = false;
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "type" => {
                    let kind = fields.next_value::<Mixed<'de>>()?;
                    is_thinking = kind.text().contains("think") || kind.text().contains("reason");
                }
                "text" | "content" => {
                    let inner = fields.next_value::<Mixed<'de>>()?;
                    part.text.push_str(inner.text());
                    part.thinking.push_str(inner.thinking());
                }
                "thinking" | "reasoning" | "summary" => {
                    let inner = fields.next_value::<Mixed<'de>>()?;
                    part.thinking.push_str(inner.text());
                    part.thinking.push_str(inner.thinking());
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        if is_thinking {
            let text = std::mem::take(&mut part.text);
            part.thinking.push_str(&text);
        }
        Ok(part)
    }
}

impl<'de> Deserialize<'de> for PartIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Mixed::deserialize(deserializer)? {
            Mixed::Parts(part) => *part,
            other @ (Mixed::Nothing | Mixed::Text(_)) => Self { text: other.into_either(), thinking: String::new() },
        })
    }
}

/// Counts. A server may send floats, nulls, nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) prompt_tokens: Option<f64>,
    pub(super) completion_tokens: Option<f64>,
    pub(super) total_tokens: Option<f64>,
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    pub(super) completion_tokens_details: Option<CompletionDetails>,
    pub(super) prompt_cache_hit_tokens: Option<f64>,
    pub(super) prompt_cache_miss_tokens: Option<f64>,
    pub(super) cached_tokens: Option<f64>,
    pub(super) reasoning_tokens: Option<f64>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Option<f64>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: Option<f64>,
}

/// llama.cpp's own numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Timings {
    pub(super) prompt_ms: Option<f64>,
    pub(super) predicted_ms: Option<f64>,
    pub(super) predicted_per_second: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(json: &str) -> (String, String, String) {
        let delta: Delta<'_> = serde_json::from_str(json).unwrap();
        [delta.content.text(), delta.content.thinking(), delta.reasoning_content.text()].map(str::to_owned).into()
    }

    #[test]
    fn content_of_every_shape_is_text() {
        let said = |text: &str, thinking: &str| (text.to_owned(), thinking.to_owned(), String::new());
        for (json, expected) in [
            (r#"{"content":"a\nb"}"#, said("a\nb", "")),
            (r#"{"content":null}"#, said("", "")),
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, said("ab", "")),
            (
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true}]}"#,
                said("", "hm"),
            ),
            (r#"{"content":[{"type":"thinking","thinking":"hm"},"x",null,5]}"#, said("x", "hm")),
            (
                r#"{"content":[{"text":"hm","type":"reasoning"},{"type":"image_url","image_url":{"url":"x"}}]}"#,
                said("", "hm"),
            ),
            (r#"{"content":{"type":"text","text":"a"}}"#, said("a", "")),
            (r#"{"content":5,"role":7,"unknown":[{}]}"#, said("", "")),
            ("{}", said("", "")),
        ] {
            assert_eq!(delta(json), expected, "{json}");
        }
    }

    #[test]
    fn a_call_that_is_not_in_a_list_is_read_too() {
        let count = |json: &str| serde_json::from_str::<Delta<'_>>(json).unwrap().tool_calls.map(|calls| calls.0.len());
        assert_eq!(count(r#"{"tool_calls":[{"index":0},null,{}]}"#), Some(2));
        assert_eq!(count(r#"{"tool_calls":{"id":"a","function":{"name":"ls","arguments":{"a":1}}}}"#), Some(1));
        assert_eq!([count(r#"{"tool_calls":null}"#), count("{}")], [None, None]);
    }
}
