//! `workspace.read_file`: a text file of the workspace, whole, for a server. The person is asked each time.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{Text, binary};
use super::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, one_path, only, schema};
use crate::ir::{Access, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::workspace::{Purpose, Target};

/// The largest file that a server gets, in bytes.
const MOST_BYTES: u64 = 1_048_576;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, relative to the workspace.
    path: String,
    /// The largest file to read, in bytes; larger ones are refused.
    #[serde(default = "most_bytes")]
    #[schemars(range(min = 1, max = 1_048_576))]
    max_bytes: u64,
}

fn most_bytes() -> u64 {
    MOST_BYTES
}

/// Reads a file for a server.
pub(super) struct WorkspaceReadFile;

impl Tool for WorkspaceReadFile {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "workspace.read_file".into(),
            description: "Read a text file of the person's workspace, whole. The person is asked each time.".into(),
            parameters: schema::schema_of::<Args>(),
            category: ToolCategory::Filesystem,
            risk_level: RiskLevel::Medium,
            requires_permission: true,
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
        only(targets)?.file()?;
        Ok(Preview::Nothing)
    }

    fn run(&self, permit: Permit, _context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        // By what the file says of its size and, as it may have grown, by what was read.
        let bytes = target.read_all(args.max_bytes.min(MOST_BYTES))?;
        let text = Text::decode(&bytes).ok_or_else(|| binary(&bytes, target.resolved()))?;
        Ok(json!({
            "path": args.path,
            "content": text.text,
            "encoding": text.encoding.name(),
            "size": bytes.len(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;
    use crate::ir::Code;

    #[test]
    fn a_text_comes_whole_and_what_is_larger_than_asked_for_does_not() {
        let place = Place::new();
        place.put("a.txt", "héllo\n");
        let expected = json!({"path": "a.txt", "content": "héllo\n", "encoding": "utf-8", "size": 7});
        assert_eq!(place.call(&WorkspaceReadFile, json!({"path": "a.txt"})).unwrap(), expected);
        assert_eq!(place.call(&WorkspaceReadFile, json!({"path": "a.txt", "max_bytes": 7})).unwrap(), expected);
        let code = |args: Value| place.call(&WorkspaceReadFile, args).unwrap_err().failure.code;
        assert_eq!(code(json!({"path": "a.txt", "max_bytes": 6})), Code::FileTooLarge);
        place.put("large", "x".repeat((1 << 20) + 1));
        place.put("bytes", b"\x89PNG\0");
        assert_eq!(code(json!({"path": "large"})), Code::FileTooLarge);
        assert_eq!(code(json!({"path": "bytes"})), Code::BinaryFile);
        assert_eq!(code(json!({"path": "a.txt", "max_bytes": (1 << 20) + 1})), Code::InvalidArguments);
        assert_eq!(code(json!({"path": "a.txt", "encoding": "base64"})), Code::InvalidArguments);
    }
}
