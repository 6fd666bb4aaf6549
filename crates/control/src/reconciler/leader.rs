//! Whether this node leads.

use super::Parts;
use domain::Timestamp;
use domain::leadership::{Action, LOOK_EVERY_MILLIS, Watch, may_act};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Store, StoreError, leader};
use tokio::sync::Notify;

/// The epoch that is this node's, and when it was last confirmed. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Leadership(Arc<Mutex<Option<(u64, Timestamp)>>>);

impl Leadership {
    /// The epoch in which this node may act now, if it may.
    pub(super) fn epoch(&self, now: Timestamp) -> Option<u64> {
        let held = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.filter(|(_, renewed_at)| may_act(*renewed_at, now)).map(|(epoch, _)| epoch)
    }

    fn set(&self, held: Option<(u64, Timestamp)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }
}

/// Takes the term when it is free, and renews it.
pub(super) struct Keeper {
    store: Store,
    node: String,
    now: fn() -> Timestamp,
    nudge: Arc<Notify>,
    watch: Option<Watch>,
    leadership: Leadership,
}

impl Keeper {
    pub(super) fn new<D>(parts: &Parts<D>, leadership: Leadership) -> Self {
        let (store, node, nudge) = (parts.store.clone(), parts.node.clone(), Arc::clone(&parts.nudge));
        Self { store, node, now: parts.now, nudge, watch: None, leadership }
    }

    pub(super) async fn keep(mut self) {
        loop {
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "the term of the control plane cannot be looked at");
            }
            tokio::time::sleep(Duration::from_millis(LOOK_EVERY_MILLIS)).await;
        }
    }

    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        // Before the store is asked: an answer that takes long makes the term no longer.
        let now = (self.now)();
        let term = leader::read(&self.store).await?;
        let watch = self.watch.get_or_insert_with(|| Watch::new(term.clone(), now));
        match watch.observe(&term, &self.node, now) {
            Action::Renew => {
                let renewed = leader::renew(&self.store, term.epoch, &self.node, now).await?;
                self.leadership.set(renewed.then_some((term.epoch, now)));
            }
            Action::TakeOver => {
                if let Some(taken) = leader::take_over(&self.store, &term, &self.node, now).await? {
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

/// Gives the term back if it is this node's, so that no other has to wait for its end.
pub async fn resign(store: &Store, node: &str) -> Result<(), StoreError> {
    let term = leader::read(store).await?;
    if term.holder == node {
        leader::resign(store, term.epoch, node).await?;
    }
    Ok(())
}
