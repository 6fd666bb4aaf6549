//! The inference surface: `/v1/chat/completions`, `/v1/embeddings`, `/v1/models`.
//!
//! The order of checks: credential, attempts, route, method, body, and then the call itself.

mod chat;
mod description;
pub(crate) mod error;
mod models;

pub(crate) use description::description;

use super::error::SurfaceError;
use super::{MAX_HEADER_BYTES, Surface, is_below};
use crate::credential;
use crate::edge::{Body, EdgeResponse, Incoming, RequestHead, deadline, request_body};
use dataplane::CallError;
use dataplane::record::Outcome;
use dataplane::usage_tap::UsageTap;
use domain::{Caller, Timestamp};
use error::InferenceError;
use http::{Method, Response};
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'a> {
    Chat,
    Embeddings,
    Models,
    Model(&'a str),
    Unknown,
}

fn route(path: &str) -> Route<'_> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "/v1/chat/completions" => Route::Chat,
        "/v1/embeddings" => Route::Embeddings,
        "/v1/models" => Route::Models,
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if !id.is_empty() => Route::Model(id),
            _ => Route::Unknown,
        },
    }
}

pub(super) fn is_route(path: &str) -> bool {
    route(path) != Route::Unknown
}

/// The name of a route in logs and metrics.
pub(crate) fn route_name(path: &str) -> &'static str {
    match route(path) {
        Route::Chat => "chat",
        Route::Embeddings => "embeddings",
        Route::Models | Route::Model(_) => "models",
        Route::Unknown => "unknown",
    }
}

impl Route<'_> {
    const fn allow(self) -> &'static str {
        match self {
            Self::Chat | Self::Embeddings => "POST",
            Self::Models | Self::Model(_) | Self::Unknown => "GET, HEAD",
        }
    }

    fn supports(self, method: &Method) -> bool {
        match self {
            Self::Chat | Self::Embeddings => method == Method::POST,
            Self::Models | Self::Model(_) | Self::Unknown => method == Method::GET || method == Method::HEAD,
        }
    }
}

/// Responds to a request under `/v1`.
pub(crate) async fn respond(
    surface: &Surface,
    head: &mut RequestHead,
    body: &mut Incoming,
    peer: IpAddr,
    mut tap: UsageTap,
    now: Timestamp,
) -> EdgeResponse {
    let route = route(head.uri.path());
    let caller = match check(surface, head, peer, route, &mut tap, now).await {
        Ok(caller) => caller,
        Err(error) => {
            request_body::discard(&head.headers, body).await;
            return reject(surface, &error, tap);
        }
    };
    match route {
        Route::Chat => chat::completions(surface, &mut head.headers, body, caller, tap).await,
        Route::Embeddings => chat::embeddings(surface, &mut head.headers, body, caller, tap).await,
        Route::Models => serve(surface, Ok(models::list(surface.dataplane.routes(), head.uri.query())), tap),
        Route::Model(model) => serve(surface, models::show(&surface.dataplane, &caller, model), tap),
        Route::Unknown => reject(surface, &SurfaceError::RouteNotFound.into(), tap),
    }
}

/// The response of a node that waits for the store: to inference, and the 404 of every path that belongs to no surface.
pub(super) fn respond_without_store(path: &str) -> Response<Body> {
    let error = if is_below(path, "/v1") { SurfaceError::store_unavailable() } else { SurfaceError::RouteNotFound };
    InferenceError::from(error).to_response()
}

async fn check(
    surface: &Surface,
    head: &RequestHead,
    peer: IpAddr,
    route: Route<'_>,
    tap: &mut UsageTap,
    now: Timestamp,
) -> Result<Arc<Caller>, InferenceError> {
    if head.headers.bytes() > MAX_HEADER_BYTES {
        return Err(SurfaceError::HeadersTooLarge { limit: MAX_HEADER_BYTES }.into());
    }
    if !is_below(head.uri.path(), "/v1") {
        return Err(SurfaceError::RouteNotFound.into());
    }
    let client = || surface.client(peer, &head.headers);
    let caller = credential::identify(&surface.keys, &surface.context, head, client, now).await?;
    tap.note(|record| record.caller = Some(Arc::clone(&caller)));
    surface.context.throttles.check_attempts(&caller).map_err(SurfaceError::from)?;
    if route == Route::Unknown {
        return Err(SurfaceError::RouteNotFound.into());
    }
    if !route.supports(&head.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    Ok(caller)
}

fn serve(surface: &Surface, response: Result<Response<Body>, InferenceError>, mut tap: UsageTap) -> EdgeResponse {
    match response {
        Ok(response) => {
            tap.settle(Outcome::Served);
            response.into()
        }
        Err(error) => reject(surface, &error, tap),
    }
}

/// Converts an error to its response and closes the record of the call.
fn reject(surface: &Surface, error: &InferenceError, mut tap: UsageTap) -> EdgeResponse {
    if error.is_failed_attempt()
        && let Some(caller) = tap.caller()
    {
        surface.context.throttles.count_attempt(caller);
    }
    tap.note(|record| record.cause = record.cause.take().or_else(|| error.cause()));
    let rate_limits = tap.rate_limits().or_else(|| error.rate_limits());
    tap.settle(Outcome::Rejected { status: error.status().as_u16(), code: error.code() });
    let response = match error {
        InferenceError::Call(CallError::HoldTimeout) => deadline::response(),
        _ => error.to_response(),
    };
    EdgeResponse { rate_limits, ..response.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_with_and_without_a_trailing_slash() {
        assert_eq!(route("/v1/chat/completions"), Route::Chat);
        assert_eq!(route("/v1/embeddings/"), Route::Embeddings);
        assert_eq!(route("/v1/models/"), Route::Models);
        assert_eq!(route("/v1/models/acme/tiny"), Route::Model("acme/tiny"));
        assert_eq!(route("/v1/models/acme%2Ftiny"), Route::Model("acme%2Ftiny"));
        for unknown in ["/", "/v1", "/v1/completions", "/v2/models", "/v1/chat"] {
            assert_eq!(route(unknown), Route::Unknown, "{unknown}");
        }
    }
}
