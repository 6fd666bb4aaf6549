use domain::UserId;
use domain::usage::Actor;
use serde_json::json;
use testkit::http::Client;

use super::person::Person;
use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, error_line, stream, text, wait_until};

/// The person's browser on `/v1`.
fn playground(app: &TestApp, person: &Person) -> Client {
    app.stranger().header("cookie", &person.cookie).header("x-csrf-token", &person.csrf)
}

#[tokio::test]
async fn a_signed_in_person_chats_and_the_usage_is_theirs() {
    let app = TestApp::start().await;
    let bob = Person::new(&app, "bob", "member").await;
    let client = playground(&app, &bob).header("x-workspace-id", app.workspace().as_str());
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status, 200);
    let (events, clean) = client.open_stream("/chat/completions", stream("hi")).await.rest().await;
    assert!(clean && !events.is_empty());
    assert_eq!(client.post_json("/embeddings", json!({"model": EMBEDDING, "input": "x"})).await.status, 200);
    assert_eq!(client.get("/models").await.status, 200);
    assert_eq!(client.get(&format!("/models/{CHAT}")).await.status, 200);
    let id = UserId::parse(&bob.id().await).unwrap();
    for event in app.usage(3).await {
        assert_eq!(event.caller.actor, Actor::User(id.clone()));
    }
    wait_until("lines", TIMEOUT, async || app.forebay.child.stdout().contains(&format!("\"user\":\"{id}\""))).await;
    assert!(!app.forebay.child.stdout().contains(&bob.cookie));
    assert!(!format!("{:?}", app.engine().calls()).contains("forebay_session"));
}

#[tokio::test]
async fn a_session_needs_its_token_an_organization_and_a_workspace_of_its_own() {
    let app = TestApp::start().await;
    let (operator, bob) = (Person::operator(&app).await, Person::new(&app, "bob", "member").await);
    let bare = app.stranger().header("cookie", &bob.cookie);
    assert_eq!(error_line(&bare.post_json("/chat/completions", chat("hi")).await), "403 csrf_failed");
    let replayed = bare.clone().header("x-csrf-token", &operator.csrf);
    assert_eq!(error_line(&replayed.post_json("/chat/completions", chat("hi")).await), "403 csrf_failed");
    assert_eq!(bare.get("/models").await.status, 200, "reading needs none");

    let client = playground(&app, &bob);
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status, 200, "in the current workspace");
    let secret = operator.make("/api/workspaces", json!({"name": "Secret"})).await;
    let other = app.admin("organizations create --name Other");
    let foreign = app.admin(&format!("workspaces create --organization {} --name Theirs", text(&other["id"])));
    for workspace in [text(&secret["id"]), text(&foreign["id"]), "ws_00000000000000000000000000", "garbage", ""] {
        let client = client.clone().header("x-workspace-id", workspace);
        let response = client.post_json("/chat/completions", chat("hi")).await;
        assert_eq!(error_line(&response), "403 not_a_member", "{workspace}");
        assert_eq!(response.json()["error"]["type"], "permission_error");
        assert_eq!(error_line(&client.get("/models").await), "403 not_a_member", "{workspace}");
    }
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    bob.put("/api/session/context", json!({"organizationId": organization, "workspaceId": null})).await;
    assert_eq!(error_line(&client.post_json("/chat/completions", chat("hi")).await), "403 no_workspace_context");
    bob.put("/api/session/context", json!({})).await;
    let named = client.clone().header("x-workspace-id", app.workspace().as_str());
    for client in [&client, &named] {
        assert_eq!(error_line(&client.post_json("/chat/completions", chat("hi")).await), "403 no_organization_context");
        assert_eq!(error_line(&client.post_json("/nothing", json!({})).await), "403 no_organization_context");
    }
    app.usage(1).await;
}

#[tokio::test]
async fn an_authorization_header_decides_alone() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let client = playground(&app, &person);
    for header in ["Bearer garbage", "", "Basic x"] {
        let response = client.clone().header("authorization", header).get("/models").await;
        assert_eq!(error_line(&response), "401 invalid_api_key", "{header}");
    }
    let by_key = client.clone().key(&app.key).post_json("/chat/completions", chat("hi")).await;
    assert_eq!(by_key.status, 200);
    assert!(matches!(app.usage(1).await[0].caller.actor, Actor::Key(_)), "and is attributed to the key");
    person.delete("/api/session").await;
    let ended = client.get("/models").await;
    assert_eq!(error_line(&ended), "401 invalid_api_key");
    assert_eq!(ended.header("www-authenticate"), Some("Bearer"));
}

#[tokio::test]
async fn a_lowered_limit_works_within_a_second_for_keys_and_for_sessions() {
    let app = TestApp::start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let path = format!("/api/workspaces/{}", app.workspace());
    assert_eq!(app.chat("hi").await.status, 200);
    let lowered = admin.patch(&path, json!({"version": 1, "requestsPerMinute": 1})).await;
    assert_eq!(lowered.json()["requestsPerMinute"], 1);
    let second = std::time::Duration::from_secs(1);
    wait_until("the limit", second, async || refusal_of(&app.chat("hi").await) == "rate_limit_exceeded").await;
    let by_session = playground(&app, &admin).post_json("/chat/completions", chat("hi")).await;
    assert_eq!(error_line(&by_session), "429 rate_limit_exceeded");
    let version = admin.read(&path).await["version"].clone();
    admin.patch(&path, json!({"version": version, "requestsPerMinute": null, "monthlyTokens": 0})).await;
    wait_until("the quota", second, async || refusal_of(&app.chat("hi").await) == "quota_exceeded").await;
}

fn refusal_of(response: &testkit::http::Response) -> String {
    text(&response.json()["error"]["code"]).to_owned()
}
