//! What git keeps of a rebase, of picks or of patches that are half done. Git works on these files itself while a command
//! runs; what must not get into one unseen is what runs a program: a step, a strategy (git starts `git-merge-NAME`, wherever
//! that leads), or text in the place of a number (a prompt that shows how far a rebase is evaluates it, as
//! `git-prompt.sh` does in `PROMPT_COMMAND`).

use std::ffi::OsString;

use super::kept::{Content, Kept};
use crate::policy::{GIT_STEPS, GitSetting, parse_git_config};

/// What such a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The steps that are still to be done.
    List,
    /// The name of how to merge.
    Strategy,
    /// A configuration, with the name of how to merge among others.
    Options,
    /// The number of a step.
    Number,
}

/// Those of git itself.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Whether these names lead to one. A hook, or what hooks call, may have any name.
pub(super) fn is_of_steps(names: &[&str]) -> bool {
    kind(names).is_some()
}

fn kind(names: &[&str]) -> Option<Kind> {
    let has = |known: &str| names.iter().any(|name| name.eq_ignore_ascii_case(known));
    let (_, name) = GIT_STEPS.iter().map(|step| (step, step[1])).find(|(step, _)| names.ends_with(*step))?;
    (has(".git") && !has("hooks")).then_some(match name {
        "strategy" => Kind::Strategy,
        "opts" => Kind::Options,
        "msgnum" | "end" | "next" | "last" => Kind::Number,
        _ => Kind::List,
    })
}

/// Whether a folder of git by this name holds one: a link in its place leads to others.
pub(super) fn is_folder_of_steps(name: &str) -> bool {
    GIT_STEPS.iter().any(|[folder, _]| folder.eq_ignore_ascii_case(name))
}

/// Whether it is one that has appeared and runs nothing.
pub(super) fn runs_nothing(path: &[OsString], now: &Kept) -> bool {
    runs_nothing_beyond(path, "", now)
}

/// Whether a change of one that was there makes git run nothing new.
pub(super) fn is_at_work(path: &[OsString], before: &Kept, now: &Kept) -> bool {
    let Content::File(before) = &before.content else { return false };
    runs_nothing_beyond(path, &String::from_utf8_lossy(before), now)
}

/// Whether it has text where a number belongs: a prompt in the same folder does not wait for git.
pub(super) fn is_picked_up_at_once(path: &[OsString], now: &Kept) -> bool {
    names_of(path).is_some_and(|names| kind(&names) == Some(Kind::Number)) && !runs_nothing(path, now)
}

fn names_of(path: &[OsString]) -> Option<Vec<&str>> {
    path.iter().map(|name| name.to_str()).collect()
}

fn runs_nothing_beyond(path: &[OsString], before: &str, now: &Kept) -> bool {
    let (Some(kind), Content::File(now)) = (names_of(path).and_then(|names| kind(&names)), &now.content) else {
        return false;
    };
    kind.runs_nothing_beyond(before, &String::from_utf8_lossy(now))
}

impl Kind {
    fn runs_nothing_beyond(self, before: &str, now: &str) -> bool {
        match self {
            Self::List => runs(now).all(|line| runs(before).any(|known| known == line)),
            Self::Strategy => now.trim().is_empty() || STRATEGIES.contains(&now.trim()),
            Self::Options => {
                let names_strategy = |setting: &GitSetting| setting.section == "options" && setting.key == "strategy";
                let said = parse_git_config(now).into_iter().filter(names_strategy);
                said.filter_map(|setting| setting.value).all(|name| STRATEGIES.contains(&name.as_str()))
            }
            Self::Number => now.trim().chars().all(|digit| digit.is_ascii_digit()),
        }
    }
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
    fn steps_are_where_git_keeps_them() {
        for (names, expected) in [
            (&["lib", ".git", "worktrees", "w", "rebase-merge", "git-rebase-todo"][..], Some(Kind::List)),
            (&[".git", "sequencer", "todo"], Some(Kind::List)),
            (&[".git", "rebase-merge", "strategy"], Some(Kind::Strategy)),
            (&[".git", "sequencer", "opts"], Some(Kind::Options)),
            (&[".git", "rebase-merge", "msgnum"], Some(Kind::Number)),
            (&[".git", "rebase-apply", "last"], Some(Kind::Number)),
            (&[".git", "hooks", "todo"], None),
            (&[".git", "hooks", "sequencer", "todo"], None),
            (&[".git", "todo"], None),
            (&["sequencer", "todo"], None),
        ] {
            assert_eq!(kind(names), expected, "{names:?}");
        }
    }

    #[test]
    fn only_steps_that_run_a_command_count() {
        let list = "pick 1 exec\n\texec id\n# exec id\nx\tid\nexecute\nlabel x\nx\r\nfixup 2";
        assert_eq!(runs(list).collect::<Vec<_>>(), ["exec id", "x\tid", "x"]);
    }

    #[test]
    fn a_strategy_is_one_of_gits_own_and_a_number_is_one() {
        for (kind, text, runs_nothing) in [
            (Kind::Strategy, "ort\n", true),
            (Kind::Strategy, "", true),
            (Kind::Strategy, "../../evil\n", false),
            (Kind::Strategy, "ours evil", false),
            (Kind::Options, "[options]\n\tstrategy = ours\n\tedit = true\n", true),
            (Kind::Options, "[options]\n\tstrategy = ours\n\tstrategy = ../../evil\n", false),
            (Kind::Options, "[Options] Strategy = ../../evil", false),
            (Kind::Options, "[other]\nstrategy = x\n", true),
            (Kind::Number, "12\n", true),
            (Kind::Number, "", true),
            (Kind::Number, "$(id)", false),
            (Kind::Number, "1\n`id`\n", false),
        ] {
            assert_eq!(kind.runs_nothing_beyond("", text), runs_nothing, "{kind:?} {text:?}");
        }
    }
}
