//! Calls to an endpoint of a node whose journal has no room.

use serde_json::json;

use super::plant::{Blueprint, TIMEOUT, chat};
use crate::app::{error_line, wait_until};
use crate::small_disk::{SmallDisk, assert_stored, call_until_rejected};

#[tokio::test]
async fn dedicated_calls_are_rejected_on_a_full_disk_and_their_usage_is_kept() {
    let disk = SmallDisk::mount();
    let mut plant = Blueprint::new(1).setup(|setup| disk.place(setup)).start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let lock = plant.store.begin().await.unwrap();
    disk.fill();
    let served = call_until_rejected(&plant.app, &chat("chat", "hi")).await;
    assert!(served.len() > 20, "{} calls", served.len());
    assert_eq!(error_line(&plant.chat("chat").await), "503 journal_full");
    plant.app.forebay.child.kill();
    drop(lock);
    plant.app.forebay.restart().await.unwrap();
    assert_stored(&plant.app, &served).await;
    disk.free();
    wait_until("served again", TIMEOUT, async || plant.chat("chat").await.status == 200).await;
}
