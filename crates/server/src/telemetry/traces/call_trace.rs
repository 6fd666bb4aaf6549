//! One call that is traced, from its beginning to the moment when nobody holds on to it any more.

use super::answered::Answered;
use super::asked::Asked;
use super::context::{Parent, traceparent};
use super::queue::Queue;
use crate::telemetry::access_log::status_of;
use dataplane::trace::Trace;
use dataplane::usage_tap::{Outcome, Record};
use domain::usage::{Certainty, Tokens};
use fleet::Backend;
use http::HeaderValue;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Ids of spans are taken from the id of the first, so that they need no more randomness.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which spans of which trace are ours.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) trace_id: u128,
    /// Of the span of the whole call.
    pub(super) span_id: u64,
    pub(super) parent: Option<Parent>,
    pub(super) tracestate: String,
}

/// A replica that was asked.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) span_id: u64,
    pub(super) replica: Arc<Backend>,
    /// Since the call came in.
    pub(super) began: Duration,
    pub(super) failed: Option<(&'static str, Duration)>,
}

/// What the record of a call says, as far as spans tell it.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) route: &'static str,
    pub(super) request: String,
    pub(super) workspace: Option<String>,
    /// Since 1970.
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

/// What is known of a call so far.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) asked: Asked,
    pub(super) attempts: Vec<Attempt>,
    pub(super) answered: Answered,
    pub(super) settled: Option<Settled>,
}

/// When the last holder lets go of it, it is queued for export.
pub(crate) struct CallTrace {
    context: Context,
    with_content: bool,
    sheet: Mutex<Sheet>,
    queue: Arc<Queue>,
}

impl CallTrace {
    pub(super) fn new(context: Context, with_content: bool, queue: Arc<Queue>) -> Self {
        Self { context, with_content, sheet: Mutex::default(), queue }
    }

    /// Whether the caller's trace goes on here.
    pub(crate) fn has_parent(&self) -> bool {
        self.context.parent.is_some()
    }

    pub(super) fn with_content(&self) -> bool {
        self.with_content
    }

    /// The body of the request has been read.
    pub(crate) fn asked(&self, body: &[u8]) {
        self.sheet().asked = Asked::read(body, self.with_content);
    }

    pub(super) fn answered(&self, answered: Answered) {
        self.sheet().answered = answered;
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CallTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallTrace({:032x})", self.context.trace_id)
    }
}

impl Trace for CallTrace {
    fn attempt_begins(&self, replica: &Arc<Backend>, at: Duration) -> HeaderValue {
        let mut sheet = self.sheet();
        let number = sheet.attempts.len() as u64 + 1;
        let span_id = self.context.span_id.wrapping_add(number.wrapping_mul(GOLDEN)).max(1);
        sheet.attempts.push(Attempt { span_id, replica: Arc::clone(replica), began: at, failed: None });
        traceparent(self.context.trace_id, span_id)
    }

    fn attempt_failed(&self, reason: &'static str, at: Duration) {
        if let Some(attempt) = self.sheet().attempts.last_mut() {
            attempt.failed = Some((reason, at));
        }
    }

    fn settled(&self, record: &Record) {
        let (status, code) = status_of(record.outcome);
        self.sheet().settled = Some(Settled {
            route: record.route,
            request: record.request.to_string(),
            workspace: record.caller.as_ref().map(|caller| caller.workspace.to_string()),
            started_millis: record.started_at.millis(),
            duration: record.duration,
            first_byte: record.first_byte,
            held: record.held,
            status,
            code,
            is_broken: matches!(record.outcome, Outcome::Broken { .. }),
            model: record.model.as_ref().map(|route| route.model.id.to_string()),
            streamed: record.streamed,
            tokens: record.tokens,
            certainty: record.replica.as_ref().map(|_| record.certainty),
        });
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        let sheet = std::mem::take(&mut *self.sheet());
        if let Some(settled) = &sheet.settled {
            debug_assert!(!settled.request.is_empty());
            self.queue.push(self.context.clone(), sheet);
        }
    }
}
