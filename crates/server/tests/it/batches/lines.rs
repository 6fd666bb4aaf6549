//! What becomes of the lines of a batch.

use super::{batch, content, create, ended, line, line_of, lines, request, start, upload};
use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, error_line, text, wait_until};
use crate::console::person::Person;
use domain::usage::CallSurface;
use serde_json::{Value, json};
use std::collections::HashSet;
use testkit::fake_engine::Script;

#[tokio::test]
async fn every_line_has_one_result_and_one_event_at_the_price_of_batches() {
    let app = TestApp::setup().model("batch_discount = \"0.5\"").start().await;
    let client = app.client();
    let file = upload(&client, &lines(60)).await;
    let mut body = request(&file);
    body["metadata"] = json!({"team": "search"});
    let created = client.post_json("/batches", body).await.json();
    assert_eq!((&created["status"], &created["object"]), (&json!("validating"), &json!("batch")), "{created}");
    let done = ended(&client, text(&created["id"])).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["request_counts"], json!({"total": 60, "completed": 60, "failed": 0}));
    let usage = json!({"input_tokens": 60 * 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 60 * 3,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 60 * 13});
    assert_eq!(done["usage"], usage);
    let members: HashSet<&str> = done.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members.len(), 22, "{done}");
    for (name, value) in [
        ("endpoint", json!("/v1/chat/completions")),
        ("model", json!(CHAT)),
        ("errors", json!(null)),
        ("input_file_id", json!(file)),
        ("completion_window", json!("24h")),
        ("error_file_id", json!(null)),
        ("metadata", json!({"team": "search"})),
        ("failed_at", json!(null)),
        ("cancelled_at", json!(null)),
    ] {
        assert_eq!(done[name], value, "{name}");
    }
    assert_eq!(done["expires_at"].as_i64().unwrap() - done["created_at"].as_i64().unwrap(), 86_400);
    assert!(["in_progress_at", "finalizing_at", "completed_at"].iter().all(|name| done[name].is_i64()), "{done}");

    let output = content(&client, &done["output_file_id"]).await;
    assert_eq!(output.len(), 60);
    let first = &output["line-0"];
    let request_id = text(&first["response"]["request_id"]).to_owned();
    assert_eq!(first["id"], json!(request_id.replace("req_", "batch_req_")));
    assert_eq!((&first["response"]["status_code"], &first["error"]), (&json!(200), &json!(null)), "{first}");
    assert_eq!(first["response"]["body"]["model"], CHAT);
    assert_eq!(first["response"]["body"]["choices"][0]["message"]["content"], "Hello Hello Hello ");
    let listed = client.get(&format!("/files/{}", text(&done["output_file_id"]))).await.json();
    assert_eq!(listed["purpose"], "batch_output");

    let events = app.usage(60).await;
    let ids: HashSet<&str> = events.iter().map(|event| event.request.as_str()).collect();
    assert_eq!(ids, output.values().map(|line| text(&line["response"]["request_id"])).collect());
    for event in &events {
        assert_eq!(event.origin.surface, Some(CallSurface::Batch));
        assert_eq!(event.origin.batch.as_ref().map(ToString::to_string).as_deref(), done["id"].as_str());
        assert_eq!(event.cost.nanos(), 11_000);
    }
    let person = Person::new(&app, "mia", "member").await;
    let log = person.read(&format!("/api/workspaces/{}/requests?request={request_id}", app.workspace())).await;
    assert_eq!((&log["data"][0]["id"], &log["data"][0]["batch"]), (&json!(request_id), &done["id"]), "{log}");
}

#[tokio::test]
async fn all_endpoints_run_in_batches() {
    let (app, client) = start().await;
    for (endpoint, body, pointer) in [
        ("/v1/embeddings", json!({"model": EMBEDDING, "input": ["a", "b"]}), "/data/1/embedding"),
        ("/v1/completions", json!({"model": CHAT, "prompt": "a"}), "/choices/0/text"),
        ("/v1/responses", json!({"model": CHAT, "input": "a"}), "/output/0/content/0/text"),
    ] {
        let file = upload(&client, &line_of("a", endpoint, &body)).await;
        let mut request = request(&file);
        request["endpoint"] = endpoint.into();
        let created = client.post_json("/batches", request).await.json();
        let done = ended(&client, text(&created["id"])).await;
        assert_eq!(done["status"], "completed", "{endpoint}: {done}");
        let output = content(&client, &done["output_file_id"]).await;
        let response = &output["a"]["response"];
        assert!(response["body"].pointer(pointer).is_some(), "{endpoint}: {response}");
    }
    app.usage(3).await;
}

#[tokio::test]
async fn an_invalid_file_fails_the_batch_before_any_line_runs() {
    let (app, client) = start().await;
    let bad = line("a", "x") + "nothing\n" + &line("a", "x") + &line("b", "x").replace(CHAT, "acme/none");
    let done = ended(&client, &create(&client, &bad).await).await;
    assert_eq!((&done["status"], &done["errors"]["object"]), (&json!("failed"), &json!("list")), "{done}");
    assert!(done["failed_at"].is_i64() && done["output_file_id"].is_null(), "{done}");
    let found: Vec<Value> = done["errors"]["data"].as_array().unwrap().clone();
    let shown: Vec<Value> = found.iter().map(|one| json!([one["line"], one["code"], one["param"]])).collect();
    let expected = json!([
        [2, "invalid_json_line", null],
        [3, "duplicate_custom_id", "custom_id"],
        [4, "model_not_found", "body.model"]
    ]);
    assert_eq!(json!(shown), expected);
    assert!(found.iter().all(|one| one["message"].is_string()));
    let empty = ended(&client, &create(&client, "\n\n").await).await;
    assert_eq!(empty["errors"]["data"][0]["code"], "empty_file", "{empty}");
    assert!(app.engine().calls().is_empty());
    app.usage(0).await;
}

#[tokio::test]
async fn lines_that_fail_are_in_the_error_file_with_their_response() {
    let (app, client) = start().await;
    let bad = json!({"model": CHAT, "messages": [{"role": "user", "content": "x"}], "temperature": 9});
    let lines = line("good", "x") + &line_of("bad", "/v1/chat/completions", &bad);
    let done = ended(&client, &create(&client, &lines).await).await;
    assert_eq!((&done["status"], &done["request_counts"]["failed"]), (&json!("completed"), &json!(1)), "{done}");
    let errors = content(&client, &done["error_file_id"]).await;
    let response = &errors["bad"]["response"];
    assert_eq!((&response["status_code"], &errors["bad"]["error"]), (&json!(422), &json!(null)));
    assert_eq!(response["body"]["error"]["param"], "temperature");
    assert_eq!(content(&client, &done["output_file_id"]).await.len(), 1);
    app.usage(1).await;
}

#[tokio::test]
async fn failures_that_may_pass_are_retried() {
    let (app, client) = start().await;
    for status in [503, 503, 500, 429] {
        app.engine().push(Script { status: Some(status), ..Script::default() });
    }
    app.engine().push(Script { hang_up: true, ..Script::default() });
    let done = ended(&client, &create(&client, &lines(3)).await).await;
    assert_eq!(done["request_counts"], json!({"total": 3, "completed": 3, "failed": 0}), "{done}");
    app.usage(3).await;
}

#[tokio::test]
async fn the_end_of_the_quota_fails_the_remaining_lines() {
    let app = TestApp::setup().workspace_limits(1_000_000, 1, 200).start().await;
    let client = app.client();
    app.engine().script(Script { prompt_tokens: 10, completion_tokens: Some(50), ..Script::default() });
    let limited = |number: usize| {
        let body = json!({"model": CHAT, "messages": [{"role": "user", "content": "x"}], "max_tokens": 50});
        line_of(&format!("line-{number}"), "/v1/chat/completions", &body)
    };
    let all: String = (0..12).map(limited).collect();
    let done = ended(&client, &create(&client, &all).await).await;
    assert_eq!((&done["status"], &done["request_counts"]["total"]), (&json!("completed"), &json!(12)), "{done}");
    let errors = content(&client, &done["error_file_id"]).await;
    let output = content(&client, &done["output_file_id"]).await;
    assert_eq!(errors.len() + output.len(), 12);
    assert!((1..=4).contains(&output.len()), "tokens per minute do not apply, the quota does: {}", output.len());
    for line in errors.values() {
        assert_eq!(line["response"]["status_code"], 429, "{line}");
        assert_eq!(line["response"]["body"]["error"]["code"], "quota_exceeded", "{line}");
    }
    app.usage(output.len()).await;
}

#[tokio::test]
async fn cancelling_stops_running_lines_bills_what_was_written_and_keeps_results() {
    let (app, client) = start().await;
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    app.engine().push(Script::default());
    let id = create(&client, &lines(100)).await;
    wait_until("one line has ended, and others run", TIMEOUT, async || {
        batch(&client, &id).await["request_counts"]["completed"] == 1 && app.engine().in_flight() >= 4
    })
    .await;
    let running = app.engine().in_flight();
    let cancelled = client.post_json(&format!("/batches/{id}/cancel"), json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    assert_eq!(cancelled.json()["status"], "cancelling");
    let done = ended(&client, &id).await;
    assert_eq!((&done["status"], &done["cancelled_at"].is_i64()), (&json!("cancelled"), &true), "{done}");
    assert!(app.engine().wait_until_idle(TIMEOUT).await, "the engine is not used any more");
    assert_eq!(done["request_counts"], json!({"total": 100, "completed": 1, "failed": 99}));
    assert_eq!(content(&client, &done["output_file_id"]).await.len(), 1);
    let errors = content(&client, &done["error_file_id"]).await;
    assert_eq!(errors.len(), 99);
    for line in errors.values() {
        assert_eq!((&line["response"], &line["error"]["code"]), (&json!(null), &json!("batch_cancelled")), "{line}");
        assert!(line["error"]["message"].is_string());
    }
    let store = app.store().await;
    let events = store::usage::list(&store, &app.workspace(), 1_000).await.unwrap();
    let billed = events.iter().filter(|event| event.tokens.prompt > 0).count();
    assert!(billed > running / 2, "the lines that ran are billed: {billed} of {running}");
    let again = client.post_json(&format!("/batches/{id}/cancel"), json!({})).await;
    assert_eq!(error_line(&again), "409 batch_not_cancellable");
}

#[tokio::test]
async fn interactive_calls_go_first() {
    let app = TestApp::setup().chat_upstream("max_in_flight = 4").start().await;
    let client = app.client();
    app.engine().script(Script { delay_ms: 20, ..Script::default() });
    assert_eq!(app.chat("hi").await.status, 200);
    let id = create(&client, &lines(40)).await;
    wait_until("lines run", TIMEOUT, async || app.engine().calls().len() > 1).await;
    for _ in 0..20 {
        let response = app.chat("hi").await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(app.engine().in_flight() <= 2, "batches take half of the room");
    }
    assert_eq!(ended(&client, &id).await["request_counts"]["completed"], 40);
    app.usage(61).await;
}

#[tokio::test]
async fn a_revoked_key_ends_its_batches() {
    let (app, client) = start().await;
    let key = app.new_key("batches");
    let own = app.client_with(text(&key["key"]));
    app.engine().script(Script { delay_ms: 300, ..Script::default() });
    let id = create(&own, &lines(100)).await;
    wait_until("lines run", TIMEOUT, async || !app.engine().calls().is_empty()).await;
    app.admin(&format!("keys revoke {}", text(&key["id"])));
    let done = ended(&client, &id).await;
    assert_eq!(done["status"], "completed", "{done}");
    let errors = content(&client, &done["error_file_id"]).await;
    assert!(!errors.is_empty(), "{done}");
    assert!(errors.values().all(|line| line["response"]["status_code"] == 401), "{errors:#?}");
    assert_eq!(error_line(&own.get("/batches").await), "401 invalid_api_key");
}
