//! A trace: when calls arrive, how long they are, and which blocks of their prompts are equal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use testkit::fake_engine::{BYTES_PER_TOKEN, Simulation};

/// Tokens of a block.
pub(super) const BLOCK_TOKENS: usize = 512;
/// The most tokens of a prompt that is replayed.
const MAX_TOKENS: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceCall {
    pub(super) at: Duration,
    pub(super) input_tokens: usize,
    pub(super) output_tokens: u64,
    pub(super) blocks: Vec<u64>,
}

#[derive(Deserialize)]
struct Line {
    /// In milliseconds.
    timestamp: u64,
    input_length: usize,
    output_length: u64,
    hash_ids: Vec<u64>,
}

/// Calls in order of arrival.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    calls: Vec<TraceCall>,
}

impl Trace {
    pub(super) fn new(mut calls: Vec<TraceCall>) -> Self {
        calls.sort_by_key(|call| call.at);
        Self { calls }
    }

    /// Reads the first calls of a file.
    pub(super) fn read(path: &Path, count: usize) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
        let mut calls = Vec::new();
        for (number, line) in BufReader::new(file).lines().take(count).enumerate() {
            let line: Line =
                serde_json::from_str(&line?).with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            calls.push(TraceCall {
                at: Duration::from_millis(line.timestamp),
                input_tokens: line.input_length.clamp(1, MAX_TOKENS),
                output_tokens: line.output_length.max(1),
                blocks: line.hash_ids,
            });
        }
        ensure!(!calls.is_empty(), "{} has no calls", path.display());
        Ok(Self::new(calls))
    }

    pub(super) fn calls(&self) -> &[TraceCall] {
        &self.calls
    }

    pub(super) fn duration(&self) -> Duration {
        self.calls.last().map_or(Duration::ZERO, |call| call.at)
    }

    /// Gives each call blocks of its own.
    pub(super) fn unshare(&mut self) {
        for (number, block) in (0..).zip(self.calls.iter_mut().flat_map(|call| &mut call.blocks)) {
            *block = number;
        }
    }

    /// One line about the calls and the load that they are without any cache.
    pub(super) fn describe(&self, simulation: &Simulation, replicas: usize) -> String {
        let tokens: usize = self.calls.iter().map(|call| call.input_tokens).sum();
        let capacity = simulation.prefill_tokens_per_second * replicas as f64 * self.duration().as_secs_f64().max(1.0);
        format!(
            "{} calls in {:.0} s, {} prompt tokens each; {replicas} replicas would be {:.0} % busy without a cache",
            self.calls.len(),
            self.duration().as_secs_f64(),
            tokens / self.calls.len().max(1),
            100.0 * tokens as f64 / capacity,
        )
    }
}

impl TraceCall {
    /// The prompt: equal text for equal blocks, cut to its length.
    pub(super) fn prompt(&self) -> String {
        let mut text = String::with_capacity((self.blocks.len() + 1) * BLOCK_TOKENS * BYTES_PER_TOKEN);
        self.blocks.iter().for_each(|block| push_block(&mut text, *block));
        text.truncate(self.input_tokens * BYTES_PER_TOKEN);
        text
    }
}

/// Adds the text of a block: words of 15 letters and digits that follow from its number.
fn push_block(text: &mut String, block: u64) {
    let mut state = block;
    for _ in 0..BLOCK_TOKENS * BYTES_PER_TOKEN / 16 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = mix(state) >> 4;
        // Writing to a string cannot fail.
        let _ = write!(text, "{word:015x} ");
    }
}

/// The finalizer of splitmix64.
pub(super) fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_have_equal_text_and_prompts_have_their_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let lines = [
            r#"{"timestamp": 1000, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]}"#,
            r#"{"timestamp": 0, "input_length": 1500, "output_length": 0, "hash_ids": [7, 9, 10]}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let mut trace = Trace::read(&path, 10).unwrap();
        let prompts: Vec<String> = trace.calls().iter().map(TraceCall::prompt).collect();
        assert_eq!(prompts.iter().map(String::len).collect::<Vec<_>>(), [6_000, 4_000], "in order of arrival");
        assert_eq!(prompts[0][..2_048], prompts[1][..2_048]);
        assert_ne!(prompts[0][2_048..4_000], prompts[1][2_048..4_000]);
        assert_eq!((trace.duration(), trace.calls()[0].output_tokens), (Duration::from_secs(1), 1));
        trace.unshare();
        assert_ne!(trace.calls()[0].prompt()[..2_048], trace.calls()[1].prompt()[..2_048]);
        std::fs::write(&path, "{}").unwrap();
        assert!(Trace::read(&path, 1).unwrap_err().to_string().contains("line 1"));
    }
}
