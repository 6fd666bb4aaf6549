//! `/v1/batches`: requests, lists and bounds.

use super::{batch, create, ended, lines, request, start, upload};
use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, error_line, text, wait_until};
use crate::console::person::Person;
use serde_json::{Value, json};
use testkit::fake_engine::Script;

#[tokio::test]
async fn batches_are_listed_the_newest_first() {
    let (_app, client) = start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(create(&client, &lines(1)).await);
    }
    for id in &ids {
        ended(&client, id).await;
    }
    let page = client.get("/batches?limit=2").await.json();
    let of = |page: &Value| -> Vec<String> {
        page["data"].as_array().unwrap().iter().map(|batch| text(&batch["id"]).to_owned()).collect()
    };
    assert_eq!(of(&page), [ids[2].clone(), ids[1].clone()]);
    assert_eq!((&page["has_more"], &page["last_id"]), (&json!(true), &json!(ids[1])));
    let rest = client.get(&format!("/batches?after={}", ids[1])).await.json();
    assert_eq!((of(&rest), &rest["has_more"]), (vec![ids[0].clone()], &json!(false)));
    assert_eq!(page["data"][0], batch(&client, &ids[2]).await);
    for query in ["limit=0", "limit=101", "limit=x"] {
        assert_eq!(error_line(&client.get(&format!("/batches?{query}")).await), "422 invalid_value limit");
    }
}

#[tokio::test]
async fn the_same_idempotency_key_creates_one_batch() {
    let (_app, client) = start().await;
    let file = upload(&client, &lines(1)).await;
    let with_key = client.clone().header("idempotency-key", "one");
    let first = with_key.post_json("/batches", request(&file)).await.json();
    let again = with_key.post_json("/batches", request(&file)).await.json();
    assert_eq!((&first["id"], first["id"].is_string()), (&again["id"], true));
    let mut other = request(&file);
    other["metadata"] = json!({"a": "b"});
    assert_eq!(error_line(&with_key.post_json("/batches", other).await), "422 idempotency_key_reused");
    assert_eq!(client.get("/batches").await.json()["data"].as_array().unwrap().len(), 1);
    ended(&client, text(&first["id"])).await;
}

#[tokio::test]
async fn unknown_batches_and_invalid_requests_are_rejected() {
    let (_app, client) = start().await;
    let unknown = "batch_01h00000000000000000000000";
    for id in [unknown, "x"] {
        assert_eq!(error_line(&client.get(&format!("/batches/{id}")).await), "404 batch_not_found");
        let cancelled = client.post_json(&format!("/batches/{id}/cancel"), json!({})).await;
        assert_eq!(error_line(&cancelled), "404 batch_not_found");
    }
    let file = upload(&client, &lines(1)).await;
    let post = async |name: &str, value: Value| {
        let mut body = request(&file);
        body[name] = value;
        error_line(&client.post_json("/batches", body).await)
    };
    assert_eq!(post("endpoint", json!("/v1/models")).await, "422 invalid_value endpoint");
    assert_eq!(post("completion_window", json!("1h")).await, "422 invalid_value completion_window");
    assert_eq!(post("input_file_id", json!(null)).await, "400 missing_parameter input_file_id");
    assert_eq!(
        post("input_file_id", json!("file-01h00000000000000000000000")).await,
        "404 file_not_found input_file_id"
    );
    let id = create(&client, &lines(1)).await;
    let output = ended(&client, &id).await["output_file_id"].clone();
    assert_eq!(post("input_file_id", output).await, "422 invalid_value input_file_id", "it has another purpose");
    let late = client.post_json(&format!("/batches/{id}/cancel"), json!({})).await;
    assert_eq!(error_line(&late), "409 batch_not_cancellable");
    assert_eq!(late.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_batch_fails_if_its_key_may_not_call_the_model_or_has_spent_its_budget() {
    let free = "[[models]]\nid = \"acme/free\"\nupstreams = [ { url = \"http://127.0.0.1:1\" } ]";
    let app = TestApp::setup().table(free).start().await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let key = async |settings: Value| app.client_with(text(&operator.make(&keys, settings).await["key"]));
    let limited = key(json!({"name": "limited", "allowedModels": [EMBEDDING]})).await;
    let spent = key(json!({"name": "spent", "budgets": [{"window": "total", "usd": "0"}]})).await;
    for (client, code, message) in [
        (&limited, "model_not_found", "that the creator of the batch may call"),
        (&spent, "budget_exceeded", "budget of key"),
    ] {
        let done = ended(client, &create(client, &lines(2)).await).await;
        assert_eq!((&done["status"], &done["request_counts"]["total"]), (&json!("failed"), &json!(0)), "{done}");
        let problem = &done["errors"]["data"][0];
        assert_eq!(problem["code"], code, "{problem}");
        assert!(text(&problem["message"]).contains(message), "{problem}");
    }
    assert!(app.engine().calls().is_empty());
    let id = create(&spent, &lines(1).replace(CHAT, "acme/free")).await;
    wait_until("a model without a price is called", TIMEOUT, async || {
        batch(&spent, &id).await["status"] == "in_progress"
    })
    .await;
    assert_eq!(spent.post_json(&format!("/batches/{id}/cancel"), json!({})).await.status, 200);
    ended(&spent, &id).await;
}

#[tokio::test]
async fn a_model_for_other_calls_fails_the_batch() {
    let (_app, client) = start().await;
    let done = ended(&client, &create(&client, &lines(1).replace(CHAT, EMBEDDING)).await).await;
    let problem = &done["errors"]["data"][0];
    assert_eq!((&problem["code"], &problem["param"]), (&json!("invalid_value"), &json!("body.model")), "{done}");
    assert_eq!(problem["message"], format!("`{EMBEDDING}` is a model for embeddings, not for chat"));
}

#[tokio::test]
async fn open_batches_and_their_lines_are_bounded() {
    let table = "[files]\nmax_open_batches_per_workspace = 1\nmax_queued_lines_per_workspace = 5";
    let app = TestApp::setup().table(table).start().await;
    let client = app.client();
    let too_long = ended(&client, &create(&client, &lines(6)).await).await;
    assert_eq!(too_long["errors"]["data"][0]["code"], "too_many_lines", "{too_long}");
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    let id = create(&client, &lines(5)).await;
    let file = upload(&client, &lines(1)).await;
    let second = client.post_json("/batches", request(&file)).await;
    assert_eq!(error_line(&second), "429 too_many_batches");
    assert_eq!(second.header("x-should-retry"), Some("false"));
    let cancel = format!("/batches/{id}/cancel");
    assert_eq!(client.post_json(&cancel, json!({})).await.status, 200);
    ended(&client, &id).await;
    assert_eq!(error_line(&client.post_json(&cancel, json!({})).await), "409 batch_not_cancellable");
}
