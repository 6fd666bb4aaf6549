//! A gateway under test: scripted engines in this process, and the real binary in front of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::databases::made_once;
use domain::{UsageEvent, WorkspaceId};
use serde_json::{Value, json};
use store::Store;
use testkit::fake_engine::{FakeEngine, Script};
use testkit::http::{Client, Event, Response, Stream};
use testkit::process::{Forebay, ForebayLaunch};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_forebay");
/// The chat model of every test gateway, and its name at the upstreams.
pub(crate) const CHAT: &str = "acme/tiny";
pub(crate) const UPSTREAM_NAME: &str = "tiny-q4";
/// A value of FOREBAY_CONTENT_KEY.
pub(crate) const CONTENT_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
pub(crate) const EMBEDDING: &str = "acme/embed";
/// Far more than any step takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of a test gateway.
pub(crate) struct Setup {
    engine_count: usize,
    server: String,
    edge: String,
    context_length: u64,
    model: String,
    upstream: String,
    chat_upstream: String,
    store_url: String,
    store: String,
    workspace: String,
    tables: String,
    environment: Vec<(String, String)>,
    data_dir: Option<PathBuf>,
    is_first_start: bool,
    may_wait_for_store: bool,
}

const SQLITE: &str = "sqlite:forebay.db";

/// The data of a gateway that was started once and stopped. A first start takes longer than all that most tests do: it makes
/// the schema and hashes a password.
async fn data_after_the_first_start() -> PathBuf {
    let hour = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 3_600;
    let name = format!("gateway-{hour}");
    let folder = made_once(&name, async |draft| {
        let scratch = tempfile::tempdir().unwrap();
        let config = "[server]\nlisten = \"127.0.0.1:0\"\nops_listen = \"127.0.0.1:0\"\n";
        let mut forebay = ForebayLaunch::default().binary(BINARY).data_dir(scratch.path()).start(config).await.unwrap();
        forebay.child.signal("TERM").unwrap();
        let ended = forebay.child.wait_for_end(TIMEOUT).await.expect("the gateway ends");
        assert!(ended.success(), "{}", forebay.child.stderr());
        for name in ["bootstrap.json", "forebay.db", "node-id"] {
            std::fs::copy(scratch.path().join(name), draft.join(name)).unwrap();
        }
    });
    folder.await
}

/// Limits that only tests about limits reach.
const HIGH_LIMITS: &str =
    "requests_per_minute = 1_000_000\ntokens_per_minute = 1_000_000_000\nmonthly_tokens = 1_000_000_000_000\n";

impl Setup {
    /// The limits of workspaces, per minute and per month.
    pub(crate) fn workspace_limits(mut self, requests: u64, tokens: u64, monthly: u64) -> Self {
        self.workspace =
            format!("requests_per_minute = {requests}\ntokens_per_minute = {tokens}\nmonthly_tokens = {monthly}\n");
        self
    }

    /// Adds a table to the configuration.
    pub(crate) fn table(mut self, text: &str) -> Self {
        self.tables += &format!("{text}\n");
        self
    }

    /// The number of engines behind each model.
    pub(crate) fn engines(mut self, count: usize) -> Self {
        self.engine_count = count;
        self
    }

    /// Adds a line to `[server]`.
    pub(crate) fn server(mut self, line: &str) -> Self {
        self.server += &format!("{line}\n");
        self
    }

    /// Adds a line to `[edge]`.
    pub(crate) fn edge(mut self, line: &str) -> Self {
        self.edge += &format!("{line}\n");
        self
    }

    /// Adds a line to the chat model.
    pub(crate) fn model(mut self, line: &str) -> Self {
        self.model += &format!("{line}\n");
        self
    }

    /// The context length of the chat model.
    pub(crate) fn context_length(mut self, tokens: u64) -> Self {
        self.context_length = tokens;
        self
    }

    /// Adds a member to every upstream.
    pub(crate) fn upstream(mut self, member: &str) -> Self {
        self.upstream += &format!(", {member}");
        self
    }

    /// Adds a member to every upstream of the chat model.
    pub(crate) fn chat_upstream(mut self, member: &str) -> Self {
        self.chat_upstream += &format!(", {member}");
        self
    }

    pub(crate) fn store(mut self, url: &str) -> Self {
        url.clone_into(&mut self.store_url);
        self
    }

    /// A further line of `[store]`.
    pub(crate) fn store_line(mut self, line: &str) -> Self {
        self.store = format!("{}{line}\n", self.store);
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A data folder that outlives the gateway; the default is a scratch folder.
    pub(crate) fn data_dir(mut self, path: &Path) -> Self {
        self.data_dir = Some(path.to_owned());
        self
    }

    /// Without data, and with it without credentials that were made before.
    pub(crate) fn first_start(mut self) -> Self {
        self.is_first_start = true;
        self
    }

    /// The gateway may start without its store, and without a key.
    pub(crate) fn without_store(mut self) -> Self {
        self.may_wait_for_store = true;
        self
    }

    pub(crate) async fn start(self) -> TestApp {
        let mut engines = Vec::new();
        for _ in 0..self.engine_count {
            engines.push(FakeEngine::start().await);
        }
        let urls: Vec<String> = engines.iter().map(FakeEngine::url).collect();
        self.start_at(&urls, engines).await
    }

    /// Starts a gateway in front of the engines of another.
    pub(crate) async fn start_beside(self, other: &TestApp) -> TestApp {
        let urls: Vec<String> = other.engines.iter().map(FakeEngine::url).collect();
        self.start_at(&urls, Vec::new()).await
    }

    /// Starts a gateway in front of engines that the test may hold.
    pub(crate) async fn start_at(self, engine_urls: &[String], engines: Vec<FakeEngine>) -> TestApp {
        let config = self.config(engine_urls);
        let mut launch = ForebayLaunch::default().binary(BINARY);
        for (name, value) in &self.environment {
            launch = launch.environment(name, value);
        }
        if let Some(path) = &self.data_dir {
            launch = launch.data_dir(path);
        } else if self.store_url == SQLITE && !self.is_first_start {
            launch = launch.data(data_after_the_first_start().await);
        }
        let forebay = launch.start(&config).await.unwrap();
        if self.store_url != SQLITE && !self.may_wait_for_store {
            // On a busy machine, a first connection may take longer than a gateway waits before it serves without a store.
            let ops = Client::new(forebay.ops);
            wait_until("the store", TIMEOUT, async || ops.get("/readyz").await.json()["store"] != "unavailable").await;
        }
        let key = forebay.api_key().unwrap_or_default();
        TestApp { engines, forebay, key, config, store_url: self.store_url }
    }

    pub(crate) fn config(&self, engine_urls: &[String]) -> String {
        let Self { server, edge, context_length, model, upstream, store_url, store, workspace, tables, .. } = self;
        let upstreams = |model: &str, own: &str| {
            let each =
                engine_urls.iter().map(|url| format!("{{ url = \"{url}\", model = \"{model}\"{upstream}{own} }}"));
            each.collect::<Vec<_>>().join(", ")
        };
        // Tests know the calls of their engines, unless they are about probes.
        let probe = if server.contains("probe = ") { "" } else { "probe = false" };
        format!(
            r#"[server]
listen = "127.0.0.1:0"
ops_listen = "127.0.0.1:0"
{probe}
{server}
[edge]
{edge}
[store]
url = "{store_url}"
{store}
[workspace_defaults]
{workspace}
{tables}

[[models]]
id = "{CHAT}"
name = "Tiny"
context_length = {context_length}
input_per_1m = "1.00"
cached_input_per_1m = "0.50"
output_per_1m = "4.00"
{model}upstreams = [ {} ]

[[models]]
id = "{EMBEDDING}"
modality = "embedding"
input_per_1m = "0.02"
upstreams = [ {} ]
"#,
            upstreams(UPSTREAM_NAME, &self.chat_upstream),
            upstreams("embed-small", "")
        )
    }
}

pub(crate) struct TestApp {
    pub(crate) engines: Vec<FakeEngine>,
    pub(crate) forebay: Forebay,
    /// The first key; empty if another gateway created it.
    pub(crate) key: String,
    pub(crate) config: String,
    store_url: String,
}

impl TestApp {
    pub(crate) fn setup() -> Setup {
        Setup {
            engine_count: 1,
            server: String::new(),
            edge: String::new(),
            context_length: 4_096,
            model: String::new(),
            upstream: String::new(),
            chat_upstream: String::new(),
            store_url: SQLITE.to_owned(),
            store: String::new(),
            workspace: HIGH_LIMITS.to_owned(),
            tables: String::new(),
            environment: Vec::new(),
            data_dir: None,
            is_first_start: false,
            may_wait_for_store: false,
        }
    }

    pub(crate) async fn start() -> Self {
        Self::setup().start().await
    }

    /// The first engine, usually the only one.
    pub(crate) fn engine(&self) -> &FakeEngine {
        &self.engines[0]
    }

    /// A client of `/v1` with the first key.
    pub(crate) fn client(&self) -> Client {
        self.client_with(&self.key)
    }

    pub(crate) fn client_with(&self, key: &str) -> Client {
        self.stranger().key(key)
    }

    /// A client of `/v1` without a key.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(format!("http://{}/v1", self.forebay.public))
    }

    pub(crate) async fn chat(&self, text: &str) -> Response {
        self.ask(chat(text)).await
    }

    pub(crate) async fn ask(&self, body: Value) -> Response {
        self.client().post_json("/chat/completions", body).await
    }

    pub(crate) async fn embed(&self, body: Value) -> Response {
        self.client().post_json("/embeddings", body).await
    }

    pub(crate) async fn open_stream(&self, body: Value) -> Stream {
        let stream = self.client().open_stream("/chat/completions", body).await;
        assert_eq!(stream.status, 200);
        stream
    }

    /// Reads a whole chat stream, with the engine following the script.
    pub(crate) async fn events(&self, script: Script, body: Value) -> Vec<Event> {
        self.engine().push(script);
        events_of(&self.client(), "/chat/completions", body).await
    }

    /// The status of a model in `GET /v1/models`.
    pub(crate) async fn model_status(&self, model: &str) -> String {
        let response = self.client().get(&format!("/models/{model}")).await;
        response.json()["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Runs `forebay admin …` while the server runs.
    pub(crate) fn try_admin(&self, line: &str) -> Output {
        self.admin_command(line).output().unwrap()
    }

    pub(crate) fn admin_command(&self, line: &str) -> Command {
        let mut command = Command::new(BINARY);
        command.arg("admin").args(line.split_whitespace()).arg("--config").arg(&self.forebay.config);
        command.arg("--data-dir").arg(&self.forebay.data_dir);
        command
    }

    /// The record that `forebay admin … --json` prints.
    pub(crate) fn admin(&self, line: &str) -> Value {
        let output = self.try_admin(&format!("{line} --json"));
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn workspace(&self) -> WorkspaceId {
        WorkspaceId::parse(self.forebay.bootstrap()["workspaceId"].as_str().unwrap()).unwrap()
    }

    /// A new key of the first workspace, as `forebay admin` shows it.
    pub(crate) fn new_key(&self, name: &str) -> Value {
        self.admin(&format!("keys create --workspace {} --name {name}", self.workspace()))
    }

    /// A second handle on the store of the server.
    pub(crate) async fn store(&self) -> Store {
        Store::open(&self.store_url, &self.forebay.data_dir).await.unwrap()
    }

    /// The usage events of the first workspace, newest first. Waits until there are `count`.
    pub(crate) async fn usage(&self, count: usize) -> Vec<UsageEvent> {
        self.usage_of(&self.workspace(), count).await
    }

    pub(crate) async fn usage_of(&self, workspace: &WorkspaceId, count: usize) -> Vec<UsageEvent> {
        let store = self.store().await;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let events = store::usage::list(&store, workspace, 1_000).await.unwrap();
            assert!(events.len() <= count, "{} usage events instead of {count}", events.len());
            if events.len() == count {
                return events;
            }
            assert!(Instant::now() < deadline, "{} usage events instead of {count}", events.len());
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// A chat with one message.
pub(crate) fn chat(text: &str) -> Value {
    json!({"model": CHAT, "messages": [{"role": "user", "content": text}]})
}

/// The same as a stream.
pub(crate) fn stream(text: &str) -> Value {
    json!({"model": CHAT, "messages": [{"role": "user", "content": text}], "stream": true})
}

/// The same with `include_usage`.
pub(crate) fn stream_with_usage(text: &str) -> Value {
    let mut body = stream(text);
    body["stream_options"] = json!({"include_usage": true});
    body
}

/// Opens a stream and reads all of it.
pub(crate) async fn events_of(client: &Client, path: &str, body: Value) -> Vec<Event> {
    let stream = client.open_stream(path, body).await;
    assert_eq!(stream.status, 200);
    let (events, is_clean) = stream.rest().await;
    assert!(is_clean, "the connection broke after {events:#?}");
    events
}

/// The types of events, with repeated ones once.
pub(crate) fn types(events: &[Event]) -> Vec<String> {
    let mut types: Vec<String> = events.iter().map(|event| text(&event.json()["type"]).to_owned()).collect();
    types.dedup();
    types
}

/// The concatenated text of a stream.
pub(crate) fn content(events: &[Event]) -> String {
    let of = |event: &Event| event.json()["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned();
    events.iter().map(of).collect()
}

/// Status, headers and body, with varying values masked.
pub(crate) fn shown(response: &Response) -> String {
    let mut text = format!("{}\n", response.status_line());
    for (name, value) in headers_but_ids(response) {
        writeln!(text, "{name}: {value}").unwrap();
    }
    format!("{text}\n{}\n", response.text())
}

/// The headers sorted by name, without `date`; the request id and remaining limits are masked.
pub(crate) fn headers_but_ids(response: &Response) -> BTreeMap<String, String> {
    let mask = |name: &str, value: &str| match name {
        "x-request-id" => mask_id(value),
        // A bucket refills every millisecond.
        name if name.starts_with("x-ratelimit-re") => "…".to_owned(),
        _ => value.to_owned(),
    };
    let all = response.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or("…")));
    all.filter(|(name, _)| *name != "date").map(|(name, value)| (name.to_owned(), mask(name, value))).collect()
}

fn mask_id(value: &str) -> String {
    assert!(value.starts_with("req_") && value.len() > 20, "{value} is not a request id");
    "req_…".to_owned()
}

/// `status code param` of an error; also checks the envelope.
pub(crate) fn error_line(response: &Response) -> String {
    let body = response.json();
    let error = &body["error"];
    let members: Vec<&str> = error.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members.len(), 4, "{body}");
    for member in ["type", "code", "message", "param"] {
        assert!(error[member].is_string(), "{member} of {body}");
    }
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert!(response.header("x-request-id").is_some());
    format!("{} {} {}", response.status.as_u16(), text(&error["code"]), text(&error["param"])).trim_end().to_owned()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until the condition holds; fails after the time limit.
pub(crate) async fn wait_until(what: &str, limit: Duration, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not within {limit:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
