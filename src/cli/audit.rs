//! `nod audit`: who decided what, and whether the record of it is whole.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::engine::{Archive, AuditFormat};
use crate::ir::{AuditBreakKind, AuditCheck, AuditFilter, AuditRow, Decider, SessionId, UnixMs, Verdict};
use crate::lang::Arg;

use super::args::{AuditArgs, Who, Yes};
use super::console::Console;
use super::exit::Exit;

/// Lists what fits, oldest first, or examines the whole.
pub(super) fn read(args: &AuditArgs, archive: Option<&Archive>, console: &mut Console) -> Result<Exit, String> {
    let Some(archive) = archive else { return Ok(Exit::Done) };
    if args.verify {
        let check = archive.check_audit().map_err(|error| error.message)?;
        return Ok(report(&check, args.json, console));
    }
    let filter = match filter(args, console) {
        Ok(filter) => filter,
        Err(problem) => {
            console.problem(&problem);
            return Ok(Exit::Usage);
        }
    };
    let wanted = args.limit.unwrap_or(usize::MAX);
    // The newest ones, told in the order in which they happened.
    let mut rows = archive.audit(&filter, wanted).map_err(|error| error.message)?;
    rows.reverse();
    if args.csv {
        console.row(AuditFormat::Csv.head().trim_end());
    }
    for row in &rows {
        if args.csv {
            console.row(AuditFormat::Csv.line(row).trim_end_matches(['\r', '\n']));
        } else if args.json {
            console.data(AuditFormat::JsonLines.line(row).trim_end());
        } else {
            let line = line(row);
            console.line(&line);
        }
        if console.is_broken() {
            break;
        }
    }
    Ok(Exit::Done)
}

fn report(check: &AuditCheck, is_json: bool, console: &mut Console) -> Exit {
    let exit = if check.breaks.is_empty() { Exit::Done } else { Exit::Failed };
    if is_json {
        console.data(&serde_json::to_string(check).unwrap_or_default());
        return exit;
    }
    let lines = [("lines", Arg::Number(i64::try_from(check.lines).unwrap_or(i64::MAX)))];
    let key = if check.breaks.is_empty() { "audit-whole" } else { "audit-broken" };
    let text = console.say(key, &lines);
    console.line(&text);
    for found in &check.breaks {
        let place = [("seq", Arg::Number(i64::try_from(found.seq).unwrap_or(i64::MAX)))];
        let text = console.say(break_key(found.kind), &place);
        console.line(&text);
    }
    if check.breaks.is_empty() {
        // For the person who reads; scripts count lines of what is printed.
        let reach = console.say("audit-reach", &[]);
        console.note(&reach);
    }
    exit
}

/// The key of what a break means.
const fn break_key(kind: AuditBreakKind) -> &'static str {
    match kind {
        AuditBreakKind::Changed => "audit-break-changed",
        AuditBreakKind::Missing => "audit-break-missing",
        AuditBreakKind::Unreadable => "audit-break-unreadable",
        AuditBreakKind::Cut => "audit-break-cut",
        AuditBreakKind::Forged => "audit-break-forged",
        AuditBreakKind::Unanchored => "audit-break-unanchored",
        AuditBreakKind::Mended => "audit-break-mended",
        AuditBreakKind::RuleChanged => "audit-break-rule-changed",
        AuditBreakKind::RuleAdded => "audit-break-rule-added",
    }
}

/// One line for people: the words of the record itself, which scripts and manuals name.
fn line(row: &AuditRow) -> String {
    let Some(entry) = &row.entry else { return format!("{:>6}  ?", row.seq) };
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let json = |value: Result<serde_json::Value, serde_json::Error>| word(value.unwrap_or_default());
    let time = Timestamp::from_millisecond(entry.time.0)
        .map(|time| time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default();
    let mut parts = vec![
        format!("{:>6}", row.seq),
        time,
        json(serde_json::to_value(entry.act)),
        json(serde_json::to_value(entry.verdict)),
        json(serde_json::to_value(entry.decider)),
        entry.tool.clone(),
        json(serde_json::to_value(entry.tier)),
        entry.outcome.clone(),
        entry.rule.as_ref().map_or_else(String::new, ToString::to_string),
        entry.detail.clone(),
        entry.session.as_ref().map_or_else(String::new, ToString::to_string),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}

fn filter(args: &AuditArgs, console: &Console) -> Result<AuditFilter, String> {
    let moment = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => match parse_moment(text) {
            Some(moment) => Ok(Some(moment)),
            None => Err(console.say("cli-bad-moment", &[("text", Arg::from(text.as_str()))])),
        },
    };
    Ok(AuditFilter {
        session: args.session.as_deref().map(SessionId::new),
        tool: args.tool.clone(),
        verdict: args.verdict.map(|yes| match yes {
            Yes::Allowed => Verdict::Allowed,
            Yes::Denied => Verdict::Denied,
        }),
        decider: args.by.map(|who| match who {
            Who::BuiltIn => Decider::BuiltIn,
            Who::Rule => Decider::Rule,
            Who::Person => Decider::Person,
            Who::Mode => Decider::Mode,
            Who::Flag => Decider::Flag,
            Who::Timeout => Decider::Timeout,
        }),
        since: moment(&args.since)?,
        until: moment(&args.until)?,
        up_to: None,
    })
}

/// A day or a moment in local time, or a moment with its zone.
fn parse_moment(text: &str) -> Option<UnixMs> {
    let local = || TimeZone::system().to_timestamp(text.replace(' ', "T").parse::<DateTime>().ok()?).ok();
    let found = text.parse::<Timestamp>().ok().or_else(local)?;
    Some(UnixMs(found.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_local_times_or_times_with_a_zone() {
        assert_eq!(parse_moment("2025-11-30T00:00:00Z"), Some(UnixMs(1_764_460_800_000)));
        let (day, time) = (parse_moment("2025-11-30").unwrap(), parse_moment("2025-11-30 01:00").unwrap());
        assert_eq!(time.0 - day.0, 3_600_000);
        assert_eq!(parse_moment("yesterday"), None);
    }
}
