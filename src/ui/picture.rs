//! Pictures in messages: decoded off the window's thread by one named worker, kept for the graphics only while they are near.
//!
//! Nothing is fetched here: a picture is a `data:` address. What is too large, or no picture, becomes words.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use base64::Engine as _;
use egui::load::SizedTexture;
use egui::{
    Align, ColorImage, Context, CornerRadius, CursorIcon, Id, Image, Rect, Role, Sense, StrokeKind, TextureFilter,
    TextureHandle, TextureOptions, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use image::{DynamicImage, ImageDecoder as _};

use super::dialog::Dialog;
use super::icon::Icon;
use super::modal;
use super::theme::{Theme, Type, radius, space};
use super::widget::{focus_ring, line_of_text};
use crate::lang::Lang;
use crate::port::picture::{PictureProblem, decoder};

/// Most pictures that wait for the worker.
const QUEUE: usize = 16;
/// Longest address that is decoded, in bytes: 20 MB as base64.
const ADDRESS_BYTES: usize = 28 * 1024 * 1024;
/// Longest address whose size is read while laying out, in bytes.
const MEASURED_BYTES: usize = 256 * 1024;
/// A picture is kept no larger than this on its longer side, in pixels.
const KEPT_SIDE: u32 = 1600;
/// Most pictures that are kept at once.
const KEPT: usize = 24;

/// Why a picture is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    TooLarge,
    Unreadable,
}

impl From<PictureProblem> for Fault {
    fn from(problem: PictureProblem) -> Self {
        match problem {
            PictureProblem::TooLarge => Self::TooLarge,
            PictureProblem::NotAPicture | PictureProblem::OtherKind | PictureProblem::Unreadable => Self::Unreadable,
        }
    }
}

impl Fault {
    const fn key(self) -> &'static str {
        match self {
            Self::TooLarge => "picture-too-large",
            Self::Unreadable => "picture-unreadable",
        }
    }
}

/// A picture to be drawn.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'text> {
    /// Stands for the picture; the same for the same address.
    pub key: u64,
    /// What it belongs to: it is kept while that is near.
    pub owner: Id,
    /// What it is called.
    pub name: &'text str,
    /// Its `data:` address.
    pub address: &'text str,
    /// How it fills its place.
    pub fit: Fit,
}

/// How a picture fills its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fit {
    /// All of it, at this side of a place that is wider.
    Whole(Align),
    /// Its middle, over all of the place.
    Cover,
}

struct Job {
    key: u64,
    address: String,
}

struct Done {
    key: u64,
    made: Result<ColorImage, Fault>,
}

enum State {
    Waiting,
    Ready(TextureHandle),
    Failed(Fault),
}

struct Entry {
    state: State,
    owner: Id,
    used: u64,
}

/// A picture over everything else.
struct Large {
    key: u64,
    name: String,
    /// Whether it was the topmost modal; not yet in its first frame.
    was_top: bool,
}

/// The pictures of a window.
pub struct Pictures {
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Done>,
    entries: HashMap<u64, Entry>,
    turn: u64,
    /// The one that is shown large.
    large: Option<Large>,
}

impl Pictures {
    /// Starts the worker; it rests until the first picture.
    pub fn new(ctx: &Context) -> Self {
        let (jobs, waiting) = sync_channel::<Job>(QUEUE);
        let (answers, done) = sync_channel(QUEUE);
        let ctx = ctx.clone();
        let worker = std::thread::Builder::new().name("nod-picture".to_owned()).spawn(move || {
            while let Ok(Job { key, address }) = waiting.recv() {
                let made = decode(&address);
                if answers.send(Done { key, made }).is_err() {
                    return;
                }
                ctx.request_repaint();
            }
        });
        // Without a worker pictures stay words, and everything else goes on.
        Self { jobs: worker.is_ok().then_some(jobs), done, entries: HashMap::new(), turn: 0, large: None }
    }

    /// Takes in what the worker finished: once a frame.
    pub fn poll(&mut self, ctx: &Context) {
        self.turn += 1;
        while let Ok(Done { key, made }) = self.done.try_recv() {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.state = match made {
                    Ok(picture) => State::Ready(ctx.load_texture("picture", picture, smooth())),
                    Err(fault) => State::Failed(fault),
                };
            }
        }
    }

    /// Drops the pictures whose owner is not near any more, and those least lately drawn when there are many.
    pub fn keep_near(&mut self, is_near: impl Fn(Id) -> bool) {
        let (turn, large) = (self.turn, self.large.as_ref().map(|large| large.key));
        self.entries.retain(|key, entry| entry.used == turn || large == Some(*key) || is_near(entry.owner));
        while self.entries.len() > KEPT {
            let oldest =
                self.entries.iter().filter(|(_, entry)| entry.used != turn).min_by_key(|(_, entry)| entry.used);
            let Some(key) = oldest.map(|(key, _)| *key) else { return };
            self.entries.remove(&key);
        }
    }

    /// How many are kept, for tests.
    pub fn kept(&self) -> usize {
        self.entries.len()
    }

    /// Whether one is shown large, over everything else.
    pub fn is_large(&self) -> bool {
        self.large.is_some()
    }

    /// The state of a picture; asks for it when it is new.
    fn state(&mut self, shown: Shown<'_>) -> &State {
        let Self { jobs, entries, turn, .. } = self;
        let entry = entries.entry(shown.key).or_insert_with(|| {
            let state = if shown.address.len() > ADDRESS_BYTES {
                State::Failed(Fault::TooLarge)
            } else {
                match jobs.as_ref().map(|jobs| jobs.try_send(Job { key: shown.key, address: shown.address.to_owned() }))
                {
                    Some(Ok(())) => State::Waiting,
                    // More at once than anybody looks at: tried again when it comes into sight again.
                    Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                        State::Failed(Fault::Unreadable)
                    }
                }
            };
            Entry { state, owner: shown.owner, used: *turn }
        });
        entry.used = *turn;
        entry.owner = shown.owner;
        &entry.state
    }

    /// Draws a picture inside of a rectangle; a click shows it large.
    pub fn draw(&mut self, ui: &Ui, theme: &Theme, lang: &Lang, id: Id, place: Rect, shown: Shown<'_>) {
        let colors = &theme.colors;
        let corner = CornerRadius::same(radius::CONTROL);
        match self.state(shown) {
            State::Waiting => {
                ui.painter().rect_filled(place, corner, colors.raised);
                Icon::Image.paint_at(ui.painter(), place.center(), 18.0, colors.dim);
            }
            State::Failed(fault) => {
                let text = lang.text(fault.key());
                let height = place.height().min(44.0);
                let frame = Rect::from_min_size(place.min, vec2(place.width(), height));
                let response = ui.interact(frame, id, Sense::hover());
                response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
                ui.painter().rect(frame, corner, colors.raised, theme.line(), StrokeKind::Inside);
                let middle = frame.center().y;
                Icon::Image.paint_at(ui.painter(), pos2(frame.left() + 18.0, middle), 14.0, colors.dim);
                let room = (frame.width() - 44.0).max(20.0);
                let galley = line_of_text(ui, theme, text, Type::Meta, colors.dim, room);
                ui.painter().galley(pos2(frame.left() + 34.0, middle - galley.size().y / 2.0), galley, colors.dim);
                response.on_hover_text(text);
            }
            State::Ready(texture) => {
                let size = fitting(texture.size_vec2(), place.size());
                let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                let (rect, part) = match shown.fit {
                    Fit::Whole(Align::Min) => (Rect::from_min_size(place.min, size), whole),
                    Fit::Whole(Align::Center) => {
                        (Rect::from_min_size(pos2(place.center().x - size.x / 2.0, place.top()), size), whole)
                    }
                    Fit::Whole(Align::Max) => {
                        (Rect::from_min_size(pos2(place.right() - size.x, place.top()), size), whole)
                    }
                    Fit::Cover => (place, middle_of(texture.size_vec2(), place.size())),
                };
                let source = SizedTexture::from_handle(texture);
                let response = ui.interact(rect, id, Sense::click()).on_hover_cursor(CursorIcon::ZoomIn);
                let words = lang.format("picture-enlarge", &[("name", shown.name.into())]);
                response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &words));
                Image::from_texture(source).uv(part).corner_radius(corner).paint_at(ui, rect);
                ui.painter().rect_stroke(rect, corner, theme.line(), StrokeKind::Inside);
                focus_ring(ui, &response, rect, radius::CONTROL, theme);
                if response.clicked() {
                    self.large = Some(Large { key: shown.key, name: shown.name.to_owned(), was_top: false });
                }
            }
        }
    }

    /// Draws the picture that is shown large, over everything; a click or Escape closes it.
    pub fn show_large(&mut self, ui: &Ui, theme: &Theme) {
        let Some(Large { key, name, was_top }) = &mut self.large else { return };
        let Some(Entry { state: State::Ready(texture), .. }) = self.entries.get(&*key) else {
            self.large = None;
            return;
        };
        let room = ui.ctx().content_rect().size() - Vec2::splat(4.0 * space::XXL);
        let size = fitting(texture.size_vec2(), room.max(Vec2::splat(80.0)));
        let source = SizedTexture::from_handle(texture);
        let response = modal::show(ui, theme, Dialog::Picture, size.x, |ui| {
            let (rect, response) = ui.allocate_exact_size(size, Sense::click());
            response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &*name));
            Image::from_texture(source).corner_radius(CornerRadius::same(radius::MODAL)).paint_at(ui, rect);
            response.on_hover_cursor(CursorIcon::ZoomOut).clicked()
        });
        // A question about what the model may do has precedence.
        let is_covered = *was_top && !response.is_top_modal;
        *was_top |= response.is_top_modal;
        if response.inner || response.should_close() || is_covered {
            self.large = None;
            ui.ctx().request_repaint();
        }
    }
}

/// Smooth when smaller, too.
fn smooth() -> TextureOptions {
    TextureOptions { mipmap_mode: Some(TextureFilter::Linear), ..TextureOptions::LINEAR }
}

/// The size with which a picture fits in a place; it is never drawn larger than it is.
pub fn fitting(size: Vec2, room: Vec2) -> Vec2 {
    let scale = (room.x / size.x.max(1.0)).min(room.y / size.y.max(1.0)).min(1.0);
    (size * scale).round().max(Vec2::splat(1.0))
}

/// The part of a picture, from its middle, that has the form of a place; both sides run from 0 to 1.
fn middle_of(size: Vec2, place: Vec2) -> Rect {
    let form = (size.x / size.y.max(1.0)) / (place.x / place.y.max(1.0)).max(f32::EPSILON);
    let part = if form > 1.0 { vec2(1.0 / form, 1.0) } else { vec2(1.0, form) };
    Rect::from_center_size(pos2(0.5, 0.5), part)
}

/// Whether an address holds a picture itself.
pub fn is_data(address: &str) -> bool {
    address.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"))
}

/// The size of a short picture in pixels, from its head alone; `None` where it is long or not readable.
pub fn measure(address: &str) -> Option<Vec2> {
    let bytes = (address.len() <= MEASURED_BYTES).then(|| bytes_of(address))??;
    let decoder = decoder(&bytes).ok()?;
    let (width, height) = decoder.dimensions();
    Some(vec2(width as f32, height as f32))
}

fn bytes_of(address: &str) -> Option<Vec<u8>> {
    let (head, data) = address.split_once(',')?;
    let engine = base64::engine::general_purpose::STANDARD;
    head.ends_with(";base64").then(|| engine.decode(data.trim_end()).ok())?
}

/// Decodes an address; the way up is the right one, and the size one that can be kept.
fn decode(address: &str) -> Result<ColorImage, Fault> {
    let bytes = bytes_of(address).ok_or(Fault::Unreadable)?;
    let mut decoder = decoder(&bytes)?;
    let orientation = decoder.orientation();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_error| Fault::Unreadable)?;
    if picture.width().max(picture.height()) > KEPT_SIDE {
        picture = picture.thumbnail(KEPT_SIDE, KEPT_SIDE);
    }
    if let Ok(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    let pixels = picture.to_rgba8();
    let size = [pixels.width() as usize, pixels.height() as usize];
    Ok(ColorImage::from_rgba_unmultiplied(size, pixels.as_raw()))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn address(kind: &str, bytes: &[u8]) -> String {
        format!("data:image/{kind};base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes))
    }

    fn encoded(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_thumbnail_shows_the_middle() {
        let part = |width, height| middle_of(vec2(width, height), Vec2::splat(40.0));
        assert_eq!(part(200.0, 100.0), Rect::from_min_max(pos2(0.25, 0.0), pos2(0.75, 1.0)));
        assert_eq!(part(100.0, 200.0), Rect::from_min_max(pos2(0.0, 0.25), pos2(1.0, 0.75)));
        assert_eq!(part(30.0, 30.0), Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)));
    }

    #[test]
    fn png_and_jpeg_are_decoded_and_large_ones_made_smaller() {
        let png = address("png", &encoded(30, 20, image::ImageFormat::Png));
        assert_eq!(decode(&png).map(|picture| picture.size), Ok([30, 20]));
        assert_eq!(measure(&png), Some(vec2(30.0, 20.0)));
        let jpeg = address("jpeg", &encoded(3200, 160, image::ImageFormat::Jpeg));
        assert_eq!(decode(&jpeg).map(|picture| picture.size), Ok([1600, 80]));
    }

    #[test]
    fn a_bomb_is_refused_by_its_head() {
        // A head that promises far more pixels than the few bytes after it.
        let mut png = encoded(1, 1, image::ImageFormat::Png);
        let (width, height) = (60_000_u32, 60_000_u32);
        png.splice(16..20, width.to_be_bytes());
        png.splice(20..24, height.to_be_bytes());
        let crc = crc32(&png[12..29]);
        png.splice(29..33, crc.to_be_bytes());
        assert_eq!(decode(&address("png", &png)).unwrap_err(), Fault::TooLarge);
        // The same just under the longest side is too many pixels.
        png.splice(16..20, 16_000_u32.to_be_bytes());
        png.splice(20..24, 16_000_u32.to_be_bytes());
        let crc = crc32(&png[12..29]);
        png.splice(29..33, crc.to_be_bytes());
        assert_eq!(decode(&address("png", &png)).unwrap_err(), Fault::TooLarge);
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            }
        }
        !crc
    }

    #[test]
    fn what_is_no_picture_is_unreadable() {
        for text in [
            "data:image/png;base64,AAAA",
            "data:image/png;base64,%%%",
            "data:image/png,plain",
            "data:image/svg+xml;base64,PHN2Zz4=",
        ] {
            assert_eq!(decode(text).unwrap_err(), Fault::Unreadable, "{text}");
        }
    }

    #[test]
    fn a_picture_fits_in_its_place_and_is_never_made_larger() {
        assert_eq!(fitting(vec2(800.0, 400.0), vec2(200.0, 200.0)), vec2(200.0, 100.0));
        assert_eq!(fitting(vec2(16.0, 16.0), vec2(200.0, 200.0)), vec2(16.0, 16.0));
    }

    #[test]
    fn only_what_is_near_is_kept() {
        let ctx = Context::default();
        let mut pictures = Pictures::new(&ctx);
        let picture = address("png", &encoded(2, 2, image::ImageFormat::Png));
        let shown = |key, owner| Shown { key, owner, name: "", address: &picture, fit: Fit::Whole(Align::Min) };
        pictures.poll(&ctx);
        pictures.state(shown(1, Id::unique("near")));
        pictures.state(shown(2, Id::unique("far")));
        pictures.poll(&ctx);
        pictures.keep_near(|owner| owner == Id::unique("near"));
        assert_eq!(pictures.entries.keys().copied().collect::<Vec<_>>(), [1]);
    }
}
