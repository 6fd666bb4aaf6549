//! What the operator sees of other nodes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::tiny_hub::{DOWNLOADS, REFERENCE, hub, path_of, until};
use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::console::person::{Person, error_of};
use crate::postgres::Database;

/// Writes two lines and ends with its standard input.
const ENGINE: &str =
    "#!/bin/sh\necho 'Loading weights' >&2\necho 'an ERROR with a zero byte \\0.' >&2\nexec cat >/dev/null\n";

#[tokio::test]
async fn logs_of_another_node_are_listed_and_read_through_the_store() {
    let database = Database::create().await;
    let scratch = tempfile::tempdir().unwrap();
    let engine = scratch.path().join("engine");
    fs::write(&engine, ENGINE).unwrap();
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).unwrap();
    let weights = scratch.path().join("weights.gguf");
    fs::write(&weights, "weights").unwrap();
    let model = format!("[[models]]\nid = \"acme/own\"\nengine = {{ weights = \"{}\" }}", weights.display());
    let one = TestApp::setup().store(&database.url).start().await;
    let two = TestApp::setup().store(&database.url).environment("FOREBAY_ENGINE", engine.to_str().unwrap());
    let mut two = two.table(&model).start().await;

    let operator = Person::operator(&one).await;
    let listed = async || {
        let logs = operator.read("/api/operator/logs").await;
        logs["data"].as_array().unwrap().iter().find(|log| log["replicaId"] == "acme/own#1").cloned()
    };
    wait_until("the other node has reported its log", TIMEOUT, async || listed().await.is_some()).await;
    let log = listed().await.unwrap();
    let nodes = operator.read("/api/operator/nodes").await;
    let other = nodes["data"].as_array().unwrap().iter().find(|node| node["self"] == false).unwrap();
    assert_eq!((&log["node"], &log["model"]), (&other["id"], &json!("acme/own")), "{log}");
    assert_eq!((&log["clusterNode"], &log["endpointName"]), (&Value::Null, &Value::Null), "{log}");

    let node = text(&other["id"]).to_owned();
    let read = async |query: &str| operator.get(&format!("/api/operator/logs/acme%2Fown%231?node={node}{query}")).await;
    wait_until("both lines are written", TIMEOUT, async || read("").await.text().contains("ERROR")).await;
    let whole = read("").await;
    assert_eq!(whole.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(whole.text().starts_with("Loading weights\n"), "{}", whole.text());
    let found = read("&search=error&download=true").await;
    assert!(found.text().lines().all(|line| line.contains("an ERROR")), "{}", found.text());
    assert_eq!(found.header("content-disposition"), Some("attachment; filename=\"acme-own-1.log\""));
    let left = sqlx_count(&database).await;
    assert_eq!(left, 0, "a response is removed once it was read");

    let here = operator.get("/api/operator/logs/acme%2Fown%231").await;
    assert_eq!(error_of(&here), "404 not_found", "this node has no such log");
    let missing = operator.get(&format!("/api/operator/logs/rep_none?node={node}")).await;
    assert_eq!(error_of(&missing), "404 not_found");
    let unknown = operator.get("/api/operator/logs/rep_none?node=node_none").await;
    assert_eq!(error_of(&unknown), "404 not_found");

    two.forebay.child.kill();
    let silent = read("").await;
    assert_eq!(error_of(&silent), "503 node_unresponsive");
    drop((one, two));
    database.remove().await;
}

async fn sqlx_count(database: &Database) -> i64 {
    use sqlx::{Connection as _, PgConnection, Row as _};
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let row = sqlx::query("SELECT COUNT(*) FROM log_requests").fetch_one(&mut connection).await.unwrap();
    row.get(0)
}

#[tokio::test]
async fn downloads_of_another_node_are_listed() {
    let (database, hub) = (Database::create().await, hub().await);
    let start = async || TestApp::setup().store(&database.url).environment("HF_ENDPOINT", &hub.url()).start().await;
    let (one, two) = (start().await, start().await);
    let here = Person::operator(&one).await;
    let there = here.at(&two);

    let download = there.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    until(&there, &download, "done").await;
    let reported = async || {
        let shown = here.get(&path_of(&download)).await;
        shown.status == 200 && shown.json()["state"] == "done"
    };
    wait_until("the other node has reported its download", TIMEOUT, reported).await;
    let listed = here.read(DOWNLOADS).await["data"].clone();
    assert_eq!(listed, there.read(DOWNLOADS).await["data"], "both nodes list the same");
    let node = there.read("/api/operator/weights").await["nodeId"].clone();
    assert_eq!((&listed[0]["id"], &listed[0]["nodeId"]), (&download["id"], &node), "{listed}");
    assert_ne!(here.read("/api/operator/weights").await["nodeId"], node);
    drop((one, two));
    database.remove().await;
}
