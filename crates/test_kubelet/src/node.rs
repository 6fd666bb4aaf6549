//! The node object and its heartbeat.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::Shared;

/// Well below the grace period of the tests' controller manager.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
const MANAGER: &str = "forebay-test-kubelet";

pub(super) async fn register(shared: &Shared) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(shared.client.clone());
    let name = &shared.options.name;
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": shared.options.labels },
    });
    nodes.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&node)).await?;
    report_status(shared, &nodes).await?;
    Ok(())
}

pub(super) async fn heartbeat(shared: Arc<Shared>) {
    let nodes: Api<Node> = Api::all(shared.client.clone());
    loop {
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        if !shared.is_silent() {
            // A lost heartbeat is made up for by the next one.
            let _ = report_status(&shared, &nodes).await;
        }
    }
}

async fn report_status(shared: &Shared, nodes: &Api<Node>) -> Result<(), kube::Error> {
    let params = PatchParams::default();
    nodes.patch_status(&shared.options.name, &params, &Patch::Strategic(status(shared))).await.map(drop)
}

fn status(shared: &Shared) -> Value {
    let mut capacity = json!({ "cpu": "256", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti" });
    for (resource, count) in &shared.options.capacity {
        capacity[resource] = json!(count.to_string());
    }
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fake kubelet",
        "lastHeartbeatTime": Timestamp::now(),
    });
    let mut status = json!({
        "capacity": capacity, "allocatable": capacity, "conditions": [ready],
        "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
    });
    if let Some(port) = shared.log_port {
        status["daemonEndpoints"] = json!({ "kubeletEndpoint": { "Port": port } });
    }
    json!({ "status": status })
}
