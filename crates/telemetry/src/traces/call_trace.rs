//! A traced call, from its start until its last reference is dropped.

use super::context::{Parent, traceparent};
use super::queue::Queue;
use super::request::RequestDetails;
use super::response::ResponseDetails;
use crate::access_log::status_of;
use dataplane::record::{CallRecord, Outcome};
use dataplane::trace::Trace;
use domain::usage::{Certainty, Tokens};
use fleet::Backend;
use http::HeaderValue;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Further span ids are derived from the first one, so that they need no more randomness.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The ids of the trace and of the call's span.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) trace_id: u128,
    /// The id of the call's span.
    pub(super) span_id: u64,
    pub(super) parent: Option<Parent>,
    pub(super) tracestate: String,
}

/// An attempt to call a replica.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) span_id: u64,
    pub(super) replica: Arc<Backend>,
    /// Time since the start of the call.
    pub(super) began: Duration,
    pub(super) failed: Option<(&'static str, Duration)>,
}

/// The part of a call's record that its spans show.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) route: &'static str,
    pub(super) request: String,
    pub(super) workspace: Option<String>,
    /// Milliseconds since 1970.
    pub(super) started_millis: i64,
    pub(super) duration: Duration,
    pub(super) first_byte: Option<Duration>,
    pub(super) held: Option<Duration>,
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) is_broken: bool,
    pub(super) model: Option<String>,
    pub(super) streamed: bool,
    pub(super) tokens: Tokens,
    pub(super) certainty: Option<Certainty>,
}

/// The facts about a call that are known so far.
#[derive(Debug, Default)]
pub(super) struct CallDetails {
    pub(super) request: RequestDetails,
    pub(super) attempts: Vec<Attempt>,
    pub(super) response: ResponseDetails,
    pub(super) settled: Option<Settled>,
}

/// Queued for export when the last reference is dropped.
pub struct CallTrace {
    context: Context,
    with_content: bool,
    details: Mutex<CallDetails>,
    queue: Arc<Queue>,
}

impl CallTrace {
    pub(super) fn new(context: Context, with_content: bool, queue: Arc<Queue>) -> Self {
        Self { context, with_content, details: Mutex::default(), queue }
    }

    /// Whether the call continues a trace of the caller.
    pub fn has_parent(&self) -> bool {
        self.context.parent.is_some()
    }

    pub(super) fn with_content(&self) -> bool {
        self.with_content
    }

    /// Reads the attributes of the request's body.
    pub fn record_request(&self, body: &[u8]) {
        self.details.lock().request = RequestDetails::read(body, self.with_content);
    }

    pub(super) fn record_response(&self, response: ResponseDetails) {
        self.details.lock().response = response;
    }
}

impl fmt::Debug for CallTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallTrace({:032x})", self.context.trace_id)
    }
}

impl Trace for CallTrace {
    fn attempt_begins(&self, replica: &Arc<Backend>, at: Duration) -> HeaderValue {
        let mut details = self.details.lock();
        let number = details.attempts.len() as u64 + 1;
        let span_id = self.context.span_id.wrapping_add(number.wrapping_mul(GOLDEN)).max(1);
        details.attempts.push(Attempt { span_id, replica: Arc::clone(replica), began: at, failed: None });
        traceparent(self.context.trace_id, span_id)
    }

    fn attempt_failed(&self, reason: &'static str, at: Duration) {
        if let Some(attempt) = self.details.lock().attempts.last_mut() {
            attempt.failed = Some((reason, at));
        }
    }

    fn settled(&self, record: &CallRecord) {
        let (status, code) = status_of(record.outcome);
        self.details.lock().settled = Some(Settled {
            route: record.route,
            request: record.request.to_string(),
            workspace: record.caller.as_ref().map(|caller| caller.workspace.to_string()),
            started_millis: record.started_at.millis(),
            duration: record.duration,
            first_byte: record.first_byte,
            held: record.held,
            status,
            code,
            is_broken: matches!(record.outcome, Outcome::Interrupted { .. }),
            model: record.model.as_ref().map(|route| route.model.id.to_string()),
            streamed: record.streamed,
            tokens: record.tokens,
            certainty: record.replica.as_ref().map(|_| record.certainty),
        });
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        let details = std::mem::take(&mut *self.details.lock());
        if let Some(settled) = &details.settled {
            debug_assert!(!settled.request.is_empty());
            self.queue.push(self.context.clone(), details);
        }
    }
}
