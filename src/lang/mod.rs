//! Every text that a person reads, in English and 简体中文 (Fluent files under `assets/lang/`).
//!
//! Code names keys, never sentences. This room picks and fills in; it knows no screen and no engine.

use std::borrow::Cow;
use std::collections::HashMap;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::langid;

/// A language of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Locale {
    English,
    Chinese,
}

impl Locale {
    /// From a tag such as `zh_CN.UTF-8` or `en`; anything that is not Chinese is English.
    pub fn from_tag(tag: &str) -> Self {
        if tag.to_ascii_lowercase().starts_with("zh") { Self::Chinese } else { Self::English }
    }

    /// What the system is set to.
    pub fn system() -> Self {
        sys_locale::get_locale().map_or(Self::English, |tag| Self::from_tag(&tag))
    }

    /// The tag in file names and settings.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// Every source text of the language, by file name.
    pub const fn sources(self) -> &'static [(&'static str, &'static str)] {
        macro_rules! files {
            ($tag:literal) => {
                &[
                    ("window", include_str!(concat!("../../assets/lang/", $tag, "/window.ftl"))),
                    ("transcript", include_str!(concat!("../../assets/lang/", $tag, "/transcript.ftl"))),
                    ("confirm", include_str!(concat!("../../assets/lang/", $tag, "/confirm.ftl"))),
                    ("confinement", include_str!(concat!("../../assets/lang/", $tag, "/confinement.ftl"))),
                    ("settings", include_str!(concat!("../../assets/lang/", $tag, "/settings.ftl"))),
                    ("failure", include_str!(concat!("../../assets/lang/", $tag, "/failure.ftl"))),
                    ("notice", include_str!(concat!("../../assets/lang/", $tag, "/notice.ftl"))),
                    ("provider", include_str!(concat!("../../assets/lang/", $tag, "/provider.ftl"))),
                    ("audit", include_str!(concat!("../../assets/lang/", $tag, "/audit.ftl"))),
                    ("undo", include_str!(concat!("../../assets/lang/", $tag, "/undo.ftl"))),
                    ("cli", include_str!(concat!("../../assets/lang/", $tag, "/cli.ftl"))),
                    ("link", include_str!(concat!("../../assets/lang/", $tag, "/link.ftl"))),
                    ("guide", include_str!(concat!("../../assets/lang/", $tag, "/guide.ftl"))),
                ]
            };
        }
        match self {
            Self::English => files!("en"),
            Self::Chinese => files!("zh-CN"),
        }
    }
}

/// The texts of one language, ready to use. A key that is missing shows as itself, so that nothing is ever empty.
pub struct Lang {
    locale: Locale,
    bundle: FluentBundle<FluentResource>,
    /// Texts without arguments, formatted once: what a frame asks for most.
    plain: HashMap<String, String>,
}

impl std::fmt::Debug for Lang {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lang").field("locale", &self.locale).finish_non_exhaustive()
    }
}

impl Lang {
    /// Loads a language.
    pub fn new(locale: Locale) -> Self {
        let id = match locale {
            Locale::English => langid!("en"),
            Locale::Chinese => langid!("zh-CN"),
        };
        let mut bundle = FluentBundle::new_concurrent(vec![id]);
        // Isolation marks would show up as escapes wherever deceptive text is made visible.
        bundle.set_use_isolating(false);
        let mut plain = HashMap::new();
        let mut keys = Vec::new();
        for (_, source) in locale.sources() {
            // Of a file with a mistake the good part; a test holds that there is none.
            let (Ok(resource) | Err((resource, _))) = FluentResource::try_new((*source).to_owned());
            keys.extend(keys_of(source).map(str::to_owned));
            bundle.add_resource_overriding(resource);
        }
        for key in keys {
            let mut errors = Vec::new();
            let Some(pattern) = bundle.get_message(&key).and_then(|message| message.value()) else { continue };
            let text = bundle.format_pattern(pattern, None, &mut errors).into_owned();
            if errors.is_empty() {
                plain.insert(key, text);
            }
        }
        Self { locale, bundle, plain }
    }

    /// Which language this is.
    pub fn locale(&self) -> Locale {
        self.locale
    }

    /// A text without arguments.
    pub fn text<'lang>(&'lang self, key: &'lang str) -> &'lang str {
        self.plain.get(key).map_or(key, String::as_str)
    }

    /// A text with its arguments filled in.
    pub fn format<'args>(&self, key: &str, args: &[(&'args str, Arg<'args>)]) -> String {
        let mut fluent = FluentArgs::with_capacity(args.len());
        for (name, value) in args {
            match value {
                Arg::Text(text) => fluent.set(*name, FluentValue::from(text.as_ref())),
                Arg::Number(number) => fluent.set(*name, FluentValue::from(*number)),
            }
        }
        let Some(pattern) = self.bundle.get_message(key).and_then(|message| message.value()) else {
            return key.to_owned();
        };
        let mut errors = Vec::new();
        self.bundle.format_pattern(pattern, Some(&fluent), &mut errors).into_owned()
    }
}

/// A value for a text.
#[derive(Debug, Clone)]
pub enum Arg<'text> {
    /// Shown as it is.
    Text(Cow<'text, str>),
    /// Chooses the plural form too.
    Number(i64),
}

impl<'text> From<&'text str> for Arg<'text> {
    fn from(text: &'text str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Arg<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Arg<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Arg<'_> {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// The keys that a Fluent source defines, in order.
pub fn keys_of(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (key, _) = line.split_once('=')?;
        let key = key.trim_end();
        let starts = key.starts_with(|c: char| c.is_ascii_lowercase());
        (starts && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')).then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_keys(locale: Locale) -> Vec<&'static str> {
        locale.sources().iter().flat_map(|(_, source)| keys_of(source)).collect()
    }

    #[test]
    fn both_languages_have_the_same_keys_in_the_same_order_and_no_key_twice() {
        let english = all_keys(Locale::English);
        assert_eq!(english, all_keys(Locale::Chinese));
        let unique: std::collections::BTreeSet<_> = english.iter().collect();
        assert_eq!(unique.len(), english.len(), "a key is defined twice");
    }

    #[test]
    fn every_source_parses() {
        for locale in [Locale::English, Locale::Chinese] {
            for (name, source) in locale.sources() {
                if let Err((_, errors)) = FluentResource::try_new((*source).to_owned()) {
                    panic!("{}/{name}.ftl: {errors:?}", locale.tag());
                }
            }
        }
    }

    #[test]
    fn every_text_uses_the_same_arguments_in_both_languages() {
        fn arguments(locale: Locale) -> Vec<(&'static str, std::collections::BTreeSet<String>)> {
            let mut found: Vec<(&str, std::collections::BTreeSet<String>)> = Vec::new();
            for (_, source) in locale.sources() {
                for line in source.lines() {
                    if let Some(key) = keys_of(line).next() {
                        found.push((key, std::collections::BTreeSet::new()));
                    }
                    for piece in line.split('$').skip(1) {
                        let name: String = piece.chars().take_while(char::is_ascii_alphanumeric).collect();
                        if let Some((_, names)) = found.last_mut() {
                            names.insert(name);
                        }
                    }
                }
            }
            found
        }
        assert_eq!(arguments(Locale::English), arguments(Locale::Chinese));
    }

    #[test]
    fn a_system_tag_picks_the_language() {
        assert_eq!(Locale::from_tag("zh_CN.UTF-8"), Locale::Chinese);
        assert_eq!(Locale::from_tag("zh-Hans"), Locale::Chinese);
        assert_eq!(Locale::from_tag("de-DE"), Locale::English);
    }
}
