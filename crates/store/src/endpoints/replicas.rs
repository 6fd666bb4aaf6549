//! Replicas: their intended and their observed state. Only the leader writes them.

use crate::cluster::leader::Fenced;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::endpoint::FailureClass;
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use domain::model::DriverKind;
use domain::{EndpointId, ReplicaId, Timestamp};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The part of a replica's log that is kept.
pub const LOG_TAIL_BYTES: usize = 4_096;

pub async fn insert(tx: &mut Fenced, new: &Replica) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO replicas (id, endpoint_id, wish, drain_until, state, node, address, created_at, started_at, \
         ready_at, ended_at, last_error, ending, log_tail, driver, leader_epoch) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    );
    let epoch = tx.epoch();
    tx.execute(bound(insert, new).bind(row::to_number(epoch))).await.map(drop)
}

/// Writes the current state of a replica. One that has ended stays unchanged. Idempotent.
pub async fn update(tx: &mut Fenced, replica: &Replica) -> Result<bool, StoreError> {
    let update = sqlx::query(
        "UPDATE replicas SET endpoint_id = $2, wish = $3, drain_until = $4, state = $5, node = $6, address = $7, \
         created_at = $8, started_at = $9, ready_at = $10, ended_at = $11, last_error = $12, ending = $13, \
         log_tail = $14, driver = $15, leader_epoch = $16 \
         WHERE id = $1 AND leader_epoch <= $16 AND state NOT IN ('released', 'failed')",
    );
    let epoch = tx.epoch();
    Ok(tx.execute(bound(update, replica).bind(row::to_number(epoch))).await? == 1)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, endpoint_id, wish, drain_until, state, node, address, created_at, started_at, ready_at, \
             ended_at, last_error, ending, log_tail, driver FROM replicas ",
            $rest
        )
    };
}

/// The newest replicas of an endpoint, ended or not, oldest first.
pub async fn newest_of(store: &Store, endpoint: &EndpointId, limit: u32) -> Result<Vec<Replica>, StoreError> {
    let query = sqlx::query(select!("WHERE endpoint_id = $1 ORDER BY id DESC LIMIT $2"));
    let mut replicas = read(store, query.bind(endpoint.as_str()).bind(i64::from(limit))).await?;
    replicas.reverse();
    Ok(replicas)
}

/// The replicas of all endpoints that have not ended.
pub async fn list_live(store: &Store) -> Result<Vec<Replica>, StoreError> {
    let query = sqlx::query(select!("WHERE state NOT IN ('released', 'failed') ORDER BY id"));
    read(store, query).await
}

async fn read(store: &Store, query: crate::db::Query<'_>) -> Result<Vec<Replica>, StoreError> {
    let mut replicas: Vec<Replica> = store.rows(query).await?.iter().map(replica).collect::<Result<_, _>>()?;
    let mut gpus = gpus_of(store, &replicas).await?;
    for replica in &mut replicas {
        replica.gpu_ids = gpus.remove(&replica.id).unwrap_or_default();
    }
    Ok(replicas)
}

async fn gpus_of(store: &Store, replicas: &[Replica]) -> Result<BTreeMap<ReplicaId, Vec<String>>, StoreError> {
    let mut gpus: BTreeMap<ReplicaId, Vec<String>> = BTreeMap::new();
    let ids = || replicas.iter().map(|replica| &replica.id);
    let (Some(first), Some(last)) = (ids().min(), ids().max()) else { return Ok(gpus) };
    let query = sqlx::query(
        "SELECT replica_id, gpu_uuid FROM hold_gpus WHERE replica_id >= $1 AND replica_id <= $2 \
         ORDER BY replica_id, gpu_uuid",
    );
    for found in &store.rows(query.bind(first.as_str()).bind(last.as_str())).await? {
        let replica = row::parsed(found, "replica_id", |text| ReplicaId::parse(text).ok())?;
        gpus.entry(replica).or_default().push(row::text(found, "gpu_uuid")?);
    }
    Ok(gpus)
}

fn bound<'q>(query: crate::db::Query<'q>, replica: &'q Replica) -> crate::db::Query<'q> {
    query
        .bind(replica.id.as_str())
        .bind(replica.endpoint.as_str())
        .bind(replica.intent.as_str())
        .bind(row::to_optional_millis(replica.drain_until))
        .bind(replica.state().as_str())
        .bind(replica.node.as_deref())
        .bind(replica.address.as_deref())
        .bind(replica.created_at.millis())
        .bind(row::to_optional_millis(replica.started_at))
        .bind(row::to_optional_millis(replica.ready_at))
        .bind(row::to_optional_millis(replica.ended_at))
        .bind(replica.last_error.as_deref())
        .bind(replica.failure.map(FailureClass::as_str))
        .bind(tail(&replica.log_tail))
        .bind(replica.driver.as_str())
}

/// The end of a log, at most [`LOG_TAIL_BYTES`] and whole characters.
fn tail(log: &str) -> &str {
    &log[log.ceil_char_boundary(log.len().saturating_sub(LOG_TAIL_BYTES))..]
}

fn replica(found: &AnyRow) -> Result<Replica, StoreError> {
    let id = row::parsed(found, "id", |text| ReplicaId::parse(text).ok())?;
    let endpoint = row::parsed(found, "endpoint_id", |text| EndpointId::parse(text).ok())?;
    let state = row::parsed(found, "state", ReplicaState::parse)?;
    let mut replica = Replica::new(id, endpoint, row::moment(found, "created_at")?).restored(state);
    replica.intent = row::parsed(found, "wish", Intent::parse)?;
    replica.drain_until = row::optional_moment(found, "drain_until")?;
    replica.node = row::optional_text(found, "node")?;
    replica.address = row::optional_text(found, "address")?;
    replica.started_at = row::optional_moment(found, "started_at")?;
    replica.ready_at = row::optional_moment(found, "ready_at")?;
    replica.ended_at = row::optional_moment(found, "ended_at")?;
    replica.last_error = row::optional_text(found, "last_error")?;
    replica.failure = row::optional_parsed(found, "ending", FailureClass::parse)?;
    replica.log_tail = row::text(found, "log_tail")?;
    replica.driver = row::parsed(found, "driver", DriverKind::parse)?;
    Ok(replica)
}

/// Deletes replicas that ended before a moment; their holds stay.
pub async fn prune(tx: &mut Fenced, before: Timestamp) -> Result<u64, StoreError> {
    let delete = sqlx::query("DELETE FROM replicas WHERE state IN ('released', 'failed') AND ended_at < $1");
    tx.execute(delete.bind(before.millis())).await
}
