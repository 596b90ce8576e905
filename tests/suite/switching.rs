//! One conversation, several models: what each server receives is valid for it, whoever spoke before.

use nod::ir::ThinkingLevel;
use nod::port::{Command, Fallback, TurnEnd, TurnOptions, TurnOutcome};
use serde_json::{Value, json};

use crate::support::anthropic::{says, thinks_and_calls};
use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{OllamaServer, Piece, Reply, calls_line, done_line, text_line, thinking_line};
use crate::support::validity;

/// One turn by one provider, in the conversation that is there.
fn turn(desk: &mut Desk, (provider, model): (&str, &str), server: &OllamaServer, options: TurnOptions) -> TurnEnd {
    desk.send(Command::OpenSession(desk.session.clone()));
    let mut session = desk.opened();
    session.provider = provider.into();
    session.model = model.into();
    session.thinking = ThinkingLevel::High;
    let options = TurnOptions { base_url: Some(server.url()), ..options };
    let text = format!("list, says {provider}");
    desk.send(Command::RunTurn { session: Box::new(session), text, images: Vec::new(), options });
    desk.turn_end()
}

fn ollama_calls() -> Reply {
    let calls = [("list_directory", json!({"path": "."})), ("list_directory", json!({"path": "."}))];
    Reply::stream([thinking_line("Let me look."), calls_line(&calls), done_line("stop")])
}

/// An answer of OpenAI's format: thinking and one call, or a text.
fn completion(delta: &Value, reason: &str) -> Reply {
    let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let last = json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let line = |chunk: &Value| Piece::Bytes(format!("data: {chunk}\n\n").into_bytes());
    Reply::pieces([line(&chunk), line(&last), Piece::Bytes(b"data: [DONE]\n\n".to_vec())])
}

fn completion_calls() -> Reply {
    let function = json!({"name": "list_directory", "arguments": "{\"path\":\".\"}"});
    let call = json!({"index": 0, "id": "call_00_abc", "type": "function", "function": function});
    completion(&json!({"reasoning_content": "I look too.", "tool_calls": [call]}), "tool_calls")
}

fn blocks<'body>(body: &'body Value, kind: &str) -> Vec<&'body Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages.flat_map(|message| message["content"].as_array().unwrap()).filter(|block| block["type"] == kind).collect()
}

#[test]
fn a_tool_conversation_goes_from_ollama_to_anthropic_to_deepseek_to_openai() {
    let [ollama, anthropic, deepseek, openai] = std::array::from_fn(|_| OllamaServer::start());
    ollama.answer(ollama_calls());
    ollama.answer(Reply::stream([text_line("Two times nothing."), done_line("stop")]));
    anthropic.answer(thinks_and_calls("Once more.", "list_directory", &json!({"path": "."})));
    anthropic.answer(says("Still nothing."));
    for server in [&deepseek, &openai] {
        server.answer(completion_calls());
        server.answer(completion(&json!({"content": "Nothing at all."}), "stop"));
    }

    let mut desk = Desk::with(Setup::ollama(&ollama.url()));
    let contents = [
        (("ollama", "qwen3:8b"), &ollama),
        (("anthropic", "claude-sonnet-4-5"), &anthropic),
        (("deepseek", "deepseek-chat"), &deepseek),
        (("openai", "gpt-5"), &openai),
    ]
    .map(|(who, server)| {
        let end = turn(&mut desk, who, server, TurnOptions::default());
        assert_eq!((end.outcome, end.error), (TurnOutcome::Done, None), "{who:?}");
        end.content
    });
    assert_eq!(contents, ["Two times nothing.", "Still nothing.", "Nothing at all.", "Nothing at all."]);

    let none = validity::Faults::new();
    for (server, rules) in [
        (&ollama, validity::ollama as fn(&Value) -> validity::Faults),
        (&anthropic, validity::anthropic),
        (&deepseek, validity::openai),
        (&openai, validity::openai),
    ] {
        let chats = server.chats();
        assert_eq!(chats.len(), 2);
        for chat in chats {
            assert_eq!(rules(&chat), none, "{chat:#}");
        }
    }

    // Claude sees both of Ollama's calls, and its own thinking goes back to it as it was, once it has thought.
    let [first, second] = anthropic.chats().try_into().unwrap();
    assert_eq!(blocks(&first, "tool_use").len(), 2);
    assert!(blocks(&first, "thinking").is_empty());
    let signed = json!({"type": "thinking", "thinking": "Once more.", "signature": "c2lnbmVk"});
    assert_eq!(blocks(&second, "thinking"), [&signed]);
    assert_eq!(second["thinking"]["type"], "enabled");
    // Nobody else gets it, nor any other trace of another's format.
    for chat in deepseek.chats().iter().chain(&openai.chats()) {
        let text = chat.to_string();
        assert!(!text.contains("c2lnbmVk") && !text.contains("anthropic-messages"), "{text}");
    }
    // DeepSeek wants back what it thought before its call.
    let [_, second] = deepseek.chats().try_into().unwrap();
    let thought =
        second["messages"].as_array().unwrap().iter().rfind(|message| message["role"] == "assistant").unwrap();
    assert_eq!(thought["reasoning_content"], "I look too.");
}

#[test]
fn a_fallback_goes_on_inside_the_tool_loop_that_another_model_began() {
    let (ollama, anthropic) = (OllamaServer::start(), OllamaServer::start());
    ollama.answer(ollama_calls());
    ollama.answer(Reply::error(401, "unauthorized"));
    anthropic.answer(says("Nothing there."));
    let mut desk = Desk::with(Setup::ollama(&ollama.url()));
    let fallback =
        Fallback { provider: "anthropic".into(), model: "claude-sonnet-4-5".into(), base_url: Some(anthropic.url()) };
    let options = TurnOptions { fallback: Some(fallback), ..TurnOptions::default() };
    let end = turn(&mut desk, ("ollama", "qwen3:8b"), &ollama, options);
    assert_eq!((end.outcome, end.content.as_str()), (TurnOutcome::Done, "Nothing there."));
    let [chat] = anthropic.chats().try_into().unwrap();
    assert_eq!(validity::anthropic(&chat), validity::Faults::new(), "{chat:#}");
    assert_eq!(blocks(&chat, "tool_result").len(), 2);
    // A loop that it did not begin with signed thinking is gone on with without.
    assert_eq!(chat["thinking"], Value::Null);
}

#[test]
fn what_a_server_wants_back_as_it_came_does_not_go_to_another_address_of_the_same_provider() {
    let thinks = || thinks_and_calls("Once more.", "list_directory", &json!({"path": "."}));
    let (first, other) = (OllamaServer::start(), OllamaServer::start());
    for answer in [thinks(), says("Nothing."), thinks(), Reply::error(401, "unauthorized")] {
        first.answer(answer);
    }
    other.answer(says("Nothing there."));
    let who = ("anthropic", "claude-sonnet-4-5");
    let mut desk = Desk::with(Setup::ollama(&first.url()));
    turn(&mut desk, who, &first, TurnOptions::default());
    assert!(first.last_chat().unwrap().to_string().contains("c2lnbmVk"), "the control: it goes back there");
    let fallback = Fallback { provider: who.0.into(), model: who.1.into(), base_url: Some(other.url()) };
    let end = turn(&mut desk, who, &first, TurnOptions { fallback: Some(fallback), ..TurnOptions::default() });
    assert_eq!(end.content, "Nothing there.");
    let chat = other.last_chat().unwrap();
    assert_eq!(validity::anthropic(&chat), validity::Faults::new(), "{chat:#}");
    assert!(!chat.to_string().contains("c2lnbmVk"), "{chat:#}");
}
