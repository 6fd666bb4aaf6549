//! The budget of a key, shared by three nodes.

use serde_json::Value;
use testkit::fake_engine::Script;
use testkit::http::{Client, Response};
use tokio::task::JoinSet;

use super::{Cluster, NODES, UNLIMITED, chat_of, uses};
use crate::app::{TIMEOUT, error_line, text, wait_until};

/// Ten cents.
const CAP: u64 = 100_000_000;

fn nanos(usd: &Value) -> u64 {
    domain::NanoUsd::parse(text(usd)).unwrap().nanos().unsigned_abs()
}

/// The cost of a call in nano-dollars, at 1 and 4 dollars per million tokens.
fn cost(response: &Response) -> u64 {
    let usage = response.json()["usage"].clone();
    let tokens = |member: &str| usage[member].as_u64().unwrap();
    tokens("prompt_tokens") * 1_000 + tokens("completion_tokens") * 4_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_on_three_nodes_never_exceed_a_budget_and_use_nearly_all_of_it() {
    let cluster = Cluster::start(UNLIMITED).await;
    cluster.all_are_known().await;
    cluster.engine().script(Script { delay_ms: 2, ..uses(90, 50) });
    let app = &cluster.nodes[0];
    let key = app.admin(&format!("keys create --workspace {} --name b --budget day=0.10", app.workspace()));
    let clients: Vec<Client> = cluster.nodes.iter().map(|node| node.client_with(text(&key["key"]))).collect();
    let mut in_flight = JoinSet::new();
    for call in 0..450 {
        let client = clients[call % NODES].clone();
        in_flight.spawn(async move { client.post_json("/chat/completions", chat_of(2, 50)).await });
    }
    let mut spent = 0;
    let mut count = |response: &Response| match response.status.as_u16() {
        200 => spent += cost(response),
        _ => assert_eq!(error_line(response), "429 budget_exceeded"),
    };
    while let Some(response) = in_flight.join_next().await {
        count(&response.unwrap());
    }
    // The last amounts are leased in pieces: a call may be rejected because another node holds them.
    for client in clients.iter().cycle().take(30) {
        count(&client.post_json("/chat/completions", chat_of(2, 50)).await);
    }
    assert!(spent <= CAP, "{spent} of {CAP}");
    assert!(spent >= CAP * 95 / 100, "only {spent} of {CAP}");
    let show = || app.admin(&format!("keys show {}", text(&key["id"])));
    let seen = async || nanos(&show()["spending"][0]["usedUsd"]) == spent;
    wait_until("the store has what clients saw", TIMEOUT, seen).await;
    let spending = &show()["spending"][0];
    assert!(spent + nanos(&spending["reservedUsd"]) <= CAP, "{spending}");
    cluster.remove().await;
}
