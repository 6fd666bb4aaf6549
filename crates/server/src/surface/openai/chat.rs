//! Calls to models in the format that engines speak themselves.

use crate::surface::EdgeResponse;
use crate::surface::inference::{Exchange, InferenceError, Prepared};
use bytes::Bytes;
use dataplane::Dialect;
use dataplane::request::{ParseError, ParsedRequest};
use domain::Caller;
use edge::request_body::WholeBody;
use std::sync::Arc;

/// Chat with a model.
#[utoipa::path(post, path = "/v1/chat/completions", operation_id = "chatCompletions", tag = "inference",
    request_body = ref("#/components/schemas/ChatRequest"),
    responses(
        (status = 200, description = "OpenAI's chat completion, or its chunks as events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 504, description = "the edge's timeout, not JSON", body = String, content_type = "text/html")))]
pub(super) async fn completions(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::chat::parse).await
}

/// Complete prompts.
#[utoipa::path(post, path = "/v1/completions", operation_id = "completions", tag = "inference",
    request_body = ref("#/components/schemas/CompletionsRequest"),
    responses(
        (status = 200, description = "OpenAI's text completion, or its chunks as events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 504, description = "the edge's timeout, not JSON", body = String, content_type = "text/html")))]
pub(super) async fn text_completions(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::completions::parse).await
}

/// Turn texts into vectors.
#[utoipa::path(post, path = "/v1/embeddings", operation_id = "embeddings", tag = "inference",
    request_body = ref("#/components/schemas/EmbeddingsRequest"),
    responses((status = 200, description = "OpenAI's list of embeddings", body = Object)))]
pub(super) async fn embeddings(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::embeddings::parse).await
}

/// Sort documents by how well they match a query, in Cohere's first API.
#[utoipa::path(post, path = "/v1/rerank", operation_id = "rerank", tag = "inference",
    request_body = ref("#/components/schemas/RerankRequest"),
    responses((status = 200, description = "Cohere's results", body = Object)))]
pub(super) async fn rerank(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::rerank::parse).await
}

/// Sort documents by how well they match a query, in Cohere's second API.
#[utoipa::path(post, path = "/v2/rerank", operation_id = "rerankV2", tag = "inference",
    request_body = ref("#/components/schemas/RerankRequest"),
    responses((status = 200, description = "Cohere's results", body = Object)))]
pub(super) async fn rerank_v2(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::rerank::parse_v2).await
}

/// Compare texts, in vLLM's API.
#[utoipa::path(post, path = "/v1/score", operation_id = "score", tag = "inference",
    request_body = ref("#/components/schemas/ScoreRequest"),
    responses((status = 200, description = "vLLM's list of scores", body = Object)))]
pub(super) async fn score(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    native(exchange, caller, dataplane::request::rerank::parse_score).await
}

async fn native(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    parse: fn(Bytes) -> Result<ParsedRequest, ParseError>,
) -> Result<EdgeResponse, InferenceError> {
    exchange.begin_trace();
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let WholeBody { bytes, memory } = exchange.read_body(&caller).await?;
    let request = exchange.surface.body_bounds.parse(bytes, &memory, parse).await?;
    exchange.infer(Prepared { caller, request, dialect: Dialect::Chat, save: None }).await
}
