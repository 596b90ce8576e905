//! A change as lines with context: for the confirmation, the card and the result.

use std::collections::BTreeSet;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::ir::{DiffLine, DiffTag, Preview};
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
    Preview::Diff { lines, added, removed }
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
        let Preview::Diff { lines, added, removed } = preview(&old, &new) else { panic!("no diff") };
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
        assert_eq!(preview("a\n", "a\n"), Preview::Diff { lines: vec![], added: 0, removed: 0 });
    }

    #[test]
    fn the_unified_form_is_what_patch_reads() {
        assert_eq!(unified("a\nb\n", "a\nc\n", "x"), "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}
