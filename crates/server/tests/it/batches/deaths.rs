//! Nodes that are killed while they run a batch.

use super::{content, create, ended, lines};
use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::postgres::Database;
use serde_json::json;
use std::collections::HashSet;
use testkit::fake_engine::{FakeEngine, Script};
use testkit::http::Client;

const LINES: usize = 300;

/// Every line has one result and one event, and the sums agree.
async fn assert_complete(app: &TestApp, client: &Client, id: &str) {
    let done = ended(client, id).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["request_counts"], json!({"total": LINES, "completed": LINES, "failed": 0}));
    let output = content(client, &done["output_file_id"]).await;
    assert_eq!(output.len(), LINES);
    let events = app.usage(LINES).await;
    let billed: HashSet<&str> = events.iter().map(|event| event.request.as_str()).collect();
    assert_eq!(billed, output.values().map(|line| text(&line["response"]["request_id"])).collect());
    let tokens: u64 = events.iter().map(|event| event.tokens.total()).sum();
    assert_eq!(done["usage"]["total_tokens"], json!(tokens));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_survives_kill_9_of_its_only_node() {
    let mut app = TestApp::start().await;
    let client = app.client();
    app.engine().script(Script { delay_ms: 20, ..Script::default() });
    let id = create(&client, &lines(LINES)).await;
    for calls in [60, 180] {
        let reached = async || app.engine().calls().len() > calls;
        wait_until("lines have run", TIMEOUT, reached).await;
        app.forebay.child.kill();
        app.forebay.restart().await.unwrap();
    }
    let client = app.client();
    assert_complete(&app, &client, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_a_killed_node_are_taken_by_another() {
    let database = Database::migrated().await;
    let setup = || TestApp::setup().store(&database.url);
    let mut first = setup().start().await;
    let mut second = setup().start_beside(&first).await;
    first.key.clone_into(&mut second.key);
    first.engine().script(Script { delay_ms: 50, ..Script::default() });
    let id = create(&first.client(), &lines(LINES)).await;
    wait_until("lines have run", TIMEOUT, async || FakeEngine::calls(first.engine()).len() > 60).await;
    first.forebay.child.kill();
    assert_complete(&first, &second.client(), &id).await;
    drop((first, second));
    database.remove().await;
}
