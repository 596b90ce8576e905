//! Token-like values of a session, by their hashes, and which of them the person has sent as they are.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, SessionId};
use crate::policy::MaskedSecret;

use super::row::{variant, word};
use super::{Store, StoreError, audit};

impl Store {
    /// What was found in a session, by kind and number.
    pub async fn secrets(&self, session: &SessionId) -> Result<Vec<MaskedSecret>, StoreError> {
        let session = session.clone();
        self.look(move |transaction| {
            let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let mut statement = transaction.prepare("SELECT secret, place FROM secret_place WHERE session = ?1")?;
            let mut rows = statement.query([session.as_str()])?;
            while let Some(row) = rows.next()? {
                places.entry(row.get(0)?).or_default().insert(row.get(1)?);
            }
            let mut statement = transaction.prepare(
                "SELECT id, kind, number, tail, is_released FROM secret WHERE session = ?1 ORDER BY kind, number",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut secrets = Vec::new();
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                secrets.push(MaskedSecret {
                    places: places.remove(&id).unwrap_or_default(),
                    id,
                    kind: variant("secret", &row.get::<_, String>(1)?)?,
                    number: row.get(2)?,
                    tail: row.get(3)?,
                    is_released: row.get(4)?,
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
            let changed = transaction.execute(
                "UPDATE secret SET is_released = ?3 WHERE session = ?1 AND id = ?2",
                params![session.as_str(), id, is_released],
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
