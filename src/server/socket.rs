//! One device's WebSocket: let in or closed with its code, then frames in their order until either side ends it.
//! What is to be sent at the same moment goes out together, and results that come one after the other share a commit.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frames, WebSocket};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::link::thread::rfc3339;
use crate::link::wire::{
    self, CallResult, CloseCode, Frame, FromDesktop, FromServer, Heard, PROTOCOL_VERSION, ProtocolError, Reading,
    Register, Registered,
};

use super::connection::{Admitted, Connection, Device, Outlet};
use super::name;
use super::service::{Calls, step, unique};

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
/// The longest list of tools as JSON, in bytes: it is kept, and told to other processes over the bus.
const MOST_TOOL_BYTES: usize = 256 << 10;
/// Results of one device that may be on their way into the ledger, and their bytes; it is not read from until there are
/// fewer.
const MOST_RECORDING: usize = 64;
const MOST_RECORDING_BYTES: usize = 16 << 20;
/// Messages that go out to a device with one write.
const MOST_AT_ONCE: usize = 2 * MOST_RECORDING;
/// What of a device's complaint reaches the log, in letters.
const LOGGED_LETTERS: usize = 200;

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
    /// The connection's, and the beginning of every event's.
    id: String,
    sequence: u64,
    heard: Heard,
    faults: u32,
    /// The last message's bytes.
    bytes: usize,
    /// Since the last message.
    pings: u32,
}

/// What is to be told to a device: what others have for it, and what became of its results.
struct Telling<Recorded> {
    outbox: mpsc::Receiver<Box<FromServer>>,
    /// Results on their way into the ledger.
    recording: FuturesUnordered<Recorded>,
    /// Their bytes.
    recording_bytes: usize,
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
    let mut line = Line { socket, id: unique(), sequence: 0, heard: Heard::default(), faults: 0, bytes: 0, pings: 0 };
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
    let (connection, outlet) = Connection::new(line.id.clone(), admitted);
    let welcome = Registered {
        connection_id: connection.id().to_owned(),
        server_time: rfc3339((calls.clock)()),
        heartbeat_seconds: pace.heartbeat.as_secs(),
    };
    calls.metrics.connection_opened();
    tracing::info!(connection = %connection.id(), device = %connection.device.id, "a device is connected");
    // Registered before it is welcomed: what it says next finds it in the table.
    calls.connected(Arc::clone(&connection)).await;
    let over = match line.send(FromServer::Registered(welcome)).await {
        Ok(()) => line.talk(&connection, outlet, &calls, pace, &end).await,
        Err(over) => over,
    };
    calls.disconnected(&connection).await;
    tracing::info!(connection = %connection.id(), "a connection has ended");
    if let Over::Close(code) = over {
        line.close(code).await;
    }
}

/// Waits until the connection is to be closed, and says why; `None` when it was forgotten.
async fn closing(closing: &mut watch::Receiver<Option<CloseCode>>) -> Option<CloseCode> {
    closing.wait_for(Option::is_some).await.ok().and_then(|code| *code)
}

/// Takes a result in, and gives what the device is told of it. One that cannot be kept ends the connection: the device keeps
/// it, and sends it again when it is back.
async fn record(calls: &Calls, device: &Device, result: CallResult, event_id: String) -> Result<FromServer, Over> {
    let not_known = objection("CALL_NOT_KNOWN", "There is no such call of this device.", event_id);
    if !name::is_call(&result.tool_call_id) || !name::is_name(&result.execution_id) {
        return Ok(not_known);
    }
    let tool_call_id = result.tool_call_id.clone();
    match calls.take_result(device, result).await {
        Ok(true) => Ok(FromServer::Ack { tool_call_id }),
        Ok(false) => Ok(not_known),
        Err(error) => {
            tracing::error!(%error, call = tool_call_id, "a result could not be recorded");
            Err(Over::Close(CloseCode::GoingAway))
        }
    }
}

/// A device's words as they may stand in a line of the log.
fn loggable(words: &str) -> String {
    words.chars().take(LOGGED_LETTERS).flat_map(char::escape_debug).collect()
}

/// The answer to a message that is understood and cannot be taken.
fn objection(code: &str, message: &str, ref_event_id: String) -> FromServer {
    FromServer::ProtocolError(ProtocolError {
        code: code.into(),
        message: message.into(),
        ref_event_id: Some(ref_event_id),
    })
}

impl<Recorded: Future<Output = (usize, Result<FromServer, Over>)>> Telling<Recorded> {
    /// Whether another result may be taken in.
    fn has_room(&self) -> bool {
        self.recording.len() < MOST_RECORDING && self.recording_bytes < MOST_RECORDING_BYTES
    }

    /// Waits for the next message. May be given up at any time.
    async fn next(&mut self) -> Result<FromServer, Over> {
        tokio::select! {
            biased;
            Some(message) = self.outbox.recv() => Ok(*message),
            Some(recorded) = self.recording.next() => self.recorded(recorded),
            else => std::future::pending().await,
        }
    }

    /// The next message, if it is there at this moment.
    fn ready(&mut self) -> Option<Result<FromServer, Over>> {
        if let Ok(message) = self.outbox.try_recv() {
            return Some(Ok(*message));
        }
        let recorded = self.recording.next().now_or_never().flatten()?;
        Some(self.recorded(recorded))
    }

    fn recorded(&mut self, (bytes, told): (usize, Result<FromServer, Over>)) -> Result<FromServer, Over> {
        self.recording_bytes = self.recording_bytes.saturating_sub(bytes);
        told
    }
}

impl Line {
    /// The first frame says who it is, and it must be the ticket's device.
    async fn register(&mut self, device: &Device) -> Result<(), Over> {
        // Something that is not understood is not the first message that there must be.
        let Reading::Message(Frame { body: FromDesktop::Register(register), .. }) = self.receive().await? else {
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
        let mut heard_at = Instant::now();
        let mut silence = pin!(tokio::time::sleep_until(heard_at + pace.silence));
        // Made once: each takes its place in a list that all connections share.
        let mut closing = pin!(closing(&mut outlet.closing));
        let mut end = pin!(end.cancelled());
        let mut telling = Telling { outbox: outlet.outbox, recording: FuturesUnordered::new(), recording_bytes: 0 };
        let over = loop {
            let step = tokio::select! {
                biased;
                code = &mut closing => break code.map_or(Over::Gone, Over::Close),
                // Before the end: calls that are taken back as the server goes down are told so.
                first = telling.next() => {
                    // Who else has something for this device at this moment comes first, and one commit ends many waits:
                    // one write for all of it.
                    tokio::task::yield_now().await;
                    let mut is_acknowledged = false;
                    let mut broken = None;
                    let mut all = std::iter::once(first).chain(std::iter::from_fn(|| telling.ready())).map_while(|told| {
                        is_acknowledged |= matches!(told, Ok(FromServer::Ack { .. }));
                        told.map_err(|over| broken = Some(over)).ok()
                    });
                    let sent = self.send_all(&mut all).await;
                    if is_acknowledged {
                        step("acknowledged");
                    }
                    sent.and_then(|()| broken.map_or(Ok(()), Err))
                }
                () = &mut end => break Over::Close(CloseCode::GoingAway),
                received = self.receive(), if telling.has_room() => {
                    heard_at = Instant::now();
                    match received {
                        Ok(Reading::Message(Frame { event_id, body: FromDesktop::Result(result), .. })) => {
                            let bytes = self.bytes;
                            let recorded = record(calls, &connection.device, result, event_id);
                            telling.recording_bytes += bytes;
                            telling.recording.push(async move { (bytes, recorded.await) });
                            Ok(())
                        }
                        // On the heap while it lasts: a device that says nothing has no room for it.
                        Ok(reading) => Box::pin(self.answer(reading, connection, calls)).await,
                        Err(over) => Err(over),
                    }
                }
                () = &mut silence => {
                    let silent_at = heard_at + pace.silence;
                    if silent_at <= Instant::now() {
                        break Over::Close(CloseCode::Silence);
                    }
                    silence.as_mut().reset(silent_at);
                    Ok(())
                }
            };
            if let Err(over) = step {
                break over;
            }
        };
        // What has come is kept, and whoever waits for it is woken, though the device cannot be told any more.
        while telling.recording.next().await.is_some() {}
        over
    }

    /// Answers all but results.
    async fn answer(
        &mut self,
        reading: Reading<FromDesktop>,
        connection: &Connection,
        calls: &Calls,
    ) -> Result<(), Over> {
        let Frame { event_id, body, .. } = match reading {
            Reading::Message(frame) => frame,
            Reading::Unfit { error, .. } => {
                self.fault()?;
                return self.send(FromServer::ProtocolError(error)).await;
            }
        };
        match body {
            FromDesktop::Register(_) => Err(Over::Close(CloseCode::BadProtocol)),
            FromDesktop::Tools { tools } if tools.len() > MOST_TOOLS || self.bytes > MOST_TOOL_BYTES => {
                let words = format!(
                    "A device offers at most {MOST_TOOLS} tools in {MOST_TOOL_BYTES} bytes; this list is not taken."
                );
                self.send(objection("TOO_MANY_TOOLS", &words, event_id)).await
            }
            FromDesktop::Tools { tools } => {
                connection.offer(calls.connections.shared_tools(tools));
                Ok(())
            }
            FromDesktop::Result(result) => {
                let told = record(calls, &connection.device, result, event_id).await?;
                self.send(told).await
            }
            FromDesktop::Heartbeat {} => self.send(FromServer::Heartbeat {}).await,
            FromDesktop::ProtocolError(error) => {
                let (code, words) = (loggable(&error.code), loggable(&error.message));
                tracing::warn!(code, words, "a device did not understand the server");
                self.fault()
            }
        }
    }

    /// One more frame that makes no sense, or complains of none that was sent.
    fn fault(&mut self) -> Result<(), Over> {
        self.faults += 1;
        if self.faults > MOST_FAULTS { Err(Over::Close(CloseCode::BadProtocol)) } else { Ok(()) }
    }

    /// The next frame. May be given up at any time: nothing is lost by that.
    async fn receive(&mut self) -> Result<Reading<FromDesktop>, Over> {
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
            self.bytes = text.len();
            if !self.heard.rises(sequence) {
                return Err(Over::Close(CloseCode::BadProtocol));
            }
            return Ok(reading);
        }
    }

    async fn send(&mut self, body: FromServer) -> Result<(), Over> {
        self.send_all([body]).await
    }

    /// Sends messages with one write, as many as may go out at once.
    async fn send_all(&mut self, messages: impl IntoIterator<Item = FromServer>) -> Result<(), Over> {
        let sending = async {
            for message in messages.into_iter().take(MOST_AT_ONCE) {
                self.feed(message).await?;
            }
            self.socket.flush().await.map_err(|_broken| Over::Gone)
        };
        tokio::time::timeout(WRITE_WAIT, sending).await.unwrap_or(Err(Over::Close(CloseCode::Silence)))
    }

    /// Has a message wait for the next flush.
    async fn feed(&mut self, body: FromServer) -> Result<(), Over> {
        let frame = Frame { event_id: format!("{}.{}", self.id, self.sequence), sequence: self.sequence, body };
        self.sequence += 1;
        let text = wire::write(&frame).map_err(|error| {
            tracing::error!(%error, "a message that cannot be written");
            Over::Close(CloseCode::BadProtocol)
        })?;
        self.socket.feed(Frames::Text(text.into())).await.map_err(|_broken| Over::Gone)
    }

    async fn close(mut self, code: CloseCode) {
        let reason = match code {
            CloseCode::GoingAway => "the server cannot go on; connect again",
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
