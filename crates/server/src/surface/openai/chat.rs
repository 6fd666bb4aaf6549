//! Calls to models: reads the body and hands the call to the data plane.

use super::error::{self, InferenceError};
use super::reject;
use crate::credential::CredentialError;
use crate::edge::memory_budget::Holder;
use crate::edge::request_body::WholeBody;
use crate::edge::{Body, EdgeResponse, Headers, Incoming, request_body};
use crate::surface::Surface;
use crate::surface::error::SurfaceError;
use crate::telemetry::traces::{CallTrace, TRACESTATE, TracedBody};
use bytes::Bytes;
use dataplane::request::{ParseError, ParsedRequest};
use dataplane::trace::Trace;
use dataplane::usage_tap::UsageTap;
use dataplane::{Call, CallError, Dialect, ResponseFormat, TRACEPARENT};
use domain::Caller;
use domain::usage::Actor;
use http::{HeaderMap, HeaderValue, Response};
use std::sync::Arc;
use std::time::Duration;

const X_HOLD_TIMEOUT: &str = "x-hold-timeout";
/// Headers with which clients name their session; the first one counts.
const SESSION_HEADERS: [&str; 3] = ["x-session-id", "session-id", "x-claude-code-session-id"];
/// A longer name of a session is ignored.
const MAX_SESSION_BYTES: usize = 256;
const JSON: &str = "content-type: application/json\r\n";
/// Proxies must not buffer events.
const EVENT_STREAM: &str =
    "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n";

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
    infer(surface, headers, body, caller, tap, dataplane::request::chat::parse).await
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
    infer(surface, headers, body, caller, tap, dataplane::request::embeddings::parse).await
}

async fn infer(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
    parse: fn(Bytes) -> Result<ParsedRequest, ParseError>,
) -> EdgeResponse {
    let trace = surface.tracer.as_ref().and_then(|tracer| tracer.begin(headers));
    if let Some(trace) = trace.clone() {
        tap.trace_to(trace as Arc<dyn Trace>);
    }
    let holder = Holder::Workspace(caller.workspace.clone());
    // The memory is returned at the end of this function, when the call and its body are dropped.
    let WholeBody { bytes, memory } = match surface.body_bounds.read(headers, body, holder).await {
        Ok(whole) => whole,
        Err(error) => {
            request_body::discard(headers, body).await;
            return reject(surface, &SurfaceError::from(error).into(), tap);
        }
    };
    let request = match surface.body_bounds.parse(bytes, &memory, parse).await {
        Ok(request) => request,
        Err(error) => return reject(surface, &InferenceError::Call(CallError::from(error)), tap),
    };
    if let Some(trace) = &trace {
        trace.record_request(&request.body);
    }
    let mut call = Call {
        caller,
        request,
        dialect: Dialect::Native,
        headers: forwarded_headers(headers, trace.as_deref()),
        session: session(headers),
        tap,
        hold_timeout: hold_timeout(headers, surface.hold_timeout),
        error_event: error::event,
    };
    // A call may wait for minutes.
    drop((std::mem::take(headers), std::mem::take(body)));
    match surface.dataplane.infer(&mut call).await {
        Ok(response) => respond(response, trace),
        Err(CallError::WrongWorkspace) => reject(surface, &wrong_workspace(&call.caller.actor), call.tap),
        Err(error) => reject(surface, &InferenceError::Call(error), call.tap),
    }
}

/// An endpoint of another workspace: for a key the plain 401, which reveals nothing; a user learns where to look.
pub(super) fn wrong_workspace(actor: &Actor) -> InferenceError {
    match actor {
        Actor::Key(_) => CredentialError::Unauthenticated { cause: "a key of another workspace" }.into(),
        Actor::User(_) => InferenceError::Call(CallError::WrongWorkspace),
    }
}

/// `X-Hold-Timeout: <seconds>` can only shorten the wait. Anything but a whole number from 1 is ignored.
fn hold_timeout(headers: &Headers, limit: Duration) -> Duration {
    let requested = headers.text(X_HOLD_TIMEOUT).and_then(|text| text.trim().parse().ok());
    requested.filter(|seconds| *seconds >= 1).map_or(limit, |seconds| Duration::from_secs(seconds).min(limit))
}

fn session(headers: &Headers) -> Option<Box<[u8]>> {
    let named = SESSION_HEADERS.iter().find_map(|name| headers.get(name))?;
    (1..=MAX_SESSION_BYTES).contains(&named.len()).then(|| named.into())
}

fn respond(response: dataplane::Response, trace: Option<Arc<CallTrace>>) -> EdgeResponse {
    let lines = match response.format {
        ResponseFormat::Json => JSON,
        ResponseFormat::EventStream => EVENT_STREAM,
    };
    let http_response = Response::new(match trace {
        Some(trace) => Body::Observed(Box::new(TracedBody::new(response.body, response.format, trace))),
        None => Body::Relayed(response.body),
    });
    EdgeResponse { lines, rate_limits: response.rate_limits, ..http_response.into() }
}

/// The client headers that are passed on to a model server. A traced call gets a `traceparent` of its own.
fn forwarded_headers(headers: &Headers, trace: Option<&CallTrace>) -> HeaderMap {
    let names = match trace {
        None => &[TRACEPARENT, TRACESTATE][..],
        Some(trace) if trace.has_parent() => &[TRACESTATE][..],
        Some(_) => &[],
    };
    let mut kept = HeaderMap::new();
    for name in names {
        if let Some(Ok(value)) = headers.get(name).map(HeaderValue::from_bytes) {
            kept.insert(name, value);
        }
    }
    kept
}
