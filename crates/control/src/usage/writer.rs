//! Moves usage events from the journal to the store, in batches, each exactly once.

use background::ticks;
use domain::usage::Actor;
use domain::{KeyId, RunId, Timestamp, UsageEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::journal::Batch;
use store::usage::UsageWriter;
use store::{Engine, JournalReader, Store, StoreError, Tx, api_keys, budgets, leases, quota};
use tokio::sync::watch;

/// Pause between batches, and while there are no events.
const PAUSE: Duration = Duration::from_millis(200);
const IDLE_PAUSE: Duration = Duration::from_millis(500);
/// Rows of sums and series are written once per batch, so the pause is some times as long as the batch took: the more keys,
/// models and end users call, the less often their rows are written.
const PAUSE_FACTOR: u32 = 12;
const MAX_PAUSE: Duration = Duration::from_secs(5);
const MAX_ATTEMPTS: u32 = 10;
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The number of events that the store rejected permanently.
#[derive(Debug, Default)]
pub struct QuarantinedEvents(AtomicU64);

impl QuarantinedEvents {
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The loop that empties the journal.
pub struct JournalDrain {
    reader: JournalReader,
    store: Store,
    writer: UsageWriter,
    quarantined: Arc<QuarantinedEvents>,
}

impl JournalDrain {
    pub fn new(reader: JournalReader, store: Store, quarantined: Arc<QuarantinedEvents>) -> Self {
        Self { reader, store, writer: UsageWriter::default(), quarantined }
    }

    /// Runs until `no_more` says that nothing more is appended and everything is stored. If cancelled earlier, the rest
    /// stays in the journal for the next start.
    pub async fn run(mut self, run: RunId, mut no_more: watch::Receiver<bool>) {
        let max = max_batch(self.store.engine());
        loop {
            let is_final = *no_more.borrow_and_update();
            let mut pause = PAUSE;
            match self.reader.next(max) {
                Ok(Some(batch)) => {
                    let began = Instant::now();
                    self.write_until_done(&batch).await;
                    self.reader.stored(&batch);
                    if batch.events.len() >= max || batch.is_followed() || is_final {
                        continue;
                    }
                    pause = pause_after(began.elapsed());
                }
                Ok(None) if is_final => break,
                Ok(None) => pause = IDLE_PAUSE,
                Err(error) => tracing::error!(%error, "cannot read the journal"),
            }
            let _ = tokio::time::timeout_at(ticks::after(pause), no_more.changed()).await;
        }
        // If the leases of the run cannot be released, its file stays and the next start releases them.
        match leases::end_run(&self.store, run.as_str()).await {
            Ok(()) => self.reader.close(),
            Err(error) => tracing::warn!(%error, "the leases of this run stay reserved until the next start"),
        }
    }

    async fn write_until_done(&mut self, batch: &Batch) {
        self.write_events(batch).await;
        while batch.ends_run
            && let Err(error) = leases::end_run(&self.store, batch.run.as_str()).await
        {
            tracing::debug!(%error, "cannot release the leases of an earlier run yet");
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    async fn write_events(&mut self, batch: &Batch) {
        let mut attempts = 0;
        while let Err(error) = self.write(batch, &batch.events).await {
            attempts += 1;
            if attempts == 1 {
                tracing::warn!(%error, "usage events wait for the store");
            }
            // A rejected batch is not transient: after some attempts, find the events that the store rejects.
            if !error.is_unavailable() && attempts >= MAX_ATTEMPTS {
                return self.write_in_halves(batch).await;
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Quarantines the events that the store rejects, so that the others are stored. What is rejected is divided until it is one
    /// event.
    async fn write_in_halves(&mut self, batch: &Batch) {
        let mut parts = vec![&batch.events[..]];
        while let Some(part) = parts.pop() {
            let Err(error) = self.write(batch, part).await else { continue };
            match part {
                _ if error.is_unavailable() => {
                    parts.push(part);
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                [event] => {
                    tracing::error!(request = %event.request, ?error, "the store rejected a usage event; quarantined it");
                    self.quarantined.0.fetch_add(1, Ordering::Relaxed);
                    self.reader.quarantine(event);
                }
                _ => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
    }

    async fn write(&mut self, batch: &Batch, events: &[UsageEvent]) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        record_events(&mut tx, &mut self.writer, batch.run.as_str(), events).await?;
        tx.commit().await
    }
}

/// The pause after a batch that took this long.
fn pause_after(batch: Duration) -> Duration {
    (batch * PAUSE_FACTOR).clamp(PAUSE, MAX_PAUSE)
}

/// Writes the events of a run, and what quotas and budgets were used by those that are new.
pub(crate) async fn record_events(
    tx: &mut Tx,
    writer: &mut UsageWriter,
    run: &str,
    events: &[UsageEvent],
) -> Result<(), StoreError> {
    let inserted = writer.write(tx, events).await?;
    quota::count(tx, run, &inserted).await?;
    api_keys::touch_last_used(tx, &last_used(events)).await?;
    budgets::count(tx, run, &inserted).await
}

/// Sums and series have rows per key and model of a batch, so large batches cost less per event: on SQLite, as many as memory
/// holds when a node writes every few seconds. On PostgreSQL, other nodes wait for these rows as long as a batch takes.
const fn max_batch(engine: Engine) -> usize {
    match engine {
        Engine::Sqlite => 128 << 10,
        Engine::Postgres => 1_000,
    }
}

fn last_used(events: &[UsageEvent]) -> Vec<(KeyId, Timestamp)> {
    let mut latest: HashMap<&KeyId, Timestamp> = HashMap::new();
    for event in events {
        if let Actor::Key(key) = &event.caller.actor {
            let at = latest.entry(key).or_insert(event.started_at);
            *at = (*at).max(event.started_at);
        }
    }
    latest.into_iter().map(|(key, at)| (key.clone(), at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_the_time_of_a_batch() {
        for (batch, pause) in [(0, 200), (16, 200), (50, 600), (400, 4_800), (2_000, 5_000)] {
            assert_eq!(pause_after(Duration::from_millis(batch)), Duration::from_millis(pause), "{batch}");
        }
    }
}
