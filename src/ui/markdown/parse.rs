//! From Markdown source to nodes, by pulldown-cmark, for one stretch of a document whose other stretches are known only by
//! their definitions. Bounded: nesting and tables beyond a limit stay source text.

#![expect(clippy::wildcard_enum_match_arm, reason = "pulldown-cmark's events and tags are not ours")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};

use crate::policy::find_controls;

use super::node::{Code, Column, Link, List, ListItem, Node, Style, Table, Text};

/// Deepest nesting of quotes and lists that is taken apart.
const MAX_DEPTH: usize = 16;
/// Most columns of a table that is laid out as one.
const MAX_COLUMNS: usize = 64;
/// Most cells of a table that is laid out as one.
const MAX_CELLS: usize = 8192;
/// Most container marks at the start of a line.
const MAX_LINE_MARKS: usize = 48;
/// Longest piece of text that is shown as source in one block, in bytes.
const PLAIN_BYTES: usize = 4 * 1024;

/// What a document defines for all its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Definitions {
    /// Addresses by normalised label.
    pub links: BTreeMap<String, String>,
    /// Labels of footnotes, as written, by normalised label.
    pub footnotes: BTreeMap<String, String>,
}

/// A top-level block with its place in the parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parsed {
    pub range: Range<usize>,
    pub node: Node,
    /// Normalised labels of the link definitions that it refers to, found or not.
    pub labels: BTreeSet<String>,
}

/// What a stretch of text gave.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    pub blocks: Vec<Parsed>,
    /// Link definitions in it: normalised label, address, start.
    pub links: Vec<(String, String, usize)>,
    /// Footnotes defined in it: normalised label, label, start.
    pub footnotes: Vec<(String, String, usize)>,
}

/// The extensions that are on.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
}

/// A label as two labels are compared: white space collapsed, case folded.
pub(super) fn normalise(label: &str) -> String {
    let collapsed = label.split([' ', '\t', '\r', '\n']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    caseless::default_case_fold_str(&collapsed)
}

/// Whether taking this text apart would cost far more than its length.
pub(super) fn is_pathological(text: &str) -> bool {
    text.lines().any(|line| {
        let marks = line
            .bytes()
            .take(4 * MAX_LINE_MARKS)
            .take_while(|byte| matches!(byte, b'>' | b' ' | b'\t' | b'-' | b'*' | b'+'))
            .filter(|byte| matches!(byte, b'>' | b'-' | b'*' | b'+'))
            .count();
        // A rule or a frontier of dashes is not nesting.
        let is_nesting = marks > MAX_LINE_MARKS
            && line.bytes().take(4 * MAX_LINE_MARKS).any(|byte| byte == b' ' || byte == b'>')
            && !is_rule(line);
        is_nesting || line.bytes().filter(|byte| *byte == b'|').take(MAX_COLUMNS + 2).count() > MAX_COLUMNS + 1
    })
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(first) = marks.next() else { return true };
    first != b'>' && marks.all(|byte| byte == first)
}

/// Takes a stretch of text apart. `known` is what the text around it defines; what comes before it wins over its own.
pub(super) fn parse(source: &str, known: &Definitions) -> Stretch {
    if source.trim().is_empty() {
        return Stretch::default();
    }
    if is_pathological(source) {
        return Stretch { blocks: as_source(source), ..Stretch::default() };
    }
    let head = footnote_head(source, known);
    if head.is_empty() {
        return parse_with_head(source, 0, known);
    }
    let offset = head.len();
    parse_with_head(&(head + source), offset, known)
}

/// The text as it was written, in pieces of bounded length.
pub(super) fn as_source(source: &str) -> Vec<Parsed> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while let Some(rest) = source.get(start..).filter(|rest| !rest.is_empty()) {
        let end = start + piece(rest, PLAIN_BYTES).len();
        let node = Node::Plain(source.get(start..end).unwrap_or_default().to_owned());
        blocks.push(Parsed { range: start..end, node, labels: BTreeSet::new() });
        start = end;
    }
    blocks
}

/// The longest beginning of at most `limit` bytes, up to the end of a line where there is one; never empty.
pub(super) fn piece(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit.max(4);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text.get(..end).unwrap_or(text);
    match cut.rfind('\n') {
        Some(newline) => cut.get(..=newline).unwrap_or(cut),
        None => cut,
    }
}

/// pulldown-cmark takes `[^1]` as a reference only when it sees a definition: give it one for those made elsewhere. The
/// comment ends the last definition, so that nothing of the text itself can belong to it.
fn footnote_head(source: &str, known: &Definitions) -> String {
    let mut head = String::new();
    if known.footnotes.is_empty() || !source.contains("[^") {
        return head;
    }
    for label in footnote_marks(source) {
        if let Some(written) = known.footnotes.get(&label) {
            head.push_str("[^");
            head.push_str(written);
            head.push_str("]: x\n\n");
        }
    }
    if !head.is_empty() {
        head.push_str("<!-- -->\n\n");
    }
    head
}

/// Normalised labels of everything in the text that looks like a reference to a footnote.
pub(super) fn footnote_marks(source: &str) -> BTreeSet<String> {
    source
        .split("[^")
        .skip(1)
        .filter_map(|rest| rest.split_once(']'))
        .filter(|(label, _)| label.len() <= 256 && !label.is_empty())
        .map(|(label, _)| normalise(label))
        .collect()
}

fn parse_with_head(text: &str, offset: usize, known: &Definitions) -> Stretch {
    let scope = Scope { known, labels: RefCell::default() };
    let callback = |broken: BrokenLink<'_>| {
        let label = normalise(&broken.reference);
        let found = known.links.get(&label).map(|address| (CowStr::from(address.clone()), CowStr::from("")));
        scope.labels.borrow_mut().insert(label);
        found
    };
    let parser = Parser::new_with_broken_link_callback(text, options(), Some(callback));
    let mut stretch = Stretch::default();
    for (label, definition) in parser.reference_definitions().iter() {
        if let Some(start) = definition.span.start.checked_sub(offset) {
            stretch.links.push((normalise(label), definition.dest.to_string(), start));
        }
    }
    stretch.links.sort_by_key(|(_, _, start)| *start);
    let mut events = parser.into_offset_iter();
    let mut builder = Builder { text, offset, scope: &scope, footnotes: Vec::new() };
    while let Some((event, range)) = events.next() {
        let Some(node) = builder.block(&mut events, event, range.clone(), 0) else { continue };
        let labels = scope.labels.take();
        let Some(start) = range.start.checked_sub(offset) else { continue };
        stretch.blocks.push(Parsed { range: start..range.end - offset, node, labels });
    }
    stretch.footnotes = builder.footnotes;
    stretch
}

/// What the parser of one stretch may ask, and what it finds on the way.
struct Scope<'known> {
    known: &'known Definitions,
    labels: RefCell<BTreeSet<String>>,
}

struct Builder<'text> {
    text: &'text str,
    offset: usize,
    scope: &'text Scope<'text>,
    footnotes: Vec<(String, String, usize)>,
}

/// Events with their places.
trait Events<'text>: Iterator<Item = (Event<'text>, Range<usize>)> {}
impl<'text, I: Iterator<Item = (Event<'text>, Range<usize>)>> Events<'text> for I {}

impl<'text> Builder<'text> {
    /// One block from its first event; `None` for what shows nothing.
    fn block(
        &mut self,
        events: &mut impl Events<'text>,
        event: Event<'text>,
        range: Range<usize>,
        depth: usize,
    ) -> Option<Node> {
        let tag = match event {
            Event::Start(tag) => tag,
            Event::Rule => return Some(Node::Rule),
            Event::Html(html) => return Some(Node::Html(html.to_string())),
            // Only blocks come where blocks are due; anything else would be text of its own.
            Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::TaskListMarker(_) => return None,
        };
        if depth >= MAX_DEPTH {
            skip(events);
            return Some(Node::Plain(self.text.get(range)?.to_owned()));
        }
        Some(match tag {
            Tag::Heading { level, .. } => Node::Heading { level: level_of(level), text: self.inline(events) },
            Tag::BlockQuote(_) => Node::Quote(self.blocks(events, depth + 1)),
            Tag::CodeBlock(kind) => Node::Code(code(events, &kind)),
            Tag::HtmlBlock => Node::Html(verbatim(events)),
            Tag::List(start) => self.list(events, start, depth + 1),
            Tag::FootnoteDefinition(label) => {
                if range.start >= self.offset {
                    self.footnotes.push((normalise(&label), label.to_string(), range.start - self.offset));
                }
                Node::Footnote { label: label.to_string(), children: self.blocks(events, depth + 1) }
            }
            Tag::Table(alignments) => self.table(events, &alignments, range),
            Tag::Paragraph
            | Tag::Item
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::MetadataBlock(_) => Node::Paragraph(self.inline(events)),
        })
    }

    /// Blocks up to the end of what holds them.
    fn blocks(&mut self, events: &mut impl Events<'text>, depth: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        while let Some((event, range)) = events.next() {
            if let Event::End(_) = event {
                break;
            }
            nodes.extend(self.block(events, event, range, depth));
        }
        nodes
    }

    fn list(&mut self, events: &mut impl Events<'text>, start: Option<u64>, depth: usize) -> Node {
        let mut list = List { start, is_tight: true, items: Vec::new() };
        while let Some((event, _)) = events.next() {
            match event {
                Event::Start(Tag::Item) => {
                    let (item, has_paragraph) = self.item(events, depth);
                    list.is_tight &= !has_paragraph;
                    list.items.push(item);
                }
                Event::End(_) => break,
                _ => {}
            }
        }
        Node::List(list)
    }

    /// One item, and whether it holds paragraphs (a loose list) instead of bare text (a tight one).
    fn item(&mut self, events: &mut impl Events<'text>, depth: usize) -> (ListItem, bool) {
        let mut item = ListItem::default();
        let mut has_paragraph = false;
        let mut bare: Option<Inline> = None;
        while let Some((event, range)) = events.next() {
            match event {
                Event::End(TagEnd::Item) => break,
                Event::TaskListMarker(is_done) => item.task = Some(is_done),
                Event::Start(
                    Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. },
                )
                | Event::Text(_)
                | Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak => bare.get_or_insert_default().take(event, self.scope),
                Event::End(_) => {
                    if let Some(inline) = &mut bare {
                        inline.take(event, self.scope);
                    }
                }
                Event::Start(ref tag) => {
                    if matches!(tag, Tag::Paragraph) {
                        has_paragraph = true;
                        let task = self.paragraph_of_task(events, &mut item);
                        item.children.extend(bare.take().map(Inline::finish));
                        item.children.push(task);
                        continue;
                    }
                    item.children.extend(bare.take().map(Inline::finish));
                    item.children.extend(self.block(events, event, range, depth));
                }
                Event::Html(_) | Event::Rule => {
                    item.children.extend(bare.take().map(Inline::finish));
                    item.children.extend(self.block(events, event, range, depth));
                }
            }
        }
        item.children.extend(bare.take().map(Inline::finish));
        (item, has_paragraph)
    }

    /// A paragraph of a loose list's item, which may begin with the box of a task.
    fn paragraph_of_task(&mut self, events: &mut impl Events<'text>, item: &mut ListItem) -> Node {
        let mut inline = Inline::default();
        for (event, _) in events.by_ref() {
            match event {
                Event::TaskListMarker(is_done) => item.task = Some(is_done),
                Event::End(TagEnd::Paragraph) => break,
                event => inline.take(event, self.scope),
            }
        }
        inline.finish()
    }

    /// Text up to the end of what holds it.
    fn inline(&mut self, events: &mut impl Events<'text>) -> Text {
        let mut inline = Inline::default();
        for (event, _) in events.by_ref() {
            if matches!(event, Event::End(_)) && inline.depth() == 0 {
                break;
            }
            inline.take(event, self.scope);
        }
        inline.text
    }

    fn table(&mut self, events: &mut impl Events<'text>, alignments: &[Alignment], range: Range<usize>) -> Node {
        let columns: Vec<Column> = alignments
            .iter()
            .map(|alignment| match alignment {
                Alignment::None | Alignment::Left => Column::Left,
                Alignment::Center => Column::Center,
                Alignment::Right => Column::Right,
            })
            .collect();
        let mut table = Table { columns, head: Vec::new(), rows: Vec::new() };
        let mut row = Vec::new();
        let mut cells = 0;
        while let Some((event, _)) = events.next() {
            match event {
                Event::Start(Tag::TableCell) => {
                    let text = self.inline(events);
                    cells += 1;
                    if cells <= MAX_CELLS {
                        row.push(text);
                    }
                }
                Event::End(TagEnd::TableHead) => table.head = std::mem::take(&mut row),
                Event::End(TagEnd::TableRow) => table.rows.push(std::mem::take(&mut row)),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        if cells > MAX_CELLS || table.columns.len() > MAX_COLUMNS {
            return Node::Plain(self.text.get(range).unwrap_or_default().to_owned());
        }
        Node::Table(table)
    }
}

/// Reads to the end of what was just opened.
fn skip<'text>(events: &mut impl Events<'text>) {
    let mut depth = 1_usize;
    for (event, _) in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

fn code<'text>(events: &mut impl Events<'text>, kind: &CodeBlockKind<'_>) -> Code {
    let language = match kind {
        CodeBlockKind::Indented => String::new(),
        CodeBlockKind::Fenced(info) => language_of(info),
    };
    Code { language, text: verbatim(events) }
}

/// The language that a fence names: its first word.
pub(super) fn language_of(info: &str) -> String {
    info.split([' ', '\t', ',', '{']).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
}

/// The text of a block that is shown as it was written.
fn verbatim<'text>(events: &mut impl Events<'text>) -> String {
    let mut text = String::new();
    for (event, _) in events {
        match event {
            Event::Text(piece) | Event::Html(piece) => text.push_str(&piece),
            Event::End(_) => break,
            _ => {}
        }
    }
    text
}

fn level_of(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Text that is being put together.
#[derive(Debug, Default)]
struct Inline {
    text: Text,
    /// Styles to go back to.
    outer: Vec<Style>,
    style: Style,
    /// The open image's link and where its description began.
    images: Vec<usize>,
}

impl Inline {
    fn depth(&self) -> usize {
        self.outer.len()
    }

    fn open(&mut self, change: impl FnOnce(&mut Style)) {
        self.outer.push(self.style);
        change(&mut self.style);
    }

    fn link(&mut self, address: &str, is_image: bool) -> usize {
        self.text.links.push(Link { address: address.to_owned(), is_image });
        self.text.links.len() - 1
    }

    fn push(&mut self, text: &str) {
        self.push_as(text, |_| {});
    }

    /// What would not be seen, or turn the direction of what stands around it, is seen.
    fn push_as(&mut self, text: &str, change: impl FnOnce(&mut Style)) {
        let mut style = self.style;
        change(&mut style);
        let mut start = 0;
        for hidden in find_controls(text) {
            self.text.push(text.get(start..hidden.range.start).unwrap_or_default(), style);
            self.text.push(&hidden.escape, Style { escape: true, ..style });
            start = hidden.range.end;
        }
        self.text.push(text.get(start..).unwrap_or_default(), style);
    }

    fn take(&mut self, event: Event<'_>, scope: &Scope<'_>) {
        match event {
            Event::Start(Tag::Emphasis) => self.open(|style| style.emphasis = true),
            Event::Start(Tag::Strong) => self.open(|style| style.strong = true),
            Event::Start(Tag::Strikethrough) => self.open(|style| style.strikethrough = true),
            Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
                let address = defined_before(link_type, &id, scope).unwrap_or(&dest_url);
                let mail = if link_type == LinkType::Email { "mailto:" } else { "" };
                let index = self.link(&format!("{mail}{address}"), false);
                self.open(|style| style.link = Some(index));
            }
            Event::Start(Tag::Image { link_type, dest_url, id, .. }) => {
                let address = defined_before(link_type, &id, scope).unwrap_or(&dest_url).to_owned();
                let index = self.link(&address, true);
                self.images.push(self.text.text.len());
                self.open(|style| style.link = Some(index));
            }
            Event::Start(_) => self.open(|_| {}),
            Event::End(end) => {
                if end == TagEnd::Image {
                    self.close_image();
                }
                self.style = self.outer.pop().unwrap_or_default();
            }
            Event::Text(text) => self.push(&text),
            Event::Code(text) => self.push_as(&text, |style| style.code = true),
            Event::InlineMath(text) => self.push_as(&format!("${text}$"), |style| style.code = true),
            Event::DisplayMath(text) => self.push_as(&format!("$${text}$$"), |style| style.code = true),
            Event::Html(text) | Event::InlineHtml(text) => self.push_as(&text, |style| style.quiet = true),
            Event::FootnoteReference(label) => self.push_as(&format!("[{label}]"), |style| style.quiet = true),
            Event::SoftBreak => self.push(" "),
            Event::HardBreak | Event::Rule => self.push("\n"),
            Event::TaskListMarker(is_done) => self.push(if is_done { "[x] " } else { "[ ] " }),
        }
    }

    /// An image is not fetched: its description and its host stand for it. One that the text holds has no host.
    fn close_image(&mut self) {
        let is_described = self.images.pop() != Some(self.text.text.len());
        let link = self.style.link.and_then(|index| self.text.links.get(index));
        if is_described && link.is_some_and(Link::is_picture) {
            return;
        }
        let host = link.and_then(Link::host).unwrap_or("image").to_owned();
        self.push(&if is_described { format!(" ({host})") } else { host });
    }

    fn finish(self) -> Node {
        Node::Paragraph(self.text)
    }
}

/// A definition that stands before the parsed stretch wins over one inside it.
fn defined_before<'known>(kind: LinkType, label: &str, scope: &Scope<'known>) -> Option<&'known str> {
    match kind {
        LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
            let label = normalise(label);
            let found = scope.known.links.get(&label).map(String::as_str);
            scope.labels.borrow_mut().insert(label);
            found
        }
        LinkType::Inline
        | LinkType::ReferenceUnknown
        | LinkType::CollapsedUnknown
        | LinkType::ShortcutUnknown
        | LinkType::Autolink
        | LinkType::Email
        | LinkType::WikiLink { .. } => None,
    }
}
