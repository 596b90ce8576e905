//! Configurations of a repository that name no program and lead nowhere: what `git init` and `git clone` write.
//!
//! Only what is known is harmless, and only in a form that no reader of this format takes for something else: a section or
//! a setting a line, without quotes in a value, escapes, comments or continued lines.

use super::{GitSetting, parse_git_config};

/// Whether a repository's configuration makes git run nothing and obey nothing elsewhere.
pub fn is_harmless_git_config(text: &str) -> bool {
    text.lines().all(is_plain) && !text.contains('\r') && parse_git_config(text).iter().all(is_harmless)
}

/// Whether a line can be read in one way alone.
fn is_plain(line: &str) -> bool {
    let line = line.trim_matches(['\t', ' ']);
    if line.chars().any(|part| part.is_control() || part == '\u{feff}') {
        return false;
    }
    if line.is_empty() {
        return true;
    }
    if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (section, subsection) = match name.split_once(" \"") {
            Some((section, quoted)) => (section, quoted.strip_suffix('"')),
            None => (name, Some("")),
        };
        let is_word = !section.is_empty() && section.chars().all(|part| part.is_ascii_alphanumeric());
        return is_word && subsection.is_some_and(|name| !name.contains(['"', '\\', '[', ']']));
    }
    line.split_once('=').is_some_and(|(key, value)| {
        let key = key.trim_end_matches(' ');
        let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
            && key.chars().all(|part| part.is_ascii_alphanumeric());
        is_key && !value.contains(['"', '\\', '#', ';'])
    })
}

fn is_harmless(setting: &GitSetting) -> bool {
    let Some(value) = setting.value.as_deref() else { return false };
    match (setting.section.as_str(), setting.subsection.as_deref(), setting.key.as_str()) {
        ("core", None, "filemode" | "bare" | "logallrefupdates" | "ignorecase" | "precomposeunicode" | "symlinks")
        | ("pull", None, "rebase")
        | ("branch", Some(_), "rebase")
        | ("submodule", Some(_), "active") => is_yes_or_no(value),
        ("core", None, "repositoryformatversion") => matches!(value, "0" | "1"),
        ("extensions", None, "objectformat") => matches!(value, "sha1" | "sha256"),
        ("extensions", None, "refstorage") => matches!(value, "files" | "reftable"),
        ("user", None, "name" | "email") => true,
        ("remote", Some(_), "url" | "pushurl") | ("submodule", Some(_), "url") | ("branch", Some(_), "remote") => {
            is_ordinary_address(value)
        }
        ("remote", Some(_), "fetch") => value.strip_prefix('+').unwrap_or(value).starts_with("refs/"),
        ("remote", Some(_), "tagopt") => matches!(value, "--tags" | "--no-tags"),
        ("branch", Some(_), "merge") => value.starts_with("refs/"),
        ("submodule", None, "active") => value == ".",
        _ => false,
    }
}

fn is_yes_or_no(value: &str) -> bool {
    matches!(value, "true" | "false")
}

/// Whether git goes there by itself: not by a program that the address names (`ext::…`, `name://…`), nor with a part of it
/// that another program could take for an option.
fn is_ordinary_address(value: &str) -> bool {
    const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];
    let is_known = value.split_once("://").is_none_or(|(scheme, _)| SCHEMES.contains(&scheme));
    let has_option = value.split(['/', '@', ':']).any(|part| part.starts_with('-'));
    !value.is_empty() && is_known && !has_option && !value.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str =
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

    #[test]
    fn what_git_writes_itself_is_harmless() {
        for text in [
            "",
            "\n",
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
            "[remote \"origin\"]\n\turl = https://example.org/a/b-c.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"origin\"]\n\turl = /projects/lib\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[remote \"a/b.c\"]\n\turl = git@example.org:a/b.git\n",
            "[remote \"origin\"]\n\turl = ssh://git@example.org:22/a\n\turl = ../lib\n\turl = file:///projects/lib\n",
            "[submodule]\n\tactive = .\n[submodule \"x\"]\n\tactive = true\n\turl = https://example.org/x\n",
            "[user]\n\tname = Ann Müller\n\temail = ann@example.org\n",
        ] {
            let text = format!("{NEW}{text}");
            assert!(is_harmless_git_config(&text), "{text}");
        }
    }

    #[test]
    fn what_names_a_program_leads_elsewhere_or_is_not_known_is_not() {
        for text in [
            "[core]\n\tfsmonitor = x\n",
            "[core]\n\thooksPath = h\n",
            "[CORE]\n\tSSHCOMMAND = x\n",
            "[core]\n\tpager = x\n",
            "[core]\n\tworktree = ..\n",
            "[core]\n\tattributesFile = x\n",
            "[core]\n\tbare = x\n",
            "[alias]\n\tst = !id\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:/\"]\n\tpath = x\n",
            "[filter \"x\"]\n\tclean = id\n",
            "[credential]\n\thelper = x\n",
            "[diff]\n\texternal = x\n",
            "[diff \"x\"]\n\ttextconv = x\n",
            "[gpg]\n\tprogram = x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[remote \"o\"]\n\treceivepack = x\n",
            "[remote \"o\"]\n\tvcs = x\n",
            "[remote \"o\"]\n\tproxy = x\n",
            "[remote \"o\"]\n\turl = ext::id\n",
            "[remote \"o\"]\n\turl = x://y\n",
            "[remote \"o\"]\n\turl = -x\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=id/x\n",
            "[remote \"o\"]\n\turl = ann@-oProxyCommand=id:x\n",
            "[remote \"o\"]\n\tfetch = x\n",
            "[branch \"m\"]\n\tremote = ext::id\n",
            "[submodule \"x\"]\n\tupdate = !id\n",
            "[submodule \"x\"]\n\turl = ext::id\n",
            "[url \"ext::id\"]\n\tinsteadOf = https://\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[extensions]\n\tpartialClone = origin\n",
            "[pager]\n\tlog = x\n",
        ] {
            assert!(!is_harmless_git_config(&format!("{NEW}{text}")), "{text}");
        }
    }

    #[test]
    fn what_could_be_read_in_another_way_is_not_harmless() {
        for text in [
            "\u{feff}[core]\n",
            "[core]\r\n\tbare = false\r\n",
            "[core]\n\tbare\n",
            "[core] bare = false\n",
            "[core.x]\n\tbare = false\n",
            "[user]\n\tname = \"a\"\n",
            "[user]\n\tname = a\\\n\temail = b\n",
            "[user]\n\tname = a # b\n",
            "# said\n[core]\n",
            "[user]\n\tname = a\0\n",
            "[user]\n\tname = a\u{85}b\n",
            "[remote \"a\"][core]\n\tbare = false\n",
            "[remote \"a]\n\turl = b\n",
            "nothing\n",
        ] {
            assert!(!is_harmless_git_config(text), "{text:?}");
        }
    }
}
