//! Takes the record of every request: a line, a count, and an event where a model was asked.

use super::access_log::{AccessLog, status_of};
use super::metrics::CoreCalls;
use super::refusals::Refusals;
use dataplane::usage_tap::{Record, Sink};
use domain::UsageEvent;
use std::sync::Arc;
use std::time::Duration;
use store::Journal;

pub(crate) struct Recorder {
    pub log: Arc<AccessLog>,
    pub calls: CoreCalls,
    pub journal: Journal,
    pub refusals: Arc<Refusals>,
}

impl Sink for Recorder {
    fn settle(&self, record: &Record) {
        self.log.write(record);
        self.calls.count(record);
        match event_of(record) {
            Some(event) => self.journal.append(event),
            None => self.refusals.note(record),
        }
    }

    fn mark(&self, record: &Record) {
        if let Some(event) = event_of(record) {
            self.journal.mark(&event);
        }
    }
}

/// Calls that reached a replica are remembered, whatever came of them.
fn event_of(record: &Record) -> Option<UsageEvent> {
    let (caller, route, replica) = (record.caller.as_ref()?, record.model.as_ref()?, record.replica.as_ref()?);
    let (status, code) = status_of(record.outcome);
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
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
        price: route.model.price,
        cost: route.model.price.charge(record.tokens),
        started_at: record.started_at,
        first_byte_micros: record.first_byte.map(micros),
        duration_micros: micros(record.duration),
        held_micros: record.held.map(micros),
        sent_micros: record.sent.map(micros),
    })
}
