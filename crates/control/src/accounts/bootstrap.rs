//! First start on an empty store: creates a user to sign in with and a key to call with.

use crate::command::{AuditedChange, Author, Command};
use crate::command_error::CommandError;
use crate::keys::{self, KeyRequest};
use crate::{entropy, passwords};
use domain::key::NewKey;
use domain::user::{Email, Membership, Role};
use domain::workspace::Limits;
use domain::{ApiKey, Organization, OrganizationId, Timestamp, User, UserId, Workspace, WorkspaceId};
use store::{Store, organizations, users, workspaces};

const NAME: &str = "Default";
const EMAIL: &str = "admin@localhost";
const KEY_NAME: &str = "bootstrap";

/// The created records, with the two secrets that are shown once.
pub struct FirstStart {
    pub organization: Organization,
    pub workspace: Workspace,
    /// Administrator of the organization and operator of the platform.
    pub user: User,
    pub password: String,
    pub key: ApiKey,
    pub key_text: NewKey,
}

/// Fills an empty store; returns `None` if it is not empty. Of several nodes that start at once, exactly one gets `Some`.
pub async fn first_start(store: &Store, defaults: &Limits, now: Timestamp) -> Result<Option<FirstStart>, CommandError> {
    if !organizations::store_is_empty(store).await? {
        return Ok(None);
    }
    let password = entropy::password();
    let password_hash = passwords::hash(&password).await?;
    let organization = Organization::new(OrganizationId::new(now, entropy::for_id()), NAME, now);
    let workspace = Workspace::new(WorkspaceId::new(now, entropy::for_id()), organization.id.clone(), NAME, now);
    let user = User {
        id: UserId::new(now, entropy::for_id()),
        email: Email::parse(EMAIL)?,
        email_proven: true,
        operator: true,
        created_at: now,
        memberships: vec![Membership { organization_id: organization.id.clone(), role: Role::Admin, proven: true }],
    };

    let mut tx = store.begin().await?;
    if !organizations::claim_empty_store(&mut tx).await? {
        return Ok(None);
    }
    organizations::insert(&mut tx, &organization).await?;
    workspaces::insert(&mut tx, &workspace).await?;
    users::insert(&mut tx, &user, Some(&password_hash)).await?;
    workspaces::add_member(&mut tx, &workspace.id, &user.id, now).await?;
    let command = Command { store, author: &Author::FirstStart, now };
    let request = KeyRequest { name: KEY_NAME, ..KeyRequest::default() };
    let created = keys::create_in(command, &mut tx, &workspace, request, defaults).await?;
    let change = AuditedChange::new("platform.first-start", Some(&organization.id), organization.id.as_str());
    command.record(&mut tx, change.detail(EMAIL.to_owned())).await?;
    tx.commit().await?;
    Ok(Some(FirstStart { organization, workspace, user, password, key: created.key, key_text: created.text }))
}
