//! A Markdown text that grows: what is settled is never parsed again. Only what follows the last settled block is, and the
//! few settled blocks that wait for a definition which came later.
//!
//! A block is settled once another block begins after it and two more lines are complete. For every prefix the blocks are those
//! that a fresh parse of the whole text gives; only a single block longer than `MAX_TAIL_BYTES` is shown as source.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::node::Node;
use super::parse::{self, Definitions, Parsed, Stretch};

/// Longest unsettled text that is parsed on every push, in bytes.
const MAX_TAIL_BYTES: usize = 96 * 1024;
/// Longest stretch that is added before the next parse, in bytes.
const PUSH_BYTES: usize = 64 * 1024;

/// A growing Markdown text.
#[derive(Debug, Default)]
pub struct Document {
    source: String,
    blocks: Vec<Block>,
    /// How many of `blocks` are settled.
    settled: usize,
    /// Where the text after the last settled block begins.
    settled_end: usize,
    /// What settled text defines.
    settled_definitions: Definitions,
    /// What the text after it defines now.
    tail_definitions: Definitions,
    /// Settled blocks that refer to links that no settled text defines, by label.
    waiting_links: BTreeMap<String, Vec<usize>>,
    /// The same for footnotes.
    waiting_footnotes: BTreeMap<String, Vec<usize>>,
    /// The open fence at the very end, when there is one.
    fence: Option<Fence>,
    last_version: u64,
    stats: Stats,
}

/// One top-level block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its source, in bytes of the document.
    pub range: Range<usize>,
    pub node: Node,
    /// Changes whenever the node does.
    pub version: u64,
    /// Stays the same while code only grows at its end.
    pub lineage: u64,
}

/// What the work so far cost, for tests and benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes that were given to the parser.
    pub parsed_bytes: usize,
    /// Settled blocks that were parsed again because of a late definition.
    pub reparsed_blocks: usize,
}

/// An open fence at the start of a line, outside any list or quote.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Document {
    /// The blocks, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How many of the blocks more text at the end will not change (late definitions apart).
    pub fn settled_blocks(&self) -> usize {
        self.settled
    }

    /// The whole source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What the work so far cost.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The text without its markup.
    pub fn plain_text(&self) -> String {
        let mut out = String::new();
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            block.node.plain_text(&mut out);
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Makes this the document of a text, by adding what is new where it only grew, and at most about `budget` bytes of it;
    /// whether that was all.
    pub fn feed(&mut self, source: &str, budget: usize) -> bool {
        if source.get(..self.source.len()) != Some(self.source.as_str()) {
            *self = Self { last_version: self.last_version, ..Self::default() };
        }
        let added = source.get(self.source.len()..).unwrap_or_default();
        self.push(parse::piece(added, budget));
        self.source.len() == source.len()
    }

    /// Makes this the document of a text.
    pub fn set(&mut self, source: &str) {
        self.feed(source, usize::MAX);
    }

    /// Adds text at the end.
    pub fn push(&mut self, added: &str) {
        let mut rest = added;
        while !rest.is_empty() {
            let stretch = parse::piece(rest, PUSH_BYTES);
            rest = rest.get(stretch.len()..).unwrap_or_default();
            let start = self.source.len();
            self.source.push_str(stretch);
            if !self.grow_fence(start) {
                self.parse_tail();
            }
        }
    }

    /// Shows text as it was written, without any markup; for what a person typed.
    pub fn set_plain(&mut self, source: &str) {
        if self.source == source {
            return;
        }
        *self = Self { last_version: self.last_version, ..Self::default() };
        source.clone_into(&mut self.source);
        self.append_settled(parse::as_source(source));
    }

    fn take_version(&mut self) -> u64 {
        self.last_version += 1;
        self.last_version
    }

    /// Adds text to the code that an open fence holds, without parsing. Not for a line that may close it.
    fn grow_fence(&mut self, start: usize) -> bool {
        let Some(fence) = self.fence else { return false };
        let line_start = self.source.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |index| index + 1);
        let Some(lines) = self.source.get(line_start..) else { return false };
        // At the very end the parser leaves out a line of only white space.
        let is_blank = |line: Option<&str>| line.is_some_and(|line| !line.is_empty() && line.trim().is_empty());
        if lines.contains(['\r', '\0'])
            || lines.split('\n').any(|line| fence.is_closed_by(line))
            || is_blank(lines.rsplit('\n').next())
            || is_blank(self.source.get(line_start..start))
        {
            return false;
        }
        let version = self.take_version();
        let end = self.source.len();
        let Some(added) = self.source.get(start..) else { return false };
        let Some(Block { node: Node::Code(code), version: old, range, .. }) = self.blocks.last_mut() else {
            return false;
        };
        code.text.push_str(added);
        *old = version;
        range.end = end;
        true
    }

    /// Parses what follows the last settled block, and settles what can be.
    fn parse_tail(&mut self) {
        let tail = self.source.get(self.settled_end..).unwrap_or_default();
        self.stats.parsed_bytes += tail.len();
        let stretch = parse::parse(tail, &self.settled_definitions);
        let before = std::mem::take(&mut self.tail_definitions);
        let Stretch { blocks, links, footnotes } = stretch;
        let tail_start = self.settled_end;
        let labels = self.replace_tail(blocks);
        self.settle(labels);
        let offset = self.settled_end - tail_start;
        for (label, address, start) in links {
            let definitions = if start < offset { &mut self.settled_definitions } else { &mut self.tail_definitions };
            definitions.links.entry(label).or_insert(address);
        }
        for (label, written, start) in footnotes {
            let definitions = if start < offset { &mut self.settled_definitions } else { &mut self.tail_definitions };
            definitions.footnotes.entry(label).or_insert(written);
        }
        self.resolve_waiting(&before);
        self.fence = self.open_fence();
        if self.fence.is_none() && self.is_last_block_too_long() {
            self.spill();
        }
    }

    /// Puts freshly parsed blocks behind the settled ones; those that did not change keep their version. Gives the labels
    /// that each refers to.
    fn replace_tail(&mut self, parsed: Vec<Parsed>) -> Vec<BTreeSet<String>> {
        let offset = self.settled_end;
        let old: Vec<Block> = self.blocks.drain(self.settled..).collect();
        let mut all_labels = Vec::with_capacity(parsed.len());
        for (index, Parsed { range, node, labels }) in parsed.into_iter().enumerate() {
            let (version, lineage) = match old.get(index) {
                Some(old) if old.node == node => (old.version, old.lineage),
                Some(old) if continues(&old.node, &node) => (self.take_version(), old.lineage),
                Some(_) | None => {
                    let version = self.take_version();
                    (version, version)
                }
            };
            self.blocks.push(Block { range: range.start + offset..range.end + offset, node, version, lineage });
            all_labels.push(labels);
        }
        all_labels
    }

    /// Settles every block behind which another begins on a line that is complete, like the line after it (a table is one
    /// only by its second line).
    fn settle(&mut self, labels: Vec<BTreeSet<String>>) {
        let tail = self.source.get(self.settled_end..).unwrap_or_default();
        let mut complete_lines = tail.rmatch_indices('\n').map(|(index, _)| index);
        complete_lines.next();
        let complete_end = complete_lines.next().map_or(0, |index| self.settled_end + index + 1);
        let first = self.settled;
        for next in (first + 1..self.blocks.len()).rev() {
            let (Some(block), Some(following)) = (self.blocks.get(next - 1), self.blocks.get(next)) else { continue };
            let Some(end) = end_of_line(&self.source, block.range.end) else { continue };
            if following.range.start < complete_end && end <= following.range.start {
                self.settled = next;
                self.settled_end = end;
                break;
            }
        }
        for (index, labels) in (first..self.settled).zip(labels) {
            for label in labels {
                if !self.settled_definitions.links.contains_key(&label) {
                    self.waiting_links.entry(label).or_default().push(index);
                }
            }
            let source = self.blocks.get(index).and_then(|block| self.source.get(block.range.clone()));
            for label in source.filter(|source| source.contains("[^")).map(parse::footnote_marks).unwrap_or_default() {
                if !self.settled_definitions.footnotes.contains_key(&label) {
                    self.waiting_footnotes.entry(label).or_default().push(index);
                }
            }
        }
    }

    /// Parses the settled blocks again that refer to what is defined otherwise now than at the last parse.
    fn resolve_waiting(&mut self, before: &Definitions) {
        let mut changed = BTreeSet::new();
        self.waiting_links.retain(|label, blocks| {
            let settled = self.settled_definitions.links.get(label);
            let now = settled.or_else(|| self.tail_definitions.links.get(label));
            if before.links.get(label) != now {
                changed.extend(blocks.iter().copied());
            }
            settled.is_none()
        });
        self.waiting_footnotes.retain(|label, blocks| {
            let settled = self.settled_definitions.footnotes.get(label);
            let now = settled.or_else(|| self.tail_definitions.footnotes.get(label));
            if before.footnotes.contains_key(label) != now.is_some() {
                changed.extend(blocks.iter().copied());
            }
            settled.is_none()
        });
        if changed.is_empty() {
            return;
        }
        let mut known = self.tail_definitions.clone();
        known.links.extend(self.settled_definitions.links.clone());
        known.footnotes.extend(self.settled_definitions.footnotes.clone());
        for index in changed {
            let Some(range) = self.blocks.get(index).map(|block| block.range.clone()) else { continue };
            // From the start of its line: its indentation counts.
            let start =
                self.source.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |index| index + 1);
            let source = self.source.get(start..range.end).unwrap_or_default();
            self.stats.reparsed_blocks += 1;
            let mut parsed = parse::parse(source, &known).blocks;
            // A single block of the document is a single block by itself, too.
            if let (Some(Parsed { node, .. }), true) = (parsed.pop(), parsed.is_empty()) {
                let version = self.take_version();
                if let Some(block) = self.blocks.get_mut(index).filter(|block| block.node != node) {
                    block.node = node;
                    block.version = version;
                    block.lineage = version;
                }
            }
        }
    }

    /// Whether the last block alone makes every parse expensive. Code does not: the next block settles it.
    fn is_last_block_too_long(&self) -> bool {
        let Some(block) = self.blocks.last() else { return false };
        let unsettled = self.source.len() - self.settled_end;
        let length = if matches!(block.node, Node::Code(_)) { 0 } else { self.source.len() - block.range.start };
        length > MAX_TAIL_BYTES || (unsettled > 4 * MAX_TAIL_BYTES && length > 0)
    }

    /// Shows a tail that is too long to be parsed again and again as it was written.
    fn spill(&mut self) {
        self.blocks.truncate(self.settled);
        let tail = self.source.get(self.settled_end..).unwrap_or_default();
        self.append_settled(parse::as_source(tail));
    }

    fn append_settled(&mut self, parsed: Vec<Parsed>) {
        self.replace_tail(parsed);
        self.settled = self.blocks.len();
        self.settled_end = self.source.len();
    }

    /// The fence that the last block opened and did not close.
    fn open_fence(&self) -> Option<Fence> {
        let block = self.blocks.last().filter(|block| matches!(block.node, Node::Code(_)))?;
        let is_at_line_start =
            block.range.start == 0 || self.source.get(..block.range.start).is_some_and(|before| before.ends_with('\n'));
        let (first, rest) = self.source.get(block.range.start..)?.split_once('\n')?;
        let mark = first.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = first.chars().take_while(|other| *other == mark).count();
        let fence = Fence { mark, length };
        let is_open = length >= 3 && !rest.split('\n').any(|line| fence.is_closed_by(line));
        (is_at_line_start && is_open && !rest.contains(['\r', '\0'])).then_some(fence)
    }
}

impl Fence {
    /// Whether the line may be the closing fence; says yes too often rather than too rarely.
    fn is_closed_by(self, line: &str) -> bool {
        let marks = line.trim();
        marks.len() >= self.length && marks.chars().all(|mark| mark == self.mark)
    }
}

/// Whether code only grew at its end.
fn continues(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::Code(old), Node::Code(new)) => old.language == new.language && new.text.starts_with(&old.text),
        _ => false,
    }
}

/// Where the line ends that holds the end of a block; `None` where something else stands on it.
fn end_of_line(source: &str, end: usize) -> Option<usize> {
    if source.get(..end)?.ends_with('\n') {
        return Some(end);
    }
    let (rest, _) = source.get(end..)?.split_once('\n')?;
    rest.trim().is_empty().then_some(end + rest.len() + 1)
}

#[cfg(test)]
mod tests;
