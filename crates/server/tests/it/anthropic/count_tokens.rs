use super::{client, error_line, message};
use crate::app::TestApp;
use serde_json::json;
use testkit::fake_engine::Script;

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
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.engine().push(Script { prompt_tokens: 77, ..Script::default() });
    let response = client(&app).post_json("/messages/count_tokens", message("hi")).await;
    assert_eq!((response.json(), response.header("x-forebay-estimate")), (json!({"input_tokens": 77}), None));
    let call = &app.engine().calls()[0];
    assert_eq!((call.path.as_str(), &call.json()["model"]), ("/tokenize", &crate::app::UPSTREAM_NAME.into()));
    assert_eq!(call.json()["messages"], json!([{"role": "user", "content": "hi"}]));
    assert!(app.usage(0).await.is_empty());
}
