//! One attempt at a line, and what becomes of it.

use super::Stage;
use super::writing::Write;
use crate::surface::Surface;
use crate::surface::line_call::{self, LineCall, LineResponse};
use control::batches::{DeferredLine, FinishedLine, RunnableLine};
use domain::batches::{AfterAttempt, AttemptResponse, Batch, LineOutcome, after_attempt};
use domain::{BatchId, Caller};
use node::clock;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use store::batches::Deferral;
use telemetry::access_log::AccessLog;
use telemetry::metrics::CoreCalls;
use telemetry::{LineRecorder, SettledLine};
use tokio::sync::watch;

/// The code of a call whose engine has not responded in time, so that there is no response to keep.
const TIMEOUT_CODE: &str = "upstream_timeout";

/// An attempt that has ended.
pub(super) struct EndedAttempt {
    line: RunnableLine,
    end: AttemptEnd,
    settled: Option<SettledLine>,
}

impl EndedAttempt {
    /// The end of an attempt whose call panicked: a failure of ours.
    pub(super) async fn panicked(batch: &Batch, line: RunnableLine) -> Self {
        let response = line_call::internal_error(batch.endpoint, &batch.id.request_of(line.number)).await;
        Self { line, end: AttemptEnd::Response(response), settled: None }
    }

    /// How long the call waited for room.
    pub(super) fn held(&self) -> Option<Duration> {
        self.settled.as_ref().and_then(|settled| settled.held)
    }

    /// What is stored of it; `None` if the line is given up.
    pub(super) fn into_write(self, batch: &BatchId) -> Option<Write> {
        let Self { line, end, settled } = self;
        decide(batch, line, end, settled.as_ref())
    }
}

enum AttemptEnd {
    Response(LineResponse),
    /// The batch was cancelled, or its window is over.
    Stopped(LineOutcome),
    /// This node stops.
    GivenUp,
}

/// Makes the call of a line, until it ends or must end.
pub(super) async fn attempt(
    (surface, log, calls): (Arc<Surface>, Arc<AccessLog>, Arc<CoreCalls>),
    (batch, caller, mut line): (Batch, Option<Arc<Caller>>, RunnableLine),
    (mut ends, mut stage): (watch::Receiver<Option<LineOutcome>>, watch::Receiver<Stage>),
) -> EndedAttempt {
    let recorder = Arc::new(LineRecorder::new(log, calls, batch.id.clone()));
    let request = batch.id.request_of(line.number);
    let call = LineCall { endpoint: batch.endpoint, caller, request, body: std::mem::take(&mut line.body).into() };
    let end = tokio::select! {
        response = surface.call_line(Arc::clone(&recorder), call) => AttemptEnd::Response(response),
        end = ends.wait_for(Option::is_some) => {
            AttemptEnd::Stopped(end.ok().and_then(|end| *end).unwrap_or(LineOutcome::Cancelled))
        }
        _ = stage.wait_for(|stage| *stage == Stage::Ended) => AttemptEnd::GivenUp,
    };
    // A call that was stopped has been dropped, and has settled with it.
    EndedAttempt { line, end, settled: recorder.settled() }
}

/// What is stored of an attempt; `None` if the line is given up.
fn decide(batch: &BatchId, line: RunnableLine, end: AttemptEnd, settled: Option<&SettledLine>) -> Option<Write> {
    let RunnableLine { number, custom_id, body: _, attempts } = line;
    let event = settled.and_then(|settled| settled.event.clone());
    let finished = FinishedLine {
        batch: batch.clone(),
        number,
        custom_id,
        outcome: LineOutcome::Succeeded,
        status: 0,
        body: None,
        reasoning_tokens: 0,
        event,
    };
    match end {
        AttemptEnd::GivenUp => None,
        AttemptEnd::Stopped(outcome) => Some(Write::End(Box::new(FinishedLine { outcome, ..finished }))),
        AttemptEnd::Response(LineResponse { status, body, may_begin_later }) => {
            let code = settled.map_or("internal_error", |settled| &*settled.code);
            let is_charged = settled.is_some_and(SettledLine::is_charged);
            let deferred = |after_millis: u64, counts| {
                let available_at = clock::now().plus_millis(i64::try_from(after_millis).unwrap_or(i64::MAX));
                let deferral = Deferral { available_at, code: code.to_owned(), counts };
                Some(Write::Defer(DeferredLine { batch: batch.clone(), number, deferral }))
            };
            match after_attempt(&AttemptResponse { status, code, may_begin_later, is_charged, attempts: attempts + 1 })
            {
                AfterAttempt::Retry { after_millis } => deferred(after_millis, true),
                AfterAttempt::Wait { after_millis } => deferred(after_millis, false),
                AfterAttempt::Finish if code == TIMEOUT_CODE => {
                    Some(Write::End(Box::new(FinishedLine { outcome: LineOutcome::TimedOut, ..finished })))
                }
                AfterAttempt::Finish => {
                    let is_good = (200..300).contains(&status);
                    let outcome = if is_good { LineOutcome::Succeeded } else { LineOutcome::Failed };
                    let reasoning_tokens = if is_good { reasoning_tokens(&body) } else { 0 };
                    let body = Some(body);
                    Some(Write::End(Box::new(FinishedLine { outcome, status, body, reasoning_tokens, ..finished })))
                }
            }
        }
    }
}

/// The reasoning tokens that a response reports, in the words of any of the APIs.
fn reasoning_tokens(body: &[u8]) -> u64 {
    #[derive(Deserialize, Default)]
    struct Response {
        usage: Option<Usage>,
    }
    #[derive(Deserialize, Default)]
    struct Usage {
        #[serde(alias = "output_tokens_details")]
        completion_tokens_details: Option<Details>,
    }
    #[derive(Deserialize, Default)]
    struct Details {
        #[serde(alias = "thinking_tokens")]
        reasoning_tokens: Option<u64>,
    }
    let response: Response = serde_json::from_slice(body).unwrap_or_default();
    let details = response.usage.unwrap_or_default().completion_tokens_details.unwrap_or_default();
    details.reasoning_tokens.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_tokens_are_found_in_every_api() {
        for (body, tokens) in [
            (r#"{"usage":{"completion_tokens_details":{"reasoning_tokens":3}}}"#, 3),
            (r#"{"usage":{"output_tokens_details":{"reasoning_tokens":4}}}"#, 4),
            (r#"{"usage":{"output_tokens_details":{"thinking_tokens":5}}}"#, 5),
            (r#"{"usage":{"completion_tokens_details":null}}"#, 0),
            ("no json", 0),
        ] {
            assert_eq!(reasoning_tokens(body.as_bytes()), tokens, "{body}");
        }
    }
}
