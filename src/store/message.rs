//! Messages: a tree of branches by parent, read from the end of the shown branch backwards, as far as it is asked for.
//!
//! A streaming answer is a row plus appended chunks; its body is written twice in all, empty and whole.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};

use crate::ir::{Error, ErrorCode, Message, MessageId, MessageRecord, MessageStatus, Role, SessionId, UnixMs};

use super::row::{json, json_option, parse, parse_option, variant, word};
use super::{Store, StoreError, search, session};

/// More of a streaming answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// Whether it is thinking rather than answer.
    pub is_reasoning: bool,
    /// The new text.
    pub text: String,
}

/// A page of the shown branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Oldest first.
    pub messages: Vec<MessageRecord>,
    /// Whether there is more before the first.
    pub has_older: bool,
}

/// The branch that ends with message `?1`, its last `?2` messages, newest first: every row is read once, however long
/// the session is. Versions are counted in an index.
const BRANCH: &str = "
    WITH RECURSIVE branch (row, id, session, parent, role, status, answer, error, body, depth) AS (
        SELECT row, id, session, parent, role, status, answer, error, body, 0 FROM message WHERE id = ?1
        UNION ALL
        SELECT m.row, m.id, m.session, m.parent, m.role, m.status, m.answer, m.error, m.body, branch.depth + 1
        FROM branch JOIN message AS m ON m.id = branch.parent
        LIMIT ?2
    )
    SELECT row, id, session, parent, role, status, answer, error, body, depth,
        (SELECT count(*) FROM message AS v WHERE v.parent IS branch.parent AND v.session = branch.session
            AND v.role = branch.role AND v.row <= branch.row),
        (SELECT count(*) FROM message AS v WHERE v.parent IS branch.parent AND v.session = branch.session
            AND v.role = branch.role)
    FROM branch";

impl Store {
    /// Keeps a whole message and makes it the end of the shown branch. Committed before it returns, power cut or not.
    ///
    /// # Errors
    /// `Conflict` when the id is taken; `Missing` for an unknown session or parent.
    pub async fn append_message(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let record = record.clone();
        self.guard(move |transaction| append(transaction, &record)).await
    }

    /// Keeps the beginning of an answer (status `Streaming`) and makes it the end of the shown branch.
    ///
    /// # Errors
    /// As `append_message`.
    pub async fn begin_answer(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let mut record = record.clone();
        record.status = MessageStatus::Streaming;
        self.pass(move |transaction| append(transaction, &record)).await
    }

    /// Appends what has come. Never rewrites what came before, never waits for the disk.
    ///
    /// # Errors
    /// `Missing` when no such answer is streaming.
    pub async fn append_deltas(&self, id: &MessageId, deltas: Vec<Delta>) -> Result<(), StoreError> {
        let id = id.clone();
        self.pass(move |transaction| append_chunks(transaction, &id, deltas)).await
    }

    /// Keeps a message as it ended, in the place of what was streamed. A message that was never begun is appended.
    ///
    /// # Errors
    /// `Missing` for an unknown session or parent.
    pub async fn finish_message(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let (record, now) = (record.clone(), self.now());
        self.guard(move |transaction| finish(transaction, &record, now)).await
    }

    /// One message, whichever branch it is on.
    pub async fn message(&self, id: &MessageId) -> Result<Option<MessageRecord>, StoreError> {
        let id = id.clone();
        self.look(move |transaction| Ok(walk(transaction, &id, 1)?.pop())).await
    }

    /// The last `limit` messages of the shown branch, or of its part before a message.
    pub async fn page(
        &self,
        session: &SessionId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let (session, before) = (session.clone(), before.cloned());
        self.look(move |transaction| {
            let end = match &before {
                Some(before) => parent(transaction, before)?,
                None => head(transaction, &session)?,
            };
            let messages = match end {
                Some(end) => walk(transaction, &end, i64::try_from(limit).unwrap_or(i64::MAX))?,
                None => Vec::new(),
            };
            let has_older = messages.first().is_some_and(|first| first.parent.is_some());
            Ok(Page { messages, has_older })
        })
        .await
    }

    /// The whole shown branch, oldest first.
    pub async fn branch(&self, session: &SessionId) -> Result<Vec<MessageRecord>, StoreError> {
        let session = session.clone();
        self.look(move |transaction| {
            head(transaction, &session)?.map_or_else(|| Ok(Vec::new()), |head| walk(transaction, &head, WHOLE_BRANCH))
        })
        .await
    }

    /// The versions of a message: those that share its parent and role, itself included, oldest first.
    pub async fn versions(&self, id: &MessageId) -> Result<Vec<MessageId>, StoreError> {
        let id = id.clone();
        self.look(move |transaction| {
            let mut statement = transaction.prepare(
                "SELECT v.id FROM message AS m JOIN message AS v
                    ON v.parent IS m.parent AND v.session = m.session AND v.role = m.role
                 WHERE m.id = ?1 ORDER BY v.row",
            )?;
            let ids = statement.query_map([id.as_str()], |row| row.get(0).map(MessageId))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// The end of the newest branch that goes through a message.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn newest_leaf(&self, id: &MessageId) -> Result<MessageId, StoreError> {
        let id = id.clone();
        self.look(move |transaction| {
            let leaf = transaction
                .query_row(
                    "WITH RECURSIVE down (row, id) AS (
                        SELECT row, id FROM message WHERE id = ?1
                        UNION ALL
                        SELECT m.row, m.id FROM down JOIN message AS m
                            ON m.row = (SELECT max(child.row) FROM message AS child WHERE child.parent = down.id)
                     )
                     SELECT id FROM down ORDER BY row DESC LIMIT 1",
                    [id.as_str()],
                    |row| row.get(0).map(MessageId),
                )
                .optional()?;
            leaf.ok_or_else(|| missing(&id))
        })
        .await
    }
}

/// `LIMIT` that is none.
pub(super) const WHOLE_BRANCH: i64 = -1;

/// The last `limit` messages of the branch that ends here, oldest first.
pub(super) fn walk(connection: &Connection, end: &MessageId, limit: i64) -> Result<Vec<MessageRecord>, StoreError> {
    let mut statement = connection.prepare(BRANCH)?;
    let mut rows = statement.query(params![end.as_str(), limit])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push((row.get::<_, i64>(9)?, read(connection, row)?));
    }
    records.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

/// All messages of a session, on whichever branch, in the order of writing.
pub(super) fn all(connection: &Connection, session: &SessionId) -> Result<Vec<MessageRecord>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT row, id, session, parent, role, status, answer, error, body, 0,
            (SELECT count(*) FROM message AS v WHERE v.parent IS m.parent AND v.session = m.session
                AND v.role = m.role AND v.row <= m.row),
            (SELECT count(*) FROM message AS v WHERE v.parent IS m.parent AND v.session = m.session AND v.role = m.role)
         FROM message AS m WHERE session = ?1 ORDER BY row",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(connection, row)?);
    }
    Ok(records)
}

/// Keeps a message as a new row, without moving the shown branch.
pub(super) fn insert(transaction: &Transaction<'_>, record: &MessageRecord) -> Result<(), StoreError> {
    if let Some(parent) = &record.parent {
        let is_here = transaction
            .prepare("SELECT 1 FROM message WHERE id = ?1 AND session = ?2")?
            .exists([parent.as_str(), record.session.as_str()])?;
        if !is_here {
            return Err(missing(parent));
        }
    }
    let inserted = transaction.execute(
        "INSERT INTO message (id, session, parent, role, status, answer, error, body)
            VALUES (:id, :session, :parent, :role, :status, :answer, :error, :body) ON CONFLICT (id) DO NOTHING",
        named_params! {
            ":id": record.id.as_str(),
            ":session": record.session.as_str(),
            ":parent": record.parent.as_ref().map(MessageId::as_str),
            ":role": word("message", &record.message.role)?,
            ":status": word("message", &record.status)?,
            ":answer": json_option("message", record.answer.as_ref())?,
            ":error": json_option("message", record.error.as_ref())?,
            ":body": json("message", &record.message)?,
        },
    )?;
    if inserted == 0 {
        return Err(StoreError::Conflict { what: "message", id: record.id.to_string() });
    }
    if record.status == MessageStatus::Streaming {
        return Ok(());
    }
    search::index_message(transaction, transaction.last_insert_rowid(), &record.message)
}

fn append(transaction: &Transaction<'_>, record: &MessageRecord) -> Result<(), StoreError> {
    session::advance(transaction, &record.session, &record.id, record.message.timestamp)?;
    insert(transaction, record)
}

fn append_chunks(transaction: &Transaction<'_>, id: &MessageId, deltas: Vec<Delta>) -> Result<(), StoreError> {
    let message: Option<i64> = transaction
        .query_row("SELECT row FROM message WHERE id = ?1 AND status = 'streaming'", [id.as_str()], |row| row.get(0))
        .optional()?;
    let Some(message) = message else { return Err(missing(id)) };
    let mut statement =
        transaction.prepare("INSERT INTO message_chunk (message, is_reasoning, text) VALUES (?1, ?2, ?3)")?;
    for delta in merge(deltas) {
        statement.execute(params![message, delta.is_reasoning, delta.text])?;
    }
    Ok(())
}

/// Neighbours of one kind become one row.
fn merge(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut merged: Vec<Delta> = Vec::new();
    for delta in deltas {
        match merged.last_mut() {
            Some(last) if last.is_reasoning == delta.is_reasoning => last.text.push_str(&delta.text),
            _ => merged.push(delta),
        }
    }
    merged
}

fn finish(transaction: &Transaction<'_>, record: &MessageRecord, now: UnixMs) -> Result<(), StoreError> {
    let row: Option<i64> = transaction
        .query_row("SELECT row FROM message WHERE id = ?1", [record.id.as_str()], |row| row.get(0))
        .optional()?;
    let Some(row) = row else { return append(transaction, record) };
    replace(transaction, row, record)?;
    transaction.execute(
        "UPDATE session SET updated_at = max(updated_at, ?2) WHERE id = ?1",
        params![record.session.as_str(), now.0],
    )?;
    Ok(())
}

/// Writes a message's whole body in the place of what was streamed.
pub(super) fn replace(transaction: &Transaction<'_>, row: i64, record: &MessageRecord) -> Result<(), StoreError> {
    // First, so that the body takes the room that the chunks leave.
    transaction.execute("DELETE FROM message_chunk WHERE message = ?1", [row])?;
    transaction.execute(
        "UPDATE message SET status = :status, answer = :answer, error = :error, body = :body WHERE row = :row",
        named_params! {
            ":row": row,
            ":status": word("message", &record.status)?,
            ":answer": json_option("message", record.answer.as_ref())?,
            ":error": json_option("message", record.error.as_ref())?,
            ":body": json("message", &record.message)?,
        },
    )?;
    search::index_message(transaction, row, &record.message)
}

/// The messages that are still streaming, with their rows and with what has come.
pub(super) fn streaming(connection: &Connection) -> Result<Vec<(i64, MessageRecord)>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT row, id, session, parent, role, status, answer, error, body, 0, 1, 1 FROM message
         WHERE status = 'streaming' ORDER BY row",
    )?;
    let mut rows = statement.query([])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push((row.get(0)?, read(connection, row)?));
    }
    Ok(records)
}

fn head(connection: &Connection, session: &SessionId) -> Result<Option<MessageId>, StoreError> {
    let head: Option<Option<String>> = connection
        .query_row("SELECT head FROM session WHERE id = ?1", [session.as_str()], |row| row.get(0))
        .optional()?;
    Ok(head.flatten().map(MessageId))
}

fn parent(connection: &Connection, id: &MessageId) -> Result<Option<MessageId>, StoreError> {
    let parent: Option<Option<String>> =
        connection.query_row("SELECT parent FROM message WHERE id = ?1", [id.as_str()], |row| row.get(0)).optional()?;
    Ok(parent.ok_or_else(|| missing(id))?.map(MessageId))
}

fn missing(id: &MessageId) -> StoreError {
    StoreError::Missing { what: "message", id: id.to_string() }
}

fn read(connection: &Connection, row: &Row<'_>) -> Result<MessageRecord, StoreError> {
    let mut record = MessageRecord {
        id: MessageId(row.get(1)?),
        session: SessionId(row.get(2)?),
        parent: row.get::<_, Option<String>>(3)?.map(MessageId),
        message: Message::text(Role::Assistant, "", UnixMs(0)),
        status: variant("message", &row.get::<_, String>(5)?)?,
        answer: None,
        error: None,
        version: (row.get(10)?, row.get(11)?),
    };
    let role: Role = variant("message", &row.get::<_, String>(4)?)?;
    let answer: Option<String> = row.get(6)?;
    let error: Option<String> = row.get(7)?;
    let body: String = row.get(8)?;
    match contents(answer.as_deref(), error.as_deref(), &body) {
        Ok((message, answer, error)) => (record.message, record.answer, record.error) = (message, answer, error),
        Err(unreadable) => {
            // One damaged row must not hide the session around it.
            record.message.role = role;
            record.status = MessageStatus::Failed;
            record.error = Some(Error::new(ErrorCode::ParseError, unreadable.to_string()));
        }
    }
    if record.status == MessageStatus::Streaming {
        add_chunks(connection, row.get(0)?, &mut record.message)?;
    }
    Ok(record)
}

type Contents = (Message, Option<crate::ir::AnswerMeta>, Option<Error>);

fn contents(answer: Option<&str>, error: Option<&str>, body: &str) -> Result<Contents, StoreError> {
    Ok((parse("message", body)?, parse_option("message", answer)?, parse_option("message", error)?))
}

fn add_chunks(connection: &Connection, row: i64, message: &mut Message) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare("SELECT is_reasoning, text FROM message_chunk WHERE message = ?1 ORDER BY row")?;
    let mut chunks = statement.query([row])?;
    while let Some(chunk) = chunks.next()? {
        let text = chunk.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        if chunk.get(0)? {
            message.reasoning_content.get_or_insert_default().push_str(text);
        } else {
            message.content.push_str(text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::tests::{message, session, store};
    use super::*;

    /// A session of this many messages in one long branch.
    async fn long_session(messages: usize) -> Store {
        let store = store();
        store.insert_session(&session("s")).await.unwrap();
        let appended = store.guard(move |transaction| {
            let mut parent: Option<String> = None;
            for number in 0..messages {
                let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
                let id = format!("m{number}");
                append(transaction, &message("s", &id, parent.as_deref(), role, "Some text of ordinary length."))?;
                parent = Some(id);
            }
            Ok(())
        });
        appended.await.unwrap();
        store
    }

    /// What a page costs the database: its instructions, and the rows that it had to scan for.
    async fn page_cost(store: &Store, end: &str) -> (i32, i32) {
        let end = end.to_owned();
        let cost = store.look(move |transaction| {
            let mut statement = transaction.prepare(BRANCH)?;
            let mut rows = statement.query(params![end, 40])?;
            let mut read = 0;
            while rows.next()?.is_some() {
                read += 1;
            }
            drop(rows);
            assert_eq!(read, 40);
            let scanned = statement.get_status(StatementStatus::FullscanStep);
            Ok((statement.get_status(StatementStatus::VmStep), scanned))
        });
        cost.await.unwrap()
    }

    #[tokio::test]
    async fn a_page_costs_the_same_however_long_the_session_is() {
        let (short, long) = (long_session(100).await, long_session(10_000).await);
        let (short_cost, _) = page_cost(&short, "m99").await;
        let (end_cost, end_scanned) = page_cost(&long, "m9999").await;
        let (middle_cost, _) = page_cost(&long, "m5000").await;
        assert!(end_cost * 100 <= short_cost * 105 && middle_cost * 100 <= short_cost * 105, "{short_cost} {end_cost}");
        // Only the 40 rows of the recursion itself, which are already read.
        assert!(end_scanned <= 40, "{end_scanned}");
        // The control: the whole branch does cost what it is long.
        let whole = long.branch(&SessionId::new("s")).await.unwrap();
        assert_eq!(whole.len(), 10_000);
        let page = long.page(&SessionId::new("s"), None, 40).await.unwrap();
        assert_eq!(page.messages, whole[9_960..]);
    }

    #[tokio::test]
    async fn a_message_that_cannot_be_read_hides_nothing_around_it() {
        let store = long_session(3).await;
        store
            .guard(|transaction| Ok(transaction.execute("UPDATE message SET body = '{' WHERE id = 'm1'", [])?))
            .await
            .unwrap();
        let branch = store.branch(&SessionId::new("s")).await.unwrap();
        let states: Vec<_> = branch.iter().map(|record| (record.message.role, record.status)).collect();
        assert_eq!(
            states,
            [
                (Role::User, MessageStatus::Complete),
                (Role::Assistant, MessageStatus::Failed),
                (Role::User, MessageStatus::Complete)
            ]
        );
    }

    /// What the thread of the writer has written to files so far, in bytes.
    #[cfg(target_os = "linux")]
    async fn written_bytes(store: &Store) -> u64 {
        let read = store.writer().unwrap().run_bare(|_| {
            let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
            Ok(text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse::<u64>().unwrap())
        });
        read.await.unwrap()
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn streaming_writes_at_most_six_times_the_text_and_never_syncs() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), super::super::tests::clock()).unwrap().store;
        store.insert_session(&session("s")).await.unwrap();
        // What 3,000 tokens a second bring in 250 ms.
        // Mixed text with a vocabulary of thousands: what the full-text index keeps of it counts too.
        let mut random = 1_u64;
        let mut word = |_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (random >> 33) as u32;
            match number % 5 {
                0 => char::from_u32(0x4E00 + number / 5 % 2_500).unwrap().to_string(),
                _ => format!(
                    "{}{} ",
                    ["the", "con", "ab", "in", "re"][number as usize % 5],
                    number / 5 % (1 << (number % 13))
                ),
            }
        };
        let batch: String = (0..600).map(&mut word).collect();
        let mut written = Vec::new();
        for (id, batches) in [("short", 512 * 1024 / batch.len() / 4), ("long", 512 * 1024 / batch.len())] {
            let mut answer = message("s", id, None, Role::Assistant, "");
            store.begin_answer(&answer).await.unwrap();
            let before = written_bytes(&store).await;
            for _ in 0..batches {
                answer.message.content.push_str(&batch);
                store
                    .append_deltas(&answer.id, vec![Delta { is_reasoning: false, text: batch.clone() }])
                    .await
                    .unwrap();
            }
            let (synchronous, checkpoint) = store
                .writer()
                .unwrap()
                .run_bare(|connection| {
                    let header = super::super::connection::header;
                    Ok((header(connection, "synchronous")?, header(connection, "wal_autocheckpoint")?))
                })
                .await
                .unwrap();
            assert_eq!((synchronous, checkpoint), (1, 0), "NORMAL, and no checkpoint: nothing waits for the disk");
            let streamed = written_bytes(&store).await;
            store.finish_message(&answer).await.unwrap();
            let folded = store.writer().unwrap().run_bare(|connection| {
                Ok(connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, bool>(0))?)
            });
            assert!(!folded.await.unwrap(), "the log is folded in, so that this counts too");
            let text = answer.message.content.len();
            written.push((
                (streamed - before) as f64 / text as f64,
                (written_bytes(&store).await - before) as f64 / text as f64,
            ));
        }
        println!("bytes written per byte of text, while streaming and in all: {written:?}");
        let [(short, _), (long, all)] = written[..] else { panic!("two answers") };
        assert!(all <= 6.0, "{all}");
        assert!(long <= short * 1.2, "linear in the text: {short} {long}");
    }
}
