//! Events on their way to the front ends: bounded, coalesced, one wake for many.
//!
//! Adjacent pieces of one answer merge while they wait, and an "already asked" flag turns five hundred of them into one
//! wake. A front end that does not keep up slows the stream; memory stays flat.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::ir::{RequestId, StreamBody};
use crate::port::Event;

/// From here on, pieces of answers and of output wait for the front end.
const STREAM_ROOM: usize = 1_024;
/// Bytes of such pieces that may wait.
const STREAM_BYTES: usize = 1 << 20;
/// From here on, every event waits.
const ROOM: usize = 8_192;
/// A merged piece stays below this, so that drawing it stays cheap.
const LONGEST_PIECE: usize = 64 * 1024;

/// Called when events have come, from any thread; must not block.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Where one front end gets its events. Dropping it ends the subscription.
pub struct Inbox {
    slot: Arc<Slot>,
}

/// All inboxes.
#[derive(Default)]
pub(super) struct Hub {
    slots: Mutex<Vec<Arc<Slot>>>,
}

struct Slot {
    queue: Mutex<Queue>,
    /// For waiting front ends.
    arrived: Condvar,
    arrived_async: Notify,
    /// For waiting publishers.
    room: Notify,
    wake: Wake,
    is_asked: AtomicBool,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    stream_bytes: usize,
    /// No more will come, or nobody reads any more.
    is_closed: bool,
    /// Merging leaves gaps in the numbers of a stream; they are given anew on the way out.
    numbers: HashMap<RequestId, u64>,
}

impl Hub {
    /// A new inbox that begins with these events.
    pub(super) fn subscribe(&self, wake: Wake, first: Vec<Event>) -> Inbox {
        let queue = Queue { events: first.into(), ..Queue::default() };
        let slot = Arc::new(Slot {
            queue: Mutex::new(queue),
            arrived: Condvar::new(),
            arrived_async: Notify::new(),
            room: Notify::new(),
            wake,
            is_asked: AtomicBool::new(false),
        });
        lock(&self.slots).push(Arc::clone(&slot));
        slot.call();
        Inbox { slot }
    }

    /// Whether anybody listens.
    pub(super) fn has_listeners(&self) -> bool {
        lock(&self.slots).iter().any(|slot| !lock(&slot.queue).is_closed)
    }

    /// Reports to every front end, in order. Waits where one has no room.
    pub(super) async fn publish(&self, event: Event) {
        let slots = {
            let mut slots = lock(&self.slots);
            slots.retain(|slot| !lock(&slot.queue).is_closed);
            slots.clone()
        };
        for slot in slots {
            slot.push(event.clone()).await;
        }
    }

    /// Lets every front end take what is left, and nothing more.
    pub(super) fn close(&self) {
        for slot in lock(&self.slots).drain(..) {
            slot.close();
        }
    }
}

impl Slot {
    async fn push(&self, mut event: Event) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match self.try_push(event) {
                None => break self.call(),
                Some(refused) => event = refused,
            }
            room.await;
        }
    }

    /// Takes an event in; gives it back where there is no room.
    fn try_push(&self, event: Event) -> Option<Event> {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            return None;
        }
        let piece = piece_bytes(&event);
        let has_room = match piece {
            // One piece that is larger than all the room goes alone; else it would wait for ever.
            Some(bytes) => {
                let fits = queue.stream_bytes == 0 || queue.stream_bytes + bytes <= STREAM_BYTES;
                queue.events.len() < STREAM_ROOM && fits
            }
            None => queue.events.len() < ROOM,
        };
        if !has_room {
            return Some(event);
        }
        queue.stream_bytes += piece.unwrap_or(0);
        let rest = match queue.events.back_mut() {
            Some(last) => merge(last, event),
            None => Some(event),
        };
        queue.events.extend(rest);
        None
    }

    fn call(&self) {
        self.arrived.notify_all();
        self.arrived_async.notify_waiters();
        if !self.is_asked.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    fn close(&self) {
        lock(&self.queue).is_closed = true;
        self.room.notify_waiters();
        self.call();
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Event> {
        let mut event = self.events.pop_front()?;
        self.stream_bytes = self.stream_bytes.saturating_sub(piece_bytes(&event).unwrap_or(0));
        if let Event::Streamed { event, .. } = &mut event {
            let next = self.numbers.entry(event.request_id.clone()).or_default();
            event.seq = *next;
            *next += 1;
            if event.body == StreamBody::Done {
                self.numbers.remove(&event.request_id);
            }
        }
        Some(event)
    }
}

impl Inbox {
    /// The events that are here, oldest first, taken for at most `budget`. What is left wakes nobody: ask
    /// [`Inbox::is_empty`] and come again.
    pub fn drain(&self, budget: Duration) -> Vec<Event> {
        let until = Instant::now() + budget;
        let mut events = Vec::new();
        while let Some(event) = self.try_recv() {
            events.push(event);
            if Instant::now() >= until {
                break;
            }
        }
        events
    }

    /// The next event, if one is here.
    pub fn try_recv(&self) -> Option<Event> {
        self.slot.is_asked.store(false, Ordering::Release);
        let event = lock(&self.slot.queue).pop();
        self.slot.room.notify_waiters();
        event
    }

    /// Whether nothing is here at the moment.
    pub fn is_empty(&self) -> bool {
        lock(&self.slot.queue).events.is_empty()
    }

    /// The next event; waits at most this long. `None` when none came or the engine has ended.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<Event> {
        let until = Instant::now() + timeout;
        let mut queue = lock(&self.slot.queue);
        while queue.events.is_empty() && !queue.is_closed {
            let left = until.checked_duration_since(Instant::now())?;
            queue = self.slot.arrived.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queue);
        self.try_recv()
    }

    /// The next event, however long it takes; `None` when the engine has ended and everything was taken.
    pub fn wait(&self) -> Option<Event> {
        let mut queue = lock(&self.slot.queue);
        while queue.events.is_empty() && !queue.is_closed {
            queue = self.slot.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        self.try_recv()
    }

    /// The next event; `None` when the engine has ended and everything was taken.
    pub async fn recv(&self) -> Option<Event> {
        loop {
            let arrived = self.slot.arrived_async.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if let Some(event) = self.try_recv() {
                return Some(event);
            }
            if lock(&self.slot.queue).is_closed {
                return None;
            }
            arrived.await;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queue = lock(&self.slot.queue);
        queue.is_closed = true;
        queue.events.clear();
        drop(queue);
        self.slot.room.notify_waiters();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a piece of an answer or of output; `None` for other events.
fn piece_bytes(event: &Event) -> Option<usize> {
    if let Event::CallOutput { text, .. } = event {
        return Some(text.len());
    }
    let Event::Streamed { event, .. } = event else { return None };
    Some(match &event.body {
        StreamBody::ReasoningDelta { delta } | StreamBody::TextDelta { delta } => delta.len(),
        StreamBody::ToolCallDelta { tool_call_delta } => tool_call_delta.args_delta.as_ref().map_or(0, String::len),
        StreamBody::ThinkingStart
        | StreamBody::ThinkingEnd
        | StreamBody::ToolCallComplete { .. }
        | StreamBody::Usage { .. }
        | StreamBody::Error { .. }
        | StreamBody::Done => 0,
    })
}

/// Adds an event to the one before it where both say more of the same; gives it back where not.
fn merge(last: &mut Event, event: Event) -> Option<Event> {
    match (last, event) {
        (Event::Streamed { event: into, message: into_message, .. }, Event::Streamed { session, message, event })
            if *into_message == message && into.request_id == event.request_id =>
        {
            match (&mut into.body, event.body) {
                (StreamBody::TextDelta { delta: into }, StreamBody::TextDelta { delta })
                | (StreamBody::ReasoningDelta { delta: into }, StreamBody::ReasoningDelta { delta })
                    if into.len() + delta.len() <= LONGEST_PIECE =>
                {
                    into.push_str(&delta);
                    None
                }
                (_, body) => {
                    let event = Box::new(crate::ir::StreamEvent { body, ..*event });
                    Some(Event::Streamed { session, message, event })
                }
            }
        }
        (
            Event::CallOutput { call: into_call, is_stderr: into_stderr, text: into, .. },
            Event::CallOutput { session, call, is_stderr, text },
        ) if *into_call == call && *into_stderr == is_stderr => {
            if into.len() + text.len() > LONGEST_PIECE {
                return Some(Event::CallOutput { session, call, is_stderr, text });
            }
            into.push_str(&text);
            None
        }
        (
            last @ Event::PullProgressed { error: None, is_done: false, .. },
            Event::PullProgressed { provider, model, status, completed_bytes, total_bytes, is_done, error },
        ) => {
            let same =
                matches!(&*last, Event::PullProgressed { provider: p, model: m, .. } if *p == provider && *m == model);
            let event = Event::PullProgressed { provider, model, status, completed_bytes, total_bytes, is_done, error };
            if same {
                *last = event;
                None
            } else {
                Some(event)
            }
        }
        (_, event) => Some(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{MessageId, SessionId, StreamEvent, TokenUsage, UnixMs};
    use std::sync::atomic::AtomicU32;

    fn text(delta: &str) -> Event {
        stream(StreamBody::TextDelta { delta: delta.into() })
    }

    fn stream(body: StreamBody) -> Event {
        let event = StreamEvent {
            body,
            request_id: RequestId::new("r"),
            session_id: SessionId::new("s"),
            iteration: 1,
            seq: 77,
            timestamp: UnixMs(0),
        };
        Event::Streamed { session: SessionId::new("s"), message: MessageId::new("m"), event: Box::new(event) }
    }

    fn inbox(hub: &Hub) -> (Inbox, Arc<AtomicU32>) {
        let wakes = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&wakes);
        let wake: Wake = Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let inbox = hub.subscribe(wake, Vec::new());
        inbox.try_recv();
        wakes.store(0, Ordering::Relaxed);
        (inbox, wakes)
    }

    fn all(inbox: &Inbox) -> Vec<Event> {
        inbox.drain(Duration::from_secs(5))
    }

    #[tokio::test]
    async fn five_hundred_deltas_are_one_wake_and_one_event() {
        let hub = Hub::default();
        let (inbox, wakes) = inbox(&hub);
        for _ in 0..500 {
            hub.publish(text("ab")).await;
        }
        assert_eq!(wakes.load(Ordering::Relaxed), 1);
        let events = all(&inbox);
        assert_eq!(events.len(), 1);
        assert!(matches!(&events[0], Event::Streamed { event, .. }
            if event.body == StreamBody::TextDelta { delta: "ab".repeat(500) }));
        hub.publish(text("c")).await;
        assert_eq!(wakes.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn merged_streams_are_numbered_without_gaps() {
        let hub = Hub::default();
        let (inbox, _) = inbox(&hub);
        for event in [text("a"), text("b"), stream(StreamBody::Usage { usage: TokenUsage::default() }), text("c")] {
            hub.publish(event).await;
        }
        hub.publish(stream(StreamBody::Done)).await;
        let numbers: Vec<_> = all(&inbox)
            .into_iter()
            .map(|event| {
                let Event::Streamed { event, .. } = event else { panic!("{event:?}") };
                event.seq
            })
            .collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[tokio::test]
    async fn a_slow_front_end_slows_the_stream_and_memory_stays_flat() {
        let hub = Arc::new(Hub::default());
        let (inbox, _) = inbox(&hub);
        let big = "x".repeat(LONGEST_PIECE);
        let publisher = Arc::clone(&hub);
        let sent = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&sent);
        let task = tokio::task::spawn(async move {
            for _ in 0..100 {
                publisher.publish(text(&big)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let room = u32::try_from(STREAM_BYTES / LONGEST_PIECE).unwrap();
        while sent.load(Ordering::Relaxed) < room {
            tokio::task::yield_now().await;
        }
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(sent.load(Ordering::Relaxed), room, "the stream waits");
        hub.publish(Event::Raised).await;
        let mut events = 0;
        while events < 101 {
            events += all(&inbox).len();
            tokio::task::yield_now().await;
        }
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_piece_larger_than_all_the_room_comes_through_alone() {
        let hub = Arc::new(Hub::default());
        let (inbox, _) = inbox(&hub);
        let large = "x".repeat(STREAM_BYTES + 1);
        let publisher = Arc::clone(&hub);
        let task = tokio::task::spawn(async move {
            for _ in 0..3 {
                publisher.publish(text(&large)).await;
            }
        });
        let mut bytes = 0;
        while bytes < 3 * (STREAM_BYTES + 1) {
            bytes += all(&inbox).iter().filter_map(piece_bytes).sum::<usize>();
            tokio::task::yield_now().await;
        }
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_dropped_inbox_holds_nobody_up() {
        let hub = Hub::default();
        let (inbox, _) = inbox(&hub);
        assert!(hub.has_listeners());
        drop(inbox);
        for _ in 0..2 * ROOM {
            hub.publish(Event::Raised).await;
        }
        assert!(!hub.has_listeners());
    }

    #[tokio::test]
    async fn what_is_left_can_be_taken_after_the_end_and_then_nothing() {
        let hub = Hub::default();
        let (inbox, _) = inbox(&hub);
        hub.publish(Event::Ended).await;
        hub.close();
        assert_eq!(inbox.recv().await, Some(Event::Ended));
        assert_eq!(inbox.recv().await, None);
        assert_eq!(inbox.recv_timeout(Duration::from_mins(1)), None);
    }
}
