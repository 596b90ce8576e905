//! The audit: a table that is only added to. Every line's hash covers the line before it, and the end has a code that only
//! Nod can make, so that a change, a gap and a cut end are all noticed.

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use sha2::{Digest as _, Sha256};

use crate::ir::{
    AuditAct, AuditBreak, AuditBreakKind, AuditCheck, AuditEntry, AuditFilter, AuditOrigin, AuditRow, RuleId,
    SessionId, UnixMs,
};

use super::anchor::{self, Anchor};
use super::lineage::{Lineage, Trust};
use super::row::{json, word};
use super::seal::SealKey;
use super::{Store, StoreError, migration, rule};

/// Lines that are examined in one look, so that other readers get their turn.
const LOOK_LINES: u64 = 2_000;
/// Most broken places that are told.
const MOST_BREAKS: usize = 100;
/// What the end's code is for.
const HEAD: &str = "nod audit head 1";

impl Store {
    /// Adds a line. Committed before it returns, power cut or not.
    ///
    /// # Errors
    /// When it cannot be written: what it is about must not happen then.
    pub async fn append_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        let seal = self.seal();
        self.guard(move |transaction| append(transaction, &seal, &entry)).await
    }

    /// How many lines fit, and the number of the last line of all.
    pub async fn count_audit(&self, filter: &AuditFilter) -> Result<(u64, u64), StoreError> {
        let filter = filter.clone();
        self.look(move |transaction| {
            let (which, values) = conditions(&filter)?;
            let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
            let count: i64 = transaction.query_row(
                &format!("SELECT count(*) FROM audit WHERE {which}"),
                values.as_slice(),
                |row| row.get(0),
            )?;
            Ok((count.unsigned_abs(), last(transaction)?.map_or(0, |(seq, _)| seq)))
        })
        .await
    }

    /// Lines that fit, newest first, leaving out the first `offset`.
    pub async fn audit_page(
        &self,
        filter: &AuditFilter,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let filter = filter.clone();
        self.look(move |transaction| {
            let (which, mut values) = conditions(&filter)?;
            values.push(Box::new(i64::try_from(limit).unwrap_or(i64::MAX)));
            values.push(Box::new(i64::try_from(offset).unwrap_or(i64::MAX)));
            let (limit, offset) = (values.len() - 1, values.len());
            let sql = format!(
                "SELECT seq, entry, hash FROM audit WHERE {which} ORDER BY seq DESC LIMIT ?{limit} OFFSET ?{offset}"
            );
            let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
            list(transaction, &sql, values.as_slice())
        })
        .await
    }

    /// Lines that fit, oldest first, after the line with this number: for exports.
    pub async fn audit_after(
        &self,
        filter: &AuditFilter,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let filter = filter.clone();
        self.look(move |transaction| {
            let (which, mut values) = conditions(&filter)?;
            values.push(Box::new(i64::try_from(after).unwrap_or(i64::MAX)));
            values.push(Box::new(i64::try_from(limit).unwrap_or(i64::MAX)));
            let (after, limit) = (values.len() - 1, values.len());
            let sql = format!(
                "SELECT seq, entry, hash FROM audit WHERE {which} AND seq > ?{after} ORDER BY seq LIMIT ?{limit}"
            );
            let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
            list(transaction, &sql, values.as_slice())
        })
        .await
    }

    /// Examines the whole audit, a part at a time.
    pub async fn check_audit(&self) -> Result<AuditCheck, StoreError> {
        let seal = self.seal();
        // Read before the lines: they only grow.
        let anchor = self.data_dir().and_then(|data_dir| anchor::read(&data_dir, &seal));
        let (sought, key, is_in_memory) = (anchor.clone(), self.seal(), self.data_dir().is_none());
        let (head, end, is_anchored, is_unanchored, is_set_back) = self
            .look(move |transaction| {
                let is_anchored = sought.as_ref().map_or(Ok(true), |anchor| leads_to(transaction, anchor))?;
                let (head, end) = (head(transaction)?, last(transaction)?);
                let lineage = Lineage::of(transaction, &key, sought.as_ref())?;
                let is_unanchored = !is_in_memory && sought.is_none() && end.is_some() && lineage.had_anchor();
                Ok((head, end, is_anchored, is_unanchored, lineage.trust == Trust::SetBack))
            })
            .await?;
        let end = end.map_or(0, |(seq, _)| seq);
        let mut chain = Chain::default();
        while chain.seq < end {
            let from = chain.seq;
            let lines = self
                .look(move |transaction| {
                    lines(
                        transaction,
                        "SELECT seq, entry, hash FROM audit WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3",
                        &[&signed(from), &signed(end), &signed(LOOK_LINES)],
                    )
                })
                .await?;
            if lines.is_empty() {
                break;
            }
            for (row, text) in &lines {
                chain.take(row, text);
            }
        }
        chain.close(head, &seal);
        if !is_anchored {
            // Whole in itself, and yet not what was there when Nod last opened or closed it.
            let is_older = anchor.is_some_and(|anchor| anchor.seq > chain.seq);
            let kind = if is_older { AuditBreakKind::Cut } else { AuditBreakKind::Forged };
            let found = AuditBreak { seq: chain.seq, kind };
            if chain.breaks.last() != Some(&found) {
                chain.note(found.seq, found.kind);
            }
        }
        if is_unanchored {
            chain.note(chain.seq, AuditBreakKind::Unanchored);
        }
        if is_set_back && chain.breaks.is_empty() {
            chain.note(chain.seq, AuditBreakKind::Forged);
        }
        let seal = self.seal();
        let rules = self.look(move |transaction| rule::examine(transaction, &seal, &Whose::All)).await?;
        for (_, made) in rules.broken {
            match made {
                Some(seq) => chain.note(seq, AuditBreakKind::RuleChanged),
                None => chain.note(chain.seq, AuditBreakKind::RuleAdded),
            }
        }
        Ok(AuditCheck { lines: chain.lines, breaks: chain.breaks })
    }
}

/// Adds a line, in the transaction of what it is about.
pub(super) fn append(transaction: &Transaction<'_>, seal: &SealKey, entry: &AuditEntry) -> Result<(), StoreError> {
    let (seq, before) = head(transaction)?.map_or((0, String::new()), |head| (head.seq, head.hash));
    add(transaction, seal, seq + 1, &before, entry)
}

/// What is known of where the audit ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Past<'anchor> {
    /// There.
    EndedAt(&'anchor Anchor),
    /// It was not written down, or that is gone.
    Unknown,
    /// It has a past of its own: in memory, or a backup that is put back.
    Restored,
}

impl<'anchor> Past<'anchor> {
    pub(super) fn of(anchor: Option<&'anchor Anchor>) -> Self {
        anchor.map_or(Self::Unknown, Self::EndedAt)
    }
}

/// Begins the audit, or looks whether it still ends as Nod left it; says so in a line of its own where it does not. Gives
/// whether it was as it should be.
pub(super) fn open_chain(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    past: Past<'_>,
    lineage: Lineage,
    now: UnixMs,
) -> Result<bool, StoreError> {
    let (head, last) = (head(transaction)?, last(transaction)?);
    // What speaks against the end that is there, in words for the record.
    let doubt = match past {
        _ if lineage.trust == Trust::SetBack => Some("the database was set back to an older format"),
        Past::EndedAt(anchor) if !leads_to(transaction, anchor)? => {
            Some("an older copy of the database was put in its place")
        }
        Past::Unknown if lineage.had_anchor() => Some("what says where the record ended was missing"),
        Past::EndedAt(_) | Past::Unknown | Past::Restored => None,
    };
    // A program that kept no audit yet, and no key, has left none.
    let is_beginning = !lineage.had_audit()
        && (seal.is_new() || matches!(past, Past::EndedAt(anchor) if anchor.is_of_nothing() && lineage.format == 0));
    let act = match (&head, &last) {
        (Some(head), Some((seq, hash)))
            if head.seq == *seq && head.hash == *hash && head.is_sealed(seal) && doubt.is_none() =>
        {
            return Ok(true);
        }
        (None, None) if is_beginning => AuditAct::Began,
        // A key that was there before has sealed an audit that is not there any more; or the end is another one.
        (Some(_) | None, _) => AuditAct::Mended,
    };
    let (seq, before) = last.unwrap_or_default();
    let seq = head.map_or(seq, |head| head.seq.max(seq));
    let is_new = act == AuditAct::Began;
    let detail =
        if is_new { format_words(migration::known(migration::STEPS)) } else { doubt.unwrap_or_default().to_owned() };
    let entry = AuditEntry { detail, ..AuditEntry::new(now, act, AuditOrigin::Nod) };
    add(transaction, seal, seq + 1, &before, &entry)?;
    Ok(is_new)
}

/// How a line says which format the database has from it on; [`format_known`] reads it.
fn format_words(format: i64) -> String {
    format!("format {format}")
}

/// Says that the database has another format from here on.
pub(super) fn note_format(transaction: &Transaction<'_>, seal: &SealKey, now: UnixMs) -> Result<(), StoreError> {
    let entry = AuditEntry::new(now, AuditAct::FormatChanged, AuditOrigin::Nod);
    let detail = format_words(migration::known(migration::STEPS));
    append(transaction, seal, &AuditEntry { detail, ..entry })
}

/// The newest format that the audit says the database had; 0 where it does not say.
pub(super) fn format_known(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare("SELECT entry FROM audit WHERE act IN ('began', 'format-changed')")?;
    let mut rows = statement.query([])?;
    let mut newest = 0;
    while let Some(row) = rows.next()? {
        let entry: Option<AuditEntry> = serde_json::from_str(&row.get::<_, String>(0)?).ok();
        let format = entry.and_then(|entry| entry.detail.strip_prefix("format ")?.parse().ok());
        newest = newest.max(format.unwrap_or(0));
    }
    Ok(newest)
}

/// Whether there is an audit at all: an older program kept none.
pub(super) fn is_there(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'table' AND name IN ('audit', 'audit_head')";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// The number and the time of the last line; `None` without a line, or without an audit.
pub(super) fn last_if_any(connection: &Connection) -> Result<Option<(u64, Option<UnixMs>)>, StoreError> {
    if !is_there(connection)? {
        return Ok(None);
    }
    let rows = list(connection, "SELECT seq, entry, hash FROM audit ORDER BY seq DESC LIMIT 1", &[])?;
    Ok(rows.first().map(|row| (row.seq, row.entry.as_ref().map(|entry| entry.time))))
}

/// Whether the line is there that was the last one once.
pub(super) fn leads_to(connection: &Connection, anchor: &Anchor) -> Result<bool, StoreError> {
    if anchor.is_of_nothing() {
        return Ok(true);
    }
    let read = |row: &Row<'_>| row.get::<_, String>(0);
    let found = connection.query_row("SELECT hash FROM audit WHERE seq = ?1", [signed(anchor.seq)], read).optional()?;
    Ok(found.as_ref() == Some(&anchor.hash))
}

fn add(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    seq: u64,
    before: &str,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    let text = json("audit", entry)?;
    let hash = hash(before, seq, &text);
    let code = seal.code(&[HEAD, &seq.to_string(), &hash])?;
    transaction
        .execute("INSERT INTO audit (seq, entry, hash) VALUES (?1, ?2, ?3)", params![signed(seq), text, hash])?;
    transaction.execute(
        "INSERT OR REPLACE INTO audit_head (id, seq, hash, code) VALUES (1, ?1, ?2, ?3)",
        params![signed(seq), hash, code],
    )?;
    Ok(())
}

/// Whose rules.
pub(super) enum Whose {
    /// Those of a session and those that hold in all.
    Of(SessionId),
    /// Those that hold in all.
    Everybodys,
    /// All that there are, of every session that is there.
    All,
}

impl Whose {
    /// As SQL, with the session as its first value.
    pub(super) const fn condition(&self) -> &'static str {
        match self {
            Self::Of(_) => "(session IS NULL OR session = ?1)",
            Self::Everybodys => "(session IS NULL AND ?1 IS NULL)",
            Self::All => "(?1 IS NULL AND (session IS NULL OR session IN (SELECT id FROM session)))",
        }
    }

    pub(super) fn session(&self) -> Option<&str> {
        match self {
            Self::Of(session) => Some(session.as_str()),
            Self::Everybodys | Self::All => None,
        }
    }
}

/// What the audit knows of rules.
pub(super) struct RuleHistory {
    /// Made and never taken back.
    pub(super) standing: Vec<RuleMade>,
    /// Taken back: a row that says otherwise was put there from outside.
    pub(super) revoked: Vec<RuleId>,
}

/// A rule as it was made.
pub(super) struct RuleMade {
    pub(super) id: RuleId,
    /// The line that says so.
    pub(super) seq: u64,
    pub(super) tool: String,
    /// Whether it refuses; so it is taken where the line does not say.
    pub(super) is_refusal: bool,
}

/// The rules that were made and taken back.
pub(super) fn rule_history(transaction: &Transaction<'_>, whose: &Whose) -> Result<RuleHistory, StoreError> {
    let condition = whose.condition();
    let mut statement = transaction.prepare(&format!(
        "SELECT seq, act, rule, entry FROM audit WHERE act IN ('rule-made', 'rule-revoked') AND rule IS NOT NULL
            AND {condition} ORDER BY seq"
    ))?;
    let mut rows = statement.query([whose.session()])?;
    let mut history = RuleHistory { standing: Vec::new(), revoked: Vec::new() };
    while let Some(row) = rows.next()? {
        let id = RuleId(row.get(2)?);
        if row.get::<_, String>(1)? == "rule-made" {
            let entry: Option<AuditEntry> = serde_json::from_str(&row.get::<_, String>(3)?).ok();
            let is_refusal = entry.as_ref().is_none_or(|entry| !entry.detail.starts_with("allow "));
            let tool = entry.map(|entry| entry.tool).unwrap_or_default();
            history.standing.push(RuleMade { id, seq: row.get::<_, i64>(0)?.unsigned_abs(), tool, is_refusal });
        } else {
            history.standing.retain(|made| made.id != id);
            history.revoked.push(id);
        }
    }
    Ok(history)
}

/// Whether every line is as Nod wrote it, and the end where Nod left it.
pub(super) fn is_whole(connection: &Connection, seal: &SealKey) -> Result<bool, StoreError> {
    let mut chain = Chain::default();
    let mut statement = connection.prepare("SELECT seq, entry, hash FROM audit ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (row, text) = line(row)?;
        chain.take(&row, &text);
    }
    chain.close(head(connection)?, seal);
    Ok(chain.breaks.is_empty())
}

/// Whose rule this was when it was made (none: everybody's); `otherwise` when it never was.
pub(super) fn owner_of_rule(
    transaction: &Transaction<'_>,
    rule: &RuleId,
    otherwise: Option<SessionId>,
) -> Result<Option<SessionId>, StoreError> {
    let sql =
        "SELECT session FROM audit WHERE act IN ('rule-made', 'rule-revoked') AND act = 'rule-made' AND rule = ?1";
    let found = transaction.query_row(sql, [rule.as_str()], |row| row.get::<_, Option<String>>(0)).optional()?;
    Ok(found.map_or(otherwise, |session| session.map(SessionId)))
}

/// Where the audit ends, as Nod wrote it down.
struct Head {
    seq: u64,
    hash: String,
    code: String,
}

impl Head {
    fn is_sealed(&self, seal: &SealKey) -> bool {
        seal.fits(&[HEAD, &self.seq.to_string(), &self.hash], &self.code)
    }
}

fn head(connection: &Connection) -> Result<Option<Head>, StoreError> {
    let read =
        |row: &Row<'_>| Ok(Head { seq: row.get::<_, i64>(0)?.unsigned_abs(), hash: row.get(1)?, code: row.get(2)? });
    Ok(connection.query_row("SELECT seq, hash, code FROM audit_head WHERE id = 1", [], read).optional()?)
}

/// The last line's number and hash.
pub(super) fn last(connection: &Connection) -> Result<Option<(u64, String)>, StoreError> {
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?));
    Ok(connection.query_row("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [], read).optional()?)
}

fn hash(before: &str, seq: u64, entry: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(before.as_bytes());
    hasher.update(b"\n");
    hasher.update(seq.to_string().as_bytes());
    hasher.update(b"\n");
    hasher.update(entry.as_bytes());
    hex::encode(hasher.finalize())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

type Values = Vec<Box<dyn ToSql>>;

/// A filter as SQL, with its values in their order.
fn conditions(filter: &AuditFilter) -> Result<(String, Values), StoreError> {
    let mut parts = vec!["1".to_owned()];
    let mut values: Values = Vec::new();
    let mut add = |condition: &str, value: Option<Box<dyn ToSql>>| {
        if let Some(value) = value {
            values.push(value);
            parts.push(format!("{condition} ?{}", values.len()));
        }
    };
    add("session =", filter.session.as_ref().map(|session| Box::new(session.as_str().to_owned()) as Box<dyn ToSql>));
    add("tool =", filter.tool.clone().map(|tool| Box::new(tool) as _));
    let verdict = filter.verdict.map(|verdict| word("audit", &verdict)).transpose()?;
    add("verdict =", verdict.map(|verdict| Box::new(verdict) as _));
    let decider = filter.decider.map(|decider| word("audit", &decider)).transpose()?;
    add("decider =", decider.map(|decider| Box::new(decider) as _));
    add("time >=", filter.since.map(|time| Box::new(time.0) as _));
    add("time <", filter.until.map(|time| Box::new(time.0) as _));
    add("seq <=", filter.up_to.map(|seq| Box::new(signed(seq)) as _));
    Ok((parts.join(" AND "), values))
}

fn list(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<AuditRow>, StoreError> {
    Ok(lines(connection, sql, values)?.into_iter().map(|(row, _)| row).collect())
}

/// Lines with the text that their hash was made of.
fn lines(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<(AuditRow, String)>, StoreError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        lines.push(line(row)?);
    }
    Ok(lines)
}

fn line(row: &Row<'_>) -> Result<(AuditRow, String), StoreError> {
    let text: String = row.get(1)?;
    // A line that cannot be read is shown as such: it hides none of the others.
    let entry = serde_json::from_str(&text).ok();
    Ok((AuditRow { seq: row.get::<_, i64>(0)?.unsigned_abs(), entry, hash: row.get(2)? }, text))
}

/// The walk along the lines.
#[derive(Default)]
struct Chain {
    seq: u64,
    hash: String,
    lines: u64,
    breaks: Vec<AuditBreak>,
}

impl Chain {
    fn take(&mut self, row: &AuditRow, text: &str) {
        if row.seq != self.seq + 1 {
            self.note(row.seq, AuditBreakKind::Missing);
        }
        // After a gap the hash before is not known: the gap was told already, and the line itself cannot be judged.
        if row.seq == self.seq + 1 && row.hash != hash(&self.hash, row.seq, text) {
            self.note(row.seq, AuditBreakKind::Changed);
        }
        match &row.entry {
            None => self.note(row.seq, AuditBreakKind::Unreadable),
            Some(entry) if entry.act == AuditAct::Mended => self.note(row.seq, AuditBreakKind::Mended),
            Some(_) => {}
        }
        self.seq = row.seq;
        self.hash.clone_from(&row.hash);
        self.lines += 1;
    }

    fn close(&mut self, head: Option<Head>, seal: &SealKey) {
        match head {
            // Whoever made the database wrote a first line: an empty audit was emptied.
            None if self.lines == 0 => self.note(0, AuditBreakKind::Cut),
            None => self.note(self.seq, AuditBreakKind::Forged),
            Some(head) if head.seq > self.seq => self.note(self.seq, AuditBreakKind::Cut),
            Some(head) if head.hash != self.hash || head.seq != self.seq || !head.is_sealed(seal) => {
                self.note(self.seq, AuditBreakKind::Forged);
            }
            Some(_) => {}
        }
    }

    fn note(&mut self, seq: u64, kind: AuditBreakKind) {
        if self.breaks.len() < MOST_BREAKS {
            self.breaks.push(AuditBreak { seq, kind });
        }
    }
}
