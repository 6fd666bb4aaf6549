//! A machine with four slots and its own folder, and engines to run on it.
//!
//! Other processes are this test program itself, started with the name of an ignored test.

use domain::endpoint::replica_keys::ReplicaKeys;
use domain::model::{DriverKind, Launch, Modality};
use domain::{ModelId, Timestamp};
use fleet::drivers::process::{ProcessDriver, Settings, ShimPolicy, ShimProgram};
use fleet::drivers::{
    Binding, Driver, Exit, Observation, ObservedReplica, ReplicaAuth, ReplicaName, ReplicaSpec, Running, TakenResources,
};
use fleet::engine::{BuiltInEngine, ProbeResult};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;
use testkit::fake_engine::FakeEngine;

/// Long enough for a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
const ENGINE_PORT: &str = "PYTHON_TEST_ENGINE_PORT";
const CONTROL_PLANE_ROOT: &str = "TEST_CONTROL_PLANE_ROOT";

pub(crate) struct Machine {
    pub(crate) driver: ProcessDriver,
    pub(crate) root: PathBuf,
    _folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self::with_policy(|_| {})
    }

    /// A machine whose clock differs from the store's.
    pub(crate) fn with_store_time(now: fn() -> Timestamp) -> Self {
        let mut machine = Self::new();
        machine.driver = driver_with_time(&machine.root, ShimPolicy::default(), now);
        machine
    }

    pub(crate) fn with_policy(change: impl FnOnce(&mut ShimPolicy)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut policy =
            ShimPolicy { beat: Duration::from_millis(50), grace: Duration::from_secs(60), ..ShimPolicy::default() };
        change(&mut policy);
        let root = folder.path().canonicalize().unwrap().join("replicas");
        Self { driver: driver(&root, policy), root, _folder: folder }
    }

    /// The driver of the next gateway process on the same data.
    pub(crate) fn restarted(&self) -> ProcessDriver {
        driver(&self.root, ShimPolicy::default())
    }

    pub(crate) async fn start(&self, name: &str, launch: Launch) -> ReplicaSpec {
        let spec = spec(name, launch);
        let binding = self.bind(&spec).await;
        self.driver.start(&spec, &binding).await.unwrap();
        spec
    }

    pub(crate) async fn bind(&self, spec: &ReplicaSpec) -> Binding {
        self.driver.bind(spec, &TakenResources::default()).await.unwrap()
    }

    pub(crate) async fn find(&self, name: &str) -> Option<Observation> {
        let found = self.driver.list().await.unwrap();
        found.into_iter().find(|observed| observed.replica.as_str() == name).map(|observed| observed.observation)
    }

    pub(crate) async fn running(&self, name: &str) -> Running {
        match self.find(name).await {
            Some(Observation::Running(running)) => running,
            other => panic!("{name} does not run: {other:?}"),
        }
    }

    pub(crate) async fn exit(&self, name: &str) -> Exit {
        wait_for("its end", async || match self.find(name).await {
            Some(Observation::Exited(exit)) => Some(exit),
            _ => None,
        })
        .await
    }

    pub(crate) async fn ready(&self, name: &str) {
        let replica = named(name);
        wait_for("a ready engine", async || {
            if let Some(Observation::Exited(exit)) = self.find(name).await {
                panic!("{name} ended before it was ready: {exit:?}");
            }
            (self.driver.probe_start(&replica).await == ProbeResult::Healthy).then_some(())
        })
        .await;
    }

    pub(crate) fn file(&self, name: &str, file: &str) -> PathBuf {
        self.root.join(name).join(file)
    }

    /// A process id from a replica's folder: of its `shim` or its `engine`.
    pub(crate) fn pid_of(&self, name: &str, role: &str) -> u32 {
        let text = std::fs::read(self.file(name, "pids.json")).unwrap();
        let pids: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&text).unwrap();
        pids[role]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap()
    }
}

/// Ends everything that a test started.
impl Drop for Machine {
    fn drop(&mut self) {
        let root = self.root.clone();
        let ending = std::thread::spawn(move || {
            let driver = driver(&root, ShimPolicy { grace: Duration::ZERO, ..ShimPolicy::default() });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            for entry in std::fs::read_dir(&root).unwrap().flatten() {
                // Without their folders all are strays, which get no grace period.
                let _ = std::fs::remove_dir_all(entry.path());
            }
            let ended = runtime.block_on(async { tokio::time::timeout(TIMEOUT, driver.stop_all()).await });
            ended.unwrap().unwrap();
        });
        assert!(ending.join().is_ok() || std::thread::panicking(), "some process still runs");
    }
}

/// The time of this machine, which is the store's in most tests.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

pub(crate) fn driver(root: &Path, policy: ShimPolicy) -> ProcessDriver {
    driver_with_time(root, policy, now)
}

fn driver_with_time(root: &Path, policy: ShimPolicy, now: fn() -> Timestamp) -> ProcessDriver {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process_part = u16::try_from(std::process::id() % 64).unwrap() * 150;
    let first = 10_000 + process_part + NEXT.fetch_add(1, Ordering::Relaxed) * 50 % 10_000;
    let auth = ReplicaAuth::new(ReplicaKeys::new("secret"));
    auth.require(true);
    let settings = Settings {
        root: root.to_owned(),
        slots: BTreeMap::from([("local/cpu".to_owned(), 4)]),
        ports: first..=first + 9_999 - process_part,
        built_in: BuiltInEngine {
            // `make test` builds it next to the other binaries.
            binary: Path::new(env!("CARGO_BIN_EXE_replica-shim")).with_file_name("forebay-engine"),
            cache_dir: root.with_file_name("cache"),
        },
        shim: ShimProgram { program: env!("CARGO_BIN_EXE_replica-shim").into(), arguments: Vec::new() },
        shim_policy: policy,
        auth,
        now,
    };
    ProcessDriver::open(settings).unwrap()
}

pub(crate) fn named(name: &str) -> ReplicaName {
    ReplicaName::parse(name).unwrap()
}

pub(crate) fn spec(name: &str, launch: Launch) -> ReplicaSpec {
    ReplicaSpec {
        replica: named(name),
        model: ModelId::parse("dedicated/tiny").unwrap(),
        modality: Modality::Chat,
        driver: DriverKind::Process,
        launch,
        options: domain::model::EngineOptions::default(),
        image: None,
        owner: None,
        gpu_type: "local/cpu".into(),
        gpu_count: 1,
        weights: Some("/nowhere/weights.gguf".into()),
        max_len: 2048,
        slots: 4,
    }
}

/// An engine that runs a shell script; `$1` is its folder of weights, `$2` its port.
pub(crate) fn script(text: &str) -> Launch {
    let argv = ["sh", "-c", text, "engine", "{weights}", "{port}"];
    Launch::Argv(argv.iter().map(|&argument| argument.to_owned()).collect())
}

/// The scripted engine.
pub(crate) fn engine() -> Launch {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let port = format!("{ENGINE_PORT}={{port}}");
    let arguments = ["--ignored", "--exact", "helpers::an_engine", "--nocapture"].map(ToOwned::to_owned);
    Launch::Argv([vec!["env".to_owned(), port, program], arguments.to_vec()].concat())
}

#[test]
#[ignore = "a program that other tests start"]
fn an_engine() {
    let Ok(port) = std::env::var(ENGINE_PORT) else { return };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().unwrap()));
    FakeEngine::for_load(address, 1).unwrap().join();
}

/// A gateway in its own process, which starts the replica `rep_1` and waits.
pub(crate) fn control_plane(root: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "helpers::a_control_plane", "--nocapture"])
        .env(CONTROL_PLANE_ROOT, root)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
#[ignore = "a program that other tests start"]
async fn a_control_plane() {
    let Ok(root) = std::env::var(CONTROL_PLANE_ROOT) else { return };
    let driver = driver(Path::new(&root), ShimPolicy::default());
    let spec = spec("rep_1", engine());
    let binding = driver.bind(&spec, &TakenResources::default()).await.unwrap();
    driver.start(&spec, &binding).await.unwrap();
    std::future::pending::<()>().await;
}

pub(crate) async fn wait_for<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().unwrap().success());
}

/// Whether a process with this id runs and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}

pub(crate) fn names(found: &[ObservedReplica]) -> Vec<&str> {
    found.iter().map(|observed| observed.replica.as_str()).collect()
}
