//! Keys of the person's accounts and of Nod itself: kept in the system's keyring, or for this run alone.
//!
//! Never in a file, and never in anything that is printed: a [`SecretKey`] shows nothing of itself. The keyring may wait for a
//! person who types a password, so it has a thread of its own and a time limit. What a key is for is not known here.
#![expect(
    clippy::disallowed_types,
    reason = "keys for one run are shared between the tasks that use them, and nothing waits while they are locked"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// Under which name Nod's entries stand in the keyring.
const SERVICE: &str = "nod";
/// How long the keyring may take. A person may have to type its password meanwhile.
const PATIENCE: Duration = Duration::from_mins(1);
/// Requests to the keyring that may wait.
const WAITING: usize = 16;

/// A key. It can be sent and stored, and never shown: it has no `Display`, its `Debug` says nothing of it, and it is wiped
/// when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Zeroizing<String>);

impl SecretKey {
    /// The key in a text, without the space that copying brings along; `None` when nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The key itself: for the header that carries it, the keyring that stores it, and the filter that masks it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// Why a key could not be read or kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// No keyring answers here.
    #[error("no keyring answers on this system ({reason})")]
    Absent {
        /// The system's own words.
        reason: String,
    },
    /// It is locked and nobody opened it, or it hangs.
    #[error("the keyring did not answer within {} seconds; it may be locked", .0.as_secs())]
    TimedOut(Duration),
    /// It answered with a refusal.
    #[error("the keyring refused ({reason})")]
    Refused {
        /// The system's own words.
        reason: String,
    },
}

/// Where secrets are kept, by name.
pub trait Vault: Send + Sync {
    /// The secret of this name; `None` when there is none.
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SecretKey>, VaultError>>;

    /// Keeps a secret in the place of an older one of this name.
    fn write<'a>(&'a self, name: &'a str, secret: &'a SecretKey) -> BoxFuture<'a, Result<(), VaultError>>;

    /// Forgets a secret; none of this name is as good.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), VaultError>>;
}

/// The system's keyring: Secret Service, Keychain or Credential Manager.
#[derive(Default)]
pub struct Keyring {
    jobs: OnceLock<Result<SyncSender<Job>, String>>,
}

struct Job {
    act: Act,
    name: String,
    reply: oneshot::Sender<Result<Option<SecretKey>, VaultError>>,
}

enum Act {
    Read,
    Write(SecretKey),
    Remove,
}

impl Keyring {
    async fn ask(&self, act: Act, name: &str) -> Result<Option<SecretKey>, VaultError> {
        let absent = |reason: &str| VaultError::Absent { reason: reason.to_owned() };
        let jobs = self.jobs.get_or_init(start).as_ref().map_err(|reason| absent(reason))?;
        let (reply, answer) = oneshot::channel();
        // A full queue means that it hangs.
        jobs.try_send(Job { act, name: name.to_owned(), reply }).map_err(|_full| VaultError::TimedOut(PATIENCE))?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_gone)) => Err(absent("its thread ended")),
            Err(_late) => Err(VaultError::TimedOut(PATIENCE)),
        }
    }
}

/// The thread that talks to the keyring, which blocks.
fn start() -> Result<SyncSender<Job>, String> {
    let (jobs, taken) = sync_channel::<Job>(WAITING);
    let work = move || {
        while let Ok(Job { act, name, reply }) = taken.recv() {
            // Whoever asked may have given up.
            reply.send(carry_out(act, &name)).ok();
        }
    };
    std::thread::Builder::new().name("nod-keyring".into()).spawn(work).map_err(|error| error.to_string())?;
    Ok(jobs)
}

fn carry_out(act: Act, name: &str) -> Result<Option<SecretKey>, VaultError> {
    if let Err(error) = keyring::Entry::store_status() {
        return Err(VaultError::Absent { reason: error.to_string() });
    }
    let done = keyring::Entry::new(SERVICE, name).and_then(|entry| match act {
        Act::Read => entry.get_password().map(|text| SecretKey::new(&Zeroizing::new(text))),
        Act::Write(secret) => entry.set_password(secret.expose()).map(|()| None),
        Act::Remove => entry.delete_credential().map(|()| None),
    });
    match done {
        Err(keyring::Error::NoEntry) => Ok(None),
        // The error's text names what failed, never what was stored.
        Err(error) => Err(VaultError::Refused { reason: error.to_string() }),
        Ok(found) => Ok(found),
    }
}

impl Vault for Keyring {
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SecretKey>, VaultError>> {
        Box::pin(self.ask(Act::Read, name))
    }

    fn write<'a>(&'a self, name: &'a str, secret: &'a SecretKey) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move { self.ask(Act::Write(secret.clone()), name).await.map(drop) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move { self.ask(Act::Remove, name).await.map(drop) })
    }
}

/// Secrets in memory, gone with the process: what a system without a keyring can do, and tests.
#[derive(Default)]
pub struct MemoryVault(Mutex<BTreeMap<String, SecretKey>>);

impl MemoryVault {
    /// As [`Vault::read`], at once.
    pub fn get(&self, name: &str) -> Option<SecretKey> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// As [`Vault::write`], at once.
    pub fn put(&self, name: &str, secret: SecretKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), secret);
    }

    /// As [`Vault::remove`], at once.
    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

impl Vault for MemoryVault {
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SecretKey>, VaultError>> {
        Box::pin(async move { Ok(self.get(name)) })
    }

    fn write<'a>(&'a self, name: &'a str, secret: &'a SecretKey) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move {
            self.put(name, secret.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move {
            self.forget(name);
            Ok(())
        })
    }
}

/// Length of a key that Nod makes for itself, in bytes.
pub const OWN_KEY: usize = 32;

/// A random key of Nod's own, for example for codes over stored rules: the one of this name, made when there is none yet.
///
/// # Errors
/// When it can neither be read nor kept: a key that the next run does not know is worse than none.
pub async fn own_key(vault: &dyn Vault, name: &str) -> Result<Zeroizing<[u8; OWN_KEY]>, VaultError> {
    if let Some(known) = vault.read(name).await?.as_ref().and_then(parse_key) {
        return Ok(known);
    }
    let mut fresh = Zeroizing::new([0; OWN_KEY]);
    getrandom::fill(fresh.as_mut_slice()).map_err(|error| VaultError::Refused { reason: error.to_string() })?;
    vault.write(name, &SecretKey(Zeroizing::new(hex::encode(fresh.as_slice())))).await?;
    // Another process may have written one at the same moment: the one that stands there counts.
    let kept = vault.read(name).await?.as_ref().and_then(parse_key);
    kept.ok_or_else(|| VaultError::Refused { reason: "the key that was just kept is not there".into() })
}

fn parse_key(secret: &SecretKey) -> Option<Zeroizing<[u8; OWN_KEY]>> {
    let mut key = Zeroizing::new([0; OWN_KEY]);
    hex::decode_to_slice(secret.expose(), key.as_mut_slice()).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SecretKey {
        SecretKey::new(text).unwrap()
    }

    #[test]
    fn a_key_is_trimmed_and_never_shown() {
        let key = key(" sk-planted\n");
        assert_eq!(key.expose(), "sk-planted");
        assert_eq!(format!("{key:?} {:#?}", Some(&key)).matches("planted").count(), 0);
        assert_eq!(SecretKey::new(" \t"), None);
    }

    #[tokio::test]
    async fn memory_keeps_replaces_and_forgets_by_name() {
        let vault = MemoryVault::default();
        vault.write("a", &key("one")).await.unwrap();
        vault.write("a", &key("two")).await.unwrap();
        assert_eq!(vault.read("a").await, Ok(Some(key("two"))));
        assert_eq!(vault.read("b").await, Ok(None));
        vault.remove("a").await.unwrap();
        vault.remove("a").await.unwrap();
        assert_eq!(vault.read("a").await, Ok(None));
    }

    #[tokio::test]
    async fn an_own_key_is_made_once_and_differs_by_name() {
        let vault = MemoryVault::default();
        let first = own_key(&vault, "rules").await.unwrap();
        assert_eq!(own_key(&vault, "rules").await.unwrap(), first);
        assert_ne!(own_key(&vault, "other").await.unwrap(), first);
        vault.put("broken", key("not hex"));
        let mended = own_key(&vault, "broken").await.unwrap();
        assert_eq!(own_key(&vault, "broken").await.unwrap(), mended);
    }
}
