//! Fragments of streamed calls to whole calls. Pure: no wire format, no IO; whatever comes, it neither panics nor grows
//! without end.
//!
//! Servers differ in everything: indexes are missing, all 0 or sparse; ids are repeated, empty or the same for two calls;
//! names come whole, in pieces or again with every fragment; arguments come as text, as objects, or as everything so far.
//! What is one call and what is another is decided here, and nowhere else.

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::ir::strict_json;

/// Most calls in one answer.
const CALL_LIMIT: usize = 512;
/// Most bytes of arguments in one answer.
const BYTE_LIMIT: usize = 24 * 1024 * 1024;
/// Most bytes of arguments that are read again to see whether a call is whole. A server that makes this necessary for every
/// byte would keep a core busy for hours; beyond it, only ids and indexes tell calls apart.
const READ_LIMIT: usize = 256 * 1024 * 1024;
/// Longest name, in bytes.
const NAME_LIMIT: usize = 256;

/// A piece of a call, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fragment<'a> {
    /// The call's place, where the server says it.
    pub index: Option<i64>,
    /// Its id; empty when the piece carries none.
    pub id: &'a str,
    /// Its name, or a piece of it; empty when the piece carries none.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: Piece<'a>,
}

/// A piece of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Piece<'a> {
    /// None in this fragment.
    #[default]
    Nothing,
    /// More of their text.
    Text(&'a str),
    /// An object as JSON, where a server sends no text.
    Object(&'a str),
}

/// A call put together, its arguments still text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// Its place by first sight, as `Assembler::push` gave it.
    pub slot: usize,
    /// What the server called it; maybe empty, maybe not unique.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its arguments, as they came.
    pub arguments: String,
}

/// Too much for one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the model's calls are larger than {BYTE_LIMIT} bytes or more than {CALL_LIMIT}")]
pub struct TooMuch;

/// Puts the calls of one answer together.
#[derive(Debug, Default)]
pub struct Assembler<'a> {
    /// Names of the tools that there are, as the server was told them.
    known: Vec<Cow<'a, str>>,
    slots: Vec<Slot>,
    /// Which slot an index means now.
    by_index: Vec<(i64, usize)>,
    bytes: usize,
    read: ReadBytes,
}

/// Bytes that were read again.
#[derive(Debug, Default)]
struct ReadBytes(Cell<usize>);

impl ReadBytes {
    /// Whether the text is whole JSON; no, when too much was read already.
    fn is_complete(&self, text: &str) -> bool {
        self.spend(text.len()) && is_complete(text)
    }

    fn spend(&self, bytes: usize) -> bool {
        self.0.set(self.0.get().saturating_add(bytes));
        self.0.get() <= READ_LIMIT
    }
}

#[derive(Debug, Default)]
struct Slot {
    id: String,
    name: String,
    arguments: String,
    /// The arguments, if every piece was all of them so far.
    resent: Option<String>,
    /// Opened only because a whole call was followed by a name: maybe a mere echo of it.
    may_be_echo: bool,
}

impl<'a> Assembler<'a> {
    /// For the tools of these names.
    pub fn new(known: Vec<Cow<'a, str>>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Whether nothing came yet.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many calls there are so far.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes a piece in and says which call it belongs to, by first sight from 0.
    ///
    /// # Errors
    /// When there are too many calls or too many bytes.
    pub fn push(&mut self, piece: Fragment<'_>) -> Result<usize, TooMuch> {
        let (Piece::Text(text) | Piece::Object(text)) = piece.arguments else {
            return self.place(&piece, "");
        };
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > BYTE_LIMIT {
            return Err(TooMuch);
        }
        self.place(&piece, text)
    }

    /// The calls, in the order of first sight. Those that never got a name are left out.
    pub fn finish(self) -> Vec<Assembled> {
        let mut calls: Vec<Assembled> = Vec::with_capacity(self.slots.len());
        for (at, slot) in self.slots.into_iter().enumerate() {
            let name = clean(&slot.name).to_owned();
            if name.is_empty() {
                tracing::warn!(bytes = slot.arguments.len(), "a call without a name is left out");
                continue;
            }
            let is_echo = slot.may_be_echo && slot.arguments.trim().is_empty();
            if is_echo && calls.last().is_some_and(|last| last.name == name) {
                continue;
            }
            let arguments = match slot.resent {
                Some(resent) if !is_complete(&slot.arguments) && is_complete(&resent) => resent,
                Some(_) | None => slot.arguments,
            };
            calls.push(Assembled { slot: at, id: slot.id, name, arguments });
        }
        calls
    }

    fn place(&mut self, piece: &Fragment<'_>, text: &str) -> Result<usize, TooMuch> {
        let at = match self.find(piece, text) {
            Found::Slot(at) => at,
            Found::New { may_be_echo } => {
                if self.slots.len() >= CALL_LIMIT {
                    return Err(TooMuch);
                }
                self.slots.push(Slot { may_be_echo, ..Slot::default() });
                self.slots.len() - 1
            }
        };
        if let Some(index) = piece.index {
            match self.by_index.iter_mut().find(|(known, _)| *known == index) {
                Some((_, slot)) => *slot = at,
                None => self.by_index.push((index, at)),
            }
        }
        let (known, read) = (&self.known, &self.read);
        if let Some(slot) = self.slots.get_mut(at) {
            if slot.id.is_empty() {
                piece.id.clone_into(&mut slot.id);
            }
            slot.take_name(piece.name, known);
            slot.take_arguments(piece.arguments, read);
        }
        Ok(at)
    }

    fn find(&self, piece: &Fragment<'_>, text: &str) -> Found {
        let is_known_index = piece.index.and_then(|index| self.by_index.iter().find(|(known, _)| *known == index));
        if let Some((at, slot)) = is_known_index.and_then(|(_, at)| Some((*at, self.slots.get(*at)?))) {
            if !piece.id.is_empty() && !slot.id.is_empty() && piece.id != slot.id {
                // Some servers make up a new id for every fragment: one without a name cannot be a call of its own while
                // this one is unfinished.
                let is_rest = piece.name.is_empty() && !text.is_empty() && !self.read.is_complete(&slot.arguments);
                return if is_rest { Found::Slot(at) } else { Found::New { may_be_echo: false } };
            }
            return if slot.is_followed_by(piece, text, &self.read) {
                Found::new_after(slot, piece)
            } else {
                Found::Slot(at)
            };
        }
        if !piece.id.is_empty() {
            let same = self.slots.iter().enumerate().rev().find(|(_, slot)| slot.id == piece.id);
            if let Some((at, slot)) = same {
                // Two calls may have the same id: another index with a name of its own is another call.
                let has_own_place = piece.index.is_some() && !piece.name.is_empty();
                let goes_on =
                    slot.name == piece.name && !slot.arguments.is_empty() && !self.read.is_complete(&slot.arguments);
                if (has_own_place && !goes_on) || slot.is_followed_by(piece, text, &self.read) {
                    return Found::New { may_be_echo: false };
                }
                return Found::Slot(at);
            }
            return match self.last() {
                // The arguments came first, the rest of the call now.
                Some((at, slot)) if piece.index.is_none() && slot.is_nameless() => Found::Slot(at),
                Some(_) | None => Found::New { may_be_echo: false },
            };
        }
        let Some((at, last)) = self.last().filter(|_| piece.index.is_none()) else {
            return Found::New { may_be_echo: false };
        };
        if piece.name.is_empty() || last.is_nameless() || last.goes_on_with(piece.name, &self.known, &self.read) {
            return Found::Slot(at);
        }
        Found::new_after(last, piece)
    }

    fn last(&self) -> Option<(usize, &Slot)> {
        self.slots.iter().enumerate().next_back()
    }
}

/// Where a piece belongs.
enum Found {
    Slot(usize),
    New { may_be_echo: bool },
}

impl Found {
    fn new_after(before: &Slot, piece: &Fragment<'_>) -> Self {
        Self::New { may_be_echo: piece.id.is_empty() && before.name == piece.name }
    }
}

impl Slot {
    fn is_nameless(&self) -> bool {
        self.id.is_empty() && self.name.is_empty()
    }

    /// Whether a piece for the same place begins another call: this one is whole, and the piece has a name and
    /// arguments that begin.
    fn is_followed_by(&self, piece: &Fragment<'_>, text: &str, read: &ReadBytes) -> bool {
        let begins = text.trim().is_empty() || text.trim_start().starts_with('{');
        if piece.name.is_empty() || self.name.is_empty() || !begins || !read.is_complete(&self.arguments) {
            return false;
        }
        let is_same_id = !self.id.is_empty() && (piece.id.is_empty() || piece.id == self.id);
        let is_same_name = piece.name == self.name;
        let is_empty_object = self.arguments.trim() == "{}";
        let is_resent = text.trim() == self.arguments.trim() || text.trim().is_empty();
        match (is_same_id, is_same_name) {
            // With an id, only something that cannot be more of the same is another call.
            (true, true) => !is_empty_object && !is_resent,
            // Without ids, a repeated name with other arguments, or with none yet, is another call.
            (false, true) => !is_empty_object && text.trim() != self.arguments.trim(),
            (true | false, false) => true,
        }
    }

    /// Whether a piece with a name, and neither index nor id, is more of this call.
    fn goes_on_with(&self, name: &str, known: &[Cow<'_, str>], read: &ReadBytes) -> bool {
        let is_known = |name: &str| known.iter().any(|one| one == name);
        let is_unfinished = !self.arguments.is_empty() && !read.is_complete(&self.arguments);
        (self.name == name && is_unfinished)
            || (self.arguments.is_empty() && !is_known(&self.name) && is_known(&format!("{}{name}", self.name)))
    }

    fn take_name(&mut self, more: &str, known: &[Cow<'_, str>]) {
        let is_known = |name: &str| known.iter().any(|one| one == name);
        if more.is_empty() || more == self.name {
            return;
        }
        let joined = format!("{}{more}", self.name);
        if self.name.is_empty() || is_known(&joined) {
            self.name = joined;
        } else if is_known(clean(&self.name)) {
            // It is whole: what follows is a repetition or noise.
        } else if more.starts_with(&self.name) && is_known(clean(more)) {
            more.clone_into(&mut self.name);
        } else if joined.len() <= NAME_LIMIT {
            self.name = joined;
        }
    }

    fn take_arguments(&mut self, piece: Piece<'_>, read: &ReadBytes) {
        match piece {
            Piece::Nothing | Piece::Text("") => {}
            Piece::Object(object) => self.merge(object, read),
            Piece::Text(text) => self.append(text),
        }
    }

    fn append(&mut self, text: &str) {
        if self.arguments.is_empty() {
            text.clone_into(&mut self.arguments);
            return;
        }
        if self.arguments.trim() == "{}" {
            // A placeholder before the real arguments.
            if !text.trim().is_empty() {
                text.clone_into(&mut self.arguments);
            }
            return;
        }
        if text.starts_with('{') {
            if text == self.arguments && is_complete(text) {
                return;
            }
            let so_far = self.resent.as_deref().unwrap_or(&self.arguments);
            if text.len() > so_far.len() && text.starts_with(so_far) {
                let appended = format!("{}{text}", self.arguments);
                if can_become_json(&appended) {
                    // `{"a":` and `{"a":1}`: more of it, or all of it again? Only the end tells.
                    self.resent = Some(text.to_owned());
                    self.arguments = appended;
                } else {
                    self.resent = None;
                    text.clone_into(&mut self.arguments);
                }
                return;
            }
        }
        self.resent = None;
        self.arguments.push_str(text);
    }

    /// Objects that later pieces extend are one object.
    fn merge(&mut self, object: &str, read: &ReadBytes) {
        if self.arguments.trim().is_empty() {
            object.clone_into(&mut self.arguments);
            return;
        }
        if !read.spend(self.arguments.len()) {
            self.append(object);
            return;
        }
        match (strict_json(&self.arguments), strict_json(object)) {
            (Ok(Value::Object(mut fields)), Ok(Value::Object(more))) => {
                fields.extend(more);
                self.arguments = Value::Object(fields).to_string();
            }
            (Ok(_) | Err(_), Ok(_) | Err(_)) => self.append(object),
        }
    }
}

/// The name without a special token of the model's template behind it.
fn clean(name: &str) -> &str {
    name.split_once("<|").map_or(name, |(before, _)| before).trim()
}

fn is_complete(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether the text is JSON as far as it goes.
fn can_become_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).map_or_else(|error| error.is_eof(), |_| true)
}

#[cfg(test)]
mod tests;
