//! What a request leaves behind: one record, whatever way it ends.
//!
//! A tap is opened when a request comes in and travels with it into the body of the answer. It settles when the
//! answer is whole, or when it is dropped, so no exit can forget it.

use crate::admission::Permit;
use crate::answer::Meter;
use crate::trace::Trace;
use domain::limits::RateLimitStatus;
use domain::usage::{Certainty, Tokens};
use domain::{Caller, RequestId, Timestamp};
use fleet::{Backend, Route};
use http::HeaderValue;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes the record of every request. It must not wait.
pub trait Sink: Send + Sync {
    fn settle(&self, record: &Record);

    /// The call is under way and has used so much: should the gateway die, it is charged for that.
    fn mark(&self, record: &Record);
}

/// A stream leaves a mark every so many tokens.
const MARK_EVERY: u64 = 512;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Served,
    /// Refused with this code before a byte was sent.
    Refused {
        status: u16,
        code: &'static str,
    },
    /// Broken with this code after the first byte.
    Broken {
        code: &'static str,
    },
    ClientGone,
}

#[derive(Debug)]
pub struct Record {
    pub request: RequestId,
    pub client_request: Option<Box<str>>,
    /// Which part of the surface it came to, such as `chat`.
    pub route: &'static str,
    pub caller: Option<Arc<Caller>>,
    pub model: Option<Arc<Route>>,
    pub replica: Option<Arc<Backend>>,
    pub streamed: bool,
    pub started_at: Timestamp,
    /// From the request until it was first sent to a replica.
    pub sent: Option<Duration>,
    pub first_byte: Option<Duration>,
    /// How long it waited for a replica of a dedicated endpoint, where it had to.
    pub held: Option<Duration>,
    pub duration: Duration,
    pub outcome: Outcome,
    pub tokens: Tokens,
    pub certainty: Certainty,
    /// What went wrong, in words that only we read.
    pub cause: Option<String>,
    /// Where the call is traced.
    pub trace: Option<Arc<dyn Trace>>,
}

pub struct UsageTap {
    sink: Arc<dyn Sink>,
    started: Instant,
    record: Option<Box<Record>>,
    permit: Option<Box<Permit>>,
    /// Since when it waits for a replica.
    held_since: Option<Instant>,
    /// The next number of generated tokens at which something is to be done.
    wake_at: u64,
    next_mark: u64,
}

impl UsageTap {
    pub fn open(sink: Arc<dyn Sink>, request: RequestId, route: &'static str, now: Timestamp) -> Self {
        let record = Record {
            request,
            client_request: None,
            route,
            caller: None,
            model: None,
            replica: None,
            streamed: false,
            started_at: now,
            sent: None,
            first_byte: None,
            held: None,
            duration: Duration::ZERO,
            outcome: Outcome::ClientGone,
            tokens: Tokens::default(),
            certainty: Certainty::Void,
            cause: None,
            trace: None,
        };
        let (permit, record) = (None, Some(Box::new(record)));
        let started = Instant::now();
        Self { sink, started, record, permit, held_since: None, wake_at: 0, next_mark: MARK_EVERY }
    }

    /// The tap for whoever sees the call to its end; the one that stays behind has nothing to settle.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            sink: Arc::clone(&self.sink),
            record: self.record.take(),
            permit: self.permit.take(),
            held_since: self.held_since.take(),
            ..*self
        }
    }

    /// Fills in what has become known. Nothing happens once the tap has settled.
    pub fn note(&mut self, fill: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.record {
            fill(record);
        }
    }

    /// It goes to a replica now, for the first time or once more; returns when that is.
    pub(crate) fn sent_to(&mut self, replica: &Arc<Backend>) -> Instant {
        let now = Instant::now();
        let elapsed = now - self.started;
        self.note(|record| {
            record.sent.get_or_insert(elapsed);
            record.replica = Some(Arc::clone(replica));
        });
        now
    }

    /// The first byte of the answer is about to leave.
    pub fn first_byte(&mut self) {
        let elapsed = self.started.elapsed();
        self.note(|record| {
            record.first_byte.get_or_insert(elapsed);
        });
    }

    pub fn meter(&mut self, meter: &Meter) {
        let (tokens, certainty) = meter.tokens();
        self.note(|record| (record.tokens, record.certainty) = (tokens, certainty));
    }

    pub(crate) fn request(&self) -> &RequestId {
        &self.record.as_ref().expect("the call is under way").request
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        self.record.as_ref().expect("the call is under way").started_at
    }

    fn trace(&self) -> Option<&Arc<dyn Trace>> {
        self.record.as_ref()?.trace.as_ref()
    }

    pub(crate) fn attempt_begins(&self, replica: &Arc<Backend>) -> Option<HeaderValue> {
        self.trace().map(|trace| trace.attempt_begins(replica, self.started.elapsed()))
    }

    pub(crate) fn attempt_failed(&self, reason: &'static str) {
        if let Some(trace) = self.trace() {
            trace.attempt_failed(reason, self.started.elapsed());
        }
    }

    /// The call waits for a replica; a client that leaves meanwhile has waited, too.
    pub(crate) fn hold_begins(&mut self) {
        self.held_since = Some(Instant::now());
    }

    pub(crate) fn hold_ends(&mut self) {
        if let Some(since) = self.held_since.take() {
            self.note(|record| record.held = Some(since.elapsed()));
        }
    }

    /// What the permit took is settled when the tap is.
    pub(crate) fn keep(&mut self, permit: Permit) {
        self.permit = Some(Box::new(permit));
    }

    pub fn standings(&self) -> Option<RateLimitStatus> {
        self.permit.as_ref().and_then(|permit| permit.standings())
    }

    pub(crate) fn clamp(&self) -> Option<u64> {
        self.permit.as_ref().and_then(|permit| permit.clamp())
    }

    /// A stream has come so far.
    pub(crate) fn progress(&mut self, meter: &Meter) {
        let completion = meter.completion();
        if completion >= self.wake_at {
            self.wake(completion, meter);
        }
    }

    fn wake(&mut self, completion: u64, meter: &Meter) {
        if completion >= self.next_mark && self.record.is_some() {
            self.next_mark = completion + MARK_EVERY;
            self.meter(meter);
            if let Some(record) = &mut self.record {
                record.duration = self.started.elapsed();
                self.sink.mark(record);
            }
        }
        let counted = self.permit.as_mut().map_or(u64::MAX, |permit| permit.progress(completion));
        self.wake_at = counted.min(self.next_mark);
    }

    pub fn settle(&mut self, outcome: Outcome) {
        self.note(|record| record.outcome = outcome);
        self.close();
    }

    fn close(&mut self) {
        self.hold_ends();
        if let Some(mut record) = self.record.take() {
            let now = Instant::now();
            record.duration = now - self.started;
            self.sink.settle(&record);
            if let Some(trace) = &record.trace {
                trace.settled(&record);
            }
            if let Some(permit) = self.permit.take() {
                permit.settle(record.tokens, now);
            }
        }
    }
}

impl Drop for UsageTap {
    fn drop(&mut self) {
        self.close();
    }
}
