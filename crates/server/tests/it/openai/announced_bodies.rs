//! Bodies that are announced and never sent: what one organization, and clients without a credential, do in this way costs
//! only them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use testkit::http::{Client, Response};
use tokio::task::JoinSet;

use crate::app::{TIMEOUT, TestApp, chat, text, wait_until};
use crate::wire::Wire;

/// An eighth of 512 MiB and 16 MiB.
const EDGE: &str = "body_limit = \"2MiB\"\nmemory_budget = \"64MiB\"\nbody_read_timeout = \"600s\"";
const WORKSPACES: usize = 20;
/// Without a credential.
const STRANGERS: usize = 240;
/// The strangers that announce the body of a sign-in.
const SIGN_INS: usize = 40;
const ROUNDS: usize = 20;

/// Announces a body, sends a byte of it and waits for as long as the gateway does. Repeats it if it is rejected.
async fn announce(gateway: SocketAddr, head: String, sent: Arc<AtomicUsize>) {
    loop {
        let mut wire = Wire::open(gateway).await;
        wire.send(format!("{head}{{")).await;
        sent.fetch_add(1, Ordering::Relaxed);
        wire.closed().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

fn key_in(app: &TestApp, organization: &str, name: &str) -> String {
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name {name}"));
    let key = app.admin(&format!("keys create --workspace {} --name {name}", text(&workspace["id"])));
    text(&key["key"]).to_owned()
}

fn organization(app: &TestApp, name: &str) -> String {
    text(&app.admin(&format!("organizations create --name {name}"))["id"]).to_owned()
}

#[tokio::test]
async fn announced_bodies_of_one_organization_and_of_strangers_affect_no_other_client() {
    let app = TestApp::setup().edge(EDGE).context_length(1_000_000).start().await;
    let (attacker, other) = (organization(&app, "attacker"), organization(&app, "other"));
    let keys: Vec<String> = (0..WORKSPACES).map(|number| key_in(&app, &attacker, &format!("w{number}"))).collect();
    let email = "person@example.com";
    app.admin(&format!("users create --email {email} --password some-password --organization {other}"));
    let other = app.client_with(&key_in(&app, &other, "other"));

    let (mut attackers, sent) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for (number, key) in keys.iter().enumerate() {
        // Each takes half of what the ones before have left, if an announcement takes memory.
        let connections = if number < 4 { 16 >> number } else { 8 };
        let length = (64_u64 << 20 >> (number + 1)).div_ceil(connections).clamp(1 << 10, 2 << 20);
        for _ in 0..connections {
            let head = format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
                 content-length: {length}\r\n\r\n"
            );
            attackers.spawn(announce(app.forebay.public, head, Arc::clone(&sent)));
        }
        // One after another, because the order decides who takes how much.
        let so_far = attackers.len();
        wait_until("the workspace has announced", TIMEOUT, async || sent.load(Ordering::Relaxed) >= so_far).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for number in 0..STRANGERS {
        let (path, length) = if number < SIGN_INS { ("session", 16 << 10) } else { ("x", 256 << 10) };
        let head = format!("POST /api/{path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        attackers.spawn(announce(app.forebay.public, head, Arc::clone(&sent)));
    }
    let all = attackers.len();
    wait_until("all have announced a body", TIMEOUT, async || sent.load(Ordering::Relaxed) >= all).await;
    wait_until("announcements have arrived", TIMEOUT, async || {
        !Client::new(app.forebay.ops).get("/metrics").await.text().contains("forebay_body_memory_bytes 0\n")
    })
    .await;

    let mut rejected = Vec::new();
    let mut note = |what: &str, round: usize, response: &Response| {
        if response.status != 200 {
            rejected.push(format!("{what} {round}: {}", response.text()));
        }
    };
    for round in 0..ROUNDS {
        note("small", round, &other.post_json("/chat/completions", chat("hi")).await);
        note("200 KB", round, &other.post_json("/chat/completions", chat(&"x".repeat(200_000))).await);
        let credentials = json!({"email": email, "password": "some-password"});
        note("sign-in", round, &Client::new(app.forebay.public).post_json("/api/session", credentials).await);
    }
    assert!(rejected.is_empty(), "{rejected:#?}");
    attackers.shutdown().await;
}
