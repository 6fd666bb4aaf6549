//! Commands on sessions.

use crate::command::{AuditedChange, Author, Command};
use crate::command_error::CommandError;
use crate::{access, entropy, passwords, sign_in, snapshot};
use domain::attempts::PASSWORD_CHANGES;
use domain::session::{BrowserToken, Lifetimes, SessionToken};
use domain::{OrganizationId, Session, SessionId, Timestamp, User, WorkspaceId};
use serde_json::Value;
use store::{Page, Store, StoreError, Tx, attempts, organizations, sessions, users};

/// Precision of the recorded last use of a session.
const TOUCH_MILLIS: i64 = 60_000;
const MAX_USER_AGENT: usize = 200;

/// The origin of a request.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    pub address: String,
    pub user_agent: String,
    /// The browser, if a sign-in gave it a token.
    pub browser: Option<BrowserToken>,
}

impl Origin {
    /// Removes control characters from the user agent and truncates it.
    pub fn new(address: String, user_agent: &str, browser: Option<BrowserToken>) -> Self {
        let readable = user_agent.chars().filter(|letter| !letter.is_control());
        Self { address, user_agent: readable.take(MAX_USER_AGENT).collect(), browser }
    }
}

/// A command of a user on sessions: the store, the origin and time of the request, and how long sessions live.
#[derive(Debug, Clone, Copy)]
pub struct SessionCommand<'a> {
    pub store: &'a Store,
    pub origin: &'a Origin,
    pub lifetimes: &'a Lifetimes,
    pub now: Timestamp,
}

impl SessionCommand<'_> {
    /// Records a change that the user makes.
    pub(crate) async fn record(&self, tx: &mut Tx, user: &User, change: AuditedChange<'_>) -> Result<(), StoreError> {
        let author = Author::User { id: user.id.clone(), address: self.origin.address.clone() };
        Command { store: self.store, author: &author, now: self.now }.record(tx, change).await
    }
}

/// A session with its user and token.
#[derive(Debug, Clone)]
pub struct ActiveSession {
    pub token: SessionToken,
    pub session: Session,
    pub user: User,
}

impl ActiveSession {
    /// The author of changes made in this session.
    pub fn author(&self, origin: &Origin) -> Author {
        Author::User { id: self.user.id.clone(), address: origin.address.clone() }
    }
}

/// The session of a token; `None` if it has ended.
pub async fn identify(
    store: &Store,
    token: SessionToken,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Result<Option<ActiveSession>, CommandError> {
    let found = sessions::by_token(store, token.hash()).await?;
    let Some(session) = found.filter(|session| session.is_alive(lifetimes, now)) else { return Ok(None) };
    let Some(user) = users::by_id(store, &session.user).await? else { return Ok(None) };
    let touch_after = TOUCH_MILLIS.min(lifetimes.idle_millis / 4);
    if now.millis_since(session.seen_at) > touch_after.unsigned_abs()
        && let Err(error) = touch(store, &session, now).await
    {
        tracing::debug!(%error, "cannot record the last use of a session");
    }
    Ok(Some(ActiveSession { token, session, user }))
}

async fn touch(store: &Store, session: &Session, now: Timestamp) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    sessions::touch(&mut tx, &session.id, now).await?;
    tx.commit().await
}

/// The initial context of a session: the user's first organization and its first workspace.
pub(crate) async fn first_context(
    store: &Store,
    user: &User,
) -> Result<(Option<OrganizationId>, Option<WorkspaceId>), CommandError> {
    let Some(membership) = user.memberships.first() else { return Ok((None, None)) };
    let organization = &membership.organization_id;
    let mut first = access::workspaces(store, user, organization, Page::first(1)).await?;
    Ok((Some(organization.clone()), first.pop().map(|workspace| workspace.id)))
}

/// Starts a session within the transaction of the sign-in.
pub(crate) async fn start(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    user: User,
    context: (Option<OrganizationId>, Option<WorkspaceId>),
) -> Result<ActiveSession, CommandError> {
    let SessionCommand { origin, lifetimes, now, .. } = command;
    let token = entropy::session_token();
    let session = Session {
        id: SessionId::new(now, entropy::for_id()),
        user: user.id.clone(),
        organization: context.0,
        workspace: context.1,
        created_at: now,
        seen_at: now,
        address: origin.address.clone(),
        user_agent: origin.user_agent.clone(),
    };
    sessions::insert(tx, &session, token.hash(), lifetimes).await?;
    let signed = ActiveSession { token, session, user };
    record(command, tx, &signed, "session.create", (Value::Null, snapshot::session(&signed.session))).await?;
    Ok(signed)
}

/// Selects the first workspace for a new session that has none.
pub(crate) async fn settle_in(store: &Store, mut signed: ActiveSession) -> Result<ActiveSession, CommandError> {
    let (organization, workspace) = first_context(store, &signed.user).await?;
    let mut tx = store.begin().await?;
    sessions::set_context(&mut tx, &signed.session.id, organization.as_ref(), workspace.as_ref()).await?;
    tx.commit().await?;
    (signed.session.organization, signed.session.workspace) = (organization, workspace);
    Ok(signed)
}

/// Ends the session.
pub async fn sign_out(command: SessionCommand<'_>, signed: &ActiveSession) -> Result<(), CommandError> {
    end(command, signed, &signed.session.id).await
}

/// The user's active sessions, newest first.
pub async fn list(
    store: &Store,
    user: &User,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Result<Vec<Session>, CommandError> {
    let mut all = sessions::list(store, &user.id).await?;
    all.retain(|session| session.is_alive(lifetimes, now));
    Ok(all)
}

/// Ends one of the user's own sessions.
pub async fn end(command: SessionCommand<'_>, signed: &ActiveSession, id: &SessionId) -> Result<(), CommandError> {
    let mut tx = command.store.begin().await?;
    sessions::end(&mut tx, &signed.user.id, id).await?;
    let before = serde_json::json!({ "sessionId": id });
    record(command, &mut tx, signed, "session.end", (before, Value::Null)).await?;
    Ok(tx.commit().await?)
}

/// Selects another organization and workspace for the session, or none.
pub async fn set_context(
    command: SessionCommand<'_>,
    signed: ActiveSession,
    organization: Option<OrganizationId>,
    workspace: Option<WorkspaceId>,
) -> Result<ActiveSession, CommandError> {
    let store = command.store;
    if let Some(organization) = &organization {
        let missing = || CommandError::missing("organization", organization.as_str());
        signed.user.effective_role_in(organization).ok_or_else(missing)?;
        organizations::by_id(store, organization).await?.ok_or_else(missing)?;
    }
    match (&organization, &workspace) {
        (Some(organization), Some(workspace)) => {
            access::workspace(store, &signed.user, organization, workspace).await?;
        }
        (None, Some(_)) => {
            return Err(CommandError::BadValue {
                field: "workspaceId",
                why: "a workspace can be selected only with its organization",
            });
        }
        (_, None) => {}
    }
    let before = snapshot::context(&signed.session);
    let session = Session { organization, workspace, ..signed.session };
    let signed = ActiveSession { session, ..signed };
    let mut tx = store.begin().await?;
    let (organization, workspace) = (signed.session.organization.as_ref(), signed.session.workspace.as_ref());
    sessions::set_context(&mut tx, &signed.session.id, organization, workspace).await?;
    let change = (before, snapshot::context(&signed.session));
    record(command, &mut tx, &signed, "session.set-context", change).await?;
    tx.commit().await?;
    Ok(signed)
}

/// Changes the user's own password and ends all other sessions. A few times an hour: each change costs two hashes.
pub async fn change_password(
    command: SessionCommand<'_>,
    signed: &ActiveSession,
    current: &str,
    new: &str,
) -> Result<(), CommandError> {
    let new = passwords::check(new).map_err(|_| CommandError::BadValue {
        field: "newPassword",
        why: "a password must have 8 to 1024 characters",
    })?;
    let subject = format!("password of {}", signed.user.id);
    let mut tx = command.store.begin().await?;
    attempts::take(&mut tx, &subject, &PASSWORD_CHANGES, command.now)
        .await
        .map_err(|error| sign_in::too_many_attempts(error, command.now))?;
    tx.commit().await?;
    if let Err(error) = sign_in::check_user(command, &signed.user, current).await {
        // Wrong passwords have a limit of their own.
        let mut tx = command.store.begin().await?;
        attempts::give_back(&mut tx, &subject).await?;
        tx.commit().await?;
        return Err(match error {
            CommandError::BadCredentials => {
                CommandError::BadValue { field: "currentPassword", why: "this is not your password" }
            }
            other => other,
        });
    }
    let hash = passwords::hash(new).await?;
    let mut tx = command.store.begin().await?;
    users::set_password(&mut tx, &signed.user.id, &hash, command.now).await?;
    sessions::end_all_of(&mut tx, &signed.user.id, Some(&signed.session.id)).await?;
    record(command, &mut tx, signed, "user.change-password", (Value::Null, Value::Null)).await?;
    Ok(tx.commit().await?)
}

/// Records an action on the user's own session in the audit log of its selected organization.
async fn record(
    command: SessionCommand<'_>,
    tx: &mut Tx,
    signed: &ActiveSession,
    action: &'static str,
    (before, after): (Value, Value),
) -> Result<(), StoreError> {
    let organization = signed.session.organization.as_ref();
    let change = AuditedChange::new(action, organization, signed.user.id.as_str()).before(before).after(after);
    command.record(tx, &signed.user, change).await
}
