//! `list_directory`: what is in a folder, to a depth.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::visible::is_hidden_by_policy;
use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, cancelled, one_path, only, schema};
use crate::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::TargetKind;
use crate::workspace::{Entry, Folder, Purpose, Stat, Target, WorkspaceError};

/// How many entries are looked at, listed or not.
const MAX_SCANNED: usize = 20_000;

/// The deepest that a listing goes, whatever is asked for.
const MAX_DEPTH: u32 = 64;

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
        let mut listing =
            Listing { args: &args, context, found: Vec::new(), total: 0, scanned: 0, hidden: 0, cut: false };
        listing.collect(target.folder()?, target)?;
        let Listing { mut found, total, hidden, cut, .. } = listing;
        found.sort_by(Found::in_tree_order);
        let truncated = cut || total > found.len();
        let entries: Vec<Value> = found.into_iter().map(Found::into_value).collect();
        let mut result = json!({
            "path": target.resolved().to_string_lossy(),
            "entries": entries,
            "total": total,
            "truncated": truncated,
            "hidden_by_policy": hidden,
        });
        if truncated && let Some(fields) = result.as_object_mut() {
            fields.insert("limit".into(), "list_entries".into());
        }
        Ok(result)
    }
}

/// A listing that is being made: level by level, so that what lies near is listed when not everything can be.
struct Listing<'call> {
    args: &'call Args,
    context: &'call RunContext,
    found: Vec<Found>,
    /// How many there are, listed or not.
    total: usize,
    scanned: usize,
    hidden: usize,
    /// Whether the walk itself stopped at a limit.
    cut: bool,
}

impl Listing<'_> {
    fn collect(&mut self, top: &Folder, target: &Target) -> Result<(), Failure> {
        let failed = |source| WorkspaceError::io("Listing the folder", target.resolved(), source);
        let levels = if self.args.recursive { self.args.max_depth.min(MAX_DEPTH) } else { 1 };
        // Folders wait by their names and are opened from the top when their turn comes: a level may have thousands.
        let mut pending: VecDeque<Vec<OsString>> = VecDeque::new();
        self.list(top.entries().map_err(failed)?, target.resolved(), &[], (levels > 1).then_some(&mut pending))?;
        while let Some(way) = pending.pop_front() {
            let goes_on = (way.len() as u64) + 1 < u64::from(levels);
            match open_below(top, &way).and_then(|folder| folder.entries()) {
                Ok(entries) => self.list(entries, target.resolved(), &way, goes_on.then_some(&mut pending))?,
                Err(error) => self.note(&way, &error),
            }
        }
        Ok(())
    }

    /// Takes the entries of one folder; `pending` gets the folders among them if they are to be listed too.
    fn list(
        &mut self,
        entries: Vec<Entry>,
        top: &Path,
        way: &[OsString],
        mut pending: Option<&mut VecDeque<Vec<OsString>>>,
    ) -> Result<(), Failure> {
        if self.context.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let above: PathBuf = top.iter().chain(way.iter().map(OsString::as_os_str)).collect();
        let is_folder = |entry: &Entry| entry.stat.as_ref().is_ok_and(|stat| stat.kind == TargetKind::Folder);
        let (folders, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_folder);
        for entry in folders.into_iter().chain(others) {
            self.scanned += 1;
            if self.scanned > MAX_SCANNED {
                self.cut = true;
                return Ok(());
            }
            if is_hidden_by_policy(&above.join(&entry.name), &entry.name, self.context) {
                self.hidden += 1;
                continue;
            }
            if !self.args.include_hidden && entry.name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let is_file = entry.stat.as_ref().is_ok_and(|stat| stat.kind == TargetKind::File);
            let is_filtered_out = self
                .args
                .filter_extension
                .as_ref()
                .is_some_and(|extension| is_file && !entry.name.as_encoded_bytes().ends_with(extension.as_bytes()));
            if is_filtered_out {
                continue;
            }
            self.total += 1;
            let mut parts = way.to_vec();
            parts.push(entry.name);
            if let Some(pending) = pending.as_deref_mut()
                && entry.stat.as_ref().is_ok_and(|stat| stat.kind == TargetKind::Folder)
            {
                pending.push_back(parts.clone());
            }
            if self.found.len() < self.context.limits.list_entries {
                let error = entry.stat.as_ref().err().map(ToString::to_string);
                self.found.push(Found { parts, stat: entry.stat.ok(), error });
            }
        }
        Ok(())
    }

    /// Says at a listed folder why what is in it is not.
    fn note(&mut self, way: &[OsString], error: &std::io::Error) {
        if let Some(found) = self.found.iter_mut().find(|found| found.parts == way) {
            found.error = Some(error.to_string());
        }
    }
}

/// Opens a folder below another one by its names, no link followed.
fn open_below(top: &Folder, way: &[OsString]) -> std::io::Result<Folder> {
    way.iter().try_fold(top.clone(), |folder, name| folder.open_folder(name))
}

/// One entry of a listing.
struct Found {
    /// Its names below the listed folder.
    parts: Vec<OsString>,
    stat: Option<Stat>,
    error: Option<String>,
}

impl Found {
    fn is_folder(&self) -> bool {
        self.stat.is_some_and(|stat| stat.kind == TargetKind::Folder)
    }

    /// Every folder followed by what is in it; in a folder, folders first, then by name.
    fn in_tree_order(&self, other: &Self) -> Ordering {
        for (depth, (one, two)) in self.parts.iter().zip(&other.parts).enumerate() {
            if one == two {
                continue;
            }
            // On the way down to an entry there are only folders.
            let is_folder = |found: &Self| depth + 1 < found.parts.len() || found.is_folder();
            return is_folder(other).cmp(&is_folder(self)).then_with(|| one.cmp(two));
        }
        self.parts.len().cmp(&other.parts.len())
    }

    fn into_value(self) -> Value {
        let name: Vec<_> = self.parts.iter().map(|part| part.to_string_lossy()).collect();
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

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_looked_into_is_listed_with_its_error() {
        let place = Place::new();
        place.put("ok", "");
        place.folder("gone");
        let mut listing = Listing {
            args: &args(),
            context: &place.context,
            found: Vec::new(),
            total: 0,
            scanned: 0,
            hidden: 0,
            cut: false,
        };
        let folder = place.root.folder();
        let mut pending = VecDeque::new();
        listing.list(folder.entries().unwrap(), place.root.path(), &[], Some(&mut pending)).unwrap();
        assert_eq!(pending, [vec![OsString::from("gone")]]);
        listing.note(&[OsString::from("gone")], &std::io::ErrorKind::PermissionDenied.into());
        let gone = listing.found.remove(0).into_value();
        assert_eq!((&gone["name"], &gone["error"]), (&json!("gone"), &json!("permission denied")));
        assert_eq!(listing.found.len(), 1);
    }

    fn args() -> Args {
        serde_json::from_value(json!({"path": "."})).unwrap()
    }
}
