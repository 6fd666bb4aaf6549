//! Three gateways on one PostgreSQL, one Redis and one cluster, behind a plain TCP balancer.

use domain::leadership;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::balancer::Balancer;
use testkit::http::Client;

use crate::console::person::{Person, browser};
use crate::kubernetes::cluster::Cluster;
use crate::kubernetes::plant::{Plant, ask, eventually};
use crate::kubernetes::replicas::Load;
use crate::postgres::Database;
use crate::redis::Redis;

/// Longer than any stream here, so that none is cut.
const DRAIN_TIMEOUT: &str = "drain_timeout = \"60s\"";

/// The documented limit, which the durations of the term must satisfy.
const ANOTHER_LEADS_WITHIN: Duration = Duration::from_secs(15);
const _: () = assert!(leadership::TERM.as_secs() + 2 * leadership::LOOK_EVERY.as_secs() <= 15);
/// Tolerance for a machine that is busy with other tests.
const BUSY_MACHINE: Duration = Duration::from_secs(5);

/// The leader's epoch, and when it was last renewed by the store's clock, which is this machine's.
#[derive(Debug, Clone, Copy)]
struct Term {
    epoch: i64,
    renewed_at: Duration,
}

struct ThreeNodes {
    nodes: Vec<Plant>,
    balancer: Balancer,
    cluster: Cluster,
    _redis: Redis,
    database: Database,
}

impl ThreeNodes {
    async fn start(gpus: &[u32]) -> Self {
        let (cluster, database, redis) = (Cluster::start(gpus).await, Database::migrated().await, Redis::start().await);
        let limits = format!("[limits]\nurl = \"{}\"\ntimeout = \"10s\"", redis.url());
        let setup = || Plant::setup(&cluster, "").store(&database.url).table(&limits).server(DRAIN_TIMEOUT);
        let first = setup().start().await;
        let (second, third) = tokio::join!(setup().start_beside(&first), setup().start_beside(&first));
        let key = first.key.clone();
        let mut nodes = Vec::new();
        for mut app in [first, second, third] {
            app.key.clone_from(&key);
            nodes.push(Plant::of(app).await);
        }
        let balancer = Balancer::start(addresses(&nodes)).await.unwrap();
        Self { nodes, balancer, cluster, _redis: redis, database }
    }

    /// A client of the balancer, which does not choose a node.
    fn client(&self) -> Client {
        Client::new(format!("http://{}/v1", self.balancer.address)).key(&self.nodes[0].app.key)
    }

    /// Index of the leader.
    async fn leader(&self) -> Option<usize> {
        let holder = store::leader::read(&self.nodes[0].store).await.unwrap().holder;
        let id = |plant: &Plant| std::fs::read_to_string(plant.app.forebay.data_dir.join("node-id")).unwrap();
        self.nodes.iter().position(|plant| id(plant).trim() == holder)
    }

    async fn term(&self) -> Term {
        let mut connection = PgConnection::connect(&self.database.url).await.unwrap();
        let query = sqlx::query_as("SELECT epoch, renewed_at FROM leader WHERE name = 'control'");
        let (epoch, renewed_at): (i64, i64) = query.fetch_one(&mut connection).await.unwrap();
        Term { epoch, renewed_at: Duration::from_millis(renewed_at.try_into().unwrap()) }
    }

    async fn remove(self) {
        // The leader removes the last Pods after their rows.
        eventually("no Pod is left", async || self.cluster.has_no_pods().await).await;
        drop(self.nodes);
        self.cluster.remove().await;
        self.database.remove().await;
    }
}

fn addresses(nodes: &[Plant]) -> Vec<SocketAddr> {
    nodes.iter().map(|plant| plant.app.forebay.public).collect()
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn changes_made_at_one_node_reach_all_nodes() {
    let three = ThreeNodes::start(&[2]).await;
    let client = three.client();
    let body = json!({"name": "chat", "model": "acme/scripted", "flavor": "h100", "replicas": 1});
    assert_eq!(client.post_json("/endpoints", body).await.status, 201);
    three.nodes[0].wait_for("chat", "serving", 1).await;
    for node in &three.nodes {
        assert_eq!(node.chat("chat").await.status_line(), "200 OK");
        let listed = node.app.client().get("/endpoints").await.json();
        assert_eq!(listed["data"][0]["name"], "chat");
        let ledger = node.app.client().get("/endpoints/allotments").await.json();
        assert_eq!(ledger["data"][0]["committed"], 1, "{ledger}");
    }

    // A key created at one node works at all of them, until another node revokes it.
    let workspace = three.nodes[0].app.workspace();
    let created = three.nodes[1].app.admin(&format!("keys create --workspace {workspace} --name second"));
    let key = created["key"].as_str().unwrap_or_else(|| panic!("{created}"));
    for node in &three.nodes {
        assert_eq!(node.app.client_with(key).get("/models").await.status, 200);
    }
    let id = created["id"].as_str().unwrap_or_else(|| panic!("{created}"));
    three.nodes[2].app.admin(&format!("keys revoke --workspace {workspace} --key {id}"));
    for node in &three.nodes {
        eventually("revoked", async || node.app.client_with(key).get("/models").await.status == 401).await;
    }

    // A session of one node is valid at the others, in the playground too.
    let person = Person::operator(&three.nodes[0].app).await;
    for node in &three.nodes {
        let session = browser(&node.app).header("cookie", &person.cookie).get("/api/session").await;
        assert_eq!(session.status, 200, "{}", session.text());
        let playground = node.app.stranger().header("cookie", &person.cookie).header("x-csrf-token", &person.csrf);
        let playground = playground.header("x-workspace-id", workspace.as_str());
        assert_eq!(ask(&playground, "chat").await.status_line(), "200 OK");
    }
    three.nodes[1].delete("chat").await;
    three.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn when_the_leader_is_killed_another_continues_and_starts_nothing_twice() {
    let mut three = ThreeNodes::start(&[2, 2]).await;
    eventually("a node leads", async || three.leader().await.is_some()).await;
    let leader = three.leader().await.unwrap();
    let other = (leader + 1) % 3;
    // Killed while it starts them.
    three.nodes[other].create("chat", "acme/scripted", "h100", json!({"replicas": 3})).await;
    eventually("the first Pod", async || !three.cluster.has_no_pods().await).await;
    let before = three.term().await;
    let killed_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    three.nodes[leader].app.forebay.child.kill();
    let gone = three.nodes.remove(leader);
    three.balancer.set_backends(addresses(&three.nodes));
    let mut term = before;
    eventually("another one leads", async || {
        term = three.term().await;
        term.epoch > before.epoch
    })
    .await;
    let passed = term.renewed_at.saturating_sub(killed_at);
    assert!(passed <= ANOTHER_LEADS_WITHIN + BUSY_MACHINE, "another one led only after {passed:?}");
    three.nodes[0].wait_for("chat", "serving", 3).await;
    assert!(three.leader().await.is_some(), "one of the remaining nodes leads");
    assert_eq!(three.nodes[0].replicas("chat").await.len(), 3, "nothing was started twice");
    assert_eq!(three.cluster.pod_names().await.len(), 3);
    for node in &three.nodes {
        assert_eq!(ask(&node.app.client(), "chat").await.status_line(), "200 OK");
    }
    three.nodes[0].delete("chat").await;
    drop(gone);
    three.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_rolling_restart_under_load_drops_no_request_and_cuts_no_stream() {
    let mut three = ThreeNodes::start(&[2]).await;
    three.nodes[0].create("chat", "acme/real", "h100", json!({"replicas": 1})).await;
    three.nodes[0].wait_for("chat", "serving", 1).await;
    let load = Load::start(&three.client(), "chat", 4);
    for number in 0..3 {
        // As when a Pod terminates: first no new connections, then SIGTERM.
        let rest = three.nodes.iter().enumerate().filter(|(other, _)| *other != number);
        three.balancer.set_backends(rest.map(|(_, plant)| plant.app.forebay.public).collect());
        let forebay = &mut three.nodes[number].app.forebay;
        forebay.child.signal("TERM").unwrap();
        let ended = forebay.child.wait_for_end(Duration::from_secs(60)).await;
        assert!(ended.is_some_and(|status| status.success()), "{}", forebay.child.stderr());
        forebay.restart().await.unwrap();
        three.balancer.set_backends(addresses(&three.nodes));
        let before = load.complete();
        eventually("streams continue", async || load.complete() >= before + 2).await;
    }
    assert!(load.stop().await >= 6);
    three.nodes[0].delete("chat").await;
    three.remove().await;
}
