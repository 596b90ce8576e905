//! A text taken apart by the shell parser, within bounds, and only if the parser dropped nothing of it.

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token};

/// Bytes of a command line that are taken apart; a longer one is asked as it is.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Parentheses and `${` inside each other. The parser tries some of them two ways, so that its work doubles with each.
const NESTED_MAX: usize = 10;
/// Words that open a compound command, in a whole text: the parser calls itself for each.
const COMPOUNDS_MAX: usize = 40;
/// `case` in a whole text: the parser tries each branch two ways.
const CASES_MAX: usize = 8;
/// Backquotes in a whole text: the parser's work grows far faster than their number.
const BACKQUOTES_MAX: usize = 64;
/// Digits in a row, in a text with redirections.
const DESCRIPTOR_DIGITS_MAX: usize = 9;
const COMPOUND_WORDS: &[&str] =
    &["if", "elif", "while", "until", "for", "select", "case", "coproc", "function", "{", "[[", "!", "time"];

/// The program in a text; `None` when it is out of bounds or not understood to the last byte.
pub(super) fn parse(text: &str) -> Option<Program> {
    if text.len() > TEXT_BYTES_MAX || !is_within_bounds(text) {
        return None;
    }
    // The parser unwraps here and there: a text that makes it panic is one that it does not understand.
    std::panic::catch_unwind(|| {
        let options = ParserOptions::default();
        let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
        let program = brush_parser::parse_tokens(&tokens, &options).ok()?;
        keeps_every_byte(text, &tokens).then_some(program)
    })
    .unwrap_or_default()
}

/// Bounds that hold whatever is quoted: a text full of parentheses is asked, which costs a question and nothing else.
fn is_within_bounds(text: &str) -> bool {
    // Control characters mean different things to different shells, or end the line unseen.
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return false;
    }
    let has_redirect = text.contains(['<', '>']);
    if text.matches('`').count() > BACKQUOTES_MAX {
        return false;
    }
    if !has_plain_here_tags(text) {
        return false;
    }
    // A descriptor beyond an integer makes the parser panic.
    if text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > DESCRIPTOR_DIGITS_MAX && has_redirect) {
        return false;
    }
    let mut depth = 0_usize;
    let mut deepest = 0;
    for c in text.chars() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let words = || text.split(|c: char| c.is_whitespace() || "();&|`".contains(c));
    deepest <= NESTED_MAX
        && words().filter(|word| COMPOUND_WORDS.contains(word)).count() <= COMPOUNDS_MAX
        && words().filter(|word| *word == "case").count() <= CASES_MAX
}

/// Whether every here-document ends at a plain word, bare or wholly in quotes: of others the parser may miss the end, look
/// for it for ever and take all memory.
fn has_plain_here_tags(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('<') {
        let after = from.trim_start_matches('<');
        let is_plain = match from.len() - after.len() + 1 {
            1 => true,
            // An escaped one is a sign like any other, and those after it are another operator.
            _ if before.ends_with('\\') => false,
            2 => ends_at_a_plain_word(after),
            // A here-string; what is longer is several operators, or a mistake.
            length => length == 3,
        };
        if !is_plain {
            return false;
        }
        rest = after;
    }
    true
}

/// The same of one here-document, by what follows its operator.
fn ends_at_a_plain_word(after: &str) -> bool {
    const ENDS_A_WORD: [char; 7] = [';', '&', '|', '(', ')', '<', '>'];
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '!' | '/' | '+' | ':');
    let after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (tag, rest) = if let Some(quote) = quote {
        let Some(tag_and_rest) = after.get(1..).and_then(|after| after.split_once(quote)) else { return false };
        tag_and_rest
    } else {
        let end = after.find(|c: char| c.is_whitespace() || ENDS_A_WORD.contains(&c)).unwrap_or(after.len());
        after.split_at_checked(end).unwrap_or_default()
    };
    let is_quoted = quote.is_some();
    let is_whole = rest.chars().next().is_none_or(|c| c.is_whitespace() || ENDS_A_WORD.contains(&c));
    is_whole && !tag.is_empty() && tag.chars().all(|c| is_plain(c) || (is_quoted && c == ' '))
}

/// Whether all that no token covers is blank, a comment or a continued line.
fn keeps_every_byte(text: &str, tokens: &[Token]) -> bool {
    let mut characters: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
    for token in tokens {
        let location = token.location();
        for (_, is_covered) in characters.iter_mut().take(location.end.index).skip(location.start.index) {
            *is_covered = true;
        }
    }
    let mut characters = characters.into_iter().peekable();
    let mut before = '\n';
    while let Some((c, is_covered)) = characters.next() {
        match c {
            _ if is_covered => {}
            ' ' | '\t' | '\n' => {}
            // The parser counts the line break of a continued line into the next token.
            '\\' if characters.peek().is_some_and(|(next, _)| *next == '\n') => {}
            '#' if matches!(before, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')') => {
                while characters.next_if(|(next, is_covered)| !is_covered && *next != '\n').is_some() {}
            }
            _ => return false,
        }
        before = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_lines_are_kept_to_the_last_byte() {
        for text in [
            "ls -la",
            "  ls   -la  ",
            "echo 'a b' \"c $d\" e\\ f",
            "a && b || c; d & e | f",
            "ls # a comment",
            "# only a comment",
            "echo a \\\n  b",
            "for f in *.rs; do echo \"$f\"; done",
            "if true; then echo a; else echo b; fi",
            "case $x in a) echo;; b|c) true;; esac",
            "f() { echo $1; }; f x",
            "cat <<EOF\nhello $x\nEOF\n",
            "cat <<'EOF' | sort\nhello\nEOF\n",
            "cat <<-EOF\n\thello\n\tEOF\n",
            "cat <<\"a b\"\nhello\na b\n",
            "cat <<<\"hello\"",
            "cat <<< hello",
            "echo $((1 << 2)) $((1<<2))",
            "echo $(ls $(pwd)) `date`",
            "echo $((1 + 2)) ${x:-y}",
            "diff <(ls a) <(ls b)",
            "ls > out.txt 2>&1",
            "grep 中文 文件.md | wc -l",
            "[[ -f a && ! -d b ]] && echo x",
            "",
            "a=1 b=2 env",
            "arr=(a b c); echo ${arr[1]}",
            "! true",
        ] {
            assert!(parse(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_no_program() {
        for text in [
            "echo 'open",
            "echo \"open",
            "(ls",
            "ls)",
            "if true",
            "ls &&",
            "a\0b",
            "ls\r\nrm x",
            "echo \u{1b}[2K",
            "| x",
            // Each of these made the parser take all memory.
            " $( <<\"O\\\":EF$( <<\":<\"O\\\":E   ",
            "a <<\"\" ",
            "a <<'' | b",
            "a <<-\t''\"\" ",
            "a <<\\\n'' ",
            "a $(b <<'' )",
            "'f \nS\"f'<<''| ",
            "at $(<<  ",
            "a <<",
            "a <<- ",
            "a << ; b",
            "a <<<<",
            "a <<<<  $(",
            "ech$( [echo<<<<< <<<<<<<sh <|-<c p",
        ] {
            assert!(parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_dropped_byte_is_noticed() {
        let tokens = |text: &str| {
            brush_parser::uncached_tokenize_str(text, &ParserOptions::default().tokenizer_options()).unwrap()
        };
        let text = "echo hello; rm x";
        assert!(keeps_every_byte(text, &tokens(text)));
        // As if the parser had stopped early, or skipped a word.
        assert!(!keeps_every_byte(text, &tokens("echo hello")));
        assert!(!keeps_every_byte("echo a; rm", &tokens("echo a    ")));
    }
}
