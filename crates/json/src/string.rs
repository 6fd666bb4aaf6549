//! Finds the end of a string and checks its content.

use super::block::{self, BLOCK, Masks, SimpleBlocks};
use super::{JsonError, hex4};

const UNFINISHED: &str = "the text ends inside a string";
/// Escaped quotes up to which [`end_of_checked`] looks for quotes, and the bytes that allow one more.
const FEW_QUOTES: usize = 8;
const BYTES_PER_QUOTE: usize = 256;

/// The end of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StringEnd {
    /// The position of the closing quote.
    pub at: usize,
    pub is_ascii: bool,
}

/// After this many simple blocks in a row, the scan changes to the third way.
const SWITCH_AFTER: u32 = 4;

/// Scans block by block, in three ways:
///
/// 1. The plain blocks at the start are skipped: nothing has to be known of them but that.
/// 2. For each block of 64 bytes, there is one bit mask per kind of byte, so that all escapes of a block are found at once.
///    Example (lowest bit left):
///
///    ```text
///    bytes      a \ " b \ \ " , 1
///    backslash  . x . . x x . . .
///    escaped    . . x . . x . . .   bytes that follow an escaping backslash
///    quote      . . x . . . x . .
///    stops      . . . . . . x . .   quotes that are not escaped, and control characters
///    ```
///
///    The lowest bit of `stops` is the end of the string. Bits below it belong to the string; the escaped bytes among them
///    other than quotes, backslashes and common letters, which are rare, are checked one by one.
/// 3. Where no backslash is escaped, every byte after one is, so a block is only compared with itself moved by one byte.
///    Most blocks of a prompt with escapes are such.
///
/// A macro, because a function that takes `Masks::of_avx2` as an argument would not inline it: see there.
macro_rules! scan {
    ($bytes:ident, $start:ident, $masks:path, $is_plain:path, $simple_blocks:path) => {{
        let mut scan = Scan::new($bytes, $start);
        for block in $bytes[$start..].as_chunks().0 {
            if !$is_plain(block) {
                break;
            }
            scan.at += BLOCK;
        }
        loop {
            let (blocks, rest) = $bytes[scan.at..].as_chunks();
            for block in blocks {
                if let Some(end) = scan.block(block, $masks(block))? {
                    return Ok(end);
                }
                if scan.simple_in_a_row == SWITCH_AFTER {
                    break;
                }
            }
            if scan.simple_in_a_row < SWITCH_AFTER {
                // The padding consists of control characters, at which every string stops.
                let block = padded(rest);
                let end = scan.block(&block, $masks(&block))?;
                return end.ok_or(JsonError { why: UNFINISHED, at: $bytes.len() });
            }
            scan.pass($simple_blocks(&$bytes[scan.at - 1..]));
        }
    }};
}

/// Finds the closing quote of the string whose content begins at `start`.
pub(super) fn end(bytes: &[u8], start: usize) -> Result<StringEnd, JsonError> {
    if let Some(at) = block::end_of_short(bytes, start) {
        return Ok(StringEnd { at, is_ascii: true });
    }
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the features of the processor are only known at run time")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was just detected.
        return unsafe { scan_avx2(bytes, start) };
    }
    scan_portable(bytes, start)
}

/// Finds the closing quote of a string that was checked before. Only quotes and the backslashes before them matter, so this
/// is several times as fast, unless the string has many escaped quotes: then the rest of it is scanned.
pub(super) fn end_of_checked(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let (mut from, mut escaped) = (start, 0);
    while let Some(distance) = memchr::memchr(b'"', &bytes[from..]) {
        let at = from + distance;
        let backslashes = bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes.is_multiple_of(2) {
            return Ok(at);
        }
        from = at + 1;
        escaped += 1;
        if escaped > FEW_QUOTES + (at - start) / BYTES_PER_QUOTE {
            return end(bytes, from).map(|end| end.at);
        }
    }
    Err(JsonError { why: UNFINISHED, at: bytes.len() })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2(bytes: &[u8], start: usize) -> Result<StringEnd, JsonError> {
    scan!(bytes, start, Masks::of_avx2, Masks::is_plain_avx2, block::avx2::simple_blocks)
}

fn scan_portable(bytes: &[u8], start: usize) -> Result<StringEnd, JsonError> {
    scan!(bytes, start, Masks::of, Masks::is_plain, block::simple_blocks)
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Not zero once a byte beyond ASCII was found.
    non_ascii: u64,
    escapes: Escapes,
    /// See [`check_escapes`].
    second_at: usize,
    /// Blocks in a row in which no backslash and no rare letter is escaped.
    simple_in_a_row: u32,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        // The first simple block changes to the third way.
        let simple_in_a_row = SWITCH_AFTER - 1;
        Self { bytes, at, non_ascii: 0, escapes: Escapes::default(), second_at: 0, simple_in_a_row }
    }

    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], masks: Masks) -> Result<Option<StringEnd>, JsonError> {
        let escaped = self.escapes.of(masks.backslash);
        let uncommon = escaped & !(masks.quote | masks.letter);
        let letters = uncommon & !masks.backslash;
        let mut stops = masks.quote & !escaped;
        if masks.others | letters | stops != 0 {
            if masks.others != 0 {
                let control = block::control(block);
                stops |= control;
                self.non_ascii |= masks.others & !control & below_lowest(stops);
            }
            let letters = letters & below_lowest(stops);
            if letters != 0 {
                self.second_at = check_escapes(self.bytes, self.at, letters, self.second_at)?;
            }
            if stops != 0 {
                return self.stop(self.at + stops.trailing_zeros() as usize);
            }
        }
        self.at += BLOCK;
        self.simple_in_a_row = if uncommon == 0 { self.simple_in_a_row + 1 } else { 0 };
        Ok(None)
    }

    #[inline(always)]
    fn stop(&self, at: usize) -> Result<Option<StringEnd>, JsonError> {
        match self.bytes.get(at) {
            Some(b'"') => Ok(Some(StringEnd { at, is_ascii: self.non_ascii == 0 })),
            Some(_) => Err(JsonError { why: "a control character in a string", at }),
            None => Ok(None),
        }
    }

    /// Continues after simple blocks.
    #[inline(always)]
    fn pass(&mut self, SimpleBlocks { count, is_ascii }: SimpleBlocks) {
        self.at += count * BLOCK;
        self.non_ascii |= u64::from(!is_ascii);
        self.escapes.is_open = self.bytes[self.at - 1] == b'\\';
        self.simple_in_a_row = 0;
    }
}

fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// All bits below the lowest set bit; all 64 bits if none is set.
#[inline]
fn below_lowest(bits: u64) -> u64 {
    (bits & bits.wrapping_neg()).wrapping_sub(1)
}

/// The state of escapes from one block of a string to the next.
#[derive(Default)]
struct Escapes {
    /// The last byte of the previous block is a backslash that escapes the first byte of this one.
    is_open: bool,
}

impl Escapes {
    /// The bytes that are escaped: those that follow a backslash which is not escaped itself.
    ///
    /// In a run of backslashes every second one is escaped, counted from the start of the run, and so is the byte after a
    /// run of odd length. Instead of counting, this looks at the parity of positions: for a run that starts at an even
    /// position, the escaped bytes are at odd positions; for a run that starts at an odd one, at even positions. Adding
    /// its start bit to a run clears it and carries into the bit after it. Done for runs with an odd start, this leaves
    /// those with an even start, for which `EVEN` is flipped. Example (lowest bit left, position 0 is even):
    ///
    /// ```text
    /// text         a \ \ \ n . \ n      runs at 1..4 and at 6
    /// backslash    . x x x . . x .
    /// follows      . . x x x . . x      candidates: one position after each backslash
    /// odd_starts   . x . . . . . .      only the first run starts at an odd position
    /// runs         . . . . x . x .      odd_starts + backslash: the first run is cleared, with a carry after it
    /// EVEN         x . x . x . x .
    /// runs << 1    . . . . . x . x
    /// xor          x . x . x x x x
    /// escaped      . . x . x . . x      xor & follows
    /// ```
    #[inline]
    fn of(&mut self, backslash: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let open = u64::from(self.is_open);
        let backslash = backslash & !open;
        let follows = backslash << 1 | open;
        let odd_starts = backslash & !EVEN & !follows;
        let (runs, overflows) = odd_starts.overflowing_add(backslash);
        self.is_open = overflows;
        (EVEN ^ runs << 1) & follows
    }
}

/// Checks the bytes of the block at `at` that follow a backslash. `second_at` is the position of the second half of a surrogate
/// pair that was checked together with the first, maybe in the block before; returns the new one.
#[inline(never)]
fn check_escapes(bytes: &[u8], at: usize, mut letters: u64, mut second_at: usize) -> Result<usize, JsonError> {
    while letters != 0 {
        let at = at + letters.trailing_zeros() as usize;
        match bytes.get(at) {
            Some(b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
            Some(b'u') if at == second_at => {}
            Some(b'u') => second_at = check_unicode(bytes, at)?.unwrap_or(second_at),
            _ => return Err(JsonError { why: "invalid escape", at }),
        }
        letters &= letters - 1;
    }
    Ok(second_at)
}

/// Checks `u` and four digits, or both halves of a surrogate pair. Returns the position of the second half.
fn check_unicode(bytes: &[u8], at: usize) -> Result<Option<usize>, JsonError> {
    let unit = |at: usize| bytes.get(at + 1..at + 5).and_then(hex4);
    let second_at = at + 6;
    match unit(at) {
        None => Err(JsonError { why: "four hexadecimal digits are missing", at }),
        Some(0xD800..=0xDBFF) if is_second(bytes, second_at, unit(second_at)) => Ok(Some(second_at)),
        Some(0xD800..=0xDFFF) => Err(JsonError { why: "a lone surrogate", at }),
        Some(_) => Ok(None),
    }
}

fn is_second(bytes: &[u8], at: usize, unit: Option<u32>) -> bool {
    bytes.get(at - 1..=at) == Some(b"\\u") && matches!(unit, Some(0xDC00..=0xDFFF))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Byte by byte.
    fn reference(bytes: &[u8]) -> Result<StringEnd, JsonError> {
        let (mut at, mut is_ascii) = (0, true);
        loop {
            match bytes[at..] {
                [] | [b'\\'] => return Err(JsonError { why: UNFINISHED, at: bytes.len() }),
                [b'"', ..] => return Ok(StringEnd { at, is_ascii }),
                [0..b' ', ..] => return Err(JsonError { why: "a control character in a string", at }),
                [b'\\', 0..b' ', ..] => at += 1,
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at += 2,
                [b'\\', b'u', ..] => at = check_unicode(bytes, at + 1)?.unwrap_or(at + 1) + 5,
                [b'\\', ..] => return Err(JsonError { why: "invalid escape", at: at + 1 }),
                [byte, ..] => {
                    is_ascii &= byte.is_ascii();
                    at += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_instruction_sets_find_what_a_scan_byte_by_byte_finds(
            pieces in prop::collection::vec(
                prop_oneof![
                    40 => "[ !#-\\[\\]-~]{0,150}", 40 => "\\\\[nrtbf/\"]", 10 => "(\\\\\\\\){1,3}", 10 => "\\\\u[0-9a-c]{4}",
                    10 => Just("\\ud83d\\ude00".into()), 10 => "é{1,40}", 1 => "\\\\{1,5}", 1 => "\"", 1 => "\u{1}", 1 => "\\\\u[0-9a-e]{4}",
                    1 => "\\\\[xé]",
                ],
                0..60),
        ) {
            let text = pieces.concat();
            let expected = reference(text.as_bytes());
            prop_assert_eq!(end(text.as_bytes(), 0), expected);
            prop_assert_eq!(scan_portable(text.as_bytes(), 0), expected);
        }

        #[test]
        fn a_checked_string_ends_where_it_did(
            pieces in prop::collection::vec(prop_oneof![4 => "[ -!#-\\[\\]-~]{0,400}", 2 => "(\\\\\\\\){1,3}", 4 => "(\\\\\"){1,20}", 1 => "é"], 0..20),
            rest in "[ -~]{0,80}",
        ) {
            let text = format!("{}\"{rest}", pieces.concat());
            prop_assert_eq!(end_of_checked(text.as_bytes(), 0), end(text.as_bytes(), 0).map(|end| end.at));
            let unfinished = pieces.concat();
            prop_assert!(end_of_checked(unfinished.as_bytes(), 0).is_err());
        }

        #[test]
        fn escaped_bytes_follow_a_backslash_that_is_not_escaped(text in "[\\\\a]{0,200}") {
            let (mut expected, mut is_escaped) = (Vec::new(), false);
            for byte in text.bytes() {
                expected.push(is_escaped);
                is_escaped = !is_escaped && byte == b'\\';
            }
            let mut escapes = Escapes::default();
            let mut found = Vec::new();
            for block in text.as_bytes().chunks(BLOCK) {
                let backslash = block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == b'\\'));
                let escaped = escapes.of(backslash);
                found.extend((0..block.len()).map(|index| escaped >> index & 1 == 1));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
