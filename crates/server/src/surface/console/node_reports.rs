//! What living nodes reported last.

use super::error::ConsoleError;
use super::extract::Caller;
use control::nodes;
use domain::Timestamp;
use node::report::{NodeReport, QueueReport};
use node::state::ALIVE_MILLIS;
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

pub(crate) fn is_alive(seen_at: Timestamp, now: Timestamp) -> bool {
    seen_at.millis() >= now.millis() - ALIVE_MILLIS
}

/// The last reports of all living nodes, by node.
pub(crate) async fn living_reports(caller: &Caller) -> Result<Vec<(String, NodeReport)>, ConsoleError> {
    let (found, _) = nodes::list_reported(caller.store()).await?;
    let alive = found.into_iter().filter(|found| is_alive(found.node.seen_at, caller.now()));
    let reported = alive.filter_map(|found| {
        let report: NodeReport = serde_json::from_str(found.report.as_deref()?).ok()?;
        Some((found.node.id, report))
    });
    Ok(reported.collect())
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
