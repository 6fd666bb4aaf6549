//! Rows of what nodes tell of their calls to endpoints. Each node writes its own; the leader reads all.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::leader::Fenced;
use crate::row;
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::{EndpointId, ReplicaId, Timestamp};
use serde_json::{Value, json};
use sqlx::any::AnyRow;

/// Takes the place of what the node told before.
pub async fn report(tx: &mut Tx, told: &LoadReport) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO endpoint_loads (node, endpoint_id, reported_at, load, open_calls, last_call_at, replicas) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (node, endpoint_id) DO UPDATE SET \
         reported_at = excluded.reported_at, load = excluded.load, open_calls = excluded.open_calls, \
         last_call_at = excluded.last_call_at, replicas = excluded.replicas",
    )
    .bind(told.node.as_str())
    .bind(told.endpoint.as_str())
    .bind(told.at.millis())
    .bind(row::to_number(told.load))
    .bind(row::to_number(told.open_calls))
    .bind(row::to_optional_millis(told.last_call_at))
    .bind(Value::from_iter(told.replicas.iter().map(written)).to_string());
    tx.execute(upsert).await.map(drop)
}

/// What all nodes told of all endpoints, by endpoint.
pub async fn list(store: &Store) -> Result<Vec<LoadReport>, StoreError> {
    let query = sqlx::query(
        "SELECT node, endpoint_id, reported_at, load, open_calls, last_call_at, replicas FROM endpoint_loads \
         ORDER BY endpoint_id, node",
    );
    store.rows(query).await?.iter().map(read).collect()
}

/// A node ends in good order: its calls are over.
pub async fn leave(tx: &mut Tx, node: &str) -> Result<(), StoreError> {
    tx.execute(sqlx::query("DELETE FROM endpoint_loads WHERE node = $1").bind(node)).await.map(drop)
}

/// Nobody calls an endpoint that is gone.
pub async fn forget(tx: &mut Fenced, endpoint: &EndpointId) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM endpoint_loads WHERE endpoint_id = $1").bind(endpoint.as_str());
    tx.execute(delete).await.map(drop)
}

/// Forgets what was told before a moment, by nodes that are gone or of endpoints that are.
pub async fn prune(tx: &mut Fenced, before: Timestamp) -> Result<u64, StoreError> {
    tx.execute(sqlx::query("DELETE FROM endpoint_loads WHERE reported_at < $1").bind(before.millis())).await
}

fn written(calls: &ReplicaCalls) -> Value {
    json!({"replica": calls.replica.as_str(), "routed": calls.routed, "inFlight": calls.in_flight})
}

fn read(found: &AnyRow) -> Result<LoadReport, StoreError> {
    Ok(LoadReport {
        node: row::text(found, "node")?,
        endpoint: row::parsed(found, "endpoint_id", |text| EndpointId::parse(text).ok())?,
        at: row::moment(found, "reported_at")?,
        load: row::count(found, "load")?,
        open_calls: row::count(found, "open_calls")?,
        last_call_at: row::optional_moment(found, "last_call_at")?,
        replicas: row::parsed(found, "replicas", replicas)?,
    })
}

fn replicas(text: &str) -> Option<Vec<ReplicaCalls>> {
    let all: Vec<Value> = serde_json::from_str(text).ok()?;
    let calls = |one: &Value| {
        Some(ReplicaCalls {
            replica: ReplicaId::parse(one["replica"].as_str()?).ok()?,
            routed: one["routed"].as_bool()?,
            in_flight: one["inFlight"].as_u64()?,
        })
    };
    all.iter().map(calls).collect()
}
