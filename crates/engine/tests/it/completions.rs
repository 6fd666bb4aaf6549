//! Completions: log probabilities of prompts agree with those of what the model writes, and with the tokenizer.

use crate::engine::{CHAT, Engine, with};
use serde_json::{Value, json};

/// How far two computations of the same number may be apart: batches of other sizes round differently, and the weights have
/// four bits.
const TOLERANCE: f64 = 0.25;

async fn complete(engine: &Engine, members: Value) -> Value {
    let body = with(json!({"model": CHAT, "temperature": 0}), members);
    let response = engine.client.post_json("/v1/completions", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// The ids of the tokens of a text.
async fn ids_of(engine: &Engine, text: &str) -> Vec<u64> {
    let response = engine.client.post_json("/tokenize", json!({"model": CHAT, "prompt": text})).await;
    serde_json::from_value(response.json()["tokens"].clone()).unwrap()
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value.as_array().unwrap().iter().map(Value::as_f64).collect()
}

#[tokio::test]
async fn the_scores_of_a_prompt_are_those_of_the_model_that_wrote_it() {
    let engine = Engine::chat(&[]).await;
    let start = "The capital of France is";
    let written = complete(&engine, json!({"prompt": start, "max_tokens": 80, "logprobs": 2, "echo": true})).await;
    let logprobs = &written["choices"][0]["logprobs"];
    let (tokens, scores) = (logprobs["tokens"].as_array().unwrap(), numbers(&logprobs["token_logprobs"]));
    assert_eq!((tokens.len(), scores[0]), (scores.len(), None));
    let text = written["choices"][0]["text"].as_str().unwrap();
    assert_eq!(tokens.iter().map(|token| token.as_str().unwrap()).collect::<String>(), text);

    // The same text as a prompt, in more than one step: every token has the score that it had when it was written.
    let ids =
        engine.client.post_json("/tokenize", json!({"model": CHAT, "prompt": text})).await.json()["tokens"].clone();
    assert_eq!(ids.as_array().unwrap().len(), tokens.len(), "the text has the same tokens");
    assert!(tokens.len() > 64);
    let scored = complete(&engine, json!({"prompt": ids, "max_tokens": 0, "logprobs": 2, "echo": true})).await;
    assert_eq!(scored["choices"][0]["text"], text);
    assert_eq!(scored["usage"]["completion_tokens"], 0);
    let again = &scored["choices"][0]["logprobs"];
    for (at, (one, other)) in scores.iter().zip(numbers(&again["token_logprobs"])).enumerate().skip(1) {
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!((one - other).abs() < TOLERANCE, "token {at}: {one} and {other}");
    }
    // What a greedy model wrote is the likeliest at each place.
    let first = written["usage"]["prompt_tokens"].as_u64().unwrap();
    for at in usize::try_from(first).unwrap()..tokens.len() {
        let top = again["top_logprobs"][at].as_object().unwrap();
        let best = top.values().filter_map(Value::as_f64).fold(f64::NEG_INFINITY, f64::max);
        let own = again["token_logprobs"][at].as_f64().unwrap();
        assert!(best - own < TOLERANCE, "token {at}: {own} of {best}");
        assert_eq!(top[again["tokens"][at].as_str().unwrap()].as_f64(), Some(own));
    }
}

#[tokio::test]
async fn the_score_of_a_text_is_the_sum_of_what_each_token_adds() {
    let engine = Engine::chat(&[]).await;
    let ids = engine.client.post_json("/tokenize", json!({"model": CHAT, "prompt": "A river runs to the sea."})).await;
    let ids: Vec<u64> = serde_json::from_value(ids.json()["tokens"].clone()).unwrap();
    let call = json!({"prompt": ids, "max_tokens": 1, "logprobs": 0, "echo": true});
    let whole = numbers(&complete(&engine, call).await["choices"][0]["logprobs"]["token_logprobs"]);
    // Each token alone, after all before it: the likeliest 20 next tokens of the prefix have its score, or it is less likely.
    for at in 1..ids.len() {
        let call = json!({"prompt": ids[..at], "max_tokens": 1, "logprobs": 20});
        let next = complete(&engine, call).await;
        let text = engine.client.post_json("/detokenize", json!({"model": CHAT, "tokens": [ids[at]]})).await.json();
        let top = next["choices"][0]["logprobs"]["top_logprobs"][0].as_object().unwrap();
        let score = whole[at].unwrap();
        match top.get(text["prompt"].as_str().unwrap()).and_then(Value::as_f64) {
            Some(expected) => assert!((score - expected).abs() < TOLERANCE, "token {at}: {score} and {expected}"),
            None => assert!(top.values().all(|likelier| likelier.as_f64().unwrap() > score - TOLERANCE), "token {at}"),
        }
    }
}

#[tokio::test]
async fn a_token_that_ends_the_text_has_a_score_and_no_text() {
    let engine = Engine::chat(&[]).await;
    let prompt = ids_of(&engine, "<|im_start|>user\nHi").await;
    let end = ids_of(&engine, "<|im_end|>").await[0].to_string();
    let call = json!({"prompt": prompt, "max_tokens": 1, "logprobs": 1, "echo": true, "logit_bias": {end: 100}});
    let choice = complete(&engine, call).await["choices"][0].clone();
    assert_eq!((&choice["text"], &choice["finish_reason"]), (&json!("<|im_start|>user\nHi"), &json!("stop")));
    let logprobs = &choice["logprobs"];
    let tokens: Vec<&str> =
        logprobs["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!((tokens.len(), tokens.last()), (prompt.len() + 1, Some(&"<|im_end|>")));
    let scores = numbers(&logprobs["token_logprobs"]);
    assert_eq!(scores.len(), tokens.len());
    assert!(scores.last().unwrap().is_some_and(|score| score < 0.0), "{scores:?}");
    let before = |at: usize| tokens[..at].iter().map(|token| token.chars().count()).sum::<usize>();
    let offsets: Vec<usize> = serde_json::from_value(logprobs["text_offset"].clone()).unwrap();
    assert_eq!(offsets, (0..tokens.len()).map(before).collect::<Vec<_>>(), "special tokens are a part of the text");
}

#[tokio::test]
async fn more_tokens_than_the_context_has_do_not_become_text() {
    let engine = Engine::chat(&[]).await;
    let body = json!({"model": CHAT, "tokens": vec![1; 100_000]});
    let response = engine.client.post_json("/detokenize", body).await;
    assert_eq!((response.status.as_u16(), &response.json()["error"]["param"]), (400, &json!("tokens")));
}

#[tokio::test]
async fn several_prompts_have_their_choices_in_order() {
    let engine = Engine::chat(&[]).await;
    let prompts = json!(["One, two, three,", "The sky is"]);
    let both = complete(&engine, json!({"prompt": prompts, "n": 2, "max_tokens": 4})).await;
    let texts: Vec<&str> =
        both["choices"].as_array().unwrap().iter().map(|choice| choice["text"].as_str().unwrap()).collect();
    let mut prompt_tokens = 0;
    for (index, prompt) in prompts.as_array().unwrap().iter().enumerate() {
        let one = complete(&engine, json!({"prompt": prompt, "max_tokens": 4})).await;
        assert_eq!([one["choices"][0]["text"].as_str().unwrap(); 2], texts[2 * index..2 * index + 2]);
        prompt_tokens += one["usage"]["prompt_tokens"].as_u64().unwrap();
    }
    assert_eq!(both["usage"]["prompt_tokens"], prompt_tokens);
    assert_eq!(both["usage"]["completion_tokens"], 16);
}

#[tokio::test]
async fn a_stream_has_the_same_text_and_scores() {
    let engine = Engine::chat(&[]).await;
    let call = json!({"model": CHAT, "temperature": 0, "prompt": "Once upon a time", "max_tokens": 8, "logprobs": 1, "echo": true});
    let whole = complete(&engine, call.clone()).await;
    let streamed = with(call, json!({"stream": true, "stream_options": {"include_usage": true}}));
    let (events, clean) = engine.client.open_stream("/v1/completions", streamed).await.rest().await;
    assert!(clean && events.last().unwrap().is_done());
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(|event| event.json()).collect();
    let choices: Vec<&Value> = chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap()).collect();
    let text: String = choices.iter().map(|choice| choice["text"].as_str().unwrap()).collect();
    assert_eq!(whole["choices"][0]["text"], text);
    let tokens: Vec<&Value> =
        choices.iter().filter_map(|choice| choice["logprobs"]["tokens"].as_array()).flatten().collect();
    assert_eq!(tokens, whole["choices"][0]["logprobs"]["tokens"].as_array().unwrap().iter().collect::<Vec<_>>());
    let last = chunks.last().unwrap();
    assert_eq!((&last["usage"]["completion_tokens"], &last["object"]), (&json!(8), &json!("text_completion")));
}

#[tokio::test]
async fn what_the_model_cannot_do_is_rejected_with_the_parameter() {
    let engine = Engine::chat(&["--queue", "2"]).await;
    for (members, param) in [
        (json!({"prompt": [99_999_999]}), "prompt"),
        (json!({"prompt": "x", "best_of": 3}), "best_of"),
        (json!({"prompt": "x", "n": 11}), "n"),
        (json!({"prompt": vec!["x"; 11]}), "prompt"),
        (json!({"prompt": "x", "max_tokens": 99_999_999}), "max_tokens"),
        (json!({"prompt": "word ".repeat(20_000)}), "prompt"),
    ] {
        let body = with(json!({"model": CHAT}), members.clone());
        let response = engine.client.post_json("/v1/completions", body).await;
        assert!([400, 422].contains(&response.status.as_u16()), "{}", response.text());
        assert_eq!(response.json()["error"]["param"], param, "{}", response.text());
    }
}
