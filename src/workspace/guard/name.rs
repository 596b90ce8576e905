//! What a name is to the guard, by the name and the folders around it. No disk.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::lead::Led;
use super::steps::{is_folder_of_steps, is_of_steps};
use crate::policy::{NameVerdict, ProtectedWrite, RelPath, is_protected_write, judge_name, may_be_refused};

/// What a name is to this room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Ordinary,
    /// A folder of git itself.
    Git,
    /// Something executes it later.
    Protected(PickedUp),
    /// It holds secrets.
    Sensitive,
}

/// When something that is protected is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PickedUp {
    /// At any moment: editors, prompts and file managers ask git all the time, and watch for servers and tasks.
    AtOnce,
    /// When the person next starts what reads it.
    Later,
}

/// Where a folder lies, as far as that says what the names in it mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Around {
    /// In git's own folder the names from it down, else the last ones.
    names: Vec<String>,
    is_git: bool,
    is_protected: bool,
    /// Whether packages lie in it, in which nobody works: only git's own counts.
    is_of_packages: bool,
    /// What below it something else leads to.
    led: Vec<Led>,
}

/// How many names above one count outside git's folders.
const NAMES_THAT_COUNT: usize = 2;

/// Folders of editors and agents: their settings name programs that run, or are such programs.
const FOLDERS_OF_PROGRAMS: &[&str] = &[
    ".vscode",
    ".idea",
    ".zed",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".openclaw",
    ".windsurf",
    ".continue",
    ".opencode",
    ".qwen",
    ".kiro",
    ".roo",
    ".cline",
    ".amazonq",
    ".junie",
    ".trae",
    ".goose",
    ".helix",
    ".factory",
    ".crush",
    ".augment",
    ".agents",
    ".antigravity",
];
/// Watched for by running programs.
const PICKED_UP_AT_ONCE: &[&str] = &[".mcp.json", "mcp.json", "tasks.json"];
/// Packages bring settings of editors along; an editor or agent obeys those only in the folder that it was opened in.
pub(super) const FOLDER_OF_PACKAGES: &str = "node_modules";
/// Where git keeps what nothing executes.
const GIT_DATA: &[&str] = &["objects", "refs", "logs", "lfs", "info"];

impl Around {
    /// An allowed folder itself, which may lie in a folder of git or of an editor.
    pub(super) fn root(path: &Path) -> Self {
        let mut names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let git = names.iter().position(|name| is_git(name));
        let is_protected = names.last().is_some_and(|name| is_of_a_program(name));
        let first = git.unwrap_or(names.len().saturating_sub(NAMES_THAT_COUNT));
        let names = names.split_off(first);
        Self { names, is_git: git.is_some(), is_protected, is_of_packages: false, led: Vec::new() }
    }

    /// The same folder, with what something else leads to in it.
    pub(super) fn with(mut self, led: Vec<Led>) -> Self {
        let (here, below): (Vec<Led>, Vec<Led>) = led.into_iter().partition(|led| led.rest.is_empty());
        self.led = below;
        // Somebody comes here by another name.
        self.is_of_packages &= here.is_empty();
        for led in here {
            let git = led.names.iter().position(|name| is_git(name));
            let is_all_protected = judge(&led.names).is_some();
            if !self.is_git && (git.is_some() || is_all_protected) {
                self.names = led.names.get(git.unwrap_or_default()..).unwrap_or_default().to_vec();
                self.is_git = git.is_some();
            }
            self.is_protected |= is_all_protected;
        }
        self
    }

    /// The same place, by a path from here.
    pub(super) fn led_below(led: &[Led], path: &[OsString]) -> Vec<Led> {
        let below = |led: Vec<Led>, name: &OsString| led.iter().filter_map(|led| led.within(name)).collect();
        path.iter().fold(led.to_vec(), below)
    }

    /// A folder that turns out to be git's.
    pub(super) fn into_git(self) -> Self {
        Self { led: self.led, ..Self::git() }
    }

    /// A folder of git, whatever its name is.
    pub(super) fn git() -> Self {
        let names = vec![".git".to_owned()];
        Self { names, is_git: true, is_protected: false, is_of_packages: false, led: Vec::new() }
    }

    /// A folder in this one.
    pub(super) fn child(&self, name: &OsStr, meaning: Meaning) -> Self {
        let led: Vec<Led> = self.led.iter().filter_map(|led| led.within(name)).collect();
        if meaning == Meaning::Git {
            return Self { is_protected: self.is_protected, ..Self::git() }.with(led);
        }
        let mut names = self.names.clone();
        names.push(name.to_string_lossy().into_owned());
        if !self.is_git && names.len() > NAMES_THAT_COUNT {
            names.remove(0);
        }
        let is_protected = self.is_protected || matches!(meaning, Meaning::Protected(_));
        let is_of_packages = self.is_of_packages || name == FOLDER_OF_PACKAGES;
        Self { names, is_git: self.is_git, is_protected, is_of_packages, led: Vec::new() }.with(led)
    }

    /// What a name in this folder is because something leads there.
    fn led_meaning(&self, name: &OsStr, is_folder: bool) -> Option<Meaning> {
        // Folders on the way there may change as they like; a link in the place of one leads elsewhere.
        let is_way = |led: &Led| matches!(led.rest.as_slice(), [first, _, ..] if first == name);
        if !is_folder && self.led.iter().any(is_way) {
            return Some(Meaning::Protected(PickedUp::AtOnce));
        }
        let ends = self.led.iter().filter(|led| matches!(led.rest.as_slice(), [last] if last == name));
        let meanings: Vec<Meaning> = ends
            .filter_map(|led| match led.names.as_slice() {
                [git] if is_git(git) && is_folder => Some(Meaning::Git),
                names => judge(names).map(Meaning::Protected),
            })
            .collect();
        let is = |meaning: &Meaning| meanings.contains(meaning).then_some(*meaning);
        is(&Meaning::Protected(PickedUp::AtOnce)).or_else(|| is(&Meaning::Git)).or_else(|| meanings.first().copied())
    }

    /// Whether packages lie in it, in which nobody works.
    pub(super) fn is_of_packages(&self) -> bool {
        self.is_of_packages
    }

    /// Whether it is a folder of git or lies in one.
    pub(super) fn is_git(&self) -> bool {
        self.is_git
    }

    /// Whether it is a folder of git itself.
    pub(super) fn is_top_of_git(&self) -> bool {
        self.is_git && self.names.len() == 1
    }

    /// The names of a folder of git or in one, from that down.
    pub(super) fn below_git(&self) -> Option<&[String]> {
        if self.is_git { self.names.get(1..) } else { None }
    }

    /// Whether all that is in it is protected.
    pub(super) fn is_protected(&self) -> bool {
        self.is_protected
    }

    /// Whether something in it may be protected that was there before.
    pub(super) fn holds_protected(&self) -> bool {
        self.is_git || self.is_protected || self.led.iter().any(|led| led.rest.len() == 1)
    }

    /// Whether a folder of this name holds git's data, in which there is nothing to find.
    pub(super) fn is_git_data(&self, name: &OsStr) -> bool {
        // Of git's folder itself only: a submodule may be called so.
        self.is_top_of_git() && name.to_str().is_some_and(|name| GIT_DATA.contains(&name))
    }
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Also by its short name.
fn may_be_git(name: &str) -> bool {
    is_git(name) || name.eq_ignore_ascii_case("git~1")
}

/// When what is at the end of these names is executed, if it is.
fn judge(names: &[String]) -> Option<PickedUp> {
    let path = RelPath::from_parts(names.to_vec())?;
    let is_in_git = names.iter().any(|name| is_git(name));
    let is_at_once = names.last().is_some_and(|name| is_picked_up_at_once(name));
    if is_protected_write(&path) == Some(ProtectedWrite::Denied) {
        return Some(if is_in_git || is_at_once { PickedUp::AtOnce } else { PickedUp::Later });
    }
    names.iter().any(|name| is_of_a_program(name)).then_some(PickedUp::Later)
}

fn is_picked_up_at_once(name: &str) -> bool {
    PICKED_UP_AT_ONCE.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// When what a link leads to is executed: it may be a folder of tasks.
pub(super) fn picked_up_behind(name: &OsStr, when: PickedUp) -> PickedUp {
    if is_of_a_program(&name.to_string_lossy()) { PickedUp::AtOnce } else { when }
}

fn is_of_a_program(name: &str) -> bool {
    FOLDERS_OF_PROGRAMS.iter().any(|folder| name.eq_ignore_ascii_case(folder))
}

/// What a name alone says.
#[derive(Debug, Clone, Copy)]
struct Class {
    is_sensitive: bool,
    may_be_refused: bool,
    is_of_a_program: bool,
}

/// Names repeat: what was found out of one is remembered.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<OsString, Class>,
}

impl Names {
    /// What this name in such a folder is.
    pub(super) fn meaning(&mut self, around: &Around, name: &OsStr, is_folder: bool) -> Meaning {
        if let Some(meaning) = around.led_meaning(name, is_folder) {
            return meaning;
        }
        if !is_folder && around.is_git && is_folder_of_steps(&name.to_string_lossy()) {
            return Meaning::Protected(PickedUp::AtOnce);
        }
        let class = self.class(name);
        let is_gits = around.is_git || may_be_git(&name.to_string_lossy());
        if around.is_of_packages && !is_gits && !around.is_protected {
            return if class.is_sensitive { Meaning::Sensitive } else { Meaning::Ordinary };
        }
        if around.is_git || class.may_be_refused {
            let text = name.to_string_lossy();
            if is_folder && !around.is_git && is_git(&text) {
                return Meaning::Git;
            }
            let parts = around.names.iter().cloned().chain([text.into_owned()]).collect();
            let is_refused = RelPath::from_parts(parts)
                .is_some_and(|path| is_protected_write(&path) == Some(ProtectedWrite::Denied));
            if is_refused {
                return Meaning::Protected(picked_up(around, name));
            }
        }
        if around.is_protected || class.is_of_a_program {
            Meaning::Protected(PickedUp::Later)
        } else if class.is_sensitive {
            Meaning::Sensitive
        } else {
            Meaning::Ordinary
        }
    }

    fn class(&mut self, name: &OsStr) -> Class {
        /// More names than this are no longer remembered.
        const MOST_KNOWN: usize = 100_000;
        if let Some(class) = self.known.get(name) {
            return *class;
        }
        let text = name.to_string_lossy();
        let class = Class {
            is_sensitive: matches!(judge_name(&[text.clone().into_owned()]), NameVerdict::Sensitive { .. }),
            may_be_refused: may_be_refused(&text),
            is_of_a_program: is_of_a_program(&text),
        };
        if self.known.len() < MOST_KNOWN {
            self.known.insert(name.to_owned(), class);
        }
        class
    }
}

fn picked_up(around: &Around, name: &OsStr) -> PickedUp {
    let name = name.to_string_lossy();
    let is_watched_for = is_picked_up_at_once(&name);
    // Git runs what they say when it is next told to go on.
    let names: Vec<&str> = around.names.iter().map(String::as_str).chain([&*name]).collect();
    if around.is_git && is_of_steps(&names) {
        return PickedUp::Later;
    }
    if around.is_git || may_be_git(&name) || is_watched_for { PickedUp::AtOnce } else { PickedUp::Later }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last name of a path below `/projects/a` is.
    fn meaning(path: &str, is_folder: bool) -> Meaning {
        let mut names = Names::default();
        let mut around = Around::root(Path::new("/projects/a"));
        let parts: Vec<&str> = path.split('/').collect();
        let (last, folders) = parts.split_last().unwrap();
        for folder in folders {
            let meaning = names.meaning(&around, OsStr::new(folder), true);
            around = around.child(OsStr::new(folder), meaning);
        }
        names.meaning(&around, OsStr::new(last), is_folder)
    }

    #[test]
    fn what_git_and_watching_programs_obey_is_picked_up_at_once() {
        for path in [
            ".git/config",
            ".git/commondir",
            "lib/.git/hooks/pre-commit",
            ".git/modules/logs/config",
            ".git/modules/a/hooks/x",
            "sub/.mcp.json",
            ".vscode/tasks.json",
            ".kiro/settings/mcp.json",
            "lib/.git",
        ] {
            assert_eq!(meaning(path, false), Meaning::Protected(PickedUp::AtOnce), "{path}");
        }
    }

    #[test]
    fn what_shells_and_settings_run_is_protected_and_data_is_not() {
        for path in [".bashrc", "a/b/.zshenv", ".vscode/settings.json", ".claude/settings.json", ".junie/x"] {
            assert_eq!(meaning(path, false), Meaning::Protected(PickedUp::Later), "{path}");
        }
        assert_eq!(meaning(".git", true), Meaning::Git);
        assert_eq!(meaning("a/.env", false), Meaning::Sensitive);
        for path in ["node_modules/a/.vscode/tasks.json", "lib/node_modules/@a/b/.mcp.json", "node_modules/.claude"] {
            assert_eq!(meaning(path, false), Meaning::Ordinary, "{path}");
        }
        let git = "node_modules/a/.git/config";
        assert_eq!(meaning(git, false), Meaning::Protected(PickedUp::AtOnce), "{git}");
        for path in [".git/rebase-merge/git-rebase-todo", ".git/rebase-merge/strategy", ".git/rebase-apply/next"] {
            assert_eq!(meaning(path, false), Meaning::Protected(PickedUp::Later), "{path}");
        }
        assert_eq!(meaning(".git/hooks/todo", false), Meaning::Protected(PickedUp::AtOnce));
        for path in [".git/index", ".git/HEAD", "src/config", "hooks/x", "mcp.txt", ".git/modules/a/index"] {
            assert_eq!(meaning(path, false), Meaning::Ordinary, "{path}");
        }
    }

    #[test]
    fn an_allowed_folder_within_git_is_known_for_it() {
        let mut names = Names::default();
        for (root, name) in [("/projects/a/.git", "config"), ("/projects/a/.git/hooks", "pre-commit")] {
            let around = Around::root(Path::new(root));
            let found = names.meaning(&around, OsStr::new(name), false);
            assert_eq!(found, Meaning::Protected(PickedUp::AtOnce), "{root}/{name}");
        }
    }

    #[test]
    fn only_gits_own_data_is_passed_by() {
        let modules = Around::git().child(OsStr::new("modules"), Meaning::Ordinary);
        assert!(Around::git().is_git_data(OsStr::new("objects")));
        assert!(!modules.is_git_data(OsStr::new("logs")));
        assert!(!Around::root(Path::new("/projects/a")).is_git_data(OsStr::new("objects")));
    }
}
