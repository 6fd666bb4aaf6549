//! Places that holders take in turns.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Entries of holders without a turn are removed when there are more.
const MAX_IDLE_HOLDERS: usize = 64;

/// A few places, of which each holder has one at a time, so that one with much work does not delay another with little.
/// Cheap to clone.
#[derive(Debug)]
pub struct Turns<K> {
    places: Arc<Semaphore>,
    /// One permit per holder.
    holders: Arc<Mutex<HashMap<K, Weak<Semaphore>>>>,
}

impl<K> Clone for Turns<K> {
    fn clone(&self) -> Self {
        Self { places: Arc::clone(&self.places), holders: Arc::clone(&self.holders) }
    }
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub struct Turn {
    _place: OwnedSemaphorePermit,
    _holder: OwnedSemaphorePermit,
}

impl<K: Eq + Hash + Clone> Turns<K> {
    pub fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), holders: Arc::default() }
    }

    /// Waits until the holder's earlier turns are over, and then for a place.
    pub async fn take(&self, holder: &K) -> Turn {
        let holder = acquire(self.permits_of(holder)).await;
        Turn { _place: acquire(Arc::clone(&self.places)).await, _holder: holder }
    }

    fn permits_of(&self, holder: &K) -> Arc<Semaphore> {
        let mut holders = self.holders.lock();
        if let Some(known) = holders.get(holder).and_then(Weak::upgrade) {
            return known;
        }
        if holders.len() >= MAX_IDLE_HOLDERS {
            holders.retain(|_, permits| permits.strong_count() > 0);
        }
        let fresh = Arc::new(Semaphore::new(1));
        holders.insert(holder.clone(), Arc::downgrade(&fresh));
        fresh
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.acquire_owned().await.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn a_holder_that_waits_often_does_not_delay_another_one() {
        let turns = Turns::new(1);
        let first = turns.take(&1).await;
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut running = JoinSet::new();
        for (holder, name) in [(1, "second"), (1, "third"), (2, "other")] {
            let (turns, sender) = (turns.clone(), sender.clone());
            running.spawn(async move {
                let _turn = turns.take(&holder).await;
                sender.send(name).unwrap();
            });
            tokio::task::yield_now().await;
        }
        drop(first);
        let served = [order.recv().await, order.recv().await, order.recv().await];
        assert_eq!(served.map(Option::unwrap), ["other", "second", "third"]);
    }

    #[tokio::test]
    async fn holders_without_a_turn_are_forgotten() {
        let turns = Turns::new(1);
        for holder in 0..=u8::MAX {
            turns.take(&holder).await;
        }
        assert!(turns.holders.lock().len() <= MAX_IDLE_HOLDERS);
    }
}
