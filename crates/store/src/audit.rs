//! The audit log: who changed what. Rows are appended by the transaction that makes the change, and never altered.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{OrganizationId, Timestamp};
use sqlx::any::AnyRow;

const MAX_LISTED: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at: Timestamp,
    /// Whose matter it is; none for what concerns the whole platform.
    pub organization: Option<OrganizationId>,
    pub actor: String,
    /// A noun and a verb, such as `key.revoke`.
    pub action: String,
    /// The id of what was changed.
    pub subject: String,
    /// More for the reader; no secrets.
    pub detail: String,
}

pub async fn append(tx: &mut Tx, entry: &Entry) -> Result<(), StoreError> {
    let salt = getrandom::u64().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    let insert = sqlx::query(
        "INSERT INTO audit (id, at, organization_id, actor, action, subject, detail) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(format!("{:012x}{salt:016x}", entry.at.millis().max(0)))
    .bind(entry.at.millis())
    .bind(entry.organization.as_ref().map(OrganizationId::as_str))
    .bind(entry.actor.as_str())
    .bind(entry.action.as_str())
    .bind(entry.subject.as_str())
    .bind(entry.detail.as_str());
    tx.execute(insert).await.map(drop)
}

/// The newest entries of all organizations first.
pub async fn list(store: &Store, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let query =
        sqlx::query("SELECT at, organization_id, actor, action, subject, detail FROM audit ORDER BY id DESC LIMIT $1");
    store.rows(query.bind(i64::from(limit.min(MAX_LISTED)))).await?.iter().map(entry).collect()
}

/// The newest entries of one organization first.
pub async fn list_of(store: &Store, organization: &OrganizationId, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let query = sqlx::query(
        "SELECT at, organization_id, actor, action, subject, detail FROM audit WHERE organization_id = $1 \
         ORDER BY id DESC LIMIT $2",
    );
    let query = query.bind(organization.as_str()).bind(i64::from(limit.min(MAX_LISTED)));
    store.rows(query).await?.iter().map(entry).collect()
}

fn entry(found: &AnyRow) -> Result<Entry, StoreError> {
    Ok(Entry {
        at: row::moment(found, "at")?,
        organization: row::optional_parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        actor: row::text(found, "actor")?,
        action: row::text(found, "action")?,
        subject: row::text(found, "subject")?,
        detail: row::text(found, "detail")?,
    })
}
