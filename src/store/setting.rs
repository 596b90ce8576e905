//! Settings: a key and its JSON value. What a key means, and its default, is not known here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ir::{AuditEntry, STRICT_SETTINGS, is_guarded_setting};

use super::guarded::Guarded;
use super::row::{json, parse};
use super::{Store, StoreError, audit, guarded};

impl Store {
    /// Every setting that was changed; null for one that cannot be read, and for those that carry a code which does not fit.
    pub async fn settings(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        let (seal, reader) = (self.seal(), self.reader());
        self.look(move |transaction| {
            let is_ours = Guarded::Settings.is_trusted(transaction, &seal, reader)?;
            let mut statement = transaction.prepare("SELECT key, value FROM setting")?;
            let mut rows = statement.query([])?;
            let mut settings = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let key: String = row.get(0)?;
                // What cannot be read is nothing: whoever checks it chooses what holds then.
                let value = parse("setting", &row.get::<_, String>(1)?).unwrap_or_else(|error| {
                    tracing::warn!(key, %error, "a setting cannot be read");
                    Value::Null
                });
                let is_null = !is_ours && is_guarded_setting(&key);
                settings.insert(key, if is_null { Value::Null } else { value });
            }
            for key in STRICT_SETTINGS.iter().filter(|_| !is_ours) {
                settings.entry((*key).to_owned()).or_insert(Value::Null);
            }
            Ok(settings)
        })
        .await
    }

    /// Changes one setting.
    pub async fn set_setting(&self, key: &str, value: &Value) -> Result<(), StoreError> {
        self.set_setting_audited(key, Some(value), None).await
    }

    /// Changes one setting (or forgets it, without a value) together with a line of the audit, for what decisions rest on.
    pub async fn set_setting_audited(
        &self,
        key: &str,
        value: Option<&Value>,
        entry: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let value = value.map(|value| json("setting", value)).transpose()?;
        let (key, seal) = (key.to_owned(), self.seal());
        self.guard(move |transaction| {
            guarded::change(transaction, &seal, Guarded::Settings, || {
                Ok(match value {
                    Some(value) => transaction
                        .execute("INSERT OR REPLACE INTO setting (key, value) VALUES (?1, ?2)", [key, value])?,
                    None => transaction.execute("DELETE FROM setting WHERE key = ?1", [key])?,
                })
            })?;
            entry.map_or(Ok(()), |entry| audit::append(transaction, &seal, &entry))
        })
        .await
    }

    /// Forgets one setting, so that its default holds.
    pub async fn reset_setting(&self, key: &str) -> Result<(), StoreError> {
        self.set_setting_audited(key, None, None).await
    }
}
