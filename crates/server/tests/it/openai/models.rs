//! The list of models.

use expect_test::expect;
use http::Method;
use serde_json::Value;

use crate::app::{CHAT, EMBEDDING, TestApp, error_line, shown};
use crate::wire::Wire;

fn ids(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_list_is_the_catalogue() {
    let app = TestApp::start().await;
    expect![[r#"
        200 OK
        content-length: 675
        content-type: application/json
        x-request-id: req_…

        {"object":"list","data":[{"id":"acme/tiny","object":"model","created":1767225600,"owned_by":"acme","name":"Tiny","provider":"acme","modality":"chat","status":"available","context_length":4096,"optimized":false,"pricing":{"currency":"USD","input_per_1m":"1.00","cached_input_per_1m":"0.50","output_per_1m":"4.00"},"capabilities":{"batch":true}},{"id":"acme/embed","object":"model","created":1767225600,"owned_by":"acme","name":"acme/embed","provider":"acme","modality":"embedding","status":"available","context_length":512,"optimized":false,"pricing":{"currency":"USD","input_per_1m":"0.02","cached_input_per_1m":"0.02","output_per_1m":"0.00"},"capabilities":{"batch":true}}]}
    "#]]
    .assert_eq(&shown(&app.client().get("/models").await));
}

#[tokio::test]
async fn the_list_can_be_filtered() {
    let app = TestApp::start().await;
    for (query, expected) in [
        ("", vec![CHAT, EMBEDDING]),
        ("?limit=1&after=x", vec![CHAT, EMBEDDING]),
        ("?modality=chat", vec![CHAT]),
        ("?modality=embedding&provider=acme", vec![EMBEDDING]),
        ("?provider=acme", vec![CHAT, EMBEDDING]),
        ("?provider=other", vec![]),
        ("?provider=&status=available", vec![CHAT, EMBEDDING]),
        ("?status=unavailable", vec![]),
        ("?%70rovider=%61cme&modality=chat", vec![CHAT]),
    ] {
        assert_eq!(ids(&app.client().get(&format!("/models{query}")).await.json()), expected, "{query}");
    }
}

#[tokio::test]
async fn a_model_is_found_with_raw_and_encoded_slashes() {
    let app = TestApp::start().await;
    for path in
        ["/models/acme/tiny", "/models/acme%2Ftiny", "/models/acme%2ftiny", "/models/acme/tiny/", "/models/%61cme/tiny"]
    {
        let response = app.client().get(path).await;
        assert_eq!((response.status_line().as_str(), &response.json()["id"]), ("200 OK", &CHAT.into()), "{path}");
    }
    for path in ["/models/acme/other", "/models/acme", "/models/%FF", "/models/acme%2F%C3", "/models/%00", "/models/%"]
    {
        assert_eq!(error_line(&app.client().get(path).await), "404 model_not_found model", "{path}");
    }
}

#[tokio::test]
async fn a_trailing_slash_is_served_and_not_redirected() {
    let app = TestApp::start().await;
    assert_eq!(ids(&app.client().get("/models/").await.json()), [CHAT, EMBEDDING]);
    let response = app.client().post_json("/chat/completions/", crate::app::chat("hi")).await;
    assert_eq!(response.status_line(), "200 OK");
}

#[tokio::test]
async fn head_returns_the_headers_of_get_without_a_body() {
    let app = TestApp::start().await;
    let list = app.client().get("/models").await;
    let mut wire = Wire::open(app.forebay.public).await;
    let head = |path: &str| format!("HEAD {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", app.key);
    wire.send(head("/v1/models")).await;
    let response = wire.response_without_body().await;
    assert_eq!((response.status, response.header("content-length")), (200, list.header("content-length")));
    assert!(wire.is_silent().await, "a body follows the head");
    wire.send(head("/v1/models/none")).await;
    assert_eq!(wire.response_without_body().await.status, 404);
}

#[tokio::test]
async fn other_methods_are_rejected_with_the_allowed_ones() {
    let app = TestApp::start().await;
    for (method, path, allow) in [
        (Method::POST, "/models", "GET, HEAD"),
        (Method::DELETE, "/models/acme/tiny", "GET, HEAD"),
        (Method::GET, "/chat/completions", "POST"),
        (Method::PUT, "/embeddings", "POST"),
        (Method::OPTIONS, "/embeddings", "POST"),
    ] {
        let response = app.client().send(method.clone(), path, bytes::Bytes::new()).await;
        assert_eq!(error_line(&response), "405 method_not_allowed", "{method} {path}");
        assert_eq!(response.header("allow"), Some(allow), "{method} {path}");
    }
}

const ALIASES: &str = "[[aliases]]\nname = \"claude-sonnet-4-5\"\nmodel = \"acme/tiny\"\n\
    [[aliases]]\nname = \"claude-*\"\nmodel = \"acme/tiny\"\n\
    [[aliases]]\nname = \"embed\"\nmodel = \"acme/embed\"";

#[tokio::test]
async fn exact_aliases_follow_the_models_as_records_of_their_targets() {
    let app = TestApp::setup().table(ALIASES).start().await;
    let list = app.client().get("/models").await.json();
    assert_eq!(ids(&list), [CHAT, EMBEDDING, "claude-sonnet-4-5", "embed"]);
    let (model, alias) = (&list["data"][0], &list["data"][2]);
    assert_eq!((&model["alias_of"], &alias["alias_of"]), (&Value::Null, &CHAT.into()));
    let mut expected = model.clone();
    expected["id"] = "claude-sonnet-4-5".into();
    expected["alias_of"] = CHAT.into();
    assert_eq!(alias, &expected);
    assert_eq!(ids(&app.client().get("/models?modality=embedding").await.json()), [EMBEDDING, "embed"]);
    let one = app.client().get("/models/claude-opus").await.json();
    assert_eq!((&one["id"], &one["alias_of"]), (&"claude-opus".into(), &CHAT.into()));
    assert_eq!(error_line(&app.client().get("/models/claude").await), "404 model_not_found model");
}

#[tokio::test]
async fn a_call_by_an_alias_is_billed_as_one_of_its_model_and_echoes_the_alias() {
    let app = TestApp::setup().table(ALIASES).start().await;
    for (name, is_streamed) in [("claude-sonnet-4-5", false), ("claude-opus-4", true)] {
        let mut body = crate::app::chat("hi");
        body["model"] = name.into();
        body["stream"] = is_streamed.into();
        let response = app.ask(body).await;
        assert_eq!(response.status_line(), "200 OK");
        assert!(response.text().contains(&format!("\"model\":\"{name}\"")), "{}", response.text());
    }
    assert_eq!(app.engine().calls()[0].json()["model"], crate::app::UPSTREAM_NAME);
    let events = app.usage(2).await;
    assert!(events.iter().all(|event| event.model.as_str() == CHAT), "{events:?}");
    let mut body = crate::app::chat("hi");
    body["model"] = "embed".into();
    assert_eq!(error_line(&app.ask(body).await), "422 invalid_value model");
}
