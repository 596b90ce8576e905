//! A change as lines with context: for the confirmation, the card and the result.

use std::collections::BTreeSet;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::text::{Text, likely_type};
use crate::ir::{ChangeNote, DiffLine, DiffTag, Preview, Unshown};
use crate::policy;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// After this long a diff is finished in a coarser way, which is still right.
const COARSE_AFTER: Duration = Duration::from_millis(500);

/// The whole change.
pub(super) fn preview(old: &str, new: &str) -> Preview {
    let mut lines = Vec::new();
    let (mut added, mut removed) = (0, 0);
    let diff = TextDiff::configure().timeout(COARSE_AFTER).diff_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT_LINES);
    let mut shown_to = 0;
    for group in &groups {
        let begin = group.first().map_or(0, |op| op.old_range().start);
        if begin > shown_to {
            lines.push(gap());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let tag = match change.tag() {
                ChangeTag::Equal => DiffTag::Context,
                ChangeTag::Delete => DiffTag::Removed,
                ChangeTag::Insert => DiffTag::Added,
            };
            added += usize::from(tag == DiffTag::Added);
            removed += usize::from(tag == DiffTag::Removed);
            lines.push(DiffLine {
                tag,
                old_line: change.old_index().map(number),
                new_line: change.new_index().map(number),
                text: change.value().to_owned(),
            });
        }
        shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
    }
    if !groups.is_empty() && shown_to < diff.old_len() {
        lines.push(gap());
    }
    let is_there = new.ends_with('\n');
    let has_changed = !old.is_empty() && !new.is_empty() && old.ends_with('\n') != is_there;
    Preview::Diff {
        lines,
        added,
        removed,
        notes: has_changed.then_some(ChangeNote::LastBreak { is_there }).into_iter().collect(),
    }
}

/// One side of a change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All its bytes.
    Bytes(Vec<u8>),
    /// What cannot be shown.
    Unshown(Unshown),
}

/// The change from one content to another: lines where there is text, and notes for what lines do not tell. Empty only
/// where both are the same bytes.
pub fn change(old: &Content, new: &Content) -> Preview {
    if let (Content::Bytes(old), Content::Bytes(new)) = (old, new)
        && old == new
    {
        return preview("", "");
    }
    let (old, new) = (shown(old), shown(new));
    let mut notes = Vec::new();
    if let (Ok(old), Ok(new)) = (&old, &new)
        && old.encoding != new.encoding
    {
        notes.push(ChangeNote::Encoding { from: old.encoding.title().into(), to: new.encoding.title().into() });
    }
    let mut lines_of = |side: Result<Text, Unshown>, note: fn(Unshown) -> ChangeNote| match side {
        Ok(text) => text.text,
        // Never words in place of content: what is written could be the same words.
        Err(what) => {
            notes.push(note(what));
            String::new()
        }
    };
    let old = lines_of(old, |what| ChangeNote::Replaces { what });
    let new = lines_of(new, |what| ChangeNote::Becomes { what });
    match preview(&old, &new) {
        Preview::Diff { lines, added, removed, notes: of_lines } => {
            notes.extend(of_lines);
            Preview::Diff { lines, added, removed, notes }
        }
        other @ (Preview::Nothing | Preview::NewFile { .. } | Preview::Tree { .. } | Preview::Command(_)) => other,
    }
}

fn shown(content: &Content) -> Result<Text, Unshown> {
    match content {
        Content::Bytes(bytes) => Text::decode(bytes).ok_or_else(|| Unshown::Binary {
            media_type: likely_type(bytes).unwrap_or_default().to_owned(),
            bytes: bytes.len() as u64,
        }),
        Content::Unshown(what) => Err(what.clone()),
    }
}

/// The change as a unified diff.
pub(super) fn unified(old: &str, new: &str, name: &str) -> String {
    let diff = TextDiff::configure().timeout(COARSE_AFTER).diff_lines(old, new);
    let names = (format!("a/{name}"), format!("b/{name}"));
    diff.unified_diff().context_radius(CONTEXT_LINES).header(&names.0, &names.1).to_string()
}

/// The lines of a unified diff that belong to a private key on either side; first and last, from 1.
pub(super) fn key_lines(unified: &str, old: &str, new: &str) -> Vec<[u64; 2]> {
    let mut keys = BTreeSet::new();
    for text in [old, new] {
        for [first, last] in policy::key_lines(text) {
            let skipped = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
            let count = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(usize::MAX);
            keys.extend(text.lines().skip(skipped).take(count).filter(|line| !line.trim().is_empty()));
        }
    }
    let is_key = |line: &str| line.get(1..).is_some_and(|text| keys.contains(text));
    (1..).zip(unified.lines()).filter(|(_, line)| is_key(line)).map(|(number, _)| [number, number]).collect()
}

fn gap() -> DiffLine {
    DiffLine { tag: DiffTag::Gap, old_line: None, new_line: None, text: String::new() }
}

/// Lines are counted from 1.
fn number(index: usize) -> u32 {
    u32::try_from(index).map_or(u32::MAX, |index| index.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stand_in_their_context_with_gaps_between() {
        let old: String = (1..=20).fold(String::new(), |text, line| text + &format!("{line}\n"));
        let new = old.replace("\n5\n", "\nfive\n").replace("\n20\n", "\n20");
        let Preview::Diff { lines, added, removed, .. } = preview(&old, &new) else { panic!("no diff") };
        let drawn: Vec<String> = lines
            .iter()
            .map(|line| match line.tag {
                DiffTag::Context => format!(" {}", line.text),
                DiffTag::Added => format!("+{}", line.text),
                DiffTag::Removed => format!("-{}", line.text),
                DiffTag::Gap => "…".into(),
            })
            .collect();
        assert_eq!(
            drawn,
            [
                "…", " 2\n", " 3\n", " 4\n", "-5\n", "+five\n", " 6\n", " 7\n", " 8\n", "…", " 17\n", " 18\n", " 19\n",
                "-20\n", "+20"
            ]
        );
        assert_eq!((added, removed), (2, 2));
        assert_eq!((lines[4].old_line, lines[4].new_line, lines[5].new_line), (Some(5), None, Some(5)));
    }

    #[test]
    fn no_change_is_no_line() {
        assert_eq!(preview("a\n", "a\n"), Preview::Diff { lines: vec![], added: 0, removed: 0, notes: vec![] });
    }

    #[test]
    fn a_last_line_that_reads_the_same_is_said_to_get_or_lose_its_break() {
        let notes = |old: &str, new: &str| preview(old, new).notes().to_vec();
        for (old, new, expected) in [
            ("a\nb", "a\nb\n", Some(true)),
            ("a\nb\n", "c", Some(false)),
            ("a\n", "b\n", None),
            ("a", "b", None),
            ("", "b\n", None),
            ("a\n", "", None),
        ] {
            let expected: Vec<_> = expected.map(|is_there| ChangeNote::LastBreak { is_there }).into_iter().collect();
            assert_eq!(notes(old, new), expected, "{old:?} {new:?}");
        }
    }

    /// Whether a change is said to be none.
    fn says_nothing(old: &[u8], new: &[u8]) -> bool {
        change(&Content::Bytes(old.to_vec()), &Content::Bytes(new.to_vec())) == preview("", "")
    }

    #[test]
    fn a_change_says_nothing_only_where_both_are_the_same_bytes() {
        let utf16: Vec<u8> = [0xFEFF].into_iter().chain("a\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let contents: [&[u8]; 14] = [
            b"",
            b"a\n",
            b"a",
            b"a\r\n",
            b"a\r",
            b"\xEF\xBB\xBF",
            b"\xEF\xBB\xBFa\n",
            b"\xEF\xBB\xBF\xEF\xBB\xBFa\n",
            &utf16,
            b"\xFF\xFE",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            b"(image/png, 16 bytes)\n",
            b"\0",
            b"\xFF",
        ];
        for (row, old) in contents.iter().enumerate() {
            for (column, new) in contents.iter().enumerate() {
                assert_eq!(says_nothing(old, new), row == column, "{old:?} {new:?}");
            }
        }
    }

    #[test]
    fn what_has_no_lines_is_noted_and_never_drawn_as_lines() {
        let large = Content::Unshown(Unshown::TooLarge { bytes: 9 });
        let text = Content::Bytes(b"(a file too large to show, 9 bytes)\n".to_vec());
        let Preview::Diff { lines, added, removed, notes } = change(&large, &text) else { panic!("no diff") };
        assert_eq!((lines.len(), added, removed), (1, 1, 0));
        assert_eq!(notes, [ChangeNote::Replaces { what: Unshown::TooLarge { bytes: 9 } }]);
        let Preview::Diff { added, removed, notes, .. } = change(&text, &Content::Bytes(vec![0xFF])) else {
            panic!("no diff")
        };
        let what = Unshown::Binary { media_type: String::new(), bytes: 1 };
        assert_eq!((added, removed, notes), (0, 1, vec![ChangeNote::Becomes { what }]));
    }

    #[test]
    fn the_unified_form_is_what_patch_reads() {
        assert_eq!(unified("a\nb\n", "a\nc\n", "x"), "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}
