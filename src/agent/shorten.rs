//! A history that a model found too long, made shorter without asking anybody: old calls become name and outcome, then the
//! oldest rounds go whole, and at last the newest results are cut.
//!
//! A call never loses its result, and what the person said last is never touched. What is kept and shown stays whole: only
//! what is sent shrinks.

use std::collections::VecDeque;

use serde_json::Value;

use crate::ir::{Message, Role, UnixMs};

use super::estimate::estimate_message;
use super::history::wrap;
use super::prompt::{PromptLanguage, left_out_words};

/// Longest text inside the arguments of an old call, in characters.
const OLD_TEXT: usize = 200;
/// The newest results are never cut below this, in characters.
const SHORTEST_RESULT: usize = 400;

/// Tokens of the words that say what was cut, and of the wrapper.
const NOTE: u64 = 40;

/// A history made shorter.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortened {
    /// What is sent now.
    pub messages: Vec<Message>,
    /// How many of its messages are not sent any more; others may have been cut.
    pub left_out: usize,
}

/// Makes a history, as `history_for_model` gave it, about as long as `budget` tokens. `None` when nothing can go.
pub fn shorten(messages: &[Message], budget: u64, language: PromptLanguage, now: UnixMs) -> Option<Shortened> {
    let mut rounds = rounds(messages);
    let mut excess = Excess { tokens: messages.iter().map(estimate_message).sum(), budget };
    let newest_answer = rounds.back().and_then(|round| round.iter().rposition(|message| !message.calls().is_empty()));
    let last = rounds.len().saturating_sub(1);
    for (number, round) in rounds.iter_mut().enumerate() {
        let old = if number == last { newest_answer.unwrap_or_default() } else { round.len() };
        for message in round.iter_mut().take(old) {
            excess.change(message, outcome_only);
        }
    }
    let mut left_out = 0;
    while excess.is_there() && rounds.len() > 1 {
        let gone = rounds.pop_front().unwrap_or_default();
        excess.tokens -= gone.iter().map(estimate_message).sum::<u64>();
        left_out += gone.len();
    }
    if let Some(round) = rounds.back_mut() {
        let results = round.iter_mut().skip(newest_answer.unwrap_or_default());
        let mut results: Vec<&mut Message> = results.filter(|message| message.tool_result.is_some()).collect();
        let of_results: u64 = results.iter().map(|message| estimate_message(message)).sum();
        let rest = budget.saturating_sub(excess.tokens.saturating_sub(of_results));
        let share = rest / u64::try_from(results.len().max(1)).unwrap_or(1);
        for message in &mut results {
            excess.change(message, |message| cut_result(message, share));
        }
    }
    let mut kept: Vec<Message> = rounds.into_iter().flatten().collect();
    if left_out == 0 && kept == messages {
        return None;
    }
    if left_out > 0 {
        kept.insert(0, Message::text(Role::System, left_out_words(language), now));
    }
    Some(Shortened { messages: kept, left_out })
}

/// A round begins with what the person says.
fn rounds(messages: &[Message]) -> VecDeque<Vec<Message>> {
    let mut rounds: VecDeque<Vec<Message>> = VecDeque::new();
    for message in messages {
        match rounds.back_mut() {
            Some(round) if message.role != Role::User => round.push(message.clone()),
            Some(_) | None => rounds.push_back(vec![message.clone()]),
        }
    }
    rounds
}

/// How much there is, against how much there may be.
struct Excess {
    tokens: u64,
    budget: u64,
}

impl Excess {
    fn is_there(&self) -> bool {
        self.tokens > self.budget
    }

    /// Changes a message while there is too much.
    fn change(&mut self, message: &mut Message, change: impl FnOnce(&mut Message)) {
        if self.is_there() {
            let before = estimate_message(message);
            change(message);
            self.tokens = (self.tokens - before).saturating_add(estimate_message(message));
        }
    }
}

/// An old call: its name and short arguments; an old result: how it ended.
fn outcome_only(message: &mut Message) {
    for call in message.tool_calls.iter_mut().flatten() {
        cut_texts(&mut call.args);
        call.raw_args = None;
    }
    if let Some(result) = &mut message.tool_result {
        let characters = result.for_model().chars().count();
        if characters > OLD_TEXT {
            let outcome = if result.success { "succeeded" } else { "failed" };
            let words = format!("[{outcome}; its {characters} characters are left out]");
            result.summary = Some(wrap(&result.tool_name, &words));
        }
    }
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(OLD_TEXT) {
                text.truncate(end);
                text.push_str("… [cut]");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a result to about so many tokens.
fn cut_result(message: &mut Message, tokens: u64) {
    let all = estimate_message(message).max(1);
    let Some(result) = &mut message.tool_result else { return };
    let text = result.for_model();
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let tokens = tokens.saturating_sub(NOTE);
    let characters = usize::try_from(length.saturating_mul(tokens) / all).unwrap_or(usize::MAX).max(SHORTEST_RESULT);
    if let Some((end, _)) = text.char_indices().nth(characters) {
        let start = text.get(..end).unwrap_or_default();
        let left_out = text.chars().count() - characters;
        // What is cut was inside a wrapper already; it stays data.
        let start = start.split_once(">\n").map_or(start, |(_, data)| data);
        result.summary = Some(wrap(&result.tool_name, &format!("{start}\n[{left_out} more characters are left out]")));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::agent::history_for_model;
    use crate::ir::{CallId, MessageStatus, ToolCall, ToolResult};

    fn said(role: Role, text: &str) -> Message {
        Message::text(role, text, UnixMs(1))
    }

    fn asked(id: &str, content: &str) -> Message {
        let mut message = said(Role::Assistant, "");
        message.tool_calls = Some(vec![ToolCall {
            id: CallId::new(id),
            name: "write_file".into(),
            args: json!({"path": "a.txt", "content": content}),
            iteration: 1,
            timestamp: UnixMs(1),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        }]);
        message
    }

    fn answered(id: &str, text: &str) -> Message {
        let result = ToolResult {
            tool_call_id: CallId::new(id),
            tool_name: "write_file".into(),
            result: json!(text),
            summary: None,
            success: true,
            error: None,
            duration_ms: 0,
            timestamp: UnixMs(1),
        };
        Message::tool_result(result, 1)
    }

    fn sent(branch: Vec<Message>) -> Vec<Message> {
        let branch: Vec<_> = branch.into_iter().map(|message| (message, MessageStatus::Complete)).collect();
        history_for_model(&branch, PromptLanguage::English, UnixMs(1))
    }

    fn short(messages: &[Message], budget: u64) -> Option<Shortened> {
        shorten(messages, budget, PromptLanguage::English, UnixMs(1))
    }

    fn words(count: usize) -> String {
        "word ".repeat(count)
    }

    #[test]
    fn old_calls_become_name_and_outcome_before_anything_is_left_out() {
        let history = sent(vec![
            said(Role::User, "write"),
            asked("a", &words(3_000)),
            answered("a", &words(3_000)),
            said(Role::Assistant, "done"),
            said(Role::User, "and now?"),
        ]);
        let made = short(&history, 1_000).unwrap();
        assert_eq!((made.left_out, made.messages.len()), (0, history.len()));
        assert_eq!(made.messages[1].calls()[0].args["path"], "a.txt");
        assert!(made.messages[1].calls()[0].args["content"].as_str().unwrap().ends_with("… [cut]"));
        let result = made.messages[2].tool_result.as_ref().unwrap().for_model();
        assert!(result.starts_with("<tool_result tool=\"write_file\">\n[succeeded; its 150"), "{result}");
        assert_eq!(made.messages[3..], history[3..]);
        assert!(made.messages.iter().map(estimate_message).sum::<u64>() < 1_000);
    }

    #[test]
    fn the_oldest_rounds_go_whole_and_the_model_is_told() {
        let round = |text: &str| vec![said(Role::User, text), said(Role::Assistant, &words(500))];
        let history = sent([round("one"), round("two"), round("three"), vec![said(Role::User, "four")]].concat());
        let made = short(&history, 1_000).unwrap();
        assert_eq!(made.left_out, 4);
        assert_eq!((made.messages[0].role, made.messages.len()), (Role::System, 4));
        assert_eq!(made.messages[1].content, "three");
    }

    #[test]
    fn a_newest_result_that_alone_is_too_long_is_cut_and_stays_data() {
        let history = sent(vec![said(Role::User, "read"), asked("a", "x"), answered("a", &words(9_000))]);
        let made = short(&history, 2_000).unwrap();
        let result = made.messages[2].tool_result.as_ref().unwrap().for_model();
        assert!(result.ends_with(" more characters are left out]\n</tool_result>"), "{result}");
        assert_eq!(result.matches("<tool_result").count(), 1);
        assert!(made.messages.iter().map(estimate_message).sum::<u64>() < 2_000);
    }

    #[test]
    fn one_message_alone_cannot_be_made_shorter() {
        assert_eq!(short(&sent(vec![said(Role::User, &words(9_000))]), 100), None);
        assert_eq!(short(&[], 100), None);
    }

    proptest! {
        #[test]
        fn every_call_keeps_its_result_and_the_last_words_stay(
            lengths in proptest::collection::vec((0_usize..2_000, 0_usize..2_000), 1..8),
            budget in 0_u64..4_000,
        ) {
            let mut branch = Vec::new();
            for (number, (asked_for, got)) in lengths.iter().enumerate() {
                let id = format!("c{number}");
                branch.extend([said(Role::User, &id), asked(&id, &words(*asked_for)), answered(&id, &words(*got))]);
            }
            branch.push(said(Role::User, "the last"));
            let history = sent(branch);
            let Some(made) = short(&history, budget) else { return Ok(()) };
            prop_assert_eq!(&made.messages.last().unwrap().content, "the last");
            let calls = made.messages.iter().flat_map(Message::calls).map(|call| call.id.clone());
            let results = made.messages.iter().filter_map(|message| message.tool_result.as_ref());
            prop_assert_eq!(calls.collect::<Vec<_>>(), results.map(|result| result.tool_call_id.clone()).collect::<Vec<_>>());
            let before: u64 = history.iter().map(estimate_message).sum();
            let after: u64 = made.messages.iter().map(estimate_message).sum();
            prop_assert!(after < before + 60);
        }
    }
}
