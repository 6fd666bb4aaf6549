//! A leader on a real database, with scripted replicas and time.

use crate::NOW;
use crate::endpoints::platform::{Platform, catalogue};
use control::reconciler::{Parts, Reach, Reconciler, RoundError};
use domain::autoscaler::PrefillQueue;
use domain::endpoint::event::Event;
use domain::endpoint::replica::Replica;
use domain::endpoint_load::{LoadReport, ReplicaCalls};
use domain::{EndpointId, ReplicaId, Timestamp};
use fleet::drivers::{
    Binding, DeviceId, Draining, Driver, Exit, Observation, ObservedReplica, PlacementError, ReplicaName, ReplicaSpec,
    Running, StartError, TakenResources,
};
use fleet::engine::{EngineLoad, Failure, FailureClass, LoadError, ProbeResult};
use fleet::{Endpoints, Routes};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use store::{Store, leader};

thread_local! {
    static CLOCK: Cell<i64> = const { Cell::new(0) };
}

fn now() -> Timestamp {
    Timestamp::from_millis(NOW.millis() + CLOCK.get())
}

/// The state of one scripted replica.
#[derive(Debug, Clone)]
pub(super) struct ScriptedReplica {
    pub(super) observation: Observation,
    pub(super) probe: ProbeResult,
    pub(super) load: EngineLoad,
    draining: Option<Timestamp>,
    pub(super) stops: u32,
    port: u16,
}

/// A driver whose replicas exist only in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptedDriver(Arc<Mutex<BTreeMap<String, ScriptedReplica>>>);

impl ScriptedDriver {
    pub(super) fn all(&self) -> MutexGuard<'_, BTreeMap<String, ScriptedReplica>> {
        self.0.lock().unwrap()
    }

    pub(super) fn change(&self, replica: &ReplicaId, change: impl FnOnce(&mut ScriptedReplica)) {
        change(self.all().get_mut(replica.as_str()).unwrap());
    }

    pub(super) fn crash(&self, replica: &ReplicaId) {
        self.crash_with_clock_skew(0, replica);
    }

    /// The exit time comes from the replica's machine, whose clock is this many seconds off.
    pub(super) fn crash_with_clock_skew(&self, seconds: i64, replica: &ReplicaId) {
        let failure = Some(Failure { class: FailureClass::Crash, message: "boom".into() });
        let at = now().plus_millis(seconds * 1_000);
        self.change(replica, |replica| replica.observation = exited(at, failure));
    }

    pub(super) fn is_stopped(&self, replica: &ReplicaId) -> bool {
        self.all()[replica.as_str()].stops > 0
    }
}

fn exited(at: Timestamp, failure: Option<Failure>) -> Observation {
    Observation::Exited(Exit { started_at: None, at, code: Some(1), signal: None, failure })
}

impl Driver for ScriptedDriver {
    async fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        let mut free = (0..64).map(|number| DeviceId::slot(&spec.gpu_type, number));
        let devices = free.by_ref().filter(|id| !taken.devices.contains(id)).take(spec.gpu_count as usize).collect();
        let port = (20_000..).step_by(10).find(|port| !taken.ports.contains(port)).unwrap();
        Ok(Binding::here(devices, port))
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let running = Running { pid: 1, started_at: now(), draining_since: None, supervised: true, leaving: false };
        let replica = ScriptedReplica {
            observation: Observation::Running(running),
            probe: ProbeResult::Unhealthy("it starts".into()),
            load: EngineLoad { kv_cache_usage: Some(0.0), running: Some(0.0), waiting: Some(0.0) },
            draining: None,
            stops: 0,
            port: binding.port,
        };
        self.all().insert(spec.replica.to_string(), replica);
        Ok(())
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        self.probe(replica).await
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        self.all()[replica.as_str()].probe.clone()
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        self.all().get(replica.as_str()).map(|replica| replica.load).ok_or(LoadError::UnknownReplica)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let mut all = self.all();
        let replica = all.get_mut(replica.as_str()).unwrap();
        Ok(Draining { since: *replica.draining.get_or_insert_with(now), in_flight: None })
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        self.all().get_mut(replica.as_str()).unwrap().draining = None;
        Ok(())
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let mut all = self.all();
        if let Some(replica) = all.get_mut(replica.as_str()).filter(|replica| replica.observation.is_alive()) {
            replica.stops += 1;
            replica.observation = exited(now(), None);
        }
        Ok(())
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        let observed = |(name, replica): (&String, &ScriptedReplica)| ObservedReplica {
            replica: ReplicaName::parse(name).unwrap(),
            binding: None,
            observation: replica.observation.clone(),
        };
        Ok(self.all().iter().map(observed).collect())
    }

    fn address(&self, replica: &ReplicaName) -> Option<String> {
        self.all().get(replica.as_str()).map(|replica| format!("127.0.0.1:{}", replica.port))
    }

    async fn log_tail(&self, _replica: &ReplicaName) -> String {
        "the end of its log".into()
    }

    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        self.all().remove(replica.as_str());
        Ok(())
    }

    async fn busy_devices(&self, _devices: &[DeviceId]) -> Vec<DeviceId> {
        Vec::new()
    }
}

pub(super) struct Stage {
    pub(super) platform: Platform,
    pub(super) driver: ScriptedDriver,
    pub(super) epoch: u64,
    reconciler: Reconciler<ScriptedDriver>,
}

impl Stage {
    pub(super) async fn new(store: Store) -> Self {
        CLOCK.set(0);
        let platform = Platform::new(store.clone(), 64).await;
        let driver = ScriptedDriver::default();
        let routes = Routes::default();
        routes.apply(&catalogue()).unwrap();
        let parts = Parts {
            store: store.clone(),
            driver: driver.clone(),
            routes,
            endpoints: Endpoints::default(),
            node: "me".into(),
            reach: Reach::of_node("me"),
            now,
            nudge: Arc::default(),
            metrics: Arc::default(),
        };
        let seen = leader::read(&store).await.unwrap();
        let epoch = leader::take_over(&store, &seen, "me", NOW).await.unwrap().unwrap().epoch;
        Self { platform, driver, epoch, reconciler: Reconciler::new(parts) }
    }

    pub(super) fn now(&self) -> Timestamp {
        now()
    }

    pub(super) async fn create(&self, scaling: Value) {
        self.platform.create("chat", "1x", scaling).await.unwrap();
    }

    /// Advances the clock and runs enough rounds for all effects to settle.
    pub(super) async fn after(&mut self, seconds: i64) {
        CLOCK.set(CLOCK.get() + seconds * 1_000);
        for _ in 0..4 {
            self.reconciler.round(self.epoch).await.unwrap();
            tokio::task::yield_now().await;
        }
    }

    /// A round in another epoch.
    pub(super) async fn round_in(&mut self, epoch: u64) -> Result<(), RoundError> {
        self.reconciler.round(epoch).await
    }

    pub(super) async fn live(&self) -> Vec<Replica> {
        store::replicas::list_live(&self.platform.store).await.unwrap()
    }

    pub(super) async fn id(&self) -> EndpointId {
        self.platform.show("chat").await.id
    }

    /// All running replicas become healthy.
    pub(super) async fn all_become_healthy(&mut self) {
        for replica in self.driver.all().values_mut() {
            replica.probe = ProbeResult::Healthy;
        }
        self.after(1).await;
    }

    /// `state (reason) ready/desired`.
    pub(super) async fn summary(&self) -> String {
        let endpoint = self.platform.show("chat").await;
        let status = endpoint.status;
        format!("{} ({}) {}/{}", endpoint.state, endpoint.reason.as_str(), status.ready, status.desired)
    }

    pub(super) async fn events(&self) -> Vec<Event> {
        let filter = store::endpoint_events::Filter::default();
        let mut events =
            store::endpoint_events::list(&self.platform.store, &self.id().await, filter, 1_000).await.unwrap();
        events.reverse();
        events
    }

    /// A node's report of its calls to replicas: whether it routes to them, and how many are in flight.
    pub(super) async fn report(&self, node: &str, load: u64, replicas: &[(&ReplicaId, bool, u64)]) {
        let calls = |(replica, routed, in_flight): &(&ReplicaId, bool, u64)| ReplicaCalls {
            replica: (*replica).clone(),
            routed: *routed,
            in_flight: *in_flight,
            prefill: PrefillQueue::default(),
        };
        let replicas = replicas.iter().map(calls).collect();
        self.write_report(node, load, (load > 0).then_some(0), replicas).await;
    }

    /// A node's report of prompts in flight at a replica.
    pub(super) async fn report_prompts(&self, node: &str, replica: &ReplicaId, prefill: PrefillQueue) {
        let calls = ReplicaCalls { replica: replica.clone(), routed: true, in_flight: prefill.calls, prefill };
        self.write_report(node, prefill.calls, Some(0), vec![calls]).await;
    }

    /// A node's report of when its last call was.
    pub(super) async fn report_quiet(&self, node: &str, seconds: i64) {
        self.write_report(node, 0, Some(seconds), Vec::new()).await;
    }

    async fn write_report(&self, node: &str, load: u64, quiet_secs: Option<i64>, replicas: Vec<ReplicaCalls>) {
        let store = &self.platform.store;
        let at = store.clock().await.unwrap();
        let report = LoadReport {
            node: node.into(),
            endpoint: self.id().await,
            at,
            load: load * 1_000,
            open_calls: load,
            last_call_at: quiet_secs.map(|seconds| at.plus_millis(-seconds * 1_000)),
            replicas,
        };
        let mut tx = store.begin().await.unwrap();
        store::endpoint_loads::report(&mut tx, &report).await.unwrap();
        tx.commit().await.unwrap();
    }
}
