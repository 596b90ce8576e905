//! Full text of messages and titles. Chinese, Japanese and Korean are written without spaces, so they are indexed as
//! overlapping pairs of characters: a word of any length is then a phrase of pairs, and one character the beginning of
//! one. Everything else is found by words and beginnings of words.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use unicode_script::{Script, UnicodeScript as _};

use crate::ir::{Message, MessageId, SessionId, UnixMs};

use super::row::parse;
use super::thread::Kind;
use super::{Store, StoreError};

/// Longer queries are cut, in characters.
const QUERY_CHARS: usize = 256;
/// Rows that one search may look at when the index alone cannot tell (punctuation).
const LOOKED_AT: usize = 5000;
/// What is read of the newest messages before the index is asked for all beginnings of a word, in rows and bytes.
const ROUGH_ROWS: usize = 200;
const ROUGH_BYTES: usize = 1024 * 1024;
/// Beginnings up to this length have an index of their own (`prefix` in the schema), in characters.
const INDEXED_PREFIX_CHARS: usize = 2;
/// Characters that a snippet shows before and after the beginning of the hit.
const SNIPPET_BEFORE: usize = 32;
const SNIPPET_AFTER: usize = 128;

/// One place where a search text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// The message; `None` when the title itself matches.
    pub message: Option<MessageId>,
    /// Text around the place, on one line.
    pub snippet: String,
    /// When the message was written; for a title, when the session was last used.
    pub at: UnixMs,
}

impl Store {
    /// At most `limit` places that hold every word of the query, titles first, then messages, newest first. Deleted
    /// sessions are left out.
    pub async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let Some(query) = Query::new(query) else { return Ok(Vec::new()) };
        let lane = self.0.search.as_ref().ok_or(StoreError::Closed)?;
        lane.run(Kind::Read, move |transaction| search(transaction, &query, limit)).await
    }
}

/// A search text for what the index does not hold: it is found by the same words, as they stand.
#[derive(Debug)]
pub struct Words(Query);

impl Words {
    /// `None` when there is nothing to look for.
    pub fn new(query: &str) -> Option<Self> {
        Query::new(query).map(Self)
    }

    /// The text around the first word, on one line; `None` where one of the words does not stand.
    pub fn snippet(&self, text: &str) -> Option<String> {
        snippet(&self.0, text, true)
    }
}

/// A search text, taken apart.
#[derive(Debug)]
struct Query {
    /// Its parts between spaces.
    words: Vec<String>,
    /// Whether the text must be compared too: the index does not know what lies between two of its words.
    is_literal: bool,
    /// What the index is asked.
    expression: String,
    /// A cheap question whose answers hold all of the real one's: the longer beginnings of words are cut to what has an
    /// index of its own. `None` when nothing is cut.
    rough: Option<String>,
}

impl Query {
    /// `None` when there is nothing to look for.
    fn new(text: &str) -> Option<Self> {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUERY_CHARS).collect();
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if !words.iter().any(|word| word.chars().any(char::is_alphanumeric)) {
            return None;
        }
        let expression = words.iter().map(|word| phrase(word)).collect::<Vec<_>>().join(" AND ");
        let rough = words.iter().map(|word| phrase(beginning(word))).collect::<Vec<_>>().join(" AND ");
        let rough = (rough != expression).then_some(rough);
        let is_one_kind = |word: &String| word.chars().all(is_unspaced) || word.chars().all(is_spaced);
        let is_literal = !words.iter().all(is_one_kind);
        Some(Self { words, is_literal, expression, rough })
    }

    /// Where the text around a hit should begin, in bytes; `None` when a word does not stand there literally.
    fn place_in(&self, text: &str) -> Option<usize> {
        self.words.iter().map(|word| find_folded(text, word)).collect::<Option<Vec<_>>>()?.first().copied()
    }
}

/// What the index is asked for one word of the query.
fn phrase(word: &str) -> String {
    let (mut tokens, run_chars) = pairs(word, End::OfQuery);
    tokens = tokens.replace('"', " ");
    let ends_a_word = word.ends_with(|c: char| c.is_ascii_punctuation());
    // One character begins a pair, a word in other scripts may go on; a pair is whole.
    let is_prefix = run_chars == 1 || (run_chars == 0 && !ends_a_word);
    format!("\"{tokens}\"{}", if is_prefix { " *" } else { "" })
}

/// The part of a word in a script with spaces whose beginnings have an index; any other word whole.
fn beginning(word: &str) -> &str {
    match word.char_indices().nth(INDEXED_PREFIX_CHARS) {
        Some((end, _)) if word.chars().all(is_spaced) => word.get(..end).unwrap_or(word),
        _ => word,
    }
}

/// What ends with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The text: its last character stands alone too, so that it is found.
    OfText,
    /// The query: its last character may be followed by others in the text.
    OfQuery,
}

/// The text with runs of unspaced script as overlapping pairs, and the length of the run that it ends with.
fn pairs(text: &str, end: End) -> (String, usize) {
    let mut out = String::with_capacity(text.len() * 2);
    let mut before: Option<char> = None;
    let mut run_chars = 0;
    for c in text.chars() {
        if is_unspaced(c) {
            match before {
                Some(before) => out.extend([before, c, ' ']),
                None => out.push(' '),
            }
            before = Some(c);
            run_chars += 1;
        } else {
            if let Some(last) = before.take() {
                out.extend([last, ' ']);
            }
            run_chars = 0;
            out.push(c);
        }
    }
    if let Some(last) = before
        && (end == End::OfText || run_chars == 1)
    {
        out.push(last);
    }
    (out, run_chars)
}

/// Whether a character belongs to a script that is written without spaces and indexed in pairs.
fn is_unspaced(c: char) -> bool {
    let is_unspaced_script = |script| {
        matches!(script, Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
    };
    // The mark of a long vowel belongs to both kana.
    !c.is_ascii() && c.is_alphanumeric() && (c == 'ー' || is_unspaced_script(c.script()))
}

/// Whether a character belongs to a script that is written with spaces.
fn is_spaced(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

fn search(connection: &Connection, query: &Query, limit: usize) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    let mut titles = connection.prepare(
        "SELECT s.id, s.title, s.updated_at FROM title_text AS t JOIN session AS s ON s.row = t.rowid
         WHERE title_text MATCH ?1 AND s.deleted_at IS NULL AND s.server IS NULL ORDER BY t.rowid DESC",
    )?;
    let mut rows = titles.query([&query.expression])?;
    while let Some(row) = rows.next()?
        && hits.len() < limit
    {
        let title: String = row.get(1)?;
        let Some(snippet) = snippet(query, &title, query.is_literal) else { continue };
        hits.push(Hit { session: SessionId(row.get(0)?), title, message: None, snippet, at: UnixMs(row.get(2)?) });
    }
    let titles = hits.len();
    if let Some(rough) = &query.rough {
        // A common beginning stands in many of the newest messages: looking there is cheaper than listing all its words.
        let pass = Pass { expression: rough, rows: ROUGH_ROWS, bytes: ROUGH_BYTES, is_literal: true };
        search_messages(connection, query, &pass, limit, &mut hits)?;
        if hits.len() >= limit {
            return Ok(hits);
        }
        hits.truncate(titles);
    }
    let rows = if query.is_literal { LOOKED_AT } else { limit };
    let pass = Pass { expression: &query.expression, rows, bytes: usize::MAX, is_literal: query.is_literal };
    search_messages(connection, query, &pass, limit, &mut hits)?;
    Ok(hits)
}

/// One question to the index of messages.
struct Pass<'query> {
    expression: &'query str,
    /// How much of its answer is looked at.
    rows: usize,
    bytes: usize,
    /// Whether every word must stand in the text as it is.
    is_literal: bool,
}

fn search_messages(
    connection: &Connection,
    query: &Query,
    pass: &Pass<'_>,
    limit: usize,
    hits: &mut Vec<Hit>,
) -> Result<(), StoreError> {
    let mut messages = connection.prepare(
        "SELECT m.id, m.session, s.title, m.body FROM message_text AS t JOIN message AS m ON m.row = t.rowid
            JOIN session AS s ON s.id = m.session
         WHERE message_text MATCH ?1 AND s.deleted_at IS NULL ORDER BY t.rowid DESC LIMIT ?2",
    )?;
    let mut rows = messages.query(params![pass.expression, i64::try_from(pass.rows).unwrap_or(i64::MAX)])?;
    let mut read_bytes = 0_usize;
    while hits.len() < limit
        && read_bytes < pass.bytes
        && let Some(row) = rows.next()?
    {
        let body: String = row.get(3)?;
        read_bytes = read_bytes.saturating_add(body.len());
        // A message that cannot be read must not hide the others.
        let Ok(message) = parse::<Message>("message", &body) else { continue };
        let Some(snippet) = snippet(query, &message.content, pass.is_literal) else { continue };
        hits.push(Hit {
            session: SessionId(row.get(1)?),
            title: row.get(2)?,
            message: Some(MessageId(row.get(0)?)),
            snippet,
            at: message.timestamp,
        });
    }
    Ok(())
}

/// The text around the first word of the query; `None` when the text only looks like a hit to the index.
fn snippet(query: &Query, text: &str, is_literal: bool) -> Option<String> {
    let place = match query.place_in(text) {
        Some(place) => place,
        None if is_literal => return None,
        // Found without its accents.
        None => 0,
    };
    let (before, after) = (text.get(..place)?, text.get(place..)?);
    let start = before.char_indices().rev().nth(SNIPPET_BEFORE - 1).map_or(0, |(index, _)| index);
    let end = after.char_indices().nth(SNIPPET_AFTER).map_or(text.len(), |(index, _)| place + index);
    let line = text.get(start..end)?.split_whitespace().collect::<Vec<_>>().join(" ");
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    Some(format!("{}{line}{}", ellipsis(start > 0), ellipsis(end < text.len())))
}

/// Where a word stands, whatever its case, in bytes. In a script with spaces it begins a word there.
fn find_folded(text: &str, word: &str) -> Option<usize> {
    let wanted: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let first = *wanted.first()?;
    let begins_word = is_spaced(first);
    let mut before = ' ';
    text.char_indices().find_map(|(index, c)| {
        let is_inside = begins_word && is_spaced(std::mem::replace(&mut before, c));
        if is_inside || (c != first && c.to_lowercase().next() != Some(first)) {
            return None;
        }
        let mut there = text.get(index..)?.chars().flat_map(char::to_lowercase);
        wanted.iter().all(|c| there.next() == Some(*c)).then_some(index)
    })
}

/// Makes a message findable by its text, in the place of what it held before.
pub(super) fn index_message(transaction: &Transaction<'_>, row: i64, message: &Message) -> Result<(), StoreError> {
    index(transaction, "message_text", row, &message.content)
}

/// Makes a session findable by its title, in the place of the one before.
pub(super) fn index_title(transaction: &Transaction<'_>, row: i64, title: &str) -> Result<(), StoreError> {
    index(transaction, "title_text", row, title)
}

fn index(transaction: &Transaction<'_>, table: &'static str, row: i64, text: &str) -> Result<(), StoreError> {
    if text.is_empty() {
        transaction.execute(&format!("DELETE FROM {table} WHERE rowid = ?1"), [row])?;
    } else {
        let (pairs, _) = pairs(text, End::OfText);
        transaction
            .execute(&format!("INSERT OR REPLACE INTO {table} (rowid, text) VALUES (?1, ?2)"), params![row, pairs])?;
    }
    Ok(())
}

/// Works through some pages of an index; gives whether there is more to do.
pub(super) fn merge(connection: &Connection, index: &str, pages: i64) -> Result<bool, StoreError> {
    let before = connection.total_changes();
    connection.execute(&format!("INSERT INTO {index} ({index}, rank) VALUES ('merge', ?1)"), [pages])?;
    // As FTS5 has it: with nothing left to do, it changes at most one row.
    Ok(connection.total_changes() - before >= 2)
}

/// Makes the whole index anew from what is kept.
pub(super) fn rebuild(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for table in ["message_text", "title_text"] {
        transaction.execute(&format!("INSERT INTO {table} ({table}) VALUES ('delete-all')"), [])?;
    }
    index_all(&transaction)?;
    Ok(transaction.commit()?)
}

fn index_all(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let mut messages = transaction.prepare("SELECT row, body FROM message WHERE status <> 'streaming'")?;
    let mut rows = messages.query([])?;
    while let Some(row) = rows.next()? {
        // A row that cannot be read cannot be found either.
        if let Ok(message) = parse::<Message>("message", &row.get::<_, String>(1)?) {
            index_message(transaction, row.get(0)?, &message)?;
        }
    }
    let mut titles = transaction.prepare("SELECT row, title FROM session")?;
    let mut rows = titles.query([])?;
    while let Some(row) = rows.next()? {
        index_title(transaction, row.get(0)?, &row.get::<_, String>(1)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::tests::{message, session, store};
    use super::*;
    use crate::ir::{MessageStatus, Role};

    async fn found(store: &Store, query: &str) -> BTreeSet<String> {
        let hits = store.search(query, 1000).await.unwrap();
        hits.into_iter().filter_map(|hit| hit.message.map(|id| id.0)).collect()
    }

    async fn with_messages(texts: &[String]) -> Store {
        let store = store();
        store.insert_session(&session("s")).await.unwrap();
        for (number, text) in texts.iter().enumerate() {
            store.append_message(&message("s", &number.to_string(), None, Role::User, text)).await.unwrap();
        }
        store
    }

    #[test]
    fn unspaced_scripts_go_in_as_pairs() {
        let index = |text| pairs(text, End::OfText).0.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(index("数据库"), "数据 据库 库");
        assert_eq!(index("用Rust写，好"), "用 Rust写 ， 好".replace("Rust写", "Rust 写"));
        assert_eq!(index("カレー と"), "カレ レー ー と");
        assert_eq!(phrase("数据库"), "\" 数据 据库 \"");
        assert_eq!(phrase("库"), "\" 库\" *");
        assert_eq!(phrase("say\"hi"), "\"say hi\" *");
    }

    /// Texts of few different characters and words, so that queries meet often.
    fn texts() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec("([数据库点头]{1,4}|rust|Rusty|data|，|。| |-|a1){0,12}", 1..12)
    }

    /// What a person types: a piece of an unspaced run of any length, or the beginning of a word.
    fn queries() -> impl Strategy<Value = String> {
        prop_oneof![
            "[数据库点头]{1,5}",
            "(ru|rust|RUST|da|data|a|a1|r)",
            "[数据点]{1,2}(rust|a1)",
            "(rust|data)[数据]{1,3}"
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn search_finds_what_a_scan_of_all_texts_finds(texts in texts(), queries in proptest::collection::vec(queries(), 1..6)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let store = with_messages(&texts).await;
                for query in queries {
                    let scanned: BTreeSet<String> = texts
                        .iter()
                        .enumerate()
                        .filter(|(_, text)| stands_in(text, &query))
                        .map(|(number, _)| number.to_string())
                        .collect();
                    prop_assert_eq!(found(&store, &query).await, scanned, "{} in {:?}", query, texts);
                }
                Ok(())
            })?;
        }
    }

    /// `LIKE '%query%'`, but a Latin word is found from its beginning.
    fn stands_in(text: &str, query: &str) -> bool {
        let (text, query) = (text.to_lowercase(), query.to_lowercase());
        let begins_latin = query.starts_with(|c: char| c.is_ascii_alphanumeric());
        text.match_indices(&query)
            .any(|(index, _)| !(begins_latin && text[..index].ends_with(|c: char| c.is_ascii_alphanumeric())))
    }

    #[tokio::test]
    async fn every_word_must_be_there_and_the_newest_comes_first() {
        let texts = ["查找 a file", "the file 文件", "find the 文件 file", "C++ and C"].map(str::to_owned);
        let store = with_messages(&texts).await;
        let order = |hits: Vec<Hit>| hits.into_iter().filter_map(|hit| hit.message).map(|id| id.0).collect::<Vec<_>>();
        assert_eq!(order(store.search("文件 FILE", 9).await.unwrap()), ["2", "1"]);
        assert_eq!(order(store.search("fi", 2).await.unwrap()), ["2", "1"]);
        assert_eq!(order(store.search("c++", 9).await.unwrap()), ["3"]);
        for nothing in ["", "  ", "…", "\"", "\0", "file nothing", "AND OR", "文 \u{0} 件\" OR *"] {
            assert_eq!(store.search(nothing, 9).await.unwrap(), [], "{nothing:?}");
        }
    }

    #[tokio::test]
    async fn a_common_and_a_rare_beginning_find_the_same_newest_messages() {
        let common: Vec<String> = (0..400).map(|number| format!("information {number}")).collect();
        let mut texts = vec!["inform me, once".to_owned(), "the interval".to_owned()];
        texts.extend(common);
        let store = with_messages(&texts).await;
        let order = |hits: Vec<Hit>| hits.into_iter().filter_map(|hit| hit.message).map(|id| id.0).collect::<Vec<_>>();
        assert_eq!(order(store.search("inform", 3).await.unwrap()), ["401", "400", "399"]);
        assert_eq!(order(store.search("inte", 3).await.unwrap()), ["1"], "older than all that is looked at first");
        assert_eq!(order(store.search("inform onc", 3).await.unwrap()), ["0"]);
        assert_eq!(order(store.search("inf", 1000).await.unwrap()).len(), 401);
        assert_eq!(order(store.search("formation", 3).await.unwrap()), Vec::<String>::new());
    }

    #[tokio::test]
    async fn titles_are_found_and_follow_a_new_name() {
        let store = store();
        let mut kept = session("s");
        kept.title = "数据库的设计".to_owned();
        store.insert_session(&kept).await.unwrap();
        let kept_at = kept.updated_at;
        let hit = |title: &str| Hit {
            session: SessionId::new("s"),
            title: title.to_owned(),
            message: None,
            snippet: title.to_owned(),
            at: kept_at,
        };
        assert_eq!(store.search("设计", 9).await.unwrap(), [hit("数据库的设计")]);
        kept.title = "Plan".to_owned();
        store.update_session(&kept).await.unwrap();
        assert_eq!(store.search("设计", 9).await.unwrap(), []);
        assert_eq!(store.search("pl", 9).await.unwrap(), [hit("Plan")]);
    }

    #[tokio::test]
    async fn an_answer_is_found_when_it_ends_with_the_text_around_the_place() {
        let store = store();
        store.insert_session(&session("s")).await.unwrap();
        let mut answer = message("s", "m", None, Role::Assistant, "");
        store.begin_answer(&answer).await.unwrap();
        assert_eq!(store.search("针", 9).await.unwrap(), []);
        answer.message.content = format!("{}针\nin the hay{}", "稻草 ".repeat(40), " more".repeat(60));
        answer.status = MessageStatus::Stopped;
        store.finish_message(&answer).await.unwrap();
        let hits = store.search("针", 9).await.unwrap();
        let snippet = &hits[0].snippet;
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && snippet.contains("针 in the hay"), "{snippet}");
        assert!(snippet.chars().count() <= SNIPPET_BEFORE + SNIPPET_AFTER + 2);
        answer.message.content = "另一段".to_owned();
        store.finish_message(&answer).await.unwrap();
        assert_eq!(store.search("针", 9).await.unwrap(), []);
    }

    #[tokio::test]
    async fn the_index_can_be_made_anew_from_the_messages() {
        let store = with_messages(&["数据库".to_owned(), "data".to_owned()]).await;
        store
            .guard(|transaction| {
                transaction.execute("INSERT INTO message_text (message_text) VALUES ('delete-all')", [])?;
                Ok(())
            })
            .await
            .unwrap();
        assert_eq!(store.search("数据", 9).await.unwrap(), [], "the control: without its index nothing is found");
        store.guard(index_all).await.unwrap();
        assert_eq!(store.search("数据", 9).await.unwrap().len(), 1);
    }
}
