//! Thinking that a model writes into its answer, between `<think>` and `</think>`, told apart as it streams. Pure.
//!
//! Only at the very beginning of an answer: further on the same letters are what the answer is about.

/// The tags that models begin their thinking with.
const TAGS: [(&str, &str); 3] = [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>", "</thought>")];

/// Space before an answer that is waited through, in bytes.
const LONGEST_SPACE: usize = 4096;

/// Which of both a piece of text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spoken {
    /// Thinking.
    Thought(String),
    /// Answer.
    Text(String),
}

/// Tells thinking from answer.
#[derive(Debug, Default)]
pub struct ThinkTags {
    state: State,
    /// What may be the beginning of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but space came yet.
    #[default]
    Beginning,
    /// Between the tags; the closing one is named.
    Thinking(&'static str),
    /// Behind the thinking: the space between it and the answer belongs to neither.
    AfterThinking,
    Answering,
}

impl ThinkTags {
    /// No tags are looked for any more: the server tells thinking apart by itself.
    pub fn stop_looking(&mut self) -> Option<Spoken> {
        if self.state != State::Beginning {
            return None;
        }
        self.state = State::Answering;
        self.rest()
    }

    /// Whether no tag can come any more.
    pub fn is_answering(&self) -> bool {
        self.state == State::Answering
    }

    /// Takes more of the answer in.
    pub fn push(&mut self, text: &str, each: &mut impl FnMut(Spoken)) {
        if self.state == State::Answering {
            if !text.is_empty() {
                each(Spoken::Text(text.to_owned()));
            }
            return;
        }
        self.held.push_str(text);
        loop {
            let before = self.state;
            match self.state {
                State::Beginning => {
                    let begun = self.held.trim_start();
                    if let Some((open, close)) = TAGS.iter().find(|(open, _)| begun.starts_with(open)) {
                        self.held = begun.get(open.len()..).unwrap_or_default().to_owned();
                        self.state = State::Thinking(close);
                    } else if self.held.len() > LONGEST_SPACE || !TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                        self.state = State::Answering;
                    }
                }
                State::Thinking(close) => {
                    if let Some((thought, after)) = self.held.split_once(close) {
                        if !thought.is_empty() {
                            each(Spoken::Thought(thought.to_owned()));
                        }
                        self.held = after.to_owned();
                        self.state = State::AfterThinking;
                    } else {
                        let sure = self.held.len() - beginning_of(close, &self.held);
                        let thought: String = self.held.drain(..sure).collect();
                        if !thought.is_empty() {
                            each(Spoken::Thought(thought));
                        }
                    }
                }
                State::AfterThinking => {
                    self.held = self.held.trim_start().to_owned();
                    if !self.held.is_empty() {
                        self.state = State::Answering;
                    }
                }
                State::Answering => {
                    if let Some(rest) = self.rest() {
                        each(rest);
                    }
                }
            }
            if self.state == before {
                return;
            }
        }
    }

    /// What was held back, at the end. Says of thinking whether it was never closed.
    pub fn finish(&mut self) -> Option<Spoken> {
        match self.state {
            State::Thinking(_) if !self.held.is_empty() => Some(Spoken::Thought(std::mem::take(&mut self.held))),
            State::Beginning | State::Thinking(_) | State::AfterThinking | State::Answering => self.rest(),
        }
    }

    fn rest(&mut self) -> Option<Spoken> {
        let rest = std::mem::take(&mut self.held);
        (!rest.is_empty()).then_some(Spoken::Text(rest))
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn beginning_of(tag: &str, text: &str) -> usize {
    // The tag is ASCII, so every cut is one between characters.
    (1..tag.len()).rev().find(|length| tag.get(..*length).is_some_and(|begun| text.ends_with(begun))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Thinking and answer of a text that comes in pieces.
    fn told_apart<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut thought, mut text) = (String::new(), String::new());
        let mut tags = ThinkTags::default();
        let mut each = |spoken| match spoken {
            Spoken::Thought(more) => thought.push_str(&more),
            Spoken::Text(more) => text.push_str(&more),
        };
        for piece in pieces {
            tags.push(piece, &mut each);
        }
        if let Some(rest) = tags.finish() {
            each(rest);
        }
        (thought, text)
    }

    #[test]
    fn thinking_is_told_apart_wherever_the_pieces_are_cut() {
        let answer = " \n<think>a < b </thin</think>\n\nyes: `<think>` is a tag";
        let expected = ("a < b </thin".to_owned(), "yes: `<think>` is a tag".to_owned());
        assert_eq!(told_apart([answer]), expected);
        for cut in 0..=answer.len() {
            assert_eq!(told_apart([&answer[..cut], &answer[cut..]]), expected, "cut at {cut}");
        }
        let single: Vec<String> = answer.chars().map(String::from).collect();
        assert_eq!(told_apart(single.iter().map(String::as_str)), expected);
    }

    #[test]
    fn only_the_beginning_of_an_answer_is_looked_at() {
        for answer in ["Use <think>x</think>.", "< think>", "<thin", "<", " \n", "<b>x</b>", "", "你<think>"] {
            assert_eq!(told_apart([answer]), (String::new(), answer.to_owned()));
        }
    }

    #[test]
    fn what_is_never_closed_is_thinking() {
        let mut tags = ThinkTags::default();
        tags.push("<think>hm</", &mut |_| {});
        assert_eq!(tags.finish(), Some(Spoken::Thought("</".into())));
    }

    #[test]
    fn a_server_that_tells_thinking_apart_itself_ends_the_search() {
        let mut tags = ThinkTags::default();
        tags.push("<thi", &mut |_| {});
        assert_eq!(tags.stop_looking(), Some(Spoken::Text("<thi".into())));
        let mut seen = Vec::new();
        tags.push("<think>", &mut |spoken| seen.push(spoken));
        assert_eq!(seen, [Spoken::Text("<think>".into())]);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[<>/thinkoug a\né]{0,30}", cut in any::<proptest::sample::Index>()) {
            let mut at = cut.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            prop_assert_eq!(told_apart([&text[..at], &text[at..]]), told_apart([text.as_str()]));
        }
    }
}
