//! Keys by provider and origin: in the system's keyring, or held for this run where there is none. A key is only ever
//! given out for the origin that it was entered for.

use std::sync::Arc;

use crate::ir::KeyPlace;
use crate::secret::{MemoryVault, SecretKey, Vault, VaultError};

/// The keys of one engine. Read once from the keyring, then held.
pub struct Keys {
    vault: Arc<dyn Vault>,
    held: MemoryVault,
}

impl Keys {
    /// Keys that are kept in this vault.
    pub fn new(vault: Arc<dyn Vault>) -> Self {
        Self { vault, held: MemoryVault::default() }
    }

    /// The vault itself, for keys of Nod's own.
    pub fn vault(&self) -> &dyn Vault {
        self.vault.as_ref()
    }

    /// The provider's key, if it was entered for this origin.
    pub(super) async fn find(
        &self,
        provider: &str,
        place: &KeyPlace,
        origin: &str,
    ) -> Result<Option<SecretKey>, VaultError> {
        if place.origin() != Some(origin) {
            return Ok(None);
        }
        let name = entry(provider, origin);
        if let Some(held) = self.held.get(&name) {
            return Ok(Some(held));
        }
        match place {
            KeyPlace::Keyring { .. } => {
                let found = self.vault.read(&name).await?;
                if let Some(key) = &found {
                    self.held.put(&name, key.clone());
                }
                Ok(found)
            }
            KeyPlace::Nowhere | KeyPlace::ThisRun { .. } | KeyPlace::Variable { .. } => Ok(None),
        }
    }

    /// Keeps a key for an origin: in the keyring, or for this run with the reason why.
    pub(super) async fn keep(&self, provider: &str, origin: &str, key: SecretKey) -> (KeyPlace, Option<VaultError>) {
        let name = entry(provider, origin);
        let kept = self.vault.write(&name, &key).await;
        self.held.put(&name, key);
        let origin = origin.to_owned();
        match kept {
            Ok(()) => (KeyPlace::Keyring { origin }, None),
            Err(problem) => {
                tracing::warn!(%problem, provider, "a key is kept for this run only");
                (KeyPlace::ThisRun { origin }, Some(problem))
            }
        }
    }

    /// Forgets the key in this place.
    pub(super) async fn forget(&self, provider: &str, place: &KeyPlace) -> Result<(), VaultError> {
        let Some(origin) = place.origin() else { return Ok(()) };
        let name = entry(provider, origin);
        self.held.forget(&name);
        match place {
            KeyPlace::Keyring { .. } => self.vault.remove(&name).await,
            KeyPlace::Nowhere | KeyPlace::ThisRun { .. } | KeyPlace::Variable { .. } => Ok(()),
        }
    }
}

/// The name of a key in the keyring. The origin is part of it: another origin is another key.
fn entry(provider: &str, origin: &str) -> String {
    format!("{provider} {origin}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SecretKey {
        SecretKey::new(text).unwrap()
    }

    #[tokio::test]
    async fn a_key_is_given_out_for_its_own_origin_alone() {
        let vault = Arc::new(MemoryVault::default());
        let keys = Keys::new(vault.clone());
        let (place, problem) = keys.keep("work", "https://a.example", key("sk-a")).await;
        assert_eq!((&place, problem), (&KeyPlace::Keyring { origin: "https://a.example".into() }, None));
        assert_eq!(keys.find("work", &place, "https://a.example").await, Ok(Some(key("sk-a"))));
        for elsewhere in ["http://a.example", "https://a.example:8443", "https://b.example", "https://a.example.evil"] {
            assert_eq!(keys.find("work", &place, elsewhere).await, Ok(None), "{elsewhere}");
        }
        assert_eq!(keys.find("other", &place, "https://a.example").await, Ok(None));
        // The next run reads it from the keyring.
        let next = Keys::new(vault);
        assert_eq!(next.find("work", &place, "https://a.example").await, Ok(Some(key("sk-a"))));
        next.forget("work", &place).await.unwrap();
        assert_eq!(next.find("work", &place, "https://a.example").await, Ok(None));
    }

    #[tokio::test]
    async fn without_a_keyring_a_key_is_held_for_this_run_and_the_reason_given() {
        struct None_;
        impl Vault for None_ {
            fn read<'a>(
                &'a self,
                _: &'a str,
            ) -> futures_util::future::BoxFuture<'a, Result<Option<SecretKey>, VaultError>> {
                Box::pin(async { Err(VaultError::Absent { reason: "no bus".into() }) })
            }
            fn write<'a>(
                &'a self,
                _: &'a str,
                _: &'a SecretKey,
            ) -> futures_util::future::BoxFuture<'a, Result<(), VaultError>> {
                Box::pin(async { Err(VaultError::Absent { reason: "no bus".into() }) })
            }
            fn remove<'a>(&'a self, _: &'a str) -> futures_util::future::BoxFuture<'a, Result<(), VaultError>> {
                Box::pin(async { Err(VaultError::Absent { reason: "no bus".into() }) })
            }
        }
        let keys = Keys::new(Arc::new(None_));
        let (place, problem) = keys.keep("work", "https://a.example", key("sk-a")).await;
        assert_eq!(place, KeyPlace::ThisRun { origin: "https://a.example".into() });
        assert_eq!(problem, Some(VaultError::Absent { reason: "no bus".into() }));
        assert_eq!(keys.find("work", &place, "https://a.example").await, Ok(Some(key("sk-a"))));
        assert_eq!(keys.find("work", &place, "https://b.example").await, Ok(None));
        keys.forget("work", &place).await.unwrap();
        assert_eq!(keys.find("work", &place, "https://a.example").await, Ok(None));
    }
}
