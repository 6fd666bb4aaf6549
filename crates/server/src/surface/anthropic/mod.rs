//! Anthropic's surface: `/v1/messages`, `/v1/messages/count_tokens`, and `/v1/models` for its clients.

mod description;
mod error;
mod messages;
mod models;

pub(crate) use description::description;

use super::Surface;
use super::error::SurfaceError;
use super::inference::{self, ErrorFormat, InferenceError, reject, serve};
use crate::credential::KeyHeaders;
use crate::surface::{Body, EdgeResponse};
use dataplane::usage_tap::UsageTap;
use domain::{Caller, RequestId, Timestamp};
use edge::{Incoming, RequestHead, request_body};
use http::{Method, Response};
use std::net::IpAddr;
use std::sync::Arc;

const ERROR_FORMAT: ErrorFormat = ErrorFormat { response: error::response, event: error::event };

/// Sent by clients that expect the formats of Anthropic's API.
const ANTHROPIC_VERSION: &str = "anthropic-version";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'a> {
    Messages,
    CountTokens,
    Models,
    Model(&'a str),
}

fn route(path: &str) -> Option<Route<'_>> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "/v1/messages" => Some(Route::Messages),
        "/v1/messages/count_tokens" => Some(Route::CountTokens),
        "/v1/models" => Some(Route::Models),
        other => other.strip_prefix("/v1/models/").filter(|id| !id.is_empty()).map(Route::Model),
    }
}

/// Whether the request is for this surface. Models belong to it only for its own clients.
pub(super) fn is_route(head: &RequestHead) -> bool {
    match route(head.uri.path()) {
        Some(Route::Messages | Route::CountTokens) => true,
        Some(Route::Models | Route::Model(_)) => head.headers.has(ANTHROPIC_VERSION),
        None => false,
    }
}

/// The name of a route in logs and metrics.
pub(super) fn route_name(path: &str) -> &'static str {
    match route(path) {
        Some(Route::Messages) => "messages",
        Some(Route::CountTokens) => "count_tokens",
        Some(Route::Models | Route::Model(_)) => "models",
        None => "unknown",
    }
}

impl Route<'_> {
    const fn allow(self) -> &'static str {
        match self {
            Self::Messages | Self::CountTokens => "POST",
            Self::Models | Self::Model(_) => "GET, HEAD",
        }
    }

    fn supports(self, method: &Method) -> bool {
        match self {
            Self::Messages | Self::CountTokens => method == Method::POST,
            Self::Models | Self::Model(_) => method == Method::GET || method == Method::HEAD,
        }
    }
}

/// Responds to a request for which [`is_route`] holds.
pub(super) async fn respond(
    surface: &Surface,
    head: &mut RequestHead,
    body: &mut Incoming,
    peer: IpAddr,
    mut tap: UsageTap,
    now: Timestamp,
) -> EdgeResponse {
    let Some(route) = route(head.uri.path()) else {
        return reject(surface, &ERROR_FORMAT, &SurfaceError::RouteNotFound.into(), tap);
    };
    let caller = match check(surface, head, route, peer, &mut tap, now).await {
        Ok(caller) => caller,
        Err(error) => {
            request_body::discard(&head.headers, body).await;
            let response = reject(surface, &ERROR_FORMAT, &error, tap);
            return EdgeResponse { anthropic_at: Some(now), ..response };
        }
    };
    let headers = &mut head.headers;
    let response = match route {
        Route::Messages => messages::create(surface, headers, body, caller, tap).await,
        Route::CountTokens => messages::count_tokens(surface, headers, body, caller, tap).await,
        Route::Models => serve(surface, &ERROR_FORMAT, models::list(surface, &caller, head.uri.query()), tap),
        Route::Model(model) => serve(surface, &ERROR_FORMAT, models::show(surface, &caller, model), tap),
    };
    EdgeResponse { anthropic_at: Some(now), ..response }
}

/// The response of a node that waits for the store.
pub(super) fn respond_without_store(request: &RequestId) -> Response<Body> {
    error::response(&SurfaceError::store_unavailable().into(), request)
}

async fn check(
    surface: &Surface,
    head: &RequestHead,
    route: Route<'_>,
    peer: IpAddr,
    tap: &mut UsageTap,
    now: Timestamp,
) -> Result<Arc<Caller>, InferenceError> {
    let caller = inference::identify(surface, head, KeyHeaders::BearerOrApiKey, peer, tap, now).await?;
    if !route.supports(&head.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    Ok(caller)
}
