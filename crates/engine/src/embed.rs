//! Embeddings: inputs of all calls are computed together, batch by batch, in a thread of their own.

use crate::metrics::Metrics;
use crate::model::Model;
use crate::refusal::Refusal;
use anyhow::Context;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tracing::error;

/// Inputs in one batch.
const MOST_INPUTS: usize = 64;
/// Tokens in one batch, or those of one input if that is more: an input is never cut.
const BATCH_TOKENS: usize = 1024;

type Vector = Vec<f32>;

/// The door to the embedding thread.
pub(crate) struct Embedder {
    orders: mpsc::Sender<Order>,
    places: Arc<Semaphore>,
    limit: usize,
}

struct Order {
    inputs: Vec<Vec<LlamaToken>>,
    /// In the order of the inputs, as far as they are done.
    vectors: Vec<Vector>,
    answer: oneshot::Sender<Vec<Vector>>,
    _place: OwnedSemaphorePermit,
}

impl Embedder {
    /// `limit` calls may be computed and waiting at the same time.
    pub(crate) fn start(
        model: &Arc<Model>,
        limit: usize,
        threads: usize,
        metrics: &Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let (orders, taken) = mpsc::channel(limit);
        let (started, starting) = oneshot::channel();
        let (model_there, metrics_there) = (Arc::clone(model), Arc::clone(metrics));
        std::thread::Builder::new().name("embed".to_owned()).spawn(move || {
            match Worker::new(&model_there, threads, taken, metrics_there) {
                Ok(mut worker) => {
                    let _ = started.send(Ok(()));
                    worker.run();
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })?;
        starting.blocking_recv().context("the embedding thread died while it started")??;
        Ok(Self { orders, places: Arc::new(Semaphore::new(limit)), limit })
    }

    /// Whether nothing is computed and nothing waits.
    pub(crate) fn idle(&self) -> bool {
        self.places.available_permits() == self.limit
    }

    /// The vectors of these inputs, of length one each, in their order.
    pub(crate) async fn embed(&self, inputs: Vec<Vec<LlamaToken>>) -> Result<Vec<Vector>, Refusal> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refusal::Busy { limit: self.limit })?;
        let (answer, answered) = oneshot::channel();
        let order = Order { inputs, vectors: Vec::new(), answer, _place: place };
        self.orders.try_send(order).map_err(|_| Refusal::Failed)?;
        answered.await.map_err(|_| Refusal::Failed)
    }
}

struct Worker<'model> {
    context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
    most_tokens: usize,
    waiting: VecDeque<Order>,
    orders: mpsc::Receiver<Order>,
    metrics: Arc<Metrics>,
}

impl<'model> Worker<'model> {
    fn new(
        model: &'model Model,
        threads: usize,
        orders: mpsc::Receiver<Order>,
        metrics: Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let most_tokens = BATCH_TOKENS.max(model.context_length);
        let context = model.embedding_context(threads, MOST_INPUTS, most_tokens)?;
        let batch = LlamaBatch::new(most_tokens, 1);
        let mut worker = Self { context, batch, most_tokens, waiting: VecDeque::new(), orders, metrics };
        worker
            .compute(&[&[model.any_token()]])
            .map_err(|error| anyhow::anyhow!("the first computation failed: {error}"))?;
        Ok(worker)
    }

    fn run(&mut self) {
        while self.take_in() {
            self.waiting.retain(|order| !order.answer.is_closed());
            self.step();
        }
    }

    fn take_in(&mut self) -> bool {
        if self.waiting.is_empty() {
            self.metrics.set_load(0, 0, 0.0);
            let Some(order) = self.orders.blocking_recv() else { return false };
            self.waiting.push_back(order);
        }
        while let Ok(order) = self.orders.try_recv() {
            self.waiting.push_back(order);
        }
        true
    }

    /// One batch: inputs of all calls in turn, so that a long list does not keep a short one waiting.
    fn step(&mut self) {
        let lengths: Vec<Vec<usize>> = self
            .waiting
            .iter()
            .map(|order| order.inputs[order.vectors.len()..].iter().map(Vec::len).collect())
            .collect();
        let taken = take_in_turn(&lengths, MOST_INPUTS, self.most_tokens);
        let inputs = |order: usize| {
            let order = &self.waiting[order];
            &order.inputs[order.vectors.len()..]
        };
        let chosen: Vec<Vec<LlamaToken>> =
            taken.iter().enumerate().flat_map(|(order, count)| inputs(order)[..*count].to_vec()).collect();
        let chosen: Vec<&[LlamaToken]> = chosen.iter().map(Vec::as_slice).collect();
        let tokens: usize = chosen.iter().map(|input| input.len()).sum();
        let running = taken.iter().filter(|count| **count > 0).count();
        self.metrics.set_load(running, taken.len() - running, tokens as f64 / self.most_tokens as f64);
        match self.compute(&chosen) {
            Ok(vectors) => self.hand_out(&taken, vectors),
            Err(problem) => {
                error!("a batch of embeddings failed: {problem}");
                // Dropping the orders tells their callers.
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

    fn hand_out(&mut self, taken: &[usize], vectors: Vec<Vector>) {
        let mut vectors = vectors.into_iter();
        for (order, count) in self.waiting.iter_mut().zip(taken) {
            order.vectors.extend(vectors.by_ref().take(*count));
        }
        let orders = std::mem::take(&mut self.waiting);
        for order in orders {
            if order.vectors.len() == order.inputs.len() {
                let _ = order.answer.send(order.vectors);
            } else {
                self.waiting.push_back(order);
            }
        }
    }
}

/// How many inputs of each call go into the next batch: one of each in turn, until the next one does not fit.
fn take_in_turn(lengths: &[Vec<usize>], most_inputs: usize, most_tokens: usize) -> Vec<usize> {
    let mut taken = vec![0; lengths.len()];
    let (mut inputs, mut tokens) = (0, 0);
    loop {
        let mut any = false;
        for call in 0..lengths.len() {
            let Some(length) = lengths[call].get(taken[call]) else { continue };
            if inputs == most_inputs || tokens + length > most_tokens {
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

/// A vector of the same direction and length one.
fn normalized(vector: &[f32]) -> Vector {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|value| (f64::from(*value) * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::{normalized, take_in_turn};

    #[test]
    fn a_short_list_is_served_beside_a_long_one() {
        let lengths = [vec![10; 100], vec![10; 2]];
        assert_eq!(take_in_turn(&lengths, 64, 1000), [62, 2]);
        assert_eq!(take_in_turn(&lengths, 64, 55), [3, 2]);
        assert_eq!(take_in_turn(&[vec![10], vec![50]], 64, 55), [1, 0]);
    }

    #[test]
    fn vectors_have_length_one_or_are_nothing() {
        assert_eq!(normalized(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(normalized(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
