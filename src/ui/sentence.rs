//! Facts of a question and of a rule as sentences in the window's language.

use crate::app::rows::{bytes, grouped_number, short_path};
use crate::ir::{Access, ChangeNote, Error, Leak, ObstacleKind, Preview, Tier};
use crate::lang::{Arg, Lang};
use crate::policy::{AskReason, RuleScope, one_line, one_line_name};
use crate::port::{ConfirmRequest, error_text};

/// Characters of a name in a sentence, and of an error's own words.
const LONGEST_NAME: usize = 160;
const LONGEST_DETAIL: usize = 600;

/// The key of a question's title.
pub fn title_key(request: &ConfirmRequest) -> &'static str {
    match (request.access, &request.preview) {
        (Access::Read, _) => match (request.call.name.as_str(), request.folder.is_some()) {
            ("workspace.list_files", _) => "confirm-title-server-list",
            ("workspace.read_file", _) => "confirm-title-server",
            ("list_directory", false) => "confirm-title-list",
            ("list_directory", true) => "confirm-title-list-inside",
            ("search_files", false) => "confirm-title-search",
            ("search_files", true) => "confirm-title-search-inside",
            (_, false) => "confirm-title-read",
            (_, true) => "confirm-title-read-inside",
        },
        (Access::Write, Preview::NewFile { .. }) => "confirm-title-create",
        (Access::Write, Preview::Nothing) if request.call.name == "create_directory" => "confirm-title-folder",
        (Access::Write, _) => "confirm-title-change",
        (Access::Delete, Preview::Tree { count, .. }) if *count > 1 => "confirm-title-delete-many",
        (Access::Delete, _) => "confirm-title-delete",
        (Access::Execute, _) => "confirm-title-command",
    }
}

/// What would happen, in one sentence.
pub fn what(lang: &Lang, request: &ConfirmRequest) -> String {
    match &request.preview {
        Preview::NewFile { content } => {
            let lines = content.lines().count();
            let size = bytes(content.len() as u64);
            lang.format("confirm-what-create", &[("lines", Arg::from(lines)), ("size", Arg::from(size))])
        }
        Preview::Diff { .. } if !request.preview.counts_lines() => lang.text("confirm-what-replace").to_owned(),
        Preview::Diff { added, removed, .. } => {
            lang.format("confirm-what-change", &[("added", Arg::from(*added)), ("removed", Arg::from(*removed))])
        }
        Preview::Tree { count, bytes: size, at_least, .. } => {
            let key = if *at_least { "confirm-what-delete-at-least" } else { "confirm-what-delete" };
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            lang.format(key, &[("count", Arg::Number(count)), ("size", Arg::from(bytes(*size)))])
        }
        Preview::Command(_) => lang.text("confirm-what-command").to_owned(),
        Preview::Nothing => match request.access {
            Access::Read => match request.call.name.as_str() {
                "list_directory" => lang.text("confirm-what-list"),
                "search_files" => lang.text("confirm-what-search"),
                "workspace.list_files" => lang.text("confirm-what-server-list"),
                "workspace.read_file" => lang.text("confirm-what-server"),
                _ => lang.text("confirm-what-read"),
            },
            Access::Write => lang.text("confirm-what-folder"),
            Access::Delete => lang.text("confirm-what-delete-one"),
            Access::Execute => lang.text("confirm-what-command"),
        }
        .to_owned(),
    }
}

/// The key of a tier's short name.
pub const fn tier_badge_key(tier: Tier) -> &'static str {
    match tier {
        Tier::A => "tier-badge-a",
        Tier::B => "tier-badge-b",
        Tier::Seatbelt => "tier-badge-seatbelt",
        Tier::Unconfined => "tier-badge-unconfined",
    }
}

/// The keys of a tier's name and of what it means.
pub const fn tier_keys(tier: Tier) -> (&'static str, &'static str) {
    match tier {
        Tier::A => ("tier-a", "tier-a-help"),
        Tier::B => ("tier-b", "tier-b-help"),
        Tier::Seatbelt => ("tier-seatbelt", "tier-seatbelt-help"),
        Tier::Unconfined => ("tier-unconfined", "tier-unconfined-help"),
    }
}

/// What a confined command can do all the same; `None` where nothing is known.
pub fn gaps(lang: &Lang, gaps: &[Leak]) -> Option<String> {
    let keys: Vec<&str> = gaps.iter().filter_map(|leak| leak.text_key()).map(|key| lang.text(key)).collect();
    let listed = keys.join(lang.text("gap-separator"));
    (!keys.is_empty()).then(|| lang.format("tier-gaps", &[("gaps", Arg::from(listed.as_str()))]))
}

/// The key of what is in a tier's way and how to mend it.
pub const fn obstacle_key(kind: ObstacleKind) -> &'static str {
    match kind {
        ObstacleKind::System => "obstacle-system",
        ObstacleKind::NoBubblewrap => "obstacle-no-bubblewrap",
        ObstacleKind::BubblewrapFailed => "obstacle-bubblewrap-failed",
        ObstacleKind::NoLandlock => "obstacle-no-landlock",
        ObstacleKind::OldLandlock => "obstacle-old-landlock",
        ObstacleKind::Leaks => "obstacle-leaks",
        ObstacleKind::ProbeFailed => "obstacle-probe-failed",
    }
}

/// Why it is asked, where that is more than the mode; and whether it is shown in red.
pub fn reason(lang: &Lang, reason: &AskReason) -> Option<(String, bool)> {
    match reason {
        // Said by the title already.
        AskReason::Mode | AskReason::Deletion | AskReason::Command => None,
        AskReason::Server => Some((lang.text("confirm-reason-server").to_owned(), true)),
        AskReason::Outside => Some((lang.text("confirm-reason-outside").to_owned(), true)),
        AskReason::SuspiciousName { part } => {
            let part = one_line_name(part, LONGEST_NAME);
            Some((lang.format("confirm-reason-name", &[("part", Arg::from(part.as_ref()))]), true))
        }
        AskReason::HiddenCharacters { escaped } => {
            Some((lang.format("confirm-reason-hidden", &[("name", Arg::from(escaped.as_str()))]), true))
        }
        AskReason::ProtectedWrite => Some((lang.text("confirm-reason-protected").to_owned(), true)),
        AskReason::HardLink => Some((lang.text("confirm-reason-hard-link").to_owned(), false)),
        AskReason::OtherMount => Some((lang.text("confirm-reason-mount").to_owned(), true)),
        AskReason::ChangedRule => Some((lang.text("confirm-reason-rule").to_owned(), true)),
        AskReason::NotUndoable => Some((lang.text("confirm-reason-not-undoable").to_owned(), true)),
        AskReason::Unremembered => Some((lang.text("confirm-reason-unremembered").to_owned(), false)),
        AskReason::UnparsedCommand => Some((lang.text("confirm-reason-unparsed").to_owned(), true)),
        AskReason::UnseenPlaces { count } => Some((
            lang.format("confirm-reason-unseen", &[("count", Arg::from(i64::try_from(*count).unwrap_or(i64::MAX)))]),
            true,
        )),
        AskReason::LinkedOutside { count, example, is_cut } => {
            let path = example.as_deref().map(|path| one_line_name(path, LONGEST_NAME)).unwrap_or_default();
            let count = Arg::from(i64::try_from(*count).unwrap_or(i64::MAX));
            let key = if *is_cut { "confirm-reason-linked-uncounted" } else { "confirm-reason-linked" };
            Some((lang.format(key, &[("count", count), ("path", Arg::from(path.as_ref()))]), true))
        }
    }
}

/// What a change does that no line of it shows.
pub fn change_note(lang: &Lang, note: &ChangeNote) -> String {
    let what = note.what().map(|what| {
        let name = one_line_name(what.name(), LONGEST_NAME);
        let size = Arg::from(grouped_number(what.bytes()));
        lang.format(what.text_key(), &[("name", Arg::from(name.as_ref())), ("bytes", size)])
    });
    let (from, to) = note.encodings();
    let args = [("what", Arg::from(what.unwrap_or_default())), ("from", Arg::from(from)), ("to", Arg::from(to))];
    lang.format(note.text_key(), &args)
}

/// What went wrong, in the window's language.
pub fn error(lang: &Lang, error: &Error) -> String {
    let (key, args) = error_text(error);
    let args: Vec<(&str, Arg<'_>)> =
        args.iter().map(|(name, value)| (*name, Arg::from(one_line(value, LONGEST_DETAIL).into_owned()))).collect();
    lang.format(key, &args)
}

/// What a rule covers, as a sentence.
pub fn scope(lang: &Lang, scope: &RuleScope, home: Option<&str>) -> String {
    match scope {
        RuleScope::ExactCall { tool, target, .. } => {
            let target = one_line_name(&short_path(target, home), LONGEST_NAME).into_owned();
            lang.format("rule-exact", &[("tool", Arg::from(tool.as_str())), ("target", Arg::from(target))])
        }
        RuleScope::File { tool, file, .. } => {
            let file = one_line_name(file, LONGEST_NAME);
            lang.format("rule-file", &[("tool", Arg::from(tool.as_str())), ("file", Arg::from(file.as_ref()))])
        }
        RuleScope::FilesLike { tool, root, folder, extension } => {
            let root = short_path(&root.to_string_lossy(), home);
            let folder = if folder.is_empty() { root } else { format!("{root}/{folder}") };
            let folder = one_line_name(&folder, LONGEST_NAME).into_owned();
            lang.format(
                "rule-like",
                &[
                    ("tool", Arg::from(tool.as_str())),
                    ("pattern", Arg::from(format!("*.{}", one_line_name(extension, LONGEST_NAME)))),
                    ("folder", Arg::from(folder)),
                ],
            )
        }
        RuleScope::IdenticalPlan { tool, target, .. } => {
            let command = one_line_name(target, LONGEST_NAME).into_owned();
            lang.format("rule-identical", &[("tool", Arg::from(tool.as_str())), ("command", Arg::from(command))])
        }
        RuleScope::ToolInFolders { tool } => lang.format("rule-tool", &[("tool", Arg::from(tool.as_str()))]),
    }
}
