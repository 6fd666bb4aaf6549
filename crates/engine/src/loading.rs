//! Loads the model, and reports progress to the HTTP server meanwhile.

use crate::decode::Decoder;
use crate::embed::Embedder;
use crate::error::RequestError;
use crate::metrics::Metrics;
use crate::model::backend;
use crate::model::{CachePrecision, Capacity, Model, ModelOptions, Purpose};
use crate::weights::{self, Source, WeightsError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tracing::info;

/// Default KV cache size in tokens: enough for a few long conversations with modest memory.
const DEFAULT_CACHE_TOKENS: usize = 16 << 10;

/// The model to load, and the resources to use for it.
pub(crate) struct LoadPlan {
    pub weights: Source,
    pub cache_dir: PathBuf,
    /// Replaces the chat template of the model file.
    pub chat_template: Option<String>,
    pub context: Option<usize>,
    pub for_embeddings: bool,
    pub parallel: usize,
    pub queue: usize,
    pub cache_tokens: Option<usize>,
    pub cache_precision: CachePrecision,
    pub threads: usize,
    /// When the engine was started, for the log.
    pub started: Instant,
}

/// A loaded model that is ready to serve.
pub(crate) struct Serving {
    pub model: Arc<Model>,
    pub workload: Workload,
}

/// The kind of work that the model does.
pub(crate) enum Workload {
    Chat(Decoder),
    Embeddings(Embedder),
}

/// The model as seen by the HTTP server: ready, or loading.
#[derive(Default)]
pub(crate) struct LoadState {
    serving: OnceLock<Serving>,
    fetching: AtomicBool,
    percent: AtomicU32,
}

impl LoadState {
    /// The model, or an error with the loading progress.
    pub(crate) fn serving(&self) -> Result<&Serving, RequestError> {
        self.serving.get().ok_or_else(|| {
            let activity = if self.fetching.load(Relaxed) { "fetching" } else { "loading" };
            let reason = format!("{activity} the weights, {} %", self.percent.load(Relaxed));
            RequestError::Loading { reason }
        })
    }

    fn set_progress(&self, fraction: f32) {
        self.percent.store((fraction * 100.0) as u32, Relaxed);
    }

    /// Whether no computation is in progress.
    pub(crate) fn idle(&self) -> bool {
        self.serving.get().is_none_or(|serving| match &serving.workload {
            Workload::Chat(decoder) => decoder.idle(),
            Workload::Embeddings(embedder) => embedder.idle(),
        })
    }
}

/// Downloads the weights unless they are on this machine. Returns their file or folder.
pub(crate) async fn obtain(plan: &LoadPlan, state: &LoadState) -> Result<PathBuf, WeightsError> {
    state.fetching.store(matches!(plan.weights, Source::Hub(_)), Relaxed);
    let weights = weights::obtain(&plan.weights, &plan.cache_dir, &|fraction| state.set_progress(fraction)).await?;
    state.fetching.store(false, Relaxed);
    state.set_progress(0.0);
    Ok(weights)
}

/// Loads the model and makes it available; takes seconds, or minutes for large models.
pub(crate) fn load(
    plan: &LoadPlan,
    weights: &Path,
    state: &Arc<LoadState>,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<()> {
    let file = weights::locate(weights, &plan.cache_dir)?;
    let progress_state = Arc::clone(state);
    let options = ModelOptions {
        context: plan.context,
        for_embeddings: plan.for_embeddings,
        chat_template: plan.chat_template.clone(),
    };
    let mut model =
        Model::load(backend::start()?, &file, options, move |fraction| progress_state.set_progress(fraction))?;
    let serving = match model.purpose {
        Purpose::Chat => {
            let cache_tokens = plan.cache_tokens.unwrap_or(DEFAULT_CACHE_TOKENS.max(model.context_length));
            model.context_length = model.context_length.min(cache_tokens);
            let model = Arc::new(model);
            let LoadPlan { parallel, queue, cache_precision: precision, threads, .. } = *plan;
            let capacity = Capacity { parallel, queue, cache_tokens, precision, threads };
            let decoder = Decoder::start(&model, capacity, metrics)?;
            Serving { model, workload: Workload::Chat(decoder) }
        }
        Purpose::Embeddings => {
            let model = Arc::new(model);
            let embedder = Embedder::start(&model, plan.parallel + plan.queue, plan.threads, metrics)?;
            Serving { model, workload: Workload::Embeddings(embedder) }
        }
    };
    info!(
        "ready after {:.1} s: {:?}, context of {} tokens, {} threads on {}",
        plan.started.elapsed().as_secs_f64(),
        serving.model.purpose,
        serving.model.context_length,
        plan.threads,
        backend::describe()
    );
    let _ = state.serving.set(serving);
    Ok(())
}
