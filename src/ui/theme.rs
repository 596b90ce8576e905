//! Every colour, size, gap and radius of the window, for light and dark, and egui's style made from them.
//!
//! Nothing else in `ui` names a colour by its numbers. Lengths are points.

use std::sync::Arc;

use egui::style::{ScrollStyle, Selection, TextCursorStyle, WidgetVisuals, Widgets};
use egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Id, Margin, RichText, Shadow, Stroke, Style, TextFormat,
    TextStyle, Vec2, Visuals, vec2,
};

use super::font;

/// Gaps: a 4-point grid.
pub mod space {
    pub const XS: f32 = 4.0;
    pub const S: f32 = 8.0;
    pub const M: f32 = 12.0;
    pub const L: f32 = 16.0;
    pub const XL: f32 = 20.0;
    pub const XXL: f32 = 24.0;
    pub const XXXL: f32 = 32.0;
}

/// Fixed sizes.
pub mod size {
    pub const CONTROL: f32 = 32.0;
    pub const ROW: f32 = 32.0;
    pub const CHIP: f32 = 26.0;
    pub const CARD_HEADER: f32 = 36.0;
    pub const TOP_BAR: f32 = 48.0;
    pub const SIDEBAR: f32 = 248.0;
    /// Widest column of the transcript.
    pub const COLUMN: f32 = 780.0;
    /// Widest bubble, as a part of the column.
    pub const BUBBLE: f32 = 0.84;
    pub const ICON: f32 = 16.0;
    pub const SMALL_ICON: f32 = 14.0;
    pub const FOCUS_RING: f32 = 2.0;
    pub const FOCUS_GAP: f32 = 2.0;
    pub const LINE: f32 = 1.0;
}

/// Corner radii.
pub mod radius {
    pub const INLINE: u8 = 4;
    pub const CONTROL: u8 = 8;
    pub const CARD: u8 = 10;
    pub const MODAL: u8 = 14;
}

/// Light or dark, decided (the setting may follow the system).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Light,
    Dark,
}

/// The colours, by what they are used for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colors {
    /// The page.
    pub background: Color32,
    /// The sidebar and the settings' navigation.
    pub sidebar: Color32,
    /// Cards and inputs.
    pub raised: Color32,
    /// Under the pointer; what is selected.
    pub hover: Color32,
    /// Under a pressed control.
    pub pressed: Color32,
    /// Borders and separators, 1 point.
    pub line: Color32,
    /// Body text.
    pub text: Color32,
    /// Secondary text.
    pub dim: Color32,
    /// Hints only: too faint for anything that must be read.
    pub faint: Color32,
    /// The yes, links, switches.
    pub accent: Color32,
    pub accent_hover: Color32,
    pub accent_pressed: Color32,
    /// The person's messages.
    pub accent_soft: Color32,
    /// Text on `accent`.
    pub on_accent: Color32,
    /// Waiting, medium risk.
    pub warn: Color32,
    pub warn_soft: Color32,
    /// Failed, high risk.
    pub bad: Color32,
    pub bad_soft: Color32,
    /// Text on a filled `bad`.
    pub on_bad: Color32,
    /// Succeeded.
    pub good: Color32,
    pub good_soft: Color32,
    /// Running; the focus ring.
    pub info: Color32,
    pub info_soft: Color32,
    /// Unknown after a crash.
    pub unknown: Color32,
    pub unknown_soft: Color32,
    /// Added lines of a diff.
    pub added: Color32,
    /// Removed lines of a diff.
    pub removed: Color32,
    /// Code surfaces.
    pub code: Color32,
    /// Behind inline code.
    pub inline_code: Color32,
    /// Behind selected text.
    pub selection: Color32,
    /// Over everything that a modal puts out of reach.
    pub scrim: Color32,
    /// Under modals and menus.
    pub shadow: Color32,
    /// Code by meaning.
    pub syntax: Syntax,
    /// The sixteen colours that a terminal program may ask for.
    pub ansi: [Color32; 16],
}

/// Colours of code by meaning; plain code has the text colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Syntax {
    pub keyword: Color32,
    pub function: Color32,
    pub string: Color32,
    pub number: Color32,
    pub kind: Color32,
    pub comment: Color32,
}

/// How much of the text's colour a scroll bar has while its area is pointed at, and while it is itself.
const HANDLE_OPACITY: f32 = 0.28;
const HANDLE_OPACITY_UNDER_POINTER: f32 = 0.42;

/// What a text is for; gives its face, size and line height.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// The welcome line, 22/30 semibold.
    Welcome,
    /// A page's title, 20/28 semibold.
    PageTitle,
    /// A modal's title, 16/22 semibold.
    ModalTitle,
    /// Messages, at the person's size.
    Body,
    /// Emphasis in messages.
    BodyMedium,
    /// Names and strong text in messages.
    BodyStrong,
    /// Controls and lists, 13/20.
    Control,
    ControlMedium,
    ControlStrong,
    /// Secondary facts, 12/16.
    Meta,
    MetaMedium,
    MetaStrong,
    /// Code, at the person's size.
    Mono,
    /// Keys and short code beside controls, 11/16.
    SmallMono,
}

/// The look of the window: colours and the person's sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub mode: Mode,
    pub colors: Colors,
    /// Messages, in points.
    pub message_size: f32,
    /// Code, in points.
    pub code_size: f32,
    /// Whether things may move.
    pub animations: bool,
}

const fn rgb(hex: u32) -> Color32 {
    let [_, red, green, blue] = hex.to_be_bytes();
    Color32::from_rgb(red, green, blue)
}

const DARK: Colors = Colors {
    background: rgb(0x17_191d),
    sidebar: rgb(0x1d_2025),
    raised: rgb(0x22_262c),
    hover: rgb(0x2a_2f36),
    pressed: rgb(0x31_363e),
    line: rgb(0x30_353d),
    text: rgb(0xe7_e9ec),
    dim: rgb(0x9a_a2ac),
    faint: rgb(0x6d_7580),
    accent: rgb(0x4f_c3a1),
    accent_hover: rgb(0x63_d0b0),
    accent_pressed: rgb(0x42_b191),
    accent_soft: rgb(0x1f_3a34),
    on_accent: rgb(0x0d_1f1a),
    warn: rgb(0xe6_a23c),
    warn_soft: rgb(0x3a_2e1b),
    bad: rgb(0xef_7f7f),
    bad_soft: rgb(0x40_242a),
    on_bad: rgb(0x24_0f10),
    good: rgb(0x5c_c98a),
    good_soft: rgb(0x17_382a),
    info: rgb(0x6a_a9e9),
    info_soft: rgb(0x1c_2f44),
    unknown: rgb(0xb5_8be0),
    unknown_soft: rgb(0x30_2540),
    added: rgb(0x17_382a),
    removed: rgb(0x40_242a),
    code: rgb(0x1b_1e23),
    inline_code: rgb(0x2a_2f36),
    selection: rgb(0x2c_4f74),
    scrim: Color32::from_black_alpha(140),
    shadow: Color32::from_black_alpha(120),
    syntax: Syntax {
        keyword: rgb(0xc7_92ea),
        function: rgb(0x82_aaff),
        string: rgb(0xa5_d6a7),
        number: rgb(0x82_aaff),
        kind: rgb(0x7f_d1e0),
        comment: rgb(0x9a_a2ac),
    },
    ansi: [
        rgb(0x9a_a2ac),
        rgb(0xef_7f7f),
        rgb(0x5c_c98a),
        rgb(0xe6_a23c),
        rgb(0x6a_a9e9),
        rgb(0xb5_8be0),
        rgb(0x5f_c9d2),
        rgb(0xd3_d7dc),
        rgb(0xa9_b1bb),
        rgb(0xf5_9a9a),
        rgb(0x80_dba5),
        rgb(0xf2_bd6a),
        rgb(0x92_c2f2),
        rgb(0xca_abed),
        rgb(0x8b_dde3),
        rgb(0xff_ffff),
    ],
};

const LIGHT: Colors = Colors {
    background: rgb(0xff_ffff),
    sidebar: rgb(0xf5_f6f7),
    raised: rgb(0xf5_f6f7),
    hover: rgb(0xec_eef0),
    pressed: rgb(0xe2_e5e8),
    line: rgb(0xe0_e3e7),
    text: rgb(0x1b_2026),
    dim: rgb(0x58_616b),
    faint: rgb(0x87_909a),
    accent: rgb(0x0d_7a62),
    accent_hover: rgb(0x0b_6d57),
    accent_pressed: rgb(0x0a_5f4c),
    accent_soft: rgb(0xdf_f2ec),
    on_accent: rgb(0xff_ffff),
    warn: rgb(0x98_5a08),
    warn_soft: rgb(0xfd_f1dd),
    bad: rgb(0xbe_3838),
    bad_soft: rgb(0xfb_e6e6),
    on_bad: rgb(0xff_ffff),
    good: rgb(0x1a_7841),
    good_soft: rgb(0xe3_f5ea),
    info: rgb(0x23_68b0),
    info_soft: rgb(0xe3_eefa),
    unknown: rgb(0x7a_4fb0),
    unknown_soft: rgb(0xf0_e8f9),
    added: rgb(0xe3_f5ea),
    removed: rgb(0xfb_e6e6),
    code: rgb(0xf7_f8f9),
    inline_code: rgb(0xec_eef0),
    selection: rgb(0xc5_dcf5),
    scrim: Color32::from_black_alpha(90),
    shadow: Color32::from_black_alpha(40),
    syntax: Syntax {
        keyword: rgb(0x8a_3fd1),
        function: rgb(0x1a_56c4),
        string: rgb(0x17_6f36),
        number: rgb(0x1a_56c4),
        kind: rgb(0x0b_6470),
        comment: rgb(0x58_616b),
    },
    ansi: [
        rgb(0x1b_2026),
        rgb(0xb9_3535),
        rgb(0x17_713c),
        rgb(0x8a_5206),
        rgb(0x23_68b0),
        rgb(0x7a_4fb0),
        rgb(0x0b_6470),
        rgb(0x58_616b),
        rgb(0x58_616b),
        rgb(0xa3_2c2c),
        rgb(0x13_6334),
        rgb(0x77_4605),
        rgb(0x1b_599a),
        rgb(0x6a_409c),
        rgb(0x0a_5661),
        rgb(0x3a_424b),
    ],
};

impl Colors {
    /// The colours of a mode.
    pub const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Light => LIGHT,
            Mode::Dark => DARK,
        }
    }
}

impl Type {
    /// Face, size and line height, with the person's sizes.
    fn measures(self, theme: &Theme) -> (FontFamily, f32, f32) {
        let body = theme.message_size;
        let body_line = (body * 20.0 / 14.0).round();
        let code = theme.code_size;
        match self {
            Self::Welcome => (font::semibold(), 22.0, 30.0),
            Self::PageTitle => (font::semibold(), 20.0, 28.0),
            Self::ModalTitle => (font::semibold(), 16.0, 22.0),
            Self::Body => (FontFamily::Proportional, body, body_line),
            Self::BodyMedium => (font::medium(), body, body_line),
            Self::BodyStrong => (font::semibold(), body, body_line),
            Self::Control => (FontFamily::Proportional, 13.0, 20.0),
            Self::ControlMedium => (font::medium(), 13.0, 20.0),
            Self::ControlStrong => (font::semibold(), 13.0, 20.0),
            Self::Meta => (FontFamily::Proportional, 12.0, 16.0),
            Self::MetaMedium => (font::medium(), 12.0, 16.0),
            Self::MetaStrong => (font::semibold(), 12.0, 16.0),
            Self::Mono => (FontFamily::Monospace, code, (code * 19.0 / 12.5).round()),
            Self::SmallMono => (FontFamily::Monospace, 11.0, 16.0),
        }
    }
}

impl Theme {
    /// A theme with the usual sizes.
    pub const fn new(mode: Mode) -> Self {
        Self { mode, colors: Colors::of(mode), message_size: 14.0, code_size: 12.5, animations: true }
    }

    /// The theme that was installed last, for whatever draws.
    pub fn of(ctx: &Context) -> Arc<Self> {
        ctx.data(|data| data.get_temp::<Arc<Self>>(Id::unique("nod theme"))).unwrap_or_else(|| {
            Arc::new(Self::new(if ctx.theme() == egui::Theme::Dark { Mode::Dark } else { Mode::Light }))
        })
    }

    /// Makes the window look like this, from this frame on; cheap when nothing changed.
    pub fn install(&self, ctx: &Context) {
        let id = Id::unique("nod theme");
        let is_same = ctx.data(|data| data.get_temp::<Arc<Self>>(id)).is_some_and(|old| *old == *self);
        if is_same {
            return;
        }
        ctx.data_mut(|data| data.insert_temp(id, Arc::new(self.clone())));
        ctx.set_theme(match self.mode {
            Mode::Light => egui::Theme::Light,
            Mode::Dark => egui::Theme::Dark,
        });
        ctx.set_global_style(self.style());
    }

    /// The font of a text.
    pub fn font(&self, kind: Type) -> FontId {
        let (family, size, _) = kind.measures(self);
        FontId::new(size, family)
    }

    /// The line height of a text.
    pub fn line_height(&self, kind: Type) -> f32 {
        kind.measures(self).2
    }

    /// How a stretch of text is laid out.
    pub fn format(&self, kind: Type, color: Color32) -> TextFormat {
        let (family, size, line) = kind.measures(self);
        TextFormat { font_id: FontId::new(size, family), line_height: Some(line), color, ..TextFormat::default() }
    }

    /// A text for egui's own labels.
    pub fn rich(&self, text: impl Into<String>, kind: Type, color: Color32) -> RichText {
        RichText::new(text).font(self.font(kind)).line_height(Some(self.line_height(kind))).color(color)
    }

    /// A 1-point line.
    pub fn line(&self) -> Stroke {
        Stroke::new(size::LINE, self.colors.line)
    }

    /// The shadow under modals and menus.
    pub fn shadow(&self) -> Shadow {
        Shadow { offset: [0, 8], blur: 28, spread: 0, color: self.colors.shadow }
    }

    /// egui's style, made of the tokens.
    pub fn style(&self) -> Style {
        let text_styles = [
            (TextStyle::Small, Type::Meta),
            (TextStyle::Body, Type::Control),
            (TextStyle::Button, Type::Control),
            (TextStyle::Heading, Type::PageTitle),
            (TextStyle::Monospace, Type::Mono),
        ]
        .map(|(style, kind)| (style, self.font(kind)));
        let mut style = Style {
            text_styles: text_styles.into_iter().collect(),
            visuals: self.visuals(),
            animation_time: if self.animations { 0.1 } else { 0.0 },
            ..Style::default()
        };
        let spacing = &mut style.spacing;
        spacing.item_spacing = vec2(space::S, space::S);
        spacing.window_margin = Margin::same(20);
        spacing.menu_margin = Margin::same(4);
        spacing.button_padding = vec2(space::M, 6.0);
        spacing.interact_size = vec2(size::CONTROL, size::CONTROL);
        spacing.indent = space::XL;
        spacing.icon_width = size::ICON;
        spacing.combo_width = 120.0;
        spacing.tooltip_width = 480.0;
        spacing.scroll = ScrollStyle { bar_width: 8.0, floating_width: 4.0, ..ScrollStyle::floating() };
        spacing.scroll.fade.strength = 0.0;
        // The handle is of the text's colour: at full strength it would be the brightest thing in the window.
        spacing.scroll.active_handle_opacity = HANDLE_OPACITY;
        spacing.scroll.interact_handle_opacity = HANDLE_OPACITY_UNDER_POINTER;
        spacing.scroll.active_background_opacity = 0.0;
        spacing.scroll.interact_background_opacity = 0.0;
        style.interaction.tooltip_delay = 0.4;
        style.interaction.selectable_labels = false;
        style
    }

    fn visuals(&self) -> Visuals {
        let colors = &self.colors;
        let base = match self.mode {
            Mode::Light => Visuals::light(),
            Mode::Dark => Visuals::dark(),
        };
        let control = CornerRadius::same(radius::CONTROL);
        let widget = |fill: Color32, border: Color32, text: Color32| WidgetVisuals {
            bg_fill: fill,
            weak_bg_fill: fill,
            bg_stroke: Stroke::new(size::LINE, border),
            corner_radius: control,
            fg_stroke: Stroke::new(1.0, text),
            expansion: 0.0,
        };
        Visuals {
            override_text_color: None,
            weak_text_color: Some(colors.dim),
            widgets: Widgets {
                noninteractive: widget(colors.background, colors.line, colors.text),
                inactive: widget(colors.raised, colors.line, colors.text),
                hovered: widget(colors.hover, colors.line, colors.text),
                active: widget(colors.pressed, colors.line, colors.text),
                open: widget(colors.hover, colors.line, colors.text),
            },
            selection: Selection { bg_fill: colors.selection, stroke: Stroke::new(1.0, colors.text) },
            hyperlink_color: colors.accent,
            faint_bg_color: colors.raised,
            extreme_bg_color: colors.raised,
            text_edit_bg_color: Some(colors.raised),
            code_bg_color: colors.inline_code,
            warn_fg_color: colors.warn,
            error_fg_color: colors.bad,
            window_corner_radius: CornerRadius::same(radius::MODAL),
            window_shadow: self.shadow(),
            window_fill: colors.background,
            window_stroke: self.line(),
            menu_corner_radius: CornerRadius::same(radius::CARD),
            panel_fill: colors.background,
            popup_shadow: self.shadow(),
            text_cursor: TextCursorStyle {
                stroke: Stroke::new(1.5, colors.accent),
                blink: self.animations,
                ..TextCursorStyle::default()
            },
            interact_cursor: Some(egui::CursorIcon::PointingHand),
            image_loading_spinners: false,
            disabled_alpha: 0.5,
            ..base
        }
    }
}

/// How far a focus ring stands out around a control.
pub const fn focus_margin() -> Vec2 {
    Vec2::splat(size::FOCUS_GAP + size::FOCUS_RING)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(color: Color32) -> f64 {
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(color.r()) + 0.7152 * part(color.g()) + 0.0722 * part(color.b())
    }

    fn contrast(one: Color32, other: Color32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn the_contrast_formula_is_right_at_its_ends() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
        assert!((contrast(Color32::WHITE, Color32::WHITE) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_text_colour_can_be_read_on_every_surface_it_is_used_on() {
        let mut too_weak = Vec::new();
        for mode in [Mode::Light, Mode::Dark] {
            let c = Colors::of(mode);
            let surfaces = [c.background, c.sidebar, c.raised, c.hover, c.code];
            let words = [c.text, c.dim, c.accent, c.warn, c.bad, c.good, c.info, c.unknown]
                .map(|color| (color, surfaces.to_vec()));
            let syntax = [
                c.text,
                c.syntax.keyword,
                c.syntax.function,
                c.syntax.string,
                c.syntax.number,
                c.syntax.kind,
                c.syntax.comment,
            ]
            .map(|color| (color, vec![c.code, c.added, c.removed, c.inline_code]));
            let pairs = [
                (c.text, vec![c.accent_soft, c.selection, c.pressed]),
                (c.dim, vec![c.accent_soft]),
                (c.accent, vec![c.accent_soft]),
                (c.warn, vec![c.warn_soft]),
                (c.bad, vec![c.bad_soft]),
                (c.good, vec![c.good_soft]),
                (c.info, vec![c.info_soft]),
                (c.unknown, vec![c.unknown_soft]),
                (c.on_accent, vec![c.accent, c.accent_hover, c.accent_pressed]),
                (c.on_bad, vec![c.bad]),
            ];
            let ansi = c.ansi.map(|color| (color, vec![c.code]));
            for (color, surfaces) in words.into_iter().chain(syntax).chain(pairs).chain(ansi) {
                for surface in surfaces {
                    if contrast(color, surface) < 4.5 {
                        too_weak.push((mode, color, surface, contrast(color, surface)));
                    }
                }
            }
        }
        assert_eq!(too_weak, []);
    }

    #[test]
    fn a_scroll_bar_can_be_seen_under_the_pointer_and_does_not_glare() {
        for mode in [Mode::Light, Mode::Dark] {
            let theme = Theme::new(mode);
            let scroll = theme.style().spacing.scroll;
            assert!(scroll.foreground_color, "the handle has the colour of the text");
            for surface in [theme.colors.background, theme.colors.code, theme.colors.sidebar] {
                let handle = surface.lerp_to_gamma(theme.colors.text, scroll.interact_handle_opacity);
                let ratio = contrast(handle, surface);
                assert!((1.8..4.5).contains(&ratio), "{mode:?}: {ratio}");
            }
        }
    }

    #[test]
    fn the_focus_ring_stands_out_from_every_surface() {
        for mode in [Mode::Light, Mode::Dark] {
            let c = Colors::of(mode);
            for surface in [c.background, c.sidebar, c.raised] {
                assert!(contrast(c.info, surface) >= 3.0, "{mode:?} {surface:?}");
            }
        }
    }
}
