use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};

use crate::app::{TestApp, text};
use crate::console::person::{Person, error_of};

const PROBE: &str = "/api/operator/upstreams/probe";

async fn probe(operator: &Person, body: Value) -> Value {
    let response = operator.post(PROBE, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

#[tokio::test]
async fn a_server_is_asked_for_its_models_and_called_once() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let engine = FakeEngine::start().await;
    let found = probe(&operator, json!({"url": format!("{}/", engine.url()), "apiKey": "secret"})).await;
    assert_eq!((&found["reachable"], &found["error"]), (&json!(true), &Value::Null), "{found}");
    assert_eq!((&found["url"], &found["healthPath"]), (&json!(engine.url()), &json!("/health")));
    assert_eq!(found["engine"], "vllm", "by its metrics");
    let call = &found["call"];
    assert_eq!(
        (&call["ok"], &call["modality"], &call["error"]),
        (&json!(true), &json!("chat"), &Value::Null),
        "{call}"
    );
    assert_eq!(call["model"], found["models"][0]["id"]);
    assert!(call["promptTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{call}");
    let calls = engine.calls();
    let sent = calls.iter().find(|call| call.path == "/v1/chat/completions").unwrap();
    assert_eq!(
        (sent.json()["max_tokens"].clone(), sent.headers["authorization"].to_str().unwrap()),
        (json!(1), "Bearer secret")
    );
    assert!(app.engine().calls().is_empty());
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_described() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let mut engine = FakeEngine::start().await;
    engine.script(Script { status: Some(401), error_message: Some("no such key".to_owned()), ..Script::default() });
    let refused = probe(&operator, json!({"url": engine.url()})).await;
    let call = &refused["call"];
    assert_eq!((&refused["reachable"], &call["ok"]), (&json!(true), &json!(false)), "{refused}");
    assert!(text(&call["error"]).contains("401"), "{call}");
    engine.stop();
    let down = probe(&operator, json!({"url": engine.url()})).await;
    assert_eq!((&down["reachable"], &down["call"]), (&json!(false), &Value::Null));
    assert!(text(&down["error"]).contains("unreachable"), "{down}");
    for bad in ["", "ftp://x/v1", "http://user:pass@x/v1", "http://x/v1?a=b"] {
        assert_eq!(error_of(&operator.post(PROBE, json!({"url": bad})).await), "422 invalid_value url", "{bad}");
    }
}

#[tokio::test]
async fn a_test_shows_the_answer_of_a_model_and_is_not_billed() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let test = "/api/operator/models/acme%2Ftiny/test";
    let done = operator.post(test, json!({"prompt": "hello there", "maxTokens": 5})).await.json();
    assert_eq!(
        (&done["ok"], &done["replica"], &done["error"]),
        (&json!(true), &json!("acme/tiny#1"), &Value::Null),
        "{done}"
    );
    assert!(!text(&done["answer"]).is_empty() && done["completionTokens"].is_u64(), "{done}");
    assert_eq!(app.engine().calls()[0].json()["messages"][0]["content"], "hello there");
    let embedded = operator.act("/api/operator/models/acme%2Fembed/test").await.json();
    assert_eq!((&embedded["ok"], &embedded["answer"]), (&json!(true), &Value::Null), "{embedded}");
    assert_eq!(error_of(&operator.act("/api/operator/models/acme%2Fnone/test").await), "404 not_found");
    assert_eq!(error_of(&operator.post(test, json!({"maxTokens": 257})).await), "422 invalid_value maxTokens");
    app.chat("hi").await;
    assert_eq!(app.usage(1).await.len(), 1, "only the client's call is billed");
}

#[tokio::test]
async fn an_address_without_the_path_of_the_api_is_completed() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let engine = FakeEngine::start().await;
    let short = format!("http://{}", engine.address());
    let found = probe(&operator, json!({"url": short})).await;
    assert_eq!((&found["url"], &found["error"]), (&json!(engine.url()), &Value::Null), "{found}");
    assert_eq!((&found["healthPath"], &found["call"]["ok"]), (&json!("/health"), &json!(true)), "{found}");
    let wrong = probe(&operator, json!({"url": format!("{short}/other")})).await;
    assert_eq!(wrong["url"], format!("{short}/other"), "{wrong}");
    assert!(text(&wrong["error"]).starts_with("GET /other/models: "), "{wrong}");
}
