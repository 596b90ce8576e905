//! Lists of models and downloads, beside everything else.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::ir::{Error, ErrorCode, ModelInfo};
use crate::port::{Event, ModelsState};
use crate::provider::PullProgress;
use crate::provider::http::on_behalf_of;

use super::network::SessionTraffic;
use super::provider::{Place, price_of};
use super::shared::Shared;

/// Bytes of a model's name, and models of one provider.
const LONGEST_NAME: usize = 256;
const MOST_MODELS: usize = 5_000;

/// Asks one provider, or all, for their models.
pub(super) fn refresh(shared: &Arc<Shared>, provider: Option<String>) {
    for id in asked(shared, provider) {
        let shared = Arc::clone(shared);
        shared.clone().errands.spawn(async move { list(&shared, id).await });
    }
}

/// The same on behalf of a session.
pub(super) fn refresh_for(shared: &Arc<Shared>, provider: Option<String>, traffic: &Arc<SessionTraffic>) {
    for id in asked(shared, provider) {
        let (shared, traffic) = (Arc::clone(shared), Arc::clone(traffic));
        shared.clone().errands.spawn(async move {
            on_behalf_of(traffic.clone(), list(&shared, id)).await;
            traffic.save().await;
        });
    }
}

/// Forgets what is known and gives the providers that are asked anew.
fn asked(shared: &Shared, provider: Option<String>) -> Vec<String> {
    shared.models.forget();
    provider.map_or_else(|| shared.providers.ids(&shared.settings()), |id| vec![id])
}

async fn list(shared: &Shared, id: String) {
    shared.publish(Event::ModelsChanged { provider: id.clone(), state: ModelsState::Loading }).await;
    let state = match shared.providers.provider(&id, Place::default(), &shared.settings()).await {
        Ok(provider) => provider.list_models().await.map_or_else(ModelsState::Failed, ModelsState::Ready),
        Err(error) => ModelsState::Failed(error),
    };
    let mut state = state;
    if let ModelsState::Ready(models) = &mut state {
        keep_nameable(models);
        for model in models.iter_mut().filter(|model| model.pricing.is_none()) {
            model.pricing = price_of(&shared.settings(), &id, &model.id);
        }
    }
    if let ModelsState::Ready(models) = &state
        && let Err(error) = shared.store.keep_provider_models(&id, models).await
    {
        tracing::warn!(%error, id, "the list of models is not kept");
    }
    shared.publish(Event::ModelsChanged { provider: id, state }).await;
}

/// Leaves out what no server means as a name, and what no person could look through.
fn keep_nameable(models: &mut Vec<ModelInfo>) {
    models.retain(|model| model.id.len() <= LONGEST_NAME && !model.id.chars().any(char::is_control));
    models.truncate(MOST_MODELS);
}

/// What a window begins with: the last lists of the providers that were set up, and fresh ones of those that have none yet
/// or are on this machine. Nobody's account is asked for the same list at every start.
pub(super) async fn begin(shared: &Arc<Shared>) {
    for id in shared.providers.ids(&shared.settings()) {
        match shared.store.provider_models(&id).await {
            Ok(Some(models)) => {
                shared.publish(Event::ModelsChanged { provider: id, state: ModelsState::Ready(models) }).await;
            }
            Ok(None) | Err(_) => refresh(shared, Some(id)),
        }
    }
}

/// Downloads under way, by provider and model.
#[derive(Default)]
pub(super) struct Pulls {
    running: HashMap<(String, String), CancellationToken>,
}

impl Pulls {
    /// Starts a download; one that runs goes on.
    pub(super) fn start(&mut self, shared: &Arc<Shared>, provider: String, model: String) {
        self.running.retain(|_, token| !token.is_cancelled());
        let key = (provider.clone(), model.clone());
        if self.running.contains_key(&key) {
            return;
        }
        let token = CancellationToken::new();
        self.running.insert(key, token.clone());
        let shared = Arc::clone(shared);
        shared.clone().errands.spawn(async move {
            let ended = tokio::select! {
                ended = pull(&shared, &provider, &model) => ended,
                () = token.cancelled() => {
                    Err(Error::new(ErrorCode::UserAborted, "The download was stopped. What is here is kept."))
                }
            };
            token.cancel();
            let is_done = ended.is_ok();
            let last = Event::PullProgressed {
                provider: provider.clone(),
                model,
                status: if is_done { "success".to_owned() } else { String::new() },
                completed_bytes: 0,
                total_bytes: 0,
                is_done,
                error: ended.err(),
            };
            shared.publish(last).await;
            if is_done {
                shared.models.forget();
                list(&shared, provider).await;
            }
        });
    }

    pub(super) fn stop(&mut self, provider: &str, model: &str) {
        if let Some(token) = self.running.remove(&(provider.to_owned(), model.to_owned())) {
            token.cancel();
        }
    }

    pub(super) fn stop_all(&mut self) {
        for (_, token) in self.running.drain() {
            token.cancel();
        }
    }
}

async fn pull(shared: &Shared, id: &str, model: &str) -> Result<(), Error> {
    let provider = shared.providers.provider(id, Place::default(), &shared.settings()).await?;
    let (sender, mut progress) = mpsc::channel(16);
    let report = async {
        while let Some(PullProgress { status, completed_bytes, total_bytes }) = progress.recv().await {
            let event = Event::PullProgressed {
                provider: id.to_owned(),
                model: model.to_owned(),
                status,
                completed_bytes,
                total_bytes,
                is_done: false,
                error: None,
            };
            shared.publish(event).await;
        }
    };
    let (ended, ()) = tokio::join!(provider.pull(model, sender), report);
    ended
}
