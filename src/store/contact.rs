//! The hosts that each session has reached.

use rusqlite::params;

use crate::ir::{Contact, SessionId, UnixMs};

use super::{Store, StoreError};

impl Store {
    /// The hosts of a session, the last one first.
    pub async fn contacts(&self, session: &SessionId) -> Result<Vec<Contact>, StoreError> {
        let session = session.clone();
        self.look(move |transaction| {
            let mut statement = transaction.prepare(
                "SELECT host, requests, refused, sent_bytes, received_bytes, last_at FROM contact
                    WHERE session = ?1 ORDER BY last_at DESC, host",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let count = |value: i64| u64::try_from(value).unwrap_or(0);
            let mut contacts = Vec::new();
            while let Some(row) = rows.next()? {
                contacts.push(Contact {
                    host: row.get(0)?,
                    requests: count(row.get(1)?),
                    refused: count(row.get(2)?),
                    sent_bytes: count(row.get(3)?),
                    received_bytes: count(row.get(4)?),
                    last_at: UnixMs(row.get(5)?),
                });
            }
            Ok(contacts)
        })
        .await
    }

    /// Adds what came to pass to the hosts of a session.
    pub async fn add_contacts(&self, session: &SessionId, more: Vec<Contact>) -> Result<(), StoreError> {
        let session = session.clone();
        self.guard(move |transaction| {
            let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            for contact in &more {
                transaction.execute(
                    "INSERT INTO contact (session, host, requests, refused, sent_bytes, received_bytes, last_at)
                        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                        ON CONFLICT DO UPDATE SET requests = requests + ?3, refused = refused + ?4,
                            sent_bytes = sent_bytes + ?5, received_bytes = received_bytes + ?6,
                            last_at = max(last_at, ?7)",
                    params![
                        session.as_str(),
                        contact.host,
                        count(contact.requests),
                        count(contact.refused),
                        count(contact.sent_bytes),
                        count(contact.received_bytes),
                        contact.last_at.0,
                    ],
                )?;
            }
            Ok(())
        })
        .await
    }
}
