//! Calls to models: who asks is known, what is asked is read here, and the data plane does the rest.

use super::error::{self, Refused};
use super::refuse;
use crate::edge::{Answered, Body, Incoming, request_body};
use crate::surface::Surface;
use crate::telemetry::traces::{CallTrace, TRACESTATE, TracedBody};
use bytes::Bytes;
use dataplane::probe::{Fault, Probe};
use dataplane::trace::Trace;
use dataplane::usage_tap::UsageTap;
use dataplane::{Answer, Call, Form, Refusal, TRACEPARENT};
use domain::Caller;
use domain::usage::Actor;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use std::sync::Arc;
use std::time::Duration;

const X_HOLD_TIMEOUT: HeaderName = HeaderName::from_static("x-hold-timeout");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Answers `POST /v1/chat/completions` and `POST /v1/embeddings`, which differ in how their bodies are read.
pub(super) async fn infer(
    surface: &Surface,
    mut headers: HeaderMap,
    mut body: Incoming,
    caller: Arc<Caller>,
    mut tap: UsageTap,
    probe: fn(Bytes) -> Result<Probe, Fault>,
) -> Answered {
    let trace = surface.tracer.as_ref().and_then(|tracer| tracer.begin(&headers));
    if let Some(trace) = trace.clone() {
        tap.note(|record| record.trace = Some(trace as Arc<dyn Trace>));
    }
    let bytes = match surface.body_bounds.read(&headers, &mut body).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            request_body::discard(&headers, body).await;
            return refuse(&unread.into(), tap);
        }
    };
    let probe = match probe(bytes) {
        Ok(probe) => probe,
        Err(fault) => return refuse(&Refused::Call(Refusal::from(fault)), tap),
    };
    if let Some(trace) = &trace {
        trace.asked(&probe.body);
    }
    let mut call = Call {
        caller,
        probe,
        headers: passed(&headers, trace.as_deref()),
        tap,
        hold_timeout: hold_timeout(&headers, surface.hold_timeout),
        dress: error::event,
    };
    // A call may wait for minutes. The headers are parts of the connection's buffer, which is free without them.
    headers.clear();
    drop(body);
    match surface.dataplane.infer(&mut call).await {
        Ok(answer) => respond(answer, headers, trace),
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
fn hold_timeout(headers: &HeaderMap, limit: Duration) -> Duration {
    let asked = headers.get(X_HOLD_TIMEOUT).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    asked.filter(|seconds| *seconds >= 1).map_or(limit, |seconds| Duration::from_secs(seconds).min(limit))
}

/// `headers` are empty: their memory was that of the request's.
fn respond(answer: Answer, headers: HeaderMap, trace: Option<Arc<CallTrace>>) -> Answered {
    let mut response = Response::new(match trace {
        Some(trace) => Body::Traced(Box::new(TracedBody::new(answer.body, answer.form, trace))),
        None => Body::Answer(answer.body),
    });
    *response.headers_mut() = headers;
    let headers = response.headers_mut();
    match answer.form {
        Form::Json => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Form::EventStream => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
        }
    }
    Answered { standings: answer.standings, ..response.into() }
}

/// The only headers of a client that reach a model server. A call that is traced has a `traceparent` of its own.
fn passed(headers: &HeaderMap, trace: Option<&CallTrace>) -> HeaderMap {
    let names = match trace {
        None => &[TRACEPARENT, TRACESTATE][..],
        Some(trace) if trace.has_parent() => &[TRACESTATE][..],
        Some(_) => &[],
    };
    let mut kept = HeaderMap::new();
    for name in names {
        // A copy: a clone would keep the whole buffer of the connection.
        if let Some(Ok(value)) = headers.get(name).map(|value| HeaderValue::from_bytes(value.as_bytes())) {
            kept.insert(name, value);
        }
    }
    kept
}
