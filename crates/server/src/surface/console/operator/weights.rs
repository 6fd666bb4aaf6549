//! `/api/operator/weights`: what can run on the machine of the node that responds.

use super::downloads::{self, DownloadView};
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::{Caller, Operator, Payload};
use axum::Json;
use domain::model::Modality;
use fleet::machine::Machine;
use fleet::weights::{FoundModel, LocalFile, Lookup, Verdict};
use node::downloads::WeightsUsers;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const NOT_RUNNABLE: &str = "it has neither a GGUF file nor a BERT sentence model, which forebay-engine runs; serve it with \
                            vLLM or SGLang and connect that server";

/// The sources of weights, and this machine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorWeights)]
pub(crate) struct WeightsView {
    /// The node that responds: files are those of its machine, and new downloads are for it.
    node_id: String,
    #[schema(example = "https://huggingface.co")]
    hub: String,
    /// Whether HF_TOKEN is set.
    has_token: bool,
    models_folder: String,
    machine: MachineView,
    /// GGUF files in the models folder, at most 200.
    files: Vec<LocalFileView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorMachine)]
struct MachineView {
    /// Null if unknown, as the next ones.
    memory_bytes: Option<u64>,
    available_memory_bytes: Option<u64>,
    free_disk_bytes: Option<u64>,
    gpus: Vec<MachineGpuView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorMachineGpu)]
struct MachineGpuView {
    id: String,
    gpu_type: String,
    memory_bytes: u64,
    free_memory_bytes: u64,
}

impl From<Machine> for MachineView {
    fn from(machine: Machine) -> Self {
        let gpus = machine.gpus.into_iter().map(|gpu| MachineGpuView {
            id: gpu.id,
            gpu_type: gpu.gpu_type,
            memory_bytes: gpu.memory_bytes,
            free_memory_bytes: gpu.free_memory_bytes,
        });
        Self {
            memory_bytes: machine.memory_bytes,
            available_memory_bytes: machine.available_memory_bytes,
            free_disk_bytes: machine.free_disk_bytes,
            gpus: gpus.collect(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LocalWeights)]
struct LocalFileView {
    path: String,
    /// The size of all parts.
    bytes: u64,
}

/// The sources of weights: the hub, and the files in the models folder of this node's machine.
#[utoipa::path(get, path = "/api/operator/weights", tag = "operator",
    responses((status = 200, body = WeightsView)))]
pub(crate) async fn show(Operator(caller): Operator) -> Json<WeightsView> {
    let parts = &caller.context.operator;
    let weights = &parts.weights;
    let file = |LocalFile { path, bytes }| LocalFileView { path: path.to_string_lossy().into_owned(), bytes };
    Json(WeightsView {
        node_id: parts.node_id.clone(),
        hub: weights.hub_url().to_owned(),
        has_token: weights.has_token(),
        models_folder: weights.models_dir().to_string_lossy().into_owned(),
        machine: machine(&caller).await.into(),
        files: weights.list_local().await.into_iter().map(file).collect(),
    })
}

async fn machine(caller: &Caller) -> Machine {
    let parts = &caller.context.operator;
    parts.weights.machine(parts.logs.process.gpu_memory().await).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookupRequest {
    /// `hf://owner/name`, `hf://owner/name/file.gguf`, the address of its page on the hub, or a path in the models folder.
    #[schema(max_length = 500, example = "hf://acme/tiny-GGUF")]
    reference: String,
}

/// What a reference leads to.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WeightsLookup)]
pub(crate) struct LookupView {
    /// Null for a path.
    #[schema(example = "acme/tiny-GGUF")]
    repository: Option<String>,
    /// As the hub reports it.
    license: Option<String>,
    /// Whether the owner has to grant access; needs HF_TOKEN.
    gated: bool,
    architecture: Option<String>,
    /// The context length that the model was trained with.
    context_length: Option<u64>,
    /// What forebay-engine can run, smallest first.
    models: Vec<FoundModelView>,
    /// Why forebay-engine can run none of it.
    problem: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunnableWeights)]
struct FoundModelView {
    /// The file that names it.
    name: String,
    /// `chat` or `embedding`, if known from the files.
    modality: Option<&'static str>,
    bytes: u64,
    /// For `engine.weights` of a model, and for a download.
    #[schema(example = "hf://acme/tiny-GGUF@0123456/tiny.Q4_K_M.gguf")]
    weights: String,
    /// Bytes that are not on this machine yet.
    missing_bytes: u64,
    /// Whether one engine can run on this machine.
    fits: bool,
    /// An estimate of weights and working memory.
    needed_memory_bytes: u64,
    memory: VerdictView,
    /// The GPU with the most free memory; null without GPUs. It counts for an engine that is built for GPUs.
    gpu: Option<VerdictView>,
    disk: VerdictView,
    /// The download of these weights on this node.
    download: Option<DownloadView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FitVerdict)]
struct VerdictView {
    fits: bool,
    why: String,
}

impl From<Verdict> for VerdictView {
    fn from(Verdict { fits, why }: Verdict) -> Self {
        Self { fits, why }
    }
}

impl FoundModelView {
    async fn new(caller: &Caller, model: FoundModel, users: &WeightsUsers) -> Self {
        let found = caller.context.operator.weights.downloads().find(&model.weights).await;
        Self {
            fits: model.fit.fits(),
            name: model.name,
            modality: model.is_embedding.then_some(Modality::Embedding.as_str()),
            bytes: model.bytes,
            weights: model.weights,
            missing_bytes: model.missing_bytes,
            needed_memory_bytes: model.fit.needed_memory_bytes,
            memory: model.fit.memory.into(),
            gpu: model.fit.gpu.map(VerdictView::from),
            disk: model.fit.disk.into(),
            download: found.map(|(_, entry)| DownloadView::of_this(caller, &entry, users)),
        }
    }
}

/// What a reference leads to: models with size, license and whether they fit on this machine.
#[utoipa::path(post, path = "/api/operator/weights/lookup", tag = "operator", request_body = LookupRequest,
    responses((status = 200, body = LookupView),
        (status = 502, description = "`hub_unavailable`", body = crate::surface::console::error::ErrorBody)))]
pub(crate) async fn look_up(
    Operator(caller): Operator,
    Payload(body): Payload<LookupRequest>,
) -> Result<Json<LookupView>, ConsoleError> {
    let Lookup { repository, license, is_gated, architecture, context_length, models } =
        find(&caller, &body.reference).await?;
    let users = downloads::users(&caller).await?;
    let mut views = Vec::with_capacity(models.len());
    for model in models {
        views.push(FoundModelView::new(&caller, model, &users).await);
    }
    let problem = views.is_empty().then_some(NOT_RUNNABLE);
    Ok(Json(LookupView { repository, license, gated: is_gated, architecture, context_length, models: views, problem }))
}

pub(super) async fn find(caller: &Caller, reference: &str) -> Result<Lookup, ConsoleError> {
    let machine = machine(caller).await;
    Ok(caller.context.operator.weights.look_up(reference, &machine).await?)
}
