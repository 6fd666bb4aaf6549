//! Lists of API keys with their creators.

use super::api_keys::api_key;
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::listing::{Listing, SortBy, SortColumn, SortExpression, SortedRow};
use crate::row;
use domain::user::Email;
use domain::{ApiKey, OrganizationId, Timestamp, UserId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// A key with its creator.
#[derive(Debug, Clone)]
pub struct ListedKey {
    pub key: ApiKey,
    /// `None` for a key that no user created.
    pub creator: Option<KeyCreator>,
}

/// The user who created a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCreator {
    pub id: UserId,
    /// `None` if the user was deleted.
    pub email: Option<Email>,
    /// Whether the user still has access to the key's organization, as a member or as an operator.
    pub has_access: bool,
}

/// Selects keys by their creator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatedBy<'a> {
    Anyone,
    User(&'a UserId),
    /// Users who have no access to the organization any more.
    RemovedMembers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysOf<'a> {
    Workspace(&'a WorkspaceId),
    /// The keys of all its workspaces.
    Organization(&'a OrganizationId),
}

/// Selects keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFilter<'a> {
    pub of: KeysOf<'a>,
    pub created_by: CreatedBy<'a>,
    /// Only those that count towards the key limit at this time: active and disabled ones.
    pub counted_at: Option<Timestamp>,
}

impl<'a> KeyFilter<'a> {
    /// All keys, in any state.
    pub const fn all(of: KeysOf<'a>) -> Self {
        Self { of, created_by: CreatedBy::Anyone, counted_at: None }
    }
}

/// What keys can be sorted by. Keys that were never used come before all others, keys that never expire after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyColumn {
    Name,
    Created,
    LastUsed,
    Expires,
}

impl SortBy for KeyColumn {
    const ALL: &'static [Self] = &[Self::Name, Self::Created, Self::LastUsed, Self::Expires];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Created => "createdAt",
            Self::LastUsed => "lastUsedAt",
            Self::Expires => "expiresAt",
        }
    }
}

impl SortColumn for KeyColumn {
    const TABLE: &'static str = "api_keys k";
    const ID: &'static str = "k.id";
    const FOUND: &'static str = "LOWER(k.name) LIKE $search OR 'sk-' || s.segment LIKE $search";

    fn expression(self) -> SortExpression {
        match self {
            Self::Name => SortExpression::IgnoringCase("k.name"),
            Self::Created => SortExpression::Number("k.created_at"),
            Self::LastUsed => SortExpression::Number("COALESCE(k.last_used_at, 0)"),
            Self::Expires => SortExpression::Number("COALESCE(k.expires_at, 9223372036854775807)"),
        }
    }
}

impl SortedRow<KeyColumn> for ListedKey {
    fn sort_value(&self, by: KeyColumn) -> String {
        match by {
            KeyColumn::Name => self.key.name.clone(),
            KeyColumn::Created => self.key.created_at.millis().to_string(),
            KeyColumn::LastUsed => self.key.last_used_at.map_or(0, Timestamp::millis).to_string(),
            KeyColumn::Expires => self.key.expires_at.map_or(i64::MAX, Timestamp::millis).to_string(),
        }
    }
}

const COLUMNS: &str = "SELECT k.id, k.workspace_id, w.organization_id, k.name, s.segment, s.hash, s.dies_at, k.created_at, \
     k.created_by, k.expires_at, k.last_used_at, k.revoked_at, k.disabled_at, k.requests_per_minute, k.tokens_per_minute, \
     k.limits, k.trusts_end_user, k.restrictions, k.labels, k.budgets, \
     (SELECT MAX(o.dies_at) FROM api_key_secrets o WHERE o.key_id = k.id) AS overlap_until, \
     COALESCE(u.shared_email, u.email) AS creator_email, \
     CAST(CASE WHEN u.operator = 1 OR m.user_id IS NOT NULL THEN 1 ELSE 0 END AS BIGINT) AS has_access ";

// The cast gives NULL a type, so that both databases can compare with it.
const ROWS: &str = "FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id JOIN workspaces w ON w.id = k.workspace_id \
     LEFT JOIN users u ON u.id = k.created_by \
     LEFT JOIN organization_members m ON m.user_id = k.created_by AND m.organization_id = w.organization_id \
     WHERE s.dies_at IS NULL AND (CAST($2 AS TEXT) IS NULL OR k.created_by = $2) \
     AND ($3 = 0 OR (k.created_by IS NOT NULL AND m.user_id IS NULL AND COALESCE(u.operator, 0) = 0)) \
     AND ($4 = 0 OR (k.revoked_at IS NULL AND (k.disabled_at IS NOT NULL OR k.expires_at IS NULL OR k.expires_at > $4)))";

/// The keys with their current secrets.
pub async fn list(
    store: &Store,
    filter: KeyFilter<'_>,
    listing: impl Into<Listing<'_, KeyColumn>>,
) -> Result<Vec<ListedKey>, StoreError> {
    let listing = listing.into();
    let text = format!("{COLUMNS} {ROWS} AND {} AND {}", of(filter), listing.clauses(5));
    let query = listing.bind(bind(sqlx::query(AssertSqlSafe(text)), filter));
    store.rows(query).await?.iter().map(listed_key).collect()
}

/// The number of keys that [`list`] has on all its pages.
pub async fn count(store: &Store, filter: KeyFilter<'_>, listing: Listing<'_, KeyColumn>) -> Result<u64, StoreError> {
    let found = Listing::<KeyColumn>::found(5);
    let text = format!("SELECT COUNT(*) AS counted {ROWS} AND {} AND {found}", of(filter));
    store.count(bind(sqlx::query(AssertSqlSafe(text)), filter).bind(listing.pattern()), "counted").await
}

const fn of(filter: KeyFilter<'_>) -> &'static str {
    match filter.of {
        KeysOf::Workspace(_) => "k.workspace_id = $1",
        KeysOf::Organization(_) => "w.organization_id = $1",
    }
}

/// Binds the first four parameters.
fn bind<'q>(query: Query<'q>, filter: KeyFilter<'q>) -> Query<'q> {
    let owner = match filter.of {
        KeysOf::Workspace(id) => id.as_str(),
        KeysOf::Organization(id) => id.as_str(),
    };
    let (user, only_removed) = match filter.created_by {
        CreatedBy::Anyone => (None, 0_i64),
        CreatedBy::User(user) => (Some(user.as_str()), 0),
        CreatedBy::RemovedMembers => (None, 1),
    };
    query.bind(owner).bind(user).bind(only_removed).bind(filter.counted_at.map_or(0, Timestamp::millis))
}

fn listed_key(found: &AnyRow) -> Result<ListedKey, StoreError> {
    let key = api_key(found)?;
    let creator = match &key.created_by {
        Some(id) => Some(KeyCreator {
            id: id.clone(),
            email: row::optional_parsed(found, "creator_email", |text| Email::parse(text).ok())?,
            has_access: row::flag(found, "has_access")?,
        }),
        None => None,
    };
    Ok(ListedKey { key, creator })
}
