//! What a Markdown text is made of, ready to be laid out: blocks, and text with styled stretches. Plain data.

use std::ops::Range;

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Paragraph(Text),
    /// `level` is 1 to 6.
    Heading {
        level: u8,
        text: Text,
    },
    Code(Code),
    List(List),
    Quote(Vec<Self>),
    Table(Table),
    Rule,
    /// HTML is shown as it was written.
    Html(String),
    Footnote {
        label: String,
        children: Vec<Self>,
    },
    /// Source that would cost too much to take apart, as it was written.
    Plain(String),
}

/// Text with styled stretches that follow each other and cover it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    pub text: String,
    pub spans: Vec<Span>,
    /// Addresses that spans point to.
    pub links: Vec<Link>,
}

/// A stretch of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the text.
    pub range: Range<usize>,
    pub style: Style,
}

/// How a stretch looks and where it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub strong: bool,
    pub emphasis: bool,
    pub strikethrough: bool,
    /// Code, or the source of a formula.
    pub code: bool,
    /// HTML as it was written, or a reference to a footnote.
    pub quiet: bool,
    /// The escape of a character that would not be seen.
    pub escape: bool,
    /// Index into `Text::links`.
    pub link: Option<usize>,
}

/// Where a stretch leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The true address, as the text gives it.
    pub address: String,
    /// Whether it is the place of an image.
    pub is_image: bool,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The first word after the fence; empty for none.
    pub language: String,
    pub text: String,
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// Number of the first item; `None` for bullets.
    pub start: Option<u64>,
    /// Whether its items stand close together.
    pub is_tight: bool,
    pub items: Vec<ListItem>,
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListItem {
    /// Whether it is a task, and done.
    pub task: Option<bool>,
    pub children: Vec<Node>,
}

/// A table; every row has as many cells as `columns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub head: Vec<Text>,
    pub rows: Vec<Vec<Text>>,
}

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Left,
    Center,
    Right,
}

impl Text {
    /// Adds a stretch; one in the same style as the last makes that one longer.
    pub fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(text);
        let end = self.text.len();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.range.end = end,
            Some(_) | None => self.spans.push(Span { range: start..end, style }),
        }
    }

    /// Whether it is a picture without a description, and nothing else.
    pub fn is_only_a_picture(&self) -> bool {
        self.text == "image" && matches!(self.links.as_slice(), [link] if link.is_picture())
    }

    /// Text in no particular style.
    pub fn plain(text: &str) -> Self {
        let mut made = Self::default();
        made.push(text, Style::default());
        made
    }
}

impl Link {
    /// Whether it is an image that the text holds itself.
    pub fn is_picture(&self) -> bool {
        self.is_image && crate::ui::picture::is_data(&self.address)
    }

    /// Whether it may be opened; anything else is only text.
    pub fn is_openable(&self) -> bool {
        let scheme = self.address.split(':').next().unwrap_or_default();
        self.address.len() > scheme.len()
            && ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    }

    /// The host of an `http` or `https` address, for showing where an image lies.
    pub fn host(&self) -> Option<&str> {
        let (_, rest) = self.address.split_once("://")?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit('@').next()?;
        (!host.is_empty()).then_some(host)
    }
}

impl Node {
    /// The text without its markup, for the clipboard.
    pub fn plain_text(&self, out: &mut String) {
        match self {
            Self::Paragraph(text) | Self::Heading { text, .. } => line(out, &text.text),
            Self::Code(code) => line(out, code.text.trim_end_matches('\n')),
            Self::List(list) => {
                for (number, item) in (list.start.unwrap_or(1)..).zip(&list.items) {
                    let marker = match (item.task, list.start) {
                        (Some(true), _) => "[x] ".to_owned(),
                        (Some(false), _) => "[ ] ".to_owned(),
                        (None, Some(_)) => format!("{number}. "),
                        (None, None) => "• ".to_owned(),
                    };
                    let mut inner = String::new();
                    for child in &item.children {
                        child.plain_text(&mut inner);
                    }
                    let indent = " ".repeat(marker.chars().count());
                    for (index, text) in inner.lines().enumerate() {
                        out.push_str(if index == 0 { &marker } else { &indent });
                        line(out, text);
                    }
                }
            }
            Self::Quote(children) | Self::Footnote { children, .. } => {
                for child in children {
                    child.plain_text(out);
                }
            }
            Self::Table(table) => {
                for row in std::iter::once(&table.head).chain(&table.rows) {
                    let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
                    line(out, &cells.join("\t"));
                }
            }
            Self::Rule => line(out, "———"),
            Self::Html(text) | Self::Plain(text) => line(out, text.trim_end_matches('\n')),
        }
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}
