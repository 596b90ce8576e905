//! Sessions as wholes: made, listed, forked, branched, deleted, and their folders.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::ir::{Image, MessageId, MessageRecord, MessageStatus, Role, RuleId, Session, SessionId, UnixMs};
use crate::policy::{Rule, RuleEffect, RuleMaker, RuleScope, RuleSet};
use crate::port::{Event, SearchHit, Settings};
use crate::store::Hit;

use super::fault::Fault;
use super::folder;
use super::setting;
use super::shared::{Shared, unique};
use super::transcript::Transcript;

/// Characters of a title that came with an imported chat.
const LONGEST_TITLE: usize = 200;
/// Characters of a title.
const TITLE: usize = 48;

pub(super) async fn list(shared: &Shared) -> Result<(), Fault> {
    let sessions = shared.store.list_sessions().await?;
    shared.publish(Event::SessionsListed(sessions)).await;
    Ok(())
}

/// A session with the settings' defaults, not stored yet.
pub(super) fn blank(settings: &Settings, now: UnixMs) -> Session {
    Session {
        id: SessionId::new(unique("ses_")),
        title: String::new(),
        provider: settings.models.default_provider.clone(),
        model: settings.models.default_model.clone(),
        thinking: settings.models.thinking,
        folders: settings.safety.folders.clone(),
        mode: settings.safety.mode,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: now,
        updated_at: now,
    }
}

/// A new session with the settings' defaults.
pub(super) async fn create(shared: &Shared) -> Result<SessionId, Fault> {
    let session = blank(&shared.settings(), shared.now());
    shared.store.insert_session(&session).await?;
    Ok(session.id)
}

/// Keeps a session as a front end gives it, new or changed.
pub(super) async fn keep(shared: &Shared, mut session: Session) -> Result<(), Fault> {
    let stored = shared.store.session(&session.id).await?;
    let known = stored.as_ref().map(|stored| stored.folders.clone()).unwrap_or_default();
    session.folders = folder::settled(session.folders, known).await;
    if stored.is_some() {
        shared.store.update_session(&session).await?;
    } else {
        shared.store.insert_session(&Session { head: None, ..session }).await?;
    }
    Ok(())
}

pub(super) async fn delete(shared: &Shared, id: &SessionId) -> Result<(), Fault> {
    shared.store.delete_session(id).await?;
    shared.publish(Event::SessionDeleted(id.clone())).await;
    Ok(())
}

/// Hides every session of this computer.
pub(super) async fn delete_all(shared: &Shared) -> Result<(), Fault> {
    let ids = shared.store.delete_all_sessions().await?;
    shared.publish(Event::SessionsDeleted(ids)).await;
    Ok(())
}

pub(super) async fn restore(shared: &Shared, ids: &[SessionId]) -> Result<(), Fault> {
    for id in ids {
        shared.store.restore_session(id).await?;
    }
    list(shared).await
}

/// Removes for good what was deleted so long ago, and what was kept to take its changes back.
pub(super) async fn purge(shared: &Arc<Shared>, ago: Duration) {
    let ago_ms = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    // What was deleted in this very millisecond is among it.
    let before = UnixMs(shared.now().0.saturating_sub(ago_ms).saturating_add(1));
    match shared.store.purge_deleted(before).await {
        Ok(0) => {}
        Ok(_) => super::undo::prune(shared).await,
        Err(error) => tracing::warn!(%error, "deleted sessions were not purged"),
    }
}

/// A copy of the branch that ends with this message. What the person refused for good in the first stays refused in the copy;
/// what they allowed there is asked anew.
pub(super) async fn fork(shared: &Shared, id: &SessionId, at: &MessageId) -> Result<SessionId, Fault> {
    let session = shared.store.session(id).await?.ok_or_else(Fault::no_session)?;
    let now = shared.now();
    let new = Session {
        id: SessionId::new(unique("ses_")),
        head: None,
        draft: String::new(),
        pinned: false,
        created_at: now,
        updated_at: now,
        ..session
    };
    let refusals = refusals(shared, &session.id, &new.id).await?;
    let fork = shared.store.fork(at, &new).await?.id;
    for rule in refusals {
        if let Err(error) = shared.store.insert_rule(&rule).await {
            // Without its refusals there is no copy.
            shared.store.delete_session(&fork).await?;
            return Err(error.into());
        }
    }
    Ok(fork)
}

/// The refusals of a session as those of another; of one that was changed from outside, all that it may have meant.
async fn refusals(shared: &Shared, of: &SessionId, to: &SessionId) -> Result<Vec<Rule>, Fault> {
    let RuleSet { intact, broken } = shared.store.rules(of).await?;
    let own = |rule: &Rule| rule.effect == RuleEffect::Deny && rule.session.as_ref() == Some(of);
    let copy = |scope: RuleScope, made_by: RuleMaker| Rule {
        id: RuleId::new(unique("rule_")),
        session: Some(to.clone()),
        effect: RuleEffect::Deny,
        scope,
        made_by,
        created_at: shared.now(),
        hits: 0,
    };
    let mut refusals: Vec<Rule> = intact.into_iter().filter(own).map(|rule| copy(rule.scope, rule.made_by)).collect();
    let tools = shared.tools.iter().map(|tool| tool.definition().name);
    let refused = tools.filter(|tool| broken.iter().any(|rule| rule.may_refuse(tool)));
    refusals.extend(refused.map(|tool| copy(RuleScope::ToolInFolders { tool }, RuleMaker::Panel)));
    Ok(refusals)
}

/// Makes the branch end before this message; gives its images, for the message that takes its place.
pub(super) async fn before(shared: &Shared, id: &SessionId, message: &MessageId) -> Result<Vec<Image>, Fault> {
    let record = message_of(shared, id, message).await?;
    shared.store.set_head(id, record.parent.as_ref()).await?;
    Ok(record.message.images.unwrap_or_default())
}

/// Makes the branch end before this answer, for another in its place; gives the rounds that were done before it.
pub(super) async fn step_back(shared: &Shared, id: &SessionId, message: &MessageId) -> Result<u32, Fault> {
    let record = message_of(shared, id, message).await?;
    if record.message.role != Role::Assistant {
        return Err(Fault::new("fault-not-an-answer", ""));
    }
    shared.store.set_head(id, record.parent.as_ref()).await?;
    Ok(record.message.iteration.unwrap_or(1).saturating_sub(1))
}

/// Readies a session for going on: a broken-off answer gives way to another try. Gives the rounds that were done.
pub(super) async fn pick_up(shared: &Shared, id: &SessionId) -> Result<u32, Fault> {
    let session = shared.store.session(id).await?.ok_or_else(Fault::no_session)?;
    let Some(head) = session.head else { return Err(Fault::new("fault-nothing-to-continue", "")) };
    let record = message_of(shared, id, &head).await?;
    let is_broken = match record.status {
        MessageStatus::Complete => false,
        MessageStatus::Streaming | MessageStatus::Stopped | MessageStatus::Failed | MessageStatus::Interrupted => true,
    };
    match record.message.role {
        Role::Assistant if is_broken && record.message.calls().is_empty() => step_back(shared, id, &head).await,
        Role::Assistant if record.message.calls().is_empty() => Err(Fault::new("fault-nothing-to-continue", "")),
        Role::Assistant | Role::Tool => Ok(record.message.iteration.unwrap_or(0)),
        Role::User | Role::System => Ok(0),
    }
}

/// Shows another version of a message, with the newest that followed it.
pub(super) async fn select_version(
    shared: &Shared,
    id: &SessionId,
    message: &MessageId,
    version: u32,
) -> Result<(), Fault> {
    let versions = shared.store.versions(message).await?;
    let index = usize::try_from(version).unwrap_or(0).checked_sub(1);
    let chosen = index.and_then(|index| versions.get(index)).ok_or_else(|| Fault::new("fault-no-message", ""))?;
    let leaf = shared.store.newest_leaf(chosen).await?;
    Ok(shared.store.set_head(id, Some(&leaf)).await?)
}

/// Allows a folder, with a warning where it is very wide.
pub(super) async fn add_folder(shared: &Shared, transcript: &Arc<Transcript>, path: PathBuf) -> Result<(), Fault> {
    let folder::Opened { path: folder, warning } = folder::open(shared, path).await?;
    let session = transcript
        .change(|session| {
            if !session.folders.contains(&folder) {
                session.folders.push(folder);
            }
        })
        .await?;
    if let Some(warning) = warning {
        shared.publish(warning).await;
    }
    setting::remember_folders(shared, session.folders).await
}

pub(super) async fn remove_folder(shared: &Shared, transcript: &Transcript, path: &str) -> Result<(), Fault> {
    let session = transcript.change(|session| session.folders.retain(|folder| folder != path)).await?;
    setting::remember_folders(shared, session.folders).await
}

/// What a search found, for the front ends.
pub(super) fn found(number: u64, hits: Vec<Hit>) -> Event {
    Event::SearchFound { number, hits: hits.into_iter().map(SearchHit::from).collect() }
}

impl From<Hit> for SearchHit {
    fn from(Hit { session, title, message, snippet, at }: Hit) -> Self {
        Self { session, title, message, snippet, at }
    }
}

/// A title from the first message: its first line, cut at a word where that loses little.
pub(super) fn title_from(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', '>', '*', '-', ' ']);
    let mut title: String = line.chars().filter(|character| !character.is_control()).take(TITLE).collect();
    if title.chars().count() < line.chars().count() {
        if let Some((head, tail)) = title.rsplit_once(' ')
            && tail.chars().count() < 12
        {
            title = head.to_owned();
        }
        title.push('…');
    }
    title
}

/// A title that came from elsewhere as one line of bearable length.
pub(super) fn title_line(text: &str) -> String {
    let line = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

async fn message_of(shared: &Shared, id: &SessionId, message: &MessageId) -> Result<MessageRecord, Fault> {
    let record = shared.store.message(message).await?;
    record.filter(|record| record.session == *id).ok_or_else(|| Fault::new("fault-no-message", ""))
}

#[cfg(test)]
mod tests {
    use super::{title_from, title_line};

    #[test]
    fn a_title_from_elsewhere_is_one_line_of_bearable_length() {
        assert_eq!(title_line("Notes\n\n✓ write_file  a.txt\r\u{85}"), "Notes ✓ write_file a.txt");
        assert_eq!(title_line(&"字".repeat(1_000)), format!("{}…", "字".repeat(200)));
    }

    #[test]
    fn a_title_is_the_first_line_cut_at_a_word() {
        assert_eq!(title_from("\n  Read the README\nand more"), "Read the README");
        assert_eq!(title_from("# 总结一下这个项目"), "总结一下这个项目");
        let long = "Please look at every file in this folder and tell me which are unused";
        assert_eq!(title_from(long), "Please look at every file in this folder and…");
        assert_eq!(title_from(&"字".repeat(60)), format!("{}…", "字".repeat(48)));
        assert_eq!(title_from(""), "");
    }
}
