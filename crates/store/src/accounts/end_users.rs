//! The people behind the keys of a workspace.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::page::Page;
use crate::row;
use crate::values::{chunks, insert_text, places, values_text};
use domain::end_user::{EndUserId, EndUserSettings, OwnEndUserLimits};
use domain::{Timestamp, UsageEvent, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An end user who has made calls, or has limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEndUser {
    pub id: EndUserId,
    pub text: Option<String>,
    pub first_seen_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub own: OwnEndUserLimits,
}

/// An end user, after the id of its workspace.
pub(crate) type Named<'a> = (&'a str, &'a EndUserId);

const READ: &str = "id, text, first_seen_at, last_seen_at, requests_per_minute, tokens_per_minute, budgets";
const HAS_OWN: &str = "(requests_per_minute IS NOT NULL OR tokens_per_minute IS NOT NULL OR budgets IS NOT NULL)";

/// The end users of a workspace, by their ids. `search` is a part of their texts.
pub async fn list(
    store: &Store,
    workspace: &WorkspaceId,
    search: Option<&str>,
    page: Page<'_>,
) -> Result<Vec<KnownEndUser>, StoreError> {
    let text = format!(
        "SELECT {READ} FROM end_users WHERE workspace_id = $1 AND id > $2 \
         AND ($4 = '' OR LOWER(text) LIKE $4 ESCAPE '\\' OR id = $5) ORDER BY id LIMIT $3"
    );
    let pattern = search.map(|text| {
        let escaped = text.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("%{escaped}%")
    });
    let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(page.cursor()).bind(page.limit());
    let query = query.bind(pattern.unwrap_or_default()).bind(search.unwrap_or_default());
    store.rows(query).await?.iter().map(end_user).collect()
}

pub async fn by_id(store: &Store, workspace: &WorkspaceId, id: &EndUserId) -> Result<Option<KnownEndUser>, StoreError> {
    let text = format!("SELECT {READ} FROM end_users WHERE workspace_id = $1 AND id = $2");
    let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(id.as_str());
    store.row(query).await?.as_ref().map(end_user).transpose()
}

pub async fn is_known(store: &Store, workspace: &WorkspaceId, id: &EndUserId) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT 1 AS known FROM end_users WHERE workspace_id = $1 AND id = $2");
    Ok(store.row(query.bind(workspace.as_str()).bind(id.as_str())).await?.is_some())
}

/// The texts of these end users that have one.
pub async fn texts(
    store: &Store,
    workspace: &WorkspaceId,
    ids: &[EndUserId],
) -> Result<HashMap<EndUserId, String>, StoreError> {
    let mut found = HashMap::with_capacity(ids.len());
    for chunk in chunks(ids) {
        let text = format!(
            "SELECT id, text FROM end_users WHERE workspace_id = $1 AND text IS NOT NULL AND id IN ({})",
            places(2, chunk.len())
        );
        let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str());
        for row in store.rows(chunk.iter().fold(query, |query, id| query.bind(id.as_str()))).await? {
            found.insert(row::parsed(&row, "id", EndUserId::parse)?, row::text(&row, "text")?);
        }
    }
    Ok(found)
}

/// Those with limits or budgets of their own.
pub async fn with_own_limits(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<HashMap<EndUserId, OwnEndUserLimits>, StoreError> {
    let text = format!("SELECT {READ} FROM end_users WHERE workspace_id = $1 AND {HAS_OWN}");
    let found = store.rows(sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str())).await?;
    found.iter().map(|found| end_user(found).map(|known| (known.id, known.own))).collect()
}

/// Reads an end user and locks it until the end of the transaction.
pub async fn lock(tx: &mut Tx, workspace: &WorkspaceId, id: &EndUserId) -> Result<Option<KnownEndUser>, StoreError> {
    let text = format!("UPDATE end_users SET id = id WHERE workspace_id = $1 AND id = $2 RETURNING {READ}");
    let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(id.as_str());
    tx.row(query).await?.as_ref().map(end_user).transpose()
}

/// Writes the limits of a locked end user. Returns how many of the workspace, which must be locked, have some.
pub async fn set_limits(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    id: &EndUserId,
    own: &OwnEndUserLimits,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let update = sqlx::query(
        "UPDATE end_users SET requests_per_minute = $3, tokens_per_minute = $4, budgets = $5 \
         WHERE workspace_id = $1 AND id = $2",
    )
    .bind(workspace.as_str())
    .bind(id.as_str())
    .bind(row::to_optional_number(own.requests_per_minute))
    .bind(row::to_optional_number(own.tokens_per_minute))
    .bind(own.budgets.as_ref().map(|budgets| serde_json::to_string(budgets).expect("has only text keys")));
    tx.execute(update).await?;
    let text = format!("SELECT COUNT(*) AS counted FROM end_users WHERE workspace_id = $1 AND {HAS_OWN}");
    tx.announce(Change::Workspace(workspace.clone()), now);
    tx.count(sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()), "counted").await
}

/// Forgets an end user. What the calls have used stays in the sums of the workspace, without a name.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &EndUserId, now: Timestamp) -> Result<bool, StoreError> {
    let mut is_known = false;
    for text in [
        "DELETE FROM end_users WHERE workspace_id = $1 AND id = $2",
        "DELETE FROM usage_end_users WHERE workspace_id = $1 AND end_user = $2",
        "UPDATE usage_calls SET end_user = NULL WHERE workspace_id = $1 AND end_user = $2",
        "UPDATE refused_calls SET end_user = NULL WHERE workspace_id = $1 AND end_user = $2",
    ] {
        is_known |= tx.execute(sqlx::query(text).bind(workspace.as_str()).bind(id.as_str())).await? > 0;
    }
    tx.announce(Change::Workspace(workspace.clone()), now);
    Ok(is_known)
}

/// Forgets the texts of all end users of a workspace that keeps none any more.
pub async fn forget_texts(tx: &mut Tx, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE end_users SET text = NULL WHERE workspace_id = $1 AND text IS NOT NULL");
    tx.execute(update.bind(workspace.as_str())).await.map(drop)
}

/// The settings of a workspace and the own limits of an end user, who is locked, and added if the workspace has fewer than `max`.
pub(crate) async fn lock_for_lease(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    id: &EndUserId,
    now: Timestamp,
    max: u64,
) -> Result<Option<(EndUserSettings, OwnEndUserLimits)>, StoreError> {
    let query = sqlx::query("SELECT end_users FROM workspaces WHERE id = $1").bind(workspace.as_str());
    let Some(found) = tx.row(query).await? else { return Ok(None) };
    let settings = settings(&found)?;
    let text = format!(
        "INSERT INTO end_users (workspace_id, id, first_seen_at, last_seen_at) SELECT $1, $2, $3, $3 \
         WHERE EXISTS (SELECT 1 FROM end_users WHERE workspace_id = $1 AND id = $2) \
         OR (SELECT COUNT(*) FROM end_users WHERE workspace_id = $1) < $4 \
         ON CONFLICT (workspace_id, id) DO UPDATE SET id = excluded.id RETURNING {READ}"
    );
    let lock = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(id.as_str()).bind(now.millis());
    let Some(found) = tx.row(lock.bind(row::to_number(max))).await? else { return Ok(None) };
    Ok(Some((settings, end_user(&found)?.own)))
}

/// Records the end users of newly stored events, and returns those that have a row. A workspace that has `max` gets no new one;
/// nodes that write at the same moment may exceed it by a batch.
pub(crate) async fn note<'a>(
    tx: &mut Tx,
    events: &[&'a UsageEvent],
    max: u64,
) -> Result<HashSet<Named<'a>>, StoreError> {
    // In one order, so that two nodes cannot deadlock.
    let mut seen: BTreeMap<Named<'a>, (Option<&'a str>, i64, i64)> = BTreeMap::new();
    for &event in events {
        let Some(end_user) = &event.end_user else { continue };
        let at = event.started_at.millis();
        let (text, first, last) = seen.entry((event.caller.workspace.as_str(), &end_user.id)).or_insert((None, at, at));
        *text = end_user.text.as_deref().or(*text);
        (*first, *last) = (at.min(*first), at.max(*last));
    }
    let named: Vec<_> = seen.keys().copied().collect();
    let known = known(tx, &named).await?;
    let known: HashSet<Named<'_>> = known.iter().map(|(workspace, id)| (workspace.as_str(), id)).collect();
    let (mut noted, mut rooms) = (Vec::with_capacity(seen.len()), HashMap::new());
    for (named, values) in seen {
        if !known.contains(&named) {
            let room = match rooms.entry(named.0) {
                Entry::Occupied(counted) => counted.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(room(tx, named.0, max).await?),
            };
            if *room == 0 {
                continue;
            }
            *room -= 1;
        }
        noted.push((named, values));
    }
    for chunk in chunks(&noted) {
        let text =
            insert_text(tx.engine(), "end_users", "workspace_id, id, text, first_seen_at, last_seen_at", chunk.len());
        let text = format!(
            "{text} ON CONFLICT (workspace_id, id) DO UPDATE SET text = COALESCE(excluded.text, end_users.text), \
             last_seen_at = CASE WHEN excluded.last_seen_at > end_users.last_seen_at THEN excluded.last_seen_at \
             ELSE end_users.last_seen_at END"
        );
        let upsert =
            chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |upsert, ((workspace, id), (text, first, last))| {
                upsert.bind(*workspace).bind(id.as_str()).bind(*text).bind(*first).bind(*last)
            });
        tx.execute(upsert).await?;
    }
    Ok(noted.into_iter().map(|(named, _)| named).collect())
}

/// Finds which of these end users have a row.
async fn known(tx: &mut Tx, named: &[Named<'_>]) -> Result<HashSet<(String, EndUserId)>, StoreError> {
    let mut known = HashSet::with_capacity(named.len());
    for chunk in chunks(named) {
        let text = format!(
            "WITH seen (workspace_id, id) AS ({}) SELECT known.workspace_id, known.id FROM end_users known \
             JOIN seen ON seen.workspace_id = known.workspace_id AND seen.id = known.id",
            values_text(tx.engine(), 2, chunk.len())
        );
        let query = chunk
            .iter()
            .fold(sqlx::query(AssertSqlSafe(text)), |query, (workspace, id)| query.bind(*workspace).bind(id.as_str()));
        for found in tx.rows(query).await? {
            known.insert((row::text(&found, "workspace_id")?, row::parsed(&found, "id", EndUserId::parse)?));
        }
    }
    Ok(known)
}

/// How many more end users a workspace may have.
async fn room(tx: &mut Tx, workspace: &str, max: u64) -> Result<u64, StoreError> {
    let count = sqlx::query("SELECT COUNT(*) AS counted FROM end_users WHERE workspace_id = $1").bind(workspace);
    Ok(max.saturating_sub(tx.count(count, "counted").await?))
}

/// The column `end_users` of a workspace.
pub(crate) fn settings(found: &AnyRow) -> Result<EndUserSettings, StoreError> {
    let read = row::optional_parsed(found, "end_users", |text| serde_json::from_str(text).ok())?;
    Ok(read.unwrap_or_default())
}

fn end_user(found: &AnyRow) -> Result<KnownEndUser, StoreError> {
    Ok(KnownEndUser {
        id: row::parsed(found, "id", EndUserId::parse)?,
        text: row::optional_text(found, "text")?,
        first_seen_at: row::moment(found, "first_seen_at")?,
        last_seen_at: row::moment(found, "last_seen_at")?,
        own: OwnEndUserLimits {
            requests_per_minute: row::optional_count(found, "requests_per_minute")?,
            tokens_per_minute: row::optional_count(found, "tokens_per_minute")?,
            budgets: row::optional_parsed(found, "budgets", |text| serde_json::from_str(text).ok())?,
        },
    })
}
