//! What was typed for conversations that live on a server: the server never hears of it before it is sent.

use rusqlite::params;

use crate::ir::SessionId;

use super::{Store, StoreError};

impl Store {
    /// Keeps what was typed for a conversation on a server; nothing typed is as good as never.
    pub async fn save_thread_draft(&self, id: &SessionId, text: &str) -> Result<(), StoreError> {
        let (id, text, now) = (id.clone(), text.to_owned(), self.now());
        self.guard(move |transaction| {
            if text.is_empty() {
                transaction.execute("DELETE FROM thread_draft WHERE session = ?1", [id.as_str()])?;
            } else {
                transaction.execute(
                    "INSERT INTO thread_draft (session, text, at) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (session) DO UPDATE SET text = ?2, at = ?3",
                    params![id.as_str(), text, now.0],
                )?;
            }
            Ok(())
        })
        .await
    }

    /// What was typed for the conversations of a server, the newest first. `url` is its address in normal form.
    pub async fn thread_drafts(&self, url: &str) -> Result<Vec<(SessionId, String)>, StoreError> {
        let url = url.to_owned();
        self.look(move |transaction| {
            let mut statement = transaction.prepare("SELECT session, text FROM thread_draft ORDER BY at DESC")?;
            let mut rows = statement.query([])?;
            let mut drafts = Vec::new();
            while let Some(row) = rows.next()? {
                let id = SessionId::new(row.get::<_, String>(0)?);
                if id.home().is_some_and(|(home, _)| home == url) {
                    drafts.push((id, row.get(1)?));
                }
            }
            Ok(drafts)
        })
        .await
    }
}
