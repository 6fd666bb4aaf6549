//! The usage event that a call leaves in the store, however it ended.

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, error_line, stream, wait_until};
use crate::wire::{Wire, post};
use bytes::Bytes;
use domain::UsageEvent;
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::fake_engine::Script;

/// `status code certainty prompt+completion(cached) cost-in-nano-dollars`
fn line(event: &UsageEvent) -> String {
    let UsageEvent { status, code, certainty, tokens, cost, .. } = event;
    let (code, certainty) = (if code.is_empty() { "-" } else { code }, certainty.as_str());
    format!("{status} {code} {certainty} {}+{}({}) {}", tokens.prompt, tokens.completion, tokens.cached, cost.nanos())
}

/// The one event of one call.
async fn event_of(app: &TestApp) -> UsageEvent {
    app.usage(1).await.remove(0)
}

#[tokio::test]
async fn a_served_call_is_counted_exactly_and_priced() {
    let app = TestApp::start().await;
    app.engine().push(Script { prompt_tokens: 100, cached_tokens: Some(40), ..Script::default() });
    let response = app.chat("hi").await;
    let event = event_of(&app).await;
    assert_eq!(line(&event), "200 - exact 100+3(40) 92000");
    assert_eq!(Some(event.request.as_str()), response.header("x-request-id"));
    assert_eq!((event.model.as_str(), &*event.replica, event.streamed), (CHAT, "acme/tiny#1", false));
    assert!(event.first_byte_micros.unwrap() <= event.duration_micros);
}

#[tokio::test]
async fn a_stream_is_counted_whether_the_client_asked_for_usage_or_not() {
    let app = TestApp::start().await;
    app.events(Script { chunks: 5, ..Script::default() }, stream("hi")).await;
    let event = event_of(&app).await;
    assert_eq!(line(&event), "200 - exact 10+5(0) 30000");
    assert!(event.streamed);
}

#[tokio::test]
async fn embeddings_are_counted() {
    let app = TestApp::start().await;
    app.embed(json!({"model": EMBEDDING, "input": "hi"})).await;
    assert_eq!(line(&event_of(&app).await), "200 - exact 10+0(0) 200");
}

#[tokio::test]
async fn tokens_are_estimated_if_the_engine_does_not_report_them() {
    let app = TestApp::start().await;
    app.engine().push(Script { no_usage: true, chunks: 4, ..Script::default() });
    app.chat("hi").await;
    let event = event_of(&app).await;
    assert_eq!((event.certainty.as_str(), event.status), ("estimated", 200));
    assert!(event.tokens.prompt > 0 && event.tokens.completion > 0 && event.cost.nanos() > 0);
}

#[tokio::test]
async fn a_broken_stream_is_counted_up_to_where_it_broke() {
    let cut = Script { chunks: 9, cut_after: Some(4), ..Script::default() };
    let app = TestApp::start().await;
    app.events(cut.clone(), stream("hi")).await;
    assert_eq!(line(&event_of(&app).await), "200 bad_gateway exact 10+4(0) 26000");

    let app = TestApp::setup().upstream("continuous_usage = false").start().await;
    app.events(cut, stream("hi")).await;
    let event = event_of(&app).await;
    assert_eq!((event.certainty.as_str(), event.tokens.completion), ("estimated", 4));
}

#[tokio::test]
async fn a_client_that_disconnects_pays_for_what_was_generated_until_then() {
    let app = TestApp::start().await;
    app.engine().push(Script { chunks: 9, stall_after: Some(3), ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    for _ in 0..4 {
        opened.next_event().await.unwrap();
    }
    drop(opened);
    assert_eq!(line(&event_of(&app).await), "499 client_gone exact 10+3(0) 22000");
}

#[tokio::test]
async fn a_stream_that_its_client_did_not_read_is_billed_by_the_pace_of_the_model() {
    let app = TestApp::setup().edge("client_stall_timeout = \"2s\"").start().await;
    // A model writes 20 tokens per second until it is known better, so the limit of the call is reached.
    let mut body = stream("hi");
    body["max_tokens"] = json!(30);
    app.engine().push(Script { chunks: 30, text: "x".repeat(400_000), ..Script::default() });
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post(&app, "", body.to_string())).await;
    wire.wait_for("data: ").await;
    let event = event_of(&app).await;
    assert_eq!((&*event.code, event.certainty.as_str(), event.tokens.completion), ("client_gone", "estimated", 30));

    // One that waits for its engine pays for what it got.
    app.engine().push(Script { chunks: 9, stall_after: Some(3), ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    for _ in 0..4 {
        opened.next_event().await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    drop(opened);
    let events = app.usage(2).await;
    assert!(events.iter().any(|event| line(event) == "499 client_gone exact 10+3(0) 22000"), "{events:?}");
}

/// Sends a call, and disconnects once the engine has it and has not responded.
async fn leave_during_prefill(app: &TestApp, path: &str, body: &Value) {
    app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
    let client = app.client();
    tokio::select! {
        response = client.try_send(Method::POST, path, Bytes::from(body.to_string())) => panic!("{response:?}"),
        arrived = app.engine().wait_for_calls(1, TIMEOUT) => assert!(arrived),
    }
}

#[tokio::test]
async fn a_client_that_disconnects_before_the_first_byte_pays_for_the_prompt() {
    let body = stream("hi");
    let prompt = prompt_of(&body);
    let app = TestApp::start().await;
    leave_during_prefill(&app, "/chat/completions", &body).await;
    let expected = format!("499 client_gone estimated {prompt}+0(0) {}", prompt * 1_000);
    assert_eq!(line(&event_of(&app).await), expected);
    let app = TestApp::start().await;
    leave_during_prefill(&app, "/embeddings", &json!({"model": EMBEDDING, "input": "eight by"})).await;
    assert_eq!(line(&event_of(&app).await), "499 client_gone estimated 3+0(0) 60");
}

/// The estimated tokens of the prompt.
fn prompt_of(body: &Value) -> usize {
    body["messages"].to_string().len().div_ceil(4)
}

/// A call that is not streamed, with two choices of at most one token.
fn short() -> Value {
    let mut body = chat("hi");
    (body["max_tokens"], body["n"]) = (json!(1), json!(2));
    body
}

#[tokio::test]
async fn a_response_that_its_client_did_not_wait_for_is_billed_by_the_pace_of_the_model() {
    // A model writes 20 tokens per second until it is known better, so the limit of the call is reached.
    let prompt = prompt_of(&short());
    let cost = prompt * 1_000 + 2 * 4_000;
    let app = TestApp::setup().edge("first_byte_timeout = \"1s\"").start().await;
    app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
    assert_eq!(error_line(&app.ask(short()).await), "408 upstream_timeout");
    assert_eq!(line(&event_of(&app).await), format!("408 upstream_timeout estimated {prompt}+2(0) {cost}"));

    let app = TestApp::start().await;
    app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
    let (client, body) = (app.client(), short().to_string());
    tokio::select! {
        response = client.try_send(Method::POST, "/chat/completions", Bytes::from(body)) => panic!("{response:?}"),
        () = async {
            assert!(app.engine().wait_for_calls(1, TIMEOUT).await);
            tokio::time::sleep(Duration::from_secs(1)).await;
        } => {}
    }
    assert_eq!(line(&event_of(&app).await), format!("499 client_gone estimated {prompt}+2(0) {cost}"));
}

#[tokio::test]
async fn a_response_that_is_too_large_is_final_and_billed() {
    // Whether it is announced or not.
    for chunked in [false, true] {
        let app = TestApp::setup().engines(2).edge("memory_budget = \"1GiB\"").start().await;
        let script = Script { huge_bytes: 66 << 20, chunked, ..Script::default() };
        app.engines.iter().for_each(|engine| engine.script(script.clone()));
        let mut body = chat("hi");
        body["max_tokens"] = json!(1);
        assert_eq!(error_line(&app.ask(body.clone()).await), "400 response_too_large");
        let calls = app.engines.iter().map(|engine| engine.calls().len()).sum::<usize>();
        assert_eq!(calls, 1, "no other engine repeats it");
        let event = event_of(&app).await;
        assert_eq!((event.certainty.as_str(), event.tokens.prompt as usize), ("estimated", prompt_of(&body)));
        assert!(event.tokens.completion <= 1 && event.cost.nanos() > 0, "{:?}", event.tokens);
    }
}

#[tokio::test]
async fn a_response_that_cannot_be_small_enough_is_rejected_before_the_call() {
    let app = TestApp::start().await;
    let mut body = chat("hi");
    for (name, value) in [("n", json!(128)), ("max_tokens", json!(400)), ("logprobs", json!(true))] {
        body[name] = value;
    }
    assert_eq!(app.ask(body.clone()).await.status_line(), "200 OK");
    body["top_logprobs"] = json!(20);
    assert_eq!(error_line(&app.ask(body.clone()).await), "400 response_too_large n");
    body["stream"] = json!(true);
    assert_eq!(app.ask(body.clone()).await.status_line(), "200 OK");
    (body["stream"], body["n"], body["max_tokens"]) = (json!(false), json!(1), json!(100_000));
    assert_eq!(app.ask(body.clone()).await.status_line(), "200 OK", "the context ends it before");
    let long = TestApp::setup().context_length(200_000).start().await;
    assert_eq!(error_line(&long.ask(body).await), "400 response_too_large max_tokens");
    let vectors = json!({"model": EMBEDDING, "input": vec!["a"; 2_048], "dimensions": 4_096});
    assert_eq!(error_line(&app.embed(vectors).await), "400 response_too_large dimensions");
    assert_eq!((app.engine().calls().len(), long.engine().calls().len()), (3, 0));
}

#[tokio::test]
async fn calls_that_an_engine_failed_stay_in_the_minute_bucket_and_cost_nothing() {
    let app = TestApp::setup().workspace_limits(1_000, 6_000, 1_000_000).start().await;
    app.engine().script(Script { status: Some(500), ..Script::default() });
    // Each is expected to write about a thousand tokens.
    let mut failed = 0;
    while app.chat(&format!("{failed}")).await.status == 502 {
        failed += 1;
        assert!(failed < 20, "what the engine may have done is given back");
    }
    assert!(failed >= 4, "{failed}");
    for event in app.usage(failed).await {
        assert_eq!(line(&event), "502 bad_gateway void 0+0(0) 0");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_before_the_first_token_pays_for_the_prompt() {
    let waiting = Script { stall_after: Some(0), ..Script::default() };
    for (upstream, expected) in
        [("continuous_usage = true", "exact 10+0"), ("continuous_usage = false", "estimated 8+0")]
    {
        let app = TestApp::setup().upstream(upstream).start().await;
        app.engine().push(waiting.clone());
        let mut opened = app.open_stream(stream("hi")).await;
        opened.next_event().await.unwrap();
        drop(opened);
        let line = line(&event_of(&app).await);
        assert!(line.starts_with(&format!("499 client_gone {expected}(0)")), "{upstream}: {line}");
    }
}

#[tokio::test]
async fn a_prompt_that_an_engine_has_read_stays_in_the_minute_bucket() {
    let long = "word ".repeat(3_200);
    let mut unread = chat(&long);
    unread["max_tokens"] = json!(1);
    let inputs = vec!["word ".repeat(200); 16];
    let ignored = json!({"model": EMBEDDING, "input": inputs, "dimensions": 4});

    let app = TestApp::setup().workspace_limits(1_000, 6_000, 1_000_000).start().await;
    leave_during_prefill(&app, "/chat/completions", &unread).await;
    app.usage(1).await;
    assert_eq!(app.ask(unread).await.status, 429);

    let app = TestApp::setup().workspace_limits(1_000, 6_000, 1_000_000).start().await;
    app.engine().push(Script { dimensions_ignored: true, ..Script::default() });
    assert_eq!(app.embed(ignored.clone()).await.status, 422);
    assert_eq!(line(&event_of(&app).await), "422 invalid_value void 0+0(0) 0");
    assert_eq!(app.embed(ignored).await.status, 429);
}

#[tokio::test]
async fn failed_calls_are_recorded_and_cost_nothing() {
    let app = TestApp::setup().edge("first_byte_timeout = \"200ms\"").start().await;
    for (script, body) in [
        (Script { status: Some(500), ..Script::default() }, chat("hi")),
        (Script { status: Some(422), ..Script::default() }, chat("hi")),
        (Script { delay_ms: 60_000, ..Script::default() }, stream("hi")),
    ] {
        app.engine().push(script);
        app.ask(body).await;
    }
    let mut lines: Vec<String> = app.usage(3).await.iter().map(line).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["408 upstream_timeout void 0+0(0) 0", "422 invalid_value void 0+0(0) 0", "502 bad_gateway void 0+0(0) 0"]
    );
}

#[tokio::test]
async fn a_call_that_was_retried_elsewhere_is_one_event() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines[0].script(Script { status: Some(500), ..Script::default() });
    for index in 0..10 {
        assert_eq!(app.chat(&format!("{index}")).await.status_line(), "200 OK");
    }
    let events = app.usage(10).await;
    assert!(events.iter().all(|event| &*event.replica == "acme/tiny#2" && event.status == 200));
}

#[tokio::test]
async fn calls_that_reached_no_engine_leave_no_event() {
    let app = TestApp::start().await;
    app.client().get("/models").await;
    app.client().get("/nothing").await;
    app.ask(json!({"model": "none", "messages": []})).await;
    app.ask(json!({"model": CHAT})).await;
    app.stranger().post_json("/chat/completions", chat("hi")).await;
    app.chat("hi").await;
    assert_eq!(line(&event_of(&app).await), "200 - exact 10+3(0) 22000");
}

#[tokio::test]
async fn a_key_shows_when_it_was_last_used() {
    let app = TestApp::start().await;
    app.chat("hi").await;
    app.usage(1).await;
    let keys = app.admin(&format!("keys list --workspace {}", app.workspace()));
    assert!(keys["data"][0]["lastUsedAt"].is_string(), "{keys}");
}

#[tokio::test]
async fn the_command_line_shows_the_sum_of_the_events() {
    let app = TestApp::start().await;
    app.engine().push(Script { prompt_tokens: 100, cached_tokens: Some(40), ..Script::default() });
    app.engine().push(Script { status: Some(500), ..Script::default() });
    app.chat("hi").await;
    app.chat("hi").await;
    app.embed(json!({"model": EMBEDDING, "input": "hi"})).await;
    app.usage(3).await;
    let usage = app.admin(&format!("usage show --workspace {} --group-by model,key", app.workspace()));
    let key = &app.admin(&format!("keys list --workspace {}", app.workspace()))["data"][0]["id"];
    let group = |model: &str, requests, prompt, completion, cached, cost: &str| {
        json!({
            "model": model, "key": key, "user": null, "requests": requests, "promptTokens": prompt,
            "completionTokens": completion, "cachedTokens": cached, "costUsd": cost,
        })
    };
    let expected = [group(EMBEDDING, 1, 10, 0, 0, "0.0000002"), group(CHAT, 1, 100, 3, 40, "0.000092")];
    assert_eq!(usage["data"], json!(expected));
    assert_eq!((&usage["total"]["requests"], &usage["total"]["costUsd"]), (&json!(2), &json!("0.0000922")));
    assert_eq!(app.admin("usage rebuild")["rowsCorrected"], 0);
}

#[tokio::test]
async fn a_new_price_applies_to_new_calls_only() {
    let app = TestApp::start().await;
    let versions = || app.admin(&format!("prices list --model {CHAT}"))["data"].as_array().unwrap().clone();
    assert_eq!(versions().len(), 1);
    app.chat("hi").await;
    assert_eq!(line(&event_of(&app).await), "200 - exact 10+3(0) 22000");

    app.forebay.write_config(&app.config.replace("output_per_1m = \"4.00\"", "output_per_1m = \"5.00\"")).unwrap();
    app.forebay.child.signal("HUP").unwrap();
    wait_until("the price is recorded", TIMEOUT, async || versions().len() == 2).await;
    let [old, new] = <[Value; 2]>::try_from(versions()).unwrap();
    assert_eq!((&old["outputPer1m"], &new["outputPer1m"]), (&json!("4.00"), &json!("5.00")));
    assert_eq!((&old["validUntil"], &new["validUntil"]), (&new["validFrom"], &Value::Null));
    app.chat("hi").await;
    let lines: Vec<String> = app.usage(2).await.iter().map(line).collect();
    assert_eq!(lines, ["200 - exact 10+3(0) 25000", "200 - exact 10+3(0) 22000"]);
}
