//! What goes wrong in a cluster, and what becomes of endpoints then.

use serde_json::json;
use std::time::{Duration, Instant};

use crate::kubernetes::cluster::Cluster;
use crate::kubernetes::plant::{Plant, eventually, pod_of};

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_node_that_is_lost_is_given_up_and_its_replica_starts_elsewhere() {
    let cluster = Cluster::start(&[1, 1, 1]).await;
    let plant = Plant::start(&cluster, "node_lost_after = \"2s\"").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let lost = plant.live().await.remove(0);
    cluster.node_of(&pod_of(&lost)).await.die();
    // The cluster still takes the node for well; whoever cannot reach it does not.
    for _ in 0..20 {
        assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    }
    eventually("given up", async || plant.live().await.iter().all(|one| one.id != lost.id)).await;
    plant.wait_for("chat", "serving", 2).await;
    let all = plant.replicas("chat").await;
    let given_up = all.iter().find(|one| one.id == lost.id).unwrap();
    assert_eq!(given_up.ending.map(|ending| ending.as_str()), Some("node-lost"));
    assert!(plant.live().await.iter().all(|one| one.node != lost.node));
    let names = cluster.pod_names().await;
    assert!(!names.contains(&pod_of(&lost)), "its object is not left behind: {names:?}");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn what_no_attempt_can_mend_fails_the_endpoint_with_its_reason() {
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "image_patience = \"1s\"").await;
    cluster.nodes[0].lose_image("missing:test");
    plant.create("image", "acme/scripted", "no-image", json!({"replicas": 1})).await;
    plant.create("weights", "acme/real", "no-weights", json!({"replicas": 1})).await;
    // Three attempts each, with pauses of 10 and 20 seconds between them.
    plant.wait_for("image", "failed", 0).await;
    plant.wait_for("weights", "failed", 0).await;
    let (image, weights) = (plant.endpoint("image").await.unwrap(), plant.endpoint("weights").await.unwrap());
    assert_eq!((image.reason.as_str(), weights.reason.as_str()), ("image-missing", "weights-missing"));
    assert!(image.message.contains("missing:test"), "the kubelet's own words: {}", image.message);
    assert!(weights.message.contains("nothing/here.gguf"), "the engine's own words: {}", weights.message);
    let tried = plant.replicas("weights").await;
    assert_eq!(tried.len(), 3);
    assert!(tried.iter().all(|one| one.log_tail.contains("nothing/here.gguf")), "{:?}", tried[0].log_tail);
    plant.delete("image").await;
    plant.delete("weights").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_replica_out_of_memory_is_replaced() {
    let cluster = Cluster::start(&[1]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let first = plant.live().await.remove(0);
    cluster.nodes[0].run_out_of_memory(&pod_of(&first));
    eventually("noted", async || {
        let all = plant.replicas("chat").await;
        all.iter().any(|one| one.id == first.id && one.ending.is_some_and(|ending| ending.as_str() == "out-of-memory"))
    })
    .await;
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn serving_goes_on_while_the_api_server_is_away() {
    const AWAY: Duration = Duration::from_secs(20);
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let before = plant.live().await;
    cluster.api.cut();
    plant.rescale("chat", json!({"replicas": 2})).await;
    let cut_at = Instant::now();
    while cut_at.elapsed() < AWAY {
        assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let open = store::holds::list_open(&plant.store).await.unwrap();
    assert!(open.len() == 1 && open[0].replica == before[0].id, "nothing was given up: {open:?}");
    cluster.api.mend();
    plant.wait_for("chat", "serving", 2).await;
    assert!(plant.live().await.iter().any(|one| one.id == before[0].id), "and the first one serves on");
    plant.delete("chat").await;
    cluster.remove().await;
}
