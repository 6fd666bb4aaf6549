//! What the operator sees of replicas: their GPUs and their logs.

use serde_json::json;

use super::plant::{Blueprint, TIMEOUT};
use crate::app::{text, wait_until};
use crate::console::person::{Person, error_of};

#[tokio::test]
async fn the_operator_sees_who_holds_a_gpu_and_reads_the_log_of_its_engine() {
    let script = "echo 'Loading weights'; echo 'all done'; exec \"$1\" --listen \"$2\"";
    let plant = Blueprint::new(2).script(script).start().await;
    let operator = Person::operator(&plant.app).await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let replica = plant.live().await.remove(0).id.to_string();
    let slots = async || {
        let gpus = operator.read("/api/operator/gpus").await;
        let all = gpus["data"].as_array().unwrap().clone();
        all.into_iter().filter(|gpu| gpu["gpuType"] == "local/cpu").collect::<Vec<_>>()
    };
    wait_until("both slots are reported", TIMEOUT, async || slots().await.len() == 2).await;
    let held: Vec<_> = slots().await.into_iter().filter(|slot| !slot["holder"].is_null()).collect();
    assert_eq!(held.len(), 1);
    assert_eq!(
        (&held[0]["holder"]["endpointName"], text(&held[0]["holder"]["replicaId"])),
        (&json!("chat"), replica.as_str())
    );

    let logs = operator.read("/api/operator/logs").await;
    assert_eq!(logs["data"][0]["replicaId"], replica.as_str(), "{logs}");
    let path = format!("/api/operator/logs/{replica}");
    let whole = operator.get(&path).await;
    assert_eq!(whole.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(whole.text().contains("Loading weights\nall done\n"), "{}", whole.text());
    assert_eq!(operator.get(&format!("{path}?search=LOADING&download=true")).await.text(), "Loading weights\n");
    assert_eq!(error_of(&operator.get(&format!("{path}?bytes=0")).await), "422 invalid_value bytes");
    assert_eq!(error_of(&operator.get("/api/operator/logs/rep_none").await), "404 not_found");
    assert_eq!(error_of(&operator.get("/api/operator/logs/..%2F..").await), "404 not_found");

    let read = operator.read("/api/audit?action=log.read").await;
    let subjects: Vec<_> = read["data"].as_array().unwrap().iter().map(|entry| text(&entry["subject"])).collect();
    assert_eq!(subjects, [replica.as_str()], "one entry an hour, and none of logs that do not exist");
}
