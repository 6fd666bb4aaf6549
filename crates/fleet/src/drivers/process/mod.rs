//! Replicas as processes on this machine.
//!
//! Each has a folder and a shim, its parent process; see [`shim`]. The driver keeps no state in memory: after a restart it
//! reads the folders and continues with the replicas that are there.

mod busy;
mod devices;
mod directory;
mod environment;
mod gpu_type;
mod log;
mod machine;
mod observe;
mod placement;
mod ports;
mod process_table;
pub mod shim;

use crate::clock;
use crate::drivers::{
    Binding, Device, DeviceId, Draining, Driver, Observation, ObservedReplica, PlacementError, ReplicaName,
    ReplicaSpec, StartError, TakenResources,
};
use crate::engine::{BuiltInEngine, EngineLoad, EngineMetrics, Family, LoadError, ProbeResult};
use devices::Devices;
pub use devices::{GpuMemory, GpuScan, scan_gpus};
pub use directory::ShimPolicy;
use directory::{Directory, ShimOrder};
use domain::Timestamp;
use domain::model::Modality;
pub use log::LogFile;
pub use machine::machine_id;
use parking_lot::{Mutex, RwLock};
pub use ports::{DEFAULT_RANGE as DEFAULT_PORTS, PORTS_PER_REPLICA};
use process_table::{Identity, Process};
use rustix::process::Signal;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;

/// The engine's own drain timeout ends this much before the shim's grace period.
const DRAIN_MARGIN: Duration = Duration::from_secs(5);
/// Timeout for a shim to start its engine.
const SHIM_START_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a failed shim's log that are shown.
const SHOWN_SHIM_LOG_BYTES: u64 = 1000;

#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATA_DIR/replicas`.
    pub root: PathBuf,
    /// Slots per GPU type, in addition to the GPUs that NVML finds.
    pub slots: BTreeMap<String, u32>,
    pub ports: RangeInclusive<u16>,
    pub built_in: BuiltInEngine,
    pub shim: ShimProgram,
    pub shim_policy: ShimPolicy,
    /// The store's time, in which observations are dated: this machine's clock may be wrong.
    pub now: fn() -> Timestamp,
}

/// Command of the shim; `--dir` and the folder follow.
#[derive(Debug, Clone)]
pub struct ShimProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl ShimProgram {
    /// This program, with its hidden `replica-shim` command.
    pub fn own() -> Self {
        Self { program: "/proc/self/exe".into(), arguments: vec!["replica-shim".into()] }
    }
}

/// Replicas as processes on this machine. Clones share the same driver.
#[derive(Debug, Clone)]
pub struct ProcessDriver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    devices: Devices,
    /// Folders of other gateways on this machine that use the same store.
    neighbours: RwLock<Vec<PathBuf>>,
    /// Replicas that this process is starting, so that their folders are not taken for lost ones.
    launching: Mutex<HashSet<ReplicaName>>,
    /// When processes without a shim were first sent SIGTERM.
    terminated_at: Mutex<HashMap<Identity, Instant>>,
}

impl ProcessDriver {
    /// Opens the folder of replicas and looks for GPUs. A machine without GPUs or their driver is fine.
    pub fn open(mut settings: Settings) -> io::Result<Self> {
        std::fs::create_dir_all(&settings.root)?;
        settings.root = settings.root.canonicalize()?;
        let devices = Devices::find(settings.slots.clone());
        let shared = Shared {
            settings,
            devices,
            neighbours: RwLock::default(),
            launching: Mutex::default(),
            terminated_at: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The folder of this gateway's replicas.
    pub fn root(&self) -> &Path {
        &self.shared.settings.root
    }

    /// Includes the replicas in the folders of other gateways on this machine that use the same store. The leader among
    /// them manages the replicas of all.
    pub fn set_neighbours(&self, folders: Vec<PathBuf>) {
        *self.shared.neighbours.write() = folders;
    }

    /// All slots and GPUs of this machine.
    pub async fn devices(&self) -> Vec<Device> {
        self.blocking(|shared| Ok(shared.devices.all())).await.unwrap_or_default()
    }

    /// The memory of this machine's GPUs.
    pub async fn gpu_memory(&self) -> Vec<GpuMemory> {
        self.blocking(|shared| Ok(shared.devices.gpu_memory())).await.unwrap_or_default()
    }

    /// The end of a replica's log, at most `max_bytes`; `None` if this machine has none.
    pub async fn read_log(&self, replica: &ReplicaName, max_bytes: u64) -> Option<String> {
        let log = self.directory(replica).log();
        self.blocking(move |_| Ok(log.exists().then(|| log::tail(&log, max_bytes)))).await.ok().flatten()
    }

    /// The logs of replicas on this machine, by name.
    pub async fn list_logs(&self) -> Vec<LogFile> {
        self.blocking(|shared| Ok(log::list(&shared.roots()))).await.unwrap_or_default()
    }

    /// Stops all replicas of this gateway and waits for their end, without a timeout of its own.
    pub async fn stop_all(&self) -> io::Result<Vec<ObservedReplica>> {
        const POLL_PERIOD: Duration = Duration::from_millis(100);
        loop {
            let found = self.blocking(|shared| observe::all(&shared.settings.root)).await?;
            let alive = found.iter().filter(|observed| observed.observation.is_alive());
            let alive: Vec<&ReplicaName> = alive.map(|observed| &observed.replica).collect();
            if alive.is_empty() {
                return Ok(found);
            }
            for replica in alive {
                self.stop(replica).await?;
            }
            tokio::time::sleep(POLL_PERIOD).await;
        }
    }

    /// Load and token counters of a replica's engine.
    pub async fn metrics(&self, replica: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        let order = self.order(replica).ok_or(LoadError::UnknownReplica)?;
        order.engine().metrics().await
    }

    fn directory(&self, replica: &ReplicaName) -> Directory {
        self.shared.directory(replica)
    }

    /// The order of a replica that has not ended. After its end another replica may listen on its port.
    fn order(&self, replica: &ReplicaName) -> Option<ShimOrder> {
        let directory = self.directory(replica);
        directory.order().filter(|_| directory.exit().is_none())
    }

    /// Runs blocking file and process work on its own thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
    }

    /// The shim's order. Checks everything that can be wrong before a process is started.
    async fn order_for(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<ShimOrder, StartError> {
        let settings = &self.shared.settings;
        let drain = settings.shim_policy.grace.saturating_sub(DRAIN_MARGIN).max(Duration::from_secs(1));
        let invocation = spec.invocation(spec.weights.as_deref(), ("127.0.0.1", binding.port), drain);
        let argv = invocation.argv(&settings.built_in)?;
        let environment = self.cuda_environment(binding).await?;
        if !ports::is_unused(binding.port) {
            return Err(StartError::PortTaken(binding.port));
        }
        Ok(ShimOrder {
            argv,
            environment,
            model: spec.model.as_str().to_owned(),
            embeds: spec.modality == Modality::Embedding,
            family: Family::of(&spec.launch),
            port: binding.port,
            devices: binding.devices.clone(),
            policy: settings.shim_policy,
        })
    }

    /// Environment variables that select the bound GPUs.
    async fn cuda_environment(&self, binding: &Binding) -> Result<BTreeMap<String, String>, StartError> {
        let devices = self.devices().await;
        let bound = binding.devices.iter().map(|id| {
            let device = devices.iter().find(|device| device.id == *id);
            device.ok_or_else(|| StartError::DeviceGone(id.clone()))
        });
        Ok(environment::of_gpus(&bound.collect::<Result<Vec<&Device>, StartError>>()?))
    }

    /// Starts the shim and returns its output, which ends when the engine runs or has failed.
    async fn launch(&self, replica: &ReplicaName, directory: &Directory) -> io::Result<String> {
        let shim = &self.shared.settings.shim;
        let environment = environment::for_replica(std::env::vars_os(), replica.as_str(), directory.path());
        let mut process = tokio::process::Command::new(&shim.program)
            .args(&shim.arguments)
            .arg("--dir")
            .arg(directory.path())
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.shim_log())?)
            .spawn()?;
        let mut output = String::new();
        if let Some(mut stdout) = process.stdout.take() {
            // The pipe ends when both processes of the shim have closed it.
            let reading = stdout.read_to_string(&mut output);
            tokio::time::timeout(SHIM_START_TIMEOUT, reading)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        process.wait().await?;
        Ok(output)
    }
}

impl Shared {
    /// All folders of replicas, our own first.
    fn roots(&self) -> Vec<PathBuf> {
        std::iter::once(&self.settings.root).chain(&*self.neighbours.read()).cloned().collect()
    }

    /// The existing folder of a replica, or the path where it will be created.
    fn directory(&self, replica: &ReplicaName) -> Directory {
        let paths: Vec<PathBuf> = self.roots().iter().map(|root| root.join(replica.as_str())).collect();
        let path = paths.iter().find(|path| path.exists()).or(paths.first());
        Directory::at(path.expect("our own folder is among them"))
    }

    /// The processes marked with a replica's name.
    fn marked(&self, replica: &ReplicaName) -> io::Result<Vec<Process>> {
        let mut processes = Vec::new();
        for root in self.roots() {
            processes.extend(observe::marked(&root)?.remove(replica).unwrap_or_default());
        }
        Ok(processes)
    }

    fn observe(&self, replica: &ReplicaName) -> io::Result<Observation> {
        let observed = observe::observe(&self.directory(replica), || self.marked(replica))?;
        Ok(observed.earlier_by(self.clock_skew_millis()))
    }

    /// How far this machine's clock is ahead of the store's.
    fn clock_skew_millis(&self) -> i64 {
        clock::millis_ahead(clock::now(), (self.settings.now)())
    }

    fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        let launching = self.launching.lock().clone();
        let mut found = observe::all(&self.settings.root)?;
        for neighbour in self.roots().iter().skip(1) {
            match observe::all(neighbour) {
                Ok(theirs) => found.extend(theirs),
                Err(error) => {
                    tracing::warn!(folder = %neighbour.display(), %error, "cannot list the replicas of another gateway");
                }
            }
        }
        let skew_millis = self.clock_skew_millis();
        let dated = |observed: ObservedReplica| {
            let is_lost = matches!(observed.observation, Observation::Lost { .. });
            let observation = if is_lost && launching.contains(&observed.replica) {
                Observation::Launching
            } else {
                observed.observation.earlier_by(skew_millis)
            };
            ObservedReplica { observation, ..observed }
        };
        Ok(found.into_iter().map(dated).collect())
    }

    /// Adds the resources of live replicas that the caller does not know of.
    fn taken_here(&self, taken: &TakenResources) -> io::Result<TakenResources> {
        let mut taken = taken.clone();
        for observed in self.list()? {
            let is_alive = observed.observation.is_alive();
            if let Some(binding) = observed.binding.filter(|_| is_alive) {
                taken.devices.extend(binding.devices);
                taken.ports.insert(binding.port);
            }
        }
        Ok(taken)
    }

    /// Signals the shim, which does the rest. Without a shim, signals the engine and all marked processes.
    fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let directory = self.directory(replica);
        let pids = directory.pids();
        if let Some(shim) = pids.as_ref().and_then(|pids| observe::shim(&directory, pids)) {
            return shim.signal(Signal::TERM);
        }
        let mut remaining = self.marked(replica)?;
        remaining.extend(pids.and_then(|pids| pids.engine.find()));
        remaining.iter().try_for_each(|process| self.terminate(process))
    }

    /// Sends SIGTERM, or SIGKILL once the grace period is over.
    fn terminate(&self, process: &Process) -> io::Result<()> {
        let Some(identity) = process.identity() else { return Ok(()) };
        let mut terminated_at = self.terminated_at.lock();
        terminated_at.retain(|identity, _| identity.find().is_some());
        let first = *terminated_at.entry(identity).or_insert_with(Instant::now);
        let grace_is_over = first.elapsed() >= self.settings.shim_policy.grace;
        process.signal(if grace_is_over { Signal::KILL } else { Signal::TERM })
    }
}

impl Driver for ProcessDriver {
    async fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        let (gpu_type, count, taken) = (spec.gpu_type.clone(), spec.gpu_count, taken.clone());
        let bound = self.blocking(move |shared| {
            let taken = shared.taken_here(&taken)?;
            let devices = placement::pick(&shared.devices.all(), &gpu_type, count, &taken.devices);
            let port = ports::pick(&shared.settings.ports, &taken.ports, ports::is_unused);
            Ok(devices.and_then(|devices| Ok(Binding::here(devices, port.ok_or(PlacementError::Ports)?))))
        });
        bound.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot list the replicas of this machine, so none is placed");
            Err(PlacementError::Devices { gpu_type: spec.gpu_type.clone(), needed: spec.gpu_count, free: 0 })
        })
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let (replica, directory) = (&spec.replica, self.directory(&spec.replica));
        if !self.shared.launching.lock().insert(replica.clone()) {
            return Ok(());
        }
        let _launching = Launching { shared: &self.shared, replica };
        let name = replica.clone();
        let found = self.blocking(move |shared| shared.observe(&name)).await.map_err(StartError::Files)?;
        let never_started = directory.pids().is_none() && matches!(found, Observation::Lost { .. });
        if !never_started {
            return Ok(());
        }
        let order = self.order_for(spec, binding).await?;
        directory.write_order(&order).map_err(StartError::Files)?;
        match self.launch(replica, &directory).await {
            Ok(output) if output.trim() == shim::STARTED => Ok(()),
            Ok(_) => Err(StartError::Shim(log::tail(&directory.shim_log(), SHOWN_SHIM_LOG_BYTES))),
            Err(error) => Err(StartError::Shim(error.to_string())),
        }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        let Some(order) = self.order(replica) else { return ProbeResult::Unhealthy("no such replica".to_owned()) };
        let probe = order.engine().probe_serving().await;
        if probe == ProbeResult::Healthy
            && let Err(error) = self.directory(replica).mark_ready()
        {
            tracing::warn!(replica.id = %replica, %error, "cannot record that {replica} is ready");
        }
        probe
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        match self.order(replica) {
            Some(order) => order.engine().probe_health().await,
            None => ProbeResult::Unhealthy("no such replica".to_owned()),
        }
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        self.metrics(replica).await.map(|metrics| metrics.load)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let since = self.directory(replica).mark_draining()?.plus_millis(-self.shared.clock_skew_millis());
        let in_flight = self.load(replica).await.ok().and_then(|load| load.calls());
        Ok(Draining { since, in_flight })
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        self.directory(replica).unmark_draining()
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let replica = replica.clone();
        self.blocking(move |shared| shared.stop(&replica)).await
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        self.blocking(Shared::list).await
    }

    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr> {
        self.order(replica).map(|order| order.address())
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        let log = self.directory(replica).log();
        self.blocking(move |_| Ok(log::tail(&log, log::TAIL_BYTES))).await.unwrap_or_default()
    }

    async fn busy_devices(&self, devices: &[DeviceId]) -> Vec<DeviceId> {
        let all = self.devices().await;
        let is_busy = |id: &&DeviceId| all.iter().any(|device| device.busy && device.id == **id);
        devices.iter().filter(is_busy).cloned().collect()
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        let replica = replica.clone();
        let removed = self.blocking(move |shared| {
            if shared.observe(&replica)?.is_alive() {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("the replica {replica} still runs")));
            }
            shared.directory(&replica).remove()
        });
        removed.await
    }
}

/// A start in progress, until it is dropped.
struct Launching<'a> {
    shared: &'a Shared,
    replica: &'a ReplicaName,
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.shared.launching.lock().remove(self.replica);
    }
}
