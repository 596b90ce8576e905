//! Lists inside of answers, no longer than anybody needs: the few megabytes of `[{},{},…` that a hostile server sends would
//! be gigabytes of values.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// The first `MOST` values of a list; the rest is read over.
#[derive(Debug)]
pub(super) struct Few<T, const MOST: usize>(pub(super) Vec<T>);

impl<T, const MOST: usize> Default for Few<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MOST: usize> IntoIterator for Few<T, MOST> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for FewVisitor<T, MOST> {
    type Value = Few<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < MOST {
            match items.next_element()? {
                Some(item) => first.push(item),
                None => return Ok(Few(first)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Few(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_long_list_is_read_over_and_must_still_be_json() {
        let read = |text: &str| serde_json::from_str::<Few<u8, 2>>(text).ok().map(|few| few.0);
        assert_eq!(read("[]"), Some(vec![]));
        assert_eq!(read("[1]"), Some(vec![1]));
        assert_eq!(read("[1,2,{\"a\":[3]},\"x\"]"), Some(vec![1, 2]));
        assert_eq!(read("[1,2,3"), None);
        assert_eq!(read("{}"), None);
    }
}
