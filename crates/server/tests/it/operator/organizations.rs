use serde_json::{Value, json};

use crate::app::{TestApp, chat, text};
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
async fn the_operator_sees_what_organizations_use_of_their_bounds() {
    let app = TestApp::start().await;
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let id = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    operator.make("/api/organizations", json!({"name": "Other"})).await;
    let edited = admin.patch(&format!("/api/organizations/{id}"), json!({"onBudget": "suspend"})).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    let tokens = app.chat("hi").await.json()["usage"]["total_tokens"].as_u64().unwrap();
    app.usage(1).await;

    let listed = operator.read("/api/operator/organizations").await["data"].clone();
    let shown = |one: &Value| json!([one["onBudget"], one["storedBytes"], one["usedPerMinute"]]);
    assert_eq!(shown(&listed[0]), json!(["suspend", 0, {"requests": 1, "tokens": tokens}]), "{listed}");
    assert_eq!(shown(&listed[1]), json!(["continue", 0, {"requests": 0, "tokens": 0}]), "{listed}");
    let path = format!("/api/operator/organizations/{id}");
    let mut read = operator.read(&path).await;
    // What nodes lease changes with their heartbeats.
    read["usedPerMonth"]["reservedTokens"] = listed[0]["usedPerMonth"]["reservedTokens"].clone();
    assert_eq!(read, listed[0]);

    let of_month = |one: &Value| json!([one["usedPerMonth"]["tokens"], one["usedPerMonth"]["usd"]]);
    assert_eq!(of_month(&listed[0]), json!([tokens, null]), "what the monthly tokens are compared with");
    assert_eq!(of_month(&listed[1]), json!([0, null]));
    let bounded = operator.patch(&path, json!({"monthlyUsd": "9.00"})).await.json();
    assert!(bounded["usedPerMonth"]["usd"].is_string(), "costs with GPU-hours are counted for a budget: {bounded}");
}

#[tokio::test]
async fn organizations_are_sorted_by_what_they_used_this_month_and_show_it() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    for name in ["Bee", "Cat", "Dog"] {
        operator.make("/api/organizations", json!({"name": name})).await;
    }
    let tokens = app.chat("hi").await.json()["usage"]["total_tokens"].as_u64().unwrap();
    app.usage(1).await;

    let list = "/api/operator/organizations";
    let pages = async |sort: &str| {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = operator.read(&format!("{list}?sort={sort}&limit=2&cursor={cursor}")).await;
            names.extend(page["data"].as_array().unwrap().iter().map(|one| text(&one["name"]).to_owned()));
            match page["nextCursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return names,
            }
        }
    };
    let plain = operator.read(list).await["data"].clone();
    let names: Vec<&str> = plain.as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
    assert_eq!((names[0], names.len()), ("Default", 4), "the first one is older");
    for sort in ["requests", "tokens", "cost"] {
        assert_eq!(pages(sort).await, [names[1], names[2], names[3], names[0]], "{sort}");
        assert_eq!(pages(&format!("-{sort}")).await, [names[0], names[3], names[2], names[1]], "{sort}");
    }
    let used = &plain[0]["usage"];
    assert_eq!((&used["requests"], &used["tokens"]), (&json!(1), &json!(tokens)), "{used}");
    assert!(used["lastDay"].is_string() && used["costUsd"] != plain[1]["usage"]["costUsd"], "{used}");
    assert_eq!((&plain[1]["usage"]["requests"], &plain[1]["usage"]["lastDay"]), (&json!(0), &Value::Null));

    let found = operator.read(&format!("{list}?sort=-cost&search=do&count=true")).await;
    assert_eq!((&found["data"][0]["name"], &found["total"]), (&json!("Dog"), &json!(1)), "{found}");
    for (query, field) in [("sort=spend", "sort"), ("sort=cost&cursor=org_1", "cursor")] {
        assert_eq!(error_of(&operator.get(&format!("{list}?{query}")).await), format!("422 invalid_value {field}"));
    }
}

#[tokio::test]
async fn the_operator_gives_a_tenant_a_workspace_and_its_first_administrator() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let other = text(&operator.make("/api/organizations", json!({"name": "Other"})).await["id"]).to_owned();
    let path = format!("/api/operator/organizations/{other}");
    let workspace = operator.make(&format!("{path}/workspaces"), json!({"name": "Production"})).await;
    assert_eq!((&workspace["name"], &workspace["organizationId"]), (&json!("Production"), &json!(other)));
    let session = operator.read("/api/session").await;
    assert!(
        !session["workspaces"].to_string().contains(text(&workspace["id"])),
        "the operator is not a member: {session}"
    );
    let invitation = json!({"email": "eve@example.com", "role": "admin"});
    let invitation = operator.make(&format!("{path}/invitations"), invitation).await;
    let token = text(&invitation["url"]).split('#').nth(1).unwrap().to_owned();
    let preview = operator.post("/api/invitations/preview", json!({"token": token})).await.json();
    assert_eq!((&preview["organizationName"], &preview["role"]), (&json!("Other"), &json!("admin")), "{preview}");
    let unknown = "/api/operator/organizations/org_00000000000000000000000000";
    for (what, body) in
        [("workspaces", json!({"name": "x"})), ("invitations", json!({"email": "x@example.com", "role": "admin"}))]
    {
        assert_eq!(error_of(&operator.post(&format!("{unknown}/{what}"), body).await), "404 not_found");
    }
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
async fn the_tokens_of_all_workspaces_of_an_organization_have_a_bound() {
    let app = TestApp::start().await;
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let id = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let path = format!("/api/operator/organizations/{id}");
    assert_eq!(operator.read(&path).await["monthlyTokens"], json!(null));
    let bounded = operator.patch(&path, json!({"monthlyTokens": 100, "maxStoredBytes": 5})).await.json();
    assert_eq!((&bounded["monthlyTokens"], &bounded["maxStoredBytes"]), (&json!(100), &json!(5)));
    let own = admin.read(&format!("/api/organizations/{id}")).await;
    assert_eq!((&own["monthlyTokens"], &own["maxWorkspaces"]), (&json!(100), &json!(20)), "administrators see them");
    let raised = admin.patch(&format!("/api/organizations/{id}"), json!({"name": "Acme", "monthlyTokens": 200})).await;
    assert_eq!(raised.status, 422, "and cannot change them");

    let second = admin.make("/api/workspaces", json!({"name": "second"})).await;
    assert_eq!(second["monthlyTokens"], 100, "no more than the organization has");
    let key = app.admin(&format!("keys create --workspace {} --name k", text(&second["id"])));
    let clients = [app.client(), app.client_with(text(&key["key"]))];
    let mut rejected = Vec::new();
    for client in clients.iter().cycle().take(20) {
        let response = client.post_json("/chat/completions", chat("hi")).await;
        if response.status != 200 {
            rejected.push(response.text());
        }
    }
    assert!((1..20).contains(&rejected.len()), "{rejected:?}");
    let of_organization = format!("monthly quota of organization {id} reached");
    assert!(rejected.iter().all(|error| error.contains(&of_organization)), "{rejected:?}");
    let shown = admin.read(&format!("/api/workspaces/{}/quota", text(&second["id"]))).await;
    assert_eq!((&shown["scope"], &shown["cap"]), (&json!("organization"), &json!(100)), "{shown}");
    app.admin(&format!("organizations set {id} --monthly-tokens default --max-stored-bytes default"));
    assert_eq!(operator.read(&path).await["monthlyTokens"], json!(null));
    let shown = admin.read(&format!("/api/workspaces/{}/quota", app.workspace())).await;
    assert_eq!(shown["scope"], "workspace", "{shown}");
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
    assert_eq!(
        operator.post("/api/workspaces", json!({"name": "fourth"})).await.status,
        409,
        "the operator's own, too"
    );
    let shown = app.admin(&format!(
        "organizations set {} --max-workspaces default",
        text(&app.forebay.bootstrap()["organizationId"])
    ));
    assert_eq!(shown["maxWorkspaces"], json!(null));
    assert_eq!(operator.read(&path).await["workspaces"], 3, "existing ones stay");
    let invalid = operator.patch(&path, json!({"maxWorkspaces": "many"})).await;
    assert_eq!(error_of(&invalid), "422 invalid_value maxWorkspaces");
}
