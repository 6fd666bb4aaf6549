//! Prompts as tokens and back, in vLLM's format.

use crate::surface::inference::{Exchange, InferenceError, call_error};
use crate::surface::{EdgeResponse, json};
use bytes::Bytes;
use dataplane::request::tokens::{parse_detokenize, parse_tokenize};
use dataplane::request::{ParseError, ParsedRequest};
use dataplane::{Call, CallError};
use domain::Caller;
use domain::limits::RateLimitStatus;
use edge::request_body::WholeBody;
use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use utoipa::ToSchema;

/// The tokens of a prompt.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenList)]
pub(super) struct TokenList<'a> {
    count: u64,
    max_model_len: u64,
    #[schema(value_type = Vec<u32>)]
    tokens: &'a RawValue,
    /// Null unless `return_token_strs` is true and the engine supports it.
    #[schema(value_type = Option<Vec<String>>)]
    token_strs: Option<&'a RawValue>,
}

/// The text of tokens.
#[derive(Serialize, ToSchema)]
#[schema(as = DetokenizedText)]
pub(super) struct DetokenizedText<'a> {
    #[schema(value_type = String)]
    prompt: &'a RawValue,
}

/// Turn a text or a chat into tokens.
#[utoipa::path(post, path = "/v1/tokenize", operation_id = "tokenize", tag = "inference",
    request_body = ref("#/components/schemas/TokenizeRequest"),
    responses((status = 200, body = TokenList<'static>)))]
pub(super) async fn tokenize(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let mut call = begin(exchange, caller, parse_tokenize).await?;
    exchange.hide_end_user(&mut call.request);
    let tokenized = exchange.surface.dataplane.tokenize(&mut call).await;
    let tokenized = end(exchange, &mut call, tokenized)?;
    let body = written(&TokenList {
        count: tokenized.count,
        max_model_len: tokenized.max_model_len,
        tokens: raw(&tokenized.tokens)?,
        token_strs: tokenized.token_strs.as_ref().map(raw).transpose()?,
    });
    Ok(respond(exchange, held(body, tokenized.tokens), tokenized.rate_limits))
}

/// Turn tokens into text.
#[utoipa::path(post, path = "/v1/detokenize", operation_id = "detokenize", tag = "inference",
    request_body = ref("#/components/schemas/DetokenizeRequest"),
    responses((status = 200, body = DetokenizedText<'static>)))]
pub(super) async fn detokenize(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
) -> Result<EdgeResponse, InferenceError> {
    let mut call = begin(exchange, caller, parse_detokenize).await?;
    let detokenized = exchange.surface.dataplane.detokenize(&mut call).await;
    let detokenized = end(exchange, &mut call, detokenized)?;
    let body = written(&DetokenizedText { prompt: raw(&detokenized.text)? });
    Ok(respond(exchange, held(body, detokenized.text), detokenized.rate_limits))
}

async fn begin(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    parse: fn(Bytes) -> Result<ParsedRequest, ParseError>,
) -> Result<Call, InferenceError> {
    let WholeBody { bytes, memory } = exchange.read_body(&caller).await?;
    let request = exchange.surface.body_bounds.parse(bytes, &memory, parse).await?;
    exchange.check_attempts_before(&caller, &request)?;
    Ok(exchange.side_call(caller, request))
}

/// Takes the tap back, and converts the error of the call.
fn end<T>(exchange: &mut Exchange<'_>, call: &mut Call, ended: Result<T, CallError>) -> Result<T, InferenceError> {
    exchange.tap = std::mem::take(&mut call.tap);
    ended.map_err(|error| call_error(error, &call.caller))
}

/// What the engine wrote, which the data plane has read as JSON.
fn raw(json: &Bytes) -> Result<&RawValue, CallError> {
    serde_json::from_slice(json).map_err(|error| CallError::BadGateway { cause: error.to_string() })
}

/// A body, with the part of an engine's response that holds the memory of both.
struct HeldBody {
    body: Vec<u8>,
    _source: Bytes,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// The body, which keeps the memory of `source` until it has been sent.
fn held(body: Vec<u8>, source: Bytes) -> Bytes {
    Bytes::from_owner(HeldBody { body, _source: source })
}

fn written(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("the body has only text keys")
}

fn respond(exchange: &mut Exchange<'_>, body: Bytes, rate_limits: Option<RateLimitStatus>) -> EdgeResponse {
    exchange.rate_limits = rate_limits;
    exchange.serve(json(StatusCode::OK, body))
}
