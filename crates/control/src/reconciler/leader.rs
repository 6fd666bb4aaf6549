//! Whether this node leads.

use domain::Timestamp;
use domain::leadership::{LOOK_EVERY_MILLIS, Move, Watch, may_act};
use store::{Store, StoreError, leader};

pub(super) struct Leader {
    store: Store,
    node: String,
    watch: Option<Watch>,
    looked_at: Option<Timestamp>,
    /// The epoch that is ours, and when it was last confirmed.
    epoch: Option<(u64, Timestamp)>,
}

impl Leader {
    pub(super) fn new(store: Store, node: String) -> Self {
        Self { store, node, watch: None, looked_at: None, epoch: None }
    }

    /// The epoch in which this node may act now, if it may.
    pub(super) async fn look(&mut self, now: Timestamp) -> Option<u64> {
        let due = self.looked_at.is_none_or(|at| now.millis_since(at) >= LOOK_EVERY_MILLIS || now < at);
        if due {
            self.looked_at = Some(now);
            if let Err(error) = self.renew(now).await {
                tracing::debug!(%error, "the lease of the control plane cannot be looked at");
            }
        }
        self.epoch.filter(|(_, renewed_at)| may_act(*renewed_at, now)).map(|(epoch, _)| epoch)
    }

    async fn renew(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let lease = leader::read(&self.store).await?;
        let watch = self.watch.get_or_insert_with(|| Watch::new(lease.clone(), now));
        match watch.look(&lease, &self.node, now) {
            Move::Renew => {
                let renewed = leader::renew(&self.store, lease.epoch, &self.node, now).await?;
                self.epoch = renewed.then_some((lease.epoch, now));
            }
            Move::TakeOver => {
                if let Some(taken) = leader::take_over(&self.store, &lease, &self.node, now).await? {
                    tracing::info!(epoch = taken.epoch, "this node leads the control plane");
                    self.epoch = Some((taken.epoch, now));
                }
            }
            Move::Wait => self.epoch = None,
        }
        Ok(())
    }
}
