//! The monthly quota: one account per workspace and month, one lease per run of a node. An organization whose tokens are
//! bounded has an account, too: the sum of those of its workspaces.
//!
//! A transaction that changes an account locks its row first, and before it that of a bounded organization, so two nodes never
//! grant the same tokens. Only its own run
//! sets a lease, to an absolute amount; its used tokens grow with the events that reach the store.

use super::leases::{LeaseState, lost_nodes};
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::{organizations, row};
use domain::quota::{Account, AccountOwner, AccountUnit, Lease, LeaseRequest};
use domain::workspace::lower;
use domain::{Month, NanoUsd, Organization, OrganizationId, Timestamp, UsageEvent, Workspace, WorkspaceId};
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

/// The leases of the workspace `$1` in the month `$2`.
const LEASES: &str = concat!(
    "SELECT run_id, granted, written, CAST(CASE WHEN node_id IN ",
    lost_nodes!(),
    " THEN 1 ELSE 0 END AS BIGINT) AS is_lost FROM quota_leases WHERE workspace_id = $1 AND month = $2"
);

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
    let caps = lock_caps(&mut tx, key.workspace, default_cap).await?;
    let used = lock_row(&mut tx, key.workspace, key.month, caps.organization.as_deref()).await?;
    let query = sqlx::query(LEASES).bind(key.workspace.as_str()).bind(i64::from(key.month.number()));
    let mut own = Lease::default();
    let mut account = Account { cap: caps.own, used, ..Account::default() };
    for found in &tx.rows(query).await? {
        let lease = Lease { granted: row::count(found, "granted")?, written: row::count(found, "written")? };
        if row::text(found, "run_id")? == key.run {
            own = lease;
            continue;
        }
        account.reserved += lease.reserved();
        if row::flag(found, "is_lost")? {
            account.lost += lease.reserved();
        }
    }
    own.granted = believed;
    let shared = match &caps {
        Caps { organization: Some(organization), shared: Some(cap), .. } => {
            Some(shared_account(&mut tx, organization, *cap, key).await?)
        }
        _ => None,
    };
    let state = LeaseState::decide(own, account, shared, ask);
    let upsert = sqlx::query(
        "INSERT INTO quota_leases (workspace_id, month, run_id, node_id, granted, written, expires_at) \
         VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT (workspace_id, month, run_id) \
         DO UPDATE SET granted = excluded.granted, expires_at = excluded.expires_at",
    )
    .bind(key.workspace.as_str())
    .bind(i64::from(key.month.number()))
    .bind(key.run)
    .bind(key.node)
    .bind(row::to_number(state.granted))
    .bind(expires_at.millis());
    tx.execute(upsert).await?;
    tx.commit().await?;
    Ok(state)
}

/// Counts newly inserted events, in the transaction that inserted them.
pub async fn count(tx: &mut Tx, run: &str, inserted: &[&UsageEvent]) -> Result<(), StoreError> {
    // In one order, so that two nodes cannot deadlock.
    let mut sums: BTreeMap<(&str, i32), (&OrganizationId, u64, NanoUsd)> = BTreeMap::new();
    for event in inserted.iter().filter(|event| event.counts_against_quota()) {
        let month = Month::of(event.started_at).number();
        let caller = &event.caller;
        let sum = sums.entry((caller.workspace.as_str(), month)).or_insert((&caller.organization, 0, NanoUsd::ZERO));
        sum.1 += event.tokens.total();
        sum.2 += event.cost;
    }
    for ((workspace, month), (organization, tokens, cost)) in sums {
        let used = sqlx::query(
            "INSERT INTO quota_months (workspace_id, month, used, organization_id, cost) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (workspace_id, month) DO UPDATE SET used = quota_months.used + excluded.used, \
             cost = quota_months.cost + excluded.cost, organization_id = excluded.organization_id",
        );
        let used = used.bind(workspace).bind(i64::from(month)).bind(row::to_number(tokens));
        tx.execute(used.bind(organization.as_str()).bind(cost.nanos())).await?;
        let written = sqlx::query(
            "UPDATE quota_leases SET written = written + $4 WHERE workspace_id = $1 AND month = $2 AND run_id = $3",
        );
        let written = written.bind(workspace).bind(i64::from(month)).bind(run).bind(row::to_number(tokens));
        tx.execute(written).await?;
    }
    Ok(())
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

/// The account of an organization, whose cap is that of the operator; without one, it has no end.
pub async fn organization_account(
    store: &Store,
    organization: &Organization,
    month: Month,
) -> Result<Account, StoreError> {
    let query = sqlx::query(SHARED_ACCOUNT).bind(organization.id.as_str()).bind(i64::from(month.number()));
    let found = store.row(query.bind("").bind("")).await?.ok_or_else(|| row::corrupt("quota_months"))?;
    Ok(shared_of(&found, organization.monthly_tokens.unwrap_or(u64::MAX))?.0)
}

/// The account of a workspace, or that of its organization if the operator bounds it and it has fewer tokens left.
pub async fn tightest_account(
    store: &Store,
    workspace: &Workspace,
    month: Month,
    default_cap: u64,
) -> Result<Account, StoreError> {
    let own = account(store, &workspace.id, month, default_cap).await?;
    let organization = organizations::by_id(store, &workspace.organization).await?;
    let Some(organization) = organization.filter(|organization| organization.monthly_tokens.is_some()) else {
        return Ok(own);
    };
    let shared = organization_account(store, &organization, month).await?;
    Ok(if shared.left() < own.left() { shared } else { own })
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
        owner: AccountOwner::Workspace,
        unit: AccountUnit::Tokens,
        cap: effective_cap(found, default_cap)?,
        used: row::optional_count(found, "used")?.unwrap_or(0),
        reserved: row::optional_count(found, "reserved")?.unwrap_or(0),
        lost: 0,
    })
}

/// The accounts of the organization `$1` in the month `$2`, without the lease of the workspace `$3` and the run `$4`. One
/// statement, because events that are counted at the same moment move tokens from reserved to used.
const SHARED_ACCOUNT: &str = concat!(
    "SELECT COUNT(*) AS workspaces, CAST(COALESCE(SUM(m.used), 0) AS BIGINT) AS used, \
     CAST(COALESCE(SUM((SELECT SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) \
      FROM quota_leases l WHERE l.workspace_id = m.workspace_id AND l.month = m.month \
      AND NOT (l.workspace_id = $3 AND l.run_id = $4))), 0) AS BIGINT) AS reserved, \
     CAST(COALESCE(SUM((SELECT SUM(l.granted - l.written) FROM quota_leases l WHERE l.workspace_id = m.workspace_id \
      AND l.month = m.month AND l.run_id <> $4 AND l.granted > l.written AND l.node_id IN ",
    lost_nodes!(),
    ")), 0) AS BIGINT) AS lost \
     FROM quota_months m WHERE m.organization_id = $1 AND m.month = $2"
);

/// The account of an organization without the lease of `key`, and the number of workspaces that share it.
async fn shared_account(
    tx: &mut Tx,
    organization: &str,
    cap: u64,
    key: LeaseKey<'_>,
) -> Result<(Account, u32), StoreError> {
    let query = sqlx::query(SHARED_ACCOUNT).bind(organization).bind(i64::from(key.month.number()));
    let found = tx.row(query.bind(key.workspace.as_str()).bind(key.run)).await?;
    shared_of(&found.ok_or_else(|| row::corrupt("quota_months"))?, cap)
}

fn shared_of(found: &AnyRow, cap: u64) -> Result<(Account, u32), StoreError> {
    let account = Account {
        owner: AccountOwner::Organization,
        unit: AccountUnit::Tokens,
        cap,
        used: row::count(found, "used")?,
        reserved: row::count(found, "reserved")?,
        lost: row::count(found, "lost")?,
    };
    Ok((account, u32::try_from(row::count(found, "workspaces")?).unwrap_or(u32::MAX)))
}

/// Reads the used tokens of an account and locks it until the end of the transaction.
pub(super) async fn lock_row(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    month: Month,
    organization: Option<&str>,
) -> Result<u64, StoreError> {
    let lock = sqlx::query(
        "INSERT INTO quota_months (workspace_id, month, used, organization_id) VALUES ($1, $2, 0, $3) \
         ON CONFLICT (workspace_id, month) DO UPDATE SET used = quota_months.used, \
         organization_id = COALESCE(excluded.organization_id, quota_months.organization_id) RETURNING used",
    );
    let lock = lock.bind(workspace.as_str()).bind(i64::from(month.number())).bind(organization);
    row::count(&tx.row(lock).await?.ok_or_else(|| row::corrupt("quota_months"))?, "used")
}

/// The caps of a workspace.
#[derive(Default)]
struct Caps {
    own: u64,
    /// `None` if the workspace was deleted.
    organization: Option<String>,
    /// The cap of the organization, if it has one.
    shared: Option<u64>,
}

/// Reads the caps of a workspace, and locks its organization if that has one.
async fn lock_caps(tx: &mut Tx, workspace: &WorkspaceId, default_cap: u64) -> Result<Caps, StoreError> {
    let query = sqlx::query(
        "SELECT w.organization_id, w.monthly_tokens, w.lowered_monthly_tokens, o.monthly_tokens AS shared \
         FROM workspaces w JOIN organizations o ON o.id = w.organization_id WHERE w.id = $1",
    );
    let Some(found) = tx.row(query.bind(workspace.as_str())).await? else { return Ok(Caps::default()) };
    let (own, organization) = (effective_cap(&found, default_cap)?, row::text(&found, "organization_id")?);
    let mut shared = row::optional_count(&found, "shared")?;
    if shared.is_some() {
        let lock = sqlx::query("UPDATE organizations SET name = name WHERE id = $1 RETURNING monthly_tokens");
        let locked = tx.row(lock.bind(organization.as_str())).await?;
        shared = locked.map_or(Ok(None), |locked| row::optional_count(&locked, "monthly_tokens"))?;
    }
    Ok(Caps { own, organization: Some(organization), shared })
}

/// The operator's cap, or a lower one set by an administrator.
fn effective_cap(found: &AnyRow, default_cap: u64) -> Result<u64, StoreError> {
    let own = row::optional_count(found, "monthly_tokens")?;
    let lowered = row::optional_count(found, "lowered_monthly_tokens")?;
    Ok(lower(own.unwrap_or(default_cap), lowered))
}
