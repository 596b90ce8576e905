//! Providers that the person has set up, and the last list of each one's models. Keys are not kept here.

use rusqlite::{OptionalExtension as _, Row, named_params, params};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, KeyPlace, ModelInfo, ProviderRecord, Proxy};

use super::guarded::Guarded;
use super::row::{json, parse};
use super::{Store, StoreError, audit, guarded};

impl Store {
    /// Every provider that was set up, in the order in which that was done. A key for one run is not among what is known.
    pub async fn providers(&self) -> Result<Vec<ProviderRecord>, StoreError> {
        let (seal, reader) = (self.seal(), self.reader());
        self.look(move |transaction| {
            let is_ours = Guarded::Providers.is_trusted(transaction, &seal, reader)?;
            let mut statement = transaction.prepare(
                "SELECT id, preset, base_url, is_remote, proxy, ca_file, key_origin FROM provider ORDER BY row",
            )?;
            let mut rows = statement.query([])?;
            let mut records = Vec::new();
            while let Some(row) = rows.next()? {
                let record = read(row)?;
                // Whoever has written here may have made an address of elsewhere look like this machine.
                let is_remote = if is_ours { record.is_remote } else { Some(true) };
                records.push(ProviderRecord { is_remote, ..record });
            }
            Ok(records)
        })
        .await
    }

    /// Keeps a provider, in the place of an older one of this name. One that lies elsewhere now has other models.
    pub async fn put_provider(&self, record: &ProviderRecord) -> Result<(), StoreError> {
        let (record, seal, now) = (record.clone(), self.seal(), self.now());
        self.guard(move |transaction| {
            // What is masked, and what a closed padlock lets through, goes by this.
            let sql =
                "SELECT count(*) FROM provider WHERE id = ?1 AND preset = ?2 AND base_url = ?3 AND is_remote IS ?4";
            let same = params![record.id, record.preset, record.base_url, record.is_remote];
            let has_moved = transaction.query_row(sql, same, |row| row.get::<_, i64>(0))? == 0;
            let key_origin = match &record.key {
                KeyPlace::Keyring { origin } => Some(origin.as_str()),
                KeyPlace::Nowhere | KeyPlace::ThisRun { .. } | KeyPlace::Variable { .. } => None,
            };
            let values = named_params! {
                ":id": record.id,
                ":preset": record.preset,
                ":base_url": record.base_url,
                ":is_remote": record.is_remote,
                ":proxy": record.proxy.as_ref().map(Proxy::to_string),
                ":ca_file": record.ca_file,
                ":key_origin": key_origin,
            };
            let keep = || {
                let kept = transaction.execute(
                    "INSERT INTO provider (id, preset, base_url, is_remote, proxy, ca_file, key_origin)
                    VALUES (:id, :preset, :base_url, :is_remote, :proxy, :ca_file, :key_origin)
                    ON CONFLICT (id) DO UPDATE SET preset = :preset, base_url = :base_url, is_remote = :is_remote,
                        proxy = :proxy, ca_file = :ca_file, key_origin = :key_origin,
                        models = CASE WHEN preset = :preset AND base_url = :base_url THEN models END",
                    values,
                )?;
                Ok(kept)
            };
            guarded::change(transaction, &seal, Guarded::Providers, keep)?;
            if has_moved {
                let detail = format!("provider {}: its address, or whether it is elsewhere", record.id);
                let entry = AuditEntry::new(now, AuditAct::SettingChanged, AuditOrigin::Person);
                audit::append(transaction, &seal, &AuditEntry { detail, ..entry })?;
            }
            Ok(())
        })
        .await
    }

    /// Forgets a provider; none of this name is as good.
    pub async fn remove_provider(&self, id: &str) -> Result<(), StoreError> {
        let (id, seal) = (id.to_owned(), self.seal());
        self.guard(move |transaction| {
            let forget = || Ok(transaction.execute("DELETE FROM provider WHERE id = ?1", [id])?);
            guarded::change(transaction, &seal, Guarded::Providers, forget)?;
            Ok(())
        })
        .await
    }

    /// The last list of a provider's models; `None` when it was never asked, or is not one that was set up.
    pub async fn provider_models(&self, id: &str) -> Result<Option<Vec<ModelInfo>>, StoreError> {
        let id = id.to_owned();
        self.look(move |transaction| {
            let text: Option<Option<String>> = transaction
                .query_row("SELECT models FROM provider WHERE id = ?1", [id], |row| row.get(0))
                .optional()?;
            // A list in an older format is as good as none: it will be asked for again.
            Ok(text.flatten().and_then(|text| parse("provider", &text).ok()))
        })
        .await
    }

    /// Keeps the list of a provider's models, if it is one that was set up.
    pub async fn keep_provider_models(&self, id: &str, models: &[ModelInfo]) -> Result<(), StoreError> {
        let (id, models) = (id.to_owned(), json("provider", &models)?);
        self.pass(move |transaction| {
            transaction.execute("UPDATE provider SET models = ?2 WHERE id = ?1", [id, models])?;
            Ok(())
        })
        .await
    }
}

fn read(row: &Row<'_>) -> Result<ProviderRecord, StoreError> {
    let proxy: Option<String> = row.get("proxy")?;
    let key_origin: Option<String> = row.get("key_origin")?;
    Ok(ProviderRecord {
        id: row.get("id")?,
        preset: row.get("preset")?,
        base_url: row.get("base_url")?,
        is_remote: row.get("is_remote")?,
        // One that cannot be read falls back to the setting for all.
        proxy: proxy.and_then(|text| text.parse().ok()),
        ca_file: row.get("ca_file")?,
        key: key_origin.map_or(KeyPlace::Nowhere, |origin| KeyPlace::Keyring { origin }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::tests::store;

    fn record(id: &str, base_url: &str, key: KeyPlace) -> ProviderRecord {
        ProviderRecord {
            id: id.into(),
            preset: "openai-compatible".into(),
            base_url: base_url.into(),
            is_remote: Some(false),
            proxy: Some(Proxy::Direct),
            ca_file: Some("/projects/ca.pem".into()),
            key,
        }
    }

    #[tokio::test]
    async fn a_provider_is_kept_changed_and_forgotten_and_its_models_go_with_its_address() {
        let store = store();
        let keyring = KeyPlace::Keyring { origin: "https://a.example".into() };
        let work = record("work", "https://a.example/v1", keyring);
        let plain =
            ProviderRecord { is_remote: None, proxy: None, ca_file: None, ..record("lab", "", KeyPlace::Nowhere) };
        store.put_provider(&work).await.unwrap();
        store.put_provider(&plain).await.unwrap();
        assert_eq!(store.providers().await.unwrap(), [work.clone(), plain.clone()]);

        let model: ModelInfo = serde_json::from_value(json!({
            "id": "m", "providerId": "work", "displayName": "m", "contextWindow": 1, "maxOutput": 0,
            "supportsStreaming": true, "supportsThinking": "no", "supportsImages": "no", "supportsToolCalling": "yes",
            "supportsStructuredOutput": "unknown",
        }))
        .unwrap();
        assert_eq!(store.provider_models("work").await.unwrap(), None);
        store.keep_provider_models("work", std::slice::from_ref(&model)).await.unwrap();
        store.put_provider(&ProviderRecord { proxy: None, ..work.clone() }).await.unwrap();
        assert_eq!(store.provider_models("work").await.unwrap(), Some(vec![model]));
        let moved = ProviderRecord { base_url: "https://b.example".into(), ..work };
        store.put_provider(&moved).await.unwrap();
        assert_eq!(store.provider_models("work").await.unwrap(), None);

        store.remove_provider("work").await.unwrap();
        store.remove_provider("work").await.unwrap();
        assert_eq!(store.providers().await.unwrap(), [plain]);
    }

    #[tokio::test]
    async fn a_key_for_one_run_leaves_no_trace() {
        let store = store();
        let held = KeyPlace::ThisRun { origin: "https://a.example".into() };
        store.put_provider(&record("work", "", held)).await.unwrap();
        let from_variable = KeyPlace::Variable { name: "OPENAI_API_KEY".into() };
        store.put_provider(&record("other", "", from_variable)).await.unwrap();
        let kept: Vec<KeyPlace> = store.providers().await.unwrap().into_iter().map(|record| record.key).collect();
        assert_eq!(kept, [KeyPlace::Nowhere, KeyPlace::Nowhere]);
    }
}
