//! `delete_file`: a file, a link or a folder, into the system's trash.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, one_path, only, schema};
use crate::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef, TreeEntry};
use crate::policy::TargetKind;
use crate::workspace::{Extent, Purpose, Target, Trash, note_departed};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, link or folder, absolute or relative to the first allowed folder.
    path: String,
    /// Delete a folder with everything in it. Without it only files, links and empty folders are deleted.
    #[serde(default)]
    recursive: bool,
}

impl Args {
    fn extent(&self) -> Extent {
        if self.recursive { Extent::Tree } else { Extent::Single }
    }
}

/// Deletes files and folders.
pub(super) struct DeleteFile;

impl Tool for DeleteFile {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "delete_file".into(),
            description: "Delete a file, a link or a folder. It goes to the system's trash where there is one. The \
                          person is always asked."
                .into(),
            parameters: schema::schema_of::<Args>(),
            category: ToolCategory::Filesystem,
            risk_level: RiskLevel::High,
            requires_permission: true,
            timeout_ms: 60_000,
        }
    }

    fn access(&self) -> Access {
        Access::Delete
    }

    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure> {
        let args: Args = schema::arguments(args)?;
        Ok(one_path(args.path, Purpose::Delete))
    }

    fn preview(&self, args: &Value, targets: &[Target], _context: &PreviewContext) -> Result<Preview, Failure> {
        let args: Args = schema::arguments(args)?;
        let target = only(targets)?;
        target.check_deletion(args.extent(), &[])?;
        let name = target.resolved().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = if target.kind() == TargetKind::File { target.identity().bytes } else { 0 };
        if target.kind() != TargetKind::Folder {
            let entry = TreeEntry { path: name, is_folder: false, bytes };
            return Ok(Preview::Tree { entries: vec![entry], count: 1, bytes, at_least: false });
        }
        let found = target.show_tree()?;
        let entries: Vec<TreeEntry> = found
            .entries
            .into_iter()
            .map(|entry| TreeEntry {
                path: entry.path,
                is_folder: entry.kind == TargetKind::Folder,
                bytes: entry.bytes,
            })
            .collect();
        let count = entries.len() as u64 + 1;
        Ok(Preview::Tree { entries, count, bytes: found.bytes, at_least: found.at_least })
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        let trash = Trash::of_person(context.surroundings.home.as_deref());
        let stop = || context.cancel.is_cancelled();
        let deleted = target.delete(args.extent(), permit.roots(), &trash, &stop)?;
        if let Some(records) = context.guard_log.records.as_ref().filter(|_| target.kind() == TargetKind::Folder) {
            note_departed(records, target);
        }
        Ok(json!({
            "path": target.resolved().to_string_lossy(),
            "deleted": true,
            "trashed": deleted.trashed,
            "restorable": deleted.trashed,
        }))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::testing::Place;
    use super::*;
    use crate::ir::Code;

    /// Where the test's own trash is. The variable, if the machine that runs the tests sets it, would name another one.
    fn trash(place: &Place) -> std::path::PathBuf {
        std::env::var_os("XDG_DATA_HOME").map_or_else(|| place.home(".local/share"), Into::into).join("Trash")
    }

    #[test]
    fn t13_a_file_is_deleted_into_the_trash() {
        let place = Place::new();
        place.put("a.txt", "abc");
        let args = json!({"path": "a.txt"});
        assert_eq!(
            place.preview(&DeleteFile, &args),
            Ok(Preview::Tree {
                entries: vec![TreeEntry { path: "a.txt".into(), is_folder: false, bytes: 3 }],
                count: 1,
                bytes: 3,
                at_least: false,
            })
        );
        assert_eq!(
            place.call(&DeleteFile, args).unwrap(),
            json!({"path": place.shown("a.txt"), "deleted": true, "trashed": true, "restorable": true})
        );
        assert_eq!(place.get("a.txt"), None);
        assert!(trash(&place).join("files").read_dir().unwrap().count() > 0);
    }

    #[test]
    fn a_folder_shows_all_that_goes() {
        let place = Place::new();
        place.put("d/x", "12");
        place.put("d/e/y", "345");
        assert_eq!(place.preview(&DeleteFile, &json!({"path": "d"})).unwrap_err().code, Code::DirectoryNotEmpty);
        let entry = |path: &str, is_folder, bytes| TreeEntry { path: path.into(), is_folder, bytes };
        let args = json!({"path": "d", "recursive": true});
        assert_eq!(
            place.preview(&DeleteFile, &args),
            Ok(Preview::Tree {
                entries: vec![entry("e", true, 0), entry("e/y", false, 3), entry("x", false, 2)],
                count: 4,
                bytes: 5,
                at_least: false,
            })
        );
        assert!(place.call(&DeleteFile, args).is_ok());
        assert!(!place.path("d").exists());
    }

    #[test]
    fn the_allowed_folder_itself_is_refused_before_anybody_is_asked() {
        let place = Place::new();
        let failure = place.preview(&DeleteFile, &json!({"path": ".", "recursive": true})).unwrap_err();
        assert_eq!(failure.code, Code::BlockedPathDenied);
    }
}
