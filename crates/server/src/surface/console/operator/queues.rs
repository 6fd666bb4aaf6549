//! `/api/operator/queues`: the calls that wait, by model, class and workspace.

use super::nodes::living_reports;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use axum::Json;
use node::report::{NodeReport, QueueReport};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The waiting calls of a workspace.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorQueue)]
pub(crate) struct OperatorQueueView {
    #[serde(flatten)]
    queue: QueueReport,
    /// The number of nodes at which they wait. Each serves its own queue.
    nodes: usize,
}

/// What waits at all living nodes, as they reported it last: most tokens first.
#[utoipa::path(get, path = "/api/operator/queues", tag = "operator",
    responses((status = 200, body = List<OperatorQueueView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<OperatorQueueView>>, ConsoleError> {
    let reports = living_reports(&caller).await?;
    Ok(Json(List::whole(added_up(reports.into_iter().map(|(_, report)| report)))))
}

fn added_up(reports: impl Iterator<Item = NodeReport>) -> Vec<OperatorQueueView> {
    let mut all: BTreeMap<(String, String, String), OperatorQueueView> = BTreeMap::new();
    for queue in reports.flat_map(|report| report.queues) {
        let key = (queue.model.clone(), queue.class.clone(), queue.workspace_id.clone());
        match all.get_mut(&key) {
            Some(OperatorQueueView { queue: sum, nodes }) => {
                sum.calls += queue.calls;
                sum.tokens = sum.tokens.saturating_add(queue.tokens);
                *nodes += 1;
            }
            None => {
                all.insert(key, OperatorQueueView { queue, nodes: 1 });
            }
        }
    }
    let mut all: Vec<OperatorQueueView> = all.into_values().collect();
    all.sort_by_key(|view| std::cmp::Reverse(view.queue.tokens));
    all
}
