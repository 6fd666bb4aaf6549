//! Budgets of keys and of end users: one account per budget and period, one lease per run of a node, in nano-dollars.
//!
//! A transaction that grants a lease locks the key first, so two nodes never grant the same amount. What was spent is the sum of
//! the key's usage: the transaction that writes an event adds it to the sums and moves its cost from reserved to used at once.
//! It locks leases after keys, as a grant does.

use super::leases::{LeaseRow, LeaseState, lost_nodes};
use super::spend;
use crate::accounts::end_users;
use crate::db::{Engine, Query, Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, values_text};
use domain::budget::{Budget, BudgetPeriod, Budgets};
use domain::quota::{Account, AccountUnit, Lease, LeaseRequest};
use domain::usage::Actor;
use domain::{ApiKey, EndUserId, KeyId, Month, Timestamp, UsageEvent, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Identifies a lease.
#[derive(Debug, Clone, Copy)]
pub struct BudgetLeaseKey<'a> {
    pub key: &'a KeyId,
    pub period: BudgetPeriod,
    pub run: &'a str,
    pub node: &'a str,
}

impl<'a> BudgetLeaseKey<'a> {
    fn row(&self) -> LeaseRow<'a> {
        let (kind, starts_at) = (self.period.window.as_str(), self.period.start.millis());
        LeaseRow { account: self.key.as_str(), kind, starts_at, run: self.run, node: self.node }
    }
}

/// What was spent of a budget in its current period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    pub budget: Budget,
    pub period: BudgetPeriod,
    pub account: Account,
}

/// Used and reserved amounts of the period `$2`, `$3` to `$4` of the account `$1`, with the sums that its usage is in; those of the
/// run `$5` apart. One statement, because events that are written at the same moment move amounts from reserved to used.
macro_rules! account {
    ($sums:literal) => {
        concat!(
            "SELECT (SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM ",
            $sums,
            " = $1 AND starts_at >= $3 AND starts_at < $4) AS used, \
             (SELECT CAST(COALESCE(SUM(granted - written), 0) AS BIGINT) FROM budget_leases \
              WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id <> $5 AND granted > written) AS reserved, \
             (SELECT CAST(COALESCE(SUM(granted - written), 0) AS BIGINT) FROM budget_leases \
              WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id <> $5 AND granted > written \
              AND node_id IN ",
            lost_nodes!(),
            ") AS lost, \
             (SELECT written FROM budget_leases \
              WHERE account = $1 AND kind = $2 AND starts_at = $3 AND run_id = $5) AS written"
        )
    };
}

const KEY_ACCOUNT: &str = account!("usage_days WHERE actor");
/// The account of an end user of the workspace `$6`.
const END_USER_ACCOUNT: &str = account!("usage_end_users WHERE workspace_id = $6 AND end_user");

/// Identifies a lease of a budget of an end user.
#[derive(Debug, Clone, Copy)]
pub struct EndUserLeaseKey<'a> {
    pub workspace: &'a WorkspaceId,
    pub end_user: &'a EndUserId,
    pub period: BudgetPeriod,
    pub run: &'a str,
    pub node: &'a str,
}

impl<'a> EndUserLeaseKey<'a> {
    fn row(&self) -> LeaseRow<'a> {
        let (kind, starts_at) = (self.period.window.as_str(), self.period.start.millis());
        LeaseRow { account: self.end_user.as_str(), kind, starts_at, run: self.run, node: self.node }
    }
}

/// [`set_lease`] of an end user, with the budgets of its own or those of the workspace. `None` for a new end user of a workspace
/// that has `max_end_users`, who gets nothing.
pub async fn set_end_user_lease(
    store: &Store,
    lease: EndUserLeaseKey<'_>,
    believed: u64,
    ask: Option<&LeaseRequest>,
    now: Timestamp,
    max_end_users: u64,
) -> Result<Option<LeaseState>, StoreError> {
    let mut tx = store.begin().await?;
    let cap = match end_users::lock_for_lease(&mut tx, lease.workspace, lease.end_user, now, max_end_users).await? {
        Some((settings, own)) => cap_of(&own.budgets.unwrap_or(settings.budgets), lease.period, now),
        None if believed == 0 && ask.is_some() => return Ok(None),
        None => 0,
    };
    let query = end_user_query(lease.workspace, lease.end_user, lease.period, lease.run);
    set(tx, query, lease.row(), cap, believed, ask).await.map(Some)
}

/// [`end_if_settled`] of an end user.
pub async fn end_end_user_lease(store: &Store, lease: EndUserLeaseKey<'_>) -> Result<bool, StoreError> {
    lease.row().end_if_settled(store).await
}

/// What was spent of each of these budgets of an end user.
pub async fn end_user_spending(
    store: &Store,
    workspace: &WorkspaceId,
    end_user: &EndUserId,
    budgets: &Budgets,
    now: Timestamp,
) -> Result<Vec<Spending>, StoreError> {
    spent_of(store, budgets, now, |period| end_user_query(workspace, end_user, period, "")).await
}

fn end_user_query<'q>(
    workspace: &'q WorkspaceId,
    end_user: &'q EndUserId,
    period: BudgetPeriod,
    run: &'q str,
) -> Query<'q> {
    bind_account(sqlx::query(END_USER_ACCOUNT), end_user.as_str(), period, run).bind(workspace.as_str())
}

/// Sets a lease to the amount that its run believes to have, plus what the budget grants of `ask`. A budget that was removed
/// grants everything, a key that was deleted nothing.
pub async fn set_lease(
    store: &Store,
    lease: BudgetLeaseKey<'_>,
    believed: u64,
    ask: Option<&LeaseRequest>,
    now: Timestamp,
) -> Result<LeaseState, StoreError> {
    let mut tx = store.begin().await?;
    let cap = lock_cap(&mut tx, &lease, now).await?;
    let query = account_query(lease.key.as_str(), lease.period, lease.run);
    set(tx, query, lease.row(), cap, believed, ask).await
}

/// Sets a lease in the transaction that locked its account, which `query` reads.
async fn set(
    mut tx: Tx,
    query: Query<'_>,
    lease: LeaseRow<'_>,
    cap: u64,
    believed: u64,
    ask: Option<&LeaseRequest>,
) -> Result<LeaseState, StoreError> {
    let found = tx.row(query).await?.ok_or_else(|| row::corrupt("budget_leases"))?;
    let own = Lease { granted: believed, written: row::optional_count(&found, "written")?.unwrap_or(0) };
    let state = LeaseState::decide(own, account(&found, cap)?, None, ask);
    lease.set(&mut tx, state.granted).await?;
    tx.commit().await?;
    Ok(state)
}

/// Deletes a lease if the store has all events that it paid for. Returns whether it is gone.
pub async fn end_if_settled(store: &Store, lease: BudgetLeaseKey<'_>) -> Result<bool, StoreError> {
    lease.row().end_if_settled(store).await
}

/// Moves the cost of newly inserted events from reserved to used, in the transaction that inserted them.
pub async fn count(tx: &mut Tx, run: &str, inserted: &[&UsageEvent]) -> Result<(), StoreError> {
    // In one order, so that two nodes cannot deadlock.
    let mut sums: BTreeMap<(&str, &str, i64), i64> = BTreeMap::new();
    for event in inserted.iter().filter(|event| !event.reserved_in.is_empty() && event.cost.nanos() > 0) {
        let caller = &event.caller;
        let mut add = |account, kind, start: Timestamp| {
            let sum = sums.entry((account, kind, start.millis())).or_default();
            *sum = sum.saturating_add(event.cost.nanos());
        };
        if let Actor::Key(key) = &caller.actor {
            for window in event.reserved_in.windows() {
                add(key.as_str(), window.as_str(), BudgetPeriod::of(window, event.started_at).start);
            }
        }
        if let Some(end_user) = &event.end_user {
            for window in event.reserved_in.end_user_windows() {
                add(end_user.id.as_str(), window.as_str(), BudgetPeriod::of(window, event.started_at).start);
            }
        }
        if event.reserved_in.has_workspace() {
            add(caller.workspace.as_str(), spend::KIND, Month::of(event.started_at).start());
        }
    }
    let sums: Vec<_> = sums.into_iter().collect();
    for chunk in chunks(&sums) {
        let text = written_text(tx.engine(), chunk.len());
        let written =
            chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |written, ((account, kind, starts_at), cost)| {
                written.bind(*account).bind(*kind).bind(*starts_at).bind(*cost)
            });
        tx.execute(written.bind(run)).await?;
    }
    Ok(())
}

/// Adds amounts to what is written of the leases of a run, which is bound last. On PostgreSQL, rows are locked in the order of
/// accounts.
fn written_text(engine: Engine, leases: usize) -> String {
    let (rows, run) = (values_text(engine, 4, leases), leases * 4 + 1);
    let lock = match engine {
        Engine::Sqlite => "",
        Engine::Postgres => "FOR UPDATE OF l",
    };
    format!(
        "WITH spent (account, kind, starts_at, cost) AS ({rows}), \
         own AS (SELECT l.account, l.kind, l.starts_at, l.run_id, spent.cost FROM budget_leases l \
         JOIN spent ON spent.account = l.account AND spent.kind = l.kind AND spent.starts_at = l.starts_at \
         WHERE l.run_id = ${run} ORDER BY l.account, l.kind, l.starts_at {lock}) \
         UPDATE budget_leases SET written = budget_leases.written + own.cost FROM own \
         WHERE budget_leases.account = own.account AND budget_leases.kind = own.kind \
         AND budget_leases.starts_at = own.starts_at AND budget_leases.run_id = own.run_id"
    )
}

/// What was spent of each budget of a key.
pub async fn spending(store: &Store, key: &ApiKey, now: Timestamp) -> Result<Vec<Spending>, StoreError> {
    spent_of(store, &key.budgets, now, |period| account_query(key.id.as_str(), period, "")).await
}

async fn spent_of<'q>(
    store: &Store,
    budgets: &Budgets,
    now: Timestamp,
    query: impl Fn(BudgetPeriod) -> Query<'q>,
) -> Result<Vec<Spending>, StoreError> {
    let mut all = Vec::with_capacity(budgets.all().len());
    for budget in budgets.all() {
        let period = BudgetPeriod::of(budget.window, now);
        let found = store.row(query(period)).await?.ok_or_else(|| row::corrupt("budget_leases"))?;
        let account = account(&found, budget.cap(now).nanos().unsigned_abs())?;
        all.push(Spending { budget: *budget, period, account });
    }
    Ok(all)
}

fn account_query<'q>(account: &'q str, period: BudgetPeriod, run: &'q str) -> Query<'q> {
    bind_account(sqlx::query(KEY_ACCOUNT), account, period, run)
}

fn bind_account<'q>(query: Query<'q>, account: &'q str, period: BudgetPeriod, run: &'q str) -> Query<'q> {
    query
        .bind(account)
        .bind(period.window.as_str())
        .bind(period.start.millis())
        .bind(period.end().map_or(i64::MAX, Timestamp::millis))
        .bind(run)
}

fn account(found: &AnyRow, cap: u64) -> Result<Account, StoreError> {
    Ok(Account {
        unit: AccountUnit::NanoUsd,
        cap,
        used: row::count(found, "used")?,
        reserved: row::count(found, "reserved")?,
        lost: row::count(found, "lost")?,
        ..Account::default()
    })
}

/// Locks the key until the end of the transaction, and reads the cap of its budget at `now`.
async fn lock_cap(tx: &mut Tx, lease: &BudgetLeaseKey<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let lock = sqlx::query("UPDATE api_keys SET name = name WHERE id = $1 RETURNING budgets");
    let Some(found) = tx.row(lock.bind(lease.key.as_str())).await? else { return Ok(0) };
    let budgets: Option<Budgets> = row::optional_parsed(&found, "budgets", |text| serde_json::from_str(text).ok())?;
    Ok(cap_of(&budgets.unwrap_or_default(), lease.period, now))
}

/// The cap of the budget of a period. One that was removed has no end.
fn cap_of(budgets: &Budgets, period: BudgetPeriod, now: Timestamp) -> u64 {
    let budget = budgets.hard().find(|budget| budget.window == period.window);
    budget.map_or(i64::MAX, |budget| budget.cap(now).nanos()).unsigned_abs()
}
