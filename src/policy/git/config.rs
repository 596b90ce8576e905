//! Git's configuration format (`git-config`, "Syntax"), read the way git reads it. Where git would give up, the rest of the
//! line is passed over and reading goes on: what is obeyed by no git is no danger, and what a newer git allows is not lost.

use std::iter::Peekable;
use std::str::Chars;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// Lower case.
    pub section: String,
    /// As it is written; lower case in the old notation, `[section.subsection]`.
    pub subsection: Option<String>,
    /// Lower case.
    pub key: String,
    /// `None` for a key alone, which means "yes".
    pub value: Option<String>,
}

impl GitSetting {
    /// As git names it: `section.subsection.key`.
    pub fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }
}

/// Reads a configuration file.
pub fn parse_git_config(text: &str) -> Vec<GitSetting> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Git takes CR LF for LF wherever it stands.
    let text = text.replace("\r\n", "\n");
    let mut reader = Reader { rest: text.chars().peekable(), section: None, settings: Vec::new() };
    while let Some(next) = reader.rest.next() {
        match next {
            '#' | ';' => reader.skip_line(),
            '[' => {
                reader.section = reader.section();
                if reader.section.is_none() {
                    reader.skip_line();
                }
            }
            first if first.is_ascii_alphabetic() => reader.setting(first),
            space if space.is_ascii_whitespace() => {}
            _ => reader.skip_line(),
        }
    }
    reader.settings
}

struct Reader<'text> {
    rest: Peekable<Chars<'text>>,
    section: Option<(String, Option<String>)>,
    settings: Vec<GitSetting>,
}

impl Reader<'_> {
    fn skip_line(&mut self) {
        while self.rest.next_if(|next| *next != '\n').is_some() {}
    }

    fn skip_spaces(&mut self) {
        while self.rest.next_if(|next| *next != '\n' && next.is_ascii_whitespace()).is_some() {}
    }

    /// After `[`.
    fn section(&mut self) -> Option<(String, Option<String>)> {
        let mut name = String::new();
        loop {
            match self.rest.next_if(|next| *next != '\n')? {
                ']' => {
                    return Some(match name.split_once('.') {
                        Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
                        None => (name, None),
                    });
                }
                space if space.is_ascii_whitespace() => break,
                part if part.is_ascii_alphanumeric() || matches!(part, '-' | '.') => {
                    name.push(part.to_ascii_lowercase());
                }
                _ => return None,
            }
        }
        self.skip_spaces();
        self.rest.next_if_eq(&'"')?;
        let mut subsection = String::new();
        loop {
            match self.rest.next_if(|next| *next != '\n')? {
                '"' => break,
                '\\' => subsection.push(self.rest.next_if(|next| *next != '\n')?),
                part => subsection.push(part),
            }
        }
        self.rest.next_if_eq(&']')?;
        Some((name, Some(subsection)))
    }

    fn setting(&mut self, first: char) {
        let mut key = String::from(first.to_ascii_lowercase());
        while let Some(part) = self.rest.next_if(|next| next.is_ascii_alphanumeric() || *next == '-') {
            key.push(part.to_ascii_lowercase());
        }
        self.skip_spaces();
        let value = match self.rest.peek() {
            None | Some('\n') => Some(None),
            Some('=') => {
                self.rest.next();
                self.value().map(Some)
            }
            Some(_) => None,
        };
        match (value, &self.section) {
            (Some(value), Some((section, subsection))) => {
                let (section, subsection) = (section.clone(), subsection.clone());
                self.settings.push(GitSetting { section, subsection, key, value });
            }
            (Some(_), None) => {}
            (None, _) => self.skip_line(),
        }
    }

    /// After `=`, to the end of the line. `None` where it is none.
    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        // How much of it stays when the line ends here: spaces at the end go.
        let mut kept = 0;
        let mut is_quoted = false;
        self.skip_spaces();
        while let Some(next) = self.rest.next_if(|next| *next != '\n') {
            match next {
                '"' => is_quoted = !is_quoted,
                '#' | ';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                '\\' => match self.rest.next()? {
                    '\n' => continue,
                    't' => value.push('\t'),
                    'b' => value.push('\u{8}'),
                    'n' => value.push('\n'),
                    part @ ('\\' | '"') => value.push(part),
                    _ => return None,
                },
                space if space.is_ascii_whitespace() && !is_quoted => {
                    value.push(space);
                    continue;
                }
                part => value.push(part),
            }
            kept = value.len();
        }
        value.truncate(kept);
        (!is_quoted).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Option<String>)> {
        parse_git_config(text).into_iter().map(|setting| (setting.name(), setting.value)).collect()
    }

    fn one(text: &str) -> (String, Option<String>) {
        let mut all = read(text);
        assert_eq!(all.len(), 1, "{text:?}: {all:?}");
        all.remove(0)
    }

    fn pair(name: &str, value: &str) -> (String, Option<String>) {
        (name.to_owned(), Some(value.to_owned()))
    }

    #[test]
    fn names_are_folded_and_subsections_are_kept() {
        for (text, expected) in [
            ("[core]\n\thooksPath = .husky\n", pair("core.hookspath", ".husky")),
            ("[CoRe]HOOKSPATH=.husky", pair("core.hookspath", ".husky")),
            ("[filter \"L.F s\\\"x\"]\nclean=c", pair("filter.L.F s\"x.clean", "c")),
            ("[Filter.LFS]\nclean=c", pair("filter.lfs.clean", "c")),
            ("\u{feff}[a]\r\nb = c\r\n", pair("a.b", "c")),
            ("[a]\n; no = 1\n# no = 2\nb = c", pair("a.b", "c")),
            ("[a] b = c ; said\n", pair("a.b", "c")),
            ("[a]\nb", ("a.b".to_owned(), None)),
        ] {
            assert_eq!(one(text), expected, "{text:?}");
        }
    }

    #[test]
    fn values_are_quoted_escaped_and_continued() {
        for (text, value) in [
            ("  x y  ", "x y"),
            ("\" x \" # no", " x "),
            ("a\" ; # \"b", "a ; # b"),
            ("a\\\n  b", "a  b"),
            ("\"a\\\nb\"", "ab"),
            ("a\\tb\\n\\\\\\\"", "a\tb\n\\\""),
            ("!f() { id\\; }", ""),
            ("", ""),
        ] {
            let read = read(&format!("[a]\nb ={text}\n"));
            let expected = if value.is_empty() && text.contains('!') { vec![] } else { vec![pair("a.b", value)] };
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_none_hides_nothing_after_it() {
        for text in
            ["[a\nb=1\n[c]\nd=e", "[a]\n=1\n[c]\nd=e", "[a \"x\ny=1\n[c]\nd=e", "[a]\nb=\"x\n[c]\nd=e", "x=1\n[c]d=e"]
        {
            assert_eq!(read(text).last(), Some(&pair("c.d", "e")), "{text:?}");
        }
    }
}
