//! What was deleted is gone: from the database, its index, its log and the free parts of the file, once nothing offers to bring
//! it back any more.
#![expect(clippy::disallowed_methods, reason = "looks into the files that lie in the data folder")]

use std::path::Path;
use std::time::Duration;

use nod::engine::system_clock;
use nod::ir::SessionId;
use nod::port::{Command, Event};
use nod::provider::scripted::Step;
use nod::store::Store;

use crate::support::desk::{Desk, PATIENCE, Setup, blank_session};

/// Words that stand nowhere else, said by the person and by the model.
const SAID: &str = "quietwaterfall";
const ANSWERED: &str = "slowmarigold";

/// In which files of the data folder any of the words stands.
fn traces(data: &Path) -> Vec<String> {
    let files = std::fs::read_dir(data).unwrap().flatten().filter(|entry| entry.path().is_file());
    let holds =
        |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    let found = files.filter(|entry| {
        let bytes = std::fs::read(entry.path()).unwrap();
        holds(&bytes, SAID) || holds(&bytes, ANSWERED)
    });
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn said(restorable: Duration) -> Desk {
    let answer = vec![Step::Text(format!("{ANSWERED} {}", "and more ".repeat(400)))];
    let mut desk = Desk::with(Setup { restorable, ..Setup::new(vec![answer]).kept() });
    desk.say(SAID);
    desk.turn_end();
    desk
}

#[test]
fn a_deleted_chat_can_be_brought_back_while_that_is_offered() {
    let mut desk = said(Duration::from_mins(10));
    desk.send(Command::DeleteSession(desk.session.clone()));
    desk.until(|event| matches!(event, Event::SessionDeleted(_)));
    assert!(!traces(desk.data.path()).is_empty(), "the control: it is still there");
    desk.send(Command::RestoreSession(desk.session.clone()));
    let listed = desk.until(|event| matches!(event, Event::SessionsListed(_)));
    assert!(matches!(listed, Event::SessionsListed(all) if all.iter().any(|one| one.id == desk.session)));
}

#[test]
fn once_it_is_not_offered_any_more_nothing_of_it_is_left_in_any_file() {
    for all in [false, true] {
        let mut desk = said(Duration::from_millis(1));
        let command = if all { Command::DeleteAllSessions } else { Command::DeleteSession(desk.session.clone()) };
        desk.send(command);
        desk.until(|event| matches!(event, Event::SessionDeleted(_) | Event::SessionsDeleted(_)));
        let begun = std::time::Instant::now();
        while !traces(desk.data.path()).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{all}: {:?}", traces(desk.data.path()));
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_is_deleted_just_before_the_end_is_gone_with_the_end_and_else_with_the_next_start() {
    let mut desk = said(Duration::from_mins(10));
    desk.send(Command::DeleteSession(desk.session.clone()));
    desk.until(|event| matches!(event, Event::SessionDeleted(_)));
    desk.stop_engine();
    assert_eq!(traces(desk.data.path()), [""; 0]);

    // Broken off before that: the next start does it.
    let mut desk = said(Duration::from_mins(10));
    desk.stop_engine();
    let outside = rusqlite::Connection::open(desk.data.path().join("nod.db")).unwrap();
    outside.execute_batch("UPDATE session SET deleted_at = 1").unwrap();
    drop(outside);
    assert!(!traces(desk.data.path()).is_empty(), "the control");
    desk.start_engine();
    desk.stop_engine();
    assert_eq!(traces(desk.data.path()), [""; 0]);
}

#[tokio::test]
async fn what_is_kept_for_a_server_is_neither_counted_nor_deleted_with_all_chats() {
    let store = Store::open_in_memory(system_clock()).unwrap().store;
    let (chat, server) = (SessionId::new("s"), SessionId::new("ses_link_a"));
    store.insert_session(&blank_session("s")).await.unwrap();
    store.insert_session(&blank_session("ses_link_a")).await.unwrap();
    store.give_session_to_server(&server, "https://nod.example").await.unwrap();
    assert_eq!(store.delete_all_sessions().await.unwrap(), [chat]);
    store.purge_deleted(nod::ir::UnixMs(i64::MAX)).await.unwrap();
    assert!(store.session(&server).await.unwrap().is_some());
}
