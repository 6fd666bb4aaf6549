//! Access log: one line of JSON per request, on standard output.
//!
//! Lines are collected in memory and written every tenth of a second, or within a second after a pause, so that a request costs
//! no system call and an idle node nothing. They contain no prompts and no secrets.

use dataplane::record::{CallRecord, Outcome};
use domain::Timestamp;
use domain::usage::{Actor, CLIENT_GONE};
use json_line::JsonLine;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub const FLUSH_PERIOD: Duration = Duration::from_millis(100);
/// The same after a flush that had no lines.
pub const IDLE_FLUSH_PERIOD: Duration = Duration::from_secs(1);
/// Most bytes that wait while standard output is blocked; further lines are dropped and counted.
const MAX_PENDING: usize = 16 << 20;
/// Largest buffer that is kept for reuse; more than a core can fill between two flushes.
const MAX_BUFFER: usize = 4 << 20;

thread_local! {
    /// Lines are formatted before the lock is taken, which all cores share.
    static LINE: RefCell<Line> = RefCell::default();
}

/// The last line of a thread, and its formatted second.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    second: i64,
    /// `2026-01-30T22:59:00.123Z`
    stamp: String,
}

/// Lines that are not written yet.
#[derive(Default)]
struct Pending {
    lines: Vec<u8>,
    count: u64,
}

#[derive(Default)]
pub struct AccessLog {
    pending: Mutex<Pending>,
    /// The buffer of the last flush, for reuse.
    buffer: Mutex<Vec<u8>>,
    lost: AtomicU64,
    /// The lost lines that were already reported.
    reported: AtomicU64,
}

impl AccessLog {
    /// The number of lines that were dropped.
    pub fn lost_lines(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn write(&self, record: &CallRecord) {
        LINE.with_borrow_mut(|line| {
            line.set(record);
            let mut pending = self.pending.lock();
            if pending.lines.len() > MAX_PENDING {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            pending.lines.extend_from_slice(&line.text);
            pending.count += 1;
        });
    }

    /// Writes the pending lines to standard output. Returns whether there were any.
    pub async fn flush(&self) -> bool {
        let buffer = std::mem::take(&mut *self.buffer.lock());
        let (mut lines, count) = {
            let mut pending = self.pending.lock();
            (std::mem::replace(&mut pending.lines, buffer), std::mem::take(&mut pending.count))
        };
        let has_lines = !lines.is_empty();
        if has_lines {
            let written = tokio::task::spawn_blocking(move || (std::io::stdout().write_all(&lines), lines)).await;
            let (written, returned) = written.unwrap_or_else(|panicked| (Err(panicked.into()), Vec::new()));
            lines = returned;
            if written.is_err() {
                self.lost.fetch_add(count, Ordering::Relaxed);
            }
        }
        if lines.capacity() <= MAX_BUFFER {
            lines.clear();
            *self.buffer.lock() = lines;
        }
        let lost = self.lost_lines();
        match lost - self.reported.swap(lost, Ordering::Relaxed) {
            0 => {}
            lost => tracing::warn!(lost, "lines of the access log were lost"),
        }
        has_lines
    }
}

/// The status and error code that the client saw.
pub fn status_of(outcome: Outcome) -> (u16, &'static str) {
    match outcome {
        Outcome::Served => (200, ""),
        Outcome::Rejected { status, code } => (status, code),
        Outcome::Interrupted { code } => (200, code),
        // nginx's status for a request that the client closed.
        Outcome::ClientGone => (499, CLIENT_GONE),
    }
}

impl Line {
    /// Formats the time as `2026-01-30T22:59:00.123Z`. The date is computed once per second.
    fn set_time(&mut self, at: Timestamp) {
        if self.second != at.seconds() || self.stamp.is_empty() {
            self.second = at.seconds();
            self.stamp = at.to_string();
        }
        self.stamp.truncate("2026-01-30T22:59:00".len());
        let millis = at.millis().rem_euclid(1000).unsigned_abs();
        let digits = [millis / 100, millis / 10 % 10, millis % 10];
        self.stamp.push('.');
        self.stamp.extend(digits.iter().filter_map(|digit| char::from_digit(*digit as u32, 10)));
        self.stamp.push('Z');
    }

    fn set(&mut self, record: &CallRecord) {
        self.set_time(record.started_at);
        self.text.clear();
        write_line(&mut self.text, &self.stamp, record);
    }
}

fn write_line(text: &mut Vec<u8>, stamp: &str, record: &CallRecord) {
    let (status, code) = status_of(record.outcome);
    let mut line = JsonLine::begin(text);
    line.plain("time", stamp);
    line.plain("request", record.request.as_bytes());
    line.plain("route", record.route);
    if let Some(client) = &record.client_request {
        line.text("client_request", client);
    }
    if let Some(caller) = &record.caller {
        line.plain("workspace", caller.workspace.as_bytes());
        match &caller.actor {
            Actor::Key(key) => line.plain("key", key.as_bytes()),
            Actor::User(user) => line.plain("user", user.as_bytes()),
        }
    }
    if let Some(route) = &record.model {
        line.text("model", route.model.id.as_str());
    }
    if let Some(replica) = &record.replica {
        line.text("replica", &replica.name);
    }
    line.number("status", status);
    line.plain("code", code);
    if record.replica.is_some() {
        line.boolean("stream", record.streamed);
        line.number("prompt_tokens", record.tokens.prompt);
        line.number("completion_tokens", record.tokens.completion);
        line.number("cached_tokens", record.tokens.cached);
        line.plain("certainty", record.certainty.as_str());
    }
    if record.failovers.continued > 0 {
        line.number("failovers", record.failovers.continued);
    }
    if let Some(first_byte) = record.first_byte {
        line.number("first_byte_us", micros(first_byte));
    }
    line.number("duration_us", micros(record.duration));
    if let Some(cause) = &record.cause {
        line.text("cause", cause);
    }
    line.end();
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
