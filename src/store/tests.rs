//! What the store promises to the rest of the program, table by table.

use std::sync::Arc;

use serde_json::json;

use super::{Delta, Store, StoreError};
use crate::ir::{
    CallId, CallRecord, CallStatus, Clock, ConfirmMode, Decider, FileState, Message, MessageId, MessageRecord,
    MessageStatus, Role, Session, SessionId, ThinkingLevel, ToolCall, UndoEntry, UndoId, UndoOperation, UndoPlace,
    UndoState, UnixMs, Verdict,
};

pub(super) fn clock() -> Clock {
    Arc::new(|| UnixMs(5_000))
}

pub(super) fn store() -> Store {
    Store::open_in_memory(clock()).unwrap().store
}

pub(super) fn session(id: &str) -> Session {
    Session {
        id: SessionId::new(id),
        title: format!("About {id}"),
        provider: "ollama".to_owned(),
        model: "qwen3:8b".to_owned(),
        thinking: ThinkingLevel::High,
        folders: vec!["/data/project".to_owned()],
        mode: ConfirmMode::EveryCall,
        is_local_only: false,
        system_prompt: Some("Be brief.".to_owned()),
        pinned: true,
        head: None,
        draft: String::new(),
        created_at: UnixMs(1),
        updated_at: UnixMs(1),
    }
}

pub(super) fn message(session: &str, id: &str, parent: Option<&str>, role: Role, text: &str) -> MessageRecord {
    MessageRecord {
        id: MessageId::new(id),
        session: SessionId::new(session),
        parent: parent.map(MessageId::new),
        message: Message::text(role, text, UnixMs(100)),
        status: MessageStatus::Complete,
        answer: None,
        error: None,
        version: (1, 1),
    }
}

/// What takes back a folder that a call of the session `s` made.
pub(super) fn change(id: &str) -> UndoEntry {
    UndoEntry {
        id: UndoId::new(id),
        session: SessionId::new("s"),
        call: CallId::new("c"),
        message: None,
        operation: UndoOperation::Created,
        reverts: None,
        place: UndoPlace { folder: "/projects".to_owned(), device: 1, inode: 1, path: "a".to_owned() },
        before: FileState::Missing,
        after: FileState::Folder,
        made_folders: 0,
        state: UndoState::Done,
        created_at: UnixMs(1),
        settled_at: None,
    }
}

pub(super) fn call(session: &str, id: &str, message: Option<&str>, status: CallStatus) -> CallRecord {
    CallRecord {
        call: ToolCall {
            id: CallId::new(id),
            name: "write_file".to_owned(),
            args: json!({"path": "a.txt", "content": "数据"}),
            iteration: 1,
            timestamp: UnixMs(100),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        session: SessionId::new(session),
        message: message.map(MessageId::new),
        status,
        args_hash: "ab".to_owned(),
        target: Some("/data/project/a.txt".to_owned()),
        verdict: Some(Verdict::Allowed),
        decider: Some(Decider::Person),
        grounds: crate::ir::Grounds::default(),
        reason: None,
        preview: None,
        result: None,
        created_at: UnixMs(101),
        started_at: (status == CallStatus::Running).then_some(UnixMs(102)),
        finished_at: None,
    }
}

fn ids(records: &[MessageRecord]) -> Vec<&str> {
    records.iter().map(|record| record.id.as_str()).collect()
}

#[tokio::test]
async fn sessions_come_back_as_they_were_kept_and_last_used_first() {
    let store = store();
    let (first, second) = (session("first"), session("second"));
    store.insert_session(&first).await.unwrap();
    store.insert_session(&second).await.unwrap();
    store.append_message(&message("first", "m", None, Role::User, "hello")).await.unwrap();
    store.save_draft(&first.id, "half a sent").await.unwrap();

    let mut renamed = second.clone();
    renamed.title = "另一个标题".to_owned();
    renamed.draft = "an old copy never takes a draft back".to_owned();
    store.update_session(&renamed).await.unwrap();

    let used =
        Session { head: Some(MessageId::new("m")), draft: "half a sent".to_owned(), updated_at: UnixMs(100), ..first };
    let renamed = Session { draft: String::new(), ..renamed };
    assert_eq!(store.list_sessions().await.unwrap(), [used, renamed]);
    assert!(matches!(store.insert_session(&second).await, Err(StoreError::Conflict { .. })));
    assert!(matches!(store.update_session(&session("none")).await, Err(StoreError::Missing { .. })));
}

#[tokio::test]
async fn a_streamed_answer_grows_visibly_and_ends_whole() {
    let store = store();
    store.insert_session(&session("s")).await.unwrap();
    store.append_message(&message("s", "question", None, Role::User, "?")).await.unwrap();
    let mut answer = message("s", "answer", Some("question"), Role::Assistant, "");
    store.begin_answer(&answer).await.unwrap();
    let delta = |is_reasoning, text: &str| Delta { is_reasoning, text: text.to_owned() };
    store.append_deltas(&answer.id, vec![delta(true, "hm"), delta(true, "m "), delta(false, "It")]).await.unwrap();
    store.append_deltas(&answer.id, vec![delta(false, " is")]).await.unwrap();

    answer.message.reasoning_content = Some("hmm ".to_owned());
    answer.message.content = "It is".to_owned();
    answer.status = MessageStatus::Streaming;
    assert_eq!(store.message(&answer.id).await.unwrap(), Some(answer.clone()));

    answer.message.content = "It is so.".to_owned();
    answer.status = MessageStatus::Complete;
    store.finish_message(&answer).await.unwrap();
    assert_eq!(store.branch(&SessionId::new("s")).await.unwrap().last(), Some(&answer));
    let late = store.append_deltas(&answer.id, vec![delta(false, "late")]).await;
    assert!(matches!(late, Err(StoreError::Missing { .. })), "{late:?}");
}

#[tokio::test]
async fn branches_are_kept_side_by_side_and_numbered() {
    let store = store();
    let s = SessionId::new("s");
    store.insert_session(&session("s")).await.unwrap();
    for (id, parent, role) in [
        ("q1", None, Role::User),
        ("a1", Some("q1"), Role::Assistant),
        ("q2", Some("a1"), Role::User),
        ("a2", Some("q1"), Role::Assistant),
        ("q1b", None, Role::User),
    ] {
        store.append_message(&message("s", id, parent, role, id)).await.unwrap();
    }
    assert_eq!(ids(&store.branch(&s).await.unwrap()), ["q1b"]);
    assert_eq!(store.newest_leaf(&MessageId::new("q1")).await.unwrap().as_str(), "a2");
    assert_eq!(store.newest_leaf(&MessageId::new("a1")).await.unwrap().as_str(), "q2");
    store.set_head(&s, Some(&MessageId::new("q2"))).await.unwrap();
    let shown = store.branch(&s).await.unwrap();
    assert_eq!(ids(&shown), ["q1", "a1", "q2"]);
    assert_eq!(shown.iter().map(|record| record.version).collect::<Vec<_>>(), [(1, 2), (1, 2), (1, 1)]);
    let versions = store.versions(&MessageId::new("a2")).await.unwrap();
    assert_eq!(versions, [MessageId::new("a1"), MessageId::new("a2")]);

    let page = store.page(&s, None, 2).await.unwrap();
    assert_eq!((ids(&page.messages), page.has_older), (vec!["a1", "q2"], true));
    let page = store.page(&s, Some(&MessageId::new("a1")), 2).await.unwrap();
    assert_eq!((ids(&page.messages), page.has_older), (vec!["q1"], false));

    let foreign = store.set_head(&s, Some(&MessageId::new("nowhere"))).await;
    assert!(matches!(foreign, Err(StoreError::Missing { .. })));
    let orphan = store.append_message(&message("s", "x", Some("nowhere"), Role::User, "")).await;
    assert!(matches!(orphan, Err(StoreError::Missing { .. })));
    assert_eq!(
        store.session(&s).await.unwrap().unwrap().head,
        Some(MessageId::new("q2")),
        "a refused append moves nothing"
    );
}

#[tokio::test]
async fn a_call_begins_at_most_once() {
    let store = store();
    store.insert_session(&session("s")).await.unwrap();
    store.append_message(&message("s", "m", None, Role::Assistant, "")).await.unwrap();
    let pending = call("s", "c", Some("m"), CallStatus::Pending);
    store.insert_call(&pending).await.unwrap();
    assert!(matches!(store.insert_call(&pending).await, Err(StoreError::Conflict { .. })));

    let running = call("s", "c", Some("m"), CallStatus::Running);
    store.update_call(&running).await.unwrap();
    let done = CallRecord { status: CallStatus::Succeeded, finished_at: Some(UnixMs(103)), ..running.clone() };
    store.update_call(&done).await.unwrap();
    assert!(matches!(store.update_call(&running).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.calls_for_messages(vec![MessageId::new("m")]).await.unwrap(), std::slice::from_ref(&done));
    assert_eq!(store.recent_calls(&SessionId::new("s"), 5).await.unwrap(), [done]);
    assert!(matches!(
        store.update_call(&call("s", "none", None, CallStatus::Running)).await,
        Err(StoreError::Missing { .. })
    ));
}

#[tokio::test]
async fn settings_are_changed_and_forgotten() {
    let store = store();
    store.set_setting("theme", &json!("dark")).await.unwrap();
    store.set_setting("theme", &json!({"name": "light"})).await.unwrap();
    store.set_setting("size", &json!(14)).await.unwrap();
    store.reset_setting("size").await.unwrap();
    let expected = std::collections::BTreeMap::from([("theme".to_owned(), json!({"name": "light"}))]);
    assert_eq!(store.settings().await.unwrap(), expected);
}

#[tokio::test]
async fn a_deleted_session_is_hidden_then_back_then_gone_with_everything() {
    let store = store();
    let s = SessionId::new("s");
    store.insert_session(&session("s")).await.unwrap();
    // Longer than SQLite would follow link by link.
    let mut parent: Option<String> = None;
    for number in 0..1500 {
        let id = format!("m{number}");
        store.append_message(&message("s", &id, parent.as_deref(), Role::User, "needle")).await.unwrap();
        parent = Some(id);
    }
    let running = call("s", "c", Some("m0"), CallStatus::Running);
    store.insert_call(&running).await.unwrap();
    store.lift(&s, std::path::Path::new("/data/.env")).await.unwrap();

    store.delete_session(&s).await.unwrap();
    assert_eq!(store.list_sessions().await.unwrap(), []);
    assert_eq!(store.search("needle", 10).await.unwrap(), []);
    assert_eq!(store.purge_deleted(UnixMs(5_000)).await.unwrap(), 0, "not yet");
    store.restore_session(&s).await.unwrap();
    assert_eq!(store.branch(&s).await.unwrap().len(), 1500);
    assert_eq!(store.search("needle", 10).await.unwrap().len(), 10);

    store.delete_session(&s).await.unwrap();
    assert_eq!(store.purge_deleted(UnixMs(5_001)).await.unwrap(), 0, "a call of it is under way");
    store.update_call(&crate::ir::CallRecord { status: CallStatus::Succeeded, ..running }).await.unwrap();
    assert_eq!(store.purge_deleted(UnixMs(5_001)).await.unwrap(), 1);
    assert_eq!(store.session(&s).await.unwrap(), None);
    assert_eq!(store.message(&MessageId::new("m7")).await.unwrap(), None);
    assert_eq!(store.recent_calls(&s, 9).await.unwrap(), []);
    assert_eq!(store.lifted(&s).await.unwrap(), Vec::<std::path::PathBuf>::new());
    assert!(matches!(store.restore_session(&s).await, Err(StoreError::Missing { .. })));
}

/// SQLite's own page limit gives the same error as a full disk, everywhere and for everybody.
#[tokio::test]
async fn a_full_database_refuses_whole_changes_and_works_again_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), clock()).unwrap().store;
    let s = SessionId::new("s");
    store.insert_session(&session("s")).await.unwrap();
    let limit = |pages: i64| {
        let writer = store.writer().unwrap();
        writer.run_bare(move |connection| Ok(connection.pragma_update(None, "max_page_count", pages)?))
    };
    limit(1).await.unwrap(); // never below what there is
    let text = "word ".repeat(20_000);
    let full = store.append_message(&message("s", "m", None, Role::User, &text)).await;
    assert!(matches!(&full, Err(StoreError::Full { path }) if path.ends_with("nod.db")), "{full:?}");
    let mut running = call("s", "c", None, CallStatus::Running);
    running.reason = Some(text.clone());
    assert!(matches!(store.insert_call(&running).await, Err(StoreError::Full { .. })));
    assert_eq!(store.session(&s).await.unwrap().unwrap().head, None);
    assert_eq!(store.recent_calls(&s, 5).await.unwrap(), []);

    limit(1_000_000).await.unwrap();
    store.append_message(&message("s", "m", None, Role::User, &text)).await.unwrap();
    assert_eq!(store.branch(&s).await.unwrap().len(), 1);
}
