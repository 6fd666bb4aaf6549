//! Leader election: takes, renews and gives back the term.
//!
//! Time is tokio's monotonic clock, which no one can set and which tests can pause.

use super::Parts;
use super::rows::Rows;
use domain::Timestamp;
use domain::leadership::{Action, Watch, may_act};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;
use store::{Store, StoreError, leader};
use tokio::sync::Notify;

/// This node's epoch and when it was last renewed; `None` if it does not lead. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Leadership(Arc<Mutex<Option<(u64, Instant)>>>);

impl Leadership {
    /// The epoch in which this node may act now.
    pub(super) fn epoch(&self) -> Option<u64> {
        let held = *self.0.lock();
        held.filter(|(_, renewed_at)| may_act(*renewed_at, monotonic_now())).map(|(epoch, _)| epoch)
    }

    /// The leadership of a node that has just renewed its term.
    pub(super) fn renewed(epoch: u64) -> Self {
        let leadership = Self::default();
        leadership.set(Some((epoch, monotonic_now())));
        leadership
    }

    fn set(&self, held: Option<(u64, Instant)>) {
        *self.0.lock() = held;
    }
}

/// Takes over a free term, and renews its own.
pub(super) struct Elector<S> {
    store: S,
    node: String,
    now: fn() -> Timestamp,
    nudge: Arc<Notify>,
    watch: Option<Watch>,
    leadership: Leadership,
}

impl<S: Rows> Elector<S> {
    pub(super) fn new<D>(parts: &Parts<D, S>, leadership: Leadership) -> Self {
        let (store, node, nudge) = (parts.store.clone(), parts.node.clone(), Arc::clone(&parts.nudge));
        Self { store, node, now: parts.now, nudge, watch: None, leadership }
    }

    pub(super) async fn tick(&mut self) -> Result<(), StoreError> {
        // Read before the store is called: a slow response must not prolong the term.
        let now = monotonic_now();
        let term = self.store.term().await?;
        let watch = self.watch.get_or_insert_with(|| Watch::new(term.clone(), now));
        match watch.observe(&term, &self.node, now) {
            Action::Renew => {
                let renewed = self.store.renew(term.epoch, &self.node, (self.now)()).await?;
                self.leadership.set(renewed.then_some((term.epoch, now)));
            }
            Action::TakeOver => {
                if let Some(taken) = self.store.take_over(&term, &self.node, (self.now)()).await? {
                    tracing::info!(epoch = taken.epoch, "this node leads the control plane");
                    self.leadership.set(Some((taken.epoch, now)));
                    self.nudge.notify_one();
                }
            }
            Action::Wait => self.leadership.set(None),
        }
        Ok(())
    }
}

fn monotonic_now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Gives back this node's term, so that another node can lead at once.
pub async fn resign(store: &Store, node: &str) -> Result<(), StoreError> {
    let term = leader::read(store).await?;
    if term.holder == node {
        leader::resign(store, term.epoch, node).await?;
    }
    Ok(())
}
