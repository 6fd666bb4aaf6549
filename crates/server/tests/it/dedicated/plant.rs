//! A node with one model that can run on slots of this machine, and shortcuts for requests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use control::endpoints::{Note, Transition, transition};
use domain::endpoint::event::Event;
use domain::endpoint::replica::Replica;
use domain::endpoint::state::Trigger;
use domain::{Endpoint, EndpointId, Span, Timestamp};
use serde_json::{Value, json};
use store::holds::Held;
use store::{Store, StoreError, leader_writes};
use testkit::http::{Client, Response};

use crate::app::{BINARY, Setup, TestApp, wait_until};

/// Far more than any step takes: a replica is a process, and its start takes a dozen transactions.
pub(super) const TIMEOUT: Duration = Duration::from_secs(90);

/// The configuration of a plant.
pub(super) struct Blueprint {
    slots: u32,
    edge: String,
    /// The flavor's members that define how a replica is started.
    launch: String,
    store: Option<String>,
    ports: (u16, u16),
    setup: Setup,
}

impl Blueprint {
    /// Replicas are scripted engines, one per slot.
    pub(super) fn new(slots: u32) -> Self {
        // Tests run in parallel: each gets its own ports, below the ephemeral range.
        let first = 10_000 + u16::try_from(getrandom::u64().unwrap() % 200).unwrap() * 100;
        let launch = format!(r#"argv = ["{}", "--listen", "127.0.0.1:{{port}}"]"#, fake_engine().display());
        let ports = (first, first + 99);
        Self { slots, edge: String::new(), launch, store: None, ports, setup: TestApp::setup() }
    }

    pub(super) fn edge(mut self, line: &str) -> Self {
        line.clone_into(&mut self.edge);
        self
    }

    /// Replicas run this shell script; `$1` is the scripted engine, `$2` its listen address.
    pub(super) fn script(mut self, text: &str) -> Self {
        let text = json!(text);
        let engine = json!(fake_engine());
        self.launch = format!(r#"argv = ["sh", "-c", {text}, "engine", {engine}, "127.0.0.1:{{port}}"]"#);
        self
    }

    /// How a replica is started, as members of the flavor.
    pub(super) fn launch(mut self, members: &str) -> Self {
        members.clone_into(&mut self.launch);
        self
    }

    pub(super) fn store(mut self, url: &str) -> Self {
        self.store = Some(url.to_owned());
        self
    }

    pub(super) fn setup(mut self, change: impl FnOnce(Setup) -> Setup) -> Self {
        self.setup = change(self.setup);
        self
    }

    /// Kills the node at a point of `control::fault`.
    pub(super) fn killed_at(self, point: &str) -> Self {
        self.setup(|setup| setup.environment(KILL_AT, point))
    }

    fn finished(self) -> Setup {
        let Self { slots, edge, launch, store, ports: (first, last), setup } = self;
        let setup = setup.edge(&edge).table(&format!(
            r#"[allotment_defaults]
"local/cpu" = 8

[drivers.process]
slots = {{ "local/cpu" = {slots} }}
ports = "{first}-{last}"

[[models]]
id = "acme/own"
context_length = 65536
input_per_1m = "1.00"
output_per_1m = "1.00"
upstreams = [ {{ url = "http://127.0.0.1:9/v1" }} ]

[[models.flavors]]
name = "one"
gpu_type = "local/cpu"
gpu_count = 1
precision = "q4"
price_per_gpu_hour = "3.60"
{launch}
"#
        ));
        match store {
            Some(url) => setup.store(&url),
            None => setup,
        }
    }

    pub(super) async fn start(self) -> Plant {
        Plant::of(self.finished().start().await).await
    }

    /// Another node of the same service, with the first one's key.
    pub(super) async fn start_beside(self, first: &Plant) -> Plant {
        let mut app = self.finished().start_beside(&first.app).await;
        first.app.key.clone_into(&mut app.key);
        Plant::of(app).await
    }
}

pub(super) const KILL_AT: &str = "FOREBAY_TEST_KILL_AT";

pub(super) fn fake_engine() -> PathBuf {
    Path::new(BINARY).with_file_name("fake-engine")
}

pub(crate) struct Plant {
    pub(crate) app: TestApp,
    pub(super) store: Store,
}

impl Plant {
    pub(crate) async fn start(slots: u32, edge: &str) -> Self {
        Blueprint::new(slots).edge(edge).start().await
    }

    async fn of(app: TestApp) -> Self {
        let store = app.store().await;
        Self { app, store }
    }

    pub(super) fn client(&self) -> Client {
        self.app.client()
    }

    pub(crate) async fn create(&self, name: &str, scaling: Value) {
        let response = self.client().post_json("/endpoints", endpoint_body(name, scaling)).await;
        assert_eq!(response.status, 201, "{}", response.text());
    }

    pub(super) async fn patch(&self, name: &str, change: Value) -> Value {
        let response = self.client().send_json(http::Method::PATCH, &format!("/endpoints/{name}"), change).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }

    async fn act(&self, name: &str, verb: &str) {
        let response = self.client().post_json(&format!("/endpoints/{name}/{verb}"), json!({})).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    pub(super) async fn suspend(&self, name: &str) {
        self.act(name, "suspend").await;
    }

    pub(super) async fn resume(&self, name: &str) {
        self.act(name, "resume").await;
    }

    /// Deletes the endpoint, and waits until nothing of it is left.
    pub(super) async fn delete(&self, name: &str) {
        let response = self.client().delete(&format!("/endpoints/{name}")).await;
        assert_eq!(response.status, 202, "{}", response.text());
        wait_until("gone", TIMEOUT, async || self.endpoint(name).await.is_none()).await;
    }

    pub(super) async fn endpoint(&self, name: &str) -> Option<Endpoint> {
        let all = patiently(async || store::endpoints::list_all(&self.store).await).await;
        all.into_iter().find(|endpoint| endpoint.name.as_str() == name)
    }

    pub(super) async fn id(&self, name: &str) -> EndpointId {
        self.endpoint(name).await.unwrap().id
    }

    /// Waits until the record has this state and this node routes accordingly.
    pub(crate) async fn wait_for(&self, name: &str, state: &str, ready: u32) {
        wait_until(&format!("{name} {state} with {ready}"), TIMEOUT, async || {
            let endpoint = self.endpoint(name).await;
            let Some(endpoint) = endpoint.filter(|one| one.state.as_str() == state && one.status.ready == ready) else {
                return false;
            };
            self.routed(&endpoint.id).await == Some(ready as usize)
        })
        .await;
    }

    /// The replicas to which this node routes calls, by its last report.
    pub(crate) async fn routed(&self, endpoint: &EndpointId) -> Option<usize> {
        let reports = patiently(async || store::endpoint_loads::list(&self.store).await).await;
        let here = reports.iter().find(|report| report.endpoint == *endpoint && report.node == self.node())?;
        Some(here.replicas.iter().filter(|calls| calls.routed).count())
    }

    /// The id of this node.
    pub(super) fn node(&self) -> String {
        std::fs::read_to_string(self.app.forebay.data_dir.join("node-id")).unwrap()
    }

    pub(super) async fn chat(&self, name: &str) -> Response {
        self.app.ask(chat(name, "hi")).await
    }

    /// Scales the endpoint to zero, as if its window, which is at least a minute, had passed without a call.
    pub(super) async fn scale_to_zero(&self, name: &str) {
        let note = || Note { part: "autoscaler", message: "1 → 0: no call".to_owned(), data: json!({}) };
        wait_until("asleep", TIMEOUT, async || {
            let endpoint = self.endpoint(name).await.unwrap();
            let epoch = store::leader::read(&self.store).await.unwrap().epoch;
            let slept = transition(&endpoint, Trigger::Idle, note(), endpoint.updated_at);
            matches!(slept, Transition::Changed(_))
                && leader_writes::commit(&self.store, epoch, &slept.writes()).await.is_ok()
        })
        .await;
    }

    /// The replicas whose state is not final.
    pub(super) async fn live(&self) -> Vec<Replica> {
        store::replicas::list_live(&self.store).await.unwrap()
    }

    /// All replicas of an endpoint, ended ones included.
    pub(super) async fn replicas(&self, endpoint: &EndpointId) -> Vec<Replica> {
        store::replicas::newest_of(&self.store, endpoint, 100).await.unwrap()
    }

    pub(super) async fn holds(&self, endpoint: &EndpointId) -> Vec<Held> {
        let ever = Span { from: Timestamp::default(), to: Timestamp::from_millis(i64::MAX) };
        store::holds::of_endpoint(&self.store, endpoint, ever).await.unwrap()
    }

    pub(super) async fn open_holds(&self) -> usize {
        store::holds::list_open(&self.store).await.unwrap().len()
    }

    /// The events of an endpoint, oldest first.
    pub(super) async fn events(&self, endpoint: &EndpointId) -> Vec<Event> {
        let mut events = store::endpoint_events::list(&self.store, endpoint, Default::default(), 1_000).await.unwrap();
        events.reverse();
        events
    }

    /// A client of the replica itself, bypassing the gateway.
    pub(super) fn engine_of(&self, replica: &Replica) -> Client {
        Client::new(replica.address.as_deref().unwrap())
    }

    /// The engine's process.
    pub(super) fn pid_of(&self, replica: &Replica) -> u32 {
        let file = self.app.forebay.data_dir.join("replicas").join(replica.id.as_str()).join("pids.json");
        let pids: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        u32::try_from(pids["engine"]["pid"].as_u64().unwrap()).unwrap()
    }

    /// The names of replicas that have a process.
    pub(super) fn running(&self) -> BTreeSet<String> {
        running_below(&self.app.forebay.data_dir).into_iter().map(|(_, replica)| replica).collect()
    }
}

/// Replicas outlive their node, but not the test.
impl Drop for Plant {
    fn drop(&mut self) {
        self.app.forebay.child.kill();
        for (pid, _) in running_below(&self.app.forebay.data_dir) {
            kill(pid, "KILL");
        }
    }
}

/// Asks the store again if its pool has no connection for some seconds, as happens on a busy machine.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, StoreError>) -> T {
    for _ in 0..10 {
        match ask().await {
            Err(error) if error.is_unavailable() => {}
            result => return result.unwrap(),
        }
    }
    ask().await.unwrap()
}

/// The processes and names of the replicas below a data directory.
fn running_below(data_dir: &Path) -> Vec<(u32, String)> {
    let root = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned()).join("replicas");
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let marked = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0).filter_map(|text| str::from_utf8(text).ok());
        let folder = PathBuf::from(variables.find_map(|variable| variable.strip_prefix("GW_REPLICA_DIR="))?);
        (folder.parent()? == root).then(|| (pid, folder.file_name().unwrap().to_str().unwrap().to_owned()))
    };
    pids.filter_map(marked).collect()
}

pub(super) fn kill(pid: u32, signal: &str) {
    let _ = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
}

/// The body of a create.
pub(super) fn endpoint_body(name: &str, scaling: Value) -> Value {
    let mut body = json!({"name": name, "model": "acme/own", "flavor": "one"});
    let Value::Object(scaling) = scaling else { panic!("scaling is an object") };
    body.as_object_mut().unwrap().extend(scaling);
    body
}

/// A chat with an endpoint.
pub(super) fn chat(name: &str, text: &str) -> Value {
    json!({"model": format!("dedicated/{name}"), "messages": [{"role": "user", "content": text}]})
}
