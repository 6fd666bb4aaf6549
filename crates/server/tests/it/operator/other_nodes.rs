//! What the operator sees of other nodes.

use std::fs;

use serde_json::{Value, json};
use testkit::fake_hub::Sending;

use super::tiny_hub::{DOWNLOADS, REFERENCE, audited, hub, path_of};
use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::console::person::{Person, error_of};
use crate::engine_script::write_script;
use crate::postgres::Database;

/// Writes two lines and ends with its standard input.
const ENGINE: &str =
    "#!/bin/sh\necho 'Loading weights' >&2\necho 'an ERROR with a zero byte \\0.' >&2\nexec cat >/dev/null\n";

#[tokio::test]
async fn logs_of_another_node_are_listed_and_read_through_the_store() {
    let database = Database::migrated().await;
    let scratch = tempfile::tempdir().unwrap();
    let engine = write_script(&scratch.path().join("engine"), ENGINE);
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
    let left = count(&database, "node_requests").await;
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

async fn count(database: &Database, table: &str) -> i64 {
    use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let query = sqlx::query(AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}")));
    query.fetch_one(&mut connection).await.unwrap().get(0)
}

#[tokio::test]
async fn downloads_of_another_node_are_listed_and_changed_through_the_store() {
    let (database, hub) = (Database::migrated().await, hub().await);
    let start = async || TestApp::setup().store(&database.url).environment("HF_ENDPOINT", &hub.url()).start().await;
    let (one, mut two) = (start().await, start().await);
    let here = Person::operator(&one).await;
    let there = here.at(&two);

    hub.set_sending(Sending::HoldAfter(50_000));
    let download = there.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let path = path_of(&download);
    let shown_as = async |state: &str| {
        let shown = here.get(&path).await;
        shown.status == 200 && shown.json()["state"] == state
    };
    wait_until("the other node has reported its download", TIMEOUT, async || shown_as("downloading").await).await;
    let listed = here.read(DOWNLOADS).await["data"].clone();
    let node = there.read("/api/operator/weights").await["nodeId"].clone();
    assert_eq!((&listed[0]["id"], &listed[0]["nodeId"]), (&download["id"], &node), "{listed}");
    assert_ne!(here.read("/api/operator/weights").await["nodeId"], node);

    assert_eq!(error_of(&here.delete(&path).await), "409 download_active");
    let cancelled = here.act(&format!("{path}/cancel")).await;
    assert_eq!(cancelled.json()["state"], "cancelled", "{}", cancelled.text());
    assert_eq!(cancelled.json()["nodeId"], node);
    assert_eq!(error_of(&here.act(&format!("{path}/cancel")).await), "409 download_inactive");
    hub.set_sending(Sending::Whole);
    assert_eq!(here.act(&format!("{path}/resume")).await.status, 200);
    wait_until("it is downloaded", TIMEOUT, async || shown_as("done").await).await;
    assert_eq!(here.read(DOWNLOADS).await["data"], there.read(DOWNLOADS).await["data"], "both list the same");
    assert_eq!(here.delete(&path).await.status, 204);
    assert_eq!(error_of(&there.get(&path).await), "404 not_found");
    assert_eq!(count(&database, "node_requests").await, 0, "a request is removed once it was answered");
    let changes = ["weights.delete", "weights.resume", "weights.cancel", "weights.download"];
    assert_eq!(audited(&here).await, changes, "each once");

    let download = there.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let path = path_of(&download);
    wait_until("it is reported", TIMEOUT, async || here.get(&path).await.status == 200).await;
    two.forebay.child.kill();
    assert_eq!(error_of(&here.delete(&path).await), "503 node_unresponsive");
    drop((one, two));
    database.remove().await;
}
