//! Replicas as Pods of a cluster.
//!
//! One Pod for each replica, named after it, so that whoever starts it twice starts it once. What is known about Pods
//! comes from a watch that every gateway keeps; only the leader makes and ends them. The driver keeps nothing that the
//! cluster could not tell again.

mod client;
mod logs;
mod look;
mod mirror;
mod nodes;
mod pod;
mod policies;
mod pools;
mod questions;
pub mod settings;
mod sight;

use crate::drivers::process::health::{self, Engine};
use crate::drivers::process::{clock, metrics};
use crate::drivers::{
    Binding, DeviceId, Draining, Driver, EngineFigures, EngineLoad, Family, NoLoad, NoRoom, Observed, Probe, Protected,
    ReplicaName, ReplicaSpec, Sighting, StartError, Taken,
};
use crate::routes::Routes;
pub use client::NoAccess;
use domain::model::{DriverKind, Modality};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use logs::Logs;
pub use look::{NoSight, Seen, look};
use mirror::Mirror;
use nodes::Nodes;
use pod::Life;
pub use pod::PodError;
use policies::Policies;
pub use pools::Pools;
use questions::Questions;
use serde_json::json;
pub use settings::Settings;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Replicas as Pods. Clones are the same driver.
#[derive(Clone)]
pub struct KubernetesDriver {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    pods: Api<Pod>,
    mirror: Arc<Mirror<Pod>>,
    nodes: Nodes,
    policies: Policies,
    changed: Arc<Notify>,
    logs: Logs,
    questions: Arc<Questions>,
    /// The loops that keep the copies true; they end with the driver.
    _loops: JoinSet<()>,
}

impl KubernetesDriver {
    /// Begins to follow the cluster. One that does not answer yet is waited for in the background.
    pub async fn open(settings: Settings) -> Result<Self, NoAccess> {
        let (client, own_namespace) = client::open(&settings.access).await?;
        let namespace = settings.namespace.clone().unwrap_or(own_namespace);
        let changed = Arc::new(Notify::new());
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        let mirror = Arc::new(Mirror::new(Arc::clone(&changed)));
        // Nodes speak all the time; nobody needs to hear each word.
        let node_mirror = Arc::new(Mirror::<Node>::new(Arc::default()));
        let labels =
            format!("app.kubernetes.io/managed-by={},{}={}", pod::MANAGER, pod::INSTANCE_LABEL, settings.instance);
        let mut loops = JoinSet::new();
        loops.spawn(Arc::clone(&mirror).follow(pods.clone(), Some(labels)));
        loops.spawn(Arc::clone(&node_mirror).follow(Api::all(client.clone()), None));
        let questions = Arc::new(Questions::default());
        let nodes = Nodes::new(node_mirror, settings.node_lost_after, Arc::clone(&questions));
        let policies = Policies::new(client, &namespace, &settings, Arc::clone(&questions));
        let logs = Logs::new(pods.clone(), Arc::clone(&questions));
        let shared = Shared { settings, pods, mirror, nodes, policies, changed, logs, questions, _loops: loops };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns when something about a Pod has changed.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Whether there is a Pod for this replica, as far as is known.
    pub fn knows(&self, replica: &ReplicaName) -> bool {
        self.pod(replica).is_some()
    }

    fn pod(&self, replica: &ReplicaName) -> Option<Arc<Pod>> {
        self.shared.mirror.get(&pod::name_of(replica))
    }

    /// Whether every Pod has been listed once.
    pub fn is_synced(&self) -> bool {
        self.shared.mirror.is_synced()
    }

    async fn apply(&self, spec: &ReplicaSpec, life: Life) -> Result<(), String> {
        let manifest = pod::manifest(spec, life, &self.shared.settings).map_err(|error| error.to_string())?;
        let name = pod::name_of(&spec.replica);
        let params = PatchParams::apply(pod::MANAGER).force();
        let (patch, shared) = (Patch::Apply(&manifest), &self.shared);
        let applied = shared.questions.ask(shared.pods.patch(&name, &params, &patch)).await;
        let applied = applied.map_err(|error| error.to_string())?;
        self.shared.mirror.expect(&name, applied);
        Ok(())
    }

    /// Writes notes on a Pod; one that is gone needs none.
    async fn annotate(&self, replica: &ReplicaName, notes: serde_json::Value) -> io::Result<()> {
        let patch = json!({ "metadata": { "annotations": notes } });
        self.patch(replica, &patch).await
    }

    async fn patch(&self, replica: &ReplicaName, patch: &serde_json::Value) -> io::Result<()> {
        let (name, params) = (pod::name_of(replica), PatchParams::default());
        self.change(self.shared.pods.patch(&name, &params, &Patch::Merge(patch))).await
    }

    async fn delete(&self, pod: &Pod, grace_seconds: u64) -> io::Result<()> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let grace = u32::try_from(grace_seconds).unwrap_or(u32::MAX);
        // Another Pod of the same name is not meant.
        let same = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams::default().grace_period(grace).preconditions(same);
        self.change(self.shared.pods.delete(&name, &params)).await
    }

    /// Asks for a change of a Pod; one that is gone needs none.
    async fn change<T>(&self, asked: impl Future<Output = Result<T, kube::Error>>) -> io::Result<()> {
        match self.shared.questions.ask(asked).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// What a replica's engine says of itself, read at once.
    pub async fn figures(&self, replica: &ReplicaName) -> Result<EngineFigures, NoLoad> {
        let engine = self.engine(replica).ok_or(NoLoad::UnknownReplica)?;
        metrics::ask(&engine).await
    }

    fn engine(&self, replica: &ReplicaName) -> Option<Engine> {
        engine_of(&*self.pod(replica)?, self.shared.settings.port)
    }

    async fn observe(&self, pod: &Pod) -> Option<Observed> {
        let labels = pod.metadata.labels.as_ref()?;
        if labels.contains_key(pod::POOL_LABEL) {
            return None;
        }
        let replica = ReplicaName::parse(labels.get(pod::REPLICA_LABEL)?).ok()?;
        let settings = &self.shared.settings;
        let node =
            sight::node_of(pod).map_or(sight::NodeSight::Well, |node| self.shared.nodes.sight(node, Instant::now()));
        let mut sighting = sight::sight(pod, node, settings.image_patience, clock::now());
        if let Sighting::Exited(exit) = &mut sighting
            && exit.failure.is_some()
        {
            let log = self.shared.logs.last(pod).await;
            exit.failure = sight::with_log(pod, exit, &log);
        }
        let binding = sight::node_of(pod).map(|node| self.binding(&replica, pod, node));
        Some(Observed { replica, binding, sighting })
    }

    /// A cluster gives GPUs without saying which: they are told apart by whose they are.
    fn binding(&self, replica: &ReplicaName, pod: &Pod, node: &str) -> Binding {
        let count = gpus_of(pod, &self.shared.settings);
        Binding {
            devices: (0..count).map(|number| DeviceId::slot(replica.as_str(), number)).collect(),
            port: self.shared.settings.port,
            node: Some(node.to_owned()),
            since: sight::scheduled_at(pod),
        }
    }
}

impl Driver for KubernetesDriver {
    /// Makes the Pod, if there is none, and waits for the scheduler from round to round.
    async fn bind(&self, spec: &ReplicaSpec, _taken: &Taken) -> Result<Binding, NoRoom> {
        let Some(pod) = self.pod(&spec.replica) else {
            return Err(match self.apply(spec, Life::Once).await {
                Ok(()) => NoRoom::Undecided,
                Err(why) => NoRoom::Unplaced(format!("the cluster takes no Pod: {why}")),
            });
        };
        match sight::node_of(&pod) {
            Some(node) => Ok(self.binding(&spec.replica, &pod, node)),
            None if sight::is_leaving(&pod) => {
                // Others have ended it before it ran: its object goes, and the next round makes another.
                let _ = self.forget(&spec.replica).await;
                Err(NoRoom::Undecided)
            }
            None => Err(sight::unschedulable(&pod).map_or(NoRoom::Undecided, NoRoom::Unplaced)),
        }
    }

    /// It was started by its binding.
    async fn start(&self, spec: &ReplicaSpec, _binding: &Binding) -> Result<(), StartError> {
        if self.knows(&spec.replica) { Ok(()) } else { Err(StartError::PodGone) }
    }

    async fn probe_start(&self, replica: &ReplicaName) -> Probe {
        match (self.pod(replica), self.engine(replica)) {
            (Some(pod), Some(engine)) if sight::is_ready(&pod) => health::serves(&engine).await,
            (Some(pod), _) => Probe::Unwell(sight::why_not_ready(&pod)),
            (None, _) => Probe::Unwell("there is no Pod".to_owned()),
        }
    }

    async fn probe(&self, replica: &ReplicaName) -> Probe {
        match (self.pod(replica), self.engine(replica)) {
            (Some(pod), Some(engine)) if sight::is_ready(&pod) => health::says_well(&engine).await,
            (Some(pod), _) => Probe::Unwell(sight::why_not_ready(&pod)),
            (None, _) => Probe::Unwell("there is no Pod".to_owned()),
        }
    }

    async fn load(&self, replica: &ReplicaName) -> Result<EngineLoad, NoLoad> {
        self.figures(replica).await.map(|figures| figures.load)
    }

    async fn drain(&self, replica: &ReplicaName) -> io::Result<Draining> {
        let Some(pod) = self.pod(replica) else { return Err(io::ErrorKind::NotFound.into()) };
        let since = match sight::draining_since(&pod) {
            Some(since) => since,
            None => {
                let now = clock::now();
                self.annotate(replica, json!({ pod::DRAINING_ANNOTATION: now })).await?;
                now
            }
        };
        let in_flight = self.load(replica).await.ok().and_then(|load| load.calls());
        Ok(Draining { since, in_flight })
    }

    async fn undrain(&self, replica: &ReplicaName) -> io::Result<()> {
        let leaves = self.pod(replica).is_none_or(|pod| sight::is_leaving(&pod));
        if leaves {
            return Err(io::Error::other("its Pod is leaving"));
        }
        self.annotate(replica, json!({ pod::DRAINING_ANNOTATION: null })).await
    }

    async fn stop(&self, replica: &ReplicaName) -> io::Result<()> {
        let Some(pod) = self.pod(replica) else { return Ok(()) };
        if sight::is_leaving(&pod) {
            return Ok(()); // its kubelet does the rest
        }
        self.annotate(replica, json!({ pod::STOPPED_ANNOTATION: "true" })).await?;
        self.delete(&pod, pod::goodbye(&self.shared.settings)).await
    }

    async fn list(&self) -> io::Result<Vec<Observed>> {
        let mut found = Vec::new();
        for pod in self.shared.mirror.all() {
            found.extend(self.observe(&pod).await);
        }
        Ok(found)
    }

    /// Changes are heard of by [`KubernetesDriver::changed`].
    async fn watch(&self, _running: &[ReplicaName]) -> ReplicaName {
        std::future::pending().await
    }

    fn address(&self, replica: &ReplicaName) -> Option<SocketAddr> {
        address_of(&*self.pod(replica)?, self.shared.settings.port)
    }

    async fn log_tail(&self, replica: &ReplicaName) -> String {
        match self.pod(replica) {
            Some(pod) => self.shared.logs.tail(&pod).await,
            None => String::new(),
        }
    }

    /// Nothing runs any more, or nobody can say so: the object goes.
    async fn forget(&self, replica: &ReplicaName) -> io::Result<()> {
        let Some(pod) = self.pod(replica) else { return Ok(()) };
        self.delete(&pod, 0).await?;
        let finalizers = pod.metadata.finalizers.iter().flatten().filter(|name| *name != pod::FINALIZER);
        let left: Vec<&String> = finalizers.collect();
        self.patch(replica, &json!({ "metadata": { "finalizers": left, "uid": pod.metadata.uid } })).await
    }

    /// The device plugins count them.
    async fn not_released(&self, _devices: &[DeviceId]) -> Vec<DeviceId> {
        Vec::new()
    }

    fn sees(&self, kind: DriverKind) -> bool {
        kind == DriverKind::Kubernetes && self.is_synced()
    }

    async fn is_gone(&self, replica: &ReplicaName, _kind: DriverKind) -> io::Result<bool> {
        let name = pod::name_of(replica);
        let found = self.shared.questions.ask(self.shared.pods.get_opt(&name)).await;
        let found = found.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(found.is_none())
    }

    /// The Pod's own readiness decides; before the first list, the row does.
    fn route(&self, replica: &ReplicaName, _kind: DriverKind, known: Option<&str>) -> Option<String> {
        if !self.is_synced() {
            return known.map(ToOwned::to_owned);
        }
        let pod = self.pod(replica).filter(|pod| sight::is_ready(pod))?;
        address_of(&pod, self.shared.settings.port).map(|address| address.to_string())
    }

    async fn protect(&self, wanted: &Protected) {
        self.shared.policies.keep(wanted, Instant::now()).await;
    }

    async fn keep_pools(&self, routes: &Routes) {
        self.tend_pools(routes).await;
    }
}

fn address_of(pod: &Pod, port: u16) -> Option<SocketAddr> {
    let address: IpAddr = pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()?;
    Some(SocketAddr::new(address, port))
}

fn engine_of(pod: &Pod, port: u16) -> Option<Engine> {
    let modality = match sight::annotation(pod, pod::MODALITY_ANNOTATION)? {
        text if text == Modality::Embedding.as_str() => Modality::Embedding,
        _ => Modality::Chat,
    };
    Some(Engine {
        address: address_of(pod, port)?,
        family: Family::parse(sight::annotation(pod, pod::ENGINE_ANNOTATION)?)?,
        model: sight::annotation(pod, pod::MODEL_ANNOTATION)?.to_owned(),
        modality,
    })
}

/// As many as it asks for.
fn gpus_of(pod: &Pod, settings: &Settings) -> u32 {
    let limits = pod.spec.as_ref().and_then(|spec| spec.containers.first()?.resources.as_ref()?.limits.as_ref());
    let kinds = settings.gpus.values().map(|nodes| nodes.resource.as_str());
    let asked = limits.and_then(|limits| kinds.into_iter().find_map(|kind| limits.get(kind)?.0.parse().ok()));
    asked.unwrap_or(1)
}
