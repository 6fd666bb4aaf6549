//! A leader on a real database, whose replicas and whose time are the story's.

use crate::NOW;
use crate::endpoints::platform::{Platform, catalogue};
use control::reconciler::{Parts, Reach, Reconciler, RoundError};
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
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use store::{Store, leader};

thread_local! {
    static CLOCK: Cell<i64> = const { Cell::new(0) };
}

fn now() -> Timestamp {
    Timestamp::from_millis(NOW.millis() + CLOCK.get())
}

/// What one replica does.
#[derive(Debug, Clone)]
pub(super) struct Puppet {
    pub(super) observation: Observation,
    pub(super) probe: ProbeResult,
    pub(super) load: EngineLoad,
    draining: Option<Timestamp>,
    pub(super) stops: u32,
    port: u16,
}

/// Replicas that exist only in the story.
#[derive(Debug, Clone, Default)]
pub(super) struct Puppets(Arc<Mutex<BTreeMap<String, Puppet>>>);

impl Puppets {
    pub(super) fn all(&self) -> MutexGuard<'_, BTreeMap<String, Puppet>> {
        self.0.lock().unwrap()
    }

    pub(super) fn change(&self, replica: &ReplicaId, change: impl FnOnce(&mut Puppet)) {
        change(self.all().get_mut(replica.as_str()).unwrap());
    }

    pub(super) fn crash(&self, replica: &ReplicaId) {
        self.crash_by_a_clock_that_is(0, replica);
    }

    /// The machine of the replica tells when, and its clock is so many seconds off.
    pub(super) fn crash_by_a_clock_that_is(&self, seconds: i64, replica: &ReplicaId) {
        let failure = Some(Failure { class: FailureClass::Crash, message: "boom".into() });
        let at = now().plus_millis(seconds * 1_000);
        self.change(replica, |puppet| puppet.observation = exited(at, failure));
    }

    pub(super) fn is_stopped(&self, replica: &ReplicaId) -> bool {
        self.all()[replica.as_str()].stops > 0
    }
}

fn exited(at: Timestamp, failure: Option<Failure>) -> Observation {
    Observation::Exited(Exit { started_at: None, at, code: Some(1), signal: None, failure })
}

impl Driver for Puppets {
    async fn bind(&self, spec: &ReplicaSpec, taken: &TakenResources) -> Result<Binding, PlacementError> {
        let mut free = (0..64).map(|number| DeviceId::slot(&spec.gpu_type, number));
        let devices = free.by_ref().filter(|id| !taken.devices.contains(id)).take(spec.gpu_count as usize).collect();
        let port = (20_000..).step_by(10).find(|port| !taken.ports.contains(port)).unwrap();
        Ok(Binding::here(devices, port))
    }

    async fn start(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let running = Running { pid: 1, started_at: now(), draining_since: None, supervised: true, leaving: false };
        let puppet = Puppet {
            observation: Observation::Running(running),
            probe: ProbeResult::Unhealthy("it starts".into()),
            load: EngineLoad { kv_cache_usage: Some(0.0), running: Some(0.0), waiting: Some(0.0) },
            draining: None,
            stops: 0,
            port: binding.port,
        };
        self.all().insert(spec.replica.to_string(), puppet);
        Ok(())
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        self.probe(replica).await
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        self.all()[replica.as_str()].probe.clone()
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        self.all().get(replica.as_str()).map(|puppet| puppet.load).ok_or(LoadError::UnknownReplica)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let mut all = self.all();
        let puppet = all.get_mut(replica.as_str()).unwrap();
        Ok(Draining { since: *puppet.draining.get_or_insert_with(now), in_flight: None })
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        self.all().get_mut(replica.as_str()).unwrap().draining = None;
        Ok(())
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let mut all = self.all();
        if let Some(puppet) = all.get_mut(replica.as_str()).filter(|puppet| puppet.observation.is_alive()) {
            puppet.stops += 1;
            puppet.observation = exited(now(), None);
        }
        Ok(())
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        let observed = |(name, puppet): (&String, &Puppet)| ObservedReplica {
            replica: ReplicaName::parse(name).unwrap(),
            binding: None,
            observation: puppet.observation.clone(),
        };
        Ok(self.all().iter().map(observed).collect())
    }

    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr> {
        self.all().get(replica.as_str()).map(|puppet| SocketAddr::from(([127, 0, 0, 1], puppet.port)))
    }

    async fn log_tail(&self, _replica: &ReplicaName) -> String {
        "its last words".into()
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
    pub(super) puppets: Puppets,
    pub(super) epoch: u64,
    reconciler: Reconciler<Puppets>,
}

impl Stage {
    pub(super) async fn new(store: Store) -> Self {
        CLOCK.set(0);
        let platform = Platform::new(store.clone(), 64).await;
        let puppets = Puppets::default();
        let routes = Routes::default();
        routes.apply(&catalogue()).unwrap();
        let parts = Parts {
            store: store.clone(),
            driver: puppets.clone(),
            routes,
            endpoints: Endpoints::default(),
            node: "me".into(),
            reach: Reach::of_node("me"),
            now,
            nudge: Arc::default(),
            figures: Arc::default(),
        };
        let seen = leader::read(&store).await.unwrap();
        let epoch = leader::take_over(&store, &seen, "me", NOW).await.unwrap().unwrap().epoch;
        Self { platform, puppets, epoch, reconciler: Reconciler::new(parts) }
    }

    pub(super) fn now(&self) -> Timestamp {
        now()
    }

    pub(super) async fn create(&self, scaling: Value) {
        self.platform.create("chat", "1x", scaling).await.unwrap();
    }

    /// Time passes, and then the loop looks as often as it takes to see and hear everything.
    pub(super) async fn after(&mut self, seconds: i64) {
        CLOCK.set(CLOCK.get() + seconds * 1_000);
        for _ in 0..4 {
            self.reconciler.round(self.epoch).await.unwrap();
            tokio::task::yield_now().await;
        }
    }

    /// A round of a leader that thinks it still is one.
    pub(super) async fn round_in(&mut self, epoch: u64) -> Result<(), RoundError> {
        self.reconciler.round(epoch).await
    }

    pub(super) async fn live(&self) -> Vec<Replica> {
        store::replicas::list_live(&self.platform.store).await.unwrap()
    }

    pub(super) async fn id(&self) -> EndpointId {
        self.platform.show("chat").await.id
    }

    /// All that run say that they are well.
    pub(super) async fn everyone_is_well(&mut self) {
        for puppet in self.puppets.all().values_mut() {
            puppet.probe = ProbeResult::Healthy;
        }
        self.after(1).await;
    }

    /// `state (reason) ready/desired`.
    pub(super) async fn told(&self) -> String {
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

    /// A node tells of its calls to replicas: whether it routes to them, and how many they have.
    pub(super) async fn report(&self, node: &str, load: u64, replicas: &[(&ReplicaId, bool, u64)]) {
        self.tell(node, load, (load > 0).then_some(0), replicas).await;
    }

    /// A node tells how long ago its last call was.
    pub(super) async fn report_quiet(&self, node: &str, seconds: i64) {
        self.tell(node, 0, Some(seconds), &[]).await;
    }

    async fn tell(&self, node: &str, load: u64, quiet_secs: Option<i64>, replicas: &[(&ReplicaId, bool, u64)]) {
        let store = &self.platform.store;
        let at = store.clock().await.unwrap();
        let calls = |(replica, routed, in_flight): &(&ReplicaId, bool, u64)| ReplicaCalls {
            replica: (*replica).clone(),
            routed: *routed,
            in_flight: *in_flight,
        };
        let report = LoadReport {
            node: node.into(),
            endpoint: self.id().await,
            at,
            load: load * 1_000,
            open_calls: load,
            last_call_at: quiet_secs.map(|seconds| at.plus_millis(-seconds * 1_000)),
            replicas: replicas.iter().map(calls).collect(),
        };
        let mut tx = store.begin().await.unwrap();
        store::endpoint_loads::report(&mut tx, &report).await.unwrap();
        tx.commit().await.unwrap();
    }
}
