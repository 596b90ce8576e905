//! Markdown as it streams in: parsed block by block, laid out block by block, drawn where it can be seen.
//!
//! Nothing in a text is trusted: HTML and unknown schemes are text, images are never fetched from here, a link
//! shows its true address.

mod code;
mod document;
mod node;
mod parse;
mod table;
mod text;
mod view;

pub use code::{append_visible, code_job};
pub use document::{Block, Document, Stats};
pub use node::{Code, Column, Link, List, ListItem, Node, Span, Style, Table, Text};
pub use text::paint_selectable;
pub use view::{DocumentView, LayoutStats, Look, Output, image_fault_key};
