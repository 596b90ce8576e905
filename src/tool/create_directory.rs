//! `create_directory`: a folder with its parents.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, one_path, only, schema};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::TargetKind;
use crate::workspace::{Purpose, Target};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the folder, absolute or relative to the first allowed folder. Missing parents are made too.
    path: String,
}

/// Makes folders.
pub(super) struct CreateDirectory;

impl Tool for CreateDirectory {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "create_directory".into(),
            description: "Make a folder, with its parents. It is no error if it is there already.".into(),
            parameters: schema::schema_of::<Args>(),
            category: ToolCategory::Filesystem,
            risk_level: RiskLevel::Medium,
            requires_permission: true,
            timeout_ms: 30_000,
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn parse(&self, args: &Value) -> Result<ToolRequest, Failure> {
        let args: Args = schema::arguments(args)?;
        Ok(one_path(args.path, Purpose::CreateFolder))
    }

    fn preview(&self, _args: &Value, targets: &[Target], _context: &PreviewContext) -> Result<Preview, Failure> {
        let target = only(targets)?;
        match target.kind() {
            TargetKind::Missing | TargetKind::Folder => Ok(Preview::Nothing),
            TargetKind::File | TargetKind::Link | TargetKind::Special => {
                let sentence = format!("A file is there already. Path: {}", target.resolved().display());
                Err(Failure::new(Code::NotADirectory, sentence))
            }
        }
    }

    fn run(&self, permit: Permit, _context: &RunContext) -> Result<Value, RunError> {
        let target = only(permit.targets())?;
        let created = target.create_folder()?;
        Ok(json!({"path": target.resolved().to_string_lossy(), "created": created}))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;

    #[test]
    fn t12_nested_folders_are_made_once() {
        let place = Place::new();
        let args = json!({"path": "a/b/c"});
        for created in [true, false] {
            assert_eq!(
                place.call(&CreateDirectory, args.clone()).unwrap(),
                json!({"path": place.shown("a/b/c"), "created": created})
            );
            assert!(place.path("a/b/c").is_dir());
        }
    }

    #[test]
    fn a_file_in_the_way_is_refused() {
        let place = Place::new();
        place.put("a", "");
        let code = |path: &str| place.preview(&CreateDirectory, &json!({"path": path})).unwrap_err().code;
        assert_eq!((code("a"), code("a/b")), (Code::NotADirectory, Code::NotADirectory));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_makes_no_folder_outside() {
        let place = Place::new();
        std::os::unix::fs::symlink(place.home(""), place.path("out")).unwrap();
        let failure = place.preview(&CreateDirectory, &json!({"path": "out/b/c"})).unwrap_err();
        assert_eq!(failure.code, Code::PathOutOfScope);
        assert!(!place.home("b").exists());
    }
}
