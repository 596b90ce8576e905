//! What a model on another machine is sent: a loopback server that is marked as remote stands for it, and what it received
//! is what counts. The control of each: the same server, not marked, receives the planted secrets.

use base64::Engine as _;
use nod::ir::MessageId;
use nod::policy::{MaskedSecret, SecretKind};
use nod::port::{Answer, Command, Event, Fallback, TurnOptions};
use serde_json::{Value, json};

use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

/// A key as its provider gives it out; put together here, so that no scanner takes it for a real one.
fn planted() -> String {
    format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6")
}

fn second() -> String {
    format!("sk-ant-api03-{}", "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0FeDcBa98")
}

fn private_key(lines: usize) -> String {
    let line = "MIIEowIBAAKCAQEA7bq9f2Kx0Zy1Xw3Vu5Ts7Rq9Po1Nm3Lk5Ji7Hg9Fe1Dc3Ba5Z";
    let body: Vec<String> = (0..lines).map(|n| line.chars().cycle().skip(n * 7 % 60).take(64).collect()).collect();
    format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", body.join("\n"))
}

/// An answer that asks for one call.
fn call(name: &str, args: &Value) -> Reply {
    Reply::stream([calls_line(&[(name, args.clone())]), done_line("stop")])
}

fn words(text: &str) -> Reply {
    Reply::stream([text_line(text), done_line("stop")])
}

fn desk(server: &OllamaServer, is_remote: bool) -> Desk {
    let mut setup = Setup::ollama(&server.url());
    setup.settings.push(("models.ollama_is_remote", json!(is_remote)));
    Desk::with(setup)
}

/// Everything that the server was ever sent, as text.
fn received(server: &OllamaServer) -> String {
    server.requests().iter().map(|request| request.body.to_string()).collect::<Vec<_>>().join("\n")
}

/// The body of the last chat.
fn last_chat(server: &OllamaServer) -> String {
    server.last_chat().map(|body| body.to_string()).unwrap_or_default()
}

fn secrets(desk: &Desk) -> Vec<MaskedSecret> {
    let found = desk.seen.iter().rev().find_map(|event| match event {
        Event::SecretsChanged { secrets, .. } => Some(secrets.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

fn plant(desk: &Desk) {
    let (key, other, block) = (planted(), second(), private_key(24));
    desk.write("notes.txt", &format!("first line\nTOKEN is {key}\nother {other}\n{block}\nlast line\n"));
}

#[test]
fn planted_keys_and_key_blocks_in_a_read_file_do_not_reach_a_remote_model() {
    let body_line: String = private_key(24).lines().nth(3).unwrap().to_owned();
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        server.answer(call("read_file", &json!({"path": "notes.txt"})));
        server.answer(words("Read."));
        let mut desk = desk(&server, is_remote);
        plant(&desk);
        desk.say("Read notes.txt");
        desk.turn_end();
        let sent = received(&server);
        for secret in [planted(), second(), body_line.clone()] {
            assert_eq!(sent.contains(&secret), !is_remote, "remote: {is_remote}, {secret}");
        }
        assert!(sent.contains("first line") && sent.contains("last line"));
        let found = secrets(&desk);
        let kinds: Vec<SecretKind> = found.iter().map(|secret| secret.kind).collect();
        if is_remote {
            assert!(sent.contains("«masked: API key #1»") && sent.contains("«masked: private key #1»"), "{sent}");
            assert_eq!(kinds, [SecretKind::ApiKey, SecretKind::ApiKey, SecretKind::PrivateKey]);
            let card = desk.calls()[0].call.id.as_str().to_owned();
            assert!(found.iter().all(|secret| secret.places.contains(&card)));
            // The raw result stays on the card.
            assert!(desk.calls()[0].result.as_ref().unwrap().result.to_string().contains(&planted()));
        } else {
            assert_eq!(kinds, []);
        }
    }
}

#[test]
fn a_model_that_its_server_runs_elsewhere_is_elsewhere_whatever_its_name_is() {
    let plain = json!({"model_info": {"general.architecture": "llama", "llama.context_length": 8192}});
    let with = |more: Value| {
        let mut show = plain.clone();
        show.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Reply::json(200, &show)
    };
    let listed = |more: Value| {
        let mut entry = json!({"name": "qwen3:8b"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Reply::json(200, &json!({"models": [{"name": "other"}, entry]}))
    };
    let (says_nothing, host) = (json!({}), json!({"remote_host": "https://ollama.com:443"}));
    let cases = [
        ("neither says so", with(says_nothing.clone()), listed(says_nothing.clone()), false),
        ("its details say so", with(json!({"remote_model": "large:120b"})), listed(says_nothing.clone()), true),
        ("they name the host alone", with(host.clone()), listed(says_nothing.clone()), true),
        ("the list alone says so", with(says_nothing.clone()), listed(host.clone()), true),
        ("no details", Reply::error(404, "not found"), listed(says_nothing.clone()), true),
        ("no list", with(says_nothing.clone()), Reply::error(404, "not found"), true),
        (
            "not in the list",
            with(says_nothing.clone()),
            Reply::json(200, &json!({"models": [{"name": "other"}]})),
            true,
        ),
    ];
    for (case, show, list, is_elsewhere) in cases {
        let server = OllamaServer::start();
        server.route("/api/show", show);
        server.route("/api/tags", list);
        server.answer(call("read_file", &json!({"path": "notes.txt"})));
        server.answer(words("Read."));
        let mut desk = desk(&server, false);
        plant(&desk);
        desk.say("Read notes.txt");
        desk.turn_end();
        let sent = received(&server);
        assert!(sent.contains("first line"), "{case}");
        assert_eq!(sent.contains(&planted()), !is_elsewhere, "{case}: {sent}");
        // A closed padlock holds it back.
        let before = server.chats().len();
        desk.send(Command::SetLocalOnly { session: desk.session.clone(), is_local_only: true });
        server.answer(words("Yes."));
        desk.say("Again");
        let error = desk.turn_end().error.and_then(|error| error.provider_code);
        assert_eq!(error.as_deref(), is_elsewhere.then_some("locked"), "{case}");
        assert_eq!(server.chats().len() - before, usize::from(!is_elsewhere), "{case}");
    }
}

#[test]
fn send_anyway_sends_that_value_alone_and_can_be_taken_back() {
    let server = OllamaServer::start();
    server.answer(call("read_file", &json!({"path": "notes.txt"})));
    for _ in 0..3 {
        server.answer(words("Yes."));
    }
    let mut desk = desk(&server, true);
    plant(&desk);
    desk.say("Read notes.txt");
    desk.turn_end();
    let first = secrets(&desk).into_iter().find(|secret| secret.id == nod::policy::secret_id(&planted())).unwrap();
    let release = |desk: &Desk, is_released| {
        let session = desk.session.clone();
        desk.send(Command::ReleaseSecret { session, secret: first.id.clone(), is_released });
    };
    release(&desk, true);
    desk.say("Again");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(sent.contains(&planted()) && !sent.contains(&second()), "{sent}");
    release(&desk, false);
    desk.say("And again");
    desk.turn_end();
    assert!(!last_chat(&server).contains(&planted()));
}

#[test]
fn a_placeholder_is_not_written_where_the_value_stands() {
    let server = OllamaServer::start();
    server.answer(call("read_file", &json!({"path": "notes.txt"})));
    server.answer(call("write_file", &json!({"path": "notes.txt", "content": "TOKEN is «masked: API key #1»\n"})));
    // The control: what is no placeholder of this chat is text like any other.
    server.answer(call("write_file", &json!({"path": "other.txt", "content": "TOKEN is «masked: API key #9»\n"})));
    server.answer(words("Done."));
    let mut desk = desk(&server, true);
    plant(&desk);
    desk.say("Tidy up notes.txt");
    let asked = desk.asked();
    assert!(asked.target.ends_with("other.txt"), "{}", asked.target);
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    let refused = desk.calls()[1].result.clone().unwrap();
    assert_eq!((refused.success, refused.code()), (false, Some("INVALID_ARGUMENTS")));
    assert!(last_chat(&server).contains("stands for a value that you were not shown"));
    assert!(std::fs::read_to_string(desk.path("notes.txt")).unwrap().contains(&planted()));
    assert!(desk.path("other.txt").exists());
}

#[test]
fn history_is_masked_when_a_chat_moves_from_a_local_model_to_a_remote_one() {
    let server = OllamaServer::start();
    server.answer(call("read_file", &json!({"path": "notes.txt"})));
    // The local model repeats the secret, in its words and in a call.
    server.answer(call("search_files", &json!({"path": ".", "query": planted()})));
    server.answer(words(&format!("The token is {}.", planted())));
    server.answer(words("Good."));
    let mut desk = desk(&server, false);
    plant(&desk);
    desk.say("Read notes.txt");
    desk.turn_end();
    assert!(last_chat(&server).contains(&planted()), "the control: a local model gets it");
    desk.set("models.ollama_is_remote", true);
    desk.say("Go on");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(!sent.contains(&planted()) && !sent.contains(&second()), "{sent}");
    assert!(sent.contains("The token is «masked: API key #"), "{sent}");
}

#[test]
fn a_short_password_is_masked_wherever_a_local_model_or_a_result_repeats_it() {
    let password = "Tr0ub4dor&3";
    let server = OllamaServer::start();
    // What shows it without its name comes first, what names it last.
    server.answer(call("search_files", &json!({"path": ".", "query": "mysql"})));
    server.answer(call("read_file", &json!({"path": "notes.txt"})));
    server.answer(call("search_files", &json!({"path": ".", "query": password})));
    server.answer(words(&format!("The database password is {password}. It runs on windows10.")));
    server.answer(words("Good."));
    let mut desk = desk(&server, false);
    desk.write("run.sh", &format!("mysql -p{password} < dump.sql # as {password}\n"));
    desk.write("notes.txt", &format!("password={password}\nsecret: windows10\n"));
    desk.say("Read notes.txt");
    desk.turn_end();
    assert!(last_chat(&server).contains(password), "the control: a local model gets it");
    desk.set("models.ollama_is_remote", true);
    desk.say("Go on");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(!sent.contains(password), "{sent}");
    let mask = "«masked: password #1»";
    assert!(sent.contains(&format!("The database password is {mask}. It runs on windows10.")), "{sent}");
    assert!(sent.contains(&format!("mysql -p{mask} < dump.sql # as {mask}")), "{sent}");
    let found = secrets(&desk);
    let places = &found.iter().find(|secret| secret.id == nod::policy::secret_id(password)).unwrap().places;
    assert!(desk.calls().iter().all(|call| places.contains(call.call.id.as_str())), "{places:?}");
}

#[test]
fn what_a_search_finds_tells_a_remote_model_nothing_of_a_secret() {
    let counts = |is_remote: bool, password: &str| {
        let queries = [
            "DB_PASS=Z",
            "^DB_PASS=([^A-Za-z0-9]|Z)",
            "^DB_PASS=Z.*|^DB_PASS=k",
            "=.{12}$",
            r"PASS=(\W|Z)",
            "PASS=Z.*|PASS=k",
            "^DB_PASS=",
            "^DB_HOST=l",
        ];
        let server = OllamaServer::start();
        for query in queries {
            server.answer(call("search_files", &json!({"path": ".", "query": query, "regex": true})));
        }
        server.answer(words("Done."));
        let mut desk = desk(&server, is_remote);
        desk.write("app.txt", &format!("DB_PASS={password}\nDB_HOST=localhost\n"));
        desk.say("Find out");
        desk.turn_end();
        assert!(!is_remote || !last_chat(&server).contains(password));
        let calls = desk.calls();
        let found = calls.iter().map(|call| call.result.as_ref().unwrap().result["total_matches"].as_u64().unwrap());
        found.collect::<Vec<_>>()
    };
    // The control: who may read it finds it letter by letter.
    assert_eq!(
        (counts(false, "Zq7Lm2XwT9kd"), counts(false, "Rq7Lm2XwT9")),
        (vec![1, 1, 1, 1, 1, 1, 1, 1], vec![0, 0, 0, 0, 0, 0, 1, 1])
    );
    assert_eq!(
        (counts(true, "Zq7Lm2XwT9kd"), counts(true, "Rq7Lm2XwT9")),
        (vec![0, 1, 0, 0, 0, 0, 1, 1], vec![0, 1, 0, 0, 0, 0, 1, 1])
    );
}

#[test]
fn a_password_of_letters_is_masked_where_it_stands_alone_and_send_anyway_sends_it_and_no_other() {
    let (first, second) = ("hunterzwei", "sommerregen");
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        server.answer(call("read_file", &json!({"path": "log.txt"})));
        server.answer(call("read_file", &json!({"path": "settings.txt"})));
        // In a later request only its sum is known: a search in another file tells nothing of it either.
        server.answer(call("search_files", &json!({"path": "notes.txt", "query": "hunterz"})));
        for _ in 0..2 {
            server.answer(words("Yes."));
        }
        let mut desk = desk(&server, is_remote);
        desk.write("settings.txt", &format!("DB_PASSWORD={first}\nMAIL_PASSWORD={second}\n"));
        desk.write("log.txt", &format!("login as bob with {first}, then with {second}.\n"));
        desk.write("notes.txt", &format!("It is {first}.\n"));
        desk.say("Read them");
        desk.turn_end();
        let sent = last_chat(&server);
        assert!(sent.contains("login as bob"), "{sent}");
        for password in [first, second] {
            assert_eq!(sent.contains(password), !is_remote, "{sent}");
        }
        let total = desk.calls()[2].result.as_ref().unwrap().result["total_matches"].as_u64();
        assert_eq!(total, Some(u64::from(!is_remote)));
        if is_remote {
            let id = nod::policy::secret_id(first);
            desk.send(Command::ReleaseSecret { session: desk.session.clone(), secret: id, is_released: true });
            desk.say("Again");
            desk.turn_end();
            let sent = last_chat(&server);
            assert!(sent.contains(&format!("bob with {first}, then with «masked: password #")), "{sent}");
            assert!(!sent.contains(second), "{sent}");
        }
    }
}

#[test]
fn what_an_edit_answers_tells_a_remote_model_nothing_of_a_secret() {
    const LETTERS: &str = "abcdefgh";
    // Edits are guessed letter by letter; the second one never applies, so that nobody is asked.
    let learned = |is_remote: bool, password: &str| {
        let mut known = String::new();
        for _ in 0..password.len() {
            let server = OllamaServer::start();
            for letter in LETTERS.chars() {
                let guess = json!({"old_text": format!("DB_PASS={known}{letter}"), "new_text": "x"});
                let missing = json!({"old_text": "§", "new_text": "x"});
                server.answer(call("edit_file", &json!({"path": "app.txt", "edits": [guess, missing]})));
            }
            server.answer(words("Done."));
            let mut desk = desk(&server, is_remote);
            desk.write("app.txt", &format!("DB_PASS={password}\nDB_HOST=localhost\n"));
            desk.say("Find out");
            desk.turn_end();
            let applied = |error: &str| error.contains("edits[1]");
            let calls = desk.calls();
            let errors = calls.iter().map(|call| call.result.as_ref().unwrap().error.clone().unwrap_or_default());
            let hits: Vec<char> =
                LETTERS.chars().zip(errors).filter(|(_, error)| applied(error)).map(|(letter, _)| letter).collect();
            assert!(!is_remote || !received(&server).contains(password));
            let [letter] = hits[..] else { break };
            known.push(letter);
        }
        known
    };
    // The control: who may read it learns all of it, and nobody was asked.
    assert_eq!(learned(false, "hafbecgd"), "hafbecgd");
    assert_eq!(learned(true, "hafbecgd"), "");
}

#[test]
fn listings_searches_errors_and_attached_files_are_masked_too() {
    let server = OllamaServer::start();
    let name = format!("backup-{}.txt", planted());
    server.answer(call("list_directory", &json!({"path": "."})));
    server.answer(call("search_files", &json!({"path": ".", "query": "other"})));
    server.answer(call("read_file", &json!({"path": format!("missing {}", second())})));
    server.answer(words("Done."));
    let mut desk = desk(&server, true);
    plant(&desk);
    desk.write(&name, "empty");
    let attached = format!("Look.\n\na.env:\n```\nAPI_TOKEN={}\n```", planted());
    desk.say(&attached);
    desk.turn_end();
    let chats = server.chats();
    assert_eq!(chats.len(), 4);
    let sent = received(&server);
    assert!(!sent.contains(&planted()), "{sent}");
    let from_tools: String = chats[3]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(ToString::to_string)
        .collect();
    assert!(!from_tools.contains(&second()), "{from_tools}");
    let person = chats[0]["messages"].as_array().unwrap().iter().find(|message| message["role"] == "user").unwrap();
    assert!(person["content"].as_str().unwrap().contains("API_TOKEN=«masked: API key #1»"), "{person}");
    let message = desk.seen.iter().find_map(|event| match event {
        Event::MessageChanged(record) if record.message.content == attached => Some(record.id.clone()),
        _ => None,
    });
    let message: MessageId = message.unwrap();
    assert!(
        secrets(&desk).iter().any(|secret| secret.places.contains(message.as_str())),
        "the chip stands at the message"
    );
}

#[test]
fn a_secret_at_the_border_of_the_cut_leaves_nothing_of_itself() {
    // A result is cut for the model at 16 KiB: keys stand all around that place.
    let server = OllamaServer::start();
    server.answer(call("read_file", &json!({"path": "long.txt"})));
    server.answer(words("Done."));
    let mut desk = desk(&server, true);
    let filler = "0123456789 ".repeat(1_420);
    let keys: Vec<String> = (0..60).map(|n| format!("k{n}={}", planted())).collect();
    desk.write("long.txt", &format!("{filler}\n{}\n", keys.join(" ")));
    desk.say("Read it");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(sent.contains("cutForModel") && !sent.contains("ghp_") && !sent.contains(&planted()[4..12]), "{sent}");
}

#[test]
fn a_key_block_in_any_dress_is_masked_whole() {
    let block = private_key(20);
    let encoded = base64::engine::general_purpose::STANDARD.encode(&block);
    let line = block.lines().nth(4).unwrap().to_owned();
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        let reads = [
            call("read_file", &json!({"path": "a.txt"})),
            // Neither end of the block is in this part.
            call("read_file", &json!({"path": "a.txt", "start_line": 4, "end_line": 12})),
            call("search_files", &json!({"path": ".", "query": "[A-Za-z0-9+/]{40}", "regex": true})),
        ];
        for read in reads {
            server.answer(read);
        }
        server.answer(words("Done."));
        let mut desk = desk(&server, is_remote);
        let escaped = block.replace('\n', "\\n");
        desk.write("a.txt", &format!("{block}\n{{\"private\": \"{escaped}\"}}\ntls: {encoded}\n"));
        desk.say("Read it");
        desk.turn_end();
        let chats = server.chats();
        assert_eq!(chats.len(), 4);
        for (round, sent) in chats.iter().enumerate().skip(1) {
            let newest = sent["messages"].as_array().unwrap().last().unwrap().to_string();
            assert_eq!(newest.contains(&line), !is_remote, "round {round}: {newest}");
            assert!(!is_remote || !newest.contains(&encoded[40..120]), "round {round}: {newest}");
        }
    }
}

#[test]
fn no_single_line_of_a_key_reaches_a_remote_model_by_any_tool() {
    // Lines of a width that no program writes: only the file around them shows what they are.
    let signs = "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6kL9nP2qR5sT8uW1xY4zA7bC0dG3eM6";
    let line = |n: usize| signs.chars().cycle().skip(n * 3 % 60).take(52).collect::<String>();
    let body: Vec<String> = (0..12).map(line).collect();
    let file = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", body.join("\n"));
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        let calls = [
            call("read_file", &json!({"path": "a.txt", "start_line": 5, "end_line": 5})),
            call("read_file", &json!({"path": "a.txt", "start_line": 5, "end_line": 6, "encoding": "latin1"})),
            call("search_files", &json!({"path": "a.txt", "query": &body[4][10..20]})),
            // It does not apply, so nobody is asked; its failure names the line that is nearest.
            call(
                "edit_file",
                &json!({"path": "a.txt", "edits": [{"old_text": format!("{}!", &body[4][..40]), "new_text": "x"}]}),
            ),
        ];
        let count = calls.len();
        for call in calls {
            server.answer(call);
        }
        server.answer(words("Done."));
        let mut desk = desk(&server, is_remote);
        desk.write("a.txt", &file);
        desk.say("Look at line 5");
        desk.turn_end();
        let chats = server.chats();
        assert_eq!(chats.len(), count + 1);
        for (round, sent) in chats.iter().enumerate().skip(1) {
            let newest = sent["messages"].as_array().unwrap().last().unwrap().to_string();
            // The failed edit keeps the line from every model: the raw failure would hold it.
            let is_shown = !is_remote && round < count;
            assert_eq!(newest.contains(&body[4][..40]), is_shown, "round {round}: {newest}");
        }
    }
}

#[test]
fn no_new_table_holds_a_value_in_clear() {
    let server = OllamaServer::start();
    server.answer(call("read_file", &json!({"path": "notes.txt"})));
    server.answer(words("Done."));
    let mut setup = Setup::ollama(&server.url()).kept();
    setup.settings.push(("models.ollama_is_remote", json!(true)));
    let mut desk = Desk::with(setup);
    plant(&desk);
    desk.say("Read notes.txt");
    desk.turn_end();
    let found = secrets(&desk);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|secret| secret.tail.chars().count() <= 4 && secret.id.len() == 64));
    // What was released holds after a new start.
    desk.send(Command::ReleaseSecret { session: desk.session.clone(), secret: found[0].id.clone(), is_released: true });
    desk.until(|event| matches!(event, Event::SecretsChanged { secrets, .. } if secrets[0].is_released));
    desk.restart();
    desk.send(Command::OpenSession(desk.session.clone()));
    let event = desk.until(|event| matches!(event, Event::SecretsChanged { .. }));
    let Event::SecretsChanged { secrets, .. } = event else { unreachable!() };
    assert_eq!(secrets.iter().filter(|secret| secret.is_released).count(), 1);
}

#[test]
fn a_call_of_the_command_line_is_not_masked_for_the_person() {
    let server = OllamaServer::start();
    let mut desk = desk(&server, true);
    plant(&desk);
    let result = desk.tool("read_file", &json!({"path": "notes.txt"}), &Answer::AllowOnce);
    assert!(result.result.to_string().contains(&planted()));
}

/// Says something as the command line does, with somebody who answers when the first cannot.
fn say_with_fallback(desk: &mut Desk, text: &str, model: &str, server: &OllamaServer) {
    desk.send(Command::OpenSession(desk.session.clone()));
    let session = Box::new(desk.opened());
    let fallback = Fallback { provider: "ollama".into(), model: model.into(), base_url: Some(server.url()) };
    let options = TurnOptions { fallback: Some(fallback), ..TurnOptions::default() };
    desk.send(Command::RunTurn { session, text: text.into(), images: Vec::new(), options });
}

#[test]
fn a_remote_fallback_gets_the_masked_form_of_what_the_local_model_was_sent_in_the_same_round() {
    for (model, is_remote) in [("qwen3:8b-cloud", true), ("qwen3:8b", false)] {
        let (local, other) = (OllamaServer::start(), OllamaServer::start());
        local.answer_with(|number, _| match number {
            0 => call("read_file", &json!({"path": "notes.txt"})),
            _ => Reply::error(503, "server busy").with_header("retry-after-ms", "1"),
        });
        other.answer(words("Read."));
        let mut desk = desk(&local, false);
        plant(&desk);
        say_with_fallback(&mut desk, "Read notes.txt", model, &other);
        assert_eq!(desk.turn_end().content, "Read.");
        let (first, then) = (last_chat(&local), last_chat(&other));
        assert!(first.contains(&planted()), "the control: this very round went to the local model in clear");
        for secret in [planted(), second(), private_key(24).lines().nth(3).unwrap().to_owned()] {
            assert_eq!(then.contains(&secret), !is_remote, "{model}: {then}");
        }
        assert!(then.contains("first line") && then.contains("last line"), "{then}");
        assert_eq!(then.contains("«masked: API key #1»"), is_remote, "{then}");
    }
}

#[test]
fn a_history_that_goes_once_more_because_it_was_too_long_is_masked_as_before() {
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        server.answer_with(|number, _| match number {
            0 => call("read_file", &json!({"path": "notes.txt"})),
            1 => words("Long ago."),
            2 => Reply::error(400, "request (13392 tokens) exceeds the available context size (8192 tokens)"),
            _ => words("Done."),
        });
        let mut desk = desk(&server, is_remote);
        plant(&desk);
        desk.say("Read notes.txt");
        desk.turn_end();
        desk.say("And now?");
        desk.turn_end();
        assert!(desk.seen.iter().any(|event| matches!(event, Event::HistoryShortened { .. })), "it was shortened");
        let chats = server.chats();
        assert_eq!(chats.len(), 4);
        let refused = chats[2].to_string();
        assert_eq!(refused.contains(&planted()), !is_remote, "the control");
        assert!(!is_remote || !received(&server).contains(&planted()));
        let again = chats[3].to_string();
        assert!(again.contains("And now?") && (!is_remote || !again.contains(&second())), "{again}");
    }
}

#[test]
#[cfg(unix)]
fn what_a_command_prints_is_masked_on_both_of_its_streams() {
    for is_remote in [true, false] {
        let server = OllamaServer::start();
        server.answer(call("run_command", &json!({"command": "cat notes.txt; cat other.txt >&2"})));
        server.answer(words("Ran."));
        let mut setup = Setup::ollama(&server.url()).with_commands();
        setup.settings.push(("models.ollama_is_remote", json!(is_remote)));
        let mut desk = Desk::with(setup);
        plant(&desk);
        desk.write("other.txt", "warning: password=Tr0ub4dor&3 is weak\n");
        desk.say("Run it");
        desk.turn_end_allowing();
        let sent = last_chat(&server);
        assert!(sent.contains("first line") && sent.contains(" is weak"), "{sent}");
        for secret in [planted(), second(), private_key(24).lines().nth(3).unwrap().to_owned(), "Tr0ub4dor&3".into()] {
            assert_eq!(sent.contains(&secret), !is_remote, "{secret}: {sent}");
        }
    }
}

#[test]
fn only_who_gave_an_answer_at_the_same_address_knows_its_words() {
    let (server, other) = (OllamaServer::start(), OllamaServer::start());
    let said = |key: &str| words(&format!("Use {key}."));
    server.answer(said(&planted()));
    server.answer(said(&second()));
    server.answer(words("Yes."));
    other.answer(words("Yes."));
    let mut desk = desk(&server, false);
    let model = |desk: &Desk, model: &str| {
        let session = desk.session.clone();
        desk.send(Command::SetModel { session, provider: "ollama".into(), model: model.into() });
    };
    desk.say("A key?");
    desk.turn_end();
    // The same server, but this model answers through it, not on it: what the local one made up is news to it.
    model(&desk, "qwen3:8b-cloud");
    desk.say("Another?");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(!sent.contains(&planted()) && sent.contains("Use «masked: API key #1»."), "{sent}");
    // The control: what it said itself goes back to it as it was.
    desk.say("Is it good?");
    desk.turn_end();
    let sent = last_chat(&server);
    assert!(!sent.contains(&planted()) && sent.contains(&second()), "{sent}");
    // The same provider at another address is somebody else.
    desk.set("models.ollama_url", other.url());
    desk.say("Is it good?");
    desk.turn_end();
    let sent = last_chat(&other);
    assert!(sent.contains("Use «masked: API key #2».") && !sent.contains(&second()), "{sent}");
}
