//! The tokens of an image in a request, by its dimensions.
//!
//! Vision models divide an image into squares of pixels and make one token of each, so the bytes of its file say nothing. The
//! dimensions are in the first bytes of a PNG, GIF or WebP file, and behind the other segments at the start of a JPEG file.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;

/// The side of a square that becomes one token. Models differ by a factor of two or so; this is the size of the Qwen-VL family.
const SQUARE: u64 = 28;
/// Larger images are scaled down.
const MOST_TOKENS: u64 = 16_384;
/// An image whose dimensions cannot be read, such as one behind a URL.
pub(super) const UNKNOWN: u64 = 1_024;
/// Base64 that is decoded: 48 KiB, of which the metadata of a photo is usually a small part.
const READ: usize = 64 << 10;

/// The tokens of the image in a part of a message.
pub(super) fn tokens(part: &[u8]) -> u64 {
    let dimensions = first_bytes(part).and_then(|file| dimensions(&file));
    let squares = |side: u32| u64::from(side).div_ceil(SQUARE);
    dimensions.map_or(UNKNOWN, |(width, height)| squares(width).saturating_mul(squares(height)).clamp(1, MOST_TOKENS))
}

/// The start of the file in a data URL; `None` if there is none, or if its text is escaped.
fn first_bytes(part: &[u8]) -> Option<Vec<u8>> {
    const MARK: &[u8] = b";base64,";
    let start = memmem::find(part, MARK)? + MARK.len();
    let text = &part[start..part.len().min(start + READ)];
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let digits = text.iter().take_while(|byte| is_digit(byte)).count();
    BASE64_STANDARD.decode(&text[..digits / 4 * 4]).ok()
}

/// Width and height.
fn dimensions(file: &[u8]) -> Option<(u32, u32)> {
    let at = |place: usize, count: usize| file.get(place..place.checked_add(count)?);
    let big = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte));
    let little = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte));
    if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big(at(16, 4)?), big(at(20, 4)?)));
    }
    if file.starts_with(b"GIF8") {
        return Some((little(at(6, 2)?), little(at(8, 2)?)));
    }
    if file.starts_with(b"RIFF") && at(8, 4)? == b"WEBP" {
        return match at(12, 4)? {
            b"VP8X" => Some((little(at(24, 3)?) + 1, little(at(27, 3)?) + 1)),
            b"VP8L" => {
                let bits = little(at(21, 4)?);
                Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
            }
            b"VP8 " => Some((little(at(26, 2)?) & 0x3FFF, little(at(28, 2)?) & 0x3FFF)),
            _ => None,
        };
    }
    if !file.starts_with(b"\xFF\xD8") {
        return None;
    }
    // Segments: 0xFF, a marker, and a length that includes itself. The frame header has the dimensions.
    let mut place = 2;
    loop {
        let &[0xFF, marker] = at(place, 2)? else { return None };
        let is_frame = matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC);
        if is_frame {
            return Some((big(at(place + 7, 2)?), big(at(place + 5, 2)?)));
        }
        place += 2 + big(at(place + 2, 2)?) as usize;
    }
}

#[cfg(test)]
mod fuzz_tests {
    use super::tests::part;
    use super::*;
    use fuzz::Fuzz;

    const WORDS: &[&str] = &["GIF8", "RIFF", "WEBP", "VP8X", "VP8L", "VP8 ", "IHDR", "\u{ff}"];

    /// What is read of the start of a file stays so however long the file is, and an image always counts something.
    #[test]
    fn image_headers() {
        Fuzz::new("image-header").words(WORDS).run(|file| {
            let whole = dimensions(file);
            for cut in fuzz::cuts(file) {
                let start = dimensions(&file[..cut]);
                assert!(start.is_none() || start == whole, "{start:?} of {cut} bytes, {whole:?} of all");
            }
            let tokens = tokens(part(file).as_bytes());
            assert!((1..=MOST_TOKENS).contains(&tokens), "{tokens}");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a file of each format, 640 by 480 pixels.
    fn files() -> [Vec<u8>; 6] {
        let webp = |kind: &[u8; 4], rest: &[u8]| [b"RIFF\0\0\0\0WEBP".as_slice(), kind, &[0; 4], rest].concat();
        let lossless = (639_u32 | (479 << 14)).to_le_bytes();
        [
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\x80\0\0\x01\xe0".to_vec(),
            b"GIF89a\x80\x02\xe0\x01".to_vec(),
            [b"\xFF\xD8\xFF\xE1\0\x08abcdef".as_slice(), b"\xFF\xC2\0\x11\x08\x01\xe0\x02\x80\x03"].concat(),
            webp(b"VP8X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0"),
            webp(b"VP8L", &[&[0x2F], lossless.as_slice()].concat()),
            webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01"),
        ]
    }

    pub(super) fn part(file: &[u8]) -> String {
        let text = BASE64_STANDARD.encode(file);
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/x;base64,{text}"}}}}"#)
    }

    #[test]
    fn an_image_counts_by_its_dimensions_in_every_format() {
        for file in files() {
            assert_eq!(dimensions(&file), Some((640, 480)), "{file:?}");
            let padded = [file, vec![0; 3_000_000]].concat();
            assert_eq!(tokens(part(&padded).as_bytes()), 23 * 18, "not by the size of its file");
        }
    }

    #[test]
    fn anything_else_counts_as_an_ordinary_image() {
        let url = r#"{"type":"image_url","image_url":{"url":"https://example.com/x.png"}}"#;
        assert_eq!(tokens(url.as_bytes()), UNKNOWN);
        for file in files() {
            for end in 0..file.len() - 4 {
                let tokens = tokens(part(&file[..end]).as_bytes());
                assert!((1..=MOST_TOKENS).contains(&tokens), "{end}: {tokens}");
            }
        }
        let endless = b"\xFF\xD8\xFF\xE0\0\0\xFF\xE0\0\0".repeat(100);
        assert!((1..=MOST_TOKENS).contains(&tokens(part(&endless).as_bytes())));
        let huge = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF".to_vec();
        assert_eq!(tokens(part(&huge).as_bytes()), MOST_TOKENS);
    }
}
