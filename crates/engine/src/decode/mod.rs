//! Continuous batching: one thread computes for all answers at once, and answers join and leave between its steps.
//!
//! `Decoder` is the door: it counts the places, so that the queue has a bound, and hands orders to the thread. What
//! comes back are events on a channel; when its receiver is dropped, the answer ends within one step.

mod admission;
mod cache;
mod events;
mod generation;
mod logprobs;
mod share;
mod text;
mod worker;

pub(crate) use events::{Event, Finish, Progress, Tokens};
pub(crate) use generation::Order;
pub(crate) use logprobs::{Chances, Logprob};

use crate::metrics::Metrics;
use crate::model::Model;
use crate::refusal::Refusal;
use anyhow::Context;
use generation::Generation;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};
use worker::Worker;

/// How much is computed and kept at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// Answers that are made at the same time.
    pub parallel: usize,
    /// Answers that may wait beside them.
    pub queue: usize,
    /// Tokens that the KV cache holds, for all answers together.
    pub cache_tokens: usize,
    pub threads: usize,
}

/// The door to the decoding thread.
pub(crate) struct Decoder {
    orders: mpsc::Sender<Generation>,
    places: Arc<Semaphore>,
    limit: usize,
    context_length: usize,
}

impl Decoder {
    /// Allocates the KV cache and starts the thread.
    pub(crate) fn start(model: &Arc<Model>, capacity: Capacity, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let limit = capacity.parallel + capacity.queue;
        let (orders, taken) = mpsc::channel(limit);
        let (started, starting) = oneshot::channel();
        let (model_there, metrics_there) = (Arc::clone(model), Arc::clone(metrics));
        std::thread::Builder::new().name("decode".to_owned()).spawn(move || {
            let worker = Worker::new(&model_there, capacity, taken, metrics_there);
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
        starting.blocking_recv().context("the decoding thread died while it started")??;
        let places = Arc::new(Semaphore::new(limit));
        Ok(Self { orders, places, limit, context_length: model.context_length })
    }

    /// The most choices that one call may ask for.
    pub(crate) fn most_choices(&self) -> usize {
        self.limit
    }

    /// Whether nothing is computed and nothing waits.
    pub(crate) fn idle(&self) -> bool {
        self.places.available_permits() == self.limit
    }

    /// Queues one answer for each order; refused as a whole when there are not enough places.
    pub(crate) fn submit(&self, orders: Vec<Order>) -> Result<mpsc::Receiver<Event>, Refusal> {
        let busy = Refusal::Busy { limit: self.limit };
        let wanted = u32::try_from(orders.len()).map_err(|_| busy.clone())?;
        let mut places = Arc::clone(&self.places).try_acquire_many_owned(wanted).map_err(|_| busy.clone())?;
        // An answer has fewer events than the context has tokens, and one more that ends it: the channel never fills.
        let (events, received) = mpsc::channel((self.context_length + 1) * orders.len());
        for (choice, order) in orders.into_iter().enumerate() {
            let place = places.split(1).ok_or_else(|| busy.clone())?;
            let generation = Generation::new(choice, order, events.clone(), place);
            self.orders.try_send(generation).map_err(|_| Refusal::Failed)?;
        }
        Ok(received)
    }
}
