//! Anthropic's surface: `/v1/messages`, `/v1/messages/count_tokens`, and `/v1/models` for its clients.

mod description;
mod error;
mod messages;
mod models;

pub(crate) use description::description;

use super::error::SurfaceError;
use super::inference::{ErrorFormat, Exchange, InferenceError};
use super::route_name::RouteName;
use crate::credential::KeyHeaders;
use crate::surface::{Body, EdgeResponse};
use domain::RequestId;
use edge::Headers;
use http::{Method, Response};

pub(super) const ERROR_FORMAT: ErrorFormat = ErrorFormat { response: error::response, event: error::event };

/// Sent by clients that expect the formats of Anthropic's API.
const ANTHROPIC_VERSION: &str = "anthropic-version";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Messages,
    CountTokens,
    Models,
    Model(&'a str),
}

/// The route of a request for this surface. Models belong to it only for its own clients.
pub(super) fn route<'a>(path: &'a str, headers: &Headers) -> Option<Route<'a>> {
    let route = match path.strip_suffix('/').unwrap_or(path) {
        "/v1/messages" => return Some(Route::Messages),
        "/v1/messages/count_tokens" => return Some(Route::CountTokens),
        "/v1/models" => Route::Models,
        other => other.strip_prefix("/v1/models/").filter(|id| !id.is_empty()).map(Route::Model)?,
    };
    headers.has(ANTHROPIC_VERSION).then_some(route)
}

impl Route<'_> {
    /// The name in logs and metrics.
    pub(super) const fn name(self) -> RouteName {
        match self {
            Self::Messages => RouteName::Messages,
            Self::CountTokens => RouteName::CountTokens,
            Self::Models | Self::Model(_) => RouteName::Models,
        }
    }

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

/// Responds to a request for this surface.
pub(super) async fn respond(exchange: &mut Exchange<'_>, route: Route<'_>) -> Result<EdgeResponse, InferenceError> {
    let caller = exchange.identify(KeyHeaders::BearerOrApiKey).await?;
    if !route.supports(exchange.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    if route != Route::Messages {
        exchange.check_attempts()?;
    }
    match route {
        Route::Messages => messages::create(exchange, caller).await,
        Route::CountTokens => messages::count_tokens(exchange, caller).await,
        Route::Models => {
            let list = models::list(exchange.surface, &caller, exchange.uri.query())?;
            Ok(exchange.serve(list))
        }
        Route::Model(model) => {
            let model = models::show(exchange.surface, &caller, model)?;
            Ok(exchange.serve(model))
        }
    }
}

/// The response to a request that reached no handler.
pub(super) fn encode(error: SurfaceError, request: &RequestId) -> Response<Body> {
    error::response(&error.into(), request)
}
