//! `read_file`: a file's text, or a range of its lines, or its bytes.

use std::io::{BufRead, BufReader, Read};

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

/// How far a file is scanned for the first line of a range, in bytes.
const MAX_SCAN_BYTES: u64 = 1 << 30;

/// How far beyond a range the lines are still counted, in bytes.
const MAX_COUNT_BYTES: u64 = 64 << 20;

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
            let transcoded = Utf16 { source: reader, encoding, ready: Vec::new(), taken: 0 };
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

struct Wanted<'limits> {
    start: u64,
    end: Option<u64>,
    limits: &'limits Limits,
    is_text: bool,
}

struct Scanned {
    bytes: Vec<u8>,
    /// The end of what stands before them and the beginning of what follows them, for whoever judges them.
    before: Vec<u8>,
    after: Vec<u8>,
    /// The last line that is in `bytes`.
    last: u64,
    lines: Option<u64>,
    cut_by: Option<&'static str>,
}

enum ScanFault {
    NotText,
    Stopped,
    TooFar,
    PastEnd { lines: u64 },
    Io(std::io::Error),
}

/// Collects the wanted lines and counts the others. Memory is bounded by the limit, however long lines are.
fn scan(reader: &mut impl BufRead, wanted: &Wanted<'_>, stop: &dyn Fn() -> bool) -> Result<Scanned, ScanFault> {
    let limit = usize::try_from(wanted.limits.read_bytes).unwrap_or(usize::MAX);
    let end = wanted.end.unwrap_or_else(|| wanted.start.saturating_add(wanted.limits.read_lines.saturating_sub(1)));
    let mut bytes: Vec<u8> = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // Where in `bytes` the line begins that is being collected.
    let mut line_begin = 0;
    let mut is_full = false;
    let mut finished: u64 = 0;
    let mut in_line = false;
    let mut scanned_bytes: u64 = 0;
    let mut beyond_bytes: u64 = 0;
    let mut is_counted = true;
    loop {
        if stop() {
            return Err(ScanFault::Stopped);
        }
        let chunk = match reader.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ScanFault::Io(error)),
        };
        if wanted.is_text && chunk.contains(&0) {
            return Err(ScanFault::NotText);
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let line = finished + 1;
            if line >= wanted.start && line <= end && !is_full {
                if !in_line {
                    line_begin = bytes.len();
                }
                let room = limit - bytes.len();
                bytes.extend(piece.iter().take(room));
                is_full = piece.len() > room;
                after.extend(piece.iter().skip(room).take(KEY_CONTEXT_BYTES));
            } else if line < wanted.start {
                before.extend_from_slice(piece);
                if before.len() > 2 * KEY_CONTEXT_BYTES {
                    before.drain(..before.len() - KEY_CONTEXT_BYTES);
                }
            } else {
                after.extend(piece.iter().take(KEY_CONTEXT_BYTES.saturating_sub(after.len())));
            }
            in_line = piece.last() != Some(&b'\n');
            finished += u64::from(!in_line);
        }
        let length = chunk.len();
        reader.consume(length);
        scanned_bytes += length as u64;
        if finished + 1 < wanted.start && scanned_bytes > MAX_SCAN_BYTES {
            return Err(ScanFault::TooFar);
        }
        if finished >= end || is_full {
            beyond_bytes += length as u64;
            if beyond_bytes > MAX_COUNT_BYTES {
                is_counted = false;
                break;
            }
        }
    }
    let lines = finished + u64::from(in_line);
    // The first line of an empty file is asked for by whoever does not know that it is empty.
    if lines < wanted.start && !(lines == 0 && wanted.start == 1) {
        return Err(ScanFault::PastEnd { lines });
    }
    let mut last = lines.min(end);
    let mut cut_by = (wanted.end.is_none() && lines > end).then_some("read_lines");
    if is_full {
        cut_by = Some("read_bytes");
        let kept = match line_begin {
            0 if wanted.is_text => whole_characters(&bytes),
            0 => bytes.len(),
            begin => begin,
        };
        after.splice(..0, bytes.drain(kept..));
        last = wanted.start - 1 + bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    }
    Ok(Scanned { bytes, before, after, last, lines: is_counted.then_some(lines), cut_by })
}

/// How many bytes are whole characters, when the last one may have been cut.
fn whole_characters(bytes: &[u8]) -> usize {
    // Other faults mean that it is no text at all: said by whoever reads it.
    let cut = std::str::from_utf8(bytes).err().filter(|error| error.error_len().is_none());
    cut.map_or(bytes.len(), |error| error.valid_up_to())
}

/// UTF-16 read as UTF-8.
struct Utf16<R> {
    source: R,
    encoding: Encoding,
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Utf16<R> {
    fn unit(&mut self) -> std::io::Result<Option<u16>> {
        let mut pair = [0; 2];
        let mut bytes = Vec::with_capacity(2);
        self.source.by_ref().take(2).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        pair.copy_from_slice(bytes.get(..2).ok_or(std::io::ErrorKind::InvalidData)?);
        Ok(Some(self.encoding.unit(pair)))
    }

    fn character(&mut self) -> std::io::Result<Option<char>> {
        let Some(first) = self.unit()? else { return Ok(None) };
        let second = if (0xD800..0xDC00).contains(&first) { self.unit()? } else { None };
        let mut decoded = char::decode_utf16([Some(first), second].into_iter().flatten());
        match decoded.next() {
            Some(Ok(character)) => Ok(Some(character)),
            Some(Err(_)) | None => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.taken >= self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            while self.ready.len() < buffer.len() {
                let Some(character) = self.character()? else { break };
                self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        let waiting = self.ready.get(self.taken..).unwrap_or_default();
        let count = waiting.len().min(buffer.len());
        for (slot, byte) in buffer.iter_mut().zip(waiting) {
            *slot = *byte;
        }
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::Place;
    use super::*;

    fn numbered(lines: u64) -> String {
        (1..=lines).fold(String::new(), |text, line| text + &format!("line {line}\n"))
    }

    #[test]
    fn t01_an_existing_file_gives_its_content() {
        let place = Place::new();
        place.put("a.txt", "one\r\ntwo");
        assert_eq!(
            place.call(&ReadFile, json!({"path": "a.txt"})).unwrap(),
            json!({
                "path": place.shown("a.txt"),
                "content": "one\r\ntwo",
                "encoding": "utf-8",
                "size": 8,
                "lines": 2,
                "truncated": false,
                "line_range": [1, 2],
            })
        );
    }

    #[test]
    fn t02_a_missing_file_is_said_to_be_missing() {
        let place = Place::new();
        let failure = place.call(&ReadFile, json!({"path": "none"})).unwrap_err().failure;
        assert_eq!(failure.code, Code::PathNotFound);
        assert!(failure.message.starts_with("There is no such file"), "{}", failure.message);
    }

    #[test]
    fn t03_two_megabytes_are_too_large_and_one_is_not() {
        let place = Place::new();
        place.put("two", "x".repeat(2 << 20));
        place.put("one", "x".repeat(1 << 20));
        place.put("over", "x".repeat((1 << 20) + 1));
        let code = |path: &str| place.call(&ReadFile, json!({"path": path})).unwrap_err().failure.code;
        assert_eq!((code("two"), code("over")), (Code::FileTooLarge, Code::FileTooLarge));
        assert_eq!(place.call(&ReadFile, json!({"path": "one"})).unwrap()["size"], json!(1 << 20));
    }

    #[test]
    fn without_a_range_at_most_500_lines_come() {
        let place = Place::new();
        place.put("long", numbered(600));
        let result = place.call(&ReadFile, json!({"path": "long"})).unwrap();
        assert_eq!(result["content"], json!(numbered(500)));
        assert_eq!(
            (&result["lines"], &result["truncated"], &result["limit"], &result["line_range"]),
            (&json!(600), &json!(true), &json!("read_lines"), &json!([1, 500]))
        );
    }

    #[test]
    fn a_range_is_inclusive_and_ends_500_lines_on_by_default() {
        let place = Place::new();
        place.put("long", numbered(1000));
        let range = |args: Value| {
            let result = place.call(&ReadFile, args).unwrap();
            (result["content"].as_str().unwrap().to_owned(), result["line_range"].clone(), result["truncated"].clone())
        };
        assert_eq!(
            range(json!({"path": "long", "start_line": 2, "end_line": 3})),
            ("line 2\nline 3\n".into(), json!([2, 3]), json!(false))
        );
        assert_eq!(range(json!({"path": "long", "start_line": 400})).1, json!([400, 899]));
        assert_eq!(range(json!({"path": "long", "start_line": 400})).2, json!(true));
        assert_eq!(range(json!({"path": "long", "start_line": 990})).1, json!([990, 1000]));
        assert_eq!(range(json!({"path": "long", "end_line": 999})).1, json!([1, 999]));
    }

    #[test]
    fn past_the_end_says_how_many_lines_there_are() {
        let place = Place::new();
        place.put("three", "1\n2\n3");
        place.put("empty", "");
        let failure = place.call(&ReadFile, json!({"path": "three", "start_line": 4})).unwrap_err().failure;
        assert_eq!(failure.code, Code::InvalidArguments);
        assert!(failure.message.contains("the file has 3 lines"), "{}", failure.message);
        let result = place.call(&ReadFile, json!({"path": "empty", "start_line": 1})).unwrap();
        assert_eq!(
            (&result["content"], &result["lines"], &result["line_range"]),
            (&json!(""), &json!(0), &json!([0, 0]))
        );
        assert!(place.call(&ReadFile, json!({"path": "three", "start_line": 2, "end_line": 1})).is_err());
    }

    #[test]
    fn a_large_file_gives_a_range_within_the_limit() {
        let place = Place::new();
        let line = format!("{}\n", "é".repeat(500));
        place.put("large", line.repeat(3000));
        let result = place.call(&ReadFile, json!({"path": "large", "start_line": 10, "end_line": 2900})).unwrap();
        let kept = (1 << 20) / line.len() as u64;
        assert_eq!(
            (&result["line_range"], &result["limit"], &result["lines"]),
            (&json!([10, 9 + kept]), &json!("read_bytes"), &json!(3000))
        );
        assert_eq!(result["content"].as_str().unwrap().len() as u64, kept * line.len() as u64);
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        let place = Place::new();
        place.put("line", format!("a{}", "é".repeat(1 << 20)));
        let result = place.call(&ReadFile, json!({"path": "line", "start_line": 1})).unwrap();
        assert_eq!(result["content"].as_str().unwrap().len(), (1 << 20) - 1);
        assert_eq!((&result["line_range"], &result["lines"]), (&json!([1, 1]), &json!(1)));
    }

    #[test]
    fn marks_and_utf_16_are_recognised() {
        let place = Place::new();
        place.put("bom", "\u{FEFF}a\nb\n");
        let utf16: Vec<u8> = [0xFEFF].into_iter().chain("α\n😀\nγ".encode_utf16()).flat_map(u16::to_be_bytes).collect();
        place.put("wide", &utf16);
        for range in [json!({}), json!({"start_line": 1, "end_line": 9})] {
            let read = |path: &str| {
                let mut args = range.clone();
                args["path"] = path.into();
                place.call(&ReadFile, args).unwrap()
            };
            let (bom, wide) = (read("bom"), read("wide"));
            assert_eq!(
                (&bom["content"], &bom["encoding"], &bom["bom"]),
                (&json!("a\nb\n"), &json!("utf-8"), &json!(true))
            );
            assert_eq!((&wide["content"], &wide["encoding"]), (&json!("α\n😀\nγ"), &json!("utf-16be")));
            assert_eq!((&bom["lines"], &wide["lines"]), (&json!(2), &json!(3)));
        }
        let second = place.call(&ReadFile, json!({"path": "wide", "start_line": 2, "end_line": 2})).unwrap();
        assert_eq!(second["content"], json!("😀\n"));
    }

    #[test]
    fn binary_is_refused_as_text_with_its_likely_type_and_read_as_bytes() {
        let place = Place::new();
        place.put("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        place.put("latin", b"caf\xe9\n");
        for args in [json!({"path": "p.png"}), json!({"path": "p.png", "start_line": 1}), json!({"path": "latin"})] {
            let failure = place.call(&ReadFile, args.clone()).unwrap_err().failure;
            assert_eq!(failure.code, Code::BinaryFile, "{args}");
            assert!(failure.message.contains("base64"));
            assert_eq!(failure.message.contains("image/png"), args["path"] == "p.png");
        }
        let latin = place.call(&ReadFile, json!({"path": "latin", "encoding": "latin1"})).unwrap();
        assert_eq!((&latin["content"], &latin["encoding"]), (&json!("café\n"), &json!("latin1")));
        let range = place.call(&ReadFile, json!({"path": "latin", "encoding": "latin1", "start_line": 1})).unwrap();
        assert_eq!(range["content"], json!("café\n"));
        let bytes = place.call(&ReadFile, json!({"path": "latin", "encoding": "base64"})).unwrap();
        assert_eq!((&bytes["content"], &bytes["size"]), (&json!("Y2Fm6Qo="), &json!(5)));
    }

    #[test]
    fn a_folder_is_no_file() {
        let place = Place::new();
        place.folder("d");
        assert_eq!(place.call(&ReadFile, json!({"path": "d"})).unwrap_err().failure.code, Code::NotAFile);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_terabyte_of_nothing_is_refused_without_reading_it() {
        let place = Place::new();
        place.put("sparse", "");
        std::fs::OpenOptions::new().write(true).open(place.path("sparse")).unwrap().set_len(1 << 40).unwrap();
        let code = |args: Value| place.call(&ReadFile, args).unwrap_err().failure.code;
        assert_eq!(code(json!({"path": "sparse"})), Code::FileTooLarge);
        assert_eq!(code(json!({"path": "sparse", "start_line": 1})), Code::BinaryFile);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_size_is_read_and_capped() {
        let mut limits = Limits::default();
        let target = crate::workspace::resolve_outside(std::path::Path::new("/proc/self/maps")).unwrap();
        assert_eq!(target.identity().bytes, 0);
        assert!(!target.read_all(limits.read_bytes).unwrap().is_empty());
        limits.read_bytes = 10;
        assert_eq!(Failure::from(target.read_all(limits.read_bytes).unwrap_err()).code, Code::FileTooLarge);
    }
}
