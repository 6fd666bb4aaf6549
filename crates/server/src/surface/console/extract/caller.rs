//! Callers by role. Each role is a type, so that a handler's signature shows who may call it.
//!
//! Handlers reach the store through their caller, so that a route cannot forget to check who calls it. The order of
//! checks is always the same: session, CSRF token, organization, existence, membership, role.

use super::path::{self, Id};
use crate::credential::session_cookie;
use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::error::SurfaceError;
use crate::surface_context::SurfaceContext;
use axum::extract::FromRequestParts;
use control::sessions::{ActiveSession, Origin, SessionCommand};
use control::{Author, Command, access};
use domain::user::Role;
use domain::{OrganizationId, Timestamp, Workspace, WorkspaceId};
use http::request::Parts;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use store::Store;

/// The origin and time of a request. An extension of the request.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub client: IpAddr,
    pub origin: Origin,
    pub now: Timestamp,
}

impl RequestContext {
    /// A command on sessions.
    pub(crate) fn session_command<'a>(&'a self, context: &'a SurfaceContext) -> SessionCommand<'a> {
        SessionCommand { store: &context.store, origin: &self.origin, lifetimes: &context.lifetimes, now: self.now }
    }
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ConsoleError> {
        parts.extensions.get::<Self>().cloned().ok_or(ConsoleError::INTERNAL)
    }
}

/// A signed-in user. Changes carry a valid CSRF token.
pub(crate) struct Caller {
    pub context: Arc<SurfaceContext>,
    pub signed: ActiveSession,
    pub request: RequestContext,
    pub author: Author,
}

impl Caller {
    pub(crate) fn store(&self) -> &Store {
        &self.context.store
    }

    /// A change that the user makes.
    pub(crate) fn command(&self) -> Command<'_> {
        Command { store: self.store(), author: &self.author, now: self.now() }
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.request.now
    }
}

impl FromRequestParts<Console> for Caller {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let request = RequestContext::from_request_parts(parts, console).await?;
        let signed = session(parts, console, &request).await?.ok_or(ConsoleError::NotSignedIn)?;
        if !session_cookie::is_csrf_safe(&parts.method, &parts.headers, &signed.token) {
            return Err(ConsoleError::CsrfFailed);
        }
        let author = signed.author(&request.origin);
        Ok(Self { context: Arc::clone(&console.context), signed, request, author })
    }
}

/// A signed-in user at a route about their own sessions and password.
pub(crate) struct SessionOwner(pub Caller);

impl FromRequestParts<Console> for SessionOwner {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let caller = Caller::from_request_parts(parts, console).await?;
        if !parts.method.is_safe() {
            caller.context.throttles.count_own_change(&caller.signed.user.id).map_err(SurfaceError::from)?;
        }
        Ok(Self(caller))
    }
}

/// A user who may be signed in, at a route that gets its credentials from the body.
pub(crate) struct Visitor {
    pub signed: Option<ActiveSession>,
    pub request: RequestContext,
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let request = RequestContext::from_request_parts(parts, console).await?;
        let signed = session(parts, console, &request).await?;
        Ok(Self { signed, request })
    }
}

/// The session of a request: an extension if it was needed to read the body.
async fn session(
    parts: &mut Parts,
    console: &Console,
    request: &RequestContext,
) -> Result<Option<ActiveSession>, ConsoleError> {
    if let Some(known) = parts.extensions.remove::<ActiveSession>() {
        return Ok(Some(known));
    }
    match session_cookie::read(&parts.headers, console.context.is_https()) {
        Some(token) => Ok(console.context.identify(token, request.client, request.now).await?),
        None => Ok(None),
    }
}

/// The operator of the platform.
pub(crate) struct Operator(pub Caller);

impl FromRequestParts<Console> for Operator {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let caller = Caller::from_request_parts(parts, console).await?;
        if caller.signed.user.operator { Ok(Self(caller)) } else { Err(ConsoleError::OperatorOnly) }
    }
}

/// A member of the current organization. If the path names an organization, it must be this one.
pub(crate) struct Member {
    pub caller: Caller,
    pub organization: OrganizationId,
    pub role: Role,
}

impl Deref for Member {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl FromRequestParts<Console> for Member {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let caller = Caller::from_request_parts(parts, console).await?;
        let (organization, role) = access::organization(&caller.signed)?;
        let organization = organization.clone();
        if let Some(named) = path::param(parts, console, "organizationId").await
            && named != organization.as_str()
        {
            return Err(ConsoleError::NotFound);
        }
        if !parts.method.is_safe() {
            caller.context.throttles.count_change(&organization).map_err(SurfaceError::from)?;
        }
        Ok(Self { caller, organization, role })
    }
}

impl Member {
    fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }

    /// Whether the user is the operator, who may raise limits.
    pub(crate) fn is_operator(&self) -> bool {
        self.signed.user.operator
    }
}

/// An administrator of the current organization.
pub(crate) struct Admin(pub Member);

impl FromRequestParts<Console> for Admin {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let member = Member::from_request_parts(parts, console).await?;
        if member.is_admin() { Ok(Self(member)) } else { Err(ConsoleError::AdminOnly) }
    }
}

/// A member of the workspace in the path.
pub(crate) struct WorkspaceCaller {
    pub member: Member,
    pub workspace: Workspace,
}

impl Deref for WorkspaceCaller {
    type Target = Member;

    fn deref(&self) -> &Member {
        &self.member
    }
}

impl FromRequestParts<Console> for WorkspaceCaller {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let member = Member::from_request_parts(parts, console).await?;
        let Id(id) = Id::<WorkspaceId>::from_request_parts(parts, console).await?;
        let workspace = access::workspace(member.store(), &member.signed.user, &member.organization, &id).await?;
        Ok(Self { member, workspace })
    }
}

impl WorkspaceCaller {
    /// Allows members to change their own records, and administrators all.
    pub(crate) fn owns_or_administers(&self, owner: Option<&domain::UserId>) -> Result<(), ConsoleError> {
        if self.is_admin() || owner == Some(&self.signed.user.id) {
            return Ok(());
        }
        Err(ConsoleError::AdminOnly)
    }
}

/// An administrator of the workspace in the path.
pub(crate) struct WorkspaceAdmin(pub WorkspaceCaller);

impl FromRequestParts<Console> for WorkspaceAdmin {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let found = WorkspaceCaller::from_request_parts(parts, console).await?;
        if found.is_admin() { Ok(Self(found)) } else { Err(ConsoleError::AdminOnly) }
    }
}
