//! Records a call and settles its limits, however it ends.
//!
//! A tap is opened when a request arrives and moves with it into the response body. It settles when the response is
//! complete, or on drop, so no exit can forget it.

use crate::admission::{Permit, UnbilledWork, UsedTokens};
use crate::record::{CallRecord, Outcome};
use crate::response::TokenMeter;
use crate::trace::Trace;
use domain::limits::RateLimitStatus;
use domain::usage::{Certainty, Tokens};
use domain::{Caller, EndUserId, NanoUsd, RequestId, Timestamp};
use fleet::{Backend, QueueCharge};
use http::HeaderValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Receives the record of every call. Must not block.
pub trait Sink: Send + Sync {
    fn settle(&self, record: &CallRecord);

    /// Records the usage of a running call, which is charged for it if the gateway crashes.
    fn mark(&self, record: &CallRecord);
}

/// A stream is marked every time it has generated this many tokens.
const MARK_EVERY: u64 = 512;

/// The pace of a model is learned from responses whose clients were behind for at most this long.
const MAX_CLIENT_LAG: Duration = Duration::from_secs(1);
/// And for at most the time divided by this.
const MAX_LAG_PART: u32 = 8;

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
    /// Set if the call has waited in a queue.
    queue_charge: Option<Box<QueueCharge>>,
    trace: Option<Arc<dyn Trace>>,
    /// Since when the call waits for a replica.
    held_since: Option<Instant>,
    /// The number of generated tokens at which a mark or a further charge is due.
    wake_at: u64,
    next_mark: u64,
    /// The estimated tokens of a prompt that was written to a replica, which may be reading it; 0 before that. Atomic
    /// because it is set while the call is borrowed; only one thread uses it.
    prompt_sent: AtomicU64,
    /// The bytes of a prompt that is only text.
    text_bytes: Option<u64>,
    /// When the current attempt began.
    attempt_began: Instant,
    /// From when on the call is served only as fast as its client reads.
    alive_from: Option<Instant>,
    /// From the beginning of the attempt until the engine had sent its whole response; `None` before, and if this time is not
    /// the engine's own.
    engine_time: Option<Duration>,
    /// What earlier attempts may have cost their engines.
    unbilled: UnbilledWork,
    /// The client caused the end of the call, after an engine had done work for it.
    is_clients_end: bool,
}

/// How an attempt ended whose response is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedAttempt {
    /// The engine did not take the request.
    NotTaken,
    /// The engine read the prompt and rejected the request.
    Rejected,
    /// The engine failed, and did not say what it had done until then.
    Failed,
    /// The client asked for something that cannot be delivered. It pays an estimate.
    ClientsEnd,
}

impl UsageTap {
    pub fn open(sink: Arc<dyn Sink>, request: RequestId, route: &'static str, now: Timestamp) -> Self {
        let started = Instant::now();
        Self(Some(Box::new(RunningCall {
            sink,
            started,
            record: CallRecord::new(request, route, now),
            permit: None,
            queue_charge: None,
            trace: None,
            held_since: None,
            wake_at: 0,
            next_mark: MARK_EVERY,
            prompt_sent: AtomicU64::new(0),
            text_bytes: None,
            attempt_began: started,
            alive_from: None,
            engine_time: None,
            unbilled: UnbilledWork::None,
            is_clients_end: false,
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

    /// The person behind the caller, if the call named one.
    pub fn end_user(&self) -> Option<&EndUserId> {
        self.0.as_ref()?.record.end_user.as_ref().map(|one| &one.id)
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
            call.attempt_began = now;
            call.record.replica = Some(Arc::clone(replica));
        }
        now
    }

    /// Records the length of a prompt that is only text, from which the model's bytes per token are learned.
    pub(crate) fn prompt_has(&mut self, text_bytes: Option<u64>) {
        if let Some(call) = &mut self.0 {
            call.text_bytes = text_bytes;
        }
    }

    /// Records that the whole request was written to a replica, with the estimated tokens of its prompt. A client that
    /// leaves from now on pays for the prompt.
    pub(crate) fn prompt_was_sent(&self, tokens: u64) {
        if let Some(call) = &self.0 {
            call.prompt_sent.store(tokens, Ordering::Relaxed);
        }
    }

    /// Whether the current attempt has written the whole request.
    pub(crate) fn is_prompt_sent(&self) -> bool {
        self.0.as_ref().is_some_and(|call| call.prompt_sent.load(Ordering::Relaxed) > 0)
    }

    /// Records how an attempt ended. What it cost the engine stays in the rate limits; only what the client caused is
    /// billed.
    pub(crate) fn attempt_ended(&mut self, end: FailedAttempt) {
        let Some(call) = &mut self.0 else { return };
        let prompt = *call.prompt_sent.get_mut();
        if prompt == 0 {
            return;
        }
        let unbilled = match end {
            FailedAttempt::NotTaken => UnbilledWork::None,
            FailedAttempt::Rejected => UnbilledWork::Prompt(prompt),
            FailedAttempt::Failed => UnbilledWork::Unknown,
            FailedAttempt::ClientsEnd => {
                call.is_clients_end = true;
                return;
            }
        };
        call.unbilled = call.unbilled.max(unbilled);
        *call.prompt_sent.get_mut() = 0;
    }

    /// Records that the first byte of the response is about to be sent.
    pub(crate) fn first_byte(&mut self) {
        if let Some(call) = &mut self.0 {
            call.record.first_byte.get_or_insert(call.started.elapsed());
        }
    }

    /// Records that from this time on, the call is served in the body of its response, which waits for its client.
    pub(crate) fn kept_alive_from(&mut self, from: Instant) {
        if let Some(call) = &mut self.0 {
            call.alive_from = Some(from);
        }
    }

    /// Records that the engine has sent its whole response, during which the client was behind for `lag` in all.
    pub(crate) fn engine_ended(&mut self, lag: Duration) {
        if let Some(call) = &mut self.0 {
            let time = call.attempt_began.elapsed();
            let is_in_time = lag <= MAX_CLIENT_LAG.min(time / MAX_LAG_PART);
            call.engine_time = (is_in_time && !call.began_alive() && !call.is_continued()).then_some(time);
        }
    }

    pub(crate) fn meter(&mut self, meter: &TokenMeter) {
        let (tokens, certainty) = meter.tokens();
        self.note(|record| (record.tokens, record.certainty) = (tokens, certainty));
    }

    /// The client has not read the stream for this time, after `completion` tokens. What the engine has probably generated
    /// since then counts, if it is more than what was passed.
    pub(crate) fn went_on_unread(&mut self, time: Duration, completion: u64) {
        if let Some(call) = &mut self.0
            && call.record.certainty != Certainty::Void
        {
            let (more, most) = call.generated_within(time);
            let probable = completion.saturating_add(more).min(most);
            if probable > call.record.tokens.completion {
                call.record.tokens.completion = probable;
                call.record.certainty = Certainty::Estimated;
            }
        }
    }

    /// The id of a call that has not settled.
    pub fn request_id(&self) -> &RequestId {
        &self.running().record.request
    }

    pub(crate) fn started(&self) -> Instant {
        self.running().started
    }

    /// When the current attempt began.
    pub(crate) fn attempt_began(&self) -> Instant {
        self.running().attempt_began
    }

    pub(crate) fn started_at(&self) -> Timestamp {
        self.running().record.started_at
    }

    pub(crate) fn search_price(&self) -> NanoUsd {
        self.running().record.search_price
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
    pub(crate) fn keep(&mut self, permit: Box<Permit>) {
        if let Some(call) = &mut self.0 {
            call.permit = Some(permit);
        }
    }

    /// Keeps what a queue has charged for the call, to correct it when the call ends.
    pub(crate) fn charged_by_queue(&mut self, charge: Option<QueueCharge>) {
        if let Some(call) = &mut self.0 {
            call.queue_charge = charge.map(Box::new);
        }
    }

    /// The tokens that the call is expected to generate; `None` if it is not metered.
    pub(crate) fn expected_completion(&self) -> Option<u64> {
        self.permit()?.expected_completion()
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

    /// Whether the client may have delayed the beginning of the response.
    fn began_alive(&self) -> bool {
        let began = self.started + self.record.first_byte.unwrap_or_default();
        self.alive_from.is_some_and(|from| began >= from)
    }

    /// Whether several replicas have generated the response.
    fn is_continued(&self) -> bool {
        self.record.failovers.continued > 0
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
        let now = Instant::now();
        let prompt = *self.prompt_sent.get_mut();
        let is_void = self.record.certainty == Certainty::Void;
        if prompt > 0 && is_void {
            self.unbilled = UnbilledWork::Unknown;
            if self.is_clients_end || self.record.outcome == Outcome::ClientGone {
                let completion = self.estimated_completion(now - self.attempt_began);
                self.record.tokens = Tokens { prompt, completion, cached: 0 };
                self.record.certainty = Certainty::Estimated;
            }
        }
        let record = &mut self.record;
        if let (Some(bytes), Some(route), Certainty::Exact) = (self.text_bytes, &record.model, record.certainty) {
            route.pool.prompt_ratio().learn(bytes, record.tokens.prompt);
        }
        record.duration = now - self.started;
        if let Some(mut charge) = self.queue_charge.take() {
            let Tokens { prompt, completion, cached } = record.tokens;
            match (is_void, self.unbilled) {
                (false, _) => charge.used(prompt.saturating_sub(cached).saturating_add(completion)),
                (true, UnbilledWork::None) => charge.used(0),
                (true, UnbilledWork::Prompt(tokens)) => charge.used(tokens),
                (true, UnbilledWork::Unknown) => {}
            }
        }
        self.sink.settle(record);
        if let Some(trace) = &self.trace {
            trace.settled(record);
        }
        if let Some(permit) = self.permit.take() {
            // What an engine has counted is right, also if an earlier attempt failed.
            let unbilled = if is_void { self.unbilled } else { UnbilledWork::None };
            let is_whole = record.outcome == Outcome::Served && record.tokens.completion > 0;
            let whole_completion = is_whole.then_some(record.tokens.completion);
            if let (Some(tokens), Some(route), Some(time)) = (whole_completion, &record.model, self.engine_time) {
                route.pool.pace().learn(tokens / permit.choices(), time);
            }
            permit.settle(UsedTokens { billed: record.tokens, unbilled, whole_completion }, now);
        }
    }

    /// The tokens that a response which is not streamed probably had after this time.
    fn estimated_completion(&self, time: Duration) -> u64 {
        let unseen = self.permit.as_ref().map_or(0, |permit| permit.unseen_completion());
        self.generated_within(time).0.min(unseen)
    }

    /// The tokens that an engine probably generates for the call within this time, at the pace of the model, and the most
    /// that it may generate at all.
    fn generated_within(&self, time: Duration) -> (u64, u64) {
        let (Some(permit), Some(route)) = (&self.permit, &self.record.model) else { return (0, 0) };
        (route.pool.pace().tokens_within(time).saturating_mul(permit.choices()), permit.most_completion())
    }
}

impl Drop for UsageTap {
    fn drop(&mut self) {
        self.close();
    }
}
