//! Classifies 64 bytes of a string at once.

use wide::u8x16;

pub(super) const BLOCK: usize = 64;
const PART: usize = 16;

/// One bit per byte of a block, the lowest bit for the first byte.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    pub quote: u64,
    pub backslash: u64,
    /// An `n`: a line break if it is escaped.
    pub letter_n: u64,
    /// Control characters and bytes beyond ASCII.
    pub others: u64,
}

impl Masks {
    /// Whether the block is plain text.
    #[inline]
    pub(super) fn are_empty(&self) -> bool {
        self.quote | self.backslash | self.others == 0
    }

    /// With the instructions that every processor of the architecture has: SSE2 or NEON.
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let (parts, _) = block.as_chunks::<PART>();
        let parts: [u8x16; BLOCK / PART] = std::array::from_fn(|index| u8x16::new(parts[index]));
        Self {
            quote: bits(parts.map(|part| part.simd_eq(u8x16::splat(b'"')))),
            backslash: bits(parts.map(|part| part.simd_eq(u8x16::splat(b'\\')))),
            letter_n: bits(parts.map(|part| part.simd_eq(u8x16::splat(b'n')))),
            others: bits(parts.map(|part| part | is_control(part))),
        }
    }

    /// Whether the block has none of these bytes.
    #[inline]
    pub(super) fn is_plain(block: &[u8; BLOCK]) -> bool {
        let (parts, _) = block.as_chunks::<PART>();
        let special = parts.iter().fold(u8x16::ZERO, |special, part| {
            let part = u8x16::new(*part);
            special | part | part.simd_eq(u8x16::splat(b'"')) | part.simd_eq(u8x16::splat(b'\\')) | is_control(part)
        });
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
            letter_n: avx2::join(low.letter_n, high.letter_n),
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

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };

    /// The masks of 32 bytes.
    pub(super) struct Half {
        pub quote: i32,
        pub backslash: i32,
        pub letter_n: i32,
        pub others: i32,
    }

    impl Half {
        #[target_feature(enable = "avx2")]
        #[inline]
        pub(super) fn of(bytes: __m256i) -> Self {
            Self {
                quote: _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()))),
                backslash: _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()))),
                letter_n: _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'n'.cast_signed()))),
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
        let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()));
        _mm256_or_si256(others(bytes), _mm256_or_si256(quote, backslash))
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
