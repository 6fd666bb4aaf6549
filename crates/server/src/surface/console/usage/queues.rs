//! `/api/workspaces/{id}/queues`: the calls of a workspace that wait, by model and class.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{List, WorkspaceCaller};
use crate::surface::console::node_reports::{QueueView, added_up, living_reports};
use axum::Json;

/// The calls of the workspace that wait at all living nodes, as they reported it last: most tokens first.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/queues", tag = "usage",
    responses((status = 200, body = List<QueueView>)))]
pub(crate) async fn list(caller: WorkspaceCaller) -> Result<Json<List<QueueView>>, ConsoleError> {
    let mut reports = living_reports(&caller).await?;
    for (_, report) in &mut reports {
        report.queues.retain(|queue| queue.workspace_id == caller.workspace.id.as_str());
    }
    Ok(Json(List::whole(added_up(reports))))
}
