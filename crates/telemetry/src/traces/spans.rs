//! Converts an ended call into spans: one for the call, and one per attempt to call a replica.

use super::call_trace::{Attempt, CallDetails, Context, Settled};
use super::names;
use super::otlp::{Attributes, Kind, Span, Status, StatusCode};
use std::time::Duration;

/// The provider in the sense of the conventions: this service, not the makers of its models.
const PROVIDER: &str = "forebay";
/// Flags of a span: it is sampled; it is known whether its parent is remote; its parent is remote.
const SAMPLED: u32 = 1;
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

pub(super) fn of_call(context: Context, details: CallDetails) -> Vec<Span> {
    let CallDetails { request, attempts, response, settled } = details;
    let Some(settled) = settled else { return Vec::new() };
    let mut spans: Vec<Span> = attempts.iter().map(|attempt| of_attempt(&context, &settled, attempt)).collect();
    let mut attributes = of_request(&settled);
    request.write(&mut attributes);
    response.write(&mut attributes);
    let is_remote = if context.parent.is_some() { IS_REMOTE } else { 0 };
    spans.push(Span {
        trace_id: context.trace_id.to_be_bytes().to_vec(),
        span_id: context.span_id.to_be_bytes().to_vec(),
        trace_state: context.tracestate,
        parent_span_id: context.parent.map(|parent| parent.span_id.to_be_bytes().to_vec()).unwrap_or_default(),
        name: name(&settled),
        kind: Kind::Server.into(),
        start_time_unix_nano: moment(&settled, Duration::ZERO),
        end_time_unix_nano: moment(&settled, settled.duration),
        attributes: attributes.0,
        status: status(settled.status >= 500 || settled.is_broken),
        flags: SAMPLED | HAS_IS_REMOTE | is_remote,
    });
    spans
}

/// The path of a route.
fn http_route(route: &str) -> &'static str {
    match route {
        "completions" => "/v1/completions",
        "embeddings" => "/v1/embeddings",
        "rerank" => "/v1/rerank",
        "score" => "/v1/score",
        "messages" => "/v1/messages",
        "responses" => "/v1/responses",
        _ => "/v1/chat/completions",
    }
}

/// The name of a route in the conventions.
fn operation(route: &'static str) -> &'static str {
    if route == "completions" { "text_completion" } else { route }
}

fn of_request(settled: &Settled) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.put(names::OPERATION, operation(settled.route));
    attributes.put(names::PROVIDER, PROVIDER);
    attributes.put_some(names::REQUEST_MODEL, settled.model.as_deref());
    attributes.put(names::HTTP_METHOD, "POST");
    attributes.put(names::HTTP_ROUTE, http_route(settled.route));
    attributes.put(names::HTTP_STATUS, u64::from(settled.status));
    attributes.put_some(names::ERROR_TYPE, Some(settled.code).filter(|code| !code.is_empty()));
    attributes.put(names::FOREBAY_REQUEST, settled.request.as_str());
    attributes.put_some(names::FOREBAY_WORKSPACE, settled.workspace.as_deref());
    attributes.put_some(names::FOREBAY_HELD, settled.held.map(|held| held.as_secs_f64()));
    if settled.streamed {
        attributes.put(names::REQUEST_STREAM, true);
        attributes.put_some(names::RESPONSE_FIRST_CHUNK, settled.first_byte.map(|first| first.as_secs_f64()));
    }
    if let Some(certainty) = settled.certainty {
        attributes.put(names::USAGE_INPUT, settled.tokens.prompt);
        attributes.put(names::USAGE_OUTPUT, settled.tokens.completion);
        attributes.put_some(names::USAGE_CACHED, Some(settled.tokens.cached).filter(|cached| *cached > 0));
        attributes.put(names::FOREBAY_CERTAINTY, certainty.as_str());
    }
    attributes
}

fn of_attempt(context: &Context, settled: &Settled, attempt: &Attempt) -> Span {
    let replica = &attempt.replica;
    let mut attributes = Attributes::default();
    attributes.put(names::OPERATION, operation(settled.route));
    attributes.put(names::PROVIDER, PROVIDER);
    attributes.put(names::REQUEST_MODEL, replica.upstream.model.as_str());
    attributes.put(names::SERVER_ADDRESS, replica.address.host.as_str());
    attributes.put(names::SERVER_PORT, u64::from(replica.address.port));
    attributes.put(names::FOREBAY_REPLICA, &*replica.name);
    // The attempt that did not fail ended with the call and has its outcome.
    let (error, ended) = match attempt.failed {
        Some((reason, at)) => (Some(reason), at),
        None => (settled.is_broken.then_some(settled.code), settled.duration),
    };
    attributes.put_some(names::ERROR_TYPE, error);
    Span {
        trace_id: context.trace_id.to_be_bytes().to_vec(),
        span_id: attempt.span_id.to_be_bytes().to_vec(),
        trace_state: context.tracestate.clone(),
        parent_span_id: context.span_id.to_be_bytes().to_vec(),
        name: format!("{} {}", settled.route, replica.upstream.model),
        kind: Kind::Client.into(),
        start_time_unix_nano: moment(settled, attempt.began),
        end_time_unix_nano: moment(settled, ended),
        attributes: attributes.0,
        status: status(error.is_some()),
        flags: SAMPLED | HAS_IS_REMOTE,
    }
}

fn name(settled: &Settled) -> String {
    match &settled.model {
        Some(model) => format!("{} {model}", settled.route),
        None => settled.route.to_owned(),
    }
}

/// Nanoseconds since 1970.
fn moment(settled: &Settled, since_start: Duration) -> u64 {
    let start = u64::try_from(settled.started_millis).unwrap_or(0).saturating_mul(1_000_000);
    start.saturating_add(u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX))
}

/// Errors of the client are not errors of a server span.
fn status(is_error: bool) -> Option<Status> {
    is_error.then(|| Status { code: StatusCode::Error.into() })
}
