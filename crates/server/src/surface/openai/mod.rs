//! OpenAI's surface: `/v1/chat/completions`, `/v1/responses`, `/v1/embeddings`, `/v1/models`.

mod chat;
mod description;
pub(crate) mod error;
mod models;
mod responses;

pub(crate) use description::description;

use super::error::SurfaceError;
use super::inference::{self, ErrorFormat, InferenceError, reject, serve};
use super::{Surface, is_below};
use crate::credential::KeyHeaders;
use crate::surface::{Body, EdgeResponse};
use dataplane::usage_tap::UsageTap;
use domain::{Caller, Timestamp};
use edge::{Incoming, RequestHead, request_body};
use http::{Method, Response};
use std::net::IpAddr;
use std::sync::Arc;

const ERROR_FORMAT: ErrorFormat = ErrorFormat { response: error::response, event: error::event };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'a> {
    Chat,
    Responses,
    InputTokens,
    /// A stored response.
    Response(&'a str),
    ResponseItems(&'a str),
    Embeddings,
    Models,
    Model(&'a str),
    Unknown,
}

fn route(path: &str) -> Route<'_> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "/v1/chat/completions" => Route::Chat,
        "/v1/responses" => Route::Responses,
        "/v1/responses/input_tokens" => Route::InputTokens,
        // OpenAI's route to shorten a conversation, and no id of a response. Clients expect 404 where there is none.
        "/v1/responses/compact" => Route::Unknown,
        "/v1/embeddings" => Route::Embeddings,
        "/v1/models" => Route::Models,
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if !id.is_empty() => Route::Model(id),
            Some(_) => Route::Unknown,
            None => other.strip_prefix("/v1/responses/").map_or(Route::Unknown, stored_route),
        },
    }
}

/// The route of a stored response.
fn stored_route(rest: &str) -> Route<'_> {
    match rest.split_once('/') {
        None if !rest.is_empty() => Route::Response(rest),
        Some((id, "input_items")) if !id.is_empty() => Route::ResponseItems(id),
        None | Some(_) => Route::Unknown,
    }
}

pub(super) fn is_route(path: &str) -> bool {
    route(path) != Route::Unknown
}

/// The name of a route in logs and metrics.
pub(crate) fn route_name(path: &str) -> &'static str {
    match route(path) {
        Route::Chat => "chat",
        Route::Responses => "responses",
        Route::InputTokens => "input_tokens",
        Route::Response(_) | Route::ResponseItems(_) => "stored_responses",
        Route::Embeddings => "embeddings",
        Route::Models | Route::Model(_) => "models",
        Route::Unknown => "unknown",
    }
}

impl Route<'_> {
    const fn allow(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses | Self::InputTokens | Self::Embeddings => "POST",
            Self::Response(_) => "GET, HEAD, DELETE",
            Self::ResponseItems(_) | Self::Models | Self::Model(_) | Self::Unknown => "GET, HEAD",
        }
    }

    fn supports(self, method: &Method) -> bool {
        match self {
            Self::Chat | Self::Responses | Self::InputTokens | Self::Embeddings => method == Method::POST,
            Self::Response(_) => [Method::GET, Method::HEAD, Method::DELETE].contains(method),
            Self::ResponseItems(_) | Self::Models | Self::Model(_) | Self::Unknown => {
                method == Method::GET || method == Method::HEAD
            }
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
            return reject(surface, &ERROR_FORMAT, &error, tap);
        }
    };
    match route {
        Route::Chat => chat::completions(surface, &mut head.headers, body, caller, tap).await,
        Route::Responses => responses::create(surface, &mut head.headers, body, caller, tap).await,
        Route::InputTokens => responses::input_tokens(surface, &mut head.headers, body, caller, tap).await,
        Route::Response(id) if head.method == Method::DELETE => {
            let client = surface.client(peer, &head.headers);
            responses::records::delete(surface, &caller, client, id, tap).await
        }
        Route::Response(id) => responses::records::show(surface, &caller, id, tap).await,
        Route::ResponseItems(id) => responses::records::input_items(surface, &caller, id, head.uri.query(), tap).await,
        Route::Embeddings => chat::embeddings(surface, &mut head.headers, body, caller, tap).await,
        Route::Models => {
            let list = models::list(&surface.dataplane, &caller, head.uri.query());
            serve(surface, &ERROR_FORMAT, Ok(list), tap)
        }
        Route::Model(model) => serve(surface, &ERROR_FORMAT, models::show(&surface.dataplane, &caller, model), tap),
        Route::Unknown => reject(surface, &ERROR_FORMAT, &SurfaceError::RouteNotFound.into(), tap),
    }
}

/// The response of a node that waits for the store: to inference, and the 404 of every path that belongs to no surface.
pub(super) fn respond_without_store(path: &str) -> Response<Body> {
    let error = if is_below(path, "/v1") { SurfaceError::store_unavailable() } else { SurfaceError::RouteNotFound };
    error::encode(&error.into())
}

async fn check(
    surface: &Surface,
    head: &RequestHead,
    peer: IpAddr,
    route: Route<'_>,
    tap: &mut UsageTap,
    now: Timestamp,
) -> Result<Arc<Caller>, InferenceError> {
    let key_headers = match route {
        Route::Models | Route::Model(_) => KeyHeaders::BearerOrApiKey,
        Route::Chat
        | Route::Responses
        | Route::InputTokens
        | Route::Response(_)
        | Route::ResponseItems(_)
        | Route::Embeddings
        | Route::Unknown => KeyHeaders::Bearer,
    };
    let caller = inference::identify(surface, head, key_headers, peer, tap, now).await?;
    if route == Route::Unknown {
        return Err(SurfaceError::RouteNotFound.into());
    }
    if !route.supports(&head.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    Ok(caller)
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
        assert_eq!(route("/v1/responses/resp_1"), Route::Response("resp_1"));
        assert_eq!(route("/v1/responses/compact"), Route::Unknown);
        assert_eq!(route("/v1/responses/resp_1/input_items/"), Route::ResponseItems("resp_1"));
        for unknown in ["/", "/v1", "/v1/completions", "/v2/models", "/v1/chat"] {
            assert_eq!(route(unknown), Route::Unknown, "{unknown}");
        }
    }
}
