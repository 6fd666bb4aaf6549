//! `/api/operator/nodes`: the processes that serve from this store.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use crate::surface::console::node_reports::is_alive;
use axum::Json;
use control::nodes;
use domain::Timestamp;
use node::report::NodeReport;
use serde::Serialize;
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
