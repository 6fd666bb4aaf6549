//! Budgets of a key and of an end user, shared by three nodes.

use serde_json::{Value, json};
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

/// Makes calls on all nodes with the key until the budget is spent. Returns what they have cost.
async fn spend(cluster: &Cluster, key: &Value, body: &Value) -> u64 {
    let clients: Vec<Client> = cluster.nodes.iter().map(|node| node.client_with(text(&key["key"]))).collect();
    let mut in_flight = JoinSet::new();
    for call in 0..450 {
        let (client, body) = (clients[call % NODES].clone(), body.clone());
        in_flight.spawn(async move { client.post_json("/chat/completions", body).await });
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
        count(&client.post_json("/chat/completions", body.clone()).await);
    }
    assert!(spent <= CAP, "{spent} of {CAP}");
    assert!(spent >= CAP * 95 / 100, "only {spent} of {CAP}");
    spent
}

/// Waits until the store has what clients saw. `show` reads the owner of the budget.
async fn is_counted(spent: u64, show: impl Fn() -> Value) {
    let seen = async || nanos(&show()["spending"][0]["usedUsd"]) == spent;
    wait_until("the store has what clients saw", TIMEOUT, seen).await;
    let spending = &show()["spending"][0];
    assert!(spent + nanos(&spending["reservedUsd"]) <= CAP, "{spending}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_on_three_nodes_never_exceed_a_budget_and_use_nearly_all_of_it() {
    let cluster = Cluster::start(UNLIMITED).await;
    cluster.all_are_known().await;
    cluster.engine().script(Script { delay_ms: 2, ..uses(90, 50) });
    let app = &cluster.nodes[0];
    let key = app.admin(&format!("keys create --workspace {} --name b --budget day=0.10", app.workspace()));
    let spent = spend(&cluster, &key, &chat_of(2, 50)).await;
    is_counted(spent, || app.admin(&format!("keys show {}", text(&key["id"])))).await;

    let workspace = format!("--workspace {}", app.workspace());
    app.admin(&format!("end-users defaults {workspace} --keep-text true --budget total=0.10"));
    let key = app.admin(&format!("keys create {workspace} --name webui --trusts-end-user"));
    let mut body = chat_of(2, 50);
    body["user"] = json!("ada");
    let spent = spend(&cluster, &key, &body).await;
    let found = || app.admin(&format!("end-users list {workspace}"))["data"][0]["id"].clone();
    is_counted(spent, || app.admin(&format!("end-users show {} {workspace}", text(&found())))).await;
    cluster.remove().await;
}
