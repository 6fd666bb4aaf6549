//! The record, from create to delete.

use http::Method;
use serde_json::{Value, json};

use super::{act, committed, create, exceeded, fault, patch, problem, setup};
use crate::app::text;

#[tokio::test]
async fn a_record_has_every_member_and_is_found_by_name_and_by_id() {
    let app = setup(16).start().await;
    let client = app.client();
    let response =
        create(&client, "chat-prod", 2, json!({"minReplicas": 0, "maxReplicas": 3, "labels": {"a": "b"}})).await;
    assert_eq!(response.status, 201, "{}", response.text());
    assert_eq!(response.header("location"), Some("/v1/endpoints/chat-prod"));
    assert_eq!(response.header("etag"), Some("\"1\""));
    let body = response.json();
    for (member, value) in [
        ("object", json!("endpoint")),
        ("name", json!("chat-prod")),
        ("modelId", json!("dedicated/chat-prod")),
        ("hardware", json!({"gpuType": "local/cpu", "gpuCount": 2, "precision": "q4"})),
        ("replicas", Value::Null),
        ("minReplicas", json!(0)),
        ("maxReplicas", json!(3)),
        ("autoscalingMetric", json!("concurrency")),
        ("autoscalingTarget", json!(16)),
        ("scaleToZeroWindowSeconds", json!(3600)),
        ("state", json!("provisioning")),
        ("committedGpus", json!(6)),
        ("labels", json!({"a": "b"})),
        ("generation", json!(1)),
    ] {
        assert_eq!(body[member], value, "{member}");
    }
    assert!(text(&body["createdBy"]).starts_with("key_"));
    for path in ["/endpoints/chat-prod".to_owned(), format!("/endpoints/{}", text(&body["id"]))] {
        let found = client.get(&path).await;
        assert_eq!((found.status.as_u16(), found.header("etag").is_some()), (200, true));
        assert_eq!(found.json()["id"], body["id"]);
    }
}

#[tokio::test]
async fn a_dry_run_makes_every_check_and_changes_nothing() {
    let app = setup(4).start().await;
    let client = app.client();
    let dry = "/endpoints?dryRun=true";
    let response = client.post_json(dry, super::new_endpoint("a", 2, json!({"replicas": 2}))).await;
    assert_eq!((response.status.as_u16(), response.json()["committedGpus"].as_u64()), (200, Some(4)));
    assert_eq!(committed(&client).await, 0);
    assert_eq!(problem(&client.get("/endpoints/a").await), "404 ENDPOINT_NOT_FOUND");
    let response = client.post_json(dry, super::new_endpoint("a", 3, json!({"replicas": 2}))).await;
    assert_eq!(exceeded(&response), [4, 0, 6, 2]);
    for bad in ["/endpoints?dryRun=maybe", "/endpoints?dryRun="] {
        let response = client.post_json(bad, super::new_endpoint("a", 1, json!({}))).await;
        assert_eq!(fault(&response), "422 INVALID_FORMAT dryRun");
    }
    let response = client.post_json("/endpoints?dryrun=true", super::new_endpoint("a", 1, json!({}))).await;
    assert_eq!(fault(&response), "422 UNKNOWN_FIELD dryrun");
}

#[tokio::test]
async fn a_change_applies_to_the_version_in_if_match() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    // A suspended endpoint is changed by the test only.
    let suspended = act(&client, "/endpoints/a/suspend").await;
    let generation = suspended.json()["generation"].as_u64().unwrap();
    let tag = format!("\"{generation}\"");
    assert_eq!(suspended.header("etag"), Some(tag.as_str()));
    let matching = |tag: &str| app.client().header("if-match", tag);
    let changed = patch(&matching(&tag), "a", json!({"maxReplicas": 2})).await;
    let next = format!("\"{}\"", generation + 1);
    assert_eq!((changed.status.as_u16(), changed.header("etag")), (200, Some(next.as_str())), "{}", changed.text());
    assert_eq!(problem(&patch(&matching(&tag), "a", json!({"maxReplicas": 3})).await), "409 ENDPOINT_MODIFIED");
    assert_eq!(patch(&matching("*"), "a", json!({"maxReplicas": 3})).await.status, 200);
    assert_eq!(client.get("/endpoints/a").await.json()["maxReplicas"], 3);
}

#[tokio::test]
async fn suspending_and_deleting_are_idempotent() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    for _ in 0..2 {
        let response = act(&client, "/endpoints/a/suspend").await;
        assert_eq!((response.status.as_u16(), &response.json()["state"]), (200, &json!("suspended")));
    }
    let events = client.get("/endpoints/a/events").await.json();
    // The reconciler may have found meanwhile that there are no weights; that is its event, not the caller's.
    let own = |event: &&Value| event["actor"]["kind"] == "api-key";
    let types: Vec<_> = events["data"].as_array().unwrap().iter().filter(own).map(|event| &event["type"]).collect();
    assert_eq!(types, ["endpoint.suspended", "endpoint.created"], "{events:#}");
    for _ in 0..2 {
        let response = client.delete("/endpoints/a").await;
        // Without replicas it may be gone already.
        assert!(response.status == 202 || response.status == 404, "{}", response.text());
    }
    let resumed = act(&client, "/endpoints/a/resume").await;
    assert!(["409 ENDPOINT_DELETING", "404 ENDPOINT_NOT_FOUND"].contains(&problem(&resumed).as_str()));
}

#[tokio::test]
async fn replicas_and_usage_of_an_endpoint_that_never_ran_are_empty() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    let replicas = client.get("/endpoints/a/replicas").await;
    assert_eq!((replicas.status.as_u16(), &replicas.json()["object"]), (200, &json!("list")));
    let usage = client.get("/endpoints/a/usage?granularity=day").await.json();
    assert_eq!((&usage["granularity"], &usage["data"]), (&json!("day"), &json!([])), "{usage}");
    for (query, expected) in [
        ("granularity=week", "422 INVALID_FORMAT granularity"),
        ("from=yesterday", "422 INVALID_FORMAT from"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "422 INVALID_COMBINATION to"),
    ] {
        assert_eq!(fault(&client.get(&format!("/endpoints/a/usage?{query}")).await), expected);
    }
}

#[tokio::test]
async fn a_head_is_a_get_without_its_body() {
    let app = setup(16).start().await;
    create(&app.client(), "a", 1, json!({})).await;
    let response = app.client().send(Method::HEAD, "/endpoints/a", bytes::Bytes::new()).await;
    assert_eq!((response.status.as_u16(), response.text().as_str()), (200, ""));
}
