//! The bill check, against a real engine.

use super::person::{Person, error_of};
use crate::app::{TestApp, text, wait_until};
use crate::quickstart::{CHAT, LOADED_WITHIN, quickstart, wait_for_model};
use serde_json::{Value, json};
use testkit::http::Client;

fn tokens(view: &Value) -> (u64, u64) {
    (view["promptTokens"].as_u64().unwrap_or_default(), view["completionTokens"].as_u64().unwrap_or_default())
}

#[tokio::test]
async fn what_is_billed_is_what_the_engine_has_counted() {
    let (forebay, client) = quickstart().await;
    wait_for_model(&client, CHAT, "available").await;
    let mut billed = (0, 0);
    for text in ["Name the capital city of Japan.", "Name the capital city of France.", "Say hello."] {
        let body = json!({"model": CHAT, "max_tokens": 8, "messages": [{"role": "user", "content": text}]});
        let response = client.post_json("/v1/chat/completions", body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let usage = &response.json()["usage"];
        billed.0 += usage["prompt_tokens"].as_u64().unwrap();
        billed.1 += usage["completion_tokens"].as_u64().unwrap();
    }
    let bootstrap = forebay.bootstrap();
    let signed = Client::new(forebay.public)
        .post_json("/api/session", json!({"email": bootstrap["email"], "password": bootstrap["password"]}))
        .await;
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let operator = Client::new(forebay.public).header("cookie", &cookie);
    let replica = format!("{CHAT}#1");
    let sum = async || {
        let report = operator.get("/api/reconciliation").await.json();
        report["replicas"].as_array().unwrap().iter().find(|line| line["replica"] == replica.as_str()).cloned()
    };
    wait_until("billed and counted tokens are reported", LOADED_WITHIN, async || {
        sum().await.is_some_and(|line| tokens(&line["billed"]) == billed && tokens(&line["counted"]) == billed)
    })
    .await;
    let line = sum().await.unwrap();
    assert_eq!(line["difference"], json!({"promptTokens": 0, "completionTokens": 0}), "{line}");
    assert_eq!(line["overbilled"], false);
    let nodes = operator.get("/api/operator/nodes").await.json();
    assert_eq!(line["nodes"], json!([nodes["data"][0]["id"]]), "{line}");
}

#[tokio::test]
async fn only_administrators_and_the_operator_may_read_the_bill_check() {
    let app = TestApp::start().await;
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let own = format!("/api/organizations/{organization}/reconciliation");
    let (admin, member) = (Person::new(&app, "ada", "admin").await, Person::new(&app, "mia", "member").await);
    assert_eq!(admin.read(&own).await["data"], json!([]));
    assert_eq!(error_of(&member.get(&own).await), "403 admin_only");
    assert_eq!(error_of(&admin.get("/api/reconciliation").await), "403 operator_only");
    let operator = Person::operator(&app).await;
    assert_eq!(error_of(&operator.get("/api/reconciliation?from=soon").await), "422 invalid_value from");
    assert_eq!(error_of(&operator.get(&format!("{own}?to=soon")).await), "422 invalid_value to");
}
