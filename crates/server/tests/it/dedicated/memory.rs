//! Memory of held calls.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::plant::{Blueprint, Plant, TIMEOUT, chat};
use crate::app::wait_until;

const CALLS: u64 = 5_000;
/// The bound of the contract.
const MAX_KIB: u64 = 100 << 10;
/// Thousands of connections take a while on a busy machine.
const LONG: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_held_calls_cost_less_than_a_hundred_mebibytes() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    let plant = Blueprint::new(1).start().await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.chat("chat").await.status, 200);
    plant.suspend("chat").await;
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;

    let before = resident_kib(&plant);
    let mut waiting = Vec::new();
    let body = chat("chat", &"x".repeat(1_000)).to_string();
    for _ in 0..CALLS {
        let mut stream = TcpStream::connect(plant.app.forebay.public).await.unwrap();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            plant.app.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    wait_until("all wait", LONG, async || held(&plant).await == CALLS).await;
    let cost = resident_kib(&plant).saturating_sub(before);
    println!("{CALLS} held calls cost {cost} KiB, {} bytes each", cost * 1024 / CALLS);
    assert!(cost < MAX_KIB, "{CALLS} held calls cost {cost} KiB");

    drop(waiting);
    wait_until("no call is held", LONG, async || held(&plant).await == 0).await;
}

async fn held(plant: &Plant) -> u64 {
    let loads = store::endpoint_loads::list(&plant.store).await.unwrap();
    loads.iter().map(|report| report.open_calls).sum()
}

fn resident_kib(plant: &Plant) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", plant.app.forebay.child.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
