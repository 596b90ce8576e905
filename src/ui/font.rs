//! The bundled fonts and their families. Recipe and licences: `assets/fonts/README.md`.
//!
//! Every family falls back to Chinese and then to the icons; what is still missing comes from the system's fonts, which
//! eframe adds while the window runs.

use std::sync::Arc;

use egui::{Context, FontData, FontDefinitions, FontFamily, FontTweak};

use super::icon;

const MEDIUM: &str = "medium";
const SEMIBOLD: &str = "semibold";

/// The family for emphasis.
pub fn medium() -> FontFamily {
    FontFamily::Name(MEDIUM.into())
}

/// The family for names and titles.
pub fn semibold() -> FontFamily {
    FontFamily::Name(SEMIBOLD.into())
}

macro_rules! font {
    ($path:literal) => {
        FontData::from_static(include_bytes!(concat!("../../assets/", $path)))
    };
}

/// Makes the bundled fonts the window's fonts.
pub fn install(ctx: &Context) {
    ctx.set_fonts(definitions());
}

/// The bundled fonts by family.
pub fn definitions() -> FontDefinitions {
    // Han glyphs hang lower than the Latin beside them.
    let han = |data: FontData| {
        data.tweak(FontTweak { scale: HAN_SCALE, y_offset_factor: HAN_OFFSET, ..FontTweak::default() })
    };
    let mono_tweak = FontTweak { tab_size: 4.0, ..FontTweak::default() };
    let fonts = [
        ("inter", font!("fonts/Inter-Regular.ttf")),
        ("inter-medium", font!("fonts/Inter-Medium.ttf")),
        ("inter-semibold", font!("fonts/Inter-SemiBold.ttf")),
        ("han", han(font!("fonts/NotoSansSC-Regular.ttf"))),
        ("han-semibold", han(font!("fonts/NotoSansSC-SemiBold.ttf"))),
        ("mono", font!("fonts/JetBrainsMono-Regular.ttf").tweak(mono_tweak)),
        ("icons", font!("icons/lucide.ttf")),
    ];
    let families = [
        (FontFamily::Proportional, ["inter", "han", "mono", "icons"].as_slice()),
        (medium(), &["inter-medium", "han", "inter", "mono", "icons"]),
        (semibold(), &["inter-semibold", "han-semibold", "han", "inter", "mono", "icons"]),
        (FontFamily::Monospace, &["mono", "han", "inter", "icons"]),
        (FontFamily::Name(icon::FAMILY.into()), &["icons"]),
    ];
    FontDefinitions {
        font_data: fonts.into_iter().map(|(name, data)| (name.to_owned(), Arc::new(data))).collect(),
        families: families
            .into_iter()
            .map(|(family, names)| (family, names.iter().map(|&name| name.to_owned()).collect()))
            .collect(),
    }
}

/// Size of Han glyphs against Latin ones.
const HAN_SCALE: f32 = 1.0;
/// How far Han glyphs are moved, as a part of their size; up is negative.
const HAN_OFFSET: f32 = -0.07;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Locale;
    use crate::ui::icon::Icon;
    use egui::FontId;

    /// A context with the bundled fonts alone.
    fn context() -> Context {
        let ctx = Context::default();
        install(&ctx);
        let mut output = ctx.run_ui(egui::RawInput::default(), |_| {});
        output.textures_delta.clear();
        ctx
    }

    fn missing(ctx: &Context, family: &FontFamily, text: impl Iterator<Item = char>) -> String {
        let font = FontId::new(14.0, family.clone());
        ctx.fonts_mut(|fonts| text.filter(|&c| !c.is_control() && !fonts.has_glyph(&font, c)).collect())
    }

    fn families() -> [FontFamily; 4] {
        [FontFamily::Proportional, medium(), semibold(), FontFamily::Monospace]
    }

    #[test]
    fn every_text_of_the_product_can_be_drawn_with_the_bundled_fonts() {
        let ctx = context();
        for locale in [Locale::English, Locale::Chinese] {
            for (name, source) in locale.sources() {
                for family in families() {
                    assert_eq!(missing(&ctx, &family, source.chars()), "", "{name} {family:?}");
                }
            }
        }
    }

    #[test]
    fn everyday_chinese_latin_greek_cyrillic_and_arrows_are_there_in_every_family() {
        let ctx = context();
        let text = "点头桌面助手：「读取文件」（确认后）才会修改……ÀéßŁΩжЁ→←↓⏎─│┌█€×…—“”’•✓";
        for family in families() {
            assert_eq!(missing(&ctx, &family, text.chars()), "", "{family:?}");
        }
    }

    #[test]
    fn a_character_beyond_the_subsets_is_reported_missing() {
        let ctx = context();
        assert_eq!(missing(&ctx, &FontFamily::Proportional, "a𠀀".chars()), "𠀀");
    }

    #[test]
    fn every_icon_is_in_the_icon_font() {
        let ctx = context();
        let family = FontFamily::Name(icon::FAMILY.into());
        assert_eq!(missing(&ctx, &family, Icon::ALL.iter().map(|icon| icon.glyph())), "");
    }
}
