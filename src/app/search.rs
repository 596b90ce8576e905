//! Search over all sessions' text.

use crate::port::{Command, SearchHit};

use super::{AppState, Reaction};

/// The search field and what it found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    pub query: String,
    /// What the last answer found; of an older query while the new one runs.
    pub hits: Vec<SearchHit>,
    /// Whether an answer is awaited.
    pub is_searching: bool,
    number: u64,
}

impl Search {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn found(&mut self, number: u64, hits: Vec<SearchHit>) {
        if number == self.number {
            self.hits = hits;
            self.is_searching = false;
        }
    }
}

impl AppState {
    pub(super) fn change_search(&mut self, query: String) -> Reaction {
        if query.trim().is_empty() {
            self.search.clear();
            self.search.query = query;
            return Reaction::none();
        }
        let number = self.take_number();
        self.search.number = number;
        self.search.is_searching = true;
        self.search.query.clone_from(&query);
        Command::Search { query, number }.into()
    }
}
