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
    let mut wrong = Vec::new();
    for (line, expected) in [
        // Shells and what they source.
        ("sh build.sh", "$build.sh"),
        ("sh build.sh x y", "$build.sh"),
        ("bash -eu x.sh", "$x.sh"),
        ("bash -o pipefail x.sh", "$x.sh"),
        ("bash --login x.sh", "x.sh …"),
        ("bash --rcfile rc -i x.sh", "$rc? x.sh …"),
        ("BASH_ENV=rc bash -c ls", "$rc? …"),
        ("env ENV=rc sh -c ls", "$rc? …"),
        ("cat x.sh | sh", "$x.sh? …"),
        ("grep -v a x.sh | sed s/a/b/ | bash", "$a? $x.sh? $s/a/b/? …"),
        ("tee /dev/null < x.sh | sh", "$x.sh? $/dev/null? …"),
        ("{ cat x.sh; echo ls; } | timeout 5 sh", "$x.sh? …"),
        ("sh -c \"$(cat x.sh)\"", "$x.sh? …"),
        ("eval `cat x.sh`", "$x.sh? …"),
        ("bash -c '. <(cat x.sh)'", "$x.sh? …"),
        ("exec < x.sh; sh", "$x.sh? …"),
        ("while read l; do $l; done < cmds", "$cmds? …"),
        ("$(which sh) x.sh", "x.sh? $sh? …"),
        ("cat a | wc -l", ""),
        ("zsh x.sh", "x.sh …"),
        ("./build.sh", "#./build.sh"),
        ("scripts/build a", "#scripts/build"),
        ("/projects/web/build.sh", "#/projects/web/build.sh"),
        ("sh -- -x.sh", "$-x.sh"),
        ("sh $PWD/x.sh", "$./x.sh? …"),
        ("F=x.sh; sh $F", "$x.sh? …"),
        ("unset PWD; sh \"$PWD/x.sh\"", "…"),
        ("sh \"$PWD/a b.sh\"; \"${PWD}\"/x", "$./a b.sh #./x"),
        ("sh \"$PWD\"/x.sh", "$./x.sh"),
        ("cd sub && sh ../x.sh", "$sub/../x.sh"),
        ("sh ./sub/../x.sh", "$./sub/../x.sh"),
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
        ("cd x && cd y && ./z.sh", "#x/y/./z.sh"),
        ("cd ../x && sh y.sh", "$../x/y.sh"),
        ("(cd x && sh y.sh); sh z.sh", "$x/y.sh $z.sh"),
        ("cd a/../b && sh y.sh", "$a/../b/y.sh"),
        ("cd x && make | tail -3", "x/GNUmakefile? x/makefile? x/Makefile? …"),
        ("(cd x && sh y.sh) 2>&1 | tail -3; ./z", "$x/y.sh #./z"),
        ("sh -c 'cd x && ./y'; ./z", "#x/./y #./z"),
        ("sh -c 'cd x; ls'; ./z", "#./z"),
        ("timeout 5 sh -c 'cd x; ls'; ./z", "#./z"),
        ("echo $(cd x && pwd); ./z", "#./z"),
        ("cd x && ./y & ./z", "#x/./y #./z"),
        ("env -C x ./y; ./z", "#x/./y #./z"),
        ("cd /projects/x && ./y", "#/projects/x/./y"),
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
        if told(line) != expected {
            wrong.push(format!("{line}: {}, not {expected}", told(line)));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn what_a_variable_holds_is_no_text_where_a_shell_may_take_it_for_an_expression() {
    for line in [
        "echo $(( $(cat count.txt) + 1 ))",
        "echo \"$((x))\"",
        "i=$((i + 1))",
        "bash -c 'for x in $(cat names.txt); do echo \"hello ${x@P}\"; done'",
        "for x in *; do echo $((x)); done",
        "for f in b/*; do echo \"${f@P}\"; done",
        "x=$(cat f); echo $((x))",
        "echo ${PATH:$(cat f):1}",
        "echo ${x:y}",
        "echo ${x: -1}",
        "echo ${b[x]}",
        "echo ${#b[x]}",
        "echo ${!x}",
        "echo ${!x*}",
        "sleep $(( $(cat f) ))",
        "cat <<< $(( $(cat f) ))",
        "cat <<E\n$(( $(cat f) ))\nE",
        "cat <<E\n${x@P}\nE",
        "y=([$(cat f)]=2)",
        "a=(*); echo $((a))",
        "echo $((PWD))",
        "echo ${x:-${y@P}}",
        "echo ${x/${y@P}/}",
        "cat {a[$x]}<f",
        "cat 5<f {fd}<g",
        "case ${x@P} in a) ls ;; esac",
        "cat < ${x@P}",
        "x[$y]=1",
        "echo ${x:=a}",
    ] {
        assert!(told(line).ends_with('…'), "{line:?}: {}", told(line));
    }
    for line in [
        "echo $((1 + 2)) $(( (3 << 2) % 5 ))",
        "echo ${x} ${#x} ${#} ${x:-a} ${x-a} ${x:+b} ${x%.txt} ${x##*/} ${x/a/b} ${x^^} ${x:1:2} ${@} ${1}",
        "cat <<E\n${x} $y $(date)\nE",
        "echo {a,b} >f",
        "a=(b c); ls",
    ] {
        assert_eq!(told(line), "", "{line:?}");
    }
}

#[test]
fn a_file_is_first_where_nothing_else_of_the_line_ran_before_it_and_nothing_runs_it_again() {
    for (line, expected) in [
        ("sh x.sh", true),
        ("./x.sh; ls", true),
        ("sh x.sh | tail -3", true),
        ("sh x.sh > log", true),
        ("cd a && sh x.sh", true),
        ("(cd a && sh x.sh)", true),
        ("set -e; X=1; sh x.sh", true),
        ("timeout 5 env LANG=C sh x.sh", true),
        ("python3 x.py", true),
        ("sh -c 'sh x.sh'", true),
        ("true /usr/*/* && sh x.sh", false),
        ("bash -c 'true {1..9}; sh x.sh'", false),
        ("cd */ && sh x.sh", false),
        ("X=(/usr/*); sh x.sh", false),
        ("sh x.sh < /usr/*", false),
        ("cp e x.sh && sh x.sh", false),
        ("sleep 2; sh x.sh", false),
        ("cp e x.sh & sh x.sh", false),
        ("ls | sh x.sh", false),
        ("sh x.sh; cp e x.sh; sh x.sh", false),
        ("sh x.sh $(cp e x.sh)", false),
        ("cd a < $(cp e x.sh); sh x.sh", false),
        ("X=$(cp e x.sh); sh x.sh", false),
        ("for i in 1 2; do sh x.sh; done", false),
        ("while sh x.sh; do :; done", false),
        ("f() { sh x.sh; }; f", false),
        ("trap 'sh x.sh' EXIT; ls", false),
        ("find . -exec ./x.sh {} +", false),
        ("xargs sh x.sh < list", false),
    ] {
        let files = started_files(line, Some("")).files;
        assert_eq!(files.iter().any(|file| file.is_first), expected, "{line}: {files:?}");
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
        "true || cd a; sh x.sh",
        "if a; then cd b; fi; sh x.sh",
        "cd a | true; sh x.sh",
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
        "export \"PATH=.\"; ls",
        "export PA\\TH=.; ls",
        "env PATH=. ls",
        "env LD_PRELOAD=./x.so ls",
        "BASH_ENV=x bash -c ls",
        "bash -lc ls",
        "bash --rcfile x -ic ls",
        "zsh -c ls",
        "jobs -x ./foo",
        "trap ./foo EXIT",
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
        "git status --short",
        "git diff",
        "git log -3",
        "git -C b rev-parse HEAD",
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
        "cd x && ls; ls",
        "cd x; ls",
        "git rev-parse HEAD",
        "git --no-pager merge-base a b",
        "find . -name '*.rs' -exec wc -l {} +",
        "find . -name '*.rs' | xargs wc -l",
        "mkdir -p a && echo b > a/c",
        "a=1; echo $a",
        "LANG=C ls",
        "/bin/ls",
        "test -f a && echo b",
    ] {
        assert!(started_files(line, Some("")).is_complete, "{line}");
    }
}

/// Only `cd WORD &&` is followed: anywhere else it may fail, or be something else in another shell.
#[test]
fn a_file_is_never_named_from_a_folder_that_is_a_guess() {
    for change in [
        "cd b;",
        "cd b\n",
        "cd b < nofile &&",
        "cd b 2>&9 &&",
        "x=1 cd b &&",
        "CDPATH=/tmp; cd b &&",
        "cd $x &&",
        "cd b || true;",
        "true || cd b &&",
        "cd b || ls ||",
        "! cd b ||",
        "! cd b &&",
        "time cd b &&",
        "command cd b &&",
        "builtin cd b &&",
        "env cd b;",
        "chdir b &&",
        "pushd b &&",
        "popd &&",
        "cd - &&",
        "cd -P b &&",
        "cd &&",
        "cd b c &&",
        "{ cd b; } &&",
        "{ cd b && ls; } &&",
        "if cd b; then ls; fi &&",
        "for i in 1; do cd b; done;",
        "[[ -d b ]] && cd b;",
        "cd b | ls &&",
        "eval cd b &&",
        "eval 'cd b' &&",
        "c=cd; $c b &&",
        "${x:-cd} b &&",
        "$x b &&",
        "f() { cd b; }; f &&",
        "cd() { :; }; cd b &&",
        "alias cd=ls;",
        ". ./cdb.sh;",
        "trap 'cd b' DEBUG;",
        "read PWD;",
        "PWD=b;",
        ": ${CDPATH:=c}; cd b &&",
        ": $((CDPATH=1)); cd b &&",
        "((CDPATH=1)); cd b &&",
        "for ((CDPATH=1; 0; )); do :; done; cd b &&",
        "a[CDPATH=1]=x; cd b &&",
        "export CD\\PATH=c; cd b &&",
        "coproc cd b;",
    ] {
        let line = format!("{change} ./foo");
        let started = started_files(&line, Some(""));
        let is_named = started.files.iter().any(|file| file.path.ends_with("foo"));
        // What runs beside this shell does not move it.
        let is_beside = ["env", "coproc"].iter().any(|word| change.starts_with(word));
        assert!(!is_named || (is_beside && started.files.iter().all(|file| file.path == "./foo")), "{line:?}");
        assert!(!started.is_complete || is_beside, "{line:?}");
    }
    // The control.
    let started = started_files("cd b && ./foo", Some(""));
    assert_eq!((started.files.first().unwrap().path.as_str(), started.is_complete), ("b/./foo", true));
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
    assert_eq!(folders("cd z && ./y.sh", Some("x")), [("x/z/./y.sh".to_owned(), Some("x/z".to_owned()))]);
    assert_eq!(folders("sh y.sh", None), []);
    assert_eq!(folders("sh /projects/y.sh", None), [("/projects/y.sh".to_owned(), None)]);
}
