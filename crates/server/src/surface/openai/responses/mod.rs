//! `POST /v1/responses` and the count of its input, which are translated to chat; [`records`] are stored responses.

pub(super) mod records;
mod stored;

use super::ERROR_FORMAT;
use crate::clock;
use crate::surface::EdgeResponse;
use crate::surface::Surface;
use crate::surface::error::SurfaceError;
use crate::surface::inference::{self, InferenceError, PendingSave, Prepared, reject};
use bytes::Bytes;
use dataplane::request::{ParseError, Translated};
use dataplane::usage_tap::UsageTap;
use dataplane::{CallError, Dialect};
use dialects::responses::{ReasoningSeal, ResponseContext, ResponseOptions};
use domain::model::NativeApi;
use domain::{Caller, WorkspaceId};
use edge::request_body::{WholeBody, keep_translation, reserve_translation};
use edge::{Headers, Incoming};
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
pub(super) async fn create(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
) -> EdgeResponse {
    let trace = inference::begin_trace(surface, headers, &mut tap);
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let mut whole = match inference::read_body(surface, headers, body, &caller).await {
        Ok(whole) => whole,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let (translation, save) = match translate(surface, &mut whole, &caller, &tap, Purpose::Create).await {
        Ok(translated) => translated,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    let Translated { request, options, left_out_tools } = translation;
    inference::log_left_out_tools(&tap, &left_out_tools);
    let prepared = Prepared { caller, request, dialect: Dialect::Responses(Arc::new(options)), trace, save, tap };
    inference::infer(surface, &ERROR_FORMAT, headers, body, prepared).await
}

/// Count the tokens of an input, without creating a response.
#[utoipa::path(post, path = "/v1/responses/input_tokens", operation_id = "countInputTokens", tag = "inference",
    request_body = ref("#/components/schemas/ResponsesRequest"),
    responses((status = 200, body = InputTokenCount,
        headers(("x-forebay-estimate" = String, description = "`true` if the engine cannot count")))))]
pub(super) async fn input_tokens(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    tap: UsageTap,
) -> EdgeResponse {
    let mut whole = match inference::read_body(surface, headers, body, &caller).await {
        Ok(whole) => whole,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error, tap),
    };
    match translate(surface, &mut whole, &caller, &tap, Purpose::Count).await {
        Ok((Translated { request, .. }, _)) => {
            let count = |input_tokens| InputTokenCount { object: "response.input_tokens", input_tokens };
            inference::count_tokens(surface, &ERROR_FORMAT, caller, request, tap, count).await
        }
        Err(error) => reject(surface, &ERROR_FORMAT, &error, tap),
    }
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
    surface: &Surface,
    WholeBody { bytes, memory }: &mut WholeBody,
    caller: &Arc<Caller>,
    tap: &UsageTap,
    purpose: Purpose,
) -> Result<(Translated<ResponseOptions>, Option<Box<PendingSave>>), InferenceError> {
    let length = bytes.len();
    let parsed = surface.body_bounds.parse(std::mem::take(bytes), memory, ReferringRequest::parse).await;
    let referring = parsed.map_err(failed)?;
    let traits = surface.dataplane.chat_traits(caller, &referring.request.model, NativeApi::Responses);
    let unique = tap.request_id().as_str().trim_start_matches("req_").to_owned();
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
        let input = stored.is_some().then(|| stored::own_input(&referring, &history)).transpose()?;
        let context = ResponseContext { unique, now: || clock::now().seconds(), history, seal, stored };
        Ok::<_, ParseError>((Translated::parse(referring.request.into_chat(traits, context)?)?, input))
    };
    let (translation, input) = surface.body_bounds.work(size, memory, into_chat).await.map_err(failed)?;
    if let (Some(save), Some(input)) = (&mut save, input) {
        stored::set_input(save, input)?;
    }
    keep_translation(memory, translation.request.kept_bytes(), size).map_err(SurfaceError::from)?;
    Ok((translation, save))
}

fn failed(error: ParseError) -> InferenceError {
    InferenceError::Call(CallError::from(error))
}
