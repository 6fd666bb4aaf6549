//! `/api/operator/weights/downloads`: downloads of weights to the machines of all nodes. New ones are for the machine of the
//! node that responds.

use super::nodes::living_reports;
use super::weights;
use crate::catalogue_keeper::Snapshot;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Caller, Id, List, Operator, PathParam, Payload};
use crate::weights::{DownloadReport, Downloads, Entry, Order, WeightsError, may_use};
use axum::Json;
use control::weights::DownloadChange;
use domain::ids::IdError;
use domain::model::Serving;
use domain::{DownloadId, Model, Timestamp};
use http::StatusCode;
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
    /// `queued`, `downloading`, `verifying`, `done`, `failed` or `cancelled`.
    state: String,
    /// Why it failed.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Models of the catalogue with these weights.
    used_by: Vec<String>,
}

impl DownloadView {
    fn new(node_id: String, download: DownloadReport, catalogue: &Snapshot) -> Self {
        Self {
            node_id,
            used_by: users(catalogue, &download.weights),
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
    pub(super) fn of_this(caller: &Caller, entry: &Entry) -> Self {
        let node_id = caller.context.operator.node_id.clone();
        Self::new(node_id, entry.into(), &caller.context.catalogue.snapshot())
    }
}

/// The models that may run the files of this download.
fn users(snapshot: &Snapshot, weights: &str) -> Vec<String> {
    let uses = |model: &Model| {
        let of_engine = matches!(&model.serving, Serving::Engine(pool) if may_use(&pool.weights, weights));
        let of_flavor = |used: &str| may_use(used, weights);
        of_engine || model.flavors.iter().any(|flavor| flavor.weights.as_deref().is_some_and(of_flavor))
    };
    let of_file = snapshot.file_models().map(|model| &**model);
    let of_store = snapshot.models.iter().filter_map(|entry| entry.model.as_ref());
    of_file.chain(of_store).filter(|model| uses(model)).map(|model| model.id.to_string()).collect()
}

fn downloads(caller: &Caller) -> &Arc<Downloads> {
    caller.context.operator.weights.downloads()
}

/// Makes a change with its audit entry.
async fn audited<T>(
    caller: &Caller,
    change: DownloadChange,
    (id, weights): (&DownloadId, &str),
    make: impl FnOnce() -> Result<T, WeightsError>,
) -> Result<T, ConsoleError> {
    let subject = (id, weights, caller.context.operator.node_id.as_str());
    let make = || make().map_err(ConsoleError::from);
    control::weights::change(caller.store(), &caller.author(), change, subject, caller.now(), make).await
}

/// The downloads of all living nodes, newest first. Those of other nodes are as of their last reports.
#[utoipa::path(get, path = "/api/operator/weights/downloads", tag = "operator",
    responses((status = 200, body = List<DownloadView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<DownloadView>>, ConsoleError> {
    let catalogue = caller.context.catalogue.snapshot();
    let found = list_all(&caller).await?.into_iter();
    Ok(Json(List::whole(found.map(|(node, download)| DownloadView::new(node, download, &catalogue)).collect())))
}

/// One download.
#[utoipa::path(get, path = "/api/operator/weights/downloads/{downloadId}", tag = "operator",
    responses((status = 200, body = DownloadView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    let found = list_all(&caller).await?.into_iter().find(|(_, download)| download.id == id.as_str());
    let (node, download) = found.ok_or(WeightsError::NoDownload)?;
    Ok(Json(DownloadView::new(node, download, &caller.context.catalogue.snapshot())))
}

/// The downloads of all living nodes with their nodes, newest first.
async fn list_all(caller: &Caller) -> Result<Vec<(String, DownloadReport)>, ConsoleError> {
    let here = &caller.context.operator.node_id;
    let mut reported = living_reports(caller).await?;
    reported.retain(|(node, _)| node != here);
    let mut nodes: Vec<_> = reported.into_iter().map(|(node, report)| (node, report.downloads)).collect();
    nodes.push((here.clone(), downloads(caller).report()));
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
    if let Some((id, entry)) = downloads.find(&order.weights) {
        if !entry.is_done_or_active() {
            audited(&caller, DownloadChange::Resume, (&id, &order.weights), || downloads.resume(&entry)).await?;
        }
        return Ok((StatusCode::CREATED, Json(DownloadView::of_this(&caller, &entry))));
    }
    downloads.check(&order)?;
    let id = control::weights::new_id(caller.now());
    let weights = order.weights.clone();
    let add = || downloads.add(&id, order, caller.now());
    let entry = audited(&caller, DownloadChange::Start, (&id, &weights), add).await?;
    Ok((StatusCode::CREATED, Json(DownloadView::of_this(&caller, &entry))))
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
        (status = 409, description = "`download_inactive`", body = error::ErrorBody)))]
pub(crate) async fn cancel(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    let entry = downloads(&caller).get(&id)?;
    let weights = entry.record().weights;
    audited(&caller, DownloadChange::Cancel, (&id, &weights), || entry.cancel()).await?;
    entry.until_inactive().await;
    Ok(Json(DownloadView::of_this(&caller, &entry)))
}

/// Go on with a download that failed or was cancelled.
#[utoipa::path(post, path = "/api/operator/weights/downloads/{downloadId}/resume", tag = "operator",
    responses((status = 200, body = DownloadView),
        (status = 409, description = "`download_active`, `download_inactive`", body = error::ErrorBody)))]
pub(crate) async fn resume(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    let entry = downloads(&caller).get(&id)?;
    let weights = entry.record().weights;
    audited(&caller, DownloadChange::Resume, (&id, &weights), || downloads(&caller).resume(&entry)).await?;
    Ok(Json(DownloadView::of_this(&caller, &entry)))
}

/// Delete a download with its files.
#[utoipa::path(delete, path = "/api/operator/weights/downloads/{downloadId}", tag = "operator",
    responses((status = 204),
        (status = 409, description = "`download_active`, `weights_in_use`", body = error::ErrorBody)))]
pub(crate) async fn delete(Operator(caller): Operator, Id(id): Id<DownloadId>) -> Result<StatusCode, ConsoleError> {
    let entry = downloads(&caller).get(&id)?;
    let weights = entry.record().weights;
    let users = users(&caller.context.catalogue.snapshot(), &weights);
    if !users.is_empty() {
        return Err(WeightsError::InUse(users.join(", ")).into());
    }
    audited(&caller, DownloadChange::Delete, (&id, &weights), || downloads(&caller).delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
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
