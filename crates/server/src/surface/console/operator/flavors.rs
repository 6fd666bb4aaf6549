//! `/api/operator/gpu-types` and `/api/operator/flavors/fit`: the hardware that flavors can name.
//!
//! Flavors themselves are a part of their models (`/api/operator/models`).

use crate::node::ALIVE_MILLIS;
use crate::node_report::{GpuReport, NodeReport};
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::non_empty;
use crate::surface::console::extract::{Caller, List, Operator, Params};
use axum::Json;
use control::nodes;
use domain::GpuType;
use domain::catalogue::flavor_fit::{NodeGpus, fit};
use domain::model::DriverKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use store::holds::HeldGpu;
use utoipa::{IntoParams, ToSchema};

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
    /// The nodes that have it; of a cluster they are not known.
    nodes: Vec<NodeGpusView>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = OperatorNodeGpus)]
struct NodeGpusView {
    node: String,
    gpus: u32,
    /// Those that no replica holds.
    free: u32,
}

/// The GPU types of all living nodes, then those of the cluster in the configuration.
#[utoipa::path(get, path = "/api/operator/gpu-types", tag = "operator",
    responses((status = 200, body = List<GpuTypeView>)))]
pub(crate) async fn list_gpu_types(Operator(caller): Operator) -> Result<Json<List<GpuTypeView>>, ConsoleError> {
    let mut of_nodes: BTreeMap<String, Vec<NodeGpusView>> = BTreeMap::new();
    for NodeGpus { node, gpu_type, gpus, free } in gpus_of_nodes(&caller).await? {
        of_nodes.entry(gpu_type).or_default().push(NodeGpusView { node, gpus, free });
    }
    let driver = DriverKind::Process.as_str();
    let of_nodes = of_nodes.into_iter().map(|(gpu_type, nodes)| GpuTypeView { gpu_type, driver, nodes });
    let snapshot = caller.context.catalogue.snapshot();
    let driver = DriverKind::Kubernetes.as_str();
    let of_cluster = snapshot.rules().cluster_gpu_types();
    let of_cluster =
        of_cluster.map(|gpu_type| GpuTypeView { gpu_type: gpu_type.to_owned(), driver, nodes: Vec::new() });
    Ok(Json(List::whole(of_nodes.chain(of_cluster).collect())))
}

async fn gpus_of_nodes(caller: &Caller) -> Result<Vec<NodeGpus>, ConsoleError> {
    let (found, _) = nodes::list_reported(caller.store()).await?;
    let held = nodes::held_gpus(caller.store()).await?;
    let oldest = caller.now().millis() - ALIVE_MILLIS;
    let alive = found.into_iter().filter(|found| found.node.seen_at.millis() >= oldest);
    let reported = alive.filter_map(|found| {
        let report: NodeReport = serde_json::from_str(found.report.as_deref()?).ok()?;
        Some((found.node.id, report.gpus))
    });
    Ok(count_gpus(reported, &held))
}

/// Gateways on one machine report the same GPUs, and each counts once; slots have numbers, and every node has its own.
fn count_gpus(reported: impl Iterator<Item = (String, Vec<GpuReport>)>, held: &[HeldGpu]) -> Vec<NodeGpus> {
    let mut seen = HashSet::new();
    let mut counted: BTreeMap<(String, String), (u32, u32)> = BTreeMap::new();
    for (node, gpus) in reported {
        for gpu in gpus {
            let is_slot = gpu.id.contains('#');
            if !is_slot && !seen.insert(gpu.id.clone()) {
                continue;
            }
            let is_held = held.iter().any(|held| held.gpu == gpu.id && (!is_slot || held.node == node));
            let (gpus, free) = counted.entry((node.clone(), gpu.gpu_type)).or_default();
            *gpus += 1;
            *free += u32::from(!is_held);
        }
    }
    let node = |((node, gpu_type), (gpus, free))| NodeGpus { node, gpu_type, gpus, free };
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
    /// Why it does not fit, or is not known.
    why: Option<String>,
}

impl FitView {
    fn not(why: String) -> Self {
        Self { fits: Some(false), replicas: Some(0), free_replicas: Some(0), why: Some(why) }
    }
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
    Ok(Json(match driver {
        DriverKind::Process => fit_on(&gpus_of_nodes(&caller).await?, &gpu_type, gpu_count),
        DriverKind::Kubernetes => {
            let snapshot = caller.context.catalogue.snapshot();
            let is_known = snapshot.rules().cluster_gpu_types().any(|known| known == gpu_type.as_str());
            fit_on_cluster(is_known, &gpu_type)
        }
    }))
}

fn fit_on(nodes: &[NodeGpus], gpu_type: &GpuType, gpu_count: u32) -> FitView {
    let found = fit(gpu_type.as_str(), gpu_count, nodes);
    match (found.largest_node, found.replicas) {
        (0, _) => FitView::not(format!("no node has GPUs of the type {gpu_type}")),
        (largest, 0) => {
            FitView::not(format!("a replica needs {gpu_count} GPUs on one node, and no node has more than {largest}"))
        }
        (_, replicas) => {
            FitView { fits: Some(true), replicas: Some(replicas), free_replicas: Some(found.free_replicas), why: None }
        }
    }
}

/// The cluster schedules Pods itself, so only the type can be checked.
fn fit_on_cluster(is_known: bool, gpu_type: &GpuType) -> FitView {
    if !is_known {
        return FitView::not(format!("[drivers.kubernetes] gpus has no type {gpu_type}"));
    }
    let why = "the cluster decides: a Pod waits until a node has its GPUs".to_owned();
    FitView { fits: None, replicas: None, free_replicas: None, why: Some(why) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, ModelId, OrganizationId, ReplicaId, Timestamp, WorkspaceId};
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn reported(node: &str, gpus: &[(&str, &str)]) -> (String, Vec<GpuReport>) {
        let gpu = |(id, gpu_type): &(&str, &str)| {
            serde_json::from_value(json!({"id": id, "gpuType": gpu_type, "busy": false})).unwrap()
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

        let h100 = GpuType::parse("nvidia/h100").unwrap();
        let two = fit_on(&counted, &h100, 2);
        assert_eq!((two.fits, two.replicas, two.free_replicas), (Some(true), Some(1), Some(0)));
        let three = fit_on(&counted, &h100, 3);
        let why = "a replica needs 3 GPUs on one node, and no node has more than 2";
        assert_eq!((three.fits, three.why.as_deref()), (Some(false), Some(why)));
        assert_eq!(fit_on(&[], &h100, 1).why.as_deref(), Some("no node has GPUs of the type nvidia/h100"));
        assert_eq!((fit_on_cluster(true, &h100).fits, fit_on_cluster(false, &h100).fits), (None, Some(false)));
    }
}
