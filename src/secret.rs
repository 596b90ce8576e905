//! Keys of the person's accounts and of Nod itself: kept in the system's keyring, or for this run alone.
//!
//! Never in a file, and never in anything that is printed: a [`Secret`] shows nothing of itself. The keyring may wait for a
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
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to the keyring that may wait.
const WAITING: usize = 16;

/// A text that is never shown: no `Display`, nothing in `Debug`, wiped when dropped.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text; what surrounds it (a line's end) is cut off.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    /// The text itself, for the one place that sends or stores it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
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
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, VaultError>>;

    /// Keeps a secret in the place of an older one of this name.
    fn write<'a>(&'a self, name: &'a str, secret: &'a Secret) -> BoxFuture<'a, Result<(), VaultError>>;

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
    reply: oneshot::Sender<Result<Option<Secret>, VaultError>>,
}

enum Act {
    Read,
    Write(Secret),
    Remove,
}

impl Keyring {
    async fn ask(&self, act: Act, name: &str) -> Result<Option<Secret>, VaultError> {
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

fn carry_out(act: Act, name: &str) -> Result<Option<Secret>, VaultError> {
    if let Err(error) = keyring::Entry::store_status() {
        return Err(VaultError::Absent { reason: error.to_string() });
    }
    let done = keyring::Entry::new(SERVICE, name).and_then(|entry| match act {
        Act::Read => entry.get_password().map(|text| Some(Secret::new(text))),
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
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, VaultError>> {
        Box::pin(self.ask(Act::Read, name))
    }

    fn write<'a>(&'a self, name: &'a str, secret: &'a Secret) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move { self.ask(Act::Write(secret.clone()), name).await.map(drop) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), VaultError>> {
        Box::pin(async move { self.ask(Act::Remove, name).await.map(drop) })
    }
}

/// Secrets in memory, gone with the process: what a system without a keyring can do, and tests.
#[derive(Default)]
pub struct MemoryVault(Mutex<BTreeMap<String, Secret>>);

impl MemoryVault {
    /// As [`Vault::read`], at once.
    pub fn get(&self, name: &str) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// As [`Vault::write`], at once.
    pub fn put(&self, name: &str, secret: Secret) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), secret);
    }

    /// As [`Vault::remove`], at once.
    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

impl Vault for MemoryVault {
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, VaultError>> {
        Box::pin(async move { Ok(self.get(name)) })
    }

    fn write<'a>(&'a self, name: &'a str, secret: &'a Secret) -> BoxFuture<'a, Result<(), VaultError>> {
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
    vault.write(name, &Secret::new(hex::encode(fresh.as_slice()))).await?;
    // Another process may have written one at the same moment: the one that stands there counts.
    let kept = vault.read(name).await?.as_ref().and_then(parse_key);
    kept.ok_or_else(|| VaultError::Refused { reason: "the key that was just kept is not there".into() })
}

fn parse_key(secret: &Secret) -> Option<Zeroizing<[u8; OWN_KEY]>> {
    let mut key = Zeroizing::new([0; OWN_KEY]);
    hex::decode_to_slice(secret.expose(), key.as_mut_slice()).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_nothing_of_itself() {
        let secret = Secret::new(" sk-planted\n");
        assert_eq!(secret.expose(), "sk-planted");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "Secret(…) Some(\n    Secret(…),\n)");
    }

    #[tokio::test]
    async fn memory_keeps_replaces_and_forgets_by_name() {
        let vault = MemoryVault::default();
        vault.write("a", &Secret::new("one")).await.unwrap();
        vault.write("a", &Secret::new("two")).await.unwrap();
        assert_eq!(vault.read("a").await, Ok(Some(Secret::new("two"))));
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
        vault.put("broken", Secret::new("not hex"));
        let mended = own_key(&vault, "broken").await.unwrap();
        assert_eq!(own_key(&vault, "broken").await.unwrap(), mended);
    }
}
