//! Stored responses. Their content is sealed before it gets here: this module sees only bytes.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::stored_bytes::{self, MaxBytes};
use crate::{row, values, workspaces};
use domain::{ResponseRetention, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// Responses that one transaction deletes. Few, because their content may be large.
pub const BATCH: u64 = 100;
/// The longest chain of responses that a call may continue.
pub const MAX_CHAIN: usize = 1_000;
/// The most items that one lookup finds.
pub const MAX_ITEMS: usize = 256;

/// The content of all workspaces.
const TOTAL_BYTES: &str = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM stored_response_totals";

/// The response `$2`, and up to `$4` that it continues. All must be from `$3` or later.
macro_rules! chain {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE chain (id, previous_id, depth) AS (\
             SELECT id, previous_id, CAST(0 AS BIGINT) FROM stored_responses \
             WHERE workspace_id = $1 AND id = $2 AND created_at >= $3 UNION ALL \
             SELECT r.id, r.previous_id, chain.depth + 1 FROM chain JOIN stored_responses r \
             ON r.workspace_id = $1 AND r.id = chain.previous_id AND r.created_at >= $3 WHERE chain.depth < $4) ",
            $rest
        )
    };
}

/// A response to be stored.
#[derive(Debug, Clone)]
pub struct NewResponse {
    pub workspace: WorkspaceId,
    pub id: String,
    /// The response that it continues.
    pub previous: Option<String>,
    pub created_at: Timestamp,
    /// The id of the key that sealed its content.
    pub content_key: String,
    pub input: Vec<u8>,
    pub response: Vec<u8>,
    /// The ids of its output items.
    pub items: Vec<String>,
}

/// A stored response, as far as it is readable without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub id: String,
    pub previous: Option<String>,
    /// The size of its content.
    pub bytes: u64,
}

/// The content of a stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedResponse {
    pub id: String,
    pub input: Vec<u8>,
    pub response: Vec<u8>,
}

/// The stored responses of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    pub workspace: WorkspaceId,
    pub bytes: u64,
    /// When the oldest one was created.
    pub oldest: Option<Timestamp>,
    /// `None` if they are no longer to be kept, or if the workspace was deleted.
    pub retention: Option<ResponseRetention>,
}

/// Whether there was room for a response. If not, the transaction must not be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insert {
    Done,
    /// The workspace, or its organization, has no room.
    Full,
    /// There is no room for any workspace.
    StoreFull,
}

/// Stores a response, unless there would be more than `max`.
pub async fn insert(tx: &mut Tx, new: &NewResponse, max: MaxBytes) -> Result<Insert, StoreError> {
    let bytes = row::to_number((new.input.len() + new.response.len()) as u64);
    let add = sqlx::query(
        "INSERT INTO stored_response_totals (workspace_id, bytes) VALUES ($1, $2) ON CONFLICT (workspace_id) \
         DO UPDATE SET bytes = stored_response_totals.bytes + excluded.bytes RETURNING bytes",
    );
    let total = tx.count(add.bind(new.workspace.as_str()).bind(bytes), "bytes").await?;
    if total > max.workspace {
        return Ok(Insert::Full);
    }
    if stored_bytes::exceeded(tx, &new.workspace, 0, max.organization).await?.is_some() {
        return Ok(Insert::Full);
    }
    if tx.count(sqlx::query(TOTAL_BYTES), "bytes").await? > max.total {
        return Ok(Insert::StoreFull);
    }
    let insert = sqlx::query(
        "INSERT INTO stored_responses (workspace_id, id, previous_id, created_at, content_key, bytes, input, response) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(new.workspace.as_str())
    .bind(new.id.as_str())
    .bind(new.previous.as_deref())
    .bind(new.created_at.millis())
    .bind(new.content_key.as_str())
    .bind(bytes)
    .bind(new.input.as_slice())
    .bind(new.response.as_slice());
    tx.execute(insert).await?;
    for chunk in values::chunks(&new.items) {
        let table = "stored_response_items";
        let text = values::insert_shared_text(tx.engine(), table, "workspace_id, response_id", "id", chunk.len());
        let mut insert = sqlx::query(AssertSqlSafe(text + " ON CONFLICT DO NOTHING"));
        for item in chunk {
            insert = insert.bind(item.as_str());
        }
        tx.execute(insert.bind(new.workspace.as_str()).bind(new.id.as_str())).await?;
    }
    Ok(Insert::Done)
}

/// The size of all stored content.
pub async fn total_bytes(store: &Store) -> Result<u64, StoreError> {
    store.row(sqlx::query(TOTAL_BYTES)).await?.map_or(Ok(0), |found| row::count(&found, "bytes"))
}

/// The size of the content of a response from `since` or later.
pub async fn size(
    store: &Store,
    workspace: &WorkspaceId,
    id: &str,
    since: Timestamp,
) -> Result<Option<u64>, StoreError> {
    let query =
        sqlx::query("SELECT bytes FROM stored_responses WHERE workspace_id = $1 AND id = $2 AND created_at >= $3");
    let found = store.row(query.bind(workspace.as_str()).bind(id).bind(since.millis())).await?;
    found.map(|found| row::count(&found, "bytes")).transpose()
}

/// The sealed content of a response from `since` or later.
pub async fn find(
    store: &Store,
    workspace: &WorkspaceId,
    id: &str,
    since: Timestamp,
) -> Result<Option<SealedResponse>, StoreError> {
    let query = sqlx::query(
        "SELECT id, input, response FROM stored_responses WHERE workspace_id = $1 AND id = $2 AND created_at >= $3",
    );
    let query = query.bind(workspace.as_str()).bind(id).bind(since.millis());
    store.row(query).await?.as_ref().map(sealed).transpose()
}

/// The response and those that it continues, the newest first; empty if it does not exist, and at most one more than
/// [`MAX_CHAIN`]. If the last one names a previous response, that one is missing.
pub async fn chain(
    store: &Store,
    workspace: &WorkspaceId,
    id: &str,
    since: Timestamp,
) -> Result<Vec<Link>, StoreError> {
    let query = sqlx::query(chain!(
        "SELECT r.id, r.previous_id, r.bytes FROM chain JOIN stored_responses r \
         ON r.workspace_id = $1 AND r.id = chain.id ORDER BY chain.depth"
    ));
    let query = query.bind(workspace.as_str()).bind(id).bind(since.millis()).bind(row::to_number(MAX_CHAIN as u64));
    store.rows(query).await?.iter().map(link).collect()
}

/// The content of a [`chain`], the oldest response first.
pub async fn chain_content(
    store: &Store,
    workspace: &WorkspaceId,
    id: &str,
    since: Timestamp,
) -> Result<Vec<SealedResponse>, StoreError> {
    let query = sqlx::query(chain!(
        "SELECT r.id, r.input, r.response FROM chain JOIN stored_responses r \
         ON r.workspace_id = $1 AND r.id = chain.id ORDER BY chain.depth DESC"
    ));
    let query = query.bind(workspace.as_str()).bind(id).bind(since.millis()).bind(row::to_number(MAX_CHAIN as u64));
    store.rows(query).await?.iter().map(sealed).collect()
}

/// The responses, from `since` or later, that have any of these output items; of at most [`MAX_ITEMS`] items.
pub async fn of_items(
    store: &Store,
    workspace: &WorkspaceId,
    items: &[&str],
    since: Timestamp,
) -> Result<Vec<Link>, StoreError> {
    let items = &items[..items.len().min(MAX_ITEMS)];
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = (3..items.len() + 3).map(|number| format!("${number}")).collect();
    let text = format!(
        "SELECT DISTINCT r.id, r.previous_id, r.bytes FROM stored_response_items i JOIN stored_responses r \
         ON r.workspace_id = i.workspace_id AND r.id = i.response_id \
         WHERE i.workspace_id = $1 AND r.created_at >= $2 AND i.id IN ({})",
        names.join(", ")
    );
    let mut query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(since.millis());
    for item in items {
        query = query.bind(*item);
    }
    store.rows(query).await?.iter().map(link).collect()
}

/// Deletes a response from `since` or later, and returns whether there was one.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &str, since: Timestamp) -> Result<bool, StoreError> {
    // Locked before the response, in the same order as by an insert.
    lock_total(tx, workspace).await?;
    let delete = sqlx::query(
        "DELETE FROM stored_responses WHERE workspace_id = $1 AND id = $2 AND created_at >= $3 RETURNING bytes",
    );
    let deleted = tx.rows(delete.bind(workspace.as_str()).bind(id).bind(since.millis())).await?;
    subtract(tx, workspace, &deleted).await?;
    Ok(!deleted.is_empty())
}

/// Deletes one batch of a workspace's responses from before `before`, and returns their number; fewer than [`BATCH`] if none
/// are left.
pub async fn clear(store: &Store, workspace: &WorkspaceId, before: Timestamp) -> Result<u64, StoreError> {
    let mut tx = store.begin().await?;
    lock_total(&mut tx, workspace).await?;
    let text = format!(
        "DELETE FROM stored_responses WHERE workspace_id = $1 AND id IN (SELECT id FROM stored_responses \
         WHERE workspace_id = $1 AND created_at < $2 ORDER BY created_at LIMIT {BATCH}) RETURNING bytes"
    );
    let delete = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(before.millis());
    let deleted = tx.rows(delete).await?;
    subtract(&mut tx, workspace, &deleted).await?;
    tx.commit().await?;
    Ok(deleted.len() as u64)
}

/// Workspaces that have stored responses, by id; at most `limit`, after the one with the id `after`.
pub async fn totals(store: &Store, after: Option<&WorkspaceId>, limit: i64) -> Result<Vec<Total>, StoreError> {
    let query = sqlx::query(
        "SELECT t.workspace_id, t.bytes, w.response_retention_days, (SELECT MIN(r.created_at) FROM stored_responses r \
         WHERE r.workspace_id = t.workspace_id) AS oldest FROM stored_response_totals t \
         LEFT JOIN workspaces w ON w.id = t.workspace_id WHERE t.workspace_id > $1 ORDER BY t.workspace_id LIMIT $2",
    );
    let after = after.map_or("", WorkspaceId::as_str);
    store.rows(query.bind(after).bind(limit)).await?.iter().map(total).collect()
}

async fn lock_total(tx: &mut Tx, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let touch = sqlx::query("UPDATE stored_response_totals SET bytes = bytes WHERE workspace_id = $1");
    tx.execute(touch.bind(workspace.as_str())).await.map(drop)
}

/// A workspace without stored responses has no total.
async fn subtract(tx: &mut Tx, workspace: &WorkspaceId, deleted: &[AnyRow]) -> Result<(), StoreError> {
    let bytes: i64 = deleted.iter().map(|found| row::number(found, "bytes")).sum::<Result<i64, StoreError>>()?;
    let update = sqlx::query("UPDATE stored_response_totals SET bytes = bytes - $2 WHERE workspace_id = $1");
    tx.execute(update.bind(workspace.as_str()).bind(bytes)).await?;
    let remove = sqlx::query("DELETE FROM stored_response_totals WHERE workspace_id = $1 AND bytes <= 0");
    tx.execute(remove.bind(workspace.as_str())).await.map(drop)
}

fn sealed(found: &AnyRow) -> Result<SealedResponse, StoreError> {
    Ok(SealedResponse {
        id: row::text(found, "id")?,
        input: row::bytes(found, "input")?,
        response: row::bytes(found, "response")?,
    })
}

fn link(found: &AnyRow) -> Result<Link, StoreError> {
    Ok(Link {
        id: row::text(found, "id")?,
        previous: row::optional_text(found, "previous_id")?,
        bytes: row::count(found, "bytes")?,
    })
}

fn total(found: &AnyRow) -> Result<Total, StoreError> {
    Ok(Total {
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        bytes: row::count(found, "bytes")?,
        oldest: row::optional_moment(found, "oldest")?,
        retention: workspaces::retention(found)?,
    })
}
