//! A session as one value that leaves and comes back whole, and copies of a branch into a session of their own.

use std::collections::{HashMap, HashSet};

use rusqlite::Transaction;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ir::{
    CallRecord, CallStatus, IR_VERSION, MessageId, MessageRecord, MessageStatus, Session, SessionId, UnixMs,
};

use super::seal::SealKey;
use super::{Store, StoreError, call, message, recovery, session};

/// One session with everything that was said in it, on all branches. As JSON it is the export format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionExport {
    /// Version of the vocabulary.
    pub ir_version: String,
    /// The session.
    pub session: Session,
    /// All messages in the order of writing: a parent comes before its children.
    pub messages: Vec<MessageRecord>,
    /// The ledger.
    pub calls: Vec<CallRecord>,
}

impl Store {
    /// Everything of one session.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn export(&self, id: &SessionId) -> Result<SessionExport, StoreError> {
        let (id, seal) = (id.clone(), self.seal());
        self.look(move |transaction| {
            let session = session::find(transaction, &seal, &id)?;
            Ok(SessionExport {
                ir_version: IR_VERSION.to_owned(),
                session: session.ok_or_else(|| StoreError::Missing { what: "session", id: id.to_string() })?,
                messages: message::all(transaction, &id)?,
                calls: call::all(transaction, &id)?,
            })
        })
        .await
    }

    /// Keeps exported sessions as new ones, all of them or none; gives them with their new ids. Messages keep their ids where those are free.
    /// Nothing is left out, so folders, mode and system prompt come along: whoever imports a file from elsewhere empties
    /// them first, as the engine does. Allow rules and lifted names are never part of an export.
    ///
    /// # Errors
    /// `Import` when it contradicts itself or is of another version.
    pub async fn import(&self, exports: Vec<SessionExport>) -> Result<Vec<Session>, StoreError> {
        let (now, seal) = (self.now(), self.seal());
        self.guard(move |transaction| {
            exports.into_iter().map(|export| import(transaction, &seal, export, now)).collect()
        })
        .await
    }

    /// Copies the branch that ends with `at` into `new`, a session that is not kept yet, with its calls; gives it with
    /// its head. Both go their own ways from there.
    ///
    /// # Errors
    /// `Missing` for an unknown message; `Conflict` when the new session's id is taken.
    pub async fn fork(&self, at: &MessageId, new: &Session) -> Result<Session, StoreError> {
        let (at, new) = (at.clone(), new.clone());
        let (now, seal) = (self.now(), self.seal());
        self.guard(move |transaction| fork(transaction, &seal, &at, new, now)).await
    }
}

fn import(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    export: SessionExport,
    now: UnixMs,
) -> Result<Session, StoreError> {
    check(&export)?;
    let mut is_taken = transaction.prepare("SELECT 1 FROM message WHERE id = ?1")?;
    let mut any_taken = false;
    for record in &export.messages {
        any_taken |= is_taken.exists([record.id.as_str()])?;
    }
    let ids = if any_taken { Renaming::ToNew } else { Renaming::Keep };
    let session = Session { id: SessionId(new_id()), ..export.session };
    let mut calls = export.calls;
    for record in &mut calls {
        record.grounds.is_imported = true;
    }
    write(transaction, seal, session, export.messages, calls, ids, now)
}

fn fork(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    at: &MessageId,
    new: Session,
    now: UnixMs,
) -> Result<Session, StoreError> {
    let messages = message::walk(transaction, at, message::WHOLE_BRANCH)?;
    let Some(last) = messages.last() else {
        return Err(StoreError::Missing { what: "message", id: at.to_string() });
    };
    let on_branch: HashSet<&MessageId> = messages.iter().map(|record| &record.id).collect();
    let mut calls = call::all(transaction, &last.session)?;
    calls.retain(|record| record.message.as_ref().is_some_and(|message| on_branch.contains(message)));
    for record in &mut calls {
        // Whatever still runs, runs for the first session; this one only knows that it asked.
        if record.status == CallStatus::Running {
            record.status = CallStatus::Cancelled;
            record.finished_at = Some(now);
        }
    }
    let session = Session { head: Some(at.clone()), ..new };
    write(transaction, seal, session, messages, calls, Renaming::ToNew, now)
}

/// What happens to the messages' ids, which are unique in the whole database.
#[derive(Debug, Clone, Copy)]
enum Renaming {
    Keep,
    ToNew,
}

/// Keeps a session with messages and calls that were checked, as belonging to it.
fn write(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    mut session: Session,
    messages: Vec<MessageRecord>,
    calls: Vec<CallRecord>,
    ids: Renaming,
    now: UnixMs,
) -> Result<Session, StoreError> {
    let renamed: HashMap<MessageId, MessageId> = match ids {
        Renaming::Keep => HashMap::new(),
        Renaming::ToNew => messages.iter().map(|record| (record.id.clone(), MessageId(new_id()))).collect(),
    };
    let rename = |id: MessageId| renamed.get(&id).cloned().unwrap_or(id);
    session.head = session.head.map(rename);
    session::insert(transaction, seal, &session)?;
    for mut record in messages {
        record.id = rename(record.id);
        record.parent = record.parent.map(rename);
        record.session = session.id.clone();
        if record.status == MessageStatus::Streaming {
            record.status = MessageStatus::Interrupted;
        }
        message::insert(transaction, &record)?;
    }
    for mut record in calls {
        record.message = record.message.map(rename);
        record.session = session.id.clone();
        recovery::settle_call(&mut record, now);
        call::insert(transaction, &record)?;
    }
    Ok(session)
}

/// Refuses what contradicts itself before anything is written.
fn check(export: &SessionExport) -> Result<(), StoreError> {
    let refuse = |problem| Err(StoreError::Import { problem });
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(&export.ir_version) != major(IR_VERSION) {
        return refuse("it was written by a version of Nod whose format this one does not know");
    }
    let mut known = HashSet::new();
    for record in &export.messages {
        if record.parent.as_ref().is_some_and(|parent| !known.contains(parent)) {
            return refuse("a message stands before the one that it answers, or answers none that is there");
        }
        if !known.insert(&record.id) {
            return refuse("two messages have the same id");
        }
    }
    if export.session.head.as_ref().is_some_and(|head| !known.contains(head)) {
        return refuse("its last message is not there");
    }
    let mut calls = HashSet::new();
    for record in &export.calls {
        if record.message.as_ref().is_some_and(|message| !known.contains(message)) {
            return refuse("a call belongs to a message that is not there");
        }
        if !calls.insert(record.id()) {
            return refuse("two calls have the same id");
        }
    }
    Ok(())
}

fn new_id() -> String {
    Uuid::now_v7().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{call, message, session, store};
    use super::*;
    use crate::ir::{AnswerMeta, FinishReason, Image, Preview, Role, TokenUsage, ToolResult, UnixMs};

    /// A session with branches, an answer with everything in it, and calls in several states.
    async fn filled() -> Store {
        let store = store();
        let mut kept = session("s");
        kept.draft = "unsent".to_owned();
        store.insert_session(&kept).await.unwrap();
        let mut question = message("s", "q", None, Role::User, "看图");
        question.message.images = Some(vec![Image { url: "data:image/png;base64,AA==".to_owned(), detail: None }]);
        store.append_message(&question).await.unwrap();
        let mut answer = message("s", "a", Some("q"), Role::Assistant, "Let me see.");
        answer.message.reasoning_content = Some("hm".to_owned());
        answer.message.tool_calls = Some(vec![call("s", "c", None, CallStatus::Pending).call]);
        answer.message.provider_state = Some(json!({"signature": "x", "n": 1.5}));
        answer.answer = Some(AnswerMeta {
            provider: "ollama".to_owned(),
            model: "m".to_owned(),
            usage: TokenUsage { input_tokens: 5, ..TokenUsage::default() },
            perf: None,
            latency_ms: 12,
            first_token_ms: Some(3),
            thinking_ms: None,
            finish_reason: FinishReason::ToolCalls,
            cost: None,
            is_thought_alone: false,
            left_out: None,
            place: None,
        });
        store.append_message(&answer).await.unwrap();
        let mut done = call("s", "c", Some("a"), CallStatus::Succeeded);
        done.preview = Some(Preview::NewFile { content: "数据".to_owned() });
        done.result = Some(ToolResult {
            tool_call_id: done.call.id.clone(),
            tool_name: "write_file".to_owned(),
            result: json!({"success": true}),
            summary: None,
            success: true,
            error: None,
            duration_ms: 4,
            timestamp: UnixMs(104),
        });
        store.insert_call(&done).await.unwrap();
        let mut result = message("s", "r", Some("a"), Role::Tool, "");
        result.message.tool_result = done.result.clone();
        store.append_message(&result).await.unwrap();
        store.append_message(&message("s", "a2", Some("q"), Role::Assistant, "另一个回答")).await.unwrap();
        store
    }

    #[tokio::test]
    async fn an_export_comes_back_whole() {
        let (first, second) = (filled().await, store());
        let exported = first.export(&SessionId::new("s")).await.unwrap();
        let text = serde_json::to_string(&exported).unwrap();
        let [imported] = second.import(vec![serde_json::from_str(&text).unwrap()]).await.unwrap().try_into().unwrap();
        let mut again = second.export(&imported.id).await.unwrap();

        assert_ne!(imported.id, exported.session.id);
        again.session.id = exported.session.id.clone();
        for record in &mut again.messages {
            record.session = exported.session.id.clone();
        }
        for record in &mut again.calls {
            record.session = exported.session.id.clone();
            assert!(record.grounds.is_imported, "the file is the only one that tells of it");
            record.grounds.is_imported = false;
        }
        assert_eq!(again, exported);
        assert_eq!(second.search("另一", 9).await.unwrap().len(), 1, "what was imported is found");
    }

    #[tokio::test]
    async fn an_import_beside_its_original_gets_ids_of_its_own() {
        let store = filled().await;
        let exported = store.export(&SessionId::new("s")).await.unwrap();
        let [imported] = store.import(vec![exported.clone()]).await.unwrap().try_into().unwrap();
        let texts = |messages: Vec<MessageRecord>| {
            messages.into_iter().map(|record| (record.message, record.version)).collect::<Vec<_>>()
        };
        let copy = store.export(&imported.id).await.unwrap();
        assert_eq!(texts(copy.messages), texts(exported.messages.clone()));
        assert_eq!(
            texts(store.branch(&imported.id).await.unwrap()),
            texts(store.branch(&exported.session.id).await.unwrap())
        );
        assert_eq!(store.export(&exported.session.id).await.unwrap(), exported);
    }

    #[tokio::test]
    async fn an_import_that_contradicts_itself_leaves_nothing_behind() {
        let good = filled().await.export(&SessionId::new("s")).await.unwrap();
        type Damage = fn(&mut SessionExport);
        let damages: [(&str, Damage); 6] = [
            ("version", |export| export.ir_version = "2.0".to_owned()),
            ("order", |export| export.messages.reverse()),
            ("twice", |export| export.messages.push(export.messages[0].clone())),
            ("head", |export| export.session.head = Some(MessageId::new("nowhere"))),
            ("call", |export| export.calls[0].message = Some(MessageId::new("nowhere"))),
            ("call twice", |export| export.calls.push(export.calls[0].clone())),
        ];
        let store = store();
        for (name, damage) in damages {
            let mut export = good.clone();
            damage(&mut export);
            // Not even the one before it stays.
            let refused = store.import(vec![good.clone(), export]).await;
            assert!(matches!(refused, Err(StoreError::Import { .. })), "{name}: {refused:?}");
        }
        assert_eq!(store.list_sessions().await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_fork_ends_where_it_was_cut_and_runs_nothing() {
        let store = filled().await;
        store.insert_call(&call("s", "running", Some("a"), CallStatus::Running)).await.unwrap();
        store.insert_call(&call("s", "waiting", Some("a"), CallStatus::Waiting)).await.unwrap();
        let before = store.export(&SessionId::new("s")).await.unwrap();
        let forked = store.fork(&MessageId::new("a"), &session("fork")).await.unwrap();
        let branch = store.branch(&forked.id).await.unwrap();
        assert_eq!(
            branch.iter().map(|record| record.message.content.as_str()).collect::<Vec<_>>(),
            ["看图", "Let me see."]
        );
        assert_eq!(forked.head.as_ref(), branch.last().map(|record| &record.id));
        let calls = store.calls_for_messages(branch.into_iter().map(|record| record.id).collect()).await.unwrap();
        let states: Vec<_> = calls.iter().map(|record| record.status).collect();
        assert_eq!(states, [CallStatus::Succeeded, CallStatus::Cancelled, CallStatus::Cancelled]);
        assert_eq!(store.export(&SessionId::new("s")).await.unwrap(), before, "the original is as it was");
    }
}
