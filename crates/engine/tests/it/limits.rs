//! Limits and errors: always the envelope of four strings, before any computation.

use crate::engine::{CHAT, Engine, content, greedy, with};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Status, code, param.
async fn rejection(engine: &Engine, members: Value) -> (u16, String, String) {
    let response = engine.chat_call(with(greedy("hi", 4), members)).await;
    let error = &response.json()["error"];
    let text = |name: &str| error[name].as_str().unwrap_or_else(|| panic!("{name} in {error}")).to_owned();
    assert!(!text("message").is_empty() && !text("type").is_empty());
    (response.status.as_u16(), text("code"), text("param"))
}

#[tokio::test]
async fn calls_beyond_the_queue_are_rejected_with_retry_after() {
    let engine = Engine::chat(&["--parallel", "1", "--queue", "1"]).await;
    let call = with(greedy("Tell a long story.", 2000), json!({"stream": true, "ignore_eos": true}));
    let mut running = engine.client.open_stream("/v1/chat/completions", call.clone()).await;
    running.next_event().await.unwrap();
    let client = engine.client.clone();
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { client.open_stream("/v1/chat/completions", call).await });
    engine.until_count("forebay:num_requests_waiting", 1).await;
    let response = engine.chat_call(greedy("hi", 4)).await;
    assert_eq!((response.status.as_u16(), response.header("retry-after")), (503, Some("1")));
    assert_eq!(response.json()["error"]["code"], "queue_full");
    drop(running);
    assert_eq!(waiting.join_next().await.unwrap().unwrap().status, 200);
    engine.until_count("forebay:num_requests_running", 0).await;
    assert!(!content(&engine.chat_call(greedy("hi", 4)).await).is_empty());
}

#[tokio::test]
async fn a_context_that_is_too_long_is_rejected_with_the_numbers() {
    let engine = Engine::chat(&["--ctx", "128"]).await;
    let long = engine.chat_call(greedy(&"word ".repeat(300), 4)).await;
    assert_eq!(long.status, 400);
    assert_eq!(long.json()["error"]["code"], "context_length_exceeded");
    let message = long.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("128") && message.contains("33"), "{message}");
    let requested = engine.chat_call(greedy("hi", 200)).await;
    assert_eq!((requested.status.as_u16(), requested.json()["error"]["param"].as_str()), (400, Some("max_tokens")));
    assert_eq!(engine.count("forebay:prompt_tokens_total").await, 0);
}

#[tokio::test]
async fn unsupported_features_are_rejected_with_the_parameter() {
    let engine = Engine::chat(&["--queue", "2"]).await;
    let tool = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]);
    for (members, status, code, param) in [
        (json!({"tools": tool}), 422, "unsupported_parameter", "tools"),
        (json!({"tool_choice": "required"}), 422, "invalid_value", "tool_choice"),
        (json!({"min_tokens": 9, "max_tokens": 8}), 422, "invalid_value", "min_tokens"),
        (
            json!({"min_tokens": 2, "response_format": {"type": "json_object"}}),
            422,
            "unsupported_parameter",
            "min_tokens",
        ),
        (json!({"guided_regex": "a"}), 422, "unsupported_parameter", "guided_regex"),
        (json!({"messages": image}), 422, "unsupported_parameter", "messages[0].content[0].type"),
        (json!({"temperature": 99}), 422, "invalid_value", "temperature"),
        (json!({"n": 11}), 422, "invalid_value", "n"),
        (json!({"stop": ["a", 1]}), 422, "invalid_value", "stop[1]"),
        (json!({"top_logprobs": 2}), 422, "invalid_value", "top_logprobs"),
        (json!({"logit_bias": {"99999999": 1}}), 422, "invalid_value", "logit_bias.99999999"),
        (json!({"stream_options": {"include_usage": true}}), 422, "invalid_value", "stream_options"),
        (json!({"messages": null}), 400, "missing_required_parameter", "messages"),
        (json!({"model": "other"}), 404, "model_not_found", "model"),
    ] {
        let expected = (status, code.to_owned(), param.to_owned());
        assert_eq!(rejection(&engine, members.clone()).await, expected, "{members}");
    }
    // Null means unset, and members without effect on the response are accepted.
    let nulls = json!({"stop": null, "tools": null, "n": null, "seed": null, "user": "me", "store": false});
    assert!(!content(&engine.chat_call(with(greedy("hi", 4), nulls)).await).is_empty());
}

#[tokio::test]
async fn unknown_routes_wrong_methods_and_invalid_bodies_have_the_same_envelope() {
    let engine = Engine::chat(&[]).await;
    let chat = "/v1/chat/completions";
    for (response, status) in [
        (engine.client.get("/nowhere").await, 404),
        (engine.client.get(chat).await, 405),
        (engine.client.post_bytes(chat, "{\"model\":").await, 400),
        (engine.client.post_bytes(chat, "[]").await, 400),
        (engine.client.post_bytes(chat, "[".repeat(20_000)).await, 400),
        (engine.client.post_json("/v1/embeddings", json!({"model": CHAT, "input": "x"})).await, 422),
    ] {
        let error = &response.json()["error"];
        assert_eq!(response.status.as_u16(), status, "{error}");
        assert!(["message", "type", "param", "code"].iter().all(|name| error[*name].is_string()), "{error}");
    }
    let models = engine.client.get("/v1/models").await.json();
    assert_eq!((&models["data"][0]["id"], &models["data"][0]["max_model_len"]), (&json!(CHAT), &json!(8192)));
    let one = engine.client.get("/v1/models/forebay%2Fsmollm2-135m-instruct").await;
    assert_eq!(one.json()["id"], CHAT);
}
