//! Weights from a hub that drops connections, sends damaged files and rejects requests.

use crate::engine::{CHAT, chat_weights, content, greedy};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use testkit::fake_hub::{FakeHub, HubFile, Sending};
use testkit::http::Client;
use testkit::process::{Child, Launch};

const TIMEOUT: Duration = Duration::from_secs(120);

/// A hub with one file, which it says has this SHA-256; `None` for the true one.
async fn hub(sha256: Option<String>) -> FakeHub {
    let content = fs::read(chat_weights()).unwrap();
    let digest = || Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let sha256 = Some(sha256.unwrap_or_else(digest));
    let hub = FakeHub::start().await;
    hub.add("acme/tiny", json!({}), vec![HubFile { name: "tiny.gguf".into(), content, sha256, reported_bytes: None }]);
    hub
}

/// Starts an engine with a reference and a hub.
fn start(reference: &str, hub: &str, folder: &Path) -> Child {
    let at = |name: &str| folder.join(name).display().to_string();
    let arguments =
        ["--model", reference, "--model-name", CHAT, "--listen-file", &at("listen"), "--cache-dir", &at("cache")];
    let launch = Launch::new(env!("CARGO_BIN_EXE_forebay-engine")).arguments(arguments);
    launch.environment("HF_ENDPOINT", hub).start("engine", folder).unwrap()
}

async fn first_response(child: &mut Child, folder: &Path) -> String {
    let file = folder.join("listen");
    let ready = |child: &Child| child.stderr().contains("ready").then(|| fs::read_to_string(&file).ok()).flatten();
    let address = child.wait_for("the model", TIMEOUT, |child| ready(child)).await.unwrap();
    let client = Client::from(address.trim().parse::<SocketAddr>().unwrap());
    content(&client.post_json("/v1/chat/completions", greedy("Name the capital city of Japan.", 10)).await)
}

#[tokio::test]
async fn an_interrupted_download_resumes_and_is_not_repeated() {
    let hub = hub(None).await;
    hub.set_sending(Sending::CutAfter(30_000_000));
    let folder = tempfile::tempdir().unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", &hub.url(), folder.path());
    let response = first_response(&mut child, folder.path()).await;
    assert!(response.contains("Tokyo"), "{response}");
    let started_at = hub.downloads();
    assert_eq!((started_at.len(), started_at[0]), (2, 0), "{started_at:?}");
    assert!(started_at[1] > 20_000_000, "{started_at:?}");
    child.kill();

    // A cached file needs no hub.
    fs::remove_file(folder.path().join("listen")).unwrap();
    let mut child = start("hf://acme/tiny/tiny.gguf", "http://127.0.0.1:1", folder.path());
    assert_eq!(first_response(&mut child, folder.path()).await, response);
}

#[tokio::test]
async fn download_errors_are_one_line_with_a_remedy() {
    let hub = hub(Some("0".repeat(64))).await;
    for (reference, words) in [
        ("hf://acme/tiny/other.gguf", "does not have other.gguf; check the name"),
        ("hf://acme/tiny/tiny.gguf", "was damaged during download"),
    ] {
        let folder: TempDir = tempfile::tempdir().unwrap();
        let mut child = start(reference, &hub.url(), folder.path());
        assert_eq!(child.wait_for_end(TIMEOUT).await.unwrap().code(), Some(1));
        let output = child.stderr();
        assert!(output.contains(words) && output.lines().count() == 1, "{output}");
    }
}
