//! The models of a server of this format, and what is known of each: what the server says where it says something, else
//! what its vendor publishes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::dialect::Details;
use super::fault::{self, Complaint};
use super::refused::Refused;
use super::{ERROR_LIMIT, OpenAi};
use crate::ir::{Error, ModelInfo, Pricing, Support};
use crate::provider::body::trimmed;
use crate::provider::few::Few;
use crate::provider::http::TimeLimits;
use crate::provider::preset;

/// Largest list that is read, in bytes.
const LIST_LIMIT: usize = 16 * 1024 * 1024;
/// Most models of a list.
const MODELS: usize = 5_000;

/// What vendors publish of a model and do not say in their lists.
struct Published {
    /// How the name begins; the longest beginning that fits holds.
    begin: &'static str,
    /// Tokens.
    window: u64,
    calls: bool,
    thinks: bool,
    sees: bool,
}

impl Published {
    const fn new(begin: &'static str, window: u64) -> Self {
        Self { begin, window, calls: false, thinks: false, sees: false }
    }

    const fn calls(self) -> Self {
        Self { calls: true, ..self }
    }

    const fn thinks(self) -> Self {
        Self { thinks: true, ..self }
    }

    const fn sees(self) -> Self {
        Self { sees: true, ..self }
    }

    fn of(model: &str) -> Option<&'static Self> {
        let name = model.rsplit('/').next().unwrap_or(model);
        PUBLISHED.iter().filter(|row| name.starts_with(row.begin)).max_by_key(|row| row.begin.len())
    }
}

const PUBLISHED: &[Published] = &[
    Published::new("gpt-3.5-turbo", 16_385).calls(),
    Published::new("gpt-4", 8_192).calls(),
    Published::new("gpt-4-turbo", 128_000).calls().sees(),
    Published::new("gpt-4o", 128_000).calls().sees(),
    Published::new("gpt-4.1", 1_047_576).calls().sees(),
    Published::new("gpt-5", 400_000).calls().thinks().sees(),
    Published::new("gpt-5-chat", 128_000).sees(),
    Published::new("o1", 200_000).calls().thinks().sees(),
    Published::new("o1-mini", 128_000).thinks(),
    Published::new("o3", 200_000).calls().thinks().sees(),
    Published::new("o3-mini", 200_000).calls().thinks(),
    Published::new("o4-mini", 200_000).calls().thinks().sees(),
    Published::new("deepseek-", 128_000),
    Published::new("deepseek-chat", 128_000).calls(),
    Published::new("deepseek-reasoner", 128_000).calls().thinks(),
    Published::new("kimi-k2", 262_144).calls(),
    Published::new("glm-4.5", 131_072).calls().thinks(),
    Published::new("glm-4.6", 200_000).calls().thinks(),
];

/// A list of models: `{"data": […]}`, or the bare list.
struct List(Vec<Listed>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = List;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of models")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<List, A::Error> {
        let models = Few::<Listed, MODELS>::deserialize(SeqAccessDeserializer::new(items))?;
        Ok(List(models.0))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<List, A::Error> {
        let mut data = None;
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            if key == "data" {
                data = Some(fields.next_value::<Few<Listed, MODELS>>()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        data.map(|models| List(models.0)).ok_or_else(|| serde::de::Error::missing_field("data"))
    }
}

/// One model, in whatever words the server has for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Listed {
    id: Option<String>,
    name: Option<String>,
    /// LM Studio's own list.
    key: Option<String>,
    display_name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    context_length: Option<Value>,
    context_window: Option<Value>,
    max_context_length: Option<Value>,
    max_model_len: Option<Value>,
    max_input_tokens: Option<Value>,
    #[serde(rename = "inputTokenLimit")]
    input_token_limit: Option<Value>,
    max_completion_tokens: Option<Value>,
    meta: Option<Value>,
    top_provider: Option<Value>,
    capabilities: Option<Value>,
    architecture: Option<Value>,
    supported_parameters: Option<Vec<String>>,
    loaded_instances: Option<Value>,
    pricing: Option<Value>,
}

impl OpenAi {
    /// How many models there are, for the person.
    pub(super) async fn greeting(&self) -> Result<String, Error> {
        let count = self.models().await?.len();
        let name = preset(&self.id).map_or(self.id.as_str(), |preset| preset.display_name);
        Ok(format!("{name}: {count} models"))
    }

    /// The models that can chat.
    pub(super) async fn models(&self) -> Result<Vec<ModelInfo>, Error> {
        if self.dialect.details == Details::LmStudio
            && let Ok(models) = self.lm_studio_models().await
        {
            return Ok(models);
        }
        let path = self.place.models();
        let listed = match self.get::<List>(&self.path(&path, Refused::default())).await {
            Err(error) if error.provider_code.as_deref() == Some("no_such_path") => {
                let other = Refused { path: true, ..Refused::default() };
                self.get::<List>(&self.path(&path, other)).await.map_err(|_other| error)?
            }
            listed => listed?,
        };
        Ok(listed.0.into_iter().filter_map(|model| model.info(&self.id)).collect())
    }

    /// One model: as listed, else as published. A server that says nothing has not said no.
    pub(super) async fn model(&self, model: &str) -> ModelInfo {
        let listed = self.models().await.unwrap_or_default().into_iter().find(|listed| listed.id == model);
        let mut info = listed.unwrap_or_else(|| unknown(&self.id, model));
        if self.dialect.details == Details::LlamaCpp
            && let Some(window) = self.llama_cpp_window().await
        {
            info.context_window = window;
        }
        info
    }

    /// LM Studio says in its own list what is loaded and with how much room.
    async fn lm_studio_models(&self) -> Result<Vec<ModelInfo>, Error> {
        #[derive(Deserialize)]
        struct Own {
            models: Few<Listed, MODELS>,
        }
        let own: Own = self.get("/api/v1/models").await?;
        Ok(own.models.into_iter().filter_map(|model| model.info(&self.id)).collect())
    }

    /// The room of one of llama.cpp's slots, which is what a conversation really has.
    async fn llama_cpp_window(&self) -> Option<u64> {
        let props: Value = self.get("/props").await.ok()?;
        props.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64).filter(|window| *window > 0)
    }

    /// The JSON at a path, or what the refusal means.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let subject = self.subject("");
        let unreachable = |error| fault::unreachable(error, subject);
        let reply = self.http.get(path, TimeLimits::QUICK).await.map_err(unreachable)?;
        let (status, headers, is_success) = (reply.status, reply.retry.clone(), reply.is_success());
        let limit = if is_success { LIST_LIMIT } else { ERROR_LIMIT };
        let body = reply.bytes(limit).await.map_err(unreachable)?;
        let text = String::from_utf8_lossy(&body);
        if !is_success {
            return Err(fault::refused(status, &Complaint::of(&text), &headers, subject, (self.clock)()));
        }
        serde_json::from_str(trimmed(&text))
            .map_err(|_other| fault::not_this_format(subject, &Complaint::of(&text).text))
    }
}

/// A model of which only the name is known.
fn unknown(provider: &str, model: &str) -> ModelInfo {
    let published = Published::of(model);
    let said = |says: fn(&Published) -> bool| if published.is_some_and(says) { Support::Yes } else { Support::Unknown };
    ModelInfo {
        id: model.to_owned(),
        provider_id: provider.to_owned(),
        display_name: model.to_owned(),
        context_window: published.map_or(0, |row| row.window),
        max_output: 0,
        supports_streaming: true,
        supports_thinking: said(|row| row.thinks),
        supports_images: said(|row| row.sees),
        supports_tool_calling: said(|row| row.calls),
        supports_structured_output: Support::Unknown,
        is_elsewhere: false,
        pricing: None,
    }
}

fn count(value: Option<&Value>) -> Option<u64> {
    let count = match value? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    count.filter(|count| *count > 0)
}

impl Listed {
    fn info(self, provider: &str) -> Option<ModelInfo> {
        let id = self.id.as_deref().or(self.key.as_deref()).or(self.name.as_deref())?;
        // Gemini's list has the names of its own API.
        let id = id.strip_prefix("models/").unwrap_or(id).to_owned();
        let is_no_chat = |kind: &str| matches!(kind, "embedding" | "embeddings" | "rerank" | "image" | "audio");
        if self.kind.as_deref().is_some_and(is_no_chat) || self.capability(&["completion_chat"]) == Support::No {
            return None;
        }
        let mut info = unknown(provider, &id);
        if let Some(name) = self.display_name.as_deref().or(self.name.as_deref()).filter(|name| !name.is_empty()) {
            name.strip_prefix("models/").unwrap_or(name).clone_into(&mut info.display_name);
        }
        info.context_window = self.window().unwrap_or(info.context_window);
        let top = self.top_provider.as_ref();
        info.max_output = count(top.and_then(|top| top.get("max_completion_tokens")))
            .or_else(|| count(self.max_completion_tokens.as_ref()))
            .unwrap_or_default();
        // What the server says goes before what is published.
        let or = |said: Support, published: Support| if said == Support::Unknown { published } else { said };
        info.supports_tool_calling = or(
            self.capability(&["function_calling", "trained_for_tool_use", "tools", "tool_use"]),
            info.supports_tool_calling,
        );
        info.supports_images = or(self.capability(&["vision", "image_input", "images"]), info.supports_images);
        info.supports_thinking = or(self.capability(&["reasoning", "thinking"]), info.supports_thinking);
        if let Some(parameters) = &self.supported_parameters {
            let has = |name: &str| if parameters.iter().any(|one| one == name) { Support::Yes } else { Support::No };
            info.supports_tool_calling = has("tools");
            info.supports_thinking = has("reasoning");
            info.supports_structured_output = has("structured_outputs");
        }
        if let Some(Value::Array(kinds)) = self.architecture.as_ref().and_then(|found| found.get("input_modalities")) {
            let sees = kinds.iter().any(|kind| kind == "image");
            info.supports_images = if sees { Support::Yes } else { Support::No };
        }
        info.pricing = self.pricing.as_ref().and_then(price);
        Some(info)
    }

    /// The room that the model has: as loaded, else as offered, else as trained.
    fn window(&self) -> Option<u64> {
        let loaded = self.loaded_instances.as_ref().and_then(|all| all.pointer("/0/config/context_length"));
        let trained = self.meta.as_ref().and_then(|meta| meta.get("n_ctx_train"));
        let offered = [
            &self.context_length,
            &self.context_window,
            &self.max_model_len,
            &self.max_context_length,
            &self.max_input_tokens,
            &self.input_token_limit,
        ];
        count(loaded).or_else(|| offered.into_iter().find_map(|one| count(one.as_ref()))).or_else(|| count(trained))
    }

    /// What the server says of a capability, as a switch by name or in a list of names.
    fn capability(&self, names: &[&str]) -> Support {
        let said = match &self.capabilities {
            Some(Value::Object(switches)) => {
                let found = names.iter().find_map(|name| switches.get(*name));
                found.map(|found| !matches!(found, Value::Null | Value::Bool(false)))
            }
            Some(Value::Array(list)) if !list.is_empty() => {
                Some(names.iter().any(|name| list.iter().any(|one| one == name)))
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | None => None,
        };
        match said {
            Some(true) => Support::Yes,
            Some(false) => Support::No,
            None => Support::Unknown,
        }
    }
}

/// OpenRouter's prices are dollars for one token, as text.
fn price(pricing: &Value) -> Option<Pricing> {
    let per_million = |name: &str| pricing.get(name)?.as_str()?.parse::<f64>().ok().map(|price| price * 1e6);
    let (input, output) = (per_million("prompt")?, per_million("completion")?);
    (input >= 0.0 && output >= 0.0).then(|| Pricing {
        input_per_million: input,
        output_per_million: output,
        cached_input_per_million: per_million("input_cache_read").filter(|price| *price >= 0.0),
        currency: "USD".into(),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info(value: Value) -> Option<ModelInfo> {
        serde_json::from_value::<Listed>(value).unwrap().info("p")
    }

    #[test]
    fn every_servers_words_for_its_models_are_read() {
        let plain = info(json!({"id": "gpt-4o-mini", "object": "model", "owned_by": "x"})).unwrap();
        assert_eq!((plain.context_window, plain.supports_tool_calling), (128_000, Support::Yes));
        let small = info(json!({"id": "openai/o3-mini-2025-01-31"})).unwrap();
        assert_eq!((small.supports_thinking, small.supports_images), (Support::Yes, Support::Unknown));
        let own = info(json!({"id": "gpt-4o-ours", "capabilities": {"vision": false}})).unwrap();
        assert_eq!(own.supports_images, Support::No);
        for (value, window) in [
            (json!({"id": "a", "max_model_len": 32_768}), 32_768),
            (json!({"id": "a", "meta": {"n_ctx_train": 8_192}}), 8_192),
            (json!({"id": "a", "meta": null}), 0),
            (json!({"id": "a", "context_window": "131072"}), 131_072),
            (
                json!({"key": "a", "type": "llm", "max_context_length": 131_072,
                    "loaded_instances": [{"config": {"context_length": 4_096}}]}),
                4_096,
            ),
        ] {
            assert_eq!(info(value.clone()).unwrap().context_window, window, "{value}");
        }
        let mistral = info(json!({"id": "m", "max_context_length": 131_072,
            "capabilities": {"function_calling": true, "vision": false}}))
        .unwrap();
        assert_eq!(
            (mistral.supports_tool_calling, mistral.supports_images, mistral.supports_thinking),
            (Support::Yes, Support::No, Support::Unknown)
        );
        let router = info(json!({"id": "x/y", "name": "X: Y", "context_length": 200_000,
            "architecture": {"input_modalities": ["text", "image"]}, "supported_parameters": ["tools"],
            "pricing": {"prompt": "0.0000025", "completion": "0.00001"}}))
        .unwrap();
        assert_eq!(
            (router.supports_images, router.supports_tool_calling, router.supports_thinking),
            (Support::Yes, Support::Yes, Support::No)
        );
        let price = router.pricing.unwrap();
        assert_eq!((price.input_per_million.round(), price.output_per_million.round()), (3.0, 10.0));
        assert_eq!(info(json!({"id": "models/gemini-pro"})).unwrap().id, "gemini-pro");
        assert_eq!(info(json!({"id": "e", "type": "embedding"})), None);
        assert_eq!(info(json!({})), None);
    }
}
