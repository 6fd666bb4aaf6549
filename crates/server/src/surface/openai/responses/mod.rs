//! `POST /v1/responses` and the count of its input, which are translated to chat; [`records`] are stored responses.

pub(super) mod error;
pub(super) mod records;
mod stored;

use crate::surface::EdgeResponse;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{Exchange, InferenceError, PendingSave, Prepared};
use bytes::Bytes;
use dataplane::Dialect;
use dataplane::request::{ParseError, Translated};
use dialects::responses::{ReasoningSeal, ResponseContext, ResponseOptions};
use domain::model::NativeApi;
use domain::{Caller, WorkspaceId};
use edge::request_body::{WholeBody, keep_translation, reserve_translation};
use node::clock;
use serde::Serialize;
use std::sync::Arc;
use store::ContentKeys;
use stored::{LoadedHistory, ReferringRequest};
use utoipa::ToSchema;

/// The tokens of an input.
#[derive(Serialize, ToSchema)]
#[schema(as = InputTokenCount)]
pub(super) struct InputTokenCount {
    /// `response.input_tokens`
    object: &'static str,
    input_tokens: u64,
}

/// Create a response.
#[utoipa::path(post, path = "/v1/responses", operation_id = "createResponse", tag = "inference",
    request_body = ref("#/components/schemas/ResponsesRequest"),
    responses(
        (status = 200, description = "OpenAI's response, or its events",
            content((Object = "application/json"), (String = "text/event-stream"))),
        (status = 504, description = "the edge's timeout, not JSON", body = String, content_type = "text/html")))]
pub(super) async fn create(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    exchange.begin_trace();
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let mut whole = exchange.read_body(&caller).await?;
    let (translation, save) = translate(exchange, &mut whole, &caller, Purpose::Create).await?;
    let Translated { request, options, left_out_tools } = translation;
    exchange.log_omitted_tools(&left_out_tools);
    exchange.infer(Prepared { caller, request, dialect: Dialect::Responses(Arc::new(options)), save }).await
}

/// Count the tokens of an input, without creating a response.
#[utoipa::path(post, path = "/v1/responses/input_tokens", operation_id = "countInputTokens", tag = "inference",
    request_body = ref("#/components/schemas/ResponsesRequest"),
    responses((status = 200, body = InputTokenCount,
        headers(("x-forebay-estimate" = String, description = "`true` if the engine cannot count")))))]
pub(super) async fn input_tokens(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    let mut whole = exchange.read_body(&caller).await?;
    let (Translated { request, .. }, _) = translate(exchange, &mut whole, &caller, Purpose::Count).await?;
    let count = |input_tokens| InputTokenCount { object: "response.input_tokens", input_tokens };
    exchange.count_tokens(caller, request, count).await
}

/// Seals reasoning for the callers of a workspace.
#[derive(Debug)]
struct WorkspaceSeal {
    keys: ContentKeys,
    workspace: WorkspaceId,
}

impl ReasoningSeal for WorkspaceSeal {
    fn seal(&self, reasoning: &str) -> String {
        self.keys.seal_reasoning(&self.workspace, reasoning)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        self.keys.open_reasoning(&self.workspace, sealed)
    }
}

/// Why a request is translated.
#[derive(Clone, Copy)]
enum Purpose {
    Create,
    Count,
}

/// Finds the model first, because the chat request depends on it. The body is dropped unless an engine may get it.
async fn translate(
    exchange: &mut Exchange<'_>,
    WholeBody { bytes, memory }: &mut WholeBody,
    caller: &Arc<Caller>,
    purpose: Purpose,
) -> Result<(Translated<ResponseOptions>, Option<Box<PendingSave>>), InferenceError> {
    let (surface, length) = (exchange.surface, bytes.len());
    let referring = surface.body_bounds.parse(std::mem::take(bytes), memory, ReferringRequest::parse).await?;
    let traits = surface.dataplane.chat_traits(caller, &referring.request.model, NativeApi::Responses);
    let unique = exchange.tap.request_id().as_str().trim_start_matches("req_").to_owned();
    if referring.refers_to_stored() {
        exchange.count_request(caller, &referring.request.model).await?;
    }
    let loaded = stored::load(surface, caller, &referring).await?;
    let LoadedHistory { history, referenced_bytes, memory: memory_of_history } = loaded;
    let own_size = length + referenced_bytes;
    let size = own_size + history.previous.iter().map(Bytes::len).sum::<usize>();
    if let Some(of_history) = memory_of_history {
        memory.absorb(of_history);
    }
    reserve_translation(memory, size).map_err(SurfaceError::from)?;
    let mut save = match purpose {
        Purpose::Create => stored::pending(surface, caller, &referring.request, &unique, own_size)?,
        Purpose::Count => None,
    };
    let keys = surface.context.reasoning_keys.clone();
    let seal = Arc::new(WorkspaceSeal { keys, workspace: caller.workspace.clone() });
    let stored = save.as_ref().map(|save| save.finished.clone());
    let into_chat = move || {
        let input = stored.is_some().then(|| referring.request.stored_input(&history, &*seal)).transpose()?;
        let context = ResponseContext { unique, now: || clock::now().seconds(), history, seal, stored };
        Ok::<_, ParseError>((Translated::parse(referring.request.into_chat(traits, context)?)?, input))
    };
    let (translation, input) = surface.body_bounds.work(size, memory, into_chat).await?;
    if let (Some(save), Some(input)) = (&mut save, input) {
        stored::set_input(save, input, translation.options.echo_bytes(), translation.request.body.len())?;
    }
    keep_translation(memory, translation.request.kept_bytes(), size).map_err(SurfaceError::from)?;
    Ok((translation, save))
}
