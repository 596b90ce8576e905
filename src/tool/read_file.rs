//! `read_file`: a file's text, or a range of its lines, or its bytes.

mod scan;

use std::io::{BufReader, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::text::{Encoding, Text, binary, count_lines};
use super::{
    Limits, Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, cancelled, one_path, only, schema,
};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::{KEY_CONTEXT_BYTES, key_lines_of_part, note_key_lines};
use crate::workspace::{Purpose, Target};

use scan::{ScanFault, Utf16, Wanted, scan};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, absolute or relative to the first allowed folder.
    path: String,
    /// How to return the content. `base64` and `latin1` read any bytes; `utf-8` reads text only.
    #[serde(default)]
    encoding: ReadAs,
    /// First line to return, counted from 1.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line to return, inclusive. Default: start_line + 499.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
enum ReadAs {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "latin1")]
    Latin1,
    #[serde(rename = "base64")]
    Base64,
}

/// Reads files.
pub(super) struct ReadFile;

impl Tool for ReadFile {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "read_file".into(),
            description: "Read a file. Returns at most 500 lines and 1 MB at once; give start_line and end_line for \
                          other parts. Line ends are returned as they are in the file."
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
        if let (start, Some(end)) = (args.start_line.unwrap_or(1), args.end_line)
            && end < start
        {
            return Err(Failure::new(Code::InvalidArguments, "`end_line` lies before `start_line`."));
        }
        if args.encoding == ReadAs::Base64 && (args.start_line.is_some() || args.end_line.is_some()) {
            let sentence = "`start_line` and `end_line` do not go with `base64`, which returns the whole file.";
            return Err(Failure::new(Code::InvalidArguments, sentence));
        }
        Ok(one_path(args.path, Purpose::Read))
    }

    fn preview(&self, _args: &Value, targets: &[Target], _context: &PreviewContext) -> Result<Preview, Failure> {
        only(targets)?.file()?;
        Ok(Preview::Nothing)
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        let mut result = match (args.encoding, args.start_line, args.end_line) {
            (ReadAs::Base64, _, _) => whole_bytes(target, &context.limits)?,
            (read_as, None, None) => {
                let bytes = target.read_all(context.limits.read_bytes)?;
                whole_text(&bytes, read_as, target, context)?
            }
            (read_as, start, end) => range_of_file(read_as, start.unwrap_or(1), end, target, context)?,
        };
        if let Some(fields) = result.as_object_mut() {
            fields.shift_insert(0, "path".into(), target.resolved().to_string_lossy().into());
        }
        Ok(result)
    }
}

fn whole_bytes(target: &Target, limits: &Limits) -> Result<Value, RunError> {
    let bytes = target.read_all(limits.read_bytes)?;
    Ok(json!({
        "content": STANDARD.encode(&bytes),
        "encoding": "base64",
        "size": bytes.len(),
        // Bytes have no lines.
        "lines": null,
        "truncated": false,
        "line_range": null,
    }))
}

fn whole_text(bytes: &[u8], read_as: ReadAs, target: &Target, context: &RunContext) -> Result<Value, RunError> {
    let (text, encoding, bom) = match read_as {
        ReadAs::Latin1 => (bytes.iter().map(|byte| char::from(*byte)).collect(), "latin1", false),
        ReadAs::Utf8 | ReadAs::Base64 => {
            let text = Text::decode(bytes).ok_or_else(|| binary(bytes, target.resolved()))?;
            (text.text, text.encoding.name(), text.encoding.mark_bytes() > 0)
        }
    };
    let lines = count_lines(&text);
    let last = lines.min(context.limits.read_lines);
    let kept = usize::try_from(last).unwrap_or(usize::MAX);
    let mut content = text;
    let rest = if last < lines {
        let end = content.split_inclusive('\n').take(kept).map(str::len).sum();
        content.split_off(end)
    } else {
        String::new()
    };
    let after = rest.get(..rest.floor_char_boundary(KEY_CONTEXT_BYTES)).unwrap_or_default();
    let key_lines = if rest.is_empty() { Vec::new() } else { key_lines_of_part("", &content, after) };
    let cut_by = (last < lines).then_some("read_lines");
    let range = Range { content, first: 1.min(lines), last, lines: Some(lines), cut_by, key_lines };
    Ok(range.into_result(encoding, bom, bytes.len() as u64))
}

/// Reads a range without loading the file.
fn range_of_file(
    read_as: ReadAs,
    start: u64,
    end: Option<u64>,
    target: &Target,
    context: &RunContext,
) -> Result<Value, RunError> {
    let mut start_bytes = Vec::new();
    let failed = |source| crate::workspace::WorkspaceError::io("Reading the file", target.resolved(), source);
    target.reader()?.take(512).read_to_end(&mut start_bytes).map_err(failed)?;
    let encoding = Encoding::of(&start_bytes);
    let (mark, name) = match read_as {
        ReadAs::Latin1 => (0, "latin1"),
        ReadAs::Utf8 | ReadAs::Base64 => (encoding.mark_bytes(), encoding.name()),
    };
    let mut reader = target.reader()?;
    std::io::copy(&mut reader.by_ref().take(mark as u64), &mut std::io::sink()).map_err(failed)?;
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let is_text = read_as != ReadAs::Latin1;
    let wanted = Wanted { start, end, limits: &context.limits, is_text };
    let stop = || context.cancel.is_cancelled();
    let scanned = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be if is_text => {
            let transcoded = Utf16::new(reader, encoding);
            scan(&mut BufReader::with_capacity(64 * 1024, transcoded), &wanted, &stop)
        }
        Encoding::Utf8 { .. } | Encoding::Utf16Le | Encoding::Utf16Be => scan(&mut reader, &wanted, &stop),
    };
    let scanned = scanned.map_err(|fault| match fault {
        ScanFault::NotText => binary(&start_bytes, target.resolved()),
        ScanFault::Stopped => cancelled(),
        ScanFault::TooFar => Failure::new(
            Code::FileTooLarge,
            format!("Line {start} does not begin within the first gigabyte. Path: {}", target.resolved().display()),
        ),
        ScanFault::PastEnd { lines } => Failure::new(
            Code::InvalidArguments,
            format!("`start_line` is {start}, but the file has {lines} lines. Path: {}", target.resolved().display()),
        ),
        ScanFault::Io(source) if source.kind() == std::io::ErrorKind::InvalidData => {
            binary(&start_bytes, target.resolved())
        }
        ScanFault::Io(source) => failed(source).into(),
    })?;
    let around = |bytes: &[u8]| {
        if is_text {
            String::from_utf8_lossy(bytes).into_owned()
        } else {
            bytes.iter().map(|byte| char::from(*byte)).collect()
        }
    };
    let (before, after) = (around(&scanned.before), around(&scanned.after));
    let content = if is_text {
        String::from_utf8(scanned.bytes).map_err(|_not_text| binary(&start_bytes, target.resolved()))?
    } else {
        scanned.bytes.iter().map(|byte| char::from(*byte)).collect()
    };
    let range = Range {
        key_lines: key_lines_of_part(&before, &content, &after),
        content,
        first: start.min(scanned.last),
        last: scanned.last,
        lines: scanned.lines,
        cut_by: scanned.cut_by,
    };
    Ok(range.into_result(name, mark > 0, target.identity().bytes))
}

/// What a result says of a range.
struct Range {
    content: String,
    first: u64,
    last: u64,
    /// How many lines the file has; `None` when it is too long to count them.
    lines: Option<u64>,
    /// The limit that cut it.
    cut_by: Option<&'static str>,
    /// Lines of the content that belong to a private key, by what stands around it.
    key_lines: Vec<[u64; 2]>,
}

impl Range {
    fn into_result(self, encoding: &str, bom: bool, size: u64) -> Value {
        let mut result = json!({
            "content": self.content,
            "encoding": encoding,
            "size": size,
            "lines": self.lines,
            "truncated": self.cut_by.is_some(),
            "line_range": [self.first, self.last],
        });
        note_key_lines(&mut result, &self.key_lines);
        if let Some(fields) = result.as_object_mut() {
            if bom {
                fields.insert("bom".into(), true.into());
            }
            if let Some(limit) = self.cut_by {
                fields.insert("limit".into(), limit.into());
            }
        }
        result
    }
}

#[cfg(test)]
mod tests;
