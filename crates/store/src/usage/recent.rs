//! What organizations have used in the last moments, against their limits per minute.

use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, places};
use domain::model_ref::DEDICATED;
use domain::usage::CallSurface;
use domain::{OrganizationId, Timestamp};
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
