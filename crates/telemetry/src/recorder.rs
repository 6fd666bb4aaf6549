//! Receives the record of every request: writes a log line, counts it, and makes a usage event if a replica was called.

use crate::access_log::{AccessLog, micros, status_of};
use crate::metrics::CoreCalls;
use crate::rejections::{Rejections, origin_of};
use dataplane::record::CallRecord;
use dataplane::usage_tap::Sink;
use domain::usage::Certainty;
use domain::{BatchId, CallPrice, UsageEvent};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use store::Journal;

pub struct Recorder {
    pub log: Arc<AccessLog>,
    pub calls: CoreCalls,
    pub journal: Journal,
    pub rejections: Arc<Rejections>,
}

impl Sink for Recorder {
    fn settle(&self, record: &CallRecord) {
        self.log.write(record);
        self.calls.count(record);
        match event_of(record) {
            Some(event) => self.journal.append(event),
            None => self.rejections.record(record),
        }
    }

    fn mark(&self, record: &CallRecord) {
        if let Some(event) = event_of(record) {
            self.journal.mark(&event);
        }
    }
}

/// Receives the record of one attempt at a line of a batch: writes a log line, counts it, and keeps its usage event, which is
/// written together with the result of the line.
pub struct LineRecorder {
    log: Arc<AccessLog>,
    calls: Arc<CoreCalls>,
    batch: BatchId,
    settled: Mutex<Option<SettledLine>>,
}

/// The end of an attempt at a line.
#[derive(Debug, Clone)]
pub struct SettledLine {
    pub status: u16,
    /// Empty if there was no error.
    pub code: Cow<'static, str>,
    /// How long it waited for room.
    pub held: Option<Duration>,
    /// `None` if no replica was called.
    pub event: Option<UsageEvent>,
}

impl SettledLine {
    /// Whether an engine did work that the client pays for. Calls to dedicated endpoints are billed per GPU-hour.
    pub fn is_charged(&self) -> bool {
        let is_charged = |event: &UsageEvent| event.certainty != Certainty::Void && !event.model.is_dedicated();
        self.event.as_ref().is_some_and(is_charged)
    }
}

impl LineRecorder {
    /// The recorder of an attempt at a line of this batch.
    pub fn new(log: Arc<AccessLog>, calls: Arc<CoreCalls>, batch: BatchId) -> Self {
        Self { log, calls, batch, settled: Mutex::default() }
    }

    /// `None` before the call has ended.
    pub fn settled(&self) -> Option<SettledLine> {
        self.settled.lock().take()
    }
}

impl Sink for LineRecorder {
    fn settle(&self, record: &CallRecord) {
        self.log.write(record);
        self.calls.count(record);
        let (status, code) = status_of(record.outcome);
        let mut event = event_of(record);
        if let Some(event) = &mut event {
            event.origin.batch = Some(self.batch.clone());
        }
        *self.settled.lock() = Some(SettledLine { status, code: code.into(), held: record.held, event });
    }

    /// The event of a line is written when the line ends, or not at all.
    fn mark(&self, _record: &CallRecord) {}
}

/// The usage event of a call; `None` if it did not reach a replica.
fn event_of(record: &CallRecord) -> Option<UsageEvent> {
    let (caller, route, replica) = (record.caller.as_ref()?, record.model.as_ref()?, record.replica.as_ref()?);
    let (status, code) = status_of(record.outcome);
    let price = CallPrice { tokens: route.model.price_of(record.class), search: record.search_price };
    Some(UsageEvent {
        request: record.request.clone(),
        caller: Arc::clone(caller),
        model: route.model.id.clone(),
        replica: Arc::clone(&replica.name),
        streamed: record.streamed,
        status,
        code: code.into(),
        tokens: record.tokens,
        certainty: record.certainty,
        price: price.tokens,
        cost: price.charge(record.tokens),
        started_at: record.started_at,
        first_byte_micros: record.first_byte.map(micros),
        duration_micros: micros(record.duration),
        held_micros: record.held.map(micros),
        sent_micros: record.sent.map(micros),
        origin: origin_of(record),
        failovers: record.failovers.continued.into(),
        end_user: record.end_user.clone(),
        reserved_in: caller.reserved_in(record.end_user.as_deref()),
    })
}
