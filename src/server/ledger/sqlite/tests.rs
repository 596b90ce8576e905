use super::*;

#[tokio::test]
async fn what_was_kept_is_found_by_whoever_asks_next() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    let keep_and_ask = |number: usize| {
        let (ledger, name) = (&ledger, format!("user-{number}"));
        async move {
            ledger.add_token(&name, &name, UnixMs(1)).await.unwrap();
            assert_eq!(ledger.user_of_token(&name).await.unwrap(), Some(name));
        }
    };
    futures_util::future::join_all((0..300).map(keep_and_ask)).await;
    assert_eq!(ledger.tokens().await.unwrap().len(), 300);
}

#[tokio::test]
async fn a_change_that_fails_takes_nothing_of_its_neighbours_with_it() {
    let ledger = SqliteLedger::open(Path::new(IN_MEMORY)).unwrap();
    let half = ledger.run(|connection| {
        connection.execute("INSERT INTO user_token (name, hash, created_at) VALUES ('half', 'half', 1)", [])?;
        Err::<(), _>(LedgerError::NotFound)
    });
    let (before, failed, after) =
        tokio::join!(ledger.add_token("ann", "a", UnixMs(1)), half, ledger.add_token("bob", "b", UnixMs(1)));
    assert!(before.is_ok() && after.is_ok());
    assert!(matches!(failed, Err(LedgerError::NotFound)));
    let names: Vec<String> = ledger.tokens().await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["ann", "bob"]);
}

#[tokio::test]
async fn of_a_change_that_breaks_half_way_nothing_is_kept_nor_of_what_shared_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    let add = |name: &'static str| {
        ledger.run_together(move |connection| {
            let added = "INSERT INTO user_token (name, hash, created_at) VALUES (?1, ?1, 1)";
            connection.execute(added, [name])?;
            Ok(())
        })
    };
    let half = ledger.run_together(|connection| {
        connection.execute("INSERT INTO user_token (name, hash, created_at) VALUES ('half', 'half', 1)", [])?;
        Err::<(), _>(LedgerError::NotFound)
    });
    let (before, failed, after) = tokio::join!(add("ann"), half, add("bob"));
    assert!(matches!(failed, Err(LedgerError::NotFound)));
    // Which of them shared its commit is a matter of the moment; what was said about each is true.
    let said = [("ann", before.is_ok()), ("bob", after.is_ok())];
    let told: Vec<&str> = said.into_iter().filter_map(|(name, is_kept)| is_kept.then_some(name)).collect();
    let kept = ledger.tokens().await.unwrap();
    assert_eq!(kept.iter().map(|token| token.name.as_str()).collect::<Vec<_>>(), told);
    // One that failed before it changed anything takes nothing with it.
    let refused = ledger.run_together(|_connection| Err::<(), _>(LedgerError::NotFound));
    let (refused, after) = tokio::join!(refused, add("cid"));
    assert!(refused.is_err() && after.is_ok());
}

#[tokio::test]
async fn a_ledger_of_an_earlier_version_keeps_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let old = Connection::open(&path).unwrap();
    for step in &SCHEMA[..2] {
        old.execute_batch(step.sqlite).unwrap();
    }
    old.pragma_update(None, "user_version", 2).unwrap();
    let message = to_json(&Message::text(crate::ir::Role::User, "Hello", UnixMs(1))).unwrap();
    old.execute_batch(&format!(
        "INSERT INTO thread VALUES ('t', 'ann', 'Hello', NULL, 1, 2);
         INSERT INTO run (id, turn, thread, place, owner, device, status, replica, created_at)
             VALUES ('r', 'u', 't', 1, 'ann', 'd', 'running', 'p', 1);
         INSERT INTO message VALUES ('t', 1, 'r', '{message}');
         INSERT INTO model_call VALUES ('t', 'call_1');
         INSERT INTO tool_call VALUES ('t:call_1', 'ann', 'd', 't', 'r', 'tool', '{{}}', 'h', 'dispatched', NULL, NULL,
             NULL, 'p', 1, 1);
         INSERT INTO tool_execution VALUES ('x', 't:call_1', 1, 'dispatched', 'k', 1, NULL);"
    ))
    .unwrap();
    drop(old);
    let ledger = SqliteLedger::open(&path).unwrap();
    let thread = ledger.thread("ann", "t").await.unwrap().unwrap();
    assert_eq!((thread.thread.title.as_str(), thread.turns[0].messages.len()), ("Hello", 1));
    assert_eq!((thread.tool_calls[0].executions.len(), ledger.thread("bob", "t").await.unwrap()), (1, None));
    // The process that waited is gone: its dispatch goes by what was its call's.
    assert_eq!(ledger.keep_alive("q", UnixMs(5), Vec::new()).await.unwrap().buried, 1);
    assert_eq!(ledger.call("ann", "t:call_1").await.unwrap().unwrap().status, CallStatus::Unknown);
    assert_eq!(ledger.delete_thread("bob", "t").await.unwrap(), Deletion::NotFound);
    assert_eq!(ledger.delete_thread("ann", "t").await.unwrap(), Deletion::Done);
    assert_eq!(ledger.call("ann", "t:call_1").await.unwrap(), None);
}

#[tokio::test]
async fn what_one_of_two_processes_leaves_behind_is_not_the_others() {
    let ledger = SqliteLedger::open(Path::new(IN_MEMORY)).unwrap();
    let attempt = |replica: &str| NewAttempt {
        tool_call_id: "t:c".into(),
        user: "ann".into(),
        device_id: "d".into(),
        thread_id: "t".into(),
        run_id: "r".into(),
        tool_name: "tool".into(),
        arguments: serde_json::json!({}),
        arguments_hash: "h".into(),
        execution_id: format!("x-{replica}"),
        connection_id: "k".into(),
        replica: replica.into(),
        now: UnixMs(1),
    };
    for replica in ["dead", "alive"] {
        ledger.begin_attempt(attempt(replica)).await.unwrap();
    }
    let beat = ledger.keep_alive("alive", UnixMs(9), Vec::new()).await.unwrap();
    assert_eq!((beat.buried, beat.dispatches.len()), (0, 1), "somebody waits for it");
    let call = ledger.call("ann", "t:c").await.unwrap().unwrap();
    let statuses: Vec<CallStatus> = call.executions.iter().map(|one| one.status).collect();
    assert_eq!((call.status, statuses), (CallStatus::Dispatched, vec![CallStatus::Unknown, CallStatus::Dispatched]));
}

#[tokio::test]
async fn the_order_of_tickets_goes_on_when_all_are_forgotten_and_when_the_clock_stands() {
    let ledger = SqliteLedger::open(Path::new(IN_MEMORY)).unwrap();
    let mut places = Vec::new();
    for (jti, now) in [("a", 100), ("b", 100), ("c", 90), ("d", 900)] {
        places.push(ledger.use_ticket(jti, UnixMs(now + 60), UnixMs(now)).await.unwrap().unwrap());
    }
    assert_eq!(places, [100, 101, 102, 900]);
    assert_eq!(ledger.use_ticket("d", UnixMs(960), UnixMs(900)).await.unwrap(), None);
}
