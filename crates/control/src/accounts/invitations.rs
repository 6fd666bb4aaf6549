//! Commands on invitations, which add a user to an organization by a link.

use crate::command::{AuditedChange, Command};
use crate::command_error::CommandError;
use crate::sessions::{self, ActiveSession, SessionCommand};
use crate::workspaces::lock_joined;
use crate::{entropy, passwords, sign_in, snapshot};
use domain::invitation::LIFETIME_MILLIS;
use domain::user::{Email, Membership, Role};
use domain::{
    Invitation, InvitationId, Organization, OrganizationId, SecretHash, SessionId, Timestamp, User, UserId, WorkspaceId,
};
use store::users::Credentials;
use store::{Conflict, Page, Store, Tx, invitations, organizations, users, workspaces};

/// The settings of a new invitation.
pub struct InvitationRequest<'a> {
    pub email: &'a str,
    pub role: Role,
    pub workspaces: Vec<WorkspaceId>,
}

/// A new invitation, and the token of its link, which is shown once.
pub struct CreatedInvitation {
    pub invitation: Invitation,
    pub token: String,
}

/// The details of an invitation that its link shows before it is accepted.
pub struct Preview {
    pub invitation: Invitation,
    pub organization: Organization,
    /// Whether the address already has an account, whose password is then required.
    pub account_exists: bool,
    /// Whether that account is proven to belong to the owner of the address. If not, a new one can be created beside it.
    pub account_proven: bool,
}

/// Who accepts an invitation.
#[derive(Clone, Copy)]
pub enum AcceptedBy<'a> {
    /// The account with the address, if there is one; otherwise a new one.
    Account { password: Option<&'a str>, signed_in: Option<&'a ActiveSession> },
    /// A new account, although others have the address: it is not proven that they belong to its owner.
    NewAccount { password: Option<&'a str> },
}

/// Creates an invitation.
pub async fn create(
    command: Command<'_>,
    organization: &OrganizationId,
    request: InvitationRequest<'_>,
) -> Result<CreatedInvitation, CommandError> {
    // Administrators belong to all workspaces. A member without one could do nothing.
    if request.role == Role::Member && request.workspaces.is_empty() {
        return Err(CommandError::BadValue {
            field: "workspaceIds",
            why: "a member belongs to at least one workspace",
        });
    }
    let token = entropy::token();
    let invitation = Invitation {
        id: InvitationId::new(command.now, entropy::for_id()),
        organization: organization.clone(),
        email: Email::parse(request.email)?,
        role: request.role,
        workspaces: request.workspaces,
        created_at: command.now,
        created_by: command.author.user().cloned(),
        expires_at: command.now.plus_millis(LIFETIME_MILLIS),
        accepted_at: None,
    };
    let mut tx = command.store.begin().await?;
    lock_joined(&mut tx, organization, &invitation.workspaces).await?;
    invitations::insert(&mut tx, &invitation, SecretHash::of(&token)).await?;
    let change = AuditedChange::new("invitation.create", Some(organization), invitation.id.as_str())
        .after(snapshot::invitation(&invitation));
    command.record(&mut tx, change).await?;
    tx.commit().await?;
    Ok(CreatedInvitation { invitation, token })
}

/// Invitations that were not accepted yet.
pub async fn list(
    store: &Store,
    organization: &OrganizationId,
    page: Page<'_>,
) -> Result<Vec<Invitation>, CommandError> {
    Ok(invitations::list(store, organization, page).await?)
}

/// Deletes an invitation, which invalidates its link.
pub async fn delete(
    command: Command<'_>,
    organization: &OrganizationId,
    id: &InvitationId,
) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    let gone = invitations::delete(&mut tx, organization, id).await?;
    let change =
        AuditedChange::new("invitation.delete", Some(organization), id.as_str()).before(snapshot::invitation(&gone));
    command.record(&mut tx, change).await?;
    Ok(tx.commit().await?)
}

/// Shows an open invitation to the holder of its link.
pub async fn preview(store: &Store, token: &str, now: Timestamp) -> Result<Preview, CommandError> {
    let invitation = open(store, token, now).await?;
    let organization = organizations::by_id(store, &invitation.organization).await?.ok_or_else(gone)?;
    let accounts = users::by_email(store, &invitation.email).await?;
    let (account_exists, account_proven) = (!accounts.is_empty(), accounts.iter().any(|one| one.email_proven));
    Ok(Preview { invitation, organization, account_exists, account_proven })
}

/// Accepts an invitation and signs the user in. An existing account joins the organization; its password is required
/// unless `signed_in` is that account. Otherwise a new account is created with this password.
pub async fn accept(
    command: SessionCommand<'_>,
    token: &str,
    by: AcceptedBy<'_>,
) -> Result<ActiveSession, CommandError> {
    let SessionCommand { store, now, .. } = command;
    let invitation = open(store, token, now).await?;
    let entrant = identify(command, &invitation.email, by).await?;
    let mut tx = store.begin().await?;
    invitations::accept(&mut tx, &invitation.id, now).await?;
    let user = let_in(&mut tx, &invitation, entrant, now).await?;
    let change = AuditedChange::new("invitation.accept", Some(&invitation.organization), invitation.id.as_str())
        .before(snapshot::invitation(&invitation))
        .after(snapshot::user(&user));
    command.record(&mut tx, &user, change).await?;
    let context = (Some(invitation.organization.clone()), invitation.workspaces.first().cloned());
    let signed = sessions::start(command, &mut tx, user, context).await?;
    tx.commit().await?;
    Ok(signed)
}

enum Entrant {
    /// With what identified the user, which must still be valid when the invitation is accepted.
    Known(User, Identified),
    /// With the hash of the chosen password.
    New(String),
    /// Beside accounts with the same address that are not proven.
    Beside(String),
}

enum Identified {
    ByPassword(Credentials),
    BySession(SessionId),
}

/// Finds out who accepts an invitation for this address.
async fn identify(command: SessionCommand<'_>, email: &Email, by: AcceptedBy<'_>) -> Result<Entrant, CommandError> {
    let accounts = users::credentials(command.store, email).await?;
    let (AcceptedBy::Account { password, .. } | AcceptedBy::NewAccount { password }) = by;
    let chosen = || password.ok_or(CommandError::BadValue { field: "password", why: "a password is required" });
    let (id, identified) = match by {
        AcceptedBy::Account { signed_in, .. } if !accounts.is_empty() => {
            match signed_in.filter(|signed| accounts.iter().any(|one| one.user == signed.user.id)) {
                Some(signed) => (signed.user.id.clone(), Identified::BySession(signed.session.id.clone())),
                None => {
                    let checked = sign_in::check(command, email, chosen()?).await?;
                    (checked.user.clone(), Identified::ByPassword(checked))
                }
            }
        }
        AcceptedBy::Account { .. } => return Ok(Entrant::New(passwords::hash(passwords::check(chosen()?)?).await?)),
        AcceptedBy::NewAccount { .. } => {
            return Ok(Entrant::Beside(passwords::hash(passwords::check(chosen()?)?).await?));
        }
    };
    Ok(Entrant::Known(users::by_id(command.store, &id).await?.ok_or_else(gone)?, identified))
}

/// Adds the memberships. An invitation never lowers an existing role. Locks are taken in the global order: workspaces,
/// organization, user.
async fn let_in(tx: &mut Tx, invitation: &Invitation, entrant: Entrant, now: Timestamp) -> Result<User, CommandError> {
    for workspace in &invitation.workspaces {
        workspaces::lock(tx, workspace).await?;
    }
    let organization = &invitation.organization;
    organizations::lock(tx, organization).await?;
    let joined = |proven| Membership { organization_id: organization.clone(), role: invitation.role, proven };
    let user = match entrant {
        Entrant::New(hash) => {
            let user = new_user(invitation, joined(false), now);
            users::insert(tx, &user, Some(&hash)).await?;
            user
        }
        Entrant::Beside(hash) => {
            // Otherwise one organization could use up the number of accounts that an address can have.
            if users::has_member_with(tx, organization, &invitation.email).await? {
                return Err(Conflict::EmailTaken.into());
            }
            let user = new_user(invitation, joined(false), now);
            users::insert_beside(tx, &user, &hash).await?;
            user
        }
        Entrant::Known(mut user, identified) => {
            let is_valid = match &identified {
                Identified::ByPassword(checked) => users::lock_unchanged(tx, checked).await?,
                Identified::BySession(session) => store::sessions::lock(tx, session).await?,
            };
            // The owner of the address may have taken over the account meanwhile.
            if !is_valid {
                return Err(CommandError::BadCredentials);
            }
            if user.role_in(organization) != Some(Role::Admin) {
                let joined = joined(user.email_proven);
                users::join(tx, &user.id, &joined, now).await?;
                user.memberships.retain(|one| one.organization_id != *organization);
                user.memberships.push(joined);
            }
            user
        }
    };
    for workspace in &invitation.workspaces {
        workspaces::add_member(tx, workspace, &user.id, now).await?;
    }
    Ok(user)
}

fn new_user(invitation: &Invitation, membership: Membership, now: Timestamp) -> User {
    User {
        id: UserId::new(now, entropy::for_id()),
        email: invitation.email.clone(),
        email_proven: false,
        operator: false,
        created_at: now,
        memberships: vec![membership],
    }
}

/// A used, revoked or expired link is treated as missing.
async fn open(store: &Store, token: &str, now: Timestamp) -> Result<Invitation, CommandError> {
    let found = invitations::by_token(store, SecretHash::of(token)).await?;
    found.filter(|invitation| invitation.is_open(now)).ok_or_else(gone)
}

fn gone() -> CommandError {
    CommandError::missing("invitation", "of this link")
}
