//! `/api/workspaces/{id}/queues`: the calls of a workspace that wait, by model and class.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, WorkspaceCaller};
use crate::surface::console::operator::nodes::living_reports;
use axum::Json;
use node::report::{NodeReport, QueueReport};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The waiting calls of a workspace at a model, in one class.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = WorkspaceQueue)]
pub(crate) struct QueueView {
    #[serde(flatten)]
    pub(crate) queue: QueueReport,
    /// The number of nodes at which they wait. Each serves its own queue.
    nodes: usize,
}

/// The calls of the workspace that wait at all living nodes, as they reported it last: most tokens first.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/queues", tag = "usage",
    responses((status = 200, body = List<QueueView>)))]
pub(crate) async fn list(caller: WorkspaceCaller) -> Result<Json<List<QueueView>>, ConsoleError> {
    let mut queues = added_up(living_reports(&caller).await?);
    queues.retain(|view| view.queue.workspace_id == caller.workspace.id.as_str());
    Ok(Json(List::whole(queues)))
}

/// What waits at these nodes, of all workspaces.
pub(crate) fn added_up(reports: Vec<(String, NodeReport)>) -> Vec<QueueView> {
    let mut all: BTreeMap<(String, String, String), QueueView> = BTreeMap::new();
    for queue in reports.into_iter().flat_map(|(_, report)| report.queues) {
        let key = (queue.model.clone(), queue.class.clone(), queue.workspace_id.clone());
        match all.get_mut(&key) {
            Some(QueueView { queue: sum, nodes }) => {
                sum.calls += queue.calls;
                sum.tokens = sum.tokens.saturating_add(queue.tokens);
                sum.waiting_since = sum.waiting_since.into_iter().chain(queue.waiting_since).min();
                *nodes += 1;
            }
            None => {
                all.insert(key, QueueView { queue, nodes: 1 });
            }
        }
    }
    let mut all: Vec<QueueView> = all.into_values().collect();
    all.sort_by_key(|view| Reverse(view.queue.tokens));
    all
}
