//! Embeddings: a dedicated thread computes the inputs of all calls in batches.

use crate::error::RequestError;
use crate::metrics::Metrics;
use crate::model::Model;
use anyhow::Context;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tracing::error;

/// Maximum inputs per batch.
const MAX_INPUTS: usize = 64;
/// Tokens per batch, or those of one input if it is longer: an input is never split.
const BATCH_TOKENS: usize = 1024;

type Vector = Vec<f32>;

/// Handle of the embedding thread.
pub(crate) struct Embedder {
    jobs: mpsc::Sender<EmbeddingJob>,
    slots: Arc<Semaphore>,
    limit: usize,
}

struct EmbeddingJob {
    inputs: Vec<Vec<LlamaToken>>,
    /// Vectors computed so far, in the order of the inputs.
    vectors: Vec<Vector>,
    result: oneshot::Sender<Vec<Vector>>,
    _slot: OwnedSemaphorePermit,
}

impl Embedder {
    /// `limit` bounds the number of running and waiting calls.
    pub(crate) fn start(
        model: &Arc<Model>,
        limit: usize,
        threads: usize,
        metrics: &Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let (jobs, receiver) = mpsc::channel(limit);
        let (started, starting) = oneshot::channel();
        let (thread_model, thread_metrics) = (Arc::clone(model), Arc::clone(metrics));
        std::thread::Builder::new().name("embed".to_owned()).spawn(move || {
            match Worker::new(&thread_model, threads, receiver, thread_metrics) {
                Ok(mut worker) => {
                    let _ = started.send(Ok(()));
                    worker.run();
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })?;
        starting.blocking_recv().context("the embedding thread panicked during startup")??;
        Ok(Self { jobs, slots: Arc::new(Semaphore::new(limit)), limit })
    }

    /// Whether no call is running or waiting.
    pub(crate) fn idle(&self) -> bool {
        self.slots.available_permits() == self.limit
    }

    /// Normalized vectors of the inputs, in order.
    pub(crate) async fn embed(&self, inputs: Vec<Vec<LlamaToken>>) -> Result<Vec<Vector>, RequestError> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| RequestError::Busy { limit: self.limit })?;
        let (result, received) = oneshot::channel();
        let job = EmbeddingJob { inputs, vectors: Vec::new(), result, _slot: slot };
        self.jobs.try_send(job).map_err(|_| RequestError::Failed)?;
        received.await.map_err(|_| RequestError::Failed)
    }
}

struct Worker<'model> {
    context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
    max_tokens_per_batch: usize,
    waiting: VecDeque<EmbeddingJob>,
    jobs: mpsc::Receiver<EmbeddingJob>,
    metrics: Arc<Metrics>,
}

impl<'model> Worker<'model> {
    fn new(
        model: &'model Model,
        threads: usize,
        jobs: mpsc::Receiver<EmbeddingJob>,
        metrics: Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let max_tokens_per_batch = BATCH_TOKENS.max(model.context_length);
        let context = model.embedding_context(threads, MAX_INPUTS, max_tokens_per_batch)?;
        let batch = LlamaBatch::new(max_tokens_per_batch, 1);
        let mut worker = Self { context, batch, max_tokens_per_batch, waiting: VecDeque::new(), jobs, metrics };
        worker
            .compute(&[&[model.any_token()]])
            .map_err(|error| anyhow::anyhow!("the first computation failed: {error}"))?;
        Ok(worker)
    }

    fn run(&mut self) {
        while self.receive_jobs() {
            self.waiting.retain(|job| !job.result.is_closed());
            self.step();
        }
    }

    fn receive_jobs(&mut self) -> bool {
        if self.waiting.is_empty() {
            self.metrics.set_load(0, 0, 0.0);
            let Some(job) = self.jobs.blocking_recv() else { return false };
            self.waiting.push_back(job);
        }
        while let Ok(job) = self.jobs.try_recv() {
            self.waiting.push_back(job);
        }
        true
    }

    /// Computes one batch with inputs of all calls in turn, so that a long call does not block a short one.
    fn step(&mut self) {
        let lengths: Vec<Vec<usize>> =
            self.waiting.iter().map(|job| job.inputs[job.vectors.len()..].iter().map(Vec::len).collect()).collect();
        let taken = take_round_robin(&lengths, MAX_INPUTS, self.max_tokens_per_batch);
        let inputs = |job: usize| {
            let job = &self.waiting[job];
            &job.inputs[job.vectors.len()..]
        };
        let batch: Vec<Vec<LlamaToken>> =
            taken.iter().enumerate().flat_map(|(job, count)| inputs(job)[..*count].to_vec()).collect();
        let batch: Vec<&[LlamaToken]> = batch.iter().map(Vec::as_slice).collect();
        let tokens: usize = batch.iter().map(|input| input.len()).sum();
        let running = taken.iter().filter(|count| **count > 0).count();
        self.metrics.set_load(running, taken.len() - running, tokens as f64 / self.max_tokens_per_batch as f64);
        match self.compute(&batch) {
            Ok(vectors) => self.distribute(&taken, vectors),
            Err(reason) => {
                error!("a batch of embeddings failed: {reason}");
                // Dropping the jobs notifies their callers.
                self.waiting.clear();
            }
        }
        self.metrics.step();
        self.metrics.prompt(tokens, 0);
    }

    fn compute(&mut self, inputs: &[&[LlamaToken]]) -> Result<Vec<Vector>, String> {
        self.batch.clear();
        for (sequence, input) in inputs.iter().enumerate() {
            let added = self.batch.add_sequence(input, sequence as i32, true);
            added.map_err(|error| error.to_string())?;
        }
        self.context.clear_kv_cache();
        self.context.decode(&mut self.batch).map_err(|error| error.to_string())?;
        let vector = |sequence: usize| {
            let vector = self.context.embeddings_seq_ith(sequence as i32).map_err(|error| error.to_string());
            vector.map(normalized)
        };
        (0..inputs.len()).map(vector).collect()
    }

    fn distribute(&mut self, taken: &[usize], vectors: Vec<Vector>) {
        let mut vectors = vectors.into_iter();
        for (job, count) in self.waiting.iter_mut().zip(taken) {
            job.vectors.extend(vectors.by_ref().take(*count));
        }
        let jobs = std::mem::take(&mut self.waiting);
        for job in jobs {
            if job.vectors.len() == job.inputs.len() {
                let _ = job.result.send(job.vectors);
            } else {
                self.waiting.push_back(job);
            }
        }
    }
}

/// Number of inputs per call in the next batch: one input of each call in turn, until the next one does not fit. For
/// example, calls with 100 and 2 inputs and room for 64 inputs contribute 62 and 2.
fn take_round_robin(lengths: &[Vec<usize>], max_inputs: usize, max_tokens_per_batch: usize) -> Vec<usize> {
    let mut taken = vec![0; lengths.len()];
    let (mut inputs, mut tokens) = (0, 0);
    loop {
        let mut any = false;
        for call in 0..lengths.len() {
            let Some(length) = lengths[call].get(taken[call]) else { continue };
            if inputs == max_inputs || tokens + length > max_tokens_per_batch {
                return taken;
            }
            (inputs, tokens, any) = (inputs + 1, tokens + length, true);
            taken[call] += 1;
        }
        if !any {
            return taken;
        }
    }
}

/// The vector scaled to unit length.
fn normalized(vector: &[f32]) -> Vector {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|value| (f64::from(*value) * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::{normalized, take_round_robin};

    #[test]
    fn a_short_call_is_not_blocked_by_a_long_one() {
        let lengths = [vec![10; 100], vec![10; 2]];
        assert_eq!(take_round_robin(&lengths, 64, 1000), [62, 2]);
        assert_eq!(take_round_robin(&lengths, 64, 55), [3, 2]);
        assert_eq!(take_round_robin(&[vec![10], vec![50]], 64, 55), [1, 0]);
    }

    #[test]
    fn vectors_have_unit_length_or_are_zero() {
        assert_eq!(normalized(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(normalized(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
