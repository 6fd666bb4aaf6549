//! What the data plane makes of a translated request.

#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use crate::request::{ParsedRequest, Translated};
use dialects::Traits;
use dialects::messages::MessagesRequest;
use fleet::routing::TokenRatio;
use serde_json::{Value, json};

const CONTEXT_LENGTH: u64 = 1000;

/// A request with these members besides the required ones.
fn body(members: Value) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn parsed(body: &Value, is_native: bool) -> ParsedRequest {
    let traits = Traits { context_length: CONTEXT_LENGTH, is_native, ..Traits::default() };
    let request = MessagesRequest::parse(body.to_string().into()).unwrap();
    Translated::parse(request.into_chat(traits, "msg_1".into()).unwrap()).unwrap().request
}

#[test]
fn the_limit_is_lowered_to_what_the_context_leaves() {
    for (max_tokens, expected) in [(5, 5), (128_000, 904)] {
        let request = parsed(&body(json!({"max_tokens": max_tokens})), false);
        let estimate = &request.estimate;
        let bound = estimate.bound(CONTEXT_LENGTH);
        assert_eq!(bound.completion, expected);
        assert_eq!(estimate.limit_to_send(bound.completion), Some(expected));
        assert_eq!(estimate.unmetered_limit(CONTEXT_LENGTH), Some(expected));
        assert!(!estimate.has_limit(), "an engine that rejects it gets the call without it");
    }
}

#[test]
fn a_copy_of_the_system_prompt_counts_in_the_memory_of_a_request() {
    let text = json!({"type": "text", "text": "x".repeat(1_000)});
    let header = json!({"type": "text", "text": "x-anthropic-billing-header: cch=1"});
    let kept = |system: Value| {
        let body = body(json!({"system": system}));
        let request = parsed(&body, true);
        request.kept_bytes() - request.body.len() - body.to_string().len()
    };
    assert_eq!(kept(json!([text])), 0);
    assert!(kept(json!([header, text])) > 1_000);
}

#[test]
fn what_only_a_native_engine_gets_is_reserved_and_billed() {
    let turn = json!([{"type": "redacted_thinking", "data": "x".repeat(4_000)}, {"type": "text", "text": "Yes."}]);
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": turn},
        {"role": "user", "content": "Go on."}]);
    let tokens = |is_native| {
        let body = body(json!({"messages": messages}));
        let request = parsed(&body, is_native);
        (request.prompt_tokens(100_000, &TokenRatio::default()), request.estimate.bound(100_000).prompt)
    };
    let (translated, native) = (tokens(false), tokens(true));
    assert!(translated.0 < 100 && translated.1 < 1_000, "{translated:?}");
    assert!(native.0 >= 1_000 && native.1 >= 4_000, "{native:?}");
}
