//! The built-in guide: a small rule-based assistant, no AI model, so that everything can be tried with nothing installed.
//!
//! It understands a few typed requests in English and Chinese (`understand`), asks for one tool call through the same loop
//! as a real model, and tells what came of it (`describe`). It never touches a file itself and knows nothing that the
//! history does not say.

mod change;
mod describe;
mod look;
mod phrase;
mod understand;

use std::sync::OnceLock;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer::{Answer, CallIds, Ending, Listener};
use super::{Provider, PullProgress};
use crate::ir::{
    Clock, Error, ErrorCode, FinishReason, Message, ModelInfo, Request, Response, Role, StreamBody, StreamEvent,
    Support, ToolCall, ToolResult,
};
use crate::lang::{Lang, Locale};
use describe::{code, describe};
use understand::{Only, Wish, understand};

/// The guide's only model.
pub const GUIDE_MODEL: &str = "guide";

/// The built-in guide.
pub(super) struct Guide {
    id: String,
    clock: Clock,
    english: OnceLock<Lang>,
    chinese: OnceLock<Lang>,
}

/// What the guide answers.
struct Plan {
    text: String,
    call: Option<(&'static str, Value)>,
}

impl Guide {
    pub(super) fn new(id: String, clock: Clock) -> Self {
        Self { id, clock, english: OnceLock::new(), chinese: OnceLock::new() }
    }

    fn lang(&self, locale: Locale) -> &Lang {
        match locale {
            Locale::English => self.english.get_or_init(|| Lang::new(locale)),
            Locale::Chinese => self.chinese.get_or_init(|| Lang::new(locale)),
        }
    }

    fn plan(&self, request: &Request) -> Plan {
        let messages = &request.messages;
        let asked_at = messages.iter().rposition(|message| message.role == Role::User);
        let asked = asked_at.and_then(|at| messages.get(at)).map_or("", |message| message.content.as_str());
        let lang = self.lang(language_of(asked));
        let since = asked_at.and_then(|at| messages.get(at + 1..)).unwrap_or_default();
        let results = newest_results(since);
        if !results.is_empty() {
            let told: Vec<String> = results.iter().map(|(result, call)| describe(result, *call, lang)).collect();
            return Plan { text: told.join("\n\n"), call: None };
        }
        let wish = understand(asked);
        let Some((call, text)) = call_for(&wish, lang) else {
            let opening = if wish == Wish::Unknown { "guide-unknown" } else { "guide-hello" };
            return Plan { text: help(opening, lang), call: None };
        };
        let tools = request.tools.as_deref().unwrap_or_default();
        if tools.is_empty() {
            return Plan { text: lang.text("guide-tools-off").to_owned(), call: None };
        }
        if !tools.iter().any(|tool| tool.name == call.0) {
            let text = lang.format("guide-tool-off", &[("tool", code(call.0).into())]);
            return Plan { text, call: None };
        }
        Plan { text, call: Some(call) }
    }

    async fn answer(&self, model: &str, request: &Request, listener: Listener) -> Result<Response, Error> {
        let mut answer = Answer::new(request, &self.id, model, listener, self.clock.clone());
        match self.give(request, &mut answer).await {
            Ok(reason) => answer.complete(Ending::from(reason)).await,
            Err(error) => Err(answer.fail(error).await),
        }
    }

    async fn give(&self, request: &Request, answer: &mut Answer<'_>) -> Result<FinishReason, Error> {
        let Plan { text, call } = self.plan(request);
        for delta in deltas(&text) {
            answer.push(StreamBody::TextDelta { delta: delta.to_owned() }).await?;
            // Lets whoever listens show it before the next one comes.
            tokio::task::yield_now().await;
        }
        let Some((name, args)) = call else { return Ok(FinishReason::Stop) };
        let tool_call = ToolCall {
            id: CallIds::new(request).next(""),
            name: name.into(),
            args,
            iteration: request.meta.iteration,
            timestamp: answer.now(),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        };
        answer.push(StreamBody::ToolCallComplete { tool_call }).await?;
        Ok(FinishReason::ToolCalls)
    }

    fn info(&self) -> ModelInfo {
        ModelInfo {
            id: GUIDE_MODEL.into(),
            provider_id: self.id.clone(),
            display_name: "Built-in guide".into(),
            // It reads the last message only: no history is too long.
            context_window: 1_000_000,
            max_output: 0,
            supports_streaming: true,
            supports_thinking: Support::No,
            supports_images: Support::No,
            supports_tool_calling: Support::Yes,
            supports_structured_output: Support::No,
            is_elsewhere: false,
            pricing: None,
        }
    }
}

/// Chinese when there is any Chinese in it.
fn language_of(text: &str) -> Locale {
    let is_chinese =
        |c: char| matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}');
    // A Chinese name in an English request leaves it English.
    let outside_names: String = text.split(['"', '\'', '`']).step_by(2).collect();
    if outside_names.contains(is_chinese) { Locale::Chinese } else { Locale::English }
}

/// The results of the newest round, each with its call.
fn newest_results(since: &[Message]) -> Vec<(&ToolResult, Option<&ToolCall>)> {
    let Some(at) = since.iter().rposition(|message| !message.calls().is_empty()) else { return Vec::new() };
    let Some((asked, after)) = since.get(at..).and_then(|round| round.split_first()) else { return Vec::new() };
    after
        .iter()
        .filter_map(|message| message.tool_result.as_ref())
        .map(|result| (result, asked.calls().iter().find(|call| call.id == result.tool_call_id)))
        .collect()
}

/// The call that does what is wished, with what is said before it.
fn call_for(wish: &Wish, lang: &Lang) -> Option<((&'static str, Value), String)> {
    let at = |path: &str| if path == "." { lang.text("guide-this-folder").to_owned() } else { code(path) };
    let say = |key: &str, path: &str| lang.format(key, &[("path", at(path).into())]);
    Some(match wish {
        Wish::List { path, recursive } => {
            let args = if *recursive { json!({"path": path, "recursive": true}) } else { json!({"path": path}) };
            (("list_directory", args), say("guide-will-list", path))
        }
        Wish::Read { path, lines } => {
            let mut args = json!({"path": path});
            if let (Some(lines), Some(fields)) = (lines, args.as_object_mut()) {
                fields.insert("start_line".into(), lines.first.into());
                fields.extend(lines.last.map(|last| ("end_line".to_owned(), last.into())));
            }
            (("read_file", args), say("guide-will-read", path))
        }
        Wish::Find { query, path, only } => {
            let kind = match only {
                Only::Names => "filename",
                Only::Contents => "content",
                Only::Both => "both",
            };
            let text = lang.format("guide-will-find", &[("query", code(query).into()), ("path", at(path).into())]);
            (("search_files", json!({"path": path, "query": query, "search_type": kind})), text)
        }
        Wish::Write { path, content } => {
            (("write_file", json!({"path": path, "content": content})), say("guide-will-write", path))
        }
        Wish::CreateFolder { path } => (("create_directory", json!({"path": path})), say("guide-will-folder", path)),
        Wish::Replace { path, old, new, every } => {
            let mut edit = json!({"old_text": old, "new_text": new});
            if let (true, Some(fields)) = (every, edit.as_object_mut()) {
                fields.insert("replace_all".into(), true.into());
            }
            (("edit_file", json!({"path": path, "edits": [edit]})), say("guide-will-replace", path))
        }
        Wish::Delete { path, recursive } => {
            let args = if *recursive { json!({"path": path, "recursive": true}) } else { json!({"path": path}) };
            (("delete_file", args), say("guide-will-delete", path))
        }
        Wish::Run { command } => {
            let text = lang.format("guide-will-run", &[("command", code(command).into())]);
            (("run_command", json!({"command": command})), text)
        }
        Wish::Greeting | Wish::Help | Wish::Unknown => return None,
    })
}

fn help(opening: &str, lang: &Lang) -> String {
    let mut text = format!("{}\n\n{}\n", lang.text(opening), lang.text("guide-examples"));
    for key in [
        "guide-example-list",
        "guide-example-read",
        "guide-example-find",
        "guide-example-write",
        "guide-example-folder",
        "guide-example-replace",
        "guide-example-delete",
        "guide-example-run",
    ] {
        text.push_str("\n- ");
        text.push_str(&code(lang.text(key)));
    }
    text.push_str("\n\n");
    text.push_str(lang.text("guide-examples-end"));
    text
}

/// The text in small pieces: about a word each, or a few Chinese characters.
fn deltas(text: &str) -> impl Iterator<Item = &str> {
    const PIECE: usize = 8;
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .zip(rest.chars())
            .find(|(end, c)| c.is_whitespace() || *end >= PIECE && !c.is_ascii_alphanumeric())
            .map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

impl Provider for Guide {
    fn provider_id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self, _: &str) -> bool {
        false
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { Ok(vec![self.info()]) })
    }

    fn model_info<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async { Ok(self.info()) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { Ok("Built-in guide".into()) })
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(self.answer(model, request, Listener::Events(events)))
    }

    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(self.answer(model, request, Listener::Nobody))
    }

    fn pull<'a>(&'a self, _: &'a str, _: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Err(Error::new(ErrorCode::Unknown, "The built-in guide has nothing to download.")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_words_and_not_of_the_names() {
        assert_eq!(language_of("读取 README.md"), Locale::Chinese);
        assert_eq!(language_of("read \"笔记.txt\""), Locale::English);
        assert_eq!(language_of("read README.md"), Locale::English);
    }

    #[test]
    fn deltas_are_small_and_add_up_to_the_text() {
        for text in [
            "",
            "One two three.\n\n- `a`\n",
            "我来读取 `README.md`。没有更多的了，真的没有。",
            "averyveryverylongwordwithoutanyend",
        ] {
            let pieces: Vec<&str> = deltas(text).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.chars().count() <= 40), "{pieces:?}");
        }
    }

    #[test]
    fn the_examples_in_the_help_are_understood_themselves() {
        for locale in [Locale::English, Locale::Chinese] {
            let lang = Lang::new(locale);
            let text = help("guide-hello", &lang);
            let examples: Vec<&str> =
                text.lines().filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).collect();
            assert_eq!(examples.len(), 8);
            let tools: Vec<&str> = examples
                .iter()
                .map(|example| call_for(&understand(example), &lang).map_or("", |((tool, _), _)| tool))
                .collect();
            assert_eq!(
                tools,
                [
                    "list_directory",
                    "read_file",
                    "search_files",
                    "write_file",
                    "create_directory",
                    "edit_file",
                    "delete_file",
                    "run_command"
                ]
            );
        }
    }
}
