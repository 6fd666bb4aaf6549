//! Moves usage events to the store in batches.
//!
//! Events wait in memory, within a bound, while the store is away.

use super::metrics::Metrics;
use domain::usage::Actor;
use domain::{KeyId, Timestamp, UsageEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError, api_keys, usage_events};
use tokio::sync::mpsc;

const MAX_WAITING: usize = 200_000;
const BATCH: usize = 1_000;
/// How long the first event of a batch waits for others.
const GATHER: Duration = Duration::from_millis(200);
const MAX_REFUSALS: u32 = 10;
const RETRY: Duration = Duration::from_millis(500);

/// The way in: it never waits.
#[derive(Clone)]
pub(crate) struct UsageQueue {
    sender: mpsc::Sender<UsageEvent>,
    metrics: Arc<Metrics>,
}

impl UsageQueue {
    pub(crate) fn push(&self, event: UsageEvent) {
        self.metrics.usage_waiting.inc();
        if self.sender.try_send(event).is_err() {
            self.metrics.usage_waiting.dec();
            if self.metrics.usage_lost.inc() == 0 {
                tracing::error!("a usage event found no room and is lost: the store has been away for too long");
            }
        }
    }
}

pub(crate) struct UsageWriter {
    receiver: mpsc::Receiver<UsageEvent>,
    store: Store,
    metrics: Arc<Metrics>,
}

pub(crate) fn channel(store: Store, metrics: Arc<Metrics>) -> (UsageQueue, UsageWriter) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (UsageQueue { sender, metrics: Arc::clone(&metrics) }, UsageWriter { receiver, store, metrics })
}

impl UsageWriter {
    /// Writes until every sender is gone and all is in the store.
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.receiver.recv_many(&mut batch, BATCH).await > 0 {
            tokio::time::sleep(GATHER).await;
            while batch.len() < BATCH
                && let Ok(event) = self.receiver.try_recv()
            {
                batch.push(event);
            }
            self.write_until_done(&batch).await;
            self.metrics.usage_waiting.dec_by(i64::try_from(batch.len()).unwrap_or(i64::MAX));
            batch.clear();
        }
    }

    async fn write_until_done(&self, batch: &[UsageEvent]) {
        let mut tries = 0;
        while let Err(error) = self.write(batch).await {
            tries += 1;
            if tries == 1 {
                tracing::warn!(%error, "usage events wait for the store");
            }
            // A store that is away comes back; one that says no goes on saying it.
            if !error.is_unavailable() && tries >= MAX_REFUSALS {
                self.metrics.usage_lost.inc_by(batch.len() as u64);
                return tracing::error!(events = batch.len(), ?error, "the store refuses usage events; they are lost");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn write(&self, batch: &[UsageEvent]) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        usage_events::insert_batch(&mut tx, batch).await?;
        api_keys::touch_last_used(&mut tx, &last_used(batch)).await?;
        tx.commit().await
    }
}

fn last_used(batch: &[UsageEvent]) -> Vec<(KeyId, Timestamp)> {
    let mut latest: HashMap<&KeyId, Timestamp> = HashMap::new();
    for event in batch {
        if let Actor::Key(key) = &event.caller.actor {
            let at = latest.entry(key).or_insert(event.started_at);
            *at = (*at).max(event.started_at);
        }
    }
    latest.into_iter().map(|(key, at)| (key.clone(), at)).collect()
}
