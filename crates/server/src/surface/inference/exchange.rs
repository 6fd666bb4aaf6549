//! One request for inference: who sends it, its body, the call, and how it ends.

use super::end_user::NamedEndUser;
use super::storing::StoringBody;
use super::{InferenceError, PendingSave, call_error};
use crate::credential::{self, KeyHeaders};
use crate::surface::error::SurfaceError;
use crate::surface::{Body, EdgeResponse, MAX_HEADER_BYTES, Surface, json};
use bytes::Bytes;
use config::MAX_KEEP_ALIVE;
use control::Author;
use dataplane::record::Outcome;
use dataplane::request::ParsedRequest;
use dataplane::trace::Trace;
use dataplane::usage_tap::UsageTap;
use dataplane::{Call, CallError, Dialect, PlacementNote, ResponseFormat, TRACEPARENT};
use domain::limits::RateLimitStatus;
use domain::{CallClass, Caller, Permission, RequestId, Timestamp};
use edge::memory_budget::Holder;
use edge::request_body::WholeBody;
use edge::throttle::Throttled;
use edge::{Headers, Incoming, ResponseBacklog, deadline, request_body};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use serde::Serialize;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use telemetry::traces::{CallTrace, TRACESTATE, TracedBody};

const X_HOLD_TIMEOUT: &str = "x-hold-timeout";
const X_KEEP_ALIVE: &str = "x-keep-alive";
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
pub(in crate::surface) struct ErrorFormat {
    pub(in crate::surface) response: fn(&InferenceError, &RequestId) -> Response<Body>,
    /// The last event of a stream that broke.
    pub(in crate::surface) event: fn(&CallError, &RequestId) -> Bytes,
}

/// A request on its way to its response. Handlers return their errors, which [`Exchange::finish`] converts.
pub(in crate::surface) struct Exchange<'a> {
    pub(in crate::surface) surface: &'a Surface,
    pub(in crate::surface) format: &'a ErrorFormat,
    pub(in crate::surface) method: &'a Method,
    pub(in crate::surface) uri: &'a Uri,
    pub(in crate::surface) headers: &'a mut Headers,
    pub(in crate::surface) body: &'a mut Incoming,
    pub(in crate::surface) peer: IpAddr,
    pub(in crate::surface) now: Timestamp,
    /// Empty once the response has taken it.
    pub(in crate::surface) tap: UsageTap,
    /// `None` unless the call is traced.
    pub(in crate::surface) trace: Option<Arc<CallTrace>>,
    /// The rate limits of a request that was admitted without a call.
    pub(in crate::surface) rate_limits: Option<RateLimitStatus>,
    /// Set if the request of a call was counted before the call is made.
    pub(in crate::surface) counted: Option<RateLimitStatus>,
    /// Members of the body that engines do not get.
    pub(in crate::surface) hidden: Vec<Range<usize>>,
    /// The class of the call that is made.
    pub(in crate::surface) class: CallClass,
    /// Set if too many earlier calls of the caller failed, and the model may still be a dedicated endpoint.
    pub(in crate::surface) throttled: Option<Throttled>,
}

/// A call that is about to be made.
pub(in crate::surface) struct Prepared {
    pub(in crate::surface) caller: Arc<Caller>,
    pub(in crate::surface) request: ParsedRequest,
    pub(in crate::surface) dialect: Dialect,
    /// Set if the response is to be stored.
    pub(in crate::surface) save: Option<Box<PendingSave>>,
}

impl Exchange<'_> {
    /// Checks the headers and the credential.
    pub(in crate::surface) async fn identify(
        &mut self,
        key_headers: KeyHeaders,
    ) -> Result<Arc<Caller>, InferenceError> {
        let Self { surface, headers, .. } = self;
        if headers.bytes() > MAX_HEADER_BYTES {
            return Err(SurfaceError::HeadersTooLarge { limit: MAX_HEADER_BYTES }.into());
        }
        let (request, client) = ((self.method, &**headers), || surface.client(self.peer, headers));
        let caller =
            credential::identify(&surface.keys, &surface.context, request, key_headers, client, self.now).await?;
        self.tap.note(|record| record.caller = Some(Arc::clone(&caller)));
        if let Err(throttled) = surface.context.throttles.check_attempts(&caller) {
            // Failures of serverless calls do not stop a dedicated endpoint, and its name is in the body.
            if !surface.dataplane.has_endpoint(&caller) {
                return Err(SurfaceError::from(throttled).into());
            }
            self.throttled = Some(throttled);
        }
        credential::check_permission(&caller, Permission::Inference)?;
        Ok(caller)
    }

    /// The caller, as the author of a change.
    pub(in crate::surface) fn author(&self, caller: &Caller) -> Author {
        credential::author(caller, self.surface.client(self.peer, self.headers))
    }

    /// Rejects a request that calls no model if too many calls of the caller failed.
    pub(in crate::surface) fn check_attempts(&self) -> Result<(), InferenceError> {
        self.throttled.map_or(Ok(()), |throttled| Err(SurfaceError::from(throttled).into()))
    }

    /// Rejects a call if too many calls of the caller failed, unless it is for a dedicated endpoint.
    pub(in crate::surface) fn check_attempts_before(
        &self,
        caller: &Caller,
        request: &ParsedRequest,
    ) -> Result<(), InferenceError> {
        let may_pass = self.throttled.is_none() || self.surface.dataplane.is_dedicated(caller, request);
        if may_pass { Ok(()) } else { self.check_attempts() }
    }

    /// Begins the trace of a call, if it is traced.
    pub(in crate::surface) fn begin_trace(&mut self) {
        self.trace = self.surface.tracer.as_ref().and_then(|tracer| tracer.begin(self.headers));
        if let Some(trace) = &self.trace {
            self.tap.trace_to(Arc::clone(trace) as Arc<dyn Trace>);
        }
    }

    /// Reads the whole body, and who the person behind a trusted key is.
    pub(in crate::surface) async fn read_body(&mut self, caller: &Caller) -> Result<WholeBody, InferenceError> {
        let holder = Holder::Organization(caller.organization.clone());
        let whole = self.surface.body_bounds.read(self.headers, self.body, holder).await.map_err(SurfaceError::from)?;
        if caller.end_users.is_some() {
            let (names, bounds) = (&self.surface.end_users, &self.surface.body_bounds);
            let NamedEndUser { end_user, hidden } = Box::pin(names.find(caller, self.headers, &whole, bounds)).await?;
            self.tap.note(|record| record.end_user = end_user);
            self.hidden = hidden;
        }
        Ok(whole)
    }

    /// Counts the request of a call to this model, before something is loaded for it.
    pub(in crate::surface) async fn count_request(
        &mut self,
        caller: &Arc<Caller>,
        model: &str,
    ) -> Result<(), InferenceError> {
        if self.class == CallClass::Batch {
            return Ok(());
        }
        let counted =
            self.surface.dataplane.count_request(caller, model, self.tap.end_user(), self.tap.request_id().clone());
        let counted = counted.await;
        self.counted = counted.map_err(|error| call_error(error, caller))?;
        self.rate_limits = self.counted;
        Ok(())
    }

    /// Logs tools of a request that only the servers of its API's vendor can run, and that the model therefore does not
    /// get.
    pub(in crate::surface) fn log_omitted_tools(&self, types: &[String]) {
        if !types.is_empty() {
            let id = self.tap.request_id().as_str();
            tracing::debug!(request.id = id, "omitted hosted tools: {}", types.join(", "));
        }
    }

    /// Makes the call.
    pub(in crate::surface) async fn infer(
        &mut self,
        Prepared { caller, mut request, dialect, save }: Prepared,
    ) -> Result<EdgeResponse, InferenceError> {
        self.check_attempts_before(&caller, &request)?;
        let is_codex = matches!(dialect, Dialect::Responses(_)) && self.is_codex();
        let Self { surface, headers, .. } = self;
        let keep_alive = keep_alive(headers, surface.keep_alive)?;
        if let Some(trace) = &self.trace {
            trace.record_request(&request.body);
        }
        // A translation leaves them out.
        if matches!(dialect, Dialect::Chat) {
            request.hide(std::mem::take(&mut self.hidden));
        }
        let mut call = Call {
            caller,
            class: self.class,
            request,
            counted: self.counted,
            dialect,
            headers: forwarded_headers(headers, self.trace.as_deref()),
            shows_placement: surface.routing_headers && headers.has(X_FOREBAY_DEBUG),
            session: session(headers),
            tap: std::mem::take(&mut self.tap),
            hold_timeout: hold_timeout(headers, surface.hold_timeout),
            keep_alive,
            error_event: self.format.event,
        };
        // A call may wait for minutes.
        drop((std::mem::take(*headers), std::mem::take(self.body)));
        match surface.dataplane.infer(&mut call).await {
            Ok(mut response) => {
                let save = match save {
                    None => None,
                    Some(save) => Box::pin(save.store_whole(&mut response.body)).await,
                };
                // Small responses fit into the buffers of a socket, so only these take from the share of the organization.
                let holder = Holder::Organization(call.caller.organization.clone());
                let backlog = ResponseBacklog::new(surface.body_bounds.memory.grant(holder));
                Ok(EdgeResponse { backlog, ..respond(response, self.trace.take(), save) })
            }
            Err(error) => {
                self.tap = std::mem::take(&mut call.tap);
                match call.failed_stream(&error).filter(|_| is_codex || !error.is_spent()) {
                    Some(events) => Ok(self.fail_stream(events, &error.into())),
                    None => Err(call_error(error, &call.caller)),
                }
            }
        }
    }

    /// Keeps from the engine who the person behind a trusted key is.
    pub(in crate::surface) fn hide_end_user(&mut self, request: &mut ParsedRequest) {
        request.hide(std::mem::take(&mut self.hidden));
    }

    /// Codex waits as long as the `Retry-After` of a spent quota or budget says: until the month ends. After an event, it ends its
    /// turn.
    fn is_codex(&self) -> bool {
        self.headers.text(header::USER_AGENT).is_some_and(|agent| agent.starts_with("codex"))
    }

    /// Sends the events of a stream that failed before it began, and records the call as rejected.
    fn fail_stream(&mut self, events: Bytes, error: &InferenceError) -> EdgeResponse {
        let rate_limits = self.tap.rate_limits();
        self.tap.note(|record| record.streamed = true);
        self.tap.settle(Outcome::Rejected { status: error.status().as_u16(), code: error.code() });
        EdgeResponse { lines: EVENT_STREAM, rate_limits, ..Response::new(Body::from(events)).into() }
    }

    /// A call that asks an engine for something other than a response of its model. It takes the tap, which the caller
    /// returns.
    pub(in crate::surface) fn side_call(&mut self, caller: Arc<Caller>, request: ParsedRequest) -> Call {
        Call {
            caller,
            class: CallClass::default(),
            request,
            counted: self.counted,
            dialect: Dialect::Chat,
            headers: HeaderMap::new(),
            shows_placement: false,
            session: None,
            tap: std::mem::take(&mut self.tap),
            hold_timeout: hold_timeout(self.headers, self.surface.hold_timeout),
            keep_alive: None,
            error_event: self.format.event,
        }
    }

    /// Counts the tokens of the prompt of a chat request, and responds with the count as `body` writes it.
    pub(in crate::surface) async fn count_tokens<T: Serialize>(
        &mut self,
        caller: Arc<Caller>,
        request: ParsedRequest,
        body: impl FnOnce(u64) -> T,
    ) -> Result<EdgeResponse, InferenceError> {
        self.check_attempts_before(&caller, &request)?;
        let mut call = self.side_call(caller, request);
        let counted = self.surface.dataplane.count_tokens(&mut call).await;
        self.tap = std::mem::take(&mut call.tap);
        let counted = counted.map_err(|error| call_error(error, &call.caller))?;
        let body = serde_json::to_vec(&body(counted.tokens)).expect("a count has only text keys");
        let mut response = json(StatusCode::OK, body);
        if counted.is_estimate {
            response.headers_mut().insert(X_FOREBAY_ESTIMATE, HeaderValue::from_static("true"));
        }
        self.rate_limits = counted.rate_limits;
        Ok(self.serve(response))
    }

    /// Sends a response that is complete, and closes the record of the request.
    pub(in crate::surface) fn serve(&mut self, response: Response<Body>) -> EdgeResponse {
        self.tap.settle(Outcome::Served);
        response.into()
    }

    /// Ends the exchange. An error becomes its response and closes the record of the request; the rest of the body is read
    /// and dropped before.
    pub(in crate::surface) async fn finish(self, response: Result<EdgeResponse, InferenceError>) -> EdgeResponse {
        match response {
            Ok(mut response) => {
                response.rate_limits = response.rate_limits.or(self.rate_limits);
                response
            }
            Err(error) => {
                request_body::discard(self.headers, self.body).await;
                match self.throttled {
                    Some(throttled) if error.is_failed_attempt() => self.reject(&SurfaceError::from(throttled).into()),
                    _ => self.reject(&error),
                }
            }
        }
    }

    fn reject(mut self, error: &InferenceError) -> EdgeResponse {
        let tap = &mut self.tap;
        // Lines of batches are bounded by their number, and must not end the interactive calls of their key.
        if error.is_failed_attempt()
            && self.class != CallClass::Batch
            && let Some(caller) = tap.caller()
        {
            self.surface.context.throttles.count_attempt(caller);
        }
        tap.note(|record| record.cause = record.cause.take().or_else(|| error.cause()));
        let rate_limits = tap.rate_limits().or(self.rate_limits).or_else(|| error.rate_limits());
        let response = match error {
            InferenceError::Call(CallError::HoldTimeout) => deadline::response(),
            _ => (self.format.response)(error, tap.request_id()),
        };
        tap.settle(Outcome::Rejected { status: response.status().as_u16(), code: error.code() });
        EdgeResponse { rate_limits, ..response.into() }
    }
}

/// `X-Hold-Timeout: <seconds>` can only shorten the wait. Anything but a whole number from 1 is ignored.
fn hold_timeout(headers: &Headers, limit: Duration) -> Duration {
    let requested = headers.text(X_HOLD_TIMEOUT).and_then(|text| text.trim().parse().ok());
    requested.filter(|seconds| *seconds >= 1).map_or(limit, |seconds| Duration::from_secs(seconds).min(limit))
}

/// `X-Keep-Alive: <seconds>` is the interval of this call; 0 turns it off.
fn keep_alive(headers: &Headers, usual: Option<Duration>) -> Result<Option<Duration>, CallError> {
    let Some(value) = headers.get(X_KEEP_ALIVE) else { return Ok(usual) };
    let seconds = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
    match seconds {
        None => Err(CallError::Unreadable("the header X-Keep-Alive must be a whole number of seconds".into())),
        Some(0) => Ok(None),
        Some(seconds) => Ok(Some(Duration::from_secs(seconds).min(MAX_KEEP_ALIVE))),
    }
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

/// The client headers that are forwarded to a model server. A traced call gets a `traceparent` of its own.
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
