//! Calls in Anthropic's format, which are translated to chat, or passed through to engines that speak it.

use crate::surface::EdgeResponse;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{Exchange, InferenceError, Prepared};
use bytes::Bytes;
use dataplane::request::{ParseError, Translated};
use dataplane::{Dataplane, Dialect};
use dialects::messages::{MessageOptions, MessagesRequest};
use domain::Caller;
use domain::model::NativeApi;
use edge::memory_budget::MemoryGrant;
use edge::request_body::{WholeBody, keep_translation, reserve_translation};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Finds the members of a body.
type ParseMessages = fn(Bytes) -> Result<MessagesRequest, ParseError>;

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
pub(super) async fn create(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    exchange.begin_trace();
    let whole = exchange.read_body(&caller).await?;
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let (translation, _memory) = translate(exchange, whole, &caller, MessagesRequest::parse).await?;
    let Translated { request, options, left_out_tools } = translation;
    exchange.log_omitted_tools(&left_out_tools);
    let dialect = Dialect::Messages(Arc::new(options));
    exchange.infer(Prepared { caller, request, dialect, save: None }).await
}

/// Count the tokens of a message, without creating it.
#[utoipa::path(post, path = "/v1/messages/count_tokens", operation_id = "countMessageTokens", tag = "inference",
    request_body = ref("#/components/schemas/CountTokensRequest"),
    responses((status = 200, body = TokenCount,
        headers(("x-forebay-estimate" = String, description = "`true` if the engine cannot count")))))]
pub(super) async fn count_tokens(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    let whole = exchange.read_body(&caller).await?;
    let (translation, _memory) = translate(exchange, whole, &caller, MessagesRequest::parse_prompt).await?;
    exchange.count_tokens(caller, translation.request, |input_tokens| TokenCount { input_tokens }).await
}

/// Translates the body to chat, and returns the memory that the request takes from then on. The body is dropped unless an engine
/// may get it.
async fn translate(
    exchange: &Exchange<'_>,
    whole: WholeBody,
    caller: &Arc<Caller>,
    parse: ParseMessages,
) -> Result<(Translated<MessageOptions>, MemoryGrant), InferenceError> {
    let surface = exchange.surface;
    let id = format!("msg_{}", exchange.tap.request_id().as_str().trim_start_matches("req_"));
    let is_large = whole.is_large();
    let WholeBody { bytes, mut memory } = whole;
    let length = bytes.len();
    reserve_translation(&mut memory, length).map_err(SurfaceError::from)?;
    let translation = if is_large {
        let (dataplane, caller) = (surface.dataplane.clone(), Arc::clone(caller));
        let work = move |bytes| into_chat(&dataplane, &caller, bytes, parse, id);
        surface.body_bounds.parse(bytes, &memory, work).await?
    } else {
        into_chat(&surface.dataplane, caller, bytes, parse, id)?
    };
    keep_translation(&mut memory, translation.request.kept_bytes(), length).map_err(SurfaceError::from)?;
    Ok((translation, memory))
}

/// Finds the model first, because the chat request depends on it.
fn into_chat(
    dataplane: &Dataplane,
    caller: &Caller,
    bytes: Bytes,
    parse: ParseMessages,
    id: String,
) -> Result<Translated<MessageOptions>, ParseError> {
    let request = parse(bytes)?;
    let traits = dataplane.chat_traits(caller, &request.model, NativeApi::Messages);
    Translated::parse(request.into_chat(traits, id)?)
}
