//! What an Ollama server has: its version, its models, and what each of them can do.

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::wire::{Loaded, Show, ShowRequest, TagModel, Tags, Version};
use super::{Ollama, fault};
use crate::ir::{Error, ErrorCode, ModelInfo, Support};
use crate::provider::http::TimeLimits;

/// Models whose details are asked for at the same time.
const ASKED_AT_ONCE: usize = 8;
/// What Ollama sets up on a small machine when nobody says how much.
const SMALLEST_WINDOW: u64 = 4096;

impl Ollama {
    /// Its version, for the person.
    pub(super) async fn version(&self) -> Result<String, Error> {
        let reply = self.http.get("api/version", TimeLimits::QUICK).await.map_err(fault::unreachable)?;
        let version: Version = self.json(reply, "").await?;
        Ok(format!("Ollama {}", version.version))
    }

    /// The models that can chat. Servers that do not list capabilities are asked about each model.
    pub(super) async fn models(&self) -> Result<Vec<ModelInfo>, Error> {
        let reply = self.http.get("api/tags", TimeLimits::QUICK).await.map_err(fault::unreachable)?;
        let tags: Tags = self.json(reply, "").await?;
        let Some(models) = tags.models else {
            return Err(fault::not_ollama("there is no list of models in its answer"));
        };
        let described = stream::iter(models).map(|model| self.described(model)).buffered(ASKED_AT_ONCE);
        Ok(described.filter_map(|model| async { model }).collect().await)
    }

    async fn described(&self, tag: TagModel) -> Option<ModelInfo> {
        let is_remote = tag.is_remote();
        let name = tag.name.or(tag.model)?;
        let details = tag.details.unwrap_or_default();
        let mut facts = Facts {
            capabilities: tag.capabilities.unwrap_or_default().0,
            trained_window: details.context_length.unwrap_or_default(),
            is_remote,
            size: details.parameter_size,
            ..Facts::default()
        };
        if (facts.capabilities.is_empty() || facts.trained_window == 0)
            && let Ok(shown) = self.show(&name).await
        {
            let size = facts.size.take();
            facts = Facts::of(shown);
            facts.size = facts.size.or(size);
            facts.is_remote |= is_remote;
        }
        // An embedding model is no partner for a chat.
        let can_chat = facts.capabilities.is_empty() || facts.can("completion") == Support::Yes;
        can_chat.then(|| facts.info(&self.id, &name, self.num_ctx, None))
    }

    /// One model.
    pub(super) async fn model(&self, model: &str) -> Result<ModelInfo, Error> {
        let (shown, loaded, listed) =
            tokio::join!(self.show(model), self.loaded_window(model), self.is_listed_as_remote(model));
        let mut facts = Facts::of(shown?);
        facts.is_remote |= listed == Some(true);
        let info = facts.info(&self.id, model, self.num_ctx, loaded);
        // What its list does not have it may fetch from anywhere.
        Ok(ModelInfo { is_elsewhere: info.is_elsewhere || listed.is_none(), ..info })
    }

    /// Whether the server's list says that a model runs elsewhere; `None` where it says nothing of the model.
    async fn is_listed_as_remote(&self, model: &str) -> Option<bool> {
        let reply = self.http.get("api/tags", TimeLimits::QUICK).await.ok()?;
        let tags: Tags = self.json(reply, model).await.ok()?;
        let wanted = with_tag(model);
        let is_this =
            |name: &Option<String>| name.as_deref().is_some_and(|name| with_tag(name).eq_ignore_ascii_case(&wanted));
        let listed: Vec<TagModel> =
            tags.models?.0.into_iter().filter(|tag| is_this(&tag.name) || is_this(&tag.model)).collect();
        (!listed.is_empty()).then(|| listed.iter().any(TagModel::is_remote))
    }

    async fn show(&self, model: &str) -> Result<Show, Error> {
        let body = serde_json::to_vec(&ShowRequest { model })
            .map_err(|error| Error::new(ErrorCode::Unknown, error.to_string()))?;
        let reply = self.http.post_json("api/show", body, TimeLimits::QUICK).await.map_err(fault::unreachable)?;
        self.json(reply, model).await
    }

    /// The window that is really set up, when the model is loaded.
    async fn loaded_window(&self, model: &str) -> Option<u64> {
        let reply = self.http.get("api/ps", TimeLimits::QUICK).await.ok()?;
        let loaded: Loaded = self.json(reply, model).await.ok()?;
        let wanted = with_tag(model);
        let is_this = |name: &Option<String>| name.as_deref().is_some_and(|name| with_tag(name) == wanted);
        loaded
            .models?
            .into_iter()
            .find(|loaded| is_this(&loaded.name) || is_this(&loaded.model))
            .and_then(|loaded| loaded.context_length)
            .filter(|tokens| *tokens > 0)
    }
}

impl TagModel {
    fn is_remote(&self) -> bool {
        self.remote_model.is_some() || self.remote_host.is_some()
    }
}

/// `qwen3`, `qwen3:latest` and `library/qwen3` are the same model.
fn with_tag(model: &str) -> String {
    let model = model.strip_prefix("registry.ollama.ai/").unwrap_or(model);
    let model = model.strip_prefix("library/").unwrap_or(model);
    let name = model.rsplit('/').next().unwrap_or(model);
    if name.contains(':') { model.to_owned() } else { format!("{model}:latest") }
}

/// What the server says of a model.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    capabilities: Vec<String>,
    /// 0 when it does not say.
    trained_window: u64,
    /// `num_ctx` of its Modelfile.
    own_window: Option<u64>,
    is_remote: bool,
    size: Option<String>,
}

impl Facts {
    fn of(shown: Show) -> Self {
        let info = shown.model_info.unwrap_or_default();
        let details = shown.details.unwrap_or_default();
        let by_architecture = info
            .get("general.architecture")
            .and_then(Value::as_str)
            .and_then(|architecture| info.get(&format!("{architecture}.context_length")));
        let trained = by_architecture
            .or_else(|| info.iter().find(|(key, _)| key.ends_with(".context_length")).map(|(_, value)| value))
            .and_then(Value::as_u64);
        Self {
            capabilities: shown.capabilities.unwrap_or_default().0,
            trained_window: trained.or(details.context_length).unwrap_or_default(),
            own_window: shown.parameters.as_deref().and_then(num_ctx_of),
            is_remote: shown.remote_model.is_some() || shown.remote_host.is_some(),
            size: details.parameter_size,
        }
    }

    /// An old server that lists nothing says nothing, which is not a no.
    fn can(&self, capability: &str) -> Support {
        if self.capabilities.is_empty() {
            Support::Unknown
        } else if self.capabilities.iter().any(|has| has == capability) {
            Support::Yes
        } else {
            Support::No
        }
    }

    /// The window in use: what we ask for, else what is loaded, else the model's own, else the smallest default; never
    /// more than it was trained for.
    fn window(&self, asked: u32, loaded: Option<u64>) -> u64 {
        if self.is_remote && self.trained_window > 0 {
            return self.trained_window;
        }
        let window = if asked > 0 { asked.into() } else { loaded.or(self.own_window).unwrap_or(SMALLEST_WINDOW) };
        if self.trained_window > 0 { window.min(self.trained_window) } else { window }
    }

    fn info(&self, provider: &str, model: &str, asked: u32, loaded: Option<u64>) -> ModelInfo {
        let size = self.size.as_deref().filter(|size| !size.is_empty());
        ModelInfo {
            id: model.to_owned(),
            provider_id: provider.to_owned(),
            display_name: size.map_or_else(|| model.to_owned(), |size| format!("{model} ({size})")),
            context_window: self.window(asked, loaded),
            max_output: 0,
            supports_streaming: true,
            supports_thinking: self.can("thinking"),
            supports_images: self.can("vision"),
            supports_tool_calling: self.can("tools"),
            // Every model can be held to a JSON schema.
            supports_structured_output: Support::Yes,
            is_elsewhere: self.is_remote,
            pricing: None,
        }
    }
}

/// `num_ctx` in the text of a model's parameters, one a line.
fn num_ctx_of(parameters: &str) -> Option<u64> {
    parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: Value) -> Facts {
        Facts::of(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn the_window_is_the_one_in_use_and_never_more_than_trained() {
        let facts = shown(json!({
            "model_info": {"general.architecture": "qwen3", "clip.context_length": 7, "qwen3.context_length": 40_960},
            "parameters": "stop \"x\"\nnum_ctx                        8192",
        }));
        assert_eq!(facts.window(24_576, Some(4_096)), 24_576);
        assert_eq!(facts.window(100_000, None), 40_960);
        assert_eq!(facts.window(0, Some(16_384)), 16_384);
        assert_eq!(facts.window(0, None), 8_192);
        assert_eq!(Facts::default().window(0, None), 4_096);
        let remote = shown(json!({"remote_model": "x", "model_info": {"a.context_length": 262_144}}));
        assert_eq!(remote.window(24_576, None), 262_144);
    }

    #[test]
    fn a_server_that_does_not_list_capabilities_has_not_said_no() {
        let old = shown(json!({"details": null, "model_info": null}));
        assert_eq!([old.can("tools"), old.can("vision")], [Support::Unknown; 2]);
        let new = shown(json!({"capabilities": ["completion", "tools"]}));
        assert_eq!(
            [new.can("tools"), new.can("vision"), new.can("thinking")],
            [Support::Yes, Support::No, Support::No]
        );
    }

    #[test]
    fn a_name_without_a_tag_is_its_latest() {
        assert_eq!(with_tag("qwen3"), "qwen3:latest");
        assert_eq!(with_tag("qwen3:8b"), "qwen3:8b");
        assert_eq!(with_tag("registry:5000/me/qwen3"), "registry:5000/me/qwen3:latest");
    }
}
