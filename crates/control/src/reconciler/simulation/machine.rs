//! The machine that runs the replicas: a driver whose processes exist only in the simulation.

use super::invariants::Rule;
use super::schedule::Fate;
use super::world::{Link, Mutation, Target, World, moment};
use domain::Timestamp;
use domain::endpoint::failure::FailureClass;
use fleet::drivers::{
    Binding, DeviceId, Draining, Driver, Exit, Observation, ObservedReplica, PlacementError, ReplicaName, ReplicaSpec,
    Running, StartError, TakenResources,
};
use fleet::engine::{EngineLoad, Failure, LoadError, ProbeResult};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

pub(super) const GPUS: u32 = 6;
const FIRST_PORT: u16 = 20_000;

/// Processes by replica. They stay until they are forgotten; `lives` has all that ever ran.
#[derive(Default)]
pub(super) struct Machine {
    pub(super) processes: BTreeMap<String, Process>,
    pub(super) lives: BTreeMap<String, Life>,
    pub(super) fates: VecDeque<Fate>,
    /// Replicas that were asked to stop.
    pub(super) stopped: BTreeSet<String>,
}

pub(super) struct Process {
    binding: Binding,
    fate: Fate,
    started_at: i64,
    draining_since: Option<i64>,
    stops_at: Option<i64>,
    is_sick: bool,
    is_leaving: bool,
    is_unreachable: bool,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy)]
struct End {
    at: i64,
    failure: Option<FailureClass>,
    is_recorded: bool,
}

/// The time in which a process ran.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) from: i64,
    pub(super) to: Option<i64>,
    /// False if the driver reported a failed start, or its end left no record: then its hold may end earlier.
    pub(super) is_exact: bool,
}

impl Process {
    pub(super) const fn is_alive(&self) -> bool {
        self.end.is_none()
    }

    /// When it ends by itself or because it was stopped, and why.
    fn planned_end(&self) -> Option<(i64, Option<FailureClass>)> {
        let crash = self.fate.crash.map(|(after, class)| (self.started_at + i64::from(after), Some(class)));
        [self.stops_at.map(|at| (at, None)), crash].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn observation(&self) -> Observation {
        match self.end {
            _ if self.is_unreachable => Observation::Unreachable,
            None => Observation::Running(Running {
                pid: 1,
                started_at: moment(self.started_at),
                draining_since: self.draining_since.map(moment),
                supervised: true,
                leaving: self.is_leaving,
            }),
            Some(End { at, is_recorded: false, .. }) => Observation::Lost { last_seen: Some(moment(at - 1)) },
            Some(End { at, failure, .. }) => {
                let failure = failure.map(|class| Failure { class, message: format!("it ended: {class}") });
                let started_at = Some(moment(self.started_at));
                Observation::Exited(Exit { started_at, at: moment(at), code: Some(1), signal: None, failure })
            }
        }
    }
}

impl Machine {
    /// Ends the processes whose time is over.
    pub(super) fn advance(&mut self, now: i64) {
        for (name, process) in &mut self.processes {
            let due = process.planned_end().filter(|(at, _)| *at <= now);
            if let (true, Some((at, failure))) = (process.is_alive(), due) {
                process.end = Some(End { at, failure, is_recorded: true });
                if let Some(life) = self.lives.get_mut(name) {
                    life.to = Some(at);
                }
            }
        }
    }

    pub(super) fn kill(&mut self, index: u32, is_recorded: bool, now: i64) {
        let Some((name, process)) = self.alive_at(index) else { return };
        process.end = Some(End { at: now, failure: Some(FailureClass::Crash), is_recorded });
        let name = name.clone();
        if let Some(life) = self.lives.get_mut(&name) {
            life.to = Some(now);
            life.is_exact &= is_recorded;
        }
    }

    pub(super) fn sicken(&mut self, index: u32) {
        if let Some((_, process)) = self.alive_at(index) {
            process.is_sick = !process.is_sick;
        }
    }

    /// Something else asks a process to end.
    pub(super) fn evict(&mut self, index: u32, now: i64) {
        if let Some((_, process)) = self.alive_at(index) {
            process.is_leaving = true;
            process.stops_at.get_or_insert(now + i64::from(process.fate.stop));
        }
    }

    /// The driver no longer knows what a process does, or does again.
    pub(super) fn hide(&mut self, index: u32) {
        if let Some(process) = self.processes.values_mut().nth(index as usize) {
            process.is_unreachable = !process.is_unreachable;
        }
    }

    pub(super) fn heal(&mut self) {
        self.fates.clear();
        for process in self.processes.values_mut() {
            (process.is_sick, process.is_unreachable) = (false, false);
        }
    }

    fn alive_at(&mut self, index: u32) -> Option<(&String, &mut Process)> {
        self.processes.iter_mut().filter(|(_, process)| process.is_alive()).nth(index as usize)
    }

    /// The devices on which processes run.
    pub(super) fn devices_in_use(&self) -> impl Iterator<Item = &DeviceId> {
        self.processes.values().filter(|process| process.is_alive()).flat_map(|process| &process.binding.devices)
    }

    fn observed(&self) -> Vec<ObservedReplica> {
        let one = |(name, process): (&String, &Process)| ObservedReplica {
            replica: ReplicaName::parse(name).unwrap(),
            binding: Some(process.binding.clone()),
            observation: process.observation(),
        };
        self.processes.iter().map(one).collect()
    }
}

impl World {
    fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        let all = (0..GPUS).map(|number| DeviceId::slot(&spec.gpu_type, number));
        let is_used =
            |id: &DeviceId| taken.devices.contains(id) || self.machine.devices_in_use().any(|used| used == id);
        let is_free = |id: &DeviceId| self.mutation == Some(Mutation::ShareGpus) || !is_used(id);
        let free: Vec<DeviceId> = all.filter(is_free).collect();
        let needed = spec.gpu_count;
        if free.len() < needed as usize {
            let free = u32::try_from(free.len()).expect("few GPUs");
            return Err(PlacementError::Devices { gpu_type: spec.gpu_type.clone(), needed, free });
        }
        let port = (FIRST_PORT..).step_by(10).find(|port| !taken.ports.contains(port)).expect("many ports");
        Ok(Binding::here(free.into_iter().take(needed as usize).collect(), port))
    }

    fn start(&mut self, name: &str, binding: &Binding) {
        if self.machine.processes.contains_key(name) {
            return;
        }
        let hold = self.rows.hold_of(name);
        if hold.is_none_or(|hold| hold.ended_at.is_some()) {
            self.break_rule(Rule::Holds, format!("the process of {name} starts without an open hold"));
        }
        if binding.devices.iter().any(|device| self.machine.devices_in_use().any(|used| used == device)) {
            self.break_rule(Rule::Gpus, format!("{name} starts on a GPU of another process: {:?}", binding.devices));
        }
        let (now, fate) = (self.now, self.machine.fates.pop_front().unwrap_or(Fate::HEALTHY));
        let process = Process {
            binding: binding.clone(),
            fate,
            started_at: now,
            draining_since: None,
            stops_at: None,
            is_sick: false,
            is_leaving: false,
            is_unreachable: false,
            end: None,
        };
        self.machine.processes.insert(name.to_owned(), process);
        self.machine.lives.insert(name.to_owned(), Life { from: now, to: None, is_exact: true });
    }

    fn stop(&mut self, name: &str) {
        if self.mutation == Some(Mutation::NeverStop) {
            return;
        }
        let now = self.now;
        self.machine.stopped.insert(name.to_owned());
        if let Some(process) = self.machine.processes.get_mut(name).filter(|process| process.is_alive()) {
            process.stops_at.get_or_insert(now + i64::from(process.fate.stop));
        }
        self.machine.advance(now);
    }

    fn drain(&mut self, name: &str) -> io::Result<Draining> {
        let now = self.now;
        let process = self.machine.processes.get_mut(name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Draining { since: moment(*process.draining_since.get_or_insert(now)), in_flight: None })
    }

    fn forget(&mut self, name: &str) -> io::Result<()> {
        if self.machine.processes.get(name).is_some_and(Process::is_alive) {
            return Err(io::Error::from(io::ErrorKind::ResourceBusy));
        }
        self.machine.processes.remove(name);
        Ok(())
    }

    fn probe(&self, name: &str) -> ProbeResult {
        let is_healthy = |process: &Process| {
            process.is_alive()
                && !process.is_sick
                && !process.is_unreachable
                && self.now >= process.started_at + i64::from(process.fate.ready)
        };
        match self.machine.processes.get(name) {
            Some(process) if is_healthy(process) => ProbeResult::Healthy,
            _ => ProbeResult::Unhealthy("it does not respond".to_owned()),
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("a simulated fault")
}

impl Driver for Link {
    async fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        let (gpu_type, needed) = (spec.gpu_type.clone(), spec.gpu_count);
        let none = || Err(PlacementError::Devices { gpu_type, needed, free: 0 });
        self.call(Target::Driver, "bind", none, |world| world.bind(spec, taken)).await
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let name = spec.replica.as_str();
        let failed = || Err(StartError::Shim("a simulated fault".to_owned()));
        let started = self.call(Target::Driver, "start", failed, |world| {
            world.start(name, binding);
            Ok(())
        });
        let started = started.await;
        if started.is_err()
            && let Some(life) = self.lock().machine.lives.get_mut(name)
        {
            life.is_exact = false;
        }
        started
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        self.probe(replica).await
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        self.lock().probe(replica.as_str())
    }

    async fn load(&self, _replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        Err(LoadError::UnknownReplica)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        self.call(Target::Driver, "drain", || Err(lost()), |world| world.drain(replica.as_str())).await
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        let undrain = |world: &mut World| {
            if let Some(process) = world.machine.processes.get_mut(replica.as_str()) {
                process.draining_since = None;
            }
            Ok(())
        };
        self.call(Target::Driver, "undrain", || Err(lost()), undrain).await
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let stop = |world: &mut World| {
            world.stop(replica.as_str());
            Ok(())
        };
        self.call(Target::Driver, "stop", || Err(lost()), stop).await
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        self.call(Target::Driver, "list", || Err(lost()), |world| Ok(world.machine.observed())).await
    }

    fn address(&self, replica: &ReplicaName) -> Option<String> {
        let world = self.lock();
        let process = world.machine.processes.get(replica.as_str())?;
        Some(format!("127.0.0.1:{}", process.binding.port))
    }

    async fn log_tail(&self, _replica: &ReplicaName) -> String {
        String::new()
    }

    async fn busy_devices(&self, devices: &[DeviceId]) -> Vec<DeviceId> {
        let world = self.lock();
        let is_busy =
            |process: &Process| process.end.is_some_and(|end| world.now < end.at + i64::from(process.fate.release));
        let busy: Vec<&DeviceId> =
            world.machine.processes.values().filter(|one| is_busy(one)).flat_map(|one| &one.binding.devices).collect();
        devices.iter().filter(|id| busy.contains(id)).cloned().collect()
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        self.call(Target::Driver, "forget", || Err(lost()), |world| world.forget(replica.as_str())).await
    }
}

/// A time of the machine's records.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.millis() - moment(0).millis()
}
