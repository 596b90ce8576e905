//! What is said to start is what starts: real shells run each line in a tree where every file says its own name.
//!
//! Whatever ran was named, or the line was said to start more than is known.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "the tree is made for the shells alone, which run without Nod")]

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nod::policy::RelPath;
use nod::tool::find;
use nod::workspace::{Purpose, Root, resolve};
use serde_json::json;

/// What may take the shell elsewhere, with what joins it to the rest.
const CHANGES: &[&str] = &[
    "",
    "cd b &&",
    "cd b;",
    "cd b\n",
    "cd b &",
    "cd b ||",
    "cd nofile;",
    "cd nofile ||",
    "cd nofile &&",
    "cd b && cd b &&",
    "cd b && ls;",
    "cd b && ls &&",
    "cd b; cd ..;",
    "cd b && cd .. &&",
    "cd b/.. &&",
    "cd lk &&",
    "cd lk/.. &&",
    "cd lk && cd .. &&",
    "cd ./b/../c &&",
    "cd -- b;",
    "cd -P b;",
    "cd b < nofile;",
    "cd b 2>&9;",
    "cd b >&2 &&",
    "cd b c;",
    "cd \"$PWD/b\" &&",
    "x=1 cd b;",
    "CDPATH=c; cd b;",
    "CDPATH=c cd b &&",
    "PWD=b;",
    "! cd b;",
    "! cd nofile &&",
    "! cd b ||",
    "time cd b;",
    "time cd b &&",
    "command cd b;",
    "command cd b &&",
    "builtin cd b;",
    "exec 3>&1; cd b;",
    "env cd b;",
    "env -C b true;",
    "nice cd b;",
    "timeout 5 sh -c 'cd b; ls';",
    "sh -c 'cd b && ls';",
    "bash -c 'cd b; ./foo';",
    "sh cdb.sh;",
    "sh cdb.sh &&",
    ". ./cdb.sh;",
    ". ./cdb.sh &&",
    "eval cd b;",
    "eval 'cd b' &&",
    "eval \"$(cat cdb.sh)\";",
    "chdir b;",
    "pushd b;",
    "pushd b >/dev/null &&",
    "(cd b);",
    "(cd b && ./bar);",
    "(cd b && ./bar) &&",
    "{ cd b; };",
    "{ cd b && ls; } &&",
    "cd b | ls;",
    "ls | cd b;",
    "ls | { cd b; };",
    "true || cd b;",
    "true || cd b &&",
    "false || cd b &&",
    "false && cd b;",
    "false && cd b ||",
    "if cd b; then ls; fi;",
    "if false; then cd b; fi;",
    "for i in 1 2; do ./bar; cd b; done;",
    "while cd b 2>&9; do ./bar; done;",
    "case a in a) cd b;; esac;",
    "[[ -d b ]] && cd b;",
    "f() { cd b; }; f;",
    "f() { cd b; }; f &&",
    "f() ( cd b ); f &&",
    "cd() { :; }; cd b &&",
    "cd() { command cd c; }; cd b &&",
    "alias cd=:\n",
    "c=cd; $c b;",
    "${x:-cd} b;",
    "`echo cd` b &&",
    "\\cd b;",
    "'cd' b &&",
    "c\\d b;",
    "trap 'cd b' EXIT;",
    "trap 'cd b' DEBUG;",
    "echo $(cd b && pwd);",
    "echo `cd b; ./bar`;",
    "echo \"$(cd b; ./bar)\" &&",
    "read x < cdb.sh; $x;",
    "coproc cd b;",
    "coproc cd b &&",
    "set -e; cd nofile;",
    "set -e; cd b;",
    "find . -maxdepth 0 -exec cd b \\; ;",
    "echo b | xargs cd;",
    "PATH=b:$PATH;",
    ": ${CDPATH:=c}; cd b &&",
    ": $((CDPATH=1)); cd b &&",
    "export CD\\PATH=c; cd b &&",
    "export \"CDPATH=c\"; cd b &&",
    "a[CDPATH=1]=x; cd b &&",
    "unset PWD;",
    "export PATH=$PWD/c:$PATH;",
];

/// What then starts a file.
const STARTS: &[&str] = &[
    "./foo",
    "sh foo",
    "bash -eu foo a",
    ". ./foo",
    "sh -- foo",
    "sh < foo",
    "cat foo | sh",
    "tee < foo | sh",
    "$PWD/foo",
    "sh \"$PWD\"/foo",
    "../foo",
    "sh b/../foo",
    "./lk/../foo",
    "b/foo",
    "foo",
    "eval ./foo",
    "env -C b ./foo",
    "env X=1 ./foo",
    "sh -c './foo; ./bar'",
    "sh -c 'cd b && ./foo'",
    "sh call.sh",
    "sh cd-call.sh",
    "BASH_ENV=foo bash -c :",
    "exec < foo; sh",
    "find . -maxdepth 2 -name bar -exec ./foo \\;",
    "find . -maxdepth 2 -name bar -execdir ./foo \\;",
    "ls | ./foo",
    "./foo && ./bar &",
];

/// What a line may stand in.
const FRAMES: &[(&str, &str)] = &[
    ("(", "\n); ./bar"),
    ("{ ", "\n}; ./bar"),
    ("if true; then ", "\nfi; ./bar"),
    ("for i in 1 2; do ", "\ndone; ./bar"),
    ("true && { ", "\n} || ./bar"),
    ("f() { ", "\n}; f; ./bar"),
    ("ls | { ", "\n}; ./bar"),
    ("{ ", "\n} | cat; ./bar"),
    ("eval '", "\n'; ./bar"),
    ("sh -c '", "\n'; ./bar"),
    ("echo $(", "\n); ./bar"),
    ("cd c && ", "\n./bar"),
    ("cd c; ", "\n./bar"),
];

#[test]
fn what_ran_was_named_or_the_line_was_said_to_start_more() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    plant(&root);
    // Each change with the plainest start, bare and in every third frame, and with every sixth of the others.
    let lines = CHANGES.iter().enumerate().flat_map(|(place, change)| {
        let starts = STARTS.iter().enumerate().filter(move |(at, _)| *at == 0 || (at + place) % 6 == 0);
        let frames = FRAMES.iter().enumerate().filter(move |(at, _)| (at + place) % 3 == 0);
        // A quote inside the same quotes ends them.
        let frames = frames.filter(|(_, (open, _))| !(open.ends_with('\'') && change.contains('\'')));
        let bare = starts.map(move |(_, start)| format!("{change} {start}; ./bar"));
        bare.chain(frames.map(move |(_, (open, close))| format!("{open}{change} ./foo{close}")))
    });
    let shells: Vec<&str> = ["dash", "bash"].into_iter().filter(|shell| exists(shell)).collect();
    assert_ne!(shells, [""; 0], "there is no shell to compare with");
    let (mut wrong, mut known, mut open) = (Vec::new(), 0, 0);
    for line in lines {
        let (named, is_complete) = told(&root, &line);
        for shell in &shells {
            let ran = run(shell, &root, &line);
            let is_named = ran.is_subset(&named);
            known += usize::from(is_complete && !ran.is_empty());
            open += usize::from(!is_named);
            if is_complete && !is_named {
                wrong.push(format!("{shell}: {line:?} ran {ran:?}, said {named:?}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "{} of them", wrong.len());
    // The controls: lines that are known to the end do run files, and others run what nobody could name.
    assert!(known > 50 && open > 50, "{known} {open}");
}

/// The files that are named with their content, from the root, and whether that is all.
fn told(root: &Path, line: &str) -> (BTreeSet<String>, bool) {
    let roots = [Root::open(root).unwrap()];
    let targets = [resolve(&roots[0], &RelPath::default(), Purpose::Read).unwrap()];
    let started = find("run_command").unwrap().starts(&json!({"command": line}), &targets, &roots);
    let named = started.files.iter().filter(|file| file.sha256.is_some());
    let names = named.map(|file| PathBuf::from(&file.path).canonicalize().unwrap());
    (names.map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect(), started.is_complete)
}

/// The files that say that they ran.
fn run(shell: &str, root: &Path, line: &str) -> BTreeSet<String> {
    let mut command = Command::new(shell);
    command.arg("-c").arg(line).current_dir(root).stdin(Stdio::null()).env_clear();
    command.env("HOME", "/").env("PATH", "/usr/local/bin:/usr/bin:/bin").env("PWD", root);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.split("RAN<").skip(1).filter_map(|rest| rest.split_once('>')).map(|(name, _)| name.to_owned()).collect()
}

fn exists(shell: &str) -> bool {
    Command::new(shell).arg("-c").arg(":").status().is_ok_and(|status| status.success())
}

/// Each file says its own name; `b`, `c/b` and the rest hold the same names.
fn plant(root: &Path) {
    for folder in ["", "b/", "b/b/", "b/c/", "c/", "c/b/"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        for name in ["foo", "bar"] {
            write(root, &format!("{folder}{name}"), &format!("#!/bin/sh\necho 'RAN<{folder}{name}>' >&2\n"));
        }
        write(root, &format!("{folder}cdb.sh"), "cd b\n");
        for (name, line) in [("call.sh", "./foo"), ("cd-call.sh", "cd b && ./foo; ./bar")] {
            let path = format!("{folder}{name}");
            write(root, &path, &format!("echo 'RAN<{path}>' >&2\n{line}\n"));
        }
    }
    symlink("b/c", root.join("lk")).unwrap();
}

fn write(root: &Path, path: &str, text: &str) {
    std::fs::write(root.join(path), text).unwrap();
    std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}
