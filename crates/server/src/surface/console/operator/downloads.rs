//! `/api/operator/weights/downloads`: downloads of weights to the machines of all nodes. New ones are for the machine of the
//! node that responds.

use super::weights;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Caller, Id, List, Operator, PathParam, Payload};
use crate::surface::console::node_reports::living_reports;
use axum::Json;
use control::{CommandError, node_requests};
use domain::ids::IdError;
use domain::{DownloadChange, DownloadId, Timestamp};
use fleet::weights::{ChangeError, Downloads, Entry, Order};
use http::StatusCode;
use node::downloads::{DownloadReport, DownloadRequest, WeightsUsers};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

impl PathParam for DownloadId {
    const PARAM: &'static str = "downloadId";

    fn read(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

/// A download of weights.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WeightsDownload)]
pub(crate) struct DownloadView {
    id: String,
    /// The node that downloads to its machine.
    node_id: String,
    /// For `engine.weights` of a model.
    weights: String,
    repository: String,
    license: Option<String>,
    bytes: u64,
    /// Bytes that have arrived.
    done_bytes: u64,
    /// While bytes arrive.
    bytes_per_second: u64,
    /// `queued`, `downloading`, `verifying`, `done`, `failed`, `cancelled` or `missing` (its files were deleted).
    state: String,
    /// Why it failed.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Models of the catalogue with these weights, and endpoints that keep a deleted flavor, such as `dedicated/tiny`.
    used_by: Vec<String>,
}

impl DownloadView {
    fn new(node_id: String, download: DownloadReport, users: &WeightsUsers) -> Self {
        Self {
            node_id,
            used_by: users.of(&download.weights),
            id: download.id,
            weights: download.weights,
            repository: download.repository,
            license: download.license,
            bytes: download.bytes,
            done_bytes: download.done_bytes,
            bytes_per_second: download.bytes_per_second,
            state: download.state,
            error: download.error,
            created_at: download.created_at,
        }
    }

    /// A download of this node.
    pub(super) fn of_this(caller: &Caller, entry: &Entry, users: &WeightsUsers) -> Self {
        Self::new(caller.context.operator.node_id.clone(), entry.into(), users)
    }
}

pub(super) async fn users(caller: &Caller) -> Result<WeightsUsers, ConsoleError> {
    let found = WeightsUsers::read(caller.store(), &caller.context.catalogue.snapshot()).await;
    Ok(found.map_err(CommandError::from)?)
}

fn downloads(caller: &Caller) -> &Arc<Downloads> {
    caller.context.operator.weights.downloads()
}

/// The downloads of all living nodes, newest first. Those of other nodes are as of their last reports.
#[utoipa::path(get, path = "/api/operator/weights/downloads", tag = "operator",
    responses((status = 200, body = List<DownloadView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<DownloadView>>, ConsoleError> {
    let users = users(&caller).await?;
    let found = list_all(&caller).await?.into_iter();
    Ok(Json(List::whole(found.map(|(node, download)| DownloadView::new(node, download, &users)).collect())))
}

/// One download.
#[utoipa::path(get, path = "/api/operator/weights/downloads/{downloadId}", tag = "operator",
    responses((status = 200, body = DownloadView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    let (node, download) = find(&caller, &id).await?;
    Ok(Json(DownloadView::new(node, download, &users(&caller).await?)))
}

/// A download with its node.
async fn find(caller: &Caller, id: &DownloadId) -> Result<(String, DownloadReport), ConsoleError> {
    let found = list_all(caller).await?.into_iter().find(|(_, download)| download.id == id.as_str());
    Ok(found.ok_or(ChangeError::Missing)?)
}

/// The downloads of all living nodes with their nodes, newest first.
async fn list_all(caller: &Caller) -> Result<Vec<(String, DownloadReport)>, ConsoleError> {
    let here = &caller.context.operator.node_id;
    let mut reported = living_reports(caller).await?;
    reported.retain(|(node, _)| node != here);
    let mut nodes: Vec<_> = reported.into_iter().map(|(node, report)| (node, report.downloads)).collect();
    let own = downloads(caller).list().await;
    nodes.push((here.clone(), own.iter().map(|entry| DownloadReport::from(&**entry)).collect()));
    Ok(newest_first(nodes))
}

fn newest_first(nodes: Vec<(String, Vec<DownloadReport>)>) -> Vec<(String, DownloadReport)> {
    let of_node = |(node, downloads): (String, Vec<DownloadReport>)| {
        downloads.into_iter().map(move |download| (node.clone(), download))
    };
    let mut all: Vec<_> = nodes.into_iter().flat_map(of_node).collect();
    // Ids sort by the time at which they were made.
    all.sort_by(|(_, one), (_, other)| other.id.cmp(&one.id));
    all
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDownload {
    /// `weights` of a lookup, or another reference that leads to one model.
    #[schema(max_length = 500, example = "hf://acme/tiny-GGUF/tiny.Q4_K_M.gguf")]
    reference: String,
}

/// Download weights in the background. Weights that are there, or on their way, are not downloaded again.
#[utoipa::path(post, path = "/api/operator/weights/downloads", tag = "operator", request_body = NewDownload,
    responses((status = 201, body = DownloadView),
        (status = 409, description = "`no_disk_space`, `too_many_downloads`", body = error::ErrorBody),
        (status = 502, description = "`hub_unavailable`", body = error::ErrorBody)))]
pub(crate) async fn start(
    Operator(caller): Operator,
    Payload(body): Payload<NewDownload>,
) -> Result<(StatusCode, Json<DownloadView>), ConsoleError> {
    let order = choose(&caller, &body.reference).await?;
    let downloads = downloads(&caller);
    let turn = downloads.turn().await;
    if let Some((id, entry)) = downloads.find(&order.weights).await {
        // The command below has a turn of its own.
        drop(turn);
        if !entry.is_done_or_active() {
            change(&caller, &id, DownloadChange::Resume).await?;
        }
        return Ok((StatusCode::CREATED, Json(DownloadView::of_this(&caller, &entry, &users(&caller).await?))));
    }
    downloads.check(&order).await?;
    let id = control::weights::new_id(caller.now());
    let subject = (&id, order.weights.as_str(), caller.context.operator.node_id.as_str());
    control::weights::record_start(caller.command(), subject).await?;
    let entry = downloads.add(turn, &id, order, caller.now()).await?;
    Ok((StatusCode::CREATED, Json(DownloadView::of_this(&caller, &entry, &users(&caller).await?))))
}

/// The model that a reference leads to.
async fn choose(caller: &Caller, reference: &str) -> Result<Order, ConsoleError> {
    let mut models = weights::find(caller, reference).await?.models;
    let exact = models.iter().position(|model| model.weights == reference.trim());
    let chosen = match (exact, models.len()) {
        (Some(index), _) => models.swap_remove(index),
        (None, 1) => models.swap_remove(0),
        (None, 0) => return Err(ConsoleError::invalid("reference", "has no model that forebay-engine runs")),
        (None, _) => return Err(ConsoleError::invalid("reference", "has several models; add the name of a file")),
    };
    chosen.order.ok_or_else(|| ConsoleError::invalid("reference", "is a path: nothing has to be downloaded"))
}

/// Stop a download. What has arrived is kept.
#[utoipa::path(post, path = "/api/operator/weights/downloads/{downloadId}/cancel", tag = "operator",
    responses((status = 200, body = DownloadView),
        (status = 409, description = "`download_inactive`", body = error::ErrorBody),
        (status = 503, description = "`node_unresponsive`, `store_unavailable`", body = error::ErrorBody)))]
pub(crate) async fn cancel(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    change(&caller, &id, DownloadChange::Cancel).await.map(Json)
}

/// Go on with a download that failed, was cancelled or is missing.
#[utoipa::path(post, path = "/api/operator/weights/downloads/{downloadId}/resume", tag = "operator",
    responses((status = 200, body = DownloadView),
        (status = 409, description = "`download_active`, `download_inactive`, `too_many_downloads`",
            body = error::ErrorBody),
        (status = 503, description = "`node_unresponsive`, `store_unavailable`", body = error::ErrorBody)))]
pub(crate) async fn resume(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    change(&caller, &id, DownloadChange::Resume).await.map(Json)
}

/// Delete a download with its files.
#[utoipa::path(delete, path = "/api/operator/weights/downloads/{downloadId}", tag = "operator",
    responses((status = 204),
        (status = 409, description = "`download_active`, `weights_in_use`", body = error::ErrorBody),
        (status = 503, description = "`node_unresponsive`, `store_unavailable`", body = error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<DownloadId>) -> Result<StatusCode, ConsoleError> {
    change(&caller, &id, DownloadChange::Delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes a download of this node, or asks the node that has it.
async fn change(caller: &Caller, id: &DownloadId, change: DownloadChange) -> Result<DownloadView, ConsoleError> {
    let (node, _) = find(caller, id).await?;
    let download = if node == caller.context.operator.node_id {
        caller.context.download_commands().make(&caller.author, change, id, caller.now()).await?
    } else {
        let (user, address) = (caller.signed.user.id.clone(), caller.request.origin.address.to_string());
        let request = DownloadRequest { download: id.clone(), change, user, address };
        node_requests::ask(caller.store(), &node, &request, caller.now()).await??
    };
    Ok(DownloadView::new(node, download, &users(caller).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_of_all_nodes_are_listed_newest_first() {
        let download = |millis: i64| DownloadReport {
            id: DownloadId::new(Timestamp::from_millis(millis), 0).to_string(),
            weights: String::new(),
            repository: String::new(),
            license: None,
            bytes: 0,
            done_bytes: 0,
            bytes_per_second: 0,
            state: "done".to_owned(),
            error: None,
            created_at: Timestamp::from_millis(millis),
        };
        let nodes = vec![
            ("there".to_owned(), vec![download(3_000), download(1_000)]),
            ("here".to_owned(), vec![download(2_000)]),
        ];
        let listed = newest_first(nodes).into_iter().map(|(node, download)| (node, download.created_at.millis()));
        let expected = [("there", 3_000), ("here", 2_000), ("there", 1_000)].map(|(node, at)| (node.to_owned(), at));
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }
}
