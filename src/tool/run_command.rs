//! `run_command`: a shell command in an allowed folder, exactly as it was shown, with everything it starts ended with it.

mod confine;
#[cfg_attr(not(unix), path = "run_command/guarded_portable.rs")]
mod guarded;
mod started;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{arguments, schema_of};
use super::{
    CommandWalls, Limits, PathWanted, Permit, PreviewContext, PutBack, RunContext, RunError, Tool, ToolRequest,
};
use crate::ir::{
    Access, Code, CommandPreview, Failure, Leak, Network, Preview, RiskLevel, Started, Tier, ToolCategory, ToolDef,
};
use crate::sandbox::{self, CommandOutcome, CommandSpec, Confine, Ending, SandboxError, signal_name};
use crate::workspace::{
    ChangedOutside, Guard, GuardReport, Purpose, RecordedRun, Revert, Reverted, Root, Target, Watching,
};

/// A command line.
pub(super) struct RunCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command line, run by `sh -c`. It has no terminal and no standard input.
    command: String,
    /// The folder to start in, inside an allowed folder; the first allowed folder by default.
    #[serde(default)]
    cwd: Option<String>,
    /// After how many milliseconds it is stopped; 30000 by default, 120000 at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

/// What Linux takes as one argument of a program.
const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

impl Tool for RunCommand {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "run_command".into(),
            description: "Runs a shell command in an allowed folder and returns what it printed. Every call is shown to \
                the person and waits for their yes. Processes left in the background are ended with the command; output \
                past 100 KB of a stream loses its middle."
                .into(),
            parameters: schema_of::<Arguments>(),
            category: ToolCategory::CodeExecution,
            risk_level: RiskLevel::Critical,
            requires_permission: true,
            timeout_ms: Limits::default().command_timeout_max_ms,
        }
    }

    fn access(&self) -> Access {
        Access::Execute
    }

    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure> {
        let Arguments { command, cwd, timeout: _ } = arguments(args)?;
        let problem = if command.trim().is_empty() {
            "`command` is empty: give the command line to run."
        } else if command.contains('\0') {
            "`command` holds a NUL character, which no command line can have."
        } else if command.len() > MAX_COMMAND_BYTES {
            "`command` is longer than 128 KB: write it to a script file and run that."
        } else {
            let cwd = PathWanted { given: cwd.unwrap_or_else(|| ".".into()), purpose: Purpose::Read };
            return Ok(ToolRequest { paths: vec![cwd], command: Some(command) });
        };
        Err(Failure::new(Code::InvalidArguments, problem))
    }

    fn preview(&self, args: &Value, targets: &[Target], context: &PreviewContext) -> Result<Preview, Failure> {
        let args: Arguments = arguments(args)?;
        let cwd = working_folder(targets)?;
        Ok(Preview::Command(CommandPreview {
            timeout_ms: timeout_ms(&args, &context.limits),
            command: args.command,
            cwd: cwd.resolved().display().to_string(),
            environment: sandbox::environment(cwd.resolved(), temporary_folder(context.confinement.tier)),
            tier: context.confinement.tier,
            gaps: context.confinement.gaps.clone(),
            network: Network::Denied,
            unseen: confine::unseen(context.confinement.tier, &context.roots),
            linked: confine::linked(context.confinement.tier, &context.roots).outside(),
            started: context.started.clone(),
        }))
    }

    fn starts(&self, args: &Value, targets: &[Target], roots: &[Root]) -> Started {
        let line = arguments::<Arguments>(args).ok().map(|args| args.command);
        let begins = line.as_deref().zip(working_folder(targets).ok());
        begins.map(|(line, cwd)| started::started(line, cwd, roots)).unwrap_or_default()
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Arguments = arguments(permit.args())?;
        let cwd = working_folder(permit.targets())?;
        let handle = cwd
            .folder()?
            .handle()
            .map_err(|error| Failure::new(Code::IoError, format!("The folder to run in cannot be used: {error}.")))?;
        let CommandWalls { tier, network, .. } = context.walls;
        // Without walls the person allowed everything, in red.
        let mut guard = tier.is_confined().then(|| Guard::take(permit.roots(), Watching::Yes));
        if guard.as_ref().is_some_and(Guard::is_blind) {
            let words = "Nod could not watch the folders while the command runs: too many programs watch files already \
                         (inotify instances). Nothing ran. The person can close some of them, or raise \
                         fs.inotify.max_user_instances.";
            return Err(Failure::new(Code::IoError, words).into());
        }
        if let Some(place) = guard.as_ref().and_then(Guard::shifting) {
            let words = "Something here is obeyed by git or an editor only where a process stands in the right folder (a \
                         link in it leads through /proc): no command runs beside it, as nobody can tell what it would \
                         make of it. Nothing ran. The person can remove it or leave it out of the allowed folders.";
            return Err(Failure::new(Code::ProtectedPathDenied, format!("{words} ({})", place.display())).into());
        }
        if let (Some(guard), Some(records)) = (&mut guard, &context.guard_log.records) {
            guard.recall(records);
        }
        let confine = match &mut guard {
            Some(guard) => confine::confine(&context.walls, permit.roots(), guard, &context.lifted)?,
            None => Confine::default(),
        };
        let links = confine::linked(tier, permit.roots());
        if !context.walls.linked.covers(&links.outside()) {
            let words = "Files in the allowed folders have further names outside them that were not there when this was \
                         approved, so nothing ran. Try again: then the person is asked.";
            return Err(Failure::new(Code::TargetChanged, words).into());
        }
        let mut spec = CommandSpec {
            timeout: Duration::from_millis(timeout_ms(&args, &context.limits)),
            command: args.command,
            cwd: handle,
            cwd_path: cwd.resolved().to_path_buf(),
            output_bytes: context.limits.command_output_bytes,
            confine,
        };
        let record = match (&guard, &context.guard_log.records) {
            (Some(guard), Some(folder)) => {
                let run = RecordedRun {
                    mark: permit.call().as_str(),
                    timeout: spec.timeout,
                    may_stop_nod: tier.known_gaps().contains(&Leak::Signal),
                };
                Some(guard.record(folder, &run).map_err(|error| {
                    let words =
                        format!("What finishes the look after a crash could not be kept, so nothing ran: {error}.");
                    Failure::new(Code::IoError, words)
                })?)
            }
            (None, _) | (_, None) => None,
        };
        // The last step before it starts: the look around the folders took a while.
        let (starts, held) = started::look(&spec.command, cwd, permit.roots());
        if starts.files != context.walls.started.files {
            if let Some(record) = record {
                record.done();
            }
            let words = "A file that the command starts is not the one that was there when it was approved, so nothing \
                         ran. Try again: then it is judged as it is now.";
            return Err(Failure::new(Code::TargetChanged, words).into());
        }
        match confine::hold(tier, held) {
            Ok(held) => spec.confine.places.extend(held),
            Err(failure) => {
                if let Some(record) = record {
                    record.done();
                }
                return Err(failure.into());
            }
        }
        let (ran, watched) = guarded::run(&spec, guard.as_mut(), record.as_ref(), context);
        let refused = match (&ran, &guard) {
            (Ok(outcome), Some(guard)) => guard.named_in(&refusals(&outcome.stderr.text)),
            (Ok(_) | Err(_), _) => Vec::new(),
        };
        let stopped_for = watched.stopped_for.clone();
        let unwatched = watched.unwatched;
        let report = guard.map(|guard| guard.revert(watched)).unwrap_or_default();
        if let Some(record) = record {
            record.done();
        }
        if let Some(log) = &context.guard_log.put_back {
            // What there is no room for is told, and cannot be brought back.
            for one in PutBack::of(&report, permit.roots()) {
                log.try_send(one).ok();
            }
        }
        let outcome = ran.map_err(|error| failure_of(&error))?;
        let aftermath = Aftermath { report, unwatched, stopped_for, outside: links.changed(), refused };
        result(&outcome, spec.timeout, (tier, network), &aftermath)
    }
}

/// What the command left, and what was done about it.
#[derive(Debug, Default)]
struct Aftermath {
    report: GuardReport,
    /// How many folders were not watched while it ran.
    unwatched: u64,
    /// What it was stopped for.
    stopped_for: Option<(String, Revert)>,
    /// What has further names outside the allowed folders, and changed.
    outside: ChangedOutside,
    /// What it tried to change and could not, as no command may.
    refused: Vec<String>,
}

/// The folder to run in: only ever one inside the allowed folders, although a read outside them may be asked for.
fn working_folder(targets: &[Target]) -> Result<&Target, Failure> {
    let outside =
        || Failure::new(Code::PathOutOfScope, "A command starts only inside an allowed folder: change `cwd`.");
    let target = targets.first().filter(|target| target.root().is_some()).ok_or_else(outside)?;
    target.folder()?;
    Ok(target)
}

fn timeout_ms(args: &Arguments, limits: &Limits) -> u64 {
    args.timeout.unwrap_or(limits.command_timeout_ms).min(limits.command_timeout_max_ms)
}

/// Where a command has its temporary files, as it is shown.
fn temporary_folder(tier: Tier) -> &'static str {
    match tier {
        Tier::A => sandbox::INNER_TEMPORARY_FOLDER,
        Tier::B | Tier::Seatbelt | Tier::Unconfined => sandbox::PRIVATE_FOLDER,
    }
}

/// The result object, or the failure that carries the same fields.
fn result(
    outcome: &CommandOutcome,
    timeout: Duration,
    (tier, network): (Tier, Network),
    Aftermath { report, unwatched, stopped_for, outside, refused }: &Aftermath,
) -> Result<Value, RunError> {
    const KILLED: &str = "SIGKILL";
    let changed = stopped_for.as_ref().filter(|(_, how)| match how {
        Revert::Removed | Revert::Restored | Revert::Left => true,
        Revert::Outside | Revert::Prevented => false,
    });
    let (exit_code, signal, failure) = match outcome.ending {
        // Whether it could be stopped in time says nothing of what it did.
        Ending::Exited(code) if let Some((path, _)) = changed => {
            (Some(code), None, Some((Code::ProtectedPathDenied, too_late_words(path))))
        }
        Ending::Exited(0) => (Some(0), None, None),
        // The command's own verdict: of the stable codes this one misleads least.
        Ending::Exited(code) => {
            (Some(code), None, Some((Code::IoError, format!("The command ended with exit code {code}."))))
        }
        Ending::Signalled(signal) => {
            let name = signal_name(signal);
            let sentence = format!("The command was ended by the signal {name}.");
            (None, Some(name), Some((Code::IoError, sentence)))
        }
        Ending::TooManyProcesses => {
            let sentence =
                "The command had more than 1024 processes at once and was stopped with all of them.".to_owned();
            (None, Some(KILLED.to_owned()), Some((Code::IoError, sentence)))
        }
        Ending::TimedOut => {
            let sentence = format!(
                "The command took longer than {} ms and was stopped with all that it had started. A longer `timeout` \
                 may help.",
                timeout.as_millis()
            );
            (None, Some(KILLED.to_owned()), Some((Code::TimedOut, sentence)))
        }
        Ending::Cancelled if let Some((path, how)) = stopped_for => {
            (None, Some(KILLED.to_owned()), Some((Code::ProtectedPathDenied, stopped_words(path, *how))))
        }
        Ending::Cancelled => {
            let sentence = "The person stopped the command; all that it had started was ended.".to_owned();
            (None, Some(KILLED.to_owned()), Some((Code::Cancelled, sentence)))
        }
    };
    let is_truncated = outcome.stdout.dropped_bytes > 0 || outcome.stderr.dropped_bytes > 0;
    let mut fields = json!({
        "stdout": outcome.stdout.text,
        "stderr": outcome.stderr.text,
        "exitCode": exit_code,
        "duration": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "timedOut": outcome.ending == Ending::TimedOut,
        "truncated": is_truncated,
        "sandboxed": tier.is_confined(),
    });
    if let Some(fields) = fields.as_object_mut() {
        if tier.is_confined() {
            fields.insert("tier".into(), json!(tier));
            fields.insert("network".into(), json!(network == Network::Allowed));
        }
        if !report.reverted.is_empty() {
            fields.insert("reverted".into(), report.reverted.iter().map(shown).collect());
        }
        if !refused.is_empty() {
            fields.insert("refusedToChange".into(), refused.iter().map(refused_change).collect());
        }
        if report.unseen > 0 {
            fields.insert("uncheckedFiles".into(), true.into());
            fields.insert("uncheckedPlaces".into(), report.unseen.into());
        }
        if *unwatched > 0 {
            fields.insert("unwatchedFolders".into(), (*unwatched).into());
        }
        if !outside.changed.is_empty() {
            fields.insert("changedOutside".into(), changed_outside(outside));
        }
        if outside.unclear > 0 {
            fields.insert("unclearOutside".into(), outside.unclear.into());
        }
        if outside.opened > 0 {
            fields.insert("openedFolders".into(), outside.opened.into());
        }
        if outcome.is_exchanged {
            // An editor's save looks the same.
            fields.insert("exchangedWhileRunning".into(), true.into());
        }
        if let Some(signal) = signal {
            fields.insert("signal".into(), signal.into());
        }
        if is_truncated {
            fields.insert("limit".into(), "command_output_bytes".into());
        }
    }
    match failure {
        None => Ok(fields),
        Some((code, sentence)) => Err(RunError { failure: Failure::new(code, sentence), details: fields }),
    }
}

/// The lines in which a program says that the system let it change nothing.
fn refusals(said: &str) -> String {
    const WORDS: [&str; 3] = ["Read-only file system", "Device or resource busy", "Permission denied"];
    said.lines().filter(|line| WORDS.iter().any(|word| line.contains(word))).collect::<Vec<_>>().join("\n")
}

/// What the command tried to change and could not.
fn refused_change(path: &String) -> Value {
    let note = "not changed: no command may, as git, an editor or an agent obeys it. A git command that would (stash, reset, \
                checkout, rebase) is half done now: look with `git status`, and leave the rest to the person.";
    json!({"path": path, "note": note})
}

fn too_late_words(path: &str) -> String {
    format!(
        "The command ended before it could be stopped: {path}, which git, an editor or an agent obeys at once, was changed, \
         moved or removed while it ran, by the command or by another program. It was put back as far as it could be; what \
         else the command did stays. Leave such files to the person."
    )
}

fn stopped_words(path: &str, how: Revert) -> String {
    match how {
        // Nobody is told who wrote: a save of the person's own looks the same.
        Revert::Removed | Revert::Restored | Revert::Left => format!(
            "The command was stopped with all that it had started: {path}, which git, an editor or an agent obeys at once, \
             was changed, moved or removed while it ran, by the command or by another program. Leave such files to the person, and \
             run the rest without them."
        ),
        Revert::Prevented => format!(
            "The command was stopped with all that it had started: {path}, which git, an editor or an agent obeys at once, \
             was opened for writing while it ran, by the command or by another program. The command did not change it. \
             Leave such files to the person, and run the rest without them."
        ),
        Revert::Outside => format!(
            "The command was stopped with all that it had started: another program changed {path} meanwhile, which took \
             away what kept the command from it. Run it again."
        ),
    }
}

/// A protected file that the command changed: later something would execute it.
fn shown(reverted: &Reverted) -> Value {
    let how = match reverted.how {
        Revert::Removed => "removed again: something later executes it",
        Revert::Restored => "put back: something later executes it",
        Revert::Left => {
            "changed, and could not be put back: something later executes it; what was there before is in the history of \
             changes, if there is room"
        }
        Revert::Outside => "changed by another program while the command ran, and left as it is",
        Revert::Prevented => {
            "opened for writing, by the command or by another program, and the command was stopped before it could write: \
             something obeys it at once"
        }
    };
    json!({"path": reverted.path, "state": reverted.how, "note": how})
}

/// Files with further names outside the allowed folders that changed there too.
fn changed_outside(ChangedOutside { changed, .. }: &ChangedOutside) -> Value {
    const MOST_NAMED: usize = 50;
    let paths: Vec<_> = changed.iter().take(MOST_NAMED).map(|path| path.display().to_string()).collect();
    let note =
        "changed in place while the command ran, and so by their names outside the allowed folders too (hard links)";
    json!({"count": changed.len(), "paths": paths, "note": note})
}

fn failure_of(error: &SandboxError) -> Failure {
    let code = match error {
        SandboxError::Unsupported => Code::ToolNotAvailable,
        SandboxError::Confinement { .. } => Code::TargetChanged,
        SandboxError::Io { .. } | SandboxError::Start { .. } | SandboxError::HelperLost => Code::IoError,
    };
    Failure::new(code, format!("The command did not run to its end: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Captured;

    #[test]
    fn the_folder_is_wanted_for_reading_and_is_the_first_allowed_one_by_default() {
        let parse = |args: Value| RunCommand.parse(&args).unwrap();
        let wanted = |given: &str| ToolRequest {
            paths: vec![PathWanted { given: given.into(), purpose: Purpose::Read }],
            command: Some("ls".into()),
        };
        assert_eq!(parse(json!({"command": "ls"})), wanted("."));
        assert_eq!(parse(json!({"command": "ls", "cwd": "sub"})), wanted("sub"));
    }

    #[test]
    fn what_no_shell_can_run_is_refused_before_asking() {
        for command in ["", " \n", "a\0b", &"x".repeat(200_000)] {
            assert_eq!(RunCommand.parse(&json!({"command": command})).unwrap_err().code, Code::InvalidArguments);
        }
    }

    #[test]
    fn the_time_out_has_a_default_and_a_most() {
        let limits = Limits::default();
        let of = |timeout| timeout_ms(&Arguments { command: String::new(), cwd: None, timeout }, &limits);
        assert_eq!((of(None), of(Some(5)), of(Some(900_000))), (30_000, 5, 120_000));
    }

    fn outcome(ending: Ending, dropped_bytes: u64) -> CommandOutcome {
        CommandOutcome {
            stdout: Captured { text: "o".into(), dropped_bytes },
            stderr: Captured::default(),
            ending,
            duration: Duration::from_millis(7),
            is_exchanged: false,
        }
    }

    fn fields(exit_code: Option<i32>, timed_out: bool) -> Value {
        json!({
            "stdout": "o", "stderr": "", "exitCode": exit_code, "duration": 7, "timedOut": timed_out,
            "truncated": false, "sandboxed": false,
        })
    }

    #[test]
    fn only_exit_code_zero_is_a_success_and_every_failure_keeps_the_output() {
        let of = |ending| {
            result(
                &outcome(ending, 0),
                Duration::from_secs(1),
                (Tier::Unconfined, Network::Denied),
                &Aftermath::default(),
            )
        };
        assert_eq!(of(Ending::Exited(0)).unwrap(), fields(Some(0), false));
        let failed = of(Ending::Exited(2)).unwrap_err();
        assert_eq!((failed.failure.code, failed.details), (Code::IoError, fields(Some(2), false)));
        for (ending, code, signal) in [
            (Ending::Signalled(15), Code::IoError, "SIGTERM"),
            (Ending::TimedOut, Code::TimedOut, "SIGKILL"),
            (Ending::Cancelled, Code::Cancelled, "SIGKILL"),
            (Ending::TooManyProcesses, Code::IoError, "SIGKILL"),
        ] {
            let failed = of(ending).unwrap_err();
            let mut expected = fields(None, ending == Ending::TimedOut);
            expected["signal"] = signal.into();
            assert_eq!((failed.failure.code, failed.details), (code, expected));
        }
    }

    #[test]
    fn output_that_lost_its_middle_says_which_limit() {
        let walls = (Tier::Unconfined, Network::Denied);
        let value = result(&outcome(Ending::Exited(0), 1), Duration::ZERO, walls, &Aftermath::default()).unwrap();
        assert_eq!((&value["truncated"], &value["limit"]), (&json!(true), &json!("command_output_bytes")));
    }

    #[test]
    fn a_confined_result_says_how_and_what_was_put_back() {
        let reverted = Reverted { root: 0, path: ".git/hooks/x".into(), how: Revert::Removed, taken: None, left: None };
        let report = GuardReport { reverted: vec![reverted], unseen: 2 };
        let outside = ChangedOutside { changed: vec!["/projects/a".into()], unclear: 4, opened: 5 };
        let aftermath = Aftermath { report, unwatched: 3, outside, ..Aftermath::default() };
        let walls = (Tier::B, Network::Allowed);
        let value = result(&outcome(Ending::Exited(0), 0), Duration::ZERO, walls, &aftermath).unwrap();
        let mut expected = fields(Some(0), false);
        expected["sandboxed"] = true.into();
        expected["tier"] = "b".into();
        expected["network"] = true.into();
        expected["reverted"] = json!([{
            "path": ".git/hooks/x", "state": "removed", "note": "removed again: something later executes it",
        }]);
        expected["uncheckedFiles"] = true.into();
        expected["uncheckedPlaces"] = 2.into();
        expected["unwatchedFolders"] = 3.into();
        expected["changedOutside"] = json!({
            "count": 1, "paths": ["/projects/a"],
            "note": "changed in place while the command ran, and so by their names outside the allowed folders too (hard links)",
        });
        expected["unclearOutside"] = 4.into();
        expected["openedFolders"] = 5.into();
        assert_eq!(value, expected);
    }
}
