//! Calls to models in the format that engines speak themselves.

use super::ERROR_FORMAT;
use crate::surface::EdgeResponse;
use crate::surface::Surface;
use crate::surface::inference::{self, InferenceError, Prepared};
use bytes::Bytes;
use dataplane::request::{ParseError, ParsedRequest};
use dataplane::usage_tap::UsageTap;
use dataplane::{CallError, Dialect};
use domain::Caller;
use edge::request_body::WholeBody;
use edge::{Headers, Incoming};
use std::sync::Arc;

/// Chat with a model.
#[utoipa::path(post, path = "/v1/chat/completions", operation_id = "chatCompletions", tag = "inference",
    request_body = ref("#/components/schemas/ChatRequest"),
    responses(
        (status = 200, description = "OpenAI's chat completion, or its chunks as events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 504, description = "the edge's timeout, not JSON", body = String, content_type = "text/html")))]
pub(super) async fn completions(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    tap: UsageTap,
) -> EdgeResponse {
    native(surface, headers, body, caller, tap, dataplane::request::chat::parse).await
}

/// Turn texts into vectors.
#[utoipa::path(post, path = "/v1/embeddings", operation_id = "embeddings", tag = "inference",
    request_body = ref("#/components/schemas/EmbeddingsRequest"),
    responses((status = 200, description = "OpenAI's list of embeddings", body = Object)))]
pub(super) async fn embeddings(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    tap: UsageTap,
) -> EdgeResponse {
    native(surface, headers, body, caller, tap, dataplane::request::embeddings::parse).await
}

async fn native(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
    parse: fn(Bytes) -> Result<ParsedRequest, ParseError>,
) -> EdgeResponse {
    let trace = inference::begin_trace(surface, headers, &mut tap);
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let WholeBody { bytes, memory } = match inference::read_body(surface, headers, body, &caller).await {
        Ok(whole) => whole,
        Err(error) => return inference::reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let request = match surface.body_bounds.parse(bytes, &memory, parse).await {
        Ok(request) => request,
        Err(error) => {
            let error = InferenceError::Call(CallError::from(error));
            return inference::reject(surface, &ERROR_FORMAT, &error, tap);
        }
    };
    let prepared = Prepared { caller, request, dialect: Dialect::Chat, trace, save: None, tap };
    inference::infer(surface, &ERROR_FORMAT, headers, body, prepared).await
}
