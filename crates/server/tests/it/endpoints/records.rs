//! The record, from create to delete.

use http::Method;
use serde_json::{Value, json};

use super::{act, committed, create, exceeded, fault, patch, problem, setup};
use crate::app::text;

#[tokio::test]
async fn a_record_has_every_member_and_is_found_by_name_and_by_id() {
    let app = setup(16).start().await;
    let client = app.client();
    let answer =
        create(&client, "chat-prod", 2, json!({"minReplicas": 0, "maxReplicas": 3, "labels": {"a": "b"}})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.header("location"), Some("/v1/endpoints/chat-prod"));
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let body = answer.json();
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
    let answer = client.post_json(dry, super::wish("a", 2, json!({"replicas": 2}))).await;
    assert_eq!((answer.status.as_u16(), answer.json()["committedGpus"].as_u64()), (200, Some(4)));
    assert_eq!(committed(&client).await, 0);
    assert_eq!(problem(&client.get("/endpoints/a").await), "404 ENDPOINT_NOT_FOUND");
    let answer = client.post_json(dry, super::wish("a", 3, json!({"replicas": 2}))).await;
    assert_eq!(exceeded(&answer), [4, 0, 6, 2]);
    for bad in ["/endpoints?dryRun=maybe", "/endpoints?dryRun="] {
        let answer = client.post_json(bad, super::wish("a", 1, json!({}))).await;
        assert_eq!(fault(&answer), "422 INVALID_FORMAT dryRun");
    }
    let answer = client.post_json("/endpoints?dryrun=true", super::wish("a", 1, json!({}))).await;
    assert_eq!(fault(&answer), "422 UNKNOWN_FIELD dryrun");
}

#[tokio::test]
async fn a_change_meets_the_version_that_it_names() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    // Nobody but the test changes an endpoint that is suspended.
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
async fn suspending_twice_and_deleting_twice_is_saying_it_again() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    for _ in 0..2 {
        let answer = act(&client, "/endpoints/a/suspend").await;
        assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &json!("suspended")));
    }
    let events = client.get("/endpoints/a/events").await.json();
    // The reconciler may have found meanwhile that there are no weights; that is its event, not the caller's.
    let own = |event: &&Value| event["actor"]["kind"] == "api-key";
    let types: Vec<_> = events["data"].as_array().unwrap().iter().filter(own).map(|event| &event["type"]).collect();
    assert_eq!(types, ["endpoint.suspended", "endpoint.created"], "{events:#}");
    for _ in 0..2 {
        let answer = client.delete("/endpoints/a").await;
        // Without replicas it may be gone already.
        assert!(answer.status == 202 || answer.status == 404, "{}", answer.text());
    }
    let resumed = act(&client, "/endpoints/a/resume").await;
    assert!(["409 ENDPOINT_DELETING", "404 ENDPOINT_NOT_FOUND"].contains(&problem(&resumed).as_str()));
}

#[tokio::test]
async fn replicas_and_usage_of_what_never_ran_are_empty() {
    let app = setup(16).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    let replicas = client.get("/endpoints/a/replicas").await;
    assert_eq!((replicas.status.as_u16(), &replicas.json()["object"]), (200, &json!("list")));
    let usage = client.get("/endpoints/a/usage?granularity=day").await.json();
    assert_eq!((&usage["granularity"], &usage["data"]), (&json!("day"), &json!([])), "{usage}");
    for (query, told) in [
        ("granularity=week", "422 INVALID_FORMAT granularity"),
        ("from=yesterday", "422 INVALID_FORMAT from"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "422 INVALID_COMBINATION to"),
    ] {
        assert_eq!(fault(&client.get(&format!("/endpoints/a/usage?{query}")).await), told);
    }
}

#[tokio::test]
async fn a_head_is_a_get_without_its_body() {
    let app = setup(16).start().await;
    create(&app.client(), "a", 1, json!({})).await;
    let answer = app.client().send(Method::HEAD, "/endpoints/a", bytes::Bytes::new()).await;
    assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, ""));
}
