//! What the surfaces of inference share: who calls, the body, the call itself, and how it ends.
//!
//! The order of checks: credential, attempts, route, method, body, and then the call. A surface adds its routes, its
//! errors and its format.

mod error;
mod storing;

pub(super) use error::{InferenceError, X_SHOULD_RETRY};
pub(super) use storing::PendingSave;

use super::error::SurfaceError;
use super::{MAX_HEADER_BYTES, Surface, is_below, json};
use crate::credential::{self, CredentialError, KeyHeaders};
use crate::surface::{Body, EdgeResponse};
use bytes::Bytes;
use dataplane::record::Outcome;
use dataplane::request::ParsedRequest;
use dataplane::trace::Trace;
use dataplane::usage_tap::UsageTap;
use dataplane::{Call, CallError, Dialect, PlacementNote, ResponseFormat, TRACEPARENT};
use domain::usage::Actor;
use domain::{Caller, RequestId, Timestamp};
use edge::memory_budget::Holder;
use edge::request_body::WholeBody;
use edge::{Headers, Incoming, RequestHead, ResponseBacklog, deadline, request_body};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use storing::StoringBody;
use telemetry::traces::{CallTrace, TRACESTATE, TracedBody};

const X_HOLD_TIMEOUT: &str = "x-hold-timeout";
/// A caller that sends it learns where its call went, if `edge.routing_headers` is set.
const X_FOREBAY_DEBUG: &str = "x-forebay-debug";
const X_FOREBAY_REPLICA: HeaderName = HeaderName::from_static("x-forebay-replica");
const X_FOREBAY_CACHED_ESTIMATE: HeaderName = HeaderName::from_static("x-forebay-cached-estimate");
/// The count of tokens is an estimate, because the engine cannot be asked.
const X_FOREBAY_ESTIMATE: HeaderName = HeaderName::from_static("x-forebay-estimate");
/// Headers with which clients name their session; the first one counts.
const SESSION_HEADERS: [&str; 3] = ["x-session-id", "session-id", "x-claude-code-session-id"];
/// A longer name of a session is ignored.
const MAX_SESSION_BYTES: usize = 256;
const JSON: &str = "content-type: application/json\r\n";
/// Proxies must not buffer events.
const EVENT_STREAM: &str =
    "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n";

/// How a surface writes errors.
pub(super) struct ErrorFormat {
    pub(super) response: fn(&InferenceError, &RequestId) -> Response<Body>,
    /// The last event of a stream that broke.
    pub(super) event: fn(&CallError, &RequestId) -> Bytes,
}

/// Checks the headers and the credential.
pub(super) async fn identify(
    surface: &Surface,
    head: &RequestHead,
    key_headers: KeyHeaders,
    peer: IpAddr,
    tap: &mut UsageTap,
    now: Timestamp,
) -> Result<Arc<Caller>, InferenceError> {
    if head.headers.bytes() > MAX_HEADER_BYTES {
        return Err(SurfaceError::HeadersTooLarge { limit: MAX_HEADER_BYTES }.into());
    }
    if !is_below(head.uri.path(), "/v1") {
        return Err(SurfaceError::RouteNotFound.into());
    }
    let client = || surface.client(peer, &head.headers);
    let caller = credential::identify(&surface.keys, &surface.context, head, key_headers, client, now).await?;
    tap.note(|record| record.caller = Some(Arc::clone(&caller)));
    surface.context.throttles.check_attempts(&caller).map_err(SurfaceError::from)?;
    Ok(caller)
}

/// A call that is about to be made.
pub(super) struct Prepared {
    pub(super) caller: Arc<Caller>,
    pub(super) request: ParsedRequest,
    pub(super) dialect: Dialect,
    pub(super) trace: Option<Arc<CallTrace>>,
    /// Set if the response is to be stored.
    pub(super) save: Option<Box<PendingSave>>,
    pub(super) tap: UsageTap,
}

/// Begins the trace of a call, if it is traced.
pub(super) fn begin_trace(surface: &Surface, headers: &Headers, tap: &mut UsageTap) -> Option<Arc<CallTrace>> {
    let trace = surface.tracer.as_ref().and_then(|tracer| tracer.begin(headers))?;
    tap.trace_to(Arc::clone(&trace) as Arc<dyn Trace>);
    Some(trace)
}

/// Logs tools of a request that only the servers of its API's vendor can run, and that the model therefore does not get.
pub(super) fn log_left_out_tools(tap: &UsageTap, types: &[String]) {
    if !types.is_empty() {
        tracing::debug!(request.id = tap.request_id().as_str(), "left out hosted tools: {}", types.join(", "));
    }
}

/// Makes the call.
pub(super) async fn infer(
    surface: &Surface,
    format: &ErrorFormat,
    headers: &mut Headers,
    body: &mut Incoming,
    Prepared { caller, request, dialect, trace, save, tap }: Prepared,
) -> EdgeResponse {
    if let Some(trace) = &trace {
        trace.record_request(&request.body);
    }
    let mut call = Call {
        caller,
        request,
        dialect,
        headers: forwarded_headers(headers, trace.as_deref()),
        shows_placement: surface.routing_headers && headers.has(X_FOREBAY_DEBUG),
        session: session(headers),
        tap,
        hold_timeout: hold_timeout(headers, surface.hold_timeout),
        error_event: format.event,
    };
    // A call may wait for minutes.
    drop((std::mem::take(headers), std::mem::take(body)));
    match surface.dataplane.infer(&mut call).await {
        Ok(mut response) => {
            let save = match save {
                None => None,
                Some(save) => Box::pin(save.store_whole(&mut response.body)).await,
            };
            // Small responses fit into the buffers of a socket, so only these take from the share of the workspace.
            let holder = Holder::Workspace(call.caller.workspace.clone());
            let backlog = ResponseBacklog::new(surface.body_bounds.memory.grant(holder));
            EdgeResponse { backlog, ..respond(response, trace, save) }
        }
        Err(error) => match call.failed_stream(&error) {
            Some(events) => fail_stream(events, &error.into(), call.tap),
            None => reject(surface, format, &call_error(error, &call.caller), call.tap),
        },
    }
}

/// Sends the events of a stream that failed before it began, and records the call as rejected.
fn fail_stream(events: Bytes, error: &InferenceError, mut tap: UsageTap) -> EdgeResponse {
    let rate_limits = tap.rate_limits();
    tap.note(|record| record.streamed = true);
    tap.settle(Outcome::Rejected { status: error.status().as_u16(), code: error.code() });
    EdgeResponse { lines: EVENT_STREAM, rate_limits, ..Response::new(Body::from(events)).into() }
}

/// Counts the tokens of the prompt of a chat request, and responds with the count as `body` writes it.
pub(super) async fn count_tokens<T: Serialize>(
    surface: &Surface,
    format: &ErrorFormat,
    caller: Arc<Caller>,
    request: ParsedRequest,
    tap: UsageTap,
    body: impl FnOnce(u64) -> T,
) -> EdgeResponse {
    let mut call = Call {
        caller,
        request,
        dialect: Dialect::Chat,
        headers: HeaderMap::new(),
        shows_placement: false,
        session: None,
        tap,
        hold_timeout: surface.hold_timeout,
        error_event: format.event,
    };
    let counted = match surface.dataplane.count_tokens(&mut call).await {
        Ok(counted) => counted,
        Err(error) => return reject(surface, format, &call_error(error, &call.caller), call.tap),
    };
    call.tap.settle(Outcome::Served);
    let body = serde_json::to_vec(&body(counted.tokens)).expect("a count has only text keys");
    let mut response = json(StatusCode::OK, body);
    if counted.is_estimate {
        response.headers_mut().insert(X_FOREBAY_ESTIMATE, HeaderValue::from_static("true"));
    }
    EdgeResponse { rate_limits: counted.rate_limits, ..response.into() }
}

/// Reads the whole body. After an error the rest of it is read and dropped.
pub(super) async fn read_body(
    surface: &Surface,
    headers: &Headers,
    body: &mut Incoming,
    caller: &Caller,
) -> Result<WholeBody, InferenceError> {
    let holder = Holder::Workspace(caller.workspace.clone());
    match surface.body_bounds.read(headers, body, holder).await {
        Ok(whole) => Ok(whole),
        Err(error) => {
            request_body::discard(headers, body).await;
            Err(SurfaceError::from(error).into())
        }
    }
}

/// An endpoint of another workspace: for a key the plain 401, which reveals nothing; a user learns where to look.
pub(super) fn call_error(error: CallError, caller: &Caller) -> InferenceError {
    match (&error, &caller.actor) {
        (CallError::WrongWorkspace, Actor::Key(_)) => {
            CredentialError::Unauthenticated { cause: "a key of another workspace" }.into()
        }
        _ => InferenceError::Call(error),
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

fn respond(
    response: dataplane::Response,
    trace: Option<Arc<CallTrace>>,
    save: Option<Box<PendingSave>>,
) -> EdgeResponse {
    let lines = match response.format {
        ResponseFormat::Json => JSON,
        ResponseFormat::EventStream => EVENT_STREAM,
    };
    let mut http_response = Response::new(match (trace, save) {
        (None, None) => Body::Relayed(response.body),
        (Some(trace), None) => Body::Observed(Box::new(TracedBody::new(response.body, response.format, trace))),
        (None, Some(save)) => Body::Observed(Box::new(StoringBody::new(Box::new(response.body), save))),
        (Some(trace), Some(save)) => {
            let traced = TracedBody::new(response.body, response.format, trace);
            Body::Observed(Box::new(StoringBody::new(Box::new(traced), save)))
        }
    });
    if let Some(PlacementNote { replica, cached_estimate }) = response.placement {
        let headers = http_response.headers_mut();
        headers.extend(HeaderValue::from_str(&replica).ok().map(|replica| (X_FOREBAY_REPLICA, replica)));
        headers.extend(cached_estimate.map(|tokens| (X_FOREBAY_CACHED_ESTIMATE, HeaderValue::from(tokens))));
    }
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

/// Sends a response that needed no replica, or the error, and closes the record of the request.
pub(super) fn serve(
    surface: &Surface,
    format: &ErrorFormat,
    response: Result<Response<Body>, InferenceError>,
    mut tap: UsageTap,
) -> EdgeResponse {
    match response {
        Ok(response) => {
            tap.settle(Outcome::Served);
            response.into()
        }
        Err(error) => reject(surface, format, &error, tap),
    }
}

/// Converts an error to its response and closes the record of the call.
pub(super) fn reject(
    surface: &Surface,
    format: &ErrorFormat,
    error: &InferenceError,
    mut tap: UsageTap,
) -> EdgeResponse {
    if error.is_failed_attempt()
        && let Some(caller) = tap.caller()
    {
        surface.context.throttles.count_attempt(caller);
    }
    tap.note(|record| record.cause = record.cause.take().or_else(|| error.cause()));
    let rate_limits = tap.rate_limits().or_else(|| error.rate_limits());
    let response = match error {
        InferenceError::Call(CallError::HoldTimeout) => deadline::response(),
        _ => (format.response)(error, tap.request_id()),
    };
    tap.settle(Outcome::Rejected { status: response.status().as_u16(), code: error.code() });
    EdgeResponse { rate_limits, ..response.into() }
}
