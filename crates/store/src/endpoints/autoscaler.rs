//! The autoscaler's memory of each endpoint.

use crate::cluster::leader::Fenced;
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::EndpointId;
use domain::autoscaler::Memory;

/// `None` if there is none or it is unreadable. The autoscaler then starts from scratch and scales nothing down for a
/// window.
pub async fn recall(store: &Store, endpoint: &EndpointId) -> Result<Option<Memory>, StoreError> {
    let query = sqlx::query("SELECT memory FROM autoscaler_memory WHERE endpoint_id = $1").bind(endpoint.as_str());
    let Some(found) = store.row(query).await? else { return Ok(None) };
    Ok(serde_json::from_str(&row::text(&found, "memory")?).ok())
}

pub async fn remember(tx: &mut Fenced, endpoint: &EndpointId, memory: &Memory) -> Result<(), StoreError> {
    let text = serde_json::to_string(memory).map_err(|_| row::corrupt("memory"))?;
    let upsert = sqlx::query(
        "INSERT INTO autoscaler_memory (endpoint_id, memory) VALUES ($1, $2) \
         ON CONFLICT (endpoint_id) DO UPDATE SET memory = excluded.memory",
    );
    tx.execute(upsert.bind(endpoint.as_str()).bind(text)).await.map(drop)
}

/// Deletes the memory of an endpoint that was suspended or deleted.
pub async fn forget(tx: &mut Fenced, endpoint: &EndpointId) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM autoscaler_memory WHERE endpoint_id = $1").bind(endpoint.as_str());
    tx.execute(delete).await.map(drop)
}
