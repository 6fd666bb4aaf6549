//! `/api/operator/gpu-types` and `/api/operator/flavors/fit`: the hardware that flavors can name.
//!
//! Flavors themselves are a part of their models (`/api/operator/models`).

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::non_empty;
use crate::surface::console::extract::{Caller, List, Operator, Params};
use crate::surface::console::node_reports::living_reports;
use axum::Json;
use control::nodes;
use domain::GpuType;
use domain::catalogue::flavor_fit::{FlavorFit, FlavorNeed, NodeGpus, fewest_gpus, fit};
use domain::model::DriverKind;
use fleet::machine::Machine;
use node::report::GpuReport;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use store::holds::HeldGpu;
use utoipa::{IntoParams, ToSchema};
use weights::rough;

const MAX_GPUS: u32 = 1024;

/// A GPU type that flavors can name.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorGpuType)]
pub(crate) struct GpuTypeView {
    #[schema(example = "nvidia/h100-sxm-80gb")]
    gpu_type: String,
    /// `process`: GPUs and slots of the nodes' machines. `kubernetes`: a type of the cluster.
    driver: &'static str,
    /// The nodes that have it; of a cluster, those that accept Pods.
    nodes: Vec<NodeGpusView>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorNodeGpus)]
struct NodeGpusView {
    node: String,
    gpus: u32,
    /// Those that nothing uses; of a cluster, no Pod that is known.
    free: u32,
    /// Memory of a GPU; null for slots and for a cluster.
    memory_bytes: Option<u64>,
}

/// By type.
fn group(gpus: Vec<NodeGpus>) -> BTreeMap<String, Vec<NodeGpusView>> {
    let mut types: BTreeMap<String, Vec<NodeGpusView>> = BTreeMap::new();
    for NodeGpus { node, gpu_type, gpus, free, memory_bytes } in gpus {
        types.entry(gpu_type).or_default().push(NodeGpusView { node, gpus, free, memory_bytes });
    }
    types
}

/// The GPU types of all living nodes, then those of the cluster in the configuration.
#[utoipa::path(get, path = "/api/operator/gpu-types", tag = "operator",
    responses((status = 200, body = List<GpuTypeView>)))]
pub(crate) async fn list_gpu_types(Operator(caller): Operator) -> Result<Json<List<GpuTypeView>>, ConsoleError> {
    let driver = DriverKind::Process.as_str();
    let of_nodes = group(gpus_of_nodes(&caller).await?).into_iter().map(|(gpu_type, nodes)| GpuTypeView {
        gpu_type,
        driver,
        nodes,
    });
    let snapshot = caller.context.catalogue.snapshot();
    let driver = DriverKind::Kubernetes.as_str();
    let mut known = group(gpus_of_cluster(&caller).await);
    let of_cluster = snapshot.rules().cluster_gpu_types();
    let of_cluster = of_cluster.map(|gpu_type| {
        let nodes = known.remove(gpu_type).unwrap_or_default();
        GpuTypeView { gpu_type: gpu_type.to_owned(), driver, nodes }
    });
    Ok(Json(List::whole(of_nodes.chain(of_cluster).collect())))
}

async fn gpus_of_nodes(caller: &Caller) -> Result<Vec<NodeGpus>, ConsoleError> {
    let reported = living_reports(caller).await?;
    let held = nodes::held_gpus(caller.store()).await?;
    Ok(count_gpus(reported.into_iter().map(|(node, report)| (node, report.gpus)), &held))
}

/// Nodes that accept no Pods have no places.
async fn gpus_of_cluster(caller: &Caller) -> Vec<NodeGpus> {
    let Some(cluster) = &caller.context.operator.cluster else { return Vec::new() };
    let found = cluster.gpus().await.into_iter().filter(|gpus| gpus.accepts_pods);
    let counted = found.map(|gpus| {
        let taken = gpus.replicas + gpus.pools.values().sum::<u32>() + gpus.others.unwrap_or_default();
        let free = gpus.allocatable.saturating_sub(taken);
        NodeGpus { node: gpus.node, gpu_type: gpus.gpu_type, gpus: gpus.allocatable, free, memory_bytes: None }
    });
    counted.collect()
}

/// Gateways on one machine report the same GPUs, and each counts once; slots have numbers, and every node has its own.
fn count_gpus(reported: impl Iterator<Item = (String, Vec<GpuReport>)>, held: &[HeldGpu]) -> Vec<NodeGpus> {
    let mut seen = HashSet::new();
    let mut counted: BTreeMap<(String, String), (u32, u32, Option<u64>)> = BTreeMap::new();
    for (node, gpus) in reported {
        for gpu in gpus {
            let is_slot = gpu.id.contains('#');
            if !is_slot && !seen.insert(gpu.id.clone()) {
                continue;
            }
            let is_held = held.iter().any(|held| held.gpu == gpu.id && (!is_slot || held.node == node));
            let (gpus, free, memory) = counted.entry((node.clone(), gpu.gpu_type)).or_default();
            *gpus += 1;
            *free += u32::from(!is_held && !gpu.busy);
            *memory = memory.or(gpu.memory_bytes).min(gpu.memory_bytes.or(*memory));
        }
    }
    let node = |((node, gpu_type), (gpus, free, memory_bytes))| NodeGpus { node, gpu_type, gpus, free, memory_bytes };
    counted.into_iter().map(node).collect()
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct FitQuery {
    #[param(example = "nvidia/h100-sxm-80gb")]
    gpu_type: String,
    /// GPUs of a replica; default 1.
    #[param(required = false, nullable = false, value_type = Option<u32>, minimum = 1, maximum = 1024)]
    gpu_count: Option<String>,
    /// `process` (default) or `kubernetes`.
    #[param(required = false, nullable = false)]
    driver: Option<String>,
    /// The weights, whose size is compared with the memory of the GPUs: a path in the models folder, or an `hf://`
    /// reference. Others are not compared.
    #[param(required = false, nullable = false)]
    weights: Option<String>,
}

/// Whether replicas of a flavor have a place.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FlavorFit)]
pub(crate) struct FitView {
    /// Null if it is not known.
    fits: Option<bool>,
    /// Replicas that have a place if nothing else runs.
    replicas: Option<u64>,
    /// Replicas that have a place now.
    free_replicas: Option<u64>,
    /// An estimate of the memory for the weights and for work; null if their size is not known.
    needed_memory_bytes: Option<u64>,
    /// The fewest GPUs whose memory is enough, in powers of two; null if no node has them, or the size of the weights is not
    /// known.
    fewest_gpus: Option<u32>,
    /// Why it does not fit, or is not known.
    why: Option<String>,
}

/// Whether a replica with these GPUs has a place on some node. Allotments of organizations are not considered.
#[utoipa::path(get, path = "/api/operator/flavors/fit", tag = "operator", params(FitQuery),
    responses((status = 200, body = FitView)))]
pub(crate) async fn check_fit(
    Operator(caller): Operator,
    Params(query): Params<FitQuery>,
) -> Result<Json<FitView>, ConsoleError> {
    let gpu_type =
        GpuType::parse(&query.gpu_type).map_err(|error| ConsoleError::invalid("gpuType", &error.to_string()))?;
    let gpu_count = match non_empty(&query.gpu_count) {
        None => 1,
        Some(text) => text
            .parse()
            .ok()
            .filter(|count| (1..=MAX_GPUS).contains(count))
            .ok_or_else(|| ConsoleError::invalid("gpuCount", "a whole number from 1 to 1024"))?,
    };
    let driver = match non_empty(&query.driver) {
        None => DriverKind::Process,
        Some(text) => DriverKind::parse(text)
            .ok_or_else(|| ConsoleError::invalid("driver", "neither `process` nor `kubernetes`"))?,
    };
    let memory_bytes = match non_empty(&query.weights) {
        Some(weights) => needed_memory(&caller, weights).await,
        None => None,
    };
    let need = FlavorNeed { gpu_type: gpu_type.as_str(), gpu_count, memory_bytes };
    Ok(Json(match driver {
        DriverKind::Process => judge(need, &gpus_of_nodes(&caller).await?),
        DriverKind::Kubernetes => {
            let snapshot = caller.context.catalogue.snapshot();
            let is_known = snapshot.rules().cluster_gpu_types().any(|known| known == gpu_type.as_str());
            judge_on_cluster(need, is_known, &gpus_of_cluster(&caller).await)
        }
    }))
}

/// `None` if the weights are not found, or are none that forebay-engine runs.
async fn needed_memory(caller: &Caller, weights: &str) -> Option<u64> {
    let found = caller.context.operator.weights.look_up(weights, &Machine::default()).await.ok()?;
    let exact = found.models.iter().find(|model| model.weights == weights);
    exact.or(found.models.first()).map(|model| model.fit.needed_memory_bytes)
}

fn judge(need: FlavorNeed<'_>, nodes: &[NodeGpus]) -> FitView {
    let FlavorNeed { gpu_type, gpu_count, memory_bytes: needed_memory_bytes } = need;
    let found = fit(need, nodes);
    let why = match found {
        FlavorFit { largest_node: 0, .. } => Some(format!("no node has GPUs of the type {gpu_type}")),
        FlavorFit { replicas: 1.., .. } => None,
        FlavorFit { too_little_memory: Some(memory), .. } => {
            let (needed, memory) = (rough(needed_memory_bytes.unwrap_or_default()), rough(memory));
            Some(format!("the weights need about {needed} of memory, and the GPUs of a replica have {memory}"))
        }
        FlavorFit { largest_node, .. } => {
            Some(format!("a replica needs {gpu_count} GPUs on one node, and no node has more than {largest_node}"))
        }
    };
    FitView {
        fits: Some(why.is_none()),
        replicas: Some(found.replicas),
        free_replicas: Some(found.free_replicas),
        needed_memory_bytes,
        fewest_gpus: needed_memory_bytes.and_then(|_| fewest_gpus(need, nodes)),
        why,
    }
}

/// `is_known`: the configuration has the type. Nodes of the cluster may appear later, so a type without nodes may fit.
fn judge_on_cluster(need: FlavorNeed<'_>, is_known: bool, nodes: &[NodeGpus]) -> FitView {
    let view = judge(need, nodes);
    let has_nodes = nodes.iter().any(|node| node.gpu_type == need.gpu_type);
    match (is_known, has_nodes) {
        (true, true) => view,
        (true, false) => {
            let why = format!("no node of the cluster has GPUs of the type {} now", need.gpu_type);
            FitView { fits: None, why: Some(why), ..view }
        }
        (false, _) => {
            let why = format!("[drivers.kubernetes] gpus has no type {}", need.gpu_type);
            FitView { fits: Some(false), why: Some(why), ..view }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, ModelId, OrganizationId, ReplicaId, Timestamp, WorkspaceId};
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn reported(node: &str, gpus: &[(&str, &str)]) -> (String, Vec<GpuReport>) {
        let gpu = |(id, gpu_type): &(&str, &str)| {
            let memory = (!id.contains('#')).then_some(80_u64 << 30);
            serde_json::from_value(json!({"id": id, "gpuType": gpu_type, "busy": false, "memoryBytes": memory}))
                .unwrap()
        };
        (node.to_owned(), gpus.iter().map(gpu).collect())
    }

    fn held(node: &str, gpu: &str) -> HeldGpu {
        HeldGpu {
            gpu: gpu.to_owned(),
            node: node.to_owned(),
            gpu_type: GpuType::parse("nvidia/h100").unwrap(),
            replica: ReplicaId::new(NOW, 1),
            endpoint: EndpointId::new(NOW, 1),
            endpoint_name: "tiny".to_owned(),
            organization: OrganizationId::new(NOW, 1),
            workspace: WorkspaceId::new(NOW, 1),
            model: ModelId::parse("acme/tiny").unwrap(),
            since: NOW,
        }
    }

    #[test]
    fn gpus_of_a_machine_count_once_and_slots_per_node() {
        let gpus = [("GPU-1", "nvidia/h100"), ("GPU-2", "nvidia/h100"), ("local/cpu#0", "local/cpu")];
        let nodes = [reported("a", &gpus), reported("b", &gpus)];
        let counted = count_gpus(nodes.into_iter(), &[held("b", "GPU-2"), held("b", "local/cpu#0")]);
        let shown: Vec<String> =
            counted.iter().map(|it| format!("{} {} {}/{}", it.node, it.gpu_type, it.free, it.gpus)).collect();
        assert_eq!(shown, ["a local/cpu 1/1", "a nvidia/h100 1/2", "b local/cpu 0/1"]);

        let need = |gpu_count, memory_bytes| FlavorNeed { gpu_type: "nvidia/h100", gpu_count, memory_bytes };
        let two = judge(need(2, None), &counted);
        assert_eq!((two.fits, two.replicas, two.free_replicas, two.why), (Some(true), Some(1), Some(0), None));
        let why = |view: FitView| view.why.unwrap_or_default();
        let three = why(judge(need(3, None), &counted));
        assert_eq!(three, "a replica needs 3 GPUs on one node, and no node has more than 2");
        assert_eq!((two.fewest_gpus, judge(need(1, Some(81 << 30)), &counted).fewest_gpus), (None, Some(2)));
        let large = why(judge(need(2, Some(161 << 30)), &counted));
        assert_eq!(large, "the weights need about 161.0 GiB of memory, and the GPUs of a replica have 160.0 GiB");
        assert_eq!(why(judge(need(1, None), &[])), "no node has GPUs of the type nvidia/h100");
        let on_cluster = |is_known, nodes: &[NodeGpus]| judge_on_cluster(need(2, None), is_known, nodes).fits;
        assert_eq!((on_cluster(true, &counted), on_cluster(true, &[])), (Some(true), None));
        assert_eq!(on_cluster(false, &[]), Some(false));
    }
}
