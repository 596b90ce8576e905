//! What the server offers: its models, and what each of them can do.

use serde_json::Value;

use super::model::known;
use super::wire::{CapabilitiesIn, ModelIn, ModelList};
use super::{Anthropic, fault};
use crate::ir::{Error, ErrorCode, ModelInfo, Support};
use crate::provider::http::TimeLimits;

/// Most pages of a list.
const PAGE_LIMIT: usize = 20;

impl Anthropic {
    /// A greeting, for the person.
    pub(super) async fn greeting(&self) -> Result<String, Error> {
        let models = self.page(None).await?.data.unwrap_or_default().0;
        let more = if models.len() == 1 { "" } else { "s" };
        Ok(format!("{} ({} model{more})", self.http.origin(), models.len()))
    }

    /// Every model.
    pub(super) async fn models(&self) -> Result<Vec<ModelInfo>, Error> {
        let mut models = Vec::new();
        let mut after = None;
        for _ in 0..PAGE_LIMIT {
            let page = self.page(after.as_deref()).await?;
            let found = page.data.unwrap_or_default().0;
            let is_empty = found.is_empty();
            models.extend(found.into_iter().filter_map(|model| self.info(model)));
            after = page.last_id;
            if is_empty || page.has_more != Some(true) || after.is_none() {
                break;
            }
        }
        Ok(models)
    }

    /// One model. Servers that cannot be asked about one are no worse for it.
    pub(super) async fn model(&self, model: &str) -> Result<ModelInfo, Error> {
        let mut path = String::from("v1/models/");
        path.extend(url::form_urlencoded::byte_serialize(model.as_bytes()));
        let asked = async {
            let reply = self.http.get(&path, TimeLimits::QUICK).await?;
            self.json::<ModelIn>(reply, model).await
        };
        let found = match asked.await {
            Ok(found) => Some(found).filter(|found| found.id.is_some()),
            Err(error) if matches!(error.code, ErrorCode::NetworkError | ErrorCode::NetworkTimeout) => {
                return Err(error);
            }
            Err(error) if matches!(error.code, ErrorCode::AuthInvalid | ErrorCode::AuthExpired) => return Err(error),
            Err(_) => None,
        };
        Ok(found.and_then(|found| self.info(found)).unwrap_or_else(|| self.info_by_name(model)))
    }

    async fn page(&self, after: Option<&str>) -> Result<ModelList, Error> {
        let mut path = String::from("v1/models?limit=1000");
        if let Some(after) = after {
            path.push_str("&after_id=");
            path.extend(url::form_urlencoded::byte_serialize(after.as_bytes()));
        }
        let reply = self.http.get(&path, TimeLimits::QUICK).await?;
        let list: ModelList = self.json(reply, "").await?;
        if list.data.is_none() {
            return Err(fault::not_anthropic("there is no list of models in its answer"));
        }
        Ok(list)
    }

    fn info(&self, model: ModelIn) -> Option<ModelInfo> {
        let id = model.id.filter(|id| !id.is_empty())?;
        let mut info = self.info_by_name(&id);
        if let Some(name) = model.display_name.filter(|name| !name.trim().is_empty()) {
            info.display_name = name;
        }
        if let Some(window) = model.max_input_tokens.filter(|tokens| *tokens > 0) {
            info.context_window = window;
        }
        if let Some(output) = model.max_tokens.filter(|tokens| *tokens > 0) {
            info.max_output = output;
        }
        let CapabilitiesIn { image_input, thinking, structured_outputs } = model.capabilities.unwrap_or_default();
        for (support, said) in [
            (&mut info.supports_images, image_input),
            (&mut info.supports_thinking, thinking),
            (&mut info.supports_structured_output, structured_outputs),
        ] {
            if let Some(said) = said.as_ref().and_then(support_of) {
                *support = said;
            }
        }
        Some(info)
    }

    fn info_by_name(&self, model: &str) -> ModelInfo {
        let known = known(model);
        ModelInfo {
            id: model.to_owned(),
            provider_id: self.id.clone(),
            display_name: model.to_owned(),
            context_window: known.context_window,
            max_output: known.max_output.into(),
            supports_streaming: true,
            supports_thinking: known.thinking,
            supports_images: known.images,
            supports_tool_calling: Support::Yes,
            supports_structured_output: Support::Unknown,
            is_elsewhere: false,
            pricing: None,
        }
    }
}

fn support_of(said: &Value) -> Option<Support> {
    let yes = said.as_bool().or_else(|| said.get("supported")?.as_bool())?;
    Some(if yes { Support::Yes } else { Support::No })
}
