//! What the operator sees of the cluster: its GPUs, and the logs of Pods.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::app::text;
use crate::console::person::Person;
use crate::kubernetes::cluster::{Cluster, GPU};
use crate::kubernetes::plant::{Plant, eventually};

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn the_operator_sees_free_gpus_of_the_cluster_and_reads_logs_of_pods() {
    let cluster = Cluster::start(&[3]).await;
    let plant = Plant::start(&cluster, "").await;
    let operator = Person::operator(&plant.app).await;
    plant.create("chat", "acme/scripted", "h100", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let gpus = async || {
        let all = operator.read("/api/operator/gpus").await["data"].as_array().unwrap().clone();
        all.into_iter().filter(|gpu| gpu["node"] == cluster.nodes[0].name()).collect::<Vec<Value>>()
    };
    let states = async || {
        let mut states: Vec<String> = gpus().await.iter().map(|gpu| text(&gpu["state"]).to_owned()).collect();
        states.sort();
        states.join(" ")
    };
    eventually("one is held", async || states().await == "held unknown unknown").await;
    let held = gpus().await.into_iter().find(|gpu| gpu["state"] == "held").unwrap();
    assert_eq!((&held["cluster"], &held["holder"]["endpointName"]), (&json!(true), &json!("chat")), "{held}");

    let other = json!({
        "metadata": {"name": "other"},
        "spec": {"nodeName": cluster.nodes[0].name(), "containers": [
            {"name": "other", "image": "missing:test", "resources": {"limits": {GPU: "1"}}}
        ]},
    });
    let other: Pod = serde_json::from_value(other).unwrap();
    cluster.pods.create(&PostParams::default(), &other).await.unwrap();
    cluster.allow_counting_all_pods();
    eventually("Pods of others are counted", async || states().await == "free held other").await;

    let replica = plant.live().await.remove(0).id.to_string();
    let logs = operator.read("/api/operator/logs").await;
    let log = logs["data"].as_array().unwrap().iter().find(|log| log["replicaId"] == replica.as_str()).unwrap();
    let expected = (&Value::Null, &json!(cluster.nodes[0].name()), &json!("chat"));
    assert_eq!((&log["node"], &log["clusterNode"], &log["endpointName"]), expected, "{log}");
    let read = operator.get(&format!("/api/operator/logs/{replica}")).await;
    assert!(read.status == 200 && read.text().contains("listening"), "{}", read.text());

    cluster.pods.delete("other", &DeleteParams::default().grace_period(0)).await.unwrap();
    plant.delete("chat").await;
    cluster.remove().await;
}
