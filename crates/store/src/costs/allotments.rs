//! GPU allotments: caps, and the lock under which commitments are added up.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, places};
use domain::allotment::{Change, Defaults, Ledger};
use domain::{EndpointId, GpuType, OrganizationId, Timestamp};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::{BTreeMap, HashMap};

const COMMITTED: &str = "SELECT CAST(COALESCE(SUM(committed_gpus), 0) AS BIGINT) AS committed FROM endpoints \
     WHERE organization_id = $1 AND gpu_type = $2 AND deleted_at IS NULL";

/// Reads a ledger and locks it until the end of the transaction; only releases are still possible.
///
/// The lock is an update of the row, so that concurrent transactions see each other under any isolation level.
pub async fn lock(
    tx: &mut Tx,
    organization: &OrganizationId,
    gpu_type: &GpuType,
    defaults: &Defaults,
) -> Result<Ledger, StoreError> {
    let insert = sqlx::query(
        "INSERT INTO gpu_allotments (organization_id, gpu_type, allotment, version) VALUES ($1, $2, NULL, 0) \
         ON CONFLICT DO NOTHING",
    );
    tx.execute(insert.bind(organization.as_str()).bind(gpu_type.as_str())).await?;
    let lock = sqlx::query(
        "UPDATE gpu_allotments SET version = version + 1 WHERE organization_id = $1 AND gpu_type = $2 \
         RETURNING allotment",
    );
    let own = match tx.row(lock.bind(organization.as_str()).bind(gpu_type.as_str())).await? {
        Some(found) => row::optional_count(&found, "allotment")?,
        None => None,
    };
    // A separate statement, so that it sees what the previous holder of the lock committed.
    let sum = sqlx::query(COMMITTED).bind(organization.as_str()).bind(gpu_type.as_str());
    let committed = tx.count(sum, "committed").await?;
    Ok(Ledger { allotment: own.unwrap_or_else(|| defaults.of(gpu_type)), committed })
}

/// Reads a ledger without a lock.
pub async fn read(
    store: &Store,
    organization: &OrganizationId,
    gpu_type: &GpuType,
    defaults: &Defaults,
) -> Result<Ledger, StoreError> {
    let mut ledgers = list(store, organization, defaults).await?;
    let unknown = || Ledger { allotment: defaults.of(gpu_type), committed: 0 };
    Ok(ledgers.remove(gpu_type).unwrap_or_else(unknown))
}

/// The ledgers of an organization, for every type that has a cap, a default or a commitment. A consistent snapshot.
pub async fn list(
    store: &Store,
    organization: &OrganizationId,
    defaults: &Defaults,
) -> Result<BTreeMap<GpuType, Ledger>, StoreError> {
    Ok(list_of(store, &[organization], defaults).await?.remove(organization).unwrap_or_default())
}

/// [`list`] of several organizations.
pub async fn list_of(
    store: &Store,
    organizations: &[&OrganizationId],
    defaults: &Defaults,
) -> Result<HashMap<OrganizationId, BTreeMap<GpuType, Ledger>>, StoreError> {
    let default = |gpu_type: &GpuType| Ledger { allotment: defaults.of(gpu_type), committed: 0 };
    let unused: BTreeMap<_, _> = defaults.types().map(|gpu_type| (gpu_type.clone(), default(gpu_type))).collect();
    let mut all: HashMap<_, _> = organizations.iter().map(|id| ((*id).clone(), unused.clone())).collect();
    for chunk in chunks(organizations) {
        let text = format!(
            "SELECT organization_id, gpu_type, CAST(MAX(allotment) AS BIGINT) AS allotment, \
             CAST(SUM(committed) AS BIGINT) AS committed \
             FROM (SELECT organization_id, gpu_type, allotment, 0 AS committed FROM gpu_allotments \
             WHERE organization_id IN ({ids}) \
             UNION ALL SELECT organization_id, gpu_type, NULL AS allotment, committed_gpus AS committed FROM endpoints \
             WHERE organization_id IN ({ids}) AND deleted_at IS NULL) AS both_sides GROUP BY organization_id, gpu_type",
            ids = places(1, chunk.len())
        );
        let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, id| query.bind(id.as_str()));
        for found in &store.rows(query).await? {
            let (gpu_type, ledger) = ledger_of(found, defaults)?;
            all.entry(organization_of(found)?).or_default().insert(gpu_type, ledger);
        }
    }
    Ok(all)
}

/// The ledgers of all organizations that have a cap of their own or a commitment, those with the most GPUs first.
pub async fn list_all(
    store: &Store,
    defaults: &Defaults,
    most: u32,
) -> Result<Vec<(OrganizationId, GpuType, Ledger)>, StoreError> {
    let query = sqlx::query(
        "SELECT organization_id, gpu_type, CAST(MAX(allotment) AS BIGINT) AS allotment, \
         CAST(SUM(committed) AS BIGINT) AS committed \
         FROM (SELECT organization_id, gpu_type, allotment, 0 AS committed FROM gpu_allotments \
         UNION ALL SELECT organization_id, gpu_type, NULL AS allotment, committed_gpus AS committed FROM endpoints \
         WHERE deleted_at IS NULL) AS both_sides GROUP BY organization_id, gpu_type \
         ORDER BY committed DESC, organization_id, gpu_type LIMIT $1",
    );
    let found = store.rows(query.bind(i64::from(most))).await?;
    let ledger = |found: &AnyRow| {
        let organization = organization_of(found)?;
        let (gpu_type, ledger) = ledger_of(found, defaults)?;
        Ok((organization, gpu_type, ledger))
    };
    found.iter().map(ledger).collect()
}

fn organization_of(found: &AnyRow) -> Result<OrganizationId, StoreError> {
    row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())
}

fn ledger_of(found: &AnyRow, defaults: &Defaults) -> Result<(GpuType, Ledger), StoreError> {
    let gpu_type = row::parsed(found, "gpu_type", |text| GpuType::parse(text).ok())?;
    let allotment = row::optional_count(found, "allotment")?.unwrap_or_else(|| defaults.of(&gpu_type));
    Ok((gpu_type, Ledger { allotment, committed: row::count(found, "committed")? }))
}

/// Sets the cap of an organization; `None` restores the default.
pub async fn set(
    tx: &mut Tx,
    organization: &OrganizationId,
    gpu_type: &GpuType,
    allotment: Option<u64>,
) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO gpu_allotments (organization_id, gpu_type, allotment, version) VALUES ($1, $2, $3, 1) \
         ON CONFLICT (organization_id, gpu_type) \
         DO UPDATE SET allotment = excluded.allotment, version = gpu_allotments.version + 1",
    )
    .bind(organization.as_str())
    .bind(gpu_type.as_str())
    .bind(row::to_optional_number(allotment));
    tx.execute(upsert).await.map(drop)
}

/// A change of a commitment, for the history.
#[derive(Debug, Clone, Copy)]
pub struct LedgerEntry<'a> {
    pub organization: &'a OrganizationId,
    pub gpu_type: &'a GpuType,
    pub endpoint: &'a EndpointId,
    pub actor: &'a str,
    pub action: &'a str,
    pub change: Change,
    pub at: Timestamp,
}

/// Appends to the history, which is only informational.
pub async fn append(tx: &mut Tx, entry: LedgerEntry<'_>) -> Result<(), StoreError> {
    let salt = getrandom::u64().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    let insert = sqlx::query(
        "INSERT INTO allotment_entries (id, organization_id, gpu_type, endpoint_id, at, actor, action, released, added) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(format!("{:012x}{salt:016x}", entry.at.millis().max(0)))
    .bind(entry.organization.as_str())
    .bind(entry.gpu_type.as_str())
    .bind(entry.endpoint.as_str())
    .bind(entry.at.millis())
    .bind(entry.actor)
    .bind(entry.action)
    .bind(row::to_number(entry.change.released))
    .bind(row::to_number(entry.change.added));
    tx.execute(insert).await.map(drop)
}
