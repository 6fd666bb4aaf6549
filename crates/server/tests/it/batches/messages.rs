//! `/v1/messages/batches`.

use crate::app::{CHAT, TIMEOUT, TestApp, text, wait_until};
use crate::console::person::Person;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::fake_engine::Script;
use testkit::http::{Client, Response};

fn client(app: &TestApp) -> Client {
    app.stranger().header("x-api-key", &app.key).header("anthropic-version", "2023-06-01")
}

fn request_of(id: &str, params: &Value) -> Value {
    json!({"custom_id": id, "params": params})
}

fn good(id: &str) -> Value {
    request_of(id, &json!({"model": CHAT, "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}))
}

async fn create(client: &Client, requests: &[Value]) -> Value {
    let response = client.post_json("/messages/batches", json!({"requests": requests})).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

async fn ended(client: &Client, id: &str) -> Value {
    let mut found = Value::Null;
    wait_until("the batch ends", 3 * TIMEOUT, async || {
        found = client.get(&format!("/messages/batches/{id}")).await.json();
        found["processing_status"] == "ended"
    })
    .await;
    found
}

fn error_line(response: &Response) -> String {
    let error = &response.json()["error"];
    let words = ["type", "code", "param"].map(|member| text(&error[member]).to_owned());
    format!("{} {}", response.status.as_u16(), words.join(" ")).trim_end().to_owned()
}

#[tokio::test]
async fn messages_run_in_a_batch() {
    let app = TestApp::start().await;
    let client = client(&app);
    let bad = request_of("bad", &json!({"model": CHAT, "messages": []}));
    let unknown = request_of("unknown", &json!({"model": "acme/none", "max_tokens": 1, "messages": []}));
    let created = create(&client, &[good("one"), good("two"), bad, unknown]).await;
    let id = text(&created["id"]).to_owned();
    assert!(id.starts_with("msgbatch_"), "{created}");
    assert_eq!((&created["type"], &created["processing_status"]), (&json!("message_batch"), &json!("in_progress")));
    assert_eq!(
        created["request_counts"],
        json!({"processing": 4, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0})
    );
    let done = ended(&client, &id).await;
    assert_eq!(
        done["request_counts"],
        json!({"processing": 0, "succeeded": 2, "errored": 2, "canceled": 0, "expired": 0})
    );
    let url = text(&done["results_url"]).to_owned();
    assert!(url.ends_with(&format!("/v1/messages/batches/{id}/results")), "{done}");
    let results = client.get(&format!("/messages/batches/{id}/results")).await;
    assert_eq!(results.header("content-type"), Some("application/x-jsonl"));
    let by_id: BTreeMap<String, Value> = results
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (text(&line["custom_id"]).to_owned(), line["result"].clone()))
        .collect();
    assert_eq!(by_id.len(), 4);
    assert_eq!((&by_id["one"]["type"], &by_id["one"]["message"]["type"]), (&json!("succeeded"), &json!("message")));
    assert_eq!(by_id["one"]["message"]["content"][0]["text"], "Hello Hello Hello ");
    assert_eq!((&by_id["bad"]["type"], &by_id["bad"]["error"]["type"]), (&json!("errored"), &json!("error")));
    assert_eq!(by_id["bad"]["error"]["error"]["type"], "invalid_request_error", "{by_id:#?}");
    assert_eq!(by_id["unknown"]["error"]["error"]["type"], "not_found_error");
    app.usage(2).await;

    let person = Person::new(&app, "mia", "member").await;
    let batch = id.replace("msgbatch_", "batch_");
    let shown = person.read(&format!("/api/workspaces/{}/batches/{batch}", app.workspace())).await;
    let failing = shown["failing_lines"].as_array().unwrap();
    let failing: Vec<_> =
        failing.iter().map(|line| (text(&line["custom_id"]), &line["response"]["status_code"])).collect();
    assert_eq!(failing, [("bad", &json!(400)), ("unknown", &json!(404))], "{shown}");
    assert_eq!(shown["error_file_id"], json!(null), "the results are in one file");

    let openai = app.client();
    assert_eq!(openai.get("/batches").await.json()["data"], json!([]), "each API shows its own batches");
    assert_eq!(openai.get("/files").await.json()["data"], json!([]), "the results are not a file of the workspace");
    let page = client.get("/messages/batches?limit=1").await.json();
    assert_eq!((&page["data"][0], &page["first_id"], &page["has_more"]), (&done, &json!(id), &json!(false)));

    let deleted = client.delete(&format!("/messages/batches/{id}")).await.json();
    assert_eq!(deleted, json!({"id": id, "type": "message_batch_deleted"}));
    let gone = client.get(&format!("/messages/batches/{id}")).await;
    assert_eq!(error_line(&gone), "404 not_found_error batch_not_found");
}

#[tokio::test]
async fn the_same_idempotency_key_creates_one_message_batch() {
    let app = TestApp::start().await;
    let client = client(&app);
    let with_key = client.clone().header("idempotency-key", "one");
    let first = create(&with_key, &[good("one")]).await;
    assert_eq!(create(&with_key, &[good("one")]).await["id"], first["id"]);
    let other = with_key.post_json("/messages/batches", json!({"requests": [good("two")]})).await;
    assert_eq!(error_line(&other), "400 invalid_request_error idempotency_key_reused");
    let long = client.clone().header("idempotency-key", &"x".repeat(256));
    let long = long.post_json("/messages/batches", json!({"requests": [good("one")]})).await;
    assert_eq!(error_line(&long), "400 invalid_request_error invalid_value Idempotency-Key");
    assert_eq!(client.get("/messages/batches").await.json()["data"].as_array().unwrap().len(), 1);
    ended(&client, text(&first["id"])).await;
    app.usage(1).await;
}

#[tokio::test]
async fn a_message_whose_engine_does_not_respond_in_time_is_an_error() {
    let app = TestApp::setup().edge("first_byte_timeout = \"200ms\"").start().await;
    app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
    let client = client(&app);
    let id = text(&create(&client, &[good("one")]).await["id"]).to_owned();
    let counts = json!({"processing": 0, "succeeded": 0, "errored": 1, "canceled": 0, "expired": 0});
    assert_eq!(ended(&client, &id).await["request_counts"], counts);
    let results = client.get(&format!("/messages/batches/{id}/results")).await.text();
    let line: Value = serde_json::from_str(results.trim()).unwrap();
    assert_eq!(line["result"]["type"], "errored", "{line}");
    let error = &line["result"]["error"]["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("timeout_error"), &json!("request_timeout")), "{line}");
    app.usage(1).await;
}

#[tokio::test]
async fn a_message_batch_is_cancelled() {
    let app = TestApp::start().await;
    let client = client(&app);
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    let all: Vec<Value> = (0..20).map(|number| good(&format!("line-{number}"))).collect();
    let id = text(&create(&client, &all).await["id"]).to_owned();
    assert!(app.engine().wait_for_calls(4, TIMEOUT).await);
    let early = client.get(&format!("/messages/batches/{id}/results")).await;
    assert_eq!(error_line(&early), "400 invalid_request_error batch_not_ended");
    let early = client.delete(&format!("/messages/batches/{id}")).await;
    assert_eq!(error_line(&early), "400 invalid_request_error batch_not_ended");
    let cancelled = client.post_json(&format!("/messages/batches/{id}/cancel"), json!({})).await.json();
    assert_eq!(cancelled["processing_status"], "canceling", "{cancelled}");
    let done = ended(&client, &id).await;
    assert_eq!(done["request_counts"]["canceled"], 20, "{done}");
    let results = client.get(&format!("/messages/batches/{id}/results")).await.text();
    assert_eq!(results.lines().filter(|line| line.ends_with(r#""result":{"type":"canceled"}}"#)).count(), 20);
}

#[tokio::test]
async fn invalid_message_batches_are_rejected() {
    let app = TestApp::start().await;
    let client = client(&app);
    let post =
        async |requests: Value| error_line(&client.post_json("/messages/batches", json!({"requests": requests})).await);
    assert_eq!(post(json!(null)).await, "400 invalid_request_error missing_parameter requests");
    assert_eq!(post(json!([])).await, "400 invalid_request_error invalid_value requests");
    assert_eq!(
        post(json!([good("a"), good("a")])).await,
        "400 invalid_request_error invalid_value requests.1.custom_id"
    );
    assert_eq!(post(json!([good("a b")])).await, "400 invalid_request_error invalid_value requests.0.custom_id");
    let unknown = client.get("/messages/batches/msgbatch_x").await;
    assert_eq!(error_line(&unknown), "404 not_found_error batch_not_found");
}
