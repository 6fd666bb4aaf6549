//! Nodes are restarted one after another under a constant stream of new connections.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Method;
use testkit::balancer::Balancer;
use testkit::http::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::{TIMEOUT, TestApp, chat, wait_until};
use crate::postgres::Database;

const RESTARTS: usize = 6;
const CALLERS: usize = 8;

fn addresses(nodes: &[TestApp]) -> Vec<SocketAddr> {
    nodes.iter().map(|node| node.forebay.public).collect()
}

/// Calls through a new connection each, until `stop` is set. Returns how many.
async fn call(client: Client, stop: watch::Receiver<bool>) -> usize {
    let body = Bytes::from(chat("hi").to_string());
    let mut served = 0;
    while !*stop.borrow() {
        let response = client.try_send(Method::POST, "/chat/completions", body.clone()).await;
        let response = response.unwrap_or_else(|error| panic!("after {served} calls: {error:#}"));
        assert_eq!(response.status_line(), "200 OK", "{}", response.text());
        served += 1;
    }
    served
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_while_nodes_are_restarted_one_after_another() {
    let database = Database::create().await;
    // New connections keep coming, so a node accepts them for half of this.
    let setup = || TestApp::setup().store(&database.url).server("drain_timeout = \"3s\"");
    let first = setup().start().await;
    let (second, key) = (setup().start_beside(&first).await, first.key.clone());
    let mut nodes = [first, second];
    let balancer = Balancer::start(addresses(&nodes)).await.unwrap();
    let (stop, stopping) = watch::channel(false);
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let client = Client::new(format!("http://{}/v1", balancer.address)).key(&key);
        callers.spawn(call(client, stopping.clone()));
    }
    for restart in 0..RESTARTS {
        let node = &mut nodes[restart % 2].forebay;
        node.child.signal("TERM").unwrap();
        let ended = node.child.wait_for_end(TIMEOUT).await.expect("the process exits");
        assert_eq!(ended.code(), Some(0));
        node.restart().await.unwrap();
        let ops = Client::new(node.ops);
        wait_until("ready", TIMEOUT, async || ops.get("/readyz").await.status == 200).await;
        balancer.set_backends(addresses(&nodes));
    }
    stop.send_replace(true);
    let served: usize = callers.join_all().await.into_iter().sum();
    assert!(served >= CALLERS);
    drop(nodes);
    database.remove().await;
}
