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
