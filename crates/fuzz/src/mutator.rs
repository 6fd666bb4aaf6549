//! Damages inputs at random.

use fastrand::Rng;
use std::ops::Range;

/// Longer inputs are cut off: they cost time and rarely reach other code.
const MAX_INPUT: usize = 8 << 10;
/// Bytes that parsers treat specially.
const SPECIAL: &[u8] = b"\0\t\n\r \"#%&'()+,-./0159:;<=>?@AZ[\\]_afxz{|}~\x7f\x80\xc3\xff";

pub(crate) struct Mutator {
    rng: Rng,
    words: Vec<&'static str>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, words: Vec<&'static str>) -> Self {
        Self { rng: Rng::with_seed(seed), words }
    }

    /// One of the inputs with one to eight changes. Newer inputs are preferred, because they reached new code last.
    pub(crate) fn mutate(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let oldest = if self.rng.bool() { inputs.len() / 2 } else { 0 };
        let mut bytes = inputs[self.rng.usize(oldest..inputs.len())].clone();
        for _ in 0..1 << self.rng.u32(0..4) {
            self.change(&mut bytes, inputs);
        }
        bytes.truncate(MAX_INPUT);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.rng.usize(0..=bytes.len());
        match self.rng.u8(0..10) {
            0 => self.flip_bit(bytes),
            1 => {
                let byte = self.byte();
                bytes.splice(at..bytes.len().min(at + 1), [byte]);
            }
            2 => bytes.insert(at, self.byte()),
            3 => drop(bytes.drain(self.range(bytes.len()))),
            4 => {
                let copied = bytes[self.range(bytes.len())].to_vec();
                bytes.splice(at..at, copied);
            }
            5 => {
                let word = self.word();
                bytes.splice(at..at, word);
            }
            6 => {
                let (range, word) = (self.range(bytes.len()), self.word());
                bytes.splice(range, word);
            }
            7 => self.change_digit(bytes, at),
            8 => {
                let other = &inputs[self.rng.usize(0..inputs.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.rng.usize(0..=other.len())..]);
            }
            _ => {
                let other = &inputs[self.rng.usize(0..inputs.len())];
                let part = other[self.range(other.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }

    fn flip_bit(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            let at = self.rng.usize(0..bytes.len());
            bytes[at] ^= 1 << self.rng.u8(0..8);
        }
    }

    /// Numbers decide where things end, so they are changed more often than other bytes.
    fn change_digit(&mut self, bytes: &mut [u8], from: usize) {
        if let Some(digit) = bytes[from..].iter_mut().find(|byte| byte.is_ascii_digit()) {
            *digit = b'0' + self.rng.u8(0..10);
        }
    }

    fn byte(&mut self) -> u8 {
        if self.rng.bool() { SPECIAL[self.rng.usize(0..SPECIAL.len())] } else { self.rng.u8(..) }
    }

    fn word(&mut self) -> Vec<u8> {
        if self.words.is_empty() {
            return vec![self.byte()];
        }
        self.words[self.rng.usize(0..self.words.len())].as_bytes().to_vec()
    }

    /// A range within `length`, mostly short.
    fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.rng.usize(0..=length);
        let most = if self.rng.u8(0..8) == 0 { length } else { 16 };
        start..length.min(start + self.rng.usize(0..=most))
    }
}
