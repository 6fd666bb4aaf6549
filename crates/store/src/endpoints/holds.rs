//! Holds: the intervals in which replicas have GPUs, and the claim on each single GPU.
//!
//! A hold is opened before its process starts and closed when its GPUs are free again. Closing is idempotent. No GPU can
//! be in two open holds.

use crate::cluster::leader::Fenced;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::gpu_time::Hold;
use domain::{
    Endpoint, EndpointId, GpuType, ModelId, NanoUsd, OrganizationId, ReplicaId, Span, Timestamp, WorkspaceId,
};
use sqlx::any::AnyRow;

/// A hold to open.
#[derive(Debug, Clone, Copy)]
pub struct NewHold<'a> {
    pub replica: &'a ReplicaId,
    pub endpoint: &'a Endpoint,
    pub node: &'a str,
    /// The unique ids of the GPUs; as many as the flavor has.
    pub gpus: &'a [String],
    pub price_per_gpu_hour: NanoUsd,
    pub started_at: Timestamp,
}

/// A stored hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub replica: ReplicaId,
    pub endpoint: EndpointId,
    pub node: String,
    pub price_per_gpu_hour: NanoUsd,
    pub hold: Hold,
}

/// Claims the GPUs for the replica. The caller must roll back on error, so that all or none are claimed.
pub async fn open(tx: &mut Fenced, new: NewHold<'_>) -> Result<(), StoreError> {
    let endpoint = new.endpoint;
    let insert = sqlx::query(
        "INSERT INTO replica_holds (replica_id, organization_id, workspace_id, endpoint_id, endpoint_name, model, \
         flavor, gpu_type, gpu_count, price_per_gpu_hour, node, started_at, last_seen_at, ended_at, end_reason, \
         billable) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, NULL, '', 1)",
    )
    .bind(new.replica.as_str())
    .bind(endpoint.organization.as_str())
    .bind(endpoint.workspace.as_str())
    .bind(endpoint.id.as_str())
    .bind(endpoint.name.as_str())
    .bind(endpoint.model.as_str())
    .bind(endpoint.shape.flavor.name.as_str())
    .bind(endpoint.gpu_type().as_str())
    .bind(i64::from(endpoint.gpu_count()))
    .bind(new.price_per_gpu_hour.nanos())
    .bind(new.node)
    .bind(new.started_at.millis());
    tx.execute(insert).await?;
    for gpu in new.gpus {
        let claim = sqlx::query(
            "INSERT INTO hold_gpus (replica_id, node, gpu_uuid, ended_at) VALUES ($1, $2, $3, NULL) \
             ON CONFLICT DO NOTHING",
        );
        let claimed = tx.execute(claim.bind(new.replica.as_str()).bind(new.node).bind(gpu.as_str())).await?;
        if claimed == 0 {
            return Err(StoreError::GpuTaken { gpu: gpu.clone() });
        }
    }
    Ok(())
}

/// Ends a hold and frees its GPUs; false if it had ended before. The end is never before the start.
pub async fn close(
    tx: &mut Fenced,
    replica: &ReplicaId,
    ended_at: Timestamp,
    reason: &str,
) -> Result<bool, StoreError> {
    let hold = sqlx::query(
        "UPDATE replica_holds SET ended_at = CASE WHEN $2 < started_at THEN started_at ELSE $2 END, end_reason = $3 \
         WHERE replica_id = $1 AND ended_at IS NULL",
    );
    let closed = tx.execute(hold.bind(replica.as_str()).bind(ended_at.millis()).bind(reason)).await? == 1;
    let gpus = sqlx::query("UPDATE hold_gpus SET ended_at = $2 WHERE replica_id = $1 AND ended_at IS NULL");
    tx.execute(gpus.bind(replica.as_str()).bind(ended_at.millis())).await?;
    Ok(closed)
}

/// Records that a replica was seen. Any node may do so; the time never goes back.
pub async fn seen(tx: &mut Tx, replica: &ReplicaId, at: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE replica_holds SET last_seen_at = $2 WHERE replica_id = $1 AND ended_at IS NULL AND last_seen_at < $2",
    );
    tx.execute(update.bind(replica.as_str()).bind(at.millis())).await.map(drop)
}

/// When the replica of an open hold was last seen.
pub async fn last_seen(store: &Store, replica: &ReplicaId) -> Result<Option<Timestamp>, StoreError> {
    let query = sqlx::query("SELECT last_seen_at FROM replica_holds WHERE replica_id = $1 AND ended_at IS NULL");
    store.row(query.bind(replica.as_str())).await?.map(|found| row::moment(&found, "last_seen_at")).transpose()
}

/// Marks a hold as not billed because the start failed permanently. Its time is still shown.
pub async fn not_billed(tx: &mut Fenced, replica: &ReplicaId) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE replica_holds SET billable = 0 WHERE replica_id = $1");
    tx.execute(update.bind(replica.as_str())).await.map(drop)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT replica_id, endpoint_id, node, gpu_count, price_per_gpu_hour, started_at, last_seen_at, ended_at, \
             billable FROM replica_holds ",
            $rest
        )
    };
}

/// All holds that have not ended.
pub async fn list_open(store: &Store) -> Result<Vec<Held>, StoreError> {
    let query = sqlx::query(select!("WHERE ended_at IS NULL ORDER BY replica_id"));
    store.rows(query).await?.iter().map(held).collect()
}

/// A GPU that a replica holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldGpu {
    pub gpu: String,
    pub node: String,
    pub gpu_type: GpuType,
    pub replica: ReplicaId,
    pub endpoint: EndpointId,
    pub endpoint_name: String,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub model: ModelId,
    pub since: Timestamp,
}

/// Every GPU that is held now.
pub async fn list_held_gpus(store: &Store) -> Result<Vec<HeldGpu>, StoreError> {
    let query = sqlx::query(
        "SELECT g.gpu_uuid, g.node, h.gpu_type, h.replica_id, h.endpoint_id, h.endpoint_name, h.organization_id, \
         h.workspace_id, h.model, h.started_at FROM hold_gpus g JOIN replica_holds h ON h.replica_id = g.replica_id \
         WHERE g.ended_at IS NULL ORDER BY g.node, g.gpu_uuid",
    );
    let held = |found: &AnyRow| {
        Ok(HeldGpu {
            gpu: row::text(found, "gpu_uuid")?,
            node: row::text(found, "node")?,
            gpu_type: row::parsed(found, "gpu_type", |text| GpuType::parse(text).ok())?,
            replica: row::parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?,
            endpoint: row::parsed(found, "endpoint_id", |text| EndpointId::parse(text).ok())?,
            endpoint_name: row::text(found, "endpoint_name")?,
            organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
            workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
            model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
            since: row::moment(found, "started_at")?,
        })
    };
    store.rows(query).await?.iter().map(held).collect()
}

/// The holds of an endpoint that overlap a span.
pub async fn of_endpoint(store: &Store, endpoint: &EndpointId, span: Span) -> Result<Vec<Held>, StoreError> {
    let query = sqlx::query(select!(
        "WHERE endpoint_id = $1 AND started_at < $3 AND (ended_at IS NULL OR ended_at > $2) ORDER BY replica_id"
    ))
    .bind(endpoint.as_str())
    .bind(span.from.millis())
    .bind(span.to.millis());
    store.rows(query).await?.iter().map(held).collect()
}

/// The holds of all endpoints that overlap a span.
pub async fn overlapping(store: &Store, span: Span) -> Result<Vec<Held>, StoreError> {
    let query =
        sqlx::query(select!("WHERE started_at < $2 AND (ended_at IS NULL OR ended_at > $1) ORDER BY replica_id"))
            .bind(span.from.millis())
            .bind(span.to.millis());
    store.rows(query).await?.iter().map(held).collect()
}

/// A hold with the columns of a bill, which do not depend on records that may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billed {
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub endpoint_name: String,
    pub model: ModelId,
    pub flavor: String,
    pub gpu_type: GpuType,
    pub held: Held,
}

/// Selects the owner of holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    /// All organizations.
    Installation,
    Organization(&'a OrganizationId),
    Workspace(&'a WorkspaceId),
}

/// The holds of an owner that overlap a span.
pub async fn of_owner(store: &Store, owner: Owner<'_>, span: Span) -> Result<Vec<Billed>, StoreError> {
    some_of_owner(store, owner, span, usize::MAX).await
}

/// At most `max_rows` of the holds of an owner that overlap a span.
pub async fn some_of_owner(
    store: &Store,
    owner: Owner<'_>,
    span: Span,
    max_rows: usize,
) -> Result<Vec<Billed>, StoreError> {
    macro_rules! select_of {
        ($column:literal) => {
            concat!(
                "SELECT replica_id, endpoint_id, node, gpu_count, price_per_gpu_hour, started_at, last_seen_at, \
                 ended_at, billable, organization_id, workspace_id, endpoint_name, model, flavor, gpu_type FROM replica_holds WHERE ",
                $column,
                " = $1 AND started_at < $3 AND (ended_at IS NULL OR ended_at > $2) ORDER BY replica_id LIMIT $4"
            )
        };
    }
    let query = match owner {
        Owner::Installation => sqlx::query(select_of!("''")).bind(""),
        Owner::Organization(id) => sqlx::query(select_of!("organization_id")).bind(id.as_str()),
        Owner::Workspace(id) => sqlx::query(select_of!("workspace_id")).bind(id.as_str()),
    };
    let query = query.bind(span.from.millis()).bind(span.to.millis()).bind(row::to_number(max_rows as u64));
    let found = store.rows(query).await?;
    let billed = |found: &AnyRow| {
        Ok(Billed {
            organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
            workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
            endpoint_name: row::text(found, "endpoint_name")?,
            model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
            flavor: row::text(found, "flavor")?,
            gpu_type: row::parsed(found, "gpu_type", |text| GpuType::parse(text).ok())?,
            held: held(found)?,
        })
    };
    found.iter().map(billed).collect()
}

fn held(found: &AnyRow) -> Result<Held, StoreError> {
    Ok(Held {
        replica: row::parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?,
        endpoint: row::parsed(found, "endpoint_id", |text| EndpointId::parse(text).ok())?,
        node: row::text(found, "node")?,
        price_per_gpu_hour: row::money(found, "price_per_gpu_hour")?,
        hold: Hold {
            gpu_count: row::small(found, "gpu_count")?,
            started_at: row::moment(found, "started_at")?,
            last_seen_at: row::moment(found, "last_seen_at")?,
            ended_at: row::optional_moment(found, "ended_at")?,
            billable: row::flag(found, "billable")?,
        },
    })
}
