//! Calls to models: who asks is known, what is asked is read here, and the data plane does the rest.

use super::error::{self, Refused};
use super::{Call, rate_limit_headers, refuse};
use crate::edge::{Body, request_body};
use crate::surface::Surface;
use bytes::Bytes;
use dataplane::probe::{Fault, Probe};
use dataplane::{Answer, Form, Refusal};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use hyper::body::Incoming;

/// The only headers of a client that reach a model server.
const PASSED: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Answers `POST /v1/chat/completions` and `POST /v1/embeddings`, which differ in how their bodies are read.
pub(super) async fn infer(
    surface: &Surface,
    head: &Parts,
    mut body: Incoming,
    call: Call,
    probe: fn(Bytes) -> Result<Probe, Fault>,
) -> Response<Body> {
    let bytes = match surface.body_bounds.read(&head.headers, &mut body).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            request_body::discard(&head.headers, body).await;
            return refuse(&unread.into(), call.tap);
        }
    };
    let probe = match probe(bytes) {
        Ok(probe) => probe,
        Err(fault) => return refuse(&Refused::Call(Refusal::from(fault)), call.tap),
    };
    let call = dataplane::Call {
        request_header: call.id,
        caller: call.caller,
        probe,
        headers: passed(&head.headers),
        tap: call.tap,
        dress: error::event,
    };
    match surface.dataplane.infer(call).await {
        Ok(answer) => respond(answer),
        Err((refusal, call)) => refuse(&Refused::Call(refusal), call.tap),
    }
}

fn respond(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::Answer(answer.body));
    let headers = response.headers_mut();
    if let Some(standings) = &answer.standings {
        rate_limit_headers::put(headers, standings);
    }
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
    response
}

fn passed(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in PASSED {
        if let Some(value) = headers.get(&name) {
            kept.insert(name, value.clone());
        }
    }
    kept
}
