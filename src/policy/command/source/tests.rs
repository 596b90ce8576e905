use super::*;
use crate::policy::command::syntax::{Command, Compound, Redirect, UNKNOWN, Word};

/// Every simple command of a text in the order in which they begin, with `…` for what only the shell knows.
fn commands(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    in_list(&parse(text, 0)?, &mut found);
    Some(found)
}

fn in_list(list: &List, found: &mut Vec<String>) {
    for command in list.0.iter().flat_map(|item| &item.pipelines).flat_map(|pipeline| &pipeline.commands) {
        match command {
            Command::Simple(simple) => {
                let words = || simple.assignments.iter().chain(&simple.words);
                let line: Vec<&str> = words().map(|word| word.raw.as_str()).collect();
                found.push(line.join(" ").replace(UNKNOWN, "…"));
                in_words(words(), found);
                in_redirects(&simple.redirects, found);
            }
            Command::Compound { body, redirects } | Command::Function { body, redirects, .. } => {
                match body {
                    Compound::Subshell(list) => in_list(list, found),
                    Compound::For { values, body, .. } => {
                        in_words(values, found);
                        in_list(body, found);
                    }
                    Compound::Arithmetic(word) => in_words([word], found),
                    Compound::Parts { words, lists } => {
                        in_words(words, found);
                        in_lists(lists, found);
                    }
                }
                in_redirects(redirects, found);
            }
        }
    }
}

fn in_lists(lists: &[List], found: &mut Vec<String>) {
    for list in lists {
        in_list(list, found);
    }
}

fn in_words<'a>(words: impl IntoIterator<Item = &'a Word>, found: &mut Vec<String>) {
    for word in words {
        in_lists(&word.commands, found);
    }
}

fn in_redirects(redirects: &[Redirect], found: &mut Vec<String>) {
    for redirect in redirects {
        match redirect {
            Redirect::Reads(word)
            | Redirect::Writes(word)
            | Redirect::WritesBoth(word)
            | Redirect::HereString(word) => {
                in_words([word], found);
            }
            Redirect::HereDocument(document) => in_lists(&document.get().unwrap().commands, found),
        }
    }
}

#[test]
fn every_command_of_a_line_is_found() {
    for (text, expected) in [
        ("", &[][..]),
        ("# only a comment", &[]),
        ("ls -la", &["ls -la"]),
        ("  ls \t -la  # a comment; rm x", &["ls -la"]),
        ("echo a#b", &["echo a#b"]),
        ("echo a \\\n  b", &["echo a b"]),
        ("ec\\\nho a; cop\\\nroc b", &["echo a", "b"]),
        ("a && b || c; d & e | f |& g", &["a", "b", "c", "d", "e", "f", "g"]),
        ("a\n\nb &\n# c\nd;", &["a", "b", "d"]),
        ("a &&\n b |\n # why\n c", &["a", "b", "c"]),
        ("echo 'a;b' \"c;$d\" e\\;f", &["echo 'a;b' \"c;$d\" e\\;f"]),
        ("echo $'a;b' $\"c;d\"", &["echo $'a;b' $\"c;d\""]),
        ("a=1 b+=2 c[x]=3 env d=4", &["a=1 b+=2 c[x]=3 env d=4"]),
        ("c[$i]=1 d[\"e\"]+=2 f", &["c[$i]=1 d[\"e\"]+=2 f"]),
        ("arr=(a $(b)\n c # d\n); e ${arr[1]}", &["arr=…", "b", "e …"]),
        ("! time -p a", &["a"]),
        ("!", &[]),
        ("(a; b) && { c; d; }", &["a", "b", "c", "d"]),
        ("{ (a) }", &["a"]),
        ("echo }", &["echo }"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("if (a) then b; fi 2>&1 | c", &["a", "b", "c"]),
        ("while a; do b; done < c", &["a", "b"]),
        ("until a\ndo\nb\ndone", &["a", "b"]),
        ("for x in a $(b); do c; done", &["b", "c"]),
        ("for x; do c; done", &["c"]),
        ("for x do c; done", &["c"]),
        ("for ((i=0; i<$(a); i++)); do b; done", &["a", "b"]),
        ("for ((;;)) { b; }", &["b"]),
        ("select x in a; do b; done", &["b"]),
        ("case $x in a) b;; (c|d) e ;& *) ;; f) g; esac", &["b", "e", "g"]),
        ("case $(a) in\n  $(b)) c\n  ;;\nesac", &["a", "b", "c"]),
        ("f() { a; }; f", &["a", "f"]),
        ("f () ( a )\nfunction g { b; }; function h () { c; }", &["a", "b", "c"]),
        ("coproc a b; coproc { c; }", &["a b", "c"]),
        ("(( i < $(a) ))", &["a"]),
        // What a shell runs that does not know the brackets.
        ("[[ -f a && ! ( $(b) =~ ^(c|d e)$ ) ]] && f", &["-f a", "!", "… ^(c|d e)$", "b", "f"]),
        ("echo $(a $(b)) `c \\`d\\``", &["echo … …", "a …", "b", "c …", "d"]),
        ("echo \"$(a \")\" b)\"", &["echo \"…\"", "a \")\" b"]),
        ("echo $(case x in a) b;; esac)", &["echo …", "b"]),
        ("echo $(a # )\n)", &["echo …", "a"]),
        ("echo ${x:-$(a)} ${x} ${#x} ${x//\\}/`b`}", &["echo … ${x} … …", "a", "b"]),
        ("echo $((1 << (2 + $(a)))) $$ $# $1 $", &["echo … $$ $# $1 $", "a"]),
        ("echo \"$\\\n(a)\"", &["echo \"…\"", "a"]),
        ("diff <(a) <(b | c) > >(d)", &["diff … …", "a", "b", "c", "d"]),
        ("a > b 2>&1 3< c &> d", &["a"]),
        ("> a", &[""]),
        ("cat <<<\"$(a)\"", &["cat", "a"]),
        ("cat <<EOF | sort\n$(a)\n'`b`'\n\\$(c)\nEOF\nd", &["cat", "a", "b", "sort", "d"]),
        ("cat <<'EOF'\n$(a) << it's (\nEOF\nb", &["cat", "b"]),
        ("cat <<\\EOF\n$(a)\nEOF", &["cat"]),
        ("cat <<-\"E F\"\n\ta\n\tE F\n", &["cat"]),
        ("cat <<A - <<B\n$(a)\nA\n$(b)\nB\nc", &["cat -", "a", "b", "c"]),
        ("cat <<EOF\na\\\nb\nEOF\nc", &["cat", "c"]),
        ("a -m \"$(cat <<'EOF'\nit's \"b\" (\nEOF\n)\"; c", &["a -m \"…\"", "cat", "c"]),
        ("(cat <<EOF\nx\nEOF\n)", &["cat"]),
        ("grep 中文 文件.md | wc -l", &["grep 中文 文件.md", "wc -l"]),
    ] {
        assert_eq!(commands(text).unwrap_or_else(|| panic!("not understood: {text:?}")), expected, "{text:?}");
    }
}

#[test]
fn what_people_and_agents_write_is_understood() {
    let json = format!("curl -s -X POST localhost:8080 -d '{{\"a\": [{}]}}'", "{\"b\": [1, (2), `3`]}, ".repeat(500));
    let document = format!("cat > src/main.rs <<'EOF'\n{}EOF", "fn f(x: &[u8]) { g(\"it's {}\", x[0]) }\n".repeat(200));
    let pipes = format!("cat log{}", " | grep -v \"a (b)\"".repeat(200));
    let sequence = "cd /projects/web && npm run build\n".repeat(300);
    for text in [
        "cargo test --workspace --all-features 2>&1 | tail -50",
        "cd /projects/web && npm ci && npm run build -- --mode production",
        "git add -A && git commit -m \"Fix the parser (again)\" && git push origin HEAD",
        "git commit -m \"$(cat <<'EOF'\nDon't panic (it's fine)\n\n- a `b` ${c}\nEOF\n)\"",
        "git log --oneline --format='%h %s (%an)' -20 | cat",
        "git diff HEAD~3..HEAD -- 'src/**/*.rs' | head -100",
        "git stash push -m \"wip: $(date +%F)\" || true",
        "find . -name '*.py' -not -path './.venv/*' -exec sed -i 's/foo/bar/g' {} \\;",
        "find . -type f \\( -name '*.c' -o -name '*.h' \\) -print0 | xargs -0 wc -l | sort -n",
        "find src -name '*.rs' -exec grep -l 'unsafe' {} + 2>/dev/null",
        "awk -F: '{ if ($3 >= 1000) { print $1 \"(\" $3 \")\" } }' /etc/passwd",
        "awk 'BEGIN { while ((getline line < \"x\") > 0) n[line]++; for (k in n) print k, n[k] }'",
        "sed -n '/start/,/end/{ s/[(){}]//g; p; }' file.txt",
        "sed -E -i.bak \"s#(http)://([^/]+)#\\1s://\\2#\" config.yml",
        "grep -rnE '(TODO|FIXME)\\(.*\\)' --include='*.{rs,ts}' src | sort -u",
        "rg -n \"fn \\w+\\(.*\\) -> Option<\" -g '!target' || echo none",
        "for f in src/*.rs tests/**/*.rs; do echo \"== $f\"; head -5 \"$f\"; done",
        "for i in $(seq 1 10); do curl -sf \"http://localhost:$PORT/health\" && break; sleep 1; done",
        "for ((i = 0; i < 10; i++)); do echo $((i * i)); done",
        "while read -r line; do printf '%s\\n' \"${line%%#*}\"; done < input.txt",
        "while IFS=, read -r a b c; do echo \"$a => ${b:-none}\"; done <<< \"$csv\"",
        "until nc -z localhost 5432; do sleep 0.5; done",
        "if [ -f package.json ]; then npm test; elif [ -f Cargo.toml ]; then cargo test; else echo 'no tests' >&2; exit 1; fi",
        "if [[ \"$OSTYPE\" == darwin* && ! -d /opt/homebrew ]]; then echo mac; fi",
        "[[ $v =~ ^v([0-9]+)\\.([0-9]+)$ ]] && echo \"${BASH_REMATCH[1]}\"",
        "[ \"$(id -u)\" -ne 0 ] && echo 'not root'",
        "case \"$1\" in\n  start|stop) echo \"$1\" ;;\n  -h|--help) usage; exit 0 ;;\n  *) echo \"unknown: $1\" >&2; exit 2 ;;\nesac",
        "log() { printf '[%s] %s\\n' \"$(date -u +%T)\" \"$*\" >&2; }\nlog start; make -j\"$(nproc)\"; log done",
        "function retry {\n  local n=0\n  until \"$@\"; do n=$((n+1)); [ $n -ge 3 ] && return 1; sleep 2; done\n}\nretry npm ci",
        "set -euo pipefail; trap 'rm -f \"$tmp\"' EXIT; tmp=$(mktemp); sort x > \"$tmp\"",
        "export PATH=\"$HOME/.cargo/bin:$PATH\" RUST_LOG=debug; cargo run -- --port 3000 &",
        "python3 - <<'PY'\nimport json, sys\nd = {'a': [1, 2, (3, 4)]}\nprint(json.dumps(d), \"it's\")\nPY",
        "python3 -c \"import json; print(json.load(open('a.json'))['b'][0])\"",
        "node -e 'const x = {a: `b${1+1}`}; console.log(JSON.stringify(x))'",
        "jq -r '.items[] | select(.kind == \"Pod\") | \"\\(.metadata.name) \\(.status.phase)\"' pods.json",
        "curl -fsSL -H 'Content-Type: application/json' -d '{\"q\": \"{ user(id: 1) { name } }\"}' https://x/graphql | jq .",
        "docker run --rm -v \"$PWD\":/w -w /w -e A=b node:20 sh -c 'npm ci && npm test'",
        "docker compose -f a.yml -f b.yml up -d --build && docker compose logs -f --tail=50 web",
        "kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'",
        "psql \"$URL\" -c \"SELECT count(*) FROM t WHERE a IN ('x', 'y') AND b > 3;\"",
        "tar czf - src | (cd /tmp/x && tar xzf -)",
        "diff <(sort a.txt) <(sort b.txt) || true",
        "ls -la | awk '{print $5, $9}' | sort -rn | head -20",
        "ps aux | grep '[n]ode' | awk '{print $2}' | xargs -r kill",
        "mkdir -p build/{debug,release}/{bin,lib} && cp -r assets/. build/release/",
        "test -d node_modules || (echo installing; npm ci) && npx tsc --noEmit",
        "{ echo header; cat body.txt; } > out.txt 2>&1",
        "echo \"$((2**10)) ${#name} ${path##*/} ${x:=5} ${y/a/b}\"",
        "arr=(one two \"three four\"); for x in \"${arr[@]}\"; do echo \"$x\"; done; echo ${#arr[@]}",
        "cat > .env <<EOF\nA=$A\nURL=https://${HOST:-localhost}:$PORT/\nSUM=$(sha256sum a | cut -d' ' -f1)\nEOF",
        "cat <<-EOF >> Makefile\n\tall:\n\t\techo hi\n\tEOF\n",
        "tee a.json >/dev/null <<'JSON'\n{\"a\": {\"b\": [[[[[[[[[[[[1]]]]]]]]]]]]}}\nJSON",
        "echo 'a' |\n  tr a b |\n  # the last\n  cat",
        "command -v rg >/dev/null 2>&1 || echo missing",
        "timeout 60 cargo test -- --nocapture &> test.log; tail -5 test.log",
        "time make -j8 2> >(tee err.log >&2)",
        "printf '%s\\n' {1..5}{a,b}",
        "ssh host 'cd /srv && for f in *; do echo \"$f\"; done'",
        "pgrep -f \"vite\" && echo running || echo 'not running'",
        "sleep 5 & wait $!; echo \"exit: $?\"",
        "if a; then for b in c; do case d in e) (while f; do echo \"$(g \"$(h)\")\"; done) ;; esac; done; fi",
        json.as_str(),
        document.as_str(),
        pipes.as_str(),
        sequence.as_str(),
    ] {
        assert!(parse(text, 0).is_some(), "{text:?}");
    }
}

#[test]
fn what_is_not_understood_is_no_program() {
    for text in [
        "echo 'open",
        "echo \"open",
        "echo `open",
        "echo $(open",
        "echo ${open",
        "echo $((1)",
        "echo \\",
        "(ls",
        "ls)",
        "()",
        "{ ls",
        "{ ls }",
        "if true",
        "if; then a; fi",
        "then",
        "a; }",
        "ls &&",
        "ls | | ls",
        "ls || | ls",
        "a ; ; b",
        "a;; b",
        "; a",
        "& a",
        "| x",
        "a & && b",
        "a >",
        "a > ; b",
        "a (b)",
        "f() a",
        "f(",
        "case x in a) b",
        "case x in a b) c;; esac",
        "for 1 in a; do b; done",
        "for x in a do b; done",
        "while a; done",
        "[[ a",
        "[[ a & b ]]",
        "[[ ( a ]]",
        "a\0b",
        "ls\r\nrm x",
        "echo \u{1b}[2K",
        // A document without its end, or with a tag that is not plain.
        "a <<",
        "a << ; b",
        "a <<EOF",
        "a <<EOF\nb",
        "a <<\"\" \n\n",
        "a <<''\n\n",
        "a <<$x\nb\n$x\n",
        "a <<E'O'F\nb\nEOF\n",
        "a <<<<b",
        "cat <<A <<A\n1\nA\n",
        "a $(b <<EOF\nc",
        "a $(b <<EOF)\nc\nEOF\n",
        "a $(b <<EOF\n\tEOF\n)",
        "a <<EOF $(b\n)\nc\nEOF\n",
        // Read in two ways by two shells, a command to one and a text to the other.
        "cat <<EOF\na\\\nEOF\nb",
        "cat <<EOF\nEO\\\nF\nb\nEOF\n",
        "echo $'a\\'; b; : \\''",
        "echo $[ 1; a; ]",
        "echo ${ a; }",
        "echo ${|a;}",
        "echo \"${x:-'}'}\"",
        "echo $(( ' ))",
        "((a) )",
        "echo $((a) )",
        "a &> b c",
        "a[1 + 2]=3 b",
        "a[\"]\"]=3 b",
        "a[b[1]=3 c",
        "a | ! b",
        "! & a",
        "echo \"`a \\\"b\\\"`\"",
        "ls !(a)",
    ] {
        assert_eq!(commands(text), None, "{text:?}");
    }
}

#[test]
fn depth_is_bounded_and_counted_through_every_kind() {
    for (open, inside, close) in [
        ("( ", "a", ")"),
        ("{ ", "a", "; }"),
        ("if ", "a", "; then b; fi"),
        ("while a; do ", "b", "; done"),
        ("case x in x) ", "a", ";; esac"),
        ("f() { ", "a", "; }"),
        ("coproc ", "a", ""),
        ("echo $(", "a", ")"),
        ("echo \"$(", "a", ")\""),
        ("cat <(", "a", ")"),
        ("echo ${x:-", "a", "}"),
        ("echo \"${x:-", "a", "}\""),
        ("echo $((1 + $(", "a", ")))"),
        ("a=(", "b", ")"),
    ] {
        let nested = |depth: usize| format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
        assert!(parse(&nested(8), 0).is_some(), "{open:?}");
        assert!(parse(&nested(DEPTH_MAX + 1), 0).is_none(), "{open:?}");
        assert!(parse(&nested(8), DEPTH_MAX - 4).is_none(), "{open:?}");
    }
}

#[test]
fn length_is_bounded() {
    assert!(parse(&"a ".repeat(TEXT_BYTES_MAX / 2), 0).is_some());
    assert!(parse(&"a".repeat(TEXT_BYTES_MAX + 1), 0).is_none());
}
