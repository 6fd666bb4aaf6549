use crate::app::{CHAT, TIMEOUT, TestApp, chat, stream, text, wait_until};
use crate::console::person::{Person, error_of};
use serde_json::{Value, json};
use testkit::fake_engine::Script;

/// The total of an undivided chart.
fn total(chart: &Value) -> &Value {
    &chart["data"][0]["total"]
}

#[tokio::test]
async fn the_operator_sees_the_load_of_all_workspaces_and_who_causes_it() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    assert_eq!(app.chat("hi").await.status, 200);
    let mut unknown = chat("hi");
    unknown["model"] = "acme/none".into();
    assert_eq!(app.ask(unknown).await.status, 404);
    // A client that leaves is counted apart.
    app.engine().push(Script { chunks: 9, stall_after: Some(3), ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    opened.next_event().await.unwrap();
    drop(opened);

    let chart = async |metric: &str| operator.read(&format!("/api/operator/metrics?metric={metric}")).await;
    wait_until("all calls are counted", TIMEOUT, async || total(&chart("requests").await)["count"] == 3).await;
    assert_eq!(total(&chart("errors").await)["count"], 1, "only the rejected one");
    assert_eq!(total(&chart("cancelled").await)["count"], 1);
    assert_eq!(total(&chart("latency").await)["count"], 1);
    assert_eq!(total(&chart("gpus").await), &json!({"held": 0.0, "busy": null}));
    let failed = operator.read("/api/operator/errors").await;
    assert_eq!(failed["data"].as_array().unwrap().len(), 1, "{failed}");
    let log = operator.read(&format!("/api/workspaces/{}/requests?status=failed", app.workspace())).await;
    let codes: Vec<&str> = log["data"].as_array().unwrap().iter().map(|one| text(&one["code"])).collect();
    assert_eq!(codes, ["model_not_found"]);

    let users = async |by: &str| operator.read(&format!("/api/operator/usage?by={by}&sort=cost")).await["data"].clone();
    let by_model = users("model").await;
    assert_eq!((&by_model[0]["name"], &by_model[0]["requests"]), (&json!(CHAT), &json!(2)), "{by_model}");
    assert_eq!(by_model[0]["organization"], Value::Null);
    let by_key = users("key").await;
    assert!(
        text(&by_key[0]["key"]).starts_with("key_") && by_key[0]["workspace"]["id"] == app.workspace().as_str(),
        "{by_key}"
    );
    let organizations = users("organization").await;
    assert_eq!(organizations[0]["promptTokens"], by_model[0]["promptTokens"], "{organizations}");
    assert_ne!(organizations[0]["costUsd"], "0.00", "{organizations}");
    assert_eq!(users("endpoint").await, json!([]));

    let own = text(&organizations[0]["organization"]["id"]);
    let other = operator.make("/api/organizations", json!({"name": "Other"})).await;
    assert_eq!(users(&format!("organization&organization={own}")).await, organizations);
    assert_eq!(users(&format!("key&organization={own}")).await, by_key);
    assert_eq!(users(&format!("organization&organization={}", text(&other["id"]))).await, json!([]));
}

#[tokio::test]
async fn charts_and_users_that_do_not_exist_are_rejected() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    for (path, field) in [
        ("metrics?metric=colour", "metric"),
        ("metrics?metric=kv_cache", "metric"),
        ("usage?by=colour", "by"),
        ("usage?by=key&sort=x", "sort"),
        ("usage?by=key&limit=0", "limit"),
        ("usage?by=key&organization=x", "organization"),
        ("usage?by=model&organization=org_00000000000000000000000000", "organization"),
    ] {
        let response = operator.get(&format!("/api/operator/{path}")).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"), "{path}");
    }
}
