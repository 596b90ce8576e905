//! Ids of calls as servers take them: plain characters, and each its own, whatever the history holds.

use std::collections::{HashMap, HashSet};

/// Ids for the calls of one request, in their order.
#[derive(Debug, Default)]
pub(super) struct CallNames {
    /// How often an id was wanted.
    wanted: HashMap<String, usize>,
    taken: HashSet<String>,
}

impl CallNames {
    /// An id for the next call.
    pub(super) fn next(&mut self, id: &str) -> String {
        let plain = if id.is_empty() { "call".to_owned() } else { replaced(id) };
        let count = self.wanted.entry(plain.clone()).or_default();
        let mut name = plain.clone();
        while !self.taken.insert(name.clone()) {
            *count += 1;
            name = format!("{plain}_{count}");
        }
        name
    }
}

fn replaced(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_a_history_has_an_id_of_its_own() {
        let mut names = CallNames::default();
        let given: Vec<String> =
            ["call_0", "call_0", "call_0_1", "functions.ls:0", "", ""].iter().map(|id| names.next(id)).collect();
        assert_eq!(given, ["call_0", "call_0_1", "call_0_1_1", "functions_ls_0", "call", "call_1"]);
    }
}
