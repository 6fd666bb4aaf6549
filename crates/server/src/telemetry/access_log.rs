//! One line of JSON for every request, on standard output.
//!
//! Lines gather in memory and are written every tenth of a second, so that a request costs no system call. No prompt
//! and no secret is in them.

use dataplane::usage_tap::{Outcome, Record};
use domain::Timestamp;
use domain::usage::Actor;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::JsonLine;

const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Lines that wait while standard output is blocked; past this they are counted instead.
const MAX_WAITING: usize = 16 << 20;

/// Memory that is kept; more than a core can fill in that time.
const MAX_SPARE: usize = 4 << 20;

/// Lines that wait, and the second that the last of them was written in.
#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    count: u64,
    second: i64,
    /// `2026-01-30T22:59:00`
    stamp: String,
}

#[derive(Default)]
pub(crate) struct AccessLog {
    waiting: Mutex<Waiting>,
    /// The memory of lines that were written, for further ones.
    spare: Mutex<Vec<u8>>,
    lost: AtomicU64,
    /// Of the lost lines, those that the log has told of.
    told: AtomicU64,
}

impl AccessLog {
    /// Lines that were never written.
    pub(crate) fn lost_lines(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn write(&self, record: &Record) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.lines.len() > MAX_WAITING {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        write_line(&mut waiting, record);
    }

    /// Writes what has gathered, for ever.
    pub(crate) async fn run(&self) {
        let mut ticks = tokio::time::interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.flush().await;
        }
    }

    pub(crate) async fn flush(&self) {
        let spare = std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut lines, count) = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::replace(&mut waiting.lines, spare), std::mem::take(&mut waiting.count))
        };
        if !lines.is_empty() {
            let written = tokio::task::spawn_blocking(move || (std::io::stdout().write_all(&lines), lines)).await;
            let (written, returned) = written.unwrap_or_else(|panicked| (Err(panicked.into()), Vec::new()));
            lines = returned;
            if written.is_err() {
                self.lost.fetch_add(count, Ordering::Relaxed);
            }
        }
        if lines.capacity() <= MAX_SPARE {
            lines.clear();
            *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = lines;
        }
        let lost = self.lost_lines();
        match lost - self.told.swap(lost, Ordering::Relaxed) {
            0 => {}
            lost => tracing::warn!(lost, "lines of the request log were lost"),
        }
    }
}

/// The status that a client saw.
pub(crate) fn status_of(outcome: Outcome) -> (u16, &'static str) {
    match outcome {
        Outcome::Served => (200, ""),
        Outcome::Refused { status, code } => (status, code),
        Outcome::Broken { code } => (200, code),
        // What nginx calls it: the client closed the request.
        Outcome::ClientGone => (499, "client_gone"),
    }
}

impl Waiting {
    /// The moment as `2026-01-30T22:59:00.123Z`. The date is worked out once in a second.
    fn time(&mut self, at: Timestamp) -> &str {
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
        &self.stamp
    }
}

fn write_line(waiting: &mut Waiting, record: &Record) {
    let (status, code) = status_of(record.outcome);
    let mut lines = std::mem::take(&mut waiting.lines);
    let mut line = JsonLine::begin(&mut lines);
    line.plain("time", waiting.time(record.started_at));
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
    if let Some(first_byte) = record.first_byte {
        line.number("first_byte_us", micros(first_byte));
    }
    line.number("duration_us", micros(record.duration));
    if let Some(cause) = &record.cause {
        line.text("cause", cause);
    }
    line.end();
    waiting.lines = lines;
    waiting.count += 1;
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
