//! A text as somebody edits it who must not learn what stands under the veil: each secret is one sign there that nothing
//! matches, and comes back when the veil is lifted.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

/// Signs for private use, of which no script has any.
const MARKS: RangeInclusive<char> = '\u{F0000}'..='\u{FFFFD}';
/// What is shown where a secret stands.
const SHOWN: &str = "█";

/// What was taken out of a text. The default hides nothing.
#[derive(Debug, Default)]
pub(super) struct Veil {
    /// The sign that stands for each; the text has it nowhere else.
    mark: Option<char>,
    /// Where they stand in the whole text, in order.
    places: Vec<Range<usize>>,
    /// What they are, in the same order.
    values: Vec<String>,
}

impl Veil {
    /// Hides these places of a text, which are in order and apart. `others` are the texts that will be looked for and put in:
    /// none of them may hold the sign. `None` where every sign is taken.
    pub(super) fn over<'a>(
        text: &'a str,
        places: Vec<Range<usize>>,
        others: impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        if places.is_empty() {
            return Some(Self::default());
        }
        let is_mark = |sign: &char| MARKS.contains(sign);
        let taken: HashSet<char> = others.chain([text]).flat_map(|text| text.chars().filter(is_mark)).collect();
        let mark = MARKS.into_iter().find(|mark| !taken.contains(mark))?;
        let values = places.iter().map(|place| text.get(place.clone()).unwrap_or_default().to_owned()).collect();
        Some(Self { mark: Some(mark), places, values })
    }

    /// The text with a sign for each secret.
    pub(super) fn drawn(&self, text: &str) -> String {
        let Some(mark) = self.mark else { return text.to_owned() };
        let mut drawn = String::with_capacity(text.len());
        let mut done = 0;
        for place in &self.places {
            drawn.push_str(text.get(done..place.start).unwrap_or_default());
            drawn.push(mark);
            done = place.end;
        }
        drawn.push_str(text.get(done..).unwrap_or_default());
        drawn
    }

    /// A text that was drawn, with the secrets back in their places.
    pub(super) fn lifted(&self, text: &str) -> String {
        let Some(mark) = self.mark else { return text.to_owned() };
        let mut values = self.values.iter();
        let mut lifted = String::with_capacity(text.len());
        for (index, part) in text.split(mark).enumerate() {
            if index > 0 {
                lifted.extend(values.next().map(String::as_str));
            }
            lifted.push_str(part);
        }
        lifted
    }

    /// The number that a line of a drawn text, from 1, has once the veil is lifted.
    pub(super) fn line(&self, text: &str, line: usize) -> usize {
        let Some(mark) = self.mark else { return line };
        let before = text.split_inclusive('\n').take(line.saturating_sub(1));
        let hidden: usize = before.map(|line| line.matches(mark).count()).sum();
        let breaks: usize = self.values.iter().take(hidden).map(|value| value.matches('\n').count()).sum();
        line + breaks
    }

    /// A part of a drawn text for whoever may not know what is hidden.
    pub(super) fn shown(&self, part: &str) -> String {
        self.mark.map_or_else(|| part.to_owned(), |mark| part.replace(mark, SHOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_comes_back_where_it_was() {
        let text = "a=\u{F0000}one\nb=two\nthree\nc=one\n";
        let places = vec![6..9, 12..21];
        let veil = Veil::over(text, places, ["\u{F0001}"].into_iter()).unwrap();
        let drawn = veil.drawn(text);
        assert_eq!(drawn, "a=\u{F0000}\u{F0002}\nb=\u{F0002}\nc=one\n");
        assert_eq!(veil.lifted(&drawn), text);
        assert_eq!(veil.lifted(&drawn.replace("b=", "new line\nb=")), text.replace("b=", "new line\nb="));
        assert_eq!((veil.line(&drawn, 2), veil.line(&drawn, 3)), (2, 4));
        assert_eq!(veil.shown("b=\u{F0002}"), "b=█");
    }

    #[test]
    fn without_secrets_nothing_is_hidden_and_without_a_sign_nothing_can_be() {
        let veil = Veil::over("a\u{F0000}b", Vec::new(), std::iter::empty()).unwrap();
        assert_eq!((veil.drawn("a\u{F0000}b"), veil.lifted("x")), ("a\u{F0000}b".to_owned(), "x".to_owned()));
        let all: String = MARKS.collect();
        let text = format!("key=one {all}");
        assert!(Veil::over(&text, std::iter::once(4..7).collect(), std::iter::empty()).is_none());
    }
}
