//! Batches whose model is an endpoint.

use super::plant::{Plant, TIMEOUT, chat};
use crate::app::{text, wait_until};
use crate::batches::{calls_of_lines, create, ended, line_of};
use serde_json::{Value, json};

fn lines(count: usize) -> String {
    let line = |number| line_of(&format!("line-{number}"), "/v1/chat/completions", &chat("chat", "hi"));
    (0..count).map(line).collect()
}

async fn assert_completed(plant: &Plant, id: &str, count: usize) -> Value {
    let done = ended(&plant.client(), id).await;
    let all = json!({"total": count, "completed": count, "failed": 0});
    assert_eq!((text(&done["status"]), &done["request_counts"]), ("completed", &all), "{done}");
    let events = plant.app.usage(count).await;
    assert!(events.iter().all(|event| event.cost.nanos() == 0), "GPU-hours pay for it");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_wakes_an_endpoint_at_zero_once() {
    // A call waits for less time than a replica takes to start.
    let plant = Plant::start(1, "hold_timeout = \"1s\"").await;
    plant.create("chat", json!({"minReplicas": 0, "maxReplicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.scale_to_zero("chat").await;
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;
    let id = create(&plant.client(), &lines(40)).await;
    let done = assert_completed(&plant, &id, 40).await;
    assert_eq!(done["model"], "dedicated/chat");
    let events = plant.events(&plant.id("chat").await).await;
    let wakes = events.iter().filter(|event| event.reason == "cold-start").count();
    assert_eq!(wakes, 1, "{events:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_wait_while_an_endpoint_is_suspended_and_do_not_resume_it() {
    let plant = Plant::start(1, "hold_timeout = \"1s\"").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.suspend("chat").await;
    let id = create(&plant.client(), &lines(3)).await;
    wait_until("each has waited more than once", TIMEOUT, async || {
        calls_of_lines(&plant.app, "edge_timeout").await > 6
    })
    .await;
    assert_eq!(plant.endpoint("chat").await.unwrap().state.as_str(), "suspended");
    plant.resume("chat").await;
    assert_completed(&plant, &id, 3).await;
}
