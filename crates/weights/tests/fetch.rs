//! Downloads from a hub on this machine, which may be hostile.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use outbound::Connector;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::fake_hub::{COMMIT, FakeHub, HubFile, Sending};
use tokio::sync::watch;
use weights::{FetchError, Hub, HubCache, HubReference, Phase, ProxyRules, Repository, Selection, Watcher, fetch};

const SHA256_OF_GGUF_TINY: &str = "575ec0cfd3fe4e010f2623f2ee6d594f50d170d5504513ff712f5e11207dcd8d";

struct Parts {
    folder: PathBuf,
    bytes: AtomicU64,
    cancel: watch::Sender<bool>,
}

impl Watcher for Parts {
    fn part(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index}.part"))
    }

    fn enter(&self, _: Phase) {}

    fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn went_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }
}

fn file(name: &str, sha256: Option<&str>) -> HubFile {
    let sha256 = sha256.map(str::to_owned);
    HubFile { name: name.to_owned(), content: b"GGUF tiny".to_vec(), sha256, reported_bytes: None }
}

struct Bench {
    hub: FakeHub,
    client: Hub,
    scratch: tempfile::TempDir,
}

impl Bench {
    async fn start(members: Value, files: Vec<HubFile>) -> Self {
        let hub = FakeHub::start().await;
        hub.add("acme/tiny", members, files);
        let client = Hub::new(Connector::default(), ProxyRules::default(), hub.url(), None);
        Self { hub, client, scratch: tempfile::tempdir().unwrap() }
    }

    async fn describe(&self) -> Option<Repository> {
        self.client.describe(&HubReference::parse("hf://acme/tiny").unwrap()).await.ok()
    }

    /// Downloads all that a whole repository means. Returns the bytes that arrived.
    async fn fetch(&self) -> Result<u64, FetchError> {
        let found = self.describe().await.unwrap();
        let files = found.only_model().unwrap();
        let selection = Selection {
            repository: "acme/tiny",
            revision: "main",
            commit: &found.commit,
            files: &files,
            is_whole: true,
            reserve: 0,
        };
        let parts =
            Parts { folder: self.scratch.path().into(), bytes: AtomicU64::new(0), cancel: watch::Sender::default() };
        fetch(&self.client, &self.cache(), &selection, &parts).await?;
        Ok(parts.bytes.into_inner())
    }

    fn cache(&self) -> HubCache {
        HubCache::new(&self.scratch.path().join("cache"))
    }

    /// All files, by their paths below the folder of the test.
    fn written(&self) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![self.scratch.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(self.scratch.path()).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

#[tokio::test]
async fn an_interrupted_file_is_resumed_verified_and_found_without_the_hub() {
    let bench = Bench::start(json!({}), vec![file("tiny.gguf", Some(SHA256_OF_GGUF_TINY))]).await;
    bench.hub.set_sending(Sending::CutAfter(4));
    assert_eq!(bench.fetch().await.unwrap(), 9);
    assert_eq!(bench.hub.downloads(), [0, 4]);
    let snapshot = format!("cache/hub/models--acme--tiny/snapshots/{COMMIT}");
    let expected = [
        "cache/hub/models--acme--tiny/refs/main",
        &format!("{snapshot}/.forebay-whole"),
        &format!("{snapshot}/tiny.gguf"),
    ];
    assert_eq!(bench.written(), expected);
    let found = bench.cache().find(&HubReference::parse("hf://acme/tiny").unwrap());
    assert_eq!(found.as_deref(), Some(bench.scratch.path().join(snapshot).as_path()));
}

#[tokio::test]
async fn a_damaged_file_is_deleted() {
    let bench = Bench::start(json!({}), vec![file("tiny.gguf", Some(&"0".repeat(64)))]).await;
    assert!(matches!(bench.fetch().await, Err(FetchError::Damaged { .. })));
    assert_eq!(bench.written(), Vec::<String>::new());
}

/// A hub chooses the names of files and commits, which become parts of paths.
#[tokio::test]
async fn a_hub_cannot_choose_a_path_outside_of_the_cache() {
    let outside = Path::new("/tmp").join(format!("forebay-escaped-{}.gguf", std::process::id()));
    let absolute = outside.display().to_string();
    for name in
        ["../escaped.gguf", "a/../../escaped.gguf", absolute.as_str(), "./escaped.gguf", "..", "a//b.gguf", ".x.gguf"]
    {
        let bench = Bench::start(json!({}), vec![file(name, None)]).await;
        let found = bench.describe().await.unwrap();
        assert!(found.only_model().is_err() && found.with_parts(name).is_none(), "{name}");
    }
    for commit in ["../../../../escaped", "/tmp/escaped", "0123456/../..", "", ".."] {
        let bench = Bench::start(json!({"sha": commit}), vec![file("tiny.gguf", None)]).await;
        assert!(bench.describe().await.is_none(), "{commit}");
    }
    assert!(!outside.exists());
}
