//! Disconnecting cancels the generation immediately.

use crate::engine::{Engine, greedy, with};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_dropped_stream_frees_its_slot_and_cache() {
    let engine = Engine::chat(&[]).await;
    let call = with(greedy("Tell a very long story.", 4000), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    for _ in 0..4 {
        stream.next_event().await.unwrap();
    }
    assert_eq!(engine.count("forebay:num_requests_running").await, 1);
    assert!(engine.metric("forebay:kv_cache_usage_ratio").await > 0.0);
    drop(stream);
    engine.until_count("forebay:num_requests_running", 0).await;
    assert!(engine.metric("forebay:kv_cache_usage_ratio").await < 1e-9);
    let generated = engine.count("forebay:generation_tokens_total").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(engine.count("forebay:generation_tokens_total").await, generated);
}

#[tokio::test]
async fn unary_calls_are_cancelled_while_running_and_waiting() {
    let engine = Engine::chat(&["--parallel", "1"]).await;
    let call = with(greedy("Tell a very long story.", 4000), json!({"ignore_eos": true}));
    let running = tokio::time::timeout(Duration::from_millis(300), engine.chat_call(call.clone()));
    let waiting = tokio::time::timeout(Duration::from_millis(300), engine.chat_call(call));
    let (running, waiting) = tokio::join!(running, waiting);
    assert!(running.is_err() && waiting.is_err());
    engine.until_count("forebay:num_requests_running", 0).await;
    assert_eq!(engine.count("forebay:num_requests_waiting").await, 0);
}
