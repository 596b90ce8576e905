//! Which settings of git make it run or obey somebody else's files, and what they name.

use super::GitSetting;

/// What a setting leads to, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitLead {
    /// A folder of hooks, from the top of the work tree.
    Hooks(String),
    /// A folder that new repositories are copies of.
    Template(String),
    /// One more configuration, from where this one lies.
    Include(String),
    /// Programs and scripts, from the top of the work tree.
    Programs(Vec<String>),
    /// The top of the work tree, from git's own folder.
    WorkTree(String),
}

/// The hooks that git knows.
pub const HOOK_NAMES: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Settings whose value is a program: section, key, whether there is a subsection. `*` is any key.
const PROGRAMS: &[(&str, Subsection, &[&str])] = &[
    (
        "core",
        Subsection::No,
        &["fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "alternaterefscommand"],
    ),
    ("sequence", Subsection::No, &["editor"]),
    ("diff", Subsection::Any, &["external", "command", "textconv"]),
    ("merge", Subsection::Any, &["driver"]),
    ("filter", Subsection::Any, &["clean", "smudge", "process"]),
    ("credential", Subsection::Any, &["helper"]),
    ("gpg", Subsection::Any, &["program", "defaultkeycommand"]),
    ("pager", Subsection::Any, &["*"]),
    ("interactive", Subsection::No, &["difffilter"]),
    ("difftool", Subsection::Any, &["cmd", "path"]),
    ("mergetool", Subsection::Any, &["cmd", "path"]),
    ("guitool", Subsection::Any, &["cmd"]),
    ("browser", Subsection::Any, &["cmd", "path"]),
    ("man", Subsection::Any, &["cmd", "path"]),
    ("trailer", Subsection::Any, &["command", "cmd"]),
    ("remote", Subsection::Any, &["uploadpack", "receivepack"]),
    ("uploadpack", Subsection::No, &["packobjectshook"]),
    ("gc", Subsection::No, &["recentobjectshook"]),
    ("tar", Subsection::Any, &["command"]),
    ("hook", Subsection::Any, &["command"]),
    ("instaweb", Subsection::No, &["httpd"]),
    ("imap", Subsection::No, &["tunnel"]),
    ("sendemail", Subsection::Any, &["sendmailcmd", "smtpserver", "tocmd", "cccmd", "headercmd"]),
    ("lfs", Subsection::Any, &["path", "args", "clean", "smudge"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subsection {
    No,
    Any,
}

/// What a setting leads to, if anything.
pub fn git_lead(setting: &GitSetting) -> Option<GitLead> {
    let value = setting.value.clone().filter(|value| !value.is_empty())?;
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    match (section, &setting.subsection, key) {
        ("core", None, "hookspath") => return Some(GitLead::Hooks(value)),
        ("core", None, "worktree") => return Some(GitLead::WorkTree(value)),
        ("init", None, "templatedir") => return Some(GitLead::Template(value)),
        ("include", None, "path") | ("includeif", Some(_), "path") => return Some(GitLead::Include(value)),
        ("remote", Some(_), "url" | "pushurl") => {
            return value.strip_prefix("ext::").map(unescaped).as_deref().and_then(programs);
        }
        // Others are git's own commands.
        ("alias", None, _) | ("alias", Some(_), "command") | ("submodule", Some(_), "update") => {
            return value.strip_prefix('!').and_then(programs);
        }
        _ => {}
    }
    let is_program = PROGRAMS.iter().any(|(program, subsection, keys)| {
        *program == section
            && (*subsection == Subsection::Any || setting.subsection.is_none())
            && (keys.contains(&key) || keys.contains(&"*"))
    });
    if is_program { programs(&value) } else { None }
}

fn programs(line: &str) -> Option<GitLead> {
    let paths = paths(line);
    (!paths.is_empty()).then_some(GitLead::Programs(paths))
}

/// What in a command line may be the path of something that is run. Nothing is expanded: a variable or a command before a
/// `/` stands for the top of the work tree, which it mostly is.
fn paths(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Where `cd` has gone; a line may do so in one of several commands, so that both places count.
    let mut folder: Option<String> = None;
    let mut is_folder_next = false;
    let mut is_argument = false;
    let mut is_interpreted = false;
    let mut add = |folder: Option<&String>, path: String| {
        let is_from_there = !path.starts_with(['/', '~']);
        let there = folder.filter(|_| is_from_there).map(|folder| format!("{folder}/{path}"));
        let new: Vec<String> = there.into_iter().chain([path]).filter(|path| !found.contains(path)).collect();
        found.extend(new);
    };
    for word in words(line) {
        let word = match word {
            Word::Text(word) => word,
            Word::Whole(word) => {
                if word.contains('/') {
                    add(folder.as_ref(), home(&word));
                }
                continue;
            }
            Word::Break => {
                (is_argument, is_interpreted, is_folder_next) = (false, false, false);
                continue;
            }
        };
        if word.chars().all(|part| matches!(part, '&' | '|' | ';')) {
            (is_argument, is_interpreted, is_folder_next) = (false, false, false);
            continue;
        }
        let is_folder = is_folder_next && !word.starts_with('-');
        if is_folder {
            let next = home(word.trim_end_matches(';'));
            folder = Some(match folder.filter(|_| !next.starts_with(['/', '~'])) {
                Some(folder) => format!("{folder}/{next}"),
                None => next,
            });
            is_folder_next = false;
        }
        let is_change = matches!(word.trim_start_matches('!'), "cd" | "pushd" | "-C" | "--chdir");
        is_folder_next |= is_change;
        if is_folder || is_change {
            is_argument = true;
            continue;
        }
        let word = word.trim_start_matches('!');
        let is_interpreter = is_interpreter(word);
        let value = match word.split_once('=') {
            Some((_, value)) => value,
            None => word,
        };
        let path = home(value);
        let name = path.rsplit('/').next().unwrap_or_default();
        let has_extension = name.trim_start_matches('.').contains('.');
        let is_path = path.contains('/') || (is_argument && (is_interpreted || has_extension));
        let is_word = path.is_empty() || path.starts_with(['-', '%', '$']) || path.contains("://");
        if is_path && !is_word && (!is_interpreter || path.contains('/')) {
            add(folder.as_ref(), path);
        }
        is_interpreted |= is_interpreter;
        is_argument = true;
    }
    found
}

/// What `ext::` makes of it: `% ` is a space in a word.
fn unescaped(command: &str) -> String {
    command.replace("% ", "\\ ").replace("%%", "%")
}

fn home(word: &str) -> String {
    for home in ["$HOME/", "${HOME}/"] {
        if let Some(rest) = word.strip_prefix(home) {
            return format!("~/{rest}");
        }
    }
    match word.strip_prefix('$').and_then(|variable| variable.split_once('/')) {
        Some((_, rest)) => format!("./{rest}"),
        None => word.to_owned(),
    }
}

/// Runs what it is given by a name without any `/`.
fn is_interpreter(word: &str) -> bool {
    const INTERPRETERS: &[&str] = &[
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "ash",
        "fish",
        "node",
        "nodejs",
        "deno",
        "bun",
        "ruby",
        "perl",
        "php",
        "lua",
        "rscript",
        "pwsh",
        "powershell",
        "exec",
        "source",
        ".",
        "env",
        "java",
        "awk",
        "tclsh",
    ];
    let name = word.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    INTERPRETERS.contains(&name) || name.starts_with("python")
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    /// The same word as one, where quotes hold spaces in it: it is either one path or a line of its own.
    Whole(String),
    /// Something after which a command begins.
    Break,
}

fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = String::new();
    // With the spaces that quotes hold.
    let mut whole = String::new();
    let mut quote = None;
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        match (next, quote) {
            ('\'' | '"', None) => quote = Some(next),
            (mark, Some(open)) if mark == open => quote = None,
            ('\\', None | Some('"')) => word.extend(rest.next()),
            (';' | '|' | '&' | '(' | '{' | '\n' | '<' | '>', None) | ('`' | ')' | '}', None | Some('"')) => {
                // `${NAME}/x` and `$(command)/x`.
                let is_name = next == '}' && word.starts_with("${");
                if matches!(next, '{' | '(') && word.ends_with('$') {
                    if next == '{' {
                        word.push(next);
                        continue;
                    }
                    word.pop();
                }
                if is_name {
                    word.push(next);
                    continue;
                }
                push(&mut words, &mut word);
                whole.clear();
                words.push(Word::Break);
                if matches!(next, ')' | '`') && rest.next_if_eq(&'/').is_some() {
                    word.push_str("./");
                }
            }
            ('(', Some('"')) if word.ends_with('$') => {
                word.pop();
                whole.clear();
                push(&mut words, &mut word);
                words.push(Word::Break);
            }
            (space, None) if space.is_whitespace() => end(&mut words, &mut word, &mut whole),
            // A line in quotes may be given to a shell: its words count each.
            (space, Some(_)) if space.is_whitespace() => {
                whole.push_str(&word);
                whole.push(space);
                push(&mut words, &mut word);
            }
            (part, _) => word.push(part),
        }
    }
    end(&mut words, &mut word, &mut whole);
    words
}

/// Ends a word that no quotes hold together any more.
fn end(words: &mut Vec<Word>, word: &mut String, whole: &mut String) {
    let is_one = !whole.is_empty();
    whole.push_str(word);
    push(words, word);
    let whole = std::mem::take(whole);
    // What a shell would take apart is a line, as is what is given to one.
    let is_line = whole.contains(['$', '`', ';', '|', '&', '(', ')', '{', '}', '<', '>', '"', '\'', '%', '=']);
    let is_command = |word: &Word| matches!(word, Word::Text(word) if word.starts_with('-') && word.ends_with('c'));
    let parts = whole.split_whitespace().count();
    let before = words.len().checked_sub(parts + 1).and_then(|index| words.get(index));
    if is_one && !is_line && !before.is_some_and(is_command) {
        words.push(Word::Whole(whole));
    }
}

fn push(words: &mut Vec<Word>, word: &mut String) {
    if !word.is_empty() {
        words.push(Word::Text(std::mem::take(word)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_git_config;
    use super::*;

    fn lead(text: &str) -> Option<GitLead> {
        let settings = parse_git_config(text);
        assert_eq!(settings.len(), 1, "{text}");
        git_lead(&settings[0])
    }

    #[test]
    fn folders_of_hooks_templates_and_included_files_are_led_to() {
        for (text, expected) in [
            ("[core]\nhooksPath=.husky/_", GitLead::Hooks(".husky/_".into())),
            ("[core]\nworktree=../..", GitLead::WorkTree("../..".into())),
            ("[init]\ntemplateDir=~/t", GitLead::Template("~/t".into())),
            ("[include]\npath=../shared.inc", GitLead::Include("../shared.inc".into())),
            ("[includeIf \"gitdir:~/projects/\"]\npath=w.inc", GitLead::Include("w.inc".into())),
        ] {
            assert_eq!(lead(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_paths_in_a_program_are_led_to() {
        for (text, expected) in [
            ("[core]\nfsmonitor=tools/mon", &["tools/mon"][..]),
            ("[core]\nsshCommand=ssh -F ./ssh.conf", &["./ssh.conf"]),
            ("[core]\npager=less | ./p", &["./p"]),
            ("[diff]\nexternal=./d", &["./d"]),
            ("[diff \"pdf\"]\ntextconv=python3 tools/pdf.py", &["tools/pdf.py"]),
            ("[diff \"pdf\"]\ntextconv=node pdf", &["pdf"]),
            ("[merge \"x\"]\ndriver=bin/m %O %A %B", &["bin/m"]),
            ("[filter \"x\"]\nprocess=/projects/a/f", &["/projects/a/f"]),
            ("[filter \"x\"]\nclean=sh -c 'exec tools/c \"$@\"' -", &["tools/c"]),
            ("[credential]\nhelper=\"!f() { ./c \\\"$1\\\"; }; f\"", &["./c"]),
            ("[credential \"https://example.org\"]\nhelper=~/bin/c", &["~/bin/c"]),
            ("[gpg \"ssh\"]\nprogram=./sign", &["./sign"]),
            ("[alias]\nx=!tools/x", &["tools/x"]),
            ("[alias]\nx=\"!sh $HOME/x.sh && $PWD/y\"", &["~/x.sh", "./y"]),
            ("[alias]\nx=\"!$(git rev-parse --show-toplevel)/s/x\"", &["./s/x"]),
            ("[alias]\nx=\"!\\\"$(git rev-parse --show-toplevel)/s/x\\\"\"", &["./s/x"]),
            ("[alias]\nx=\"!${PWD}/x\"", &["./x"]),
            ("[pager]\nlog=./p", &["./p"]),
            ("[mergetool \"x\"]\ncmd=tool --rc=tools/rc", &["tools/rc"]),
            ("[remote \"o\"]\nuploadpack=./u", &["./u"]),
            ("[uploadpack]\npackObjectsHook=./h", &["./h"]),
            ("[trailer \"x\"]\ncmd=./t", &["./t"]),
            ("[submodule \"x\"]\nupdate=!./u", &["./u"]),
            ("[filter \"x\"]\nclean=\"\\\"tools/sp ace\\\" %f\"", &["tools/sp", "tools/sp ace"]),
            ("[filter \"x\"]\nclean='my tools/x' %f", &["tools/x", "my tools/x"]),
            ("[filter \"x\"]\nsmudge=cd tools && ./sm", &["tools/./sm", "./sm"]),
            ("[filter \"x\"]\nsmudge=\"sh -c 'cd tools; cd b && ./sm'\"", &["tools/b/./sm", "./sm"]),
            ("[alias]\nx=\"!sh -c 'cd tools && ./sm'\"", &["tools/./sm", "./sm"]),
            ("[alias]\nx=\"!make -C tools/b x.mk\"", &["tools/b/x.mk", "x.mk"]),
            ("[remote \"o\"]\nurl=ext::tools/ext %S", &["tools/ext"]),
        ] {
            let expected = expected.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(lead(text), Some(GitLead::Programs(expected)), "{text}");
        }
    }

    #[test]
    fn what_everybody_has_leads_nowhere() {
        for text in [
            "[core]\nfsmonitor=true",
            "[core]\neditor=code --wait",
            "[core]\npager=delta",
            "[core]\nautocrlf=input",
            "[filter \"lfs\"]\nclean=git-lfs clean -- %f",
            "[filter \"lfs\"]\nprocess=git-lfs filter-process",
            "[credential]\nhelper=cache --timeout=3600",
            "[credential]\nhelper=",
            "[alias]\nst=status",
            "[alias]\ngraph=log --graph -- src/main.rs",
            "[remote \"origin\"]\nurl=../other.git",
            "[user]\nname=a/b",
            "[submodule \"x\"]\nupdate=rebase",
            "[hook]\nsrc=a/b",
        ] {
            assert_eq!(lead(text), None, "{text}");
        }
    }
}
