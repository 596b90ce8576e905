//! One device's WebSocket: let in or closed with its code, then frames in their order until either side ends it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frames, WebSocket};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::link::thread::rfc3339;
use crate::link::wire::{
    self, CloseCode, FromDesktop, FromServer, Heard, PROTOCOL_VERSION, ProtocolError, Reading, Register, Registered,
};

use super::connection::{Admitted, Connection, Device, Outlet};
use super::service::{Calls, unique};

/// How long a new connection may take to say who it is.
const REGISTER_WAIT: Duration = Duration::from_secs(10);
/// How long a device may take to read one message.
const WRITE_WAIT: Duration = Duration::from_secs(20);
/// Frames of one device that make no sense before its connection is given up.
const MOST_FAULTS: u32 = 16;
/// Pings between two messages before it is a flood.
const MOST_PINGS: u32 = 100;
/// Tools that one device may offer.
const MOST_TOOLS: usize = 64;

/// How a connection is kept alive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Told to the device.
    pub(super) heartbeat: Duration,
    /// Silence that ends a connection.
    pub(super) silence: Duration,
}

/// A socket with the numbers of what it has sent and heard.
struct Line {
    socket: WebSocket,
    sequence: u64,
    heard: Heard,
    faults: u32,
    /// Since the last message.
    pings: u32,
}

/// A message that was understood.
struct Received {
    event_id: String,
    message: FromDesktop,
}

/// Why a conversation is over.
enum Over {
    /// Say why.
    Close(CloseCode),
    /// There is nobody to say it to.
    Gone,
}

/// Serves a connection from the first frame to the last. `admitted` is whom the ticket lets in, or why it does not; `end` is
/// cancelled when the server goes down.
pub(super) async fn serve(
    socket: WebSocket,
    admitted: Result<Admitted, CloseCode>,
    calls: Arc<Calls>,
    pace: Pace,
    end: CancellationToken,
) {
    let mut line = Line { socket, sequence: 0, heard: Heard::default(), faults: 0, pings: 0 };
    let registered = match admitted {
        Ok(admitted) => tokio::select! {
            registered = line.register(&admitted.device) => registered.map(|()| admitted),
            () = end.cancelled() => Err(Over::Close(CloseCode::GoingAway)),
            () = tokio::time::sleep(REGISTER_WAIT) => Err(Over::Close(CloseCode::BadProtocol)),
        },
        Err(code) => Err(Over::Close(code)),
    };
    let admitted = match registered {
        Ok(admitted) => admitted,
        Err(Over::Gone) => return,
        Err(Over::Close(code)) => {
            calls.metrics.connection_refused();
            return line.close(code).await;
        }
    };
    let (connection, outlet) = Connection::new(unique(), admitted);
    let welcome = Registered {
        connection_id: connection.id.clone(),
        server_time: rfc3339((calls.clock)()),
        heartbeat_seconds: pace.heartbeat.as_secs(),
    };
    calls.metrics.connection_opened();
    tracing::info!(connection = %connection.id, device = %connection.device.id, "a device is connected");
    // Registered before it is welcomed: what it says next finds it in the table.
    calls.connected(Arc::clone(&connection)).await;
    let over = match line.send(FromServer::Registered(welcome)).await {
        Ok(()) => line.talk(&connection, outlet, &calls, pace, &end).await,
        Err(over) => over,
    };
    calls.disconnected(&connection).await;
    tracing::info!(connection = %connection.id, "a connection has ended");
    if let Over::Close(code) = over {
        line.close(code).await;
    }
}

/// Waits until the connection is to be closed, and says why; `None` when it was forgotten.
async fn closing(closing: &mut watch::Receiver<Option<CloseCode>>) -> Option<CloseCode> {
    closing.wait_for(Option::is_some).await.ok().and_then(|code| *code)
}

impl Line {
    /// The first frame says who it is, and it must be the ticket's device.
    async fn register(&mut self, device: &Device) -> Result<(), Over> {
        // Something that is not understood is not the first message that there must be.
        let Some(Received { message: FromDesktop::Register(register), .. }) = self.receive().await? else {
            return Err(Over::Close(CloseCode::BadProtocol));
        };
        let Register { device_id, protocol_version, .. } = register;
        if protocol_version != PROTOCOL_VERSION {
            return Err(Over::Close(CloseCode::BadProtocol));
        }
        if device_id != device.id {
            return Err(Over::Close(CloseCode::Forbidden));
        }
        Ok(())
    }

    async fn talk(
        &mut self,
        connection: &Connection,
        mut outlet: Outlet,
        calls: &Calls,
        pace: Pace,
        end: &CancellationToken,
    ) -> Over {
        let mut silent_at = Instant::now() + pace.silence;
        loop {
            let step = tokio::select! {
                biased;
                code = closing(&mut outlet.closing) => return code.map_or(Over::Gone, Over::Close),
                // Before the end: calls that are taken back as the server goes down are told so.
                Some(message) = outlet.outbox.recv() => self.send(*message).await,
                () = end.cancelled() => return Over::Close(CloseCode::GoingAway),
                received = self.receive() => {
                    silent_at = Instant::now() + pace.silence;
                    match received {
                        // On the heap while it lasts: a device that says nothing has no room for it.
                        Ok(Some(received)) => Box::pin(self.answer(received, connection, calls)).await,
                        Ok(None) => Ok(()),
                        Err(over) => Err(over),
                    }
                }
                () = tokio::time::sleep_until(silent_at) => return Over::Close(CloseCode::Silence),
            };
            if let Err(over) = step {
                return over;
            }
        }
    }

    async fn answer(&mut self, received: Received, connection: &Connection, calls: &Calls) -> Result<(), Over> {
        let Received { event_id, message } = received;
        match message {
            FromDesktop::Register(_) => Err(Over::Close(CloseCode::BadProtocol)),
            FromDesktop::Tools { tools } if tools.len() > MOST_TOOLS => {
                let words = format!("A device offers at most {MOST_TOOLS} tools; this list is not taken.");
                self.object("TOO_MANY_TOOLS", &words, event_id).await
            }
            FromDesktop::Tools { tools } => {
                connection.offer(calls.connections.shared_tools(tools));
                Ok(())
            }
            FromDesktop::Result(result) => {
                let tool_call_id = result.tool_call_id.clone();
                match calls.take_result(&connection.device, result).await {
                    Ok(true) => self.send(FromServer::Ack { tool_call_id }).await,
                    Ok(false) => self.object("CALL_NOT_KNOWN", "There is no such call of this device.", event_id).await,
                    Err(error) => {
                        // Without an acknowledgement the device keeps the result and sends it again.
                        tracing::error!(%error, call = tool_call_id, "a result could not be recorded");
                        Ok(())
                    }
                }
            }
            FromDesktop::Heartbeat {} => self.send(FromServer::Heartbeat {}).await,
            FromDesktop::ProtocolError(error) => {
                tracing::warn!(code = error.code, message = error.message, "a device did not understand the server");
                Ok(())
            }
        }
    }

    /// Answers a message that is understood and cannot be taken.
    async fn object(&mut self, code: &str, message: &str, ref_event_id: String) -> Result<(), Over> {
        let error = ProtocolError { code: code.into(), message: message.into(), ref_event_id: Some(ref_event_id) };
        self.send(FromServer::ProtocolError(error)).await
    }

    /// The next message; `None` for one that was not understood and has been answered.
    async fn receive(&mut self) -> Result<Option<Received>, Over> {
        loop {
            let text = match self.socket.recv().await {
                Some(Ok(Frames::Text(text))) => text,
                Some(Ok(Frames::Ping(_) | Frames::Pong(_))) if self.pings < MOST_PINGS => {
                    self.pings += 1;
                    continue;
                }
                // A flood, or no text.
                Some(Ok(Frames::Ping(_) | Frames::Pong(_) | Frames::Binary(_))) => {
                    return Err(Over::Close(CloseCode::BadProtocol));
                }
                Some(Ok(Frames::Close(_))) | None => return Err(Over::Gone),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a connection broke");
                    return Err(Over::Close(CloseCode::BadProtocol));
                }
            };
            let reading = wire::read::<FromDesktop>(&text).map_err(|error| {
                tracing::debug!(%error, "a frame that is none");
                Over::Close(CloseCode::BadProtocol)
            })?;
            let sequence = match &reading {
                Reading::Message(frame) => frame.sequence,
                Reading::Unfit { sequence, .. } => *sequence,
            };
            self.pings = 0;
            if !self.heard.rises(sequence) {
                return Err(Over::Close(CloseCode::BadProtocol));
            }
            return match reading {
                Reading::Message(frame) => Ok(Some(Received { event_id: frame.event_id, message: frame.body })),
                Reading::Unfit { error, .. } => {
                    self.faults += 1;
                    if self.faults > MOST_FAULTS {
                        return Err(Over::Close(CloseCode::BadProtocol));
                    }
                    self.send(FromServer::ProtocolError(error)).await?;
                    Ok(None)
                }
            };
        }
    }

    async fn send(&mut self, body: FromServer) -> Result<(), Over> {
        let frame = wire::Frame { event_id: unique(), sequence: self.sequence, body };
        self.sequence += 1;
        let text = wire::write(&frame).map_err(|error| {
            tracing::error!(%error, "a message that cannot be written");
            Over::Close(CloseCode::BadProtocol)
        })?;
        match tokio::time::timeout(WRITE_WAIT, self.socket.send(Frames::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Over::Gone),
            Err(_) => Err(Over::Close(CloseCode::Silence)),
        }
    }

    async fn close(mut self, code: CloseCode) {
        let reason = match code {
            CloseCode::GoingAway => "the server goes down",
            CloseCode::BadProtocol => "bad protocol",
            CloseCode::BadTicket => "ticket bad, expired or used",
            CloseCode::Forbidden => "origin or device not allowed",
            CloseCode::Silence => "silence",
            CloseCode::Replaced => "replaced by a newer connection",
        };
        let frame = Frames::Close(Some(CloseFrame { code: code as u16, reason: reason.into() }));
        // A device that is gone cannot be told why.
        tokio::time::timeout(WRITE_WAIT, self.socket.send(frame)).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How large what a function makes is.
    fn size_of_made<A, B, C, D, E, F>(_: fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_device_that_says_nothing_takes_little_room() {
        // What is kept for each connection while it is idle, beside the socket's own kilobyte.
        let task = size_of_made(serve);
        assert!(task <= 4_096, "{task} bytes");
        // Room for 32 messages is made with the channel.
        assert_eq!(size_of::<Box<FromServer>>(), size_of::<usize>());
    }
}
