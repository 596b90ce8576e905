//! `list_directory`: what is in a folder, to a depth.

use std::cmp::Ordering;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::visible::is_hidden_by_policy;
use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, cancelled, one_path, only, schema};
use crate::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::TargetKind;
use crate::workspace::{Found, Purpose, Stat, Target, Visitor, WalkOptions, WalkOrder, WalkStart, walk};

/// How many names are looked at, listed or not.
const MAX_SCANNED: u64 = 20_000;

/// The deepest that a listing goes, whatever is asked for.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the folder, absolute or relative to the first allowed folder; "." for that folder itself.
    path: String,
    /// Also list what is in the folders below.
    #[serde(default)]
    recursive: bool,
    /// How many levels a recursive listing goes down; 1 is the folder itself.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1))]
    max_depth: u32,
    /// Also list names that begin with a dot.
    #[serde(default)]
    include_hidden: bool,
    /// Only list files whose name ends so, for example ".ts". Folders are listed all the same.
    filter_extension: Option<String>,
}

fn default_depth() -> u32 {
    3
}

/// Lists folders.
pub(super) struct ListDirectory;

impl Tool for ListDirectory {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "list_directory".into(),
            description: "List a folder: names, kinds, sizes and times, folders first. At most 500 entries; links are \
                          listed, not followed."
                .into(),
            parameters: schema::schema_of::<Args>(),
            category: ToolCategory::Filesystem,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 30_000,
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
        let levels = usize::try_from(args.max_depth).unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
        let options = WalkOptions {
            order: WalkOrder::NearestFirst,
            max_names: MAX_SCANNED,
            max_depth: if args.recursive { levels } else { 1 },
            include_hidden: args.include_hidden,
            respect_gitignore: false,
            is_hidden_by_policy: &|path, name| is_hidden_by_policy(path, name, context),
            cancel: &context.cancel,
        };
        let mut listing = Listing { args: &args, limit: context.limits.list_entries, entries: Vec::new(), total: 0 };
        let report = walk(&WalkStart::at(target)?, &options, &mut listing)?;
        if report.is_stopped {
            return Err(cancelled().into());
        }
        let Listing { mut entries, total, .. } = listing;
        entries.sort_by(Entry::in_tree_order);
        let truncated = report.has_more_names || total > entries.len();
        let entries: Vec<Value> = entries.into_iter().map(Entry::into_value).collect();
        let mut result = json!({
            "path": target.resolved().to_string_lossy(),
            "entries": entries,
            "total": total,
            "truncated": truncated,
            "hidden_by_policy": report.hidden_by_policy,
        });
        if truncated && let Some(fields) = result.as_object_mut() {
            fields.insert("limit".into(), "list_entries".into());
        }
        Ok(result)
    }
}

/// A listing that is being made.
struct Listing<'call> {
    args: &'call Args,
    /// Most entries that are listed.
    limit: usize,
    entries: Vec<Entry>,
    /// How many there are, listed or not.
    total: usize,
}

impl Visitor for Listing<'_> {
    fn found(&mut self, found: Found<'_>) -> ControlFlow<()> {
        let is_filtered_out = self.args.filter_extension.as_ref().is_some_and(|extension| {
            found.kind == TargetKind::File && !found.name.as_encoded_bytes().ends_with(extension.as_bytes())
        });
        if is_filtered_out {
            return ControlFlow::Continue(());
        }
        self.total += 1;
        if self.entries.len() < self.limit {
            let (stat, error) = match found.parent.stat_of(found.name) {
                Ok(stat) => (Some(stat), None),
                Err(error) => (None, Some(error.to_string())),
            };
            self.entries.push(Entry { relative: found.relative.to_path_buf(), stat, error });
        }
        ControlFlow::Continue(())
    }

    /// Says at a listed folder why what is in it is not.
    fn not_entered(&mut self, relative: &Path, reason: &io::Error) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.relative == relative) {
            entry.error = Some(reason.to_string());
        }
    }
}

/// One entry of a listing.
struct Entry {
    /// Its path below the listed folder.
    relative: PathBuf,
    stat: Option<Stat>,
    error: Option<String>,
}

impl Entry {
    fn is_folder(&self) -> bool {
        self.stat.is_some_and(|stat| stat.kind == TargetKind::Folder)
    }

    /// Every folder followed by what is in it; in a folder, folders first, then by name.
    fn in_tree_order(&self, other: &Self) -> Ordering {
        let (mut here, mut there) = (self.relative.iter(), other.relative.iter());
        loop {
            let (one, two) = match (here.next(), there.next()) {
                (Some(one), Some(two)) if one == two => continue,
                (Some(one), Some(two)) => (one, two),
                (one, two) => return one.is_some().cmp(&two.is_some()),
            };
            // On the way down to an entry there are only folders.
            let is_folder = here.next().is_some() || self.is_folder();
            let other_is_folder = there.next().is_some() || other.is_folder();
            return other_is_folder.cmp(&is_folder).then_with(|| one.cmp(two));
        }
    }

    fn into_value(self) -> Value {
        let name: Vec<_> = self.relative.iter().map(|part| part.to_string_lossy()).collect();
        let (kind, size) = match self.stat {
            Some(Stat { kind: TargetKind::File, identity, .. }) => ("file", Some(identity.bytes)),
            Some(Stat { kind: TargetKind::Folder, .. }) => ("directory", None),
            Some(Stat { kind: TargetKind::Link, .. }) => ("symlink", None),
            Some(Stat { kind: TargetKind::Missing | TargetKind::Special, .. }) | None => ("other", None),
        };
        let modified = self.stat.and_then(|stat| {
            let second = stat.identity.modified_ns.div_euclid(1_000_000_000);
            jiff::Timestamp::from_second(i64::try_from(second).ok()?).ok()
        });
        let mut entry = json!({
            "name": name.join("/"),
            "type": kind,
            "size": size,
            "modified": modified.map(|moment| moment.to_string()),
        });
        if let (Some(error), Some(fields)) = (self.error, entry.as_object_mut()) {
            fields.insert("error".into(), error.into());
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;
    use crate::ir::Code;

    fn names(result: &Value) -> Vec<&str> {
        result["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn t08_a_folder_gives_its_entries_folders_first() {
        let place = Place::new();
        place.put("b.ts", "12");
        place.put("a.rs", "");
        place.put(".dot", "");
        place.folder("z");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", place.path("link")).unwrap();
        let mut result = place.call(&ListDirectory, json!({"path": "."})).unwrap();
        for entry in result["entries"].as_array_mut().unwrap() {
            let modified = entry["modified"].take();
            let modified = modified.as_str().unwrap();
            assert!(modified.len() == "2026-01-01T00:00:00Z".len() && modified.ends_with('Z'), "{modified}");
        }
        let entry =
            |name: &str, kind: &str, size: Value| json!({"name": name, "type": kind, "size": size, "modified": null});
        assert_eq!(
            result,
            json!({
                "path": place.shown("").trim_end_matches('/'),
                "entries": [
                    entry("z", "directory", json!(null)),
                    entry("a.rs", "file", json!(0)),
                    entry("b.ts", "file", json!(2)),
                    entry("link", "symlink", json!(null)),
                ],
                "total": 4,
                "truncated": false,
                "hidden_by_policy": 0,
            })
        );
        let all = place.call(&ListDirectory, json!({"path": ".", "include_hidden": true})).unwrap();
        assert_eq!(names(&all), ["z", ".dot", "a.rs", "b.ts", "link"]);
        let some = place.call(&ListDirectory, json!({"path": ".", "filter_extension": ".ts"})).unwrap();
        assert_eq!(names(&some), ["z", "b.ts", "link"]);
    }

    #[test]
    fn t09_two_levels_are_nested_and_nothing_is_deeper() {
        let place = Place::new();
        place.put("a/b/c/deep", "");
        place.put("a/x", "");
        place.put("top", "");
        let list = |depth: u32| {
            place.call(&ListDirectory, json!({"path": ".", "recursive": true, "max_depth": depth})).unwrap()
        };
        assert_eq!(names(&list(1)), ["a", "top"]);
        assert_eq!(names(&list(2)), ["a", "a/b", "a/x", "top"]);
        assert_eq!(names(&list(9)), ["a", "a/b", "a/b/c", "a/b/c/deep", "a/x", "top"]);
        let default = place.call(&ListDirectory, json!({"path": ".", "recursive": true})).unwrap();
        assert_eq!(names(&default), ["a", "a/b", "a/b/c", "a/x", "top"]);
    }

    #[test]
    fn names_of_secrets_are_left_out_and_counted() {
        let mut place = Place::new();
        for name in ["a", ".env", "sub/id_rsa", "sub/b"] {
            place.put(name, "");
        }
        let args = json!({"path": ".", "recursive": true, "include_hidden": true});
        let result = place.call(&ListDirectory, args.clone()).unwrap();
        assert_eq!((names(&result), &result["hidden_by_policy"]), (vec!["sub", "sub/b", "a"], &json!(2)));
        place.context.lifted.push(place.shown(".env").into());
        let result = place.call(&ListDirectory, args).unwrap();
        assert_eq!((names(&result), &result["hidden_by_policy"]), (vec!["sub", "sub/b", ".env", "a"], &json!(1)));
    }

    #[test]
    fn five_hundred_are_listed_near_ones_first_and_all_are_counted() {
        let place = Place::new();
        for index in 0..600 {
            place.put(&format!("a/{index:03}"), "");
        }
        place.put("z", "");
        let result = place.call(&ListDirectory, json!({"path": ".", "recursive": true})).unwrap();
        assert_eq!(names(&result).len(), 500);
        assert_eq!((names(&result)[0], names(&result)[499]), ("a", "z"));
        assert_eq!(
            (&result["total"], &result["truncated"], &result["limit"]),
            (&json!(602), &json!(true), &json!("list_entries"))
        );
    }

    #[test]
    fn a_file_is_no_folder() {
        let place = Place::new();
        place.put("a", "");
        let code = |args: Value| place.call(&ListDirectory, args).unwrap_err().failure.code;
        assert_eq!(code(json!({"path": "a"})), Code::NotADirectory);
        assert_eq!(code(json!({"path": ".", "max_depth": 0})), Code::InvalidArguments);
    }

    #[test]
    fn what_cannot_be_looked_into_is_listed_with_its_error() {
        let args = serde_json::from_value(json!({"path": "."})).unwrap();
        let entry = |name: &str| Entry { relative: name.into(), stat: None, error: None };
        let mut listing = Listing { args: &args, limit: 9, entries: vec![entry("ok"), entry("gone")], total: 2 };
        listing.not_entered(Path::new("gone"), &io::ErrorKind::PermissionDenied.into());
        let errors: Vec<_> = listing.entries.into_iter().map(|entry| entry.into_value()["error"].clone()).collect();
        assert_eq!(errors, [json!(null), json!("permission denied")]);
    }

    #[test]
    fn a_listing_that_is_stopped_says_so() {
        let place = Place::new();
        place.put("a", "");
        place.context.cancel.cancel();
        let stopped = place.call(&ListDirectory, json!({"path": "."})).unwrap_err();
        assert_eq!(stopped.failure.code, Code::Cancelled);
    }
}
