//! The lines that a node has claimed, which it keeps from others until their ends are stored.

use super::{LEASE_MILLIS, RENEW_PERIOD};
use control::batches::BatchStorage;
use domain::{BatchId, RunId};
use node::clock;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Clones share the lines. A line that is not among them runs again, here or elsewhere, when its lease has ended.
#[derive(Debug, Default, Clone)]
pub(super) struct HeldLines(Arc<Mutex<HashMap<BatchId, HashSet<u64>>>>);

impl HeldLines {
    pub(super) fn add(&self, batch: &BatchId, numbers: impl IntoIterator<Item = u64>) {
        self.0.lock().entry(batch.clone()).or_default().extend(numbers);
    }

    pub(super) fn remove(&self, batch: &BatchId, number: u64) {
        let mut held = self.0.lock();
        if let Some(numbers) = held.get_mut(batch) {
            numbers.remove(&number);
            if numbers.is_empty() {
                held.remove(batch);
            }
        }
    }

    fn all(&self) -> Vec<(BatchId, Vec<u64>)> {
        self.0.lock().iter().map(|(batch, numbers)| (batch.clone(), numbers.iter().copied().collect())).collect()
    }

    /// Renews their leases.
    pub(super) async fn renew(self, storage: BatchStorage, run: RunId) {
        loop {
            tokio::time::sleep(RENEW_PERIOD).await;
            for (batch, numbers) in self.all() {
                let until = clock::now().plus_millis(LEASE_MILLIS);
                if let Err(error) = storage.renew(&run, &batch, &numbers, until).await {
                    tracing::debug!(%error, "the lines of {batch} cannot be kept");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;

    #[test]
    fn a_line_whose_end_is_stored_is_not_kept() {
        let held = HeldLines::default();
        let [one, other] = [1, 2].map(|unique| BatchId::new(Timestamp::from_millis(1), unique));
        held.add(&one, [1, 2]);
        held.add(&other, [1]);
        held.remove(&one, 1);
        held.remove(&other, 1);
        held.remove(&other, 1);
        assert_eq!(held.all(), [(one, vec![2])]);
    }
}
