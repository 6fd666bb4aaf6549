use serde_json::json;

use crate::app::{TestApp, text};
use crate::console::person::{Person, error_of};

#[tokio::test]
async fn the_operator_manages_an_organization_that_it_does_not_belong_to() {
    let app = TestApp::setup().table("[allotment_defaults]\n\"local/cpu\" = 8").start().await;
    let operator = Person::operator(&app).await;
    let other = operator.make("/api/organizations", json!({"name": "Other"})).await;
    let path = format!("/api/operator/organizations/{}", text(&other["id"]));
    let renamed = operator.patch(&path, json!({"name": "Umbrella"})).await.json();
    assert_eq!(
        (&renamed["name"], &renamed["workspaces"], &renamed["members"]),
        (&json!("Umbrella"), &json!(0), &json!(0))
    );
    assert_eq!(renamed["allotments"][0]["allotment"], 8);

    // People: a new user, and one of another organization.
    let body =
        json!({"email": "eve@example.com", "password": "eve-password", "organizationId": other["id"], "role": "admin"});
    let eve = operator.make("/api/users", body).await;
    let ada = Person::new(&app, "ada", "member").await.id().await;
    let member = |id: &str| format!("{path}/members/{id}");
    assert_eq!(operator.put(&member(&ada), json!({"role": "member"})).await.status, 204);
    let listed = operator.read(&format!("{path}/members")).await;
    let roles: Vec<&str> = listed["data"].as_array().unwrap().iter().map(|one| text(&one["role"])).collect();
    assert_eq!(roles.len(), 2, "{listed}");
    let demoted = operator.put(&member(text(&eve["id"])), json!({"role": "member"})).await;
    assert_eq!(error_of(&demoted), "409 last_admin");
    assert_eq!(operator.put(&member(&ada), json!({"role": "admin"})).await.status, 204);
    assert_eq!(operator.delete(&member(text(&eve["id"]))).await.status, 204);
    let unknown = operator.put(&member("usr_00000000000000000000000000"), json!({"role": "admin"})).await;
    assert_eq!(error_of(&unknown), "404 not_found");
    let entries = operator.read(&format!("/api/audit?subject={ada}")).await;
    let actions: Vec<&str> = entries["data"].as_array().unwrap().iter().map(|entry| text(&entry["action"])).collect();
    assert_eq!(actions[..2], ["member.set-role", "member.add"], "{actions:?}");

    let all = operator.read("/api/operator/organizations").await;
    let sizes: Vec<_> = all["data"].as_array().unwrap().iter().map(|one| one["members"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [2, 1], "{all}");
    assert_eq!(operator.read(&path).await, all["data"][1]);
    assert_eq!(operator.delete(&format!("/api/organizations/{}", text(&other["id"]))).await.status, 204);
    assert_eq!(error_of(&operator.get(&path).await), "404 not_found");
    assert_eq!(error_of(&operator.get(&format!("{path}/members")).await), "404 not_found");
}

#[tokio::test]
async fn the_operator_changes_the_limits_of_any_workspace() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let other = text(&operator.make("/api/organizations", json!({"name": "Other"})).await["id"]).to_owned();
    let workspace = app.admin(&format!("workspaces create --organization {other} --name Labs"));
    let listed = operator.read(&format!("/api/operator/organizations/{other}/workspaces")).await;
    assert_eq!(listed["data"][0]["name"], "Labs");
    let path = format!("/api/operator/workspaces/{}", text(&workspace["id"]));
    let raised = operator.patch(&path, json!({"version": 1, "monthlyTokens": 7_000_000_000_000_u64})).await.json();
    assert_eq!((&raised["monthlyTokens"], &raised["version"]), (&json!(7_000_000_000_000_u64), &json!(2)), "{raised}");
    let stale = operator.patch(&path, json!({"version": 1, "name": "x"})).await;
    assert_eq!((error_of(&stale).as_str(), &stale.json()["current"]), ("409 version_conflict", &raised));
}

#[tokio::test]
async fn the_operator_bounds_the_workspaces_of_an_organization() {
    let app = TestApp::setup().server("max_workspaces_per_organization = 2").start().await;
    let operator = Person::operator(&app).await;
    let admin = Person::new(&app, "ada", "admin").await;
    let path = format!("/api/operator/organizations/{}", text(&app.forebay.bootstrap()["organizationId"]));
    assert_eq!(operator.read(&path).await["maxWorkspaces"], 2);
    admin.make("/api/workspaces", json!({"name": "second"})).await;
    let rejected = admin.post("/api/workspaces", json!({"name": "third"})).await;
    assert_eq!((error_of(&rejected).as_str(), &rejected.json()["limit"]), ("409 workspace_limit_reached", &json!(2)));

    assert_eq!(operator.patch(&path, json!({"maxWorkspaces": 3})).await.json()["maxWorkspaces"], 3);
    admin.make("/api/workspaces", json!({"name": "third"})).await;
    assert_eq!(admin.post("/api/workspaces", json!({"name": "fourth"})).await.status, 409);
    operator.make("/api/workspaces", json!({"name": "fourth"})).await;
    let shown = app.admin(&format!(
        "organizations set {} --max-workspaces default",
        text(&app.forebay.bootstrap()["organizationId"])
    ));
    assert_eq!(shown["maxWorkspaces"], json!(null));
    assert_eq!(operator.read(&path).await["workspaces"], 4, "existing ones stay");
    let invalid = operator.patch(&path, json!({"maxWorkspaces": "many"})).await;
    assert_eq!(error_of(&invalid), "422 invalid_value maxWorkspaces");
}
