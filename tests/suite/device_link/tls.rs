//! The server with a certificate of its own: HTTPS and WSS, and nothing below.
#![expect(clippy::disallowed_methods, reason = "a test writes its certificate and has a client of its own")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use futures_util::{SinkExt as _, StreamExt as _};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use tokio_tungstenite::Connector;
use tokio_tungstenite::tungstenite::Message;

use super::backend::Backends;
use super::client::PATIENCE;
use super::operator::Operator;

/// An authority of the test's own, and what it vouches for by these names.
fn certified(names: &[&str]) -> (Certificate, Certificate, KeyPair) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority_params = CertificateParams::new(Vec::new()).unwrap();
    authority_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = authority_params.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap();
    let certificate = params.signed_by(&key, &Issuer::from_params(&authority_params, &authority_key)).unwrap();
    (authority, certificate, key)
}

/// `sslmode=require` encrypts, and only to whom an authority vouches for.
#[test]
fn postgresql_is_reached_over_tls_that_is_verified() {
    let (authority, certificate, key) = certified(&["localhost", "127.0.0.1"]);
    let Some(backends) = Backends::start_with(Some((&certificate.pem(), &key.serialize_pem()))) else { return };
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, authority.pem()).unwrap();
    let asked = |mode: &str, trust: Option<&Path>| {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut command = Command::new(env!("CARGO_BIN_EXE_nod-server"));
            command.args(["token", "list", "--database", &format!("{}?sslmode={mode}", backends.database)]);
            command.envs(trust.map(|path| ("SSL_CERT_FILE", path)));
            let output = command.output().unwrap();
            let words = String::from_utf8(output.stderr).unwrap();
            // PostgreSQL takes connections before it takes questions.
            if !words.contains("starting up") || Instant::now() > until {
                return (output.status.success(), words);
            }
        }
    };
    assert_eq!(asked("require", Some(&trusted)), (true, String::new()));
    let (is_done, words) = asked("require", None);
    assert!(!is_done && words.contains("certificate"), "{words}");
    // The control: this database lets nobody in who does not encrypt.
    let (is_done, words) = asked("disable", Some(&trusted));
    assert!(!is_done && words.contains("no encryption"), "{words}");
}

#[tokio::test]
async fn with_a_certificate_everything_goes_over_tls() {
    let (authority, certificate, key) = certified(&["localhost", "127.0.0.1"]);
    let folder = tempfile::tempdir().unwrap();
    let (chain, private) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&chain, certificate.pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--tls-cert", chain.to_str().unwrap(), "--tls-key", private.to_str().unwrap()]);
    assert!(server.url.starts_with("https://"), "{}", server.url);

    // Somebody who connects and says nothing holds nobody else up.
    let _mute = TcpStream::connect(server.address).unwrap();

    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    rustls::crypto::ring::default_provider().install_default().ok();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().unwrap();
    assert_eq!(http.get(format!("{}/healthz", server.url)).send().await.unwrap().text().await.unwrap(), "ok");
    let answer = http
        .post(format!("{}/api/desktop/connection-ticket", server.url))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(json!({"device_id": "laptop"}).to_string())
        .send()
        .await
        .unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();

    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let address = format!("wss://{}/api/desktop/ws?ticket={}", server.address, answer["ticket"].as_str().unwrap());
    let connector = Connector::Rustls(Arc::new(config));
    let (mut socket, _) =
        tokio_tungstenite::connect_async_tls_with_config(address, None, true, Some(connector)).await.unwrap();
    let registration = json!({
        "type": "device.register", "event_id": "e", "sequence": 1, "device_id": "laptop", "instance_id": "i",
        "app_version": "0.1.0", "protocol_version": 1,
    });
    socket.send(Message::text(registration.to_string())).await.unwrap();
    let welcome = socket.next().await.unwrap().unwrap();
    assert!(welcome.to_text().unwrap().contains("device.registered"), "{welcome}");

    // Plain HTTP gets no answer in plain text.
    let mut plain = TcpStream::connect(server.address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut heard = Vec::new();
    plain.read_to_end(&mut heard).ok();
    assert!(!heard.starts_with(b"HTTP"), "{heard:?}");
    // A stranger's trust store does not know this authority.
    let stranger = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    assert!(stranger.get(format!("{}/healthz", server.url)).send().await.is_err());
}

/// Whom the desktop does not trust, it tells nothing: not even its token.
#[test]
fn the_desktop_speaks_to_a_server_that_an_authority_vouches_for_by_this_name_alone() {
    let (authority, certificate, key) = certified(&["localhost"]);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("ca.pem"), authority.pem()).unwrap();
    std::fs::write(place("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(place("key.pem"), key.serialize_pem()).unwrap();
    std::fs::create_dir(place("work")).unwrap();
    let (chain, private) = (place("cert.pem"), place("key.pem"));
    let operator = Operator::new();
    let token = operator.token("ann");
    let options = ["--tls-cert", chain.to_str().unwrap(), "--tls-key", private.to_str().unwrap()];
    let server = operator.serve_at("127.0.0.1:0", &options);
    let port = server.address.port();
    let state = |number: usize, host: &str, trust: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        command.args(["link", "--json", "--lang", "en", "--confirm", "deny", "--token-env", "LINK_TOKEN"]);
        command.args(["--server", &format!("https://{host}:{port}"), "--workspace"]).arg(place("work"));
        command.env("NOD_DATA_DIR", place(&format!("data-{number}"))).env("LINK_TOKEN", &token);
        command.env_remove("SSL_CERT_FILE").envs(trust.map(|path| ("SSL_CERT_FILE", path)));
        let mut desktop = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(desktop.stdout.take().unwrap()).lines();
        let found = lines.map(Result::unwrap).find_map(|line| {
            let line: Value = serde_json::from_str(&line).unwrap();
            let state = line["state"].as_str()?;
            matches!(state, "connected" | "waiting").then(|| state.to_owned())
        });
        desktop.kill().unwrap();
        desktop.wait().unwrap();
        found.unwrap()
    };
    // The control: the same server, with an authority that is trusted.
    assert_eq!(state(1, "localhost", Some(&place("ca.pem"))), "connected");
    assert_eq!(state(2, "localhost", None), "waiting", "an authority that nobody trusts");
    // A name that the certificate does not bear, of the same machine.
    assert_eq!(state(3, "127.0.0.1", Some(&place("ca.pem"))), "waiting");
    let let_in = server.log().matches("a device is connected").count();
    assert_eq!(let_in, 1, "{}", server.log());
}

#[test]
fn a_certificate_that_cannot_be_read_is_said_at_once() {
    let operator = Operator::new();
    let words = operator.refused(&["serve", "--tls-cert", "/projects/none.pem", "--tls-key", "/projects/none.key"]);
    assert!(words.contains("/projects/none.pem"), "{words}");
}

#[test]
fn addresses_that_lead_nowhere_are_said_at_once() {
    let operator = Operator::new();
    for (options, words) in [
        (["serve", "--database", "mysql://x"], "use sqlite:PATH or postgres://"),
        (["serve", "--bus", "kafka://x"], "use local or nats://"),
        (["serve", "--database", "sqlite:/projects/none/ledger.db"], "the database"),
        (["serve", "--listen", "192.0.2.1:1"], "192.0.2.1:1"),
    ] {
        let said = operator.refused(&options);
        assert!(said.contains(words), "{options:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// Each would refuse the tickets of the others.
#[test]
fn several_processes_without_one_secret_are_refused_at_once() {
    let operator = Operator::new();
    let words = operator.refused(&["serve", "--bus", "nats://127.0.0.1:1", "--secret-env", "NOD_TEST_NO_SECRET"]);
    assert!(words.contains("NOD_TEST_NO_SECRET") && words.contains("one secret"), "{words}");
    // With one, it is the bus that is missing.
    let words = operator.refused(&["serve", "--bus", "nats://127.0.0.1:1"]);
    assert!(words.contains("the bus does not answer"), "{words}");
}
