//! Steps 1 to 6: what a call would do, found out without asking anybody and without changing anything.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::ir::{
    Access, Code, Confinement, Failure, LinkedOutside, Network, Preview, Session, SessionId, Started, ToolCall,
};
use crate::policy::{
    CallFacts, CommandJudgement, Decision, Lexical, MaskedSecret, Origin, PathPlace, Reach, Shown, Surroundings,
    TargetFacts, decide, folder_concern, judge_command, lexical, lexical_of_server,
};
use crate::port::Settings;
use crate::tool::schema::{MAX_ARGUMENT_BYTES, args_hash, parse_strict, validate};
use crate::tool::{PreviewContext, Tool, ToolRequest};
use crate::workspace::{Effect, Purpose, Root, Target, Unresolved, reaches, resolve_outside, resolve_telling};

use super::super::request::is_enabled;
use super::super::undo::Undo;
use super::keep;
use super::plan::{self, Bound, Plan};
use super::{Caller, Refusal};

/// Finds out all that a decision needs, and decides.
pub(super) async fn examine(caller: &Caller, call: &ToolCall) -> Result<Plan, Refusal> {
    let shared = &caller.shared;
    let _place = shared.looks.acquire().await.ok();
    let settings = shared.settings();
    let session = caller.transcript.session().await.map_err(|fault| Failure::new(Code::IoError, fault.detail))?;

    let tool = find(caller, call)?;
    let def = tool.definition();
    let args = arguments(caller.origin, call)?;
    validate(&def, &args)?;
    if !is_enabled(&def.name, &settings, &caller.options) {
        let words = format!("The tool {} is switched off. The person can switch it on in Settings.", def.name);
        return Err(Failure::new(Code::ToolNotEnabled, words).into());
    }

    refuse_placeholders(caller, &session.id, tool.access(), &args).await?;

    // A search compiles what it looks for, which may take a while.
    let parsing = Arc::clone(&tool);
    let (args, request) = blocking(move || {
        let request = parsing.parse(&args);
        (args, request)
    })
    .await?;
    let request = request?;
    let folders: Vec<PathBuf> = session.folders.iter().map(PathBuf::from).collect();
    let lifted = shared.store.lifted(&session.id).await.map_err(Failure::from)?;
    let places = judge_text(caller, &request, &folders, &lifted)?;
    let confinement = confinement(caller, tool.access()).await;
    let command = judge_line(caller, &request, &confinement, &settings).await?;

    let opened = blocking({
        let request = request.clone();
        let (folders, access, surroundings) = (folders.clone(), tool.access(), shared.surroundings.clone());
        let (tool, args) = (Arc::clone(&tool), args.clone());
        move || {
            open(&request, &places, &folders).map(|opened| {
                let ways = ways_to(&opened.targets, &opened.roots, access, &surroundings);
                let started = tool.starts(&args, &opened.targets, &opened.roots);
                (opened, ways, started)
            })
        }
    })
    .await?;
    let rules = shared.store.rules(&session.id).await.map_err(Failure::from)?;
    let facts_with = |targets: Vec<TargetFacts>, plan_hash: String, started: &Started| CallFacts {
        origin: caller.origin,
        tool: def.name.clone(),
        access: tool.access(),
        risk: def.risk_level,
        mode: session.mode,
        args_hash: args_hash(&args),
        plan_hash,
        command_text: request.command.clone().unwrap_or_default(),
        roots: folders.clone(),
        surroundings: shared.surroundings.clone(),
        targets: targets
            .into_iter()
            .map(|facts| TargetFacts { lifted: lifted.contains(&facts.resolved), ..facts })
            .collect(),
        command: command.clone(),
        remember_commands: settings.safety.remember_commands,
        starts_only_known: started.is_certain(),
        shown: Shown::default(),
    };
    let (Opened { roots, targets, mut unopened }, ways, started): (_, Vec<_>, _) = match opened {
        Ok(opened) => opened,
        Err(NotOpened { failure, headed }) => {
            // What a path was headed to is judged before its absence is told: a link to a secret answers alike whether
            // the secret is there or not.
            if let Some(headed) = headed
                && let Decision::Deny { failure, by, rule } =
                    decide(&facts_with(vec![*headed], String::new(), &Started::default()), &rules)
            {
                return Err(Refusal::denied_by(failure, by, rule));
            }
            return Err(failure.into());
        }
    };
    if tool.access() == Access::Execute {
        check_folders(&roots, &confinement, &shared.surroundings)?;
    }
    let named = request.paths.iter().zip(&targets).zip(ways);
    let tier = plan::tier(tool.access(), &confinement);
    let network = Network::Denied;
    // What the rules go by: a plan that is asked for again is the same before anything is shown of it.
    let bound = Bound {
        origin: caller.origin,
        tool: &def.name,
        args: &args,
        roots: &roots,
        targets: &targets,
        tier,
        network,
        started: &started,
        shown: &Shown::default(),
    };
    let mut facts = facts_with(
        named.map(|((wanted, target), reaches)| TargetFacts { reaches, ..target.facts(&wanted.given) }).collect(),
        bound.hash(),
        &started,
    );
    let decision = decide(&facts, &rules);
    if let Decision::Deny { failure, by, rule } = decision {
        if let Some(rule) = &rule {
            count_hit(caller, rule).await;
        }
        return Err(Refusal::denied_by(failure, by, rule));
    }

    let withheld = if caller.is_for_elsewhere {
        // Where they cannot be read none was said to go as it is.
        Some(shared.store.secrets(&session.id).await.unwrap_or_default())
    } else {
        None
    };
    let asks = matches!(decision, Decision::Ask { .. });
    let is_outside = facts.targets.iter().any(|target| target.place == PathPlace::Outside);
    let (targets, preview) = if (asks || tool.access() != Access::Read) && unopened.is_none() {
        let (limits, confinement) = (shared.limits(), confinement.clone());
        let (roots, started, withheld) = (roots.clone(), started.clone(), withheld.clone());
        let context = PreviewContext { limits, confinement, roots, started, withheld };
        match preview(&tool, &args, targets, context).await? {
            (targets, Ok(preview)) => (targets, Some(preview)),
            // Of what lies outside nothing is told before the yes, not even that it is a folder.
            (targets, Err(failure)) if is_outside => {
                unopened = Some(failure);
                (targets, None)
            }
            (_, Err(failure)) => return Err(failure.into()),
        }
    } else {
        (targets, None)
    };
    let room_bytes = if tool.access().changes_named_files() { Undo::room_bytes(shared).await } else { 0 };
    let is_undoable =
        keep::foretell(shared, &*tool, &args, &targets, preview.as_ref(), withheld.as_deref(), room_bytes);
    facts.shown = shown(tool.access(), preview.as_ref(), is_undoable);
    // With what the look has shown, and so wherever these facts are judged again.
    let mut decision = decide(&facts, &rules);
    if let (Decision::Ask { reasons, .. }, Some(target), Some(preview)) =
        (&mut decision, facts.targets.first(), &preview)
    {
        reasons.extend(
            super::tree::reasons(target, preview).into_iter().filter(|new| !reasons.contains(new)).collect::<Vec<_>>(),
        );
    }
    let hash = String::new();
    let plan = Plan {
        tool,
        def,
        args,
        targets,
        roots,
        facts,
        decision,
        preview,
        tier,
        network,
        started,
        withheld,
        unopened,
        hash,
    };
    Ok(plan.bind())
}

/// A model that was sent a placeholder may write it back where the value stands, which would be lost. What changes
/// something holds none of this session's placeholders.
async fn refuse_placeholders(
    caller: &Caller,
    session: &SessionId,
    access: Access,
    args: &Value,
) -> Result<(), Refusal> {
    if !access.changes_something() {
        return Ok(());
    }
    let secrets = caller.shared.store.secrets(session).await.map_err(Failure::from)?;
    if secrets.is_empty() {
        return Ok(());
    }
    let text = args.to_string();
    let Some(found) = secrets.iter().map(MaskedSecret::placeholder).find(|found| text.contains(found)) else {
        return Ok(());
    };
    let words = format!(
        "{found} stands for a value that you were not shown: written like this, the value itself would be lost. Leave \
         the line that holds it as it is, for example with edit_file around it, or ask the person to send the value."
    );
    Err(Failure::new(Code::InvalidArguments, words).into())
}

/// By which other ways something that executes files comes to each of what is changed.
pub(super) fn ways_to(
    targets: &[Target],
    roots: &[Root],
    access: Access,
    surroundings: &Surroundings,
) -> Vec<Vec<Reach>> {
    let to = |target: &Target| {
        let effect = if access.changes_named_files() { Effect::of(target.purpose()) } else { None };
        effect.map(|effect| reaches(target, effect, roots, surroundings.home.as_deref())).unwrap_or_default()
    };
    targets.iter().map(to).collect()
}

/// What the look at a call's effect has shown.
fn shown(access: Access, preview: Option<&Preview>, is_undoable: bool) -> Shown {
    let (unseen_places, linked) = match preview {
        Some(Preview::Command(command)) => (command.unseen, command.linked.clone()),
        Some(Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. }) | None => {
            (0, LinkedOutside::default())
        }
    };
    Shown { unseen_places, linked, is_for_good: access.changes_named_files() && !is_undoable }
}

pub(super) async fn count_hit(caller: &Caller, rule: &crate::ir::RuleId) {
    if let Err(error) = caller.shared.store.count_rule_hit(rule).await {
        tracing::warn!(%error, "a rule's hit was not counted");
    }
    if caller.transcript.report_rules().await.is_err() {
        tracing::warn!("the rules could not be read anew");
    }
}

/// Runs what may block on the disk off the engine's own threads. A panic there is a failure of this call alone.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|broken| {
        tracing::error!(%broken, "looking at a call's target broke");
        Failure::new(Code::IoError, "Looking at the target broke inside Nod; nothing was changed.")
    })
}

/// Whether a call may change something; one of a tool that is not there changes nothing.
pub(super) fn is_change(caller: &Caller, call: &ToolCall) -> bool {
    find(caller, call).is_ok_and(|tool| tool.access().changes_something())
}

fn find(caller: &Caller, call: &ToolCall) -> Result<Arc<dyn Tool>, Failure> {
    let for_servers;
    let tools = match caller.origin {
        Origin::Model | Origin::CommandLine => &caller.shared.tools,
        Origin::Server => {
            for_servers = crate::tool::for_servers();
            &for_servers
        }
    };
    tools.iter().find(|tool| tool.definition().name == call.name).cloned().ok_or_else(|| {
        let settings = caller.shared.settings();
        let names = tools.iter().map(|tool| tool.definition().name);
        let names: Vec<_> = names.filter(|name| is_enabled(name, &settings, &caller.options)).collect();
        let words = format!("There is no tool named {}. There are: {}.", call.name, names.join(", "));
        Failure::new(Code::ToolNotAvailable, words)
    })
}

/// Step 1. A model's arguments were mended before; a person's are parsed here as they were typed. Nothing is mended here.
fn arguments(origin: Origin, call: &ToolCall) -> Result<Value, Failure> {
    if let (Origin::CommandLine, Some(raw)) = (origin, &call.raw_args) {
        return parse_strict(raw, MAX_ARGUMENT_BYTES);
    }
    if let Some(problem) = &call.parse_error {
        let words = format!("The arguments could not be read: {problem}. Send one JSON object that fits the schema.");
        return Err(Failure::new(Code::InvalidArguments, words));
    }
    Ok(call.args.clone())
}

/// Step 4 for paths: before the disk is touched.
fn judge_text(
    caller: &Caller,
    request: &ToolRequest,
    folders: &[PathBuf],
    lifted: &[PathBuf],
) -> Result<Vec<Lexical>, Failure> {
    let mut places = Vec::with_capacity(request.paths.len());
    for wanted in &request.paths {
        let surroundings = &caller.shared.surroundings;
        let place = match caller.origin {
            Origin::Model | Origin::CommandLine => lexical(&wanted.given, folders, lifted, surroundings)?,
            Origin::Server => lexical_of_server(&wanted.given, folders, surroundings)?,
        };
        if matches!(place, Lexical::Outside { .. }) && wanted.purpose != Purpose::Read {
            let words = format!("Changes are made inside the allowed folders only. Path: {}", wanted.given);
            return Err(Failure::new(Code::PathOutOfScope, words));
        }
        places.push(place);
    }
    Ok(places)
}

/// How far a command would be confined. What is no command needs no confinement.
async fn confinement(caller: &Caller, access: Access) -> Confinement {
    match access {
        Access::Execute => caller.shared.confiner.find().await.confinement.clone(),
        Access::Read | Access::Write | Access::Delete => Confinement::default(),
    }
}

/// A command writes wherever its folders reach: a folder that holds what is closed to tools is none for it.
fn check_folders(roots: &[Root], confinement: &Confinement, surroundings: &Surroundings) -> Result<(), Failure> {
    if !confinement.tier.is_confined() {
        return Ok(());
    }
    match roots.iter().find(|root| folder_concern(root.real_path(), surroundings).is_some()) {
        None => Ok(()),
        Some(root) => {
            let words = format!(
                "A command may write in the whole of an allowed folder, and this one holds places that are closed to tools. \
                 Ask the person to allow a narrower folder. Folder: {}",
                root.path().display()
            );
            Err(Failure::new(Code::BlockedPathDenied, words))
        }
    }
}

/// Step 4 for commands. The longest line takes a while, so it is judged off the engine's own threads.
async fn judge_line(
    caller: &Caller,
    request: &ToolRequest,
    confinement: &Confinement,
    settings: &Settings,
) -> Result<Option<CommandJudgement>, Failure> {
    let Some(line) = request.command.clone() else { return Ok(None) };
    let judgement = blocking(move || judge_command(&line)).await?;
    if let CommandJudgement::Denied { reason } = &judgement {
        return Err(Failure::new(Code::CommandDenied, reason.clone()));
    }
    if !confinement.tier.is_confined() && settings.safety.never_unconfined && !caller.options.allow_unconfined {
        let obstacles = confinement.obstacles.iter().map(|obstacle| obstacle.kind.in_words());
        let words = format!(
            "Commands cannot be confined on this computer ({}), and running them unconfined is not allowed. \
             The person can mend that (`nod doctor` says how), or allow it in Settings, or with --allow-unconfined for one \
             run.",
            obstacles.collect::<Vec<_>>().join("; ")
        );
        return Err(Failure::new(Code::UnconfinedDenied, words));
    }
    Ok(Some(judgement))
}

/// What step 5 opened.
struct Opened {
    roots: Vec<Root>,
    targets: Vec<Target>,
    /// Why a target outside could not be opened: told after the yes, as its existence is.
    unopened: Option<Failure>,
}

/// Why step 5 opened nothing.
struct NotOpened {
    failure: Failure,
    /// What the path was headed to.
    headed: Option<Box<TargetFacts>>,
}

impl From<Failure> for NotOpened {
    fn from(failure: Failure) -> Self {
        Self { failure, headed: None }
    }
}

/// Step 5: every path once, beneath its opened folder.
fn open(request: &ToolRequest, places: &[Lexical], folders: &[PathBuf]) -> Result<Opened, NotOpened> {
    let opened: Vec<Result<Root, Failure>> =
        folders.iter().map(|folder| Root::reopen(folder).map_err(Failure::from)).collect();
    let mut targets = Vec::with_capacity(places.len());
    let mut unopened = None;
    for (wanted, place) in request.paths.iter().zip(places) {
        targets.push(match place {
            Lexical::Inside { root, relative } => match opened.get(*root) {
                Some(Ok(root)) => {
                    resolve_telling(root, relative, wanted.purpose).map_err(|Unresolved { error, headed }| {
                        let headed =
                            headed.map(|facts| Box::new(TargetFacts { given: wanted.given.clone(), ..*facts }));
                        NotOpened { failure: error.into(), headed }
                    })?
                }
                Some(Err(failure)) => return Err(failure.clone().into()),
                None => return Err(Failure::new(Code::PathOutOfScope, "The path lies in no allowed folder.").into()),
            },
            Lexical::Outside { absolute } => resolve_outside(absolute).unwrap_or_else(|error| {
                unopened = Some(error.into());
                Target::unopened_outside(absolute)
            }),
        });
    }
    // A command starts in the first folder and may write in all of them: none may be left out unseen.
    let roots = if request.command.is_some() {
        opened.into_iter().collect::<Result<Vec<_>, _>>()?
    } else {
        opened.into_iter().flatten().collect()
    };
    Ok(Opened { roots, targets, unopened })
}

async fn preview(
    tool: &Arc<dyn Tool>,
    args: &Value,
    targets: Vec<Target>,
    context: PreviewContext,
) -> Result<(Vec<Target>, Result<Preview, Failure>), Failure> {
    let (tool, args) = (Arc::clone(tool), args.clone());
    blocking(move || {
        let preview = tool.preview(&args, &targets, &context);
        (targets, preview)
    })
    .await
}

/// The session that a question names.
pub(super) async fn session(caller: &Caller) -> Result<Session, Failure> {
    caller.transcript.session().await.map_err(|fault| Failure::new(Code::IoError, fault.detail))
}
