//! A chat whose padlock is closed reaches this machine alone, and every host that a chat reached is on record.

use base64::Engine as _;
use nod::ir::Contact;
use nod::port::{Command, Event, Fallback, ImageFault, ModelsState, TurnEnd, TurnOptions};
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{Gate, OllamaServer, Piece, Reply, done_line, text_line};

fn yes() -> Reply {
    Reply::stream([text_line("Yes."), done_line("stop")])
}

fn lock(desk: &mut Desk, is_local_only: bool) {
    desk.send(Command::SetLocalOnly { session: desk.session.clone(), is_local_only });
    desk.until(|event| matches!(event, Event::SessionChanged(session) if session.is_local_only == is_local_only));
}

fn said(desk: &mut Desk) -> TurnEnd {
    desk.say("Hello");
    desk.turn_end()
}

/// The hosts that were last reported.
fn contacts(desk: &Desk) -> Vec<Contact> {
    let reported = desk.seen.iter().rev().find_map(|event| match event {
        Event::ContactsChanged { contacts, .. } => Some(contacts.clone()),
        _ => None,
    });
    reported.unwrap_or_default()
}

#[test]
fn a_locked_chat_sends_nothing_to_a_model_elsewhere_and_says_so() {
    let server = OllamaServer::start();
    server.answer(yes());
    let mut setup = Setup::ollama(&server.url());
    setup.settings.push(("models.ollama_is_remote", json!(true)));
    let mut desk = Desk::with(setup);
    lock(&mut desk, true);
    let error = said(&mut desk).error.unwrap();
    assert_eq!(error.provider_code.as_deref(), Some("locked"), "{error:?}");
    assert_eq!(server.chats(), Vec::<serde_json::Value>::new());
    // The control: open, it goes out.
    lock(&mut desk, false);
    assert_eq!(said(&mut desk).content, "Yes.");
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn a_padlock_that_is_closed_while_a_round_runs_holds_back_its_next_try_and_its_fallback() {
    // A model that answers through this machine: by its address alone it would be let through.
    let cloud = "large:120b-cloud";
    for (first, is_closed) in [(cloud, true), (cloud, false), ("qwen3:8b", true), ("qwen3:8b", false)] {
        let (server, gate) = (OllamaServer::start(), Gate::new());
        let busy = Piece::Bytes(br#"{"error":"busy"}"#.to_vec());
        let (status, wait) = if first == cloud { (503, "1") } else { (404, "0") };
        let refusal = Reply::pieces([Piece::Gate(gate.clone()), busy]).with_status(status);
        server.answer(refusal.with_header("retry-after-ms", wait));
        server.answer(yes());
        let mut desk = Desk::with(Setup { model: ("ollama", first), ..Setup::ollama(&server.url()) });
        desk.send(Command::OpenSession(desk.session.clone()));
        let session = Box::new(desk.opened());
        let fallback = Fallback { provider: "ollama".into(), model: cloud.into(), base_url: None };
        let options = TurnOptions { fallback: (first != cloud).then_some(fallback), ..TurnOptions::default() };
        desk.send(Command::RunTurn { session, text: "Hello".into(), images: Vec::new(), options });
        gate.wait_until_reached();
        lock(&mut desk, is_closed);
        gate.open();
        let end = desk.turn_end();
        assert_eq!(server.chats().len(), if is_closed { 1 } else { 2 }, "{first}, closed: {is_closed}: {end:?}");
        assert_eq!(end.content, if is_closed { "" } else { "Yes." });
    }
}

#[test]
fn the_http_layer_itself_holds_back_every_address_but_this_machine() {
    // Nobody answers there, and nobody is asked: the refusal comes before any connection.
    let mut desk = Desk::with(Setup::ollama("http://10.255.255.1:9"));
    lock(&mut desk, true);
    let error = said(&mut desk).error.unwrap();
    assert_eq!(error.provider_code.as_deref(), Some("locked"), "{error:?}");
    let contacts = contacts(&desk);
    let found: Vec<_> = contacts.iter().map(|contact| (contact.host.as_str(), contact.requests)).collect();
    assert_eq!(found, [("10.255.255.1", 0)], "nothing left");
}

#[test]
fn a_locked_chat_still_reaches_this_machine_and_its_hosts_are_kept() {
    let server = OllamaServer::start();
    server.answer(yes());
    let mut desk = Desk::with(Setup::ollama(&server.url()).kept());
    lock(&mut desk, true);
    assert_eq!(said(&mut desk).content, "Yes.");
    let before = contacts(&desk);
    let [contact] = before.as_slice() else { panic!("{before:?}") };
    assert_eq!((contact.host.as_str(), contact.refused), ("127.0.0.1", 0));
    assert!(contact.requests >= 1 && contact.sent_bytes > 100 && contact.received_bytes > 10, "{contact:?}");
    desk.restart();
    desk.send(Command::OpenSession(desk.session.clone()));
    assert!(desk.opened().is_local_only);
    desk.until(|event| matches!(event, Event::ContactsChanged { .. }));
    assert_eq!(contacts(&desk), before);
}

#[test]
fn a_list_of_models_that_a_locked_chat_asks_for_is_held_back_too() {
    let mut desk = Desk::with(Setup::ollama("http://10.255.255.1:9"));
    lock(&mut desk, true);
    let provider = Some("ollama".to_owned());
    desk.send(Command::RefreshSessionModels { session: desk.session.clone(), provider });
    let failed = desk.until(|event| matches!(event, Event::ModelsChanged { state: ModelsState::Failed(_), .. }));
    let Event::ModelsChanged { state: ModelsState::Failed(error), .. } = failed else { unreachable!() };
    assert_eq!(error.provider_code.as_deref(), Some("locked"), "{error:?}");
    desk.until(|event| matches!(event, Event::ContactsChanged { contacts, .. } if !contacts.is_empty()));
    assert!(contacts(&desk).iter().all(|contact| contact.requests == 0 && contact.refused > 0));
}

/// Asks for the image at an address.
fn load(desk: &mut Desk, url: &str) -> Result<String, ImageFault> {
    desk.send(Command::LoadImage { session: desk.session.clone(), url: url.to_owned() });
    let loaded = desk.until(|event| matches!(event, Event::ImageLoaded { url: loaded, .. } if loaded == url));
    match loaded {
        Event::ImageLoaded { image, .. } => image,
        _ => unreachable!(),
    }
}

#[test]
fn an_image_from_elsewhere_is_fetched_when_it_is_asked_for_and_its_host_is_on_record() {
    let server = OllamaServer::start();
    let png = base64::engine::general_purpose::STANDARD
        .decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        .unwrap();
    server.route("/a.png?size=1", Reply::bytes(200, "text/plain", png.clone()));
    server.route("/page", Reply::bytes(200, "image/png", b"<html><script>".to_vec()));
    server.route("/large", Reply::bytes(200, "image/png", [png, vec![0; 11 * 1_048_576]].concat()));
    server.route(
        "/moved",
        Reply::bytes(302, "text/plain", Vec::new()).with_header("Location", "http://localhost:9/a.png"),
    );
    server.answer(Reply::stream([text_line(&format!("![a picture]({}/a.png)", server.url())), done_line("stop")]));
    let mut desk = Desk::with(Setup::ollama(&server.url()));
    said(&mut desk);
    let asked = |server: &OllamaServer, path: &str| {
        server.requests().iter().filter(|request| request.path.starts_with(path)).count()
    };
    assert_eq!(asked(&server, "/a.png"), 0, "nothing is fetched by itself");
    let before = contacts(&desk)[0].requests;
    let url = server.url();
    let image = load(&mut desk, &format!("{url}/a.png?size=1"));
    assert!(image.unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"), "its bytes say what it is");
    assert_eq!(asked(&server, "/a.png?size=1"), 1);
    assert_eq!(contacts(&desk)[0].requests, before + 1);
    assert_eq!(load(&mut desk, &format!("{url}/page")), Err(ImageFault::NotAnImage));
    assert_eq!(load(&mut desk, &format!("{url}/large")), Err(ImageFault::TooLarge));
    assert_eq!(load(&mut desk, &format!("{url}/moved")), Err(ImageFault::Unreachable));
    assert_eq!(load(&mut desk, &format!("{url}/none")), Err(ImageFault::Unreachable));
    for refused in
        ["file:///etc/passwd", "ftp://example.org/a.png", "http://192.168.1.1/a.png", "http://example.org/a.png"]
    {
        assert_eq!(load(&mut desk, refused), Err(ImageFault::Refused), "{refused}");
    }
    // A closed padlock holds it back before anything leaves.
    lock(&mut desk, true);
    assert_eq!(load(&mut desk, "https://pictures.invalid/a.png"), Err(ImageFault::Locked));
    let held = contacts(&desk).into_iter().find(|contact| contact.host == "pictures.invalid").unwrap();
    assert_eq!((held.requests, held.refused), (0, 1));
}
