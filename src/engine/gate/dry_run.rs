//! "Would have allowed 4 of the last 9 calls": each offered rule tried on the session's last calls.

use std::path::{Path, PathBuf};

use crate::ir::{CallRecord, Failure, RuleId};
use crate::policy::{
    CallFacts, PathPlace, RelPath, Rule, RuleEffect, RuleMaker, RuleScope, TargetFacts, TargetKind, matching_rules,
};

use super::super::shared::Shared;
use super::Caller;

/// How many calls are looked back at.
const LOOK_BACK: usize = 20;

/// For each scope: how many of the last calls it would have covered, and of how many.
pub(super) async fn dry_run(
    caller: &Caller,
    facts: &CallFacts,
    scopes: &[RuleScope],
) -> Result<Vec<(u32, u32)>, Failure> {
    if scopes.is_empty() {
        return Ok(Vec::new());
    }
    let recent = caller.shared.store.recent_calls(caller.transcript.id(), LOOK_BACK).await?;
    let past: Vec<CallFacts> = recent.iter().filter_map(|record| facts_of(&caller.shared, record, facts)).collect();
    let of = u32::try_from(past.len()).unwrap_or(u32::MAX);
    Ok(scopes.iter().map(|scope| (covered(scope, &past, facts), of)).collect())
}

fn covered(scope: &RuleScope, past: &[CallFacts], facts: &CallFacts) -> u32 {
    let rule = [Rule {
        id: RuleId::new(""),
        session: crate::ir::SessionId::new(""),
        effect: RuleEffect::Allow,
        scope: scope.clone(),
        made_by: RuleMaker::Modal,
        created_at: crate::ir::UnixMs(0),
        hits: 0,
    }];
    let hits = past.iter().filter(|past| past.mode == facts.mode && !matching_rules(past, &rule).is_empty()).count();
    u32::try_from(hits).unwrap_or(u32::MAX)
}

/// What a call of the ledger was about, as far as its row tells.
fn facts_of(shared: &Shared, record: &CallRecord, now: &CallFacts) -> Option<CallFacts> {
    let tool = shared.tools.iter().find(|tool| tool.definition().name == record.call.name)?;
    let resolved = PathBuf::from(record.target.as_ref()?);
    Some(CallFacts {
        tool: record.call.name.clone(),
        access: tool.access(),
        risk: tool.definition().risk_level,
        args_hash: record.args_hash.clone(),
        targets: vec![TargetFacts {
            given: resolved.display().to_string(),
            place: place_of(&resolved, &now.roots),
            resolved,
            kind: TargetKind::File,
            links: 1,
            other_mount: false,
            is_mount_point: false,
            is_home: false,
            lifted: false,
        }],
        command: None,
        ..now.clone()
    })
}

fn place_of(resolved: &Path, roots: &[PathBuf]) -> PathPlace {
    for root in roots {
        let Ok(below) = resolved.strip_prefix(root) else { continue };
        let parts = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let Some(relative) = RelPath::from_parts(parts) else { break };
        return PathPlace::Inside { root: root.clone(), relative: relative.clone(), resolved_relative: relative };
    }
    PathPlace::Outside
}
