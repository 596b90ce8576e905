//! What a model cannot do is not asked of it: images, calls, thinking. A new image is refused with a clear word, because the
//! question is about it; older ones become a word. An image that is only an address is a word for every model: nobody here
//! chose to have it fetched, by this computer or by a server. Decides nothing else.

use crate::ir::{Error, ErrorCode, Message, ModelInfo, Request, Role, Support};

/// Takes out of a request what its model says that it cannot do. One that says nothing may be able.
///
/// # Errors
/// When it cannot see, and the person's newest message has an image.
pub(super) fn suit(request: &mut Request, info: Option<&ModelInfo>, model: &str) -> Result<(), Error> {
    leave_out_addresses(&mut request.messages);
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

/// Puts a word where an image is not here itself.
fn leave_out_addresses(messages: &mut [Message]) {
    for message in messages {
        let Some(images) = &mut message.images else { continue };
        let all = images.len();
        images.retain(|image| image.url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")));
        for _ in images.len()..all {
            append(&mut message.content, "[An image was named here by its address. It was not fetched.]");
        }
        if message.images.as_ref().is_some_and(Vec::is_empty) {
            message.images = None;
        }
    }
}

fn append(content: &mut String, words: &str) {
    if !content.is_empty() {
        content.push('\n');
    }
    content.push_str(words);
}

/// Puts a word where an image was.
fn leave_out(messages: &mut [Message]) {
    for message in messages {
        if message.images.take().is_some_and(|images| !images.is_empty()) {
            append(&mut message.content, "[An image was attached here. You cannot see it.]");
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

    #[test]
    fn an_image_by_address_is_a_word_and_one_that_is_here_stays() {
        let url = |url: &str| Image { url: url.into(), detail: None };
        let here = url("data:image/png;base64,AA");
        let mut messages = [with_image("look"), with_image("")];
        messages[0].images = Some(vec![url("https://example.com/a.png"), here.clone(), url("http://[::1]/b")]);
        messages[1].images = Some(vec![url("file:///projects/a.png")]);
        leave_out_addresses(&mut messages);
        let note = "[An image was named here by its address. It was not fetched.]";
        let text = |words: &str| Message::text(Role::User, words, UnixMs(0));
        let mut first = text(&format!("look\n{note}\n{note}"));
        first.images = Some(vec![here]);
        assert_eq!(messages, [first, text(note)]);
    }
}
