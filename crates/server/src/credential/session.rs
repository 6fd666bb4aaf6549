//! Calls by session: the Playground. A session acts in one workspace, the one it names or its current one.

use super::{Forbidden, Refused};
use crate::edge::session_cookie;
use crate::people::People;
use control::sessions::ActiveSession;
use control::{CommandError, CommandErrorKind, access};
use domain::session::SessionToken;
use domain::usage::Actor;
use domain::{Caller, Timestamp, WorkspaceId};
use http::{HeaderMap, Method};
use std::sync::Arc;

const WORKSPACE_HEADER: &str = "x-workspace-id";

/// Who calls, by the store: sessions are rare here, and not remembered.
pub(super) async fn identify(
    people: &Arc<People>,
    method: &Method,
    headers: HeaderMap,
    token: SessionToken,
    now: Timestamp,
) -> Result<Arc<Caller>, Refused> {
    let is_meant = session_cookie::is_meant(method, &headers, &token);
    let named = headers.get(WORKSPACE_HEADER).map(|value| value.to_str().unwrap_or("").to_owned());
    let asked = Arc::clone(people);
    let found = people.background.spawn(async move { find(&asked, token, is_meant, named, now).await });
    found.await.unwrap_or(Err(Refused::Internal)).map(Arc::new)
}

async fn find(
    people: &People,
    token: SessionToken,
    is_meant: bool,
    named: Option<String>,
    now: Timestamp,
) -> Result<Caller, Refused> {
    let signed = people.identify(token, now).await.map_err(|refusal| refuse(&refusal))?;
    let signed = signed.ok_or(Refused::Unauthenticated { cause: "no session" })?;
    if !is_meant {
        return Err(Refused::Forbidden(Forbidden::CsrfFailed));
    }
    act(people, &signed, named).await.map_err(|refusal| refuse(&refusal))
}

/// A workspace that is named and cannot be found is one that the user is no member of: which ones exist elsewhere is
/// not told.
async fn act(people: &People, signed: &ActiveSession, named: Option<String>) -> Result<Caller, CommandError> {
    let (organization, _) = access::organization(signed)?;
    let (workspace, otherwise) = match named {
        Some(text) => (WorkspaceId::parse(&text).map_err(|_| CommandError::NotAMember)?, CommandError::NotAMember),
        None => (
            signed.session.workspace.clone().ok_or(CommandError::NoWorkspaceContext)?,
            CommandError::NoWorkspaceContext,
        ),
    };
    let found = access::workspace(&people.store, &signed.user, organization, &workspace).await;
    let workspace = found.map_err(|refusal| match refusal.kind() {
        CommandErrorKind::Missing | CommandErrorKind::Forbidden => otherwise,
        _ => refusal,
    })?;
    Ok(Caller {
        workspace_limits: workspace.stored_limits(),
        ..Caller::new(workspace.organization, workspace.id, Actor::User(signed.user.id.clone()))
    })
}

fn refuse(refusal: &CommandError) -> Refused {
    match refusal {
        CommandError::NoOrganizationContext => Refused::Forbidden(Forbidden::NoOrganizationContext),
        CommandError::NoWorkspaceContext => Refused::Forbidden(Forbidden::NoWorkspaceContext),
        CommandError::NotAMember => Refused::Forbidden(Forbidden::NotAMember),
        CommandError::StoreUnavailable { cause } => Refused::StoreUnavailable { cause: format!("{cause:?}") },
        other => {
            tracing::error!(error = ?other, "a session could not be looked up");
            Refused::Internal
        }
    }
}
