//! Usage, and the remaining quota and limits.

use super::person::{Person, error_of};
use crate::app::{CHAT, TestApp, text};
use serde_json::json;

#[tokio::test]
async fn usage_is_grouped_and_adds_up_to_what_the_events_say() {
    let app = TestApp::start().await;
    for _ in 0..3 {
        assert_eq!(app.chat("hi").await.status, 200);
    }
    let events = app.usage(3).await;
    let cost: i64 = events.iter().map(|event| event.cost.nanos()).sum();
    let person = Person::operator(&app).await;
    let base = format!("/api/workspaces/{}/usage", app.workspace());

    let whole = person.read(&base).await;
    assert_eq!(whole["total"]["requests"], 3);
    let costs = domain::NanoUsd::parse(text(&whole["total"]["costUsd"])).unwrap();
    assert_eq!(costs.nanos(), cost, "to the nano-dollar");

    let grouped = person.read(&format!("{base}?groupBy=model,key")).await;
    let line = &grouped["data"][0];
    assert_eq!((text(&line["model"]), &line["requests"], &line["user"]), (CHAT, &json!(3), &json!(null)));
    assert!(text(&line["key"]).starts_with("key_"));

    let key = text(&line["key"]);
    let of_key = person.read(&format!("{base}?groupBy=model&key={key}")).await;
    assert_eq!(of_key["total"], whole["total"], "no other key has called");
    assert!(of_key["data"][0]["key"].is_null(), "{of_key}");
    let other = app.new_key("other");
    let of_other = person.read(&format!("{base}?groupBy=model&key={}", text(&other["id"]))).await;
    assert_eq!((&of_other["data"], &of_other["total"]["requests"]), (&json!([]), &json!(0)));
    let shown = app.admin(&format!("usage show --workspace {} --key {}", app.workspace(), text(&other["id"])));
    assert_eq!(shown["total"]["requests"], 0);

    let csv = person.get(&format!("{base}?groupBy=model&format=csv")).await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<String> = csv.text().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "model,requests,promptTokens,completionTokens,cachedTokens,costUsd");
    assert!(lines[1].starts_with("acme/tiny,3,"), "{lines:?}");

    for (query, field) in
        [("groupBy=colour", "groupBy"), ("from=yesterday", "from"), ("format=xml", "format"), ("key=ci", "key")]
    {
        let response = person.get(&format!("{base}?{query}")).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"));
    }
}

#[tokio::test]
async fn the_quota_shows_the_remaining_tokens_and_limits() {
    let app = TestApp::setup().workspace_limits(100, 10_000, 50_000).start().await;
    let used = app.chat("hi").await.json()["usage"]["total_tokens"].as_u64().unwrap();
    app.usage(1).await;
    let person = Person::new(&app, "mia", "member").await;
    let quota = person.read(&format!("/api/workspaces/{}/quota", app.workspace())).await;
    assert_eq!((&quota["cap"], &quota["used"]), (&json!(50_000), &json!(used)));
    assert!(quota["reserved"].as_u64().unwrap() <= 50_000 - used);
    assert!(text(&quota["resetsAt"]).ends_with("-01T00:00:00.000Z"), "{quota}");
    assert_eq!(quota["perMinute"]["requests"]["limit"], 100);
    assert!(quota["perMinute"]["requests"]["remaining"].as_u64().unwrap() >= 99);
    assert_eq!(quota["perMinute"]["tokens"]["limit"], 10_000);

    let stranger = app.admin("organizations create --name Other");
    let other = Person::of_organization(&app, "otto", &format!("{} --role admin", text(&stranger["id"]))).await;
    let response = other.get(&format!("/api/workspaces/{}/quota", app.workspace())).await;
    assert_eq!(error_of(&response), "404 not_found", "another organization's workspace does not exist");
}
