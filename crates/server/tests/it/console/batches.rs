//! Batches and files of a workspace, for its members.

use super::person::{Person, error_of};
use crate::app::{CHAT, TestApp, text};
use crate::batches::{create, ended, line_of, lines, upload};
use serde_json::{Value, json};
use testkit::fake_engine::Script;

/// The actions of the audit log on batches and files, the newest first.
async fn recorded(app: &TestApp, admin: &Person) -> Vec<Value> {
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    let log = admin.read(&format!("/api/organizations/{}/audit", text(&organization))).await;
    let entries = log["data"].as_array().unwrap().iter();
    let of_batches = |entry: &&Value| ["batch.", "file."].iter().any(|start| text(&entry["action"]).starts_with(start));
    entries.filter(of_batches).cloned().collect()
}

#[tokio::test]
async fn members_read_the_batches_and_files_of_their_workspace_only() {
    let app = TestApp::start().await;
    let client = app.client();
    let bad = json!({"model": CHAT, "messages": [{"role": "user", "content": "x"}], "temperature": 9});
    let input = lines(2) + &line_of("bad", "/v1/chat/completions", &bad);
    let id = create(&client, &input).await;
    ended(&client, &id).await;
    let base = format!("/api/workspaces/{}", app.workspace());
    let member = Person::new(&app, "mia", "member").await;

    let list = member.read(&format!("{base}/batches")).await;
    assert_eq!((&list["data"][0]["id"], list["data"].as_array().unwrap().len()), (&json!(id), 1));
    let shown = member.read(&format!("{base}/batches/{id}")).await;
    assert_eq!(shown["request_counts"], json!({"total": 3, "completed": 2, "failed": 1}), "{shown}");
    assert_eq!(shown["failing_lines"][0]["custom_id"], "bad");
    assert_eq!(shown["failing_lines"][0]["response"]["status_code"], 422);
    assert!(text(&shown["created_by"]).starts_with("key"), "{shown}");
    let files = member.read(&format!("{base}/files")).await;
    assert_eq!(files["data"].as_array().unwrap().len(), 3, "the input, the output and the errors");
    client.delete(&format!("/files/{}", text(&shown["error_file_id"]))).await;
    let without = member.read(&format!("{base}/batches/{id}")).await;
    assert_eq!((&without["id"], &without["failing_lines"]), (&json!(id), &json!([])), "its errors are gone, it is not");

    let made = Person::new(&app, "ada", "admin").await.make("/api/workspaces", json!({"name": "Other"})).await;
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let other = text(&made["id"]).to_owned();
    let place = format!("{organization} --role member --workspace {other}");
    let outsider = Person::of_organization(&app, "otto", &place).await;
    for path in ["batches", "files", &format!("batches/{id}")] {
        assert_eq!(error_of(&outsider.get(&format!("{base}/{path}")).await), "403 not_a_member", "{path}");
    }
    let cancel = outsider.post(&format!("{base}/batches/{id}/cancel"), json!({})).await;
    assert_eq!(error_of(&cancel), "403 not_a_member");
    let elsewhere = format!("/api/workspaces/{other}/batches/{id}");
    assert_eq!(error_of(&outsider.get(&elsewhere).await), "404 not_found", "it is not of that workspace");
    assert_eq!(outsider.read(&format!("/api/workspaces/{other}/batches")).await["data"], json!([]));
    assert_eq!(outsider.read(&format!("/api/workspaces/{other}/files")).await["data"], json!([]));
    let late = member.post(&format!("{base}/batches/{id}/cancel"), json!({})).await;
    assert_eq!(error_of(&late), "409 batch_not_cancellable");
}

#[tokio::test]
async fn changes_by_people_are_in_the_audit_log_and_those_by_keys_are_not() {
    let app = TestApp::start().await;
    let admin = Person::new(&app, "ada", "admin").await;
    let member = Person::new(&app, "mia", "member").await;
    let browser = app.stranger().header("cookie", &member.cookie).header("x-csrf-token", &member.csrf);
    let browser = browser.header("x-workspace-id", app.workspace().as_str());
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    let ids = [create(&app.client(), &lines(1)).await, create(&browser, &lines(1)).await];
    let base = format!("/api/workspaces/{}", app.workspace());
    for id in &ids {
        let response = member.post(&format!("{base}/batches/{id}/cancel"), json!({})).await;
        assert_eq!(response.json()["status"], "cancelling", "{}", response.text());
        let again = member.post(&format!("{base}/batches/{id}/cancel"), json!({})).await;
        assert_eq!(again.status, 200, "{}", again.text());
        ended(&browser, id).await;
    }
    let by_key = create(&app.client(), &lines(1)).await;
    let cancelled = app.client().post_json(&format!("/batches/{by_key}/cancel"), json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let file = upload(&browser, "{}").await;
    assert_eq!(browser.delete(&format!("/files/{file}")).await.status, 200);
    let entries = recorded(&app, &admin).await;
    let found: Vec<_> = entries.iter().map(|entry| (text(&entry["action"]), text(&entry["subject"]))).collect();
    let expected = [
        ("file.delete", file.as_str()),
        ("batch.cancel", &ids[1]),
        ("batch.cancel", &ids[0]),
        ("batch.create", &ids[1]),
    ];
    assert_eq!(found, expected, "{entries:#?}");
    let member_id = member.id().await;
    assert!(entries.iter().all(|entry| entry["actor"] == json!(member_id)), "{entries:#?}");
}
