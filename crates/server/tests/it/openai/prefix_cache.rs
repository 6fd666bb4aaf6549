//! Workspaces share no cached prefixes at engines that serve several of them.

use serde_json::{Value, json};
use testkit::gateway_config::GatewayConfig;

use crate::app::{CHAT, EMBEDDING, TestApp, UPSTREAM_NAME, chat};

/// A key of a second workspace.
pub(crate) fn other_workspace_key(admin: impl Fn(&str) -> Value, organization: &str) -> String {
    let workspace = admin(&format!("workspaces create --organization {organization} --name other"));
    let key = admin(&format!("keys create --workspace {} --name other", workspace["id"].as_str().unwrap()));
    key["key"].as_str().unwrap().to_owned()
}

async fn sent_salt(app: &TestApp, key: &str, body: Value) -> Value {
    app.engine().forget_calls();
    let response = app.client_with(key).post_json("/chat/completions", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    app.engine().calls()[0].json()["cache_salt"].clone()
}

#[tokio::test]
async fn each_workspace_has_a_salt_of_its_own_that_no_client_can_choose() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    let organization = app.forebay.bootstrap()["organizationId"].as_str().unwrap().to_owned();
    let other = other_workspace_key(|line| app.admin(line), &organization);
    let own = sent_salt(&app, &app.key, chat("hi")).await;
    assert_eq!(own.as_str().unwrap().len(), 64);
    assert!(!own.as_str().unwrap().contains(app.workspace().as_str()));
    let second = app.new_key("second");
    assert_eq!(sent_salt(&app, second["key"].as_str().unwrap(), chat("hi")).await, own);
    let theirs = sent_salt(&app, &other, chat("hi")).await;
    assert_ne!(theirs, own);

    let mut forged = chat("hi");
    forged["cache_salt"] = own.clone();
    let sent = sent_salt(&app, &other, forged).await;
    assert_eq!(sent.as_str().unwrap(), format!("{}{}", theirs.as_str().unwrap(), own.as_str().unwrap()));

    app.engine().forget_calls();
    assert_eq!(app.embed(json!({"model": EMBEDDING, "input": "hi"})).await.status, 200);
    assert_eq!(app.engine().calls()[0].json()["cache_salt"], own);
}

#[tokio::test]
async fn upstreams_of_an_unknown_kind_get_no_salt() {
    let app = TestApp::start().await;
    assert_eq!(sent_salt(&app, &app.key, chat("hi")).await, Value::Null);
}

#[tokio::test]
async fn a_model_can_share_its_cache_between_workspaces() {
    let app = TestApp::start().await;
    let model = format!(
        "share_prefix_cache = true\nupstreams = [{{ url = \"{}\", model = \"{UPSTREAM_NAME}\", engine = \"sglang\" }}]",
        app.engine().url()
    );
    let config = GatewayConfig::default().model(CHAT, &model).render();
    let sharing = testkit::process::ForebayLaunch::default().binary(crate::app::BINARY).start(&config).await.unwrap();
    let client = testkit::http::Client::new(format!("http://{}/v1", sharing.public)).key(&sharing.api_key().unwrap());
    let mut body = chat("hi");
    body["cache_salt"] = json!("mine");
    assert_eq!(client.post_json("/chat/completions", body).await.status, 200);
    assert_eq!(app.engine().calls()[0].json()["cache_salt"], "mine");
}
