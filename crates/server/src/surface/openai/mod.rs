//! OpenAI's surface: `/v1/chat/completions`, `/v1/completions`, `/v1/responses`, `/v1/embeddings`, `/v1/files`,
//! `/v1/batches`, `/v1/models`, and what vLLM adds to it.

mod batches;
mod chat;
mod description;
pub(crate) mod error;
mod files;
mod models;
mod responses;
mod tokens;

pub(crate) use description::description;
pub(crate) use responses::error::StoredResponseError;

use super::error::SurfaceError;
use super::inference::{ErrorFormat, Exchange, InferenceError};
use super::route_name::RouteName;
use crate::credential::KeyHeaders;
use crate::surface::{Body, EdgeResponse, is_below};
use domain::Caller;
use domain::batches::BatchEndpoint;
use http::{Method, Response};
use std::sync::Arc;

pub(super) const ERROR_FORMAT: ErrorFormat = ErrorFormat { response: error::response, event: error::event };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Chat,
    Completions,
    Rerank,
    RerankV2,
    Score,
    Tokenize,
    Detokenize,
    Responses,
    InputTokens,
    /// A stored response.
    Response(&'a str),
    ResponseItems(&'a str),
    Embeddings,
    Files,
    File(&'a str),
    FileContent(&'a str),
    Batches,
    Batch(&'a str),
    CancelBatch(&'a str),
    Models,
    Model(&'a str),
    Unknown,
}

pub(super) fn route(path: &str) -> Route<'_> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "/v1/chat/completions" => Route::Chat,
        "/v1/completions" => Route::Completions,
        "/v1/rerank" | "/rerank" => Route::Rerank,
        "/v2/rerank" => Route::RerankV2,
        "/v1/score" | "/score" => Route::Score,
        "/v1/tokenize" | "/tokenize" => Route::Tokenize,
        "/v1/detokenize" | "/detokenize" => Route::Detokenize,
        "/v1/responses" => Route::Responses,
        "/v1/responses/input_tokens" => Route::InputTokens,
        // OpenAI's route to shorten a conversation, and no id of a response. Clients expect 404 where there is none.
        "/v1/responses/compact" => Route::Unknown,
        "/v1/embeddings" => Route::Embeddings,
        "/v1/files" => Route::Files,
        "/v1/batches" => Route::Batches,
        "/v1/models" => Route::Models,
        other => match other.strip_prefix("/v1/models/") {
            Some(id) if !id.is_empty() => Route::Model(id),
            Some(_) => Route::Unknown,
            None => record_route(other),
        },
    }
}

/// The route of a stored record.
fn record_route(path: &str) -> Route<'_> {
    if let Some(rest) = path.strip_prefix("/v1/files/") {
        return match rest.split_once('/') {
            None if !rest.is_empty() => Route::File(rest),
            Some((id, "content")) if !id.is_empty() => Route::FileContent(id),
            None | Some(_) => Route::Unknown,
        };
    }
    if let Some(rest) = path.strip_prefix("/v1/batches/") {
        return match rest.split_once('/') {
            None if !rest.is_empty() => Route::Batch(rest),
            Some((id, "cancel")) if !id.is_empty() => Route::CancelBatch(id),
            None | Some(_) => Route::Unknown,
        };
    }
    path.strip_prefix("/v1/responses/").map_or(Route::Unknown, stored_route)
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

impl Route<'_> {
    /// The name in logs and metrics.
    pub(super) const fn name(self) -> RouteName {
        match self {
            Self::Chat => RouteName::Chat,
            Self::Completions => RouteName::Completions,
            Self::Rerank | Self::RerankV2 => RouteName::Rerank,
            Self::Score => RouteName::Score,
            Self::Tokenize | Self::Detokenize => RouteName::Tokenize,
            Self::Responses => RouteName::Responses,
            Self::InputTokens => RouteName::InputTokens,
            Self::Response(_) | Self::ResponseItems(_) => RouteName::StoredResponses,
            Self::Embeddings => RouteName::Embeddings,
            Self::Files | Self::File(_) | Self::FileContent(_) => RouteName::Files,
            Self::Batches | Self::Batch(_) | Self::CancelBatch(_) => RouteName::Batches,
            Self::Models | Self::Model(_) => RouteName::Models,
            Self::Unknown => RouteName::Unknown,
        }
    }

    const fn key_headers(self) -> KeyHeaders {
        match self {
            Self::Models | Self::Model(_) => KeyHeaders::BearerOrApiKey,
            Self::Chat
            | Self::Completions
            | Self::Rerank
            | Self::RerankV2
            | Self::Score
            | Self::Tokenize
            | Self::Detokenize
            | Self::Responses
            | Self::InputTokens
            | Self::Response(_)
            | Self::ResponseItems(_)
            | Self::Embeddings
            | Self::Files
            | Self::File(_)
            | Self::FileContent(_)
            | Self::Batches
            | Self::Batch(_)
            | Self::CancelBatch(_)
            | Self::Unknown => KeyHeaders::Bearer,
        }
    }

    /// Whether the body names the model, which may be a dedicated endpoint.
    const fn calls_model(self) -> bool {
        match self {
            Self::Chat
            | Self::Completions
            | Self::Responses
            | Self::Embeddings
            | Self::Rerank
            | Self::RerankV2
            | Self::Score
            | Self::Tokenize
            | Self::Detokenize
            | Self::InputTokens => true,
            Self::Response(_)
            | Self::ResponseItems(_)
            | Self::Files
            | Self::File(_)
            | Self::FileContent(_)
            | Self::Batches
            | Self::Batch(_)
            | Self::CancelBatch(_)
            | Self::Models
            | Self::Model(_)
            | Self::Unknown => false,
        }
    }

    const fn allow(self) -> &'static str {
        match self {
            Self::Chat
            | Self::Completions
            | Self::Rerank
            | Self::RerankV2
            | Self::Score
            | Self::Tokenize
            | Self::Detokenize
            | Self::Responses
            | Self::InputTokens
            | Self::Embeddings
            | Self::CancelBatch(_) => "POST",
            Self::Response(_) | Self::File(_) => "GET, HEAD, DELETE",
            Self::Files | Self::Batches => "GET, HEAD, POST",
            Self::FileContent(_)
            | Self::Batch(_)
            | Self::ResponseItems(_)
            | Self::Models
            | Self::Model(_)
            | Self::Unknown => "GET, HEAD",
        }
    }

    fn supports(self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }
}

/// Responds to a request under `/v1`.
pub(super) async fn respond(exchange: &mut Exchange<'_>, route: Route<'_>) -> Result<EdgeResponse, InferenceError> {
    if route == Route::Unknown && !is_below(exchange.uri.path(), "/v1") {
        return Err(SurfaceError::RouteNotFound.into());
    }
    let caller = exchange.identify(route.key_headers()).await?;
    if route != Route::Unknown && !route.supports(exchange.method) {
        return Err(SurfaceError::MethodNotAllowed { allow: Some(route.allow().into()) }.into());
    }
    if !route.calls_model() {
        exchange.check_attempts()?;
    }
    match route {
        Route::Chat => chat::completions(exchange, caller).await,
        Route::Completions => chat::text_completions(exchange, caller).await,
        Route::Rerank => chat::rerank(exchange, caller).await,
        Route::RerankV2 => chat::rerank_v2(exchange, caller).await,
        Route::Score => chat::score(exchange, caller).await,
        Route::Tokenize => Box::pin(tokens::tokenize(exchange, caller)).await,
        Route::Detokenize => Box::pin(tokens::detokenize(exchange, caller)).await,
        // Boxed, because a call of any route is moved with the memory of the largest.
        Route::Responses => Box::pin(responses::create(exchange, caller)).await,
        Route::InputTokens => Box::pin(responses::input_tokens(exchange, caller)).await,
        Route::Response(id) if exchange.method == Method::DELETE => {
            Box::pin(responses::records::delete(exchange, &caller, id)).await
        }
        Route::Response(id) => Box::pin(responses::records::show(exchange, &caller, id)).await,
        Route::ResponseItems(id) => Box::pin(responses::records::input_items(exchange, &caller, id)).await,
        Route::Embeddings => chat::embeddings(exchange, caller).await,
        Route::Files if exchange.method == Method::POST => Box::pin(files::upload::create(exchange, caller)).await,
        Route::Files => Box::pin(files::list(exchange, caller)).await,
        Route::File(id) if exchange.method == Method::DELETE => Box::pin(files::delete(exchange, caller, id)).await,
        Route::File(id) => Box::pin(files::show(exchange, caller, id)).await,
        Route::FileContent(id) => Box::pin(files::content(exchange, caller, id)).await,
        Route::Batches if exchange.method == Method::POST => Box::pin(batches::create(exchange, caller)).await,
        Route::Batches => Box::pin(batches::list(exchange, caller)).await,
        Route::Batch(id) => Box::pin(batches::show(exchange, caller, id)).await,
        Route::CancelBatch(id) => Box::pin(batches::cancel(exchange, caller, id)).await,
        Route::Models => {
            let list = models::list(&exchange.surface.dataplane, &caller, exchange.uri.query());
            Ok(exchange.serve(list))
        }
        Route::Model(model) => {
            let model = models::show(&exchange.surface.dataplane, &caller, model)?;
            Ok(exchange.serve(model))
        }
        Route::Unknown => Err(SurfaceError::RouteNotFound.into()),
    }
}

/// Makes the call of a line of a batch.
pub(super) async fn respond_to_line(
    exchange: &mut Exchange<'_>,
    endpoint: BatchEndpoint,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    match endpoint {
        BatchEndpoint::Chat => chat::completions(exchange, caller).await,
        BatchEndpoint::Embeddings => chat::embeddings(exchange, caller).await,
        BatchEndpoint::Completions => chat::text_completions(exchange, caller).await,
        BatchEndpoint::Responses => Box::pin(responses::create(exchange, caller)).await,
        BatchEndpoint::Rerank => chat::rerank(exchange, caller).await,
        // Of the other surface.
        BatchEndpoint::Messages => Err(SurfaceError::Internal.into()),
    }
}

/// The response to a request that reached no handler.
pub(super) fn encode(error: SurfaceError) -> Response<Body> {
    error::encode(&error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_with_and_without_a_trailing_slash() {
        assert_eq!(route("/v1/chat/completions"), Route::Chat);
        assert_eq!(route("/v1/completions"), Route::Completions);
        assert_eq!((route("/rerank"), route("/v2/rerank")), (Route::Rerank, Route::RerankV2));
        assert_eq!((route("/tokenize"), route("/v1/detokenize/")), (Route::Tokenize, Route::Detokenize));
        assert_eq!(route("/v1/embeddings/"), Route::Embeddings);
        assert_eq!(route("/v1/models/"), Route::Models);
        assert_eq!(route("/v1/models/acme/tiny"), Route::Model("acme/tiny"));
        assert_eq!(route("/v1/models/acme%2Ftiny"), Route::Model("acme%2Ftiny"));
        assert_eq!(route("/v1/responses/resp_1"), Route::Response("resp_1"));
        assert_eq!(route("/v1/responses/compact"), Route::Unknown);
        assert_eq!(route("/v1/responses/resp_1/input_items/"), Route::ResponseItems("resp_1"));
        assert_eq!((route("/v1/files/"), route("/v1/files/file-1")), (Route::Files, Route::File("file-1")));
        assert_eq!(route("/v1/files/file-1/content"), Route::FileContent("file-1"));
        assert_eq!(route("/v1/batches/batch_1/cancel"), Route::CancelBatch("batch_1"));
        for of_endpoints in ["/v1/score", "/tokenize", "/v1/detokenize", "/v1/responses/input_tokens"] {
            assert!(
                route(of_endpoints).calls_model(),
                "failed attempts do not stop a dedicated endpoint: {of_endpoints}"
            );
        }
        for unknown in ["/", "/v1", "/v1/completion", "/v2/models", "/v1/chat", "/v1/files/a/b", "/v1/batches/a/b"] {
            assert_eq!(route(unknown), Route::Unknown, "{unknown}");
        }
    }
}
