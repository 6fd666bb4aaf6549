//! Continuous batching: one thread computes all generations together; they join and leave between steps.
//!
//! `Decoder` is the handle of that thread. It bounds the queue with slots and submits requests; results arrive as events
//! on a channel. When the receiver is dropped, the generation ends within one step.

mod admission;
mod cache;
mod events;
mod generation;
mod logprobs;
mod share;
mod text;
mod worker;

pub(crate) use cache::Salt;
pub(crate) use events::{Event, FinishReason, Progress, Tokens};
pub(crate) use generation::GenerationRequest;
pub(crate) use logprobs::{Logprob, TokenLogprob};

use crate::error::RequestError;
use crate::metrics::Metrics;
use crate::model::{Capacity, Model};
use anyhow::Context;
use generation::Generation;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};
use worker::Worker;

/// Handle of the decoding thread.
pub(crate) struct Decoder {
    generations: mpsc::Sender<Generation>,
    slots: Arc<Semaphore>,
    limit: usize,
    context_length: usize,
}

impl Decoder {
    /// Allocates the KV cache and starts the thread.
    pub(crate) fn start(model: &Arc<Model>, capacity: Capacity, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let limit = capacity.parallel + capacity.queue;
        let (generations, receiver) = mpsc::channel(limit);
        let (started, starting) = oneshot::channel();
        let (thread_model, thread_metrics) = (Arc::clone(model), Arc::clone(metrics));
        std::thread::Builder::new().name("decode".to_owned()).spawn(move || {
            let worker = Worker::new(&thread_model, capacity, receiver, thread_metrics);
            match worker {
                Ok(mut worker) => {
                    let _ = started.send(Ok(()));
                    worker.run();
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })?;
        starting.blocking_recv().context("the decoding thread panicked during startup")??;
        let slots = Arc::new(Semaphore::new(limit));
        Ok(Self { generations, slots, limit, context_length: model.context_length })
    }

    /// Maximum number of choices of a call.
    pub(crate) fn max_choices(&self) -> usize {
        self.limit
    }

    /// Whether no generation is running or waiting.
    pub(crate) fn idle(&self) -> bool {
        self.slots.available_permits() == self.limit
    }

    /// Queues one generation per request; rejects all of them if there are not enough slots.
    pub(crate) fn submit(&self, requests: Vec<GenerationRequest>) -> Result<mpsc::Receiver<Event>, RequestError> {
        let busy = RequestError::Busy { limit: self.limit };
        let needed = u32::try_from(requests.len()).map_err(|_| busy.clone())?;
        let mut slots = Arc::clone(&self.slots).try_acquire_many_owned(needed).map_err(|_| busy.clone())?;
        // A generation has at most one event per context token, one for its prompt and one for its end, so the channel never
        // fills up.
        let (events, receiver) = mpsc::channel((self.context_length + 2) * requests.len());
        for (choice, request) in requests.into_iter().enumerate() {
            let slot = slots.split(1).ok_or_else(|| busy.clone())?;
            let generation = Generation::new(choice, request, events.clone(), slot);
            self.generations.try_send(generation).map_err(|_| RequestError::Failed)?;
        }
        Ok(receiver)
    }
}
