//! Replicas as processes on this machine.
//!
//! Each has a folder and a shim, its parent process; see [`shim`]. The driver keeps no state in memory: after a restart it
//! reads the folders and continues with the replicas that are there.

mod busy;
mod devices;
mod directory;
mod environment;
mod gpu_type;
mod launch;
mod log;
mod machine;
mod observe;
mod placement;
mod ports;
mod process_table;
mod shared;
pub mod shim;

use crate::drivers::{
    Binding, Device, DeviceId, Draining, Driver, ObservedReplica, PlacementError, ReplicaAuth, ReplicaName,
    ReplicaSpec, StartError, TakenResources,
};
use crate::engine::{BuiltInEngine, EngineLoad, EngineMetrics, LoadError, ProbeResult};
pub use devices::{GpuMemory, GpuScan, scan_gpus};
pub use directory::ShimPolicy;
use directory::{Directory, ShimOrder};
use domain::Timestamp;
pub(in crate::drivers) use environment::names as environment_names;
pub(in crate::drivers) use launch::drain_of as replica_drain;
pub use log::LogFile;
pub use machine::machine_id;
pub use ports::{DEFAULT_RANGE as DEFAULT_PORTS, PORTS_PER_REPLICA};
use shared::Shared;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    pub auth: ReplicaAuth,
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

impl ProcessDriver {
    /// Opens the folder of replicas and looks for GPUs. A machine without GPUs or their driver is fine.
    pub fn open(settings: Settings) -> io::Result<Self> {
        Ok(Self { shared: Arc::new(Shared::open(settings)?) })
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
        order.engine(self.key(replica)).metrics().await
    }

    /// The replicas in a folder of replicas that serve calls without their key, for doctors: they need no driver.
    pub async fn unprotected(root: &Path) -> Vec<ReplicaName> {
        let found = observe::all(root).unwrap_or_default();
        let mut unprotected = Vec::new();
        for ObservedReplica { replica, observation, .. } in found {
            let order = Directory::at(root.join(replica.as_str())).order().filter(|_| observation.is_alive());
            // Others cannot reach a socket, whatever it serves without a key.
            let order = order.filter(|order| order.socket.is_none());
            if let Some(order) = order
                && order.engine(None).serves_calls().await == Some(true)
            {
                unprotected.push(replica);
            }
        }
        unprotected
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
        self.start_once(spec, binding).await
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        let Some(order) = self.order(replica) else { return ProbeResult::Unhealthy("no such replica".to_owned()) };
        let probe = order.engine(self.key(replica)).probe_serving().await;
        if probe == ProbeResult::Healthy
            && let Err(error) = self.directory(replica).mark_ready()
        {
            tracing::warn!(replica.id = %replica, %error, "cannot record that {replica} is ready");
        }
        probe
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        match self.order(replica) {
            Some(order) => order.engine(self.key(replica)).probe_health().await,
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

    fn key(&self, replica: &ReplicaName) -> Option<String> {
        Some(self.shared.settings.auth.key(replica))
    }

    fn address(&self, replica: &ReplicaName) -> Option<String> {
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
