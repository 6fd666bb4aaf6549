//! Dedicated endpoints, and everything stored about them.
//!
//! Every write names the generation it read and creates the next one, so the second of two concurrent writers fails and
//! has to read again. The leader writes through [`Fenced`] and leaves its epoch in the row.

pub mod autoscaler;
pub mod endpoint_events;
pub mod endpoint_loads;
pub mod gauges;
pub mod holds;
pub mod idempotency;
pub mod leader_writes;
mod list;
pub mod prefill_queues;
mod read;
pub mod replica_roots;
pub mod replicas;
mod shape;

pub use list::{EndpointColumn, Filter, StoredShape, count, list, list_all, list_failed, list_shapes};

use crate::change::Change;
use crate::cluster::leader::Fenced;
use crate::db::{Query, Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::endpoint::Generation;
use domain::endpoint::scaling::Mode;
use domain::{Endpoint, EndpointId, EndpointName, OrganizationId, Timestamp, WorkspaceId};
use read::{endpoint, select};

/// For writes by users, not by a leader.
const NO_EPOCH: i64 = -1;

pub async fn by_id(store: &Store, id: &EndpointId) -> Result<Option<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.id = $1 AND e.deleted_at IS NULL")).bind(id.as_str());
    store.row(query).await?.as_ref().map(endpoint).transpose()
}

pub async fn by_name(
    store: &Store,
    organization: &OrganizationId,
    name: &EndpointName,
) -> Result<Option<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.organization_id = $1 AND e.name = $2 AND e.deleted_at IS NULL"));
    store.row(query.bind(organization.as_str()).bind(name.as_str())).await?.as_ref().map(endpoint).transpose()
}

/// The endpoint as this transaction sees it.
pub async fn read(tx: &mut Tx, id: &EndpointId) -> Result<Option<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.id = $1 AND e.deleted_at IS NULL")).bind(id.as_str());
    tx.row(query).await?.as_ref().map(endpoint).transpose()
}

/// Like [`read`], by name.
pub async fn read_named(
    tx: &mut Tx,
    organization: &OrganizationId,
    name: &EndpointName,
) -> Result<Option<Endpoint>, StoreError> {
    let query = sqlx::query(select!("WHERE e.organization_id = $1 AND e.name = $2 AND e.deleted_at IS NULL"));
    tx.row(query.bind(organization.as_str()).bind(name.as_str())).await?.as_ref().map(endpoint).transpose()
}

/// Whether an endpoint of the organization has the name.
pub async fn name_is_taken(
    tx: &mut Tx,
    organization: &OrganizationId,
    name: &EndpointName,
) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT id FROM endpoints WHERE organization_id = $1 AND name = $2 AND deleted_at IS NULL");
    Ok(tx.row(query.bind(organization.as_str()).bind(name.as_str())).await?.is_some())
}

pub async fn insert(tx: &mut Tx, new: &Endpoint, drain_secs: u32) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO endpoints (id, replicas, min_replicas, max_replicas, metric, target, to_zero_secs, up_secs, \
         down_secs, state, state_reason, state_message, state_since, desired, drain_secs, committed_gpus, labels, \
         updated_at, started_at, generation, leader_epoch, organization_id, workspace_id, name, model, flavor, \
         gpu_type, gpu_count, shape, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
         $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31) \
         ON CONFLICT DO NOTHING",
    );
    let insert = bound(insert, new, drain_secs)
        .bind(row::to_number(new.generation.0))
        .bind(0_i64)
        .bind(new.organization.as_str())
        .bind(new.workspace.as_str())
        .bind(new.name.as_str())
        .bind(new.model.as_str())
        .bind(new.shape.flavor.name.as_str())
        .bind(new.gpu_type().as_str())
        .bind(i64::from(new.gpu_count()))
        .bind(shape::write(&new.shape))
        .bind(new.created_by.as_str())
        .bind(new.created_at.millis());
    if tx.execute(insert).await? == 0 {
        return Err(StoreError::EndpointNameTaken);
    }
    write_labels(tx, new).await?;
    tx.announce(Change::Endpoint(new.id.clone()), new.updated_at);
    Ok(())
}

/// Writes an endpoint that is still at generation `seen`, and returns it at the next one.
pub async fn update(tx: &mut Tx, changed: Endpoint, seen: Generation, drain_secs: u32) -> Result<Endpoint, StoreError> {
    write(tx, changed, seen, drain_secs, NO_EPOCH).await
}

/// Like [`update`], by the leader.
pub async fn update_as_leader(
    tx: &mut Fenced,
    changed: Endpoint,
    seen: Generation,
    drain_secs: u32,
) -> Result<Endpoint, StoreError> {
    let epoch = row::to_number(tx.epoch());
    write(tx, changed, seen, drain_secs, epoch).await
}

async fn write(
    tx: &mut Tx,
    changed: Endpoint,
    seen: Generation,
    drain_secs: u32,
    epoch: i64,
) -> Result<Endpoint, StoreError> {
    let next = Endpoint { generation: Generation(seen.0 + 1), ..changed };
    let update = sqlx::query(
        "UPDATE endpoints SET replicas = $2, min_replicas = $3, max_replicas = $4, metric = $5, target = $6, \
         to_zero_secs = $7, up_secs = $8, down_secs = $9, state = $10, state_reason = $11, state_message = $12, \
         state_since = $13, desired = $14, drain_secs = $15, committed_gpus = $16, labels = $17, updated_at = $18, \
         started_at = $19, generation = generation + 1, \
         leader_epoch = CASE WHEN $21 > leader_epoch THEN $21 ELSE leader_epoch END \
         WHERE id = $1 AND generation = $20 AND deleted_at IS NULL AND ($21 < 0 OR leader_epoch <= $21)",
    );
    let update = bound(update, &next, drain_secs).bind(row::to_number(seen.0)).bind(epoch);
    if tx.execute(update).await? == 0 {
        return Err(StoreError::EndpointStale);
    }
    write_labels(tx, &next).await?;
    tx.announce(Change::Endpoint(next.id.clone()), next.updated_at);
    Ok(next)
}

/// Locks an endpoint that is still at its generation until the end of the transaction.
async fn lock_unchanged(tx: &mut Fenced, endpoint: &Endpoint) -> Result<(), StoreError> {
    let lock = sqlx::query(
        "UPDATE endpoints SET generation = generation WHERE id = $1 AND generation = $2 AND deleted_at IS NULL",
    )
    .bind(endpoint.id.as_str())
    .bind(row::to_number(endpoint.generation.0));
    match tx.execute(lock).await? {
        0 => Err(StoreError::EndpointStale),
        _ => Ok(()),
    }
}

/// Marks an endpoint as deleted after its last hold has ended. Its name becomes free.
pub async fn mark_deleted(tx: &mut Fenced, endpoint: &Endpoint, now: Timestamp) -> Result<(), StoreError> {
    let epoch = row::to_number(tx.epoch());
    let update = sqlx::query(
        "UPDATE endpoints SET deleted_at = $3, committed_gpus = 0, generation = generation + 1, leader_epoch = $4 \
         WHERE id = $1 AND generation = $2 AND state = 'deleting' AND deleted_at IS NULL AND leader_epoch <= $4",
    )
    .bind(endpoint.id.as_str())
    .bind(row::to_number(endpoint.generation.0))
    .bind(now.millis())
    .bind(epoch);
    if tx.execute(update).await? == 0 {
        return Err(StoreError::EndpointStale);
    }
    tx.announce(Change::Endpoint(endpoint.id.clone()), now);
    Ok(())
}

/// Records when the endpoint was last called. Any node may do so: the time never goes back, and the generation stays.
pub async fn called(tx: &mut Tx, id: &EndpointId, at: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE endpoints SET last_request_at = $2 WHERE id = $1 AND (last_request_at IS NULL OR last_request_at < $2)",
    );
    tx.execute(update.bind(id.as_str()).bind(at.millis())).await.map(drop)
}

/// Binds the first nineteen values of the two statements above.
fn bound<'q>(query: Query<'q>, endpoint: &'q Endpoint, drain_secs: u32) -> Query<'q> {
    let scaling = &endpoint.scaling;
    let (replicas, min, max) = match scaling.mode {
        Mode::Fixed { replicas } => (Some(i64::from(replicas)), None, None),
        Mode::Autoscaled { min, max } => (None, Some(i64::from(min)), Some(i64::from(max))),
    };
    query
        .bind(endpoint.id.as_str())
        .bind(replicas)
        .bind(min)
        .bind(max)
        .bind(scaling.target.metric().as_str())
        .bind(row::to_number(scaling.target.milli()))
        .bind(i64::from(scaling.windows.to_zero_secs))
        .bind(i64::from(scaling.windows.up_secs))
        .bind(i64::from(scaling.windows.down_secs))
        .bind(endpoint.state.as_str())
        .bind(endpoint.reason.as_str())
        .bind(endpoint.message.as_str())
        .bind(endpoint.state_since.millis())
        .bind(i64::from(endpoint.status.desired))
        .bind(i64::from(drain_secs))
        .bind(i64::from(endpoint.committed_gpus))
        .bind(serde_json::to_string(&endpoint.labels).unwrap_or_default())
        .bind(endpoint.updated_at.millis())
        .bind(endpoint.started_at.millis())
}

async fn write_labels(tx: &mut Tx, endpoint: &Endpoint) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM endpoint_labels WHERE endpoint_id = $1").bind(endpoint.id.as_str());
    tx.execute(delete).await?;
    for (name, value) in &endpoint.labels {
        let insert = sqlx::query("INSERT INTO endpoint_labels (endpoint_id, name, value) VALUES ($1, $2, $3)");
        tx.execute(insert.bind(endpoint.id.as_str()).bind(name.as_str()).bind(value.as_str())).await?;
    }
    Ok(())
}

/// The number of endpoints of a workspace.
pub async fn count_of(tx: &mut Tx, workspace: &WorkspaceId) -> Result<u64, StoreError> {
    let query = sqlx::query("SELECT COUNT(*) AS count FROM endpoints WHERE workspace_id = $1 AND deleted_at IS NULL");
    tx.count(query.bind(workspace.as_str()), "count").await
}

/// The drain time of replicas, from the endpoint's last change.
pub async fn drain_secs(store: &Store, id: &EndpointId) -> Result<Option<u32>, StoreError> {
    let query = sqlx::query("SELECT drain_secs FROM endpoints WHERE id = $1").bind(id.as_str());
    store.row(query).await?.map(|found| row::small(&found, "drain_secs")).transpose()
}
