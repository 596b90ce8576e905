//! The audit for front ends: pages of it, its examination, and files for other programs.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::ir::{AuditBreak, AuditBreakKind, AuditEntry, AuditFilter, AuditRow};
use crate::port::{Event, WrittenFile};

use super::export::private_file;
use super::fault::Fault;
use super::shared::Shared;

/// Lines of one page.
const PAGE: usize = 100;
/// Lines that are written to a file at once.
const PART: usize = 1_000;

/// The columns of a table for a spreadsheet, in their order.
const COLUMNS: [&str; 18] = [
    "seq",
    "time",
    "act",
    "origin",
    "session",
    "model",
    "tool",
    "call",
    "plan_hash",
    "verdict",
    "decider",
    "rule",
    "tier",
    "outcome",
    "duration_ms",
    "bytes",
    "detail",
    "hash",
];

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFormat {
    /// One object a line.
    JsonLines,
    /// A table for a spreadsheet.
    Csv,
}

impl AuditFormat {
    /// By the path's extension: `.csv` is a table, everything else is JSON Lines.
    pub fn of_path(path: &Path) -> Self {
        let is_table = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_table { Self::Csv } else { Self::JsonLines }
    }

    /// What stands before the first line.
    pub fn head(self) -> String {
        match self {
            Self::JsonLines => String::new(),
            Self::Csv => format!("{}\r\n", COLUMNS.join(",")),
        }
    }

    /// One line with its end.
    pub fn line(self, row: &AuditRow) -> String {
        match self {
            Self::JsonLines => format!("{}\n", serde_json::to_string(row).unwrap_or_default()),
            Self::Csv => format!("{}\r\n", cells(row).map(|cell| quoted(&cell)).join(",")),
        }
    }
}

pub(super) async fn load(shared: &Shared, filter: AuditFilter, offset: u64, number: u64) -> Result<(), Fault> {
    let (total, last) = shared.store.count_audit(&filter).await?;
    let rows = shared.store.audit_page(&filter, offset, PAGE).await?;
    shared.publish(Event::AuditLoaded { number, offset, rows, total, last }).await;
    Ok(())
}

pub(super) async fn check(shared: &Shared, number: u64) -> Result<(), Fault> {
    let check = shared.store.check_audit().await?;
    shared.publish(Event::AuditChecked { number, check }).await;
    Ok(())
}

/// Examines the whole record in the background, once at the start, and says so where lines were changed: the opening itself
/// has only looked at its end.
pub(super) fn look_over(shared: &Arc<Shared>, quit: CancellationToken) {
    let shared = Arc::clone(shared);
    let errands = shared.errands.clone();
    errands.spawn(async move {
        let check = tokio::select! {
            biased;
            () = quit.cancelled() => return,
            check = shared.store.check_audit() => check,
        };
        let is_changed = |found: &AuditBreak| match found.kind {
            AuditBreakKind::Changed
            | AuditBreakKind::Missing
            | AuditBreakKind::Unreadable
            | AuditBreakKind::Cut
            | AuditBreakKind::Forged
            | AuditBreakKind::Unanchored => true,
            // What happened at an earlier start was told there, and rules are told by the opening.
            AuditBreakKind::Mended | AuditBreakKind::RuleChanged | AuditBreakKind::RuleAdded => false,
        };
        match check {
            Ok(check) if check.breaks.iter().any(is_changed) => {
                shared.publish(Event::Notice { key: "notice-audit-changed", args: Vec::new() }).await;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the record of decisions was not looked over"),
        }
    });
}

/// Writes what fits where the person wants it, oldest first.
pub(super) async fn export(shared: &Shared, filter: AuditFilter, path: PathBuf) -> Result<(), Fault> {
    let fail = |detail: String| Fault::new("fault-export", detail).with("path", path.display().to_string());
    let format = AuditFormat::of_path(&path);
    // The person chose this very path in a dialog.
    let file = private_file(&path).map_err(|error| fail(error.to_string()))?;
    let mut file = BufWriter::new(file);
    let mut text = format.head();
    let mut after = 0;
    loop {
        let rows = shared.store.audit_after(&filter, after, PART).await?;
        text.extend(rows.iter().map(|row| format.line(row)));
        let written = tokio::task::spawn_blocking(move || file.write_all(text.as_bytes()).map(|()| file)).await;
        file = written.map_err(|broken| fail(broken.to_string()))?.map_err(|error| fail(error.to_string()))?;
        text = String::new();
        let Some(last) = rows.last().filter(|_| rows.len() == PART) else { break };
        after = last.seq;
    }
    file.flush().map_err(|error| fail(error.to_string()))?;
    shared.publish(Event::FileWritten { what: WrittenFile::Export, path }).await;
    Ok(())
}

fn cells(row: &AuditRow) -> [String; COLUMNS.len()] {
    let Some(entry) = &row.entry else {
        let mut cells: [String; COLUMNS.len()] = std::array::from_fn(|_| String::new());
        let [seq, .., detail, hash] = &mut cells;
        *seq = row.seq.to_string();
        "unreadable".clone_into(detail);
        hash.clone_from(&row.hash);
        return cells;
    };
    let AuditEntry {
        time,
        act,
        origin,
        session,
        model,
        tool,
        call,
        plan_hash,
        verdict,
        decider,
        rule,
        tier,
        outcome,
        duration_ms,
        bytes,
        detail,
    } = entry;
    let moment = jiff::Timestamp::from_millisecond(time.0).map(|time| time.to_string()).unwrap_or_default();
    let text = |id: Option<&dyn std::fmt::Display>| id.map_or_else(String::new, ToString::to_string);
    [
        row.seq.to_string(),
        moment,
        word(act),
        word(origin),
        text(session.as_ref().map(|id| id as _)),
        model.clone(),
        tool.clone(),
        text(call.as_ref().map(|id| id as _)),
        plan_hash.clone(),
        verdict.as_ref().map_or_else(String::new, word),
        decider.as_ref().map_or_else(String::new, word),
        text(rule.as_ref().map(|id| id as _)),
        tier.as_ref().map_or_else(String::new, word),
        outcome.clone(),
        text(duration_ms.as_ref().map(|number| number as _)),
        text(bytes.as_ref().map(|number| number as _)),
        detail.clone(),
        row.hash.clone(),
    ]
}

/// The word that stands for a variant, as in the JSON.
fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A cell in quotes. A model chooses some of these texts, and a spreadsheet runs what begins like a formula.
fn quoted(cell: &str) -> String {
    let is_formula = cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        || cell.starts_with(['\t', '\r', '\n']);
    let guard = if is_formula { "'" } else { "" };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{AuditAct, AuditOrigin, UnixMs};

    fn row(model: &str) -> AuditRow {
        let entry = AuditEntry::new(UnixMs(1_764_460_800_123), AuditAct::Ended, AuditOrigin::Model);
        AuditRow { seq: 7, entry: Some(AuditEntry { model: model.to_owned(), ..entry }), hash: "ab".to_owned() }
    }

    #[test]
    fn a_table_has_a_cell_for_every_column_and_times_that_people_read() {
        let line = AuditFormat::Csv.line(&row("qwen3:8b"));
        let expected = "\"7\",\"2025-11-30T00:00:00.123Z\",\"ended\",\"model\",\"\",\"qwen3:8b\"";
        assert!(line.starts_with(expected) && line.ends_with("\"ab\"\r\n"), "{line}");
        assert_eq!(line.matches("\",\"").count() + 1, COLUMNS.len());
        let unreadable = AuditRow { seq: 8, entry: None, hash: "cd".to_owned() };
        let line = AuditFormat::Csv.line(&unreadable);
        assert_eq!(line.matches("\",\"").count() + 1, COLUMNS.len());
        assert!(line.contains("\"unreadable\",\"cd\""), "{line}");
    }

    #[test]
    fn a_spreadsheet_takes_no_cell_for_a_formula() {
        for (cell, expected) in [
            ("=HYPERLINK(\"http://evil\")", "\"'=HYPERLINK(\"\"http://evil\"\")\""),
            ("+1", "\"'+1\""),
            ("-1+cmd|' /C calc'!A0", "\"'-1+cmd|' /C calc'!A0\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("  =1", "\"'  =1\""),
            ("\t=1", "\"'\t=1\""),
            ("＝1", "\"'＝1\""),
            ("a=1", "\"a=1\""),
            ("a\",\"b", "\"a\"\",\"\"b\""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }

    #[test]
    fn a_line_of_json_reads_back_as_the_row() {
        let row = row("a\nb");
        let line = AuditFormat::JsonLines.line(&row);
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<AuditRow>(&line).unwrap(), row);
    }
}
