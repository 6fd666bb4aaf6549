//! What leases of the monthly quota and of budgets have in common: they belong to one run of a node.

use crate::db::{Query, Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::quota::{Account, Lease, LeaseRequest, grant_within};
use domain::{Month, Timestamp};

/// The nodes whose last heartbeat is five minutes older than the latest one of any node. What they have leased stays reserved,
/// because their journals may have events of it.
macro_rules! lost_nodes {
    () => {
        "(SELECT id FROM nodes WHERE seen_at < (SELECT MAX(seen_at) FROM nodes) - 300000)"
    };
}
pub(super) use lost_nodes;

/// A lease of a budget: the account of a key or a workspace, the kind of its period and its start, and the run of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseRow<'a> {
    pub(super) account: &'a str,
    pub(super) kind: &'static str,
    pub(super) starts_at: i64,
    pub(super) run: &'a str,
    pub(super) node: &'a str,
}

impl LeaseRow<'_> {
    /// A lease that was never granted anything has no row.
    pub(super) async fn set(&self, tx: &mut Tx, granted: u64) -> Result<(), StoreError> {
        let query = match granted {
            0 => self.query(
                "UPDATE budget_leases SET granted = 0 \
                 WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id = $4",
            ),
            _ => self
                .query(
                    "INSERT INTO budget_leases (account, kind, starts_at, run_id, node_id, granted, written) \
                     VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT (account, kind, starts_at, run_id) \
                     DO UPDATE SET granted = excluded.granted",
                )
                .bind(self.node)
                .bind(row::to_number(granted)),
        };
        tx.execute(query).await.map(drop)
    }

    /// Deletes it if the store has all events that it paid for. Returns whether it is gone.
    pub(super) async fn end_if_settled(&self, store: &Store) -> Result<bool, StoreError> {
        let delete = self.query(
            "DELETE FROM budget_leases WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id = $4 \
             AND granted <= written",
        );
        Ok(store.execute(delete).await? > 0)
    }

    fn query(&self, text: &'static str) -> Query<'_> {
        sqlx::query(text).bind(self.account).bind(self.kind).bind(self.starts_at).bind(self.run)
    }
}

/// The state of a lease after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeaseState {
    pub granted: u64,
    /// Tokens of the run's events that the store already has.
    pub written: u64,
    /// Whether something was granted.
    pub added: bool,
    pub near_cap: bool,
    /// The account, including this lease. If nothing was granted, the one that has too little left.
    pub account: Account,
}

impl LeaseState {
    /// Grants what `ask` gets of an account, and of one that several workspaces share. Both are without the lease.
    pub(super) fn decide(
        lease: Lease,
        own: Account,
        shared: Option<(Account, u32)>,
        ask: Option<&LeaseRequest>,
    ) -> Self {
        let including =
            |account: Account, lease: Lease| Account { reserved: account.reserved + lease.reserved(), ..account };
        let shared = shared.map(|(shared, workspaces)| (including(shared, lease), workspaces));
        let shared = shared.as_ref().map(|(shared, workspaces)| (shared, *workspaces));
        let decided = ask.map(|ask| grant_within(&including(own, lease), shared, ask));
        let grant = decided.and_then(Result::ok);
        let lease = Lease { granted: lease.granted + grant.map_or(0, |grant| grant.tokens), ..lease };
        let account = match decided {
            Some(Err(spent)) => spent,
            Some(Ok(_)) | None => including(own, lease),
        };
        let near_cap = grant.is_none_or(|grant| grant.near_cap);
        Self { granted: lease.granted, written: lease.written, added: grant.is_some(), near_cap, account }
    }
}

/// Renews the leases of the quota of a run, and deletes those of months before `oldest`.
pub async fn renew(store: &Store, run: &str, oldest: Month, expires_at: Timestamp) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    let renew = sqlx::query("UPDATE quota_leases SET expires_at = $2 WHERE run_id = $1");
    tx.execute(renew.bind(run).bind(expires_at.millis())).await?;
    let over = sqlx::query("DELETE FROM quota_leases WHERE run_id = $1 AND month < $2");
    tx.execute(over.bind(run).bind(i64::from(oldest.number()))).await?;
    tx.commit().await
}

/// Releases the leases of a run after all its events are stored: what was not used becomes free.
pub async fn end_run(store: &Store, run: &str) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    for release in ["DELETE FROM quota_leases WHERE run_id = $1", "DELETE FROM budget_leases WHERE run_id = $1"] {
        tx.execute(sqlx::query(release).bind(run)).await?;
    }
    tx.commit().await
}

/// Releases the leases of a node that will not come back. The events in its journal are given up.
pub async fn forget_node(tx: &mut Tx, node: &str) -> Result<(), StoreError> {
    for release in ["DELETE FROM quota_leases WHERE node_id = $1", "DELETE FROM budget_leases WHERE node_id = $1"] {
        tx.execute(sqlx::query(release).bind(node)).await?;
    }
    Ok(())
}
