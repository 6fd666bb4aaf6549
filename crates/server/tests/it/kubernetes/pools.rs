//! Serverless pools as Pods of the cluster.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::app::TestApp;
use crate::kubernetes::cluster::{Cluster, GPU_TYPE};
use crate::kubernetes::plant::eventually;

fn pool(replicas: u32) -> String {
    format!(
        r#"
[[models]]
id = "acme/pooled"
driver = "kubernetes"
context_length = 2048
engine = {{ flavor = "h100", replicas = {replicas} }}

[[models.flavors]]
name = "h100"
gpu_type = "{GPU_TYPE}"
weights = "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"
"#
    )
}

#[tokio::test]
#[ignore = "needs a control plane: make test-kubernetes"]
async fn a_pool_of_pods_serves_all_workspaces_and_follows_the_configuration() {
    let cluster = Cluster::start(&[2]).await;
    let setup = |replicas| TestApp::setup().table(&cluster.configuration("")).table(&pool(replicas));
    let app = setup(1).start().await;
    eventually("available", async || app.model_status("acme/pooled").await == "available").await;
    let body = json!({"model": "acme/pooled", "temperature": 0, "max_tokens": 16,
        "messages": [{"role": "user", "content": "Name the capital city of Japan."}]});
    let response = app.ask(body.clone()).await;
    assert!(response.status == 200 && response.text().contains("Tokyo"), "{}", response.text());
    assert!(response.header("x-ratelimit-limit-requests").is_some(), "rate limits apply to shared models");

    let policies: Api<NetworkPolicy> = Api::namespaced(cluster.client(), &cluster.namespace);
    assert_eq!(policies.list(&ListParams::default()).await.unwrap().items.len(), 2, "pools have network policies too");

    let urls: Vec<String> = app.engines.iter().map(testkit::fake_engine::FakeEngine::url).collect();
    let change = |setup: crate::app::Setup| {
        app.forebay.write_config(&setup.config(&urls)).unwrap();
        app.forebay.child.signal("HUP").unwrap();
    };
    change(setup(2));
    eventually("two Pods", async || cluster.pod_names().await.len() == 2).await;
    assert_eq!(app.ask(body).await.status, 200);
    change(TestApp::setup().table(&cluster.configuration("")));
    eventually("no Pod", async || cluster.pod_names().await.is_empty()).await;
    cluster.remove().await;
}
