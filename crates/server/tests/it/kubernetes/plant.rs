//! A gateway whose dedicated endpoints run as Pods.

use domain::Endpoint;
use domain::endpoint::replica::Replica;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use store::Store;
use testkit::http::{Client, Response};

use crate::app::{Setup, TestApp};
use crate::kubernetes::cluster::{Cluster, GPU_TYPE};

/// Time from the creation of an endpoint to its first response, on a machine that is busy with other tests.
const TIMEOUT: Duration = Duration::from_secs(90);
/// Two cores also run the control plane, so it is not polled more often.
const POLL_PERIOD: Duration = Duration::from_millis(200);

/// Waits until the condition holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds().await {
        assert!(Instant::now() < deadline, "timeout after {TIMEOUT:?}: {what}");
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

/// A model with real weights, and one with scripted responses.
pub(crate) fn models() -> String {
    format!(
        r#"
[[models]]
id = "acme/real"
driver = "kubernetes"
context_length = 2048
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "h100"
gpu_type = "{GPU_TYPE}"
weights = "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf"
price_per_gpu_hour = "3.60"

[[models.flavors]]
name = "no-weights"
gpu_type = "{GPU_TYPE}"
weights = "nothing/here.gguf"

[[models]]
id = "acme/scripted"
driver = "kubernetes"
context_length = 4096
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "h100"
gpu_type = "{GPU_TYPE}"
image = "scripted:test"
argv = ["fake-engine", "--listen", "{{host}}:{{port}}"]

[[models.flavors]]
name = "no-image"
gpu_type = "{GPU_TYPE}"
image = "missing:test"
argv = ["fake-engine", "--listen", "{{host}}:{{port}}"]

[[models.flavors]]
name = "slow-weights"
gpu_type = "{GPU_TYPE}"
image = "scripted:test"
weights = "hf://acme/slow"
argv = ["fake-engine", "--listen", "{{host}}:{{port}}"]
"#
    )
}

pub(crate) struct Plant {
    pub(crate) app: TestApp,
    pub(crate) store: Store,
}

impl Plant {
    pub(crate) async fn start(cluster: &Cluster, more: &str) -> Self {
        Self::of(TestApp::setup().table(&cluster.configuration(more)).table(&models()).start().await).await
    }

    pub(crate) async fn of(app: TestApp) -> Self {
        let store = app.store().await;
        Self { app, store }
    }

    pub(crate) fn setup(cluster: &Cluster, more: &str) -> Setup {
        TestApp::setup().table(&cluster.configuration(more)).table(&models())
    }

    pub(crate) async fn create(&self, name: &str, model: &str, flavor: &str, scaling: Value) {
        let mut body = json!({"name": name, "model": model, "flavor": flavor});
        body.as_object_mut().unwrap().extend(scaling.as_object().unwrap().clone());
        let response = self.app.client().post_json("/endpoints", body).await;
        assert_eq!(response.status, 201, "{}", response.text());
    }

    pub(crate) async fn rescale(&self, name: &str, scaling: Value) {
        let path = format!("/endpoints/{name}");
        let response = self.app.client().send_json(http::Method::PATCH, &path, scaling).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    pub(crate) async fn suspend(&self, name: &str) {
        let response = self.app.client().post_json(&format!("/endpoints/{name}/suspend"), json!({})).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    pub(crate) async fn delete(&self, name: &str) {
        let response = self.app.client().delete(&format!("/endpoints/{name}")).await;
        assert_eq!(response.status, 202, "{}", response.text());
        eventually("gone", async || self.endpoint(name).await.is_none()).await;
    }

    pub(crate) async fn endpoint(&self, name: &str) -> Option<Endpoint> {
        let all = store::endpoints::list_all(&self.store).await.unwrap();
        all.into_iter().find(|endpoint| endpoint.name.as_str() == name)
    }

    pub(crate) async fn wait_for(&self, name: &str, state: &str, ready: u32) {
        eventually(&format!("{name} {state} with {ready}"), async || {
            self.endpoint(name).await.is_some_and(|one| one.state.as_str() == state && one.status.ready == ready)
        })
        .await;
    }

    pub(crate) async fn wait_for_reason(&self, name: &str, reason: &str) {
        eventually(&format!("{name} {reason}"), async || {
            self.endpoint(name).await.is_some_and(|one| one.reason.as_str() == reason)
        })
        .await;
    }

    pub(crate) async fn live(&self) -> Vec<Replica> {
        store::replicas::list_live(&self.store).await.unwrap()
    }

    /// All replicas of an endpoint, ended or not, oldest first.
    pub(crate) async fn replicas(&self, name: &str) -> Vec<Replica> {
        let id = self.endpoint(name).await.unwrap().id;
        store::replicas::newest_of(&self.store, &id, 20).await.unwrap()
    }

    pub(crate) async fn chat(&self, name: &str) -> Response {
        ask(&self.app.client(), name).await
    }
}

pub(crate) async fn ask(client: &Client, name: &str) -> Response {
    let messages = json!([{"role": "user", "content": "Name the capital city of Japan."}]);
    let body = json!({"model": format!("dedicated/{name}"), "messages": messages, "temperature": 0, "max_tokens": 16});
    client.post_json("/chat/completions", body).await
}

pub(crate) fn pod_of(replica: &Replica) -> String {
    replica.id.as_str().replace('_', "-")
}
