//! Who is let in, what a connection must keep to, and with which code it ends otherwise.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use super::device::{Device, ticket, tools};
use super::operator::Operator;

#[tokio::test]
async fn a_device_is_let_in_with_a_ticket_and_hears_the_pace() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--heartbeat-seconds", "7"]);
    let client = server.client(&token);
    let mut device = Device::silent(&server, &ticket(&client, "laptop").await, "laptop", None).await;
    device.send(device.registration()).await;
    let welcome = device.next().await;
    assert_eq!(
        (&welcome["type"], &welcome["heartbeat_seconds"]),
        (&json!("device.registered"), &json!(7)),
        "{welcome}"
    );
    assert!(welcome["connection_id"].as_str().is_some_and(|id| !id.is_empty()), "{welcome}");
    assert!(welcome["server_time"].as_str().is_some_and(|time| time.ends_with('Z')), "{welcome}");
    let before = welcome["sequence"].as_u64().unwrap();
    device.send(json!({"type": "heartbeat"})).await;
    let beat = device.next().await;
    assert_eq!(beat["type"], "heartbeat");
    assert!(beat["sequence"].as_u64().unwrap() > before);
}

async fn a_ticket_counts_once_and_only_as_it_was_signed(operator: Operator) {
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let once = ticket(&client, "laptop").await;
    let mut device = Device::silent(&server, &once, "laptop", None).await;
    device.send(device.registration()).await;
    assert_eq!(device.next().await["type"], "device.registered");
    let forged = format!("{}x", ticket(&client, "laptop").await);
    for bad in [once.as_str(), forged.as_str(), "", "a.b.c"] {
        let mut refused = Device::silent(&server, bad, "laptop", None).await;
        assert_eq!(refused.closed().await, Some(4401), "{bad}");
    }
    // The one that was let in is untouched by that.
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
}

#[tokio::test]
async fn tickets_do_not_reach_the_log() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let ticket = ticket(&client, "laptop").await;
    let mut device = Device::silent(&server, &ticket, "laptop", None).await;
    device.send(device.registration()).await;
    device.next().await;
    // The same name written otherwise, and twice: the first way lets in, the second is told as any other bad ticket.
    let disguised = super::device::ticket(&client, "tower").await;
    let url = format!("ws://{}/api/desktop/ws?%74icket={disguised}", server.address);
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    socket.close(None).await.unwrap();
    let mut twice = Device::silent(&server, "a.b.c&ticket=d.e.f", "tower", None).await;
    assert_eq!(twice.closed().await, Some(4401));
    let log = server.log();
    assert!(log.contains("/api/desktop/ws?ticket=***"), "{log}");
    assert!(!log.contains(&ticket) && !log.contains(&disguised) && !log.contains("d.e.f"), "{log}");
    assert!(!log.contains(&token), "{log}");
}

#[tokio::test]
async fn another_device_than_the_tickets_and_a_foreign_origin_are_turned_away() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--origin", "https://nod.example.com"]);
    let client = server.client(&token);

    let mut other = Device::silent(&server, &ticket(&client, "laptop").await, "tower", None).await;
    other.send(other.registration()).await;
    assert_eq!(other.closed().await, Some(4403));

    let pass = ticket(&client, "laptop").await;
    let mut foreign = Device::silent(&server, &pass, "laptop", Some("https://evil.example.com")).await;
    assert_eq!(foreign.closed().await, Some(4403));
    // The ticket was not used up by that.
    let mut listed = Device::silent(&server, &pass, "laptop", Some("https://nod.example.com")).await;
    listed.send(listed.registration()).await;
    assert_eq!(listed.next().await["type"], "device.registered");
}

#[tokio::test]
async fn what_breaks_the_protocol_is_closed_with_4400() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let open = async || Device::silent(&server, &ticket(&client, "laptop").await, "laptop", None).await;

    let mut device = open().await;
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.closed().await, Some(4400), "the first message is not device.register");

    let mut device = open().await;
    let mut registration = device.registration();
    registration["protocol_version"] = 2.into();
    device.send(registration).await;
    assert_eq!(device.closed().await, Some(4400), "another version");

    for text in
        ["", "garbage", "[]", r#"{"type":"heartbeat"}"#, "{\"type\":\"heartbeat\",\"event_id\":\"e\",\"sequence\":-1}"]
    {
        let mut device = Device::connect(&server, &client, "laptop").await;
        device.send_text(text).await;
        assert_eq!(device.closed().await, Some(4400), "{text:?}");
    }
    for sequence in [0, 1, 3] {
        let mut device = Device::connect(&server, &client, "laptop").await;
        // `connect` has sent 1, 2 and 3.
        device.send_text(&json!({"type": "heartbeat", "event_id": "e", "sequence": sequence}).to_string()).await;
        assert_eq!(device.closed().await, Some(4400), "{sequence}");
    }
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.send(device.registration()).await;
    assert_eq!(device.closed().await, Some(4400), "registered twice");

    let mut device = Device::connect(&server, &client, "laptop").await;
    device.send_raw(Message::binary(vec![0; 16])).await;
    assert_eq!(device.closed().await, Some(4400), "binary");
}

#[tokio::test]
async fn an_unknown_message_is_answered_and_too_many_end_the_connection() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.send(json!({"type": "device.dance"})).await;
    let error = device.next().await;
    assert_eq!((&error["type"], &error["ref_event_id"]), (&json!("protocol.error"), &json!("e4")), "{error}");
    device.send(json!({"type": "heartbeat", "mood": "an unknown field"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
    for _ in 0..64 {
        device.send(json!({"type": "tool.call.result", "tool_call_id": 7})).await;
    }
    assert_eq!(device.closed().await, Some(4400));
}

#[tokio::test]
async fn silence_ends_a_connection_before_and_after_it_is_registered() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--silence-seconds", "1", "--heartbeat-seconds", "1"]);
    let client = server.client(&token);
    let mut device = Device::registered(&server, &client, "laptop").await;
    assert_eq!(device.closed().await, Some(4408));
    let mut nameless = Device::silent(&server, &ticket(&client, "laptop").await, "laptop", None).await;
    assert_eq!(nameless.closed().await, Some(4400));
}

async fn a_newer_connection_of_the_same_device_replaces_the_older_one(operator: Operator) {
    let (ann, bob) = (operator.token("ann"), operator.token("bob"));
    let server = operator.serve(&["--dev"]);
    let client = server.client(&ann);
    let mut first = Device::connect(&server, &client, "laptop").await;
    let mut second = Device::connect(&server, &client, "laptop").await;
    assert_eq!(first.closed().await, Some(4409));
    // The same name of another user's device is another device.
    let _other = Device::connect(&server, &server.client(&bob), "laptop").await;
    let call = client.dev_call(json!({
        "device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."},
    }));
    let request = second.request().await;
    second.answer(&request, "succeeded", json!({"entries": []})).await;
    assert_eq!(call.await.unwrap()["status"], "succeeded");
}

async fn a_revoked_token_ends_its_users_connections_and_calls(operator: Operator) {
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);
    let early = ticket(&client, "tower").await;
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(json!({
        "device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."},
    }));
    device.request().await;
    operator.revoke("ann");
    assert_eq!(device.closed().await, Some(4401));
    drop(call.await);
    assert_eq!(client.get("/api/threads").await.0, 401);
    // A ticket from before does not help, nor does a new token of the same name.
    let fresh = server.client(&operator.token("ann"));
    let mut late = Device::silent(&server, &early, "tower", None).await;
    late.send(late.registration()).await;
    assert_eq!(late.closed().await, Some(4401));
    let mut device = Device::connect(&server, &fresh, "laptop").await;
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
}

#[tokio::test]
async fn huge_frames_endless_fragments_and_floods_are_bounded_and_end() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);

    let mut device = Device::connect(&server, &client, "laptop").await;
    device.send_raw(Message::text("x".repeat(16 << 20))).await;
    // The rest of the frame is not even read, so the close frame may be lost on the way.
    assert!([Some(4400), None].contains(&device.closed().await));

    let mut device = Device::connect(&server, &client, "laptop").await;
    for number in 0..20_000 {
        let code = if number == 0 { Data::Text } else { Data::Continue };
        let header = FrameHeader { is_final: false, opcode: OpCode::Data(code), ..FrameHeader::default() };
        device.send_raw(Message::Frame(Frame::from_payload(header, vec![b'x'; 1024].into()))).await;
    }
    assert!([Some(4400), None].contains(&device.closed().await));

    let mut device = Device::connect(&server, &client, "laptop").await;
    for _ in 0..5_000 {
        device.send_raw(Message::Ping(vec![7; 100].into())).await;
    }
    assert!([Some(4400), None].contains(&device.closed().await));

    // Others never noticed.
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
    #[cfg(target_os = "linux")]
    assert!(server.status_kib("VmHWM:") < 200 << 10, "{} KiB", server.status_kib("VmHWM:"));
}

#[tokio::test]
async fn a_list_of_tools_is_bounded() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let tool = tools()[0].clone();
    device.send(json!({"type": "tool.registry.sync", "tools": vec![tool.clone(); 1000]})).await;
    let error = device.next().await;
    assert_eq!((&error["type"], &error["code"]), (&json!("protocol.error"), &json!("TOO_MANY_TOOLS")), "{error}");
    // Few and long ones neither.
    let mut tool = tool;
    tool["input_schema"]["description"] = "x".repeat(300 << 10).into();
    device.send(json!({"type": "tool.registry.sync", "tools": [tool]})).await;
    assert_eq!(device.next().await["code"], "TOO_MANY_TOOLS");
}

#[tokio::test]
async fn complaints_of_a_device_fill_no_log_and_are_not_endless() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let mut device = Device::connect(&server, &client, "laptop").await;
    for _ in 0..17 {
        let words = format!("first\nsecond \u{202e}{}", "x".repeat(1 << 20));
        device.send(json!({"type": "protocol.error", "code": words, "message": words})).await;
    }
    assert_eq!(device.closed().await, Some(4400));
    let log = server.log();
    assert!(log.contains("did not understand the server") && log.len() < 20_000, "{} bytes", log.len());
    assert!(!log.contains("\nsecond") && !log.contains('\u{202e}'), "{log}");
}

#[tokio::test]
async fn every_address_but_the_sign_of_life_wants_a_token() {
    let operator = Operator::new();
    operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let stranger = server.client("nodt_of_somebody_else");
    for (method, path) in [
        ("POST", "/api/desktop/connection-ticket"),
        ("POST", "/api/turns"),
        ("POST", "/api/agent"),
        ("GET", "/api/threads"),
        ("GET", "/api/threads/t"),
        ("DELETE", "/api/threads/t"),
        ("GET", "/api/tool-calls/t:c"),
        ("POST", "/api/desktop/dev/tool-calls"),
        ("POST", "/api/desktop/dev/tool-calls/t:c/cancel"),
    ] {
        let (status, answer) = stranger.send(method.parse().unwrap(), path, None).await;
        assert_eq!((status, &answer["error"]["code"]), (401, &json!("UNAUTHORIZED")), "{method} {path}");
    }
    assert_eq!(server.client("").get("/healthz").await, (200, json!("ok")));
    let (status, figures) = server.client("").get("/metrics").await;
    assert_eq!(status, 200);
    assert!(figures.as_str().unwrap().contains("nod_devices_connected 0\n"), "{figures}");
}

#[tokio::test]
async fn without_developer_mode_there_is_no_call_without_a_model() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let (status, _) = server.client(&token).post("/api/desktop/dev/tool-calls", json!({})).await;
    assert_eq!(status, 404);
}

/// Nothing is unpacked here, so nothing small can become something huge.
#[tokio::test]
async fn compression_is_not_taken_up_and_a_compressed_message_ends_the_connection() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let registration = r#"{"type":"device.register","event_id":"e","sequence":1,"device_id":"laptop","instance_id":"i","app_version":"0","protocol_version":1}"#;
    // A whole text, once as it is (the control) and once marked as compressed (RFC 7692); the mask is zero.
    for (first, wanted) in [(0x81, "device.registered"), (0xC1, "bad protocol")] {
        let ticket = super::device::ticket(&client, "laptop").await;
        let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let upgrade = format!(
            "GET /api/desktop/ws?ticket={ticket} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
        );
        stream.write_all(upgrade.as_bytes()).await.unwrap();
        let length = u16::try_from(registration.len()).unwrap().to_be_bytes();
        let frame = [&[first, 0xFE][..], &length, &[0; 4], registration.as_bytes()].concat();
        stream.write_all(&frame).await.unwrap();
        let mut heard = Vec::new();
        while !String::from_utf8_lossy(&heard).contains(wanted) {
            let read = tokio::time::timeout(super::client::PATIENCE, stream.read_buf(&mut heard)).await;
            assert_ne!(read.unwrap().unwrap(), 0, "{}", String::from_utf8_lossy(&heard));
        }
        let heard = String::from_utf8_lossy(&heard).to_ascii_lowercase();
        assert!(heard.starts_with("http/1.1 101") && !heard.contains("sec-websocket-extensions"), "{heard}");
    }
}

on_both! {
    a_ticket_counts_once_and_only_as_it_was_signed,
    a_revoked_token_ends_its_users_connections_and_calls,
    a_newer_connection_of_the_same_device_replaces_the_older_one,
}
