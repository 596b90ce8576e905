//! The server's doors: who may come in, and which room of the house they are led to. Nothing is decided here but that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, State, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::ir::{Message, Role};
use crate::link::agui::{Event, RunAgentInput};
use crate::link::thread::{CallView, Prepared, ThreadRow, ThreadView};
use crate::link::wire::{CloseCode, MAX_FRAME_BYTES};

use super::agent::{Agent, EVENTS};
use super::connection::{Admitted, Device};
use super::ledger::{Deletion, LedgerError, NewTurn, Place, RunStart};
use super::name::{is_call, is_name, is_thread};
use super::running::Running;
use super::service::{Calls, Context, Wanted, unique};
use super::socket::{self, Pace};
use super::ticket::{TICKET_SECONDS, TicketError, Tickets};
use super::token::{User, token_hash};

/// The longest request body, in bytes.
const MAX_BODY_BYTES: usize = 4 << 20;
/// What of a request's address reaches the log, in bytes.
const LOGGED_BYTES: usize = 512;
/// What is read of one device's socket at once: a sign of life has a tenth of it, and a device that says nothing keeps no
/// more.
const READ_BUFFER_BYTES: usize = 1 << 10;
/// What goes out to one device at once, if that much is ready at the same moment. Nothing is set aside for it.
const WRITE_BUFFER_BYTES: usize = 32 << 10;

/// What every request may need.
pub(super) struct House {
    pub(super) agent: Agent,
    pub(super) calls: Arc<Calls>,
    pub(super) tickets: Tickets,
    pub(super) origins: Vec<String>,
    pub(super) pace: Pace,
    pub(super) is_dev: bool,
    /// Whether the figures are open to whoever reaches this address.
    pub(super) open_metrics: bool,
    /// Runs and calls under way, and what stops them.
    pub(super) runs: TaskTracker,
    /// The runs by their thread.
    pub(super) running: Running,
    pub(super) stop: CancellationToken,
    /// Connections of devices, and what ends them, after the runs.
    pub(super) sockets: TaskTracker,
    pub(super) end: CancellationToken,
}

type Shared = Arc<House>;

/// All routes.
pub(super) fn router(house: Shared) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/metrics", get(metrics))
        .route("/api/desktop/connection-ticket", post(issue_ticket))
        .route("/api/desktop/ws", get(connect))
        .route("/api/turns", post(prepare_turn))
        .route("/api/agent", post(run_agent))
        .route("/api/threads", get(threads))
        .route("/api/threads/{id}", get(thread).delete(delete_thread))
        .route("/api/tool-calls/{id}", get(tool_call));
    if house.is_dev {
        router = router
            .route("/api/desktop/dev/tool-calls", post(dev_call))
            .route("/api/desktop/dev/tool-calls/{id}/cancel", post(dev_cancel));
    }
    router.layer(DefaultBodyLimit::max(MAX_BODY_BYTES)).layer(axum::middleware::from_fn(log)).with_state(house)
}

/// One line for each request. What is asked behind its path, however it is written, does not reach the log: it is a ticket.
async fn log(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    let mut line = format!("{} {}", request.method(), request.uri().path());
    line.truncate(line.floor_char_boundary(LOGGED_BYTES));
    if request.uri().query().is_some() {
        line.push_str("?ticket=***");
    }
    let response = next.run(request).await;
    tracing::info!(status = response.status().as_u16(), "{line}");
    response
}

/// Why a request is not answered as it hoped.
pub(super) enum Refused {
    Unauthorized,
    NotFound,
    Conflict(&'static str),
    Bad(&'static str),
    /// A name of the client's that cannot be kept.
    Name(&'static str),
    Body(StatusCode, String),
    /// The server answers nobody.
    NoModel,
    Broken,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, message) = match self {
            Self::Unauthorized => {
                (StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "Send a user token: Authorization: Bearer …")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND", "There is nothing of yours at this address."),
            Self::Conflict(message) => (StatusCode::CONFLICT, "CONFLICT", message),
            Self::Bad(message) => (StatusCode::BAD_REQUEST, "BAD_REQUEST", message),
            Self::Name(message) => (StatusCode::BAD_REQUEST, "INVALID_ID", message),
            Self::Body(status, ref message) => (status, "BAD_REQUEST", message.as_str()),
            Self::NoModel => (
                StatusCode::SERVICE_UNAVAILABLE,
                "NO_MODEL",
                "This server has no model: its operator starts it with --model.",
            ),
            Self::Broken => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", "The server's database does not answer."),
        };
        (status, Json(json!({"error": {"code": code, "message": message}}))).into_response()
    }
}

impl From<LedgerError> for Refused {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::NotFound => Self::NotFound,
            LedgerError::IdUsed => {
                Self::Conflict("This run was begun before, or its thread was deleted: choose other ids.")
            }
            LedgerError::UnderWay => {
                Self::Conflict("Another answer is under way in this conversation: wait for its end, or stop it.")
            }
            LedgerError::Database { .. } | LedgerError::Address { .. } | LedgerError::NameTaken { .. } => {
                tracing::error!(%error, "the ledger");
                Self::Broken
            }
        }
    }
}

/// A body of JSON; what is wrong with it is told like everything else.
struct Body<T>(T);

impl<T: serde::de::DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: axum::extract::Request, house: &Shared) -> Result<Self, Refused> {
        match Json::from_request(request, house).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Refused::Body(rejection.status(), rejection.body_text())),
        }
    }
}

impl FromRequestParts<Shared> for User {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, house: &Shared) -> Result<Self, Refused> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token =
            header.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token else { return Err(Refused::Unauthorized) };
        let token = token_hash(token.trim());
        let name = house.agent.ledger.user_of_token(&token).await?.ok_or(Refused::Unauthorized)?;
        Ok(Self { name, token })
    }
}

async fn metrics(State(house): State<Shared>, user: Result<User, Refused>) -> Result<Response, Refused> {
    if !house.open_metrics {
        user?;
    }
    let text = house.calls.metrics.text(&house.calls.connections);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

#[derive(Deserialize)]
struct TicketWanted {
    device_id: String,
}

async fn issue_ticket(
    State(house): State<Shared>,
    User { name: user, token }: User,
    Body(wanted): Body<TicketWanted>,
) -> Result<Json<Value>, Refused> {
    device_name(&wanted.device_id)?;
    let device = Device { user, id: wanted.device_id };
    let ticket = house.tickets.issue(&device, token, unique(), (house.calls.clock)()).map_err(|error| {
        tracing::error!(%error, "a ticket could not be signed");
        Refused::Broken
    })?;
    Ok(Json(json!({"ticket": ticket, "expires_in": TICKET_SECONDS})))
}

fn device_name(id: &str) -> Result<(), Refused> {
    if is_name(id) {
        return Ok(());
    }
    Err(Refused::Name("The device's id must be 1 to 128 printable ASCII characters."))
}

/// The upgrade is always accepted and closed with a code after, so that the desktop knows why.
async fn connect(
    State(house): State<Shared>,
    Query(mut shown): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES);
    let ticket = shown.remove("ticket").unwrap_or_default();
    upgrade.on_upgrade(move |socket| async move {
        let admitted = admit(&house, &headers, &ticket).await;
        // The request's head lies in a buffer of HTTP's, which is not kept for as long as a device is connected.
        drop((headers, ticket));
        let served = socket::serve(socket, admitted, Arc::clone(&house.calls), house.pace, house.end.clone());
        house.sockets.track_future(served).await;
    })
}

async fn admit(house: &House, headers: &HeaderMap, ticket: &str) -> Result<Admitted, CloseCode> {
    if let Some(origin) = headers.get(header::ORIGIN) {
        let is_listed = origin.to_str().is_ok_and(|origin| house.origins.iter().any(|listed| listed == origin));
        if !is_listed {
            return Err(CloseCode::Forbidden);
        }
    }
    let ledger = house.agent.ledger.as_ref();
    house.tickets.consume(ticket, ledger, (house.calls.clock)()).await.map_err(|error| match error {
        TicketError::Refused => CloseCode::BadTicket,
        // Nothing is wrong with the ticket: the device is to come again.
        TicketError::Ledger(error) => {
            tracing::error!(%error, "the ledger");
            CloseCode::GoingAway
        }
    })
}

#[derive(Deserialize)]
struct TurnWanted {
    thread_id: Option<String>,
    input: String,
    device_id: Option<String>,
    /// Branch off before this turn of the thread: an edit or another try.
    before_turn_id: Option<String>,
}

async fn prepare_turn(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Body(wanted): Body<TurnWanted>,
) -> Result<Json<Prepared>, Refused> {
    if wanted.input.trim().is_empty() {
        return Err(Refused::Bad("input is empty."));
    }
    wanted.device_id.as_deref().map_or(Ok(()), device_name)?;
    let place = match (wanted.thread_id, wanted.before_turn_id) {
        (Some(thread), _) if !is_thread(&thread) => return Err(Refused::NotFound),
        (_, Some(turn)) if !is_name(&turn) => return Err(Refused::NotFound),
        (Some(thread), None) => Place::Known(thread),
        (None, None) => Place::Named(unique()),
        (Some(parent), Some(before_turn)) => Place::Branch { thread: unique(), parent, before_turn },
        // A turn of no thread.
        (None, Some(_)) => return Err(Refused::NotFound),
    };
    let now = (house.calls.clock)();
    let prepared = house.agent.ledger.prepare_turn(NewTurn {
        user,
        place,
        turn_id: unique(),
        run_id: unique(),
        input: Message::text(Role::User, wanted.input, now),
        device_id: wanted.device_id,
        now,
    });
    Ok(Json(prepared.await?))
}

async fn run_agent(
    State(house): State<Shared>,
    user: User,
    Body(input): Body<RunAgentInput>,
) -> Result<Response, Refused> {
    if house.agent.model.is_empty() {
        return Err(Refused::NoModel);
    }
    let (sender, events) = mpsc::channel(EVENTS);
    let (begun, is_begun) = oneshot::channel();
    let cancel = house.stop.child_token();
    let stop_with_stream = cancel.clone().drop_guard();
    let running = Arc::clone(&house);
    // From its beginning no part of the request: when the client goes away, what the run owes the ledger is still done.
    house.runs.spawn(async move {
        let start = match begin(&running, &user.name, input).await {
            Ok(start) => start,
            // Whom it was for may have gone.
            Err(refused) => return drop(begun.send(Err(refused))),
        };
        running.calls.metrics.run_started();
        let _underway = running.running.begin(&user, &start.ids, cancel.clone());
        drop(begun.send(Ok(())));
        running.agent.run(&user.name, start, sender, cancel).await;
    });
    is_begun.await.map_err(|_broken| Refused::Broken)??;
    let stream = sse(events, stop_with_stream);
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

/// The prepared run of that id, or one made from the client's last words.
async fn begin(house: &House, user: &str, input: RunAgentInput) -> Result<RunStart, Refused> {
    if !is_thread(&input.thread_id) || !is_name(&input.run_id) {
        return Err(Refused::Name(
            "threadId and runId must be 1 to 128 printable ASCII characters, threadId without a colon.",
        ));
    }
    let device_id = input.device_id();
    device_id.as_deref().map_or(Ok(()), device_name)?;
    let ledger = house.agent.ledger.as_ref();
    let now = (house.calls.clock)();
    let replica = &house.calls.replica;
    if let Some(start) = ledger.start_run(user, &input.run_id, replica, now).await? {
        return Ok(start);
    }
    let words = input.last_words().ok_or(Refused::Bad("There is no message of a person in it."))?;
    let prepared = ledger.prepare_turn(NewTurn {
        user: user.to_owned(),
        place: Place::Named(input.thread_id),
        turn_id: unique(),
        run_id: input.run_id,
        input: Message::text(Role::User, words, now),
        device_id,
        now,
    });
    let prepared = prepared.await?;
    let start = ledger.start_run(user, &prepared.run_id, replica, now).await?;
    start.ok_or_else(|| LedgerError::IdUsed.into())
}

/// The events as an SSE stream; dropping it stops the run.
fn sse(events: mpsc::Receiver<Event>, stop: DropGuard) -> impl Stream<Item = Result<SseEvent, axum::Error>> {
    futures_util::stream::unfold((events, stop), |(mut events, stop)| async move {
        events.recv().await.map(|event| (event, (events, stop)))
    })
    .map(|event| SseEvent::default().json_data(event))
}

async fn threads(State(house): State<Shared>, User { name: user, .. }: User) -> Result<Json<Vec<ThreadRow>>, Refused> {
    Ok(Json(house.agent.ledger.threads(&user).await?))
}

async fn thread(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Path(id): Path<String>,
) -> Result<Json<ThreadView>, Refused> {
    if !is_thread(&id) {
        return Err(Refused::NotFound);
    }
    house.agent.ledger.thread(&user, &id).await?.map(Json).ok_or(Refused::NotFound)
}

async fn delete_thread(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    if !is_thread(&id) {
        return Err(Refused::NotFound);
    }
    // Its runs end first, as if each had been stopped: calls are taken back, and questions about them close.
    house.running.stop(&user, &id).await;
    match house.agent.ledger.delete_thread(&user, &id).await? {
        Deletion::Done => Ok(StatusCode::NO_CONTENT),
        Deletion::UnderWay => {
            Err(Refused::Conflict("It is being answered, perhaps by another process of this server: stop that first."))
        }
        Deletion::NotFound => Err(Refused::NotFound),
    }
}

async fn tool_call(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Path(id): Path<String>,
) -> Result<Json<CallView>, Refused> {
    if !is_call(&id) {
        return Err(Refused::NotFound);
    }
    house.agent.ledger.call(&user, &id).await?.map(Json).ok_or(Refused::NotFound)
}

#[derive(Deserialize)]
struct DevCall {
    device_id: String,
    tool_name: String,
    arguments: Value,
    tool_call_id: Option<String>,
}

/// One call without a model. What was refused before it was written down has no executions.
#[derive(Serialize)]
struct DevAnswer {
    tool_call_id: String,
    status: &'static str,
    tool_name: String,
    arguments: Value,
    error: Value,
    executions: [Value; 0],
}

async fn dev_call(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Body(wanted): Body<DevCall>,
) -> Result<Response, Refused> {
    device_name(&wanted.device_id)?;
    let tool_call_id = wanted.tool_call_id.unwrap_or_else(|| format!("dev:{}", unique()));
    if !is_call(&tool_call_id) {
        return Err(Refused::Name("tool_call_id must be 1 to 257 printable ASCII characters."));
    }
    let context = Context {
        user: user.clone(),
        device_id: Some(wanted.device_id),
        thread_id: String::new(),
        run_id: String::new(),
    };
    let call = Wanted {
        tool_call_id: tool_call_id.clone(),
        tool_name: wanted.tool_name.clone(),
        arguments: wanted.arguments.clone(),
    };
    let calls = Arc::clone(&house.calls);
    let cancel = house.stop.child_token();
    let ended = house.runs.spawn(async move { calls.call(&context, call, &cancel).await }).await;
    let outcome = ended.map_err(|broken| {
        tracing::error!(%broken, "a call broke");
        Refused::Broken
    })?;
    if let Err(error) = &outcome
        && (error.code == "IDEMPOTENCY_CONFLICT" || house.agent.ledger.call(&user, &tool_call_id).await?.is_none())
    {
        let (tool_name, arguments) = (wanted.tool_name, wanted.arguments);
        let error = json!(error);
        let answer = DevAnswer { tool_call_id, status: "rejected", tool_name, arguments, error, executions: [] };
        return Ok(Json(answer).into_response());
    }
    let call = house.agent.ledger.call(&user, &tool_call_id).await?.ok_or(Refused::NotFound)?;
    Ok(Json(call).into_response())
}

#[derive(Deserialize)]
struct DevCancel {
    device_id: Option<String>,
}

async fn dev_cancel(
    State(house): State<Shared>,
    User { name: user, .. }: User,
    Path(id): Path<String>,
    body: Option<Json<DevCancel>>,
) -> Result<StatusCode, Refused> {
    if !is_call(&id) {
        return Err(Refused::NotFound);
    }
    let device = match body.and_then(|Json(body)| body.device_id) {
        Some(device) => {
            device_name(&device)?;
            device
        }
        None => house.agent.ledger.device_of_call(&user, &id).await?.ok_or(Refused::NotFound)?,
    };
    let device = Device { user, id: device };
    house.calls.take_back(&device, None, &id, "CANCELLED_BY_DEVELOPER").await;
    Ok(StatusCode::ACCEPTED)
}
