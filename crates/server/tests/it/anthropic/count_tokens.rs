use super::{client, error_line, message};
use crate::app::{TIMEOUT, TestApp, wait_until};
use serde_json::json;
use std::time::Duration;
use testkit::fake_engine::Script;
use tokio::task::JoinSet;

#[tokio::test]
async fn tokens_are_estimated_for_engines_that_cannot_count() {
    let app = TestApp::setup().workspace_limits(2, 1_000, 1_000).start().await;
    let body = json!({"model": crate::app::CHAT, "messages": [{"role": "user", "content": "x".repeat(4_000)}]});
    let response = client(&app).post_json("/messages/count_tokens", body).await;
    assert_eq!(response.status_line(), "200 OK");
    let tokens = response.json()["input_tokens"].as_u64().unwrap();
    assert!((1_000..1_050).contains(&tokens), "{tokens}");
    assert_eq!(response.header("x-forebay-estimate"), Some("true"));
    assert_eq!(response.header("anthropic-ratelimit-requests-remaining"), Some("1"), "a request is counted");
    assert!(app.engine().calls().is_empty());
    assert_eq!(client(&app).post_json("/messages/count_tokens", message("hi")).await.status_line(), "200 OK");
    let third = client(&app).post_json("/messages/count_tokens", message("hi")).await;
    assert_eq!(error_line(&third), "429 rate_limit_error rate_limit_exceeded");
    assert!(app.usage(0).await.is_empty(), "counting is free");
}

#[tokio::test]
async fn an_engine_that_can_count_gives_the_exact_number() {
    for engine in ["vllm", "sglang", "forebay-engine"] {
        let app = TestApp::setup().upstream(&format!("engine = \"{engine}\"")).start().await;
        app.engine().push(Script { prompt_tokens: 77, ..Script::default() });
        let response = client(&app).post_json("/messages/count_tokens", message("hi")).await;
        assert_eq!((response.json(), response.header("x-forebay-estimate")), (json!({"input_tokens": 77}), None));
        let call = &app.engine().calls()[0];
        assert_eq!((call.path.as_str(), &call.json()["model"]), ("/tokenize", &crate::app::UPSTREAM_NAME.into()));
        assert_eq!(call.json()["messages"], json!([{"role": "user", "content": "hi"}]));
        assert_eq!(call.header("x-request-id"), response.header("x-request-id"));
        assert!(app.usage(0).await.is_empty());
    }
}

#[tokio::test]
async fn counting_teaches_the_routing_nothing() {
    let app = TestApp::setup().engines(2).upstream("engine = \"vllm\"").edge("routing_headers = true").start().await;
    let client = client(&app).header("x-forebay-debug", "1");
    let cached_estimate = async || {
        let response = client.post_json("/messages", message(&"long ".repeat(2_000))).await;
        response.header("x-forebay-cached-estimate").unwrap().to_owned()
    };
    client.post_json("/messages/count_tokens", message(&"long ".repeat(2_000))).await;
    assert_eq!(app.engines.iter().map(|engine| engine.calls().len()).sum::<usize>(), 1, "an engine has counted");
    assert_eq!(cached_estimate().await, "0");
    assert_ne!(cached_estimate().await, "0", "a call leaves its prompt in the cache");
}

#[tokio::test]
async fn a_count_that_costs_too_much_is_estimated() {
    let edge = "body_limit = \"1MiB\"\nmemory_budget = \"4MiB\"";
    let app = TestApp::setup().upstream("engine = \"vllm\"").edge(edge).start().await;
    // The list of tokens has no room in the memory for bodies.
    app.engine().push(Script { prompt_tokens: 1_000_000, ..Script::default() });
    let response = client(&app).post_json("/messages/count_tokens", message("hi")).await;
    assert_eq!((response.status_line().as_str(), response.header("x-forebay-estimate")), ("200 OK", Some("true")));

    let app = TestApp::setup().upstream("engine = \"vllm\"").context_length(1_000_000).start().await;
    let response = client(&app).post_json("/messages/count_tokens", message(&"x".repeat(1 << 20))).await;
    assert_eq!((response.status_line().as_str(), response.header("x-forebay-estimate")), ("200 OK", Some("true")));
    assert!(app.engine().calls().is_empty(), "no engine reads a megabyte for a number");
}

#[tokio::test]
async fn a_prompt_that_ends_engines_is_not_counted_again() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.engine().script(Script { hang_up: true, ..Script::default() });
    let count = async |text: &str| client(&app).post_json("/messages/count_tokens", message(text)).await;
    for _ in 0..2 {
        let response = count("poison").await;
        assert_eq!((response.status_line().as_str(), response.header("x-forebay-estimate")), ("200 OK", Some("true")));
    }
    assert_eq!(error_line(&count("poison").await), "503 overloaded_error request_quarantined");
    assert_eq!(error_line(&super::create(&app, message("poison")).await), "503 overloaded_error request_quarantined");
    assert_eq!(app.engine().calls().len(), 2);
}

/// Sends a count to an engine that never ends it, as its call of this number, and leaves.
async fn leave_count(app: &TestApp, number: usize) {
    app.engine().push(Script { delay_ms: 600_000, ..Script::default() });
    let client = client(app);
    tokio::select! {
        counted = client.post_json("/messages/count_tokens", message("poison")) => panic!("{}", counted.text()),
        arrived = app.engine().wait_for_calls(number, TIMEOUT) => assert!(arrived),
    }
    assert!(app.engine().wait_until_idle(TIMEOUT).await, "the gateway has noticed that its client left");
}

#[tokio::test]
async fn a_prompt_whose_client_leaves_its_count_before_the_engine_ends_is_rejected_too() {
    let mut app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    for round in 0..3 {
        leave_count(&app, round + 1).await;
        app.engines[0].stop();
        // The first call finds that the engine is down, so that the second one counts the loss.
        for pause_millis in [0, 200] {
            tokio::time::sleep(Duration::from_millis(pause_millis)).await;
            assert_eq!(app.chat("other").await.status, 503);
        }
        app.engines[0].restart();
        let is_back = async || app.model_status(crate::app::CHAT).await == "available";
        wait_until("the engine is back", TIMEOUT, is_back).await;
    }
    let response = client(&app).post_json("/messages/count_tokens", message("poison")).await;
    assert_eq!(error_line(&response), "503 overloaded_error request_quarantined");
}

#[tokio::test]
async fn a_count_whose_client_leaves_costs_nothing() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    leave_count(&app, 1).await;
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    assert_eq!(app.usage(1).await[0].status, 200, "only the chat is billed");
}

#[tokio::test]
async fn engines_do_not_count_for_a_workspace_that_keeps_ending_them() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.engine().script(Script { hang_up: true, ..Script::default() });
    for number in 0..6 {
        let response = client(&app).post_json("/messages/count_tokens", message(&number.to_string())).await;
        assert_eq!(response.header("x-forebay-estimate"), Some("true"), "{number}");
    }
    assert_eq!(app.engine().calls().len(), 3, "a different prompt each time");
}

#[tokio::test]
async fn counts_are_running_calls() {
    let app = TestApp::setup().edge("max_calls_per_workspace = 1").start().await;
    app.engine().push(Script { chunks: 100_000, chunk_delay_ms: 10, ..Script::default() });
    let _running = app.open_stream(crate::app::stream("hi")).await;
    let response = client(&app).post_json("/messages/count_tokens", message("hi")).await;
    assert_eq!(error_line(&response), "429 rate_limit_error concurrency_limit_exceeded");
}

#[tokio::test]
async fn a_workspace_has_few_counts_at_a_shared_model_at_a_time() {
    const MAX_COUNTS: usize = 4;
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    let mut counts = JoinSet::new();
    for _ in 0..MAX_COUNTS {
        app.engine().push(Script { stall_after: Some(0), ..Script::default() });
        let client = client(&app);
        counts.spawn(async move { client.post_json("/messages/count_tokens", message("hi")).await });
    }
    wait_until("all are counted", TIMEOUT, async || app.engine().calls().len() == MAX_COUNTS).await;
    let rejected = client(&app).post_json("/messages/count_tokens", message("hi")).await;
    assert_eq!(error_line(&rejected), "429 rate_limit_error concurrency_limit_exceeded");
    assert_eq!(rejected.header("retry-after"), Some("1"));
    let body = json!({"model": crate::app::CHAT, "input": "hi"});
    let rejected = app.client().post_json("/responses/input_tokens", body).await;
    assert_eq!(crate::app::error_line(&rejected), "429 concurrency_limit_exceeded");
    assert_eq!(app.chat("hi").await.status_line(), "200 OK", "calls are not counts");
    counts.shutdown().await;
    let is_counted = async || client(&app).post_json("/messages/count_tokens", message("hi")).await.status == 200;
    wait_until("there is room for the next count", TIMEOUT, is_counted).await;
}
