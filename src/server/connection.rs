//! Which devices are connected to this process, and who in it waits for which call. Only in memory: after a restart the
//! ledger and the desktops' own records say what happened. No database and no WebSocket here.
#![expect(clippy::disallowed_types, reason = "the server shares what is in memory by short locks, like the engine")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, watch};

use crate::link::wire::{CloseCode, FromServer, OfferedTool};

use super::bus::{Listener, News, Question, Reply};
use super::ledger::{Dispatch, Ended};

/// Messages that may wait for a device that reads slowly; one more, and its connection is given up.
pub(super) const OUTBOX_MESSAGES: usize = 64;

/// A device of a user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Device {
    pub(super) user: String,
    pub(super) id: String,
}

/// Whom a ticket lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Admitted {
    pub(super) device: Device,
    /// The hash of the user's token that the ticket was given for: it ends with that.
    pub(super) token: String,
    /// The place of its ticket in the order of all that were used.
    pub(super) place: i64,
}

/// Which of a device's connections is the newer one: the greater. The ledger gives the order, so that processes that hear
/// of two connections in different orders, however late, agree on the one that counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Rank {
    /// The place of its ticket.
    place: i64,
    /// The connection. Decides between two that took the same place at the same moment.
    pub(super) connection_id: String,
}

/// One connection of one device to this process.
pub(super) struct Connection {
    pub(super) rank: Rank,
    pub(super) device: Device,
    /// The hash of the user's token that let it in.
    token: String,
    tools: Mutex<Arc<Vec<OfferedTool>>>,
    // Boxed: a channel has room for 32 messages from its first moment on.
    outbox: mpsc::Sender<Box<FromServer>>,
    closing: watch::Sender<Option<CloseCode>>,
}

/// The other end of a connection: what its socket writes, and when it closes.
pub(super) struct Outlet {
    pub(super) outbox: mpsc::Receiver<Box<FromServer>>,
    pub(super) closing: watch::Receiver<Option<CloseCode>>,
}

/// What has happened to a call that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Woken {
    /// A result is in the ledger; here it is too where this process wrote it.
    Result(Option<Arc<Ended>>),
    /// The connection that carried the call is gone.
    Lost,
}

/// The connections of this process.
#[derive(Default)]
pub(super) struct Connections {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    by_device: HashMap<Device, Arc<Connection>>,
    /// By user and call.
    waiting: HashMap<(String, String), Vec<Waiting>>,
    /// The list of tools that came last: nearly every device has the same, and it is kept once.
    tools: Arc<Vec<OfferedTool>>,
}

struct Waiting {
    execution_id: String,
    device: Device,
    rank: Rank,
    slot: Arc<Slot>,
}

/// What has happened since whoever waits was last told. A `watch` does as much and costs each call more.
#[derive(Default)]
struct Slot {
    latest: Mutex<Option<Woken>>,
    told: Notify,
}

impl Slot {
    fn tell(&self, woken: Woken) {
        *lock(&self.latest) = Some(woken);
        self.told.notify_one();
    }
}

/// A wait for a call's result. Dropping it ends the wait.
pub(super) struct Wait<'a> {
    connections: &'a Connections,
    call: (String, String),
    execution_id: String,
    slot: Arc<Slot>,
}

#[cfg(test)]
impl Rank {
    /// The rank of the connection whose ticket was used in this place.
    pub(super) fn test(place: i64) -> Self {
        Self { place, connection_id: format!("k{place}") }
    }
}

impl Connection {
    pub(super) fn new(id: String, Admitted { device, token, place }: Admitted) -> (Arc<Self>, Outlet) {
        let (sender, outbox) = mpsc::channel(OUTBOX_MESSAGES);
        let (closing, closed) = watch::channel(None);
        let rank = Rank { place, connection_id: id };
        let connection = Self { rank, device, token, tools: Mutex::default(), outbox: sender, closing };
        (Arc::new(connection), Outlet { outbox, closing: closed })
    }

    pub(super) fn id(&self) -> &str {
        &self.rank.connection_id
    }

    /// What other processes are told of it.
    pub(super) fn registered(&self) -> News {
        let Device { user, id } = self.device.clone();
        News::Registered { user, device_id: id, rank: self.rank.clone() }
    }

    /// Queues a message; false when the device does not read, or is gone: its connection is closed then.
    pub(super) fn send(&self, message: FromServer) -> bool {
        let is_queued = self.outbox.try_send(Box::new(message)).is_ok();
        if !is_queued {
            self.close(CloseCode::Silence);
        }
        is_queued
    }

    /// Has its socket close, for the first reason given.
    pub(super) fn close(&self, code: CloseCode) {
        self.closing.send_if_modified(|closing| {
            let is_first = closing.is_none();
            closing.get_or_insert(code);
            is_first
        });
    }

    pub(super) fn offer(&self, tools: Arc<Vec<OfferedTool>>) {
        *lock(&self.tools) = tools;
    }

    pub(super) fn tools(&self) -> Arc<Vec<OfferedTool>> {
        Arc::clone(&lock(&self.tools))
    }
}

impl Connections {
    /// Makes a connection its device's own. An older one is closed, and what waits on it is woken. False when the device has
    /// a newer one: then this one is closed.
    pub(super) fn register(&self, connection: Arc<Connection>) -> bool {
        let mut table = lock(&self.table);
        let (device, rank) = (connection.device.clone(), connection.rank.clone());
        if table.by_device.get(&device).is_some_and(|current| current.rank > rank) {
            connection.close(CloseCode::Replaced);
            return false;
        }
        if let Some(older) = table.by_device.insert(device.clone(), connection) {
            older.close(CloseCode::Replaced);
        }
        table.wake_lost(|waiting| waiting.device == device && waiting.rank < rank);
        true
    }

    /// A connection has ended: it is forgotten if it is still its device's own, and what waits on it is woken.
    pub(super) fn unregister(&self, connection: &Connection) {
        let mut table = lock(&self.table);
        if table.by_device.get(&connection.device).is_some_and(|current| current.rank == connection.rank) {
            table.by_device.remove(&connection.device);
        }
        table.wake_lost(|waiting| waiting.rank == connection.rank);
    }

    /// Another process says that a device has connected there: what is older here is closed. News may come late: what is
    /// newer stays, and is told in return to whoever has not heard of it.
    pub(super) fn registered_elsewhere(&self, device: &Device, rank: &Rank) -> Option<News> {
        let mut table = lock(&self.table);
        if table.by_device.get(device).is_some_and(|current| current.rank < *rank)
            && let Some(older) = table.by_device.remove(device)
        {
            older.close(CloseCode::Replaced);
        }
        table.wake_lost(|waiting| waiting.device == *device && waiting.rank < *rank);
        table.by_device.get(device).filter(|newer| newer.rank > *rank).map(|newer| newer.registered())
    }

    /// Another process says that a connection is gone.
    pub(super) fn lost_elsewhere(&self, connection_id: &str) {
        lock(&self.table).wake_lost(|waiting| waiting.rank.connection_id == connection_id);
    }

    /// The hashes of the tokens with which somebody is connected.
    pub(super) fn tokens(&self) -> HashSet<String> {
        let table = lock(&self.table);
        let tokens: HashSet<&str> = table.by_device.values().map(|connection| connection.token.as_str()).collect();
        tokens.into_iter().map(str::to_owned).collect()
    }

    /// Ends what was let in with tokens that count no more.
    pub(super) fn revoke(&self, tokens: &[String]) {
        for connection in lock(&self.table).by_device.values() {
            if tokens.contains(&connection.token) {
                connection.close(CloseCode::BadTicket);
            }
        }
    }

    /// Whether somebody here waits for a dispatch.
    pub(super) fn is_waited_for(&self, dispatch: &Dispatch) -> bool {
        let call = (dispatch.user.clone(), dispatch.tool_call_id.clone());
        let table = lock(&self.table);
        table.waiting.get(&call).is_some_and(|all| all.iter().any(|one| one.execution_id == dispatch.execution_id))
    }

    /// A device's list of tools, as one that is kept already where it is the same.
    pub(super) fn shared_tools(&self, tools: Vec<OfferedTool>) -> Arc<Vec<OfferedTool>> {
        let mut table = lock(&self.table);
        if *table.tools != tools {
            table.tools = Arc::new(tools);
        }
        Arc::clone(&table.tools)
    }

    pub(super) fn get(&self, device: &Device) -> Option<Arc<Connection>> {
        lock(&self.table).by_device.get(device).cloned()
    }

    /// Starts to wait for a call; begun before it is sent, so that no answer can come too early.
    pub(super) fn wait(&self, tool_call_id: &str, execution_id: &str, device: &Device, rank: &Rank) -> Wait<'_> {
        let slot = Arc::<Slot>::default();
        let waiting = Waiting {
            execution_id: execution_id.to_owned(),
            device: device.clone(),
            rank: rank.clone(),
            slot: Arc::clone(&slot),
        };
        let call = (device.user.clone(), tool_call_id.to_owned());
        lock(&self.table).waiting.entry(call.clone()).or_default().push(waiting);
        Wait { connections: self, call, execution_id: execution_id.to_owned(), slot }
    }

    /// Wakes everybody who waits for a user's call. They may go on waiting: the result may be that of an earlier dispatch, and
    /// one that another may still replace.
    pub(super) fn resolve(&self, user: &str, tool_call_id: &str, ended: Option<&Arc<Ended>>) {
        let call = (user.to_owned(), tool_call_id.to_owned());
        for waiting in lock(&self.table).waiting.get(&call).into_iter().flatten() {
            waiting.slot.tell(Woken::Result(ended.cloned()));
        }
    }

    /// How many devices are connected and how many calls wait, for the figures.
    pub(super) fn counts(&self) -> (usize, usize) {
        let table = lock(&self.table);
        (table.by_device.len(), table.waiting.values().map(Vec::len).sum())
    }
}

impl Listener for Connections {
    fn answer(&self, device: &Device, question: Question) -> Option<Reply> {
        let here = self.get(device)?;
        Some(match question {
            Question::Describe => Reply::Device { rank: here.rank.clone(), tools: here.tools().as_ref().clone() },
            Question::Dispatch { connection_id, .. } if connection_id != here.id() => Reply::Gone,
            Question::Dispatch { request, .. } => {
                if here.send(FromServer::Request(request)) {
                    Reply::Sent
                } else {
                    Reply::Gone
                }
            }
            Question::Cancel { connection_id: Some(id), .. } if id != here.id() => Reply::Gone,
            Question::Cancel { tool_call_id, reason, .. } => {
                here.send(FromServer::Cancel { tool_call_id, reason });
                Reply::Sent
            }
        })
    }

    fn retell(&self) -> Vec<News> {
        let table = lock(&self.table);
        table.by_device.values().map(|connection| connection.registered()).collect()
    }

    fn hear(&self, news: News) -> Option<News> {
        match news {
            News::Registered { user, device_id, rank } => {
                return self.registered_elsewhere(&Device { user, id: device_id }, &rank);
            }
            News::Lost { connection_id } => self.lost_elsewhere(&connection_id),
            News::Result { user, tool_call_id } => self.resolve(&user, &tool_call_id, None),
        }
        None
    }
}

impl Table {
    fn wake_lost(&mut self, is_lost: impl Fn(&Waiting) -> bool) {
        self.waiting.retain(|_, waiting| {
            for lost in waiting.extract_if(.., |waiting| is_lost(waiting)) {
                lost.slot.tell(Woken::Lost);
            }
            !waiting.is_empty()
        });
    }
}

impl Wait<'_> {
    /// What happens next to the call. Of several things since the last time, the latest.
    pub(super) async fn next(&mut self) -> Woken {
        loop {
            if let Some(woken) = lock(&self.slot.latest).take() {
                return woken;
            }
            // What is told between the look and this is not missed: a `Notify` remembers one.
            self.slot.told.notified().await;
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.connections.table);
        if let Some(waiting) = table.waiting.get_mut(&self.call) {
            waiting.retain(|waiting| waiting.execution_id != self.execution_id);
            if waiting.is_empty() {
                table.waiting.remove(&self.call);
            }
        }
    }
}

/// A panic while the table was held leaves it as it was between two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::link::thread::CallStatus;

    fn device() -> Device {
        Device { user: "ann".into(), id: "laptop".into() }
    }

    /// The connection whose ticket was used in this place.
    fn connection(place: i64) -> (Arc<Connection>, Outlet) {
        Connection::new(format!("k{place}"), Admitted { device: device(), token: "hash".into(), place })
    }

    #[test]
    fn a_revocation_ends_what_came_in_with_that_token() {
        let connections = Connections::default();
        let (connection, outlet) = connection(1);
        connections.register(connection);
        assert_eq!(connections.tokens(), HashSet::from(["hash".to_owned()]));
        connections.revoke(&["another of that name".to_owned()]);
        assert_eq!(*outlet.closing.borrow(), None);
        connections.revoke(&["hash".to_owned()]);
        assert_eq!(*outlet.closing.borrow(), Some(CloseCode::BadTicket));
    }

    #[test]
    fn a_newer_connection_takes_the_place_and_wakes_who_waits_on_the_older() {
        let connections = Connections::default();
        let (first, outlet) = connection(1);
        connections.register(first);
        let mut wait = connections.wait("t:c", "x1", &device(), &Rank::test(1));
        let (second, _outlet) = connection(2);
        connections.register(second);
        assert_eq!(*outlet.closing.borrow(), Some(CloseCode::Replaced));
        assert_eq!(wait.next().now_or_never(), Some(Woken::Lost));
        assert_eq!(connections.get(&device()).map(|current| current.id().to_owned()), Some("k2".into()));
    }

    #[test]
    fn the_end_of_a_replaced_connection_leaves_the_newer_one() {
        let connections = Connections::default();
        let (first, _outlet) = connection(1);
        connections.register(Arc::clone(&first));
        let (second, _newer) = connection(2);
        connections.register(second);
        connections.unregister(&first);
        assert!(connections.get(&device()).is_some());
    }

    #[test]
    fn a_result_wakes_everybody_who_waits_for_the_call() {
        let connections = Connections::default();
        let mut first = connections.wait("t:c", "x1", &device(), &Rank::test(1));
        let mut second = connections.wait("t:c", "x2", &device(), &Rank::test(1));
        let ended = Arc::new(Ended { status: CallStatus::Succeeded, output: None, error: None });
        connections.resolve("bob", "t:c", Some(&ended));
        assert_eq!(first.next().now_or_never(), None, "another user's call of that id");
        connections.resolve("ann", "t:c", Some(&ended));
        for wait in [&mut first, &mut second] {
            assert_eq!(wait.next().now_or_never(), Some(Woken::Result(Some(Arc::clone(&ended)))));
            assert_eq!(wait.next().now_or_never(), None);
        }
    }

    #[test]
    fn news_of_an_earlier_connection_that_comes_late_ends_nothing() {
        let connections = Connections::default();
        let (newer, outlet) = connection(3);
        assert!(connections.register(newer));
        let mut here = connections.wait("t:c", "x1", &device(), &Rank::test(3));
        let mut elsewhere = connections.wait("t:d", "x2", &device(), &Rank::test(4));
        let registered =
            |place| News::Registered { user: "ann".into(), device_id: "laptop".into(), rank: Rank::test(place) };
        // Whoever holds the older one may not have heard of the newer one: it is told again.
        assert_eq!(connections.hear(registered(2)), Some(registered(3)));
        assert_eq!(connections.retell(), [registered(3)]);
        assert_eq!((*outlet.closing.borrow(), here.next().now_or_never()), (None, None));
        assert_eq!(connections.hear(registered(4)), None);
        assert_eq!(*outlet.closing.borrow(), Some(CloseCode::Replaced));
        assert_eq!((here.next().now_or_never(), elsewhere.next().now_or_never()), (Some(Woken::Lost), None));
        assert!(connections.get(&device()).is_none());
    }

    #[test]
    fn of_two_connections_the_one_with_the_later_ticket_counts_whichever_registers_first() {
        let connections = Connections::default();
        let ((earlier, outlet), (later, _newer)) = (connection(1), connection(2));
        assert!(connections.register(later) && !connections.register(earlier));
        assert_eq!(*outlet.closing.borrow(), Some(CloseCode::Replaced));
        assert_eq!(connections.get(&device()).map(|current| current.rank.clone()), Some(Rank::test(2)));
    }

    #[test]
    fn a_call_is_taken_back_only_over_the_connection_that_carried_it() {
        let connections = Connections::default();
        let (connection, mut outlet) = connection(2);
        connections.register(connection);
        let cancel = |connection_id: Option<&str>| Question::Cancel {
            connection_id: connection_id.map(str::to_owned),
            tool_call_id: "t:c".into(),
            reason: "TIMED_OUT".into(),
        };
        assert_eq!(connections.answer(&device(), cancel(Some("k1"))), Some(Reply::Gone));
        assert!(outlet.outbox.try_recv().is_err());
        for over in [Some("k2"), None] {
            assert_eq!(connections.answer(&device(), cancel(over)), Some(Reply::Sent));
            assert!(matches!(outlet.outbox.try_recv().as_deref(), Ok(FromServer::Cancel { .. })));
        }
    }

    #[test]
    fn a_dropped_wait_leaves_nothing_behind() {
        let connections = Connections::default();
        drop(connections.wait("t:c", "x1", &device(), &Rank::test(1)));
        assert_eq!(connections.counts(), (0, 0));
    }

    #[test]
    fn devices_that_offer_the_same_share_one_list() {
        let connections = Connections::default();
        let offer = |version: &str| {
            vec![OfferedTool {
                name: "workspace.read_file".into(),
                version: version.into(),
                risk: "medium".into(),
                requires_confirmation: true,
                timeout_ms: 10_000,
                input_schema: serde_json::json!({"type": "object"}),
            }]
        };
        let (first, second) = (connections.shared_tools(offer("1")), connections.shared_tools(offer("1")));
        assert!(Arc::ptr_eq(&first, &second));
        let other = connections.shared_tools(offer("2"));
        assert_eq!((other[0].version.as_str(), first[0].version.as_str()), ("2", "1"));
    }

    #[test]
    fn a_device_that_does_not_read_is_given_up() {
        let (connection, outlet) = connection(1);
        for _ in 0..OUTBOX_MESSAGES {
            assert!(connection.send(FromServer::Heartbeat {}));
        }
        assert!(!connection.send(FromServer::Heartbeat {}));
        assert_eq!(*outlet.closing.borrow(), Some(CloseCode::Silence));
    }
}
