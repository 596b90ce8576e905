//! Masks what was found, each value with a placeholder that stays the same through a session.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::known::{self, KnownValues};
use super::{Secret, SecretKind, assignment, block, find_secrets, in_order, part, plain, random, reading};

/// A value that was found in a session. The value itself is not in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedSecret {
    /// SHA-256 of the value, hex: what *send anyway* names.
    pub id: String,
    /// What it is.
    pub kind: SecretKind,
    /// Its number among those of its kind in the session, from 1.
    pub number: u32,
    /// Its last characters, at most four; empty where they would give too much away.
    pub tail: String,
    /// Whether the person has it sent as it is.
    pub is_released: bool,
    /// The calls and messages that hold it, by their ids.
    pub places: BTreeSet<String>,
}

impl MaskedSecret {
    /// What a model reads in its place.
    pub fn placeholder(&self) -> String {
        format!("«masked: {} #{}»", self.kind.words(), self.number)
    }
}

/// SHA-256 of a value, hex.
pub fn secret_id(value: &str) -> String {
    hex::encode(Sha256::digest(value.as_bytes()))
}

/// What stands for a secret in a text that is only searched.
const BLANK: char = '█';

/// Masks the texts of one session, in their order.
#[derive(Debug, Default)]
pub struct Masker {
    secrets: BTreeMap<String, MaskedSecret>,
    /// How many of each kind.
    counts: BTreeMap<SecretKind, u32>,
    /// Values that are random enough to be looked for everywhere.
    values: KnownValues,
    /// Values of letters or figures alone, which are looked for as whole words.
    words: KnownValues,
    /// What stands for a value by its kind, where that is no placeholder.
    marks: BTreeMap<SecretKind, String>,
}

impl Masker {
    /// Goes on with what is known of the session.
    pub fn new(known: Vec<MaskedSecret>) -> Self {
        let mut counts = BTreeMap::new();
        for secret in &known {
            let count: &mut u32 = counts.entry(secret.kind).or_default();
            *count = secret.number.max(*count);
        }
        let secrets = known.into_iter().map(|secret| (secret.id.clone(), secret)).collect();
        Self { secrets, counts, ..Self::default() }
    }

    /// Puts a mark of its kind where a value stands, for who tells later what the mark means.
    pub fn marking(marks: BTreeMap<SecretKind, String>) -> Self {
        Self { marks, ..Self::default() }
    }

    /// All that is known now.
    pub fn secrets(self) -> Vec<MaskedSecret> {
        self.secrets.into_values().collect()
    }

    /// A text from elsewhere: what is found in it is masked.
    pub fn text<'text>(&mut self, place: &str, text: &'text str) -> Cow<'text, str> {
        let found = find_secrets(text);
        self.replace(place, text, &found)
    }

    /// A result: every text in it, names of fields too. A key may lie over several texts in a row.
    pub fn value(&mut self, place: &str, value: &Value) -> Value {
        self.walk(place, None, value, &mut Within::default())
    }

    /// Where in a text secrets stand that are not sent as they are, in bytes and in order.
    pub fn withheld(&self, text: &str) -> Vec<Range<usize>> {
        let is_released = |range: &Range<usize>| {
            let value = text.get(range.clone()).unwrap_or_default();
            self.secrets.get(&secret_id(value)).is_some_and(|known| known.is_released)
        };
        let mut found = find_secrets(text);
        found.extend(self.met_before(text).into_iter().map(|range| Secret { range, kind: SecretKind::Password }));
        in_order(found).into_iter().map(|secret| secret.range).filter(|range| !is_released(range)).collect()
    }

    /// Where a value of an earlier request stands without its name. Of those only the sums are known: each word of the text
    /// that could be one is tried.
    fn met_before(&self, text: &str) -> Vec<Range<usize>> {
        if self.secrets.is_empty() {
            return Vec::new();
        }
        let reading = reading::bare(text);
        let (read, place) = reading::through(reading.as_ref(), text);
        let begin = |part: &str| part.as_ptr().addr() - read.as_ptr().addr();
        let is_border = |sign: char| sign.is_whitespace() || "\"'`=:,;()<>[]{}".contains(sign);
        let is_no_word = |sign: char| !sign.is_ascii_alphanumeric() && sign != '-';
        let could_be = |part: &&str| {
            (known::SHORTEST..=512).contains(&part.len())
                && (is_recognisable(part, SecretKind::Password) || plain::is_known_alone(part))
        };
        let parts =
            read.split(is_border).chain(read.split(is_no_word)).map(|part| part.trim_end_matches(['.', '!', '?']));
        let met = parts.filter(could_be).filter(|part| self.secrets.contains_key(&secret_id(part)));
        met.filter_map(|part| place(begin(part)..begin(part) + part.len())).collect()
    }

    /// A text in which one and the same letter stands for every secret, with as many lines as before: who searches it learns
    /// nothing of them, not even their length. What the person sends as it is stays.
    pub fn blank<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut blank = String::new();
        let mut done = 0;
        for range in self.withheld(text) {
            blank.push_str(text.get(done..range.start).unwrap_or_default());
            blank.push(BLANK);
            let value = text.get(range.clone()).unwrap_or_default();
            blank.extend(value.chars().filter(|letter| matches!(letter, '\r' | '\n')));
            done = range.end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        blank.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(blank)
    }

    /// A text that repeats what was found before, in other words than its own: only known values are masked.
    pub fn known<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.without(text, &self.standing_in(text))
    }

    /// The known values of a text and where they stand in it, broken lines and colours within them too.
    fn standing_in(&self, text: &str) -> Vec<(Range<usize>, String)> {
        if !self.knows_values() {
            return Vec::new();
        }
        let mut standing = self.fragments_in(text);
        standing.extend(self.words_in(text));
        standing.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut done = 0;
        standing.retain(|(range, _)| {
            let is_apart = range.start >= done;
            done = done.max(range.end);
            is_apart
        });
        standing
    }

    /// Values of letters alone, where no word goes on before or behind them.
    fn words_in(&self, text: &str) -> Vec<(Range<usize>, String)> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let reading = reading::bare(text);
        let (read, place) = reading::through(reading.as_ref(), text);
        let goes_on = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '_');
        let is_whole = |range: &Range<usize>| {
            !goes_on(read.get(..range.start).and_then(|before| before.chars().next_back()))
                && !goes_on(read.get(range.end..).and_then(|after| after.chars().next()))
        };
        let found = self.words.find(read).into_iter().filter(|(range, _)| is_whole(range));
        found.filter_map(|(range, id)| Some((place(range)?, id.to_owned()))).collect()
    }

    fn fragments_in(&self, text: &str) -> Vec<(Range<usize>, String)> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let reading = reading::in_one_line(text);
        let (read, place) = reading::through(reading.as_ref(), text);
        let found = self.values.find(read).into_iter();
        found.filter_map(|(range, id)| Some((place(range)?, id.to_owned()))).collect()
    }

    fn without<'text>(&self, text: &'text str, standing: &[(Range<usize>, String)]) -> Cow<'text, str> {
        let mut masked = String::new();
        let mut done = 0;
        for (range, id) in standing {
            let Some(secret) = self.secrets.get(id).filter(|secret| !secret.is_released) else { continue };
            masked.push_str(text.get(done..range.start).unwrap_or_default());
            masked.push_str(&shown(&self.marks, secret));
            done = range.end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// Known values in every text of a JSON value.
    pub fn known_in(&self, value: &Value) -> Value {
        map_texts(value, &mut |text| self.known(text).into_owned())
    }

    fn walk(&mut self, place: &str, name: Option<&str>, value: &Value, within: &mut Within) -> Value {
        match value {
            Value::String(text) => Value::String(self.string(place, name, text, within)),
            Value::Array(items) => {
                let outside = within.is_run;
                within.is_run |= items.iter().filter(|item| holds_key_line(item)).count() >= 3;
                let masked = items.iter().map(|item| self.walk(place, name, item, within)).collect();
                within.is_run = outside;
                Value::Array(masked)
            }
            Value::Object(fields) => {
                let mut masked = Map::with_capacity(fields.len());
                let key_lines = fields.get(part::KEY_LINES);
                for (name, field) in fields {
                    let field = match (field, key_lines) {
                        (Value::String(text), Some(_)) => {
                            Value::String(self.part(place, text, part::named(key_lines, name, text)))
                        }
                        _ if matches!(name.as_str(), "stdout" | "stderr") => self.output(place, field, within),
                        _ => self.walk(place, Some(name), field, within),
                    };
                    masked.insert(self.text(place, name).into_owned(), field);
                }
                Value::Object(masked)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// A part of a file, of which more is known than it shows.
    fn part(&mut self, place: &str, text: &str, mut known: Vec<Secret>) -> String {
        known.extend(find_secrets(text));
        self.replace(place, text, &in_order(known)).into_owned()
    }

    /// What a command printed.
    fn output(&mut self, place: &str, field: &Value, within: &mut Within) -> Value {
        let Value::String(text) = field else { return self.walk(place, None, field, within) };
        let parts = block::find_in_output(text);
        Value::String(self.part(place, text, parts))
    }

    fn string(&mut self, place: &str, name: Option<&str>, text: &str, within: &mut Within) -> String {
        // A line of a key that began in a text before, or one of several of which neither end is there.
        if (within.is_open && block::is_body(text)) || (within.is_run && block::is_wide_line(text)) {
            let whole = Secret { range: 0..text.len(), kind: SecretKind::PrivateKey };
            return self.replace(place, text, &[whole]).into_owned();
        }
        if block::is_left_open(text) {
            within.is_open = true;
        } else if block::ends(text) || text.split_whitespace().count() > 3 {
            // Words of a person: the key is over. A path or a number between its lines is not.
            within.is_open = false;
        }
        let is_fit = |name| assignment::is_secret_value(name, text) || plain::is_plain_behind(name, text);
        if name.is_some_and(|name| assignment::is_secret_name(name) && is_fit(name)) {
            let whole = Secret { range: 0..text.len(), kind: SecretKind::Password };
            return self.replace(place, text, &[whole]).into_owned();
        }
        self.text(place, text).into_owned()
    }

    fn replace<'text>(&mut self, place: &str, text: &'text str, found: &[Secret]) -> Cow<'text, str> {
        let mut masked = String::new();
        let mut done = 0;
        for Secret { range, kind } in found {
            let Some(value) = text.get(range.clone()) else { continue };
            let Some(shown) = self.meet(place, value, *kind) else { continue };
            masked.push_str(text.get(done..range.start).unwrap_or_default());
            masked.push_str(&shown);
            done = range.end;
        }
        let rest = text.get(done..).unwrap_or_default();
        if done == 0 {
            return self.known_at(place, text);
        }
        masked.push_str(rest);
        Cow::Owned(self.known_at(place, &masked).into_owned())
    }

    /// Whether there are values that are looked for everywhere.
    pub fn knows_values(&self) -> bool {
        !self.values.is_empty() || !self.words.is_empty()
    }

    /// A text that was masked before the last values were met: those are masked in it too, and its place is noted.
    pub fn again<'text>(&mut self, place: &str, text: &'text str) -> Cow<'text, str> {
        self.known_at(place, text)
    }

    /// The same for every text of a JSON value.
    pub fn again_in(&mut self, place: &str, value: &Value) -> Value {
        map_texts(value, &mut |text| self.known_at(place, text).into_owned())
    }

    /// Known values, with the place noted.
    fn known_at<'text>(&mut self, place: &str, text: &'text str) -> Cow<'text, str> {
        let standing = self.standing_in(text);
        for (_, id) in &standing {
            if let Some(secret) = self.secrets.get_mut(id).filter(|secret| !secret.places.contains(place)) {
                secret.places.insert(place.to_owned());
            }
        }
        self.without(text, &standing)
    }

    /// Notes a value; gives what stands for it, or `None` where it is sent as it is.
    fn meet(&mut self, place: &str, value: &str, kind: SecretKind) -> Option<String> {
        // A value that a line break or a colour parts is the value.
        let value: &str = &match kind {
            SecretKind::PrivateKey => Cow::Borrowed(value),
            SecretKind::ApiKey | SecretKind::Token | SecretKind::Password => reading::unbroken(value),
        };
        let id = secret_id(value);
        let lines = (kind == SecretKind::PrivateKey).then(|| block::own_lines(value)).into_iter().flatten();
        for own in [value].into_iter().filter(|value| is_recognisable(value, kind)).chain(lines) {
            self.values.insert(own, &id);
        }
        if kind == SecretKind::Password && plain::is_known_alone(value) {
            self.words.insert(value, &id);
        }
        let count = self.counts.entry(kind).or_default();
        let next = *count + 1;
        let secret = self.secrets.entry(id.clone()).or_insert_with(|| {
            *count = next;
            MaskedSecret {
                id,
                kind,
                number: next,
                tail: tail(value, kind),
                is_released: false,
                places: BTreeSet::new(),
            }
        });
        secret.places.insert(place.to_owned());
        (!secret.is_released).then(|| shown(&self.marks, secret))
    }
}

/// The value with every text in it, names of fields too, as `map` gives it.
fn map_texts(value: &Value, map: &mut impl FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(map(text)),
        Value::Array(items) => Value::Array(items.iter().map(|item| map_texts(item, map)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (map(name), map_texts(field, map))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Where in a value a text stands.
#[derive(Debug, Default)]
struct Within {
    /// Whether a key began in a text before and has not ended.
    is_open: bool,
    /// Whether the list around it holds several lines of a key.
    is_run: bool,
}

/// Whether an entry of a list is a line of a key, or has one among its fields.
fn holds_key_line(item: &Value) -> bool {
    let is_line = |value: &Value| value.as_str().is_some_and(block::is_wide_line);
    is_line(item) || item.as_object().is_some_and(|fields| fields.values().any(is_line))
}

/// What stands where the value stood.
fn shown(marks: &BTreeMap<SecretKind, String>, secret: &MaskedSecret) -> String {
    marks.get(&secret.kind).cloned().unwrap_or_else(|| secret.placeholder())
}

/// Whether a value is so much its own that it is no other word by chance. A password may be short, and is known by its name
/// only where it was met: it is looked for everywhere unless it could stand in any text.
fn is_recognisable(value: &str, kind: SecretKind) -> bool {
    let is_own = kind == SecretKind::Password && !random::is_ordinary(value);
    let is_phrase = value.len() >= 12 && value.contains(' ');
    is_phrase || ((value.len() >= 12 || is_own) && random::is_random(value))
}

/// The end of a value, for the person to know it by: only of long ones, and of no key block, whose end is the same in all.
fn tail(value: &str, kind: SecretKind) -> String {
    let count = match (kind, value.chars().count()) {
        (SecretKind::PrivateKey, _) | (_, ..16) => 0,
        (SecretKind::Password, 16..24) => 2,
        (SecretKind::ApiKey | SecretKind::Token | SecretKind::Password, _) => 4,
    };
    let skipped = value.chars().count().saturating_sub(count);
    value.chars().skip(skipped).collect()
}
