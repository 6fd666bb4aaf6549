//! Anthropic's surface: `/v1/messages`, `/v1/messages/count_tokens`, `/v1/messages/batches`, and `/v1/models` for its clients.

mod batches;
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
use domain::{Caller, RequestId};
use edge::Headers;
use http::{Method, Response};
use std::sync::Arc;

pub(super) const ERROR_FORMAT: ErrorFormat = ErrorFormat { response: error::response, event: error::event };

/// Sent by clients that expect the formats of Anthropic's API.
const ANTHROPIC_VERSION: &str = "anthropic-version";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Messages,
    CountTokens,
    Batches,
    Batch(&'a str),
    BatchResults(&'a str),
    CancelBatch(&'a str),
    Models,
    Model(&'a str),
}

/// The route of a request for this surface. Models belong to it only for its own clients.
pub(super) fn route<'a>(path: &'a str, headers: &Headers) -> Option<Route<'a>> {
    let route = match path.strip_suffix('/').unwrap_or(path) {
        "/v1/messages" => return Some(Route::Messages),
        "/v1/messages/count_tokens" => return Some(Route::CountTokens),
        "/v1/messages/batches" => return Some(Route::Batches),
        other if let Some(rest) = other.strip_prefix("/v1/messages/batches/") => return batch_route(rest),
        "/v1/models" => Route::Models,
        other => other.strip_prefix("/v1/models/").filter(|id| !id.is_empty()).map(Route::Model)?,
    };
    headers.has(ANTHROPIC_VERSION).then_some(route)
}

fn batch_route(rest: &str) -> Option<Route<'_>> {
    match rest.split_once('/') {
        None if !rest.is_empty() => Some(Route::Batch(rest)),
        Some((id, "results")) if !id.is_empty() => Some(Route::BatchResults(id)),
        Some((id, "cancel")) if !id.is_empty() => Some(Route::CancelBatch(id)),
        None | Some(_) => None,
    }
}

impl Route<'_> {
    /// The name in logs and metrics.
    pub(super) const fn name(self) -> RouteName {
        match self {
            Self::Messages => RouteName::Messages,
            Self::CountTokens => RouteName::CountTokens,
            Self::Batches | Self::Batch(_) | Self::BatchResults(_) | Self::CancelBatch(_) => RouteName::MessageBatches,
            Self::Models | Self::Model(_) => RouteName::Models,
        }
    }

    const fn allow(self) -> &'static str {
        match self {
            Self::Messages | Self::CountTokens | Self::CancelBatch(_) => "POST",
            Self::Batches => "GET, HEAD, POST",
            Self::Batch(_) => "GET, HEAD, DELETE",
            Self::BatchResults(_) | Self::Models | Self::Model(_) => "GET, HEAD",
        }
    }

    fn supports(self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }
}

/// Responds to a request for this surface.
pub(super) async fn respond(exchange: &mut Exchange<'_>, route: Route<'_>) -> Result<EdgeResponse, InferenceError> {
    let caller = exchange.identify(KeyHeaders::BearerOrApiKey).await?;
    if !route.supports(exchange.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    if !matches!(route, Route::Messages | Route::CountTokens) {
        exchange.check_attempts()?;
    }
    match route {
        Route::Messages => messages::create(exchange, caller).await,
        Route::CountTokens => messages::count_tokens(exchange, caller).await,
        Route::Batches if exchange.method == Method::POST => batches::create(exchange, caller).await,
        Route::Batches => batches::list(exchange, caller).await,
        Route::Batch(id) if exchange.method == Method::DELETE => batches::delete(exchange, caller, id).await,
        Route::Batch(id) => batches::show(exchange, caller, id).await,
        Route::BatchResults(id) => batches::results(exchange, caller, id).await,
        Route::CancelBatch(id) => batches::cancel(exchange, caller, id).await,
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

/// Makes the call of a request of a message batch.
pub(super) async fn respond_to_line(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    messages::create(exchange, caller).await
}

/// The response to a request that reached no handler.
pub(super) fn encode(error: SurfaceError, request: &RequestId) -> Response<Body> {
    error::response(&error.into(), request)
}
