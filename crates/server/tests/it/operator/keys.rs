use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::app::{TestApp, text};
use crate::console::person::{Person, error_of};

const MODELS: &str = "/api/operator/models";
const OWN: &str = "/api/operator/models/acme%2Fown";
const CONTENT_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const SECRET: &str = "upstream-secret-1";

async fn authorization(app: &TestApp) -> Option<String> {
    let body = json!({"model": "acme/own", "messages": [{"role": "user", "content": "hi"}]});
    let response = app.client().post_json("/chat/completions", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let calls = app.engine().calls();
    let header = calls.last().unwrap().headers.get("authorization")?;
    Some(header.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_key_of_an_upstream_is_entered_once_and_never_shown() {
    let app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    let operator = Person::operator(&app).await;
    assert_eq!(operator.read("/api/operator/catalogue").await["canStoreKeys"], true);
    let url = app.engine().url();
    let body = json!({"id": "acme/own", "upstreams": [{"url": url, "apiKey": SECRET}]});
    let made = operator.post(MODELS, body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(!made.text().contains(SECRET));
    assert_eq!(made.json()["upstreams"][0]["hasKey"], true);
    let bearer = Some(format!("Bearer {SECRET}"));
    assert_eq!(authorization(&app).await, bearer);

    // Absent: it stays. Null: it is deleted.
    let upstreams = json!([{"url": url, "maxInFlight": 5}]);
    let changed = operator.patch(OWN, json!({"version": 1, "upstreams": upstreams})).await.json();
    assert_eq!((&changed["upstreams"][0]["hasKey"], &changed["version"]), (&json!(true), &json!(2)));
    assert_eq!(authorization(&app).await, bearer);
    let upstreams = json!([{"url": url, "apiKey": null}]);
    let changed = operator.patch(OWN, json!({"version": 2, "upstreams": upstreams})).await.json();
    assert_eq!(changed["upstreams"][0]["hasKey"], false);
    assert_eq!(authorization(&app).await, None);
    for bad in ["", "a\nb"] {
        let upstreams = json!([{"url": url, "apiKey": bad}]);
        let refused = operator.patch(OWN, json!({"version": 3, "upstreams": upstreams})).await;
        assert_eq!(error_of(&refused), "422 invalid_value upstreams[0].apiKey");
    }

    for place in [operator.get("/api/audit").await.text(), app.forebay.child.stderr()] {
        assert!(!place.contains(SECRET));
    }
    for file in fs::read_dir(&app.forebay.data_dir).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = if file.is_file() { fs::read(&file).unwrap() } else { Vec::new() };
        let is_found = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!is_found, "{} contains the key", file.display());
    }
}

#[tokio::test]
async fn a_single_node_stores_keys_at_once_and_the_operators_key_takes_over() {
    let mut app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    assert_eq!(operator.read("/api/operator/catalogue").await["canStoreKeys"], true);
    let body = json!({"id": "acme/own", "upstreams": [{"url": app.engine().url(), "apiKey": SECRET}]});
    operator.make(MODELS, body).await;
    let bearer = Some(format!("Bearer {SECRET}"));
    assert_eq!(authorization(&app).await, bearer);
    let file = app.forebay.data_dir.join("content.key");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let workspace = format!("/api/workspaces/{}", app.workspace());
    let stored = operator.patch(&workspace, json!({"version": 1, "responseRetentionDays": 7})).await;
    assert_eq!(error_of(&stored), "409 content_key_missing responseRetentionDays", "they need the operator's key");

    app.forebay.restart_with(&[("FOREBAY_CONTENT_KEY", CONTENT_KEY)]).await.unwrap();
    assert_eq!(authorization(&app).await, bearer);
    // It was encrypted again with the operator's key.
    fs::remove_file(&file).unwrap();
    app.forebay.restart_with(&[("FOREBAY_CONTENT_KEY", CONTENT_KEY)]).await.unwrap();
    assert_eq!(authorization(&app).await, bearer);
    assert!(!file.exists());
}

#[tokio::test]
async fn a_stored_key_is_not_served_without_the_content_key() {
    let mut app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    let operator = Person::operator(&app).await;
    let body = json!({"id": "acme/own", "upstreams": [{"url": app.engine().url(), "apiKey": SECRET}]});
    operator.make(MODELS, body).await;
    app.forebay.restart_with(&[]).await.unwrap();
    let operator = Person::operator(&app).await;
    let shown = operator.read(OWN).await;
    assert!(text(&shown["problem"]).contains("which is not among the content keys"), "{shown}");
    let findings = operator.read("/api/operator/findings").await;
    let of_catalogue = findings["findings"].as_array().unwrap().iter().find(|one| one["check"] == "catalogue");
    assert_eq!(of_catalogue.unwrap()["level"], "problem", "{findings}");
    let body = json!({"model": "acme/own", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(app.client().post_json("/chat/completions", body).await.status, 404, "never without its key");
}

#[tokio::test]
async fn an_earlier_content_key_can_be_removed_after_a_start_with_the_new_one() {
    const NEW: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";
    let mut app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    let operator = Person::operator(&app).await;
    let body = json!({"id": "acme/own", "upstreams": [{"url": app.engine().url(), "apiKey": SECRET}]});
    operator.make(MODELS, body).await;
    for keys in [format!("{NEW},{CONTENT_KEY}"), NEW.to_owned()] {
        app.forebay.restart_with(&[("FOREBAY_CONTENT_KEY", &keys)]).await.unwrap();
        assert_eq!(authorization(&app).await, Some(format!("Bearer {SECRET}")), "{keys}");
    }
}
