//! Replays generated conversations over simulated replicas: the rule must wait less than least connections does.
//!
//! A replica computes prompts one after another and has an LRU cache of blocks. Time is simulated, so the result does not
//! depend on the machine.

use super::policy::{Candidate, Cheapest};
use super::{Fingerprint, FingerprintBuilder, PrefixIndex};
use crate::routing::fingerprint::covered_bytes;
use std::collections::{HashMap, VecDeque};

const REPLICAS: usize = 8;
const BLOCK_TOKENS: u64 = 512;
const CACHE_BLOCKS: usize = 1_500;
const TOKENS_PER_SECOND: f64 = 6_500.0;
const OVERHEAD_SECS: f64 = 0.05;
const DECODE_SECS: f64 = 4.0;

struct SimulatedCall {
    at: f64,
    blocks: Vec<u64>,
}

/// Calls of conversations that share `shared` first blocks and grow with each turn.
fn conversations(seed: u64, count: usize, shared: usize, secs_between_calls: f64) -> Vec<SimulatedCall> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut calls = Vec::new();
    let mut next_block = 1_000;
    for conversation in 0..count {
        let mut blocks: Vec<u64> = (0..shared as u64).collect();
        // Turns take about a minute each, and conversations overlap.
        let mut at = conversation as f64 * secs_between_calls * 4.0;
        for _ in 0..random.usize(2..7) {
            let added = random.u64(2..16);
            blocks.extend(next_block..next_block + added);
            next_block += added;
            calls.push(SimulatedCall { at, blocks: blocks.clone() });
            at += 20.0 + 80.0 * random.f64();
        }
    }
    calls.sort_by(|one, other| one.at.total_cmp(&other.at));
    calls
}

#[derive(Default)]
struct SimulatedReplica {
    /// The cached blocks with the time of their last use.
    cache: HashMap<u64, u64>,
    uses: u64,
    prefill_ends: f64,
    /// First event, end, and uncached estimate of open calls.
    open: VecDeque<(f64, f64, u64)>,
    index: PrefixIndex,
}

impl SimulatedReplica {
    /// Serves a call and returns when its first event is sent.
    fn serve(&mut self, call: &SimulatedCall, estimate: u64) -> f64 {
        let cached = call.blocks.iter().take_while(|block| self.cache.contains_key(block)).count();
        let uncached = (call.blocks.len() - cached) as u64 * BLOCK_TOKENS;
        for block in call.blocks.iter().rev() {
            self.uses += 1;
            self.cache.insert(*block, self.uses);
        }
        while self.cache.len() > CACHE_BLOCKS {
            let oldest = self.cache.iter().min_by_key(|(_, used)| **used).map(|(block, _)| *block);
            oldest.map(|block| self.cache.remove(&block));
        }
        let first = self.prefill_ends.max(call.at) + OVERHEAD_SECS + uncached as f64 / TOKENS_PER_SECOND;
        self.prefill_ends = first;
        self.open.push_back((first, first + DECODE_SECS, estimate));
        first
    }

    fn settle(&mut self, now: f64) {
        self.open.retain(|(_, end, _)| *end > now);
    }

    fn candidate(&self, number: usize, call: &SimulatedCall, prompt: &Fingerprint) -> Candidate<usize> {
        let prefilling = self.open.iter().filter(|(first, ..)| *first > call.at);
        let cached = covered_bytes(self.index.depth_of(prompt.hashes())) / 4;
        Candidate {
            replica: number,
            queued: prefilling.clone().map(|(_, _, uncached)| uncached).sum(),
            running: (self.open.len() - prefilling.count()) as u64,
            cached,
            uncached: prompt.bytes() / 4 - cached,
            has_session: false,
            is_foreign: false,
        }
    }
}

fn fingerprint(call: &SimulatedCall) -> Fingerprint {
    let mut builder = FingerprintBuilder::new(1, call.blocks.len() * 2_048);
    for block in &call.blocks {
        builder.text(&block.to_le_bytes().repeat(256));
    }
    builder.finish(None)
}

fn mean_wait(
    calls: &[SimulatedCall],
    mut choose: impl FnMut(&mut [SimulatedReplica], &SimulatedCall) -> (usize, u64),
) -> f64 {
    let mut replicas: Vec<SimulatedReplica> = (0..REPLICAS).map(|_| SimulatedReplica::default()).collect();
    let mut waited = 0.0;
    for call in calls {
        replicas.iter_mut().for_each(|replica| replica.settle(call.at));
        let (chosen, estimate) = choose(&mut replicas, call);
        waited += replicas[chosen].serve(call, estimate) - call.at;
    }
    waited / calls.len() as f64
}

fn by_rule(calls: &[SimulatedCall]) -> f64 {
    let mut random = fastrand::Rng::with_seed(9);
    mean_wait(calls, |replicas, call| {
        let prompt = fingerprint(call);
        let mut cheapest = Cheapest::default();
        for (number, replica) in replicas.iter().enumerate() {
            cheapest.offer(replica.candidate(number, call, &prompt), |below| random.u32(..below));
        }
        let (best, _) = cheapest.take().unwrap();
        replicas[best.replica].index.place(&prompt);
        (best.replica, best.uncached)
    })
}

fn by_least_connections(calls: &[SimulatedCall]) -> f64 {
    let mut random = fastrand::Rng::with_seed(9);
    mean_wait(calls, |replicas, _| {
        let least = replicas.iter().map(|replica| replica.open.len()).min().unwrap_or(0);
        let free: Vec<usize> = (0..REPLICAS).filter(|number| replicas[*number].open.len() == least).collect();
        (free[random.usize(..free.len())], 0)
    })
}

#[test]
fn conversations_wait_less_than_half_as_long_as_with_least_connections() {
    let calls = conversations(1, 400, 4, 0.25);
    let (ours, theirs) = (by_rule(&calls), by_least_connections(&calls));
    assert!(ours < theirs * 0.5, "{ours:.2} s against {theirs:.2} s");
}

#[test]
fn prompts_that_share_nothing_wait_less_too() {
    let mut calls = conversations(2, 400, 0, 0.25);
    for (number, call) in calls.iter_mut().enumerate() {
        call.blocks.iter_mut().for_each(|block| *block += (number as u64 + 1) << 32);
    }
    let (ours, theirs) = (by_rule(&calls), by_least_connections(&calls));
    assert!(ours < theirs * 0.9, "{ours:.2} s against {theirs:.2} s");
}
