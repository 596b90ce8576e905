//! What a model cannot do is not asked of it: images, calls, thinking. A new image is refused with a clear word, because the
//! question is about it; older ones become a word. Decides nothing else.

use crate::ir::{Error, ErrorCode, Message, ModelInfo, Request, Role, Support};

/// Takes out of a request what its model says that it cannot do. One that says nothing may be able.
///
/// # Errors
/// When it cannot see, and the person's newest message has an image.
pub(super) fn suit(request: &mut Request, info: Option<&ModelInfo>, model: &str) -> Result<(), Error> {
    let Some(info) = info else { return Ok(()) };
    if info.supports_images == Support::No {
        refuse_newest(&request.messages, model)?;
        leave_out(&mut request.messages);
    }
    if info.supports_tool_calling == Support::No {
        request.tools = None;
    }
    if info.supports_thinking == Support::No {
        request.params.thinking_enabled = None;
        request.params.thinking_effort = None;
    }
    Ok(())
}

/// Refuses what the person has just attached.
fn refuse_newest(messages: &[Message], model: &str) -> Result<(), Error> {
    let newest = messages.iter().rfind(|message| message.role == Role::User);
    if newest.is_none_or(|message| message.images.as_ref().is_none_or(Vec::is_empty)) {
        return Ok(());
    }
    let words = format!("{model} cannot see images. Choose a model that can, or remove the image.");
    let mut error = Error::new(ErrorCode::Unknown, words);
    error.provider_code = Some("no_vision".into());
    Err(error)
}

/// Puts a word where an image was.
fn leave_out(messages: &mut [Message]) {
    for message in messages {
        if message.images.take().is_some_and(|images| !images.is_empty()) {
            if !message.content.is_empty() {
                message.content.push('\n');
            }
            message.content.push_str("[An image was attached here. You cannot see it.]");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Image, UnixMs};

    fn with_image(text: &str) -> Message {
        let mut message = Message::text(Role::User, text, UnixMs(0));
        message.images = Some(vec![Image { url: "data:image/png;base64,AA".into(), detail: None }]);
        message
    }

    #[test]
    fn the_newest_image_is_refused_and_older_ones_become_a_word() {
        let plain = Message::text(Role::User, "more", UnixMs(0));
        let error = refuse_newest(&[with_image("look")], "tiny").unwrap_err();
        assert_eq!(error.provider_code.as_deref(), Some("no_vision"));
        assert!(error.message.starts_with("tiny cannot see images."));
        let mut messages = [with_image("look"), with_image(""), plain.clone()];
        assert_eq!(refuse_newest(&messages, "tiny"), Ok(()));
        leave_out(&mut messages);
        let note = "[An image was attached here. You cannot see it.]";
        let text = |words: &str| Message::text(Role::User, words, UnixMs(0));
        assert_eq!(messages, [text(&format!("look\n{note}")), text(note), plain]);
    }
}
