//! `/api/sessions`: the user's signed-in browsers.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Id, List, SessionOwner};
use axum::Json;
use control::sessions;
use domain::SessionId;
use http::StatusCode;
use view::SessionView;

/// The user's sessions, newest first.
#[utoipa::path(get, path = "/api/sessions", tag = "session", responses((status = 200, body = List<SessionView>)))]
pub(crate) async fn list(SessionOwner(caller): SessionOwner) -> Result<Json<List<SessionView>>, ConsoleError> {
    let lifetimes = &caller.context.lifetimes;
    let found = sessions::list(caller.store(), &caller.signed.user, lifetimes, caller.now()).await?;
    let views = found.into_iter().map(|session| {
        let expires_at = session.ends_at(lifetimes);
        SessionView::new(session, &caller.signed.session.id, expires_at)
    });
    Ok(Json(List::whole(views.collect())))
}

/// End one of the user's sessions.
#[utoipa::path(delete, path = "/api/sessions/{sessionId}", tag = "session", responses((status = 204)))]
pub(crate) async fn end(SessionOwner(caller): SessionOwner, Id(id): Id<SessionId>) -> Result<StatusCode, ConsoleError> {
    sessions::end(caller.request.session_command(&caller.context), &caller.signed, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
