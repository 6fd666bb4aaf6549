//! Organizations.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::{Conflict, StoreError};
use crate::listing::{Listing, SortBy, SortColumn, SortExpression, SortedRow};
use crate::page::Page;
use crate::values::{chunks, places};
use crate::{row, workspaces};
use domain::{NanoUsd, Organization, OrganizationId, Timestamp};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

pub async fn by_id(store: &Store, id: &OrganizationId) -> Result<Option<Organization>, StoreError> {
    let query =
        sqlx::query("SELECT id, name, max_workspaces, monthly_tokens, max_stored_bytes, monthly_usd, own_monthly_usd, requests_per_minute, tokens_per_minute, on_budget, created_at FROM organizations WHERE id = $1").bind(id.as_str());
    store.row(query).await?.as_ref().map(organization).transpose()
}

pub async fn list(store: &Store, page: Page<'_>) -> Result<Vec<Organization>, StoreError> {
    let query = sqlx::query(
        "SELECT id, name, max_workspaces, monthly_tokens, max_stored_bytes, monthly_usd, own_monthly_usd, requests_per_minute, tokens_per_minute, on_budget, created_at FROM organizations WHERE id > $1 ORDER BY id LIMIT $2",
    );
    store.rows(query.bind(page.cursor()).bind(page.limit())).await?.iter().map(organization).collect()
}

/// An organization, the number of its workspaces and members, and the bytes of its stored responses and files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedOrganization {
    pub organization: Organization,
    pub workspaces: u64,
    pub members: u64,
    pub stored_bytes: u64,
}

macro_rules! select_counted {
    ($rest:literal) => {
        concat!(
            "SELECT o.id, o.name, o.max_workspaces, o.monthly_tokens, o.max_stored_bytes, o.monthly_usd, \
             o.own_monthly_usd, o.requests_per_minute, o.tokens_per_minute, o.on_budget, o.created_at, \
             (SELECT COUNT(*) FROM workspaces w WHERE w.organization_id = o.id) AS workspaces, \
             (SELECT COUNT(*) FROM organization_members m WHERE m.organization_id = o.id) AS members, \
             ",
            crate::stored_bytes::of_organization!(),
            " AS stored_bytes FROM organizations o ",
            $rest
        )
    };
}

/// What organizations can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganizationColumn {
    Name,
    Created,
    Members,
    Workspaces,
}

impl SortBy for OrganizationColumn {
    const ALL: &'static [Self] = &[Self::Name, Self::Created, Self::Members, Self::Workspaces];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Created => "createdAt",
            Self::Members => "members",
            Self::Workspaces => "workspaces",
        }
    }
}

impl SortColumn for OrganizationColumn {
    const TABLE: &'static str = "organizations o";
    const ID: &'static str = "o.id";
    const FOUND: &'static str = "LOWER(o.name) LIKE $search OR o.id LIKE $search";

    fn expression(self) -> SortExpression {
        match self {
            Self::Name => SortExpression::IgnoringCase("o.name"),
            Self::Created => SortExpression::Number("o.created_at"),
            Self::Members => {
                SortExpression::Number("(SELECT COUNT(*) FROM organization_members m WHERE m.organization_id = o.id)")
            }
            Self::Workspaces => {
                SortExpression::Number("(SELECT COUNT(*) FROM workspaces w WHERE w.organization_id = o.id)")
            }
        }
    }
}

impl SortedRow<OrganizationColumn> for CountedOrganization {
    fn sort_value(&self, by: OrganizationColumn) -> String {
        match by {
            OrganizationColumn::Name => self.organization.name.clone(),
            OrganizationColumn::Created => self.organization.created_at.millis().to_string(),
            OrganizationColumn::Members => self.members.to_string(),
            OrganizationColumn::Workspaces => self.workspaces.to_string(),
        }
    }
}

/// [`list`], with counts.
pub async fn list_counted(
    store: &Store,
    listing: Listing<'_, OrganizationColumn>,
) -> Result<Vec<CountedOrganization>, StoreError> {
    let text = format!("{} WHERE {}", select_counted!(""), listing.clauses(1));
    let query = listing.bind(sqlx::query(AssertSqlSafe(text)));
    store.rows(query).await?.iter().map(counted).collect()
}

/// The number of organizations that [`list_counted`] has on all its pages.
pub async fn count(store: &Store, listing: Listing<'_, OrganizationColumn>) -> Result<u64, StoreError> {
    let found = Listing::<OrganizationColumn>::found(1);
    let text = format!("SELECT COUNT(*) AS counted FROM organizations o WHERE {found}");
    store.count(sqlx::query(AssertSqlSafe(text)).bind(listing.pattern()), "counted").await
}

/// The ids of at most `max` organizations that a search finds, in their order.
pub async fn found_ids(
    store: &Store,
    listing: Listing<'_, OrganizationColumn>,
    max: usize,
) -> Result<Vec<OrganizationId>, StoreError> {
    let found = Listing::<OrganizationColumn>::found(1);
    let text = format!("SELECT o.id FROM organizations o WHERE {found} ORDER BY o.id LIMIT {max}");
    let rows = store.rows(sqlx::query(AssertSqlSafe(text)).bind(listing.pattern())).await?;
    rows.iter().map(|found| row::parsed(found, "id", |text| OrganizationId::parse(text).ok())).collect()
}

/// The organizations with these ids, with counts, in any order. Those that do not exist are left out.
pub async fn counted_by_ids(store: &Store, ids: &[OrganizationId]) -> Result<Vec<CountedOrganization>, StoreError> {
    let mut all = Vec::new();
    for chunk in chunks(ids) {
        let text = format!("{}WHERE o.id IN ({})", select_counted!(""), places(1, chunk.len()));
        let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, id| query.bind(id.as_str()));
        for found in &store.rows(query).await? {
            all.push(counted(found)?);
        }
    }
    Ok(all)
}

/// [`by_id`], with counts.
pub async fn counted_by_id(store: &Store, id: &OrganizationId) -> Result<Option<CountedOrganization>, StoreError> {
    let query = sqlx::query(select_counted!("WHERE o.id = $1")).bind(id.as_str());
    store.row(query).await?.as_ref().map(counted).transpose()
}

/// Whether the store is empty. A `true` may be outdated immediately; see [`claim_empty_store`].
pub async fn store_is_empty(store: &Store) -> Result<bool, StoreError> {
    let found = store.row(sqlx::query(ANYTHING_THERE)).await?;
    Ok(found.is_none())
}

/// Like [`store_is_empty`], but of several concurrent transactions only one gets `true`: the others wait for its end.
pub async fn claim_empty_store(tx: &mut Tx) -> Result<bool, StoreError> {
    tx.execute(sqlx::query("UPDATE change_counter SET seq = seq")).await?;
    let found = tx.row(sqlx::query(ANYTHING_THERE)).await?;
    Ok(found.is_none())
}

const ANYTHING_THERE: &str = "SELECT id FROM organizations UNION ALL SELECT id FROM users LIMIT 1";

pub async fn insert(tx: &mut Tx, new: &Organization) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO organizations (id, name, max_workspaces, monthly_tokens, max_stored_bytes, monthly_usd, \
         own_monthly_usd, created_at, requests_per_minute, tokens_per_minute, on_budget) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(new.id.as_str())
    .bind(new.name.as_str())
    .bind(row::to_optional_number(new.max_workspaces))
    .bind(row::to_optional_number(new.monthly_tokens))
    .bind(row::to_optional_number(new.max_stored_bytes))
    .bind(new.monthly_usd.operator.map(NanoUsd::nanos))
    .bind(new.monthly_usd.administrators.map(NanoUsd::nanos))
    .bind(new.created_at.millis())
    .bind(row::to_optional_number(new.requests_per_minute))
    .bind(row::to_optional_number(new.tokens_per_minute))
    .bind(row::from_on_budget(new.on_budget));
    tx.execute(insert).await?;
    tx.announce(Change::Organization(new.id.clone()), new.created_at);
    Ok(())
}

/// Writes the name and the bounds.
pub async fn update(tx: &mut Tx, edited: &Organization, now: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE organizations SET name = $2, max_workspaces = $3, monthly_tokens = $4, max_stored_bytes = $5, \
         monthly_usd = $6, own_monthly_usd = $7, requests_per_minute = $8, tokens_per_minute = $9, on_budget = $10 \
         WHERE id = $1",
    )
    .bind(edited.id.as_str())
    .bind(edited.name.as_str())
    .bind(row::to_optional_number(edited.max_workspaces))
    .bind(row::to_optional_number(edited.monthly_tokens))
    .bind(row::to_optional_number(edited.max_stored_bytes))
    .bind(edited.monthly_usd.operator.map(NanoUsd::nanos))
    .bind(edited.monthly_usd.administrators.map(NanoUsd::nanos))
    .bind(row::to_optional_number(edited.requests_per_minute))
    .bind(row::to_optional_number(edited.tokens_per_minute))
    .bind(row::from_on_budget(edited.on_budget));
    if tx.execute(update).await? == 0 {
        return Err(missing(&edited.id));
    }
    tx.announce(Change::Organization(edited.id.clone()), now);
    Ok(())
}

/// Removes an organization and its memberships. Fails if it still has workspaces.
pub async fn delete(tx: &mut Tx, id: &OrganizationId, now: Timestamp) -> Result<(), StoreError> {
    lock(tx, id).await?;
    let workspaces = workspaces::count_of(tx, id).await?;
    if workspaces > 0 {
        return Err(Conflict::OrganizationNotEmpty { workspaces }.into());
    }
    tx.execute(sqlx::query("DELETE FROM organizations WHERE id = $1").bind(id.as_str())).await?;
    tx.announce(Change::Organization(id.clone()), now);
    Ok(())
}

/// Reads an organization and locks it until the end of the transaction, in a way that both databases support.
pub async fn lock(tx: &mut Tx, id: &OrganizationId) -> Result<Organization, StoreError> {
    let touch = sqlx::query(
        "UPDATE organizations SET name = name WHERE id = $1 RETURNING id, name, max_workspaces, \
         monthly_tokens, max_stored_bytes, monthly_usd, own_monthly_usd, requests_per_minute, tokens_per_minute, \
         on_budget, created_at",
    );
    organization(&tx.row(touch.bind(id.as_str())).await?.ok_or_else(|| missing(id))?)
}

fn missing(id: &OrganizationId) -> StoreError {
    StoreError::missing("organization", id.as_str())
}

fn counted(found: &AnyRow) -> Result<CountedOrganization, StoreError> {
    Ok(CountedOrganization {
        organization: organization(found)?,
        workspaces: row::count(found, "workspaces")?,
        members: row::count(found, "members")?,
        stored_bytes: row::count(found, "stored_bytes")?,
    })
}

fn organization(found: &AnyRow) -> Result<Organization, StoreError> {
    Ok(Organization {
        id: row::parsed(found, "id", |text| OrganizationId::parse(text).ok())?,
        name: row::text(found, "name")?,
        max_workspaces: row::optional_count(found, "max_workspaces")?,
        monthly_tokens: row::optional_count(found, "monthly_tokens")?,
        max_stored_bytes: row::optional_count(found, "max_stored_bytes")?,
        requests_per_minute: row::optional_count(found, "requests_per_minute")?,
        tokens_per_minute: row::optional_count(found, "tokens_per_minute")?,
        monthly_usd: row::monthly_budget(found)?,
        on_budget: row::on_budget(found)?,
        created_at: row::moment(found, "created_at")?,
    })
}
