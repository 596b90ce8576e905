//! "Would have allowed 4 of the last 9 calls": each offered rule tried on what the session really did.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::ir::{Access, CallId, CallRecord, Failure, Preview, RuleId, UnixMs};
use crate::policy::{
    CallFacts, PathPlace, RelPath, Rule, RuleEffect, RuleMaker, RuleScope, TargetFacts, TargetKind, judge_command,
    matching_rules,
};
use crate::port::RuleOffer;
use crate::tool::Tool;
use crate::workspace::Purpose;

use super::super::shared::Shared;
use super::Caller;
use super::examine::blocking;

/// How many calls are looked back at.
const LOOK_BACK: usize = 20;

/// The session's last calls as far as its ledger tells, to try rules on.
pub(super) struct History(Vec<CallFacts>);

impl History {
    /// The calls before this one.
    pub(super) async fn read(caller: &Caller, call: &CallId, facts: &CallFacts) -> Result<Self, Failure> {
        let recent = caller.shared.store.recent_calls(caller.transcript.id(), LOOK_BACK + 1).await?;
        let (shared, call, facts) = (Arc::clone(&caller.shared), call.clone(), facts.clone());
        // Each command line of them is judged anew.
        blocking(move || {
            let before = recent.iter().filter(|record| record.call.id != call).take(LOOK_BACK);
            Self(before.filter_map(|record| facts_of(&shared, record, &facts)).collect())
        })
        .await
    }

    /// How many of them a rule of this kind would have decided, and of how many.
    pub(super) fn try_rule(&self, effect: RuleEffect, scope: &RuleScope) -> (u32, u32) {
        let rule = [Rule {
            id: RuleId::new(""),
            session: None,
            effect,
            scope: scope.clone(),
            made_by: RuleMaker::Modal,
            created_at: UnixMs(0),
            hits: 0,
        }];
        let hits = self.0.iter().filter(|past| !matching_rules(past, &rule).is_empty()).count();
        (u32::try_from(hits).unwrap_or(u32::MAX), u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }

    /// The scopes with what each would have refused.
    pub(super) fn offers(&self, scopes: Vec<RuleScope>) -> Vec<RuleOffer> {
        let offer = |scope: RuleScope| {
            let (covered, of) = self.try_rule(RuleEffect::Deny, &scope);
            RuleOffer { scope, covered, of }
        };
        scopes.into_iter().map(offer).collect()
    }
}

/// What a call of the ledger was about, as far as its row tells; `None` for one that no gate has looked at, as those of an
/// imported chat.
fn facts_of(shared: &Shared, record: &CallRecord, now: &CallFacts) -> Option<CallFacts> {
    if record.grounds.plan_hash.is_empty() {
        return None;
    }
    let tool = shared.tools.iter().find(|tool| tool.definition().name == record.call.name)?;
    let target = record.target.as_ref()?;
    let (access, command) = (tool.access(), record.call.args.get("command").and_then(Value::as_str));
    let targets = match access {
        Access::Read | Access::Write | Access::Delete => {
            let kind = if is_of_folder(record, &**tool) { TargetKind::Folder } else { TargetKind::File };
            vec![facts_of_target(PathBuf::from(target), kind, &now.roots)]
        }
        Access::Execute => Vec::new(),
    };
    Some(CallFacts {
        tool: record.call.name.clone(),
        access,
        risk: tool.definition().risk_level,
        args_hash: record.args_hash.clone(),
        plan_hash: record.grounds.plan_hash.clone(),
        command_text: command.unwrap_or_default().to_owned(),
        command: command.map(judge_command),
        targets,
        ..now.clone()
    })
}

fn facts_of_target(resolved: PathBuf, kind: TargetKind, roots: &[PathBuf]) -> TargetFacts {
    TargetFacts {
        given: resolved.display().to_string(),
        place: place_of(&resolved, roots),
        resolved,
        kind,
        links: 1,
        other_mount: false,
        is_mount_point: false,
        is_home: false,
        lifted: false,
        reaches: Vec::new(),
    }
}

/// In the innermost folder that holds it, as the gate has it.
fn place_of(resolved: &Path, roots: &[PathBuf]) -> PathPlace {
    let inside = roots.iter().filter_map(|root| Some((root, resolved.strip_prefix(root).ok()?)));
    let Some((root, below)) = inside.max_by_key(|(root, _)| root.components().count()) else {
        return PathPlace::Outside;
    };
    let parts = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match RelPath::from_parts(parts) {
        Some(relative) => {
            PathPlace::Inside { root: root.clone(), relative: relative.clone(), resolved_relative: relative }
        }
        None => PathPlace::Outside,
    }
}

/// Whether the row says that it was about a folder.
fn is_of_folder(record: &CallRecord, tool: &dyn Tool) -> bool {
    let makes_folder = || {
        let asked = tool.parse(&record.call.args).ok();
        asked.is_some_and(|asked| asked.paths.iter().any(|path| path.purpose == Purpose::CreateFolder))
    };
    let lists = record.result.as_ref().is_some_and(|result| result.result.get("entries").is_some());
    lists || matches!(record.preview, Some(Preview::Tree { .. })) || makes_folder()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_target_lies_in_the_innermost_folder_that_holds_it() {
        let roots: Vec<PathBuf> = ["/projects", "/projects/a/b", "/projects/a"].iter().map(PathBuf::from).collect();
        for (path, folder, below) in [
            ("/projects/a/b/c.md", "/projects/a/b", "c.md"),
            ("/projects/a/c.md", "/projects/a", "c.md"),
            ("/projects/ab/c.md", "/projects", "ab/c.md"),
        ] {
            let PathPlace::Inside { root, relative, .. } = place_of(Path::new(path), &roots) else { panic!("{path}") };
            assert_eq!((root.as_path(), relative.to_slash().as_str()), (Path::new(folder), below));
        }
        assert_eq!(place_of(Path::new("/elsewhere/c.md"), &roots), PathPlace::Outside);
    }
}
