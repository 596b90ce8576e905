//! What the person has allowed or refused, for a session or for all: rules, and files whose sensitive name was lifted.
//!
//! Every rule has a code over all its columns. One whose code does not fit, that cannot be read, that was taken back, or
//! that is gone without having been taken back, was changed from outside: it is listed as such, allows nothing, and refuses
//! what it may have refused by the word of the audit.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, Row, Transaction, named_params, params};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, Decider, RuleId, SessionId, UnixMs};
use crate::policy::{BrokenRule, Meant, Rule, RuleEffect, RuleSet};

use super::audit::{RuleHistory, Whose};
use super::row::{json, parse, variant, word};
use super::seal::SealKey;
use super::{Store, StoreError, audit};

const COLUMNS: &str = "id, session, effect, scope, made_by, created_at, hits, code";
/// What a rule's code is for, and that of an opened file.
const SEAL: &str = "nod rule 1";
const LIFT_SEAL: &str = "nod lifted 1";

impl Store {
    /// The rules that hold in a session: its own, and those that hold in all; oldest first.
    pub async fn rules(&self, session: &SessionId) -> Result<RuleSet, StoreError> {
        let (session, seal) = (session.clone(), self.seal());
        self.look(move |transaction| Ok(examine(transaction, &seal, &Whose::Of(session))?.into_set())).await
    }

    /// The rules that hold in all sessions, oldest first.
    pub async fn standing_rules(&self) -> Result<RuleSet, StoreError> {
        let seal = self.seal();
        self.look(move |transaction| Ok(examine(transaction, &seal, &Whose::Everybodys)?.into_set())).await
    }

    /// Keeps a new rule, and in the audit that the person made it.
    ///
    /// # Errors
    /// `Conflict` when the id is taken.
    pub async fn insert_rule(&self, rule: &Rule) -> Result<(), StoreError> {
        let (rule, seal) = (rule.clone(), self.seal());
        self.guard(move |transaction| {
            let columns = Columns::of(&rule)?;
            let inserted = transaction.execute(
                "INSERT INTO rule (id, session, effect, scope, made_by, created_at, hits, code)
                    VALUES (:id, :session, :effect, :scope, :made_by, :created_at, :hits, :code)
                    ON CONFLICT (id) DO NOTHING",
                named_params! {
                    ":id": columns.id,
                    ":session": columns.session,
                    ":effect": columns.effect,
                    ":scope": columns.scope,
                    ":made_by": columns.made_by,
                    ":created_at": columns.created_at,
                    ":hits": columns.hits,
                    ":code": columns.code(&seal)?,
                },
            )?;
            if inserted == 0 {
                return Err(StoreError::Conflict { what: "rule", id: rule.id.to_string() });
            }
            let detail = format!("{} {} ({})", columns.effect, rule.scope.kind(), columns.made_by);
            let entry = AuditEntry {
                detail,
                tool: rule.scope.tool().to_owned(),
                ..AuditEntry::new(rule.created_at, AuditAct::RuleMade, AuditOrigin::Person)
            };
            audit::append(transaction, &seal, &about(entry, &rule.id, rule.session.clone()))
        })
        .await
    }

    /// Takes a rule back, and keeps in the audit that the person did. One that is gone already stays gone; one that was
    /// removed from outside counts as taken back from now on.
    pub async fn revoke_rule(&self, session: Option<&SessionId>, id: &RuleId) -> Result<(), StoreError> {
        let (session, id, seal, now) = (session.cloned(), id.clone(), self.seal(), self.now());
        self.guard(move |transaction| {
            let whose = session.clone().map_or(Whose::Everybodys, Whose::Of);
            let is_standing = audit::rule_history(transaction, &whose)?.standing.iter().any(|made| made.id == id);
            let removed = transaction.execute("DELETE FROM rule WHERE id = ?1", [id.as_str()])?;
            if removed == 0 && !is_standing {
                return Ok(());
            }
            // Whose rule it was says the audit, not a row that may have been changed.
            let session = audit::owner_of_rule(transaction, &id, session)?;
            let entry = AuditEntry::new(now, AuditAct::RuleRevoked, AuditOrigin::Person);
            audit::append(transaction, &seal, &about(entry, &id, session))
        })
        .await
    }

    /// Notes that a rule has decided one more call.
    pub async fn count_rule_hit(&self, id: &RuleId) -> Result<(), StoreError> {
        let (id, seal) = (id.clone(), self.seal());
        self.pass(move |transaction| {
            let found = transaction
                .query_row(&format!("SELECT {COLUMNS} FROM rule WHERE id = ?1"), [id.as_str()], Columns::read)
                .optional()?;
            // A rule that was changed from outside gets no code of ours.
            let Some((mut columns, code)) = found.filter(|(columns, code)| columns.is_sealed(&seal, code)) else {
                return Ok(());
            };
            columns.hits = columns.hits.saturating_add(1);
            let code_after = columns.code(&seal)?;
            transaction.execute(
                "UPDATE rule SET hits = ?2, code = ?3 WHERE id = ?1 AND code = ?4",
                params![id.as_str(), columns.hits, code_after, code],
            )?;
            Ok(())
        })
        .await
    }

    /// The files whose sensitive name was lifted in a session.
    pub async fn lifted(&self, session: &SessionId) -> Result<Vec<PathBuf>, StoreError> {
        let (session, seal) = (session.clone(), self.seal());
        self.look(move |transaction| {
            let mut statement =
                transaction.prepare("SELECT path, code FROM lifted WHERE session = ?1 ORDER BY path")?;
            let mut rows = statement.query([session.as_str()])?;
            let mut paths = Vec::new();
            while let Some(row) = rows.next()? {
                let (path, code): (String, String) = (row.get(0)?, row.get(1)?);
                // What somebody else has written opens nothing.
                if seal.fits(&[LIFT_SEAL, session.as_str(), &path], &code) {
                    paths.push(parse("path", &path)?);
                }
            }
            Ok(paths)
        })
        .await
    }

    /// Lifts the denial of a sensitive name for one file in one session, and keeps in the audit that the person did.
    ///
    /// # Errors
    /// `Format` for a path that is not text.
    pub async fn lift(&self, session: &SessionId, path: &Path) -> Result<(), StoreError> {
        let (session, path, seal, now) = (session.clone(), json("path", &path)?, self.seal(), self.now());
        self.guard(move |transaction| {
            let code = seal.code(&[LIFT_SEAL, session.as_str(), &path])?;
            let lifted = transaction.execute(
                "INSERT INTO lifted (session, path, code) VALUES (?1, ?2, ?3)
                    ON CONFLICT (session, path) DO UPDATE SET code = excluded.code WHERE code <> excluded.code",
                [session.as_str(), &path, &code],
            )?;
            if lifted == 0 {
                return Ok(());
            }
            let entry = AuditEntry::new(now, AuditAct::FileLifted, AuditOrigin::Person);
            audit::append(transaction, &seal, &AuditEntry { session: Some(session), ..entry })
        })
        .await
    }

    /// Closes a file again whose sensitive name was lifted, and keeps in the audit that the person did.
    ///
    /// # Errors
    /// `Format` for a path that is not text.
    pub async fn take_lift_back(&self, session: &SessionId, path: &Path) -> Result<(), StoreError> {
        let (session, path, seal, now) = (session.clone(), json("path", &path)?, self.seal(), self.now());
        self.guard(move |transaction| {
            let removed = transaction
                .execute("DELETE FROM lifted WHERE session = ?1 AND path = ?2", [session.as_str(), &path])?;
            if removed == 0 {
                return Ok(());
            }
            let entry = AuditEntry::new(now, AuditAct::FileLifted, AuditOrigin::Person);
            let entry = AuditEntry { session: Some(session), detail: "closed again".to_owned(), ..entry };
            audit::append(transaction, &seal, &entry)
        })
        .await
    }
}

/// Removes opened files that somebody else has written; gives how many.
pub(super) fn close_unsealed(transaction: &Transaction<'_>, seal: &SealKey) -> Result<usize, StoreError> {
    let mut statement = transaction.prepare("SELECT session, path, code FROM lifted")?;
    let mut rows = statement.query([])?;
    let mut closed = 0;
    while let Some(row) = rows.next()? {
        let (session, path, code): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if !seal.fits(&[LIFT_SEAL, &session, &path], &code) {
            closed += transaction.execute("DELETE FROM lifted WHERE session = ?1 AND path = ?2", [session, path])?;
        }
    }
    Ok(closed)
}

fn about(entry: AuditEntry, rule: &RuleId, session: Option<SessionId>) -> AuditEntry {
    AuditEntry { rule: Some(rule.clone()), session, decider: Some(Decider::Person), ..entry }
}

/// Rules held against their codes and the audit.
#[derive(Default)]
pub(super) struct Examined {
    intact: Vec<Rule>,
    /// With the number of the audit's line that says that it was made; none for what Nod never made.
    pub(super) broken: Vec<(BrokenRule, Option<u64>)>,
}

impl Examined {
    fn into_set(self) -> RuleSet {
        RuleSet { intact: self.intact, broken: self.broken.into_iter().map(|(rule, _)| rule).collect() }
    }
}

/// Examines the rules of a session, those of everybody, or all that there are.
pub(super) fn examine(transaction: &Transaction<'_>, seal: &SealKey, whose: &Whose) -> Result<Examined, StoreError> {
    let RuleHistory { standing: mut missing, revoked } = audit::rule_history(transaction, whose)?;
    let condition = whose.condition();
    let mut statement = transaction.prepare(&format!("SELECT {COLUMNS} FROM rule WHERE {condition} ORDER BY row"))?;
    let mut rows = statement.query([whose.session()])?;
    let mut examined = Examined::default();
    let mut strange = Vec::new();
    while let Some(row) = rows.next()? {
        let (columns, code) = Columns::read(row)?;
        let id = RuleId(columns.id.clone());
        let made = missing.iter().position(|made| made.id == id).map(|at| missing.remove(at));
        let is_ours = made.is_some() && !revoked.contains(&id) && columns.is_sealed(seal, &code);
        match columns.rule().filter(|_| is_ours) {
            Some(rule) => examined.intact.push(rule),
            None => strange.push((id, made, columns.claim())),
        }
    }
    strange.extend(missing.into_iter().map(|made| (made.id.clone(), Some(made), Meant::AnyRefusal)));
    // What a rule was says the audit; where that was changed too, nobody knows. Asked only where something is wrong.
    let is_trusted = !strange.is_empty() && audit::is_whole(transaction, seal)?;
    for (id, made, claim) in strange {
        let line = made.as_ref().map(|made| made.seq);
        let meant = match made {
            _ if !is_trusted => Meant::AnyRefusal,
            Some(made) if made.is_refusal => Meant::Refusal { tool: made.tool },
            Some(_) => Meant::NoRefusal,
            // It was taken back, and somebody has put it there again.
            None if revoked.contains(&id) => Meant::NoRefusal,
            // Whoever added it may only make things stricter.
            None => claim,
        };
        examined.broken.push((BrokenRule { id, meant }, line));
    }
    Ok(examined)
}

/// A rule as its row holds it.
struct Columns {
    id: String,
    session: Option<String>,
    effect: String,
    scope: String,
    made_by: String,
    created_at: i64,
    hits: i64,
}

impl Columns {
    fn of(rule: &Rule) -> Result<Self, StoreError> {
        Ok(Self {
            id: rule.id.to_string(),
            session: rule.session.as_ref().map(SessionId::to_string),
            effect: word("rule", &rule.effect)?,
            scope: json("rule", &rule.scope)?,
            made_by: word("rule", &rule.made_by)?,
            created_at: rule.created_at.0,
            hits: i64::try_from(rule.hits).unwrap_or(i64::MAX),
        })
    }

    /// The columns and the code beside them.
    fn read(row: &Row<'_>) -> rusqlite::Result<(Self, String)> {
        let columns = Self {
            id: row.get(0)?,
            session: row.get(1)?,
            effect: row.get(2)?,
            scope: row.get(3)?,
            made_by: row.get(4)?,
            created_at: row.get(5)?,
            hits: row.get(6)?,
        };
        Ok((columns, row.get(7)?))
    }

    /// The rule, where every word in it is known.
    fn rule(&self) -> Option<Rule> {
        Some(Rule {
            id: RuleId(self.id.clone()),
            session: self.session.clone().map(SessionId),
            effect: variant("rule", &self.effect).ok()?,
            scope: parse("rule", &self.scope).ok()?,
            made_by: variant("rule", &self.made_by).ok()?,
            created_at: UnixMs(self.created_at),
            hits: self.hits.unsigned_abs(),
        })
    }

    /// What the row itself says, which nobody vouches for: where that is no rule, it may have refused anything.
    fn claim(&self) -> Meant {
        match self.rule() {
            Some(Rule { effect: RuleEffect::Allow, .. }) => Meant::NoRefusal,
            Some(Rule { effect: RuleEffect::Deny, scope, .. }) => Meant::Refusal { tool: scope.tool().to_owned() },
            None => Meant::AnyRefusal,
        }
    }

    fn code(&self, seal: &SealKey) -> Result<String, StoreError> {
        self.with_texts(|texts| seal.code(texts))
    }

    fn is_sealed(&self, seal: &SealKey, code: &str) -> bool {
        self.with_texts(|texts| seal.fits(texts, code))
    }

    fn with_texts<T>(&self, work: impl FnOnce(&[&str]) -> T) -> T {
        let (created_at, hits) = (self.created_at.to_string(), self.hits.to_string());
        let (held, session) = (if self.session.is_some() { "session" } else { "all" }, self.session.as_deref());
        work(&[
            SEAL,
            &self.id,
            held,
            session.unwrap_or_default(),
            &self.effect,
            &self.scope,
            &self.made_by,
            &created_at,
            &hits,
        ])
    }
}
