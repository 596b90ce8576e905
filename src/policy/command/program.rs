//! Lists of programs by what they run of the person's files. They decide what a yes is bound to and what may be remembered:
//! never whether something is asked.

use super::started::Language;

/// Programs that run nothing but themselves and change no file, whatever their arguments are.
pub(super) const PLAIN: &[&str] = &[
    ":",
    "[",
    "b2sum",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "command",
    "continue",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "export",
    "expr",
    "false",
    "fgrep",
    "file",
    "fold",
    "grep",
    "groups",
    "head",
    "hexdump",
    "hostname",
    "id",
    "join",
    "kill",
    "local",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rev",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "umask",
    "uname",
    "unexpand",
    "unset",
    "uptime",
    "wait",
    "wc",
    "which",
    "whoami",
];

/// Programs that run nothing but themselves and change files.
pub(super) const WRITERS: &[&str] = &[
    "chmod", "cp", "find", "ln", "mkdir", "mktemp", "mv", "rm", "rmdir", "tee", "touch", "tree", "truncate", "uniq",
    "unlink", "xxd",
];

/// Build tools and runners of tasks, with the files that they read by themselves in the folder where they start.
pub(super) const PROJECT_FILES: &[(&str, &[&str])] = &[
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("bmake", &["makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("cargo", &["Cargo.toml", "build.rs", ".cargo/config.toml"]),
    ("go", &["go.mod"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("bundle", &["Gemfile"]),
    ("gradle", &["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"]),
    ("mvn", &["pom.xml"]),
    ("ant", &["build.xml"]),
    ("composer", &["composer.json"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("cmake", &["CMakeLists.txt"]),
    ("meson", &["meson.build"]),
    ("ninja", &["build.ninja"]),
    ("tox", &["tox.ini"]),
    ("nox", &["noxfile.py"]),
    ("pytest", &["conftest.py", "pytest.ini", "pyproject.toml"]),
    ("mix", &["mix.exs"]),
    ("pre-commit", &[".pre-commit-config.yaml"]),
];

/// Programs whose first operand is a program in their language, with those of their options that take a value as a word of
/// its own.
pub(super) const RUNNERS: &[(&str, &str)] = &[
    ("python", "WX"),
    ("pypy", "WX"),
    ("perl", "I"),
    ("ruby", "rICE"),
    ("node", "rC"),
    ("nodejs", "rC"),
    ("php", "dcz"),
    ("lua", "l"),
    ("luajit", "l"),
    ("tclsh", ""),
    ("wish", ""),
    ("expect", ""),
    ("osascript", "l"),
    ("rscript", "e"),
    ("julia", "LJ"),
    ("elixir", "r"),
    ("groovy", ""),
    ("ts-node", "rP"),
    ("tsx", "r"),
    ("guile", "Ll"),
    ("racket", ""),
    ("escript", ""),
    ("ocaml", "I"),
    ("runghc", ""),
    ("swift", ""),
    ("java", ""),
];

/// Runners whose program follows a word that says what to do.
const WITH_VERB: &[(&str, &[&str])] =
    &[("deno", &["run", "test", "bench"]), ("bun", &["run", "test"]), ("go", &["run"])];

/// Options with the file of a runner or a build tool: `-f Makefile`, `-jar x.jar`.
const FILE_OPTIONS: &[(&str, &[&str])] = &[
    ("make", &["-f", "--file", "--makefile"]),
    ("gmake", &["-f", "--file", "--makefile"]),
    ("bmake", &["-f"]),
    ("just", &["-f", "--justfile"]),
    ("rake", &["-f", "--rakefile"]),
    ("gradle", &["-b", "--build-file"]),
    ("mvn", &["-f", "--file"]),
    ("ant", &["-f", "-file", "-buildfile"]),
    ("task", &["-t", "--taskfile"]),
    ("ninja", &["-f"]),
    ("tox", &["-c"]),
    ("nox", &["-f", "--noxfile"]),
    ("pytest", &["-c"]),
    ("cargo", &["--manifest-path"]),
    ("java", &["-jar"]),
    ("php", &["-f"]),
    ("pwsh", &["-File", "-f"]),
    ("powershell", &["-File", "-f"]),
    ("awk", &["-f", "--file"]),
    ("gawk", &["-f", "--file"]),
    ("mawk", &["-f"]),
    ("nawk", &["-f"]),
    ("sed", &["-f", "--file"]),
    ("gsed", &["-f", "--file"]),
];

/// Options with the folder in which a build tool works.
const FOLDER_OPTIONS: &[(&str, &[&str])] = &[
    ("make", &["-C", "--directory"]),
    ("gmake", &["-C", "--directory"]),
    ("ninja", &["-C"]),
    ("just", &["-d", "--working-directory"]),
    ("npm", &["--prefix"]),
    ("pnpm", &["-C", "--dir"]),
    ("yarn", &["--cwd"]),
    ("cargo", &["-C"]),
    ("gradle", &["-p", "--project-dir"]),
    ("task", &["-d", "--dir"]),
    ("go", &["-C"]),
    ("cmake", &["-S"]),
];

/// Programs that run the rest of their line and nothing else, in the folder where they are.
const TRANSPARENT: &[&str] = &[
    "builtin", "chrt", "command", "env", "exec", "gtime", "gtimeout", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "taskset", "time", "timeout",
];

/// Shells whose language is read here.
const READ_SHELLS: &[&str] = &["ash", "bash", "dash", "sh"];

/// Where programs are installed.
const INSTALLED: &[&str] = &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// What git does without running anything that its configuration names: no filter, text conversion, watcher of files, signer,
/// pager or editor.
/// Whether a command of this name is taken for an installed program that runs nothing in its turn but what its line names.
pub fn is_taken_for_plain(name: &str) -> bool {
    PLAIN.contains(&name)
        || WRITERS.contains(&name)
        || is_transparent(name)
        || matches!(name, "sh" | "bash" | "dash" | "git")
}

const PLAIN_GIT: &[&str] =
    &["rev-parse", "ls-tree", "merge-base", "name-rev", "show-ref", "count-objects", "version", "--version"];

/// Whether a wrapper runs the rest of its line and nothing else.
pub(super) fn is_transparent(program: &str) -> bool {
    TRANSPARENT.contains(&program)
}

/// Whether a command does the same for whatever comes behind it: what `xargs` and `find` add is not known.
pub(super) fn is_plain(command: &[String]) -> bool {
    command.first().is_some_and(|name| {
        let name = if is_installed(name) { name.rsplit('/').next().unwrap_or_default() } else { name };
        (PLAIN.contains(&name) || WRITERS.contains(&name)) && !needs_literal(name)
    })
}

/// What reads a file that a shell is given.
pub(super) fn language_of_shell(program: &str, arguments: &[String]) -> Language {
    if is_plain_shell(program, arguments) { Language::Shell } else { Language::Other }
}

/// Whether it is a shell whose language is read here, which reads no file of its own first, as some of its options have it.
pub(super) fn is_plain_shell(program: &str, arguments: &[String]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-" | "--") || !word.starts_with(['-', '+']) {
            break;
        }
        if word.starts_with("--") || !word.chars().all(|c| "-+ceufxvno".contains(c)) {
            return false;
        }
        for _ in word.matches('o') {
            words.next();
        }
    }
    READ_SHELLS.contains(&program)
}

/// The files that a shell reads by itself before what it is told to run.
pub(super) fn files_before_shell(arguments: &[String]) -> impl Iterator<Item = &String> {
    arguments.windows(2).filter_map(|pair| match pair {
        [option, file] if matches!(option.as_str(), "--rcfile" | "--init-file") => Some(file),
        _ => None,
    })
}

/// Builtins after which the shell may be elsewhere, or run something else for a name that it knew.
pub(super) fn changes_shell(program: &str) -> bool {
    matches!(
        program,
        "alias"
            | "chdir"
            | "dirs"
            | "enable"
            | "getopts"
            | "hash"
            | "let"
            | "mapfile"
            | "popd"
            | "pushd"
            | "read"
            | "readarray"
            | "shopt"
            | "trap"
            | "unalias"
    )
}

/// Programs that may start the rest of their line in another folder, as other options than those known here have it.
pub(super) fn may_move(program: &str) -> bool {
    matches!(program, "chroot" | "firejail" | "nsenter" | "parallel" | "systemd-run" | "unshare" | "watch")
}

/// Whether what is named by a path is an installed program.
pub(super) fn is_installed(name: &str) -> bool {
    INSTALLED.iter().any(|folder| name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')))
}

/// Variables by which no program finds another one or what it loads.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    matches!(
        name,
        "LANG" | "LANGUAGE" | "TZ" | "CI" | "NO_COLOR" | "FORCE_COLOR" | "COLUMNS" | "RUST_BACKTRACE" | "RUST_LOG"
    ) || name.starts_with("LC_")
}

/// Whether a call of git runs nothing but itself.
pub(super) fn is_plain_git(program: &str, arguments: &[String]) -> bool {
    let verb = arguments.iter().find(|word| !matches!(word.as_str(), "--no-pager" | "-P"));
    program == "git" && verb.is_some_and(|verb| PLAIN_GIT.contains(&verb.as_str()))
}

/// Builtins that evaluate an argument as an expression in some shells.
pub(super) fn is_evaluating(program: &str) -> bool {
    matches!(program, "test" | "[" | "printf" | "export" | "readonly" | "local" | "unset" | "kill" | "wait" | "set")
}

/// Whether what stands in an argument decides what is run or where.
pub(super) fn needs_literal(program: &str) -> bool {
    is_evaluating(program) || matches!(program, "cd" | "git" | "command" | "find")
}

/// The program that an interpreter is given as a file, by an option or as its first operand.
pub(super) fn program_file(program: &str, arguments: &[String]) -> Option<String> {
    if let Some(file) = file_of_project(program, arguments) {
        return Some(file);
    }
    let verbs = WITH_VERB.iter().find(|(name, _)| *name == program).map(|(_, verbs)| *verbs);
    let valued = RUNNERS.iter().find(|(name, _)| *name == program || *name == without_version(program));
    let (valued, is_after_verb) = match (valued, verbs) {
        (Some((_, valued)), _) => (*valued, false),
        (None, Some(_)) => ("", true),
        (None, None) => return None,
    };
    let mut operands = super::wrapper::skip_options(arguments, valued);
    if let (true, Some(verbs)) = (is_after_verb, verbs)
        && operands.first().is_some_and(|verb| verbs.contains(&verb.as_str()))
    {
        operands = super::wrapper::skip_options(operands.get(1..).unwrap_or_default(), valued);
    }
    operands.first().filter(|file| file.contains(['.', '/']) || !is_after_verb).cloned()
}

/// The file that an option gives to a build tool or a runner.
pub(super) fn file_of_project(program: &str, arguments: &[String]) -> Option<String> {
    value_of(FILE_OPTIONS, program, arguments)
}

/// The folder that an option gives to a build tool.
pub(super) fn folder_of_project(program: &str, arguments: &[String]) -> Option<String> {
    value_of(FOLDER_OPTIONS, program, arguments)
}

/// `python3.12` → `python`.
pub(super) fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// The value of the first of a program's options that is given: `-f x`, `-fx`, `--file x`, `--file=x`.
fn value_of(table: &[(&str, &[&str])], program: &str, arguments: &[String]) -> Option<String> {
    let (_, options) = table.iter().find(|(name, _)| *name == program)?;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        for option in *options {
            let Some(rest) = word.strip_prefix(option) else { continue };
            if rest.is_empty() {
                return words.next().cloned();
            }
            if let Some(value) = rest.strip_prefix('=') {
                return Some(value.to_owned());
            }
            if option.len() == 2 {
                return Some(rest.to_owned());
            }
        }
    }
    None
}
