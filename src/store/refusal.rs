//! What servers turned out not to take, so that a restart need not learn it again.

use rusqlite::params;

use crate::ir::{KnownRefusal, UnixMs};

use super::{Store, StoreError};

/// For so long it is believed: servers learn too.
const BELIEVED_MS: i64 = 30 * 24 * 60 * 60 * 1000;

impl Store {
    /// What is known and not too old to be believed.
    pub async fn refusals(&self) -> Result<Vec<KnownRefusal>, StoreError> {
        let oldest = self.now().0.saturating_sub(BELIEVED_MS);
        self.look(move |transaction| {
            let mut statement =
                transaction.prepare("SELECT format, address, model, learnt FROM refusal WHERE learnt_at > ?1")?;
            let mut rows = statement.query([oldest])?;
            let mut refusals = Vec::new();
            while let Some(row) = rows.next()? {
                let (format, address, model, learnt) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                refusals.push(KnownRefusal { format, address, model, learnt });
            }
            Ok(refusals)
        })
        .await
    }

    /// Keeps what was learnt, and drops what is too old.
    pub async fn keep_refusals(&self, refusals: Vec<KnownRefusal>) -> Result<(), StoreError> {
        let UnixMs(now) = self.now();
        self.pass(move |transaction| {
            transaction.execute("DELETE FROM refusal WHERE learnt_at <= ?1", [now.saturating_sub(BELIEVED_MS)])?;
            for KnownRefusal { format, address, model, learnt } in refusals {
                transaction.execute(
                    "INSERT OR REPLACE INTO refusal (format, address, model, learnt, learnt_at)
                        VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![format, address, model, learnt, now],
                )?;
            }
            Ok(())
        })
        .await
    }

    /// Forgets what the servers of an origin refused.
    pub async fn forget_refusals(&self, origin: &str) -> Result<(), StoreError> {
        let origin = origin.to_owned();
        self.pass(move |transaction| {
            transaction.execute("DELETE FROM refusal WHERE substr(address, 1, length(?1)) = ?1", [origin])?;
            Ok(())
        })
        .await
    }
}
