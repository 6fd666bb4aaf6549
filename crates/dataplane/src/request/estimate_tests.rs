use super::TokenEstimate;
use crate::request::{ParsedRequest, chat, embeddings};
use domain::model::{LimitName, Upstream};
use domain::quota::TokenBound;
use fleet::routing::TokenRatio;
use proptest::prelude::*;

const CONTEXT: u64 = 8_192;

fn parse(rest: &str) -> ParsedRequest {
    let body = format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"hi"}}]{rest}}}"#);
    chat::parse(body.into()).unwrap()
}

fn bound(rest: &str) -> TokenBound {
    parse(rest).estimate.bound(CONTEXT)
}

fn clamped(rest: &str) -> String {
    let request = parse(rest);
    String::from_utf8(request.upstream_edits("b", false, Some(7)).apply(&request.body).to_vec()).unwrap()
}

#[test]
fn a_call_with_a_limit_is_bounded_by_its_prompt_and_its_limit() {
    let messages = r#"[{"role":"user","content":"hi"}]"#.len() as u64;
    let prompt = messages + 64;
    assert_eq!(bound(r#","max_tokens":100"#), TokenBound { prompt, completion: 100, choices: 1 });
    assert_eq!(bound(r#","max_completion_tokens":100,"n":3"#).total(), prompt + 300);
    assert_eq!(bound(r#","max_tokens":100,"max_completion_tokens":50"#).completion, 100);
    assert_eq!(bound(r#","max_tokens":1,"tools":[]"#).prompt, prompt + 2);
    assert_eq!(bound(r#","max_tokens":1,"response_format":{"type":"text"}"#).prompt, prompt + 15);
}

#[test]
fn a_call_without_a_limit_is_bounded_by_the_context() {
    assert_eq!(bound("").total(), CONTEXT);
    let prompt = bound("").prompt;
    assert_eq!(bound(r#","n":2"#), TokenBound { prompt, completion: CONTEXT - prompt, choices: 2 });
    assert_eq!(bound(r#","max_tokens":null"#).total(), CONTEXT);
    let image = r#"{"model":"a/b","max_tokens":5,"messages":[{"role":"user","content":[
        {"type":"image_url","image_url":{"url":"data:x"}}]}]}"#;
    assert_eq!(chat::parse(image.into()).unwrap().estimate.bound(CONTEXT).total(), CONTEXT + 5);
    let text = r#"{"model":"a/b","max_tokens":5,"messages":[{"role":"user","content":[
        {"type":"text","text":"hi"}]}]}"#;
    assert!(chat::parse(text.into()).unwrap().estimate.bound(CONTEXT).total() < 250);
}

#[test]
fn members_that_the_gateway_does_not_know_count_as_prompt() {
    let prompt = bound(r#","max_tokens":1"#).prompt;
    for member in [r#""chat_template_kwargs":{"x":"y"}"#, r#""documents":[{"a":"b"}]"#, r#""tool_choice":"auto""#] {
        let (_, value) = member.split_once(':').unwrap();
        assert_eq!(bound(&format!(r#","max_tokens":1,{member}"#)).prompt, prompt + value.len() as u64, "{member}");
    }
    let long = "x".repeat(400_000);
    assert_eq!(bound(&format!(r#","max_tokens":1,"functions":["{long}"]"#)).prompt, CONTEXT);
    assert_eq!(bound(r#","max_tokens":1,"temperature":1.00000000,"stop":["a long stop sequence"]"#).prompt, prompt);
    let embed = |rest: &str| {
        let body = format!(r#"{{"model":"a/b","input":"one"{rest}}}"#);
        embeddings::parse(body.into()).unwrap().estimate.bound(CONTEXT).prompt
    };
    assert_eq!(embed(r#","x":"1234","messages":[{}]"#), embed("") + 6 + 4);
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_byte_of_an_unknown_member_is_counted(
        members in prop::collection::btree_map("x_[a-z]{1,4}", any_value(), 0..8),
    ) {
        let rest: String = members.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
        let values: usize = members.values().map(|value| value.to_string().len()).sum();
        prop_assert_eq!(parse(&rest).estimate.prompt_bytes, parse("").estimate.prompt_bytes + values as u64);
    }

    #[test]
    fn a_call_fits_its_reservation_whatever_is_granted(
        bytes in 0..100_000u64, context in 1..20_000u64, choices in 1..9u64, granted in 0..200_000u64,
    ) {
        let estimate = TokenEstimate { prompt_bytes: bytes, messages: 1, choices, ..TokenEstimate::chat() };
        let bound = estimate.bound(context);
        prop_assume!(granted >= bound.least());
        let limit = bound.clamped(granted).completion.min(bound.completion);
        prop_assert!(limit >= 1 && limit <= context);
        prop_assert!(bound.prompt + limit * choices <= granted.min(bound.total()));
    }
}

/// The limit for a prompt of this many bytes.
fn room(bytes: u64) -> u64 {
    let prompt = bytes - 64;
    let estimate = TokenEstimate { prompt_bytes: prompt, messages: 1, ..TokenEstimate::chat() };
    let bound = estimate.bound(8_000);
    assert_eq!(estimate.limit_to_send(bound.completion), Some(bound.completion));
    bound.completion
}

#[test]
fn a_call_without_a_limit_gets_what_the_context_leaves() {
    let limits = [1_000, 4_000, 6_000, 12_000, 15_000, 18_000, 30_000, 1_000_000].map(room);
    assert_eq!(limits, [7_000, 4_000, 4_000, 4_000, 3_000, 2_000, 2_000, 2_000]);
}

#[test]
fn the_engine_gets_a_limit_unless_the_clients_own_is_lower() {
    let limit = |rest: &str, completion: u64| parse(rest).estimate.limit_to_send(completion);
    assert_eq!(limit("", 50), Some(50));
    assert_eq!(limit(r#","max_tokens":null"#, 50), Some(50));
    assert_eq!(limit(r#","max_tokens":50"#, 50), None);
    assert_eq!(limit(r#","max_tokens":51"#, 50), Some(50));
    assert_eq!(limit(r#","max_tokens":7,"max_completion_tokens":51"#, 50), Some(50));
    let embeddings = embeddings::parse(r#"{"model":"a/b","input":"one"}"#.into()).unwrap();
    assert_eq!(embeddings.estimate.limit_to_send(0), None);
}

#[test]
fn inputs_are_bounded_by_their_bytes_and_generate_nothing() {
    let request = embeddings::parse(r#"{"model":"a/b","input":["one","three"]}"#.into()).unwrap();
    assert_eq!(request.estimate.bound(CONTEXT), TokenBound { prompt: 15 + 128, completion: 0, choices: 1 });
    assert_eq!(request.estimate.expected(CONTEXT, 1_000, Some(500)), (3, 0));
}

#[test]
fn an_image_is_not_expected_to_have_as_many_tokens_as_its_file_has_bytes() {
    let file = "A".repeat(3_000_000);
    let image = |url: &str| {
        let part = format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#);
        let body = format!(r#"{{"model":"a/b","max_tokens":5,"messages":[{{"role":"user","content":[{part}]}}]}}"#);
        let estimate = chat::parse(body.into()).unwrap().estimate;
        (estimate.expected(CONTEXT, 1_000_000, None).0, estimate.likely_prompt())
    };
    let (expected, counted) = image(&format!("data:image/png;base64,{file}"));
    assert!((1_024..1_050).contains(&expected) && (1_024..1_050).contains(&counted), "{expected} {counted}");
    let video = format!(r#"{{"type":"video_url","video_url":{{"url":"data:video/mp4;base64,{file}"}}}}"#);
    let body = format!(r#"{{"model":"a/b","max_tokens":5,"messages":[{{"role":"user","content":[{video}]}}]}}"#);
    let estimate = chat::parse(body.into()).unwrap().estimate;
    assert_eq!(estimate.expected(CONTEXT, 1_000_000, None).0, CONTEXT + 5, "at most the context");
    assert_eq!(estimate.likely_prompt_within(CONTEXT), CONTEXT, "also if it is counted");
}

#[test]
fn an_estimated_prompt_fits_its_reservation() {
    let long = "x".repeat(10_000);
    let chat = chat::parse(format!(r#"{{"model":"a/b","messages":[{{"role":"user","content":"{long}"}}]}}"#).into());
    let one = embeddings::parse(format!(r#"{{"model":"a/b","input":"{long}"}}"#).into());
    let two = embeddings::parse(format!(r#"{{"model":"a/b","input":["{long}","hi"]}}"#).into());
    let estimated = [chat, one, two].map(|request| request.unwrap().prompt_tokens(256, &TokenRatio::default()));
    assert_eq!(estimated, [256, 256, 512], "each input has at most the context");
}

#[test]
fn expected_tokens_are_what_the_model_usually_writes_within_the_limits() {
    let prompt = r#"[{"role":"user","content":"hi"}]"#.len() as u64 / 4;
    let limited = |limit: u64| format!(r#","max_tokens":{limit}"#);
    for (rest, per_minute, usual, expected) in [
        (r#","max_tokens":100,"n":2"#, 60_000, None, 200),
        (r#","max_tokens":100,"n":2"#, 60_000, Some(5_000), 200),
        ("", 60_000, None, 1_024),
        ("", 2_000, None, 500),
        ("", 400, None, 256),
        ("", 60_000, Some(3), 256),
        (&limited(128_000), 60_000, None, 1_024),
        (&limited(128_000), 60_000, Some(300), 300),
        (&limited(128_000), 60_000, Some(CONTEXT * 2), CONTEXT),
        (r#","n":2"#, 60_000, Some(300), 600),
    ] {
        let found = parse(rest).estimate.expected(CONTEXT, per_minute, usual);
        assert_eq!(found, (prompt + expected, expected), "{rest} {usual:?}");
    }
}

#[test]
fn a_limit_beyond_the_context_reserves_no_more_than_the_context() {
    let absurd = parse(r#","max_tokens":9223372036854775807,"n":2"#).estimate;
    assert_eq!(absurd.bound(CONTEXT).completion, CONTEXT);
    assert_eq!(absurd.expected(CONTEXT, 60_000, Some(u64::MAX)).1, 2 * CONTEXT);
}

#[test]
fn a_limit_is_renamed_for_a_server_that_knows_one_name_only() {
    let openai = Upstream { limit_name: LimitName::MaxCompletionTokens, ..Upstream::plain("http://a/v1", "b") };
    let sent = |rest: &str, limit| {
        let request = parse(rest);
        let sent = request.edits_for(&openai, limit).apply(&request.body);
        String::from_utf8(sent.to_vec()).unwrap()
    };
    assert!(sent("", Some(7)).starts_with(r#"{"model":"b","max_completion_tokens":7,"#));
    assert!(!sent("", None).contains("max_"));
    assert!(sent(r#","max_tokens" : 100"#, Some(7)).ends_with(r#","max_completion_tokens" : 7}"#));
    assert!(sent(r#","max_tokens":5"#, None).ends_with(r#","max_completion_tokens":5}"#));
    assert!(sent(r#","max_completion_tokens":100"#, Some(7)).ends_with(r#","max_completion_tokens":7}"#));
    let both = r#","max_tokens":5,"max_completion_tokens":6"#;
    assert!(sent(both, None).contains(both), "the server rejects it");
}

#[test]
fn a_clamp_uses_the_members_of_the_client() {
    assert!(clamped(r#","max_tokens": 100"#).contains(r#","max_tokens": 7"#));
    assert!(clamped(r#","max_completion_tokens":100"#).contains(r#","max_completion_tokens":7"#));
    let both = clamped(r#","max_tokens":100,"max_completion_tokens":90"#);
    assert!(both.contains(r#""max_tokens":7,"max_completion_tokens":7"#), "{both}");
    let one = clamped(r#","max_tokens":5,"max_completion_tokens":90"#);
    assert!(one.contains(r#""max_tokens":5,"max_completion_tokens":7"#), "{one}");
    assert!(clamped("").starts_with(r#"{"model":"b","max_tokens":7,"#));
    assert!(clamped(r#","max_tokens":null"#).contains(r#""max_tokens":7"#));
}
