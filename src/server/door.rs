//! Serves HTTP/1 to whoever comes, each connection on a task of its own. Who says nothing is not kept: a connection without a
//! request has a time limit, from its beginning and between two requests.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Serves until `end`, and then what is under way to its end. A connection may take `head_wait` for the head of its next
/// request.
pub(super) async fn serve<L: Listener>(mut listener: L, router: Router, head_wait: Duration, end: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_wait);
    let connections = TaskTracker::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => break,
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let end = end.clone();
        connections.spawn(async move {
            let mut connection = pin!(connection);
            let served = tokio::select! {
                served = connection.as_mut() => served,
                () = end.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = served {
                tracing::debug!(%error, "a connection broke");
            }
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const REQUEST: &[u8] = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the server under test runs on a task of its own")]
    async fn who_says_nothing_or_half_of_it_is_not_kept_and_an_answer_may_take_its_time() {
        let slow = get(|| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            "done"
        });
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let end = CancellationToken::new();
        let router = Router::new().route("/slow", slow);
        let served = tokio::spawn(serve(tcp, router, Duration::from_millis(300), end.clone()));
        // Nothing, half of a head, a whole one: with the last the connection is idle after the answer.
        for (said, heard) in [(&REQUEST[..0], ""), (&REQUEST[..9], ""), (REQUEST, "done")] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(said).await.unwrap();
            let mut text = String::new();
            let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_string(&mut text)).await;
            // It may be a reset where something of the request was not read.
            read.expect("it is closed").ok();
            assert!(text.ends_with(heard) && text.is_empty() == heard.is_empty(), "{said:?}: {text}");
        }
        end.cancel();
        served.await.unwrap();
    }
}
