//! Monthly budgets of workspaces and organizations: one account per workspace and month, one lease per run of a node, in
//! nano-dollars. The account of an organization is the sum of those of its workspaces, as that of its tokens is.
//!
//! A transaction that changes an account locks its row first, and before it that of a bounded organization. The transaction that
//! writes events adds their cost to the row. The cost of GPU-hours is written by the leader, as a whole.

use super::leases::LeaseRow;
use super::quota::{LeaseState, lock_row};
use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::quota::{Account, AccountOwner, AccountUnit, Lease, LeaseRequest, grant_within};
use domain::{Month, NanoUsd, OrganizationId, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

pub(super) const KIND: &str = "workspace";

/// Identifies a lease.
#[derive(Debug, Clone, Copy)]
pub struct SpendLeaseKey<'a> {
    pub workspace: &'a WorkspaceId,
    pub month: Month,
    pub run: &'a str,
    pub node: &'a str,
}

impl<'a> SpendLeaseKey<'a> {
    fn row(&self) -> LeaseRow<'a> {
        let starts_at = self.month.start().millis();
        LeaseRow { account: self.workspace.as_str(), kind: KIND, starts_at, run: self.run, node: self.node }
    }
}

/// Both amounts of a workspace and of its organization; NULL where there is none.
const CAPS: &str = "SELECT w.id, w.organization_id, w.monthly_usd, w.own_monthly_usd, o.monthly_usd AS shared_monthly_usd, \
     o.own_monthly_usd AS shared_own_monthly_usd FROM workspaces w JOIN organizations o ON o.id = w.organization_id ";
const RESERVED: &str =
    "CAST(COALESCE(SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END), 0) AS BIGINT)";

/// The caps of a workspace and of its organization.
struct Caps {
    own: Option<u64>,
    shared: Option<u64>,
    organization: OrganizationId,
}

fn caps(found: &AnyRow) -> Result<Caps, StoreError> {
    let lower = |one: &str, other: &str| -> Result<Option<u64>, StoreError> {
        Ok([row::optional_count(found, one)?, row::optional_count(found, other)?].into_iter().flatten().min())
    };
    Ok(Caps {
        own: lower("monthly_usd", "own_monthly_usd")?,
        shared: lower("shared_monthly_usd", "shared_own_monthly_usd")?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
    })
}

/// Sets a lease to the amount that its run believes to have, plus what the budgets grant of `ask`. A deleted workspace gets
/// nothing, one without budgets everything.
pub async fn set_lease(
    store: &Store,
    key: SpendLeaseKey<'_>,
    believed: u64,
    ask: Option<&LeaseRequest>,
    expires_at: Timestamp,
) -> Result<LeaseState, StoreError> {
    let mut tx = store.begin().await?;
    let query = sqlx::query(sqlx::AssertSqlSafe(format!("{CAPS} WHERE w.id = $1")));
    let found = tx.row(query.bind(key.workspace.as_str())).await?;
    let found = found.as_ref().map(caps).transpose()?;
    let (own_cap, shared_cap) = found.as_ref().map_or((Some(0), None), |caps| (caps.own, caps.shared));
    if let (Some(caps), true) = (&found, shared_cap.is_some()) {
        let lock = sqlx::query("UPDATE organizations SET name = name WHERE id = $1");
        tx.execute(lock.bind(caps.organization.as_str())).await?;
    }
    let organization = found.as_ref().map(|caps| caps.organization.as_str());
    lock_row(&mut tx, key.workspace, key.month, organization).await?;
    let (mut account, written) = own_account(&mut tx, key, own_cap).await?;
    let mut own = Lease { granted: believed, written };
    let others = account.reserved;
    account.reserved = others + own.reserved();
    let shared = match (&found, shared_cap) {
        (Some(caps), Some(cap)) => {
            let (shared, workspaces) = shared_account(&mut tx, &caps.organization, key, cap).await?;
            Some((Account { reserved: shared.reserved + own.reserved(), ..shared }, workspaces))
        }
        _ => None,
    };
    let shared = shared.as_ref().map(|(shared, workspaces)| (shared, *workspaces));
    let granted = ask.map(|ask| grant_within(&account, shared, ask));
    match granted {
        Some(Ok(granted)) => {
            own.granted += granted.tokens;
            account.reserved = others + own.reserved();
        }
        Some(Err(spent)) => account = spent,
        None => {}
    }
    key.row().set(&mut tx, own.granted, expires_at).await?;
    tx.commit().await?;
    let granted = granted.and_then(Result::ok);
    let near_cap = granted.is_none_or(|granted| granted.near_cap);
    Ok(LeaseState { granted: own.granted, added: granted.is_some(), near_cap, account })
}

/// Deletes a lease if the store has all events that it paid for. Returns whether it is gone.
pub async fn end_if_settled(store: &Store, key: SpendLeaseKey<'_>) -> Result<bool, StoreError> {
    key.row().end_if_settled(store).await
}

/// Whether a budget bounds the workspace or its organization.
pub async fn is_bounded(store: &Store, workspace: &WorkspaceId) -> Result<bool, StoreError> {
    let query = sqlx::query(sqlx::AssertSqlSafe(format!("{CAPS} WHERE w.id = $1")));
    let Some(found) = store.row(query.bind(workspace.as_str())).await? else { return Ok(false) };
    let caps = caps(&found)?;
    Ok(caps.own.is_some() || caps.shared.is_some())
}

/// The workspaces that a budget bounds, alone or with others of their organization.
pub async fn bounded(store: &Store) -> Result<Vec<(WorkspaceId, OrganizationId)>, StoreError> {
    let query = format!(
        "{CAPS} WHERE COALESCE(w.monthly_usd, w.own_monthly_usd, o.monthly_usd, o.own_monthly_usd) IS NOT NULL"
    );
    let found = store.rows(sqlx::query(sqlx::AssertSqlSafe(query))).await?;
    let read = |found: &AnyRow| {
        Ok((row::parsed(found, "id", |text| WorkspaceId::parse(text).ok())?, caps(found)?.organization))
    };
    found.iter().map(read).collect()
}

/// The account of the workspace, or that of its organization if it has less left; `None` if there is no budget.
pub async fn tightest_account(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
) -> Result<Option<Account>, StoreError> {
    tightest_in(&mut store.begin().await?, workspace, month).await
}

/// [`tightest_account`] within a transaction.
pub async fn tightest_in(tx: &mut Tx, workspace: &WorkspaceId, month: Month) -> Result<Option<Account>, StoreError> {
    let query = sqlx::query(sqlx::AssertSqlSafe(format!("{CAPS} WHERE w.id = $1")));
    let Some(found) = tx.row(query.bind(workspace.as_str())).await? else { return Ok(None) };
    let caps = caps(&found)?;
    let key = SpendLeaseKey { workspace, month, run: "", node: "" };
    let own = match caps.own {
        Some(cap) => Some(own_account(tx, key, Some(cap)).await?.0),
        None => None,
    };
    let shared = match caps.shared {
        Some(cap) => Some(shared_account(tx, &caps.organization, key, cap).await?.0),
        None => None,
    };
    Ok([own, shared].into_iter().flatten().min_by_key(Account::left))
}

/// Counts the costs of serverless calls again and announces a workspace that a new budget bounds.
pub async fn bound(tx: &mut Tx, workspace: &WorkspaceId, now: Timestamp) -> Result<(), StoreError> {
    let month = Month::of(now);
    // The statement that counts must begin after the row is locked, so that it sees what was written before.
    lock_row(tx, workspace, month, None).await?;
    let recount = sqlx::query(
        "UPDATE quota_months SET cost = (SELECT CAST(COALESCE(SUM(d.cost), 0) AS BIGINT) FROM usage_days d \
         WHERE d.workspace_id = $1 AND d.starts_at >= $3 AND d.starts_at < $4) WHERE workspace_id = $1 AND month = $2",
    );
    let recount = recount.bind(workspace.as_str()).bind(i64::from(month.number()));
    tx.execute(recount.bind(month.start().millis()).bind(month.end().millis())).await?;
    tx.announce(Change::Workspace(workspace.clone()), now);
    Ok(())
}

/// Writes the cost of a workspace's GPU-hours in a month.
pub async fn set_gpu_cost(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    organization: &OrganizationId,
    month: Month,
    cost: NanoUsd,
) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO quota_months (workspace_id, month, used, organization_id, gpu_cost) VALUES ($1, $2, 0, $3, $4) \
         ON CONFLICT (workspace_id, month) DO UPDATE SET gpu_cost = excluded.gpu_cost",
    );
    let upsert = upsert.bind(workspace.as_str()).bind(i64::from(month.number())).bind(organization.as_str());
    tx.execute(upsert.bind(cost.nanos())).await.map(drop)
}

/// The account of a workspace without the lease of `key`, and what of that lease is written.
async fn own_account(tx: &mut Tx, key: SpendLeaseKey<'_>, cap: Option<u64>) -> Result<(Account, u64), StoreError> {
    let text = format!(
        "SELECT (SELECT cost + gpu_cost FROM quota_months WHERE workspace_id = $1 AND month = $2) AS used, \
         (SELECT {RESERVED} FROM budget_leases l WHERE l.account = $1 AND l.kind = $3 AND l.starts_at = $4 \
          AND l.run_id <> $5) AS reserved, \
         (SELECT written FROM budget_leases WHERE account = $1 AND kind = $3 AND starts_at = $4 AND run_id = $5) AS written"
    );
    let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(key.workspace.as_str());
    let query = query.bind(i64::from(key.month.number())).bind(KIND).bind(key.month.start().millis()).bind(key.run);
    let found = tx.row(query).await?.ok_or_else(|| row::corrupt("quota_months"))?;
    let account = Account {
        owner: AccountOwner::Workspace,
        unit: AccountUnit::NanoUsd,
        cap: cap.unwrap_or(i64::MAX.unsigned_abs()),
        used: row::optional_count(&found, "used")?.unwrap_or(0),
        reserved: row::count(&found, "reserved")?,
    };
    Ok((account, row::optional_count(&found, "written")?.unwrap_or(0)))
}

/// The account of an organization without the lease of `key`, and the number of workspaces that share it. One statement,
/// because events that are written at the same moment move amounts from reserved to used.
async fn shared_account(
    tx: &mut Tx,
    organization: &OrganizationId,
    key: SpendLeaseKey<'_>,
    cap: u64,
) -> Result<(Account, u32), StoreError> {
    let text = format!(
        "SELECT COUNT(*) AS workspaces, CAST(COALESCE(SUM(m.cost + m.gpu_cost), 0) AS BIGINT) AS used, \
         CAST(COALESCE(SUM((SELECT {RESERVED} FROM budget_leases l WHERE l.account = m.workspace_id AND l.kind = $3 \
          AND l.starts_at = $4 AND NOT (l.account = $5 AND l.run_id = $6))), 0) AS BIGINT) AS reserved \
         FROM quota_months m WHERE m.organization_id = $1 AND m.month = $2"
    );
    let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(organization.as_str()).bind(i64::from(key.month.number()));
    let query = query.bind(KIND).bind(key.month.start().millis()).bind(key.workspace.as_str()).bind(key.run);
    let found = tx.row(query).await?.ok_or_else(|| row::corrupt("quota_months"))?;
    let account = Account {
        owner: AccountOwner::Organization,
        unit: AccountUnit::NanoUsd,
        cap,
        used: row::count(&found, "used")?,
        reserved: row::count(&found, "reserved")?,
    };
    Ok((account, u32::try_from(row::count(&found, "workspaces")?).unwrap_or(u32::MAX)))
}
