//! Who asks, and what they are there: each is a type, so that a handler's signature tells who may call it.
//!
//! The order of checks is everywhere the same: signed in, CSRF token, organization, what is named exists, member, role.

use super::path::{self, Id};
use crate::edge::session_cookie;
use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use axum::extract::FromRequestParts;
use control::sessions::{ActiveSession, Origin};
use control::{Author, access};
use domain::user::Role;
use domain::{OrganizationId, Timestamp, Workspace, WorkspaceId};
use http::request::Parts;

/// What the edge knows of a request.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub origin: Origin,
    pub now: Timestamp,
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ConsoleError> {
        parts.extensions.get::<Self>().cloned().ok_or(ConsoleError::INTERNAL)
    }
}

/// Somebody who is signed in; what they change, they mean to.
pub(crate) struct Caller {
    pub signed: ActiveSession,
    pub request: RequestContext,
}

impl Caller {
    pub(crate) fn author(&self) -> Author {
        self.signed.author(&self.request.origin)
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.request.now
    }
}

impl FromRequestParts<Console> for Caller {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let request = RequestContext::from_request_parts(parts, console).await?;
        let token = session_cookie::read(&parts.headers).ok_or(ConsoleError::NotSignedIn)?;
        let signed = console.context.identify(token, request.now).await?.ok_or(ConsoleError::NotSignedIn)?;
        if !session_cookie::is_meant(&parts.method, &parts.headers, &signed.token) {
            return Err(ConsoleError::CsrfFailed);
        }
        Ok(Self { signed, request })
    }
}

/// Somebody who may be signed in, at a route that takes what it needs from its body.
pub(crate) struct Visitor {
    pub signed: Option<ActiveSession>,
    pub request: RequestContext,
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let request = RequestContext::from_request_parts(parts, console).await?;
        let signed = match session_cookie::read(&parts.headers) {
            Some(token) => console.context.identify(token, request.now).await?,
            None => None,
        };
        Ok(Self { signed, request })
    }
}

/// Who runs the platform.
pub(crate) struct Operator(pub Caller);

impl FromRequestParts<Console> for Operator {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let caller = Caller::from_request_parts(parts, console).await?;
        if caller.signed.user.operator { Ok(Self(caller)) } else { Err(ConsoleError::OperatorOnly) }
    }
}

/// Somebody in the organization that the session acts in, which is also the one that the path names, if any.
pub(crate) struct Member {
    pub caller: Caller,
    pub organization: OrganizationId,
    pub role: Role,
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
        Ok(Self { caller, organization, role })
    }
}

impl Member {
    fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }

    /// Whether the operator speaks, whose word on limits is the last.
    pub(crate) fn is_operator(&self) -> bool {
        self.caller.signed.user.operator
    }
}

/// An administrator of that organization.
pub(crate) struct Admin(pub Member);

impl FromRequestParts<Console> for Admin {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let member = Member::from_request_parts(parts, console).await?;
        if member.is_admin() { Ok(Self(member)) } else { Err(ConsoleError::AdminOnly) }
    }
}

/// Somebody in the workspace that the path names.
pub(crate) struct WorkspaceCaller {
    pub member: Member,
    pub workspace: Workspace,
}

impl FromRequestParts<Console> for WorkspaceCaller {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let member = Member::from_request_parts(parts, console).await?;
        let Id(id) = Id::<WorkspaceId>::from_request_parts(parts, console).await?;
        let user = &member.caller.signed.user;
        let workspace = access::workspace(&console.context.store, user, &member.organization, &id).await?;
        Ok(Self { member, workspace })
    }
}

impl WorkspaceCaller {
    pub(crate) fn author(&self) -> Author {
        self.member.caller.author()
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.member.caller.now()
    }

    /// Members may do this with what is their own.
    pub(crate) fn owns_or_administers(&self, owner: Option<&domain::UserId>) -> Result<(), ConsoleError> {
        if self.member.is_admin() || owner == Some(&self.member.caller.signed.user.id) {
            return Ok(());
        }
        Err(ConsoleError::AdminOnly)
    }
}

/// An administrator in the workspace that the path names.
pub(crate) struct WorkspaceAdmin(pub WorkspaceCaller);

impl FromRequestParts<Console> for WorkspaceAdmin {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, ConsoleError> {
        let found = WorkspaceCaller::from_request_parts(parts, console).await?;
        if found.member.is_admin() { Ok(Self(found)) } else { Err(ConsoleError::AdminOnly) }
    }
}
