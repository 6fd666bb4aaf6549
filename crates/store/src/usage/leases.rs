//! What leases of the monthly quota and of budgets have in common: they belong to one run of a node.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{Month, Timestamp};

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
    pub(super) async fn set(&self, tx: &mut Tx, granted: u64, expires_at: Timestamp) -> Result<(), StoreError> {
        let upsert = sqlx::query(
            "INSERT INTO budget_leases (account, kind, starts_at, run_id, node_id, granted, written, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (account, kind, starts_at, run_id) \
             DO UPDATE SET granted = excluded.granted, expires_at = excluded.expires_at",
        );
        let upsert = upsert.bind(self.account).bind(self.kind).bind(self.starts_at).bind(self.run).bind(self.node);
        tx.execute(upsert.bind(row::to_number(granted)).bind(expires_at.millis())).await.map(drop)
    }

    /// Deletes it if the store has all events that it paid for. Returns whether it is gone.
    pub(super) async fn end_if_settled(&self, store: &Store) -> Result<bool, StoreError> {
        let delete = sqlx::query(
            "DELETE FROM budget_leases WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id = $4 \
             AND granted <= written",
        );
        let delete = delete.bind(self.account).bind(self.kind).bind(self.starts_at).bind(self.run);
        Ok(store.execute(delete).await? > 0)
    }
}

/// Renews the leases of a run, and deletes those of the quota of months before `oldest`.
pub async fn renew(store: &Store, run: &str, oldest: Month, expires_at: Timestamp) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    for renew in [
        "UPDATE quota_leases SET expires_at = $2 WHERE run_id = $1",
        "UPDATE budget_leases SET expires_at = $2 WHERE run_id = $1",
    ] {
        tx.execute(sqlx::query(renew).bind(run).bind(expires_at.millis())).await?;
    }
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
