//! `/v1/files`.

use super::{start, try_upload, upload};
use crate::app::{CONTENT_KEY, TestApp, error_line, text};
use crate::console::person::Person;
use serde_json::json;
use testkit::http::form::{BOUNDARY, form, form_client};

#[tokio::test]
async fn a_file_is_uploaded_listed_read_and_deleted() {
    let (_app, client) = start().await;
    let content = format!("{{\"a\": \"ü{}\"}}\n", "x".repeat(100)).repeat(30_000);
    let response = try_upload(&client, &[("purpose", "batch")], &content).await;
    let record = response.json();
    let id = text(&record["id"]).to_owned();
    assert!(id.starts_with("file-"), "{record}");
    let created = record["created_at"].as_i64().unwrap();
    assert_eq!(
        record,
        json!({"id": id, "object": "file", "bytes": content.len(), "created_at": created,
            "expires_at": created + 30 * 86_400, "filename": "lines.jsonl", "purpose": "batch", "status": "processed"})
    );
    let path = format!("/files/{id}");
    assert_eq!(client.get(&path).await.json(), record);
    let read = client.get(&format!("{path}/content")).await;
    assert!(read.text() == content, "the content is what was uploaded");

    let other = upload(&client, "{}").await;
    let page = client.get("/files?limit=1").await.json();
    assert_eq!((&page["object"], &page["has_more"], &page["first_id"]), (&json!("list"), &json!(true), &json!(other)));
    assert_eq!(page["data"].as_array().unwrap().len(), 1, "the newest first");
    let rest = client.get(&format!("/files?after={other}")).await.json();
    assert_eq!((&rest["data"][0]["id"], &rest["has_more"]), (&json!(id), &json!(false)));
    let oldest = client.get("/files?order=asc&purpose=batch").await.json();
    assert_eq!((&oldest["first_id"], &oldest["last_id"]), (&json!(id), &json!(other)));
    assert_eq!(client.get("/files?purpose=batch_output").await.json()["data"], json!([]));

    let deleted = client.delete(&path).await.json();
    assert_eq!(deleted, json!({"id": id, "object": "file", "deleted": true}));
    for path in [path.clone(), format!("{path}/content")] {
        assert_eq!(error_line(&client.get(&path).await), "404 file_not_found");
    }
    assert_eq!(error_line(&client.delete(&path).await), "404 file_not_found");
}

#[tokio::test]
async fn invalid_uploads_are_rejected_by_member() {
    let (_app, client) = start().await;
    let purpose = ("purpose", "batch");
    let (anchor, seconds) = (("expires_after[anchor]", "created_at"), ("expires_after[seconds]", "3600"));
    for (fields, expected) in [
        (&[][..], "400 missing_parameter purpose"),
        (&[("purpose", "assistants")], "422 invalid_value purpose"),
        (&[purpose, anchor], "400 missing_parameter expires_after[seconds]"),
        (&[purpose, seconds], "400 missing_parameter expires_after[anchor]"),
        (&[purpose, ("expires_after[anchor]", "x"), seconds], "422 invalid_value expires_after[anchor]"),
        (&[purpose, anchor, ("expires_after[seconds]", "3599")], "422 invalid_value expires_after[seconds]"),
        (&[purpose, anchor, ("expires_after[seconds]", "2592001")], "422 invalid_value expires_after[seconds]"),
    ] {
        assert_eq!(error_line(&try_upload(&client, fields, "{}").await), expected);
    }
    let forms = form_client(client.clone());
    let without_file = forms.post_bytes("/files", form(&[purpose], None)).await;
    assert_eq!(error_line(&without_file), "400 missing_parameter file");
    assert_eq!(error_line(&forms.post_bytes("/files", "no form").await), "400 invalid_payload");
    let cut = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{{}}");
    assert_eq!(error_line(&forms.post_bytes("/files", cut).await), "400 invalid_payload");
    assert_eq!(error_line(&client.post_json("/files", json!({})).await), "415 unsupported_media_type");
    assert_eq!(client.get("/files").await.json()["data"], json!([]), "nothing of that is kept");
    for (query, param) in
        [("limit=0", "limit"), ("limit=10001", "limit"), ("order=x", "order"), ("purpose=x", "purpose")]
    {
        let response = client.get(&format!("/files?{query}")).await;
        assert_eq!(error_line(&response), format!("422 invalid_value {param}"));
    }
    let fields = [purpose, anchor, seconds];
    let short = try_upload(&client, &fields, "{}").await.json();
    assert_eq!(short["expires_at"].as_i64().unwrap() - short["created_at"].as_i64().unwrap(), 3_600);
}

#[tokio::test]
async fn files_have_bounds() {
    let table = "[files]\nmax_file_bytes = \"3MiB\"\nmax_lines_per_file = 10\nmax_bytes_per_workspace = \"5MiB\"";
    let app = TestApp::setup().table(table).start().await;
    let client = app.client();
    let of = |mebibytes: usize| "x".repeat(mebibytes << 20);
    let upload = async |content: &str| try_upload(&client, &[("purpose", "batch")], content).await;
    assert_eq!(error_line(&upload(&(of(3) + "x")).await), "413 payload_too_large file");
    assert_eq!(error_line(&upload(&"x\n".repeat(11)).await), "413 payload_too_large file");
    assert_eq!(upload(&of(3)).await.status, 200, "what was rejected takes no room");
    assert_eq!(error_line(&upload(&of(3)).await), "413 storage_full file");
    assert_eq!(upload(&of(2)).await.status, 200);
}

#[tokio::test]
async fn files_of_an_organization_and_of_all_have_bounds() {
    let app = TestApp::setup().table("[files]\nmax_total_bytes = \"4MiB\"").start().await;
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name other"));
    let key = app.admin(&format!("keys create --workspace {} --name other", text(&workspace["id"])));
    let (first, second) = (app.client(), app.client_with(text(&key["key"])));
    let bound = |bytes: &str| app.admin(&format!("organizations set {organization} --max-stored-bytes {bytes}"));
    let (purpose, of) = ([("purpose", "batch")], |mebibytes: usize| "x".repeat(mebibytes << 20));
    bound("3145728");
    assert_eq!(try_upload(&first, &purpose, &of(2)).await.status, 200);
    let path = format!("/api/operator/organizations/{organization}");
    let operator = Person::operator(&app).await;
    assert_eq!(operator.read(&path).await["storedBytes"], 2 << 20, "the operator sees what is compared");
    let rejected = try_upload(&second, &purpose, &of(2)).await;
    assert_eq!(error_line(&rejected), "413 storage_full file");
    let why = "the files and stored responses of an organization may have at most 3145728 bytes";
    assert!(rejected.text().contains(why), "{}", rejected.text());
    bound("default");
    let rejected = try_upload(&second, &purpose, &of(3)).await;
    assert_eq!(error_line(&rejected), "413 storage_full file");
    let why = "the files of all workspaces may have at most 4194304 bytes";
    assert!(rejected.text().contains(why), "{}", rejected.text());
}

#[tokio::test]
async fn forms_have_bounds_besides_their_file() {
    let (_app, client) = start().await;
    let purpose = ("purpose", "batch");
    let rejected = async |fields: &[(&str, &str)], expected: &str, why: &str| {
        let response = try_upload(&client, fields, "{}").await;
        assert_eq!(error_line(&response), expected, "{}", response.text());
        assert!(response.text().contains(why), "{}", response.text());
    };
    let mut many = vec![("other", "x"); 14];
    many.push(purpose);
    assert_eq!(try_upload(&client, &many, "{}").await.status, 200, "with 16 fields");
    many.push(("other", "x"));
    rejected(&many, "400 invalid_payload", "at most 16 fields").await;
    let name = "n".repeat(129);
    rejected(&[purpose, (&name[1..], "x"), (&name, "x")], "400 invalid_payload", "at most 128 bytes").await;
    rejected(&[purpose, purpose], "422 invalid_value purpose", "is a duplicate").await;
    rejected(&[("purpose", &name.repeat(8))], "422 invalid_value purpose", "is too long").await;
    let large = "x".repeat(65 << 10);
    rejected(&[purpose, ("other", &large)], "400 invalid_payload", "besides its file").await;
    let preamble = [large.as_bytes(), &form(&[purpose], Some("{}"))].concat();
    let response = form_client(client.clone()).post_bytes("/files", preamble).await;
    assert_eq!(error_line(&response), "400 invalid_payload");
    assert_eq!(client.get("/files").await.json()["data"].as_array().unwrap().len(), 1, "nothing of that is kept");
}

#[tokio::test]
async fn files_of_another_workspace_do_not_exist() {
    let (app, client) = start().await;
    let id = upload(&client, "{}").await;
    let organization = app.forebay.bootstrap()["organizationId"].as_str().unwrap().to_owned();
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name other"));
    let key = app.admin(&format!("keys create --workspace {} --name other", text(&workspace["id"])));
    let stranger = app.client_with(text(&key["key"]));
    for path in [format!("/files/{id}"), format!("/files/{id}/content")] {
        assert_eq!(error_line(&stranger.get(&path).await), "404 file_not_found");
    }
    assert_eq!(error_line(&stranger.delete(&format!("/files/{id}")).await), "404 file_not_found");
    assert_eq!(stranger.get("/files").await.json()["data"], json!([]));
    let batch = stranger.post_json("/batches", super::request(&id)).await;
    assert_eq!(error_line(&batch), "404 file_not_found input_file_id");
}

#[tokio::test]
async fn content_is_encrypted_where_it_is_stored() {
    let app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    let client = app.client();
    let id = super::create(&client, &super::line("a", "a secret prompt")).await;
    let done = super::ended(&client, &id).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(super::content(&client, &done["output_file_id"]).await.len(), 1);
    let stored: Vec<u8> = ["forebay.db", "forebay.db-wal"]
        .iter()
        .filter_map(|name| std::fs::read(app.forebay.data_dir.join(name)).ok())
        .flatten()
        .collect();
    for secret in ["secret prompt", "Hello Hello"] {
        assert!(!stored.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
}
