//! Coverage counters, one byte per edge of the program, which LLVM adds to a build with
//! `-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-inline-8bit-counters`.
//!
//! Each instrumented object calls [`__sanitizer_cov_8bit_counters_init`] before `main`. In other builds nothing calls it,
//! and there are no counters.

use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The counters of the program. Atomic, because the program changes them while we hold references.
static COUNTERS: Mutex<Vec<&'static [AtomicU8]>> = Mutex::new(Vec::new());

#[expect(unsafe_code, reason = "the instrumentation calls a function of this name")]
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut AtomicU8, end: *mut AtomicU8) {
    let length = end.addr().saturating_sub(start.addr());
    let mut known = COUNTERS.lock().expect("nothing panics while it is locked");
    if length > 0 && !known.iter().any(|counters| counters.as_ptr().addr() == start.addr()) {
        // SAFETY: LLVM passes the bounds of a static array of bytes, which lives as long as the program.
        known.push(unsafe { slice::from_raw_parts(start, length) });
    }
}

/// Which edges were reached so far, and about how often within one execution.
pub(crate) struct Coverage {
    counters: Vec<&'static [AtomicU8]>,
    /// Per counter, one bit for each class of counts seen.
    seen: Vec<Vec<u8>>,
}

impl Coverage {
    pub(crate) fn new() -> Self {
        let counters = COUNTERS.lock().expect("nothing panics while it is locked").clone();
        let seen = counters.iter().map(|counters| vec![0; counters.len()]).collect();
        Self { counters, seen }
    }

    pub(crate) fn is_measured(&self) -> bool {
        !self.counters.is_empty()
    }

    /// Clears the counters.
    pub(crate) fn begin(&self) {
        for counters in &self.counters {
            each_set(counters, |_, _| ());
        }
    }

    /// Takes the counters since [`Self::begin`]; returns whether they differ from all before.
    pub(crate) fn end(&mut self) -> bool {
        let mut is_new = false;
        for (counters, seen) in self.counters.iter().zip(&mut self.seen) {
            each_set(counters, |at, count| {
                is_new |= seen[at] & class(count) == 0;
                seen[at] |= class(count);
            });
        }
        is_new
    }

    /// How many edges were reached.
    pub(crate) fn reached(&self) -> usize {
        self.seen.iter().flatten().filter(|classes| **classes != 0).count()
    }
}

/// Passes every counter above zero to `take`, and sets it to zero. Most are zero, so eight are tested at once.
fn each_set(counters: &[AtomicU8], mut take: impl FnMut(usize, u8)) {
    // SAFETY: an AtomicU64 has no invalid values, and `align_to` returns only words that are aligned.
    #[expect(unsafe_code, reason = "counters are read in words")]
    let (before, words, after) = unsafe { counters.align_to::<AtomicU64>() };
    let mut take_bytes = |start: usize, bytes: &[AtomicU8]| {
        for (at, counter) in bytes.iter().enumerate() {
            let count = counter.swap(0, Ordering::Relaxed);
            if count > 0 {
                take(start + at, count);
            }
        }
    };
    take_bytes(0, before);
    for (index, word) in words.iter().enumerate() {
        if word.load(Ordering::Relaxed) != 0 {
            let start = before.len() + index * 8;
            take_bytes(start, &counters[start..start + 8]);
        }
    }
    take_bytes(counters.len() - after.len(), after);
}

/// A bit for the size of a count, as other fuzzers group them.
fn class(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128..=255 => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_new_once_per_class_and_cleared() {
        let counters: &'static [AtomicU8] = Box::leak((0..21).map(|_| AtomicU8::new(0)).collect());
        let mut coverage = Coverage { counters: vec![counters], seen: vec![vec![0; counters.len()]] };
        let mut run = |at: usize, count: u8| {
            coverage.begin();
            counters[at].store(count, Ordering::Relaxed);
            let is_new = coverage.end();
            assert!(counters.iter().all(|counter| counter.load(Ordering::Relaxed) == 0));
            is_new
        };
        for at in 0..21 {
            assert!(run(at, 1) && !run(at, 1), "{at}");
            assert!(run(at, 20) && !run(at, 31), "{at}");
        }
        assert_eq!(coverage.reached(), 21);
    }
}
