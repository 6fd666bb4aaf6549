//! Failures: engines that do not start, ports in use, a database outage.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::plant::{Blueprint, TIMEOUT, chat, kill};
use crate::app::{error_line, text, wait_until};
use crate::console::person::Person;
use crate::postgres::{Cable, Database};

/// Longer than the backoffs between three starts, 10 and 20 seconds, on a busy machine.
const THREE_STARTS: Duration = Duration::from_secs(100);

#[tokio::test]
async fn a_replica_that_never_becomes_ready_gets_no_calls_and_can_be_stopped() {
    let script = "echo 'loading weights'; exec sleep 100000";
    let plant = Blueprint::new(1).script(script).edge("hold_timeout = \"1s\"").start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    wait_until("starting", TIMEOUT, async || plant.endpoint("chat").await.unwrap().status.starting == 1).await;
    wait_until("its log is shown", TIMEOUT, async || {
        let replicas = plant.client().get("/endpoints/chat/replicas").await.json();
        replicas["data"][0]["logTail"] == "loading weights\n"
    })
    .await;
    assert_eq!(plant.chat("chat").await.status, 504);
    assert_eq!(plant.endpoint("chat").await.unwrap().state.as_str(), "provisioning");
    plant.suspend("chat").await;
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;
    assert_eq!(plant.running().len(), 0);
}

#[tokio::test]
async fn missing_weights_fail_the_endpoint_after_three_starts_that_are_not_billed() {
    let plant = Blueprint::new(1).launch("engine = \"forebay-engine\"\nweights = \"nowhere.gguf\"").start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    let id = plant.id("chat").await;
    // Held calls are rejected as soon as waiting cannot help.
    let mut waiting = JoinSet::new();
    let client = plant.client();
    waiting.spawn(async move { client.post_json("/chat/completions", chat("chat", "hi")).await });
    wait_until("failed", THREE_STARTS, async || plant.endpoint("chat").await.unwrap().state.as_str() == "failed").await;
    let record = plant.client().get("/endpoints/chat").await.json();
    assert_eq!((&record["stateReason"], &record["committedGpus"]), (&json!("weights-missing"), &json!(1)));
    assert!(text(&record["stateMessage"]).contains("nowhere.gguf"), "{record}");
    for response in [waiting.join_next().await.unwrap().unwrap(), plant.chat("chat").await] {
        assert_eq!(error_line(&response), "503 model_not_serving");
        assert!(text(&response.json()["error"]["message"]).contains("nowhere.gguf"), "{}", response.text());
    }
    let replicas = plant.client().get("/endpoints/chat/replicas").await.json();
    let data = replicas["data"].as_array().unwrap();
    assert_eq!(data.len(), 3, "{replicas}");
    assert!(data.iter().all(|one| text(&one["logTail"]).contains("nowhere.gguf")), "{replicas}");
    let holds = plant.holds(&id).await;
    assert_eq!((holds.len(), plant.open_holds().await), (3, 0));
    assert!(holds.iter().all(|held| !held.hold.billable), "failed starts are shown but not billed");
    let usage = plant.client().get("/endpoints/chat/usage").await.json();
    assert_eq!(usage["costUsd"], "0.00");
    assert_ne!(usage["gpuHours"], "0.0", "{usage}");

    let operator = Person::operator(&plant.app).await;
    let failed = operator.read("/api/operator/failed-endpoints").await["data"].clone();
    let members = ["name", "workspaceId", "organizationName", "stateReason", "stateMessage"];
    let expected = json!(["chat", plant.app.workspace(), "Default", "weights-missing", record["stateMessage"].clone()]);
    assert_eq!(json!(members.map(|member| failed[0][member].clone())), expected, "{failed}");
    assert_eq!(failed.as_array().unwrap().len(), 1, "{failed}");

    plant.resume("chat").await;
    assert_eq!(operator.read("/api/operator/failed-endpoints").await["data"], json!([]));
    let again = plant.endpoint("chat").await.unwrap();
    assert_eq!((again.state.as_str(), again.reason.as_str()), ("provisioning", "retry"));
    wait_until("a fresh budget", TIMEOUT, async || plant.replicas(&id).await.len() == 4).await;
}

#[tokio::test]
async fn a_port_in_use_is_not_a_crash_and_the_next_block_is_tried_soon() {
    let plant = Blueprint::new(2).script(
        "if [ ! -e \"$GW_REPLICA_DIR/../../was-here\" ]; then touch \"$GW_REPLICA_DIR/../../was-here\"; \
         echo 'OSError: [Errno 98] Address already in use'; exit 1; fi; exec \"$1\" --listen \"$2\"",
    );
    let plant = plant.start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let replicas = plant.replicas(&plant.id("chat").await).await;
    let classes: Vec<_> = replicas.iter().map(|one| one.failure.map(|class| class.as_str())).collect();
    assert_eq!(classes, [Some("port-taken"), None]);
    assert_ne!(replicas[0].address, replicas[1].address);
    plant.delete("chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_replicas_keep_serving_and_exits_are_recorded_afterwards() {
    let database = Database::migrated().await;
    let cable = Cable::to(&database).await;
    let plant = Blueprint::new(2).store(&cable.url).start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.chat("chat").await.status, 200);
    let first = plant.live().await.remove(0);
    let exit = plant.app.forebay.data_dir.join("replicas").join(first.id.as_str()).join("exit.json");

    cable.cut();
    for _ in 0..3 {
        assert_eq!(plant.chat("chat").await.status, 200, "serving needs no database");
    }
    kill(plant.pid_of(&first), "KILL");
    wait_until("its exit is recorded", TIMEOUT, async || exit.exists()).await;
    let exit: Value = serde_json::from_slice(&std::fs::read(&exit).unwrap()).unwrap();
    cable.restore();
    assert_eq!(plant.chat("chat").await.status, 200, "held until its successor was ready");
    let holds = plant.holds(&first.endpoint).await;
    let ended = holds[0].hold.ended_at.unwrap();
    let exited = domain::Timestamp::parse(text(&exit["time"])).unwrap();
    assert_eq!((holds.len(), ended), (2, exited), "to the millisecond, though it could not be stored then");
    plant.delete("chat").await;
    assert_eq!(plant.running().len(), 0);
    drop(plant);
    database.remove().await;
}
