//! GPUs of the cluster's nodes, and the Pods that have them.
//!
//! Pods of others are only listed when the operator looks at the map, and only if the account may list the Pods of all
//! namespaces. Without that permission their GPUs look like free ones.

use super::api::requests::Requests;
use super::nodes::is_ready;
use super::settings::GpuNodes;
use super::{ClusterGpus, KubernetesDriver, pod, pod_status};
use k8s_openapi::api::core::v1::{Container, Node, Pod};
use kube::Api;
use kube::api::ListParams;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long the list of all Pods is kept.
const KEPT: Duration = Duration::from_secs(30);
/// For all pages.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);
const PAGE: u32 = 500;
/// Clusters with more Pods are not counted.
const MAX_PAGES: usize = 20;
const UNENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// The nodes of each GPU type.
type GpuTypes = BTreeMap<String, GpuNodes>;
/// GPUs that Pods request, by node and resource.
type Requested = HashMap<(String, String), u32>;

/// The Pods of all namespaces.
pub(super) struct AllPods {
    pods: Api<Pod>,
    requests: Arc<Requests>,
    last: Mutex<Option<Listed>>,
}

struct Listed {
    at: Instant,
    /// `None` if they could not be listed.
    pods: Option<Arc<Vec<Pod>>>,
}

impl AllPods {
    pub(super) fn new(pods: Api<Pod>, requests: Arc<Requests>) -> Self {
        Self { pods, requests, last: Mutex::default() }
    }

    /// Pods that have not ended; `None` if they cannot be listed.
    async fn list(&self) -> Option<Arc<Vec<Pod>>> {
        let mut last = self.last.lock().await;
        if let Some(listed) = &*last
            && listed.at.elapsed() < KEPT
        {
            return listed.pods.clone();
        }
        let pods = self.read().await.map(Arc::new);
        *last = Some(Listed { at: Instant::now(), pods: pods.clone() });
        pods
    }

    async fn read(&self) -> Option<Vec<Pod>> {
        let mut params = ListParams::default().fields(UNENDED).limit(PAGE);
        let mut found = Vec::new();
        let deadline = Instant::now() + LIST_TIMEOUT;
        for _ in 0..MAX_PAGES {
            let left = deadline.saturating_duration_since(Instant::now());
            // A slow list of a large cluster is not an outage, which would stop the reconciler.
            let page = match self.requests.send_to_kubelet(left, self.pods.list(&params)).await {
                Ok(page) => page,
                Err(why) => {
                    tracing::debug!(%why, "cannot list the Pods of all namespaces");
                    return None;
                }
            };
            found.extend(page.items.into_iter().map(without_details));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Some(found),
            }
        }
        None
    }
}

/// Only what is counted: whole Pods of a large cluster would take much memory.
fn without_details(mut pod: Pod) -> Pod {
    pod.metadata.annotations = None;
    pod.metadata.managed_fields = None;
    pod.status = None;
    if let Some(spec) = &mut pod.spec {
        spec.volumes = None;
        for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
            *container = Container { resources: container.resources.take(), ..Container::default() };
        }
    }
    pod
}

impl KubernetesDriver {
    /// The GPUs of all nodes that have some, by node and type; empty until the nodes have been listed.
    pub async fn gpus(&self) -> Vec<ClusterGpus> {
        let shared = &self.shared;
        let (all_nodes, own) = (shared.nodes.mirror.all(), shared.mirror.all());
        if all_nodes.is_empty() {
            return Vec::new();
        }
        let gpu_types = &shared.settings.gpus;
        let others = shared.all_pods.list().await.map(|all| requested_by_others(&all, &own, gpu_types));
        count(&all_nodes, &own, others.as_ref(), gpu_types)
    }
}

fn requested_by_others(all: &[Pod], own: &[Arc<Pod>], gpu_types: &GpuTypes) -> Requested {
    let resources: HashSet<&str> = gpu_types.values().map(|nodes| nodes.resource.as_str()).collect();
    let own: HashSet<&str> = own.iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
    let mut requested = Requested::new();
    for other in all.iter().filter(|pod| !pod.metadata.uid.as_deref().is_some_and(|uid| own.contains(uid))) {
        let Some(node) = pod_status::node_of(other) else { continue };
        for &resource in &resources {
            let count = gpus_of(other, resource);
            if count > 0 {
                *requested.entry((node.to_owned(), resource.to_owned())).or_default() += count;
            }
        }
    }
    requested
}

fn count(nodes: &[Arc<Node>], own: &[Arc<Pod>], others: Option<&Requested>, gpu_types: &GpuTypes) -> Vec<ClusterGpus> {
    let mut found: Vec<ClusterGpus> = Vec::new();
    for node in nodes {
        let Some(name) = &node.metadata.name else { continue };
        // Types with one resource and overlapping selectors would count a GPU twice.
        let mut seen = HashSet::new();
        for (gpu_type, gpu_nodes) in gpu_types {
            let allocatable = allocatable(node, gpu_nodes);
            if allocatable == 0 || !seen.insert(gpu_nodes.resource.as_str()) {
                continue;
            }
            let key = (name.clone(), gpu_nodes.resource.clone());
            let (replicas, pools) = own_gpus(own, name, &gpu_nodes.resource);
            found.push(ClusterGpus {
                node: name.clone(),
                gpu_type: gpu_type.clone(),
                allocatable,
                accepts_pods: is_ready(node) && !is_cordoned(node),
                replicas,
                pools,
                others: others.map(|others| others.get(&key).copied().unwrap_or(0)),
            });
        }
    }
    found.sort_by(|one, other| (&one.node, &one.gpu_type).cmp(&(&other.node, &other.gpu_type)));
    found
}

/// GPUs of our Pods on a node: of replicas, and of pools by model.
fn own_gpus(own: &[Arc<Pod>], node: &str, resource: &str) -> (u32, BTreeMap<String, u32>) {
    let (mut replicas, mut pools) = (0, BTreeMap::new());
    for pod in own.iter().filter(|pod| pod_status::node_of(pod) == Some(node) && !pod_status::has_ended(pod)) {
        let count = gpus_of(pod, resource);
        let is_pooled = pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(pod::POOL_LABEL));
        match pod_status::annotation(pod, pod::MODEL_ANNOTATION) {
            _ if count == 0 => {}
            Some(model) if is_pooled => *pools.entry(model.to_owned()).or_default() += count,
            _ => replicas += count,
        }
    }
    (replicas, pools)
}

/// The number of GPUs of a type that Pods can have on a node.
fn allocatable(node: &Node, gpus: &GpuNodes) -> u32 {
    let labels = node.metadata.labels.as_ref();
    let is_selected = gpus
        .node_selector
        .iter()
        .all(|(key, value)| labels.and_then(|labels| labels.get(key)).is_some_and(|found| found == value));
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref()?.get(&gpus.resource));
    allocatable.filter(|_| is_selected).and_then(|count| count.0.parse().ok()).unwrap_or(0)
}

fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false)
}

/// GPUs that a Pod has. Init containers run before the others, with the same GPUs.
fn gpus_of(pod: &Pod, resource: &str) -> u32 {
    let of = |container: &Container| -> u32 {
        let limit = container.resources.as_ref().and_then(|resources| resources.limits.as_ref()?.get(resource));
        limit.and_then(|limit| limit.0.parse().ok()).unwrap_or(0)
    };
    let Some(spec) = &pod.spec else { return 0 };
    let running: u32 = spec.containers.iter().map(of).sum();
    spec.init_containers.iter().flatten().map(of).fold(running, u32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const GPU: &str = "nvidia.com/gpu";

    fn node(name: &str, gpus: &str, ready: &str, cordoned: bool) -> Arc<Node> {
        let node = json!({
            "metadata": {"name": name, "labels": {"gpu": "h100"}},
            "spec": {"unschedulable": cordoned},
            "status": {"allocatable": {GPU: gpus, "cpu": "8"}, "conditions": [{"type": "Ready", "status": ready}]},
        });
        Arc::new(serde_json::from_value(node).unwrap())
    }

    fn pod(uid: &str, node: &str, gpus: &[&str], labels: &Value) -> Pod {
        let container = |count: &&str| json!({"name": "c", "resources": {"limits": {GPU: count}}});
        let containers: Vec<Value> = gpus.iter().map(container).collect();
        let annotations = json!({"forebay.dev/model": "acme/pooled"});
        let metadata = json!({"uid": uid, "labels": labels, "annotations": annotations});
        let spec = json!({"nodeName": node, "containers": containers, "initContainers": [container(&"1")]});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    #[test]
    fn gpus_are_counted_by_what_has_them() {
        let selector = BTreeMap::from([("gpu".to_owned(), "h100".to_owned())]);
        let gpu_nodes = GpuNodes { resource: GPU.into(), node_selector: selector, ..GpuNodes::default() };
        let mut other_type = gpu_nodes.clone();
        other_type.node_selector.insert("gpu".into(), "a100".into());
        let gpus = BTreeMap::from([("nvidia/h100".to_owned(), gpu_nodes), ("nvidia/a100".to_owned(), other_type)]);
        let nodes = [node("b", "4", "True", false), node("a", "8", "True", true), node("none", "0", "True", false)];
        let own = [
            Arc::new(pod("1", "b", &["2"], &json!({"forebay.dev/replica-id": "rep_1"}))),
            Arc::new(pod("2", "a", &["1"], &json!({"forebay.dev/pool": "true"}))),
        ];
        let mut all: Vec<Pod> = own.iter().map(|pod| without_details((**pod).clone())).collect();
        all.push(without_details(pod("3", "a", &["2", "1"], &json!({}))));
        let others = requested_by_others(&all, &own, &gpus);
        let counted = count(&nodes, &own, Some(&others), &gpus);
        let of = |node: &str, allocatable, accepts_pods, replicas, pools: &[(&str, u32)], others| ClusterGpus {
            node: node.into(),
            gpu_type: "nvidia/h100".into(),
            allocatable,
            accepts_pods,
            replicas,
            pools: pools.iter().map(|(model, count)| ((*model).to_owned(), *count)).collect(),
            others,
        };
        assert_eq!(counted, [of("a", 8, false, 0, &[("acme/pooled", 1)], Some(3)), of("b", 4, true, 2, &[], Some(0))]);
        let unknown = count(&nodes, &own, None, &gpus);
        assert_eq!((unknown[0].others, unknown[1].others), (None, None), "the account may not list all Pods");
    }
}
