//! Both envelopes, every code, and the order of checks.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::Client;

use super::{MODEL, create, exceeded, fault, new_endpoint, patch, problem, setup};
use crate::app::TestApp;

#[tokio::test]
async fn errors_in_the_request_itself_have_two_members() {
    let app = setup(4).start().await;
    let client = app.client();
    for bad in ["", "{", "[]", "null", "\"a\"", "{\"name\":1e999}", "\u{feff}{}"] {
        assert_eq!(fault(&client.post_bytes("/endpoints", bad.to_owned()).await), "400 MALFORMED_JSON body", "{bad}");
    }
    let base = new_endpoint("a", 1, json!({}));
    let with = |changes: Value| {
        let mut body = base.clone();
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    for (body, expected) in [
        (json!({"model": MODEL, "flavor": "x"}), "400 MISSING_FIELD name"),
        (json!({"name": "a", "flavor": "x"}), "400 MISSING_FIELD model"),
        (with(json!({"flavor": null})), "400 MISSING_FIELD flavor"),
        (with(json!({"name": "A"})), "422 INVALID_FORMAT name"),
        (with(json!({"name": "flavors"})), "422 INVALID_FORMAT name"),
        (with(json!({"model": "tiny"})), "422 INVALID_FORMAT model"),
        (with(json!({"replicas": 0})), "422 OUT_OF_RANGE replicas"),
        (with(json!({"replicas": 65})), "422 OUT_OF_RANGE replicas"),
        (with(json!({"maxReplicas": 0})), "422 OUT_OF_RANGE maxReplicas"),
        (with(json!({"minReplicas": "1"})), "422 INVALID_FORMAT minReplicas"),
        (with(json!({"autoscalingTarget": 1025})), "422 OUT_OF_RANGE autoscalingTarget"),
        (with(json!({"scaleToZeroWindowSeconds": 59})), "422 OUT_OF_RANGE scaleToZeroWindowSeconds"),
        (with(json!({"colour": 1})), "422 UNKNOWN_FIELD colour"),
        (with(json!({"labels": {"a": 1}})), "422 INVALID_FORMAT labels.a"),
    ] {
        assert_eq!(fault(&client.post_json("/endpoints", body.clone()).await), expected, "{body}");
    }
    for body in [with(json!({"replicas": 1, "maxReplicas": 2})), with(json!({"minReplicas": 3, "maxReplicas": 2}))] {
        assert!(fault(&client.post_json("/endpoints", body).await).starts_with("422 INVALID_COMBINATION "));
    }
    for field in ["name", "model", "flavor"] {
        let expected = fault(&patch(&client, "unknown", json!({field: "x"})).await);
        assert_eq!(expected, format!("422 FIELD_IMMUTABLE {field}"), "before the endpoint is looked up");
    }
    let expected = fault(&client.post_json("/endpoints/unknown/suspend", json!({"now": true})).await);
    assert_eq!(expected, "422 UNKNOWN_FIELD now");
    let range = client.post_json("/endpoints", with(json!({"maxReplicas": 65}))).await;
    assert_eq!(range.text(), r#"{"detail":"maxReplicas: must be between 1 and 64","code":"OUT_OF_RANGE"}"#);
}

#[tokio::test]
async fn errors_that_depend_on_state_are_problems() {
    let app = setup(4).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    let unknown = json!({"name": "b", "model": "acme/none", "flavor": "x"});
    assert_eq!(problem(&client.post_json("/endpoints", unknown).await), "404 MODEL_NOT_FOUND");
    assert_eq!(problem(&client.get("/endpoints/flavors?model=acme/none").await), "404 MODEL_NOT_FOUND");
    let flavor = json!({"name": "b", "model": MODEL, "flavor": "x"});
    assert_eq!(problem(&client.post_json("/endpoints", flavor).await), "422 FLAVOR_NOT_OFFERED");
    let metric = json!({"name": "b", "model": MODEL, "flavor": "cpu-1x-llama-server",
        "autoscalingMetric": "kv-cache-utilization"});
    assert_eq!(problem(&client.post_json("/endpoints", metric).await), "422 METRIC_NOT_SUPPORTED");
    assert_eq!(problem(&patch(&client, "a", json!({"minReplicas": 2})).await), "422 INVALID_COMBINATION");
    for path in ["/endpoints/b", "/endpoints/b/events", "/endpoints/b/replicas", "/endpoints/b/usage", "/endpoints/B_!"]
    {
        assert_eq!(problem(&client.get(path).await), "404 ENDPOINT_NOT_FOUND", "{path}");
    }
    assert_eq!(problem(&client.get("/endpoints/a/nothing").await), "404 ROUTE_NOT_FOUND");
    let put = client.send_json(Method::PUT, "/endpoints/a", json!({})).await;
    assert_eq!(problem(&put), "405 METHOD_NOT_ALLOWED");
    assert_eq!(put.header("allow"), Some("GET, HEAD, PATCH, DELETE"));
}

#[tokio::test]
async fn oversized_slow_and_unsupported_requests_are_problems() {
    let app = setup(4).edge("body_read_timeout = \"1s\"").start().await;
    let client = app.client();
    let large = Bytes::from(vec![b' '; 300 << 10]);
    assert_eq!(problem(&client.post_bytes("/endpoints", large).await), "413 PAYLOAD_TOO_LARGE");
    let typed = app.client().header("content-type", "image/png");
    assert_eq!(problem(&typed.post_bytes("/endpoints", "{}").await), "415 UNSUPPORTED_MEDIA_TYPE");
    let wide = app.client().header("x-wide", &"w".repeat(33 << 10));
    assert_eq!(problem(&wide.get("/endpoints").await), "431 HEADERS_TOO_LARGE");
    let slow = format!(
        "POST /v1/endpoints HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 9\r\n\r\n{{",
        app.key
    );
    let response = testkit::http::send(app.forebay.public, slow.as_bytes()).await;
    assert!(response.status_line().contains("408"), "{}", response.status_line());
    assert_eq!(response.json()["extensions"]["code"], "REQUEST_TIMEOUT");
    assert_eq!(response.header("retry-after"), Some("1"));
}

/// One request with fewer and fewer errors: the first one in the order of checks is reported.
#[tokio::test]
async fn the_first_error_in_order_is_reported() {
    let app = setup(2).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({})).await;
    let post = async |client: &Client, body: Value| client.post_json("/endpoints", body).await;
    let over = |name: &str, flavor: &str| json!({"name": name, "model": MODEL, "flavor": flavor, "replicas": 9});
    let mut everything = over("a", "none");
    everything["replicas"] = json!(99);
    assert_eq!(problem(&post(&app.stranger(), everything.clone()).await), "401 UNAUTHENTICATED");
    let mut missing = everything.clone();
    missing["flavor"] = Value::Null;
    assert_eq!(fault(&post(&client, missing).await), "400 MISSING_FIELD flavor");
    assert_eq!(fault(&post(&client, everything).await), "422 OUT_OF_RANGE replicas");
    let mut unknown = over("a", "none");
    unknown["model"] = json!("acme/none");
    assert_eq!(problem(&post(&client, unknown).await), "404 MODEL_NOT_FOUND");
    assert_eq!(problem(&post(&client, over("a", "none")).await), "409 ENDPOINT_NAME_IN_USE");
    assert_eq!(problem(&post(&client, over("b", "none")).await), "422 FLAVOR_NOT_OFFERED");
    assert_eq!(exceeded(&post(&client, over("b", "cpu-1x-forebay-engine")).await), [2, 1, 10, 8]);
}

#[tokio::test]
async fn every_problem_has_a_page() {
    let app: TestApp = setup(1).start().await;
    let problem = create(&app.client(), "a", 2, json!({})).await.json();
    for link in [&problem["type"], &problem["extensions"]["remediation"]] {
        let page = Client::new(crate::app::text(link)).get("").await;
        assert_eq!((page.status.as_u16(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        assert!(page.text().contains("allotment"), "{}", page.text());
    }
    let browser = Client::new(app.forebay.public);
    assert_eq!(browser.get("/problems/nothing").await.status, 404);
}
