//! Generates traces. The same kind and number of calls always give the same trace.

use std::time::Duration;

use clap::ValueEnum;

use super::trace::{BLOCK_TOKENS, Trace, TraceCall, mix};

/// Calls per second that keep eight replicas of 6,500 tokens per second about three quarters busy without a cache, at
/// 12,000 tokens each.
const CALLS_PER_SECOND: f64 = 3.3;

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Chats that share a system prompt and grow with each turn.
    Conversations,
    /// Prompts that share nothing.
    Unshared,
    /// A few long prefixes, some of them far more frequent than others, with short endings of their own.
    Hot,
    /// Sessions that grow to 100,000 tokens, of which each call repeats about 95 %.
    Agents,
}

pub(super) fn generate(shape: Shape, count: usize) -> Trace {
    let mut source = Source { state: 1, next_block: 1 << 32, at: 0.0 };
    let calls = match shape {
        Shape::Conversations => source.sessions(count, 300, |source, _| source.between(4, 36), 1, 60),
        Shape::Agents => source.sessions(count, 40, |source, _| source.between(4, 12), 16, 200),
        Shape::Unshared => {
            let call = |source: &mut Source| {
                let length = source.between(1, 47);
                source.fresh(length)
            };
            source.calls(count, call)
        }
        Shape::Hot => source.calls(count, |source| {
            // The first prefix is about twice as frequent as the second, and so on.
            let prefix = u64::from(source.next().leading_zeros().min(15));
            let length = 16 + prefix * 3;
            let mut blocks: Vec<u64> = (0..length).map(|block| (prefix << 16) + block).collect();
            let ending = source.between(1, 6);
            blocks.extend(source.fresh(ending));
            blocks
        }),
    };
    Trace::new(calls)
}

/// Random numbers, fresh blocks and arrival times.
struct Source {
    state: u64,
    next_block: u64,
    at: f64,
}

impl Source {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// Blocks that no other prompt has.
    fn fresh(&mut self, count: u64) -> Vec<u64> {
        self.next_block += count;
        (self.next_block - count..self.next_block).collect()
    }

    /// The time of the next call; arrivals are independent of each other.
    fn arrive(&mut self) -> Duration {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        self.at += -(1.0 - uniform).ln() / CALLS_PER_SECOND;
        Duration::from_secs_f64(self.at)
    }

    fn calls(&mut self, count: usize, mut blocks: impl FnMut(&mut Self) -> Vec<u64>) -> Vec<TraceCall> {
        let call = |_| {
            let blocks = blocks(self);
            self.call(blocks)
        };
        (0..count).map(call).collect()
    }

    /// Calls of `open` sessions at a time, which share `shared` blocks, grow by `growth` and end at `most` blocks.
    fn sessions(
        &mut self,
        count: usize,
        open: u64,
        growth: impl Fn(&mut Self, usize) -> u64,
        shared: u64,
        most: usize,
    ) -> Vec<TraceCall> {
        let begin: Vec<u64> = (0..shared).collect();
        let mut sessions = vec![begin.clone(); usize::try_from(open).unwrap_or(1)];
        self.calls(count, |source| {
            let number = usize::try_from(source.between(0, open - 1)).unwrap_or(0);
            let added = growth(source, number);
            let added = source.fresh(added);
            let session = &mut sessions[number];
            if session.len() + added.len() > most {
                session.clone_from(&begin);
            }
            session.extend(added);
            session.clone()
        })
    }

    fn call(&mut self, blocks: Vec<u64>) -> TraceCall {
        let output_tokens = self.between(50, 600);
        TraceCall { at: self.arrive(), input_tokens: blocks.len() * BLOCK_TOKENS, output_tokens, blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The share of blocks that an earlier call had.
    fn reuse(shape: Shape) -> f64 {
        let trace = generate(shape, 2_000);
        let (mut seen, mut repeated, mut all) = (HashSet::new(), 0, 0);
        for call in trace.calls() {
            all += call.blocks.len();
            repeated += call.blocks.iter().filter(|block| !seen.insert(**block)).count();
        }
        f64::from(u32::try_from(repeated).unwrap()) / f64::from(u32::try_from(all).unwrap())
    }

    #[test]
    fn kinds_differ_in_what_calls_share() {
        let [unshared, conversations, hot, agents] =
            [Shape::Unshared, Shape::Conversations, Shape::Hot, Shape::Agents].map(reuse);
        assert!(unshared < 0.001, "{unshared}");
        assert!((0.2..0.7).contains(&conversations), "{conversations}");
        assert!((0.7..0.95).contains(&hot), "{hot}");
        assert!(agents > 0.85, "{agents}");
    }

    #[test]
    fn a_trace_is_always_the_same() {
        let [one, other] = [(); 2].map(|()| generate(Shape::Agents, 100));
        assert_eq!(one.calls(), other.calls());
    }
}
