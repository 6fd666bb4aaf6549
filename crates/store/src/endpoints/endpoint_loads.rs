//! Load reports: each node reports its calls to endpoints, the leader reads all reports.

use crate::cluster::leader::Fenced;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::autoscaler::PrefillQueue;
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::{EndpointId, ReplicaId, Timestamp};
use serde_json::{Value, json};
use sqlx::any::AnyRow;

/// Replaces the node's previous report.
pub async fn report(tx: &mut Tx, report: &LoadReport) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO endpoint_loads (node, endpoint_id, reported_at, load, open_calls, last_call_at, replicas) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (node, endpoint_id) DO UPDATE SET \
         reported_at = excluded.reported_at, load = excluded.load, open_calls = excluded.open_calls, \
         last_call_at = excluded.last_call_at, replicas = excluded.replicas",
    )
    .bind(report.node.as_str())
    .bind(report.endpoint.as_str())
    .bind(report.at.millis())
    .bind(row::to_number(report.load))
    .bind(row::to_number(report.open_calls))
    .bind(row::to_optional_millis(report.last_call_at))
    .bind(Value::from_iter(report.replicas.iter().map(to_json)).to_string());
    tx.execute(upsert).await.map(drop)
}

/// All reports, by endpoint.
pub async fn list(store: &Store) -> Result<Vec<LoadReport>, StoreError> {
    let query = sqlx::query(
        "SELECT node, endpoint_id, reported_at, load, open_calls, last_call_at, replicas FROM endpoint_loads \
         ORDER BY endpoint_id, node",
    );
    store.rows(query).await?.iter().map(read).collect()
}

/// Deletes the reports of a node that shuts down.
pub async fn leave(tx: &mut Tx, node: &str) -> Result<(), StoreError> {
    tx.execute(sqlx::query("DELETE FROM endpoint_loads WHERE node = $1").bind(node)).await.map(drop)
}

/// Deletes the reports about a deleted endpoint.
pub async fn forget(tx: &mut Fenced, endpoint: &EndpointId) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM endpoint_loads WHERE endpoint_id = $1").bind(endpoint.as_str());
    tx.execute(delete).await.map(drop)
}

/// Deletes reports older than `before`, of dead nodes or deleted endpoints.
pub async fn prune(tx: &mut Fenced, before: Timestamp) -> Result<u64, StoreError> {
    tx.execute(sqlx::query("DELETE FROM endpoint_loads WHERE reported_at < $1").bind(before.millis())).await
}

fn to_json(calls: &ReplicaCalls) -> Value {
    let PrefillQueue { tokens, calls: prefilling } = calls.prefill;
    json!({
        "replica": calls.replica.as_str(), "routed": calls.routed, "inFlight": calls.in_flight,
        "prefillTokens": tokens, "prefilling": prefilling,
    })
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
            // Absent in the reports of older nodes.
            prefill: PrefillQueue {
                tokens: one["prefillTokens"].as_u64().unwrap_or(0),
                calls: one["prefilling"].as_u64().unwrap_or(0),
            },
        })
    };
    all.iter().map(calls).collect()
}
