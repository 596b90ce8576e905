//! `write_file`: a whole file, new or instead of the old one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diff;
use super::text::{Text, likely_type};
use super::{Limits, Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, one_path, only, schema};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::TargetKind;
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
        Ok(diff::preview(&shown(target, &context.limits)?, &args.content))
    }

    fn leaves(&self, args: &Value, _targets: &[Target], _limits: &Limits) -> Option<Vec<u8>> {
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

/// The file as it is, or one line that says what it is when it is not text that can be shown.
fn shown(target: &Target, limits: &Limits) -> Result<String, Failure> {
    let described = |what: &str| format!("({what}, {} bytes)\n", target.identity().bytes);
    let bytes = match target.read_all(limits.write_bytes) {
        Ok(bytes) => bytes,
        Err(error) if error.code() == Code::FileTooLarge => return Ok(described("a file too large to show")),
        Err(error) => return Err(error.into()),
    };
    Ok(Text::decode(&bytes).map_or_else(|| described(likely_type(&bytes)), |text| text.text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;
    use crate::ir::{DiffLine, DiffTag};

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
            })
        );
        assert_eq!(place.call(&WriteFile, args).unwrap()["created"], json!(false));
        assert_eq!(place.get("a").unwrap(), b"new\nsame\n");
    }

    #[test]
    fn instead_of_binary_content_its_type_is_shown() {
        let place = Place::new();
        place.put("p", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        let Ok(Preview::Diff { lines, .. }) = place.preview(&WriteFile, &json!({"path": "p", "content": "text"}))
        else {
            panic!("no diff")
        };
        assert_eq!(lines[0].text, "(image/png, 16 bytes)\n");
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
