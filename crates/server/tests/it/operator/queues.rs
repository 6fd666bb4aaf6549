use serde_json::{Value, json};
use testkit::fake_engine::Script;
use tokio::task::JoinSet;

use crate::app::{CHAT, TIMEOUT, TestApp, chat, stream, text, wait_until};
use crate::console::person::{Person, error_of};

#[tokio::test]
async fn the_operator_sees_what_waits_of_all_and_a_workspace_its_own() {
    let app = TestApp::setup().chat_upstream("max_in_flight = 1").start().await;
    let operator = Person::operator(&app).await;
    assert_eq!(operator.read("/api/operator/queues").await["data"], json!([]));
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut running = app.open_stream(stream("one")).await;
    running.next_event().await.unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..2 {
        let client = app.client();
        let mut body = chat("hi");
        body["service_tier"] = "flex".into();
        calls.spawn(async move { client.post_json("/chat/completions", body).await });
    }
    let queues = async || operator.read("/api/operator/queues").await["data"].clone();
    wait_until("both are reported", TIMEOUT, async || queues().await[0]["calls"] == 2).await;
    let mut queue = queues().await[0].clone();
    let since = queue["waitingSince"].take();
    assert!(text(&since).ends_with('Z'), "{queue}");
    let tokens = queue["tokens"].as_u64().unwrap();
    assert!((500..5_000).contains(&tokens), "{tokens}");
    let expected = json!({
        "model": CHAT, "class": "flex", "workspaceId": app.workspace(), "weight": 1, "calls": 2, "tokens": tokens, "nodes": 1,
        "waitingSince": null,
        "workspaceName": "Default", "organizationId": app.forebay.bootstrap()["organizationId"],
        "organizationName": "Default",
    });
    assert_eq!(queue, expected);
    let ada = Person::new(&app, "ada", "admin").await;
    assert_eq!(error_of(&ada.get("/api/operator/queues").await), "403 operator_only");
    let own = ada.read(&format!("/api/workspaces/{}/queues", app.workspace())).await["data"][0].clone();
    assert_eq!((&own["model"], &own["class"], &own["calls"]), (&json!(CHAT), &json!("flex"), &json!(2)));
    assert!(text(&own["waitingSince"]).ends_with('Z') && own.get("workspaceName").is_none(), "{own}");
    let other = ada.make("/api/workspaces", json!({"name": "Other"})).await;
    let of_other = format!("/api/workspaces/{}/queues", text(&other["id"]));
    assert_eq!(ada.read(&of_other).await["data"], json!([]), "the calls of others do not show");
    drop(running);
    while let Some(response) = calls.join_next().await {
        assert_eq!(response.unwrap().status, 200);
    }
    wait_until("nothing waits", TIMEOUT, async || queues().await == json!([])).await;
}

#[tokio::test]
async fn only_the_operator_sets_the_weight_of_a_workspace() {
    let app = TestApp::start().await;
    let (operator, ada) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let id = app.workspace();
    let (of_operator, own) = (format!("/api/operator/workspaces/{id}"), format!("/api/workspaces/{id}"));
    let weight = |weight: Value, version: u64| json!({"version": version, "weight": weight});
    assert_eq!(ada.read(&own).await["weight"], 1);
    assert_eq!(error_of(&ada.patch(&own, weight(json!(2), 1)).await), "403 operator_only weight");
    for bad in [json!(0), json!(1_001)] {
        assert_eq!(error_of(&operator.patch(&of_operator, weight(bad, 1)).await), "422 invalid_value weight");
    }
    let set = operator.patch(&of_operator, weight(json!(3), 1)).await.json();
    assert_eq!((&set["weight"], &set["version"]), (&json!(3), &json!(2)));
    let renamed = ada.patch(&own, json!({"version": 2, "name": "Labs", "weight": 3})).await.json();
    assert_eq!((text(&renamed["name"]), &renamed["weight"]), ("Labs", &json!(3)), "what was read may be sent back");
}
