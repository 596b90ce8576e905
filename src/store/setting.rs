//! Settings: a key and its JSON value. What a key means, and its default, is not known here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::row::{json, parse};
use super::{Store, StoreError};

impl Store {
    /// Every setting that was changed. One that cannot be read is left out, so that its default holds.
    pub async fn settings(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        self.look(|transaction| {
            let mut statement = transaction.prepare("SELECT key, value FROM setting")?;
            let mut rows = statement.query([])?;
            let mut settings = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let key: String = row.get(0)?;
                match parse("setting", &row.get::<_, String>(1)?) {
                    Ok(value) => drop(settings.insert(key, value)),
                    Err(error) => tracing::warn!(key, %error, "a setting is left out"),
                }
            }
            Ok(settings)
        })
        .await
    }

    /// Changes one setting.
    pub async fn set_setting(&self, key: &str, value: &Value) -> Result<(), StoreError> {
        let (key, value) = (key.to_owned(), json("setting", value)?);
        self.guard(move |transaction| {
            transaction.execute("INSERT OR REPLACE INTO setting (key, value) VALUES (?1, ?2)", [key, value])?;
            Ok(())
        })
        .await
    }

    /// Forgets one setting, so that its default holds.
    pub async fn reset_setting(&self, key: &str) -> Result<(), StoreError> {
        let key = key.to_owned();
        self.guard(move |transaction| {
            transaction.execute("DELETE FROM setting WHERE key = ?1", [key])?;
            Ok(())
        })
        .await
    }
}
