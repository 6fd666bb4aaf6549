use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::person::{Person, error_of};
use crate::app::{CONTENT_KEY, TestApp, text};

#[tokio::test]
async fn a_workspace_is_created_read_changed_and_deleted() {
    let app = TestApp::setup().workspace_limits(600, 200_000, 50_000_000).start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let made = admin.make("/api/workspaces", json!({"name": "  Labs "})).await;
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    let id = text(&made["id"]).to_owned();
    let expected = json!({
        "id": id, "organizationId": organization, "name": "Labs", "requestsPerMinute": 600,
        "tokensPerMinute": 200_000, "monthlyTokens": 50_000_000, "maxApiKeys": 20,
        "defaults": {
            "requestsPerMinute": 600, "tokensPerMinute": 200_000, "monthlyTokens": 50_000_000, "maxApiKeys": 20,
        },
        "monthlyUsd": null, "operatorMonthlyUsd": null, "onBudget": "continue", "responseRetentionDays": null,
        "endUsers": {"keepText": false, "requestsPerMinute": null, "tokensPerMinute": null, "budgets": []},
        "weight": 1, "version": 1,
    });
    assert_eq!(made, expected);
    let path = format!("/api/workspaces/{id}");
    assert_eq!(admin.read(&path).await, expected);
    assert_eq!(admin.read("/api/workspaces").await["data"].as_array().unwrap().len(), 2);
    let renamed = admin.patch(&path, json!({"version": 1, "name": "Lab"})).await.json();
    assert_eq!((&renamed["name"], &renamed["version"]), (&json!("Lab"), &json!(2)));
    let key = admin.make(&format!("{path}/keys"), json!({"name": "ci"})).await;
    let client = app.client_with(text(&key["key"]));
    assert_eq!(client.get("/models").await.status, 200);
    assert_eq!(error_of(&admin.delete(&path).await), "409 workspace_in_use");
    assert_eq!(admin.delete(&format!("{path}?revokeKeys=true")).await.status, 204);
    assert_eq!(client.get("/models").await.status, 401, "its keys stop working at once");
    assert_eq!(error_of(&admin.get(&path).await), "404 not_found");
}

#[tokio::test]
async fn of_two_concurrent_changes_one_wins_and_the_other_gets_the_current_record() {
    let app = TestApp::start().await;
    let (ada, eve) = (Person::new(&app, "ada", "admin").await, Person::new(&app, "eve", "admin").await);
    let path = format!("/api/workspaces/{}", app.workspace());
    let mut both = JoinSet::new();
    for (person, limit) in [(ada.clone(), 100), (eve, 200)] {
        let path = path.clone();
        both.spawn(async move { person.patch(&path, json!({"version": 1, "requestsPerMinute": limit})).await });
    }
    let mut responses = both.join_all().await;
    responses.sort_by_key(|response| response.status);
    assert_eq!(responses[0].status, 200);
    assert_eq!(error_of(&responses[1]), "409 version_conflict");
    assert_eq!(responses[1].json()["current"], responses[0].json());
    assert_eq!(ada.read(&path).await, responses[0].json());
    assert_eq!(error_of(&ada.patch(&path, json!({"name": "x"})).await), "400 invalid_payload version");
}

#[tokio::test]
async fn administrators_lower_limits_and_only_the_operator_raises_them() {
    let app = TestApp::setup().workspace_limits(600, 200_000, 50_000_000).start().await;
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let path = format!("/api/workspaces/{}", app.workspace());
    let change = async |person: &Person, mut body: Value| {
        body["version"] = person.read(&path).await["version"].clone();
        person.patch(&path, body).await
    };
    for (limit, value) in
        [("requestsPerMinute", 601), ("tokensPerMinute", 200_001), ("monthlyTokens", 50_000_001), ("maxApiKeys", 21)]
    {
        let refused = change(&admin, json!({limit: value})).await;
        assert_eq!(error_of(&refused), format!("403 operator_only {limit}"));
        assert_eq!(refused.json()["limit"], value - 1);
    }
    assert_eq!(change(&admin, json!({"maxApiKeys": 5})).await.json()["maxApiKeys"], 5);
    assert_eq!(change(&admin, json!({"maxApiKeys": 7})).await.json()["maxApiKeys"], 7, "below the operator's value");
    assert_eq!(change(&operator, json!({"maxApiKeys": 50})).await.json()["maxApiKeys"], 50);
    assert_eq!(change(&admin, json!({"maxApiKeys": 40})).await.json()["maxApiKeys"], 40);
    assert_eq!(error_of(&change(&admin, json!({"maxApiKeys": 51})).await), "403 operator_only maxApiKeys");
    assert_eq!(change(&admin, json!({"maxApiKeys": null})).await.json()["maxApiKeys"], 50, "back to the operator's");
    assert_eq!(change(&operator, json!({"maxApiKeys": null})).await.json()["maxApiKeys"], 20, "and to the default");

    // The command line sets the operator's value.
    app.admin(&format!("workspaces set {} --max-api-keys 3", app.workspace()));
    assert_eq!(error_of(&change(&admin, json!({"maxApiKeys": 4})).await), "403 operator_only maxApiKeys");
}

#[tokio::test]
async fn members_see_their_workspaces_but_cannot_change_them() {
    let app = TestApp::start().await;
    let (operator, bob) = (Person::operator(&app).await, Person::new(&app, "bob", "member").await);
    let other = operator.make("/api/workspaces", json!({"name": "Secret"})).await;
    let other = format!("/api/workspaces/{}", text(&other["id"]));
    let own = format!("/api/workspaces/{}", app.workspace());
    assert_eq!(bob.read("/api/workspaces").await["data"].as_array().unwrap().len(), 1);
    assert_eq!(bob.get(&own).await.status, 200);
    assert_eq!(error_of(&bob.get(&other).await), "403 not_a_member");
    assert_eq!(error_of(&bob.get(&format!("{other}/keys")).await), "403 not_a_member");
    assert_eq!(error_of(&bob.patch(&own, json!({"version": 1, "name": "x"})).await), "403 admin_only");
    assert_eq!(error_of(&bob.post("/api/workspaces", json!({"name": "x"})).await), "403 admin_only");
    assert_eq!(error_of(&bob.delete(&own).await), "403 admin_only");

    let membership = format!("{other}/members/{}", bob.id().await);
    assert_eq!(error_of(&bob.put(&membership, json!({})).await), "403 not_a_member");
    assert_eq!(operator.put(&membership, json!({})).await.status, 204);
    assert_eq!(bob.get(&other).await.status, 200);
    let members = bob.read(&format!("{other}/members")).await;
    assert_eq!(members["data"].as_array().unwrap().len(), 2, "{members}");
    assert_eq!(operator.delete(&membership).await.status, 204);
    assert_eq!(error_of(&bob.get(&other).await), "403 not_a_member");
}

#[tokio::test]
async fn records_of_other_organizations_count_as_missing() {
    let app = TestApp::start().await;
    let other = app.admin("organizations create --name Other");
    let organization = text(&other["id"]);
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name Theirs"));
    let workspace = text(&workspace["id"]);
    let key = app.admin(&format!("keys create --workspace {workspace} --name theirs"));
    let key = text(&key["id"]);
    let stranger = Person::of_organization(&app, "eve", &format!("{organization} --role admin")).await;
    let stranger_id = stranger.id().await;
    let home = app.workspace();
    for person in [Person::operator(&app).await, Person::new(&app, "ada", "admin").await] {
        for path in [
            format!("/api/workspaces/{workspace}"),
            format!("/api/workspaces/{workspace}/keys"),
            format!("/api/workspaces/{workspace}/members"),
            format!("/api/organizations/{organization}"),
            format!("/api/organizations/{organization}/members"),
            format!("/api/organizations/{organization}/invitations"),
            format!("/api/organizations/{organization}/audit"),
        ] {
            let foreign = person.get(&path).await;
            assert_eq!(error_of(&foreign), "404 not_found", "{path}");
        }
        for path in [
            format!("/api/workspaces/{workspace}/keys/{key}"),
            format!("/api/workspaces/{home}/keys/{key}"),
            format!("/api/workspaces/{workspace}"),
            format!("/api/organizations/{organization}/members/{stranger_id}"),
        ] {
            assert_eq!(error_of(&person.delete(&path).await), "404 not_found", "{path}");
        }
        for path in
            [format!("/api/workspaces/{home}/keys/{key}/rotate"), format!("/api/workspaces/{home}/keys/{key}/disable")]
        {
            assert_eq!(error_of(&person.act(&path).await), "404 not_found", "{path}");
        }
        let put = person.put(&format!("/api/workspaces/{home}/members/{stranger_id}"), json!({})).await;
        assert_eq!(error_of(&put), "404 not_found");
        let patched = person.patch(&format!("/api/workspaces/{workspace}"), json!({"version": 1})).await;
        assert_eq!(error_of(&patched), "404 not_found");
    }
    assert_eq!(app.admin(&format!("keys list --workspace {workspace}"))["data"][0]["state"], "active");
}

#[tokio::test]
async fn aliases_of_a_workspace_come_after_model_ids_and_before_those_of_the_catalogue() {
    let shared =
        "[[aliases]]\nname = \"claude-*\"\nmodel = \"acme/embed\"\n[[aliases]]\nname = \"gpt\"\nmodel = \"acme/embed\"";
    let app = TestApp::setup().table(shared).start().await;
    let (admin, member) = (Person::new(&app, "ada", "admin").await, Person::new(&app, "eve", "member").await);
    let path = format!("/api/workspaces/{}/aliases", app.workspace());
    let put = async |name: &str, model: &str| admin.put(&format!("{path}/{name}"), json!({"model": model})).await;
    let status = async |name: &str| {
        let mut body = crate::app::chat("hi");
        body["model"] = name.into();
        app.ask(body).await.status.as_u16()
    };
    assert_eq!(status("claude-x").await, 422, "an alias of the catalogue, for a model of embeddings");
    let made = put("claude-x", "acme/tiny").await;
    assert_eq!((made.status.as_u16(), made.json()), (200, json!({"name": "claude-x", "model": "acme/tiny"})));
    assert_eq!(put("a%2Fb*", "dedicated/mine").await.status, 200);
    crate::app::wait_until("the alias is known", crate::app::TIMEOUT, async || status("claude-x").await == 200).await;
    assert_eq!(status("claude-y").await, 422);
    assert_eq!(status("a/bc").await, 404, "the endpoint does not exist");
    let list = app.client().get("/models").await.json();
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|model| text(&model["id"])).collect();
    assert_eq!(ids, ["acme/tiny", "acme/embed", "claude-x", "gpt"]);

    for (name, model, problem) in [
        ("acme%2Ftiny", "acme/tiny", "422 invalid_value name"),
        ("a*b", "acme/tiny", "422 invalid_value name"),
        ("dedicated%2Fx", "acme/tiny", "422 invalid_value name"),
        ("x", "acme/none", "422 invalid_value model"),
        ("x", "claude-x", "422 invalid_value model"),
    ] {
        assert_eq!(error_of(&put(name, model).await), problem, "{name} {model}");
    }
    // SPEC 7.3: a setting that another administrator just changed is a conflict.
    for body in [
        json!({"model": "acme/embed"}),
        json!({"model": "acme/embed", "replaces": null}),
        json!({"model": "acme/embed", "replaces": "acme/embed"}),
    ] {
        let late = admin.put(&format!("{path}/claude-x"), body).await;
        assert_eq!(error_of(&late), "409 version_conflict");
        assert_eq!(late.json()["current"]["model"], "acme/tiny");
    }
    assert_eq!(put("claude-x", "acme/tiny").await.status, 200, "it is what it was");
    let body = json!({"model": "acme/tiny", "replaces": "acme/tiny"});
    assert_eq!(admin.put(&format!("{path}/claude-x"), body).await.status, 200);
    let expected = json!([{"name": "a/b*", "model": "dedicated/mine"}, {"name": "claude-x", "model": "acme/tiny"}]);
    assert_eq!(member.read(&path).await["data"], expected);
    assert_eq!(error_of(&member.delete(&format!("{path}/claude-x")).await), "403 admin_only");
    assert_eq!(admin.delete(&format!("{path}/claude-x")).await.status, 204);
    assert_eq!(error_of(&admin.delete(&format!("{path}/claude-x")).await), "404 not_found");
    crate::app::wait_until("the alias is gone", crate::app::TIMEOUT, async || status("claude-x").await == 422).await;
}

#[tokio::test]
async fn administrators_decide_how_long_responses_are_stored() {
    let app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    let (admin, bob) = (Person::new(&app, "ada", "admin").await, Person::new(&app, "bob", "member").await);
    let path = format!("/api/workspaces/{}", app.workspace());
    assert_eq!(admin.read(&path).await["responseRetentionDays"], Value::Null, "off by default");
    let days = |days: Value, version: u64| json!({"version": version, "responseRetentionDays": days});
    for bad in [0, 31] {
        assert_eq!(error_of(&admin.patch(&path, days(json!(bad), 1)).await), "422 invalid_value responseRetentionDays");
    }
    assert_eq!(error_of(&bob.patch(&path, days(json!(7), 1)).await), "403 admin_only");
    let on = admin.patch(&path, days(json!(7), 1)).await.json();
    assert_eq!((&on["responseRetentionDays"], &on["version"]), (&json!(7), &json!(2)));
    assert_eq!(bob.read(&path).await, on, "members see it");
    let renamed = admin.patch(&path, json!({"version": 2, "name": "Labs"})).await.json();
    assert_eq!(renamed["responseRetentionDays"], 7, "an absent member stays");
    assert_eq!(admin.patch(&path, days(Value::Null, 3)).await.json()["responseRetentionDays"], Value::Null);

    let audit = format!("/api/organizations/{}/audit", text(&app.forebay.bootstrap()["organizationId"]));
    let list = admin.read(&format!("{audit}?action=workspace.set")).await;
    let change = |entry: &Value| ["before", "after"].map(|side| entry[side]["responseRetentionDays"].clone());
    let changes: Vec<_> = list["data"].as_array().unwrap().iter().map(change).collect();
    assert_eq!(changes, [[json!(7), Value::Null], [json!(7), json!(7)], [Value::Null, json!(7)]]);
}

#[tokio::test]
async fn responses_cannot_be_stored_without_a_content_key() {
    let app = TestApp::start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let path = format!("/api/workspaces/{}", app.workspace());
    let refused = admin.patch(&path, json!({"version": 1, "responseRetentionDays": 7})).await;
    assert_eq!(error_of(&refused), "409 content_key_missing responseRetentionDays");
    assert!(text(&refused.json()["error"]).contains("FOREBAY_CONTENT_KEY"), "{}", refused.json());
    let off = admin.patch(&path, json!({"version": 1, "responseRetentionDays": null})).await;
    assert_eq!(off.status, 200, "turning it off needs no key");
}
