//! Batching does not change responses, and a long prompt does not block the others.

use crate::engine::{Engine, greedy, with};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Questions with confident responses: the most likely token leads by at least 0.4 nats everywhere, so that rounding
/// differences between batch sizes and CPUs do not matter.
const QUESTIONS: [&str; 8] = [
    "Name the capital city of Japan.",
    "Name the capital city of Greece.",
    "Name the capital city of Russia.",
    "Name the capital city of China.",
    "Name the capital city of Germany.",
    "Name the capital city of Canada.",
    "What is the chemical symbol of water?",
    "How many days are in a week?",
];

#[tokio::test]
async fn batching_does_not_change_greedy_responses() {
    let engine = std::sync::Arc::new(Engine::chat(&["--parallel", "8"]).await);
    let mut alone = Vec::new();
    for question in QUESTIONS {
        alone.push(engine.greedy(question, 10).await);
    }
    let mut calls = JoinSet::new();
    for (index, question) in QUESTIONS.into_iter().enumerate() {
        let engine = std::sync::Arc::clone(&engine);
        calls.spawn(async move { (index, engine.greedy(question, 10).await) });
    }
    while let Some(together) = calls.join_next().await {
        let (index, response) = together.unwrap();
        assert_eq!(response, alone[index], "{}", QUESTIONS[index]);
    }
}

#[tokio::test]
async fn a_long_prompt_does_not_block_a_running_generation() {
    let engine = std::sync::Arc::new(Engine::chat(&[]).await);
    let call = with(greedy("Tell a long story.", 200), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    for _ in 0..5 {
        stream.next_event().await.unwrap();
    }
    let mut long = JoinSet::new();
    let caller = std::sync::Arc::clone(&engine);
    long.spawn(async move { caller.greedy(&"All work and no play makes Jack a dull boy. ".repeat(90), 1).await });
    let mut written_meanwhile = 0;
    let started = Instant::now();
    while long.try_join_next().is_none() && stream.next_event().await.is_some() {
        written_meanwhile += 1;
        assert!(started.elapsed() < Duration::from_secs(120));
    }
    assert!(written_meanwhile >= 8, "{written_meanwhile} tokens during a prompt of 1000");
}

#[tokio::test]
async fn a_small_cache_delays_generations_but_loses_none() {
    let engine = std::sync::Arc::new(Engine::chat(&["--kv-cache-tokens", "512", "--parallel", "4"]).await);
    let mut calls = JoinSet::new();
    for (index, question) in QUESTIONS.into_iter().enumerate() {
        let engine = std::sync::Arc::clone(&engine);
        calls.spawn(async move {
            let call = with(greedy(question, 150), json!({"ignore_eos": true}));
            (index, engine.chat_call(call).await)
        });
    }
    while let Some(call) = calls.join_next().await {
        let (index, response) = call.unwrap();
        assert_eq!(response.status, 200, "{index}: {}", response.text());
        assert_eq!(response.json()["usage"]["completion_tokens"], 150);
    }
    assert!(engine.metric("forebay:displaced_total").await > 0.0);
}
