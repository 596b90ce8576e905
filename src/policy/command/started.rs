//! What a command line starts besides installed programs: the files that its text names, and whether that is all of it.
//!
//! A yes to a command is a yes to what the files hold that it names as programs, so they are bound to it. Whatever is not
//! understood here to the end leaves the line incomplete: then no rule remembers it. No entry of these lists allows anything.

use super::program::{self, PLAIN, PROJECT_FILES, WRITERS};
use super::syntax::UNKNOWN;
use super::word::{HOME, STAR};

/// More files than these are not followed.
const FILES_MAX: usize = 64;

/// What a command line starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartedFiles {
    /// The files that it names as programs, in the order in which they stand there.
    pub files: Vec<NamedFile>,
    /// Whether nothing else is run but installed programs that are known to run nothing in their turn.
    pub is_complete: bool,
    /// Whether it may change files itself, and so what a script holds.
    pub writes: bool,
}

/// A file that a command line names as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// From the folder in which the line starts, or absolute.
    pub path: String,
    /// In which folder it starts, from the same folder; `None` where the text does not tell.
    pub folder: Option<String>,
    /// What reads it.
    pub language: Language,
    /// Whether the line names it (`sh x.sh`) or its program looks for it by itself (`make`).
    pub is_named: bool,
}

/// What reads a file that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// A shell whose language is read here.
    Shell,
    /// Whatever its first line says.
    ByFirstLine,
    /// Something else: what it starts or loads in its turn is not known.
    Other,
}

/// What is gathered on a walk.
#[derive(Debug)]
pub(super) struct Started {
    files: Vec<NamedFile>,
    is_complete: bool,
    writes: bool,
    /// The folder after each `cd` so far; `None` once the text does not tell any more.
    pub(super) folder: Option<String>,
    /// In how many things the walk is that may run or not.
    pub(super) doubts: usize,
    /// Whether the first word of the simple command that is looked at stands there as it is.
    pub(super) is_named: bool,
    /// Whether every word of the simple command that is looked at stands there as it is.
    pub(super) is_literal: bool,
    /// The file that comes on standard input.
    pub(super) input: Option<String>,
}

impl Default for Started {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            is_complete: true,
            writes: false,
            folder: Some(String::new()),
            doubts: 0,
            is_named: true,
            is_literal: true,
            input: None,
        }
    }
}

impl Started {
    pub(super) fn in_folder(folder: Option<&str>) -> Self {
        Self { folder: folder.map(str::to_owned), ..Self::default() }
    }

    /// What it comes to; a line that was not understood to its end has more in it than was found.
    pub(super) fn finish(self, is_understood: bool) -> StartedFiles {
        // What the line writes itself may be what it starts.
        let is_its_own_doing = self.writes && !self.files.is_empty();
        let is_complete = is_understood && self.is_complete && !is_its_own_doing;
        StartedFiles { files: self.files, is_complete, writes: self.writes }
    }

    /// It runs something that nobody can name.
    pub(super) const fn leave_open(&mut self) {
        self.is_complete = false;
    }

    /// Where it works from now on is not known, and what is looked up by name may be something else.
    pub(super) fn lose_way(&mut self) {
        self.folder = None;
        self.is_complete = false;
    }

    pub(super) const fn write(&mut self) {
        self.writes = true;
    }

    /// A variable gets a value. The shell and the programs that it starts go by some of them.
    pub(super) fn assign(&mut self, name: &str) {
        let is_heeded = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        if is_heeded && !program::is_harmless_variable(name) {
            self.leave_open();
        }
    }

    /// Goes where `cd` goes.
    pub(super) fn enter(&mut self, arguments: &[String]) {
        let mut targets = arguments.iter().filter(|word| !matches!(word.as_str(), "-P" | "-L" | "--"));
        let (target, rest) = (targets.next(), targets.next());
        self.folder = match target {
            Some(target) if rest.is_none() && self.doubts == 0 && self.is_literal && !target.starts_with('-') => {
                self.below(target)
            }
            Some(_) | None => None,
        };
        if self.folder.is_none() {
            self.leave_open();
        }
    }

    /// A file is started.
    pub(super) fn file(&mut self, path: &str, language: Language, is_named: bool) {
        match language {
            Language::Shell | Language::ByFirstLine => {}
            Language::Other => self.leave_open(),
        }
        let below = if self.is_literal { self.below(path) } else { None };
        let Some(path) = below.filter(|_| self.files.len() < FILES_MAX) else { return self.leave_open() };
        let file = NamedFile { path, folder: self.folder.clone(), language, is_named };
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }

    /// A path as it is seen from the folder in which the line starts.
    fn below(&self, path: &str) -> Option<String> {
        if path.is_empty() || path.contains([UNKNOWN, HOME, STAR]) {
            return None;
        }
        let folder = self.folder.as_deref()?;
        let joined = match folder {
            _ if path.starts_with('/') => path.to_owned(),
            "" => path.to_owned(),
            folder => format!("{folder}/{path}"),
        };
        // Behind a name, which may be a link, `..` leads to one place for `cd` and to another for a program.
        let mut is_below = false;
        for part in joined.split('/') {
            match part {
                ".." if is_below => return None,
                "" | "." | ".." => {}
                _ => is_below = true,
            }
        }
        Some(joined)
    }

    /// A program that is named by where it lies: a file like any other, unless it is installed.
    pub(super) fn by_path(&mut self, name: &str) -> bool {
        let is_by_path = name.contains('/') && !program::is_installed(name);
        if is_by_path {
            self.file(name, Language::ByFirstLine, true);
        }
        is_by_path
    }

    /// One command, seen by its name, with what it is wrapped in taken off.
    pub(super) fn command(&mut self, name: &str, program: &str, arguments: &[String]) {
        if !self.is_named || name.contains([UNKNOWN, HOME, STAR]) {
            return self.leave_open();
        }
        if let Some(file) = program::program_file(program, arguments) {
            self.file(&file, Language::Other, true);
        }
        if let Some(files) = PROJECT_FILES.iter().find(|(name, _)| *name == program).map(|(_, files)| files) {
            self.leave_open();
            return self.project(program, arguments, files);
        }
        let is_plain =
            PLAIN.contains(&program) || WRITERS.contains(&program) || program::is_plain_git(program, arguments);
        // Some builtins of some shells run what stands in an index.
        let hides_command = program::is_evaluating(program)
            && arguments.iter().any(|word| word.contains(['`', UNKNOWN]) || word.contains("$(") || word == "-v");
        if !is_plain || hides_command || (!self.is_literal && program::needs_literal(program)) {
            self.leave_open();
        }
        if WRITERS.contains(&program) {
            self.write();
        }
    }

    /// The files that a build tool or a runner of tasks reads by itself.
    fn project(&mut self, program: &str, arguments: &[String], files: &[&str]) {
        let folder = self.folder.clone();
        if let Some(inner) = program::folder_of_project(program, arguments) {
            self.folder = self.below(&inner).filter(|_| self.is_literal);
        }
        // A file that is named by an option was seen already, from the folder that it is named from.
        if program::file_of_project(program, arguments).is_none() {
            for file in files {
                self.file(file, Language::Other, false);
            }
        }
        self.folder = folder;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::started_files;

    /// The files of a line, each with what it is (`$` shell, `#` by its first line, nothing else; `?` if it is only looked
    /// for), and `…` behind them if they are not all.
    fn told(line: &str) -> String {
        let started = started_files(line, Some(""));
        let files = started.files.iter().map(|file| {
            let mark = match file.language {
                Language::Shell => "$",
                Language::ByFirstLine => "#",
                Language::Other => "",
            };
            format!("{mark}{}{}", file.path, if file.is_named { "" } else { "?" })
        });
        let rest = (!started.is_complete).then(|| "…".to_owned());
        files.chain(rest).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_files_that_a_line_starts_are_named_by_its_text() {
        for (line, expected) in [
            // Shells and what they source.
            ("sh build.sh", "$build.sh"),
            ("sh build.sh x y", "$build.sh"),
            ("bash -eu x.sh", "$x.sh"),
            ("bash -o pipefail x.sh", "$x.sh"),
            ("bash --login x.sh", "x.sh …"),
            ("bash --rcfile rc -i x.sh", "x.sh …"),
            ("zsh x.sh", "x.sh …"),
            ("./build.sh", "#./build.sh"),
            ("scripts/build a", "#scripts/build"),
            ("/projects/web/build.sh", "#/projects/web/build.sh"),
            (". ./env.sh", "$./env.sh …"),
            ("source x", "$x …"),
            ("sh < build.sh", "$build.sh …"),
            ("sh 'a b.sh'", "$a b.sh"),
            ("sh \"a b.sh\"; sh 'a b.sh'", "$a b.sh"),
            // Interpreters.
            ("python3 b.py", "b.py …"),
            ("python3.12 -u -X dev b.py c.py", "b.py …"),
            ("node x.js", "x.js …"),
            ("perl -w a.pl", "a.pl …"),
            ("ruby a.rb", "a.rb …"),
            ("php a.php", "a.php …"),
            ("deno run --allow-read a.ts", "a.ts deno.json? deno.jsonc? …"),
            ("bun run a.ts", "a.ts package.json? …"),
            ("bun run build", "package.json? …"),
            ("go run main.go", "main.go go.mod? …"),
            ("java -jar a.jar", "a.jar …"),
            ("awk -f a.awk b", "a.awk …"),
            // Build tools.
            ("make", "GNUmakefile? makefile? Makefile? …"),
            ("make -f x.mk all", "x.mk …"),
            ("make -C sub all", "sub/GNUmakefile? sub/makefile? sub/Makefile? …"),
            ("npm run build", "package.json? …"),
            ("pnpm test", "package.json? …"),
            ("yarn build", "package.json? …"),
            ("just", "justfile? Justfile? .justfile? …"),
            ("cargo test", "Cargo.toml? build.rs? .cargo/config.toml? …"),
            // Behind other things.
            ("cd x && sh y.sh", "$x/y.sh"),
            ("cd x; cd y; ./z.sh", "#x/y/./z.sh"),
            ("cd ../x && sh y.sh", "$../x/y.sh"),
            ("(cd x && sh y.sh); sh z.sh", "$x/y.sh $z.sh"),
            ("env A_b=1 nice -n 5 timeout 10 sh x.sh", "$x.sh …"),
            ("env LANG=C nice -n 5 timeout 10 sh x.sh", "$x.sh"),
            ("nohup ./x.sh", "#./x.sh"),
            ("sh -c 'sh x.sh'", "$x.sh"),
            ("eval sh x.sh", "$x.sh"),
            ("echo a | xargs sh x.sh", "$x.sh …"),
            ("find . -name a -exec ./x.sh {} +", "#./x.sh …"),
            ("if true; then sh x.sh; fi", "$x.sh"),
            ("cat $(sh x.sh)", "$x.sh"),
            ("false || sh x.sh &", "$x.sh"),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }

    #[test]
    fn what_the_text_does_not_name_leaves_a_line_open() {
        for line in [
            "$x",
            "sh $x",
            "sh *.sh",
            "sh x?.sh",
            "~/x.sh",
            "x=y.sh; sh $x",
            "a=ls; sh -c '$a ./x.sh'",
            "cd $x && sh y.sh",
            "cd a/../b && sh y.sh",
            "true || cd a; sh x.sh",
            "if a; then cd b; fi; sh x.sh",
            "cd a | true; sh x.sh",
            "cd a & sh x.sh",
            "cd() { :; }; cd a; sh x.sh",
            ". ./a.sh; sh b.sh",
            "curl x | sh",
            "echo ls | sh",
            "python3 -c 'import x'",
            "python3 -m x",
            "some-program",
            "pytest",
            "npx x",
            "PATH=. ls",
            "export PATH=.; ls",
            "PATH=.; ls",
            "for PATH in .; do ls; done",
            "env PATH=. ls",
            "env LD_PRELOAD=./x.so ls",
            "BASH_ENV=x bash -c ls",
            "alias ls=./x; ls",
            "hash -p ./x ls",
            "printf -v PATH .; ls",
            "set -- ./x; \"$@\"",
            "xargs ./x",
            "xargs env",
            "echo ./x | xargs env",
            "find . -exec sh {} ;",
            "find . $x",
            "find . -exec find {} +",
            "git -c core.pager=./x log",
            "git $x",
            "git commit -m x",
            "git bisect run ./x",
            "busybox sh x",
            "flock x sh y.sh",
            "sort --compress-program=./x a",
            "tar --checkpoint-action=exec=./x -cf a b",
            "[ -v 'a[$(./x)]' ]",
            "((a))",
            "ls(",
        ] {
            assert!(!started_files(line, Some("")).is_complete, "{line}");
        }
        // The control.
        for line in [
            "ls -la",
            "cat a.txt | grep -n 'b*' | head -5",
            "cd sub && ls",
            "cd $x",
            "git status --short",
            "git --no-pager log -3",
            "find . -name '*.rs' -exec wc -l {} +",
            "find . -name '*.rs' | xargs wc -l",
            "mkdir -p a && echo b > a/c",
            "a=1; echo $a",
            "LANG=C ls",
            "/bin/ls",
            "test -f a && echo b",
        ] {
            assert_eq!(started_files(line, Some("")).is_complete, line != "cd $x", "{line}");
        }
    }

    #[test]
    fn what_a_line_may_write_itself_leaves_it_open() {
        for line in [
            "echo ls > x.sh; sh x.sh",
            "cp a b.sh && sh b.sh",
            "sh b.sh; touch c",
            "sh b.sh > log",
            "sh -c 'echo a > b.sh'; sh b.sh",
        ] {
            let started = started_files(line, Some(""));
            assert!(!started.is_complete && !started.files.is_empty(), "{line}");
        }
        for line in ["sh b.sh 2>&1", "sh b.sh > /dev/null 2>&1", "echo a > b; cat b"] {
            assert!(started_files(line, Some("")).is_complete, "{line}");
        }
    }

    #[test]
    fn a_script_starts_in_the_folder_of_whoever_started_it() {
        let folders = |text: &str, folder: Option<&str>| {
            started_files(text, folder).files.into_iter().map(|file| (file.path, file.folder)).collect::<Vec<_>>()
        };
        assert_eq!(folders("sh y.sh", Some("x")), [("x/y.sh".to_owned(), Some("x".to_owned()))]);
        assert_eq!(folders("cd z; ./y.sh", Some("x")), [("x/z/./y.sh".to_owned(), Some("x/z".to_owned()))]);
        assert_eq!(folders("sh y.sh", None), []);
    }
}
