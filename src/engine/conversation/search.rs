//! Search in conversations that live on servers: the titles that were listed, and what is loaded of those that somebody
//! has looked at. No server is asked for it: what a person looks for here stays here.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use crate::ir::{LinkState, Session, SessionId};
use crate::store::{Hit, Words};

use super::{Conversations, Open};

impl Conversations {
    /// Keeps a server's list for searches.
    pub(super) fn note_list(&self, url: &str, sessions: &[Session]) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.insert(url.to_owned(), sessions.to_vec());
    }

    /// What stands in this computer's sessions, with what stands in those of connected servers: titles first, at most `limit`
    /// places.
    pub(in crate::engine) async fn found_too(&self, query: &str, here: Vec<Hit>, limit: usize) -> Vec<Hit> {
        let Some(words) = Words::new(query) else { return here };
        let wanted = self.shared.links.views().into_iter().filter(|link| link.state != LinkState::Paused);
        let connected: BTreeSet<String> = wanted.map(|link| link.server.url).collect();
        let is_connected = |id: &SessionId| id.home().is_some_and(|(url, _)| connected.contains(url));
        let (mut hits, messages): (Vec<Hit>, Vec<Hit>) = here.into_iter().partition(|hit| hit.message.is_none());
        hits.extend(self.titles(&words).into_iter().filter(|hit| is_connected(&hit.session)));
        let open: Vec<Arc<Open>> = self.lock().values().cloned().collect();
        for open in open {
            let stage = open.stage.lock().await;
            let session = &stage.conversation.session;
            if hits.len() >= limit || !is_connected(&session.id) {
                continue;
            }
            // Newest first, as here.
            let messages = stage.conversation.messages().iter().rev();
            hits.extend(messages.filter_map(|record| {
                let snippet = words.snippet(&record.message.content)?;
                let (session, title) = (session.id.clone(), session.title.clone());
                let at = record.message.timestamp;
                Some(Hit { session, title, message: Some(record.id.clone()), snippet, at })
            }));
        }
        hits.extend(messages);
        hits.truncate(limit);
        hits
    }

    fn titles(&self, words: &Words) -> Vec<Hit> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = listed.values().flatten();
        let hits = sessions.filter_map(|session| {
            let snippet = words.snippet(&session.title)?;
            let (title, at) = (session.title.clone(), session.updated_at);
            Some(Hit { session: session.id.clone(), title, message: None, snippet, at })
        });
        hits.collect()
    }
}
