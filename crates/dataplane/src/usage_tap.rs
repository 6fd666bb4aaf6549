//! Records a call and settles its limits, however it ends.
//!
//! A tap is opened when a request arrives and moves with it into the response body. It settles when the response is
//! complete, or on drop, so no exit can forget it.

use crate::admission::{Permit, UsedTokens};
use crate::record::{CallRecord, Outcome};
use crate::response::TokenMeter;
use crate::trace::Trace;
use domain::limits::RateLimitStatus;
use domain::usage::{Certainty, Tokens};
use domain::{Caller, RequestId, Timestamp};
use fleet::Backend;
use http::HeaderValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Receives the record of every call. Must not block.
pub trait Sink: Send + Sync {
    fn settle(&self, record: &CallRecord);

    /// Records the usage of a running call, which is charged for it if the gateway crashes.
    fn mark(&self, record: &CallRecord);
}

/// A stream is marked every time it has generated this many tokens.
const MARK_EVERY: u64 = 512;

/// A running call, which is settled when this is dropped at the latest. A pointer, because it moves from the request to the
/// response; the default has nothing to settle.
#[derive(Default)]
pub struct UsageTap(Option<Box<RunningCall>>);

/// The record of a call, with everything that must be settled at its end.
struct RunningCall {
    sink: Arc<dyn Sink>,
    started: Instant,
    record: CallRecord,
    permit: Option<Box<Permit>>,
    trace: Option<Arc<dyn Trace>>,
    /// Since when the call waits for a replica.
    held_since: Option<Instant>,
    /// The number of generated tokens at which a mark or a further charge is due.
    wake_at: u64,
    next_mark: u64,
    /// The estimated tokens of a prompt that was written to a replica, which may be reading it; 0 before that. Atomic
    /// because it is set while the call is borrowed; only one thread uses it.
    prompt_sent: AtomicU64,
}

impl UsageTap {
    pub fn open(sink: Arc<dyn Sink>, request: RequestId, route: &'static str, now: Timestamp) -> Self {
        Self(Some(Box::new(RunningCall {
            sink,
            started: Instant::now(),
            record: CallRecord::new(request, route, now),
            permit: None,
            trace: None,
            held_since: None,
            wake_at: 0,
            next_mark: MARK_EVERY,
            prompt_sent: AtomicU64::new(0),
        })))
    }

    fn running(&self) -> &RunningCall {
        self.0.as_ref().expect("the call is running")
    }

    /// Changes the record. Does nothing once the tap has settled.
    pub fn note(&mut self, change: impl FnOnce(&mut CallRecord)) {
        if let Some(call) = &mut self.0 {
            change(&mut call.record);
        }
    }

    /// Whether the tap has not settled yet.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// The caller; `None` until it is known, and once the tap has settled.
    pub fn caller(&self) -> Option<&Arc<Caller>> {
        self.0.as_ref()?.record.caller.as_ref()
    }

    /// Reports the events of the call to `trace`.
    pub fn trace_to(&mut self, trace: Arc<dyn Trace>) {
        if let Some(call) = &mut self.0 {
            call.trace = Some(trace);
        }
    }

    /// Records that the call is sent to a replica, and returns the time.
    pub(crate) fn sent_to(&mut self, replica: &Arc<Backend>) -> Instant {
        let now = Instant::now();
        if let Some(call) = &mut self.0 {
            call.record.sent.get_or_insert(now - call.started);
            call.record.replica = Some(Arc::clone(replica));
        }
        now
    }

    /// Records that the whole request was written to a replica, with the estimated tokens of its prompt. A client that
    /// leaves from now on pays for the prompt.
    pub(crate) fn prompt_was_sent(&self, tokens: u64) {
        if let Some(call) = &self.0 {
            call.prompt_sent.store(tokens, Ordering::Relaxed);
        }
    }

    /// Records that the attempt failed for a reason that is not the client's, so that its prompt is free.
    pub(crate) fn forgive_prompt(&self) {
        self.prompt_was_sent(0);
    }

    /// Records that the first byte of the response is about to be sent.
    pub(crate) fn first_byte(&mut self) {
        if let Some(call) = &mut self.0 {
            call.record.first_byte.get_or_insert(call.started.elapsed());
        }
    }

    pub(crate) fn meter(&mut self, meter: &TokenMeter) {
        let (tokens, certainty) = meter.tokens();
        self.note(|record| (record.tokens, record.certainty) = (tokens, certainty));
    }

    /// The id of a call that has not settled.
    pub fn request_id(&self) -> &RequestId {
        &self.running().record.request
    }

    pub(crate) fn started(&self) -> Instant {
        self.running().started
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        self.running().record.started_at
    }

    pub(crate) fn attempt_begins(&self, replica: &Arc<Backend>) -> Option<HeaderValue> {
        let call = self.running();
        call.trace.as_ref().map(|trace| trace.attempt_begins(replica, call.started.elapsed()))
    }

    pub(crate) fn attempt_failed(&self, reason: &'static str) {
        if let Some(call) = &self.0
            && let Some(trace) = &call.trace
        {
            trace.attempt_failed(reason, call.started.elapsed());
        }
    }

    /// Starts counting the time that the call waits for a replica, also if the client disconnects meanwhile.
    pub(crate) fn hold_begins(&mut self) {
        if let Some(call) = &mut self.0 {
            call.held_since = Some(Instant::now());
        }
    }

    pub(crate) fn hold_ends(&mut self) {
        if let Some(call) = &mut self.0 {
            call.hold_ends();
        }
    }

    /// Keeps the permit and settles it together with the tap.
    pub(crate) fn keep(&mut self, permit: Permit) {
        if let Some(call) = &mut self.0 {
            call.permit = Some(Box::new(permit));
        }
    }

    /// The rate limits after admission; `None` before it and for dedicated endpoints.
    pub fn rate_limits(&self) -> Option<RateLimitStatus> {
        self.permit()?.rate_limits()
    }

    /// The token limit per choice that the engine must get; `None` if the call has its own.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.permit()?.limit()
    }

    fn permit(&self) -> Option<&Permit> {
        self.0.as_ref()?.permit.as_deref()
    }

    /// Sends the call without [`Self::limit`] from now on. Returns whether there was one.
    pub(crate) fn drop_limit(&mut self) -> bool {
        let permit = self.0.as_mut().and_then(|call| call.permit.as_mut());
        permit.is_some_and(|permit| permit.drop_limit())
    }

    /// Charges and marks the tokens that a stream has generated so far.
    pub(crate) fn progress(&mut self, meter: &TokenMeter) {
        let completion = meter.completion();
        if let Some(call) = &mut self.0
            && completion >= call.wake_at
        {
            call.wake(completion, meter);
        }
    }

    /// Hands the record to the sink and settles the limits. Does nothing the second time.
    pub fn settle(&mut self, outcome: Outcome) {
        self.note(|record| record.outcome = outcome);
        self.close();
    }

    fn close(&mut self) {
        if let Some(mut call) = self.0.take() {
            call.close();
        }
    }
}

impl RunningCall {
    fn hold_ends(&mut self) {
        if let Some(since) = self.held_since.take() {
            self.record.held = Some(since.elapsed());
        }
    }

    fn wake(&mut self, completion: u64, meter: &TokenMeter) {
        if completion >= self.next_mark {
            self.next_mark = completion + MARK_EVERY;
            (self.record.tokens, self.record.certainty) = meter.tokens();
            self.record.duration = self.started.elapsed();
            self.sink.mark(&self.record);
        }
        let next_charge = self.permit.as_mut().map_or(u64::MAX, |permit| permit.progress(completion));
        self.wake_at = next_charge.min(self.next_mark);
    }

    fn close(&mut self) {
        self.hold_ends();
        let (record, now) = (&mut self.record, Instant::now());
        record.duration = now - self.started;
        let prompt = *self.prompt_sent.get_mut();
        if prompt > 0 && record.outcome == Outcome::ClientGone && record.certainty == Certainty::Void {
            record.tokens = Tokens { prompt, completion: 0, cached: 0 };
            record.certainty = Certainty::Estimated;
        }
        self.sink.settle(record);
        if let Some(trace) = &self.trace {
            trace.settled(record);
        }
        if let Some(permit) = self.permit.take() {
            // A rejection after the engine has read the prompt is not billed, but it used the engine.
            let is_rejected = matches!(record.outcome, Outcome::Rejected { .. });
            let billed = record.tokens.total();
            let worked = if is_rejected { billed.max(prompt) } else { billed };
            let is_whole = record.outcome == Outcome::Served && record.tokens.completion > 0;
            let whole_completion = is_whole.then_some(record.tokens.completion);
            permit.settle(UsedTokens { billed, worked, whole_completion }, now);
        }
    }
}

impl Drop for UsageTap {
    fn drop(&mut self) {
        self.close();
    }
}
