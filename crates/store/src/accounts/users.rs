//! Users, their password hashes and their roles.

use crate::change::Change;
use crate::db::{Store, Tx};
use crate::error::{Conflict, StoreError};
use crate::listing::{Listing, SortBy, SortColumn, SortExpression, SortedRow};
use crate::page::Page;
use crate::values::{chunks, values_text};
use crate::{known_origins, organizations, row, sessions};
use domain::user::{Email, Membership, Role};
use domain::{OrganizationId, Timestamp, User, UserId, Workspace, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// The most accounts that share an address and can be used: a sign-in checks the password of each. There is at most one
/// per organization.
const MAX_OF_ONE_ADDRESS: i64 = 8;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, COALESCE(shared_email, email) AS email, email_proven, operator, created_at FROM users ",
            $rest
        )
    };
}

/// The account that a sign-in is checked against. Without a hash, it cannot sign in with a password.
#[derive(Clone)]
pub struct Credentials {
    pub user: UserId,
    pub password_hash: Option<String>,
}

pub async fn by_id(store: &Store, id: &UserId) -> Result<Option<User>, StoreError> {
    let query = sqlx::query(select!("WHERE id = $1")).bind(id.as_str());
    let Some(found) = store.row(query).await? else { return Ok(None) };
    let mut users = vec![user(&found)?];
    let memberships = sqlx::query(
        "SELECT user_id, organization_id, role, proven FROM organization_members WHERE user_id = $1 ORDER BY organization_id",
    );
    give_memberships(&mut users, &store.rows(memberships.bind(id.as_str())).await?)?;
    Ok(users.pop())
}

/// The accounts with this address: the proven one first, then those that have memberships.
pub async fn by_email(store: &Store, email: &Email) -> Result<Vec<User>, StoreError> {
    let mut users = Vec::new();
    for found in credentials(store, email).await? {
        users.extend(by_id(store, &found.user).await?);
    }
    Ok(users)
}

/// The credentials of the accounts with this address, in the order of [`by_email`].
pub async fn credentials(store: &Store, email: &Email) -> Result<Vec<Credentials>, StoreError> {
    let query = sqlx::query(
        "SELECT id, password_hash FROM users WHERE email = $1 OR shared_email = $1 ORDER BY email_proven DESC, \
         CASE WHEN EXISTS (SELECT 1 FROM organization_members m WHERE m.user_id = users.id) THEN 0 ELSE 1 END, id \
         LIMIT $2",
    );
    let found = store.rows(query.bind(email.as_str()).bind(MAX_OF_ONE_ADDRESS)).await?;
    let credentials = found.iter().map(|found| {
        Ok(Credentials {
            user: row::parsed(found, "id", |text| UserId::parse(text).ok())?,
            password_hash: row::optional_text(found, "password_hash")?,
        })
    });
    credentials.collect()
}

/// Whether an account with this address is a member of the organization, which must be locked.
pub async fn has_member_with(tx: &mut Tx, organization: &OrganizationId, email: &Email) -> Result<bool, StoreError> {
    let query = sqlx::query(
        "SELECT m.user_id FROM organization_members m JOIN users u ON u.id = m.user_id \
         WHERE m.organization_id = $1 AND (u.email = $2 OR u.shared_email = $2) LIMIT 1",
    );
    Ok(tx.row(query.bind(organization.as_str()).bind(email.as_str())).await?.is_some())
}

/// What users can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserColumn {
    Email,
    Created,
}

impl SortBy for UserColumn {
    const ALL: &'static [Self] = &[Self::Email, Self::Created];

    fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Created => "createdAt",
        }
    }
}

impl SortColumn for UserColumn {
    const TABLE: &'static str = "users";
    const ID: &'static str = "users.id";
    const FOUND: &'static str = "LOWER(COALESCE(users.shared_email, users.email)) LIKE $search \
         OR EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.organization_id \
         WHERE m.user_id = users.id AND LOWER(o.name) LIKE $search)";

    fn expression(self) -> SortExpression {
        match self {
            Self::Email => SortExpression::IgnoringCase("COALESCE(users.shared_email, users.email)"),
            Self::Created => SortExpression::Number("users.created_at"),
        }
    }
}

impl SortedRow<UserColumn> for User {
    fn sort_value(&self, by: UserColumn) -> String {
        match by {
            UserColumn::Email => self.email.to_string(),
            UserColumn::Created => self.created_at.millis().to_string(),
        }
    }
}

/// Users with their memberships. A search finds them by their address or the name of an organization.
pub async fn list(store: &Store, listing: impl Into<Listing<'_, UserColumn>>) -> Result<Vec<User>, StoreError> {
    let listing = listing.into();
    let text = format!("{} WHERE {}", select!(""), listing.clauses(1));
    let query = listing.bind(sqlx::query(AssertSqlSafe(text)));
    let mut users = store.rows(query).await?.iter().map(user).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<UserId> = users.iter().map(|user| user.id.clone()).collect();
    for chunk in chunks(&ids) {
        let text = format!(
            "WITH listed (id) AS ({}) SELECT m.user_id, m.organization_id, m.role, m.proven FROM listed \
             JOIN organization_members m ON m.user_id = listed.id ORDER BY m.user_id, m.organization_id",
            values_text(store.engine(), 1, chunk.len())
        );
        let query = sqlx::query(AssertSqlSafe(text));
        let query = chunk.iter().fold(query, |query, id| query.bind(id.as_str()));
        give_memberships(&mut users, &store.rows(query).await?)?;
    }
    Ok(users)
}

/// The number of users that [`list`] has on all its pages.
pub async fn count(store: &Store, listing: Listing<'_, UserColumn>) -> Result<u64, StoreError> {
    let found = Listing::<UserColumn>::found(1);
    let text = format!("SELECT COUNT(*) AS counted FROM users WHERE {found}");
    store.count(sqlx::query(AssertSqlSafe(text)).bind(listing.pattern()), "counted").await
}

/// A member of an organization, and the workspaces that the member was added to explicitly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user: UserId,
    pub email: Email,
    pub role: Role,
    pub workspaces: Vec<WorkspaceId>,
}

/// The members of one organization.
pub async fn list_members(
    store: &Store,
    organization: &OrganizationId,
    page: Page<'_>,
) -> Result<Vec<Member>, StoreError> {
    let query = sqlx::query(
        "SELECT u.id, COALESCE(u.shared_email, u.email) AS email, m.role FROM organization_members m JOIN users u ON u.id = m.user_id \
         WHERE m.organization_id = $1 AND u.id > $2 ORDER BY u.id LIMIT $3",
    );
    let found = store.rows(query.bind(organization.as_str()).bind(page.cursor()).bind(page.limit())).await?;
    let mut members = found.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = members.last().map(|member| member.user.clone()) else { return Ok(members) };
    let joined = sqlx::query(
        "SELECT m.user_id, m.workspace_id FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id \
         WHERE w.organization_id = $1 AND m.user_id > $2 AND m.user_id <= $3 ORDER BY m.user_id, m.workspace_id",
    );
    let joined = joined.bind(organization.as_str()).bind(page.cursor()).bind(last.as_str());
    for row in store.rows(joined).await? {
        let owner = row::parsed(&row, "user_id", |text| UserId::parse(text).ok())?;
        let Ok(place) = members.binary_search_by(|member| member.user.cmp(&owner)) else { continue };
        members[place].workspaces.push(row::parsed(&row, "workspace_id", |text| WorkspaceId::parse(text).ok())?);
    }
    Ok(members)
}

/// The users who were added to a workspace explicitly.
pub async fn list_of_workspace(
    store: &Store,
    workspace: &Workspace,
    page: Page<'_>,
) -> Result<Vec<Member>, StoreError> {
    let query = sqlx::query(
        "SELECT u.id, COALESCE(u.shared_email, u.email) AS email, o.role FROM workspace_members m JOIN users u ON u.id = m.user_id \
         JOIN organization_members o ON o.user_id = u.id AND o.organization_id = $1 \
         WHERE m.workspace_id = $2 AND u.id > $3 ORDER BY u.id LIMIT $4",
    )
    .bind(workspace.organization.as_str())
    .bind(workspace.id.as_str())
    .bind(page.cursor())
    .bind(page.limit());
    store.rows(query).await?.iter().map(member).collect()
}

fn member(found: &AnyRow) -> Result<Member, StoreError> {
    Ok(Member {
        user: row::parsed(found, "id", |text| UserId::parse(text).ok())?,
        email: row::parsed(found, "email", |text| Email::parse(text).ok())?,
        role: row::parsed(found, "role", Role::parse)?,
        workspaces: Vec::new(),
    })
}

/// The role of a member. Locks all roles of the organization until the end of the transaction.
pub async fn lock_role(tx: &mut Tx, id: &UserId, organization: &OrganizationId) -> Result<Role, StoreError> {
    organizations::lock(tx, organization).await?;
    let query = sqlx::query("SELECT role FROM organization_members WHERE organization_id = $1 AND user_id = $2");
    let found = tx.row(query.bind(organization.as_str()).bind(id.as_str())).await?;
    row::parsed(&found.ok_or_else(|| StoreError::missing("member", id.as_str()))?, "role", Role::parse)
}

/// Fails if the organization has no other administrator. The organization must be locked.
pub async fn check_other_admin(tx: &mut Tx, id: &UserId, organization: &OrganizationId) -> Result<(), StoreError> {
    let query = sqlx::query(
        "SELECT user_id FROM organization_members WHERE organization_id = $1 AND role = 'admin' AND user_id <> $2 \
         LIMIT 1",
    );
    match tx.row(query.bind(organization.as_str()).bind(id.as_str())).await? {
        Some(_) => Ok(()),
        None => Err(Conflict::LastAdmin.into()),
    }
}

/// The hash of a user's password, if there is one.
pub async fn password_hash(store: &Store, id: &UserId) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT password_hash FROM users WHERE id = $1").bind(id.as_str());
    match store.row(query).await? {
        Some(found) => row::optional_text(&found, "password_hash"),
        None => Err(StoreError::missing("user", id.as_str())),
    }
}

/// Writes a new user with its memberships. Fails if a proven account has the address, and for an account that is not
/// proven also if any other has it.
pub async fn insert(tx: &mut Tx, new: &User, password_hash: Option<&str>) -> Result<(), StoreError> {
    if new.email_proven {
        make_way(tx, &new.email).await?;
    }
    if !insert_as(tx, new, new.email.as_str(), None, password_hash).await? {
        return Err(Conflict::EmailTaken.into());
    }
    join_all(tx, new).await
}

/// Like [`insert`], for an account that is not proven beside others that are not proven, either.
pub async fn insert_beside(tx: &mut Tx, new: &User, password_hash: &str) -> Result<(), StoreError> {
    let proven = sqlx::query("SELECT id FROM users WHERE email = $1 AND email_proven = 1").bind(new.email.as_str());
    if tx.row(proven).await?.is_some() {
        return Err(Conflict::EmailTaken.into());
    }
    if !insert_as(tx, new, new.email.as_str(), None, Some(password_hash)).await? {
        insert_as(tx, new, &unique_name(&new.id), Some(&new.email), Some(password_hash)).await?;
    }
    join_all(tx, new).await
}

/// Writes the row; `false` if another account has `email`, which is unique.
async fn insert_as(
    tx: &mut Tx,
    new: &User,
    email: &str,
    shared_email: Option<&Email>,
    password_hash: Option<&str>,
) -> Result<bool, StoreError> {
    let insert = sqlx::query(
        "INSERT INTO users (id, email, password_hash, operator, created_at, email_proven, shared_email) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email) DO NOTHING",
    )
    .bind(new.id.as_str())
    .bind(email)
    .bind(password_hash)
    .bind(i64::from(new.operator))
    .bind(new.created_at.millis())
    .bind(i64::from(new.email_proven))
    .bind(shared_email.map(Email::as_str));
    Ok(tx.execute(insert).await? > 0)
}

/// Replaces the address of an account that shares it, in the column that must be unique.
fn unique_name(id: &UserId) -> String {
    format!("{id}@shared.invalid")
}

/// Frees the address for a proven account: an account that is not proven shares it from now on.
async fn make_way(tx: &mut Tx, email: &Email) -> Result<(), StoreError> {
    let update = sqlx::query(
        "UPDATE users SET shared_email = email, email = id || '@shared.invalid' WHERE email = $1 AND email_proven = 0",
    );
    tx.execute(update.bind(email.as_str())).await.map(drop)
}

/// Gives an account that is about to be proven its address for itself. Fails if another proven account has it.
async fn claim_address(tx: &mut Tx, id: &UserId) -> Result<(), StoreError> {
    let query = sqlx::query("SELECT shared_email FROM users WHERE id = $1 AND shared_email IS NOT NULL");
    let Some(found) = tx.row(query.bind(id.as_str())).await? else { return Ok(()) };
    let email = row::parsed(&found, "shared_email", |text| Email::parse(text).ok())?;
    make_way(tx, &email).await?;
    let claim = sqlx::query(
        "UPDATE users SET email = shared_email, shared_email = NULL WHERE id = $1 \
         AND NOT EXISTS (SELECT 1 FROM users u WHERE u.email = $2)",
    );
    match tx.execute(claim.bind(id.as_str()).bind(email.as_str())).await? {
        0 => Err(Conflict::EmailTaken.into()),
        _ => Ok(()),
    }
}

async fn join_all(tx: &mut Tx, new: &User) -> Result<(), StoreError> {
    for membership in &new.memberships {
        join(tx, &new.id, membership, new.created_at).await?;
    }
    tx.announce(Change::User(new.id.clone()), new.created_at);
    Ok(())
}

pub async fn set_password(tx: &mut Tx, id: &UserId, password_hash: &str, now: Timestamp) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE users SET password_hash = $2 WHERE id = $1").bind(id.as_str()).bind(password_hash);
    tx.execute_one(update, "user", id.as_str()).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

pub async fn set_operator(tx: &mut Tx, id: &UserId, operator: bool, now: Timestamp) -> Result<(), StoreError> {
    let update =
        sqlx::query("UPDATE users SET operator = $2 WHERE id = $1").bind(id.as_str()).bind(i64::from(operator));
    tx.execute_one(update, "user", id.as_str()).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

/// Gives an account to the proven owner of its address: removes the password, which another user may have chosen, and
/// ends all sessions. Returns `false` if the address was already proven.
pub async fn take_over(tx: &mut Tx, id: &UserId, now: Timestamp) -> Result<bool, StoreError> {
    claim_address(tx, id).await?;
    let update =
        sqlx::query("UPDATE users SET email_proven = 1, password_hash = NULL WHERE id = $1 AND email_proven = 0");
    if tx.execute(update.bind(id.as_str())).await? == 0 {
        return Ok(false);
    }
    sessions::end_all_of(tx, id, None).await?;
    known_origins::forget_all_of(tx, id).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(true)
}

/// Locks the user until the end of the transaction; `false` if the password is not the one that was read.
pub async fn lock_unchanged(tx: &mut Tx, read: &Credentials) -> Result<bool, StoreError> {
    let touch = sqlx::query("UPDATE users SET operator = operator WHERE id = $1 AND COALESCE(password_hash, '') = $2")
        .bind(read.user.as_str())
        .bind(read.password_hash.as_deref().unwrap_or_default());
    Ok(tx.execute(touch).await? > 0)
}

/// Records whether the address is proven. Fails if another account with it is.
pub async fn set_email_proven(tx: &mut Tx, id: &UserId, proven: bool, now: Timestamp) -> Result<(), StoreError> {
    if proven {
        claim_address(tx, id).await?;
    }
    let update =
        sqlx::query("UPDATE users SET email_proven = $2 WHERE id = $1").bind(id.as_str()).bind(i64::from(proven));
    tx.execute_one(update, "user", id.as_str()).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

/// Adds a membership, or sets the role of the one that exists, which stays proven if it was.
pub async fn join(tx: &mut Tx, id: &UserId, membership: &Membership, now: Timestamp) -> Result<(), StoreError> {
    let Membership { organization_id, role, proven } = membership;
    organizations::lock(tx, organization_id).await?;
    lock(tx, id).await?;
    let upsert = sqlx::query(
        "INSERT INTO organization_members (organization_id, user_id, role, proven) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role, \
         proven = CASE WHEN excluded.proven = 1 THEN 1 ELSE organization_members.proven END",
    )
    .bind(organization_id.as_str())
    .bind(id.as_str())
    .bind(role.as_str())
    .bind(i64::from(*proven));
    tx.execute(upsert).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

/// Ends the membership in the organization and in its workspaces. Idempotent.
pub async fn leave(tx: &mut Tx, id: &UserId, organization: &OrganizationId, now: Timestamp) -> Result<(), StoreError> {
    let workspaces = sqlx::query(
        "DELETE FROM workspace_members WHERE user_id = $1 \
         AND workspace_id IN (SELECT id FROM workspaces WHERE organization_id = $2)",
    );
    tx.execute(workspaces.bind(id.as_str()).bind(organization.as_str())).await?;
    let membership = sqlx::query("DELETE FROM organization_members WHERE user_id = $1 AND organization_id = $2");
    tx.execute(membership.bind(id.as_str()).bind(organization.as_str())).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

/// Removes the user and all memberships. Records that the user created stay.
pub async fn delete(tx: &mut Tx, id: &UserId, now: Timestamp) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM users WHERE id = $1").bind(id.as_str());
    tx.execute_one(delete, "user", id.as_str()).await?;
    tx.announce(Change::User(id.clone()), now);
    Ok(())
}

/// Locks the row until the end of the transaction.
pub(crate) async fn lock(tx: &mut Tx, id: &UserId) -> Result<(), StoreError> {
    let touch = sqlx::query("UPDATE users SET operator = operator WHERE id = $1").bind(id.as_str());
    tx.execute_one(touch, "user", id.as_str()).await
}

fn user(found: &AnyRow) -> Result<User, StoreError> {
    Ok(User {
        id: row::parsed(found, "id", |text| UserId::parse(text).ok())?,
        email: row::parsed(found, "email", |text| Email::parse(text).ok())?,
        email_proven: row::flag(found, "email_proven")?,
        operator: row::flag(found, "operator")?,
        created_at: row::moment(found, "created_at")?,
        memberships: Vec::new(),
    })
}

/// Adds each row of `organization_members` to its user.
fn give_memberships(users: &mut [User], found: &[AnyRow]) -> Result<(), StoreError> {
    let places: HashMap<UserId, usize> =
        users.iter().enumerate().map(|(place, user)| (user.id.clone(), place)).collect();
    for row in found {
        let owner = row::parsed(row, "user_id", |text| UserId::parse(text).ok())?;
        let Some(place) = places.get(&owner) else { continue };
        users[*place].memberships.push(Membership {
            organization_id: row::parsed(row, "organization_id", |text| OrganizationId::parse(text).ok())?,
            role: row::parsed(row, "role", Role::parse)?,
            proven: row::flag(row, "proven")?,
        });
    }
    Ok(())
}
