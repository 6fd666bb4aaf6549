//! A call: the parsed request, its caller, and the tap that records it.

use crate::error::CallError;
use crate::request::{ParsedRequest, SessionContext};
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use dialects::Dialect;
use domain::limits::RateLimitStatus;
use domain::{CallClass, Caller, RequestId};
use fleet::backend::BackendId;
use fleet::{Backend, Fingerprint};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The W3C trace context header.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// One call on its way through the data plane.
pub struct Call {
    pub caller: Arc<Caller>,
    /// Set to flex once the model is known, if the client asks for it and the model has it.
    pub class: CallClass,
    pub request: ParsedRequest,
    /// Set if the request was counted against the requests per minute before, see [`crate::Dataplane::count_request`].
    pub counted: Option<RateLimitStatus>,
    /// The API of the response.
    pub dialect: Dialect,
    /// The client's headers that are forwarded to model servers.
    pub headers: HeaderMap,
    /// Whether the response says where the call was sent.
    pub shows_placement: bool,
    /// The client's name of the session that the call belongs to, from a header.
    pub session: Option<Box<[u8]>>,
    pub tap: UsageTap,
    /// How long after its start the call may wait for a replica of a dedicated endpoint, or for room if it yields to
    /// interactive calls.
    pub hold_timeout: Duration,
    /// How long a stream may be silent before its first event; `None` for any time.
    pub keep_alive: Option<Duration>,
    /// Encodes an error as the last event of a stream, in the format of the surface.
    pub error_event: fn(&CallError, &RequestId) -> Bytes,
}

/// The search of one call for a slot.
#[derive(Clone, Copy)]
pub(crate) struct SlotSearch<'a> {
    request: &'a ParsedRequest,
    session: SessionContext<'a>,
    pub(crate) class: CallClass,
    /// The prompts of different tenants are never cached together.
    tenant: &'a str,
    /// Replicas that failed to serve the call.
    pub(crate) tried: &'a [BackendId],
    /// The deadline for waiting.
    pub(crate) until: Instant,
}

impl<'a> SlotSearch<'a> {
    pub(crate) fn new(request: &'a ParsedRequest, tried: &'a [BackendId], until: Instant) -> Self {
        let class = CallClass::Interactive;
        Self { request, session: SessionContext::default(), class, tenant: "", tried, until }
    }

    /// Not to be called for a model with a single replica.
    pub(crate) fn prompt(&self) -> &'a Fingerprint {
        self.request.fingerprint(self.tenant, self.session)
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.request.body.len()
    }
}

impl Call {
    /// The events with which a stream fails that has not begun; `None` if the client gets an HTTP error.
    pub fn failed_stream(&self, error: &CallError) -> Option<Bytes> {
        if self.request.is_stream() { error.with_failure(|failure| self.dialect.failed_stream(failure)) } else { None }
    }

    /// The call, to be served on its own: this one has no tap from now on.
    pub(crate) fn detach(&mut self) -> Self {
        Self {
            caller: Arc::clone(&self.caller),
            class: self.class,
            counted: self.counted,
            request: self.request.clone(),
            dialect: self.dialect.clone(),
            headers: self.headers.clone(),
            shows_placement: self.shows_placement,
            session: self.session.clone(),
            tap: std::mem::take(&mut self.tap),
            hold_timeout: self.hold_timeout,
            keep_alive: self.keep_alive,
            error_event: self.error_event,
        }
    }

    /// The search for a slot at a replica that was not `tried` before, among the prompts of `tenant`.
    pub(crate) fn slot_search<'a>(&'a self, tenant: &'a str, tried: &'a [BackendId]) -> SlotSearch<'a> {
        let until = self.tap.started() + self.hold_timeout;
        let session = SessionContext { workspace: self.caller.workspace.as_str(), header: self.session.as_deref() };
        SlotSearch { session, class: self.class, tenant, ..SlotSearch::new(&self.request, tried, until) }
    }

    /// Records an attempt at a replica and returns when it began.
    pub(crate) fn begin_attempt(&mut self, replica: &Arc<Backend>) -> Instant {
        let now = self.tap.sent_to(replica);
        if let Some(traceparent) = self.tap.attempt_begins(replica) {
            self.headers.insert(TRACEPARENT, traceparent);
        }
        now
    }
}
