//! The monthly quota: one account per workspace and month, one lease per run of a node.
//!
//! A transaction that changes an account locks its row first, so two nodes never grant the same tokens. Only its own run
//! sets a lease, to an absolute amount; its used tokens grow with the events that reach the store.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::quota::{Account, Lease, LeaseRequest, grant};
use domain::workspace::lower;
use domain::{Month, Timestamp, UsageEvent, WorkspaceId};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Identifies a lease.
#[derive(Debug, Clone, Copy)]
pub struct LeaseKey<'a> {
    pub workspace: &'a WorkspaceId,
    pub month: Month,
    pub run: &'a str,
    pub node: &'a str,
}

/// The state of a lease after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseState {
    pub granted: u64,
    /// Whether tokens were granted.
    pub added: bool,
    pub near_cap: bool,
    /// The account, including this lease.
    pub account: Account,
}

/// Sets a lease to the amount that its run believes to have, plus what the account grants of `ask`.
///
/// A workspace without its own cap has `default_cap`; a deleted workspace has 0.
pub async fn set_lease(
    store: &Store,
    key: LeaseKey<'_>,
    believed: u64,
    ask: Option<&LeaseRequest>,
    default_cap: u64,
    expires_at: Timestamp,
) -> Result<LeaseState, StoreError> {
    let mut tx = store.begin().await?;
    let used = lock_used(&mut tx, key.workspace, key.month).await?;
    let cap = cap(&mut tx, key.workspace, default_cap).await?;
    let query = sqlx::query("SELECT run_id, granted, written FROM quota_leases WHERE workspace_id = $1 AND month = $2")
        .bind(key.workspace.as_str())
        .bind(i64::from(key.month.number()));
    let mut own = Lease::default();
    let mut others = 0;
    for found in &tx.rows(query).await? {
        let lease = Lease { granted: row::count(found, "granted")?, written: row::count(found, "written")? };
        if row::text(found, "run_id")? == key.run {
            own = lease;
        } else {
            others += lease.reserved();
        }
    }
    own.granted = believed;
    let mut account = Account { cap, used, reserved: others + own.reserved() };
    let granted = ask.and_then(|ask| grant(&account, ask));
    if let Some(granted) = granted {
        own.granted += granted.tokens;
        account.reserved = others + own.reserved();
    }
    let upsert = sqlx::query(
        "INSERT INTO quota_leases (workspace_id, month, run_id, node_id, granted, written, expires_at) \
         VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT (workspace_id, month, run_id) \
         DO UPDATE SET granted = excluded.granted, expires_at = excluded.expires_at",
    )
    .bind(key.workspace.as_str())
    .bind(i64::from(key.month.number()))
    .bind(key.run)
    .bind(key.node)
    .bind(row::to_number(own.granted))
    .bind(expires_at.millis());
    tx.execute(upsert).await?;
    tx.commit().await?;
    let near_cap = granted.is_none_or(|granted| granted.near_cap);
    Ok(LeaseState { granted: own.granted, added: granted.is_some(), near_cap, account })
}

/// Counts newly inserted events, in the transaction that inserted them.
pub async fn count(tx: &mut Tx, run: &str, inserted: &[&UsageEvent]) -> Result<(), StoreError> {
    // In one order, so that two nodes cannot deadlock.
    let mut sums: BTreeMap<(&str, i32), u64> = BTreeMap::new();
    for event in inserted.iter().filter(|event| event.counts_against_quota()) {
        let month = Month::of(event.started_at).number();
        *sums.entry((event.caller.workspace.as_str(), month)).or_default() += event.tokens.total();
    }
    for ((workspace, month), tokens) in sums {
        let used = sqlx::query(
            "INSERT INTO quota_months (workspace_id, month, used) VALUES ($1, $2, $3) \
             ON CONFLICT (workspace_id, month) DO UPDATE SET used = quota_months.used + excluded.used",
        );
        tx.execute(used.bind(workspace).bind(i64::from(month)).bind(row::to_number(tokens))).await?;
        let written = sqlx::query(
            "UPDATE quota_leases SET written = written + $4 WHERE workspace_id = $1 AND month = $2 AND run_id = $3",
        );
        let written = written.bind(workspace).bind(i64::from(month)).bind(run).bind(row::to_number(tokens));
        tx.execute(written).await?;
    }
    Ok(())
}

/// Renews the leases of a run, and deletes those of months before `oldest`.
pub async fn renew(store: &Store, run: &str, oldest: Month, expires_at: Timestamp) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    let renew = sqlx::query("UPDATE quota_leases SET expires_at = $2 WHERE run_id = $1");
    tx.execute(renew.bind(run).bind(expires_at.millis())).await?;
    let over = sqlx::query("DELETE FROM quota_leases WHERE run_id = $1 AND month < $2");
    tx.execute(over.bind(run).bind(i64::from(oldest.number()))).await?;
    tx.commit().await
}

/// Releases the leases of a run after all its events are stored: unused tokens become free.
pub async fn end_run(store: &Store, run: &str) -> Result<(), StoreError> {
    store.execute(sqlx::query("DELETE FROM quota_leases WHERE run_id = $1").bind(run)).await.map(drop)
}

/// Releases the leases of a node that will not come back. The events in its journal are given up.
pub async fn forget_node(tx: &mut Tx, node: &str) -> Result<(), StoreError> {
    tx.execute(sqlx::query("DELETE FROM quota_leases WHERE node_id = $1").bind(node)).await.map(drop)
}

pub async fn account(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
    default_cap: u64,
) -> Result<Account, StoreError> {
    let query = sqlx::query(
        "SELECT (SELECT monthly_tokens FROM workspaces WHERE id = $1) AS monthly_tokens, \
         (SELECT lowered_monthly_tokens FROM workspaces WHERE id = $1) AS lowered_monthly_tokens, \
         (SELECT used FROM quota_months WHERE workspace_id = $1 AND month = $2) AS used, \
         (SELECT CAST(SUM(CASE WHEN granted > written THEN granted - written ELSE 0 END) AS BIGINT) \
          FROM quota_leases WHERE workspace_id = $1 AND month = $2) AS reserved",
    );
    let query = query.bind(workspace.as_str()).bind(i64::from(month.number()));
    let found = store.row(query).await?.ok_or_else(|| row::corrupt("quota_months"))?;
    account_of(&found, default_cap)
}

/// The accounts of workspaces with usage in `month`, those with the most tokens first.
pub async fn list(
    store: &Store,
    month: Month,
    default_cap: u64,
    most: u32,
) -> Result<Vec<(WorkspaceId, Account)>, StoreError> {
    let query = sqlx::query(
        "SELECT w.id, w.monthly_tokens, w.lowered_monthly_tokens, m.used, \
         (SELECT CAST(SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) AS BIGINT) \
          FROM quota_leases l WHERE l.workspace_id = w.id AND l.month = $1) AS reserved \
         FROM quota_months m JOIN workspaces w ON w.id = m.workspace_id WHERE m.month = $1 \
         ORDER BY m.used DESC, w.id LIMIT $2",
    );
    let found = store.rows(query.bind(i64::from(month.number())).bind(i64::from(most))).await?;
    let account = |found: &AnyRow| {
        let workspace = row::parsed(found, "id", |text| WorkspaceId::parse(text).ok())?;
        Ok((workspace, account_of(found, default_cap)?))
    };
    found.iter().map(account).collect()
}

fn account_of(found: &AnyRow, default_cap: u64) -> Result<Account, StoreError> {
    Ok(Account {
        cap: effective_cap(found, default_cap)?,
        used: row::optional_count(found, "used")?.unwrap_or(0),
        reserved: row::optional_count(found, "reserved")?.unwrap_or(0),
    })
}

/// Reads the used tokens of an account and locks it until the end of the transaction.
async fn lock_used(tx: &mut Tx, workspace: &WorkspaceId, month: Month) -> Result<u64, StoreError> {
    let lock = sqlx::query(
        "INSERT INTO quota_months (workspace_id, month, used) VALUES ($1, $2, 0) \
         ON CONFLICT (workspace_id, month) DO UPDATE SET used = quota_months.used RETURNING used",
    );
    let found = tx.row(lock.bind(workspace.as_str()).bind(i64::from(month.number()))).await?;
    row::count(&found.ok_or_else(|| row::corrupt("quota_months"))?, "used")
}

async fn cap(tx: &mut Tx, workspace: &WorkspaceId, default_cap: u64) -> Result<u64, StoreError> {
    let query = sqlx::query("SELECT monthly_tokens, lowered_monthly_tokens FROM workspaces WHERE id = $1");
    match tx.row(query.bind(workspace.as_str())).await? {
        Some(found) => effective_cap(&found, default_cap),
        None => Ok(0),
    }
}

/// The operator's cap, or a lower one set by an administrator.
fn effective_cap(found: &AnyRow, default_cap: u64) -> Result<u64, StoreError> {
    let own = row::optional_count(found, "monthly_tokens")?;
    let lowered = row::optional_count(found, "lowered_monthly_tokens")?;
    Ok(lower(own.unwrap_or(default_cap), lowered))
}
