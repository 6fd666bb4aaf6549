//! Secrets that all nodes share.

use crate::db::Store;
use crate::error::StoreError;
use crate::row;

/// The secret with this name. The first caller's `fresh` value becomes the secret.
pub async fn share(store: &Store, name: &str, fresh: &str) -> Result<String, StoreError> {
    let mut tx = store.begin().await?;
    let insert = sqlx::query("INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING");
    tx.execute(insert.bind(name).bind(fresh)).await?;
    let query = sqlx::query("SELECT value FROM secrets WHERE name = $1").bind(name);
    let found = tx.row(query).await?.ok_or_else(|| row::corrupt("value"))?;
    let value = row::text(&found, "value")?;
    tx.commit().await?;
    Ok(value)
}
