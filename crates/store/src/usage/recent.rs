//! What organizations have used of their limits per minute and per month.

use super::spend;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, places};
use domain::model_ref::DEDICATED;
use domain::usage::CallSurface;
use domain::{Month, NanoUsd, OrganizationId, Timestamp};
use sqlx::AssertSqlSafe;
use std::collections::HashMap;

/// Used of limits per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recent {
    pub requests: u64,
    pub tokens: u64,
}

/// The requests and tokens of calls from `since` on that count against limits per minute: not those to dedicated endpoints, and
/// not the lines of batches. Organizations without calls are absent.
pub async fn of_organizations(
    store: &Store,
    organizations: &[&OrganizationId],
    since: Timestamp,
) -> Result<HashMap<OrganizationId, Recent>, StoreError> {
    let mut all = HashMap::new();
    for chunk in chunks(organizations) {
        // SQLite joins the tables of a CROSS JOIN in their order.
        let text = format!(
            "SELECT w.organization_id, COUNT(*) AS requests, \
             CAST(COALESCE(SUM(c.prompt_tokens + c.completion_tokens), 0) AS BIGINT) AS tokens \
             FROM workspaces w CROSS JOIN usage_calls c CROSS JOIN usage_kinds k \
             WHERE w.organization_id IN ({}) AND c.workspace_id = w.id AND c.started_at >= $1 AND c.surface <> $2 \
             AND k.id = c.kind AND k.model NOT LIKE $3 GROUP BY w.organization_id",
            places(4, chunk.len())
        );
        let query = sqlx::query(AssertSqlSafe(text)).bind(since.millis()).bind(CallSurface::Batch.as_str());
        let query = query.bind(format!("{DEDICATED}/%"));
        for found in store.rows(chunk.iter().fold(query, |query, id| query.bind(id.as_str()))).await? {
            let organization = row::parsed(&found, "organization_id", |text| OrganizationId::parse(text).ok())?;
            let used = Recent { requests: row::count(&found, "requests")?, tokens: row::count(&found, "tokens")? };
            all.insert(organization, used);
        }
    }
    Ok(all)
}

/// What the accounts of a month have, which calls are compared with: usage of deleted workspaces, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MonthUse {
    pub tokens: u64,
    /// Leased by nodes and not yet written as used.
    pub reserved_tokens: u64,
    /// With GPU-hours if a budget bounds them.
    pub cost: NanoUsd,
    pub reserved_cost: NanoUsd,
}

/// The accounts of organizations in a month. Those without calls are absent.
pub async fn month_of_organizations(
    store: &Store,
    organizations: &[&OrganizationId],
    month: Month,
) -> Result<HashMap<OrganizationId, MonthUse>, StoreError> {
    let mut all = HashMap::new();
    for chunk in chunks(organizations) {
        // One statement, because events that are counted at the same moment move amounts from reserved to used.
        let text = format!(
            "SELECT m.organization_id, CAST(SUM(m.used) AS BIGINT) AS tokens, \
             CAST(SUM(m.cost + m.gpu_cost) AS BIGINT) AS cost, \
             CAST(COALESCE(SUM((SELECT SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) \
              FROM quota_leases l WHERE l.workspace_id = m.workspace_id AND l.month = m.month)), 0) AS BIGINT) \
             AS reserved_tokens, \
             CAST(COALESCE(SUM((SELECT SUM(CASE WHEN l.granted > l.written THEN l.granted - l.written ELSE 0 END) \
              FROM budget_leases l WHERE l.account = m.workspace_id AND l.kind = $2 AND l.starts_at = $3)), 0) AS BIGINT) \
             AS reserved_cost \
             FROM quota_months m WHERE m.month = $1 AND m.organization_id IN ({}) GROUP BY m.organization_id",
            places(4, chunk.len())
        );
        let query = sqlx::query(AssertSqlSafe(text)).bind(i64::from(month.number())).bind(spend::KIND);
        let query = query.bind(month.start().millis());
        for found in store.rows(chunk.iter().fold(query, |query, id| query.bind(id.as_str()))).await? {
            let organization = row::parsed(&found, "organization_id", |text| OrganizationId::parse(text).ok())?;
            let used = MonthUse {
                tokens: row::count(&found, "tokens")?,
                reserved_tokens: row::count(&found, "reserved_tokens")?,
                cost: row::money(&found, "cost")?,
                reserved_cost: row::money(&found, "reserved_cost")?,
            };
            all.insert(organization, used);
        }
    }
    Ok(all)
}
