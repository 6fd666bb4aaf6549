//! Sign-in through an OpenID Connect provider.
//!
//! The caller verifies the provider's response; this module maps the identity to an account. An account is found by the
//! provider's subject, or on the first sign-in by the e-mail address that the provider has verified. An account whose
//! address was not proven before may have been prepared by another user, so the owner of the address takes it over.

use crate::command::AuditedChange;
use crate::command_error::CommandError;
use crate::sessions::{self, ActiveSession, SessionCommand};
use crate::{entropy, snapshot};
use domain::user::{Email, Membership, Role};
use domain::{OrganizationId, SecretHash, Timestamp, User, UserId};
use serde_json::Value;
use std::collections::BTreeSet;
use store::single_sign_on::{self, Pending};
use store::{Conflict, Store, StoreError, Tx, organizations, users};

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
    command: SessionCommand<'_>,
    identity: &Identity,
    mapping: &Mapping,
) -> Result<ActiveSession, CommandError> {
    let (store, email) = (command.store, Email::parse(&identity.email)?);
    let known = match single_sign_on::linked(store, &identity.issuer, &identity.subject).await? {
        Some(id) => users::by_id(store, &id).await?,
        None => users::by_email(store, &email).await?.into_iter().next(),
    };
    let role = mapping.role(&identity.groups);
    let mut tx = store.begin().await?;
    let user = match known {
        Some(user) => {
            let user = take_over(command, &mut tx, user, mapping).await?;
            match &mapping.organization {
                Some(organization) => follow_groups(command, &mut tx, user, organization, role).await?,
                None => user,
            }
        }
        None => match mapping.organization.as_ref().zip(role) {
            Some((organization, role)) => create(command, &mut tx, email, organization, role).await?,
            None => return Err(CommandError::NoAccount),
        },
    };
    single_sign_on::link(&mut tx, &identity.issuer, &identity.subject, &user.id).await?;
    let context = match user.memberships.first() {
        Some(first) => (Some(first.organization_id.clone()), None),
        None => (None, None),
    };
    let signed = sessions::start(command, &mut tx, user, context).await?;
    tx.commit().await?;
    sessions::settle_in(store, signed).await
}

/// Gives an account whose address was not proven to the owner of the address. An administrator of any organization could
/// have created it by an invitation, so its password, its sessions and its unproven memberships end.
async fn take_over(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    mut user: User,
    mapping: &Mapping,
) -> Result<User, CommandError> {
    if user.email_proven {
        return Ok(user);
    }
    let unproven: Vec<_> = user.memberships.iter().filter(|one| !one.proven).cloned().collect();
    // Locks are taken in the global order: organizations, user.
    let mut organizations: BTreeSet<_> = unproven.iter().map(|one| &one.organization_id).collect();
    organizations.extend(&mapping.organization);
    for organization in organizations {
        organizations::lock(tx, organization).await?;
    }
    if !users::take_over(tx, &user.id, command.now).await? {
        return Ok(User { email_proven: true, ..user });
    }
    let before = snapshot::user(&user);
    for membership in &unproven {
        end_membership(command, tx, &mut user, &membership.organization_id, "it came by an unproven invitation")
            .await?;
    }
    user.email_proven = true;
    tracing::warn!(user.id = %user.id, "the owner of the address has taken over user {}", user.id);
    let change = AuditedChange::new("user.take-over", mapping.organization.as_ref(), user.id.as_str())
        .detail(
            "the identity provider proved the address; password, sessions and unproven memberships ended".to_owned(),
        )
        .before(before)
        .after(snapshot::user(&user));
    command.record(tx, &user, change).await?;
    Ok(user)
}

/// Ends a membership, except that of the last administrator.
async fn end_membership(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    user: &mut User,
    organization: &OrganizationId,
    why: &str,
) -> Result<(), CommandError> {
    let role = users::lock_role(tx, &user.id, organization).await?;
    let kept = match users::check_other_admin(tx, &user.id, organization).await {
        Err(StoreError::Conflict(Conflict::LastAdmin)) => role == Role::Admin,
        checked => checked.map(|()| false)?,
    };
    let change = if kept {
        tracing::warn!(user.id = %user.id, organization.id = %organization, "the last administrator stays: {why}");
        AuditedChange::new("member.keep-last-admin", Some(organization), user.id.as_str()).after(snapshot::role(role))
    } else {
        tracing::info!(user.id = %user.id, organization.id = %organization, "a membership has ended: {why}");
        users::leave(tx, &user.id, organization, command.now).await?;
        user.memberships.retain(|one| one.organization_id != *organization);
        AuditedChange::new("member.remove", Some(organization), user.id.as_str())
    };
    let change = change.before(snapshot::role(role)).detail(why.to_owned());
    Ok(command.record(tx, user, change).await?)
}

/// Applies the role of the groups; without one, the membership ends. The last administrator stays one.
async fn follow_groups(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    mut user: User,
    organization: &OrganizationId,
    role: Option<Role>,
) -> Result<User, CommandError> {
    let current = user.role_in(organization);
    if current == role {
        return Ok(user);
    }
    let Some(role) = role else {
        end_membership(command, tx, &mut user, organization, "no group at the provider gives access").await?;
        return Ok(user);
    };
    if current == Some(Role::Admin) {
        users::lock_role(tx, &user.id, organization).await?;
        match users::check_other_admin(tx, &user.id, organization).await {
            Err(StoreError::Conflict(Conflict::LastAdmin)) => return Ok(user),
            checked => checked?,
        }
    }
    let joined = Membership { organization_id: organization.clone(), role, proven: true };
    users::join(tx, &user.id, &joined, command.now).await?;
    user.memberships.retain(|one| one.organization_id != *organization);
    user.memberships.push(joined);
    let change = AuditedChange::new("member.set-role", Some(organization), user.id.as_str())
        .before(current.map_or(Value::Null, snapshot::role))
        .after(snapshot::role(role));
    command.record(tx, &user, change).await?;
    Ok(user)
}

async fn create(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    email: Email,
    organization: &OrganizationId,
    role: Role,
) -> Result<User, CommandError> {
    let user = User {
        id: UserId::new(command.now, entropy::for_id()),
        email,
        email_proven: true,
        operator: false,
        created_at: command.now,
        memberships: vec![Membership { organization_id: organization.clone(), role, proven: true }],
    };
    users::insert(tx, &user, None).await?;
    let change = AuditedChange::new("user.create", Some(organization), user.id.as_str()).after(snapshot::user(&user));
    command.record(tx, &user, change).await?;
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
