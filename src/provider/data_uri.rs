//! Images inside an address (`data:image/png;base64,…`): their kind and their bytes.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The base64 text of a data URI; `None` when it is none.
pub(super) fn base64_of(url: &str) -> Option<Cow<'_, str>> {
    let (kind, data) = parts(url)?;
    if kind.to_ascii_lowercase().ends_with(";base64") {
        let is_clean = !data.contains(|c: char| c.is_ascii_whitespace());
        return Some(if is_clean { data.into() } else { data.split_ascii_whitespace().collect::<String>().into() });
    }
    Some(STANDARD.encode(percent_decoded(data)).into())
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let escaped = match (first, tail) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| (high * 16 + low, after)),
            _ => None,
        };
        match escaped {
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
            }
            None => bytes.push(*first),
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The media type of a data URI in lower case, for example `image/png`; empty when it names none.
pub(super) fn media_type_of(url: &str) -> Option<String> {
    let (kind, _) = parts(url)?;
    Some(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).and_then(|_| url.get(5..))?;
    rest.split_once(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_uri_gives_its_raw_base64() {
        for (url, expected) in [
            ("data:image/png;base64,AAEC", Some("AAEC")),
            ("DATA:image/png;charset=x;BASE64,AA\n EC", Some("AAEC")),
            ("data:image/svg+xml,%3Csvg/%3E%zz", Some("PHN2Zy8+JXp6")),
            ("data:nothing", None),
            ("https://example.com/a.png", None),
            ("d", None),
            ("图片", None),
        ] {
            assert_eq!(base64_of(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_data_uri_names_its_media_type() {
        assert_eq!(media_type_of("data:Image/PNG;base64,AA").as_deref(), Some("image/png"));
        assert_eq!(media_type_of("data:,AA").as_deref(), Some(""));
        assert_eq!(media_type_of("https://example.com/a.png"), None);
    }
}
