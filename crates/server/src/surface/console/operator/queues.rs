//! `/api/operator/queues`: the calls that wait, by model, class and workspace.

use super::nodes::living_reports;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use axum::Json;
use control::workspaces;
use domain::WorkspaceId;
use node::report::{NodeReport, QueueReport};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// The waiting calls of a workspace.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorQueue)]
pub(crate) struct OperatorQueueView {
    #[serde(flatten)]
    queue: QueueReport,
    /// Null if the workspace was deleted meanwhile, as the following.
    workspace_name: Option<String>,
    organization_id: Option<String>,
    organization_name: Option<String>,
    /// The number of nodes at which they wait. Each serves its own queue.
    nodes: usize,
}

impl OperatorQueueView {
    /// At one node, without names.
    fn new(queue: QueueReport) -> Self {
        Self { queue, workspace_name: None, organization_id: None, organization_name: None, nodes: 1 }
    }
}

/// What waits at all living nodes, as they reported it last: most tokens first.
#[utoipa::path(get, path = "/api/operator/queues", tag = "operator",
    responses((status = 200, body = List<OperatorQueueView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<OperatorQueueView>>, ConsoleError> {
    let reports = living_reports(&caller).await?;
    let mut queues = added_up(reports.into_iter().map(|(_, report)| report));
    let distinct: BTreeSet<&str> = queues.iter().map(|view| &*view.queue.workspace_id).collect();
    let ids: Vec<_> = distinct.into_iter().filter_map(|id| WorkspaceId::parse(id).ok()).collect();
    let names = workspaces::names(caller.store(), &ids).await?;
    for view in &mut queues {
        let id = WorkspaceId::parse(&view.queue.workspace_id).ok();
        if let Some(names) = id.and_then(|id| names.get(&id)) {
            view.workspace_name = Some(names.workspace.clone());
            view.organization_id = Some(names.organization_id.to_string());
            view.organization_name = Some(names.organization.clone());
        }
    }
    Ok(Json(List::whole(queues)))
}

fn added_up(reports: impl Iterator<Item = NodeReport>) -> Vec<OperatorQueueView> {
    let mut all: BTreeMap<(String, String, String), OperatorQueueView> = BTreeMap::new();
    for queue in reports.flat_map(|report| report.queues) {
        let key = (queue.model.clone(), queue.class.clone(), queue.workspace_id.clone());
        match all.get_mut(&key) {
            Some(OperatorQueueView { queue: sum, nodes, .. }) => {
                sum.calls += queue.calls;
                sum.tokens = sum.tokens.saturating_add(queue.tokens);
                *nodes += 1;
            }
            None => {
                all.insert(key, OperatorQueueView::new(queue));
            }
        }
    }
    let mut all: Vec<OperatorQueueView> = all.into_values().collect();
    all.sort_by_key(|view| std::cmp::Reverse(view.queue.tokens));
    all
}
