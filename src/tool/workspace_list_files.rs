//! `workspace.list_files`: what is in a folder of the workspace, for a server. Secrets and repository stores are left out and
//! not counted: not even that they exist leaves this computer.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::visible::is_hidden_by_policy;
use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, cancelled, one_path, only, schema};
use crate::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::{TargetKind, is_repository};
use crate::workspace::{Found, Purpose, Target, WalkOptions, WalkOrder, WalkStart, walk};

/// Most entries of a listing.
const MOST_ENTRIES: usize = 500;
/// How many names are looked at, listed or not.
const MAX_SCANNED: u64 = 20_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the folder, relative to the workspace; "." for the workspace itself.
    path: String,
}

/// Lists a folder for a server.
pub(super) struct WorkspaceListFiles;

impl Tool for WorkspaceListFiles {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "workspace.list_files".into(),
            description: "List a folder of the person's workspace: names, kinds and sizes, at most 500 entries.".into(),
            parameters: schema::schema_of::<Args>(),
            category: ToolCategory::Filesystem,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 10_000,
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure> {
        let args: Args = schema::arguments(args)?;
        Ok(one_path(args.path, Purpose::Read))
    }

    fn preview(&self, _args: &Value, targets: &[Target], _context: &PreviewContext) -> Result<Preview, Failure> {
        only(targets)?.folder()?;
        Ok(Preview::Nothing)
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        let options = WalkOptions {
            order: WalkOrder::NearestFirst,
            max_names: MAX_SCANNED,
            max_depth: 1,
            include_hidden: true,
            respect_gitignore: false,
            is_hidden_by_policy: &|path, name| {
                is_repository(&name.to_string_lossy()) || is_hidden_by_policy(path, name, context)
            },
            cancel: &context.cancel,
        };
        let mut entries = Vec::new();
        let mut has_more = false;
        let mut visit = |found: Found<'_>| {
            if entries.len() >= MOST_ENTRIES {
                has_more = true;
                return ControlFlow::Break(());
            }
            let (kind, size) = match found.kind {
                TargetKind::File => ("file", found.parent.stat_of(found.name).ok().map(|stat| stat.identity.bytes)),
                TargetKind::Folder => ("directory", None),
                TargetKind::Link => ("symlink", None),
                TargetKind::Missing | TargetKind::Special => ("other", None),
            };
            entries.push(json!({"name": found.name.to_string_lossy(), "type": kind, "size": size}));
            ControlFlow::Continue(())
        };
        let report = walk(&WalkStart::at(target)?, &options, &mut visit)?;
        if context.cancel.is_cancelled() {
            return Err(cancelled().into());
        }
        let truncated = has_more || report.has_more_names;
        Ok(json!({"path": args.path, "entries": entries, "truncated": truncated}))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;

    #[test]
    fn secrets_and_repository_stores_are_not_there_for_a_server() {
        let place = Place::new();
        for path in ["b.txt", ".env", "id_rsa", ".git/config", "sub/x", "server.pem", ".gitignore"] {
            place.put(path, "12345");
        }
        let with = place.call(&WorkspaceListFiles, json!({"path": "."})).unwrap();
        assert_eq!(
            with,
            json!({
                "path": ".",
                "entries": [
                    {"name": "sub", "type": "directory", "size": null},
                    {"name": ".gitignore", "type": "file", "size": 5},
                    {"name": "b.txt", "type": "file", "size": 5},
                ],
                "truncated": false,
            })
        );
    }

    #[test]
    fn a_listing_ends_at_five_hundred_entries_and_says_so() {
        let place = Place::new();
        for number in 0..501 {
            place.put(&format!("d/{number:0>240}"), "");
        }
        let result = place.call(&WorkspaceListFiles, json!({"path": "d"})).unwrap();
        assert_eq!((result["entries"].as_array().unwrap().len(), &result["truncated"]), (500, &json!(true)));
        assert!(result.to_string().len() < 1 << 20, "it fits into a frame");
        let args = json!({"path": "d", "recursive": true});
        assert!(place.call(&WorkspaceListFiles, args).is_err(), "a field that is not known is refused");
    }
}
