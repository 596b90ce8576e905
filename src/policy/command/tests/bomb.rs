//! Command lines made to overflow the stack, or to take for ever or all memory: each is judged at once.

use std::time::{Duration, Instant};

use super::super::*;

/// Texts made to overflow the stack or to take for ever.
fn bombs() -> Vec<String> {
    let mut bombs = Vec::new();
    for piece in [
        "(",
        "((",
        "{ ",
        "$(",
        "$((",
        "${a:-",
        "\"$(",
        "`",
        "if ",
        "while ",
        "! ",
        "case x in x) ",
        "f() { ",
        "[[ ( ",
        "[[ ! ",
        "coproc ",
        "function f { ",
        "<(",
        "a[",
        "a=(",
        "for i in ",
        "echo $(",
        "time ",
        "a|",
        "a&&",
        "a;",
        "\\",
        "'",
        "\"",
        "<<E ",
        "{a,",
        "{a,b}",
        "$'",
        "~",
        "~9",
        "x=$x$x;",
        "sh -c ",
        "eval ",
        "select x in ",
        "$[",
        "echo \"${a",
        "a$(b`c",
        "until ",
        "[ ",
        "if true; then ",
        "while true; do ",
        "else ",
        "env ",
        "nohup ",
        "&",
        "|",
        ";",
        "\n",
        ")",
        "}",
        "<",
        ">",
    ] {
        for count in [8, 10, 11, 39, 41, 300, 3_000] {
            bombs.push(piece.repeat(count));
        }
    }
    bombs.push(format!("{}ls{}", "$(".repeat(10), ")".repeat(10)));
    bombs.push(format!("{}ls{}", "(".repeat(10), ")".repeat(10)));
    bombs.push(format!("{}ls{}", "{ ".repeat(10), "; }".repeat(10)));
    bombs.push(format!("{}ls{}", "if true; then ".repeat(40), "; fi".repeat(40)));
    bombs.push(format!("{}{}", "a=xx; ".to_owned() + &"a=$a$a; ".repeat(1000), "rm $a"));
    bombs.push(format!("{} {}", "(".repeat(10), "a ".repeat(5_000)));
    bombs.push(format!("echo {}", "~99999999999999999999999999"));
    bombs.push("99999999999999999999>x".to_owned());
    bombs.push(format!("echo {}", "{1..999999999999}".repeat(10)));
    let mut nested = "ls".to_owned();
    for _ in 0..10 {
        nested = format!("sh -c {}", shell_quote(&nested));
    }
    bombs.push(nested);
    bombs.push("$(a)".repeat(4_000));
    bombs.push("echo `echo $(echo `echo`)`".repeat(30));
    bombs.extend(long_bombs());
    bombs.extend(tangled());
    bombs.extend(mixed());
    bombs
}

/// Lines of the greatest length, each made to be gone through again and again.
fn long_bombs() -> Vec<String> {
    let fill = |start: &str, piece: &str, end: &str| {
        format!("{start}{}{end}", piece.repeat((64 * 1024 - start.len() - end.len()) / piece.len()))
    };
    vec![
        fill("cd ", "/a", &"; rm a".repeat(4_000)),
        fill(&format!("a={}; rm ", "x".repeat(2_000)), "$a", ""),
        fill(&format!("a={}; rm ", "x".repeat(2_000)), "$a", &"{b,c}".repeat(8)),
        fill("echo ", "x ", &" | tee".repeat(4_000)),
        fill("echo ", "x ", &format!(" | ({} :)", "xargs a;".repeat(3_000))),
        fill("echo ", "x ", &format!(" | ({} :)", "python3;".repeat(3_000))),
        fill("echo ", "x ", &format!(" | ({} :)", "sh;".repeat(5_000))),
        fill("find . ", "-exec a ", ""),
        fill("", "env ", ""),
        fill("", "{", ""),
        fill("rm ", "{a,b}", ""),
        fill("rm ", "{a,", ""),
        fill("cat <<E\n", "a\\\n", "\nE\n"),
        fill("cat <<EOF\n", "EO\n", "EOF\n"),
        fill("", "cat <<E\nE\n", ""),
        fill("cat", " <<E", &"\nE".repeat(5_000)),
        fill("", "\\\n", "a"),
        fill("", "1", "a"),
        fill("", "a=$a$a;", ""),
        fill("", "f() { a; };", ""),
        fill("", "echo $(a);", ""),
        fill("", "[[ a ]];", ""),
        fill("", "((a));", ""),
        fill("awk '", "system(\"a\")", "'"),
        fill(&"((".repeat(15), "a", &"))".repeat(15)),
        fill(&"$(".repeat(30), "a ", &")".repeat(30)),
        fill("echo ", "`a`", ""),
        fill("", "case x in x) a;; esac;", ""),
    ]
}

/// What fuzzing found to take for ever, or all memory, in a parser that goes back and tries again.
fn tangled() -> Vec<String> {
    const FOUND: [&[u8]; 6] = [
        include_bytes!("../../../../tests/fuzz/seeds/commands/endless-1"),
        include_bytes!("../../../../tests/fuzz/seeds/commands/endless-2"),
        include_bytes!("../../../../tests/fuzz/seeds/commands/endless-3"),
        include_bytes!("../../../../tests/fuzz/seeds/commands/endless-4"),
        include_bytes!("../../../../tests/fuzz/seeds/commands/slow-1"),
        include_bytes!("../../../../tests/fuzz/seeds/commands/slow-2"),
    ];
    FOUND.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
}

/// Openers of two kinds by turns, closed and left open, with quotes.
fn mixed() -> Vec<String> {
    const PAIRS: [(&str, &str); 14] = [
        ("(", ")"),
        ("((", "))"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("$((", "))"),
        ("${a:-", "}"),
        ("\"", "\""),
        ("<(", ")"),
        ("a[", "]="),
        ("a=(", ")"),
        ("case x in x) ", ";; esac"),
        ("if ", "; then a; fi"),
        ("[[ (", ") ]]"),
        ("`", "`"),
    ];
    let mut mixed = Vec::new();
    for (open, close) in PAIRS {
        for (other_open, other_close) in PAIRS {
            for count in [4, 16, 500] {
                let opened = format!("{open}{other_open}").repeat(count);
                mixed.push(format!("{opened}a{}", format!("{other_close}{close}").repeat(count)));
                mixed.push(opened);
            }
        }
    }
    mixed
}

fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "measures how long a judgement takes")]
fn no_command_overflows_the_stack_or_takes_for_ever() {
    // Half of what a thread gets.
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let judge_all = || {
        for bomb in bombs() {
            let begin = Instant::now();
            let _ = judge_command(&bomb);
            let name: String = bomb.chars().take(40).collect();
            // More than ten times what the slowest takes.
            assert!(begin.elapsed() < Duration::from_secs(5), "{name:?} × {} took {:?}", bomb.len(), begin.elapsed());
        }
    };
    small.spawn(judge_all).unwrap().join().unwrap();
}
