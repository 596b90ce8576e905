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
    if !has_plain_here_documents(text) {
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

/// Whether every here-document has a plain tag, bare or wholly in quotes, and a line further on that ends it: of others the
/// parser may miss the end, look for it for ever and take all memory.
fn has_plain_here_documents(text: &str) -> bool {
    // What stands in a document is no operator.
    let (mut body_from, mut body_to) = (0, 0);
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let place = at + found;
        let after = text.get(place..).unwrap_or_default().trim_start_matches('<');
        at = text.len() - after.len();
        let length = at - place;
        if length == 1 || (body_from..body_to).contains(&place) {
            continue;
        }
        // An escaped one is a sign like any other, and those after it are another operator.
        if text.get(..place).is_some_and(|before| before.ends_with('\\')) {
            return false;
        }
        match length {
            2 => {
                let Some(tag) = plain_tag(after) else { return false };
                let line_end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end + 1);
                // Several of one line follow each other.
                let from = line_end.max(body_to);
                if line_end >= body_to {
                    body_from = line_end;
                }
                let may_be_indented = after.starts_with('-');
                let Some(end) = end_of_document(text, from, tag, may_be_indented) else { return false };
                body_to = end;
            }
            // A here-string.
            3 => {}
            // Several operators, or a mistake.
            _ => return false,
        }
    }
    true
}

/// Where the document that begins there ends: behind the first line that is its tag and nothing else, but for tabs before it
/// where they do not count.
fn end_of_document(text: &str, from: usize, tag: &str, may_be_indented: bool) -> Option<usize> {
    let mut at = from;
    for line in text.get(from..)?.split_inclusive('\n') {
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        if line == tag || (may_be_indented && line.trim_start_matches('\t') == tag) {
            return Some(at);
        }
    }
    None
}

/// The tag of a here-document, by what follows its operator; `None` for one that is not plain.
fn plain_tag(after: &str) -> Option<&str> {
    const ENDS_A_WORD: [char; 7] = [';', '&', '|', '(', ')', '<', '>'];
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '!' | '/' | '+' | ':');
    let after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (tag, rest) = if let Some(quote) = quote {
        after.get(1..)?.split_once(quote)?
    } else {
        let end = after.find(|c: char| c.is_whitespace() || ENDS_A_WORD.contains(&c)).unwrap_or(after.len());
        after.split_at_checked(end)?
    };
    let is_quoted = quote.is_some();
    let is_whole = rest.chars().next().is_none_or(|c| c.is_whitespace() || ENDS_A_WORD.contains(&c));
    let is_good = is_whole && !tag.is_empty() && tag.chars().all(|c| is_plain(c) || (is_quoted && c == ' '));
    is_good.then_some(tag)
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
            "git commit -m \"$(cat <<'EOF'\na << b\nEOF\n)\"",
            "cat <<A <<B\n1 << 2\nA\n3 << 4\nB\n",
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
            "cas$(ee$ec!ho</cp/0 02>,<<  ho<,<< ho1<,>, ",
            "cat <<A <<A\n1\nA\n",
            "a $(b <<EOF\nc",
            "a $(b <<EOF\n\tEOF\n)",
            // A shift looks like one.
            "echo $((1 << 2))",
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
