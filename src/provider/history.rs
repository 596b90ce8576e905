//! A history that every provider accepts, made from whatever was kept: interrupted turns, cut-off answers, branches.
//! What it repairs is only what is sent; the stored history stays as it is. The texts of results come already marked as data
//! (`agent`), and go out as they are.

use std::borrow::Cow;

use serde_json::json;

use crate::ir::{Code, Message, Role, ToolCall, ToolResult};

/// The messages as they may be sent:
/// - what the system says first stands first; what it says later speaks with the person's voice, and the person begins;
/// - every call of an assistant message is answered right after it, in the order of the calls; a missing answer says
///   that the call was interrupted;
/// - a result without its call is left out;
/// - no message is empty, neighbouring messages of one side are one, and the last is never the assistant's.
pub fn valid_history(messages: &[Message]) -> Vec<Cow<'_, Message>> {
    let mut history: Vec<Cow<'_, Message>> = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let is_empty = message.content.trim().is_empty() && message.images.as_ref().is_none_or(Vec::is_empty);
        match message.role {
            // Placed behind its call.
            Role::Tool => {}
            Role::System | Role::User if is_empty => {}
            Role::System if history.iter().all(|said| said.role == Role::System) => {
                history.push(Cow::Borrowed(message));
            }
            Role::System | Role::User => push_user(&mut history, message),
            Role::Assistant if is_empty && message.calls().is_empty() => {}
            Role::Assistant => {
                push_assistant(&mut history, message);
                let later = messages.get(index + 1..).unwrap_or_default();
                history.extend((0..message.calls().len()).filter_map(|call| answer_to(call, message, later)));
            }
        }
    }
    let start = history.iter().take_while(|message| message.role == Role::System).count();
    if let Some(first) = history.get(start).filter(|first| first.role != Role::User) {
        let words = "(The beginning of this conversation is not shown.)";
        history.insert(start, Cow::Owned(Message::text(Role::User, words, first.timestamp)));
    }
    if history.last().is_none_or(|last| matches!(last.role, Role::Assistant | Role::System)) {
        let now = history.last().map(|last| last.timestamp).unwrap_or_default();
        history.push(Cow::Owned(Message::text(Role::User, "Continue.", now)));
    }
    history
}

fn push_user<'a>(history: &mut Vec<Cow<'a, Message>>, message: &'a Message) {
    let Some(last) = history.last_mut().filter(|last| last.role == Role::User) else {
        history.push(if message.role == Role::User {
            Cow::Borrowed(message)
        } else {
            Cow::Owned(Message::text(Role::User, message.content.clone(), message.timestamp))
        });
        return;
    };
    let last = last.to_mut();
    join(&mut last.content, &message.content);
    if let Some(images) = &message.images {
        last.images.get_or_insert_default().extend(images.iter().cloned());
    }
}

/// An answer that broke off and the one that was given in its place are one.
fn push_assistant<'a>(history: &mut Vec<Cow<'a, Message>>, message: &'a Message) {
    let Some(last) = history.last_mut().filter(|last| last.role == Role::Assistant) else {
        history.push(Cow::Borrowed(message));
        return;
    };
    let mut joined = message.clone();
    joined.content.clone_from(&last.content);
    join(&mut joined.content, &message.content);
    joined.reasoning_content = joined.reasoning_content.or_else(|| last.reasoning_content.clone());
    // What a provider keeps with a message is for exactly that message.
    joined.provider_state = joined.provider_state.filter(|_| last.content.trim().is_empty());
    *last = Cow::Owned(joined);
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// The result of one of the calls in what follows, before its id is called again. Where a message gave one id to several
/// calls, the first result is the first call's.
fn answer_to<'a>(index: usize, asked_by: &Message, later: &'a [Message]) -> Option<Cow<'a, Message>> {
    let (before, from) = asked_by.calls().split_at_checked(index)?;
    let call = from.first()?;
    let nth = before.iter().filter(|other| other.id == call.id).count();
    let found = later
        .iter()
        .take_while(|message| message.calls().iter().all(|other| other.id != call.id))
        .filter(|message| message.tool_result.as_ref().is_some_and(|result| result.tool_call_id == call.id))
        .nth(nth);
    Some(found.map_or_else(|| Cow::Owned(interrupted(call, asked_by)), Cow::Borrowed))
}

/// Interrupted is not refused: it may have begun.
fn interrupted(call: &ToolCall, asked_by: &Message) -> Message {
    let error = "Cancelled by the user before it gave a result. It may have begun: check before relying on it.";
    let result = ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: json!({"success": false, "error": error, "code": Code::Cancelled.as_str()}),
        summary: None,
        success: false,
        error: Some(error.into()),
        duration_ms: 0,
        timestamp: asked_by.timestamp,
    };
    Message::tool_result(result, asked_by.iteration.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CallId, Image, UnixMs};

    fn text(role: Role, content: &str) -> Message {
        Message::text(role, content, UnixMs(5))
    }

    fn calls(ids: &[&str]) -> Message {
        let mut message = text(Role::Assistant, "");
        message.iteration = Some(2);
        message.tool_calls = Some(
            ids.iter()
                .map(|id| ToolCall {
                    id: CallId::new(*id),
                    name: "read_file".into(),
                    args: json!({}),
                    iteration: 2,
                    timestamp: UnixMs(5),
                    raw_args: None,
                    parse_error: None,
                    marks: Vec::new(),
                })
                .collect(),
        );
        message
    }

    fn result(id: &str) -> Message {
        Message::tool_result(
            ToolResult {
                tool_call_id: CallId::new(id),
                tool_name: "read_file".into(),
                result: json!({"success": true}),
                summary: None,
                success: true,
                error: None,
                duration_ms: 1,
                timestamp: UnixMs(6),
            },
            2,
        )
    }

    fn cancelled(id: &str) -> Message {
        let call = calls(&[id]);
        interrupted(&call.calls()[0], &call)
    }

    fn sent(messages: &[Message]) -> Vec<Message> {
        valid_history(messages).into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn a_valid_history_is_sent_as_it_is_and_not_copied() {
        let messages = [
            text(Role::User, "hi"),
            calls(&["a", "b"]),
            result("a"),
            result("b"),
            text(Role::Assistant, "done"),
            text(Role::User, "more"),
        ];
        let history = valid_history(&messages);
        assert!(history.iter().all(|message| matches!(message, Cow::Borrowed(_))));
        assert_eq!(sent(&messages), messages);
    }

    #[test]
    fn results_stand_behind_their_calls_in_their_order_and_missing_ones_are_cancelled() {
        let messages =
            [text(Role::User, "hi"), calls(&["a", "b", "c"]), result("c"), text(Role::User, "stop"), result("a")];
        assert_eq!(
            sent(&messages),
            [
                text(Role::User, "hi"),
                calls(&["a", "b", "c"]),
                result("a"),
                cancelled("b"),
                result("c"),
                text(Role::User, "stop")
            ]
        );
    }

    #[test]
    fn a_result_without_its_call_is_left_out() {
        let messages = [result("x"), text(Role::User, "hi"), calls(&["a"]), result("y"), result("a"), result("a")];
        assert_eq!(sent(&messages), [text(Role::User, "hi"), calls(&["a"]), result("a")]);
    }

    #[test]
    fn an_id_that_is_used_again_keeps_each_result_with_its_own_call() {
        let messages = [text(Role::User, "hi"), calls(&["a"]), text(Role::User, "again"), calls(&["a"]), result("a")];
        assert_eq!(
            sent(&messages),
            [
                text(Role::User, "hi"),
                calls(&["a"]),
                cancelled("a"),
                text(Role::User, "again"),
                calls(&["a"]),
                result("a")
            ]
        );
        // Within one message the first result is the first call's.
        let (first, mut second) = (result("a"), result("a"));
        second.tool_result.as_mut().unwrap().duration_ms = 9;
        let messages = [text(Role::User, "hi"), calls(&["a", "a", "a"]), first.clone(), second.clone()];
        assert_eq!(sent(&messages), [text(Role::User, "hi"), calls(&["a", "a", "a"]), first, second, cancelled("a")]);
    }

    #[test]
    fn the_person_begins_and_a_late_word_of_the_system_is_the_persons() {
        let shown = |messages: &[Message]| {
            sent(messages).into_iter().map(|message| (message.role, message.content)).collect::<Vec<_>>()
        };
        let own = |role, words: &str| (role, words.to_owned());
        let beginning = "(The beginning of this conversation is not shown.)";
        assert_eq!(
            shown(&[
                text(Role::System, "s"),
                text(Role::Assistant, "a"),
                text(Role::System, "t"),
                text(Role::User, "u")
            ]),
            [own(Role::System, "s"), own(Role::User, beginning), own(Role::Assistant, "a"), own(Role::User, "t\n\nu")]
        );
        assert_eq!(shown(&[]), [own(Role::User, "Continue.")]);
        assert_eq!(shown(&[text(Role::User, " ")]), [own(Role::User, "Continue.")]);
        assert_eq!(shown(&[text(Role::System, "s")]), [own(Role::System, "s"), own(Role::User, "Continue.")]);
    }

    #[test]
    fn an_answer_that_broke_off_and_the_next_one_are_one() {
        let mut again = calls(&["a"]);
        again.content = "again".into();
        again.provider_state = Some(json!({"signed": true}));
        let mut half = text(Role::Assistant, "half");
        half.reasoning_content = Some("hm".into());
        let mut joined = again.clone();
        joined.content = "half\n\nagain".into();
        joined.reasoning_content = Some("hm".into());
        joined.provider_state = None;
        let messages = [text(Role::User, "hi"), half, again, result("a")];
        assert_eq!(sent(&messages), [text(Role::User, "hi"), joined, result("a")]);
    }

    #[test]
    fn empty_answers_go_neighbouring_questions_join_and_the_assistant_is_never_last() {
        let image = || Some(vec![Image { url: "data:,x".into(), detail: None }]);
        let mut with_image = text(Role::User, "b");
        with_image.images = image();
        let mut joined = text(Role::User, "a\n\nb");
        joined.images = image();
        let messages =
            [text(Role::User, "a"), text(Role::Assistant, " \n"), with_image, text(Role::Assistant, "half an ans")];
        assert_eq!(sent(&messages), [joined, text(Role::Assistant, "half an ans"), text(Role::User, "Continue.")]);
    }
}
