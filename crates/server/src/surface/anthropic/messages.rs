//! Calls in Anthropic's format, which are translated to chat.

use super::ERROR_FORMAT;
use crate::edge::request_body::WholeBody;
use crate::edge::{EdgeResponse, Headers, Incoming};
use crate::surface::Surface;
use crate::surface::inference::{self, InferenceError, Prepared, reject};
use bytes::Bytes;
use dataplane::request::ParseError;
use dataplane::translate::messages::{ChatTranslation, MessagesRequest};
use dataplane::usage_tap::UsageTap;
use dataplane::{CallError, Dialect};
use domain::Caller;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The tokens of a prompt.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenCount)]
pub(super) struct TokenCount {
    input_tokens: u64,
}

/// Create a message, in Anthropic's format.
#[utoipa::path(post, path = "/v1/messages", operation_id = "createMessage", tag = "inference",
    request_body = ref("#/components/schemas/MessagesRequest"),
    responses(
        (status = 200, description = "Anthropic's message, or its events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 504, description = "the edge's timeout, not JSON", body = String, content_type = "text/html")))]
pub(super) async fn create(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
) -> EdgeResponse {
    let trace = inference::begin_trace(surface, headers, &mut tap);
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let whole = match inference::read_body(surface, headers, body, &caller).await {
        Ok(whole) => whole,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let translation = match translate(surface, &whole, &caller, &tap, MessagesRequest::parse).await {
        Ok(translation) => translation,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let ChatTranslation { request, options, left_out_tools } = translation;
    if !left_out_tools.is_empty() {
        tracing::debug!(
            request.id = tap.request_id().as_str(),
            "left out server tools of a message: {}",
            left_out_tools.join(", ")
        );
    }
    let prepared = Prepared { caller, request, dialect: Dialect::Messages(Arc::new(options)), trace, tap };
    inference::infer(surface, &ERROR_FORMAT, headers, body, prepared).await
}

/// Count the tokens of a message, without creating it.
#[utoipa::path(post, path = "/v1/messages/count_tokens", operation_id = "countMessageTokens", tag = "inference",
    request_body = ref("#/components/schemas/CountTokensRequest"),
    responses((status = 200, body = TokenCount,
        headers(("x-forebay-estimate" = String, description = "`true` if the engine cannot count")))))]
pub(super) async fn count_tokens(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    tap: UsageTap,
) -> EdgeResponse {
    let whole = match inference::read_body(surface, headers, body, &caller).await {
        Ok(whole) => whole,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let translation = match translate(surface, &whole, &caller, &tap, MessagesRequest::parse_prompt).await {
        Ok(translation) => translation,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let count = |input_tokens| TokenCount { input_tokens };
    inference::count_tokens(surface, &ERROR_FORMAT, caller, translation.request, tap, count).await
}

/// Finds the model first, because the chat request depends on it.
async fn translate(
    surface: &Surface,
    WholeBody { bytes, memory }: &WholeBody,
    caller: &Caller,
    tap: &UsageTap,
    parse: fn(Bytes) -> Result<MessagesRequest, ParseError>,
) -> Result<ChatTranslation, InferenceError> {
    let failed = |error: ParseError| InferenceError::Call(CallError::from(error));
    let request = surface.body_bounds.parse(bytes.clone(), memory, parse).await.map_err(failed)?;
    let traits = surface.dataplane.chat_traits(caller, &request.model);
    let id = format!("msg_{}", tap.request_id().as_str().trim_start_matches("req_"));
    let translated = surface.body_bounds.parse(bytes.clone(), memory, move |_| request.into_chat(traits, id)).await;
    translated.map_err(failed)
}
