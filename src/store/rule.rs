//! What the person has allowed or refused for a session: rules, and files whose sensitive name was lifted.

use std::path::{Path, PathBuf};

use rusqlite::{Row, named_params};

use crate::ir::{RuleId, SessionId, UnixMs};
use crate::policy::Rule;

use super::row::{json, parse, variant, word};
use super::{Store, StoreError};

impl Store {
    /// A session's rules, oldest first.
    ///
    /// # Errors
    /// `Format` when one cannot be read: it may be a refusal, so nothing is decided without it.
    pub async fn rules(&self, session: &SessionId) -> Result<Vec<Rule>, StoreError> {
        let session = session.clone();
        self.look(move |transaction| {
            let mut statement = transaction.prepare(
                "SELECT id, session, effect, scope, made_by, created_at, hits FROM rule WHERE session = ?1 ORDER BY row",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut rules = Vec::new();
            while let Some(row) = rows.next()? {
                rules.push(read(row)?);
            }
            Ok(rules)
        })
        .await
    }

    /// Keeps a new rule.
    ///
    /// # Errors
    /// `Conflict` when the id is taken.
    pub async fn insert_rule(&self, rule: &Rule) -> Result<(), StoreError> {
        let rule = rule.clone();
        self.guard(move |transaction| {
            let inserted = transaction.execute(
                "INSERT INTO rule (id, session, effect, scope, made_by, created_at, hits)
                    VALUES (:id, :session, :effect, :scope, :made_by, :created_at, :hits) ON CONFLICT (id) DO NOTHING",
                named_params! {
                    ":id": rule.id.as_str(),
                    ":session": rule.session.as_str(),
                    ":effect": word("rule", &rule.effect)?,
                    ":scope": json("rule", &rule.scope)?,
                    ":made_by": word("rule", &rule.made_by)?,
                    ":created_at": rule.created_at.0,
                    ":hits": i64::try_from(rule.hits).unwrap_or(i64::MAX),
                },
            )?;
            if inserted == 0 {
                return Err(StoreError::Conflict { what: "rule", id: rule.id.to_string() });
            }
            Ok(())
        })
        .await
    }

    /// Takes a rule back. One that is gone already stays gone.
    pub async fn revoke_rule(&self, id: &RuleId) -> Result<(), StoreError> {
        let id = id.clone();
        self.guard(move |transaction| {
            transaction.execute("DELETE FROM rule WHERE id = ?1", [id.as_str()])?;
            Ok(())
        })
        .await
    }

    /// Notes that a rule has decided one more call.
    pub async fn count_rule_hit(&self, id: &RuleId) -> Result<(), StoreError> {
        let id = id.clone();
        self.pass(move |transaction| {
            transaction.execute("UPDATE rule SET hits = hits + 1 WHERE id = ?1", [id.as_str()])?;
            Ok(())
        })
        .await
    }

    /// The files whose sensitive name was lifted in a session.
    pub async fn lifted(&self, session: &SessionId) -> Result<Vec<PathBuf>, StoreError> {
        let session = session.clone();
        self.look(move |transaction| {
            let mut statement = transaction.prepare("SELECT path FROM lifted WHERE session = ?1 ORDER BY path")?;
            let mut rows = statement.query([session.as_str()])?;
            let mut paths = Vec::new();
            while let Some(row) = rows.next()? {
                paths.push(parse("path", &row.get::<_, String>(0)?)?);
            }
            Ok(paths)
        })
        .await
    }

    /// Lifts the denial of a sensitive name for one file in one session.
    ///
    /// # Errors
    /// `Format` for a path that is not text.
    pub async fn lift(&self, session: &SessionId, path: &Path) -> Result<(), StoreError> {
        let (session, path) = (session.clone(), json("path", &path)?);
        self.guard(move |transaction| {
            transaction.execute("INSERT OR IGNORE INTO lifted (session, path) VALUES (?1, ?2)", [session.0, path])?;
            Ok(())
        })
        .await
    }
}

fn read(row: &Row<'_>) -> Result<Rule, StoreError> {
    Ok(Rule {
        id: RuleId(row.get(0)?),
        session: SessionId(row.get(1)?),
        effect: variant("rule", &row.get::<_, String>(2)?)?,
        scope: parse("rule", &row.get::<_, String>(3)?)?,
        made_by: variant("rule", &row.get::<_, String>(4)?)?,
        created_at: UnixMs(row.get(5)?),
        hits: row.get::<_, i64>(6)?.unsigned_abs(),
    })
}
