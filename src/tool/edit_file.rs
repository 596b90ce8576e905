//! `edit_file`: replaces texts in a file, all of them or none.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{Text, binary};
use super::veil::Veil;
use super::write_file::check_bytes;
use super::{Limits, Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest, diff, one_path, only, schema};
use crate::ir::{Access, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use crate::policy::{MaskedSecret, Masker, TargetKind, key_lines, note_key_lines};
use crate::workspace::{Purpose, Target};

/// How many lines are looked through for the nearest one.
const MAX_NEAREST_LINES: usize = 20_000;

/// How much of a line is compared and shown, in characters.
const MAX_NEAREST_CHARACTERS: usize = 160;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, absolute or relative to the first allowed folder.
    path: String,
    /// The replacements, made one after the other. If one fails, none is made.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The text to replace, exactly as it stands in the file, with its indentation. It must be there exactly once.
    #[schemars(length(min = 1))]
    old_text: String,
    /// The text to put in its place.
    new_text: String,
    /// Replace every occurrence instead of exactly one.
    #[serde(default)]
    replace_all: bool,
}

/// Edits files.
pub(super) struct EditFile;

impl Tool for EditFile {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "edit_file".into(),
            description: "Change parts of a text file: each old_text must stand in the file exactly once (give enough \
                          lines around it) and is replaced by new_text. All edits are made or none."
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
        for (index, edit) in args.edits.iter().enumerate() {
            let problem = if edit.old_text.is_empty() {
                "is empty"
            } else if edit.old_text == edit.new_text {
                "is the same as `new_text`"
            } else {
                continue;
            };
            return Err(Failure::new(Code::InvalidArguments, format!("`edits[{index}].old_text` {problem}.")));
        }
        if args.edits.is_empty() {
            return Err(Failure::new(Code::InvalidArguments, "`edits` is empty."));
        }
        Ok(one_path(args.path, Purpose::Write))
    }

    fn preview(&self, args: &Value, targets: &[Target], context: &PreviewContext) -> Result<Preview, Failure> {
        let args: Args = schema::arguments(args)?;
        let change = Change::plan(&args, only(targets)?, &context.limits, context.withheld.as_deref())?;
        Ok(diff::preview(&change.old, &change.new.text))
    }

    fn leaves(
        &self,
        args: &Value,
        targets: &[Target],
        limits: &Limits,
        withheld: Option<&[MaskedSecret]>,
    ) -> Option<Vec<u8>> {
        let args: Args = schema::arguments(args).ok()?;
        Some(Change::plan(&args, targets.first()?, limits, withheld).ok()?.new.encode())
    }

    fn run(&self, permit: Permit, context: &RunContext) -> Result<Value, RunError> {
        let args: Args = schema::arguments(permit.args())?;
        let target = only(permit.targets())?;
        let change = Change::plan(&args, target, &context.limits, context.withheld.as_deref())?;
        target.write(&change.new.encode())?;
        let name = target.resolved_relative().map_or_else(String::new, crate::policy::RelPath::to_slash);
        let unified = diff::unified(&change.old, &change.new.text, &name);
        let key_lines = diff::key_lines(&unified, &change.old, &change.new.text);
        let mut result = json!({
            "path": target.resolved().to_string_lossy(),
            "edits_applied": args.edits.len(),
            "diff": unified,
        });
        note_key_lines(&mut result, &key_lines);
        Ok(result)
    }
}

/// What the edits make of the file.
struct Change {
    old: String,
    new: Text,
}

impl Change {
    /// For a model elsewhere no edit matches within a secret or over the border of one, as no search does: else whether an
    /// edit applies would tell it letter by letter, and nobody is asked about an edit that does not.
    fn plan(args: &Args, target: &Target, limits: &Limits, withheld: Option<&[MaskedSecret]>) -> Result<Self, Failure> {
        if target.kind() == TargetKind::Missing {
            let sentence = format!("There is no such file. Path: {}", target.resolved().display());
            return Err(Failure::new(Code::PathNotFound, sentence));
        }
        let bytes = target.read_all(limits.write_bytes)?;
        let Text { text: old, encoding } = Text::decode(&bytes).ok_or_else(|| binary(&bytes, target.resolved()))?;
        let places = withheld.map_or_else(Vec::new, |secrets| Masker::new(secrets.to_vec()).withheld(&old));
        let others = args.edits.iter().flat_map(|edit| [&*edit.old_text, &*edit.new_text]);
        // What uses every sign that nobody uses is no text.
        let veil = Veil::over(&old, places, others).ok_or_else(|| binary(&bytes, target.resolved()))?;
        let mut text = veil.drawn(&old);
        for (index, edit) in args.edits.iter().enumerate() {
            text = apply(&text, edit, &veil, limits).map_err(|miss| miss.failure(index, args.edits.len(), target))?;
        }
        let new = Text { text: veil.lifted(&text), encoding };
        check_bytes(new.encode().len() as u64, limits)?;
        Ok(Self { old, new })
    }
}

/// Why an edit does not apply.
enum Miss {
    NotFound { nearest: Option<(usize, String)> },
    Ambiguous { lines: Vec<usize>, count: usize },
    TooLarge(Failure),
}

impl Miss {
    fn failure(self, index: usize, of: usize, target: &Target) -> Failure {
        let which = if of == 1 { "`old_text`".to_owned() } else { format!("`edits[{index}].old_text`") };
        let path = target.resolved().display();
        match self {
            Self::NotFound { nearest: Some((line, text)) } => Failure::new(
                Code::EditNotFound,
                format!(
                    "{which} is not in the file; nothing was changed. The nearest line is {line}: {text:?}. Path: {path}"
                ),
            ),
            Self::NotFound { nearest: None } => Failure::new(
                Code::EditNotFound,
                format!("{which} is not in the file, and no line is like it; nothing was changed. Path: {path}"),
            ),
            Self::TooLarge(failure) => failure,
            Self::Ambiguous { lines, count } => {
                let lines = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                let sentence = format!(
                    "{which} is in the file {count} times (lines {lines}{}); nothing was changed. Give more lines around \
                     it, or set `replace_all`. Path: {path}",
                    if count > SHOWN_LINES { ", …" } else { "" }
                );
                Failure::new(Code::EditAmbiguous, sentence)
            }
        }
    }
}

/// How many places of an ambiguous text are named.
const SHOWN_LINES: usize = 10;

fn apply(text: &str, edit: &Edit, veil: &Veil, limits: &Limits) -> Result<String, Miss> {
    let (old, new) = if text.contains(&edit.old_text) || !text.contains("\r\n") {
        (edit.old_text.clone(), edit.new_text.clone())
    } else {
        // Models write bare line feeds: in a file with Windows line ends they mean those.
        (with_crlf(&edit.old_text), with_crlf(&edit.new_text))
    };
    let places = if edit.replace_all { text.matches(&old).count() } else { usize::from(text.contains(&old)) };
    if places == 0 {
        let nearest = nearest(text, &edit.old_text);
        let as_written = |(line, shown): (usize, String)| (veil.line(text, line), veil.shown(&shown));
        return Err(Miss::NotFound { nearest: nearest.map(as_written) });
    }
    if !edit.replace_all && is_ambiguous(text, &old) {
        let line_of =
            |place: usize| veil.line(text, text.get(..place).map_or(0, |before| before.matches('\n').count()) + 1);
        let count = text.matches(&old).count().max(2);
        let lines = text.match_indices(&old).take(SHOWN_LINES).map(|(place, _)| line_of(place)).collect();
        return Err(Miss::Ambiguous { lines, count });
    }
    // Reckoned before it is made: replacing everything by much more would fill the memory.
    let bytes = text.len().saturating_sub(places * old.len()).saturating_add(places.saturating_mul(new.len()));
    check_bytes(bytes as u64, limits).map_err(Miss::TooLarge)?;
    Ok(text.replace(&old, &new))
}

/// Whether a text is there more than once; places that overlap count, as each would be another edit.
fn is_ambiguous(text: &str, old: &str) -> bool {
    text.find(old) != text.rfind(old)
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The line that is most like the first line with something in it, with its number.
fn nearest(text: &str, old: &str) -> Option<(usize, String)> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    let wanted_pairs = pairs(wanted);
    let mut best: Option<(f32, usize, &str)> = None;
    // Nobody is asked for an edit that does not apply: its failure shows no line of a key.
    let keys = key_lines(text);
    let is_key = |line: u64| keys.iter().any(|[first, last]| (*first..=*last).contains(&line));
    for (index, line) in text.lines().enumerate().take(MAX_NEAREST_LINES) {
        if is_key(index as u64 + 1) {
            continue;
        }
        let likeness = likeness(&wanted_pairs, &pairs(line.trim()));
        if likeness > best.map_or(0.3, |(best, _, _)| best) {
            best = Some((likeness, index + 1, line));
        }
    }
    best.map(|(_, number, line)| (number, line.chars().take(MAX_NEAREST_CHARACTERS).collect()))
}

/// The pairs of neighbouring characters, sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let characters = line.chars().take(MAX_NEAREST_CHARACTERS);
    let mut pairs: Vec<_> = characters.clone().zip(characters.skip(1)).collect();
    if pairs.is_empty() {
        pairs.extend(line.chars().next().map(|only| (only, only)));
    }
    pairs.sort_unstable();
    pairs
}

/// The Dice coefficient: 1 for the same pairs, 0 for none in common.
fn likeness(one: &[(char, char)], other: &[(char, char)]) -> f32 {
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    let mut common = 0_usize;
    while let (Some(first), Some(second)) = (ones.peek(), others.peek()) {
        match first.cmp(second) {
            std::cmp::Ordering::Less => ones.next(),
            std::cmp::Ordering::Greater => others.next(),
            std::cmp::Ordering::Equal => {
                common += 1;
                others.next();
                ones.next()
            }
        };
    }
    2.0 * common as f32 / (one.len() + other.len()).max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::super::testing::Place;
    use super::*;

    fn edit(path: &str, edits: &[(&str, &str)]) -> Value {
        let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({"old_text": old, "new_text": new})).collect();
        json!({"path": path, "edits": edits})
    }

    #[test]
    fn edits_apply_one_after_the_other_and_say_what_changed() {
        let place = Place::new();
        place.put("src/a.rs", "fn one() {}\nfn two() {}\n");
        let args = edit("src/a.rs", &[("one", "first"), ("first() {}", "first();")]);
        let Ok(Preview::Diff { added, removed, .. }) = place.preview(&EditFile, &args) else { panic!("no diff") };
        assert_eq!((added, removed), (1, 1));
        assert_eq!(
            place.call(&EditFile, args).unwrap(),
            json!({
                "path": place.shown("src/a.rs"),
                "edits_applied": 2,
                "diff": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n-fn one() {}\n+fn first();\n fn two() {}\n",
            })
        );
        assert_eq!(place.get("src/a.rs").unwrap(), b"fn first();\nfn two() {}\n");
    }

    #[test]
    fn one_miss_and_nothing_is_changed() {
        let place = Place::new();
        place.put("a", "alpha\nbeta gamma\n");
        let failure = place.call(&EditFile, edit("a", &[("alpha", "x"), ("beta gama", "y")])).unwrap_err().failure;
        assert_eq!(failure.code, Code::EditNotFound);
        assert_eq!(
            failure.message,
            format!(
                "`edits[1].old_text` is not in the file; nothing was changed. The nearest line is 2: \"beta gamma\". Path: {}",
                place.shown("a")
            )
        );
        assert_eq!(place.get("a").unwrap(), b"alpha\nbeta gamma\n");
    }

    #[test]
    fn a_text_that_is_there_twice_is_ambiguous_unless_all_are_meant() {
        let place = Place::new();
        place.put("a", "x = 1\ny = 1\n");
        let failure = place.call(&EditFile, edit("a", &[("= 1", "= 2")])).unwrap_err().failure;
        assert_eq!(failure.code, Code::EditAmbiguous);
        assert!(failure.message.contains("2 times (lines 1, 2)"), "{}", failure.message);
        let all = json!({"path": "a", "edits": [{"old_text": "= 1", "new_text": "= 2", "replace_all": true}]});
        assert!(place.call(&EditFile, all).is_ok());
        assert_eq!(place.get("a").unwrap(), b"x = 2\ny = 2\n");
        place.put("b", "aaa");
        let overlapping = place.call(&EditFile, edit("b", &[("aa", "b")])).unwrap_err().failure;
        assert_eq!(overlapping.code, Code::EditAmbiguous);
    }

    #[test]
    fn windows_line_ends_marks_and_utf_16_stay() {
        let place = Place::new();
        place.put("crlf", "one\r\ntwo\r\nthree\r\n");
        place.call(&EditFile, edit("crlf", &[("one\ntwo", "1\n2")])).unwrap();
        assert_eq!(place.get("crlf").unwrap(), b"1\r\n2\r\nthree\r\n");
        place.put("bom", "\u{FEFF}one");
        place.call(&EditFile, edit("bom", &[("one", "two")])).unwrap();
        assert_eq!(place.get("bom").unwrap(), "\u{FEFF}two".as_bytes());
        place.put("wide", b"\xFF\xFEo\0n\0e\0");
        place.call(&EditFile, edit("wide", &[("one", "é")])).unwrap();
        assert_eq!(place.get("wide").unwrap(), b"\xFF\xFE\xE9\0");
    }

    #[test]
    fn what_cannot_be_edited_is_refused_before_anybody_is_asked() {
        let place = Place::new();
        place.put("bin", b"a\0b");
        place.put("a", "a");
        place.folder("d");
        let code = |args: &Value| place.preview(&EditFile, args).unwrap_err().code;
        assert_eq!(code(&edit("none", &[("a", "b")])), Code::PathNotFound);
        assert_eq!(code(&edit("bin", &[("a", "b")])), Code::BinaryFile);
        assert_eq!(code(&edit("d", &[("a", "b")])), Code::NotAFile);
        assert_eq!(code(&edit("a", &[("", "b")])), Code::InvalidArguments);
        assert_eq!(code(&edit("a", &[("a", "a")])), Code::InvalidArguments);
        assert_eq!(code(&edit("a", &[])), Code::InvalidArguments);
    }

    #[test]
    fn growth_stops_at_the_limit() {
        let place = Place::new();
        place.put("a", "x".repeat(1000));
        let grow = json!({"old_text": "x", "new_text": "x".repeat(100), "replace_all": true});
        let args = json!({"path": "a", "edits": [grow, grow, grow, grow]});
        assert_eq!(place.preview(&EditFile, &args).unwrap_err().code, Code::ContentTooLarge);
        // A million places, each replaced by a megabyte: a terabyte, reckoned and not made.
        place.put("b", "x".repeat(1 << 20));
        let bomb = json!({"old_text": "x", "new_text": "y".repeat(1 << 20), "replace_all": true});
        let args = json!({"path": "b", "edits": [bomb]});
        assert_eq!(place.preview(&EditFile, &args).unwrap_err().code, Code::ContentTooLarge);
    }

    #[test]
    fn for_a_model_elsewhere_an_edit_applies_beside_a_secret_and_never_within_it() {
        let secret = "Zq7Lm2XwT9kd";
        let file = format!("DB_PASS={secret}\nHOST=Zq7\n");
        let code = |place: &Place, old: &str, is_elsewhere: bool| {
            let mut place_args = edit("a", &[(old, "?")]);
            place_args["edits"][0]["replace_all"] = json!(true);
            place.put("a", &file);
            let context = PreviewContext { withheld: is_elsewhere.then(Vec::new), ..PreviewContext::default() };
            let targets = place.targets(&EditFile, &place_args).unwrap();
            EditFile.preview(&place_args, &targets, &context).err().map(|failure| (failure.code, failure.message))
        };
        let place = Place::new();
        for old in ["DB_PASS=Z", "7Lm2", "d\nHOST", secret] {
            assert_eq!(code(&place, old, false), None, "the control: {old}");
            let (code, message) = code(&place, old, true).unwrap();
            assert_eq!(code, Code::EditNotFound, "{old}");
            assert!(!message.contains("Zq7Lm") && !message.contains("T9kd"), "{message}");
        }
        // What stands beside it is found, and what is written holds it unchanged.
        let mut place = Place::new();
        place.context.withheld = Some(Vec::new());
        place.put("a", &file);
        let mut all = edit("a", &[("DB_PASS=", "PW="), ("HOST", "SERVER"), ("Zq7", "db")]);
        all["edits"][2]["replace_all"] = json!(true);
        let targets = place.targets(&EditFile, &all).unwrap();
        let left = EditFile.leaves(&all, &targets, &Limits::default(), Some(&[])).unwrap();
        place.run(&EditFile, all, targets).unwrap();
        assert_eq!(place.get("a").unwrap(), format!("PW={secret}\nSERVER=db\n").as_bytes());
        assert_eq!(place.get("a").unwrap(), left);
    }

    #[test]
    fn a_text_that_overlaps_itself_everywhere_is_told_at_once() {
        let place = Place::new();
        place.put("a", "x".repeat(2 << 20));
        let half = "x".repeat(1 << 20);
        let failure = place.preview(&EditFile, &edit("a", &[(half.as_str(), "y")])).unwrap_err();
        assert_eq!(failure.code, Code::EditAmbiguous);
    }
}
