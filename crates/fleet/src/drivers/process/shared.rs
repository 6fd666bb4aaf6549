//! The replicas of this machine, by their folders and processes.

use super::Settings;
use super::devices::Devices;
use super::directory::Directory;
use super::observe;
use super::process_table::{Identity, Process};
use crate::clock;
use crate::drivers::{Observation, ObservedReplica, ReplicaName, TakenResources};
use parking_lot::{Mutex, RwLock};
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// What the clones of a driver share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) devices: Devices,
    /// Folders of other gateways on this machine that use the same store.
    pub(super) neighbours: RwLock<Vec<PathBuf>>,
    /// Replicas that this process is starting, so that their folders are not taken for lost ones.
    pub(super) launching: Mutex<HashSet<ReplicaName>>,
    /// When processes without a shim were first sent SIGTERM.
    terminated_at: Mutex<HashMap<Identity, Instant>>,
}

impl Shared {
    pub(super) fn open(mut settings: Settings) -> io::Result<Self> {
        std::fs::create_dir_all(&settings.root)?;
        settings.root = settings.root.canonicalize()?;
        let devices = Devices::find(settings.slots.clone());
        Ok(Self {
            settings,
            devices,
            neighbours: RwLock::default(),
            launching: Mutex::default(),
            terminated_at: Mutex::default(),
        })
    }

    /// All folders of replicas, our own first.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        std::iter::once(&self.settings.root).chain(&*self.neighbours.read()).cloned().collect()
    }

    /// The existing folder of a replica, or the path where it will be created.
    pub(super) fn directory(&self, replica: &ReplicaName) -> Directory {
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

    pub(super) fn observe(&self, replica: &ReplicaName) -> io::Result<Observation> {
        let observed = observe::observe(&self.directory(replica), || self.marked(replica))?;
        Ok(observed.earlier_by(self.clock_skew_millis()))
    }

    /// How far this machine's clock is ahead of the store's.
    pub(super) fn clock_skew_millis(&self) -> i64 {
        clock::millis_ahead(clock::now(), (self.settings.now)())
    }

    pub(super) fn list(&self) -> io::Result<Vec<ObservedReplica>> {
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
    pub(super) fn taken_here(&self, taken: &TakenResources) -> io::Result<TakenResources> {
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
    pub(super) fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
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
