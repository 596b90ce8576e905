//! Token-like values of a session, by their hashes, and which of them the person has sent as they are.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Transaction, params};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, SessionId};
use crate::policy::MaskedSecret;

use super::row::{variant, word};
use super::seal::SealKey;
use super::{Store, StoreError, audit};

/// What the code of a value that is sent as it is is for.
const SEAL: &str = "nod released 1";

impl Store {
    /// What was found in a session, by kind and number.
    pub async fn secrets(&self, session: &SessionId) -> Result<Vec<MaskedSecret>, StoreError> {
        let (session, seal) = (session.clone(), self.seal());
        self.look(move |transaction| {
            let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let mut statement = transaction.prepare("SELECT secret, place FROM secret_place WHERE session = ?1")?;
            let mut rows = statement.query([session.as_str()])?;
            while let Some(row) = rows.next()? {
                places.entry(row.get(0)?).or_default().insert(row.get(1)?);
            }
            let mut statement = transaction.prepare(
                "SELECT id, kind, number, tail, is_released, code FROM secret WHERE session = ?1 ORDER BY kind, number",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut secrets = Vec::new();
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                let (is_released, code): (bool, String) = (row.get(4)?, row.get(5)?);
                // What somebody else has written has nothing sent.
                let is_released = is_released && seal.fits(&[SEAL, session.as_str(), &id], &code);
                secrets.push(MaskedSecret {
                    places: places.remove(&id).unwrap_or_default(),
                    id,
                    kind: variant("secret", &row.get::<_, String>(1)?)?,
                    number: row.get(2)?,
                    tail: row.get(3)?,
                    is_released,
                });
            }
            Ok(secrets)
        })
        .await
    }

    /// Keeps what was found, and where. Whether a value is released stays as it is.
    pub async fn keep_secrets(&self, session: &SessionId, secrets: Vec<MaskedSecret>) -> Result<(), StoreError> {
        let session = session.clone();
        self.guard(move |transaction| {
            for secret in &secrets {
                transaction.execute(
                    "INSERT INTO secret (session, id, kind, number, tail, is_released) VALUES (?1, ?2, ?3, ?4, ?5, 0)
                        ON CONFLICT DO NOTHING",
                    params![session.as_str(), secret.id, word("secret", &secret.kind)?, secret.number, secret.tail],
                )?;
                for place in &secret.places {
                    transaction.execute(
                        "INSERT INTO secret_place (session, secret, place) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                        params![session.as_str(), secret.id, place],
                    )?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Has a value sent as it is from now on, or no longer.
    ///
    /// # Errors
    /// `Missing` when it was never found in the session.
    pub async fn release_secret(&self, session: &SessionId, id: &str, is_released: bool) -> Result<(), StoreError> {
        let (session, id, seal, now) = (session.clone(), id.to_owned(), self.seal(), self.now());
        self.guard(move |transaction| {
            let code = if is_released { seal.code(&[SEAL, session.as_str(), &id])? } else { String::new() };
            let changed = transaction.execute(
                "UPDATE secret SET is_released = ?3, code = ?4 WHERE session = ?1 AND id = ?2",
                params![session.as_str(), id, is_released, code],
            )?;
            if changed == 0 {
                return Err(StoreError::Missing { what: "secret", id });
            }
            // What the person lets go is on record: that they did, never the value nor its hash.
            let detail = if is_released { "sent as it is" } else { "masked again" };
            let entry = AuditEntry::new(now, AuditAct::SecretSent, AuditOrigin::Person);
            let entry = AuditEntry { session: Some(session), detail: detail.to_owned(), ..entry };
            audit::append(transaction, &seal, &entry)
        })
        .await
    }
}

/// Masks again what somebody else has had sent as it is; gives how many values.
pub(super) fn mask_unsealed(transaction: &Transaction<'_>, seal: &SealKey) -> Result<usize, StoreError> {
    let mut statement = transaction.prepare("SELECT session, id, code FROM secret WHERE is_released <> 0")?;
    let mut rows = statement.query([])?;
    let mut masked = 0;
    while let Some(row) = rows.next()? {
        let (session, id, code): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if !seal.fits(&[SEAL, &session, &id], &code) {
            let sql = "UPDATE secret SET is_released = 0, code = '' WHERE session = ?1 AND id = ?2";
            masked += transaction.execute(sql, [session, id])?;
        }
    }
    Ok(masked)
}
