//! Sessions. Only the hash of the browser's token is stored.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::session::Lifetimes;
use domain::{OrganizationId, SecretHash, Session, SessionId, Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;

/// Most sessions per user; a sign-in ends the oldest ones beyond.
const MAX_OF_ONE_USER: i64 = 50;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, organization_id, workspace_id, created_at, seen_at, address, user_agent FROM sessions ",
            $rest
        )
    };
}

/// The session of a token, active or not.
pub async fn by_token(store: &Store, token: SecretHash) -> Result<Option<Session>, StoreError> {
    let query = sqlx::query(select!("WHERE token_hash = $1")).bind(token.to_hex());
    store.row(query).await?.as_ref().map(session).transpose()
}

/// The sessions of a user, newest first, active or not.
pub async fn list(store: &Store, user: &UserId) -> Result<Vec<Session>, StoreError> {
    let query = sqlx::query(select!("WHERE user_id = $1 ORDER BY id DESC LIMIT $2"));
    store.rows(query.bind(user.as_str()).bind(MAX_OF_ONE_USER)).await?.iter().map(session).collect()
}

/// Writes a new session, and removes expired ones.
pub async fn insert(tx: &mut Tx, new: &Session, token: SecretHash, lifetimes: &Lifetimes) -> Result<(), StoreError> {
    let now = new.created_at.millis();
    let ended = sqlx::query("DELETE FROM sessions WHERE seen_at < $1 OR created_at < $2")
        .bind(now.saturating_sub(lifetimes.idle_millis))
        .bind(now.saturating_sub(lifetimes.absolute_millis));
    tx.execute(ended).await?;
    let surplus = sqlx::query(
        "DELETE FROM sessions WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM sessions WHERE user_id = $1 ORDER BY id DESC LIMIT $2)",
    );
    tx.execute(surplus.bind(new.user.as_str()).bind(MAX_OF_ONE_USER - 1)).await?;
    let insert = sqlx::query(
        "INSERT INTO sessions (id, token_hash, user_id, organization_id, workspace_id, created_at, seen_at, address, \
         user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(new.id.as_str())
    .bind(token.to_hex())
    .bind(new.user.as_str())
    .bind(new.organization.as_ref().map(OrganizationId::as_str))
    .bind(new.workspace.as_ref().map(WorkspaceId::as_str))
    .bind(now)
    .bind(new.seen_at.millis())
    .bind(new.address.as_str())
    .bind(new.user_agent.as_str());
    tx.execute(insert).await.map(drop)
}

/// Records that the session was used.
pub async fn touch(tx: &mut Tx, id: &SessionId, now: Timestamp) -> Result<(), StoreError> {
    let touch = sqlx::query("UPDATE sessions SET seen_at = $2 WHERE id = $1 AND seen_at < $2");
    tx.execute(touch.bind(id.as_str()).bind(now.millis())).await.map(drop)
}

/// Locks a session until the end of the transaction; `false` if it has ended.
pub async fn lock(tx: &mut Tx, id: &SessionId) -> Result<bool, StoreError> {
    let touch = sqlx::query("UPDATE sessions SET seen_at = seen_at WHERE id = $1").bind(id.as_str());
    Ok(tx.execute(touch).await? > 0)
}

pub async fn set_context(
    tx: &mut Tx,
    id: &SessionId,
    organization: Option<&OrganizationId>,
    workspace: Option<&WorkspaceId>,
) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE sessions SET organization_id = $2, workspace_id = $3 WHERE id = $1")
        .bind(id.as_str())
        .bind(organization.map(OrganizationId::as_str))
        .bind(workspace.map(WorkspaceId::as_str));
    tx.execute_one(update, "session", id.as_str()).await
}

/// Ends one session of a user.
pub async fn end(tx: &mut Tx, user: &UserId, id: &SessionId) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM sessions WHERE id = $1 AND user_id = $2");
    tx.execute_one(delete.bind(id.as_str()).bind(user.as_str()), "session", id.as_str()).await
}

/// Ends all sessions of a user, except the one given as `but`.
pub async fn end_all_of(tx: &mut Tx, user: &UserId, but: Option<&SessionId>) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM sessions WHERE user_id = $1 AND id <> $2");
    tx.execute(delete.bind(user.as_str()).bind(but.map_or("", SessionId::as_str))).await.map(drop)
}

fn session(found: &AnyRow) -> Result<Session, StoreError> {
    Ok(Session {
        id: row::parsed(found, "id", |text| SessionId::parse(text).ok())?,
        user: row::parsed(found, "user_id", |text| UserId::parse(text).ok())?,
        organization: row::optional_parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        workspace: row::optional_parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        created_at: row::moment(found, "created_at")?,
        seen_at: row::moment(found, "seen_at")?,
        address: row::text(found, "address")?,
        user_agent: row::text(found, "user_agent")?,
    })
}
