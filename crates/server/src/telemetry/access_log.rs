//! One line of JSON for every request, on standard output.
//!
//! Lines gather in memory and are written every tenth of a second, so that a request costs no system call. No prompt
//! and no secret is in them.

use dataplane::usage_tap::{Outcome, Record};
use domain::Timestamp;
use domain::usage::Actor;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Lines that wait while standard output is blocked; past this they are counted instead.
const MAX_WAITING: usize = 16 << 20;

/// Lines that wait, and the second that the last of them was written in.
#[derive(Default)]
struct Waiting {
    lines: String,
    second: i64,
    /// `2026-01-30T22:59:00`
    stamp: String,
}

#[derive(Default)]
pub(crate) struct AccessLog {
    waiting: Mutex<Waiting>,
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
        let lines = std::mem::take(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner).lines);
        if !lines.is_empty() {
            let count = lines.bytes().filter(|byte| *byte == b'\n').count();
            let written = tokio::task::spawn_blocking(move || std::io::stdout().write_all(lines.as_bytes())).await;
            if !matches!(written, Ok(Ok(()))) {
                self.lost.fetch_add(count as u64, Ordering::Relaxed);
            }
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
    /// The date is worked out once in a second.
    fn write_time(&mut self, at: Timestamp) {
        if self.second != at.seconds() || self.stamp.is_empty() {
            self.second = at.seconds();
            self.stamp = at.to_string();
            self.stamp.truncate("2026-01-30T22:59:00".len());
        }
        self.lines.push_str("{\"time\":\"");
        self.lines.push_str(&self.stamp);
        let millis = at.millis().rem_euclid(1000);
        let _ = write!(self.lines, ".{millis:03}Z\"");
    }
}

fn write_line(waiting: &mut Waiting, record: &Record) {
    let (status, code) = status_of(record.outcome);
    waiting.write_time(record.started_at);
    let line = &mut waiting.lines;
    plain(line, "request", record.request.as_str());
    plain(line, "route", record.route);
    if let Some(client) = &record.client_request {
        quoted(line, "client_request", client);
    }
    if let Some(caller) = &record.caller {
        plain(line, "workspace", caller.workspace.as_str());
        match &caller.actor {
            Actor::Key(key) => plain(line, "key", key.as_str()),
            Actor::User(user) => plain(line, "user", user.as_str()),
        }
    }
    if let Some(route) = &record.model {
        plain(line, "model", route.model.id.as_str());
    }
    if let Some(replica) = &record.replica {
        plain(line, "replica", &replica.name);
    }
    number(line, "status", u64::from(status));
    plain(line, "code", code);
    if record.replica.is_some() {
        line.push_str(if record.streamed { ",\"stream\":true" } else { ",\"stream\":false" });
        number(line, "prompt_tokens", record.tokens.prompt);
        number(line, "completion_tokens", record.tokens.completion);
        number(line, "cached_tokens", record.tokens.cached);
        plain(line, "certainty", record.certainty.as_str());
    }
    if let Some(first_byte) = record.first_byte {
        number(line, "first_byte_us", micros(first_byte));
    }
    number(line, "duration_us", micros(record.duration));
    if let Some(cause) = &record.cause {
        quoted(line, "cause", cause);
    }
    line.push_str("}\n");
}

/// A member whose value is made of letters that need no escape.
fn plain(line: &mut String, name: &str, value: &str) {
    for piece in [",\"", name, "\":\"", value, "\""] {
        line.push_str(piece);
    }
}

/// A member whose value came from outside.
fn quoted(line: &mut String, name: &str, value: &str) {
    for piece in [",\"", name, "\":", &String::from_utf8_lossy(&dataplane::json::quote(value))] {
        line.push_str(piece);
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn number(line: &mut String, name: &str, value: u64) {
    for piece in [",\"", name, "\":", itoa::Buffer::new().format(value)] {
        line.push_str(piece);
    }
}
