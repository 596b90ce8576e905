//! Several processes over NATS: one subject for questions, answered only by whoever holds the device, and one for news.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, Message};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::{Bus, BusError, Device, Listener, News, Question, Reply};

const QUESTIONS: &str = "nod.device";
const NEWS: &str = "nod.news";
/// A process that holds the device answers at once; longer silence means that none does.
const ANSWER_WAIT: Duration = Duration::from_millis(1500);
/// How long news may take to be put in line. There is room for two thousand while the bus is away.
const TELL_WAIT: Duration = Duration::from_millis(500);

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    /// Who sends, so that nobody hears himself.
    from: String,
    user: String,
    device_id: String,
    body: T,
}

pub(super) struct NatsBus {
    client: Client,
    name: String,
    _reader: AbortOnDropHandle<()>,
}

impl NatsBus {
    #[expect(clippy::disallowed_methods, reason = "the server spawns its own tasks; this one ends with the bus")]
    pub(super) async fn join(address: &str, listener: Arc<dyn Listener>) -> Result<Self, BusError> {
        // Set with every connection that is made; the first has nothing to tell again.
        let (is_back, mut back) = watch::channel(());
        let options = ConnectOptions::new().event_callback(move |event| {
            tracing::info!(%event, "the bus");
            if event == Event::Connected {
                is_back.send_replace(());
            }
            std::future::ready(())
        });
        let client = options.connect(address).await.map_err(unreachable)?;
        let mut questions = client.subscribe(QUESTIONS).await.map_err(unreachable)?;
        let mut news = client.subscribe(NEWS).await.map_err(unreachable)?;
        client.flush().await.map_err(unreachable)?;
        let name = uuid::Uuid::now_v7().to_string();
        let (answering, own) = (client.clone(), name.clone());
        let reader = tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(message) = questions.next() => answer(&answering, &own, listener.as_ref(), message).await,
                    Ok(()) = back.changed() => {
                        for news in listener.retell() {
                            tell_or_warn(&answering, &own, news).await;
                        }
                    }
                    Some(message) = news.next() => hear(&answering, &own, listener.as_ref(), &message).await,
                    else => return,
                }
            }
        });
        Ok(Self { client, name, _reader: AbortOnDropHandle::new(reader) })
    }
}

fn envelope<T: Serialize>(from: &str, device: &Device, body: T) -> Result<bytes::Bytes, BusError> {
    let envelope = Envelope { from: from.to_owned(), user: device.user.clone(), device_id: device.id.clone(), body };
    Ok(serde_json::to_vec(&envelope).map_err(unreachable)?.into())
}

/// Puts news in line. That is not flushed: nobody waits until the bus has it.
async fn tell(client: &Client, from: &str, news: News) -> Result<(), BusError> {
    let nobody = Device { user: String::new(), id: String::new() };
    let payload = envelope(from, &nobody, news)?;
    let told = tokio::time::timeout(TELL_WAIT, client.publish(NEWS, payload)).await;
    told.map_err(|_elapsed| unreachable("too much waits for it"))?.map_err(unreachable)
}

fn unreachable(error: impl std::fmt::Display) -> BusError {
    BusError::Unreachable { detail: error.to_string() }
}

async fn answer(client: &Client, own: &str, listener: &dyn Listener, message: Message) {
    let (Some(reply_to), Ok(envelope)) =
        (message.reply, serde_json::from_slice::<Envelope<Question>>(&message.payload))
    else {
        return;
    };
    if envelope.from == own {
        return;
    }
    let device = Device { user: envelope.user, id: envelope.device_id };
    let Some(reply) = listener.answer(&device, envelope.body) else { return };
    let sent = match serde_json::to_vec(&reply) {
        Ok(bytes) => client.publish(reply_to, bytes.into()).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = sent {
        tracing::warn!(error, "an answer did not go out over the bus");
    }
}

async fn hear(client: &Client, own: &str, listener: &dyn Listener, message: &Message) {
    let news = match serde_json::from_slice::<Envelope<News>>(&message.payload) {
        Ok(envelope) if envelope.from == own => return,
        Ok(envelope) => envelope.body,
        Err(error) => {
            tracing::warn!(%error, "news that cannot be read");
            return;
        }
    };
    if let Some(in_return) = listener.hear(news) {
        tell_or_warn(client, own, in_return).await;
    }
}

async fn tell_or_warn(client: &Client, own: &str, news: News) {
    if let Err(error) = tell(client, own, news).await {
        tracing::warn!(%error, "news did not go out over the bus");
    }
}

impl Bus for NatsBus {
    fn ask<'a>(&'a self, device: &'a Device, question: Question) -> BoxFuture<'a, Result<Option<Reply>, BusError>> {
        Box::pin(async move {
            let is_of_use_later = matches!(question, Question::Cancel { .. });
            if self.client.connection_state() != State::Connected && !is_of_use_later {
                return Err(unreachable("it is away at the moment"));
            }
            let payload = envelope(&self.name, device, question)?;
            // Every process hears the question and only the holder answers, so that silence is the answer "nowhere".
            let asked = self
                .client
                .send_request(QUESTIONS, async_nats::Request::new().payload(payload).timeout(Some(ANSWER_WAIT)));
            let Ok(answered) = tokio::time::timeout(2 * ANSWER_WAIT, asked).await else { return Ok(None) };
            match answered {
                Ok(message) => Ok(Some(serde_json::from_slice(&message.payload).map_err(unreachable)?)),
                Err(error)
                    if matches!(
                        error.kind(),
                        async_nats::RequestErrorKind::TimedOut | async_nats::RequestErrorKind::NoResponders
                    ) =>
                {
                    Ok(None)
                }
                Err(error) => Err(unreachable(error)),
            }
        })
    }

    fn tell(&self, news: News) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(tell(&self.client, &self.name, news))
    }
}
