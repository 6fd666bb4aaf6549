//! `/v1/messages/batches`.

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, text, wait_until};
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
    let created = create(&client, &[good("one"), good("two"), bad]).await;
    let id = text(&created["id"]).to_owned();
    assert!(id.starts_with("msgbatch_"), "{created}");
    assert_eq!((&created["type"], &created["processing_status"]), (&json!("message_batch"), &json!("in_progress")));
    assert_eq!(
        created["request_counts"],
        json!({"processing": 3, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0})
    );
    let done = ended(&client, &id).await;
    assert_eq!(
        done["request_counts"],
        json!({"processing": 0, "succeeded": 2, "errored": 1, "canceled": 0, "expired": 0})
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
    assert_eq!(by_id.len(), 3);
    assert_eq!((&by_id["one"]["type"], &by_id["one"]["message"]["type"]), (&json!("succeeded"), &json!("message")));
    assert_eq!(by_id["one"]["message"]["content"][0]["text"], "Hello Hello Hello ");
    assert_eq!((&by_id["bad"]["type"], &by_id["bad"]["error"]["type"]), (&json!("errored"), &json!("error")));
    assert_eq!(by_id["bad"]["error"]["error"]["type"], "invalid_request_error", "{by_id:#?}");
    app.usage(2).await;

    let person = Person::new(&app, "mia", "member").await;
    let batch = id.replace("msgbatch_", "batch_");
    let shown = person.read(&format!("/api/workspaces/{}/batches/{batch}", app.workspace())).await;
    let failing = shown["failing_lines"].as_array().unwrap();
    let failing: Vec<_> =
        failing.iter().map(|line| (text(&line["custom_id"]), &line["response"]["status_code"])).collect();
    assert_eq!(failing, [("bad", &json!(400))], "{shown}");
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
async fn a_message_batch_is_rejected_if_its_key_may_not_call_the_model_or_has_spent_its_budget() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let key = async |settings: Value| app.client_with(text(&operator.make(&keys, settings).await["key"]));
    let limited = key(json!({"name": "limited", "allowedModels": [EMBEDDING]})).await;
    let spent = key(json!({"name": "spent", "budgets": [{"window": "total", "usd": "0"}]})).await;
    let of = |model: &str| {
        let params = json!({"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]});
        request_of("other", &params)
    };
    let own = client(&app);
    for (client, requests, expected) in [
        (&limited, vec![good("one")], "404 not_found_error model_not_found requests.0.params.model"),
        (&own, vec![good("one"), of("acme/none")], "404 not_found_error model_not_found requests.1.params.model"),
        (&own, vec![of(EMBEDDING)], "400 invalid_request_error invalid_value requests.0.params.model"),
        (&spent, vec![good("one")], "429 rate_limit_error budget_exceeded"),
    ] {
        let rejected = client.post_json("/messages/batches", json!({"requests": requests})).await;
        assert_eq!(error_line(&rejected), expected);
    }
    assert_eq!(own.get("/messages/batches").await.json()["data"], json!([]));
}

#[tokio::test]
async fn a_message_batch_that_is_created_again_is_the_same_when_its_budget_is_spent() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let made = operator.make(&keys, json!({"name": "a", "budgets": [{"window": "total", "usd": "1"}]})).await;
    let without = app.client_with(text(&made["key"]));
    let client = without.clone().header("idempotency-key", "one");
    let first = create(&client, &[good("one")]).await;
    ended(&client, text(&first["id"])).await;
    let own = format!("{keys}/{}", text(&made["id"]));
    let change = json!({"budgets": [{"window": "total", "usd": "0"}]});
    assert_eq!(operator.patch(&own, change).await.status, 200);
    let requests = json!({"requests": [good("two")]});
    wait_until("the budget is spent", TIMEOUT, async || {
        without.post_json("/messages/batches", requests.clone()).await.status == 429
    })
    .await;
    assert_eq!(create(&client, &[good("one")]).await["id"], first["id"]);
    let rejected = client.post_json("/messages/batches", requests).await;
    assert_eq!(error_line(&rejected), "400 invalid_request_error idempotency_key_reused");
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
