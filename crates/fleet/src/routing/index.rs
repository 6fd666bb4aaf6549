//! The prefixes that a replica probably has in its cache: those that were sent to it most recently.
//!
//! A set of hashes in the order of their last use, with a bound. Entries lie in one array and are linked by positions;
//! an open-addressing table of 4-byte slots finds them, so that an entry takes 24 bytes and about 6 in the table.
//!
//! A prompt is placed from its longest prefix to its shortest, so a prefix is always more recent than its extensions and is
//! forgotten after them. Therefore the prefixes that are present are the first ones of a chain, and a binary search finds
//! how many there are.

use super::fingerprint::{Fingerprint, PrefixHash};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of one replica before the engine's reports change it.
pub const DEFAULT_CAPACITY: usize = 64 << 10;
/// Entries of all replicas of this process together. With 64 replicas each has 24 Ki, and all take about 50 MB.
pub const TOTAL_CAPACITY: usize = 1536 << 10;
const MIN_CAPACITY: usize = 256;
/// Placements for other nodes that were not collected yet; further ones are not shared.
const MAX_UNSHARED: usize = 4 << 10;

/// By how many predictions the too high ones must outnumber the too low ones before the capacity shrinks, and the other way
/// round before it grows.
const WRONG_BEFORE_CHANGE: i8 = 4;
/// Tokens that a prediction may be too high: a block at the end, and a prompt whose predecessor is still computed.
const TOLERATED_TOO_HIGH: u64 = 512;
/// Tokens that a prediction may be too low: depths are up to 4 KiB apart, and engines cache their responses.
const TOLERATED_TOO_LOW: u64 = 2_048;

/// Indexes with entries. The total bound is divided among them.
static LIVE: AtomicUsize = AtomicUsize::new(0);

const NONE: u32 = u32::MAX;
/// A slot of the table has the position of an entry plus one in its lower bits and a part of the hash above them, so that
/// a search reads hardly any entry that does not match.
const POSITION_BITS: u32 = 17;
const POSITION_MASK: u32 = (1 << POSITION_BITS) - 1;
const EMPTY: u32 = 0;

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: PrefixHash,
    newer: u32,
    older: u32,
}

/// The prefixes of one replica.
#[derive(Debug)]
pub struct PrefixIndex {
    entries: Vec<Entry>,
    /// Positions in `entries`; the length is a power of two.
    table: Vec<u32>,
    newest: u32,
    oldest: u32,
    capacity: usize,
    evictions: u64,
    /// Above zero while predictions were too high, below while they were too low.
    wrong: i8,
    /// Placements that were not reported to other nodes yet; `None` unless they are collected.
    unshared: Option<Vec<PrefixHash>>,
}

impl Default for PrefixIndex {
    fn default() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }
}

impl PrefixIndex {
    /// At most this many entries, and at most [`DEFAULT_CAPACITY`].
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::new(),
            table: Vec::new(),
            newest: NONE,
            oldest: NONE,
            capacity: capacity.min(DEFAULT_CAPACITY),
            evictions: 0,
            wrong: 0,
            unshared: None,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that were forgotten for others.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The bound that applies now.
    pub fn capacity(&self) -> usize {
        let share = TOTAL_CAPACITY / LIVE.load(Ordering::Relaxed).max(1);
        self.capacity.min(share).max(1)
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let unshared = self.unshared.as_ref().map_or(0, Vec::capacity);
        self.entries.capacity() * size_of::<Entry>()
            + self.table.capacity() * size_of::<u32>()
            + unshared * size_of::<PrefixHash>()
    }

    pub fn contains(&self, hash: PrefixHash) -> bool {
        self.find(hash).is_some()
    }

    /// How many of these prefixes, from the shortest, are present. Mostly all or none are, which takes one or two look-ups.
    pub fn depth_of(&self, hashes: &[PrefixHash]) -> usize {
        match hashes {
            [.., longest] if self.contains(*longest) => hashes.len(),
            [shortest, rest @ ..] if self.contains(*shortest) => 1 + rest.partition_point(|hash| self.contains(*hash)),
            _ => 0,
        }
    }

    /// Records that a prompt is sent to the replica.
    pub fn place(&mut self, prompt: &Fingerprint) {
        let placed = prompt.hashes().iter().rev().copied().chain(prompt.session());
        if let Some(unshared) = &mut self.unshared
            && unshared.len() + prompt.hashes().len() < MAX_UNSHARED
        {
            unshared.extend(placed.clone());
        }
        placed.for_each(|hash| self.add(hash));
    }

    /// Records placements of another node, in its order.
    pub fn place_remote(&mut self, hashes: impl IntoIterator<Item = PrefixHash>) {
        hashes.into_iter().for_each(|hash| self.add(hash));
    }

    /// Placements since the last call. They are collected from the first call on.
    pub fn take_unshared(&mut self) -> Vec<PrefixHash> {
        self.unshared.replace(Vec::new()).unwrap_or_default()
    }

    /// Replaces everything by the blocks that the engine reports, the most recent last.
    pub fn replace(&mut self, blocks: impl IntoIterator<Item = PrefixHash>) {
        self.clear();
        self.place_remote(blocks);
    }

    /// Forgets everything, since the replica has restarted.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
        (self.entries, self.table) = (Vec::new(), Vec::new());
        (self.newest, self.oldest, self.wrong) = (NONE, NONE, 0);
        if let Some(unshared) = &mut self.unshared {
            unshared.clear();
        }
    }

    /// Learns from the cached tokens of a prompt: an engine that repeatedly has less than predicted has a smaller cache
    /// than the index, and one that has more has a larger one.
    pub fn learn(&mut self, predicted: u64, real: u64) {
        let step = if predicted > real.saturating_add(TOLERATED_TOO_HIGH) {
            1
        } else if real > predicted.saturating_add(TOLERATED_TOO_LOW) {
            -1
        } else {
            -self.wrong.signum()
        };
        self.wrong += step;
        if self.wrong >= WRONG_BEFORE_CHANGE {
            self.wrong = 0;
            self.capacity = (self.capacity.min(self.len()) * 7 / 8).max(MIN_CAPACITY);
            self.trim();
        } else if self.wrong <= -WRONG_BEFORE_CHANGE {
            self.wrong = 0;
            self.capacity = (self.capacity * 9 / 8).min(DEFAULT_CAPACITY);
        }
    }

    /// Enforces the bound, which falls when other replicas fill their indexes, and returns spare memory.
    pub fn trim(&mut self) {
        let capacity = self.capacity();
        while self.len() > capacity {
            self.forget_oldest();
        }
        if self.len() * 2 < self.entries.capacity() {
            self.entries.shrink_to(self.len() + self.len() / 4);
            self.rebuild_table();
        }
    }

    fn add(&mut self, hash: PrefixHash) {
        if let Some(position) = self.find(hash) {
            if position != self.newest {
                self.unlink(position);
                self.link_newest(position);
            }
            return;
        }
        if self.is_empty() {
            LIVE.fetch_add(1, Ordering::Relaxed);
        }
        while self.len() >= self.capacity() {
            self.forget_oldest();
            if self.is_empty() {
                LIVE.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.grow();
        let position = u32::try_from(self.len()).expect("the capacity is far below 2^32");
        self.entries.push(Entry { hash, newer: NONE, older: NONE });
        self.link_newest(position);
        self.occupy(hash, position);
    }

    /// Makes room for one more entry. Growth by a quarter wastes less than doubling.
    fn grow(&mut self) {
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact((self.entries.len() / 4).max(16));
        }
        if (self.entries.len() + 1) * 4 > self.table.len() * 3 {
            self.rebuild_table();
        }
    }

    fn rebuild_table(&mut self) {
        let slots = ((self.entries.len() + 1) * 4 / 3 + 1).next_power_of_two().max(32);
        self.table = vec![EMPTY; slots];
        for position in 0..self.entries.len() {
            let hash = self.entries[position].hash;
            self.occupy(hash, u32::try_from(position).expect("the capacity is far below 2^32"));
        }
    }

    fn forget_oldest(&mut self) {
        let position = self.oldest;
        if position == NONE {
            return;
        }
        self.evictions += 1;
        self.unlink(position);
        self.vacate(self.entries[position as usize].hash);
        let last = u32::try_from(self.len() - 1).expect("the capacity is far below 2^32");
        if last != position {
            self.relocate(last, position);
        }
        self.entries.pop();
        if self.is_empty() {
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Moves an entry to a free position.
    fn relocate(&mut self, from: u32, to: u32) {
        let entry = self.entries[from as usize];
        if let Some(slot) = self.slot_of(entry.hash) {
            self.table[slot] = slot_value(entry.hash, to);
        }
        match entry.newer {
            NONE => self.newest = to,
            newer => self.entries[newer as usize].older = to,
        }
        match entry.older {
            NONE => self.oldest = to,
            older => self.entries[older as usize].newer = to,
        }
        self.entries[to as usize] = entry;
    }

    fn unlink(&mut self, position: u32) {
        let Entry { newer, older, .. } = self.entries[position as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, position: u32) {
        let before = self.newest;
        let entry = &mut self.entries[position as usize];
        (entry.newer, entry.older) = (NONE, before);
        match before {
            NONE => self.oldest = position,
            before => self.entries[before as usize].newer = position,
        }
        self.newest = position;
    }

    fn find(&self, hash: PrefixHash) -> Option<u32> {
        self.slot_of(hash).map(|slot| (self.table[slot] & POSITION_MASK) - 1)
    }

    /// The slot of an entry that is present.
    fn slot_of(&self, hash: PrefixHash) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let tag = tag_of(hash);
        let mut slot = home_of(hash, mask);
        loop {
            let value = self.table[slot];
            if value == EMPTY {
                return None;
            }
            if value & !POSITION_MASK == tag && self.entries[(value & POSITION_MASK) as usize - 1].hash == hash {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Points the first free slot for this hash to `position`.
    fn occupy(&mut self, hash: PrefixHash, position: u32) {
        let mask = self.table.len() - 1;
        let mut slot = home_of(hash, mask);
        while self.table[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = slot_value(hash, position);
    }

    /// Empties the slot of a hash and moves later ones back, so that no search stops too early.
    fn vacate(&mut self, hash: PrefixHash) {
        let Some(mut hole) = self.slot_of(hash) else { return };
        let mask = self.table.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let value = self.table[slot];
            if value == EMPTY {
                break;
            }
            let home = home_of(self.entries[(value & POSITION_MASK) as usize - 1].hash, mask);
            // Whether the hole lies between its home and its slot, around the end of the table.
            if (slot.wrapping_sub(home) & mask) >= (slot.wrapping_sub(hole) & mask) {
                self.table[hole] = value;
                hole = slot;
            }
        }
        self.table[hole] = EMPTY;
    }
}

impl Drop for PrefixIndex {
    fn drop(&mut self) {
        self.clear();
    }
}

fn home_of(hash: PrefixHash, mask: usize) -> usize {
    // Both halves are uniform; the tag is taken from the other one.
    usize::try_from(hash.0[0] & mask as u64).unwrap_or(0)
}

fn tag_of(hash: PrefixHash) -> u32 {
    ((hash.0[1] >> 32) as u32) & !POSITION_MASK
}

fn slot_value(hash: PrefixHash, position: u32) -> u32 {
    tag_of(hash) | (position + 1)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
