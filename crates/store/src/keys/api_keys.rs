//! API keys and their secrets.
//!
//! A key has several secrets during a rotation: the old one stays valid for a while. Only hashes of secrets are stored.
//! Every change announces all segments of the key, because nodes cache keys by segment.

use crate::change::Change;
use crate::db::{Engine, Store, Tx};
use crate::error::{Conflict, StoreError};
use crate::values::{chunks, values_text};
use crate::{row, workspaces};
use domain::endpoint::labels::Labels;
use domain::{ApiKey, KeyId, KeyState, OrganizationId, SecretHash, Segment, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// Rows per call of [`credentials_after`].
pub const CREDENTIALS_AT_ONCE: i64 = 10_000;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT k.id, k.workspace_id, w.organization_id, k.name, s.segment, s.hash, s.dies_at, k.created_at, k.created_by, \
             k.expires_at, k.last_used_at, k.revoked_at, k.disabled_at, k.requests_per_minute, k.tokens_per_minute, \
             k.limits, k.trusts_end_user, k.restrictions, k.labels, k.budgets, \
             (SELECT MAX(o.dies_at) FROM api_key_secrets o WHERE o.key_id = k.id) AS overlap_until \
             FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id JOIN workspaces w ON w.id = k.workspace_id ",
            $rest
        )
    };
}

/// The key of a segment, in any state; `None` if the segment belongs to a rotated secret that has expired.
pub async fn by_segment(store: &Store, segment: Segment, now: Timestamp) -> Result<Option<ApiKey>, StoreError> {
    let query = sqlx::query(select!("WHERE s.segment = $1 AND (s.dies_at IS NULL OR s.dies_at > $2)"));
    store.row(query.bind(segment.as_str()).bind(now.millis())).await?.as_ref().map(api_key).transpose()
}

/// The key with its current secret.
pub async fn by_id(store: &Store, id: &KeyId) -> Result<Option<ApiKey>, StoreError> {
    let query = sqlx::query(select!("WHERE k.id = $1 AND s.dies_at IS NULL")).bind(id.as_str());
    store.row(query).await?.as_ref().map(api_key).transpose()
}

/// Segments and hashes of the secrets of keys that are not revoked, in the order of segments: at most
/// [`CREDENTIALS_AT_ONCE`], those after `last`.
pub async fn credentials_after(store: &Store, last: Option<Segment>) -> Result<Vec<(Segment, SecretHash)>, StoreError> {
    let query = sqlx::query(
        "SELECT s.segment, s.hash FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id \
         WHERE s.segment > $1 AND k.revoked_at IS NULL ORDER BY s.segment LIMIT $2",
    );
    let last = last.as_ref().map_or("", Segment::as_str);
    store.rows(query.bind(last).bind(CREDENTIALS_AT_ONCE)).await?.iter().map(credential).collect()
}

/// Like [`credentials_after`], for these segments.
pub async fn credentials_of(store: &Store, segments: &[Segment]) -> Result<Vec<(Segment, SecretHash)>, StoreError> {
    let mut all = Vec::with_capacity(segments.len());
    for chunk in chunks(segments) {
        let text = format!(
            "WITH changed (segment) AS ({}) SELECT s.segment, s.hash FROM changed \
             JOIN api_key_secrets s ON s.segment = changed.segment JOIN api_keys k ON k.id = s.key_id \
             WHERE k.revoked_at IS NULL",
            values_text(store.engine(), 1, chunk.len())
        );
        let query = sqlx::query(AssertSqlSafe(text));
        let query = chunk.iter().fold(query, |query, segment| query.bind(segment.as_str()));
        for found in store.rows(query).await? {
            all.push(credential(&found)?);
        }
    }
    Ok(all)
}

/// The labels of the workspace's keys that have some.
pub async fn labels(store: &Store, workspace: &WorkspaceId) -> Result<HashMap<KeyId, Labels>, StoreError> {
    let query = sqlx::query("SELECT id, labels FROM api_keys WHERE workspace_id = $1 AND labels IS NOT NULL");
    let found = store.rows(query.bind(workspace.as_str())).await?;
    let read =
        |found: &AnyRow| Ok((row::parsed(found, "id", |text| KeyId::parse(text).ok())?, from_json(found, "labels")?));
    found.iter().map(read).collect()
}

/// The different sets of labels of the workspace's keys, those of the newest keys first; at most `limit`.
pub async fn label_sets(store: &Store, workspace: &WorkspaceId, limit: u32) -> Result<Vec<Labels>, StoreError> {
    let query = sqlx::query(
        "SELECT labels FROM api_keys WHERE workspace_id = $1 AND labels IS NOT NULL GROUP BY labels \
         ORDER BY MAX(id) DESC LIMIT $2",
    );
    let found = store.rows(query.bind(workspace.as_str()).bind(i64::from(limit))).await?;
    found.iter().map(|found| from_json(found, "labels")).collect()
}

/// The keys that a user created in an organization and that are not revoked.
pub async fn unrevoked_of(tx: &mut Tx, organization: &OrganizationId, user: &UserId) -> Result<Vec<KeyId>, StoreError> {
    let query = sqlx::query(
        "SELECT k.id FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id \
         WHERE w.organization_id = $1 AND k.created_by = $2 AND k.revoked_at IS NULL ORDER BY k.id",
    );
    let found = tx.rows(query.bind(organization.as_str()).bind(user.as_str())).await?;
    found.iter().map(|row| row::parsed(row, "id", |text| KeyId::parse(text).ok())).collect()
}

/// The keys of a workspace that are not revoked.
pub async fn unrevoked_in(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Vec<KeyId>, StoreError> {
    let query = sqlx::query("SELECT id FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL ORDER BY id");
    let found = tx.rows(query.bind(workspace.as_str())).await?;
    found.iter().map(|row| row::parsed(row, "id", |text| KeyId::parse(text).ok())).collect()
}

/// Writes a new key unless the workspace has `limit` active or disabled keys at the moment of its creation.
///
/// The workspace's row is locked first, so that of two concurrent transactions the second sees the key of the first.
pub async fn insert_within(tx: &mut Tx, new: &ApiKey, limit: u64) -> Result<(), StoreError> {
    workspaces::lock(tx, &new.workspace).await?;
    let count = sqlx::query(
        "SELECT COUNT(*) AS counted FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL \
         AND (disabled_at IS NOT NULL OR expires_at IS NULL OR expires_at > $2)",
    );
    let count = count.bind(new.workspace.as_str()).bind(new.created_at.millis());
    let counted = tx.count(count, "counted").await?;
    if counted >= limit {
        return Err(Conflict::KeyLimitReached { limit }.into());
    }
    let key = sqlx::query(
        "INSERT INTO api_keys (id, workspace_id, name, created_at, created_by, expires_at, last_used_at, revoked_at, \
         disabled_at, requests_per_minute, tokens_per_minute, restrictions, labels, budgets, limits, trusts_end_user) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    )
    .bind(new.id.as_str())
    .bind(new.workspace.as_str())
    .bind(new.name.as_str())
    .bind(new.created_at.millis())
    .bind(new.created_by.as_ref().map(UserId::as_str))
    .bind(row::to_optional_millis(new.expires_at))
    .bind(row::to_optional_millis(new.last_used_at))
    .bind(row::to_optional_millis(new.revoked_at))
    .bind(row::to_optional_millis(new.disabled_at))
    .bind(row::to_optional_number(new.requests_per_minute))
    .bind(row::to_optional_number(new.tokens_per_minute))
    .bind(to_json(&new.restrictions))
    .bind(to_json(&new.labels))
    .bind(to_json(&new.budgets))
    .bind(to_json(&new.limits))
    .bind(i64::from(new.trusts_end_user));
    tx.execute(key).await?;
    insert_secret(tx, new, new.created_at).await?;
    tx.announce(Change::Key(new.segment), new.created_at);
    Ok(())
}

async fn insert_secret(tx: &mut Tx, key: &ApiKey, now: Timestamp) -> Result<(), StoreError> {
    let secret = sqlx::query("INSERT INTO api_key_secrets (segment, key_id, hash, created_at) VALUES ($1, $2, $3, $4)")
        .bind(key.segment.as_str())
        .bind(key.id.as_str())
        .bind(key.hash.to_hex())
        .bind(now.millis());
    tx.execute(secret).await.map(drop)
}

/// Gives an active key a new secret. Every earlier one expires at `old_dies_at`, or sooner if it was to expire sooner.
pub async fn rotate(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    id: &KeyId,
    fresh: (Segment, SecretHash),
    old_dies_at: Timestamp,
    now: Timestamp,
) -> Result<ApiKey, StoreError> {
    let key = lock(tx, workspace, id).await?;
    match key.state(now) {
        KeyState::Active => {}
        KeyState::Revoked => return Err(Conflict::KeyRevoked.into()),
        KeyState::Disabled => return Err(Conflict::KeyDisabled.into()),
        KeyState::Expired => return Err(Conflict::KeyExpired.into()),
    }
    let expired = sqlx::query("DELETE FROM api_key_secrets WHERE key_id = $1 AND dies_at <= $2");
    tx.execute(expired.bind(id.as_str()).bind(now.millis())).await?;
    let end =
        sqlx::query("UPDATE api_key_secrets SET dies_at = $2 WHERE key_id = $1 AND (dies_at IS NULL OR dies_at > $2)");
    tx.execute(end.bind(id.as_str()).bind(old_dies_at.millis())).await?;
    let (segment, hash) = fresh;
    let overlap_until = (old_dies_at > now).then_some(old_dies_at);
    let rotated = ApiKey { segment, hash, dies_at: None, overlap_until, ..key };
    insert_secret(tx, &rotated, now).await?;
    announce_all(tx, &rotated, now).await?;
    Ok(rotated)
}

/// Revokes a key. Idempotent. Fails for a disabled key, which only an administrator may change.
pub async fn revoke(tx: &mut Tx, workspace: &WorkspaceId, id: &KeyId, now: Timestamp) -> Result<ApiKey, StoreError> {
    let key = lock(tx, workspace, id).await?;
    match key.state(now) {
        KeyState::Revoked => Ok(key),
        KeyState::Disabled => Err(Conflict::KeyDisabled.into()),
        KeyState::Active | KeyState::Expired => write(tx, ApiKey { revoked_at: Some(now), ..key }, now).await,
    }
}

/// Revokes a locked key in any state. Idempotent.
pub async fn revoke_locked(tx: &mut Tx, key: ApiKey, now: Timestamp) -> Result<ApiKey, StoreError> {
    match key.state(now) {
        KeyState::Revoked => Ok(key),
        KeyState::Disabled | KeyState::Active | KeyState::Expired => {
            write(tx, ApiKey { revoked_at: Some(now), ..key }, now).await
        }
    }
}

/// Writes new settings of a locked key, which must be active or disabled: another expiry would let it count against the key
/// limit again.
pub async fn edit_locked(tx: &mut Tx, before: &ApiKey, edited: ApiKey, now: Timestamp) -> Result<ApiKey, StoreError> {
    match before.state(now) {
        KeyState::Revoked => return Err(Conflict::KeyRevoked.into()),
        KeyState::Expired => return Err(Conflict::KeyExpired.into()),
        KeyState::Active | KeyState::Disabled => {}
    }
    let update = sqlx::query(
        "UPDATE api_keys SET name = $2, requests_per_minute = $3, tokens_per_minute = $4, restrictions = $5, labels = $6, \
         budgets = $7, limits = $8, trusts_end_user = $9 WHERE id = $1",
    )
    .bind(edited.id.as_str())
    .bind(edited.name.as_str())
    .bind(row::to_optional_number(edited.requests_per_minute))
    .bind(row::to_optional_number(edited.tokens_per_minute))
    .bind(to_json(&edited.restrictions))
    .bind(to_json(&edited.labels))
    .bind(to_json(&edited.budgets))
    .bind(to_json(&edited.limits))
    .bind(i64::from(edited.trusts_end_user));
    tx.execute(update).await?;
    write(tx, edited, now).await
}

/// Lets all secrets of a locked key but the current one expire now. Idempotent.
pub async fn end_overlap_locked(tx: &mut Tx, key: ApiKey, now: Timestamp) -> Result<ApiKey, StoreError> {
    let end = sqlx::query("UPDATE api_key_secrets SET dies_at = $2 WHERE key_id = $1 AND dies_at > $2");
    tx.execute(end.bind(key.id.as_str()).bind(now.millis())).await?;
    announce_all(tx, &key, now).await?;
    Ok(ApiKey { overlap_until: None, ..key })
}

/// Disables an active key until it is enabled again. Idempotent.
pub async fn disable(tx: &mut Tx, workspace: &WorkspaceId, id: &KeyId, now: Timestamp) -> Result<ApiKey, StoreError> {
    let key = lock(tx, workspace, id).await?;
    match key.state(now) {
        KeyState::Disabled => Ok(key),
        KeyState::Revoked => Err(Conflict::KeyRevoked.into()),
        // It would count against the key limit again, which may be full by now.
        KeyState::Expired => Err(Conflict::KeyExpired.into()),
        KeyState::Active => write(tx, ApiKey { disabled_at: Some(now), ..key }, now).await,
    }
}

/// Reverts a [`disable`]. Idempotent. The key may have expired meanwhile.
pub async fn enable(tx: &mut Tx, workspace: &WorkspaceId, id: &KeyId, now: Timestamp) -> Result<ApiKey, StoreError> {
    let key = lock(tx, workspace, id).await?;
    match key.state(now) {
        KeyState::Active => Ok(key),
        KeyState::Revoked => Err(Conflict::KeyRevoked.into()),
        KeyState::Expired => Err(Conflict::KeyExpired.into()),
        KeyState::Disabled => write(tx, ApiKey { disabled_at: None, ..key }, now).await,
    }
}

/// Lets a key expire now. Idempotent.
pub async fn expire(tx: &mut Tx, workspace: &WorkspaceId, id: &KeyId, now: Timestamp) -> Result<ApiKey, StoreError> {
    let key = lock(tx, workspace, id).await?;
    match key.state(now) {
        KeyState::Expired => Ok(key),
        KeyState::Revoked => Err(Conflict::KeyRevoked.into()),
        KeyState::Disabled => Err(Conflict::KeyDisabled.into()),
        KeyState::Active => write(tx, ApiKey { expires_at: Some(now), ..key }, now).await,
    }
}

/// Records when keys were last used, skipping keys that no longer exist. Not announced: no node caches it.
pub async fn touch_last_used(tx: &mut Tx, batch: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
    // SQLite has one writer. On PostgreSQL, rows are locked in one order, so that two nodes cannot deadlock.
    let lock = match tx.engine() {
        Engine::Sqlite => "",
        Engine::Postgres => "FOR UPDATE OF k",
    };
    let mut in_order: Vec<_> = batch.iter().collect();
    in_order.sort();
    for chunk in chunks(&in_order) {
        let used = values_text(tx.engine(), 2, chunk.len());
        let text = format!(
            "WITH used (id, at) AS ({used}), later AS (SELECT k.id, used.at FROM api_keys k JOIN used ON used.id = k.id \
             WHERE k.last_used_at IS NULL OR k.last_used_at < used.at ORDER BY k.id {lock}) \
             UPDATE api_keys SET last_used_at = later.at FROM later WHERE api_keys.id = later.id"
        );
        let touch = sqlx::query(AssertSqlSafe(text));
        let touch = chunk.iter().fold(touch, |touch, (id, at)| touch.bind(id.as_str()).bind(at.millis()));
        tx.execute(touch).await?;
    }
    Ok(())
}

/// Reads a key and locks it until the end of the transaction.
pub async fn lock(tx: &mut Tx, workspace: &WorkspaceId, id: &KeyId) -> Result<ApiKey, StoreError> {
    let missing = || StoreError::missing("key", id.as_str());
    let touch = sqlx::query("UPDATE api_keys SET name = name WHERE id = $1 AND workspace_id = $2");
    if tx.execute(touch.bind(id.as_str()).bind(workspace.as_str())).await? == 0 {
        return Err(missing());
    }
    let query = sqlx::query(select!("WHERE k.id = $1 AND s.dies_at IS NULL")).bind(id.as_str());
    api_key(&tx.row(query).await?.ok_or_else(missing)?)
}

/// Like [`lock`], for a key of any workspace of the organization.
pub async fn lock_in_organization(
    tx: &mut Tx,
    organization: &OrganizationId,
    id: &KeyId,
) -> Result<ApiKey, StoreError> {
    let query = sqlx::query(
        "SELECT k.workspace_id FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id \
         WHERE k.id = $1 AND w.organization_id = $2",
    );
    let found = tx.row(query.bind(id.as_str()).bind(organization.as_str())).await?;
    let found = found.ok_or_else(|| StoreError::missing("key", id.as_str()))?;
    let workspace = row::parsed(&found, "workspace_id", |text| WorkspaceId::parse(text).ok())?;
    lock(tx, &workspace, id).await
}

/// Writes the state of a locked key and announces all its segments.
async fn write(tx: &mut Tx, key: ApiKey, now: Timestamp) -> Result<ApiKey, StoreError> {
    let update = sqlx::query("UPDATE api_keys SET expires_at = $2, revoked_at = $3, disabled_at = $4 WHERE id = $1")
        .bind(key.id.as_str())
        .bind(row::to_optional_millis(key.expires_at))
        .bind(row::to_optional_millis(key.revoked_at))
        .bind(row::to_optional_millis(key.disabled_at));
    tx.execute(update).await?;
    announce_all(tx, &key, now).await?;
    Ok(key)
}

async fn announce_all(tx: &mut Tx, key: &ApiKey, now: Timestamp) -> Result<(), StoreError> {
    let segments = sqlx::query("SELECT segment FROM api_key_secrets WHERE key_id = $1").bind(key.id.as_str());
    for found in tx.rows(segments).await? {
        tx.announce(Change::Key(row::parsed(&found, "segment", Segment::parse)?), now);
    }
    Ok(())
}

fn credential(found: &AnyRow) -> Result<(Segment, SecretHash), StoreError> {
    Ok((row::parsed(found, "segment", Segment::parse)?, row::parsed(found, "hash", SecretHash::from_hex)?))
}

pub(super) fn api_key(found: &AnyRow) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row::parsed(found, "id", |text| KeyId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        name: row::text(found, "name")?,
        segment: row::parsed(found, "segment", Segment::parse)?,
        hash: row::parsed(found, "hash", SecretHash::from_hex)?,
        dies_at: row::optional_moment(found, "dies_at")?,
        overlap_until: row::optional_moment(found, "overlap_until")?,
        created_at: row::moment(found, "created_at")?,
        created_by: row::optional_parsed(found, "created_by", |text| UserId::parse(text).ok())?,
        expires_at: row::optional_moment(found, "expires_at")?,
        last_used_at: row::optional_moment(found, "last_used_at")?,
        revoked_at: row::optional_moment(found, "revoked_at")?,
        disabled_at: row::optional_moment(found, "disabled_at")?,
        requests_per_minute: row::optional_count(found, "requests_per_minute")?,
        tokens_per_minute: row::optional_count(found, "tokens_per_minute")?,
        limits: from_json(found, "limits")?,
        trusts_end_user: row::flag(found, "trusts_end_user")?,
        restrictions: from_json(found, "restrictions")?,
        labels: from_json(found, "labels")?,
        budgets: from_json(found, "budgets")?,
    })
}

/// `None` for the default.
fn to_json<T: Serialize + Default + PartialEq>(value: &T) -> Option<String> {
    (*value != T::default()).then(|| serde_json::to_string(value).expect("has only text keys"))
}

/// What cannot be read, for instance because a newer version wrote it, is an error: a key never loses its restrictions.
fn from_json<T: DeserializeOwned + Default>(found: &AnyRow, column: &str) -> Result<T, StoreError> {
    let read = row::optional_parsed(found, column, |text| serde_json::from_str(text).ok())?;
    Ok(read.unwrap_or_default())
}
