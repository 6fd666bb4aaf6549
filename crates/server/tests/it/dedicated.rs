//! Dedicated endpoints from their creation to their end, with real processes as replicas.

use crate::app::{BINARY, PATIENCE, TestApp, refusal, wait_until};
use domain::Endpoint;
use serde_json::{Value, json};
use sqlx::Connection;
use std::path::Path;
use std::time::{Duration, Instant};
use store::Store;
use testkit::http::Answer;

/// A gateway with one model that can be run on slots of this machine.
pub(crate) struct Plant {
    pub(crate) app: TestApp,
    store: Store,
}

impl Plant {
    pub(crate) async fn start(slots: u32, edge: &str) -> Self {
        let engine = Path::new(BINARY).with_file_name("fake-engine");
        let setup = TestApp::setup().edge(edge).table(&format!(
            r#"[allotment_defaults]
"local/cpu" = 8

[drivers.process]
slots = {{ "local/cpu" = {slots} }}

[[models]]
id = "acme/own"
context_length = 4096
input_per_1m = "1.00"
output_per_1m = "1.00"
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
argv = ["{}", "--listen", "127.0.0.1:{{port}}"]
price_per_gpu_hour = "3.60"
"#,
            engine.display()
        ));
        let app = setup.start().await;
        let store = app.store().await;
        Self { app, store }
    }

    pub(crate) async fn create(&self, name: &str, scaling: Value) {
        let mut body = json!({"name": name, "model": "acme/own", "flavor": "one"});
        body.as_object_mut().unwrap().extend(scaling.as_object().unwrap().clone());
        let answer = self.app.client().post_json("/endpoints", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    async fn suspend(&self, name: &str) {
        let answer = self.app.client().post_json(&format!("/endpoints/{name}/suspend"), json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    async fn resume(&self, name: &str) {
        let answer = self.app.client().post_json(&format!("/endpoints/{name}/resume"), json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    async fn delete(&self, name: &str) {
        let answer = self.app.client().delete(&format!("/endpoints/{name}")).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
    }

    async fn endpoint(&self, name: &str) -> Option<Endpoint> {
        let all = store::endpoints::list_all(&self.store).await.unwrap();
        all.into_iter().find(|endpoint| endpoint.name.as_str() == name)
    }

    pub(crate) async fn wait_for(&self, name: &str, state: &str, ready: u32) {
        wait_until(&format!("{name} {state} with {ready}"), PATIENCE, async || {
            self.endpoint(name).await.is_some_and(|one| one.state.as_str() == state && one.status.ready == ready)
        })
        .await;
    }

    async fn chat(&self, name: &str) -> Answer {
        let body = json!({"model": format!("dedicated/{name}"), "messages": [{"role": "user", "content": "hi"}]});
        self.app.ask(body).await
    }
}

#[tokio::test]
async fn an_endpoint_is_created_serves_is_suspended_resumed_and_deleted() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    let answer = plant.chat("chat").await;
    assert_eq!(answer.status_line(), "200 OK", "held until a replica was ready");
    assert_eq!(answer.json()["model"], "dedicated/chat");
    assert!(answer.header("x-ratelimit-limit-requests").is_none(), "no limit counts here");
    plant.wait_for("chat", "serving", 2).await;
    assert_eq!(plant.app.client().get("/models/dedicated/chat").await.json()["status"], "available");

    plant.suspend("chat").await;
    plant.wait_for("chat", "suspended", 0).await;
    wait_until("released", PATIENCE, async || store::holds::list_open(&plant.store).await.unwrap().is_empty()).await;
    plant.resume("chat").await;
    plant.wait_for("chat", "serving", 2).await;

    plant.delete("chat").await;
    assert_eq!(refusal(&plant.chat("chat").await), "404 model_not_found model");
    wait_until("gone", PATIENCE, async || plant.endpoint("chat").await.is_none()).await;
    assert!(store::holds::list_open(&plant.store).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_call_to_a_suspended_endpoint_ends_in_the_plain_504() {
    let plant = Plant::start(1, "hold_timeout = \"1s\"").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.suspend("chat").await;
    plant.wait_for("chat", "suspended", 0).await;
    let started = Instant::now();
    let answer = plant.chat("chat").await;
    assert_eq!(answer.status.as_u16(), 504);
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(answer.header("content-type"), Some("text/html"));
    assert!(serde_json::from_str::<Value>(&answer.text()).is_err());
}

#[tokio::test]
async fn a_replica_that_is_killed_is_replaced_and_its_hold_ends_when_it_did() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let first = store::replicas::list_live(&plant.store).await.unwrap().remove(0);
    let pids = plant.app.forebay.data_dir.join("replicas").join(first.id.as_str()).join("pids.json");
    let pids: Value = serde_json::from_slice(&std::fs::read(pids).unwrap()).unwrap();
    let pid = pids["engine"]["pid"].as_u64().unwrap_or_else(|| panic!("{pids}"));
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    wait_until("failed", PATIENCE, async || {
        let newest = store::replicas::newest_of(&plant.store, &first.endpoint, 9).await.unwrap();
        newest.iter().any(|replica| replica.id == first.id && replica.ending.is_some())
    })
    .await;
    let open = store::holds::list_open(&plant.store).await.unwrap();
    assert!(open.iter().all(|held| held.replica != first.id), "its hold is closed");
    wait_until("replaced", Duration::from_secs(40), async || {
        plant.endpoint("chat").await.is_some_and(|one| one.status.ready == 1)
    })
    .await;
}

#[tokio::test]
async fn replicas_outlive_the_gateway_and_are_adopted() {
    let mut plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let before = store::replicas::list_live(&plant.store).await.unwrap();
    plant.app.forebay.restart().await.unwrap();
    let answer = plant.chat("chat").await;
    assert_eq!(answer.status_line(), "200 OK");
    let after = store::replicas::list_live(&plant.store).await.unwrap();
    assert_eq!(before[0].id, after[0].id, "the same replica serves on");
    plant.delete("chat").await;
    wait_until("gone", PATIENCE, async || plant.endpoint("chat").await.is_none()).await;
}

#[tokio::test]
async fn more_gpus_than_there_are_wait_until_some_are_free() {
    let plant = Plant::start(1, "").await;
    plant.create("one", json!({"replicas": 1})).await;
    plant.wait_for("one", "serving", 1).await;
    plant.create("two", json!({"replicas": 1})).await;
    wait_until("waiting", PATIENCE, async || {
        plant.endpoint("two").await.is_some_and(|two| two.reason.as_str() == "waiting-for-gpus")
    })
    .await;
    plant.suspend("one").await;
    plant.wait_for("two", "serving", 1).await;
    plant.delete("two").await;
    wait_until("gone", PATIENCE, async || plant.endpoint("two").await.is_none()).await;
}

#[tokio::test]
async fn a_crowd_wakes_a_sleeping_endpoint_once() {
    let plant = Plant::start(4, "").await;
    plant.create("chat", json!({"minReplicas": 0, "maxReplicas": 2})).await;
    plant.wait_for("chat", "serving", 1).await;
    // As if nobody had called for the whole window, which is a minute at least.
    let path = plant.app.forebay.data_dir.join("forebay.db");
    let mut database = sqlx::SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    let asleep = "UPDATE endpoints SET state = 'scaled-to-zero', desired = 0, generation = generation + 1";
    sqlx::query(asleep).execute(&mut database).await.unwrap();
    plant.wait_for("chat", "scaled-to-zero", 0).await;
    let id = plant.endpoint("chat").await.unwrap().id;
    wait_until("released", PATIENCE, async || store::holds::list_open(&plant.store).await.unwrap().is_empty()).await;

    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let client = plant.app.client();
        let body = json!({"model": "dedicated/chat", "messages": [{"role": "user", "content": "hi"}]});
        crowd.spawn(async move { client.post_json("/chat/completions", body).await.status.as_u16() });
    }
    while let Some(status) = crowd.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let events = store::endpoint_events::list(&plant.store, &id, Default::default(), 100).await.unwrap();
    let wakes = events.iter().filter(|event| event.reason == "cold-start").count();
    assert_eq!(wakes, 1, "{events:#?}");
}
