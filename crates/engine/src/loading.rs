//! From the command line to a model that serves; meanwhile the HTTP side can tell how far it is.

use crate::backend;
use crate::decode::{Capacity, Decoder};
use crate::embed::Embedder;
use crate::metrics::Metrics;
use crate::model::{Asked, Model, Purpose};
use crate::refusal::Refusal;
use crate::weights::{self, Source};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tracing::info;

/// Tokens in the KV cache when the operator does not say: enough for a few long talks, and modest memory.
const USUAL_CACHE_TOKENS: usize = 16 << 10;

/// What to load, and how much of the machine to take.
pub(crate) struct Plan {
    pub weights: Source,
    pub cache_dir: PathBuf,
    /// A chat template in place of the one in the file.
    pub chat_template: Option<String>,
    pub context: Option<usize>,
    pub for_embeddings: bool,
    pub parallel: usize,
    pub queue: usize,
    pub cache_tokens: Option<usize>,
    pub threads: usize,
}

/// A model that serves.
pub(crate) struct Serving {
    pub model: Arc<Model>,
    pub work: Work,
}

/// What it serves.
pub(crate) enum Work {
    Chat(Decoder),
    Embeddings(Embedder),
}

/// The model as the HTTP side sees it: there, or on its way.
#[derive(Default)]
pub(crate) struct Stage {
    serving: OnceLock<Serving>,
    fetching: AtomicBool,
    percent: AtomicU32,
}

impl Stage {
    /// The model, or why there is none yet.
    pub(crate) fn serving(&self) -> Result<&Serving, Refusal> {
        self.serving.get().ok_or_else(|| {
            let doing = if self.fetching.load(Relaxed) { "fetching" } else { "loading" };
            let reason = format!("{doing} the weights, {} %", self.percent.load(Relaxed));
            Refusal::Loading { reason }
        })
    }

    fn set_progress(&self, part: f32) {
        self.percent.store((part * 100.0) as u32, Relaxed);
    }

    /// Whether nothing is being computed.
    pub(crate) fn idle(&self) -> bool {
        self.serving.get().is_none_or(|serving| match &serving.work {
            Work::Chat(decoder) => decoder.idle(),
            Work::Embeddings(embedder) => embedder.idle(),
        })
    }
}

/// Loads what the plan says and sets the stage; takes seconds, or minutes for large models.
pub(crate) fn load(plan: &Plan, stage: &Arc<Stage>, metrics: &Arc<Metrics>) -> anyhow::Result<()> {
    let started = Instant::now();
    stage.fetching.store(matches!(plan.weights, Source::Hub(_)), Relaxed);
    let weights = weights::bring(&plan.weights, &plan.cache_dir, &|part| stage.set_progress(part))?;
    stage.fetching.store(false, Relaxed);
    stage.set_progress(0.0);
    let file = weights::locate(&weights, &plan.cache_dir)?;
    let watched = Arc::clone(stage);
    let asked =
        Asked { context: plan.context, for_embeddings: plan.for_embeddings, chat_template: plan.chat_template.clone() };
    let mut model = Model::load(backend::start()?, &file, asked, move |part| watched.set_progress(part))?;
    let serving = match model.purpose {
        Purpose::Chat => {
            let cache_tokens = plan.cache_tokens.unwrap_or(USUAL_CACHE_TOKENS.max(model.context_length));
            model.context_length = model.context_length.min(cache_tokens);
            let model = Arc::new(model);
            let Plan { parallel, queue, threads, .. } = *plan;
            let decoder = Decoder::start(&model, Capacity { parallel, queue, cache_tokens, threads }, metrics)?;
            Serving { model, work: Work::Chat(decoder) }
        }
        Purpose::Embeddings => {
            let model = Arc::new(model);
            let embedder = Embedder::start(&model, plan.parallel + plan.queue, plan.threads, metrics)?;
            Serving { model, work: Work::Embeddings(embedder) }
        }
    };
    info!(
        "ready after {:.1} s: {:?}, context of {} tokens, {} threads on {}",
        started.elapsed().as_secs_f64(),
        serving.model.purpose,
        serving.model.context_length,
        plan.threads,
        backend::describe()
    );
    let _ = stage.serving.set(serving);
    Ok(())
}
