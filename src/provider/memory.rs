//! What servers refused, kept by address and model for as long as Nod runs: a provider is made anew for every request, and a
//! refusal that was learnt once need not be met again.

use std::collections::HashMap;

use tokio::sync::Mutex;

/// Most models that are remembered.
const REMEMBERED: usize = 256;

/// What was learnt of each model at each address.
#[derive(Debug, Default)]
pub(super) struct Memory<T>(Mutex<HashMap<(String, String), T>>);

impl<T: Copy + Default> Memory<T> {
    /// What is known of a model at an address.
    pub(super) async fn of(&self, address: &str, model: &str) -> T {
        self.0.lock().await.get(&(address.to_owned(), model.to_owned())).copied().unwrap_or_default()
    }

    /// Keeps what was learnt.
    pub(super) async fn keep(&self, address: &str, model: &str, learnt: T) {
        let mut known = self.0.lock().await;
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert((address.to_owned(), model.to_owned()), learnt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_learnt_belongs_to_its_address_and_model() {
        let memory = Memory::default();
        memory.keep("http://a/", "one", 1).await;
        let known = [
            memory.of("http://a/", "one").await,
            memory.of("http://a/", "two").await,
            memory.of("http://b/", "one").await,
        ];
        assert_eq!(known, [1, 0, 0]);
    }
}
