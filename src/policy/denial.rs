//! What is never done, whatever the person allowed: judged on the text and on what it resolved to.

use crate::ir::{Access, Code, Failure};

use super::display::holds_unseen;
use super::names::sensitive_failure;
use super::protected::is_protected_below;
use super::remote::deny_server;
use super::{
    CallFacts, CommandJudgement, NameVerdict, Origin, PathPlace, ProtectedWrite, Reach, TargetFacts, TargetKind,
    blocked_path, folder_concern, judge_name,
};

/// The refusal that nobody can lift, if there is one.
pub(super) fn built_in_denial(facts: &CallFacts) -> Option<Failure> {
    if let Some(CommandJudgement::Denied { reason }) = &facts.command {
        return Some(Failure::new(Code::CommandDenied, reason.clone()));
    }
    let for_server = match facts.origin {
        Origin::Server => deny_server(facts),
        Origin::Model | Origin::CommandLine => None,
    };
    for_server.or_else(|| facts.targets.iter().find_map(|target| deny_target(target, facts)))
}

fn deny_target(target: &TargetFacts, facts: &CallFacts) -> Option<Failure> {
    deny_place(target, facts.access)
        .or_else(|| blocked_path(&target.resolved, &facts.surroundings))
        .or_else(|| match &target.place {
            PathPlace::Inside { root, relative, .. } => blocked_path(&relative.below(root), &facts.surroundings),
            PathPlace::Outside => None,
        })
        .or_else(|| deny_name(target))
        .or_else(|| deny_kind(target))
        .or_else(|| match facts.access {
            Access::Read | Access::Execute => None,
            Access::Write => deny_write(target),
            Access::Delete => deny_deletion(target, facts),
        })
}

/// Outside the allowed folders there is nothing but reading.
fn deny_place(target: &TargetFacts, access: Access) -> Option<Failure> {
    let message = match (&target.place, access) {
        (PathPlace::Inside { .. }, _) | (PathPlace::Outside, Access::Read) => return None,
        (PathPlace::Outside, Access::Write | Access::Delete) => {
            "Files are only changed inside the allowed folders: use a path in one of them, or ask the person to add \
             its folder."
        }
        (PathPlace::Outside, Access::Execute) => {
            "Commands only start inside the allowed folders: use a folder in one of them."
        }
    };
    Some(Failure::new(Code::PathOutOfScope, message))
}

fn deny_name(target: &TargetFacts) -> Option<Failure> {
    let sensitive = |parts: &[String]| match judge_name(parts) {
        NameVerdict::Sensitive { part } => Some(sensitive_failure(&part)),
        NameVerdict::Suspicious { .. } | NameVerdict::Ordinary => None,
    };
    match &target.place {
        PathPlace::Inside { .. } if target.lifted => None,
        PathPlace::Inside { relative, resolved_relative, .. } => {
            sensitive(relative.parts()).or_else(|| sensitive(resolved_relative.parts()))
        }
        PathPlace::Outside => sensitive(&outside_parts(target)),
    }
}

/// The names of a path outside, for judging.
pub(super) fn outside_parts(target: &TargetFacts) -> Vec<String> {
    target.resolved.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

fn deny_kind(target: &TargetFacts) -> Option<Failure> {
    match target.kind {
        TargetKind::Missing | TargetKind::File | TargetKind::Folder | TargetKind::Link => None,
        TargetKind::Special => Some(Failure::new(
            Code::SpecialFileDenied,
            "This is a pipe, a socket or a device, and tools only work on files and folders: use an ordinary file.",
        )),
    }
}

fn deny_write(target: &TargetFacts) -> Option<Failure> {
    let PathPlace::Inside { root, relative, resolved_relative } = &target.place else { return None };
    let paths = [relative, resolved_relative];
    if paths.into_iter().any(|path| is_protected_below(root, path) == Some(ProtectedWrite::Denied)) {
        return Some(Failure::new(
            Code::ProtectedPathDenied,
            "A program runs or obeys what is written here, so tools never write it: ask the person to make this change.",
        ));
    }
    if let Some(reach) = target.reaches.iter().find(|reach| reach.verdict() == Some(ProtectedWrite::Denied)) {
        return Some(Failure::new(Code::ProtectedPathDenied, reach.refusal()));
    }
    paths.into_iter().any(|path| path.parts().iter().any(|part| holds_unseen(part))).then(|| {
        Failure::new(
            Code::PathInvalid,
            "The name holds characters that cannot be seen, or a space at an end, so nothing is written under it: use a name \
             without them.",
        )
    })
}

fn deny_deletion(target: &TargetFacts, facts: &CallFacts) -> Option<Failure> {
    if let Some(made) = target.reaches.iter().find(|reach| matches!(reach, Reach::MakesRepository { .. })) {
        return Some(Failure::new(Code::ProtectedPathDenied, made.refusal()));
    }
    let refuse = |message: &str| Some(Failure::new(Code::BlockedPathDenied, message));
    if let PathPlace::Inside { relative, resolved_relative, .. } = &target.place
        && (relative.is_empty() || resolved_relative.is_empty())
    {
        return refuse("An allowed folder itself is never deleted: name what in it should go.");
    }
    if target.is_mount_point {
        return refuse("A mount point is never deleted: name what in it should go.");
    }
    if target.is_home {
        return refuse("A home folder is never deleted: name what in it should go.");
    }
    match target.kind {
        TargetKind::Folder => {}
        TargetKind::Missing | TargetKind::File | TargetKind::Link | TargetKind::Special => return None,
    }
    if facts.roots.iter().any(|root| root.starts_with(&target.resolved)) {
        return refuse("This folder is or holds an allowed folder, which is never deleted: name what in it should go.");
    }
    folder_concern(&target.resolved, &facts.surroundings)
        .and_then(|_| refuse("This folder holds places that are closed to tools: name what in it should go."))
}
