//! Renews the leases of this process, and returns those that are idle.

use super::{LEASE_TTL, Quota, lease_expiry};
use crate::admission::lease::{LeasedAccount, LocalLease};
use domain::{Month, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::budgets::{self, BudgetLeaseKey, EndUserLeaseKey};
use store::spend::{self, SpendLeaseKey};
use store::{StoreError, leases};

/// Period of [`Quota::renew`].
pub const RENEW_PERIOD: Duration = Duration::from_secs(20);
/// Workspaces and keys without calls for this long return their leases.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Quota {
    /// One round of renewal: extends the validity of the leases and returns those that are idle.
    pub async fn renew(&self, now: Timestamp) -> Result<(), StoreError> {
        self.renew_at(Month::of(now), Instant::now()).await
    }

    pub(in crate::admission) async fn renew_at(&self, month: Month, began: Instant) -> Result<(), StoreError> {
        // A clock that jumps forward and back must not end the lease of a month that is still in use.
        let is_over =
            |lease: &LocalLease, of: Month| of < month.previous() && lease.state().is_over(began, IDLE_TIMEOUT);
        let in_use = self.inner.of_workspaces.all().into_iter().filter_map(|lease| {
            let of = lease.account.month()?;
            (!is_over(&lease, of)).then_some(of)
        });
        let oldest = in_use.chain([month.previous()]).min().expect("there is at least the previous month");
        // If this fails, nothing is returned either: the store would not record it, and calls continue with what is left.
        leases::renew(&self.inner.store, self.inner.run.as_str(), oldest, lease_expiry()).await?;
        for lease in self.all() {
            lease.state().renewed(began + LEASE_TTL);
            let is_old = lease.account.month().is_some_and(|of| of != month);
            let must_return = {
                let state = lease.state();
                is_old || state.is_unsure() || state.is_idle(began, IDLE_TIMEOUT)
            };
            if must_return {
                self.return_free(&lease).await;
            }
        }
        self.inner.of_workspaces.retain(|lease| lease.account.month().is_some_and(|of| of >= oldest));
        self.end_idle_budgets(began).await;
        Ok(())
    }

    pub(super) fn all(&self) -> Vec<Arc<LocalLease>> {
        let mut all = self.inner.of_workspaces.all();
        all.extend(self.inner.of_keys.all());
        all.extend(self.inner.of_spend.all());
        all.extend(self.inner.of_end_users.all());
        all
    }

    /// Ends the leases of budgets whose keys and workspaces make no calls any more, here and in the store.
    pub(in crate::admission) async fn end_idle_budgets(&self, now: Instant) {
        let (store, run, node) = (&self.inner.store, self.inner.run.as_str(), self.inner.node.as_str());
        let budgets = self.inner.of_keys.all().into_iter().chain(self.inner.of_spend.all());
        for lease in budgets.chain(self.inner.of_end_users.all()) {
            let must_end = {
                let state = lease.state();
                state.has_row() && state.is_over(now, IDLE_TIMEOUT)
            };
            if !must_end {
                continue;
            }
            let _lock = lease.store_lock.lock().await;
            let ended = match &lease.account {
                LeasedAccount::Quota { .. } => continue,
                LeasedAccount::Budget { key, period } => {
                    budgets::end_if_settled(store, BudgetLeaseKey { key, period: *period, run, node }).await
                }
                LeasedAccount::EndUser { workspace, end_user, period } => {
                    let key = EndUserLeaseKey { workspace, end_user, period: *period, run, node };
                    budgets::end_end_user_lease(store, key).await
                }
                LeasedAccount::Spend { workspace, month, .. } => {
                    spend::end_if_settled(store, SpendLeaseKey { workspace, month: *month, run, node }).await
                }
            };
            match ended {
                Ok(true) => lease.state().reset(),
                // Some of its events are still in the journal.
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "could not end the lease of a budget"),
            }
        }
        // No call has a lease of which the table has the only reference, and none gets it while its shard is locked.
        let is_in_use = |lease: &Arc<LocalLease>| Arc::strong_count(lease) > 1 || !lease.state().is_empty();
        self.inner.of_keys.retain(is_in_use);
        self.inner.of_spend.retain(is_in_use);
        self.inner.of_end_users.retain(is_in_use);
    }

    /// Stops all changes of leases and waits for those in progress, so that the run can be ended in the store.
    pub async fn close(&self) {
        self.inner.is_closed.store(true, Ordering::SeqCst);
        self.inner.tasks.finish().await;
        for lease in self.all() {
            drop(lease.store_lock.lock().await);
        }
    }
}
