//! Replicas as processes on this machine.
//!
//! Each has a folder and a shim; see [`shim`]. The driver keeps nothing about them in memory: a control plane that
//! starts on the same data finds what an earlier one has left, and goes on.

mod ask;
mod busy;
pub(super) mod clock;
pub(super) mod command;
mod devices;
mod directory;
mod environment;
pub(super) mod failure;
mod gpu_type;
pub(super) mod health;
mod log;
mod machine;
pub(crate) mod metrics;
mod observe;
mod place;
mod ports;
mod process_table;
pub mod shim;

use crate::drivers::{
    Binding, Device, DeviceId, Draining, Driver, EngineFigures, EngineLoad, Family, NoLoad, NoRoom, Observed, Probe,
    Protected, ReplicaName, ReplicaSpec, Sighting, StartError, Taken,
};
use crate::routes::Routes;
pub use command::{BuiltInEngine, CommandError, check as check_command};
use devices::Devices;
pub use devices::{Cards, look_for_cards};
pub use directory::Care;
use directory::{Directory, Order};
use domain::model::{DriverKind, Modality};
pub use health::{Streak, Verdict};
pub use machine::machine;
pub use ports::{BLOCK as PORTS_OF_A_REPLICA, USUAL_RANGE as USUAL_PORTS};
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
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinSet;

/// How often a replica that was ready is asked.
pub const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// What an engine gets to end by itself is so much shorter than what the shim gives it.
const DRAIN_MARGIN: Duration = Duration::from_secs(5);
/// How long a shim may take to start its engine.
const SHIM_PATIENCE: Duration = Duration::from_secs(30);
/// Of what a shim says when it fails.
const SHOWN: u64 = 1000;

/// What the driver is built with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATA_DIR/replicas`.
    pub root: PathBuf,
    /// What this machine offers besides the cards that NVML finds, by GPU type.
    pub slots: BTreeMap<String, u32>,
    pub ports: RangeInclusive<u16>,
    pub built_in: BuiltInEngine,
    pub shim: ShimProgram,
    pub care: Care,
}

/// How the shim is started; `--dir` and the folder follow.
#[derive(Debug, Clone)]
pub struct ShimProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl ShimProgram {
    /// This very program, with the hidden command.
    pub fn own() -> Self {
        Self { program: "/proc/self/exe".into(), arguments: vec!["replica-shim".into()] }
    }
}

/// Replicas as processes on this machine. Clones are the same driver.
#[derive(Debug, Clone)]
pub struct ProcessDriver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    devices: Devices,
    /// Folders of other gateways on this machine that serve from the same store.
    neighbours: RwLock<Vec<PathBuf>>,
    /// Whose start is under way in this process, so that their folders are not taken for lost ones.
    launching: Mutex<HashSet<ReplicaName>>,
    /// When processes without a shim were first asked to end.
    asked: Mutex<HashMap<Identity, Instant>>,
}

impl ProcessDriver {
    /// Looks for cards; a machine without any, or without their driver, is fine.
    pub fn open(mut settings: Settings) -> io::Result<Self> {
        std::fs::create_dir_all(&settings.root)?;
        settings.root = settings.root.canonicalize()?;
        let devices = Devices::find(settings.slots.clone());
        let neighbours = RwLock::default();
        let shared = Shared { settings, devices, neighbours, launching: Mutex::default(), asked: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The folder of this gateway's replicas.
    pub fn root(&self) -> &Path {
        &self.shared.settings.root
    }

    /// Sees the replicas in these folders, too. They belong to gateways on this machine that serve from the same store,
    /// and whoever of them leads looks after all.
    pub fn look_after(&self, neighbours: Vec<PathBuf>) {
        *self.shared.neighbours.write().unwrap_or_else(PoisonError::into_inner) = neighbours;
    }

    /// Every slot and card of this machine, as they are now.
    pub async fn devices(&self) -> Vec<Device> {
        self.blocking(|shared| Ok(shared.devices.all())).await.unwrap_or_default()
    }

    /// Stops everything that this gateway started and waits for its end, however long that takes: how long it may is the
    /// caller's.
    pub async fn stop_all(&self) -> io::Result<Vec<Observed>> {
        const ROUND: Duration = Duration::from_millis(100);
        loop {
            let found = self.blocking(|shared| observe::everything(&shared.settings.root)).await?;
            let lives = |observed: &&Observed| observed.sighting.lives();
            let living: Vec<&ReplicaName> = found.iter().filter(lives).map(|observed| &observed.replica).collect();
            if living.is_empty() {
                return Ok(found);
            }
            for replica in living {
                self.stop(replica).await?;
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// What a replica's engine says of itself, read at once.
    pub async fn figures(&self, replica: &ReplicaName) -> Result<EngineFigures, NoLoad> {
        let order = self.order(replica).ok_or(NoLoad::UnknownReplica)?;
        metrics::ask(&order.engine()).await
    }

    fn directory(&self, replica: &ReplicaName) -> Directory {
        self.shared.directory(replica)
    }

    /// Of a replica that has not ended: another one may listen on its port by then.
    fn order(&self, replica: &ReplicaName) -> Option<Order> {
        let directory = self.directory(replica);
        directory.order().filter(|_| directory.ending().is_none())
    }

    /// Away from the threads that must not block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
    }

    /// What the shim is to do; everything that can be wrong with a start before there is a process.
    async fn order_for(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<Order, StartError> {
        let settings = &self.shared.settings;
        let drain = settings.care.grace.saturating_sub(DRAIN_MARGIN).max(Duration::from_secs(1));
        let argv = command::argv(spec, ("127.0.0.1", binding.port), drain, &settings.built_in)?;
        let environment = self.cuda_environment(binding).await?;
        if !ports::nobody_listens(binding.port) {
            return Err(StartError::PortTaken(binding.port));
        }
        Ok(Order {
            argv,
            environment,
            model: spec.model.as_str().to_owned(),
            embeds: spec.modality == Modality::Embedding,
            family: Family::of(&spec.launch),
            port: binding.port,
            devices: binding.devices.clone(),
            care: settings.care,
        })
    }

    /// What engines must know of the cards that a replica is bound to.
    async fn cuda_environment(&self, binding: &Binding) -> Result<BTreeMap<String, String>, StartError> {
        let devices = self.devices().await;
        let found = binding.devices.iter().map(|id| {
            let device = devices.iter().find(|device| device.id == *id);
            device.ok_or_else(|| StartError::DeviceGone(id.clone()))
        });
        Ok(environment::of_cards(&found.collect::<Result<Vec<&Device>, StartError>>()?))
    }

    /// Starts the shim and waits until it has something to show.
    async fn launch(&self, replica: &ReplicaName, directory: &Directory) -> io::Result<String> {
        let program = &self.shared.settings.shim;
        let environment = environment::for_replica(std::env::vars_os(), replica.as_str(), directory.path());
        let mut first = tokio::process::Command::new(&program.program)
            .args(&program.arguments)
            .arg("--dir")
            .arg(directory.path())
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.shim_log())?)
            .spawn()?;
        let mut said = String::new();
        if let Some(mut output) = first.stdout.take() {
            // It ends when both processes of the shim have let go of it.
            let reading = output.read_to_string(&mut said);
            tokio::time::timeout(SHIM_PATIENCE, reading)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        first.wait().await?;
        Ok(said)
    }
}

impl Shared {
    /// Every folder of replicas that is looked after, our own first.
    fn roots(&self) -> Vec<PathBuf> {
        let neighbours = self.neighbours.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.settings.root).chain(&*neighbours).cloned().collect()
    }

    /// Where it is, or else where it will be.
    fn directory(&self, replica: &ReplicaName) -> Directory {
        let paths: Vec<PathBuf> = self.roots().iter().map(|root| root.join(replica.as_str())).collect();
        let there = paths.iter().find(|path| path.exists()).or(paths.first());
        Directory::at(there.expect("our own folder is among them"))
    }

    fn launching<T>(&self, change: impl FnOnce(&mut HashSet<ReplicaName>) -> T) -> T {
        change(&mut self.launching.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The processes that run under its name.
    fn marked(&self, replica: &ReplicaName) -> io::Result<Vec<Process>> {
        let mut processes = Vec::new();
        for root in self.roots() {
            processes.extend(observe::marked(&root)?.remove(replica).unwrap_or_default());
        }
        Ok(processes)
    }

    fn sight(&self, replica: &ReplicaName) -> io::Result<Sighting> {
        observe::sight(&self.directory(replica), || self.marked(replica))
    }

    fn list(&self) -> io::Result<Vec<Observed>> {
        let launching = self.launching(|launching| launching.clone());
        let mut found = observe::everything(&self.settings.root)?;
        for neighbour in self.roots().iter().skip(1) {
            match observe::everything(neighbour) {
                Ok(theirs) => found.extend(theirs),
                Err(error) => tracing::warn!(folder = %neighbour.display(), %error, "replicas cannot be looked after"),
            }
        }
        for observed in &mut found {
            if matches!(observed.sighting, Sighting::Lost { .. }) && launching.contains(&observed.replica) {
                observed.sighting = Sighting::Launching;
            }
        }
        Ok(found)
    }

    /// What would be taken by replicas that live, also if the caller has forgotten them.
    fn taken_here(&self, taken: &Taken) -> io::Result<Taken> {
        let mut taken = taken.clone();
        for observed in self.list()? {
            let lives = observed.sighting.lives();
            if let Some(binding) = observed.binding.filter(|_| lives) {
                taken.devices.extend(binding.devices);
                taken.ports.insert(binding.port);
            }
        }
        Ok(taken)
    }

    /// A shim does the rest by itself; without one the engine and whatever is marked get the signals from here.
    fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let directory = self.directory(replica);
        let pids = directory.pids();
        if let Some(shim) = pids.as_ref().and_then(|pids| observe::shim(&directory, pids)) {
            return shim.signal(Signal::TERM);
        }
        let mut left = self.marked(replica)?;
        left.extend(pids.and_then(|pids| pids.engine.find()));
        left.iter().try_for_each(|process| self.end(process))
    }

    fn end(&self, process: &Process) -> io::Result<()> {
        let Some(identity) = process.identity() else { return Ok(()) };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|identity, _| identity.find().is_some());
        let first_asked = *asked.entry(identity).or_insert_with(Instant::now);
        let over = first_asked.elapsed() >= self.settings.care.grace;
        process.signal(if over { Signal::KILL } else { Signal::TERM })
    }
}

impl Driver for ProcessDriver {
    async fn bind(&self, spec: &ReplicaSpec, taken: &Taken) -> Result<Binding, NoRoom> {
        let (wanted, count, taken) = (spec.gpu_type.clone(), spec.gpu_count, taken.clone());
        let bound = self.blocking(move |shared| {
            let taken = shared.taken_here(&taken)?;
            let devices = place::pick(&shared.devices.all(), &wanted, count, &taken.devices);
            let port = ports::pick(&shared.settings.ports, &taken.ports, ports::nobody_listens);
            Ok(devices.and_then(|devices| Ok(Binding::here(devices, port.ok_or(NoRoom::Ports)?))))
        });
        bound.await.unwrap_or_else(|error| {
            tracing::error!(%error, "this machine's replicas cannot be listed, so nothing is placed");
            Err(NoRoom::Devices { gpu_type: spec.gpu_type.clone(), wanted: spec.gpu_count, free: 0 })
        })
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let (replica, directory) = (&spec.replica, self.directory(&spec.replica));
        if !self.shared.launching(|launching| launching.insert(replica.clone())) {
            return Ok(());
        }
        let _launching = Launching { shared: &self.shared, replica };
        let known = replica.clone();
        let found = self.blocking(move |shared| shared.sight(&known)).await.map_err(StartError::Files)?;
        let never_started = directory.pids().is_none() && matches!(found, Sighting::Lost { .. });
        if !never_started {
            return Ok(());
        }
        let order = self.order_for(spec, binding).await?;
        directory.write_order(&order).map_err(StartError::Files)?;
        match self.launch(replica, &directory).await {
            Ok(said) if said.trim() == shim::STARTED => Ok(()),
            Ok(_) => Err(StartError::Shim(log::tail(&directory.shim_log(), SHOWN))),
            Err(error) => Err(StartError::Shim(error.to_string())),
        }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> Probe {
        let Some(order) = self.order(replica) else { return Probe::Unwell("no such replica".to_owned()) };
        let probe = health::serves(&order.engine()).await;
        if probe == Probe::Well
            && let Err(error) = self.directory(replica).mark_ready()
        {
            tracing::warn!(replica.id = %replica, %error, "cannot note that {replica} is ready");
        }
        probe
    }

    async fn probe(&self, replica: &ReplicaName) -> Probe {
        match self.order(replica) {
            Some(order) => health::says_well(&order.engine()).await,
            None => Probe::Unwell("no such replica".to_owned()),
        }
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, NoLoad> {
        self.figures(replica).await.map(|figures| figures.load)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let since = self.directory(replica).mark_draining()?;
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

    async fn list(&self) -> io::Result<Vec<Observed>> {
        self.blocking(Shared::list).await
    }

    async fn watch(&self, running: &[ReplicaName]) -> ReplicaName {
        let mut waits = JoinSet::new();
        for replica in running {
            let directory = self.directory(replica);
            let pids = directory.pids();
            // The shim's end, because it has written down the engine's by then.
            let process = pids.and_then(|pids| observe::shim(&directory, &pids).or_else(|| pids.engine.find()));
            let Some(process) = process else { return replica.clone() };
            let replica = replica.clone();
            waits.spawn(async move { process.ended().await.map(|()| replica) });
        }
        while let Some(ended) = waits.join_next().await {
            if let Ok(Ok(replica)) = ended {
                return replica;
            }
        }
        std::future::pending().await
    }

    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr> {
        self.order(replica).map(|order| order.address())
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        let log = self.directory(replica).log();
        self.blocking(move |_| Ok(log::tail(&log, log::TAIL))).await.unwrap_or_default()
    }

    async fn not_released(&self, devices: &[DeviceId]) -> Vec<DeviceId> {
        let all = self.devices().await;
        let is_busy = |id: &&DeviceId| all.iter().any(|device| device.busy && device.id == **id);
        devices.iter().filter(is_busy).cloned().collect()
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        let replica = replica.clone();
        let removed = self.blocking(move |shared| {
            if shared.sight(&replica)?.lives() {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("the replica {replica} still runs")));
            }
            shared.directory(&replica).remove()
        });
        removed.await
    }

    fn sees(&self, kind: DriverKind) -> bool {
        kind == DriverKind::Process
    }

    /// A list of processes is never older than their start.
    async fn is_gone(&self, _replica: &ReplicaName, _kind: DriverKind) -> io::Result<bool> {
        Ok(true)
    }

    fn route(&self, _replica: &ReplicaName, _kind: DriverKind, known: Option<&str>) -> Option<String> {
        known.map(ToOwned::to_owned)
    }

    /// Nobody empties this machine but its operator.
    async fn protect(&self, _wanted: &Protected) {}

    /// Pools of this machine are [`crate::Launcher`]'s.
    async fn keep_pools(&self, _routes: &Routes) {}
}

/// A start that is under way, until it is dropped.
struct Launching<'a> {
    shared: &'a Shared,
    replica: &'a ReplicaName,
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.shared.launching(|launching| launching.remove(self.replica));
    }
}
