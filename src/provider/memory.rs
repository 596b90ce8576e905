//! What servers refused, by format, address and model: a provider is made anew for every request, and a refusal that was
//! learnt once need not be met again. The engine keeps it beyond this run; what it means is the adapters' business.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::ir::KnownRefusal;

/// Most models that are remembered.
const REMEMBERED: usize = 1_024;

/// What was learnt of each model at each address.
#[derive(Debug, Default)]
pub struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: HashMap<Subject, String>,
    /// Learnt since it was last asked for.
    unsaved: Vec<KnownRefusal>,
}

/// Of whom something was learnt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) format: &'static str,
    pub(super) address: String,
    /// Empty for all of the server.
    pub(super) model: String,
}

/// The one memory of this process.
static MEMORY: LazyLock<Memory> = LazyLock::new(Memory::default);

/// What servers refused, as far as this process knows.
pub fn memory() -> &'static Memory {
    &MEMORY
}

impl Memory {
    /// What is known; nothing, where nothing is.
    pub(super) async fn of<T: DeserializeOwned + Default>(&self, subject: &Subject) -> T {
        let state = self.0.lock().await;
        state.known.get(subject).and_then(|learnt| serde_json::from_str(learnt).ok()).unwrap_or_default()
    }

    /// Keeps what was learnt.
    pub(super) async fn keep<T: Serialize>(&self, subject: Subject, learnt: &T) {
        let Ok(learnt) = serde_json::to_string(learnt) else { return };
        let mut state = self.0.lock().await;
        if state.known.get(&subject) == Some(&learnt) {
            return;
        }
        if state.known.len() >= REMEMBERED || state.unsaved.len() >= REMEMBERED {
            *state = State::default();
        }
        let Subject { format, address, model } = subject.clone();
        state.unsaved.push(KnownRefusal { format: format.to_owned(), address, model, learnt: learnt.clone() });
        state.known.insert(subject, learnt);
    }

    /// What was learnt since this was last asked.
    pub async fn take_unsaved(&self) -> Vec<KnownRefusal> {
        std::mem::take(&mut self.0.lock().await.unsaved)
    }

    /// Takes in what an earlier run learnt; what this one learnt goes before it.
    pub async fn restore(&self, refusals: Vec<KnownRefusal>) {
        let mut state = self.0.lock().await;
        for KnownRefusal { format, address, model, learnt } in refusals {
            if let Some(format) = FORMATS.iter().copied().find(|known| *known == format) {
                state.known.entry(Subject { format, address, model }).or_insert(learnt);
            }
        }
    }

    /// Forgets everything of the servers of an origin: they may have learnt something too.
    pub async fn forget(&self, origin: &str) {
        let mut state = self.0.lock().await;
        state.known.retain(|subject, _| !subject.address.starts_with(origin));
        state.unsaved.retain(|refusal| !refusal.address.starts_with(origin));
    }
}

/// The formats that learn.
pub(super) const OPENAI: &str = "openai";
pub(super) const ANTHROPIC: &str = "anthropic";
const FORMATS: [&str; 2] = [OPENAI, ANTHROPIC];

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(address: &str, model: &str) -> Subject {
        Subject { format: OPENAI, address: address.into(), model: model.into() }
    }

    #[tokio::test]
    async fn what_was_learnt_belongs_to_its_address_and_model_and_survives_a_restart() {
        let memory = Memory::default();
        memory.keep(subject("http://a/", "one"), &1).await;
        memory.keep(subject("http://a/", "one"), &1).await;
        let later = Memory::default();
        later.restore(memory.take_unsaved().await).await;
        assert_eq!(memory.take_unsaved().await, []);
        for memory in [memory, later] {
            let other_format = Subject { format: ANTHROPIC, ..subject("http://a/", "one") };
            let known: [i32; 4] = [
                memory.of(&subject("http://a/", "one")).await,
                memory.of(&subject("http://a/", "two")).await,
                memory.of(&subject("http://b/", "one")).await,
                memory.of(&other_format).await,
            ];
            assert_eq!(known, [1, 0, 0, 0]);
            memory.forget("http://a").await;
            assert_eq!(memory.of::<i32>(&subject("http://a/", "one")).await, 0);
        }
    }
}
