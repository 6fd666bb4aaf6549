//! Prompts as tokens, and tokens as text.

use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{CHAT, TestApp, UPSTREAM_NAME, error_line, text};
use crate::console::person::Person;

#[tokio::test]
async fn an_engine_with_a_tokenizer_turns_prompts_into_tokens_and_back() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").workspace_limits(3, 1_000, 1_000).start().await;
    let root = Client::new(format!("http://{}", app.forebay.public)).key(&app.key);
    app.engine().push(Script { prompt_tokens: 3, ..Script::default() });
    let tokens = root.post_json("/tokenize", json!({"model": CHAT, "prompt": "hi"})).await;
    let expected = json!({"count": 3, "max_model_len": 4096, "tokens": [1, 1, 1], "token_strs": null});
    assert_eq!(tokens.json(), expected);
    assert_eq!(tokens.header("x-ratelimit-remaining-requests"), Some("2"), "a request is counted");
    let messages = json!([{"role": "user", "content": "hi"}]);
    let chat = app.client().post_json("/tokenize", json!({"model": CHAT, "messages": messages})).await;
    assert_eq!(chat.status_line(), "200 OK");
    let text = app.client().post_json("/detokenize", json!({"model": CHAT, "tokens": [1, 2], "priority": 1})).await;
    assert_eq!(text.json(), json!({"prompt": "Hello "}));
    let sent: Vec<_> = app.engine().calls().iter().map(|call| (call.path.clone(), call.json())).collect();
    let expected = [
        ("/tokenize".to_owned(), json!({"model": UPSTREAM_NAME, "prompt": "hi"})),
        ("/tokenize".to_owned(), json!({"model": UPSTREAM_NAME, "messages": messages})),
        ("/detokenize".to_owned(), json!({"model": UPSTREAM_NAME, "tokens": [1, 2]})),
    ];
    assert_eq!(sent, expected);
    let fourth = app.client().post_json("/detokenize", json!({"model": CHAT, "tokens": [1]})).await;
    assert_eq!(error_line(&fourth), "429 rate_limit_exceeded");
    assert!(app.usage(0).await.is_empty(), "tokens are free");
}

#[tokio::test]
async fn engines_do_not_learn_for_whom_tokens_are_asked() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let key = operator.make(&keys, json!({"name": "shared", "trustsEndUser": true})).await;
    let client = app.client_with(text(&key["key"]));
    let messages = json!([{"role": "user", "content": "hi"}]);
    for (path, body) in [
        ("/tokenize", json!({"model": CHAT, "messages": messages, "user": "ada"})),
        ("/detokenize", json!({"metadata": {"user_id": "ada"}, "model": CHAT, "tokens": [1], "user": "ada"})),
    ] {
        assert_eq!(client.post_json(path, body).await.status_line(), "200 OK", "{path}");
        let sent = app.engine().calls().last().unwrap().json();
        assert!(sent.get("user").is_none_or(Value::is_null) && sent.get("metadata").is_none(), "{sent}");
    }
}

#[tokio::test]
async fn another_replica_is_asked_if_the_first_one_cannot_be_reached() {
    let mut app = TestApp::setup().upstream("engine = \"vllm\"").engines(2).start().await;
    app.engines[0].stop();
    for body in [json!({"model": CHAT, "prompt": "hi"}), json!({"model": CHAT, "prompt": "again"})] {
        assert_eq!(app.client().post_json("/tokenize", body).await.status_line(), "200 OK");
    }
    assert_eq!(app.engines[1].calls().len(), 2);
}

#[tokio::test]
async fn errors_name_what_is_wrong() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").context_length(1_000_000).start().await;
    let long = "x".repeat(1 << 20);
    for (path, members, expected) in [
        ("/tokenize", json!({}), "400 missing_parameter prompt"),
        ("/tokenize", json!({"prompt": ["a"]}), "422 invalid_value prompt"),
        ("/tokenize", json!({"prompt": "a", "messages": []}), "400 invalid_payload prompt"),
        ("/tokenize", json!({"prompt": long}), "422 invalid_value prompt"),
        ("/detokenize", json!({"tokens": ["a"]}), "422 invalid_value tokens"),
        ("/detokenize", json!({"model": "x/y", "tokens": [1]}), "404 model_not_found model"),
    ] {
        let mut body = json!({"model": CHAT});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert_eq!(error_line(&app.client().post_json(path, body).await), expected);
    }
    assert!(app.engine().calls().is_empty());
    let ask = async || app.client().post_json("/detokenize", json!({"model": CHAT, "tokens": [9]})).await;
    app.engine().push(Script { status: Some(400), error_message: Some("no such token".into()), ..Script::default() });
    assert_eq!(ask().await.json()["error"]["message"], "no such token");
    app.engine().push(Script { raw_body: Some("{}".into()), status: Some(500), ..Script::default() });
    assert_eq!(error_line(&ask().await), "502 bad_gateway");
    let unknown = TestApp::start().await;
    let response = unknown.client().post_json("/tokenize", json!({"model": CHAT, "prompt": "hi"})).await;
    assert_eq!(error_line(&response), "400 unsupported_parameter model");
}
