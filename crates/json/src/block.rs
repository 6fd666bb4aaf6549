//! Classifies 64 bytes of a string at once.

use wide::u8x16;

pub(super) const BLOCK: usize = 64;
const PART: usize = 16;

/// The simple blocks at the start of a text. Their backslashes precede quotes or common letters, their quotes follow backslashes,
/// and they have no control characters.
pub(super) struct SimpleBlocks {
    pub count: usize,
    pub is_ascii: bool,
}

/// One bit per byte of a block, the lowest bit for the first byte.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    pub quote: u64,
    pub backslash: u64,
    /// Letters that are valid after a backslash: at least `n`, `r` and `t`.
    pub letter: u64,
    /// Control characters and bytes beyond ASCII.
    pub others: u64,
}

impl Masks {
    /// With the instructions that every processor of the architecture has: SSE2 or NEON.
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let (parts, _) = block.as_chunks::<PART>();
        let parts: [u8x16; BLOCK / PART] = std::array::from_fn(|index| u8x16::new(parts[index]));
        Self {
            quote: bits(parts.map(|part| part.simd_eq(u8x16::splat(b'"')))),
            backslash: bits(parts.map(|part| part.simd_eq(u8x16::splat(b'\\')))),
            letter: bits(parts.map(is_letter)),
            others: bits(parts.map(|part| part | is_control(part))),
        }
    }

    /// Whether the block has none of these bytes.
    #[inline]
    pub(super) fn is_plain(block: &[u8; BLOCK]) -> bool {
        let (parts, _) = block.as_chunks::<PART>();
        let special = parts.iter().fold(u8x16::ZERO, |all, part| all | special(u8x16::new(*part)));
        special.to_bitmask() == 0
    }

    /// With AVX2: two comparisons of 32 bytes instead of four of 16.
    ///
    /// Without closures and `array::map`: `map` is not compiled with AVX2, so the closures would not be inlined, and the
    /// scan would take ten times as long.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn of_avx2(block: &[u8; BLOCK]) -> Self {
        let [low, high] = bytemuck::cast(*block);
        let (low, high) = (avx2::Half::of(low), avx2::Half::of(high));
        Self {
            quote: avx2::join(low.quote, high.quote),
            backslash: avx2::join(low.backslash, high.backslash),
            letter: avx2::join(low.letter, high.letter),
            others: avx2::join(low.others, high.others),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn is_plain_avx2(block: &[u8; BLOCK]) -> bool {
        let [low, high] = bytemuck::cast(*block);
        avx2::is_plain(low, high)
    }
}

/// The end of a plain string of fewer than 32 bytes, such as a name. Most strings of events are.
#[inline]
pub(super) fn end_of_short(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for part in bytes[start..].as_chunks::<PART>().0.iter().take(2) {
        let special = special(u8x16::new(*part)).to_bitmask();
        if special != 0 {
            at += special.trailing_zeros() as usize;
            return (bytes[at] == b'"').then_some(at);
        }
        at += PART;
    }
    None
}

/// The blocks of the text after the first byte, each with the block that begins one byte earlier.
fn shifted_blocks(text: &[u8]) -> impl Iterator<Item = (&[u8; BLOCK], &[u8; BLOCK])> {
    text[1..].as_chunks().0.iter().zip(text.as_chunks().0)
}

/// The simple blocks of the text after the first byte.
pub(super) fn simple_blocks(text: &[u8]) -> SimpleBlocks {
    let (mut count, mut seen) = (0, u8x16::ZERO);
    for (block, before) in shifted_blocks(text) {
        let (mut special, mut all) = (u8x16::ZERO, u8x16::ZERO);
        for (part, before) in block.as_chunks::<PART>().0.iter().zip(before.as_chunks::<PART>().0) {
            let (part, before) = (u8x16::new(*part), u8x16::new(*before));
            let (quote, escaped) = (part.simd_eq(u8x16::splat(b'"')), before.simd_eq(u8x16::splat(b'\\')));
            special |= is_control(part) | (quote ^ escaped) & !(escaped & is_letter(part));
            all |= part;
        }
        if special.to_bitmask() != 0 {
            break;
        }
        seen |= all;
        count += 1;
    }
    SimpleBlocks { count, is_ascii: seen.to_bitmask() == 0 }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::{SimpleBlocks, shifted_blocks};
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_min_epu8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_xor_si256,
    };

    /// For each low half of a byte, the letter with that half which is valid after a backslash, or else a byte with another half.
    const LETTERS: [u8; 16] = [1, 0, b'r', 0, b't', 0, b'f', 0, 0, 0, 0, 0, 0, 0, b'n', b'/'];

    /// The masks of 32 bytes.
    pub(super) struct Half {
        pub quote: i32,
        pub backslash: i32,
        pub letter: i32,
        pub others: i32,
    }

    impl Half {
        #[target_feature(enable = "avx2")]
        #[inline]
        pub(super) fn of(bytes: __m256i) -> Self {
            Self {
                quote: _mm256_movemask_epi8(is(bytes, b'"')),
                backslash: _mm256_movemask_epi8(is(bytes, b'\\')),
                letter: _mm256_movemask_epi8(letter(bytes)),
                others: _mm256_movemask_epi8(others(bytes)),
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn is_plain(low: __m256i, high: __m256i) -> bool {
        _mm256_movemask_epi8(_mm256_or_si256(special(low), special(high))) == 0
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn special(bytes: __m256i) -> __m256i {
        _mm256_or_si256(others(bytes), _mm256_or_si256(is(bytes, b'"'), is(bytes, b'\\')))
    }

    /// The simple blocks of the text after the first byte.
    #[target_feature(enable = "avx2")]
    pub(crate) fn simple_blocks(text: &[u8]) -> SimpleBlocks {
        let (mut count, mut seen) = (0, _mm256_setzero_si256());
        for (block, before) in shifted_blocks(text) {
            let ([low, high], [before_low, before_high]) = (bytemuck::cast(*block), bytemuck::cast(*before));
            if _mm256_movemask_epi8(_mm256_or_si256(not_simple(low, before_low), not_simple(high, before_high))) != 0 {
                break;
            }
            seen = _mm256_or_si256(seen, _mm256_or_si256(low, high));
            count += 1;
        }
        SimpleBlocks { count, is_ascii: _mm256_movemask_epi8(seen) == 0 }
    }

    /// The bytes that no simple block has, given the byte before each of them.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn not_simple(bytes: __m256i, before: __m256i) -> __m256i {
        let (quote, escaped) = (is(bytes, b'"'), is(before, b'\\'));
        let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
        let common = _mm256_and_si256(escaped, letter(bytes));
        _mm256_or_si256(control, _mm256_andnot_si256(common, _mm256_xor_si256(quote, escaped)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn is(bytes: __m256i, byte: u8) -> __m256i {
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn letter(bytes: __m256i) -> __m256i {
        _mm256_cmpeq_epi8(_mm256_shuffle_epi8(bytemuck::cast([LETTERS; 2]), bytes), bytes)
    }

    /// Control characters and bytes beyond ASCII, which are negative.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn others(bytes: __m256i) -> __m256i {
        _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes)
    }

    #[inline]
    pub(super) fn join(low: i32, high: i32) -> u64 {
        u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
    }
}

/// The control characters of a block.
pub(super) fn control(block: &[u8; BLOCK]) -> u64 {
    let (parts, _) = block.as_chunks::<PART>();
    bits(std::array::from_fn(|index| is_control(u8x16::new(parts[index]))))
}

/// The highest bit of every byte.
#[inline]
fn bits(parts: [u8x16; BLOCK / PART]) -> u64 {
    let [first, second, third, fourth] = parts.map(|part| u64::from(part.to_bitmask()));
    first | second << 16 | third << 32 | fourth << 48
}

#[inline]
fn is_letter(part: u8x16) -> u8x16 {
    let is = |byte| part.simd_eq(u8x16::splat(byte));
    is(b'n') | is(b'r') | is(b't')
}

/// The bytes that end or change plain text.
#[inline]
fn special(part: u8x16) -> u8x16 {
    part | part.simd_eq(u8x16::splat(b'"')) | part.simd_eq(u8x16::splat(b'\\')) | is_control(part)
}

#[inline]
fn is_control(part: u8x16) -> u8x16 {
    part.min(u8x16::splat(0x1f)).simd_eq(part)
}

/// The end of an ASCII string that is shorter than 16 bytes and has no escapes. `None` for any other string.
#[inline]
pub(super) fn short_end(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.first_chunk::<PART>()?;
    let part = u8x16::new(*bytes);
    let is = |byte| part.simd_eq(u8x16::splat(byte));
    let special = (is(b'"') | is(b'\\') | is_control(part)).to_bitmask();
    let end = special.trailing_zeros();
    let is_plain = special != 0 && part.to_bitmask() & ((1 << end) - 1) == 0;
    (is_plain && bytes[end as usize] == b'"').then_some(end as usize)
}
