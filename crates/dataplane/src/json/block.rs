//! Looks at 64 bytes of a string at once.

use wide::u8x16;

/// Which bytes of a block need a second look, and which are beyond ASCII; the lowest bit is the first byte.
pub(super) struct Block {
    special: u64,
    high: u64,
}

const PART: usize = 16;

impl Block {
    pub(super) const LEN: usize = 64;

    /// The start of `bytes`. Behind their end stands a byte that needs a second look.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Self {
        match bytes.first_chunk::<{ Self::LEN }>() {
            Some(block) => Self::of(block),
            None => {
                let mut padded = [0; Self::LEN];
                padded[..bytes.len()].copy_from_slice(bytes);
                Self::of(&padded)
            }
        }
    }

    #[inline]
    fn of(bytes: &[u8; Self::LEN]) -> Self {
        let mut block = Self { special: 0, high: 0 };
        for (index, part) in bytes.as_chunks::<PART>().0.iter().enumerate() {
            let (special, high) = masks(part);
            block.special |= u64::from(special) << (index * PART);
            block.high |= u64::from(high) << (index * PART);
        }
        block
    }

    /// The quotes, backslashes and control characters from there on.
    #[inline]
    pub(super) fn specials_from(&self, from: usize) -> Specials {
        Specials(if from < Self::LEN { self.special >> from << from } else { 0 })
    }

    #[inline]
    pub(super) fn is_ascii_before(&self, end: usize) -> bool {
        let before = if end < Self::LEN { (1 << end) - 1 } else { u64::MAX };
        self.high & before == 0
    }
}

/// Bytes of a block that need a second look, one bit for each.
pub(super) struct Specials(u64);

impl Specials {
    /// Where the next one is.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        let found = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (found < Block::LEN).then_some(found)
    }

    /// Passes over what may stand there; behind the block there is nothing to pass over.
    #[inline]
    pub(super) fn pass(&mut self, at: usize) {
        if at < Block::LEN {
            self.0 &= !(1 << at);
        }
    }
}

/// Where a string of ASCII ends that is no longer than a part and has no escape.
#[inline]
pub(super) fn short_end(bytes: &[u8]) -> Option<usize> {
    let part = bytes.first_chunk::<PART>()?;
    let (special, high) = masks(part);
    let end = special.trailing_zeros();
    let is_plain = special != 0 && high & ((1 << end) - 1) == 0;
    (is_plain && part[end as usize] == b'"').then_some(end as usize)
}

/// One bit for every byte that needs a second look, and one for every byte beyond ASCII.
#[inline]
fn masks(part: &[u8; PART]) -> (u32, u32) {
    let bytes = u8x16::new(*part);
    let is = |byte| bytes.simd_eq(u8x16::splat(byte));
    let is_control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    ((is(b'"') | is(b'\\') | is_control).to_bitmask(), bytes.to_bitmask())
}
