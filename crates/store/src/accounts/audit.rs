//! The audit log. Rows are appended by the transaction that makes the change, and never altered.

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::{OrganizationId, Timestamp};
use sqlx::any::AnyRow;

const MAX_LISTED: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// `None` for changes that concern the whole platform.
    pub organization: Option<OrganizationId>,
    pub actor: String,
    /// Where the request came from; `None` for changes that the service made by itself.
    pub address: Option<String>,
    /// A noun and a verb, such as `key.revoke`.
    pub action: String,
    /// The id of the changed record.
    pub subject: String,
    /// Free text; no secrets.
    pub detail: String,
    /// The record before and after, as JSON; no secrets.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// An entry with its id, and the name of its actor if that user or key still exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub id: String,
    pub actor_email: Option<String>,
    pub actor_key_name: Option<String>,
    pub entry: AuditEntry,
}

/// Selects entries; `None` matches every entry.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub organization: Option<OrganizationId>,
    pub actor: Option<String>,
    pub action: Option<String>,
    pub subject: Option<String>,
    /// A half-open span.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Only entries older than the one with this id.
    pub before_id: Option<String>,
}

/// The entries of one action in an organization since a moment.
pub(crate) async fn count_since(
    tx: &mut Tx,
    organization: &OrganizationId,
    action: &str,
    since: Timestamp,
) -> Result<u64, StoreError> {
    // Ids begin with their time, so that the index finds them.
    let count =
        sqlx::query("SELECT COUNT(*) AS entries FROM audit WHERE organization_id = $1 AND id >= $2 AND action = $3");
    let count = count.bind(organization.as_str()).bind(format!("{:012x}", since.millis().max(0))).bind(action);
    tx.count(count, "entries").await
}

pub async fn append(tx: &mut Tx, entry: &AuditEntry) -> Result<(), StoreError> {
    let salt = getrandom::u64().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    let insert = sqlx::query(
        "INSERT INTO audit (id, at, organization_id, actor, action, subject, detail, address, was, became) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(format!("{:012x}{salt:016x}", entry.at.millis().max(0)))
    .bind(entry.at.millis())
    .bind(entry.organization.as_ref().map(OrganizationId::as_str))
    .bind(entry.actor.as_str())
    .bind(entry.action.as_str())
    .bind(entry.subject.as_str())
    .bind(entry.detail.as_str())
    .bind(entry.address.as_deref())
    .bind(entry.before.as_deref())
    .bind(entry.after.as_deref());
    tx.execute(insert).await.map(drop)
}

/// The newest entries first.
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<Recorded>, StoreError> {
    // The cast gives NULL a type, so that both databases can compare with it.
    let query = sqlx::query(
        "SELECT a.id, a.at, a.organization_id, a.actor, a.action, a.subject, a.detail, a.address, a.was, a.became, \
         COALESCE(u.shared_email, u.email) AS actor_email, k.name AS actor_key_name \
         FROM audit a LEFT JOIN users u ON u.id = a.actor LEFT JOIN api_keys k ON k.id = a.actor \
         WHERE (CAST($1 AS TEXT) IS NULL OR a.organization_id = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR a.actor = $2) AND (CAST($3 AS TEXT) IS NULL OR a.action = $3) \
         AND (CAST($4 AS TEXT) IS NULL OR a.subject = $4) AND a.at >= $5 AND a.at < $6 AND a.id < $7 \
         ORDER BY a.id DESC LIMIT $8",
    )
    .bind(filter.organization.as_ref().map(OrganizationId::as_str))
    .bind(filter.actor.as_deref())
    .bind(filter.action.as_deref())
    .bind(filter.subject.as_deref())
    .bind(filter.from.map_or(i64::MIN, Timestamp::millis))
    .bind(filter.to.map_or(i64::MAX, Timestamp::millis))
    .bind(filter.before_id.as_deref().unwrap_or("g")) // after every hexadecimal digit
    .bind(i64::from(limit.clamp(1, MAX_LISTED)));
    store.rows(query).await?.iter().map(recorded).collect()
}

fn recorded(found: &AnyRow) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        id: row::text(found, "id")?,
        actor_email: row::optional_text(found, "actor_email")?,
        actor_key_name: row::optional_text(found, "actor_key_name")?,
        entry: AuditEntry {
            at: row::moment(found, "at")?,
            organization: row::optional_parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
            actor: row::text(found, "actor")?,
            address: row::optional_text(found, "address")?,
            action: row::text(found, "action")?,
            subject: row::text(found, "subject")?,
            detail: row::text(found, "detail")?,
            before: row::optional_text(found, "was")?,
            after: row::optional_text(found, "became")?,
        },
    })
}
