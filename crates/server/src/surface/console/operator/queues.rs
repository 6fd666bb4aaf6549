//! `/api/operator/queues`: the calls that wait, by model, class and workspace.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, Operator};
use crate::surface::console::node_reports::{QueueView, added_up, living_reports};
use axum::Json;
use control::workspaces;
use domain::WorkspaceId;
use serde::Serialize;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// The waiting calls of a workspace.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorQueue)]
pub(crate) struct OperatorQueueView {
    #[serde(flatten)]
    waiting: QueueView,
    /// Null if the workspace was deleted meanwhile, as the following.
    workspace_name: Option<String>,
    organization_id: Option<String>,
    organization_name: Option<String>,
}

/// What waits at all living nodes, as they reported it last: most tokens first.
#[utoipa::path(get, path = "/api/operator/queues", tag = "operator",
    responses((status = 200, body = List<OperatorQueueView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<OperatorQueueView>>, ConsoleError> {
    let queues = added_up(living_reports(&caller).await?);
    let id_of = |view: &QueueView| WorkspaceId::parse(&view.queue.workspace_id).ok();
    let ids: Vec<_> = queues.iter().filter_map(id_of).collect::<BTreeSet<_>>().into_iter().collect();
    let names = workspaces::names(caller.store(), &ids).await?;
    let named = queues.into_iter().map(|waiting| {
        let names = id_of(&waiting).and_then(|id| names.get(&id));
        OperatorQueueView {
            workspace_name: names.map(|names| names.workspace.clone()),
            organization_id: names.map(|names| names.organization_id.to_string()),
            organization_name: names.map(|names| names.organization.clone()),
            waiting,
        }
    });
    Ok(Json(List::whole(named.collect())))
}
