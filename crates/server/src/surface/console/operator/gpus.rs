//! `/api/operator/gpus`: the GPUs of all machines and of the cluster, and what has them.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use crate::surface::console::node_reports::living_reports;
use axum::Json;
use control::nodes;
use domain::Timestamp;
use fleet::drivers::kubernetes::ClusterGpus;
use node::report::{GpuReport, NodeReport};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use store::holds::HeldGpu;
use utoipa::ToSchema;

/// What has a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OperatorGpuState)]
enum GpuState {
    Free,
    /// A replica of a dedicated endpoint.
    Held,
    /// A Pod of a serverless model.
    Serverless,
    /// Other processes or Pods.
    Other,
    /// Not Forebay. The cluster does not allow to list the Pods of others.
    Unknown,
    /// Free, but the node of the cluster accepts no Pods.
    Unavailable,
}

/// A GPU or slot, and what has it.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorGpu)]
pub(crate) struct OperatorGpuView {
    /// The node of Forebay, or the one of the cluster.
    node: String,
    /// Whether it is a GPU of the cluster. Those have no ids of their own.
    cluster: bool,
    gpu_type: String,
    /// Unique on its node.
    id: String,
    state: GpuState,
    /// Whether a process computes on it; null for GPUs of the cluster.
    busy: Option<bool>,
    /// The share of the last moments in which it computed; null if it is not reported.
    busy_percent: Option<u32>,
    /// The model that it serves, if Forebay has it.
    model: Option<String>,
    /// The replica that holds it.
    holder: Option<GpuHolderView>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorGpuHolder)]
struct GpuHolderView {
    replica_id: String,
    endpoint_id: String,
    endpoint_name: String,
    organization_id: String,
    workspace_id: String,
    model: String,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

impl From<HeldGpu> for GpuHolderView {
    fn from(held: HeldGpu) -> Self {
        Self {
            replica_id: held.replica.to_string(),
            endpoint_id: held.endpoint.to_string(),
            endpoint_name: held.endpoint_name,
            organization_id: held.organization.to_string(),
            workspace_id: held.workspace.to_string(),
            model: held.model.to_string(),
            since: held.since,
        }
    }
}

impl OperatorGpuView {
    fn of_machine(node: &str, gpu: GpuReport, held: Option<HeldGpu>) -> Self {
        let GpuReport { gpu_type, id, busy, busy_percent, .. } = gpu;
        let state = match (&held, busy) {
            (Some(_), _) => GpuState::Held,
            (None, true) => GpuState::Other,
            (None, false) => GpuState::Free,
        };
        let model = held.as_ref().map(|held| held.model.to_string());
        let (node, busy, holder) = (node.to_owned(), Some(busy), held.map(GpuHolderView::from));
        Self { node, cluster: false, gpu_type, id, state, busy, busy_percent, model, holder }
    }

    fn of_cluster(node: &str, gpu_type: &str, id: String, state: GpuState) -> Self {
        let (node, gpu_type) = (node.to_owned(), gpu_type.to_owned());
        let (busy, busy_percent, model, holder) = (None, None, None, None);
        Self { node, cluster: true, gpu_type, id, state, busy, busy_percent, model, holder }
    }

    fn held(held: HeldGpu) -> Self {
        let view = Self::of_cluster(&held.node, held.gpu_type.as_str(), held.gpu.clone(), GpuState::Held);
        Self { model: Some(held.model.to_string()), holder: Some(held.into()), ..view }
    }
}

/// The GPUs and slots of all living nodes, and those of the cluster.
#[utoipa::path(get, path = "/api/operator/gpus", tag = "operator",
    responses((status = 200, body = List<OperatorGpuView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<OperatorGpuView>>, ConsoleError> {
    let reported = living_reports(&caller).await?;
    let held = nodes::held_gpus(caller.store()).await?;
    let cluster = match &caller.context.operator.cluster {
        Some(cluster) => cluster.gpus().await,
        None => Vec::new(),
    };
    Ok(Json(List::whole(map_gpus(reported, &cluster, held))))
}

/// Joins the GPUs that nodes and the cluster report with those that are held, by node and type.
fn map_gpus(reported: Vec<(String, NodeReport)>, cluster: &[ClusterGpus], held: Vec<HeldGpu>) -> Vec<OperatorGpuView> {
    let mut held: HashMap<(String, String), HeldGpu> =
        held.into_iter().map(|held| ((held.node.clone(), held.gpu.clone()), held)).collect();
    let mut views = gpus_of_machines(reported, &mut held);
    for gpus in cluster {
        let is_here = |held: &HeldGpu| held.node == gpus.node && held.gpu_type.as_str() == gpus.gpu_type;
        let ours = held.extract_if(|_, held| is_here(held)).map(|(_, held)| OperatorGpuView::held(held));
        let ours: Vec<OperatorGpuView> = ours.collect();
        views.extend(gpus_of_cluster(gpus, ours.len()));
        views.extend(ours);
    }
    // Of machines and nodes that are not seen at the moment.
    views.extend(held.into_values().map(OperatorGpuView::held));
    views.sort_by(|one, other| (&one.node, &one.gpu_type, &one.id).cmp(&(&other.node, &other.gpu_type, &other.id)));
    views
}

/// Gateways on one machine report the same GPUs: each is listed once, for the node where it is held if it is.
fn gpus_of_machines(
    reported: Vec<(String, NodeReport)>,
    held: &mut HashMap<(String, String), HeldGpu>,
) -> Vec<OperatorGpuView> {
    // Slots have numbers, and every node has its own; GPUs have unique ids.
    let is_unique = |id: &str| !id.contains('#');
    let mut seen: HashSet<String> = held.values().map(|held| held.gpu.clone()).filter(|id| is_unique(id)).collect();
    let mut views = Vec::new();
    for (node, report) in reported {
        for gpu in report.gpus {
            let holder = held.remove(&(node.clone(), gpu.id.clone()));
            if holder.is_none() && is_unique(&gpu.id) && !seen.insert(gpu.id.clone()) {
                continue;
            }
            views.push(OperatorGpuView::of_machine(&node, gpu, holder));
        }
    }
    views
}

/// The GPUs of a node of the cluster that no replica holds.
fn gpus_of_cluster(gpus: &ClusterGpus, held: usize) -> Vec<OperatorGpuView> {
    let ClusterGpus { node, gpu_type, .. } = gpus;
    let mut views = Vec::new();
    let mut add = |count: u32, state: GpuState, model: Option<&str>| {
        for _ in 0..count {
            let id = format!("{gpu_type}#{}", views.len() + held);
            let view = OperatorGpuView::of_cluster(node, gpu_type, id, state);
            views.push(OperatorGpuView { model: model.map(str::to_owned), ..view });
        }
    };
    let others = gpus.others.unwrap_or(0);
    // A Pod may still be there when its hold has ended, and the other way round.
    let replicas = gpus.replicas.max(u32::try_from(held).unwrap_or(u32::MAX));
    let pooled: u32 = gpus.pools.values().sum();
    let rest = gpus.allocatable.saturating_sub(replicas).saturating_sub(pooled).saturating_sub(others);
    add(replicas - u32::try_from(held).unwrap_or(replicas), GpuState::Held, None);
    for (model, count) in &gpus.pools {
        add(*count, GpuState::Serverless, Some(model));
    }
    add(others, GpuState::Other, None);
    let unused = match (gpus.accepts_pods, gpus.others) {
        (false, _) => GpuState::Unavailable,
        (true, None) => GpuState::Unknown,
        (true, Some(_)) => GpuState::Free,
    };
    add(rest, unused, None);
    views
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, GpuType, ModelId, OrganizationId, ReplicaId, WorkspaceId};
    use node::report::JournalReport;
    use std::collections::BTreeMap;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const H100: &str = "nvidia/h100";

    fn reported(node: &str, gpus: &[&str]) -> (String, NodeReport) {
        let gpu = |id: &&str| GpuReport {
            id: (*id).to_owned(),
            gpu_type: H100.to_owned(),
            busy: id.ends_with("busy"),
            busy_percent: None,
            memory_bytes: None,
        };
        let report = NodeReport {
            version: String::new(),
            status: String::new(),
            calls_in_flight: 0,
            held_calls: 0,
            journal: JournalReport { waiting_bytes: 0, max_bytes: 0 },
            store_latency_millis: None,
            redis_latency_millis: None,
            clock_skew_millis: None,
            parts: Vec::new(),
            gpus: gpus.iter().map(gpu).collect(),
            logs: Vec::new(),
            downloads: Vec::new(),
            replica_keys: true,
            queues: Vec::new(),
        };
        (node.to_owned(), report)
    }

    fn held(node: &str, gpu: &str) -> HeldGpu {
        HeldGpu {
            gpu: gpu.to_owned(),
            node: node.to_owned(),
            gpu_type: GpuType::parse(H100).unwrap(),
            replica: ReplicaId::new(NOW, 1),
            endpoint: EndpointId::new(NOW, 1),
            endpoint_name: "tiny".to_owned(),
            organization: OrganizationId::new(NOW, 1),
            workspace: WorkspaceId::new(NOW, 1),
            model: ModelId::parse("acme/tiny").unwrap(),
            since: NOW,
        }
    }

    fn shown(views: &[OperatorGpuView]) -> Vec<String> {
        views.iter().map(|view| format!("{} {} {:?}", view.node, view.id, view.state)).collect()
    }

    #[test]
    fn every_gpu_is_listed_once_with_its_holder() {
        let gpus = ["GPU-1", "GPU-2", "GPU-busy", "x#0"];
        let nodes = vec![reported("a", &gpus), reported("b", &gpus)];
        let views = map_gpus(nodes, &[], vec![held("b", "GPU-2"), held("b", "x#0"), held("lost", "GPU-9")]);
        let expected =
            ["a GPU-1 Free", "a GPU-busy Other", "a x#0 Free", "b GPU-2 Held", "b x#0 Held", "lost GPU-9 Held"];
        assert_eq!(shown(&views), expected);
        assert_eq!((views[3].busy, views[5].busy), (Some(false), None));
        assert_eq!(views[3].model.as_deref(), Some("acme/tiny"));
    }

    fn cluster(node: &str, others: Option<u32>) -> ClusterGpus {
        ClusterGpus {
            node: node.to_owned(),
            gpu_type: H100.to_owned(),
            allocatable: 5,
            accepts_pods: true,
            replicas: 1,
            pools: BTreeMap::from([("acme/pooled".to_owned(), 1)]),
            others,
        }
    }

    #[test]
    fn free_gpus_of_a_cluster_are_those_that_no_pod_has() {
        let views = map_gpus(Vec::new(), &[cluster("n", Some(2))], vec![held("n", "rep_1#0")]);
        let expected = [
            "n nvidia/h100#1 Serverless",
            "n nvidia/h100#2 Other",
            "n nvidia/h100#3 Other",
            "n nvidia/h100#4 Free",
            "n rep_1#0 Held",
        ];
        assert_eq!(shown(&views), expected);
        assert_eq!(views[0].model.as_deref(), Some("acme/pooled"));
        let states = |gpus: ClusterGpus| {
            let views = map_gpus(Vec::new(), &[gpus], Vec::new());
            views.iter().map(|view| format!("{:?}", view.state)).collect::<Vec<_>>().join(" ")
        };
        let unknown = "Held Serverless Unknown Unknown Unknown";
        assert_eq!(states(cluster("n", None)), unknown, "its hold has ended, its Pod has not");
        let cordoned = ClusterGpus { accepts_pods: false, ..cluster("n", Some(9)) };
        assert_eq!(states(cordoned).matches("Other").count(), 9, "the lists of nodes and Pods are not of one moment");
        let cordoned = ClusterGpus { accepts_pods: false, ..cluster("n", Some(2)) };
        assert_eq!(states(cordoned), "Held Serverless Other Other Unavailable");
    }
}
