use serde_json::json;

use super::person::{Person, browser, error_of};
use crate::app::{TestApp, text};

fn organization(app: &TestApp) -> String {
    format!("/api/organizations/{}", text(&app.forebay.bootstrap()["organizationId"]))
}

#[tokio::test]
async fn an_invitation_is_accepted_once() {
    let app = TestApp::start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let invitations = format!("{}/invitations", organization(&app));
    let body = json!({"email": "Eve@Example.com", "role": "member", "workspaceIds": [app.workspace().as_str()]});
    let nowhere = admin.post(&invitations, json!({"email": "eve@example.com", "role": "member"})).await;
    assert_eq!(error_of(&nowhere), "422 invalid_value workspaceIds");
    let made = admin.make(&invitations, body).await;
    let url = text(&made["url"]);
    assert!(url.starts_with(&format!("http://{}/invitation#", app.forebay.public)), "{url}");
    let token = url.split_once('#').unwrap().1.to_owned();
    let list = admin.get(&invitations).await;
    assert_eq!(list.json()["data"][0]["email"], "eve@example.com");
    assert!(!list.text().contains(&token));

    let preview = browser(&app).post_json("/api/invitations/preview", json!({"token": token})).await;
    assert_eq!(
        (&preview.json()["organizationName"], &preview.json()["accountExists"]),
        (&json!("Default"), &json!(false))
    );
    let accept = async |password: &str| {
        browser(&app).post_json("/api/invitations/accept", json!({"token": token, "password": password})).await
    };
    assert_eq!(error_of(&accept("short").await), "422 invalid_value password");
    let accepted = accept("eve-password").await;
    assert_eq!(accepted.status, 200);
    let eve = Person::of(&app, &accepted);
    assert_eq!(eve.read("/api/session").await["currentWorkspaceId"], app.workspace().as_str());
    assert_eq!(eve.get(&format!("/api/workspaces/{}/keys", app.workspace())).await.status, 200);
    assert_eq!(error_of(&accept("eve-password").await), "404 not_found");
    assert_eq!(error_of(&eve.get(&invitations).await), "403 admin_only");
    Person::sign_in(&app, "eve@example.com", "eve-password").await;

    let again = admin.make(&invitations, json!({"email": "x@example.com", "role": "admin"})).await;
    assert_eq!(admin.delete(&format!("{invitations}/{}", text(&again["id"]))).await.status, 204);
    let token = text(&again["url"]).split_once('#').unwrap().1;
    let taken_back = browser(&app).post_json("/api/invitations/preview", json!({"token": token})).await;
    assert_eq!(error_of(&taken_back), "404 not_found");
}

#[tokio::test]
async fn an_invited_person_creates_an_account_beside_one_that_another_user_prepared() {
    let app = TestApp::start().await;
    let other = text(&app.admin("organizations create --name Other")["id"]).to_owned();
    let (admin, mallory) = (
        Person::new(&app, "ada", "admin").await,
        Person::of_organization(&app, "mallory", &format!("{other} --role admin")).await,
    );
    let invite = async |person: &Person, organization: &str| {
        let workspace = person.make("/api/workspaces", json!({"name": "Work"})).await;
        let body = json!({"email": "eve@example.com", "role": "member", "workspaceIds": [workspace["id"]]});
        let made = person.make(&format!("/api/organizations/{organization}/invitations"), body).await;
        text(&made["url"]).split_once('#').unwrap().1.to_owned()
    };
    let accept = async |body| browser(&app).post_json("/api/invitations/accept", body).await;
    let prepared = invite(&mallory, &other).await;
    assert_eq!(accept(json!({"token": prepared, "password": "mallory's password"})).await.status, 200);

    let token = invite(&admin, text(&app.forebay.bootstrap()["organizationId"])).await;
    let preview = browser(&app).post_json("/api/invitations/preview", json!({"token": token})).await.json();
    assert_eq!((&preview["accountExists"], &preview["accountProven"]), (&json!(true), &json!(false)));
    let wrong = accept(json!({"token": token, "password": "eve's password"})).await;
    assert_eq!(error_of(&wrong), "401 bad_credentials");
    let accepted = accept(json!({"token": token, "password": "eve's password", "newAccount": true})).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text());
    let eve = Person::sign_in(&app, "eve@example.com", "eve's password").await;
    assert_eq!(eve.read("/api/session").await["organizations"][0]["name"], "Default");
    let mallory = Person::sign_in(&app, "eve@example.com", "mallory's password").await;
    assert_eq!(mallory.read("/api/session").await["organizations"][0]["name"], "Other");
}

#[tokio::test]
async fn administrators_change_roles() {
    let app = TestApp::start().await;
    let (operator, bob) = (Person::operator(&app).await, Person::new(&app, "bob", "member").await);
    let members = format!("{}/members", organization(&app));
    let (own, others) = (format!("{members}/{}", operator.id().await), format!("{members}/{}", bob.id().await));
    assert_eq!(bob.read(&members).await["data"].as_array().unwrap().len(), 2);
    assert_eq!(error_of(&bob.patch(&others, json!({"role": "admin"})).await), "403 admin_only");
    assert_eq!(error_of(&operator.patch(&own, json!({"role": "member"})).await), "409 last_admin");
    assert_eq!(error_of(&operator.patch(&others, json!({"role": "king"})).await), "422 invalid_value role");
    assert_eq!(operator.patch(&others, json!({"role": "admin"})).await.status, 204);
    assert_eq!(bob.patch(&own, json!({"role": "member"})).await.status, 204, "in force at once, without a new sign-in");
    assert_eq!(operator.patch(&own, json!({"role": "admin"})).await.status, 204, "the operator is always allowed");
    assert_eq!(operator.delete(&others).await.status, 204);
    assert_eq!(error_of(&bob.get(&members).await), "403 no_organization_context");
    assert_eq!(error_of(&operator.delete(&others).await), "404 not_found");
}

#[tokio::test]
async fn a_user_in_two_organizations_switches_between_them() {
    let app = TestApp::start().await;
    let bob = Person::new(&app, "bob", "member").await;
    let other = app.admin("organizations create --name Other");
    let other = text(&other["id"]).to_owned();
    let workspace = app.admin(&format!("workspaces create --organization {other} --name Theirs"));
    let workspace = text(&workspace["id"]).to_owned();
    let context = json!({"organizationId": other, "workspaceId": null});
    assert_eq!(error_of(&bob.put("/api/session/context", context.clone()).await), "404 not_found");
    app.admin(&format!("users set --email bob@example.com --organization {other} --role admin"));
    let switched = bob.put("/api/session/context", context).await.json();
    assert_eq!(switched["currentOrganizationId"], other.as_str());
    assert_eq!(switched["organizations"].as_array().unwrap().len(), 2);
    assert_eq!(bob.get(&format!("/api/workspaces/{workspace}")).await.status, 200);
    let home = bob.get(&format!("/api/workspaces/{}", app.workspace())).await;
    assert_eq!(error_of(&home), "404 not_found", "the other organization is hidden until the user switches back");
}

#[tokio::test]
async fn a_user_that_the_operator_creates_lands_in_a_workspace() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let id = operator.make("/api/organizations", json!({"name": "Umbrella"})).await["id"].clone();
    let workspaces = format!("/api/operator/organizations/{}/workspaces", text(&id));
    let labs = operator.make(&workspaces, json!({"name": "Labs"})).await["id"].clone();
    let user = |workspace: &str| {
        let email = "dora@example.com";
        json!({"email": email, "organizationId": id, "role": "member", "workspaceIds": [workspace]})
    };
    let elsewhere = operator.post("/api/users", user(app.workspace().as_str())).await;
    assert_eq!(error_of(&elsewhere), "404 not_found", "of another organization");
    let made = operator.make("/api/users", user(text(&labs))).await;
    let dora = Person::sign_in(&app, "dora@example.com", text(&made["password"])).await;
    assert_eq!(dora.read("/api/session").await["currentWorkspaceId"], labs);
    assert_eq!(dora.get(&format!("/api/workspaces/{}/keys", text(&labs))).await.status, 200);
}

#[tokio::test]
async fn routes_of_the_operator_are_for_the_operator_only() {
    let app = TestApp::start().await;
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    for path in ["/api/users", "/api/nodes", "/api/audit"] {
        assert_eq!(error_of(&admin.get(path).await), "403 operator_only", "{path}");
        assert_eq!(operator.get(path).await.status, 200, "{path}");
    }
    assert_eq!(error_of(&admin.post("/api/organizations", json!({"name": "x"})).await), "403 operator_only");
    assert_eq!(admin.read("/api/organizations").await["data"].as_array().unwrap().len(), 1);

    let made = operator.make("/api/organizations", json!({"name": "Umbrella"})).await;
    let id = text(&made["id"]).to_owned();
    assert_eq!(operator.read("/api/organizations").await["data"].as_array().unwrap().len(), 2);
    let user = json!({"email": "carl@example.com", "organizationId": id, "role": "admin"});
    let carl = operator.make("/api/users", user.clone()).await;
    assert_eq!(error_of(&operator.post("/api/users", user).await), "409 email_taken");
    let carl_signed_in = Person::sign_in(&app, "carl@example.com", text(&carl["password"])).await;
    let user = format!("/api/users/{}", text(&carl["id"]));
    assert_eq!(operator.read(&user).await["memberships"][0]["role"], "admin");
    assert_eq!(operator.patch(&user, json!({"operator": true})).await.json()["operator"], true);
    assert_eq!(carl_signed_in.get("/api/users").await.status, 200);
    let reset = operator.act(&format!("{user}/reset-password")).await.json();
    assert!(carl_signed_in.get("/api/session").await.json()["user"].is_null(), "a reset ends sessions");
    Person::sign_in(&app, "carl@example.com", text(&reset["password"])).await;
    assert_eq!(operator.delete(&user).await.status, 204);
    assert_eq!(error_of(&operator.get(&user).await), "404 not_found");

    operator.put("/api/session/context", json!({"organizationId": id})).await;
    let renamed = operator.patch(&format!("/api/organizations/{id}"), json!({"name": "Parasol"})).await;
    assert_eq!(renamed.json()["name"], "Parasol");
    operator.make("/api/workspaces", json!({"name": "w"})).await;
    let organization = format!("/api/organizations/{id}");
    assert_eq!(error_of(&operator.delete(&organization).await), "409 organization_not_empty");
    let workspace = text(&operator.read("/api/workspaces").await["data"][0]["id"]).to_owned();
    operator.delete(&format!("/api/workspaces/{workspace}")).await;
    assert_eq!(operator.delete(&organization).await.status, 204);
    assert_eq!(error_of(&operator.get("/api/workspaces").await), "403 no_organization_context");
    assert_eq!(error_of(&operator.delete("/api/nodes/unknown").await), "404 not_found");
}
