//! Replicas as Pods of a cluster.
//!
//! One Pod per replica, named after it, so that starting it twice creates one Pod. Every gateway watches the Pods; only the
//! leader creates and deletes them. The driver keeps no state that it could not read from the cluster again.

mod api;
mod gpu_metrics;
mod gpus;
mod image_waits;
mod logs;
mod nodes;
mod pod;
mod pod_status;
mod policies;
mod pools;
mod report;
pub mod settings;

use crate::drivers::{
    Binding, DeviceId, Draining, Driver, Observation, ObservedReplica, PlacementError, ReplicaAuth, ReplicaName,
    ReplicaSpec, StartError, TakenResources,
};
use crate::engine::{Engine, EngineLoad, EngineMetrics, Family, LoadError, ProbeResult};
use api::client;
pub use api::client::AccessError;
pub use api::inspect::{InspectError, inspect};
use api::mirror::{Mirror, spaced};
use api::requests::Requests;
use domain::Timestamp;
use domain::model::Modality;
use gpu_metrics::GpuMeter;
use gpus::AllPods;
use image_waits::ImageWaits;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use logs::Logs;
use nodes::Nodes;
pub use pod::PodError;
use pod::RestartPolicy;
pub(super) use pod::command_of;
use policies::Policies;
pub use pools::Pools;
pub use report::*;
use serde_json::json;
pub use settings::Settings;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Number of replicas that each endpoint should have, by its id.
pub type ReplicaTargets = BTreeMap<String, u32>;

/// Replicas as Pods. Clones share the same driver.
#[derive(Clone)]
pub struct KubernetesDriver {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    auth: ReplicaAuth,
    pods: Api<Pod>,
    mirror: Arc<Mirror<Pod>>,
    nodes: Nodes,
    policies: Policies,
    changed: Arc<Notify>,
    logs: Logs,
    all_pods: AllPods,
    /// `None` unless GPUs are measured.
    gpu_meter: Option<GpuMeter>,
    requests: Arc<Requests>,
    image_waits: ImageWaits,
    /// The store's time.
    now: fn() -> Timestamp,
    /// The tasks that keep the mirrors; they end with the driver.
    _loops: JoinSet<()>,
}

impl KubernetesDriver {
    /// Starts to watch the cluster. If it does not respond yet, this is retried in the background.
    /// `now` is the store's time.
    pub async fn open(settings: Settings, auth: ReplicaAuth, now: fn() -> Timestamp) -> Result<Self, AccessError> {
        let (client, own_namespace) = client::open(&settings.access).await?;
        let namespace = settings.namespace.clone().unwrap_or(own_namespace);
        let changed = Arc::new(Notify::new());
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        let mirror = Arc::new(Mirror::new(Some(namespace.clone()), Arc::clone(&changed)));
        // Nodes change all the time, and nothing needs to react to it at once.
        let node_mirror = Arc::new(Mirror::<Node>::new(None, Arc::default()));
        let labels =
            format!("app.kubernetes.io/managed-by={},{}={}", pod::MANAGER, pod::INSTANCE_LABEL, settings.instance);
        let mut loops = JoinSet::new();
        loops.spawn(Arc::clone(&mirror).follow(Api::namespaced(spaced(client.clone()), &namespace), Some(labels)));
        loops.spawn(Arc::clone(&node_mirror).follow(Api::all(spaced(client.clone())), None));
        let requests = Arc::new(Requests::default());
        let nodes = Nodes::new(node_mirror, settings.node_lost_after, Arc::clone(&requests));
        let all_pods = AllPods::new(Api::all(client.clone()), Arc::clone(&requests));
        let metrics = settings.gpu_metrics.clone();
        let gpu_meter =
            metrics.map(|metrics| GpuMeter::new(metrics, client.clone(), &namespace, Arc::clone(&requests)));
        let policies = Policies::new(client, &namespace, &settings, Arc::clone(&requests));
        let logs = Logs::new(pods.clone(), Arc::clone(&requests));
        let shared = Shared {
            settings,
            auth,
            pods,
            mirror,
            nodes,
            policies,
            changed,
            logs,
            all_pods,
            gpu_meter,
            requests,
            image_waits: ImageWaits::default(),
            now,
            _loops: loops,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Waits until a Pod has changed.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Whether the mirror has a Pod of this replica.
    pub fn knows(&self, replica: &ReplicaName) -> bool {
        self.pod(replica).is_some()
    }

    fn pod(&self, replica: &ReplicaName) -> Option<Arc<Pod>> {
        self.shared.mirror.get(&pod::name_of(replica))
    }

    /// Whether all Pods have been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.mirror.is_synced()
    }

    async fn apply(&self, spec: &ReplicaSpec, restart: RestartPolicy) -> Result<(), String> {
        let key = self.shared.auth.required_key(&spec.replica);
        let manifest = pod::manifest(spec, restart, &self.shared.settings, key.as_deref());
        let manifest = manifest.map_err(|error| error.to_string())?;
        let name = pod::name_of(&spec.replica);
        let params = PatchParams::apply(pod::MANAGER).force();
        let (patch, shared) = (Patch::Apply(&manifest), &self.shared);
        let applied = shared.requests.send(shared.pods.patch(&name, &params, &patch)).await;
        let applied = applied.map_err(|error| error.to_string())?;
        self.shared.mirror.expect(&name, applied);
        Ok(())
    }

    /// Annotates a Pod. A Pod that is gone is not an error.
    async fn annotate(&self, replica: &ReplicaName, annotations: serde_json::Value) -> io::Result<()> {
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.patch(replica, &patch).await
    }

    async fn patch(&self, replica: &ReplicaName, patch: &serde_json::Value) -> io::Result<()> {
        let (name, params) = (pod::name_of(replica), PatchParams::default());
        self.change(self.shared.pods.patch(&name, &params, &Patch::Merge(patch))).await
    }

    async fn delete(&self, pod: &Pod, grace_seconds: u64) -> io::Result<()> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let grace = u32::try_from(grace_seconds).unwrap_or(u32::MAX);
        // Not another Pod of the same name.
        let same = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams::default().grace_period(grace).preconditions(same);
        self.change(self.shared.pods.delete(&name, &params)).await
    }

    /// Makes a request that changes a Pod. A Pod that is gone is not an error.
    async fn change<T>(&self, request: impl Future<Output = Result<T, kube::Error>>) -> io::Result<()> {
        match self.shared.requests.send(request).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// Load and token counters of a replica's engine.
    pub async fn metrics(&self, replica: &ReplicaName) -> Result<EngineMetrics, LoadError> {
        let engine = self.engine(replica).ok_or(LoadError::UnknownReplica)?;
        engine.metrics().await
    }

    /// Whether a replica that is not listed does not exist. The list may be older than its start, so the server is asked.
    pub async fn is_gone(&self, replica: &ReplicaName) -> io::Result<bool> {
        let name = pod::name_of(replica);
        let found = self.shared.requests.send(self.shared.pods.get_opt(&name)).await;
        let found = found.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(found.is_none())
    }

    /// Where calls to a ready replica go from this node; `None` while its Pod is not ready. Before the first list of Pods
    /// the address in its row counts.
    pub fn route(&self, replica: &ReplicaName, row_address: Option<&str>) -> Option<String> {
        if !self.is_synced() {
            return row_address.map(ToOwned::to_owned);
        }
        let pod = self.pod(replica).filter(|pod| pod_status::is_ready(pod))?;
        address_of(&pod, self.shared.settings.port).map(|address| address.to_string())
    }

    /// Keeps the network policy and the disruption budgets. Endpoints without a target have no replicas here.
    pub async fn protect(&self, targets: &ReplicaTargets) {
        self.shared.policies.keep(targets, Instant::now()).await;
    }

    fn engine(&self, replica: &ReplicaName) -> Option<Engine> {
        let engine = engine_of(&*self.pod(replica)?, self.shared.settings.port)?;
        Some(Engine { key: Some(self.shared.auth.key(replica)), ..engine })
    }

    async fn observe(&self, pod: &Pod) -> Option<ObservedReplica> {
        let labels = pod.metadata.labels.as_ref()?;
        if labels.contains_key(pod::POOL_LABEL) {
            return None;
        }
        let replica = ReplicaName::parse(labels.get(pod::REPLICA_LABEL)?).ok()?;
        let settings = &self.shared.settings;
        let node = pod_status::node_of(pod)
            .map_or(pod_status::NodeHealth::Healthy, |node| self.shared.nodes.health(node, Instant::now()));
        let is_image_overdue = self.shared.image_waits.waited(pod, Instant::now()) >= settings.image_pull_timeout;
        let mut observation = pod_status::observe(pod, node, is_image_overdue, (self.shared.now)());
        if let Observation::Exited(exit) = &mut observation
            && exit.failure.is_some()
        {
            let log = self.shared.logs.last(pod).await;
            exit.failure = pod_status::with_log(pod, exit, &log);
        }
        let binding = pod_status::node_of(pod).map(|node| self.binding(&replica, pod, node));
        Some(ObservedReplica { replica, binding, observation })
    }

    /// A cluster does not reveal which GPUs a Pod has, so their ids are made from the replica's name.
    fn binding(&self, replica: &ReplicaName, pod: &Pod, node: &str) -> Binding {
        let count = gpus_of(pod, &self.shared.settings);
        Binding {
            devices: (0..count).map(|number| DeviceId::slot(replica.as_str(), number)).collect(),
            port: self.shared.settings.port,
            node: Some(node.to_owned()),
            since: pod_status::scheduled_at(pod),
        }
    }
}

impl Driver for KubernetesDriver {
    /// Creates the Pod if there is none. Returns its node once the scheduler has chosen one; until then it is called again in
    /// every round.
    async fn bind(&self, spec: &ReplicaSpec, _taken: &TakenResources) -> Result<Binding, PlacementError> {
        let Some(pod) = self.pod(&spec.replica) else {
            return Err(match self.apply(spec, RestartPolicy::Never).await {
                Ok(()) => PlacementError::Undecided,
                Err(why) => PlacementError::Unschedulable(format!("the cluster rejected the Pod: {why}")),
            });
        };
        match pod_status::node_of(&pod) {
            Some(node) => Ok(self.binding(&spec.replica, &pod, node)),
            None if pod_status::is_leaving(&pod) => {
                // Deleted by others before it ran: remove the object, so that the next round creates another.
                let _ = self.forget(&spec.replica).await;
                Err(PlacementError::Undecided)
            }
            None => {
                Err(pod_status::unschedulable(&pod).map_or(PlacementError::Undecided, PlacementError::Unschedulable))
            }
        }
    }

    /// `bind` has started it.
    async fn start(&self, spec: &ReplicaSpec, _binding: &Binding) -> Result<(), StartError> {
        if self.knows(&spec.replica) { Ok(()) } else { Err(StartError::PodGone) }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> ProbeResult {
        match (self.pod(replica), self.engine(replica)) {
            (Some(pod), Some(engine)) if pod_status::is_ready(&pod) => engine.probe_serving().await,
            (Some(pod), _) => ProbeResult::Unhealthy(pod_status::why_not_ready(&pod)),
            (None, _) => ProbeResult::Unhealthy("there is no Pod".to_owned()),
        }
    }

    async fn probe(&self, replica: &ReplicaName) -> ProbeResult {
        match (self.pod(replica), self.engine(replica)) {
            (Some(pod), Some(engine)) if pod_status::is_ready(&pod) => engine.probe_health().await,
            (Some(pod), _) => ProbeResult::Unhealthy(pod_status::why_not_ready(&pod)),
            (None, _) => ProbeResult::Unhealthy("there is no Pod".to_owned()),
        }
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, LoadError> {
        self.metrics(replica).await.map(|metrics| metrics.load)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let Some(pod) = self.pod(replica) else { return Err(io::ErrorKind::NotFound.into()) };
        let since = match pod_status::draining_since(&pod) {
            Some(since) => since,
            None => {
                let now = (self.shared.now)();
                self.annotate(replica, json!({ pod::DRAINING_ANNOTATION: now })).await?;
                now
            }
        };
        let in_flight = self.load(replica).await.ok().and_then(|load| load.calls());
        Ok(Draining { since, in_flight })
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        let is_leaving = self.pod(replica).is_none_or(|pod| pod_status::is_leaving(&pod));
        if is_leaving {
            return Err(io::Error::other("its Pod is terminating"));
        }
        self.annotate(replica, json!({ pod::DRAINING_ANNOTATION: null })).await
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let Some(pod) = self.pod(replica) else { return Ok(()) };
        if pod_status::is_leaving(&pod) {
            return Ok(()); // The kubelet does the rest.
        }
        self.annotate(replica, json!({ pod::STOPPED_ANNOTATION: "true" })).await?;
        self.delete(&pod, pod::stop_grace_seconds(&self.shared.settings)).await
    }

    async fn list(&self) -> io::Result<Vec<ObservedReplica>> {
        let mut found = Vec::new();
        for pod in self.shared.mirror.all() {
            found.extend(self.observe(&pod).await);
        }
        self.shared.image_waits.retain(|name| self.shared.mirror.get(name).is_some());
        Ok(found)
    }

    fn address(&self, replica: &ReplicaName) -> Option<String> {
        address_of(&*self.pod(replica)?, self.shared.settings.port).map(|address| address.to_string())
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        match self.pod(replica) {
            Some(pod) => self.shared.logs.tail(&pod).await,
            None => String::new(),
        }
    }

    /// Removes the object. Nothing runs any more, or its node is lost.
    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        let Some(pod) = self.pod(replica) else { return Ok(()) };
        self.delete(&pod, 0).await?;
        let finalizers = pod.metadata.finalizers.iter().flatten().filter(|name| *name != pod::FINALIZER);
        let others: Vec<&String> = finalizers.collect();
        self.patch(replica, &json!({ "metadata": { "finalizers": others, "uid": pod.metadata.uid } })).await
    }

    /// The device plugins of the cluster track this.
    async fn busy_devices(&self, _devices: &[DeviceId]) -> Vec<DeviceId> {
        Vec::new()
    }
}

fn address_of(pod: &Pod, port: u16) -> Option<SocketAddr> {
    let address: IpAddr = pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()?;
    Some(SocketAddr::new(address, port))
}

fn engine_of(pod: &Pod, port: u16) -> Option<Engine> {
    let modality = pod_status::annotation(pod, pod::MODALITY_ANNOTATION)?;
    Some(Engine {
        address: address_of(pod, port)?.into(),
        family: Family::parse(pod_status::annotation(pod, pod::ENGINE_ANNOTATION)?)?,
        model: pod_status::annotation(pod, pod::MODEL_ANNOTATION)?.to_owned(),
        modality: Modality::parse(modality).unwrap_or(Modality::Chat),
        key: None,
    })
}

/// Number of GPUs that a Pod requests.
fn gpus_of(pod: &Pod, settings: &Settings) -> u32 {
    let limits = pod.spec.as_ref().and_then(|spec| spec.containers.first()?.resources.as_ref()?.limits.as_ref());
    let kinds = settings.gpus.values().map(|nodes| nodes.resource.as_str());
    let requested = limits.and_then(|limits| kinds.into_iter().find_map(|kind| limits.get(kind)?.0.parse().ok()));
    requested.unwrap_or(1)
}
