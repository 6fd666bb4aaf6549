//! `/api/operator/nodes` and `/api/operator/gpus`: the processes that serve from this store, and their GPUs.

use crate::node::ALIVE_MILLIS;
use crate::node_report::NodeReport;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use axum::Json;
use control::nodes;
use domain::Timestamp;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use store::holds::HeldGpu;
use store::nodes::ReportedNode;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorNode)]
pub(crate) struct OperatorNodeView {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// The last heartbeat.
    #[schema(value_type = String, format = DateTime)]
    seen_at: Timestamp,
    /// Whether its last heartbeat is recent.
    alive: bool,
    /// Whether it leads the control plane.
    leader: bool,
    /// Whether it is the node that responds.
    #[serde(rename = "self")]
    is_self: bool,
    catalogue_hash: String,
    /// Whether it serves the same catalogue as the node that responds.
    same_catalogue: bool,
    /// Null for nodes of older versions.
    report: Option<NodeReport>,
}

/// The node that responds.
struct Responder<'a> {
    id: &'a str,
    catalogue_hash: &'a str,
    leader: &'a str,
    now: Timestamp,
}

impl OperatorNodeView {
    fn new(found: ReportedNode, responder: &Responder<'_>) -> Self {
        let ReportedNode { node, report } = found;
        let alive = is_alive(node.seen_at, responder.now);
        Self {
            alive,
            leader: alive && node.id == responder.leader,
            is_self: node.id == responder.id,
            same_catalogue: node.catalogue_hash == responder.catalogue_hash,
            report: report.and_then(|report| serde_json::from_str(&report).ok()),
            id: node.id,
            started_at: node.started_at,
            seen_at: node.seen_at,
            catalogue_hash: node.catalogue_hash,
        }
    }
}

fn is_alive(seen_at: Timestamp, now: Timestamp) -> bool {
    seen_at.millis() >= now.millis() - ALIVE_MILLIS
}

/// All nodes, with what they reported last.
#[utoipa::path(get, path = "/api/operator/nodes", tag = "operator",
    responses((status = 200, body = List<OperatorNodeView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<OperatorNodeView>>, ConsoleError> {
    let (found, leader) = nodes::list_reported(caller.store()).await?;
    let catalogue = caller.context.catalogue.served().catalogue();
    let id = caller.context.operator.node_id.as_str();
    let responder = Responder { id, catalogue_hash: &catalogue.hash, leader: &leader, now: caller.now() };
    Ok(Json(List::whole(found.into_iter().map(|node| OperatorNodeView::new(node, &responder)).collect())))
}

/// A GPU or slot, and the replica that holds it.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorGpu)]
pub(crate) struct OperatorGpuView {
    /// The node of Forebay, or the one of the cluster.
    node: String,
    gpu_type: String,
    id: String,
    /// Whether a process computes on it; null if no living node sees it.
    busy: Option<bool>,
    /// Null if it is free.
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

/// The GPUs and slots of all living nodes, and those that are held on a cluster.
#[utoipa::path(get, path = "/api/operator/gpus", tag = "operator",
    responses((status = 200, body = List<OperatorGpuView>)))]
pub(crate) async fn list_gpus(Operator(caller): Operator) -> Result<Json<List<OperatorGpuView>>, ConsoleError> {
    let (found, _) = nodes::list_reported(caller.store()).await?;
    let held = nodes::held_gpus(caller.store()).await?;
    let alive = found.into_iter().filter(|found| is_alive(found.node.seen_at, caller.now()));
    let reported = alive.filter_map(|found| {
        let report: NodeReport = serde_json::from_str(found.report.as_deref()?).ok()?;
        Some((found.node.id, report))
    });
    Ok(Json(List::whole(map_gpus(reported.collect(), held))))
}

/// Joins the GPUs that nodes report with those that are held. Gateways on one machine report the same GPUs: each is
/// listed once, for the node where it is held if it is.
fn map_gpus(reported: Vec<(String, NodeReport)>, held: Vec<HeldGpu>) -> Vec<OperatorGpuView> {
    // Slots have numbers, and every node has its own; GPUs have unique ids.
    let is_unique = |id: &str| !id.contains('#');
    let mut seen: HashSet<String> = held.iter().map(|held| held.gpu.clone()).filter(|id| is_unique(id)).collect();
    let mut held: HashMap<(String, String), HeldGpu> =
        held.into_iter().map(|held| ((held.node.clone(), held.gpu.clone()), held)).collect();
    let mut views = Vec::new();
    for (node, report) in reported {
        for gpu in report.gpus {
            let holder = held.remove(&(node.clone(), gpu.id.clone())).map(GpuHolderView::from);
            if holder.is_none() && is_unique(&gpu.id) && !seen.insert(gpu.id.clone()) {
                continue;
            }
            let (gpu_type, id, busy) = (gpu.gpu_type, gpu.id, Some(gpu.busy));
            views.push(OperatorGpuView { node: node.clone(), gpu_type, id, busy, holder });
        }
    }
    for ((node, id), held) in held {
        let gpu_type = held.gpu_type.to_string();
        views.push(OperatorGpuView { node, gpu_type, id, busy: None, holder: Some(held.into()) });
    }
    views.sort_by(|one, other| (&one.node, &one.gpu_type, &one.id).cmp(&(&other.node, &other.gpu_type, &other.id)));
    views
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_report::{GpuReport, JournalReport};
    use domain::{EndpointId, GpuType, ModelId, OrganizationId, ReplicaId, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn reported(node: &str, gpus: &[&str]) -> (String, NodeReport) {
        let gpu = |id: &&str| GpuReport { id: (*id).to_owned(), gpu_type: "nvidia/h100".to_owned(), busy: false };
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
        };
        (node.to_owned(), report)
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
    fn every_gpu_is_listed_once_with_its_holder() {
        let nodes = vec![reported("a", &["GPU-1", "GPU-2", "x#0"]), reported("b", &["GPU-1", "GPU-2", "x#0"])];
        let views = map_gpus(nodes, vec![held("b", "GPU-2"), held("b", "x#0"), held("pod-node", "GPU-9")]);
        let shown = views.iter().map(|view| format!("{} {} {}", view.node, view.id, view.holder.is_some()));
        let expected = ["a GPU-1 false", "a x#0 false", "b GPU-2 true", "b x#0 true", "pod-node GPU-9 true"];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        assert_eq!(views[4].busy, None);
    }
}
