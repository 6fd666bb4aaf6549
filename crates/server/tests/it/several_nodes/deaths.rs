//! Killed nodes: served calls are billed once, and leases are released once their use is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Method;
use testkit::fake_engine::Script;
use testkit::http::Client;
use tokio::task::JoinSet;

use super::{Cluster, Limits, UNLIMITED, chat_of};
use crate::app::{TIMEOUT, stream, wait_until};
use crate::nodes::FEED_RUNS;

/// Makes streamed and other calls until `stop` is set. Returns the ids of complete responses.
async fn call_until(client: Client, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut whole = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let body = Bytes::from(chat_of(2, 50).to_string());
        if let Ok(response) = client.try_send(Method::POST, "/chat/completions", body).await
            && response.status == 200
        {
            whole.push(response.header("x-request-id").unwrap().to_owned());
        }
        let body = Bytes::from(stream("hi").to_string());
        if let Ok(stream) = client.try_open_stream("/chat/completions", body).await
            && stream.status == 200
        {
            let id = stream.headers["x-request-id"].to_str().unwrap().to_owned();
            let (events, _) = stream.rest().await;
            whole.extend(events.last().is_some_and(|last| last.is_done()).then_some(id));
        }
        // A dead node refuses connections at once: avoid a tight loop.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_killed_under_load_loses_no_response_and_bills_none_twice() {
    let mut cluster = Cluster::start(UNLIMITED).await;
    cluster.engine().script(Script { chunks: 20, chunk_delay_ms: 2, ..Script::default() });
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for client in 0..9 {
        clients.spawn(call_until(cluster.client(client), Arc::clone(&stop)));
    }
    let served = async || cluster.engine().calls().len();
    wait_until("under load", TIMEOUT, async || served().await > 60).await;
    cluster.nodes[2].forebay.child.kill();
    let before = cluster.engine().calls().len();
    wait_until("the others keep serving", TIMEOUT, async || cluster.engine().calls().len() > before + 60).await;
    stop.store(true, Ordering::Relaxed);
    let whole: Vec<String> = clients.join_all().await.into_iter().flatten().collect();
    cluster.nodes[2].forebay.restart().await.unwrap();

    let store = cluster.nodes[0].store().await;
    let workspace = cluster.nodes[0].workspace();
    let known = async || store::usage::list(&store, &workspace, 1_000).await.unwrap();
    wait_until("every response is charged", TIMEOUT, async || {
        let events = known().await;
        whole.iter().all(|id| events.iter().any(|event| event.request.as_str() == id))
    })
    .await;
    wait_until("the journals are empty", TIMEOUT, async || {
        let mut waiting = 0;
        for node in 0..3 {
            waiting += cluster.gauge(node, "forebay_journal_waiting_bytes").await;
        }
        waiting == 0
    })
    .await;
    let events = known().await;
    assert!(events.len() <= cluster.engine().calls().len(), "no call is billed twice");
    cluster.events(events.len()).await;
    cluster.remove().await;
}

/// A cluster in which only the last node holds a lease.
async fn with_a_lease_on_the_last_node() -> Cluster {
    let cluster = Cluster::start(Limits { monthly_tokens: 1_000_000, ..UNLIMITED }).await;
    // A node gives back its leases once, when it starts to listen for changes.
    tokio::time::sleep(FEED_RUNS).await;
    assert_eq!(cluster.ask(2, chat_of(2, 50)).await.status, 200);
    cluster.events(1).await;
    assert!(cluster.account().await.reserved > 0, "only the last node has served, and has a lease");
    cluster
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lease_of_a_killed_node_stays_reserved_until_its_journal_is_replayed() {
    let mut cluster = with_a_lease_on_the_last_node().await;
    cluster.engine().push(Script { chunks: 1_500, stall_after: Some(600), ..Script::default() });
    let mut open = cluster.nodes[2].open_stream(stream("long")).await;
    for _ in 0..590 {
        open.next_event().await.unwrap();
    }
    let leased = cluster.account().await.reserved;
    cluster.nodes[2].forebay.child.kill();
    assert_eq!(cluster.ask(0, chat_of(2, 50)).await.status, 200, "the others keep serving");
    cluster.events(2).await;
    let before = cluster.account().await;
    assert!(before.reserved >= leased, "{before:?}: what the dead node may have used stays reserved");

    cluster.nodes[2].forebay.restart().await.unwrap();
    let events = cluster.events(3).await;
    let cut = events.iter().find(|event| event.code == "interrupted").unwrap();
    assert_eq!(cut.tokens.completion, 512, "billed up to its last mark");
    wait_until("released", TIMEOUT, async || {
        let account = cluster.account().await;
        account.reserved <= before.reserved - leased && account.used == before.used + cut.tokens.total()
    })
    .await;
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_a_dead_node_releases_its_lease() {
    let mut cluster = with_a_lease_on_the_last_node().await;
    let id = std::fs::read_to_string(cluster.nodes[2].forebay.data_dir.join("node-id")).unwrap();
    cluster.nodes[2].forebay.child.kill();
    cluster.nodes[0].admin(&format!("nodes forget {id}"));
    assert_eq!(cluster.account().await.reserved, 0);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_shutdown_leaves_nothing_reserved() {
    let mut cluster = Cluster::start(Limits { monthly_tokens: 30_000, ..UNLIMITED }).await;
    for node in 0..3 {
        assert_eq!(cluster.ask(node, chat_of(2, 50)).await.status, 200);
        let child = &mut cluster.nodes[node].forebay.child;
        child.signal("TERM").unwrap();
        assert!(child.wait_for_end(TIMEOUT).await.unwrap().success());
    }
    cluster.events(3).await;
    assert_eq!(cluster.account().await.reserved, 0);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_without_postgresql_releases_its_lease_at_its_next_start() {
    let mut cluster = with_a_lease_on_the_last_node().await;
    cluster.cable.cut();
    let child = &mut cluster.nodes[2].forebay.child;
    child.signal("TERM").unwrap();
    assert!(child.wait_for_end(TIMEOUT).await.unwrap().success());
    cluster.cable.restore();
    assert!(cluster.account().await.reserved > 0, "the store could not be reached");
    cluster.nodes[2].forebay.restart().await.unwrap();
    wait_until("released", TIMEOUT, async || cluster.account().await.reserved == 0).await;
    cluster.remove().await;
}
