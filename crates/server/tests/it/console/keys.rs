use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::person::{Person, error_of};
use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::postgres::Database;

fn keys(app: &TestApp) -> String {
    format!("/api/workspaces/{}/keys", app.workspace())
}

async fn works(app: &TestApp, key: &str) -> bool {
    app.client_with(key).get("/models").await.status == 200
}

#[tokio::test]
async fn a_key_is_shown_once_and_masked_afterwards() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let body =
        json!({"name": "ci", "expiresAt": "2999-01-01T00:00:00Z", "requestsPerMinute": 5, "tokensPerMinute": null});
    let made = person.make(&keys(&app), body).await;
    let key = text(&made["key"]).to_owned();
    let segment = key.split('-').nth(1).unwrap();
    let expected = json!({
        "id": made["id"], "name": "ci", "prefix": format!("sk-{segment}-…"), "state": "active",
        "createdAt": made["createdAt"], "createdBy": person.id().await, "expiresAt": "2999-01-01T00:00:00.000Z",
        "lastUsedAt": null, "requestsPerMinute": 5, "tokensPerMinute": null,
        "limits": {"perModel": []}, "trustsEndUser": false, "permissions": null,
        "allowedModels": null, "allowedIps": null, "labels": {}, "budgets": [],
    });
    let mut shown = made.clone();
    shown.as_object_mut().unwrap().remove("key");
    assert_eq!(shown, expected);
    assert!(works(&app, &key).await);
    let list = person.get(&keys(&app)).await;
    let mut listed = list.json()["data"][1].clone();
    let usage = listed.as_object_mut().unwrap().remove("usage").unwrap();
    assert_eq!((&listed, &usage), (&expected, &json!({"requests": 0, "costUsd": "0.00"})));
    assert_eq!(list.json()["nextCursor"], Value::Null);
    assert!(!list.text().contains(key.rsplit('-').next().unwrap()));

    app.client_with(&key).post_json("/chat/completions", crate::app::chat("hi")).await;
    wait_until("the use is recorded", TIMEOUT, async || {
        person.read(&keys(&app)).await["data"][1]["lastUsedAt"].is_string()
    })
    .await;
}

#[tokio::test]
async fn each_key_of_a_list_shows_what_it_used_this_month() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let made = person.make(&keys(&app), json!({"name": "ci"})).await;
    assert_eq!(app.chat("hi").await.status, 200);
    for _ in 0..2 {
        let called = app.client_with(text(&made["key"])).post_json("/chat/completions", crate::app::chat("hi")).await;
        assert_eq!(called.status, 200);
    }
    app.usage(3).await;
    let report = person.read(&format!("/api/workspaces/{}/usage?groupBy=key", app.workspace())).await;
    let listed = person.read(&keys(&app)).await;
    for (position, requests) in [(0, 1), (1, 2)] {
        let key = &listed["data"][position];
        let line = report["data"].as_array().unwrap().iter().find(|line| line["key"] == key["id"]).unwrap();
        assert_eq!(key["usage"], json!({"requests": requests, "costUsd": line["costUsd"]}), "{report}");
    }
}

#[tokio::test]
async fn the_labels_of_keys_are_listed_with_their_values() {
    let app = TestApp::start().await;
    let (person, member) = (Person::operator(&app).await, Person::new(&app, "mia", "member").await);
    let path = format!("/api/workspaces/{}/key-labels", app.workspace());
    assert_eq!(member.read(&path).await, json!({"data": [], "nextCursor": null}));
    let mut last = String::new();
    for (name, labels) in [
        ("one", json!({"team": "search", "stage": "test"})),
        ("two", json!({"team": "ads"})),
        ("three", json!({"team": "ads", "app": "widget"})),
    ] {
        last = text(&person.make(&keys(&app), json!({"name": name, "labels": labels})).await["id"]).to_owned();
    }
    // What a revoked key has used is still grouped by its labels.
    assert_eq!(person.delete(&format!("{}/{last}", keys(&app))).await.status, 204);
    let expected = json!([
        {"name": "app", "values": ["widget"]},
        {"name": "stage", "values": ["test"]},
        {"name": "team", "values": ["ads", "search"]},
    ]);
    assert_eq!(member.read(&path).await["data"], expected);
    let other = text(&person.make("/api/workspaces", json!({"name": "Other"})).await["id"]).to_owned();
    assert_eq!(person.read(&format!("/api/workspaces/{other}/key-labels")).await["data"], json!([]));
}

async fn fifty_at_once(store_url: &str) {
    let app = TestApp::setup().store(store_url).start().await;
    let person = Person::operator(&app).await;
    let mut all = JoinSet::new();
    for number in 0..50 {
        let (person, path) = (person.clone(), keys(&app));
        all.spawn(async move {
            loop {
                let response = person.post(&path, json!({"name": format!("key {number}")})).await;
                // A busy machine may have no connection free in time, and nothing was made then.
                if response.status != 503 {
                    return response;
                }
            }
        });
    }
    let responses = all.join_all().await;
    let made = responses.iter().filter(|response| response.status == 201).count();
    let refused: Vec<_> = responses.iter().filter(|response| response.status != 201).collect();
    for response in &refused {
        assert_eq!((error_of(response).as_str(), &response.json()["limit"]), ("409 key_limit_reached", &json!(20)));
    }
    assert_eq!((made, refused.len()), (19, 31), "with the first key there are 20");
    let list = person.read(&keys(&app)).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn fifty_concurrent_creates_stop_at_the_limit() {
    fifty_at_once("sqlite:forebay.db").await;
}

#[tokio::test]
async fn fifty_concurrent_creates_stop_at_the_limit_on_postgresql() {
    let database = Database::migrated().await;
    fifty_at_once(&database.url).await;
    database.remove().await;
}

#[tokio::test]
async fn a_rotated_key_stops_working_at_once_or_when_the_overlap_ends() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let first = person.make(&keys(&app), json!({"name": "ci", "tokensPerMinute": 7})).await;
    let path = format!("{}/{}", keys(&app), text(&first["id"]));
    assert!(works(&app, text(&first["key"])).await);

    let second = person.act(&format!("{path}/rotate")).await;
    assert_eq!(second.status, 200);
    let second = second.json();
    for same in ["id", "name", "tokensPerMinute", "createdAt", "createdBy"] {
        assert_eq!(second[same], first[same], "{same}");
    }
    assert_ne!(second["prefix"], first["prefix"]);
    assert!(works(&app, text(&second["key"])).await);
    assert!(!works(&app, text(&first["key"])).await, "the node that rotated it rejects the old one at once");

    let third = person.post(&format!("{path}/rotate"), json!({"overlapSeconds": 3})).await.json();
    let rotated = std::time::Instant::now();
    assert!(works(&app, text(&third["key"])).await);
    assert!(works(&app, text(&second["key"])).await, "the old one still works");
    tokio::time::sleep_until((rotated + Duration::from_millis(3_050)).into()).await;
    assert!(!works(&app, text(&second["key"])).await, "and stops working when the overlap ends");
    assert!(works(&app, text(&third["key"])).await);
    assert_eq!(person.read(&keys(&app)).await["data"].as_array().unwrap().len(), 2, "it stays one key");

    let fourth = person.post(&format!("{path}/rotate"), json!({"overlapSeconds": 3_600})).await.json();
    assert!(fourth["overlapUntil"].is_string() && works(&app, text(&third["key"])).await, "{fourth}");
    let ended = person.act(&format!("{path}/end-overlap")).await.json();
    assert_eq!((&ended["overlapUntil"], &ended["prefix"]), (&Value::Null, &fourth["prefix"]));
    assert!(!works(&app, text(&third["key"])).await, "it was ended early");
    assert!(works(&app, text(&fourth["key"])).await);

    for overlap in [json!(604_801), json!(-1), json!("1"), json!(1.5), json!(null)] {
        let refused = person.post(&format!("{path}/rotate"), json!({"overlapSeconds": overlap})).await;
        assert_eq!(error_of(&refused), "422 invalid_value overlapSeconds", "{overlap}");
    }
}

#[tokio::test]
async fn name_expiry_and_limits_of_a_key_can_be_changed() {
    let app = TestApp::start().await;
    let (ann, ben) = (Person::new(&app, "ann", "member").await, Person::new(&app, "ben", "member").await);
    let key = ann.make(&keys(&app), json!({"name": "ci", "tokensPerMinute": 7})).await;
    let path = format!("{}/{}", keys(&app), text(&key["id"]));
    let end = "2999-01-31T12:00:00Z";
    let edited = ann.patch(&path, json!({"name": "build", "expiresAt": end, "requestsPerMinute": 5})).await.json();
    let shown = ["name", "expiresAt", "requestsPerMinute", "tokensPerMinute"].map(|member| edited[member].clone());
    assert_eq!(shown, [json!("build"), json!("2999-01-31T12:00:00.000Z"), json!(5), json!(7)]);
    let edited = ann.patch(&path, json!({"expiresAt": null, "tokensPerMinute": null})).await.json();
    assert_eq!((&edited["expiresAt"], &edited["tokensPerMinute"]), (&Value::Null, &Value::Null));
    assert_eq!(error_of(&ben.patch(&path, json!({"name": "x"})).await), "403 admin_only");
    for (body, field) in [
        (json!({"expiresAt": "2020-01-01T00:00:00Z"}), "expiresAt"),
        (json!({"requestsPerMinute": 0}), "requestsPerMinute"),
        (json!({"name": ""}), "name"),
    ] {
        assert_eq!(error_of(&ann.patch(&path, body).await), format!("422 invalid_value {field}"));
    }
    let restrictions = json!({"permissions": ["endpoints:read", "inference"], "allowedModels": ["acme/*"],
        "allowedIps": ["10.1.2.3/8"], "labels": {"team": "search"}});
    let edited = ann.patch(&path, restrictions).await.json();
    let shown = ["permissions", "allowedModels", "allowedIps", "labels"];
    let expected =
        [json!(["inference", "endpoints:read"]), json!(["acme/*"]), json!(["10.0.0.0/8"]), json!({"team": "search"})];
    assert_eq!(shown.map(|member| edited[member].clone()), expected);
    let edited = ann.patch(&path, json!({"permissions": null, "allowedModels": null, "labels": {}})).await.json();
    let expected = [Value::Null, Value::Null, json!(["10.0.0.0/8"]), json!({})];
    assert_eq!(shown.map(|member| edited[member].clone()), expected);
    let listed = ann.read(&keys(&app)).await["data"][1].clone();
    assert_eq!(shown.map(|member| listed[member].clone()), expected);
    assert_eq!(error_of(&ann.patch(&path, json!({"permissions": []})).await), "422 invalid_value permissions");
    assert_eq!(ann.delete(&path).await.status, 204);
    assert_eq!(error_of(&ann.patch(&path, json!({"name": "x"})).await), "409 key_revoked");
}

#[tokio::test]
async fn only_an_administrator_enables_a_disabled_key() {
    let app = TestApp::start().await;
    let (admin, bob) = (Person::new(&app, "ada", "admin").await, Person::new(&app, "bob", "member").await);
    let key = bob.make(&keys(&app), json!({"name": "bob's"})).await;
    let (path, text_of_key) = (format!("{}/{}", keys(&app), text(&key["id"])), text(&key["key"]));
    assert!(works(&app, text_of_key).await);
    assert_eq!(error_of(&bob.act(&format!("{path}/disable")).await), "403 admin_only");
    let disabled = admin.act(&format!("{path}/disable")).await;
    assert_eq!((disabled.status.as_u16(), &disabled.json()["state"]), (200, &json!("disabled")));
    assert!(!works(&app, text_of_key).await, "it stops working with the next call");
    for person in [&admin, &bob] {
        assert_eq!(error_of(&person.delete(&path).await), "409 key_disabled");
        assert_eq!(error_of(&person.act(&format!("{path}/rotate")).await), "409 key_disabled");
    }
    assert_eq!(error_of(&bob.act(&format!("{path}/enable")).await), "403 admin_only");
    assert_eq!(admin.act(&format!("{path}/enable")).await.json()["state"], "active");
    assert!(works(&app, text_of_key).await, "it works again");
    for _ in 0..2 {
        assert_eq!(bob.delete(&path).await.status, 204, "idempotent");
    }
    assert!(!works(&app, text_of_key).await, "it is revoked");
    assert_eq!(error_of(&admin.act(&format!("{path}/disable")).await), "409 key_revoked");
    assert_eq!(error_of(&admin.act(&format!("{path}/rotate")).await), "409 key_revoked");
}

#[tokio::test]
async fn members_rotate_and_revoke_only_their_own_keys() {
    let app = TestApp::start().await;
    let (operator, bob) = (Person::operator(&app).await, Person::new(&app, "bob", "member").await);
    let theirs = operator.make(&keys(&app), json!({"name": "operator's"})).await;
    let path = format!("{}/{}", keys(&app), text(&theirs["id"]));
    assert_eq!(error_of(&bob.delete(&path).await), "403 admin_only");
    assert_eq!(error_of(&bob.act(&format!("{path}/rotate")).await), "403 admin_only");
    let own = bob.make(&keys(&app), json!({"name": "bob's"})).await;
    let path = format!("{}/{}", keys(&app), text(&own["id"]));
    assert_eq!(bob.act(&format!("{path}/rotate")).await.status, 200);
    assert_eq!(bob.delete(&path).await.status, 204);
}

#[tokio::test]
async fn invalid_members_are_rejected_by_name() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    for (body, expected) in [
        (json!({}), "400 invalid_payload name"),
        (json!({"name": ""}), "422 invalid_value name"),
        (json!({"name": "x".repeat(101)}), "422 invalid_value name"),
        (json!({"name": "a\r\nset-cookie: x=y"}), "422 invalid_value name"),
        (json!({"name": ["x"]}), "422 invalid_value name"),
        (json!({"name": "x", "expiresAt": "tomorrow"}), "422 invalid_value expiresAt"),
        (json!({"name": "x", "expiresAt": "2001-01-01T00:00:00Z"}), "422 invalid_value expiresAt"),
        (json!({"name": "x", "requestsPerMinute": 0}), "422 invalid_value requestsPerMinute"),
        (json!({"name": "x", "requestsPerMinute": 1_000_000_000_000_001_u64}), "422 invalid_value requestsPerMinute"),
        (json!({"name": "x", "tokensPerMinute": u64::MAX}), "422 invalid_value tokensPerMinute"),
        (json!({"name": "x", "tokensPerMinute": true}), "422 invalid_value tokensPerMinute"),
        (json!({"name": "x", "scopes": []}), "422 invalid_value scopes"),
        (json!({"name": "x", "permissions": ["admin"]}), "422 invalid_value permissions"),
        (json!({"name": "x", "permissions": "inference"}), "422 invalid_value permissions"),
        (json!({"name": "x", "allowedModels": []}), "422 invalid_value allowedModels"),
        (json!({"name": "x", "allowedModels": ["a*b"]}), "422 invalid_value allowedModels"),
        (json!({"name": "x", "allowedIps": ["10.0.0.0/33"]}), "422 invalid_value allowedIps"),
        (json!({"name": "x", "labels": {"a b": "c"}}), "422 invalid_value labels"),
    ] {
        assert_eq!(error_of(&person.post(&keys(&app), body.clone()).await), expected, "{body}");
    }
    assert_eq!(person.read(&keys(&app)).await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_long_list_is_read_page_by_page() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    for number in 0..4 {
        person.make(&keys(&app), json!({"name": format!("{number}")})).await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = person.read(&format!("{}?limit=2&cursor={cursor}", keys(&app))).await;
        seen.extend(page["data"].as_array().unwrap().iter().map(|key| text(&key["name"]).to_owned()));
        match page["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(seen, ["bootstrap", "0", "1", "2", "3"]);
    for (query, expected) in [
        ("limit=0", "422 invalid_value limit"),
        ("limit=501", "422 invalid_value limit"),
        ("limit=x", "422 invalid_value limit"),
        ("cursor=%27%20OR%201=1", "422 invalid_value cursor"),
    ] {
        assert_eq!(error_of(&person.get(&format!("{}?{query}", keys(&app))).await), expected, "{query}");
    }
}

#[tokio::test]
async fn an_administrator_revokes_the_keys_of_removed_members_together() {
    let app = TestApp::start().await;
    let (admin, ann, ben) = (
        Person::new(&app, "ada", "admin").await,
        Person::new(&app, "ann", "member").await,
        Person::new(&app, "ben", "member").await,
    );
    let organization = format!("/api/organizations/{}", text(&app.forebay.bootstrap()["organizationId"]));
    let (of_ann, of_ben) =
        (ann.make(&keys(&app), json!({"name": "a"})).await, ben.make(&keys(&app), json!({"name": "b"})).await);
    let all = format!("{organization}/keys");
    assert_eq!(error_of(&ann.get(&all).await), "403 admin_only");
    assert_eq!(admin.read(&all).await["data"].as_array().unwrap().len(), 3);
    let found = admin.read(&format!("{all}?createdBy={}", ann.id().await)).await;
    let ids = |list: &Value| list["data"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&found), [of_ann["id"].clone()]);
    assert_eq!(found["data"][0]["workspaceId"], app.workspace().as_str());
    let creator = json!({"id": ann.id().await, "email": "ann@example.com", "hasAccess": true});
    assert_eq!(found["data"][0]["creator"], creator);
    assert_eq!(found["data"][0]["prefix"], of_ann["prefix"]);
    for (query, field) in [("createdBy=x", "createdBy"), ("removedMembers=1", "removedMembers")] {
        let refused = admin.get(&format!("{all}?{query}")).await;
        assert_eq!(error_of(&refused), format!("422 invalid_value {field}"));
    }

    // A disabled key of Ben's ends with the others (SPEC 7.3), so that it cannot be enabled later.
    let disabled = ben.make(&keys(&app), json!({"name": "off"})).await["id"].clone();
    let of_disabled = format!("{}/{}", keys(&app), text(&disabled));
    assert_eq!(admin.act(&format!("{of_disabled}/disable")).await.status, 200);
    // Without an option the keys keep working; with it they end together with the membership.
    assert_eq!(admin.delete(&format!("{organization}/members/{}", ann.id().await)).await.status, 204);
    let removal = format!("{organization}/members/{}?revokeKeys=true", ben.id().await);
    assert_eq!(admin.delete(&removal).await.status, 204);
    assert!(works(&app, text(&of_ann["key"])).await && !works(&app, text(&of_ben["key"])).await);
    assert_eq!(admin.read(&of_disabled).await["state"], "revoked");
    let removed = admin.read(&format!("{all}?removedMembers=true")).await;
    assert_eq!(ids(&removed), [of_ann["id"].clone(), of_ben["id"].clone(), disabled]);

    let revoke = format!("{all}/revoke");
    for (body, expected) in [
        (json!({"keyIds": []}), "422 invalid_value keyIds"),
        (json!({"keyIds": [of_ann["id"], "key_00000000000000000000000000"]}), "404 not_found"),
        (json!({}), "400 invalid_payload keyIds"),
    ] {
        assert_eq!(error_of(&admin.post(&revoke, body).await), expected);
    }
    assert!(works(&app, text(&of_ann["key"])).await, "all or none");
    // SPEC 7.3: revoking a key that an administrator disabled is a conflict, also among others.
    let disabled = admin.make(&keys(&app), json!({"name": "disabled"})).await["id"].clone();
    assert_eq!(admin.act(&format!("{}/{}/disable", keys(&app), text(&disabled))).await.status, 200);
    let selected = json!([of_ann["id"], disabled]);
    for _ in 0..2 {
        let outcomes = admin.post(&revoke, json!({"keyIds": selected})).await.json()["data"].clone();
        let expected = json!([{"id": of_ann["id"], "outcome": "revoked"}, {"id": disabled, "outcome": "key_disabled"}]);
        assert_eq!(outcomes, expected);
    }
    let all = admin.post(&revoke, json!({"keyIds": selected, "includeDisabled": true})).await;
    assert_eq!((all.status.as_u16(), &all.json()["data"][1]["outcome"]), (200, &json!("revoked")));
    assert!(!works(&app, text(&of_ann["key"])).await);
}
