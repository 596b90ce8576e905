//! The values that are looked for wherever they stand, all of them in one pass over a text.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Range};

/// No shorter value is looked for.
pub(super) const SHORTEST: usize = 8;

/// Values with their ids. In memory only.
#[derive(Default)]
pub(super) struct KnownValues {
    ids: BTreeMap<String, String>,
    /// How they begin: most places of a text are none of these.
    starts: HashSet<[u8; SHORTEST]>,
}

impl std::fmt::Debug for KnownValues {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} known values", self.ids.len())
    }
}

impl KnownValues {
    /// Looks for this value from now on, if it is long enough.
    pub(super) fn insert(&mut self, value: &str, id: &str) {
        if let Some(start) = value.as_bytes().first_chunk()
            && !self.ids.contains_key(value)
        {
            self.starts.insert(*start);
            self.ids.insert(value.to_owned(), id.to_owned());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Where they stand, in order, none in another, with their ids: at each place the longest one.
    pub(super) fn find(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        let mut done = 0;
        for (at, start) in text.as_bytes().windows(SHORTEST).enumerate() {
            if at < done || !<[u8; SHORTEST]>::try_from(start).is_ok_and(|start| self.starts.contains(&start)) {
                continue;
            }
            if let Some((value, id)) = text.get(at..).and_then(|rest| self.longest(rest)) {
                done = at + value.len();
                found.push((at..done, id));
            }
        }
        found
    }

    /// The longest value that a text begins with.
    fn longest(&self, text: &str) -> Option<(&str, &str)> {
        let mut most = text;
        loop {
            let (value, id) = self.ids.range::<str, _>((Bound::Unbounded, Bound::Included(most))).next_back()?;
            if text.starts_with(value.as_str()) {
                return Some((value, id));
            }
            // In order, all that begin as a shorter one does come after it: none is longer than what these two share.
            let shared = value.bytes().zip(most.bytes()).take_while(|(one, other)| one == other).count();
            most = most.get(..most.floor_char_boundary(shared)).filter(|shared| shared.len() >= SHORTEST)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_value_at_a_place_is_found_whatever_lies_between_in_order() {
        let mut known = KnownValues::default();
        for value in ["abcdefgh", "abcdefghij", "abcdefghia", "abcdefghijk-long", "zzzzzzz", "中文中文中文"] {
            known.insert(value, value);
        }
        let found = |text: &str| -> Vec<(usize, String)> {
            known.find(text).into_iter().map(|(range, id)| (range.start, id.to_owned())).collect()
        };
        assert_eq!(found("abcdefghijk-lon."), [(0, "abcdefghij".to_owned())]);
        assert_eq!(found("xabcdefghijk-long"), [(1, "abcdefghijk-long".to_owned())]);
        assert_eq!(found("abcdefghabcdefghib"), [(0, "abcdefgh".to_owned()), (8, "abcdefgh".to_owned())]);
        assert_eq!(found("的中文中文中文, zzzzzzz"), [(3, "中文中文中文".to_owned())]);
    }
}
