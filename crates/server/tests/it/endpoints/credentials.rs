//! Credentials: keys of the workspace, and sessions in it.

use std::time::Duration;

use http::Method;
use serde_json::json;
use testkit::http::{Client, Response};

use super::{create, new_endpoint, problem, setup};
use crate::app::{TestApp, headers_but_ids, text, wait_until};
use crate::console::person::Person;

/// Status, headers and body of a response, without the request id.
fn comparable(response: &Response) -> String {
    let id = response.header("x-request-id").unwrap();
    format!("{} {:?} {}", response.status, headers_but_ids(response), response.text().replace(id, "req_…"))
}

/// A key of another workspace of the first organization.
fn other_workspace(app: &TestApp) -> (String, String) {
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    let workspace = app.admin(&format!("workspaces create --organization {} --name Lab", text(&organization)));
    let id = text(&workspace["id"]).to_owned();
    let key = app.admin(&format!("keys create --workspace {id} --name lab"));
    (id, text(&key["key"]).to_owned())
}

#[tokio::test]
async fn every_bad_credential_gets_the_same_response() {
    let app = setup(4).start().await;
    create(&app.client(), "a", 1, json!({})).await;
    let revoked = app.new_key("revoked");
    app.admin(&format!("keys revoke {}", text(&revoked["id"])));
    let revoked = text(&revoked["key"]).to_owned();
    let gone = async || app.client_with(&revoked).get("/endpoints/a").await.status == 401;
    wait_until("revoked", Duration::from_secs(3), gone).await;
    let unknown = format!("sk-abcdefghijkl-{}", "a".repeat(32));
    let wrong_secret = format!("{}{}", &app.key[..16], "a".repeat(32));
    let clients = [
        app.stranger(),
        app.stranger().header("authorization", "Basic eDp5"),
        app.stranger().header("authorization", &app.key),
        app.client_with("garbage"),
        app.client_with(&unknown),
        app.client_with(&wrong_secret),
        app.client_with(&revoked),
        app.client_with(&other_workspace(&app).1),
        app.stranger().header("cookie", &format!("forebay_session={}", "a".repeat(43))),
    ];
    let first = clients[0].get("/endpoints/a").await;
    assert_eq!(problem(&first), "401 UNAUTHENTICATED");
    assert_eq!(first.header("www-authenticate"), Some("Bearer"));
    for client in &clients {
        let response = client.get("/endpoints/a").await;
        assert_eq!(comparable(&response), comparable(&first));
    }
    let nowhere = app.stranger().get("/endpoints/a/nothing").await;
    assert_eq!(comparable(&nowhere), comparable(&first));
}

#[tokio::test]
async fn names_are_hidden_from_other_organizations_and_free_there() {
    let app = setup(4).start().await;
    create(&app.client(), "a", 1, json!({})).await;
    let organization = app.admin("organizations create --name Other");
    let line = format!("workspaces create --organization {} --name Lab", text(&organization["id"]));
    let workspace = app.admin(&line);
    let key = app.admin(&format!("keys create --workspace {} --name a", text(&workspace["id"])));
    let other = app.client_with(text(&key["key"]));
    assert_eq!(problem(&other.get("/endpoints/a").await), "404 ENDPOINT_NOT_FOUND");
    assert_eq!(create(&other, "a", 1, json!({})).await.status, 201);
}

#[tokio::test]
async fn a_name_is_taken_for_the_whole_organization() {
    let app = setup(4).start().await;
    create(&app.client(), "a", 1, json!({})).await;
    let lab = app.client_with(&other_workspace(&app).1);
    assert_eq!(problem(&create(&lab, "a", 1, json!({})).await), "409 ENDPOINT_NAME_IN_USE");
}

#[tokio::test]
async fn sessions_act_in_their_workspace_with_a_csrf_token() {
    let app = setup(4).start().await;
    let (lab, _) = other_workspace(&app);
    let operator = Person::operator(&app).await;
    let made = operator.post("/v1/endpoints", new_endpoint("a", 1, json!({}))).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(text(&made.json()["createdBy"]).starts_with("usr_"));
    let without_token = operator.reader().post_json("/v1/endpoints", new_endpoint("b", 1, json!({}))).await;
    assert_eq!(problem(&without_token), "403 CSRF_FAILED");
    let elsewhere = |client: Client| client.header("x-workspace-id", &lab);
    assert_eq!(problem(&elsewhere(operator.reader()).get("/v1/endpoints/a").await), "403 WRONG_WORKSPACE");
    let deleted = elsewhere(operator.client()).send(Method::DELETE, "/v1/endpoints/a", bytes::Bytes::new()).await;
    assert_eq!(problem(&deleted), "403 WRONG_WORKSPACE");
    let member = Person::new(&app, "bob", "member").await;
    assert_eq!(problem(&elsewhere(member.reader()).get("/v1/endpoints/a").await), "403 NOT_A_MEMBER");
    let nowhere = json!({"organizationId": null, "workspaceId": null});
    assert_eq!(operator.put("/api/session/context", nowhere).await.status, 200);
    assert_eq!(problem(&operator.get("/v1/endpoints").await), "403 NO_ORGANIZATION_CONTEXT");
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    let somewhere = json!({"organizationId": organization, "workspaceId": null});
    assert_eq!(operator.put("/api/session/context", somewhere).await.status, 200);
    assert_eq!(problem(&operator.get("/v1/endpoints").await), "403 NO_WORKSPACE_CONTEXT");
}
