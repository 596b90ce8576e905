//! `write_file`: a whole file, new or instead of the old one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diff::{self, Content};
use super::{Limits, Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, one_path, only, schema};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef, Unshown};
use crate::policy::{MaskedSecret, TargetKind};
use crate::workspace::{Purpose, Target};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, absolute or relative to the first allowed folder. Missing folders are made.
    path: String,
    /// The whole new content.
    content: String,
    /// How the content is stored.
    #[serde(default, rename = "encoding")]
    _encoding: WriteAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
enum WriteAs {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
}

/// Writes files.
pub(super) struct WriteFile;

impl Tool for WriteFile {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "write_file".into(),
            description: "Write a whole file: make a new one or replace the old content. For a change in part of a \
                          file use edit_file. At most 5 MB."
                .into(),
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
        Ok(one_path(args.path, Purpose::Write))
    }

    fn preview(&self, args: &Value, targets: &[Target], context: &PreviewContext) -> Result<Preview, Failure> {
        let args: Args = schema::arguments(args)?;
        let target = only(targets)?;
        check_bytes(args.content.len() as u64, &context.limits)?;
        if target.kind() == TargetKind::Missing {
            return Ok(Preview::NewFile { content: args.content });
        }
        Ok(diff::change(&content(target, &context.limits)?, &Content::Bytes(args.content.into_bytes())))
    }

    fn leaves(
        &self,
        args: &Value,
        _targets: &[Target],
        _limits: &Limits,
        _withheld: Option<&[MaskedSecret]>,
    ) -> Option<Vec<u8>> {
        let args: Args = schema::arguments(args).ok()?;
        Some(args.content.into_bytes())
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        check_bytes(args.content.len() as u64, &context.limits)?;
        let written = target.write(args.content.as_bytes())?;
        Ok(json!({
            "path": target.resolved().to_string_lossy(),
            "bytesWritten": written.bytes,
            "created": written.created,
        }))
    }
}

/// Whether a file may become this long.
pub(super) fn check_bytes(bytes: u64, limits: &Limits) -> Result<(), Failure> {
    if bytes <= limits.write_bytes {
        return Ok(());
    }
    let sentence = format!("The content is {bytes} bytes long; {} may be written at once.", limits.write_bytes);
    Err(Failure::new(Code::ContentTooLarge, sentence))
}

/// The file as it is.
fn content(target: &Target, limits: &Limits) -> Result<Content, Failure> {
    match target.read_all(limits.write_bytes) {
        Ok(bytes) => Ok(Content::Bytes(bytes)),
        Err(error) if error.code() == Code::FileTooLarge => {
            Ok(Content::Unshown(Unshown::TooLarge { bytes: target.identity().bytes }))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;
    use crate::ir::{ChangeNote, DiffLine, DiffTag};

    #[test]
    fn t04_a_new_file_is_created() {
        let place = Place::new();
        let args = json!({"path": "src/new.rs", "content": "fn main() {}\n"});
        assert_eq!(place.preview(&WriteFile, &args), Ok(Preview::NewFile { content: "fn main() {}\n".into() }));
        assert_eq!(
            place.call(&WriteFile, args).unwrap(),
            json!({"path": place.shown("src/new.rs"), "bytesWritten": 13, "created": true})
        );
        assert_eq!(place.get("src/new.rs").unwrap(), b"fn main() {}\n");
    }

    #[test]
    fn t05_the_same_file_again_is_not_created() {
        let place = Place::new();
        place.put("a", "old\nsame\n");
        let args = json!({"path": "a", "content": "new\nsame\n", "encoding": "utf-8"});
        let line = |tag, old_line, new_line, text: &str| DiffLine { tag, old_line, new_line, text: text.into() };
        assert_eq!(
            place.preview(&WriteFile, &args),
            Ok(Preview::Diff {
                lines: vec![
                    line(DiffTag::Removed, Some(1), None, "old\n"),
                    line(DiffTag::Added, None, Some(1), "new\n"),
                    line(DiffTag::Context, Some(2), Some(2), "same\n"),
                ],
                added: 1,
                removed: 1,
                notes: vec![],
            })
        );
        assert_eq!(place.call(&WriteFile, args).unwrap()["created"], json!(false));
        assert_eq!(place.get("a").unwrap(), b"new\nsame\n");
    }

    #[test]
    fn what_replaces_a_binary_file_is_shown_as_all_of_it_whatever_it_says() {
        let place = Place::new();
        place.put("p", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        for content in ["text", "(image/png, 16 bytes)\n"] {
            let what = Unshown::Binary { media_type: "image/png".into(), bytes: 16 };
            assert_eq!(
                place.preview(&WriteFile, &json!({"path": "p", "content": content})),
                Ok(Preview::Diff {
                    lines: vec![DiffLine {
                        tag: DiffTag::Added,
                        old_line: None,
                        new_line: Some(1),
                        text: content.into()
                    }],
                    added: 1,
                    removed: 0,
                    notes: vec![ChangeNote::Replaces { what }],
                })
            );
        }
    }

    #[test]
    fn what_replaces_a_file_too_large_to_show_is_shown_as_all_of_it() {
        let place = Place::new();
        place.put("p", "x".repeat((5 << 20) + 1));
        let content = format!("(a file too large to show, {} bytes)\n", (5 << 20) + 1);
        let Ok(Preview::Diff { added, notes, .. }) =
            place.preview(&WriteFile, &json!({"path": "p", "content": content}))
        else {
            panic!("no diff")
        };
        assert_eq!((added, notes.len()), (1, 1));
    }

    #[test]
    fn another_encoding_is_a_change() {
        let place = Place::new();
        place.put("p", b"\xFF\xFEa\0\n\0");
        let encoding = ChangeNote::Encoding { from: "UTF-16 LE".into(), to: "UTF-8".into() };
        assert_eq!(
            place.preview(&WriteFile, &json!({"path": "p", "content": "a\n"})),
            Ok(Preview::Diff { lines: vec![], added: 0, removed: 0, notes: vec![encoding] })
        );
    }

    #[test]
    fn five_megabytes_are_written_and_not_more() {
        let place = Place::new();
        let content = "x".repeat(5 << 20);
        assert!(place.call(&WriteFile, json!({"path": "a", "content": content})).is_ok());
        let failure = place.call(&WriteFile, json!({"path": "b", "content": content + "x"})).unwrap_err().failure;
        assert_eq!(failure.code, Code::ContentTooLarge);
        assert_eq!(place.get("b"), None);
    }

    #[test]
    fn a_folder_is_not_overwritten() {
        let place = Place::new();
        place.folder("d");
        let code = |args: Value| place.call(&WriteFile, args).unwrap_err().failure.code;
        assert_eq!(code(json!({"path": "d", "content": ""})), Code::NotAFile);
        assert_eq!(code(json!({"path": "d", "content": "", "encoding": "utf-16"})), Code::InvalidArguments);
    }
}
