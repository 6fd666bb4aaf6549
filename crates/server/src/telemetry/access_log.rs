//! One line of JSON for every request, on standard output.
//!
//! Lines gather in memory and are written every tenth of a second, so that a request costs no system call. No prompt
//! and no secret is in them.

use dataplane::usage_tap::{Outcome, Record};
use domain::usage::Actor;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Lines that wait while standard output is blocked; past this they are counted instead.
const MAX_WAITING: usize = 16 << 20;

#[derive(Default)]
pub(crate) struct AccessLog {
    waiting: Mutex<String>,
    lost: AtomicU64,
}

impl AccessLog {
    pub(crate) fn write(&self, record: &Record) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() > MAX_WAITING {
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
        let lines = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if !lines.is_empty() {
            let written = tokio::task::spawn_blocking(move || std::io::stdout().write_all(lines.as_bytes())).await;
            if !matches!(written, Ok(Ok(()))) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        match self.lost.swap(0, Ordering::Relaxed) {
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

fn write_line(line: &mut String, record: &Record) {
    let (status, code) = status_of(record.outcome);
    let _ = write!(
        line,
        "{{\"time\":\"{}\",\"request\":\"{}\",\"route\":\"{}\"",
        record.started_at, record.request, record.route
    );
    if let Some(client) = &record.client_request {
        member(line, "client_request", client);
    }
    if let Some(caller) = &record.caller {
        let _ = write!(line, ",\"workspace\":\"{}\"", caller.workspace);
        let _ = match &caller.actor {
            Actor::Key(key) => write!(line, ",\"key\":\"{key}\""),
            Actor::User(user) => write!(line, ",\"user\":\"{user}\""),
        };
    }
    if let Some(route) = &record.model {
        let _ = write!(line, ",\"model\":\"{}\"", route.model.id);
    }
    if let Some(replica) = &record.replica {
        member(line, "replica", &replica.name);
    }
    let _ = write!(line, ",\"status\":{status},\"code\":\"{code}\"");
    if record.replica.is_some() {
        let _ = write!(
            line,
            ",\"stream\":{},\"prompt_tokens\":{},\"completion_tokens\":{},\"cached_tokens\":{},\"certainty\":\"{}\"",
            record.streamed,
            record.tokens.prompt,
            record.tokens.completion,
            record.tokens.cached,
            record.certainty.as_str()
        );
    }
    if let Some(first_byte) = record.first_byte {
        let _ = write!(line, ",\"first_byte_us\":{}", first_byte.as_micros());
    }
    let _ = write!(line, ",\"duration_us\":{}", record.duration.as_micros());
    if let Some(cause) = &record.cause {
        member(line, "cause", cause);
    }
    line.push_str("}\n");
}

/// A member whose value came from outside.
fn member(line: &mut String, name: &str, value: &str) {
    let quoted = dataplane::json::quote(value);
    let _ = write!(line, ",\"{name}\":{}", String::from_utf8_lossy(&quoted));
}
