//! `/api/sessions`: one's own signed-in browsers.

use super::Console;
use super::caller::Caller;
use super::error::Refused;
use super::list::List;
use super::path::Id;
use crate::view::SessionView;
use axum::Json;
use axum::extract::State;
use control::sessions;
use domain::SessionId;
use http::StatusCode;

/// One's own sessions, newest first.
#[utoipa::path(get, path = "/api/sessions", tag = "session", responses((status = 200, body = List<SessionView>)))]
pub(super) async fn list(State(console): State<Console>, caller: Caller) -> Result<Json<List<SessionView>>, Refused> {
    let lifetimes = &console.people.lifetimes;
    let found = sessions::list(&console.people.store, &caller.signed.user, lifetimes, caller.now()).await?;
    let views = found.into_iter().map(|session| {
        let expires_at = session.ends_at(lifetimes);
        SessionView::new(session, &caller.signed.session.id, expires_at)
    });
    Ok(Json(List::whole(views.collect())))
}

/// End one of one's own sessions.
#[utoipa::path(delete, path = "/api/sessions/{sessionId}", tag = "session", responses((status = 204)))]
pub(super) async fn end(
    State(console): State<Console>,
    caller: Caller,
    Id(id): Id<SessionId>,
) -> Result<StatusCode, Refused> {
    sessions::end(&console.people.store, &caller.signed, &id, &caller.asked.origin, caller.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
