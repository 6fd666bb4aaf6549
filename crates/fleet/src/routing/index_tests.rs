use super::*;
use crate::routing::FingerprintBuilder;
use proptest::prelude::*;

fn hash(number: u64) -> PrefixHash {
    let mix =
        |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    PrefixHash([mix(number + 1), mix(number ^ 0xffff)])
}

/// A prompt of whole kibibytes, each with its own content.
fn prompt(kibibytes: &[u8]) -> Fingerprint {
    let mut builder = FingerprintBuilder::new(7, 0);
    kibibytes.iter().for_each(|content| builder.text(&[*content; 1 << 10]));
    builder.finish(None)
}

#[test]
fn the_longest_prefix_that_was_sent_is_found() {
    let mut index = PrefixIndex::default();
    assert_eq!(index.depth_of(prompt(&[1, 2]).hashes()), 0);
    index.place(&prompt(&[1, 2, 3, 4]));
    let depths = [&[1, 2, 3, 4, 5][..], &[1, 2, 9], &[9, 2, 3], &[1]].map(|one| index.depth_of(prompt(one).hashes()));
    assert_eq!(depths, [4, 2, 0, 1]);
    index.clear();
    assert_eq!((index.depth_of(prompt(&[1]).hashes()), index.len(), index.memory()), (0, 0, 0));
    index.replace(prompt(&[1, 2]).hashes().iter().rev().copied());
    assert_eq!(index.depth_of(prompt(&[1, 2, 3]).hashes()), 2);
}

#[test]
fn extensions_are_forgotten_before_their_prefixes() {
    let mut index = PrefixIndex::with_capacity(3);
    index.place(&prompt(&[1, 2, 3, 4, 5]));
    assert_eq!((index.depth_of(prompt(&[1, 2, 3, 4, 5]).hashes()), index.evictions()), (3, 2));
    index.place(&prompt(&[9]));
    assert_eq!(index.depth_of(prompt(&[1, 2, 3]).hashes()), 2);
}

#[test]
fn the_capacity_follows_what_the_engine_reports() {
    let mut index = PrefixIndex::default();
    (0..2_000).for_each(|number| index.add(hash(number)));
    for _ in 0..3 {
        index.learn(5_000, 0);
        index.learn(5_000, 5_000);
    }
    assert_eq!(index.len(), 2_000, "single misses change nothing");
    for _ in 0..4 {
        index.learn(5_000, 0);
    }
    assert_eq!((index.len(), index.capacity()), (1_750, 1_750));
    for _ in 0..1_000 {
        index.learn(5_000, 0);
    }
    assert_eq!(index.len(), MIN_CAPACITY, "never nothing at all");
    for _ in 0..1_000 {
        index.learn(0, 5_000);
    }
    assert_eq!(index.capacity(), DEFAULT_CAPACITY);
}

#[test]
fn placements_are_collected_for_other_nodes_once_they_are_wanted() {
    let (mut index, mut other) = (PrefixIndex::default(), PrefixIndex::default());
    index.place(&prompt(&[1]));
    assert!(index.take_unshared().is_empty());
    index.place(&prompt(&[1, 2, 3]));
    other.place_remote(index.take_unshared());
    assert_eq!(other.depth_of(prompt(&[1, 2, 3, 4]).hashes()), 3);
    assert!(index.take_unshared().is_empty());
    for number in 0..u8::MAX {
        index.place(&prompt(&[number; 100]));
    }
    assert!(index.take_unshared().len() <= MAX_UNSHARED);
    index.place(&prompt(&[1, 2]));
    index.clear();
    assert!(index.take_unshared().is_empty(), "a replica that has restarted has nothing");
}

/// The goal of the design: a million prompts over 64 replicas in 64 MB.
#[test]
fn a_million_prompts_at_64_replicas_fit_in_64_megabytes() {
    let mut indexes: Vec<PrefixIndex> = (0..64).map(|_| PrefixIndex::default()).collect();
    indexes.iter_mut().for_each(|index| drop(index.take_unshared()));
    let mut most = 0;
    for number in 0..1_000_000 {
        let at = (number % 64) as usize;
        // Two prefixes of its own each.
        indexes[at].add(hash(2 * number));
        indexes[at].add(hash(2 * number + 1));
        if number % 100_000 == 0 {
            indexes.iter_mut().for_each(PrefixIndex::trim);
            most = most.max(indexes.iter().map(PrefixIndex::memory).sum::<usize>());
        }
    }
    let entries: usize = indexes.iter().map(PrefixIndex::len).sum();
    let memory = most.max(indexes.iter().map(PrefixIndex::memory).sum());
    assert!(entries <= TOTAL_CAPACITY && entries > TOTAL_CAPACITY / 2, "{entries}");
    assert!(memory <= 64_000_000, "{memory}");
}

/// The obvious implementation: the most recent entry is last.
#[derive(Default)]
struct Model(Vec<PrefixHash>);

impl Model {
    fn add(&mut self, hash: PrefixHash, capacity: usize) {
        self.0.retain(|other| *other != hash);
        self.0.push(hash);
        if self.0.len() > capacity {
            self.0.remove(0);
        }
    }
}

proptest! {
    #[test]
    fn it_is_a_set_of_the_most_recent_entries(
        capacity in 1..40usize, numbers in prop::collection::vec(0..60u64, 0..400),
    ) {
        let (mut index, mut model) = (PrefixIndex::with_capacity(capacity), Model::default());
        for number in numbers {
            index.add(hash(number));
            model.add(hash(number), capacity);
            prop_assert_eq!(index.len(), model.0.len());
        }
        for number in 0..60 {
            prop_assert_eq!(index.contains(hash(number)), model.0.contains(&hash(number)));
        }
    }

    #[test]
    fn the_prefixes_present_are_always_the_first_ones(
        capacity in 1..30usize, prompts in prop::collection::vec(prop::collection::vec(0..3u8, 0..8), 1..60),
    ) {
        let mut index = PrefixIndex::with_capacity(capacity);
        for contents in &prompts {
            index.place(&prompt(contents));
            for other in &prompts {
                let other = prompt(other);
                let present: Vec<bool> = other.hashes().iter().map(|hash| index.contains(*hash)).collect();
                let depth = index.depth_of(other.hashes());
                prop_assert!(present[..depth].iter().all(|present| *present));
                prop_assert!(present[depth..].iter().all(|present| !present), "{:?}", present);
            }
        }
    }

    #[test]
    fn trimming_keeps_the_most_recent(numbers in prop::collection::vec(0..500u64, 0..600), capacity in 1..300usize) {
        let mut index = PrefixIndex::default();
        let mut model = Model::default();
        for number in &numbers {
            index.add(hash(*number));
            model.add(hash(*number), usize::MAX);
        }
        index.capacity = capacity;
        index.trim();
        let kept = &model.0[model.0.len().saturating_sub(capacity)..];
        prop_assert_eq!(index.len(), kept.len());
        prop_assert!(kept.iter().all(|hash| index.contains(*hash)));
    }
}
