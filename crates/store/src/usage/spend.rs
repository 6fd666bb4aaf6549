//! Monthly budgets of workspaces and organizations: one account per workspace and month, one lease per run of a node, in
//! nano-dollars. The account of an organization is the sum of those of its workspaces, as that of its tokens is.
//!
//! A transaction that changes an account locks its row first, and before it that of the organization. The transaction that
//! writes events adds their cost to the row. The cost of GPU-hours is written by the leader, as a whole.

use super::leases::{LeaseRow, LeaseState, lost_nodes};
use super::quota::lock_row;
use crate::change::Change;
use crate::db::{Query, Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, insert_text};
use domain::quota::{Account, AccountOwner, AccountUnit, Lease, LeaseRequest};
use domain::{EndpointId, Month, NanoUsd, OnBudget, OrganizationId, Timestamp, Workspace, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

pub(super) const KIND: &str = "workspace";
/// The cap of an account without a budget.
const UNLIMITED: u64 = i64::MAX.unsigned_abs();

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

/// The accounts of a workspace and of its organization, without one lease.
struct Accounts {
    own: Account,
    shared: Account,
    /// The number of workspaces that share the account of the organization.
    workspaces: u32,
    /// What is written of the lease.
    written: u64,
}

impl Accounts {
    /// The accounts of a deleted workspace.
    const EMPTY: Self =
        Self { own: EMPTY, shared: Account { owner: AccountOwner::Organization, ..EMPTY }, workspaces: 0, written: 0 };

    fn read(found: &AnyRow) -> Result<Self, StoreError> {
        let cap = |one: &str, other: &str| -> Result<u64, StoreError> {
            let amounts = [row::optional_count(found, one)?, row::optional_count(found, other)?];
            Ok(amounts.into_iter().flatten().min().unwrap_or(UNLIMITED))
        };
        let count = |column| Ok::<_, StoreError>(row::optional_count(found, column)?.unwrap_or(0));
        Ok(Self {
            own: Account {
                cap: cap("monthly_usd", "own_monthly_usd")?,
                used: count("used")?,
                reserved: count("reserved")?,
                lost: count("lost")?,
                ..EMPTY
            },
            shared: Account {
                owner: AccountOwner::Organization,
                cap: cap("shared_monthly_usd", "shared_own_monthly_usd")?,
                used: count("shared_used")?,
                reserved: count("shared_reserved")?,
                lost: count("shared_lost")?,
                ..EMPTY
            },
            workspaces: u32::try_from(count("workspaces")?).unwrap_or(u32::MAX),
            written: count("written")?,
        })
    }

    /// The account with a budget that rejects calls or is nearest to it; `None` if neither has one.
    fn tightest(self) -> Option<Account> {
        let bounded = [self.own, self.shared].into_iter().filter(|account| account.cap < UNLIMITED);
        bounded.min_by_key(|account| (!account.is_spent_for(1), account.left()))
    }
}

const EMPTY: Account =
    Account { owner: AccountOwner::Workspace, unit: AccountUnit::NanoUsd, cap: 0, used: 0, reserved: 0, lost: 0 };

/// The accounts of the workspace `$1` in the month `$2`, which starts at `$3`, without the lease of the run `$4`. `$5` is the kind
/// of the leases. One statement, because events that are written at the same moment move amounts from reserved to used.
const ACCOUNTS: &str = concat!(
    "SELECT w.monthly_usd, w.own_monthly_usd, \
     o.monthly_usd AS shared_monthly_usd, o.own_monthly_usd AS shared_own_monthly_usd, \
     (SELECT m.cost + m.gpu_cost FROM quota_months m WHERE m.workspace_id = w.id AND m.month = $2) AS used, \
     (SELECT CAST(SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) AS BIGINT) \
      FROM budget_leases l WHERE l.account = w.id AND l.kind = $5 AND l.starts_at = $3 AND l.run_id <> $4) AS reserved, \
     (SELECT l.written FROM budget_leases l \
      WHERE l.account = w.id AND l.kind = $5 AND l.starts_at = $3 AND l.run_id = $4) AS written, \
     (SELECT COUNT(*) FROM quota_months m WHERE m.organization_id = o.id AND m.month = $2) AS workspaces, \
     (SELECT CAST(SUM(m.cost + m.gpu_cost) AS BIGINT) FROM quota_months m \
      WHERE m.organization_id = o.id AND m.month = $2) AS shared_used, \
     (SELECT CAST(SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) AS BIGINT) \
      FROM quota_months m JOIN budget_leases l ON l.account = m.workspace_id AND l.kind = $5 AND l.starts_at = $3 \
      WHERE m.organization_id = o.id AND m.month = $2 AND NOT (l.account = w.id AND l.run_id = $4)) AS shared_reserved, \
     (SELECT CAST(SUM(l.granted - l.written) AS BIGINT) FROM budget_leases l \
      WHERE l.account = w.id AND l.kind = $5 AND l.starts_at = $3 AND l.run_id <> $4 AND l.granted > l.written \
      AND l.node_id IN ",
    lost_nodes!(),
    ") AS lost, \
     (SELECT CAST(SUM(l.granted - l.written) AS BIGINT) \
      FROM quota_months m JOIN budget_leases l ON l.account = m.workspace_id AND l.kind = $5 AND l.starts_at = $3 \
      WHERE m.organization_id = o.id AND m.month = $2 AND l.run_id <> $4 AND l.granted > l.written \
      AND l.node_id IN ",
    lost_nodes!(),
    ") AS shared_lost \
     FROM workspaces w JOIN organizations o ON o.id = w.organization_id WHERE w.id = $1"
);

fn accounts_query<'q>(workspace: &'q WorkspaceId, month: Month, run: &'q str) -> Query<'q> {
    let query = sqlx::query(ACCOUNTS).bind(workspace.as_str()).bind(i64::from(month.number()));
    query.bind(month.start().millis()).bind(run).bind(KIND)
}

/// Sets a lease to the amount that its run believes to have, plus what the budgets grant of `ask`. A deleted workspace gets
/// nothing, one without budgets everything.
pub async fn set_lease(
    store: &Store,
    key: SpendLeaseKey<'_>,
    believed: u64,
    ask: Option<&LeaseRequest>,
) -> Result<LeaseState, StoreError> {
    let mut tx = store.begin().await?;
    lock(&mut tx, key.workspace, key.month).await?;
    // It begins after the locks are held, so it sees the amounts that were committed before.
    let found = tx.row(accounts_query(key.workspace, key.month, key.run)).await?;
    let accounts = found.as_ref().map(Accounts::read).transpose()?.unwrap_or(Accounts::EMPTY);
    let lease = Lease { granted: believed, written: accounts.written };
    let state = LeaseState::decide(lease, accounts.own, Some((accounts.shared, accounts.workspaces)), ask);
    key.row().set(&mut tx, state.granted).await?;
    tx.commit().await?;
    Ok(state)
}

/// Locks the organization of a workspace, whether it has a budget or not, and then the account of the workspace.
async fn lock(tx: &mut Tx, workspace: &WorkspaceId, month: Month) -> Result<(), StoreError> {
    let query = sqlx::query(
        "UPDATE organizations SET name = name \
         WHERE id = (SELECT w.organization_id FROM workspaces w WHERE w.id = $1) RETURNING id",
    );
    let organization = tx.row(query.bind(workspace.as_str())).await?;
    let organization = organization.map(|found| row::text(&found, "id")).transpose()?;
    lock_row(tx, workspace, month, organization.as_deref()).await.map(drop)
}

/// Deletes a lease if the store has all events that it paid for. Returns whether it is gone.
pub async fn end_if_settled(store: &Store, key: SpendLeaseKey<'_>) -> Result<bool, StoreError> {
    key.row().end_if_settled(store).await
}

/// The account of the workspace, or that of its organization if only that is spent or has less left; `None` if there is no
/// budget.
pub async fn tightest_account(
    store: &Store,
    workspace: &WorkspaceId,
    month: Month,
) -> Result<Option<Account>, StoreError> {
    tightest(store.row(accounts_query(workspace, month, "")).await?.as_ref())
}

/// [`tightest_account`] within a transaction.
pub async fn tightest_in(tx: &mut Tx, workspace: &WorkspaceId, month: Month) -> Result<Option<Account>, StoreError> {
    tightest(tx.row(accounts_query(workspace, month, "")).await?.as_ref())
}

fn tightest(found: Option<&AnyRow>) -> Result<Option<Account>, StoreError> {
    Ok(found.map(Accounts::read).transpose()?.and_then(Accounts::tightest))
}

/// Counts this month's costs of a workspace again, because its budget or that of its organization has changed, and announces it.
/// `gpu_cost` is what its GPU-hours have cost.
pub async fn recount(tx: &mut Tx, workspace: &Workspace, gpu_cost: NanoUsd, now: Timestamp) -> Result<(), StoreError> {
    let month = Month::of(now);
    // The statement that counts must begin after the row is locked, so that it sees what was written before.
    lock_row(tx, &workspace.id, month, Some(workspace.organization.as_str())).await?;
    let recount = sqlx::query(
        "UPDATE quota_months SET gpu_cost = $5, cost = (SELECT CAST(COALESCE(SUM(d.cost), 0) AS BIGINT) \
         FROM usage_days d WHERE d.workspace_id = $1 AND d.starts_at >= $3 AND d.starts_at < $4) \
         WHERE workspace_id = $1 AND month = $2",
    );
    let recount = recount.bind(workspace.id.as_str()).bind(i64::from(month.number()));
    let recount = recount.bind(month.start().millis()).bind(month.end().millis()).bind(gpu_cost.nanos());
    tx.execute(recount).await?;
    tx.announce(Change::Workspace(workspace.id.clone()), now);
    Ok(())
}

/// The most endpoints that [`suspendable_endpoints`] returns.
const MAX_SUSPENDABLE: i64 = 1_000;

/// An endpoint that is suspended when a budget that bounds it is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspendableEndpoint {
    pub endpoint: EndpointId,
    pub workspace: WorkspaceId,
    pub organization: OrganizationId,
}

/// Endpoints that commit GPUs, and whose workspace or organization asks for their suspension when a budget is spent.
pub async fn suspendable_endpoints(store: &Store) -> Result<Vec<SuspendableEndpoint>, StoreError> {
    let query = sqlx::query(
        "SELECT e.id, e.workspace_id, e.organization_id FROM endpoints e JOIN workspaces w ON w.id = e.workspace_id \
         JOIN organizations o ON o.id = w.organization_id \
         WHERE e.committed_gpus > 0 AND (w.on_budget = $1 OR o.on_budget = $1) \
         AND COALESCE(w.monthly_usd, w.own_monthly_usd, o.monthly_usd, o.own_monthly_usd) IS NOT NULL \
         ORDER BY e.workspace_id LIMIT $2",
    );
    let read = |found: &AnyRow| {
        Ok(SuspendableEndpoint {
            endpoint: row::parsed(found, "id", |text| EndpointId::parse(text).ok())?,
            workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
            organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        })
    };
    store.rows(query.bind(OnBudget::Suspend.as_str()).bind(MAX_SUSPENDABLE)).await?.iter().map(read).collect()
}

/// What the GPU-hours of a workspace have cost in a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCost {
    pub workspace: WorkspaceId,
    pub organization: OrganizationId,
    pub cost: NanoUsd,
}

/// The written GPU costs of the workspaces that held GPUs in a month and that a budget bounds, alone or with others of their
/// organization. In the order of workspaces.
pub async fn gpu_costs(store: &Store, month: Month) -> Result<Vec<GpuCost>, StoreError> {
    let query = sqlx::query(
        "SELECT w.id, w.organization_id, COALESCE((SELECT m.gpu_cost FROM quota_months m \
         WHERE m.workspace_id = w.id AND m.month = $1), 0) AS gpu_cost \
         FROM workspaces w JOIN organizations o ON o.id = w.organization_id \
         WHERE COALESCE(w.monthly_usd, w.own_monthly_usd, o.monthly_usd, o.own_monthly_usd) IS NOT NULL \
         AND EXISTS (SELECT 1 FROM replica_holds h WHERE h.workspace_id = w.id AND h.started_at < $3 \
         AND (h.ended_at IS NULL OR h.ended_at > $2)) ORDER BY w.id",
    );
    let query = query.bind(i64::from(month.number())).bind(month.start().millis()).bind(month.end().millis());
    let read = |found: &AnyRow| {
        Ok(GpuCost {
            workspace: row::parsed(found, "id", |text| WorkspaceId::parse(text).ok())?,
            organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
            cost: row::money(found, "gpu_cost")?,
        })
    };
    store.rows(query).await?.iter().map(read).collect()
}

/// Writes the GPU costs of workspaces, which are in the order of [`gpu_costs`], so that writers of events cannot deadlock with it.
pub async fn set_gpu_costs(tx: &mut Tx, month: Month, costs: &[GpuCost]) -> Result<(), StoreError> {
    const COLUMNS: &str = "workspace_id, month, used, organization_id, gpu_cost";
    for chunk in chunks(costs) {
        let text = format!(
            "{} ON CONFLICT (workspace_id, month) DO UPDATE SET gpu_cost = excluded.gpu_cost, \
             organization_id = excluded.organization_id",
            insert_text(tx.engine(), "quota_months", COLUMNS, chunk.len())
        );
        let upsert = chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |upsert, one| {
            let upsert = upsert.bind(one.workspace.as_str()).bind(i64::from(month.number())).bind(0_i64);
            upsert.bind(one.organization.as_str()).bind(one.cost.nanos())
        });
        tx.execute(upsert).await?;
    }
    Ok(())
}
