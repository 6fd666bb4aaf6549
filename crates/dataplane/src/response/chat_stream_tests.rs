use super::*;
use crate::dialect_tests::scripted_engine::pass_through as pass;
use crate::request::StreamOptions;
use domain::usage::{Certainty, Tokens};
use expect_test::expect;
use proptest::prelude::*;

fn stream(usage: bool) -> ChatStream {
    let mut streaming = StreamOptions::default();
    streaming.usage = usage;
    ChatStream::new("acme/tiny", &streaming, 1, 10, None)
}

const CLEAN: &str = concat!(
    "data: {\"id\":\"c1\",\"created\":5,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    ": keep-alive\n\n",
    "data: {\"id\":\"c1\",\"created\":5,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\u{e9}🙂\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"total_tokens\":10}}\n\n",
    "data: {\"id\":\"c1\",\"created\":5,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n",
    "data: {\"id\":\"c1\",\"created\":5,\"model\":\"up\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn usage_is_read_and_removed_if_the_client_did_not_request_it() {
    let mut relay = stream(false);
    let (text, result) = pass(&mut relay, &[CLEAN.as_bytes()]);
    result.unwrap();
    expect![[r#"
        data: {"id":"c1","created":5,"model":"acme/tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

        : ping

        data: {"id":"c1","created":5,"model":"acme/tiny","choices":[{"index":0,"delta":{"content":"hé🙂"},"finish_reason":null}]}

        data: {"id":"c1","created":5,"model":"acme/tiny","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

        data: [DONE]

    "#]]
    .assert_eq(&text);
    assert_eq!(relay.meter.tokens(), (Tokens { prompt: 9, completion: 2, cached: 0 }, Certainty::Exact));
}

#[test]
fn requested_usage_is_sent_once_in_its_own_chunk() {
    let (text, _) = pass(&mut stream(true), &[CLEAN.as_bytes()]);
    assert_eq!(text.matches("\"usage\":{").count(), 1);
    assert!(
        text.contains("\"choices\":[],\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":0},\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}")
    );

    // Usage in the chunk of the last choice moves to a chunk of its own.
    let late = "data: {\"id\":\"c\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
    let (text, _) = pass(&mut stream(true), &[late.as_bytes()]);
    expect![[r#"
        data: {"model":"acme/tiny","id":"c","created":5,"choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}

        data: {"id":"c","object":"chat.completion.chunk","created":5,"model":"acme/tiny","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}

        data: [DONE]

    "#]]
    .assert_eq(&text);
}

#[test]
fn deviations_of_engines_are_normalized() {
    let strays = concat!(
        "event: message\r\nid: 1\r\ndata: {\"id\":\"a\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\r\n\r\n",
        "event: ping\r\n\r\n",
        "retry: 3000\r\n\r\n",
        "data: {\"id\":\"b\",\"created\":2,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"t\",\"function\":{}}]},\"finish_reason\":null}]}\r\n\r\n",
        "data: {\"id\":\"c\",\"created\":3,\"model\":\"m\",\"choices\":[]}\r\n\r\n",
        "data: {\"id\":\"d\",\"created\":4,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":null,\"finish_reason\":\"eos_token\"}]}\r\n\r\n",
    );
    let (text, result) = pass(&mut stream(false), &[strays.as_bytes()]);
    result.unwrap();
    expect![[r#"
        data: {"id":"a","created":1,"model":"acme/tiny","choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":"x"}}]}

        data: {"id":"a","created":1,"model":"acme/tiny","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","id":"t","function":{}}]},"finish_reason":null}]}

        data: {"id":"a","created":1,"model":"acme/tiny","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

        data: [DONE]

    "#]]
    .assert_eq(&text);
}

/// Recorded from vLLM 0.32: `stop` after a forced tool. SGLang and others call reasoning `reasoning_content`.
#[test]
fn a_turn_with_tool_calls_ends_because_of_them_and_reasoning_has_both_names() {
    let chunk = |delta: &str, finish: &str| {
        let choice = format!(r#"{{"index":0,"delta":{{{delta}}},"logprobs":null,"finish_reason":{finish}}}"#);
        format!("data: {{\"id\":\"c\",\"created\":5,\"model\":\"acme/tiny\",\"choices\":[{choice}]}}\n\n")
    };
    let call = r#""content":null,"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":""}}]"#;
    let more = r#""content":null,"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]"#;
    let stream_with = |reasoning: &str, finish: &str| {
        let role = chunk(r#""role":"assistant","content":"""#, "null");
        let chunks = [role, chunk(reasoning, "null"), chunk(call, "null"), chunk(more, "null"), chunk("", finish)];
        chunks.concat() + "data: [DONE]\n\n"
    };
    for reasoning in [
        r#""reasoning":"a\"b""#,
        r#""reasoning":"a\"b","reasoning_content":"a\"b""#,
        r#""reasoning":null,"reasoning_content":"a\"b""#,
        r#""reasoning":"a\"b","reasoning_content":null"#,
    ] {
        let (text, result) = pass(&mut stream(false), &[stream_with(reasoning, "\"stop\"").as_bytes()]);
        result.unwrap();
        assert_eq!(text, stream_with(r#""reasoning":"a\"b","reasoning_content":"a\"b""#, "\"tool_calls\""));
    }
}

#[test]
fn a_broken_stream_never_ends_cleanly() {
    let cut = &CLEAN[..CLEAN
        .find("data: {\"id\":\"c1\",\"created\":5,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{},")
        .unwrap()];
    let mut relay = stream(false);
    let (text, result) = pass(&mut relay, &[cut.as_bytes()]);
    assert!(result.is_err() && !text.contains("[DONE]"));
    assert_eq!(relay.meter.tokens(), (Tokens { prompt: 9, completion: 1, cached: 0 }, Certainty::Exact));

    for bad in [
        "data: {\"error\":{\"message\":\"boom\"}}\n\n",
        "data: {\"object\":\"error\",\"message\":\"boom\"}\n\n",
        "data: {\"id\":\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
        "data: {\"choices\":[{\"index\":400,\"delta\":{}}]}\n\n",
        "data: {\"choices\":[{}]}\n\n",
        "data: [DONE]\n\n",
    ] {
        let (text, result) = pass(&mut stream(false), &[bad.as_bytes()]);
        assert!(result.is_err() && text.is_empty(), "{bad}: {text}");
    }
}

#[test]
fn an_aborted_choice_whose_only_chunk_has_its_text_ends_at_its_length() {
    let chunk = |members: &str| {
        format!("data: {{\"choices\":[{{{members},\"index\":0,\"finish_reason\":\"abort\"}}]}}\n\ndata: [DONE]\n\n")
    };
    let late = r#""finish_reason":"abort","index":0,"delta":{"content":"Hi"}"#;
    let late = format!("data: {{\"choices\":[{{{late}}}]}}\n\ndata: [DONE]\n\n");
    for aborted in [chunk(r#""delta":{"content":"Hi"}"#), late] {
        let mut relay = stream(false);
        let (text, result) = pass(&mut relay, &[aborted.as_bytes()]);
        result.unwrap();
        assert!(text.contains("\"finish_reason\":\"length\"") && text.contains("\"content\":\"Hi\""), "{text}");
        assert_eq!(relay.meter.tokens().0.completion, 1);
    }
    let (text, result) = pass(&mut stream(false), &[chunk(r#""delta":{"content":""}"#).as_bytes()]);
    assert_eq!((text.as_str(), result), ("", Err(BadUpstreamResponse::Cut("the engine aborted the response"))));
}

#[test]
fn a_chunk_has_no_more_choices_than_a_request_may_ask_for() {
    for (choices, is_valid) in [(128, true), (129, false)] {
        // The same index, so that only their number differs.
        let choices = vec![r#"{"index":0,"delta":{"content":"a"}}"#; choices].join(",");
        let (_, result) = pass(&mut stream(false), &[format!("data: {{\"choices\":[{choices}]}}\n\n").as_bytes()]);
        let is_too_many = BadUpstreamResponse::Unexpected("a chunk has more than 128 choices");
        assert_eq!(result != Err(is_too_many), is_valid, "{result:?}");
    }
}

#[test]
fn what_a_chunk_makes_us_keep_is_bounded() {
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(4 << 10));
    let calls = vec!["{}"; (1 << 12) + 1].join(",");
    let calls = format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{calls}]}}}}]}}");
    for bad in [
        long.as_str(),
        calls.as_str(),
        r#"{"id":"a","id":"b"}"#,
        r#"{"created":1,"created":2}"#,
        r#"{"model":"a","model":"b"}"#,
        r#"{"choices":[{"delta":{},"delta":{}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"eos","finish_reason":"eos"}]}"#,
    ] {
        let (text, result) = pass(&mut stream(false), &[format!("data: {bad}\n\n").as_bytes()]);
        assert!(
            matches!(result, Err(BadUpstreamResponse::Unexpected(_) | BadUpstreamResponse::NotJson(_))),
            "{result:?}"
        );
        assert!(text.is_empty(), "{text}");
    }
}

#[test]
fn chunks_are_counted_without_usage() {
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n";
    let mut relay = stream(false);
    let _ = pass(&mut relay, &[chunk.as_bytes(), chunk.as_bytes()]);
    assert_eq!(relay.meter.tokens(), (Tokens { prompt: 10, completion: 2, cached: 0 }, Certainty::Estimated));
    assert_eq!(stream(false).meter.tokens().1, Certainty::Void);

    // Some engines send an empty list of tool calls in every chunk.
    let empty = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"tool_calls\":[]},\"finish_reason\":\"stop\"}]}\n\n";
    let _ = pass(&mut relay, &[empty.as_bytes()]);
    assert_eq!(relay.meter.tokens().0.completion, 2);
}

proptest! {
    #[test]
    fn a_stream_gives_the_same_result_however_it_is_split(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        crlf in any::<bool>(),
        usage in any::<bool>(),
    ) {
        let text = if crlf { CLEAN.replace('\n', "\r\n") } else { CLEAN.to_owned() };
        let text = text.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(pass(&mut stream(usage), &pieces), pass(&mut stream(usage), &[CLEAN.as_bytes()]));
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = [b"data: ", &bytes[..], b"\n\n"].concat();
        let _ = stream(true).pass(Bytes::from(bytes));
    }

    #[test]
    fn a_damaged_stream_never_produces_invalid_json(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = CLEAN.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let mut relay = stream(true);
        let written = relay.pass(Bytes::from(bytes)).unwrap_or_else(|_| relay.take_written());
        for event in written.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data: ")) {
            if event != b"[DONE]" && std::str::from_utf8(event).is_ok() {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(event).is_ok());
            }
        }
    }
}
