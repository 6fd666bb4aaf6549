//! Unary responses: sensible, deterministic, and according to the settings.

use crate::engine::{CHAT, Engine, content, greedy, with};
use serde_json::{Value, json};

const CAPITAL: &str = "What is the capital of France? Answer with one sentence.";
const STORY: &str = "Write a long story about a fox and a river.";

#[tokio::test]
async fn a_greedy_response_is_sensible_and_deterministic() {
    let engine = Engine::chat(&[]).await;
    let response = engine.chat_call(greedy(CAPITAL, 40)).await;
    assert!(content(&response).contains("Paris"), "{}", response.text());
    let body = response.json();
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], CHAT);
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    let usage = &body["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    for _ in 0..2 {
        assert_eq!(engine.greedy(CAPITAL, 40).await, content(&response));
    }
}

#[tokio::test]
async fn a_continued_conversation_reuses_the_cache() {
    let engine = Engine::chat(&[]).await;
    let first = engine.chat_call(greedy(CAPITAL, 40)).await;
    assert_eq!(first.json()["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    let conversation = json!([
        {"role": "user", "content": CAPITAL},
        {"role": "assistant", "content": content(&first)},
        {"role": "user", "content": "And of Italy?"},
    ]);
    let call = with(greedy("", 20), json!({"messages": conversation}));
    let second = engine.chat_call(call.clone()).await.json();
    let cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    let first_prompt = first.json()["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(cached >= first_prompt, "{cached} of {first_prompt}");
    let fresh = Engine::chat(&[]).await.chat_call(call).await.json();
    assert_eq!(fresh["choices"][0]["message"]["content"], second["choices"][0]["message"]["content"]);
}

#[tokio::test]
async fn calls_with_different_salts_share_no_cache() {
    let engine = Engine::chat(&[]).await;
    let cached = async |salt: Value| {
        let response = engine.chat_call(with(greedy(CAPITAL, 4), json!({"cache_salt": salt}))).await.json();
        response["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    assert_eq!(cached(json!("a")).await, 0);
    assert!(cached(json!("a")).await > 0);
    assert_eq!(cached(json!("b")).await, 0);
    assert_eq!(cached(Value::Null).await, 0);
    assert!(cached(json!("a")).await > 0);
}

#[tokio::test]
async fn seeds_make_sampling_reproducible() {
    let engine = Engine::chat(&[]).await;
    let seeded = |seed: u64| with(greedy(STORY, 40), json!({"temperature": 1.0, "seed": seed, "top_p": 0.95}));
    let first = content(&engine.chat_call(seeded(7)).await);
    assert_eq!(content(&engine.chat_call(seeded(7)).await), first);
    assert_ne!(content(&engine.chat_call(seeded(8)).await), first);
}

#[tokio::test]
async fn choices_differ_and_are_all_counted() {
    let engine = Engine::chat(&["--parallel", "2"]).await;
    let response =
        engine.chat_call(with(greedy(STORY, 12), json!({"temperature": 1.0, "seed": 3, "n": 3}))).await.json();
    let texts: Vec<&str> = response["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["message"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[0] != texts[1] && texts[1] != texts[2], "{texts:?}");
    assert_eq!(response["usage"]["completion_tokens"], 36);
}

#[tokio::test]
async fn stop_strings_end_the_response_and_are_not_shown() {
    let engine = Engine::chat(&[]).await;
    let whole = engine.greedy(STORY, 40).await;
    let stop = whole.split_whitespace().nth(6).unwrap();
    let response = engine.chat_call(with(greedy(STORY, 40), json!({"stop": ["never written", stop]}))).await;
    assert_eq!(content(&response), whole[..whole.find(stop).unwrap()]);
    assert_eq!(response.json()["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn both_spellings_of_the_token_limit_are_enforced() {
    let engine = Engine::chat(&[]).await;
    for limit in ["max_tokens", "max_completion_tokens"] {
        let call = with(greedy(STORY, 5), json!({"max_tokens": null, limit: 7}));
        let response = engine.chat_call(call).await.json();
        assert_eq!(response["usage"]["completion_tokens"], 7, "{limit}");
        assert_eq!(response["choices"][0]["finish_reason"], "length");
    }
}

#[tokio::test]
async fn min_tokens_is_enforced() {
    let engine = Engine::chat(&[]).await;
    let short = engine.chat_call(greedy(CAPITAL, 200)).await.json();
    let usual = short["usage"]["completion_tokens"].as_u64().unwrap();
    assert_eq!(short["choices"][0]["finish_reason"], "stop");
    for settings in [json!({}), json!({"temperature": 0.8, "seed": 1})] {
        let call = with(with(greedy(CAPITAL, 200), json!({"min_tokens": usual + 20})), settings);
        let long = engine.chat_call(call).await.json();
        assert!(long["usage"]["completion_tokens"].as_u64().unwrap() >= usual + 20, "{long}");
    }
}

#[tokio::test]
async fn log_probabilities_are_returned_for_each_token() {
    let engine = Engine::chat(&[]).await;
    let response = engine.chat_call(with(greedy(CAPITAL, 6), json!({"logprobs": true, "top_logprobs": 3}))).await;
    let body = response.json();
    let entries = body["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let text: String = entries.iter().map(|entry| entry["token"].as_str().unwrap()).collect();
    assert_eq!(text, content(&response));
    for entry in entries {
        let top = entry["top_logprobs"].as_array().unwrap();
        assert_eq!((top.len(), &top[0]["token"]), (3, &entry["token"]));
        assert!(entry["logprob"].as_f64().unwrap() <= 0.0);
    }
}

#[tokio::test]
async fn a_bias_forbids_a_token_and_penalties_change_the_text() {
    let engine = Engine::chat(&[]).await;
    let story = engine.greedy(STORY, 60).await;
    let penalised = engine.chat_call(with(greedy(STORY, 60), json!({"frequency_penalty": 2.0}))).await;
    assert_ne!(content(&penalised), story);
    // Only a comma is possible.
    let mut biases: serde_json::Map<String, Value> = (0..49152).map(|token| (token.to_string(), json!(-100))).collect();
    biases.insert("28".to_owned(), json!(100));
    let biased = engine.chat_call(with(greedy(CAPITAL, 3), json!({"logit_bias": biases}))).await;
    assert_eq!(content(&biased), ",,,");
}

#[tokio::test]
async fn the_prompt_of_a_chat_is_counted_without_generating() {
    let engine = Engine::chat(&[]).await;
    let counted = engine.client.post_json("/tokenize", greedy(CAPITAL, 4)).await.json();
    let served = engine.chat_call(greedy(CAPITAL, 4)).await.json();
    assert_eq!(counted["count"], served["usage"]["prompt_tokens"]);
    assert_eq!(counted["tokens"].as_array().unwrap().len() as u64, counted["count"].as_u64().unwrap());
}
