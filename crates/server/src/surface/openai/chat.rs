//! Calls to models: who asks is known, what is asked is read here, and the data plane does the rest.

use super::error::{self, Refused};
use super::refuse;
use crate::edge::{Answered, Body, Headers, Incoming, request_body};
use crate::surface::Surface;
use crate::telemetry::traces::{CallTrace, TRACESTATE, TracedBody};
use bytes::Bytes;
use dataplane::probe::{Fault, Probe};
use dataplane::trace::Trace;
use dataplane::usage_tap::UsageTap;
use dataplane::{Answer, Call, Form, Refusal, TRACEPARENT};
use domain::Caller;
use domain::usage::Actor;
use http::{HeaderMap, HeaderValue, Response};
use std::sync::Arc;
use std::time::Duration;

const X_HOLD_TIMEOUT: &str = "x-hold-timeout";
const JSON: &str = "content-type: application/json\r\n";
/// Proxies on the way must not keep events back.
const EVENT_STREAM: &str =
    "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n";

/// Answers `POST /v1/chat/completions` and `POST /v1/embeddings`, which differ in how their bodies are read.
pub(super) async fn infer(
    surface: &Surface,
    headers: &mut Headers,
    body: &mut Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
    probe: fn(Bytes) -> Result<Probe, Fault>,
) -> Answered {
    let trace = surface.tracer.as_ref().and_then(|tracer| tracer.begin(headers));
    if let Some(trace) = trace.clone() {
        tap.note(|record| record.trace = Some(trace as Arc<dyn Trace>));
    }
    let bytes = match surface.body_bounds.read(headers, body).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            request_body::discard(headers, body).await;
            return refuse(&unread.into(), tap);
        }
    };
    let probe = match probe(bytes) {
        Ok(probe) => probe,
        Err(fault) => return refuse(&Refused::Call(Refusal::from(fault)), tap),
    };
    if let Some(trace) = &trace {
        trace.record_request(&probe.body);
    }
    let mut call = Call {
        caller,
        probe,
        headers: passed(headers, trace.as_deref()),
        tap,
        hold_timeout: hold_timeout(headers, surface.hold_timeout),
        dress: error::event,
    };
    // A call may wait for minutes.
    drop((std::mem::take(headers), std::mem::take(body)));
    match surface.dataplane.infer(&mut call).await {
        Ok(answer) => respond(answer, trace),
        Err(Refusal::WrongWorkspace) => refuse(&wrong_workspace(&call.caller.actor), call.tap),
        Err(refusal) => refuse(&Refused::Call(refusal), call.tap),
    }
}

/// A key is told nothing about what it may not call; a person is told where to look.
pub(super) fn wrong_workspace(actor: &Actor) -> Refused {
    match actor {
        Actor::Key(_) => Refused::Unauthenticated { cause: "a key of another workspace" },
        Actor::User(_) => Refused::Call(Refusal::WrongWorkspace),
    }
}

/// `X-Hold-Timeout: <seconds>` may only shorten the wait; what is no whole number from 1 is ignored.
fn hold_timeout(headers: &Headers, limit: Duration) -> Duration {
    let asked = headers.text(X_HOLD_TIMEOUT).and_then(|text| text.trim().parse().ok());
    asked.filter(|seconds| *seconds >= 1).map_or(limit, |seconds| Duration::from_secs(seconds).min(limit))
}

fn respond(answer: Answer, trace: Option<Arc<CallTrace>>) -> Answered {
    let lines = match answer.form {
        Form::Json => JSON,
        Form::EventStream => EVENT_STREAM,
    };
    let response = Response::new(match trace {
        Some(trace) => Body::Traced(Box::new(TracedBody::new(answer.body, answer.form, trace))),
        None => Body::Answer(answer.body),
    });
    Answered { lines, standings: answer.standings, ..response.into() }
}

/// The only headers of a client that reach a model server. A call that is traced has a `traceparent` of its own.
fn passed(headers: &Headers, trace: Option<&CallTrace>) -> HeaderMap {
    let names = match trace {
        None => &[TRACEPARENT, TRACESTATE][..],
        Some(trace) if trace.has_parent() => &[TRACESTATE][..],
        Some(_) => &[],
    };
    let mut kept = HeaderMap::new();
    for name in names {
        if let Some(Ok(value)) = headers.get(name).map(HeaderValue::from_bytes) {
            kept.insert(name, value);
        }
    }
    kept
}
