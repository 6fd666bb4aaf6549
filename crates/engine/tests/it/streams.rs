//! Streams: order of chunks, usage if requested, and complete characters.

use crate::engine::{CHAT, Engine, content, greedy, with};
use serde_json::{Value, json};
use testkit::http::Event;

async fn events(engine: &Engine, members: Value) -> Vec<Event> {
    let call = with(greedy("Say hello to the world.", 16), json!({"stream": true}));
    let stream = engine.client.open_stream("/v1/chat/completions", with(call, members)).await;
    assert_eq!(stream.headers["content-type"], "text/event-stream; charset=utf-8");
    let (events, clean) = stream.rest().await;
    assert!(clean);
    events
}

fn text(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| event.json()["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn chunks_have_the_order_that_clients_rely_on() {
    let engine = Engine::chat(&[]).await;
    let events = events(&engine, json!({"stream_options": {"include_usage": true}})).await;
    let chunks: Vec<Value> = events.iter().map(Event::json).collect();
    let [first, .., finish, usage, _] = chunks.as_slice() else { panic!("{events:?}") };
    assert_eq!(first["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(finish["choices"][0]["delta"], json!({}));
    assert!(["stop", "length"].contains(&finish["choices"][0]["finish_reason"].as_str().unwrap()));
    assert_eq!((&usage["choices"], &finish["usage"]), (&json!([]), &Value::Null));
    assert!(usage["usage"]["completion_tokens"].as_u64().unwrap() > 1);
    assert!(events.last().unwrap().is_done());
    for chunk in &chunks[..chunks.len() - 1] {
        assert_eq!((&chunk["id"], &chunk["created"]), (&first["id"], &first["created"]));
        assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!(CHAT)));
    }
    let roles = chunks.iter().filter(|chunk| chunk["choices"][0]["delta"].get("role").is_some()).count();
    assert_eq!(roles, 1);
    assert_eq!(text(&events), engine.greedy("Say hello to the world.", 16).await);
}

#[tokio::test]
async fn usage_is_sent_only_if_requested_and_continuously_if_requested() {
    let engine = Engine::chat(&[]).await;
    let silent = events(&engine, json!({})).await;
    assert!(silent.iter().all(|event| event.json().get("usage").is_none()));
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let running = events(&engine, json!({"stream_options": options})).await;
    let counts: Vec<u64> =
        running.iter().filter_map(|event| event.json()["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(counts.len(), running.len() - 1);
    assert!(counts.is_sorted() && counts[0] == 0 && *counts.last().unwrap() > 3, "{counts:?}");
}

#[tokio::test]
async fn a_message_that_is_continued_is_the_one_that_was_not_interrupted() {
    const TOKENS: usize = 40;
    let engine = Engine::chat(&[]).await;
    let question = "Write a story about a fox and a river.";
    let call = with(greedy(question, TOKENS), json!({"stream": true}));
    let (events, _) = engine.client.open_stream("/v1/chat/completions", call).await.rest().await;
    let pieces: Vec<String> = events.iter().map(|event| text(std::slice::from_ref(event))).collect();
    let whole = pieces.concat();
    for cut in [2, 9, 20, 31] {
        let beginning = pieces[..cut].concat();
        let beginning = beginning.trim_end();
        let messages = json!([{"role": "user", "content": question}, {"role": "assistant", "content": beginning}]);
        let members = json!({"messages": messages, "continue_final_message": true, "add_generation_prompt": false});
        let rest = content(&engine.chat_call(with(greedy(question, TOKENS), members)).await);
        let continued = format!("{beginning}{rest}");
        assert!(continued.starts_with(&whole), "cut at {cut}: {continued:?} instead of {whole:?}");
    }
    let refused = json!({"continue_final_message": true});
    let response = engine.chat_call(with(greedy(question, 4), refused)).await;
    assert_eq!(response.status, 422);
    assert_eq!(response.json()["error"]["param"], "add_generation_prompt");
    let refused = json!({"continue_final_message": true, "add_generation_prompt": false});
    let response = engine.chat_call(with(greedy(question, 4), refused)).await;
    assert_eq!(response.status, 422);
    assert_eq!(response.json()["error"]["param"], "messages");
}

#[tokio::test]
async fn each_choice_has_a_role_and_a_finish_reason() {
    let engine = Engine::chat(&[]).await;
    let events = events(&engine, json!({"n": 2, "temperature": 1, "seed": 5})).await;
    let chunks: Vec<Value> = events.iter().map(Event::json).collect();
    assert_eq!([&chunks[0]["choices"][0]["index"], &chunks[1]["choices"][0]["index"]], [0, 1]);
    let ends = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).count();
    assert_eq!(ends, 2);
}

#[tokio::test]
async fn running_usage_is_that_of_one_choice_and_the_last_chunk_has_the_sum() {
    let engine = Engine::chat(&[]).await;
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let members = json!({"n": 2, "temperature": 1, "seed": 5, "max_tokens": 8, "stream_options": options});
    let mut of_choice = [0, 0];
    let mut sum = None;
    for chunk in events(&engine, members).await.iter().filter(|event| !event.is_done()).map(Event::json) {
        let tokens = chunk["usage"]["completion_tokens"].as_u64().unwrap();
        match chunk["choices"][0]["index"].as_u64() {
            Some(index) => of_choice[usize::try_from(index).unwrap()] = tokens,
            None => sum = Some(tokens),
        }
    }
    assert!(of_choice.iter().all(|tokens| (1..=8).contains(tokens)), "{of_choice:?}");
    assert_eq!(sum, Some(of_choice.iter().sum()));
}

/// Forces the model to write a text whose characters have several tokens each.
#[tokio::test]
async fn characters_are_never_split_between_chunks() {
    const TEXT: &str = "👋🌍🎉 日本語 ñandú 👩‍🚀";
    let engine = Engine::chat(&[]).await;
    let format = json!({"type": "json_schema", "json_schema": {"name": "text", "schema": {"const": TEXT}}});
    let options = json!({"include_usage": true});
    let members = json!({"response_format": format, "max_tokens": 100, "stream_options": options});
    let events = events(&engine, members).await;
    let pieces: Vec<String> = events.iter().map(|event| text(std::slice::from_ref(event))).collect();
    assert_eq!(pieces.concat(), format!("\"{TEXT}\""));
    let pieces = pieces.iter().filter(|piece| !piece.is_empty()).count() as u64;
    let tokens = events[events.len() - 2].json()["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(pieces + 8 < tokens, "{tokens} tokens in {pieces} pieces: no character could be split");
}
