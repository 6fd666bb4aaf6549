//! Invitations. Only the hash of the link's token is stored.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::page::Page;
use crate::{organizations, row};
use domain::user::{Email, Role};
use domain::{Invitation, InvitationId, OrganizationId, SecretHash, Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;

/// Links that were never used are removed this long after they expired.
const KEPT_MILLIS: i64 = 30 * 24 * 60 * 60 * 1_000;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, organization_id, email, role, created_at, created_by, expires_at, accepted_at \
             FROM invitations ",
            $rest
        )
    };
}

/// The invitation of a link, open or not.
pub async fn by_token(store: &Store, token: SecretHash) -> Result<Option<Invitation>, StoreError> {
    let query = sqlx::query(select!("WHERE token_hash = $1")).bind(token.to_hex());
    let Some(found) = store.row(query).await? else { return Ok(None) };
    let mut invitation = invitation(&found)?;
    invitation.workspaces = workspaces_of(store, &invitation.id).await?;
    Ok(Some(invitation))
}

/// The invitations of an organization that are not accepted yet.
pub async fn list(store: &Store, organization: &OrganizationId, page: Page<'_>) -> Result<Vec<Invitation>, StoreError> {
    let query =
        sqlx::query(select!("WHERE organization_id = $1 AND id > $2 AND accepted_at IS NULL ORDER BY id LIMIT $3"));
    let found = store.rows(query.bind(organization.as_str()).bind(page.cursor()).bind(page.limit())).await?;
    let mut list = found.iter().map(invitation).collect::<Result<Vec<_>, _>>()?;
    for one in &mut list {
        one.workspaces = workspaces_of(store, &one.id).await?;
    }
    Ok(list)
}

pub async fn insert(tx: &mut Tx, new: &Invitation, token: SecretHash) -> Result<(), StoreError> {
    organizations::lock(tx, &new.organization).await?;
    let old = sqlx::query("DELETE FROM invitations WHERE accepted_at IS NULL AND expires_at < $1");
    tx.execute(old.bind(new.created_at.millis().saturating_sub(KEPT_MILLIS))).await?;
    let insert = sqlx::query(
        "INSERT INTO invitations (id, token_hash, organization_id, email, role, created_at, created_by, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(new.id.as_str())
    .bind(token.to_hex())
    .bind(new.organization.as_str())
    .bind(new.email.as_str())
    .bind(new.role.as_str())
    .bind(new.created_at.millis())
    .bind(new.created_by.as_ref().map(UserId::as_str))
    .bind(new.expires_at.millis());
    tx.execute(insert).await?;
    for workspace in &new.workspaces {
        let insert = sqlx::query(
            "INSERT INTO invitation_workspaces (invitation_id, workspace_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        );
        tx.execute(insert.bind(new.id.as_str()).bind(workspace.as_str())).await?;
    }
    Ok(())
}

/// Accepts an open invitation. Of two concurrent attempts, one fails as if the invitation did not exist.
pub async fn accept(tx: &mut Tx, id: &InvitationId, now: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE invitations SET accepted_at = $2 WHERE id = $1 AND accepted_at IS NULL AND expires_at > $2",
    );
    tx.execute_one(update.bind(id.as_str()).bind(now.millis()), "invitation", id.as_str()).await
}

/// Withdraws an invitation.
pub async fn delete(tx: &mut Tx, organization: &OrganizationId, id: &InvitationId) -> Result<Invitation, StoreError> {
    let delete = sqlx::query(
        "DELETE FROM invitations WHERE id = $1 AND organization_id = $2 AND accepted_at IS NULL \
         RETURNING id, organization_id, email, role, created_at, created_by, expires_at, accepted_at",
    );
    let found = tx.row(delete.bind(id.as_str()).bind(organization.as_str())).await?;
    invitation(&found.ok_or_else(|| StoreError::missing("invitation", id.as_str()))?)
}

async fn workspaces_of(store: &Store, id: &InvitationId) -> Result<Vec<WorkspaceId>, StoreError> {
    let query =
        sqlx::query("SELECT workspace_id FROM invitation_workspaces WHERE invitation_id = $1 ORDER BY workspace_id");
    let found = store.rows(query.bind(id.as_str())).await?;
    found.iter().map(|row| row::parsed(row, "workspace_id", |text| WorkspaceId::parse(text).ok())).collect()
}

fn invitation(found: &AnyRow) -> Result<Invitation, StoreError> {
    Ok(Invitation {
        id: row::parsed(found, "id", |text| InvitationId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        email: row::parsed(found, "email", |text| Email::parse(text).ok())?,
        role: row::parsed(found, "role", Role::parse)?,
        workspaces: Vec::new(),
        created_at: row::moment(found, "created_at")?,
        created_by: row::optional_parsed(found, "created_by", |text| UserId::parse(text).ok())?,
        expires_at: row::moment(found, "expires_at")?,
        accepted_at: row::optional_moment(found, "accepted_at")?,
    })
}
