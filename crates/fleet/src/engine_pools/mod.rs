//! Serverless pools that the gateway runs itself: engines as child processes.
//!
//! Each round reads the catalogue, starts missing engines and stops obsolete ones. Engines join the route table when
//! they are ready, and leave it when they end; one that ends is restarted with a backoff.
//!
//! Unlike replicas of endpoints, these engines end with the gateway and have no shim.

mod child;
mod logs;

pub use logs::{EngineLogs, KeptLog};

use crate::backend::Backend;
use crate::engine::{Family, environment};
use crate::health::{self, ProbeOutcome};
use crate::routes::Routes;
use background::{Backoff, Tasks, ticks};
use child::Child;
use domain::model::{EngineKind, EnginePool, Serving, Upstream};
use domain::{Model, ModelId};
use outbound::Connector;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, iter};
use tokio::sync::watch;

const PERIOD: Duration = Duration::from_millis(500);
/// Backoff before an engine is restarted; a run of `HEALTHY_RUN` resets it.
const RESTART_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
const HEALTHY_RUN: Duration = Duration::from_secs(60);
const READY_POLL_PERIOD: Duration = Duration::from_millis(100);
/// Timeout for loading weights.
const START_TIMEOUT: Duration = Duration::from_secs(1800);

/// Paths that engines are started with.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The `forebay-engine` binary.
    pub binary: PathBuf,
    /// Where engines write their address.
    pub run_dir: PathBuf,
    /// Where engines keep converted weights.
    pub cache_dir: PathBuf,
}

impl Launcher {
    /// Launches the engine beside this program, or the one that `FOREBAY_ENGINE` names.
    pub fn find(data_dir: &Path) -> io::Result<Self> {
        let beside = || Ok::<_, io::Error>(std::env::current_exe()?.with_file_name("forebay-engine"));
        let binary = std::env::var_os("FOREBAY_ENGINE").map(PathBuf::from).map_or_else(beside, Ok)?;
        let data_dir = std::path::absolute(data_dir)?;
        Ok(Self { binary, run_dir: data_dir.join("engines"), cache_dir: data_dir.join("cache") })
    }
}

/// One engine that should run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct EngineSpec {
    model: ModelId,
    number: u32,
    weights: String,
    context_length: u64,
    /// `None` for the engine's default.
    parallel: Option<u32>,
    /// Further arguments of the operator.
    args: Vec<String>,
}

impl EngineSpec {
    /// One of a pool with default settings.
    #[cfg(test)]
    fn plain(model: ModelId, weights: &str) -> Self {
        Self { model, number: 1, weights: weights.to_owned(), context_length: 4096, parallel: None, args: Vec::new() }
    }

    fn new(model: &Model, pool: &EnginePool, number: u32) -> Self {
        Self {
            model: model.id.clone(),
            number,
            weights: pool.weights.clone(),
            context_length: model.context_length,
            parallel: pool.parallel,
            args: pool.args.clone(),
        }
    }

    /// The name of its backend.
    fn name(&self) -> String {
        format!("{}#{}", self.model, self.number)
    }
}

/// The arguments of an engine of a pool and the names of its variables. What is not known yet is in braces.
pub(crate) fn preview(model: &Model, pool: &EnginePool) -> (Vec<String>, Vec<String>) {
    let spec = EngineSpec::new(model, pool, 1);
    let folder = Path::new("{dataDir}");
    let arguments = child::arguments(&spec, &folder.join("engines/{engine}.address"), &folder.join("cache"));
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let argv = iter::once("forebay-engine".to_owned()).chain(arguments.into_iter().map(text)).collect();
    let passed: BTreeSet<_> = environment::allowed_names().collect();
    let key = Family::ForebayEngine.key_variable().to_owned();
    (argv, passed.into_iter().chain([key]).collect())
}

/// Keeps the engines of the catalogue running until it is stopped.
pub struct Engines {
    stop: watch::Sender<bool>,
    tasks: Tasks,
}

impl Engines {
    pub fn start(
        runtime: &tokio::runtime::Handle,
        launcher: Launcher,
        routes: Routes,
        connector: Connector,
        logs: EngineLogs,
    ) -> Self {
        let (stop, stopping) = watch::channel(false);
        let (tasks, shutdown) = (Tasks::new(runtime.clone()), stopping.clone());
        let supervisor = Arc::new(Supervisor { launcher, routes, connector, logs, shutdown, tasks: tasks.clone() });
        tasks.spawn(supervise_all(supervisor, stopping));
        Self { stop, tasks }
    }

    /// Stops all engines and waits for their end.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.tasks.finish().await;
    }
}

struct Supervisor {
    launcher: Launcher,
    routes: Routes,
    connector: Connector,
    logs: EngineLogs,
    /// Whether the gateway shuts down.
    shutdown: watch::Receiver<bool>,
    tasks: Tasks,
}

async fn supervise_all(supervisor: Arc<Supervisor>, mut stopping: watch::Receiver<bool>) {
    let mut running: HashMap<EngineSpec, watch::Sender<bool>> = HashMap::new();
    loop {
        let desired = supervisor.desired();
        running.retain(|spec, stop| {
            let stays = desired.contains(spec);
            if !stays {
                stop.send_replace(true);
            }
            stays
        });
        for spec in desired {
            running.entry(spec.clone()).or_insert_with(|| {
                let (stop, stopping) = watch::channel(false);
                supervisor.tasks.spawn(supervise_one(Arc::clone(&supervisor), spec, stopping));
                stop
            });
        }
        tokio::select! {
            () = ticks::sleep(PERIOD) => {}
            _ = stopping.wait_for(|stop| *stop) => break,
        }
    }
    for stop in running.values() {
        stop.send_replace(true);
    }
}

/// Runs an engine and restarts it when it ends.
async fn supervise_one(supervisor: Arc<Supervisor>, spec: EngineSpec, mut stopping: watch::Receiver<bool>) {
    let mut backoff = RESTART_BACKOFF;
    loop {
        let started = Instant::now();
        supervisor.run(&spec, &mut stopping).await;
        let pause = pause_after(started.elapsed(), &mut backoff);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stop| *stop) => break,
        }
    }
    // After an edit of the model, the log continues with the engine that replaces this one.
    let name = spec.name();
    if !supervisor.desired().iter().any(|desired| desired.name() == name) {
        supervisor.logs.remove(&name);
    }
}

/// The pause after a run of this length.
fn pause_after(run: Duration, backoff: &mut Backoff) -> Duration {
    if run >= HEALTHY_RUN {
        backoff.reset();
    }
    backoff.next_delay()
}

impl Supervisor {
    fn desired(&self) -> Vec<EngineSpec> {
        let table = self.routes.table();
        let engines = table.iter().filter_map(|route| match &route.model.serving {
            Serving::Engine(pool) if pool.flavor.is_none() => Some((&*route.model, pool)),
            Serving::Engine(_) | Serving::Upstreams(_) => None,
        });
        engines
            .flat_map(|(model, pool)| (1..=pool.replicas).map(move |number| EngineSpec::new(model, pool, number)))
            .collect()
    }

    /// Runs an engine until it ends.
    async fn run(&self, spec: &EngineSpec, stopping: &mut watch::Receiver<bool>) {
        let Some(mut child) = self.start_child(spec, stopping).await else { return };
        let ready = tokio::select! {
            ready = self.wait_until_ready(&mut child, spec) => ready,
            _ = stopping.wait_for(|stop| *stop) => None,
        };
        let Some(backend) = ready else { return child.stop(self.shutdown.clone()).await };
        tracing::info!(model = %spec.model, replica.name = %backend.name, "engine of {} is ready", spec.model);
        let id = backend.id;
        self.routes.join(spec.model.clone(), backend);
        tokio::select! {
            status = child.wait() => {
                tracing::warn!(model = %spec.model, "an engine of {} ended ({status}): {}", spec.model, child.log_tail());
            }
            _ = stopping.wait_for(|stop| *stop) => {}
        }
        self.routes.leave(id);
        child.stop(self.shutdown.clone()).await;
    }

    /// Starts an engine, as soon as its binary exists: the first `make run` serves before it is built.
    async fn start_child(&self, spec: &EngineSpec, stopping: &mut watch::Receiver<bool>) -> Option<Child> {
        let binary = self.launcher.binary.display();
        let mut is_reported = false;
        loop {
            match Child::start(&self.launcher, spec, &self.tasks, &self.logs) {
                Ok(child) => return Some(child),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !is_reported {
                        tracing::warn!(model = %spec.model, "{} is unavailable until {binary} exists", spec.model);
                        is_reported = true;
                    }
                }
                Err(error) => {
                    tracing::error!(model = %spec.model, "cannot start {binary}: {error}");
                    return None;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                _ = stopping.wait_for(|stop| *stop) => return None,
            }
        }
    }

    /// The engine as a backend, once it is healthy.
    async fn wait_until_ready(&self, child: &mut Child, spec: &EngineSpec) -> Option<Arc<Backend>> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut backend = None;
        while Instant::now() < deadline {
            if let Some(status) = child.exit_status() {
                // Wait for the last log lines to arrive.
                tokio::time::sleep(READY_POLL_PERIOD).await;
                let log = child.log_tail();
                tracing::error!(model = %spec.model, "the engine of {} did not start ({status}): {log}", spec.model);
                return None;
            }
            if backend.is_none() {
                backend = child.address().and_then(|address| backend_at(spec, &address, &child.key));
            }
            if let Some(backend) = &backend
                && health::probe(backend, &self.connector).await == ProbeOutcome::Healthy
            {
                return Some(Arc::clone(backend));
            }
            tokio::time::sleep(READY_POLL_PERIOD).await;
        }
        tracing::error!(model = %spec.model, "the engine of {} was not ready within {START_TIMEOUT:?}", spec.model);
        None
    }
}

fn backend_at(spec: &EngineSpec, address: &str, key: &str) -> Option<Arc<Backend>> {
    let plain = Upstream::plain(format!("http://{address}/v1"), spec.model.as_str());
    let engine = Some(EngineKind::ForebayEngine);
    let upstream = Upstream { continuous_usage: true, engine, api_key: Some(key.to_owned()), ..plain };
    Backend::new(&spec.name(), upstream).ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_reset_after_a_healthy_run() {
        let mut backoff = RESTART_BACKOFF;
        let pauses: Vec<u64> = (0..8).map(|_| pause_after(Duration::from_secs(2), &mut backoff).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause_after(Duration::from_secs(61), &mut backoff), Duration::from_secs(1));
    }

    #[tokio::test]
    async fn an_engine_starts_as_soon_as_its_binary_exists() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("forebay-engine");
        let (run_dir, cache_dir) = (folder.path().join("run"), folder.path().join("cache"));
        let launcher = Launcher { binary: binary.clone(), run_dir, cache_dir };
        let (_running, mut stopping) = watch::channel(false);
        let supervisor = Supervisor {
            launcher,
            routes: Routes::default(),
            connector: Connector::default(),
            logs: EngineLogs::default(),
            shutdown: stopping.clone(),
            tasks: Tasks::new(tokio::runtime::Handle::current()),
        };
        let model = ModelId::parse("acme/tiny").unwrap();
        let spec = EngineSpec::plain(model, "tiny.gguf");
        let mut starting = std::pin::pin!(supervisor.start_child(&spec, &mut stopping));
        tokio::select! {
            biased;
            _ = &mut starting => panic!("there is nothing to start"),
            () = std::future::ready(()) => {}
        }
        std::os::unix::fs::symlink("/bin/true", &binary).unwrap();
        let child = starting.await.expect("the binary exists");
        child.stop(supervisor.shutdown.clone()).await;
        supervisor.tasks.finish().await;
    }
}
