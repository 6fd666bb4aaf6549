//! Commands on users.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::{entropy, passwords, snapshot, workspaces};
use domain::user::{Email, Membership, Role};
use domain::{OrganizationId, User, UserId, WorkspaceId};
use serde_json::{Value, json};
use store::users::UserColumn;
use store::{Listing, Store, known_origins, sessions, users};

/// The settings of a new user.
#[derive(Debug, Clone, Copy)]
pub struct NewUser<'a> {
    pub email: &'a str,
    /// `None`: a generated password is returned once.
    pub password: Option<&'a str>,
    pub organization: &'a OrganizationId,
    pub role: Role,
    /// Workspaces of the organization that the user is put into. A member without one can do nothing yet.
    pub workspaces: &'a [WorkspaceId],
    pub operator: bool,
}

/// The fields to change; `None` keeps the value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit<'a> {
    /// A role in an organization; adds the membership if there is none.
    pub role: Option<(&'a OrganizationId, Role)>,
    pub operator: Option<bool>,
    /// Whether the operator vouches that the address belongs to the user.
    pub email_proven: Option<bool>,
}

/// A new user, and the password if it was generated.
#[derive(Debug)]
pub struct CreatedUser {
    pub user: User,
    pub generated_password: Option<String>,
}

/// Creates a user with a membership in one organization.
pub async fn create(command: Command<'_>, new: NewUser<'_>) -> Result<CreatedUser, CommandError> {
    let email = Email::parse(new.email)?;
    let generated_password = new.password.is_none().then(entropy::password);
    let password = generated_password.as_deref().or(new.password).unwrap_or_default();
    let password_hash = passwords::hash(passwords::check(password)?).await?;
    let user = User {
        id: UserId::new(command.now, entropy::for_id()),
        email,
        email_proven: true,
        operator: new.operator,
        created_at: command.now,
        memberships: vec![Membership { organization_id: new.organization.clone(), role: new.role, proven: true }],
    };
    let mut tx = command.store.begin().await?;
    workspaces::lock_joined(&mut tx, new.organization, new.workspaces).await?;
    users::insert(&mut tx, &user, Some(&password_hash)).await?;
    let change =
        AuditedChange::new("user.create", Some(new.organization), user.id.as_str()).after(snapshot::user(&user));
    command.record(&mut tx, change).await?;
    for workspace in new.workspaces {
        workspaces::add_member_in(command, &mut tx, new.organization, workspace, &user.id).await?;
    }
    tx.commit().await?;
    Ok(CreatedUser { user, generated_password })
}

/// All users.
pub async fn list(store: &Store, listing: impl Into<Listing<'_, UserColumn>>) -> Result<Vec<User>, CommandError> {
    Ok(users::list(store, listing).await?)
}

/// The number of users that [`list`] has on all its pages.
pub async fn count(store: &Store, listing: Listing<'_, UserColumn>) -> Result<u64, CommandError> {
    Ok(users::count(store, listing).await?)
}

/// A user by id.
pub async fn show(store: &Store, id: &UserId) -> Result<User, CommandError> {
    users::by_id(store, id).await?.ok_or_else(|| CommandError::missing("user", id.as_str()))
}

/// A user by e-mail address.
pub async fn show_by_email(store: &Store, email: &str) -> Result<User, CommandError> {
    let email = Email::parse(email)?;
    let mut found = users::by_email(store, &email).await?;
    if found.len() > 1 && !found[0].email_proven {
        return Err(CommandError::BadValue { field: "email", why: "several accounts have this address; use the id" });
    }
    found.truncate(1);
    found.pop().ok_or_else(|| CommandError::missing("user", email.as_str()))
}

/// Changes roles of a user.
pub async fn set(command: Command<'_>, id: &UserId, edit: Edit<'_>) -> Result<User, CommandError> {
    let current = show(command.store, id).await?;
    let mut tx = command.store.begin().await?;
    if let Some((organization, role)) = edit.role {
        let membership = Membership { organization_id: organization.clone(), role, proven: true };
        users::join(&mut tx, id, &membership, command.now).await?;
        let change = AuditedChange::new("user.set-role", Some(organization), id.as_str())
            .before(current.role_in(organization).map_or(Value::Null, snapshot::role))
            .after(snapshot::role(role));
        command.record(&mut tx, change).await?;
    }
    if let Some(operator) = edit.operator {
        users::set_operator(&mut tx, id, operator, command.now).await?;
        let change = AuditedChange::new("user.set-operator", None, id.as_str())
            .before(json!({ "operator": current.operator }))
            .after(json!({ "operator": operator }));
        command.record(&mut tx, change).await?;
    }
    if let Some(proven) = edit.email_proven {
        users::set_email_proven(&mut tx, id, proven, command.now).await?;
        let change = AuditedChange::new("user.set-email-proven", None, id.as_str())
            .before(json!({ "emailProven": current.email_proven }))
            .after(json!({ "emailProven": proven }));
        command.record(&mut tx, change).await?;
    }
    tx.commit().await?;
    show(command.store, id).await
}

/// Removes the user from an organization and its workspaces.
pub async fn leave(command: Command<'_>, id: &UserId, organization: &OrganizationId) -> Result<(), CommandError> {
    let current = show(command.store, id).await?;
    let mut tx = command.store.begin().await?;
    users::leave(&mut tx, id, organization, command.now).await?;
    let change = AuditedChange::new("user.leave", Some(organization), id.as_str())
        .before(current.role_in(organization).map_or(Value::Null, snapshot::role));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Sets a new password and ends all sessions. Returns the password if it was generated. The operator, who hands it to
/// the user, thereby vouches for the address.
pub async fn reset_password(
    command: Command<'_>,
    id: &UserId,
    password: Option<&str>,
) -> Result<Option<String>, CommandError> {
    let generated = password.is_none().then(entropy::password);
    let chosen = generated.as_deref().or(password).unwrap_or_default();
    let password_hash = passwords::hash(passwords::check(chosen)?).await?;
    let mut tx = command.store.begin().await?;
    users::set_password(&mut tx, id, &password_hash, command.now).await?;
    users::set_email_proven(&mut tx, id, true, command.now).await?;
    sessions::end_all_of(&mut tx, id, None).await?;
    known_origins::forget_all_of(&mut tx, id).await?;
    command.record(&mut tx, AuditedChange::new("user.reset-password", None, id.as_str())).await?;
    tx.commit().await?;
    Ok(generated)
}

/// Deletes a user.
pub async fn delete(command: Command<'_>, id: &UserId) -> Result<(), CommandError> {
    let current = show(command.store, id).await?;
    let mut tx = command.store.begin().await?;
    users::delete(&mut tx, id, command.now).await?;
    let change = AuditedChange::new("user.delete", None, id.as_str()).before(snapshot::user(&current));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}
