//! The icons: glyphs of a bundled subset of Lucide, so that they look the same everywhere.
//!
//! An icon never stands alone for a meaning: it has a text beside it or an accessible name.

use egui::{Align2, Color32, FontFamily, FontId, Painter, Pos2, Rect};

/// The family of the icon font alone.
pub const FAMILY: &str = "icons";

macro_rules! icons {
    ($($name:ident = $glyph:literal,)*) => {
        /// An icon, named as in Lucide (without a trailing number).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Icon { $($name,)* }

        impl Icon {
            /// Every icon, in the order of this file.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its place in the icon font.
            pub const fn glyph(self) -> char {
                match self { $(Self::$name => $glyph,)* }
            }
        }
    };
}

icons! {
    Plus = '\u{e13d}',
    Minus = '\u{e11c}',
    Check = '\u{e06c}',
    X = '\u{e1b2}',
    Search = '\u{e151}',
    Settings = '\u{e154}',
    Folder = '\u{e0d7}',
    FolderOpen = '\u{e247}',
    FolderPlus = '\u{e0d9}',
    FolderSearch = '\u{e339}',
    File = '\u{e0c0}',
    FileText = '\u{e0cc}',
    FilePlus = '\u{e0c9}',
    FilePen = '\u{e31f}',
    Pencil = '\u{e1f9}',
    Trash = '\u{e18e}',
    Terminal = '\u{e181}',
    ChevronDown = '\u{e06d}',
    ChevronRight = '\u{e06f}',
    ChevronUp = '\u{e070}',
    ChevronLeft = '\u{e06e}',
    ArrowUp = '\u{e04a}',
    ArrowDown = '\u{e042}',
    ArrowLeft = '\u{e048}',
    ArrowRight = '\u{e049}',
    Brain = '\u{e3c6}',
    Paperclip = '\u{e12d}',
    Shield = '\u{e158}',
    ShieldAlert = '\u{e1fe}',
    Square = '\u{e167}',
    Ban = '\u{e051}',
    Circle = '\u{e076}',
    CircleCheck = '\u{e226}',
    CircleX = '\u{e084}',
    CircleHelp = '\u{e082}',
    CircleAlert = '\u{e077}',
    Hourglass = '\u{e296}',
    LoaderCircle = '\u{e10a}',
    RefreshCw = '\u{e145}',
    RotateCcw = '\u{e148}',
    Copy = '\u{e09e}',
    Clipboard = '\u{e085}',
    Link = '\u{e102}',
    Undo = '\u{e2a1}',
    Redo = '\u{e2a0}',
    Pin = '\u{e259}',
    PinOff = '\u{e2b6}',
    GitFork = '\u{e28d}',
    GitBranch = '\u{e0e2}',
    Download = '\u{e0b2}',
    Upload = '\u{e19e}',
    Ellipsis = '\u{e0b6}',
    Image = '\u{e0f6}',
    List = '\u{e106}',
    ListTree = '\u{e408}',
    ExternalLink = '\u{e0b9}',
    Info = '\u{e0f9}',
    TriangleAlert = '\u{e193}',
    WrapText = '\u{e248}',
    PanelLeft = '\u{e12a}',
    Key = '\u{e0fd}',
    Cpu = '\u{e0a9}',
    Globe = '\u{e0e8}',
    Lock = '\u{e10b}',
    LockOpen = '\u{e10c}',
    MessageSquare = '\u{e117}',
    Keyboard = '\u{e284}',
    Languages = '\u{e0fe}',
    Moon = '\u{e11e}',
    Sun = '\u{e178}',
    Monitor = '\u{e11d}',
    Star = '\u{e176}',
    Eye = '\u{e0ba}',
    EyeOff = '\u{e0bb}',
    Send = '\u{e152}',
    Wrench = '\u{e1b1}',
    Server = '\u{e153}',
    Database = '\u{e0ad}',
    Clock = '\u{e087}',
    History = '\u{e1f5}',
    User = '\u{e19f}',
    Bot = '\u{e1bb}',
    Play = '\u{e13c}',
    Pause = '\u{e12e}',
    Command = '\u{e09a}',
    CornerDownLeft = '\u{e0a1}',
    Quote = '\u{e239}',
    Table = '\u{e17d}',
    Code = '\u{e093}',
    Layers = '\u{e529}',
    BookOpen = '\u{e05f}',
    Lightbulb = '\u{e1c2}',
    Gauge = '\u{e1bf}',
    HardDrive = '\u{e0ed}',
    SlidersHorizontal = '\u{e29a}',
    LogOut = '\u{e10e}',
    Maximize = '\u{e113}',
    TextSearch = '\u{e5ad}',
    Calculator = '\u{e1bc}',
    Plug = '\u{e37f}',
    Bell = '\u{e059}',
    Archive = '\u{e041}',
    Palette = '\u{e1dd}',
}

impl Icon {
    /// Draws it in the middle of a rectangle, `size` points high.
    pub fn paint(self, painter: &Painter, rect: Rect, size: f32, color: Color32) {
        self.paint_at(painter, rect.center(), size, color);
    }

    /// Draws it around a point, `size` points high.
    pub fn paint_at(self, painter: &Painter, center: Pos2, size: f32, color: Color32) {
        let mut buffer = [0; 4];
        let glyph: &str = self.glyph().encode_utf8(&mut buffer);
        let galley = painter.layout_no_wrap(glyph.to_owned(), font(size), color);
        let place = Align2::CENTER_CENTER.anchor_size(center, galley.size());
        painter.galley(place.min, galley, color);
    }
}

/// The icon font at a size in points.
pub fn font(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(FAMILY.into()))
}
