//! A history that every provider accepts, made from whatever was kept: interrupted turns, cut-off answers, branches.
//! What it repairs is only what is sent; the stored history stays as it is. The texts of results come already marked as data
//! (`agent`), and go out as they are.

use std::borrow::Cow;

use serde_json::json;

use crate::ir::{Code, Message, Role, ToolCall, ToolResult};

/// The messages as they may be sent:
/// - every call of an assistant message is answered right after it, in the order of the calls; a missing answer says
///   that the call was interrupted;
/// - a result without its call is left out;
/// - no assistant message is empty, neighbouring messages of the person are one, and the last is never the assistant's.
pub fn valid_history(messages: &[Message]) -> Vec<Cow<'_, Message>> {
    let mut history: Vec<Cow<'_, Message>> = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        match message.role {
            // Placed behind its call.
            Role::Tool => {}
            Role::System => history.push(Cow::Borrowed(message)),
            Role::User => push_user(&mut history, message),
            Role::Assistant if message.calls().is_empty() => {
                if !message.content.trim().is_empty() {
                    history.push(Cow::Borrowed(message));
                }
            }
            Role::Assistant => {
                history.push(Cow::Borrowed(message));
                let later = messages.get(index + 1..).unwrap_or_default();
                history.extend(message.calls().iter().map(|call| answer_to(call, message, later)));
            }
        }
    }
    if let Some(last) = history.last()
        && last.role == Role::Assistant
    {
        let go_on = Message::text(Role::User, "Continue.", last.timestamp);
        history.push(Cow::Owned(go_on));
    }
    history
}

fn push_user<'a>(history: &mut Vec<Cow<'a, Message>>, message: &'a Message) {
    let Some(last) = history.last_mut().filter(|last| last.role == Role::User) else {
        history.push(Cow::Borrowed(message));
        return;
    };
    let last = last.to_mut();
    if !last.content.is_empty() && !message.content.is_empty() {
        last.content.push_str("\n\n");
    }
    last.content.push_str(&message.content);
    if let Some(images) = &message.images {
        last.images.get_or_insert_default().extend(images.iter().cloned());
    }
}

/// The result of `call` in what follows, before the same id is called again.
fn answer_to<'a>(call: &ToolCall, asked_by: &Message, later: &'a [Message]) -> Cow<'a, Message> {
    let found = later
        .iter()
        .take_while(|message| message.calls().iter().all(|other| other.id != call.id))
        .find(|message| message.tool_result.as_ref().is_some_and(|result| result.tool_call_id == call.id));
    found.map_or_else(|| Cow::Owned(interrupted(call, asked_by)), Cow::Borrowed)
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
        let messages = [calls(&["a"]), text(Role::User, "again"), calls(&["a"]), result("a")];
        assert_eq!(
            sent(&messages),
            [calls(&["a"]), cancelled("a"), text(Role::User, "again"), calls(&["a"]), result("a")]
        );
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
