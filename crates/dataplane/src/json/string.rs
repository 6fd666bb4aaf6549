//! Finds the end of a string, and checks what is in it.

use super::block::{BLOCK, Masks};
use super::{Malformed, hex4};

/// A string's end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Where its last quote stands.
    pub at: usize,
    pub is_ascii: bool,
}

/// Looks for the quote that ends the string which starts behind another one at `start`.
pub(super) fn end(bytes: &[u8], start: usize) -> Result<End, Malformed> {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "what a processor can do is known at run time only")]
    if std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor was asked for it.
        return unsafe { walk_avx512(bytes, start) };
    } else if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked for it.
        return unsafe { walk_avx2(bytes, start) };
    }
    walk(bytes, start, Masks::of)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,bmi1")]
fn walk_avx512(bytes: &[u8], start: usize) -> Result<End, Malformed> {
    walk(bytes, start, |block| Masks::of_avx512(block))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn walk_avx2(bytes: &[u8], start: usize) -> Result<End, Malformed> {
    walk(bytes, start, |block| Masks::of_avx2(block))
}

/// Block by block. All escapes of a block are seen at once, so that text with many of them is as cheap as any other.
#[inline(always)]
fn walk(bytes: &[u8], start: usize, masks: impl Fn(&[u8; BLOCK]) -> Masks) -> Result<End, Malformed> {
    let (blocks, rest) = bytes[start..].as_chunks();
    let mut walk = Walk { bytes, at: start, high: 0, escapes: Escapes::default() };
    for block in blocks {
        if let Some(end) = walk.pass(masks(block))? {
            return Ok(end);
        }
    }
    // Behind the end stands what no string may have.
    let end = walk.pass(masks(&padded(rest)))?;
    end.ok_or(Malformed { why: "the text ends inside a string", at: bytes.len() })
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Set where anything is beyond ASCII.
    high: u64,
    escapes: Escapes,
}

impl Walk<'_> {
    #[inline(always)]
    fn pass(&mut self, found: Masks) -> Result<Option<End>, Malformed> {
        let escaped = self.escapes.of(found.slash);
        let stops = (found.quote | found.control) & !(escaped & found.quote);
        let inside = before_first(stops);
        self.high |= found.high & inside;
        self.check_each(escaped & !found.harmless & inside)?;
        if stops == 0 {
            self.at += BLOCK;
            return Ok(None);
        }
        let at = self.at + stops.trailing_zeros() as usize;
        match self.bytes.get(at) {
            Some(b'"') => Ok(Some(End { at, is_ascii: self.high == 0 })),
            Some(_) => Err(Malformed { why: "a control character in a string", at }),
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn check_each(&mut self, mut letters: u64) -> Result<(), Malformed> {
        while letters != 0 {
            self.escapes.check(self.bytes, self.at + letters.trailing_zeros() as usize)?;
            letters &= letters - 1;
        }
        Ok(())
    }
}

fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// All bits below the lowest one; all there are where there is none.
#[inline]
fn before_first(bits: u64) -> u64 {
    (bits & bits.wrapping_neg()).wrapping_sub(1)
}

/// What one block of a string leaves to the next.
#[derive(Default)]
struct Escapes {
    /// The last block ended with a backslash that its successor is escaped by.
    is_open: bool,
    /// Where the second half of a character beyond the basic plane was found.
    second_at: usize,
}

impl Escapes {
    /// Which bytes stand behind a backslash that does not stand behind one itself.
    #[inline]
    fn of(&mut self, slash: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let open = u64::from(self.is_open);
        // Backslashes come in runs, and every second one escapes. Added to its first bit, a run that starts at an odd
        // place carries over into the bit behind it.
        let slash = slash & !open;
        let follows = slash << 1 | open;
        let odd_starts = slash & !EVEN & !follows;
        let (runs, overflows) = odd_starts.overflowing_add(slash);
        self.is_open = overflows;
        (EVEN ^ runs << 1) & follows
    }

    /// Checks the letter behind a backslash.
    #[inline]
    fn check(&mut self, bytes: &[u8], at: usize) -> Result<(), Malformed> {
        match bytes.get(at) {
            Some(b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(()),
            Some(b'u') if at == self.second_at => Ok(()),
            Some(b'u') => self.check_unit(bytes, at),
            _ => Err(Malformed { why: "not an escape", at }),
        }
    }

    /// Checks a `u` and its four digits, or both halves of a pair.
    #[cold]
    fn check_unit(&mut self, bytes: &[u8], at: usize) -> Result<(), Malformed> {
        let unit = |at: usize| bytes.get(at + 1..at + 5).and_then(hex4);
        let second_at = at + 6;
        match unit(at) {
            None => Err(Malformed { why: "four hexadecimal digits are missing", at }),
            Some(0xD800..=0xDBFF) if is_second(bytes, second_at, unit(second_at)) => {
                self.second_at = second_at;
                Ok(())
            }
            Some(0xD800..=0xDFFF) => Err(Malformed { why: "a lone surrogate", at }),
            Some(_) => Ok(()),
        }
    }
}

fn is_second(bytes: &[u8], at: usize, unit: Option<u32>) -> bool {
    bytes.get(at - 1..=at) == Some(b"\\u") && matches!(unit, Some(0xDC00..=0xDFFF))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whichever way a processor goes.
        #[test]
        fn all_ways_of_looking_see_the_same(
            pieces in prop::collection::vec(
                prop_oneof![10 => "[ -~]{0,30}", 4 => "\\\\{1,5}", 2 => "\"", 1 => "é", 1 => "\u{1}", 2 => "\\\\u[0-9a-e]{4}",
                    1 => Just("\\ud83d\\ude00".into()), 3 => "\\\\[nrtbfx/]"],
                0..40),
        ) {
            let text = pieces.concat();
            let expected = walk(text.as_bytes(), 0, Masks::of);
            prop_assert_eq!(&end(text.as_bytes(), 0), &expected);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor was asked for it.
                #[expect(unsafe_code, reason = "a processor that has more does not go this way by itself")]
                let found = unsafe { walk_avx2(text.as_bytes(), 0) };
                prop_assert_eq!(found, expected);
            }
        }

        /// One byte after another, as anybody would.
        #[test]
        fn escapes_are_what_follows_a_backslash(text in "[\\\\a]{0,200}") {
            let (mut expected, mut is_escaped) = (Vec::new(), false);
            for byte in text.bytes() {
                expected.push(is_escaped);
                is_escaped = !is_escaped && byte == b'\\';
            }
            let mut escapes = Escapes::default();
            let mut seen = Vec::new();
            for block in text.as_bytes().chunks(BLOCK) {
                let slash = block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == b'\\'));
                let escaped = escapes.of(slash);
                seen.extend((0..block.len()).map(|index| escaped >> index & 1 == 1));
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
