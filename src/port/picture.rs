//! A picture as it is sent: the right way up, no larger than any known provider takes, and with nothing in it but its pixels.
//! Where, when and with what a photo was taken never leaves this computer.
//!
//! Works on bytes alone: it opens no file. A large photo takes a moment, so it never runs in a frame.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Cursor;

use base64::Engine as _;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageEncoder, ImageReader, Limits, Rgba, RgbaImage};
use infer::MatcherType;

use super::ImageAttachment;
use crate::ir::Image;

/// Largest file that is read, in bytes.
pub const LARGEST_FILE: u64 = 20 * 1_048_576;
/// Longest side that is sent, in pixels: what Anthropic takes in a conversation with many images, and more than others look
/// at.
const LONGEST_SIDE: u32 = 2_000;
/// Most bytes that are sent: 5 MB as base64, the least limit of the known providers.
pub const MOST_BYTES: usize = 3_750_000;
/// Qualities in which a photo is written, until it is small enough.
const QUALITIES: [u8; 3] = [90, 75, 50];
/// Widest or highest picture that is decoded, in pixels.
const DECODED_SIDE: u32 = 16_384;
/// Most pixels that are decoded.
const DECODED_PIXELS: u64 = 50_000_000;
/// Most memory that decoding may take, in bytes.
const DECODING_BYTES: u64 = 512 * 1024 * 1024;

/// Why a file cannot be sent as a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureProblem {
    /// Something else.
    #[error("not an image")]
    NotAPicture,
    /// A kind that models do not take, such as HEIC or TIFF.
    #[error("an image of a kind that models do not take")]
    OtherKind,
    /// More bytes or pixels than can be sent.
    #[error("an image that is too large")]
    TooLarge,
    /// Damaged.
    #[error("an image that cannot be read")]
    Unreadable,
}

impl PictureProblem {
    /// The key of its sentence, with `name`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::NotAPicture => "notice-attach-binary",
            Self::OtherKind => "notice-attach-kind",
            Self::TooLarge => "notice-attach-large",
            Self::Unreadable => "notice-attach-damaged",
        }
    }
}

/// A picture from a file's bytes.
///
/// # Errors
/// When it is none, or one that cannot be sent.
pub fn prepare(name: String, bytes: &[u8]) -> Result<ImageAttachment, PictureProblem> {
    let kind = infer::get(bytes).filter(|kind| kind.matcher_type() == MatcherType::Image);
    let (mime, bytes) = match kind.ok_or(PictureProblem::NotAPicture)?.mime_type() {
        "image/png" => redrawn(bytes, Writing::Exact)?,
        "image/jpeg" => redrawn(bytes, Writing::Photo)?,
        "image/webp" => ("image/webp", webp_without_metadata(bytes).ok_or(PictureProblem::Unreadable)?),
        // It has no room for where and when.
        "image/gif" => ("image/gif", bytes.to_vec()),
        _ => return Err(PictureProblem::OtherKind),
    };
    attachment(name, mime, &bytes)
}

/// A picture from pixels, as a clipboard has it: four bytes each, red, green, blue, opacity.
///
/// # Errors
/// When there are too few of them, or too many to be sent.
pub fn prepare_pixels(name: String, size: [u32; 2], rgba: Vec<u8>) -> Result<ImageAttachment, PictureProblem> {
    let [width, height] = size;
    let pixels = RgbaImage::from_raw(width, height, rgba).ok_or(PictureProblem::Unreadable)?;
    let is_opaque = pixels.pixels().all(|Rgba([.., opacity])| *opacity == u8::MAX);
    let picture = DynamicImage::ImageRgba8(pixels);
    let picture = if is_opaque { DynamicImage::ImageRgb8(picture.into_rgb8()) } else { picture };
    let (mime, bytes) = written(&fitted(picture), Writing::Exact, None)?;
    attachment(name, mime, &bytes)
}

fn attachment(name: String, mime: &str, bytes: &[u8]) -> Result<ImageAttachment, PictureProblem> {
    if bytes.len() > MOST_BYTES {
        return Err(PictureProblem::TooLarge);
    }
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let url = format!("data:{mime};base64,{data}");
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let size = bytes.len() as u64;
    Ok(ImageAttachment { name, bytes: size, digest: hasher.finish(), image: Image { url, detail: None } })
}

/// A decoder of a PNG or a JPEG, which refuses what would take all memory.
///
/// # Errors
/// When it is neither, or promises too many pixels.
pub fn decoder(bytes: &[u8]) -> Result<impl ImageDecoder + '_, PictureProblem> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let mut reader = reader.map_err(|_unreadable| PictureProblem::Unreadable)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(DECODED_SIDE);
    limits.max_image_height = Some(DECODED_SIDE);
    limits.max_alloc = Some(DECODING_BYTES);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|error| {
        if matches!(error, image::ImageError::Limits(_)) {
            PictureProblem::TooLarge
        } else {
            PictureProblem::Unreadable
        }
    })?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > DECODED_PIXELS { Err(PictureProblem::TooLarge) } else { Ok(decoder) }
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// Every pixel as it is, if that is small enough.
    Exact,
    Photo,
}

/// The picture anew from its pixels: what else the file held is gone.
fn redrawn(bytes: &[u8], writing: Writing) -> Result<(&'static str, Vec<u8>), PictureProblem> {
    let mut decoder = decoder(bytes)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let profile = decoder.icc_profile().ok().flatten();
    let picture = DynamicImage::from_decoder(decoder).map_err(|_damaged| PictureProblem::Unreadable)?;
    let mut picture = fitted(picture);
    picture.apply_orientation(orientation);
    written(&picture, writing, profile.as_deref())
}

/// No larger than what is sent.
fn fitted(picture: DynamicImage) -> DynamicImage {
    if picture.width().max(picture.height()) <= LONGEST_SIDE {
        return picture;
    }
    picture.resize(LONGEST_SIDE, LONGEST_SIDE, FilterType::CatmullRom)
}

fn written(
    picture: &DynamicImage,
    writing: Writing,
    profile: Option<&[u8]>,
) -> Result<(&'static str, Vec<u8>), PictureProblem> {
    let picture = with_eight_bits(picture);
    // The colours of another space would be wrong without it.
    let profile = profile.filter(|profile| fits(profile, picture.color()));
    let mut bytes = Vec::new();
    if writing == Writing::Exact {
        write_with(PngEncoder::new(&mut bytes), &picture, profile)?;
        if bytes.len() <= MOST_BYTES {
            return Ok(("image/png", bytes));
        }
    }
    let picture = on_white(picture);
    for quality in QUALITIES {
        bytes.clear();
        write_with(JpegEncoder::new_with_quality(&mut bytes, quality), &picture, profile)?;
        if bytes.len() <= MOST_BYTES {
            return Ok(("image/jpeg", bytes));
        }
    }
    Err(PictureProblem::TooLarge)
}

fn write_with(
    mut encoder: impl ImageEncoder,
    picture: &DynamicImage,
    profile: Option<&[u8]>,
) -> Result<(), PictureProblem> {
    if let Some(profile) = profile
        && let Err(problem) = encoder.set_icc_profile(profile.to_vec())
    {
        tracing::debug!(%problem, "the colour profile is left out");
    }
    picture.write_with_encoder(encoder).map_err(|_unwritable| PictureProblem::Unreadable)
}

/// In one of the four kinds of pixels that both formats have.
fn with_eight_bits(picture: &DynamicImage) -> DynamicImage {
    match (picture.color().has_color(), picture.color().has_alpha()) {
        (true, true) => DynamicImage::ImageRgba8(picture.to_rgba8()),
        (true, false) => DynamicImage::ImageRgb8(picture.to_rgb8()),
        (false, true) => DynamicImage::ImageLumaA8(picture.to_luma_alpha8()),
        (false, false) => DynamicImage::ImageLuma8(picture.to_luma8()),
    }
}

/// Whether a colour profile speaks of pixels of this kind: a CMYK one does not, once the pixels are red, green and blue.
fn fits(profile: &[u8], color: ColorType) -> bool {
    let space: &[u8] = if color.has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(space)
}

/// A photo knows no transparency.
fn on_white(picture: DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return picture;
    }
    let mut white = RgbaImage::from_pixel(picture.width(), picture.height(), Rgba([u8::MAX; 4]));
    imageops::overlay(&mut white, &picture.to_rgba8(), 0, 0);
    DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(white).into_rgb8())
}

/// The same WebP without its EXIF and XMP parts; `None` when it is damaged. Its pixels are not touched.
fn webp_without_metadata(bytes: &[u8]) -> Option<Vec<u8>> {
    /// Which bits of the file's own list say that those parts are there.
    const METADATA: u8 = 0b0000_1100;
    let mut rest = bytes.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let mut kept = b"WEBP".to_vec();
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, length @ ..] = *head;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let data = after.get(..length)?;
        rest = after.get(length.checked_add(length % 2)?..).unwrap_or_default();
        let name = [a, b, c, d];
        if matches!(&name, b"EXIF" | b"XMP ") {
            continue;
        }
        kept.extend_from_slice(head);
        let first = kept.len();
        kept.extend_from_slice(data);
        if &name == b"VP8X"
            && let Some(flags) = kept.get_mut(first)
        {
            *flags &= !METADATA;
        }
        if length % 2 == 1 {
            kept.push(0);
        }
    }
    let length = u32::try_from(kept.len()).ok()?.to_le_bytes();
    Some([b"RIFF".as_slice(), &length, &kept].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANTED: &[u8] = b"52.5163N 13.3777E";

    fn pixels_of(attachment: &ImageAttachment) -> DynamicImage {
        DynamicImage::from_decoder(decoder(&bytes_of(attachment)).unwrap()).unwrap()
    }

    fn bytes_of(attachment: &ImageAttachment) -> Vec<u8> {
        let (_, data) = attachment.image.url.split_once(',').unwrap();
        base64::engine::general_purpose::STANDARD.decode(data).unwrap()
    }

    fn holds(bytes: &[u8], words: &[u8]) -> bool {
        bytes.windows(words.len()).any(|window| window == words)
    }

    fn encoded(picture: &DynamicImage, format: image::ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// A head that says: turn me a quarter to the right, and this is where I was taken.
    fn exif() -> Vec<u8> {
        let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
        tiff.extend_from_slice(PLANTED);
        tiff
    }

    /// Red at the left, blue at the right.
    fn two_colours() -> DynamicImage {
        let mut picture = image::RgbImage::from_pixel(40, 20, image::Rgb([255, 0, 0]));
        for x in 20..40 {
            for y in 0..20 {
                picture.put_pixel(x, y, image::Rgb([0, 0, 255]));
            }
        }
        DynamicImage::ImageRgb8(picture)
    }

    #[test]
    fn a_photo_stands_upright_and_does_not_say_where_it_was_taken() {
        let jpeg = encoded(&two_colours(), image::ImageFormat::Jpeg);
        let mut segment = b"Exif\0\0".to_vec();
        segment.extend(exif());
        let length = u16::try_from(segment.len() + 2).unwrap().to_be_bytes();
        let photo = [&jpeg[..2], &[0xFF, 0xE1], &length, &segment, &jpeg[2..], PLANTED].concat();
        assert!(holds(&photo, PLANTED), "the control");
        let sent = prepare("photo.jpg".into(), &photo).unwrap();
        assert!(!holds(&bytes_of(&sent), PLANTED) && !holds(&bytes_of(&sent), b"Exif"));
        assert!(sent.image.url.starts_with("data:image/jpeg;base64,"));
        let upright = pixels_of(&sent).to_rgb8();
        assert_eq!(upright.dimensions(), (20, 40));
        let [top, bottom] = [upright.get_pixel(10, 4).0, upright.get_pixel(10, 36).0];
        assert!(top[0] > 200 && top[2] < 60 && bottom[2] > 200 && bottom[0] < 60, "{top:?} {bottom:?}");
    }

    #[test]
    fn a_png_loses_its_words_and_keeps_its_pixels_and_their_opacity() {
        let mut bytes = Vec::new();
        let mut encoder = PngEncoder::new(&mut bytes);
        encoder.set_exif_metadata(exif()).unwrap();
        let mut picture = RgbaImage::from_pixel(3, 2, Rgba([1, 2, 3, 255]));
        picture.put_pixel(0, 0, Rgba([9, 8, 7, 100]));
        DynamicImage::ImageRgba8(picture).write_with_encoder(encoder).unwrap();
        assert!(holds(&bytes, PLANTED), "the control");
        let sent = prepare("a.png".into(), &bytes).unwrap();
        assert!(!holds(&bytes_of(&sent), PLANTED));
        let pixels = pixels_of(&sent).to_rgba8();
        assert_eq!((pixels.dimensions(), pixels.get_pixel(1, 0).0), ((2, 3), [9, 8, 7, 100]));
    }

    #[test]
    fn what_is_larger_than_a_provider_takes_is_made_smaller() {
        let wide = encoded(&DynamicImage::new_rgb8(5_000, 500), image::ImageFormat::Png);
        let sent = prepare("wide.png".into(), &wide).unwrap();
        assert_eq!((pixels_of(&sent).width(), pixels_of(&sent).height()), (2_000, 200));
        // Noise, which a PNG cannot make small.
        let mut seed = 1_u32;
        let noise = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        });
        let noise: Vec<u8> = noise.take(1_500 * 1_500 * 4).collect();
        let sent = prepare_pixels("clipboard.png".into(), [1_500, 1_500], noise).unwrap();
        assert!(sent.image.url.starts_with("data:image/jpeg;base64,"));
        assert!(sent.bytes <= MOST_BYTES as u64);
        assert_eq!(pixels_of(&sent).width(), 1_500);
    }

    #[test]
    fn a_webp_loses_its_words_and_is_otherwise_untouched() {
        let chunk = |name: &[u8; 4], data: &[u8]| {
            let length = u32::try_from(data.len()).unwrap().to_le_bytes();
            [name.as_slice(), &length, data, &vec![0; data.len() % 2]].concat()
        };
        let file = |flags: u8, extra: &[Vec<u8>]| {
            let head = chunk(b"VP8X", &[flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            let body = [b"WEBP".to_vec(), head, chunk(b"VP8 ", b"pixel"), extra.concat()].concat();
            [b"RIFF".as_slice(), &u32::try_from(body.len()).unwrap().to_le_bytes(), &body].concat()
        };
        let full = file(0b1_1100, &[chunk(b"EXIF", PLANTED), chunk(b"XMP ", PLANTED)]);
        assert_eq!(webp_without_metadata(&full), Some(file(0b1_0000, &[])));
        let sent = prepare("a.webp".into(), &full).unwrap();
        assert_eq!(bytes_of(&sent), file(0b1_0000, &[]));
        assert_eq!(webp_without_metadata(&full[..60]), None);
    }

    #[test]
    fn what_is_no_picture_or_no_model_takes_is_refused_by_its_name() {
        let problem = |bytes: &[u8]| prepare("x".into(), bytes).unwrap_err();
        assert_eq!(problem(b"hello"), PictureProblem::NotAPicture);
        assert_eq!(problem(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"), PictureProblem::OtherKind);
        assert_eq!(problem(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), PictureProblem::Unreadable);
        let whole = encoded(&two_colours(), image::ImageFormat::Png);
        assert_eq!(problem(&whole[..whole.len() / 2]), PictureProblem::Unreadable);
        let gif = [b"GIF89a".as_slice(), &vec![0; MOST_BYTES]].concat();
        assert_eq!(problem(&gif), PictureProblem::TooLarge);
    }

    #[test]
    fn the_same_picture_has_the_same_digest_and_another_one_another() {
        let of =
            |side| prepare("a".into(), &encoded(&DynamicImage::new_rgb8(side, 1), image::ImageFormat::Png)).unwrap();
        assert_eq!(of(3).digest, of(3).digest);
        assert_ne!(of(3).digest, of(4).digest);
    }
}
