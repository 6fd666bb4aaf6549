//! The dimensions of an image in a request.
//!
//! Vision models divide an image into squares of pixels and make one token of each, so the bytes of its file say nothing. The
//! dimensions are in the first bytes of a PNG, GIF or WebP file, and behind the other segments at the start of a JPEG file.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;

/// Base64 that is decoded: 48 KiB, of which the metadata of a photo is usually a small part.
const READ: usize = 64 << 10;

/// Width and height of the image in a part of a message; `None` if they cannot be read.
pub(super) fn size(part: &[u8]) -> Option<(u32, u32)> {
    first_bytes(part).and_then(|file| dimensions(&file))
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
            let found = size(part(file).as_bytes());
            assert!(found.is_none() || found == whole, "{found:?} in a request, {whole:?} of the file");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::ImageTokens;

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
    fn the_dimensions_are_found_in_every_format() {
        for file in files() {
            assert_eq!(dimensions(&file), Some((640, 480)), "{file:?}");
            let padded = [file, vec![0; 3_000_000]].concat();
            assert_eq!(size(part(&padded).as_bytes()), Some((640, 480)));
        }
        let usual = ImageTokens::default();
        assert_eq!(usual.of(Some((640, 480))), 23 * 18, "not by the size of its file");
        assert_eq!(usual.of(Some((u32::MAX, u32::MAX))), 16_384);
        assert_eq!(ImageTokens { square: 14, most: 256 }.of(Some((56, 56))), 16);
        assert_eq!(ImageTokens { square: 14, most: 256 }.of(None), 256);
    }

    #[test]
    fn anything_else_has_none_and_nothing_panics() {
        let url = r#"{"type":"image_url","image_url":{"url":"https://example.com/x.png"}}"#;
        assert_eq!(size(url.as_bytes()), None);
        for file in files() {
            for end in 0..file.len() - 4 {
                size(part(&file[..end]).as_bytes());
            }
        }
        let endless = b"\xFF\xD8\xFF\xE0\0\0\xFF\xE0\0\0".repeat(100);
        assert_eq!(size(part(&endless).as_bytes()), None);
    }
}
