//! Programs that run what their arguments say.

use super::word::to_script;

/// What a program does with the rest of its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Nothing that is run.
    Nothing,
    /// Runs these words as a command.
    Command(Vec<String>),
    /// Runs each of these commands.
    Each(Vec<Vec<String>>),
    /// Runs a text as a script.
    Script(String),
    /// Runs what comes on its standard input, as a script.
    Input,
    /// Runs a file of shell text.
    File(String),
    /// Runs code of another language.
    Code(String),
}

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "yash"];

/// Programs that run the command after their options: those of their options that take a value as a word of its own,
/// and how many words come before the command.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("command", "", 0),
    ("builtin", "", 0),
    ("exec", "a", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("time", "of", 0),
    ("gtime", "of", 0),
    ("nice", "n", 0),
    ("ionice", "cn", 0),
    ("chrt", "TPD", 1),
    ("taskset", "", 1),
    ("stdbuf", "ioe", 0),
    ("timeout", "ks", 1),
    ("gtimeout", "ks", 1),
    ("env", "uCS", 0),
    ("xargs", "aEILnPsd", 0),
    ("parallel", "jNnaPI", 0),
    ("watch", "n", 0),
    ("flock", "wE", 1),
    ("strace", "eopsSuaEIObP", 0),
    ("ltrace", "eopsSual", 0),
    ("systemd-run", "pEutHM", 0),
    ("systemd-inhibit", "", 0),
    ("chroot", "", 1),
    ("unshare", "", 0),
    ("nsenter", "tSG", 0),
    ("setpriv", "", 0),
    ("prlimit", "", 0),
    ("xvfb-run", "nesfwp", 0),
    ("busybox", "", 0),
    ("toybox", "", 0),
    ("fakeroot", "", 0),
    ("unbuffer", "", 0),
    ("caffeinate", "tw", 0),
    ("dbus-run-session", "", 0),
    ("ssh-agent", "aEPt", 0),
    ("firejail", "", 0),
    ("torsocks", "", 0),
    ("proxychains", "", 0),
];

/// Interpreters with the options that take code.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "c"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("deno", ""),
    ("bun", "e"),
    ("php", "r"),
    ("lua", "e"),
    ("osascript", "e"),
    ("tclsh", ""),
    ("pwsh", ""),
    ("powershell", ""),
];

/// Looks into a command.
pub(super) fn inside(program: &str, arguments: &[String]) -> Inside {
    if SHELLS.contains(&program) {
        return shell(arguments);
    }
    match program {
        "eval" => return Inside::Script(script_of(arguments)),
        "iex" | "invoke-expression" if arguments.is_empty() => return Inside::Input,
        "trap" => {
            return arguments.first().map_or(Inside::Nothing, |text| Inside::Script(to_script(text)));
        }
        "source" | "." => {
            return match arguments.first() {
                Some(file) if is_standard_input(file) => Inside::Input,
                Some(file) => Inside::File(file.clone()),
                None => Inside::Nothing,
            };
        }
        "script" => return after_option(arguments, 'c').map_or(Inside::Nothing, Inside::Script),
        "command" if arguments.first().is_some_and(|option| matches!(option.as_str(), "-v" | "-V")) => {
            return Inside::Nothing;
        }
        "find" => return find(arguments),
        "env" => {
            if let Some(text) = split_string(arguments) {
                return Inside::Script(text);
            }
        }
        "flock" => {
            let behind = skip_options(arguments, "wE").get(1..).unwrap_or_default();
            if let [option, text, ..] = behind
                && matches!(option.as_str(), "-c" | "--command")
            {
                return Inside::Script(to_script(text));
            }
        }
        _ if is_loader(program) => return Inside::Command(skip_options(arguments, "").to_vec()),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let code = arguments.iter().find(|argument| !argument.starts_with('-'));
            return code.map_or(Inside::Nothing, |code| Inside::Code(to_script(code)));
        }
        _ => {}
    }
    if let Some((_, valued, before)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
        let rest = skip_options(arguments, valued);
        let rest = rest.iter().skip_while(|word| program == "env" && word.contains('=')).skip(*before);
        return Inside::Command(rest.cloned().collect());
    }
    let language = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match INTERPRETERS.iter().find(|(name, _)| *name == language) {
        Some((_, options)) => interpreter(arguments, options),
        None => Inside::Nothing,
    }
}

/// Whether a program reads and runs shell text.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The text that `env -S` takes apart by itself, with what stands behind it.
fn split_string(arguments: &[String]) -> Option<String> {
    const LONG: &str = "--split-string";
    let long = arguments.iter().position(|word| word.starts_with(LONG));
    let text = match long {
        Some(at) => {
            let attached = arguments.get(at)?.strip_prefix(LONG)?.strip_prefix('=').map(to_script);
            let rest = script_of(arguments.get(at + 1..).unwrap_or_default());
            format!("{} {rest}", attached.unwrap_or_default())
        }
        None => after_option(arguments, 'S')?,
    };
    // Its own way to write a blank.
    Some(text.replace("\\_", " "))
}

/// The folder in which `env` starts its command.
pub(super) fn folder_of_env(arguments: &[String]) -> Option<&str> {
    let options = arguments.len() - skip_options(arguments, "uCS").len();
    let mut words = arguments.get(..options)?.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-C" | "--chdir") {
            return words.next().map(String::as_str);
        }
        if let Some(folder) = word.strip_prefix("--chdir=").or_else(|| word.strip_prefix("-C")) {
            return Some(folder);
        }
    }
    None
}

/// Whether it is the system's own loader of programs.
fn is_loader(program: &str) -> bool {
    ["ld-linux", "ld-musl", "ld.so", "ld64.so"].iter().any(|name| program.starts_with(name))
}

fn script_of(words: &[String]) -> String {
    words.iter().map(|word| to_script(word)).collect::<Vec<_>>().join(" ")
}

fn shell(arguments: &[String]) -> Inside {
    let mut is_text = false;
    let mut reads_input = false;
    let mut has_options = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if has_options {
            match word.as_str() {
                "--" | "-" => {
                    has_options = false;
                    continue;
                }
                "--rcfile" | "--init-file" => {
                    words.next();
                    continue;
                }
                _ if word.starts_with("--") => continue,
                _ => {}
            }
            if let Some(letters) = word.strip_prefix(['-', '+']) {
                is_text |= letters.contains('c');
                reads_input |= letters.contains('s');
                for _ in letters.matches(['o', 'O']) {
                    words.next();
                }
                continue;
            }
        }
        if is_text {
            return Inside::Script(to_script(word));
        }
        return if reads_input || is_standard_input(word) { Inside::Input } else { Inside::File(word.clone()) };
    }
    Inside::Input
}

fn is_standard_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

fn interpreter(arguments: &[String], code_options: &str) -> Inside {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if is_standard_input(word) {
            return Inside::Input;
        }
        let Some(letters) = word.strip_prefix('-') else { return Inside::Nothing };
        if !letters.starts_with('-') && letters.ends_with(|c| code_options.contains(c)) {
            return words.next().map_or(Inside::Nothing, |code| Inside::Code(to_script(code)));
        }
        if matches!(letters, "m" | "-version" | "V" | "v" | "h" | "-help") {
            return Inside::Nothing;
        }
    }
    Inside::Input
}

/// Long options of wrappers that take a value as a word of its own.
const LONG_VALUED: &[&str] = &[
    "--adjustment",
    "--ambient-caps",
    "--argv0",
    "--bounding-set",
    "--chdir",
    "--egid",
    "--euid",
    "--groups",
    "--inh-caps",
    "--kill-after",
    "--library-path",
    "--pdeathsig",
    "--preload",
    "--regid",
    "--reuid",
    "--rgid",
    "--ruid",
    "--securebits",
    "--signal",
    "--unset",
];

/// The words after the options.
pub(super) fn skip_options<'a>(arguments: &'a [String], valued: &str) -> &'a [String] {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return after;
        }
        let Some(letters) = word.strip_prefix('-') else { break };
        rest = after;
        let takes_value = letters.len() == 1 && letters.ends_with(|c| valued.contains(c));
        if takes_value || LONG_VALUED.contains(&word.as_str()) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

/// The word after an option of one letter, or what is attached to it.
fn after_option(arguments: &[String], letter: char) -> Option<String> {
    let index = arguments.iter().position(|word| {
        word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    })?;
    let word = arguments.get(index)?;
    let attached = word.split_once(letter).map(|(_, attached)| attached).unwrap_or_default();
    let rest = arguments.get(index + 1..).unwrap_or_default();
    Some(if attached.is_empty() { script_of(rest) } else { format!("{} {}", to_script(attached), script_of(rest)) })
}

/// The commands after `-exec` and its kin, each up to `;` or `+`.
fn find(arguments: &[String]) -> Inside {
    let is_exec = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let commands: Vec<Vec<String>> = arguments
        .split(is_exec)
        .skip(1)
        .map(|rest| rest.iter().take_while(|word| !matches!(word.as_str(), ";" | "+")).cloned().collect())
        .collect();
    if commands.is_empty() { Inside::Nothing } else { Inside::Each(commands) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(line: &str) -> Inside {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        inside(&words[0], &words[1..])
    }

    fn command(line: &str) -> Inside {
        Inside::Command(line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    #[test]
    fn wrappers_are_taken_off() {
        for (line, expected) in [
            ("nohup rm x", command("rm x")),
            ("nice -n 10 rm x", command("rm x")),
            ("nice -n10 rm x", command("rm x")),
            ("timeout -k 5 10 rm x", command("rm x")),
            ("timeout --signal=KILL 10 rm x", command("rm x")),
            ("env -i A=1 B=2 rm x", command("rm x")),
            ("env -u A rm x", command("rm x")),
            ("xargs -0 -n 1 rm x", command("rm x")),
            ("xargs -I {} rm {}", command("rm {}")),
            ("command -- rm x", command("rm x")),
            ("command -v rm", Inside::Nothing),
            (
                "find . -exec a ; -ok rm x +",
                Inside::Each(vec![vec!["a".to_owned()], vec!["rm".to_owned(), "x".to_owned()]]),
            ),
            ("find . -name x", Inside::Nothing),
            ("env", command("")),
            ("sh -c ls", Inside::Script("ls".to_owned())),
            ("bash -lc ls", Inside::Script("ls".to_owned())),
            ("bash -o pipefail -c ls", Inside::Script("ls".to_owned())),
            ("bash script.sh", Inside::File("script.sh".to_owned())),
            ("bash", Inside::Input),
            ("bash -s -- x", Inside::Input),
            ("sh -- -x.sh", Inside::File("-x.sh".to_owned())),
            ("sh - x.sh", Inside::File("x.sh".to_owned())),
            ("sh -c -- ls", Inside::Script("ls".to_owned())),
            ("bash -oe pipefail x.sh", Inside::File("x.sh".to_owned())),
            ("sh /dev/stdin", Inside::Input),
            ("eval ls -l", Inside::Script("ls -l".to_owned())),
            ("env -S ls", Inside::Script("ls".to_owned())),
            ("python3 -c x", Inside::Code("x".to_owned())),
            ("python3.12", Inside::Input),
            ("python3 -m json.tool", Inside::Nothing),
            ("python3 x.py", Inside::Nothing),
            ("perl -ne x", Inside::Code("x".to_owned())),
            ("ls -l", Inside::Nothing),
        ] {
            assert_eq!(look(line), expected, "{line}");
        }
    }
}
