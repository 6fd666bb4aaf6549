//! What a model usually writes in a workspace, which the charge of a call against tokens per minute expects.
//!
//! A decaying average per workspace and model over the calls that ended by themselves. The averages of this node lie in a
//! table of a fixed size, each at the place that its hash selects, together with a part of the hash. Two that share a place
//! replace each other, and begin without an average again: the table needs no lock and no list of what to forget.

use domain::{ModelId, WorkspaceId};
use foldhash::quality::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 128 KiB.
const PLACES: usize = 16 << 10;
/// A call changes the average by this part of the difference.
const DECAY: u64 = 8;
/// Averages are kept in these parts of a token, so that small differences count.
const FRACTION: u64 = 16;
const AVERAGE_BITS: u32 = 32;
const MAX_AVERAGE: u64 = (1 << AVERAGE_BITS) - 1;

/// The averages of this node. Clones share them.
#[derive(Clone)]
pub struct CompletionAverages {
    shared: Arc<Table>,
}

struct Table {
    hasher: RandomState,
    /// The upper half of each is that of the hash, the lower half the average. 0 if there is none.
    places: Box<[AtomicU64]>,
}

/// The average of one workspace and model.
pub(super) struct CompletionAverage {
    shared: Arc<Table>,
    hash: u64,
}

impl Default for CompletionAverages {
    fn default() -> Self {
        let places = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { shared: Arc::new(Table { hasher: RandomState::default(), places }) }
    }
}

impl CompletionAverages {
    pub(super) fn of(&self, workspace: &WorkspaceId, model: &ModelId) -> CompletionAverage {
        CompletionAverage { hash: self.shared.hasher.hash_one((workspace, model)), shared: Arc::clone(&self.shared) }
    }
}

impl CompletionAverage {
    /// The tokens of one choice; `None` before the first call.
    pub(super) fn tokens(&self) -> Option<u64> {
        self.average().map(|average| average / FRACTION)
    }

    /// Learns from a call that generated this many tokens per choice. Of two calls that end at the same moment, one may
    /// be lost, which changes little.
    pub(super) fn learn(&self, tokens: u64) {
        let seen = tokens.saturating_mul(FRACTION).min(MAX_AVERAGE);
        let average = match self.average() {
            Some(before) => before - before / DECAY + seen / DECAY,
            None => seen,
        };
        self.place().store(self.tag() | average.min(MAX_AVERAGE), Ordering::Relaxed);
    }

    fn average(&self) -> Option<u64> {
        let found = self.place().load(Ordering::Relaxed);
        (found != 0 && found & !MAX_AVERAGE == self.tag()).then_some(found & MAX_AVERAGE)
    }

    fn place(&self) -> &AtomicU64 {
        &self.shared.places[self.hash as usize % PLACES]
    }

    fn tag(&self) -> u64 {
        self.hash & !MAX_AVERAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    fn workspace(number: u128) -> WorkspaceId {
        WorkspaceId::new(Timestamp::from_millis(1), number)
    }

    #[test]
    fn the_average_follows_the_calls_of_its_workspace_and_model() {
        let all = CompletionAverages::default();
        let [small, large] = ["a/small", "a/large"].map(|id| ModelId::parse(id).unwrap());
        let average = all.of(&workspace(1), &small);
        assert_eq!(average.tokens(), None);
        average.learn(300);
        assert_eq!(average.tokens(), Some(300));
        average.learn(1_100);
        assert_eq!(average.tokens(), Some(400));
        (0..100).for_each(|_| all.clone().of(&workspace(1), &small).learn(50));
        assert!((50..60).contains(&average.tokens().unwrap()), "{:?}", average.tokens());
        assert_eq!(all.of(&workspace(1), &large).tokens(), None);
        assert_eq!(all.of(&workspace(2), &small).tokens(), None);
    }

    #[test]
    fn the_table_is_bounded_and_absurd_counts_do_no_harm() {
        let all = CompletionAverages::default();
        let model = ModelId::parse("a/b").unwrap();
        for number in 0..100_000 {
            let average = all.of(&workspace(number), &model);
            assert!(average.tokens().is_none_or(|tokens| tokens < 10), "another average is never taken for this one");
            average.learn(7);
            assert_eq!(average.tokens(), Some(7));
        }
        let average = all.of(&workspace(1), &model);
        average.learn(u64::MAX);
        average.learn(u64::MAX);
        assert!(average.tokens().unwrap() <= MAX_AVERAGE);
        average.learn(0);
    }
}
