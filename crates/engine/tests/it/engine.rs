//! Starts engines for tests, with helpers for common calls.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;
use testkit::http::{Client, Response};
use testkit::process::{Child, Launch};

pub(crate) const CHAT: &str = "forebay/smollm2-135m-instruct";
pub(crate) const EMBEDDINGS: &str = "sentence-transformers/all-minilm-l6-v2";
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A running engine; dropping it kills it.
pub(crate) struct Engine {
    pub(crate) child: Child,
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
}

impl Engine {
    /// A chat engine that is ready.
    pub(crate) async fn chat(arguments: &[&str]) -> Self {
        let engine = Self::launch(&chat_weights(), &[&["--model-name", CHAT], arguments].concat()).await;
        engine.until_ready().await;
        engine
    }

    /// An embedding engine that is ready.
    pub(crate) async fn embeddings(arguments: &[&str]) -> Self {
        let weights = models().join("all-minilm-l6-v2");
        let engine = Self::launch(&weights, &[&["--model-name", EMBEDDINGS], arguments].concat()).await;
        engine.until_ready().await;
        engine
    }

    /// An engine that listens, ready or not.
    pub(crate) async fn launch(weights: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(weights, &folder, arguments);
        let file = folder.path().join("listen");
        let address =
            child.wait_for("its address", START_TIMEOUT, |_| std::fs::read_to_string(&file).ok()).await.unwrap();
        let address: SocketAddr = address.trim().parse().unwrap();
        Self { child, client: Client::from(address), address, folder }
    }

    pub(crate) async fn until_ready(&self) {
        let deadline = std::time::Instant::now() + START_TIMEOUT;
        while self.client.get("/health").await.status != 200 {
            assert!(std::time::Instant::now() < deadline, "not ready: {}", self.child.stderr());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// A unary chat call; returns the response whatever its status.
    pub(crate) async fn chat_call(&self, body: Value) -> Response {
        self.client.post_json("/v1/chat/completions", body).await
    }

    /// Text of the first choice of a greedy call.
    pub(crate) async fn greedy(&self, question: &str, max_tokens: usize) -> String {
        let response = self.chat_call(greedy(question, max_tokens)).await;
        content(&response)
    }

    /// The value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let page = self.client.get("/metrics").await.text();
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in\n{page}")).parse().unwrap()
    }

    /// The value of a metric with whole numbers.
    pub(crate) async fn count(&self, name: &str) -> u64 {
        self.metric(name).await as u64
    }

    /// Waits until a metric has this value.
    pub(crate) async fn until_count(&self, name: &str, expected: u64) {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        loop {
            let value = self.count(name).await;
            if value == expected {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{name} stays at {value}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Starts the program, which may exit on its own.
pub(crate) fn start(weights: &Path, folder: &TempDir, arguments: &[&str]) -> Child {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let weights = weights.display().to_string();
    // Beside other tests, several compute threads would mostly wait for each other, which takes more CPU time than they save.
    let own = ["--model", &weights, "--listen-file", &at("listen"), "--cache-dir", &at("cache"), "--threads", "1"];
    let arguments = own.iter().chain(arguments).map(|argument| (*argument).to_owned());
    Launch::new(env!("CARGO_BIN_EXE_forebay-engine")).arguments(arguments).start("engine", folder.path()).unwrap()
}

/// Folder of the starter models, downloaded if necessary.
pub(crate) fn models() -> PathBuf {
    static FETCHED: OnceLock<PathBuf> = OnceLock::new();
    let fetch = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let models = root.join("data/models");
        let fetched = Command::new(root.join("scripts/fetch-models")).arg(&models).output().unwrap();
        assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
        models
    };
    FETCHED.get_or_init(fetch).clone()
}

pub(crate) fn chat_weights() -> PathBuf {
    models().join("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf")
}

/// Body of a greedy call.
pub(crate) fn greedy(question: &str, max_tokens: usize) -> Value {
    json!({
        "model": CHAT,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": max_tokens,
    })
}

/// The call with some members replaced.
pub(crate) fn with(mut call: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!("members are an object") };
    for (name, value) in members {
        call[name] = value;
    }
    call
}

/// The text of the first choice.
pub(crate) fn content(response: &Response) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}
