//! Full text of messages and titles. Chinese, Japanese and Korean are written without spaces, so they are indexed as
//! overlapping pairs of characters: a word of any length is then a phrase of pairs, and one character the beginning of
//! one. Everything else is found by words and beginnings of words.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use unicode_script::{Script, UnicodeScript as _};

use crate::ir::{Message, MessageId, SessionId};

use super::row::parse;
use super::thread::Kind;
use super::{Store, StoreError};

/// Longer queries are cut, in characters.
const QUERY_CHARS: usize = 256;
/// Rows that one search may look at when the index alone cannot tell (punctuation).
const LOOKED_AT: usize = 5000;
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

/// A search text, taken apart.
#[derive(Debug)]
struct Query {
    /// Its parts between spaces.
    words: Vec<String>,
    /// Whether the text must be compared too: the index knows no punctuation.
    is_literal: bool,
    /// What the index is asked.
    expression: String,
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
        let is_literal = words.iter().any(|word| !word.chars().all(char::is_alphanumeric));
        Some(Self { words, is_literal, expression })
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
    if c.is_ascii() || !c.is_alphanumeric() {
        return false;
    }
    match c.script() {
        Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo => true,
        // The mark of a long vowel belongs to both kana.
        _ => c == 'ー',
    }
}

fn search(connection: &Connection, query: &Query, limit: usize) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    let mut titles = connection.prepare(
        "SELECT s.id, s.title FROM title_text AS t JOIN session AS s ON s.row = t.rowid
         WHERE title_text MATCH ?1 AND s.deleted_at IS NULL ORDER BY t.rowid DESC",
    )?;
    let mut rows = titles.query([&query.expression])?;
    while let Some(row) = rows.next()?
        && hits.len() < limit
    {
        let title: String = row.get(1)?;
        let Some(snippet) = snippet(query, &title) else { continue };
        hits.push(Hit { session: SessionId(row.get(0)?), title, message: None, snippet });
    }
    let mut messages = connection.prepare(
        "SELECT m.id, m.session, s.title, m.body FROM message_text AS t JOIN message AS m ON m.row = t.rowid
            JOIN session AS s ON s.id = m.session
         WHERE message_text MATCH ?1 AND s.deleted_at IS NULL ORDER BY t.rowid DESC LIMIT ?2",
    )?;
    let looked_at = i64::try_from(if query.is_literal { LOOKED_AT } else { limit }).unwrap_or(i64::MAX);
    let mut rows = messages.query(params![query.expression, looked_at])?;
    while let Some(row) = rows.next()?
        && hits.len() < limit
    {
        let message: Message = parse("message", &row.get::<_, String>(3)?)?;
        let Some(snippet) = snippet(query, &message.content) else { continue };
        hits.push(Hit {
            session: SessionId(row.get(1)?),
            title: row.get(2)?,
            message: Some(MessageId(row.get(0)?)),
            snippet,
        });
    }
    Ok(hits)
}

/// The text around the first word of the query; `None` when the text only looks like a hit to the index.
fn snippet(query: &Query, text: &str) -> Option<String> {
    let place = match query.place_in(text) {
        Some(place) => place,
        None if query.is_literal => return None,
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

/// Where a word stands, whatever its case, in bytes.
fn find_folded(text: &str, word: &str) -> Option<usize> {
    let wanted: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let first = *wanted.first()?;
    text.char_indices().find_map(|(index, c)| {
        if c != first && c.to_lowercase().next() != Some(first) {
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
