//! Several nodes on one PostgreSQL: one leads, all serve, and the leader sees the calls of all.

use std::time::Duration;

use serde_json::{Value, json};
use store::allotments;
use testkit::http::Response;
use tokio::task::JoinSet;

use super::plant::{Blueprint, Plant, TIMEOUT, chat, endpoint_body, kill};
use crate::app::wait_until;
use crate::endpoints::{committed, exceeded, problem};
use crate::postgres::{Cable, Database};

/// Another node leads within 15 s of a leader's death; the rest is for a busy machine.
const TAKE_OVER: Duration = Duration::from_secs(45);

struct Cluster {
    nodes: Vec<Plant>,
    database: Database,
}

impl Cluster {
    async fn start(count: usize) -> Self {
        let database = Database::migrated().await;
        let first = Blueprint::new(4).store(&database.url).start().await;
        // The first one leads.
        wait_until("a leader", TIMEOUT, async || !leader(&first).await.is_empty()).await;
        let mut nodes = vec![first];
        for _ in 1..count {
            nodes.push(Blueprint::new(4).store(&database.url).start_beside(&nodes[0]).await);
        }
        Self { nodes, database }
    }

    async fn remove(self) {
        drop(self.nodes);
        self.database.remove().await;
    }
}

async fn leader(node: &Plant) -> String {
    store::leader::read(&node.store).await.unwrap().holder
}

/// Streams through one node, each of which lasts until it is dropped.
async fn open_streams(node: &Plant, count: usize) -> Vec<testkit::http::Stream> {
    let mut streams = Vec::new();
    for number in 0..count {
        let mut body = chat("chat", &format!("question {number}"));
        body["stream"] = json!(true);
        body["fake"] = json!({"stall_after": 1});
        streams.push(node.app.open_stream(body).await);
    }
    streams
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_serves_and_a_call_to_any_of_them_wakes_an_endpoint_at_zero() {
    let cluster = Cluster::start(3).await;
    let (first, last) = (&cluster.nodes[0], &cluster.nodes[2]);
    first.create("chat", json!({"minReplicas": 0, "maxReplicas": 1})).await;
    first.wait_for("chat", "serving", 1).await;
    for node in &cluster.nodes {
        assert_eq!(node.chat("chat").await.status, 200);
    }
    first.scale_to_zero("chat").await;
    wait_until("released", TIMEOUT, async || first.open_holds().await == 0).await;
    assert_eq!(leader(first).await, first.node());
    assert_eq!(last.chat("chat").await.status, 200, "the leader sees calls of other nodes");
    let events = first.events(&first.id("chat").await).await;
    let woken: Vec<_> = events.iter().filter(|event| event.reason == "cold-start").map(|one| &one.message).collect();
    assert_eq!(woken, ["0 → 1: 1 held call"]);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_calls_of_all_nodes_scale_an_endpoint_up() {
    let cluster = Cluster::start(3).await;
    let first = &cluster.nodes[0];
    let scaling = json!({"minReplicas": 1, "maxReplicas": 3, "autoscalingTarget": 2, "scaleUpWindowSeconds": 0});
    first.create("chat", scaling).await;
    first.wait_for("chat", "serving", 1).await;
    let (here, there) = (open_streams(&cluster.nodes[1], 3).await, open_streams(&cluster.nodes[2], 2).await);
    let grown = async || first.endpoint("chat").await.is_some_and(|one| one.status.ready == 3);
    wait_until("three replicas for five calls", Duration::from_secs(60), grown).await;
    let events = first.events(&first.id("chat").await).await;
    let scaled = events.iter().filter(|event| event.kind.as_str() == "endpoint.scaled").collect::<Vec<_>>();
    assert!(scaled.iter().all(|event| event.actor.id() == "autoscaler"), "{scaled:#?}");
    let data: Value = serde_json::from_str(&scaled.last().unwrap().data).unwrap();
    assert_eq!((&data["newReplicas"], &data["metric"]), (&json!(3), &json!("concurrency")));
    let seen = first.endpoint("chat").await.unwrap().last_request_at;
    assert!(seen.is_some(), "the record includes calls of other nodes");
    drop((here, there));
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_takes_over_and_manages_the_replicas_of_the_dead_one() {
    let mut cluster = Cluster::start(2).await;
    cluster.nodes[0].create("chat", json!({"replicas": 1})).await;
    cluster.nodes[0].wait_for("chat", "serving", 1).await;
    let first = cluster.nodes[0].live().await.remove(0);
    let pid = cluster.nodes[0].pid_of(&first);
    cluster.nodes[0].app.forebay.child.kill();
    let other = &cluster.nodes[1];
    assert_eq!(other.chat("chat").await.status, 200, "replicas outlive their gateway");
    let name = other.node();
    wait_until("another leader", TAKE_OVER, async || leader(other).await == name).await;
    other.patch("chat", json!({"replicas": 2})).await;
    other.wait_for("chat", "serving", 2).await;
    let live = other.live().await;
    assert_eq!((live[0].id.clone(), cluster.nodes[0].pid_of(&first)), (first.id, pid), "the old one keeps serving");
    assert_eq!((cluster.nodes[0].running().len(), other.running().len()), (1, 1));
    assert_eq!(other.holds(&first.endpoint).await.len(), 2, "no hold was interrupted");

    // It stops the replicas that the dead node started.
    other.suspend("chat").await;
    wait_until("released", TIMEOUT, async || other.open_holds().await == 0).await;
    assert_eq!((cluster.nodes[0].running().len(), other.running().len()), (0, 0));
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_paused_finds_another_leader_and_duplicates_nothing() {
    let cluster = Cluster::start(2).await;
    let [old, new] = &cluster.nodes[..] else { panic!("two nodes") };
    old.create("chat", json!({"replicas": 1})).await;
    old.wait_for("chat", "serving", 1).await;
    let gateway = old.app.forebay.child.pid();
    kill(gateway, "STOP");
    let name = new.node();
    wait_until("another leader", TAKE_OVER, async || leader(new).await == name).await;
    let epoch = store::leader::read(&new.store).await.unwrap().epoch;
    new.patch("chat", json!({"replicas": 2})).await;
    kill(gateway, "CONT");
    // Both believe for a moment that they lead; the old one's writes are rejected.
    new.wait_for("chat", "serving", 2).await;
    let again = old.client().get("/endpoints/chat").await;
    assert_eq!(again.json()["status"]["ready"], 2, "it follows the rows again");
    let lease = store::leader::read(&new.store).await.unwrap();
    assert_eq!((lease.holder, lease.epoch), (name, epoch));
    let mut running = old.running();
    running.extend(new.running());
    let live = new.live().await;
    let ids: Vec<String> = live.iter().map(|replica| replica.id.to_string()).collect();
    assert_eq!(running.into_iter().collect::<Vec<_>>(), ids);
    assert_eq!((new.replicas(&live[0].endpoint).await.len(), new.open_holds().await), (2, 2));
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_shuts_down_is_succeeded_at_once_and_its_replicas_keep_serving() {
    let mut cluster = Cluster::start(2).await;
    cluster.nodes[0].create("chat", json!({"replicas": 1})).await;
    cluster.nodes[0].wait_for("chat", "serving", 1).await;
    let child = &mut cluster.nodes[0].app.forebay.child;
    child.signal("TERM").unwrap();
    assert!(child.wait_for_end(TIMEOUT).await.unwrap().success());
    let other = &cluster.nodes[1];
    let left = store::endpoint_loads::list(&other.store).await.unwrap();
    assert!(left.iter().all(|report| report.node == other.node()), "{left:?}");
    let name = other.node();
    wait_until("another leader", TIMEOUT, async || leader(other).await == name).await;
    assert_eq!(other.chat("chat").await.status, 200);
    other.delete("chat").await;
    assert_eq!(cluster.nodes[0].running().len(), 0);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_concurrent_creates_on_three_nodes_commit_exactly_the_cap() {
    let cluster = Cluster::start(3).await;
    let first = &cluster.nodes[0];
    let bootstrap = first.app.forebay.bootstrap();
    let organization = bootstrap["organizationId"].as_str().unwrap();
    first.app.admin(&format!("allotments set --organization {organization} --gpu-type local/cpu --gpus 10"));
    let mut creates = JoinSet::new();
    for number in 0..50 {
        let client = cluster.nodes[number % 3].client();
        creates.spawn(async move {
            loop {
                let response =
                    client.post_json("/endpoints", endpoint_body(&format!("e{number}"), json!({"replicas": 1}))).await;
                if response.status != 503 {
                    return response;
                }
                // The lock timeout is two seconds, which fifty queued requests may exceed on a busy machine; so may lookups
                // of keys.
                let code = problem(&response);
                assert!(
                    ["503 GPU_ALLOTMENT_UNAVAILABLE", "503 DATABASE_UNAVAILABLE"].contains(&code.as_str()),
                    "{code}"
                );
            }
        });
    }
    let responses = creates.join_all().await;
    let (made, rejected): (Vec<&Response>, Vec<&Response>) =
        responses.iter().partition(|response| response.status == 201);
    assert_eq!((made.len(), rejected.len()), (10, 40));
    for response in rejected {
        let [allotment, committed, projected, need] = exceeded(response);
        assert_eq!((allotment, projected, need), (10, committed + 1, committed + 1 - 10));
    }
    assert_eq!(committed(&first.client()).await, 10);
    assert_eq!(control::endpoints::find_differences(&first.store).await.unwrap(), []);
    cluster.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_or_unreachable_ledger_is_unavailable_without_numbers() {
    let database = Database::migrated().await;
    let cable = Cable::to(&database).await;
    let plant = Blueprint::new(1).store(&cable.url).start().await;
    let client = plant.client();
    plant.create("chat", json!({"replicas": 1})).await;

    let organization = domain::OrganizationId::parse(plant.app.forebay.bootstrap()["organizationId"].as_str().unwrap());
    let mut holder = plant.store.begin_ledger().await.unwrap();
    let gpu_type = domain::GpuType::parse("local/cpu").unwrap();
    allotments::lock(&mut holder, &organization.unwrap(), &gpu_type, &Default::default()).await.unwrap();
    let unavailable = |response: &Response| {
        assert_eq!(problem(response), "503 GPU_ALLOTMENT_UNAVAILABLE");
        assert_eq!(response.header("retry-after"), Some("2"));
        assert_eq!(response.json()["extensions"], json!({"code": "GPU_ALLOTMENT_UNAVAILABLE"}));
    };
    unavailable(&client.post_json("/endpoints", endpoint_body("more", json!({"replicas": 1}))).await);
    unavailable(&client.send_json(http::Method::PATCH, "/endpoints/chat", json!({"replicas": 2})).await);
    let model = "acme%2Fown";
    for path in ["/endpoints", "/endpoints/chat", &format!("/endpoints/flavors?model={model}")] {
        assert_eq!(client.get(path).await.status, 200, "{path} needs no lock");
    }
    plant.suspend("chat").await;
    unavailable(&client.post_json("/endpoints/chat/resume", json!({})).await);
    assert_eq!(client.delete("/endpoints/chat").await.status, 202);
    drop(holder);

    cable.cut();
    unavailable(&client.post_json("/endpoints", endpoint_body("more", json!({"replicas": 1}))).await);
    for (method, path) in [("GET", "/endpoints"), ("GET", "/endpoints/chat"), ("DELETE", "/endpoints/chat")] {
        let response = client.send(method.parse().unwrap(), path, bytes::Bytes::new()).await;
        assert_eq!(problem(&response), "503 DATABASE_UNAVAILABLE", "{method} {path}");
    }
    cable.restore();
    let unknown = plant.app.new_key("unknown");
    cable.cut();
    let unknown = plant.app.client_with(unknown["key"].as_str().unwrap());
    let response = unknown.post_json("/endpoints", endpoint_body("more", json!({"replicas": 1}))).await;
    assert_eq!(problem(&response), "503 DATABASE_UNAVAILABLE", "the caller cannot be authenticated either");
    cable.restore();
    drop(plant);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_idempotency_key_is_in_use_is_rejected() {
    let cluster = Cluster::start(1).await;
    let plant = &cluster.nodes[0];
    let workspace = plant.app.workspace();
    let mut first = plant.store.begin().await.unwrap();
    let request = store::idempotency::Request { workspace: &workspace, key: "busy", fingerprint: "x" };
    store::idempotency::claim(&mut first, request, domain::Timestamp::from_millis(i64::MAX / 2)).await.unwrap();
    let keyed = plant.client().header("idempotency-key", "busy");
    let response = keyed.post_json("/endpoints", endpoint_body("chat", json!({"replicas": 1}))).await;
    assert_eq!(problem(&response), "409 IDEMPOTENCY_IN_PROGRESS");
    drop(first);
    assert_eq!(keyed.post_json("/endpoints", endpoint_body("chat", json!({"replicas": 1}))).await.status, 201);
    cluster.remove().await;
}
