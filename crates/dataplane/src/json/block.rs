//! Looks at 64 bytes of a string at once.

use wide::u8x16;

pub(super) const BLOCK: usize = 64;
const PART: usize = 16;

/// Which bytes of a block are quotes, backslashes, control characters and beyond ASCII; the lowest bit is the first byte.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    pub quote: u64,
    pub slash: u64,
    pub control: u64,
    pub high: u64,
    /// May stand behind a backslash. Others have to be looked at.
    pub harmless: u64,
}

/// Which of `"\/bfnrt` a byte may be, by its higher and by its lower half: it is one where both have a bit in common.
#[cfg(target_arch = "x86_64")]
const HARMLESS: [[u8; PART]; 2] = {
    let mut halves = [[0; PART]; 2];
    let mut rest: &[u8] = b"\"\\/bfnrt";
    while let [byte, behind @ ..] = rest {
        let (higher, lower) = ((*byte >> 4) as usize, (*byte & 0xf) as usize);
        halves[0][higher] |= 1 << higher;
        halves[1][lower] |= 1 << higher;
        rest = behind;
    }
    halves
};

impl Masks {
    /// With what every processor of its kind has: SSE2 or NEON.
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let (parts, _) = block.as_chunks::<PART>();
        let parts: [u8x16; BLOCK / PART] = std::array::from_fn(|index| u8x16::new(parts[index]));
        let quote = bits(parts.map(|part| part.simd_eq(u8x16::splat(b'"'))));
        let slash = bits(parts.map(|part| part.simd_eq(u8x16::splat(b'\\'))));
        Self { quote, slash, control: bits(parts.map(is_control)), high: bits(parts), harmless: quote | slash }
    }

    /// The same, where the processor has it. Only to be called where that is known.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw")]
    #[inline]
    pub(super) fn of_avx512(block: &[u8; BLOCK]) -> Self {
        use std::arch::x86_64::{
            _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
            _mm512_movepi8_mask, _mm512_set1_epi8, _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_test_epi8_mask,
        };
        let block = bytemuck::cast(*block);
        let is = |byte: u8| _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte.cast_signed()));
        let [higher, lower] = HARMLESS.map(|halves| _mm512_broadcast_i32x4(bytemuck::cast(halves)));
        let above = _mm512_and_si512(_mm512_srli_epi16::<4>(block), _mm512_set1_epi8(0xf));
        Self {
            quote: is(b'"'),
            slash: is(b'\\'),
            control: _mm512_cmplt_epu8_mask(block, _mm512_set1_epi8(b' '.cast_signed())),
            high: _mm512_movepi8_mask(block),
            harmless: _mm512_test_epi8_mask(_mm512_shuffle_epi8(higher, above), _mm512_shuffle_epi8(lower, block)),
        }
    }

    /// The same, where the processor has no more than this.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn of_avx2(block: &[u8; BLOCK]) -> Self {
        use std::arch::x86_64::{__m256i, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8};
        let halves: [__m256i; 2] = bytemuck::cast(*block);
        let bits = |halves: [__m256i; 2]| {
            let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
            low | high << 32
        };
        let quote = _mm256_set1_epi8(b'"'.cast_signed());
        let slash = _mm256_set1_epi8(b'\\'.cast_signed());
        let last_control = _mm256_set1_epi8(0x1f);
        let quote = bits(halves.map(|half| _mm256_cmpeq_epi8(half, quote)));
        let slash = bits(halves.map(|half| _mm256_cmpeq_epi8(half, slash)));
        let control = bits(halves.map(|half| _mm256_cmpeq_epi8(_mm256_min_epu8(half, last_control), half)));
        Self { quote, slash, control, high: bits(halves), harmless: quote | slash }
    }
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

/// Where a string of ASCII ends that is shorter than a part and has no escape.
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
