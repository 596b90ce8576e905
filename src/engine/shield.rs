//! The secrets shield: what goes to a model on another machine goes with its secrets masked.
//!
//! Masked is what came from elsewhere: results of calls, attached files, and what a local model repeated of them. What the
//! person typed is sent as it stands. A result is masked whole and cut afterwards, so that no border leaves half a key.

use std::borrow::Cow;
use std::sync::Arc;

use crate::agent::{PromptLanguage, estimate_message, estimate_request, shorten};
use crate::ir::{Error, ErrorCode, Message, MessageRecord, MessageStatus, Request, Role};
use crate::policy::{MaskedSecret, Masker};
use crate::port::Event;

use super::ability;
use super::fault::Fault;
use super::gate;
use super::network::SessionTraffic;
use super::round::Answerer;
use super::shared::Shared;

/// A request as it may leave: one form for models on this machine, one for all others.
#[derive(Clone)]
pub(super) struct Outgoing {
    /// As it is.
    plain: Request,
    /// With secrets masked; there when somebody who may answer is elsewhere.
    masked: Option<Request>,
    /// The session's padlock as it is at each try, not as it was at the first.
    traffic: Arc<SessionTraffic>,
}

impl Outgoing {
    pub(super) fn new(plain: Request, masked: Option<Vec<Message>>, traffic: Arc<SessionTraffic>) -> Self {
        let masked = masked.map(|messages| Request { messages, ..plain.clone() });
        Self { plain, masked, traffic }
    }

    /// Whether somebody who may answer is on another machine.
    pub(super) fn is_for_elsewhere(&self) -> bool {
        self.masked.is_some()
    }

    /// The round that it belongs to.
    pub(super) fn iteration(&self) -> u32 {
        self.plain.meta.iteration
    }

    /// What this answerer is sent: nothing that it cannot take.
    ///
    /// # Errors
    /// When nothing may be sent to it, or when it cannot do what is asked.
    pub(super) fn to(&self, answerer: &Answerer) -> Result<Request, Error> {
        let mut request = self.form_for(answerer)?.clone();
        let suited = ability::suit(&mut request, answerer.info.as_ref(), &answerer.model);
        suited.map_err(|error| error.from_provider(answerer.provider.provider_id()))?;
        Ok(request)
    }

    fn form_for(&self, answerer: &Answerer) -> Result<&Request, Error> {
        if !answerer.is_elsewhere() {
            return Ok(&self.plain);
        }
        if self.traffic.is_local_only() {
            let words = "Nothing was sent: this chat may reach this machine only, and the model runs elsewhere. Open its \
                         padlock, or choose a local model.";
            let locked = Error { provider_code: Some("locked".into()), ..Error::new(ErrorCode::NetworkError, words) };
            return Err(locked.from_provider(answerer.provider.provider_id()));
        }
        self.masked.as_ref().ok_or_else(|| {
            Error::new(
                ErrorCode::Unknown,
                "Secrets could not be masked for this model, so nothing was sent. Try again.",
            )
        })
    }

    /// Makes what is sent fit into a window of so many tokens, or, where that is unknown, half as long. Gives how many
    /// messages are not sent any more; `None` when nothing can go.
    pub(super) fn shorten(&mut self, window: Option<u64>, language: PromptLanguage) -> Option<usize> {
        let whole = estimate_request(&self.plain);
        let messages: u64 = self.plain.messages.iter().map(estimate_message).sum();
        // Half of what fits: an estimate may be wrong by that much, and an answer needs room.
        let target = window.map_or(whole, |window| window.min(whole)) / 2;
        let budget = target.saturating_sub(whole - messages);
        let mut left_out = None;
        for request in [Some(&mut self.plain), self.masked.as_mut()].into_iter().flatten() {
            let Some(shortened) = shorten(&request.messages, budget, language, request.meta.timestamp) else {
                continue;
            };
            request.messages = shortened.messages;
            left_out = left_out.max(Some(shortened.left_out));
        }
        left_out
    }
}

/// A message of the branch with what masking must know of it.
struct Written {
    id: String,
    message: Message,
    status: MessageStatus,
    /// Whether the only one who may get it wrote it, elsewhere and at the address where it is now: it knows its own words.
    is_known_elsewhere: bool,
}

/// The messages of a branch with their secrets masked, for those who may answer elsewhere. What is found is kept and
/// reported,
/// so that cards can show it.
///
/// # Errors
/// When what is found cannot be kept: then nothing may be sent.
pub(super) async fn masked(
    shared: &Shared,
    session: &crate::ir::SessionId,
    branch: Vec<MessageRecord>,
    elsewhere: &[&Answerer],
) -> Result<Vec<(Message, MessageStatus)>, Fault> {
    let written: Vec<Written> = branch
        .into_iter()
        .map(|record| Written {
            id: record.id.0,
            message: record.message,
            status: record.status,
            is_known_elsewhere: match elsewhere {
                [only] => record.answer.is_some_and(|answer| only.has_given(&answer)),
                [] | [_, _, ..] => false,
            },
        })
        .collect();
    let known = shared.store.secrets(session).await?;
    let before = known.clone();
    let work = tokio::task::spawn_blocking(move || mask(known, written));
    let (messages, secrets) =
        work.await.map_err(|error| Fault::new("fault-turn-broken", format!("Secrets could not be masked: {error}")))?;
    if secrets != before {
        shared.store.keep_secrets(session, secrets).await?;
        show(shared, session).await?;
    }
    Ok(messages)
}

/// What a person says to a server, whose model is on another machine, with the secrets of attached files masked; gives how many
/// values that were.
///
/// # Errors
/// When they cannot be masked: then nothing may be sent.
pub(super) async fn said_to_server(text: String) -> Result<(String, usize), Fault> {
    const PLACE: &str = "said";
    let work = tokio::task::spawn_blocking(move || {
        let mut masker = Masker::default();
        let once = attachments(&text, |file| masker.text(PLACE, file).into_owned()).into_owned();
        let masked = attachments(&once, |file| masker.again(PLACE, file).into_owned()).into_owned();
        (masked, masker.secrets().len())
    });
    work.await.map_err(|error| Fault::new("fault-turn-broken", format!("Secrets could not be masked: {error}")))
}

/// Has one value sent as it is from now on, or no longer.
pub(super) async fn release(
    shared: &Shared,
    session: &crate::ir::SessionId,
    id: &str,
    is_released: bool,
) -> Result<(), Fault> {
    shared.store.release_secret(session, id, is_released).await?;
    show(shared, session).await
}

/// Reports what was found in a session.
pub(super) async fn show(shared: &Shared, session: &crate::ir::SessionId) -> Result<(), Fault> {
    let secrets = shared.store.secrets(session).await?;
    shared.publish(Event::SecretsChanged { session: session.clone(), secrets }).await;
    Ok(())
}

fn mask(known: Vec<MaskedSecret>, mut written: Vec<Written>) -> (Vec<(Message, MessageStatus)>, Vec<MaskedSecret>) {
    let mut masker = Masker::new(known);
    for Written { id, message, is_known_elsewhere, .. } in &mut written {
        match message.role {
            Role::Tool => result(&mut masker, message),
            Role::User => {
                if let Cow::Owned(masked) = attachments(&message.content, |text| masker.text(id, text).into_owned()) {
                    message.content = masked;
                }
            }
            Role::System => message.content = masker.text(id, &message.content).into_owned(),
            Role::Assistant => answer(&mut masker, id, message, *is_known_elsewhere),
        }
    }
    // A value may stand in the messages before the one that showed what it is.
    if masker.knows_values() {
        for Written { id, message, .. } in &mut written {
            again(&mut masker, id, message);
        }
    }
    (written.into_iter().map(|written| (written.message, written.status)).collect(), masker.secrets())
}

fn again(masker: &mut Masker, id: &str, message: &mut Message) {
    if let Some(result) = &mut message.tool_result {
        let place = result.tool_call_id.as_str().to_owned();
        result.result = masker.again_in(&place, &result.result);
        result.error = result.error.as_ref().map(|error| masker.again(&place, error).into_owned());
        result.summary = gate::for_model(&result.result);
    }
    let masked = match message.role {
        Role::User => attachments(&message.content, |text| masker.again(id, text).into_owned()),
        Role::System | Role::Assistant => masker.again(id, &message.content),
        Role::Tool => Cow::Borrowed(""),
    };
    if let Cow::Owned(masked) = masked {
        message.content = masked;
    }
    if let Some(reasoning) = &mut message.reasoning_content {
        *reasoning = masker.again(id, reasoning).into_owned();
    }
    for call in message.tool_calls.iter_mut().flatten() {
        call.args = masker.again_in(call.id.as_str(), &call.args);
        if let Some(raw) = &mut call.raw_args {
            *raw = masker.again(id, raw).into_owned();
        }
    }
}

fn result(masker: &mut Masker, message: &mut Message) {
    let Some(result) = &mut message.tool_result else { return };
    let place = result.tool_call_id.as_str().to_owned();
    result.result = masker.value(&place, &result.result);
    result.error = result.error.as_ref().map(|error| masker.text(&place, error).into_owned());
    result.summary = gate::for_model(&result.result);
}

fn answer(masker: &mut Masker, id: &str, message: &mut Message, is_known_elsewhere: bool) {
    let mut words = |text: &mut String| {
        let masked = if is_known_elsewhere { masker.known(text) } else { masker.text(id, text) };
        if let Cow::Owned(masked) = masked {
            *text = masked;
        }
    };
    words(&mut message.content);
    message.reasoning_content.iter_mut().for_each(&mut words);
    for call in message.tool_calls.iter_mut().flatten() {
        call.raw_args.iter_mut().for_each(&mut words);
    }
    for call in message.tool_calls.iter_mut().flatten() {
        call.args =
            if is_known_elsewhere { masker.known_in(&call.args) } else { masker.value(call.id.as_str(), &call.args) };
    }
}

/// The person's words stay; the files below them, each in a fence, are masked.
fn attachments(text: &str, mut mask: impl FnMut(&str) -> String) -> Cow<'_, str> {
    if !text.contains("```") {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut fenced = String::new();
    let mut fence: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        let is_bare = line.trim_end().len() == ticks;
        match fence {
            None => {
                if ticks >= 3 {
                    fence = Some(ticks);
                }
                masked.push_str(line);
            }
            Some(open) if is_bare && ticks >= open => {
                masked.push_str(&mask(&fenced));
                fenced.clear();
                masked.push_str(line);
                fence = None;
            }
            Some(_) => fenced.push_str(line),
        }
    }
    masked.push_str(&mask(&fenced));
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_files_are_masked_and_what_the_person_typed_is_not() {
        let key = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6");
        let text = format!("Is {key} mine?\n\na.env:\n````\n``` {key}\n````\n\nb:\n```\nx={key}");
        let mut masker = Masker::default();
        let mask = "«masked: API key #1»";
        let expected = format!("Is {key} mine?\n\na.env:\n````\n``` {mask}\n````\n\nb:\n```\nx={mask}");
        let mut mask = |text: &str| masker.text("msg", text).into_owned();
        assert_eq!(attachments(&text, &mut mask), expected);
        assert_eq!(attachments(&key, &mut mask), key);
    }
}
