//! The device link: this installation's name, the servers, and the record that makes a server's call run once at most.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};

use crate::ir::{
    Admission, KeyPlace, LinkCall, LinkCallState, LinkEnd, LinkRecord, LinkServer, SessionId, UnixMs, admit,
};

use super::guarded::Guarded;
use super::row::{json_option, parse_option, variant, word};
use super::{Store, StoreError, guarded};

/// How long a call is recognised after the server has its result, and how long the ledger keeps what it gave, in
/// milliseconds: seven days.
const RECOGNISED_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// The stable code of a call that was under way when Nod ended.
const RESTARTED: &str = "DESKTOP_RESTARTED";

const COLUMNS: &str =
    "tool_call, execution, arguments_hash, tool, path, reserved_at, state, output, code, message, duration_ms";

/// What a list says of a call.
const LISTED: &str = "tool_call, tool, path, state, code, sent_bytes, reserved_at";

impl Store {
    /// The name of this installation: `fresh` the first time, and what it was then ever after.
    pub async fn device_id(&self, fresh: &str) -> Result<String, StoreError> {
        let fresh = fresh.to_owned();
        self.guard(move |transaction| {
            transaction.execute("INSERT INTO device (row, id) VALUES (1, ?1) ON CONFLICT DO NOTHING", [fresh])?;
            Ok(transaction.query_row("SELECT id FROM device", [], |row| row.get(0))?)
        })
        .await
    }

    /// Every server, in the order in which they were added. A token for one run is not among what is known.
    pub async fn link_servers(&self) -> Result<Vec<LinkServer>, StoreError> {
        let (seal, reader) = (self.seal(), self.reader());
        self.look(move |transaction| {
            let is_ours = Guarded::Servers.is_trusted(transaction, &seal, reader)?;
            let mut statement =
                transaction.prepare("SELECT url, workspace, key_origin, is_paused FROM link_server ORDER BY row")?;
            let servers = statement.query_map([], |row| {
                let key_origin: Option<String> = row.get("key_origin")?;
                Ok(LinkServer {
                    url: row.get("url")?,
                    workspace: row.get("workspace")?,
                    key: key_origin.map_or(KeyPlace::Nowhere, |origin| KeyPlace::Keyring { origin }),
                    is_paused: row.get::<_, bool>("is_paused")? || !is_ours,
                })
            })?;
            Ok(servers.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Keeps a server, in the place of an older one of this address.
    pub async fn put_link_server(&self, server: &LinkServer) -> Result<(), StoreError> {
        let (server, seal) = (server.clone(), self.seal());
        self.guard(move |transaction| {
            let key_origin = match &server.key {
                KeyPlace::Keyring { origin } => Some(origin.as_str()),
                KeyPlace::Nowhere | KeyPlace::ThisRun { .. } | KeyPlace::Variable { .. } => None,
            };
            guarded::change(transaction, &seal, Guarded::Servers, || {
                Ok(transaction.execute(
                    "INSERT INTO link_server (url, workspace, key_origin, is_paused) VALUES (?1, ?2, ?3, ?4)
                        ON CONFLICT (url) DO UPDATE SET workspace = ?2, key_origin = ?3, is_paused = ?4",
                    params![server.url, server.workspace, key_origin, server.is_paused],
                )?)
            })?;
            Ok(())
        })
        .await
    }

    /// Forgets a server with the record of its calls; none of this address is as good. Its ledger stays with its session,
    /// which goes the way of deleted ones.
    pub async fn remove_link_server(&self, url: &str) -> Result<(), StoreError> {
        let (url, seal, now) = (url.to_owned(), self.seal(), self.now());
        self.guard(move |transaction| {
            guarded::change(transaction, &seal, Guarded::Servers, || {
                Ok(transaction.execute("DELETE FROM link_server WHERE url = ?1", [&url])?)
            })?;
            transaction.execute("DELETE FROM link_execution WHERE server = ?1", [&url])?;
            transaction.execute(
                "UPDATE session SET deleted_at = ?2 WHERE server = ?1 AND deleted_at IS NULL",
                params![url, now.0],
            )?;
            Ok(())
        })
        .await
    }

    /// Says that a session belongs to a server: its calls are recorded there, and no list shows it. What it holds of calls
    /// of long ago, contents of files among it, is forgotten; the audit keeps that they were made.
    pub async fn give_session_to_server(&self, session: &SessionId, url: &str) -> Result<(), StoreError> {
        let (session, url, now) = (session.clone(), url.to_owned(), self.now());
        self.guard(move |transaction| {
            let sql = "UPDATE session SET server = ?2, deleted_at = NULL WHERE id = ?1";
            transaction.execute(sql, params![session.as_str(), url])?;
            let sql = "DELETE FROM call WHERE session = ?1 AND created_at < ?2";
            transaction.execute(sql, params![session.as_str(), now.0.saturating_sub(RECOGNISED_MS)])?;
            Ok(())
        })
        .await
    }

    /// Takes a call's place in the record, or says what stands there. On disk when it returns. A new dispatch of a known
    /// call is noted: the answer goes to the one that asked last.
    pub async fn reserve_link(&self, server: &str, record: &LinkRecord) -> Result<Admission, StoreError> {
        let (server, record) = (server.to_owned(), record.clone());
        self.guard(move |transaction| {
            let known = find(transaction, &server, &record.tool_call_id)?;
            let admission = admit(known.as_ref(), &record.tool, &record.arguments_hash, owed(transaction, &server)?);
            match admission {
                Admission::Fresh => insert(transaction, &server, &record)?,
                Admission::Running | Admission::Finished => {
                    transaction.execute(
                        "UPDATE link_execution SET execution = ?3 WHERE server = ?1 AND tool_call = ?2",
                        [&server, &record.tool_call_id, &record.execution_id],
                    )?;
                }
                Admission::Conflict | Admission::Full => {}
            }
            Ok(admission)
        })
        .await
    }

    /// Keeps how a call ended. One that has an end already keeps it.
    pub async fn end_link(&self, server: &str, tool_call_id: &str, end: &LinkEnd) -> Result<(), StoreError> {
        let (server, tool_call_id, end, now) = (server.to_owned(), tool_call_id.to_owned(), end.clone(), self.now());
        self.guard(move |transaction| {
            let (code, message) = end.error.clone().unzip();
            transaction.execute(
                "UPDATE link_execution SET state = :state, output = :output, code = :code, message = :message,
                        duration_ms = :duration, ended_at = :now
                    WHERE server = :server AND tool_call = :call AND ended_at IS NULL",
                named_params! {
                    ":state": word("link", &end.state)?,
                    ":output": json_option("link", end.output.as_ref())?,
                    ":code": code,
                    ":message": message,
                    ":duration": i64::try_from(end.duration_ms).unwrap_or(i64::MAX),
                    ":now": now.0,
                    ":server": server,
                    ":call": tool_call_id,
                },
            )?;
            Ok(())
        })
        .await
    }

    /// Notes that the result of a call left, and how large it is; gives the call as it is listed then.
    pub async fn note_sent_link(
        &self,
        server: &str,
        tool_call_id: &str,
        bytes: u64,
    ) -> Result<Option<LinkCall>, StoreError> {
        let (server, tool_call_id) = (server.to_owned(), tool_call_id.to_owned());
        self.pass(move |transaction| {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            let sql = format!(
                "UPDATE link_execution SET sent_bytes = ?3 WHERE server = ?1 AND tool_call = ?2 RETURNING {LISTED}"
            );
            let mut statement = transaction.prepare_cached(&sql)?;
            statement.query_row(params![server, tool_call_id, bytes], |row| Ok(listed(row))).optional()?.transpose()
        })
        .await
    }

    /// Ends what is taken in and was left behind: nobody will say how those calls ended.
    pub async fn leave_links(&self, server: &str, end: &LinkEnd) -> Result<(), StoreError> {
        let (server, end, now) = (server.to_owned(), end.clone(), self.now());
        self.guard(move |transaction| {
            let (code, message) = end.error.unzip();
            transaction.execute(
                "UPDATE link_execution SET state = ?2, code = ?3, message = ?4, ended_at = ?5
                    WHERE server = ?1 AND state = 'running'",
                params![server, word("link", &end.state)?, code, message, now.0],
            )?;
            Ok(())
        })
        .await
    }

    /// Takes back what waits to be sent: the results that hold something end this way instead.
    pub async fn take_back_links(&self, server: &str, end: &LinkEnd) -> Result<(), StoreError> {
        let (server, end) = (server.to_owned(), end.clone());
        self.guard(move |transaction| {
            let (code, message) = end.error.unzip();
            transaction.execute(
                "UPDATE link_execution SET state = ?2, code = ?3, message = ?4, output = NULL
                    WHERE server = ?1 AND ended_at IS NOT NULL AND acked_at IS NULL AND output IS NOT NULL",
                params![server, word("link", &end.state)?, code, message],
            )?;
            Ok(())
        })
        .await
    }

    /// The names of the calls whose results the server does not have yet, in the order in which they ended.
    pub async fn owed_links(&self, server: &str) -> Result<Vec<String>, StoreError> {
        let server = server.to_owned();
        self.look(move |transaction| {
            let mut statement = transaction.prepare(
                "SELECT tool_call FROM link_execution
                    WHERE server = ?1 AND ended_at IS NOT NULL AND acked_at IS NULL ORDER BY ended_at, tool_call",
            )?;
            Ok(statement.query_map([server], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// What is kept of a call; `None` when it was never taken in, or is forgotten.
    pub async fn link_record(&self, server: &str, tool_call_id: &str) -> Result<Option<LinkRecord>, StoreError> {
        let (server, tool_call_id) = (server.to_owned(), tool_call_id.to_owned());
        self.look(move |transaction| find(transaction, &server, &tool_call_id)).await
    }

    /// The server has a call's result: its output is dropped. Calls whose results were taken in long ago are forgotten.
    pub async fn acknowledge_link(&self, server: &str, tool_call_id: &str) -> Result<(), StoreError> {
        let (server, tool_call_id, now) = (server.to_owned(), tool_call_id.to_owned(), self.now());
        self.guard(move |transaction| {
            transaction.execute(
                "UPDATE link_execution SET output = NULL, acked_at = coalesce(acked_at, ?3)
                    WHERE server = ?1 AND tool_call = ?2 AND ended_at IS NOT NULL",
                params![server, tool_call_id, now.0],
            )?;
            transaction
                .execute("DELETE FROM link_execution WHERE acked_at < ?1", [now.0.saturating_sub(RECOGNISED_MS)])?;
            Ok(())
        })
        .await
    }

    /// The last calls that a server had taken in, newest first.
    pub async fn link_calls(&self, server: &str, most: usize) -> Result<Vec<LinkCall>, StoreError> {
        let (server, most) = (server.to_owned(), i64::try_from(most).unwrap_or(i64::MAX));
        self.look(move |transaction| {
            let sql = format!(
                "SELECT {LISTED} FROM link_execution WHERE server = ?1 ORDER BY reserved_at DESC, tool_call LIMIT ?2"
            );
            let mut statement = transaction.prepare(&sql)?;
            let mut rows = statement.query(params![server, most])?;
            let mut calls = Vec::new();
            while let Some(row) = rows.next()? {
                calls.push(listed(row)?);
            }
            Ok(calls)
        })
        .await
    }
}

fn listed(row: &Row<'_>) -> Result<LinkCall, StoreError> {
    let state: String = row.get("state")?;
    let sent_bytes: i64 = row.get("sent_bytes")?;
    Ok(LinkCall {
        tool_call_id: row.get("tool_call")?,
        is_recorded: true,
        tool: row.get("tool")?,
        path: row.get("path")?,
        state: variant("link", &state)?,
        code: row.get("code")?,
        sent_bytes: u64::try_from(sent_bytes).unwrap_or(0),
        at: UnixMs(row.get("reserved_at")?),
    })
}

/// Calls that were under way when the process ended: they may have run, and never run again.
pub(super) fn settle_running(transaction: &Transaction<'_>, now: UnixMs) -> Result<usize, StoreError> {
    let message = "The desktop ended while the call was under way; it may have run.";
    Ok(transaction.execute(
        "UPDATE link_execution SET state = ?1, code = ?2, message = ?3, ended_at = ?4 WHERE state = 'running'",
        params![word("link", &LinkCallState::Unknown)?, RESTARTED, message, now.0],
    )?)
}

fn owed(connection: &Connection, server: &str) -> Result<u64, StoreError> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM link_execution WHERE server = ?1 AND ended_at IS NOT NULL AND acked_at IS NULL",
        [server],
        |row| row.get(0),
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn insert(transaction: &Transaction<'_>, server: &str, record: &LinkRecord) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO link_execution
                (server, tool_call, execution, arguments_hash, tool, path, reserved_at, state, duration_ms, sent_bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0)",
        params![
            server,
            record.tool_call_id,
            record.execution_id,
            record.arguments_hash,
            record.tool,
            record.path,
            record.reserved_at.0,
            word("link", &LinkCallState::Running)?,
        ],
    )?;
    Ok(())
}

fn find(connection: &Connection, server: &str, tool_call_id: &str) -> Result<Option<LinkRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM link_execution WHERE server = ?1 AND tool_call = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row([server, tool_call_id], |row| Ok(read(row))).optional()?.transpose()
}

fn read(row: &Row<'_>) -> Result<LinkRecord, StoreError> {
    let state: String = row.get("state")?;
    let state: LinkCallState = variant("link", &state)?;
    let output: Option<String> = row.get("output")?;
    let (code, message): (Option<String>, Option<String>) = (row.get("code")?, row.get("message")?);
    let duration_ms: i64 = row.get("duration_ms")?;
    let end = LinkEnd {
        state,
        output: parse_option("link", output.as_deref())?,
        error: code.zip(message),
        duration_ms: u64::try_from(duration_ms).unwrap_or(0),
    };
    Ok(LinkRecord {
        tool_call_id: row.get("tool_call")?,
        execution_id: row.get("execution")?,
        arguments_hash: row.get("arguments_hash")?,
        tool: row.get("tool")?,
        path: row.get("path")?,
        reserved_at: UnixMs(row.get("reserved_at")?),
        end: state.is_over().then_some(end),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use serde_json::json;

    use super::*;
    use crate::ir::{CallRecord, CallStatus, Clock, MOST_OWED};
    use crate::store::tests::{call, session, store};

    fn record(tool_call_id: &str) -> LinkRecord {
        LinkRecord {
            tool_call_id: tool_call_id.into(),
            execution_id: "x1".into(),
            arguments_hash: "hash".into(),
            tool: "workspace.read_file".into(),
            path: "a.txt".into(),
            reserved_at: UnixMs(1),
            end: None,
        }
    }

    fn done() -> LinkEnd {
        let output = Some(json!({"content": "hello"}));
        LinkEnd { state: LinkCallState::Succeeded, output, error: None, duration_ms: 7 }
    }

    #[tokio::test]
    async fn an_installation_has_one_name() {
        let store = store();
        assert_eq!(store.device_id("first").await.unwrap(), "first");
        assert_eq!(store.device_id("second").await.unwrap(), "first");
    }

    #[tokio::test]
    async fn a_server_is_kept_changed_and_forgotten_with_its_record() {
        let store = store();
        let server = LinkServer {
            url: "https://nod.example/".into(),
            workspace: "/projects/a".into(),
            key: KeyPlace::Keyring { origin: "https://nod.example".into() },
            is_paused: false,
        };
        store.put_link_server(&server).await.unwrap();
        let changed = LinkServer { is_paused: true, workspace: "/projects/b".into(), ..server };
        store.put_link_server(&changed).await.unwrap();
        assert_eq!(store.link_servers().await.unwrap(), [changed]);
        store.reserve_link("https://nod.example/", &record("t:c")).await.unwrap();
        store.remove_link_server("https://nod.example/").await.unwrap();
        assert_eq!(store.link_servers().await.unwrap(), []);
        assert_eq!(store.link_record("https://nod.example/", "t:c").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_place_is_taken_once_and_an_end_is_kept_until_the_server_has_it() {
        let store = store();
        assert_eq!(store.reserve_link("s", &record("t:c")).await.unwrap(), Admission::Fresh);
        assert_eq!(store.reserve_link("other", &record("t:c")).await.unwrap(), Admission::Fresh);
        let again = LinkRecord { execution_id: "x2".into(), ..record("t:c") };
        assert_eq!(store.reserve_link("s", &again).await.unwrap(), Admission::Running);
        let conflict = LinkRecord { arguments_hash: "else".into(), execution_id: "x3".into(), ..record("t:c") };
        assert_eq!(store.reserve_link("s", &conflict).await.unwrap(), Admission::Conflict);

        store.end_link("s", "t:c", &done()).await.unwrap();
        let other = LinkEnd { state: LinkCallState::Failed, ..done() };
        store.end_link("s", "t:c", &other).await.unwrap();
        assert_eq!(store.reserve_link("s", &again).await.unwrap(), Admission::Finished);
        assert_eq!(store.owed_links("s").await.unwrap(), ["t:c"]);
        let kept = LinkRecord { end: Some(done()), ..again.clone() };
        assert_eq!(store.link_record("s", "t:c").await.unwrap(), Some(kept));

        store.acknowledge_link("s", "t:c").await.unwrap();
        assert_eq!(store.owed_links("s").await.unwrap(), Vec::<String>::new());
        let dropped = LinkRecord { end: Some(LinkEnd { output: None, ..done() }), ..again };
        assert_eq!(store.link_record("s", "t:c").await.unwrap(), Some(dropped));
        assert_eq!(store.link_calls("s", 9).await.unwrap()[0].sent_bytes, 0);
        let sent = store.note_sent_link("s", "t:c", 20).await.unwrap().unwrap();
        assert_eq!((sent.sent_bytes, sent.state), (20, LinkCallState::Succeeded));
        assert_eq!(store.link_calls("s", 9).await.unwrap(), [sent]);
        assert_eq!(store.note_sent_link("s", "t:other", 20).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_left_behind_ends_and_what_waits_to_be_sent_can_be_taken_back() {
        let store = store();
        for id in ["t:done", "t:had", "t:running"] {
            store.reserve_link("s", &record(id)).await.unwrap();
        }
        for id in ["t:done", "t:had"] {
            store.end_link("s", id, &done()).await.unwrap();
        }
        store.acknowledge_link("s", "t:had").await.unwrap();
        store.reserve_link("other", &record("t:running")).await.unwrap();
        let end = |state| LinkEnd { state, output: None, error: Some(("C".into(), "why".into())), duration_ms: 0 };
        store.leave_links("s", &end(LinkCallState::Unknown)).await.unwrap();
        let states = async |server: &str| {
            let calls = store.link_calls(server, 9).await.unwrap();
            calls.into_iter().map(|call| call.state).collect::<Vec<_>>()
        };
        let (succeeded, unknown) = (LinkCallState::Succeeded, LinkCallState::Unknown);
        assert_eq!(states("s").await, [succeeded, succeeded, unknown]);
        assert_eq!(states("other").await, [LinkCallState::Running]);
        assert_eq!(store.reserve_link("s", &record("t:running")).await.unwrap(), Admission::Finished);

        store.take_back_links("s", &end(LinkCallState::Cancelled)).await.unwrap();
        assert_eq!(states("s").await, [LinkCallState::Cancelled, succeeded, unknown]);
        let kept = store.link_record("s", "t:done").await.unwrap().unwrap().end.unwrap();
        assert_eq!((kept.output, kept.error.unwrap().0.as_str()), (None, "C"));
    }

    #[tokio::test]
    async fn what_a_servers_calls_gave_is_forgotten_after_a_week() {
        let store = Store::open_in_memory(Arc::new(|| UnixMs(RECOGNISED_MS + 101))).unwrap().store;
        for id in ["link", "own"] {
            store.insert_session(&session(id)).await.unwrap();
            for (call_id, at) in [("old", 100), ("new", 101)] {
                let row = call(id, &format!("{id}-{call_id}"), None, CallStatus::Succeeded);
                store.insert_call(&CallRecord { created_at: UnixMs(at), ..row }).await.unwrap();
            }
        }
        store.give_session_to_server(&SessionId::new("link"), "s").await.unwrap();
        let sql = "SELECT group_concat(id, ' ') FROM (SELECT id FROM call ORDER BY row)";
        let left: String =
            store.look(move |transaction| Ok(transaction.query_row(sql, [], |row| row.get(0))?)).await.unwrap();
        assert_eq!(left, "link-new own-old own-new");
    }

    #[tokio::test]
    async fn what_ran_when_nod_ended_is_unknown_and_owed() {
        let store = store();
        store.reserve_link("s", &record("t:c")).await.unwrap();
        store.guard(|transaction| settle_running(transaction, UnixMs(5))).await.unwrap();
        let end = store.link_record("s", "t:c").await.unwrap().unwrap().end.unwrap();
        assert_eq!((end.state, end.error.unwrap().0.as_str()), (LinkCallState::Unknown, RESTARTED));
        assert_eq!(store.owed_links("s").await.unwrap(), ["t:c"]);
    }

    #[tokio::test]
    async fn a_server_that_takes_nothing_in_gets_no_more_places() {
        let store = store();
        for number in 0..MOST_OWED {
            let id = format!("t:{number}");
            assert_eq!(store.reserve_link("s", &record(&id)).await.unwrap(), Admission::Fresh);
            store.end_link("s", &id, &done()).await.unwrap();
        }
        assert_eq!(store.reserve_link("s", &record("t:more")).await.unwrap(), Admission::Full);
        store.acknowledge_link("s", "t:0").await.unwrap();
        assert_eq!(store.reserve_link("s", &record("t:more")).await.unwrap(), Admission::Fresh);
    }

    #[tokio::test]
    async fn a_call_is_recognised_for_a_week_after_the_server_has_its_result() {
        let time = Arc::new(AtomicI64::new(0));
        let clock: Clock = Arc::new({
            let time = Arc::clone(&time);
            move || UnixMs(time.load(Ordering::Relaxed))
        });
        let store = Store::open_in_memory(clock).unwrap().store;
        for id in ["t:a", "t:b"] {
            store.reserve_link("s", &record(id)).await.unwrap();
            store.end_link("s", id, &done()).await.unwrap();
        }
        store.acknowledge_link("s", "t:a").await.unwrap();
        time.store(RECOGNISED_MS, Ordering::Relaxed);
        store.acknowledge_link("s", "t:b").await.unwrap();
        assert!(store.link_record("s", "t:a").await.unwrap().is_some());
        time.store(RECOGNISED_MS + 1, Ordering::Relaxed);
        store.acknowledge_link("s", "t:b").await.unwrap();
        assert!(store.link_record("s", "t:a").await.unwrap().is_none());
        assert!(store.link_record("s", "t:b").await.unwrap().is_some());
    }
}
