//! The bounded queue of calls to export. Serving never waits for it: if it is full, spans are dropped.

use super::call_trace::{CallDetails, Context};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Most calls in the queue, and most bytes of their content.
const MAX_WAITING: usize = 4_096;
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Counters of spans.
#[derive(Debug, Default)]
pub struct SpanFigures {
    exported: AtomicU64,
    queue_full: AtomicU64,
    refused: AtomicU64,
    unreachable: AtomicU64,
}

impl SpanFigures {
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Dropped spans by reason.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        let all = [("queue_full", &self.queue_full), ("refused", &self.refused), ("unreachable", &self.unreachable)];
        all.map(|(reason, number)| (reason, number.load(Ordering::Relaxed))).to_vec()
    }

    pub(super) fn count_exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self, spans: u64) {
        self.refused.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn count_unreachable(&self, spans: u64) {
        self.unreachable.fetch_add(spans, Ordering::Relaxed);
    }
}

/// A call that has ended.
pub(super) struct Finished {
    pub(super) context: Context,
    pub(super) details: CallDetails,
    bytes: usize,
}

pub(super) struct Queue {
    sender: mpsc::Sender<Finished>,
    waiting_bytes: AtomicUsize,
    figures: SpanFigures,
}

impl Queue {
    pub(super) fn new() -> (Self, mpsc::Receiver<Finished>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        (Self { sender, waiting_bytes: AtomicUsize::new(0), figures: SpanFigures::default() }, receiver)
    }

    pub(super) fn figures(&self) -> &SpanFigures {
        &self.figures
    }

    pub(super) fn push(&self, context: Context, details: CallDetails) {
        let spans = spans_of(&details);
        let bytes = details.request.bytes() + details.response.bytes();
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before + bytes <= MAX_WAITING_BYTES;
        if !has_room || self.sender.try_send(Finished { context, details, bytes }).is_err() {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.figures.queue_full.fetch_add(spans, Ordering::Relaxed);
        }
    }

    /// These calls left the queue.
    pub(super) fn taken(&self, finished: &[Finished]) {
        let bytes = finished.iter().map(|finished| finished.bytes).sum();
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// One span for the call, and one per attempt.
fn spans_of(details: &CallDetails) -> u64 {
    1 + details.attempts.len() as u64
}
