//! `/api/operator/weights/downloads`: downloads of weights to the machine of the node that responds.

use super::weights;
use crate::catalogue_keeper::Snapshot;
use crate::surface::console::error::{self, ConsoleError};
use crate::surface::console::extract::{Caller, Id, List, Operator, PathParam, Payload};
use crate::weights::{Downloads, Entry, Order, WeightsError, may_use};
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
    state: &'static str,
    /// Why it failed.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Models of the catalogue with these weights.
    used_by: Vec<String>,
}

impl DownloadView {
    pub(super) fn new(caller: &Caller, entry: &Entry) -> Self {
        let (record, (done_bytes, bytes_per_second)) = (entry.record(), entry.progress());
        Self {
            id: record.id().to_owned(),
            node_id: caller.context.operator.node_id.clone(),
            used_by: users(&caller.context.catalogue.snapshot(), &record.weights),
            bytes: record.bytes(),
            created_at: record.created_at(),
            weights: record.weights,
            repository: record.repository,
            license: record.license,
            done_bytes,
            bytes_per_second,
            state: record.state.as_str(),
            error: record.error,
        }
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

/// The downloads of this node, newest first.
#[utoipa::path(get, path = "/api/operator/weights/downloads", tag = "operator",
    responses((status = 200, body = List<DownloadView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Json<List<DownloadView>> {
    let entries = downloads(&caller).list();
    Json(List::whole(entries.iter().map(|entry| DownloadView::new(&caller, entry)).collect()))
}

/// One download of this node.
#[utoipa::path(get, path = "/api/operator/weights/downloads/{downloadId}", tag = "operator",
    responses((status = 200, body = DownloadView)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(id): Id<DownloadId>,
) -> Result<Json<DownloadView>, ConsoleError> {
    let entry = downloads(&caller).get(&id)?;
    Ok(Json(DownloadView::new(&caller, &entry)))
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
        return Ok((StatusCode::CREATED, Json(DownloadView::new(&caller, &entry))));
    }
    downloads.check(&order)?;
    let id = control::weights::new_id(caller.now());
    let weights = order.weights.clone();
    let add = || downloads.add(&id, order, caller.now());
    let entry = audited(&caller, DownloadChange::Start, (&id, &weights), add).await?;
    Ok((StatusCode::CREATED, Json(DownloadView::new(&caller, &entry))))
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
    Ok(Json(DownloadView::new(&caller, &entry)))
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
    Ok(Json(DownloadView::new(&caller, &entry)))
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
