//! A hub with one small model, and its downloads.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::fake_hub::{FakeHub, HubFile};

use crate::app::{TIMEOUT, text, wait_until};
use crate::console::person::Person;

pub(super) const DOWNLOADS: &str = "/api/operator/weights/downloads";
pub(super) const REFERENCE: &str = "hf://acme/tiny/tiny.gguf";
/// The reference that a lookup makes of it.
pub(super) const PINNED: &str = "hf://acme/tiny@0123456789abcdef0123456789abcdef01234567/tiny.gguf";
pub(super) const LENGTH: usize = 300_000;

pub(super) fn content() -> Vec<u8> {
    let bytes = (0..LENGTH).map(|index| u8::try_from(index * 31 % 251).unwrap());
    b"GGUF".iter().copied().chain(bytes).collect()
}

pub(super) fn file(name: &str, content: &[u8]) -> HubFile {
    let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    HubFile { name: name.to_owned(), content: content.to_vec(), sha256: Some(sha256), reported_bytes: None }
}

/// A hub with the model `acme/tiny`.
pub(super) async fn hub() -> FakeHub {
    let hub = FakeHub::start().await;
    let readme =
        HubFile { name: "README.md".to_owned(), content: b"# Tiny".to_vec(), sha256: None, reported_bytes: None };
    let members = json!({
        "tags": ["gguf", "license:apache-2.0"],
        "gguf": {"architecture": "llama", "context_length": 8192},
    });
    hub.add("acme/tiny", members, vec![readme, file("tiny.gguf", &content())]);
    hub
}

pub(super) fn path_of(download: &Value) -> String {
    format!("{DOWNLOADS}/{}", text(&download["id"]))
}

/// Waits until the download has this state.
pub(super) async fn until(operator: &Person, download: &Value, state: &str) -> Value {
    let path = path_of(download);
    wait_until(&format!("the download is {state}"), TIMEOUT, async || operator.read(&path).await["state"] == state)
        .await;
    operator.read(&path).await
}

/// What the audit log says about downloads, newest first.
pub(super) async fn audited(operator: &Person) -> Vec<String> {
    let audit = operator.read("/api/audit").await;
    let actions = audit["data"].as_array().unwrap().iter().map(|entry| text(&entry["action"]).to_owned());
    actions.filter(|action| action.starts_with("weights.")).collect()
}
