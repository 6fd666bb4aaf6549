//! Remembers workspaces that may have no further end users.

use domain::quota::LeaseRequest;
use domain::{Timestamp, WorkspaceId};
use foldhash::HashMap;
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use store::budgets::{self, EndUserLeaseKey};
use store::leases::LeaseState;
use store::{Store, StoreError, end_users};

/// How long a workspace is remembered as full.
const FULL_TTL: Duration = Duration::from_secs(10);

/// Workspaces that have lately been found to have as many end users as they may. A name that a client makes up then costs one
/// read, and not a count of them all in a transaction that writes.
pub(super) struct FullWorkspaces {
    max_end_users: u64,
    found_at: Mutex<HashMap<WorkspaceId, Instant>>,
}

impl FullWorkspaces {
    pub(super) fn new(max_end_users: u64) -> Self {
        Self { max_end_users, found_at: Mutex::default() }
    }

    /// Sets the lease of an end user. A new one of a full workspace gets nothing.
    pub(super) async fn set_lease(
        &self,
        store: &Store,
        lease: EndUserLeaseKey<'_>,
        believed: u64,
        ask: Option<&LeaseRequest>,
        called_at: Timestamp,
        now: Instant,
    ) -> Result<LeaseState, StoreError> {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < FULL_TTL;
        let is_full =
            believed == 0 && ask.is_some() && self.found_at.lock().get(lease.workspace).is_some_and(is_recent);
        if is_full && !end_users::is_known(store, lease.workspace, lease.end_user).await? {
            return Ok(LeaseState::default());
        }
        let set = budgets::set_end_user_lease(store, lease, believed, ask, called_at, self.max_end_users).await?;
        if set.is_none() {
            let mut found_at = self.found_at.lock();
            found_at.retain(|_, at| is_recent(at));
            found_at.insert(lease.workspace.clone(), now);
        }
        Ok(set.unwrap_or_default())
    }
}
