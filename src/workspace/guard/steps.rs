//! The lists of steps that git still has to do, in a rebase or a sequence of picks. Git works on them itself while a command
//! runs; what must not get into one unseen is a step that runs a command.

use std::ffi::OsString;

use super::kept::{Content, Kept};

/// Where git keeps one in its folder.
const LISTS: [[&str; 2]; 2] = [["rebase-merge", "git-rebase-todo"], ["sequencer", "todo"]];

/// Whether these names lead to one. A hook, or what hooks call, may have any name.
pub(super) fn is_list(names: &[&str]) -> bool {
    let has = |known: &str| names.iter().any(|name| name.eq_ignore_ascii_case(known));
    has(".git") && !has("hooks") && LISTS.iter().any(|list| names.ends_with(list))
}

/// Whether a folder of git by this name holds one: a link in its place leads to another list.
pub(super) fn is_folder_of_list(name: &str) -> bool {
    LISTS.iter().any(|[folder, _]| folder.eq_ignore_ascii_case(name))
}

/// Whether it is a list that has appeared and runs nothing.
pub(super) fn runs_nothing(path: &[OsString], now: &Kept) -> bool {
    runs_nothing_beyond(path, "", now)
}

/// Whether a change of a list that was there makes git run nothing new.
pub(super) fn is_at_work(path: &[OsString], before: &Kept, now: &Kept) -> bool {
    let Content::File(before) = &before.content else { return false };
    runs_nothing_beyond(path, &String::from_utf8_lossy(before), now)
}

fn runs_nothing_beyond(path: &[OsString], before: &str, now: &Kept) -> bool {
    let Some(names) = path.iter().map(|name| name.to_str()).collect::<Option<Vec<&str>>>() else { return false };
    let Content::File(now) = &now.content else { return false };
    is_list(&names) && runs(&String::from_utf8_lossy(now)).all(|line| runs(before).any(|known| known == line))
}

/// The steps that run a command.
fn runs(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(str::trim).filter(|line| {
        let step = line.split(|part: char| part.is_whitespace() || part == '\0').next().unwrap_or_default();
        matches!(step, "exec" | "x")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_where_git_keeps_it() {
        assert!(is_list(&["lib", ".git", "worktrees", "w", "rebase-merge", "git-rebase-todo"]));
        assert!(is_list(&[".git", "sequencer", "todo"]));
        let others: [&[&str]; 4] = [
            &[".git", "hooks", "todo"],
            &[".git", "hooks", "sequencer", "todo"],
            &[".git", "todo"],
            &["sequencer", "todo"],
        ];
        for other in others {
            assert!(!is_list(other), "{other:?}");
        }
    }

    #[test]
    fn only_steps_that_run_a_command_count() {
        let list = "pick 1 exec\n\texec id\n# exec id\nx\tid\nexecute\nlabel x\nx\r\nfixup 2";
        assert_eq!(runs(list).collect::<Vec<_>>(), ["exec id", "x\tid", "x"]);
    }
}
