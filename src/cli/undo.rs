//! `nod undo`: what was changed, listed, shown, taken back, done again.
#![expect(clippy::wildcard_enum_match_arm, reason = "a command line shows a part of what happens")]

use serde_json::json;

use crate::engine::{Archive, Handle, Inbox};
use crate::ir::{
    DiffTag, Preview, UndoChoice, UndoDirection, UndoEntry, UndoId, UndoOperation, UndoOutcome, UndoPlan, UndoScope,
    UndoState,
};
use crate::lang::Arg;
use crate::port::{Command, Event};

use super::approve::{change_note, show_change};
use super::args::{IfChanged, UndoArgs, UndoTask};
use super::console::Console;
use super::exec::send;
use super::exit::Exit;
use super::sessions::wait;

/// Most changes of a list.
const MOST_CHANGES: usize = 10_000;
/// Lines of each change that stand in a question: what is longer says how to see the rest.
const MOST_LINES: usize = 100;

/// Does what only reads; `None` for what needs the engine.
pub(super) fn read(task: &UndoTask, archive: Option<&Archive>, console: &mut Console) -> Option<Result<Exit, String>> {
    let done = match task {
        UndoTask::List { session, path, json } => {
            let path = path.as_ref().map(|path| console.absolute(path).display().to_string());
            list(archive, session.as_deref(), path.as_deref(), *json, console)
        }
        UndoTask::Show { id, json } => show(archive, id, *json, console),
        UndoTask::Apply(_) | UndoTask::Redo(_) => return None,
    };
    Some(done.map(|()| Exit::Done))
}

/// Does what changes something.
pub(super) fn write(task: &UndoTask, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    match task {
        UndoTask::Apply(args) => apply(args, UndoDirection::Undo, engine, inbox, console),
        UndoTask::Redo(args) => apply(args, UndoDirection::Redo, engine, inbox, console),
        UndoTask::List { .. } | UndoTask::Show { .. } => Ok(Exit::Done),
    }
}

fn changes(archive: Option<&Archive>) -> Result<Vec<UndoEntry>, String> {
    let all = archive.map_or(Ok(Vec::new()), |archive| archive.changes(MOST_CHANGES).map_err(|error| error.message))?;
    Ok(all.into_iter().filter(|entry| entry.reverts.is_none() && entry.state != UndoState::Void).collect())
}

fn list(
    archive: Option<&Archive>,
    session: Option<&str>,
    path: Option<&str>,
    is_json: bool,
    console: &mut Console,
) -> Result<(), String> {
    for entry in changes(archive)?.iter().rev() {
        let is_wanted = session.is_none_or(|session| entry.session.as_str().starts_with(session))
            && path.is_none_or(|path| entry.shown_path() == path);
        if !is_wanted {
            continue;
        }
        if is_json {
            console.data(&serde_json::to_string(entry).unwrap_or_default());
        } else {
            let what = console.say(entry.operation.text_key(), &[]);
            let state = console.say(entry.state.text_key(), &[]);
            let path = crate::policy::escape_name(&entry.shown_path(), false).into_owned();
            console.line(&format!("{}  {what}  {state}  {path}", entry.id));
        }
    }
    Ok(())
}

fn show(archive: Option<&Archive>, id: &str, is_json: bool, console: &mut Console) -> Result<(), String> {
    let all = changes(archive)?;
    let entry = find(&all, id, console)?;
    let Some(archive) = archive else { return Ok(()) };
    let preview = archive.change(entry);
    if is_json {
        console.data(&json!({"entry": entry, "change": preview}).to_string());
    } else {
        console.line(&crate::policy::escape_name(&entry.shown_path(), false));
        if entry.operation == UndoOperation::PutBack {
            let text = console.say("undo-executed-later", &[]);
            console.problem(&text);
        }
        print(&preview, console);
    }
    Ok(())
}

fn print(preview: &Preview, console: &mut Console) {
    match preview {
        Preview::NewFile { content } => {
            for line in content.split_inclusive('\n') {
                console.text_line("+", line);
            }
        }
        Preview::Diff { lines, notes, .. } => {
            for note in notes {
                let words = change_note(note, console);
                console.line(&format!("! {words}"));
            }
            for line in lines {
                let sign = match line.tag {
                    DiffTag::Context => " ",
                    DiffTag::Added => "+",
                    DiffTag::Removed => "-",
                    DiffTag::Gap => "…",
                };
                console.text_line(sign, &line.text);
            }
        }
        Preview::Tree { entries, .. } => {
            for entry in entries {
                console.line(&crate::policy::escape_name(&entry.path, false));
            }
        }
        Preview::Nothing | Preview::Command(_) => {}
    }
}

fn apply(
    args: &UndoArgs,
    direction: UndoDirection,
    engine: &Handle,
    inbox: &Inbox,
    console: &mut Console,
) -> Result<Exit, String> {
    let id = UndoId::new(args.id.as_str());
    let scope = if args.call { UndoScope::CallOf { id } } else { UndoScope::Entry { id } };
    send(engine, Command::PlanUndo { scope: scope.clone(), direction }, console)?;
    let plan = wait(inbox, console, |event| match event {
        Event::UndoPlanned(plan) if plan.scope == scope && plan.direction == direction => Some((**plan).clone()),
        _ => None,
    })?;
    if plan.changes_what_is_executed() && !is_wanted_all_the_same(args, &plan, engine, console) {
        return Ok(Exit::Denied);
    }
    let choice = match args.if_changed {
        IfChanged::Keep => UndoChoice::Keep,
        IfChanged::PutBack => UndoChoice::PutBack,
        IfChanged::SaveBeside => UndoChoice::SaveBeside,
    };
    let choices = plan.steps.iter().map(|step| (step.entry.clone(), choice)).collect();
    send(engine, Command::ApplyUndo { scope: scope.clone(), direction, choices, plan_hash: plan.hash }, console)?;
    let results = wait(inbox, console, |event| match event {
        Event::UndoApplied { scope: applied, results, .. } if *applied == scope => Some(Some(results.clone())),
        Event::UndoPlanned(plan) if plan.scope == scope && plan.is_changed => Some(None),
        _ => None,
    })?;
    let Some(results) = results else { return Err(console.say("cli-undo-changed", &[])) };
    let mut exit = Exit::Done;
    for result in &results {
        if args.json {
            console.data(&serde_json::to_string(result).unwrap_or_default());
        } else {
            let path = crate::policy::escape_name(&result.path, false).into_owned();
            let detail = crate::policy::escape(&result.detail, false).into_owned();
            let args = [("path", Arg::from(path.as_str())), ("detail", Arg::from(detail.as_str()))];
            let line = console.say(outcome_key(result.outcome, direction), &args);
            console.line(&line);
        }
        exit = match result.outcome {
            UndoOutcome::Done | UndoOutcome::SavedBeside | UndoOutcome::Nothing => exit,
            UndoOutcome::Kept | UndoOutcome::NotEmpty => Exit::Denied,
            UndoOutcome::Failed => Exit::Failed,
        };
    }
    Ok(exit)
}

/// Says what is changed that something executes or obeys, and what will be there, and waits for a yes of its own: by a flag,
/// or at the terminal.
fn is_wanted_all_the_same(args: &UndoArgs, plan: &UndoPlan, engine: &Handle, console: &mut Console) -> bool {
    for step in plan.steps.iter().filter(|step| step.action.may_change_something()) {
        console.problem(&crate::policy::escape_name(&step.path, false));
        let left_out = show_change(&step.preview, MOST_LINES, console);
        if left_out > 0 {
            let args = [("count", Arg::from(left_out)), ("id", Arg::from(step.entry.as_str()))];
            let text = console.say("cli-undo-more-lines", &args);
            console.problem(&format!("  {text}"));
        }
    }
    let text = console.say("undo-executed-later", &[]);
    console.problem(&text);
    if args.yes {
        return true;
    }
    let question = console.say("cli-undo-ask", &[]);
    let can_ask = console.can_ask();
    console.forget_what_was_typed();
    let answer = console.ask(&question, |_| engine.ended_by().is_none());
    let is_wanted = answer.is_some_and(|word| matches!(word.to_lowercase().as_str(), "y" | "yes" | "是" | "允许"));
    if !is_wanted {
        let key = if can_ask { "cli-undo-declined" } else { "cli-undo-needs-yes" };
        let text = console.say(key, &[]);
        console.problem(&text);
    }
    is_wanted
}

fn find<'list>(entries: &'list [UndoEntry], id: &str, console: &Console) -> Result<&'list UndoEntry, String> {
    let mut matching = entries.iter().filter(|entry| entry.id.as_str().starts_with(id));
    match (matching.next(), matching.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(_), Some(_)) => Err(missing(id, 2, console)),
        (None, _) => Err(missing(id, 0, console)),
    }
}

/// How many entries begin like this, if not exactly one.
fn missing(id: &str, matches: usize, console: &Console) -> String {
    let key = if matches > 1 { "cli-undo-ambiguous" } else { "cli-undo-missing" };
    console.say(key, &[("id", Arg::from(id))])
}

const fn outcome_key(outcome: UndoOutcome, direction: UndoDirection) -> &'static str {
    match (outcome, direction) {
        (UndoOutcome::Done, UndoDirection::Undo) => "cli-undo-done",
        (UndoOutcome::Done, UndoDirection::Redo) => "cli-undo-redone",
        (UndoOutcome::Nothing, _) => "cli-undo-nothing",
        (UndoOutcome::Kept, _) => "cli-undo-kept",
        (UndoOutcome::NotEmpty, _) => "cli-undo-not-empty",
        (UndoOutcome::SavedBeside, _) => "cli-undo-saved-beside",
        (UndoOutcome::Failed, _) => "cli-undo-failed",
    }
}
