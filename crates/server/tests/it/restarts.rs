//! Nodes are restarted under a constant stream of new connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use testkit::balancer::Balancer;
use testkit::http::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::{TIMEOUT, TestApp, chat, wait_until};
use crate::postgres::Database;

const RESTARTS: usize = 4;
const CALLERS: usize = 8;
/// New connections keep coming, so a node accepts them for half of this.
const DRAIN_TIMEOUT: &str = "drain_timeout = \"4s\"";
/// Pause of a client that was refused.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Clients that call all the time, at an address that may change.
struct Callers {
    tasks: JoinSet<usize>,
    target: watch::Sender<Option<SocketAddr>>,
}

impl Callers {
    fn start(address: SocketAddr, key: &str) -> Self {
        let (target, mut tasks) = (watch::Sender::new(Some(address)), JoinSet::new());
        for _ in 0..CALLERS {
            tasks.spawn(call(key.to_owned(), target.subscribe()));
        }
        Self { tasks, target }
    }

    /// Stops calling; fails if a call did not get its response.
    async fn finish(self) {
        self.target.send_replace(None);
        let served: usize = self.tasks.join_all().await.into_iter().sum();
        assert!(served >= CALLERS);
    }
}

/// Calls through a new connection each, until there is no target. A node that is away may refuse connections, but one
/// that accepts a connection has to respond. Returns the number of calls.
async fn call(key: String, target: watch::Receiver<Option<SocketAddr>>) -> usize {
    let body = Bytes::from(chat("hi").to_string());
    let mut served = 0;
    loop {
        let Some(address) = *target.borrow() else { return served };
        let client = Client::new(format!("http://{address}/v1")).key(&key);
        match client.try_send(Method::POST, "/chat/completions", body.clone()).await {
            Ok(response) => {
                assert_eq!(response.status_line(), "200 OK", "{}", response.text());
                served += 1;
            }
            Err(error) if is_refused(&error) => tokio::time::sleep(RETRY_DELAY).await,
            Err(error) => panic!("after {served} calls: {error:#}"),
        }
    }
}

fn is_refused(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
}

/// Stops the node with SIGTERM and starts it again.
async fn restart(node: &mut TestApp) {
    node.forebay.child.signal("TERM").unwrap();
    wait_for_end(node).await;
    start_again(node).await;
}

async fn wait_for_end(node: &mut TestApp) {
    let ended = node.forebay.child.wait_for_end(TIMEOUT).await.expect("the process exits");
    assert_eq!(ended.code(), Some(0));
}

async fn start_again(node: &mut TestApp) {
    node.forebay.restart().await.unwrap();
    let ops = Client::new(node.forebay.ops);
    wait_until("ready", TIMEOUT, async || ops.get("/readyz").await.status == 200).await;
}

fn addresses(nodes: &[TestApp]) -> Vec<SocketAddr> {
    nodes.iter().map(|node| node.forebay.public).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_restarts_resets_no_connection() {
    let mut app = TestApp::setup().server(DRAIN_TIMEOUT).start().await;
    let callers = Callers::start(app.forebay.public, &app.key);
    for _ in 0..RESTARTS {
        restart(&mut app).await;
        callers.target.send_replace(Some(app.forebay.public));
    }
    callers.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_while_nodes_behind_a_balancer_are_restarted() {
    let database = Database::migrated().await;
    let setup = || TestApp::setup().store(&database.url).server(DRAIN_TIMEOUT);
    let first = setup().start().await;
    let mut nodes = [setup().start_beside(&first).await, first];
    let balancer = Balancer::start(addresses(&nodes)).await.unwrap();
    let callers = Callers::start(balancer.address, &nodes[1].key);
    for round in 0..RESTARTS {
        let [first, second] = &mut nodes;
        let (node, other) = if round % 2 == 0 { (first, second) } else { (second, first) };
        node.forebay.child.signal("TERM").unwrap();
        // A balancer notices a moment later that the node is not ready.
        let ops = Client::new(node.forebay.ops);
        wait_until("not ready", TIMEOUT, async || {
            let response = ops.try_send(Method::GET, "/readyz", Bytes::new()).await;
            response.map_or(true, |response| response.status == 503)
        })
        .await;
        balancer.set_backends(vec![other.forebay.public]);
        wait_for_end(node).await;
        start_again(node).await;
        balancer.set_backends(addresses(&nodes));
    }
    callers.finish().await;
    drop(nodes);
    database.remove().await;
}
