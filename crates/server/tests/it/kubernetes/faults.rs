//! Faults of a cluster, and how endpoints recover from them.

use kube::api::ListParams;
use serde_json::json;
use std::time::{Duration, Instant};

use crate::app::TestApp;
use crate::kubernetes::cluster::Cluster;
use crate::kubernetes::plant::{Plant, eventually, models, pod_of};

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn the_replica_of_a_lost_node_starts_elsewhere() {
    let cluster = Cluster::start(&[1, 1, 1]).await;
    let plant = Plant::start(&cluster, "node_lost_after = \"2s\"").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let lost = plant.live().await.remove(0);
    cluster.node_of(&pod_of(&lost)).await.die();
    // The cluster still considers the node ready, but the gateway cannot reach it.
    for _ in 0..20 {
        assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    }
    eventually("given up", async || plant.live().await.iter().all(|one| one.id != lost.id)).await;
    plant.wait_for("chat", "serving", 2).await;
    let all = plant.replicas("chat").await;
    let given_up = all.iter().find(|one| one.id == lost.id).unwrap();
    assert_eq!(given_up.failure.map(|class| class.as_str()), Some("node-lost"));
    assert!(plant.live().await.iter().all(|one| one.node != lost.node));
    let names = cluster.pod_names().await;
    assert!(!names.contains(&pod_of(&lost)), "its Pod object is removed: {names:?}");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_node_that_recovers_in_time_keeps_its_replica() {
    let cluster = Cluster::start(&[1]).await;
    let plant = Plant::start(&cluster, "node_lost_after = \"1h\"").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let before = plant.live().await.remove(0);
    cluster.nodes[0].go_silent();
    eventually("the Pod is not ready", async || !cluster.is_ready_pod(&pod_of(&before)).await).await;
    cluster.nodes[0].come_back();
    eventually("its Pod is ready again", async || cluster.is_ready_pod(&pod_of(&before)).await).await;
    eventually("it serves", async || plant.chat("chat").await.status == 200).await;
    let live = plant.live().await;
    assert!(live.len() == 1 && live[0].id == before.id, "it was not given up: {live:?}");
    let open = store::holds::list_open(&plant.store).await.unwrap();
    assert!(open.len() == 1 && open[0].replica == before.id, "its GPUs are held throughout: {open:?}");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_pod_that_is_not_ready_gets_no_calls() {
    const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "").await;
    // The built-in engine has a health route; of custom servers only the port is probed, which a frozen one still accepts.
    plant.create("chat", "acme/real", "h100", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let stuck = pod_of(&plant.live().await[0]);
    cluster.nodes[0].freeze(&stuck);
    eventually("its probe fails", async || !cluster.is_ready_pod(&stuck).await).await;
    // Its port still accepts connections, so a call sent there would hang.
    eventually("all calls go elsewhere", async || {
        for _ in 0..6 {
            let response = tokio::time::timeout(RESPONSE_TIMEOUT, plant.chat("chat")).await;
            if !response.is_ok_and(|response| response.status == 200) {
                return false;
            }
        }
        true
    })
    .await;
    cluster.nodes[0].thaw(&stuck);
    eventually("it is ready again", async || cluster.is_ready_pod(&stuck).await).await;
    plant.wait_for("chat", "serving", 2).await;
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn permanent_failures_fail_the_endpoint_with_their_reason() {
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
    assert!(image.message.contains("missing:test"), "the kubelet's message: {}", image.message);
    assert!(weights.message.contains("nothing/here.gguf"), "the engine's message: {}", weights.message);
    let tried = plant.replicas("weights").await;
    assert_eq!(tried.len(), 3, "{tried:#?}");
    assert!(tried.iter().all(|one| one.log_tail.contains("nothing/here.gguf")), "{:?}", tried[0].log_tail);
    plant.delete("image").await;
    plant.delete("weights").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_failure_is_classified_without_access_to_the_log() {
    let cluster = Cluster::start(&[1]).await;
    let plant = Plant::start(&cluster, "").await;
    cluster.nodes[0].withhold_logs();
    plant.create("weights", "acme/real", "no-weights", json!({"replicas": 1})).await;
    let ended = async || plant.replicas("weights").await.into_iter().find(|one| one.failure.is_some());
    eventually("the first attempt ended", async || ended().await.is_some()).await;
    let first = ended().await.unwrap();
    assert_eq!(first.failure.map(|class| class.as_str()), Some("weights-missing"));
    assert!(first.log_tail.contains("nothing/here.gguf"), "{:?}", first.log_tail);
    plant.delete("weights").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn an_endpoint_suspended_before_its_engine_ran_leaves_nothing_behind() {
    let cluster = Cluster::start(&[2]).await;
    let fetch = "[drivers.kubernetes.weights]\nfetch_image = \"hub:test\"\nfetch = [\"sleep\", \"600\"]";
    let tables = cluster.configuration("").replace("[drivers.kubernetes.weights]", fetch);
    let plant = Plant::of(TestApp::setup().table(&tables).table(&models()).start().await).await;
    cluster.nodes[0].lose_image("missing:test");
    plant.create("image", "acme/scripted", "no-image", json!({"replicas": 1})).await;
    plant.create("weights", "acme/scripted", "slow-weights", json!({"replicas": 1})).await;
    let some_status_has = async |what: &str| {
        let pods = cluster.pods.list(&ListParams::default()).await.unwrap();
        pods.iter().any(|pod| serde_json::to_string(&pod.status).unwrap().contains(what))
    };
    eventually("an image that cannot be pulled", async || {
        some_status_has("ErrImagePull").await || some_status_has("ImagePullBackOff").await
    })
    .await;
    eventually("weights being downloaded", async || some_status_has("\"running\"").await).await;
    eventually("two holds", async || store::holds::list_open(&plant.store).await.unwrap().len() == 2).await;
    plant.suspend("image").await;
    plant.suspend("weights").await;
    eventually("no Pod is left", async || cluster.has_no_pods().await).await;
    eventually("no hold is open", async || store::holds::list_open(&plant.store).await.unwrap().is_empty()).await;
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
    eventually("recorded", async || {
        let all = plant.replicas("chat").await;
        all.iter().any(|one| one.id == first.id && one.failure.is_some_and(|class| class.as_str() == "out-of-memory"))
    })
    .await;
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn serving_continues_during_an_outage_of_the_api_server() {
    const OUTAGE: Duration = Duration::from_secs(20);
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let before = plant.live().await;
    cluster.api.cut();
    plant.rescale("chat", json!({"replicas": 2})).await;
    let cut_at = Instant::now();
    while cut_at.elapsed() < OUTAGE {
        assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let open = store::holds::list_open(&plant.store).await.unwrap();
    assert!(open.len() == 1 && open[0].replica == before[0].id, "no replica was given up: {open:?}");
    cluster.api.restore();
    plant.wait_for("chat", "serving", 2).await;
    assert!(plant.live().await.iter().any(|one| one.id == before[0].id), "the first replica still serves");
    plant.delete("chat").await;
    cluster.remove().await;
}
