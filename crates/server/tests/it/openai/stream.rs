//! Streamed chats.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::{ErrorBody, Script};
use testkit::http::Event;

use crate::app::{CHAT, TestApp, UPSTREAM_NAME, content, error_line, stream, stream_with_usage};

fn raw(events: &[Event]) -> String {
    events.iter().map(|event| format!("{}\n\n", event.raw)).collect()
}

/// The chunks without `[DONE]`, which must be the last event.
fn chunks(events: &[Event]) -> Vec<Value> {
    let (last, chunks) = events.split_last().unwrap();
    assert!(last.is_done() && last.raw == "data: [DONE]", "{events:#?}");
    let chunks: Vec<Value> = chunks.iter().filter(|event| event.data().is_some()).map(Event::json).collect();
    assert!(chunks.iter().all(Value::is_object), "{events:#?}");
    chunks
}

/// Checks that four members are the same in every chunk, and that clients can read the deltas.
fn check_chunks(chunks: &[Value]) {
    let same = |chunk: &Value| ["id", "object", "created", "model"].map(|member| chunk[member].clone());
    for chunk in chunks {
        assert_eq!(same(chunk), same(&chunks[0]));
        assert_eq!((&chunk["model"], &chunk["object"]), (&json!(CHAT), &json!("chat.completion.chunk")));
        for choice in chunk["choices"].as_array().unwrap() {
            assert!(choice["delta"].is_object() && choice.get("finish_reason").is_some(), "{chunk}");
        }
    }
    let roles = chunks.iter().filter(|chunk| chunk["choices"][0]["delta"]["role"] == "assistant").count();
    assert_eq!(roles, 1, "{chunks:#?}");
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
}

#[tokio::test]
async fn a_stream_arrives_with_its_headers_and_its_end() {
    let app = TestApp::start().await;
    let opened = app.open_stream(stream("hi")).await;
    assert_eq!(opened.headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(opened.headers["cache-control"], "no-cache");
    assert_eq!(opened.headers["x-accel-buffering"], "no");
    assert!(opened.headers["x-request-id"].to_str().unwrap().starts_with("req_"));
    let (events, clean) = opened.rest().await;
    assert!(clean);
    expect![[r#"
        data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

        data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"delta":{"content":"Hello "},"logprobs":null,"finish_reason":null}]}

        data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"delta":{"content":"Hello "},"logprobs":null,"finish_reason":null}]}

        data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"delta":{"content":"Hello "},"logprobs":null,"finish_reason":null}]}

        data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}

        data: [DONE]

    "#]]
    .assert_eq(&raw(&events));
}

#[tokio::test]
async fn usage_is_sent_only_if_requested() {
    let app = TestApp::start().await;
    let plain = Script { prompt_tokens: 7, chunks: 4, ..Script::default() };
    let engines = [
        ("as requested", plain.clone()),
        ("in every chunk", Script { usage_every_chunk: true, ..plain.clone() }),
        ("on the last content chunk", Script { usage_on_last_content_chunk: true, ..plain.clone() }),
        ("null in the others", Script { usage_null: true, ..plain.clone() }),
        ("without the last line", Script { no_done: true, ..plain }),
    ];
    for (name, script) in engines {
        let events = app.events(script.clone(), stream_with_usage("hi")).await;
        let chunks_with_usage: Vec<Value> =
            chunks(&events).into_iter().filter(|chunk| chunk["usage"].is_object()).collect();
        let [last] = &chunks_with_usage[..] else { panic!("{name}: {events:#?}") };
        assert_eq!(last["choices"], json!([]), "{name}");
        let details = json!({"cached_tokens": 0});
        let usage =
            json!({"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11, "prompt_tokens_details": details});
        assert_eq!(last["usage"], usage, "{name}");
        assert_eq!(&events[events.len() - 2].json(), last, "{name}: the usage comes last");
        check_chunks(&chunks(&events));

        let events = app.events(script, stream("hi")).await;
        assert!(!raw(&events).contains("usage"), "{name}: {events:#?}");
        assert!(chunks(&events).iter().all(|chunk| chunk["choices"] != json!([])), "{name}: {events:#?}");
        assert_eq!(content(&events), "Hello ".repeat(4), "{name}");
    }
}

#[tokio::test]
async fn usage_that_the_engine_does_not_report_is_estimated() {
    let app = TestApp::start().await;
    let script = Script { no_usage: true, chunks: 6, ..Script::default() };
    let chunks = chunks(&app.events(script, stream_with_usage("hi")).await);
    let usage = &chunks.last().unwrap()["usage"];
    assert_eq!(usage["completion_tokens"], 6, "a chunk is about a token");
    assert!(usage["prompt_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn running_usage_reaches_a_client_that_requested_it() {
    let app = TestApp::start().await;
    let mut body = stream_with_usage("hi");
    body["stream_options"]["continuous_usage_stats"] = json!(true);
    let chunks = chunks(&app.events(Script::default(), body).await);
    assert!(chunks.iter().all(|chunk| chunk["usage"].is_object()), "{chunks:#?}");
    assert_eq!(chunks[2]["usage"]["completion_tokens"], 2);
}

#[tokio::test]
async fn usage_is_requested_from_every_upstream_and_the_options_of_the_client_are_kept() {
    let app = TestApp::start().await;
    app.events(Script::default(), stream("hi")).await;
    let mut body = stream("hi");
    body["stream_options"] = json!({"include_obfuscation": false, "include_usage": false});
    app.events(Script::default(), body).await;
    app.chat("hi").await;
    let calls = app.engine().calls();
    let ours = json!({"include_usage": true, "continuous_usage_stats": true});
    assert_eq!(calls[0].json()["stream_options"], ours);
    let both = json!({"include_usage": true, "continuous_usage_stats": true, "include_obfuscation": false});
    assert_eq!(calls[1].json()["stream_options"], both);
    assert!(calls[2].json().get("stream_options").is_none(), "vLLM rejects it without a stream");

    let app = TestApp::setup().upstream("continuous_usage = false").start().await;
    app.events(Script::default(), stream("hi")).await;
    assert_eq!(app.engine().calls()[0].json()["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn a_streaming_request_reaches_the_engine_byte_for_byte() {
    let app = TestApp::start().await;
    let body = r#"{"stream":true ,"seed":-9223372036854775808,"x":[18446744073709551616],"model":"acme/tiny",
        "messages":[{"role":"user","content":"é"}], "ignore_eos" : true,"max_completion_tokens":9}"#;
    app.client().post_bytes("/chat/completions", body).await;
    let asked = r#"{"include_usage":true,"continuous_usage_stats":true}"#;
    let ours = format!("\"{UPSTREAM_NAME}\",\"stream_options\":{asked}");
    assert_eq!(String::from_utf8_lossy(&app.engine().calls()[0].body), body.replace("\"acme/tiny\"", &ours));
}

#[tokio::test]
async fn every_choice_of_a_stream_has_one_role_and_one_finish_reason() {
    let app = TestApp::start().await;
    let mut body = stream("hi");
    body["n"] = json!(3);
    let chunks = chunks(&app.events(Script { no_role: true, ..Script::default() }, body).await);
    for index in 0..3 {
        let of_index = chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap());
        let choices: Vec<&Value> = of_index.filter(|choice| choice["index"] == index).collect();
        assert_eq!(choices.iter().filter(|choice| choice["delta"]["role"] == "assistant").count(), 1);
        assert_eq!(choices.iter().filter(|choice| choice["finish_reason"] == "stop").count(), 1);
    }
}

#[tokio::test]
async fn clients_get_only_data_and_comments() {
    let app = TestApp::start().await;
    let expected = raw(&app.events(Script::default(), stream("hi")).await);
    for script in [
        Script { crlf: true, ..Script::default() },
        Script { id_lines: true, ..Script::default() },
        Script { event_lines: true, ..Script::default() },
        Script { comments: true, crlf: true, id_lines: true, event_lines: true, ..Script::default() },
    ] {
        let (comments, events): (Vec<Event>, Vec<Event>) =
            app.events(script.clone(), stream("hi")).await.into_iter().partition(|event| event.raw.starts_with(':'));
        assert_eq!(raw(&events), expected, "{script:?}");
        assert_eq!(comments.is_empty(), !script.comments);
        assert!(comments.iter().all(|comment| comment.raw == ": ping"), "{comments:?}");
    }
}

#[tokio::test]
async fn a_stream_is_the_same_however_its_bytes_are_split() {
    let app = TestApp::start().await;
    let odd = Script { text: "é漢字🙂\\\"\n".to_owned(), crlf: true, id_lines: true, ..Script::default() };
    let expected = app.events(odd.clone(), stream_with_usage("hi")).await;
    assert_eq!(content(&expected), odd.text.repeat(3));
    for size in [1, 2, 3, 5, 7, 11, 64, 257] {
        let cut = Script { split: Some(size), ..odd.clone() };
        assert_eq!(app.events(cut, stream_with_usage("hi")).await, expected, "pieces of {size} bytes");
    }
}

#[tokio::test]
async fn a_chunk_is_forwarded_at_once() {
    let app = TestApp::start().await;
    app.engine().push(Script { stall_after: Some(2), ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    let mut seen = String::new();
    while seen != "Hello Hello " {
        seen += &content(&[opened.next_event().await.unwrap()]);
    }
    assert_eq!(app.engine().in_flight(), 1, "the engine has not ended");
}

#[tokio::test]
async fn huge_chunks_and_many_chunks_arrive_complete() {
    let app = TestApp::start().await;
    let events = app.events(Script { huge_bytes: 4 << 20, ..Script::default() }, stream("hi")).await;
    assert_eq!(content(&events).len(), 3 * "Hello ".len() + (4 << 20));
    let events = app.events(Script { chunks: 20_000, limit_ignored: true, ..Script::default() }, stream("hi")).await;
    assert_eq!(content(&events), "Hello ".repeat(20_000));
}

/// As vLLM, which checks some members only after it has begun the stream: the first event is the error.
fn refusing(status: u16) -> Script {
    Script { status: Some(status), no_role: true, error_event_after: Some(0), ..Script::default() }
}

#[tokio::test]
async fn a_failure_before_the_first_byte_is_an_error_with_a_status() {
    let app = TestApp::start().await;
    for (script, expected) in [
        (Script { status: Some(500), ..Script::default() }, "502 bad_gateway"),
        (Script { status: Some(422), ..Script::default() }, "422 invalid_value"),
        (Script { hang_up: true, ..Script::default() }, "502 bad_gateway"),
        (Script { html: true, ..Script::default() }, "502 bad_gateway"),
        (Script { no_role: true, cut_after: Some(0), ..Script::default() }, "502 bad_gateway"),
        (Script { no_role: true, error_event_after: Some(0), ..Script::default() }, "502 bad_gateway"),
        (refusing(400), "400 invalid_value"),
        (refusing(422), "422 invalid_value"),
        (Script { error_body: ErrorBody::LlamaCpp, ..refusing(400) }, "400 invalid_value"),
        (refusing(503), "502 bad_gateway"),
    ] {
        app.engine().script(script.clone());
        // Different prompts: one that breaks two connections would be rejected.
        let prompt = format!("{script:?}");
        assert_eq!(error_line(&app.ask(stream(&prompt)).await), expected, "{script:?}");
    }
}

#[tokio::test]
async fn an_early_done_is_an_error() {
    let app = TestApp::start().await;
    let half = r#"{"id":"c","created":1,"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}"#;
    let script = Script { raw_events: Some(vec![half.into()]), ..Script::default() };
    let events = app.events(script, stream("hi")).await;
    assert_eq!(events.last().unwrap().json()["error"]["code"], "bad_gateway");

    let aborted = Script { chunks: 0, finish_reason: "abort".into(), ..Script::default() };
    let events = app.events(aborted, stream("hi")).await;
    assert_eq!(events.last().unwrap().json()["error"]["code"], "bad_gateway", "without any text");

    app.engine().push(Script { raw_events: Some(vec![]), ..Script::default() });
    assert_eq!(app.ask(stream("hi")).await.status, 502);
}
