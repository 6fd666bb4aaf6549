//! Sign-in through an OpenID Connect provider.
//!
//! The caller verifies the provider's response; this module maps the identity to an account. An account is found by the
//! provider's subject, or on the first sign-in by the e-mail address that the provider has verified.

use crate::author::{AuditedChange, Author};
use crate::command_error::CommandError;
use crate::sessions::{self, ActiveSession, Origin};
use crate::{entropy, snapshot};
use domain::session::Lifetimes;
use domain::user::{Email, Membership, Role};
use domain::{OrganizationId, SecretHash, Timestamp, User, UserId};
use serde_json::Value;
use store::single_sign_on::{self, Pending};
use store::{Store, StoreError, Tx, users};

/// How long a sign-in at the provider may take.
const PENDING_MILLIS: i64 = 10 * 60 * 1_000;

/// An identity asserted by the provider.
#[derive(Debug)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
    /// Verified by the provider.
    pub email: String,
    pub groups: Vec<String>,
}

/// How identities map to organizations and roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The organization that new users join; `None` if only existing accounts may sign in.
    pub organization: Option<OrganizationId>,
    pub admin_groups: Vec<String>,
    /// Empty means all users.
    pub member_groups: Vec<String>,
}

impl Mapping {
    /// The role for these groups; `None` if they give no access.
    pub fn role(&self, groups: &[String]) -> Option<Role> {
        let in_any = |wanted: &[String]| groups.iter().any(|group| wanted.contains(group));
        if in_any(&self.admin_groups) {
            return Some(Role::Admin);
        }
        (self.member_groups.is_empty() || in_any(&self.member_groups)).then_some(Role::Member)
    }
}

/// Stores a pending sign-in and returns its `state`, which goes to the browser and the provider.
pub async fn begin(store: &Store, nonce: String, verifier: String, now: Timestamp) -> Result<String, CommandError> {
    let state = entropy::token();
    let mut tx = store.begin().await?;
    let pending = Pending { nonce, verifier };
    single_sign_on::begin(&mut tx, SecretHash::of(&state), &pending, now.plus_millis(PENDING_MILLIS), now).await?;
    tx.commit().await?;
    Ok(state)
}

/// Takes the stored data of a pending sign-in. Works once.
pub async fn resume(store: &Store, state: &str, now: Timestamp) -> Result<Option<Pending>, CommandError> {
    let mut tx = store.begin().await?;
    let found = single_sign_on::take(&mut tx, SecretHash::of(state), now).await?;
    tx.commit().await?;
    Ok(found)
}

/// Signs a user in. Fails if the user has no account and may not get one.
pub async fn enter(
    store: &Store,
    identity: &Identity,
    mapping: &Mapping,
    origin: &Origin,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Result<ActiveSession, CommandError> {
    let email = Email::parse(&identity.email)?;
    let known = match single_sign_on::linked(store, &identity.issuer, &identity.subject).await? {
        Some(id) => users::by_id(store, &id).await?,
        None => users::by_email(store, &email).await?,
    };
    let joins = mapping.organization.as_ref().zip(mapping.role(&identity.groups));
    let mut tx = store.begin().await?;
    let user = match (known, joins) {
        (Some(user), Some((organization, role))) => adjust(&mut tx, user, organization, role, origin, now).await?,
        (Some(user), None) => user,
        (None, Some((organization, role))) => create(&mut tx, email, organization, role, origin, now).await?,
        (None, None) => return Err(CommandError::NoAccount),
    };
    single_sign_on::link(&mut tx, &identity.issuer, &identity.subject, &user.id).await?;
    let context = match user.memberships.first() {
        Some(first) => (Some(first.organization_id.clone()), None),
        None => (None, None),
    };
    let signed = sessions::start(&mut tx, user, context, origin, lifetimes, now).await?;
    tx.commit().await?;
    sessions::settle_in(store, signed).await
}

/// Applies the role of the groups. The last administrator is not demoted.
async fn adjust(
    tx: &mut Tx,
    mut user: User,
    organization: &OrganizationId,
    role: Role,
    origin: &Origin,
    now: Timestamp,
) -> Result<User, CommandError> {
    let current = user.role_in(organization);
    if current == Some(role) {
        return Ok(user);
    }
    if current == Some(Role::Admin) {
        users::lock_role(tx, &user.id, organization).await?;
        match users::check_other_admin(tx, &user.id, organization).await {
            Err(StoreError::Conflict(store::Conflict::LastAdmin)) => return Ok(user),
            checked => checked?,
        }
    }
    users::set_role(tx, &user.id, organization, role, now).await?;
    user.memberships.retain(|one| one.organization_id != *organization);
    user.memberships.push(Membership { organization_id: organization.clone(), role });
    let change = AuditedChange::new("member.set-role", Some(organization), user.id.as_str())
        .before(current.map_or(Value::Null, snapshot::role))
        .after(snapshot::role(role));
    Author::User { id: user.id.clone(), address: origin.address.clone() }.record(tx, change, now).await?;
    Ok(user)
}

async fn create(
    tx: &mut Tx,
    email: Email,
    organization: &OrganizationId,
    role: Role,
    origin: &Origin,
    now: Timestamp,
) -> Result<User, CommandError> {
    let user = User {
        id: UserId::new(now, entropy::for_id()),
        email,
        operator: false,
        created_at: now,
        memberships: vec![Membership { organization_id: organization.clone(), role }],
    };
    users::insert(tx, &user, None).await?;
    let change = AuditedChange::new("user.create", Some(organization), user.id.as_str()).after(snapshot::user(&user));
    Author::User { id: user.id.clone(), address: origin.address.clone() }.record(tx, change, now).await?;
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_give_the_highest_matching_role() {
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let open = Mapping { admin_groups: text(&["ops"]), ..Mapping::default() };
        let closed = Mapping { member_groups: text(&["staff"]), ..open.clone() };
        for (mapping, groups, role) in [
            (&open, &["ops", "staff"][..], Some(Role::Admin)),
            (&open, &[], Some(Role::Member)),
            (&closed, &["staff"], Some(Role::Member)),
            (&closed, &["ops"], Some(Role::Admin)),
            (&closed, &["guests"], None),
            (&closed, &[], None),
        ] {
            assert_eq!(mapping.role(&text(groups)), role, "{groups:?}");
        }
    }
}
