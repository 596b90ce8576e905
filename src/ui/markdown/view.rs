//! Blocks on the screen: each laid out when it is first needed and again only when it, the width or the look changes.

use std::collections::HashMap;

use egui::{Color32, CornerRadius, Id, Pos2, Rect, Ui, Vec2, pos2, vec2};

use super::code::CodeView;
use super::document::{Block, Document};
use super::node::{Code, List, Node, Text};
use super::table::TableLayout;
use super::text::{TextLook, TextPiece};
use crate::app::remote_image::{RemoteImage, RemoteImages};
use crate::lang::Lang;
use crate::port::ImageFault;
use crate::ui::highlight::Highlighter;
use crate::ui::icon::Icon;
use crate::ui::picture::{self, Fit, Pictures, Shown};
use crate::ui::theme::{Theme, Type, space};

/// Highest that a picture is drawn, in points.
const PICTURE_HEIGHT: f32 = 420.0;
/// Place of a picture whose size is not known before it is decoded, in points.
const PICTURE_PLACE: Vec2 = vec2(420.0, 280.0);
/// Blocks of one document that stay laid out though they are out of sight.
const KEPT: usize = 200;

/// What drawing needs beside the document.
pub struct Look<'frame> {
    pub theme: &'frame Theme,
    pub lang: &'frame Lang,
    pub highlighter: &'frame mut Highlighter,
    /// Changes whenever everything must be laid out anew: theme, sizes, scale, the fonts' atlas.
    pub epoch: u64,
    /// Whether the text will not grow any more.
    pub is_whole: bool,
    pub stats: &'frame mut LayoutStats,
    pub pictures: &'frame mut Pictures,
    /// Images from elsewhere that the person asked for; `epoch` changes when they do.
    pub images: &'frame RemoteImages,
    /// What the pictures of the document belong to.
    pub owner: Id,
}

/// How much was laid out, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayoutStats {
    /// Blocks and chunks of code that were laid out.
    pub laid_out: usize,
    /// Blocks and cards that were drawn.
    pub drawn: usize,
}

/// What the person did in a text.
#[derive(Debug, Default)]
pub struct Output {
    /// Wants to follow this address.
    pub opened: Option<String>,
    /// Wants to see the image at this address.
    pub opened_image: Option<String>,
    /// Wants this text in the clipboard.
    pub copied: Option<String>,
    /// Something became higher or lower.
    pub resized: bool,
}

/// How a document is shown.
#[derive(Default)]
pub struct DocumentView {
    document: Document,
    layouts: HashMap<usize, BlockLayout>,
    turn: u64,
}

/// One block, laid out.
struct BlockLayout {
    version: u64,
    epoch: u64,
    width: u32,
    height: f32,
    /// When it was last drawn or measured.
    drawn: u64,
    pieces: Vec<Piece>,
}

enum Piece {
    Text(TextPiece),
    Mark {
        center: Vec2,
        mark: Mark,
    },
    Bar {
        rect: Rect,
        color: Color32,
    },
    Table {
        at: Vec2,
        width: f32,
        table: TableLayout,
    },
    /// A picture that the text itself holds.
    Picture {
        rect: Rect,
        key: u64,
        name: String,
        address: String,
    },
    /// Code of its own, where it stands in a list or quote; the document's where it is a block.
    Code {
        at: Vec2,
        width: f32,
        height: f32,
        view: CodeView,
        code: Option<Code>,
    },
}

enum Mark {
    Bullet,
    Task { is_done: bool },
}

impl DocumentView {
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Shows this Markdown; takes in at most `budget` bytes at once and tells whether that was all.
    pub fn feed(&mut self, source: &str, budget: usize) -> bool {
        self.document.feed(source, budget)
    }

    /// Shows this text as it is.
    pub fn set_plain(&mut self, source: &str) {
        self.document.set_plain(source);
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.document.blocks().len()
    }

    pub fn is_empty(&self) -> bool {
        self.document.blocks().is_empty()
    }

    /// Height of a block with the gap above it; lays it out if need be.
    pub fn measure(&mut self, ui: &Ui, look: &mut Look<'_>, salt: Id, index: usize, width: f32) -> f32 {
        let Some(block) = self.document.blocks().get(index) else { return 0.0 };
        let gap = gap(self.document.blocks(), index);
        let is_growing = !look.is_whole && index + 1 == self.document.blocks().len();
        let old = self.layouts.remove(&index);
        self.turn += 1;
        let mut layout = match old {
            Some(layout)
                if layout.version == block.version && layout.epoch == look.epoch && layout.width == whole(width) =>
            {
                layout
            }
            Some(_) | None => lay_out(ui, look, block, old, salt, is_growing, width),
        };
        layout.drawn = self.turn;
        let height = gap + layout.height;
        self.layouts.insert(index, layout);
        height
    }

    /// Draws a block; `top_left` is where its gap begins.
    pub fn draw(&mut self, ui: &mut Ui, look: &mut Look<'_>, salt: Id, index: usize, top_left: Pos2, out: &mut Output) {
        look.stats.drawn += 1;
        let gap = gap(self.document.blocks(), index);
        let Some(block) = self.document.blocks().get(index) else { return };
        let Some(layout) = self.layouts.get_mut(&index) else { return };
        let origin = top_left + vec2(0.0, gap);
        let id = salt.with(index);
        let before = out.resized;
        out.resized = false;
        draw_pieces(ui, look, id, &mut layout.pieces, &block.node, origin, out);
        if out.resized {
            // Code was folded or wrapped: its height counts anew.
            layout.epoch = layout.epoch.wrapping_add(1);
        }
        out.resized |= before;
    }

    /// How wide the text of a block is by itself, where it is laid out.
    pub fn natural_width(&self, index: usize) -> f32 {
        let pieces = self.layouts.get(&index).map_or(&[][..], |layout| &layout.pieces);
        pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.at.x + text.size().x,
                Piece::Mark { .. }
                | Piece::Bar { .. }
                | Piece::Table { .. }
                | Piece::Picture { .. }
                | Piece::Code { .. } => 0.0,
            })
            .fold(0.0, f32::max)
            .ceil()
    }

    /// Forgets what is laid out and was not drawn for a while, to save memory; heights are kept.
    pub fn forget_undrawn(&mut self) {
        if self.layouts.len() <= KEPT {
            return;
        }
        let turn = self.turn;
        self.layouts.retain(|_, layout| {
            turn - layout.drawn < 4000 || layout.pieces.iter().any(|piece| matches!(piece, Piece::Code { .. }))
        });
    }
}

/// A width as a key.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width in points")]
fn whole(width: f32) -> u32 {
    width.max(0.0).round() as u32
}

/// Space above a block.
fn gap(blocks: &[Block], index: usize) -> f32 {
    let (Some(block), Some(before)) = (blocks.get(index), index.checked_sub(1).and_then(|index| blocks.get(index)))
    else {
        return 0.0;
    };
    gap_between(&before.node, &block.node)
}

fn gap_between(before: &Node, node: &Node) -> f32 {
    match (before, node) {
        (_, Node::Heading { level: 1 | 2, .. }) => space::XL,
        (_, Node::Heading { .. }) => space::L,
        (Node::Heading { .. }, _) | (Node::Paragraph(_), Node::List(_) | Node::Code(_) | Node::Table(_)) => space::S,
        (Node::Plain(_), Node::Plain(_)) => 0.0,
        (Node::Footnote { .. }, Node::Footnote { .. }) => space::XS,
        _ => space::M,
    }
}

fn lay_out(
    ui: &Ui,
    look: &mut Look<'_>,
    block: &Block,
    old: Option<BlockLayout>,
    salt: Id,
    is_growing: bool,
    width: f32,
) -> BlockLayout {
    let key = salt.with(block.lineage).value();
    // Code that goes on keeps its view: its chunks, its colours, whether it is folded.
    let kept = old.into_iter().flat_map(|layout| layout.pieces).filter_map(|piece| match piece {
        Piece::Code { view, .. } => Some((view.key(), view)),
        Piece::Text(_) | Piece::Mark { .. } | Piece::Bar { .. } | Piece::Table { .. } | Piece::Picture { .. } => None,
    });
    let mut flow = Flow { ui, look, pieces: Vec::new(), kept: kept.collect(), key, codes: 0, is_growing };
    let height = if let Node::Code(code) = &block.node {
        flow.code(code, Vec2::ZERO, width, Keep::Shared)
    } else {
        flow.look.stats.laid_out += 1;
        flow.node(&block.node, Vec2::ZERO, width, flow.look.theme.colors.text)
    };
    let pieces = flow.pieces;
    BlockLayout { version: block.version, epoch: look.epoch, width: whole(width), height, drawn: 0, pieces }
}

/// Whether a piece of code holds its text, or finds it in its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Own,
    Shared,
}

/// Puts blocks below each other.
struct Flow<'flow, 'frame> {
    ui: &'flow Ui,
    look: &'flow mut Look<'frame>,
    pieces: Vec<Piece>,
    kept: HashMap<u64, CodeView>,
    key: u64,
    codes: u64,
    is_growing: bool,
}

impl Flow<'_, '_> {
    /// Lays a block out at a place and gives its height.
    fn node(&mut self, node: &Node, at: Vec2, width: f32, color: Color32) -> f32 {
        let theme = self.look.theme;
        match node {
            Node::Paragraph(text) => {
                let look = TextLook { color, ..TextLook::body(theme) };
                let height = if text.is_only_a_picture() { 0.0 } else { self.text(text, look, at, width) };
                self.pictures(text, at, height, width)
            }
            Node::Heading { level, text } => {
                let size = match level {
                    1 => Some((theme.message_size + 6.0, theme.message_size + 14.0)),
                    2 => Some((theme.message_size + 3.0, theme.message_size + 10.0)),
                    3 => Some((theme.message_size + 1.0, theme.message_size + 8.0)),
                    _ => None,
                };
                self.text(text, TextLook { size, color, ..TextLook::strong(theme) }, at, width)
            }
            Node::Code(code) => self.code(code, at, width, Keep::Own),
            Node::List(list) => self.list(list, at, width, color),
            Node::Quote(children) => {
                let inner = self.nodes(children, at + vec2(space::L, 0.0), width - space::L, theme.colors.dim);
                let rect = Rect::from_min_size(at.to_pos2(), vec2(3.0, inner));
                self.pieces.push(Piece::Bar { rect, color: theme.colors.line });
                inner
            }
            Node::Footnote { label, children } => {
                let format = theme.format(Type::Meta, theme.colors.dim);
                let piece = TextPiece::uniform(self.ui, &format!("[{label}]"), format, at, width);
                let indent = (piece.size().x + space::S).max(28.0);
                self.pieces.push(Piece::Text(piece));
                self.nodes(children, at + vec2(indent, 0.0), width - indent, theme.colors.dim)
                    .max(theme.line_height(Type::Body))
            }
            Node::Table(table) => {
                let table = TableLayout::new(self.ui, theme, table, width);
                let height = table.size().y;
                self.pieces.push(Piece::Table { at, width, table });
                height + 1.0
            }
            Node::Rule => {
                let rect = Rect::from_min_size((at + vec2(0.0, space::XS)).to_pos2(), vec2(width, 1.0));
                self.pieces.push(Piece::Bar { rect, color: theme.colors.line });
                2.0 * space::XS + 1.0
            }
            Node::Html(text) => {
                let format = theme.format(Type::Mono, theme.colors.dim);
                self.uniform(text.trim_end_matches('\n'), &format, at, width)
            }
            Node::Plain(text) => {
                let format = theme.format(Type::Body, color);
                self.uniform(text.strip_suffix('\n').unwrap_or(text), &format, at, width)
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node], at: Vec2, width: f32, color: Color32) -> f32 {
        let mut y = 0.0;
        for (index, node) in nodes.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).and_then(|index| nodes.get(index)) {
                y += gap_between(before, node);
            }
            y += self.node(node, at + vec2(0.0, y), width.max(80.0), color);
        }
        y
    }

    fn text(&mut self, text: &Text, look: TextLook, at: Vec2, width: f32) -> f32 {
        let piece = TextPiece::new(self.ui, self.look.theme, text, look, at, width);
        let height = piece.size().y;
        self.pieces.push(Piece::Text(piece));
        height
    }

    /// The pictures of a text, below it; gives the height of both.
    fn pictures(&mut self, text: &Text, at: Vec2, mut height: f32, width: f32) -> f32 {
        let images = self.look.images;
        for (number, link) in text.links.iter().enumerate().filter(|(_, link)| link.is_image) {
            let address = match images.get(&link.address) {
                _ if link.is_picture() => link.address.as_str(),
                Some(RemoteImage::Loaded(address)) => address,
                Some(RemoteImage::Loading) => {
                    height += self.image_note("picture-loading", at + vec2(0.0, height), width);
                    continue;
                }
                Some(RemoteImage::Failed(fault)) => {
                    height += self.image_note(image_fault_key(*fault), at + vec2(0.0, height), width);
                    continue;
                }
                None => continue,
            };
            let own = picture::measure(address).unwrap_or(PICTURE_PLACE);
            let size = picture::fitting(own, vec2(width, PICTURE_HEIGHT));
            height += if height > 0.0 { space::S } else { 0.0 };
            let rect = Rect::from_min_size((at + vec2(0.0, height)).to_pos2(), size.max(vec2(width.min(220.0), 44.0)));
            height += rect.height();
            let key = Id::unique(("picture", &link.address)).value();
            let is_it = |span: &&super::node::Span| span.style.link == Some(number);
            let name = text.spans.iter().filter(is_it).filter_map(|span| text.text.get(span.range.clone())).collect();
            self.pieces.push(Piece::Picture { rect, key, name, address: address.to_owned() });
        }
        height
    }

    /// A line about an image that is not there; gives its height.
    fn image_note(&mut self, key: &str, at: Vec2, width: f32) -> f32 {
        let look = &self.look;
        let format = look.theme.format(Type::Meta, look.theme.colors.dim);
        let words = look.lang.text(key);
        self.uniform(words, &format, at, width)
    }

    fn uniform(&mut self, text: &str, format: &egui::TextFormat, at: Vec2, width: f32) -> f32 {
        let piece = TextPiece::source(self.ui, self.look.theme, text, format, at, width);
        let height = piece.size().y;
        self.pieces.push(Piece::Text(piece));
        height
    }

    fn list(&mut self, list: &List, at: Vec2, width: f32, color: Color32) -> f32 {
        let theme = self.look.theme;
        let line = theme.line_height(Type::Body);
        let format = theme.format(Type::Body, theme.colors.dim);
        let last = list.start.map(|start| start + list.items.len() as u64);
        let indent = last.map_or(20.0, |last| 14.0 + 8.5 * last.to_string().len() as f32);
        let mut y = 0.0;
        for (index, item) in list.items.iter().enumerate() {
            if index > 0 {
                y += if list.is_tight { space::XS } else { space::S };
            }
            let place = at + vec2(0.0, y);
            let center = place + vec2(8.0, line / 2.0);
            match (item.task, list.start) {
                (Some(is_done), _) => self.pieces.push(Piece::Mark { center, mark: Mark::Task { is_done } }),
                (None, None) => self.pieces.push(Piece::Mark { center, mark: Mark::Bullet }),
                (None, Some(start)) => {
                    let number = format!("{}.", start + index as u64);
                    let mut piece = TextPiece::uniform(self.ui, &number, format.clone(), place, f32::INFINITY);
                    piece.at.x += (indent - 6.0 - piece.size().x).max(0.0);
                    self.pieces.push(Piece::Text(piece));
                }
            }
            y += self.nodes(&item.children, place + vec2(indent, 0.0), width - indent, color).max(line);
        }
        y
    }

    fn code(&mut self, code: &Code, at: Vec2, width: f32, keep: Keep) -> f32 {
        let key = Id::unique((self.key, self.codes)).value();
        self.codes += 1;
        let is_growing = self.is_growing;
        let mut view = self.kept.remove(&key).unwrap_or_else(|| CodeView::new(key, is_growing));
        let height = view.height(self.ui, self.look, code, width);
        let code = (keep == Keep::Own).then(|| code.clone());
        self.pieces.push(Piece::Code { at, width, height, view, code });
        height
    }
}

/// The key of why an image is not there.
pub const fn image_fault_key(fault: ImageFault) -> &'static str {
    match fault {
        ImageFault::Locked => "picture-locked",
        ImageFault::Refused => "picture-refused",
        ImageFault::Unreachable => "picture-unreachable",
        ImageFault::TooLarge => "picture-too-large",
        ImageFault::NotAnImage => "picture-unreadable",
    }
}

fn draw_pieces(
    ui: &mut Ui,
    look: &mut Look<'_>,
    id: Id,
    pieces: &mut [Piece],
    node: &Node,
    origin: Pos2,
    out: &mut Output,
) {
    let theme = look.theme;
    let colors = &theme.colors;
    for (index, piece) in pieces.iter_mut().enumerate() {
        let id = id.with(index);
        match piece {
            Piece::Text(text) => text.draw(ui, theme, id, origin, out),
            Piece::Mark { center, mark: Mark::Bullet } => {
                ui.painter().circle_filled(origin + *center, 2.5, colors.dim);
            }
            Piece::Mark { center, mark: Mark::Task { is_done } } => {
                let rect = Rect::from_center_size(origin + *center, Vec2::splat(14.0));
                let corner = CornerRadius::same(3);
                if *is_done {
                    ui.painter().rect_filled(rect, corner, colors.accent);
                    Icon::Check.paint(ui.painter(), rect, 12.0, colors.on_accent);
                } else {
                    let stroke = egui::Stroke::new(1.5, colors.dim);
                    ui.painter().rect_stroke(rect, corner, stroke, egui::StrokeKind::Inside);
                }
            }
            Piece::Bar { rect, color } => {
                ui.painter().rect_filled(rect.translate(origin.to_vec2()), CornerRadius::same(1), *color);
            }
            Piece::Picture { rect, key, name, address } => {
                let shown = Shown { key: *key, owner: look.owner, name, address, fit: Fit::Whole(egui::Align::Min) };
                look.pictures.draw(ui, theme, look.lang, id, rect.translate(origin.to_vec2()), shown);
            }
            Piece::Table { at, width, table } => {
                let min = origin + *at;
                let rect = Rect::from_min_size(min, vec2(*width, table.size().y));
                table.draw(ui, look, id, rect, out);
            }
            Piece::Code { at, width, height, view, code } => {
                let min = origin + *at;
                let rect = Rect::from_min_max(min, pos2(min.x + *width, min.y + *height));
                let shared = if let Node::Code(code) = node { Some(code) } else { None };
                if let Some(code) = code.as_ref().or(shared) {
                    view.draw(ui, look, id, code, rect, out);
                }
            }
        }
    }
}
