//! Calls that wait to be told to the receiver of traces. There is a bound on them, and serving never waits for it.

use super::call_trace::{Context, Sheet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Calls that may wait, and what they may hold.
const MAX_WAITING: usize = 4_096;
const MAX_WAITING_BYTES: usize = 32 << 20;

/// What is counted of spans.
#[derive(Debug, Default)]
pub(crate) struct SpanFigures {
    exported: AtomicU64,
    queue_full: AtomicU64,
    refused: AtomicU64,
    unreachable: AtomicU64,
}

impl SpanFigures {
    pub(crate) fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// By what became of them instead.
    pub(crate) fn dropped(&self) -> Vec<(&'static str, u64)> {
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
    pub(super) sheet: Sheet,
    bytes: usize,
}

pub(crate) struct Queue {
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

    pub(super) fn push(&self, context: Context, sheet: Sheet) {
        let spans = spans_of(&sheet);
        let bytes = sheet.asked.bytes() + sheet.answered.bytes();
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before + bytes <= MAX_WAITING_BYTES;
        if !has_room || self.sender.try_send(Finished { context, sheet, bytes }).is_err() {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.figures.queue_full.fetch_add(spans, Ordering::Relaxed);
        }
    }

    /// Some of it is about to be told.
    pub(super) fn taken(&self, finished: &[Finished]) {
        let bytes = finished.iter().map(|finished| finished.bytes).sum();
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// One of the call, and one for each replica that was asked.
fn spans_of(sheet: &Sheet) -> u64 {
    1 + sheet.attempts.len() as u64
}
