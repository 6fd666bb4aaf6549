use serde_json::{Value, json};

use super::person::{Person, error_of};
use crate::app::{TestApp, text};

#[tokio::test]
async fn every_change_is_logged_with_actor_action_address_and_record() {
    let app = TestApp::start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let organization = format!("/api/organizations/{}", text(&app.forebay.bootstrap()["organizationId"]));
    let audit = format!("{organization}/audit");
    let workspace = format!("/api/workspaces/{}", app.workspace());
    admin.patch(&workspace, json!({"version": 1, "name": "Labs", "maxApiKeys": 9})).await;
    let key = admin.make(&format!("{workspace}/keys"), json!({"name": "ci"})).await;
    let path = format!("{workspace}/keys/{}", text(&key["id"]));
    let rotated = admin.act(&format!("{path}/rotate")).await.json();
    admin.act(&format!("{path}/disable")).await;
    admin.act(&format!("{path}/enable")).await;
    admin.delete(&path).await;
    admin.delete(&path).await;
    let body = json!({"email": "x@y", "role": "member", "workspaceIds": [app.workspace().as_str()]});
    let invitation = admin.make(&format!("{organization}/invitations"), body).await;
    admin.delete(&format!("{organization}/invitations/{}", text(&invitation["id"]))).await;
    let made = admin.make("/api/workspaces", json!({"name": "w"})).await;
    admin.delete(&format!("/api/workspaces/{}", text(&made["id"]))).await;
    admin.patch(&organization, json!({"name": "Acme"})).await;
    admin.put("/api/session/context", json!({"organizationId": null})).await;
    admin.put("/api/session/context", json!({"organizationId": app.forebay.bootstrap()["organizationId"]})).await;

    let list = admin.read(&audit).await;
    let entries = list["data"].as_array().unwrap();
    let me = admin.id().await;
    let mine: Vec<&str> =
        entries.iter().filter(|entry| entry["actor"] == me.as_str()).map(|entry| text(&entry["action"])).collect();
    for action in [
        "session.create",
        "workspace.set",
        "key.create",
        "key.rotate",
        "key.disable",
        "key.enable",
        "key.revoke",
        "invitation.create",
        "invitation.delete",
        "workspace.create",
        "workspace.delete",
        "organization.rename",
        "session.set-context",
    ] {
        assert_eq!(mine.iter().filter(|one| **one == action).count(), 1, "{action} in {mine:?}");
    }
    let set = entries.iter().find(|entry| entry["action"] == "workspace.set").unwrap();
    assert_eq!((&set["address"], &set["actorEmail"]), (&json!("127.0.0.1"), &json!("ada@example.com")));
    assert_eq!((&set["before"]["name"], &set["after"]["name"]), (&json!("Default"), &json!("Labs")));
    assert_eq!(set["after"]["adminLimits"]["maxApiKeys"], 9);
    assert_eq!(set["subject"], app.workspace().as_str());
    let everything = list.to_string();
    for secret in [text(&key["key"]), text(&rotated["key"]), &admin.csrf, "ada-password", "$argon2"] {
        let secret = secret.rsplit('-').next().unwrap();
        assert!(!everything.contains(secret), "{secret} is in the log");
    }
    let by_command: Vec<&Value> = entries.iter().filter(|entry| entry["actor"] == "forebay admin").collect();
    assert_eq!((&by_command[0]["action"], &by_command[0]["address"]), (&json!("user.create"), &json!("command line")));
}

#[tokio::test]
async fn the_log_is_filtered_paged_and_exported() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let audit = format!("/api/organizations/{}/audit", text(&app.forebay.bootstrap()["organizationId"]));
    for number in 0..5 {
        operator.make("/api/workspaces", json!({"name": format!("w{number}")})).await;
    }
    let names = |page: &Value| -> Vec<String> {
        let entries = page["data"].as_array().unwrap();
        entries.iter().map(|entry| text(&entry["after"]["name"]).to_owned()).collect()
    };
    let filter = format!("{audit}?action=workspace.create&actor={}", operator.id().await);
    let first = operator.read(&format!("{filter}&limit=3")).await;
    let rest = operator.read(&format!("{filter}&limit=3&cursor={}", text(&first["nextCursor"]))).await;
    assert_eq!(
        (names(&first), names(&rest)),
        (vec!["w4".into(), "w3".into(), "w2".into()], vec!["w1".into(), "w0".into()])
    );
    assert_eq!(rest["nextCursor"], Value::Null);
    let at = text(&first["data"][1]["at"]);
    assert_eq!(names(&operator.read(&format!("{filter}&from={at}")).await), ["w4", "w3"]);
    assert_eq!(names(&operator.read(&format!("{filter}&to={at}")).await), ["w2", "w1", "w0"]);
    assert_eq!(error_of(&operator.get(&format!("{audit}?from=yesterday")).await), "422 invalid_value from");
    assert_eq!(error_of(&operator.get(&format!("{audit}?actor=%00")).await), "422 invalid_value actor");
    assert_eq!(error_of(&operator.get(&format!("{audit}?actor=a&actor=b")).await), "400 invalid_payload");
    assert_eq!(error_of(&operator.delete("/api/nodes/%00").await), "404 not_found");
    assert_eq!(error_of(&operator.get(&format!("{audit}?format=xml")).await), "422 invalid_value format");

    let export = operator.get(&format!("{filter}&format=jsonl")).await;
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[..3], first["data"].as_array().unwrap()[..]);

    let bob = Person::new(&app, "bob", "member").await;
    assert_eq!(error_of(&bob.get(&audit).await), "403 admin_only");
    let whole = operator.read("/api/audit").await;
    assert!(whole["data"].as_array().unwrap().len() > 5);
}
