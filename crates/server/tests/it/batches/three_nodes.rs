//! A long batch on three nodes, each of which is killed once. A part of `make test-slow`.

use super::{batch, calls_of_lines, content, create, lines};
use crate::app::{TestApp, text, wait_until};
use crate::console::person::Person;
use crate::postgres::Database;
use domain::NanoUsd;
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;
use testkit::fake_engine::Script;

const LINES: usize = 5_000;
const LONG: Duration = Duration::from_secs(240);
/// The cost of a line, in nano-dollars.
const COST: i64 = 22_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_lines_are_billed_once_though_every_node_is_killed() {
    let database = Database::migrated().await;
    let setup = || TestApp::setup().store(&database.url);
    let first = setup().start().await;
    let (second, third) = tokio::join!(setup().start_beside(&first), setup().start_beside(&first));
    let mut nodes = [first, second, third];
    let key = nodes[0].key.clone();
    nodes.iter_mut().for_each(|node| key.clone_into(&mut node.key));
    nodes[0].engine().script(Script { delay_ms: 100, ..Script::default() });
    let id = create(&nodes[0].client(), &lines(LINES)).await;
    for (killed, reached) in [(0, 700), (1, 2_000), (2, 3_300)] {
        let client = nodes[(killed + 1) % nodes.len()].client();
        wait_until("lines have ended, some of them here", LONG, async || {
            let ended = batch(&client, &id).await["request_counts"]["completed"].as_u64().unwrap();
            ended > reached && calls_of_lines(&nodes[killed], "").await > 0
        })
        .await;
        nodes[killed].forebay.child.kill();
        nodes[killed].forebay.restart().await.unwrap();
    }
    let client = nodes[0].client();
    wait_until("the batch ends", LONG, async || batch(&client, &id).await["status"] == "completed").await;
    let done = batch(&client, &id).await;
    assert_eq!(done["request_counts"], json!({"total": LINES, "completed": LINES, "failed": 0}));

    let output = content(&client, &done["output_file_id"]).await;
    assert_eq!(output.len(), LINES);
    let requests: HashSet<&str> = output.values().map(|line| text(&line["response"]["request_id"])).collect();
    assert_eq!(requests.len(), LINES);
    let tokens: u64 =
        output.values().map(|line| line["response"]["body"]["usage"]["total_tokens"].as_u64().unwrap()).sum();
    assert_eq!(done["usage"]["total_tokens"], json!(tokens));
    let person = Person::new(&nodes[0], "mia", "member").await;
    let base = format!("/api/workspaces/{}", nodes[0].workspace());
    let invoice = person.read(&format!("{base}/invoice")).await;
    let [line] = &invoice["serverless"].as_array().unwrap()[..] else { panic!("{invoice}") };
    assert_eq!((text(&line["class"]), &line["requests"]), ("batch", &json!(LINES)), "{invoice}");
    let billed = line["promptTokens"].as_u64().unwrap() + line["completionTokens"].as_u64().unwrap();
    assert_eq!(billed, tokens, "the bill is the sum of the lines");
    let cost = NanoUsd::from_nanos(COST * i64::try_from(LINES).unwrap()).to_string();
    let shown = person.read(&format!("{base}/batches/{id}")).await;
    assert_eq!((text(&invoice["totalUsd"]), text(&shown["cost_usd"])), (&*cost, &*cost));
    drop(nodes);
    database.remove().await;
}
