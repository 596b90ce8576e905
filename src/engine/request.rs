//! One request as it is sent: who answers, the history, the prompt, the tools.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::agent::{PromptParts, estimate_request, history_for_model, system_prompt};
use crate::ir::{
    AnswerMeta, Constraints, Error, ErrorCode, GenerationParams, MessageRecord, ModelInfo, Request, RequestId,
    RequestMeta, Session, Support, ToolDef,
};
use crate::port::{Event, Fallback, Settings, TurnOptions};

use super::fault::Fault;
use super::provider::{Place, origin_at};
use super::round::Answerer;
use super::shared::Shared;
use super::shield::{self, Outgoing};
use super::transcript::Transcript;

/// A server that says nothing of its model within this time is not waited for: unknown is not a no.
const INFO_WAIT: Duration = Duration::from_secs(3);

/// What is known of models, so that each is asked for once.
#[derive(Default)]
pub(super) struct KnownModels(Mutex<HashMap<(String, String, String), ModelInfo>>);

/// A request with those who may answer it.
pub(super) struct Prepared {
    pub(super) request: Outgoing,
    pub(super) answerer: Answerer,
    pub(super) fallback: Option<Answerer>,
}

/// Builds the request of a round. The inner error stands in the transcript, the outer one is the store's.
pub(super) async fn prepare(
    shared: &Shared,
    transcript: &Transcript,
    options: &TurnOptions,
    round: u32,
) -> Result<Result<Prepared, Error>, Fault> {
    let session = transcript.session().await?;
    let settings = shared.settings();
    let place = Place { base_url: options.base_url.as_deref(), api_key: options.api_key.as_ref() };
    let mut answerer = match answerer(shared, &session.provider, &session.model, place, &settings).await {
        Ok(answerer) => answerer,
        Err(error) => return Ok(Err(error)),
    };
    answerer.info = shared.models.info(&answerer).await;
    let mut branch = shared.store.branch(&session.id).await?;
    let language = shared.language();
    let mut fallback = fallback(shared, options, &settings).await;
    // What looks local is asked whether it is; what is elsewhere for certain hears nothing before it is needed.
    if let Some(fallback) = fallback.as_mut().filter(|fallback| !fallback.provider.is_remote(&fallback.model)) {
        fallback.info = shared.models.info(fallback).await;
    }
    let answerers: Vec<&Answerer> = [Some(&answerer), fallback.as_ref()].into_iter().flatten().collect();
    keep_to_its_place(&mut branch, &answerers);
    let elsewhere: Vec<&Answerer> = answerers.into_iter().filter(|answerer| answerer.is_elsewhere()).collect();
    let masked = if elsewhere.is_empty() {
        None
    } else {
        let branch = shield::masked(shared, &session.id, branch.clone(), &elsewhere).await?;
        Some(history_for_model(&branch, language, shared.now()))
    };
    let branch: Vec<_> = branch.into_iter().map(|record| (record.message, record.status)).collect();
    let messages = history_for_model(&branch, language, shared.now());
    let tools = enabled_tools(shared, &settings, options);
    let can_call = answerer.info.as_ref().is_none_or(|info| info.supports_tool_calling != Support::No);
    let names: Vec<String> = tools.iter().filter(|_| can_call).map(|tool| tool.name.clone()).collect();
    let models = &settings.models;
    let general_prompt = if models.uses_system_prompt { models.system_prompt.as_str() } else { "" };
    let own_prompt = session.system_prompt.as_deref().unwrap_or(general_prompt);
    let request = Request {
        meta: RequestMeta {
            session_id: session.id.clone(),
            iteration: round,
            request_id: RequestId::new(""),
            timestamp: shared.now(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        system_prompt: system_prompt(&PromptParts { language, folders: &session.folders, tools: &names, own_prompt }),
        messages,
        tools: (!tools.is_empty()).then_some(tools),
        params: params(&session, &settings, options),
        constraints: Some(Constraints { allowed_tools: options.tools.clone(), ..Constraints::default() }),
    };
    let request = Outgoing::new(request, masked, transcript.traffic().await);
    let measured = match request.to(&answerer) {
        Ok(request) => estimate_request(&request),
        Err(error) => return Ok(Err(error)),
    };
    let measured = Event::ContextMeasured {
        session: session.id.clone(),
        estimated_tokens: measured,
        context_window: answerer.info.as_ref().map_or(0, |info| info.context_window),
    };
    shared.publish(measured).await;
    Ok(Ok(Prepared { request, answerer, fallback }))
}

/// What a server wants back as it came goes back there alone: to another address it would bring along, unread and unmasked,
/// what was said to the first. An adapter tells its own by the provider's name, so all of that name must be there.
fn keep_to_its_place(branch: &mut [MessageRecord], answerers: &[&Answerer]) {
    for record in branch {
        let is_known = |answer: &AnswerMeta| {
            let mut named = answerers.iter().filter(|answerer| answerer.provider.provider_id() == answer.provider);
            named.all(|answerer| answerer.has_given(answer))
        };
        if let Some(state) = &mut record.message.provider_state
            && !record.answer.as_ref().is_some_and(is_known)
        {
            // Nothing is not the same: without any state a model could take the thoughts for its own.
            *state = serde_json::Value::Null;
        }
    }
}

/// The tools that a model may be told of.
fn enabled_tools(shared: &Shared, settings: &Settings, options: &TurnOptions) -> Vec<ToolDef> {
    let definitions = shared.tools.iter().map(|tool| tool.definition());
    definitions.filter(|def| is_enabled(&def.name, settings, options)).collect()
}

/// Whether a tool may be called: by the settings, and by what the turn adds and leaves out.
pub(super) fn is_enabled(tool: &str, settings: &Settings, options: &TurnOptions) -> bool {
    let is_named = |names: &[String]| names.iter().any(|name| name == tool);
    let is_wanted = options.tools.as_deref().is_none_or(is_named);
    let is_off = !settings.tools.enabled || is_named(&settings.tools.disabled);
    is_wanted && (!is_off || is_named(&options.enabled_tools))
}

async fn answerer(
    shared: &Shared,
    provider: &str,
    model: &str,
    place: Place<'_>,
    settings: &Settings,
) -> Result<Answerer, Error> {
    let provider = shared.providers.provider(provider, place, settings).await?;
    if model.is_empty() {
        return Err(Error::new(ErrorCode::ModelNotFound, "No model is chosen for this chat. Choose one first."));
    }
    let base_url = place.base_url.unwrap_or_default().to_owned();
    let origin = origin_at(provider.provider_id(), place, settings).unwrap_or_default();
    Ok(Answerer { provider, model: model.to_owned(), base_url, origin, info: None })
}

async fn fallback(shared: &Shared, options: &TurnOptions, settings: &Settings) -> Option<Answerer> {
    let from_settings = || {
        let provider = settings.models.fallback_provider.clone();
        let model = settings.models.fallback_model.clone();
        (!provider.is_empty()).then_some(Fallback { provider, model, base_url: None })
    };
    let chosen = options.fallback.clone().or_else(from_settings)?;
    let place = Place { base_url: chosen.base_url.as_deref(), api_key: None };
    match answerer(shared, &chosen.provider, &chosen.model, place, settings).await {
        Ok(answerer) => Some(answerer),
        Err(error) => {
            tracing::warn!(%error, "the fallback cannot be used");
            None
        }
    }
}

fn params(session: &Session, settings: &Settings, options: &TurnOptions) -> GenerationParams {
    GenerationParams {
        temperature: Some(settings.models.temperature),
        stream: Some(!options.is_unstreamed),
        thinking_enabled: session.thinking.enabled(),
        thinking_effort: session.thinking.effort(),
        ..GenerationParams::default()
    }
}

impl KnownModels {
    /// What the provider says of the model; `None` when it does not say.
    pub(super) async fn info(&self, answerer: &Answerer) -> Option<ModelInfo> {
        let provider = answerer.provider.provider_id().to_owned();
        let key = (provider, answerer.base_url.clone(), answerer.model.clone());
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(known.clone());
        }
        let info = tokio::time::timeout(INFO_WAIT, answerer.provider.model_info(&answerer.model)).await.ok()?.ok()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, info.clone());
        Some(info)
    }

    /// What a server said of a model's window when a request was too long for it.
    pub(super) fn learn_window(&self, provider: &str, model: &str, tokens: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = known.iter_mut().filter(|((by, _, name), _)| by == provider && name == model);
        of_this.for_each(|(_, info)| info.context_window = tokens);
    }

    /// Forgets everything: a server may know its models differently now.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
