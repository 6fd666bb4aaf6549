//! Calls by session, as the Playground makes them. A session acts in the workspace it names, else in its current one.

use super::session_cookie;
use super::{CredentialError, Forbidden};
use crate::surface_context::{SessionError, SurfaceContext};
use control::sessions::ActiveSession;
use control::{CommandError, CommandErrorKind, access, aliases};
use domain::session::SessionToken;
use domain::usage::Actor;
use domain::{Caller, Timestamp, WorkspaceId};
use http::{HeaderMap, Method};
use std::net::IpAddr;
use std::sync::Arc;

const WORKSPACE_HEADER: &str = "x-workspace-id";

/// The caller, read from the store on every call: sessions are rare here and not cached.
pub(super) async fn identify(
    context: &Arc<SurfaceContext>,
    method: &Method,
    headers: HeaderMap,
    token: SessionToken,
    client: IpAddr,
    now: Timestamp,
) -> Result<Arc<Caller>, CredentialError> {
    let csrf_ok = session_cookie::is_csrf_safe(method, &headers, &token);
    let named = headers.get(WORKSPACE_HEADER).map(|value| value.to_str().unwrap_or("").to_owned());
    let own = Arc::clone(context);
    let found = context.background.spawn(async move { find(&own, token, client, csrf_ok, named, now).await });
    found.await.unwrap_or(Err(CredentialError::Internal)).map(Arc::new)
}

async fn find(
    context: &SurfaceContext,
    token: SessionToken,
    client: IpAddr,
    csrf_ok: bool,
    named: Option<String>,
    now: Timestamp,
) -> Result<Caller, CredentialError> {
    let signed = context.identify(token, client, now).await.map_err(|error| match error {
        SessionError::Throttled(throttled) => CredentialError::Throttled(throttled),
        SessionError::Command(error) => convert(&error),
    })?;
    let signed = signed.ok_or(CredentialError::Unauthenticated { cause: "no session" })?;
    if !csrf_ok {
        return Err(CredentialError::Forbidden(Forbidden::CsrfFailed));
    }
    act(context, &signed, named).await.map_err(|error| convert(&error))
}

/// A named workspace that cannot be found counts as one without membership, so that the response does not reveal which
/// workspaces exist.
async fn act(context: &SurfaceContext, signed: &ActiveSession, named: Option<String>) -> Result<Caller, CommandError> {
    let (organization, _) = access::organization(signed)?;
    let (workspace, otherwise) = match named {
        Some(text) => (WorkspaceId::parse(&text).map_err(|_| CommandError::NotAMember)?, CommandError::NotAMember),
        None => (
            signed.session.workspace.clone().ok_or(CommandError::NoWorkspaceContext)?,
            CommandError::NoWorkspaceContext,
        ),
    };
    let found = access::workspace(&context.store, &signed.user, organization, &workspace).await;
    let workspace = found.map_err(|error| match error.kind() {
        CommandErrorKind::Missing | CommandErrorKind::Forbidden => otherwise,
        _ => error,
    })?;
    let aliases = aliases::list(&context.store, &workspace.id).await?;
    let caller = Caller {
        workspace_limits: workspace.stored_limits(),
        response_retention: workspace.response_retention,
        weight: workspace.weight,
        has_monthly_budget: workspace.has_monthly_budget(),
        organization_limits: workspace.organization_per_minute,
        ..Caller::new(workspace.organization, workspace.id, Actor::User(signed.user.id.clone()))
    };
    Ok(caller.with_aliases(aliases))
}

fn convert(error: &CommandError) -> CredentialError {
    match error {
        CommandError::NoOrganizationContext => CredentialError::Forbidden(Forbidden::NoOrganizationContext),
        CommandError::NoWorkspaceContext => CredentialError::Forbidden(Forbidden::NoWorkspaceContext),
        CommandError::NotAMember => CredentialError::Forbidden(Forbidden::NotAMember),
        CommandError::StoreUnavailable { cause } => CredentialError::StoreUnavailable { cause: format!("{cause:?}") },
        other => {
            tracing::error!(error = ?other, "a session could not be looked up");
            CredentialError::Internal
        }
    }
}
