//! The lifecycle of replicas as Pods, from scheduling to the removal of their objects.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use testkit::http::Client;
use tokio::task::JoinSet;

use crate::app::BINARY;
use crate::kubernetes::cluster::{Cluster, GPU};
use crate::kubernetes::plant::{Plant, eventually, pod_of};

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn an_endpoint_is_scheduled_serves_and_leaves_nothing_behind() {
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("chat", "acme/real", "h100", json!({"replicas": 1})).await;
    let response = plant.chat("chat").await;
    assert_eq!(response.status_line(), "200 OK", "held until the Pod was ready: {}", response.text());
    assert!(response.text().contains("Tokyo"), "{}", response.text());

    plant.wait_for("chat", "serving", 1).await;
    let replica = plant.live().await.remove(0);
    assert_eq!(replica.node.as_deref(), Some(cluster.nodes[0].name()));
    assert_eq!(replica.gpu_ids, [format!("{}#0", replica.id)]);
    let pod = cluster.pods.get(&pod_of(&replica)).await.unwrap();
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap()[GPU].0, "1");
    assert_eq!(pod.metadata.finalizers, Some(vec!["forebay.dev/hold".to_owned()]));
    assert_eq!(pod.metadata.labels.as_ref().unwrap()["forebay.dev/endpoint-id"], replica.endpoint.to_string());
    let policies: Api<NetworkPolicy> = Api::namespaced(cluster.client(), &cluster.namespace);
    assert_eq!(
        policies.list(&ListParams::default()).await.unwrap().items.len(),
        2,
        "who may call replicas, and what they may reach"
    );

    // Not a blocking call, since this thread also runs the proxy to the API server.
    let mut doctor = tokio::process::Command::new(BINARY);
    doctor.args(["admin", "doctor", "--json", "--config"]).arg(&plant.app.forebay.config).arg("--data-dir");
    let output = doctor.arg(&plant.app.forebay.data_dir).output().await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let levels = |check: &str| -> Vec<&Value> {
        findings.iter().filter(|finding| finding["check"] == check).map(|finding| &finding["level"]).collect()
    };
    assert_eq!(levels("cluster"), ["ok"], "{report}");
    assert!(!levels("engines").contains(&&json!("problem")), "programs of the cluster are not expected here: {report}");

    let open = store::holds::list_open(&plant.store).await.unwrap();
    let scheduled =
        pod.status.unwrap().conditions.unwrap().into_iter().find(|one| one.type_ == "PodScheduled").unwrap();
    let scheduled_at = scheduled.last_transition_time.unwrap().0.as_millisecond();
    // The cluster's times are whole seconds, so this one may lie before the replica was created.
    let expected = scheduled_at.max(replica.created_at.millis());
    assert_eq!(open[0].hold.started_at.millis(), expected, "GPUs are held from the moment of scheduling");

    plant.delete("chat").await;
    assert!(store::holds::list_open(&plant.store).await.unwrap().is_empty());
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn rescaling_under_load_cuts_no_stream() {
    let cluster = Cluster::start(&[2, 1]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("chat", "acme/real", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let load = Load::start(&plant.app.client(), "chat", 3);
    plant.rescale("chat", json!({"replicas": 3})).await;
    plant.wait_for("chat", "serving", 3).await;
    plant.rescale("chat", json!({"replicas": 1})).await;
    eventually("two Pods have gone", async || {
        cluster.pods.list(&ListParams::default()).await.unwrap().items.len() == 1
    })
    .await;
    // Wait for some streams that end on the remaining replica.
    let before = load.complete();
    eventually("streams continue", async || load.complete() >= before + 3).await;
    let complete = load.stop().await;
    assert!(complete >= 6, "only {complete} streams");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn an_endpoint_waits_for_gpus_until_another_is_suspended() {
    let cluster = Cluster::start(&[1]).await;
    let plant = Plant::start(&cluster, "").await;
    plant.create("first", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("first", "serving", 1).await;
    plant.create("second", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for_reason("second", "waiting-for-gpus").await;
    let waiting = plant.endpoint("second").await.unwrap();
    assert!(waiting.message.contains("Insufficient nvidia.com/gpu"), "the scheduler's message: {}", waiting.message);
    assert_eq!(store::holds::list_open(&plant.store).await.unwrap().len(), 1, "a waiting replica holds no GPU");
    plant.suspend("first").await;
    plant.wait_for("second", "serving", 1).await;
    assert_eq!(plant.chat("second").await.status_line(), "200 OK");
    plant.delete("second").await;
    plant.delete("first").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_pod_deleted_by_others_finishes_its_streams_while_another_replaces_it() {
    let cluster = Cluster::start(&[2]).await;
    let plant = Plant::start(&cluster, "drain_timeout = \"120s\"").await;
    plant.create("chat", "acme/real", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let first = plant.live().await.remove(0);
    let long = json!({"model": "dedicated/chat", "messages": [{"role": "user", "content": "Count to a hundred."}],
        "max_tokens": 120, "stream": true});
    let stream = plant.app.open_stream(long).await;
    cluster.pods.delete(&pod_of(&first), &DeleteParams::default()).await.unwrap();
    eventually("another one serves", async || {
        let live = plant.live().await;
        live.iter().any(|one| one.id != first.id && one.ready_at.is_some())
    })
    .await;
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().is_some_and(testkit::http::Event::is_done), "{events:#?}");
    assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    eventually("the first has ended", async || plant.live().await.iter().all(|one| one.id != first.id)).await;
    let all = plant.replicas("chat").await;
    assert_eq!(all.iter().find(|one| one.id == first.id).unwrap().failure, None, "not its fault");
    plant.delete("chat").await;
    cluster.remove().await;
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_restarted_gateway_neither_duplicates_nor_orphans_pods() {
    let cluster = Cluster::start(&[3]).await;
    let mut plant = Plant::start(&cluster, "").await;
    // Restarted while it starts replicas, and again when they serve.
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 2})).await;
    eventually("the first Pod", async || !cluster.has_no_pods().await).await;
    plant.app.forebay.restart().await.unwrap();
    plant.wait_for("chat", "serving", 2).await;
    let before = uids(&cluster).await;
    assert_eq!(before.len(), 2);
    plant.app.forebay.restart().await.unwrap();
    assert_eq!(plant.chat("chat").await.status_line(), "200 OK");
    plant.wait_for("chat", "serving", 2).await;
    assert_eq!(uids(&cluster).await, before, "the same Pods still serve");

    // Restarted while it deletes them: the next process finishes.
    let response = plant.app.client().delete("/endpoints/chat").await;
    assert_eq!(response.status, 202, "{}", response.text());
    plant.app.forebay.restart().await.unwrap();
    eventually("gone", async || plant.endpoint("chat").await.is_none()).await;
    assert!(store::holds::list_open(&plant.store).await.unwrap().is_empty());
    cluster.remove().await;
}

async fn uids(cluster: &Cluster) -> Vec<String> {
    let pods = cluster.pods.list(&ListParams::default()).await.unwrap();
    let mut uids: Vec<String> = pods.items.into_iter().filter_map(|pod| pod.metadata.uid).collect();
    uids.sort();
    uids
}

/// Load of streams, one after another on each connection, until it is stopped.
pub(crate) struct Load {
    workers: JoinSet<()>,
    complete: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Load {
    pub(crate) fn start(client: &Client, name: &str, workers: usize) -> Self {
        let load = Self { workers: JoinSet::new(), complete: Arc::default(), stop: Arc::default() };
        (0..workers).fold(load, |mut load, _| {
            load.add(client.clone(), name);
            load
        })
    }

    fn add(&mut self, client: Client, name: &str) {
        let (complete, stop) = (Arc::clone(&self.complete), Arc::clone(&self.stop));
        let body = json!({"model": format!("dedicated/{name}"), "stream": true, "max_tokens": 32,
            "messages": [{"role": "user", "content": "Tell me about rivers."}]});
        self.workers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let stream = client.open_stream("/chat/completions", body.clone()).await;
                assert_eq!(stream.status, 200);
                let (events, clean) = stream.rest().await;
                assert!(clean && events.last().is_some_and(testkit::http::Event::is_done), "cut: {events:#?}");
                complete.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }

    pub(crate) fn complete(&self) -> usize {
        self.complete.load(Ordering::Relaxed)
    }

    /// Returns the number of complete streams. An incomplete one fails the test.
    pub(crate) async fn stop(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.workers.join_next().await {
            ended.unwrap();
        }
        self.complete()
    }
}
