//! What a serverless model rejects because many tenants share its engines.

use serde_json::{Value, json};

use crate::app::{EMBEDDING, TestApp, chat, error_line};

fn with(member: &str, value: Value) -> Value {
    let mut body = chat("hi");
    body[member] = value;
    body
}

fn image(url: &str) -> Value {
    let parts = json!([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]);
    with("messages", json!([{"role": "user", "content": parts}]))
}

#[tokio::test]
async fn members_that_control_the_engine_are_rejected_and_others_passed_on() {
    let app = TestApp::start().await;
    for (member, value) in [
        ("n_predict", json!(200)),
        ("n_cmpl", json!(4)),
        ("best_of", json!(8)),
        ("use_beam_search", json!(true)),
        ("kv_transfer_params", json!({"remote_host": "10.0.0.1"})),
        ("bootstrap_host", json!("10.0.0.1")),
        ("custom_logit_processor", json!("code")),
        ("lora_path", json!("/tmp")),
        ("priority", json!(-1)),
        ("mm_processor_kwargs", json!({"size": 1})),
        ("chat_template", json!("{{ messages }}")),
        ("prompt_logprobs", json!(20)),
        ("n_probs", json!(100_000)),
        ("return_token_ids", json!(true)),
        ("return_tokens_as_token_ids", json!(true)),
        ("Request_Id", json!("mine")),
        ("extra_key", json!("other")),
        ("echo", json!(true)),
    ] {
        let response = app.ask(with(member, value)).await;
        assert_eq!(error_line(&response), format!("400 unsupported_parameter {member}"));
    }
    let embedding = json!({"model": EMBEDDING, "input": "a", "priority": 1});
    assert_eq!(error_line(&app.embed(embedding).await), "400 unsupported_parameter priority");
    assert!(app.engine().calls().is_empty(), "no call reached the engine");

    let kwargs = json!({"enable_thinking": false});
    assert_eq!(app.ask(with("chat_template_kwargs", kwargs.clone())).await.status_line(), "200 OK");
    assert_eq!(app.engine().calls().last().unwrap().json()["chat_template_kwargs"], kwargs);
}

#[tokio::test]
async fn the_rejected_members_are_configured_per_model() {
    let app = TestApp::setup().model(r#"refused_members = ["min_tokens"]"#).start().await;
    assert_eq!(app.ask(with("priority", json!(1))).await.status_line(), "200 OK");
    let response = app.ask(with("min_tokens", json!(1))).await;
    assert_eq!(error_line(&response), "400 unsupported_parameter min_tokens");
    let response = app.ask(with("n_predict", json!(1))).await;
    assert_eq!(error_line(&response), "400 unsupported_parameter n_predict", "the quota depends on it");
}

#[tokio::test]
async fn media_must_be_in_the_request_unless_the_model_fetches_them() {
    let app = TestApp::start().await;
    let response = app.ask(image("http://169.254.169.254/latest/meta-data")).await;
    assert_eq!(error_line(&response), "400 unsupported_parameter messages[0].content[1].image_url.url");
    assert!(app.engine().calls().is_empty());
    assert_eq!(app.ask(image("data:image/png;base64,AA==")).await.status_line(), "200 OK");

    let fetches = TestApp::setup().model("media_urls = true").start().await;
    assert_eq!(fetches.ask(image("https://example.com/cat.png")).await.status_line(), "200 OK");
}
