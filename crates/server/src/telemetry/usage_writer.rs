//! Moves usage events from the journal to the store, in batches, each exactly once.

use super::metrics::SetAside;
use domain::usage::Actor;
use domain::{KeyId, RunId, Timestamp, UsageEvent};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::journal::Batch;
use store::{Engine, JournalReader, Store, StoreError, api_keys, quota, usage_events};
use tokio::sync::watch;

/// How long events gather; for longer where so many come, since what they add up to is written once for all of them.
const GATHER: Duration = Duration::from_millis(200);
const GATHER_MANY: Duration = Duration::from_secs(1);
const MANY: usize = 2_000;
const MAX_REFUSALS: u32 = 10;
const RETRY: Duration = Duration::from_millis(500);

pub(crate) struct UsageWriter {
    pub reader: JournalReader,
    pub store: Store,
    pub set_aside: Arc<SetAside>,
}

impl UsageWriter {
    /// Writes until nothing more is appended, and all is in the store. Stopped earlier, the rest waits in the journal.
    pub(crate) async fn run(mut self, run: RunId, mut no_more: watch::Receiver<bool>) {
        let most = most_at_once(self.store.engine());
        loop {
            let is_last_look = *no_more.borrow_and_update();
            let mut gather = GATHER;
            match self.reader.next(most) {
                Ok(Some(batch)) => {
                    self.write_until_done(&batch).await;
                    self.reader.stored(&batch);
                    if batch.events.len() >= most || batch.is_followed() || is_last_look {
                        continue;
                    }
                    if batch.events.len() >= MANY {
                        gather = GATHER_MANY;
                    }
                }
                Ok(None) if is_last_look => break,
                Ok(None) => {}
                Err(error) => tracing::error!(%error, "the journal cannot be read"),
            }
            let _ = tokio::time::timeout(gather, no_more.changed()).await;
        }
        // The file of a run whose leases could not be ended stays, and the next start ends them.
        match quota::end_run(&self.store, run.as_str()).await {
            Ok(()) => self.reader.close(),
            Err(error) => tracing::warn!(%error, "the leases of this run stay reserved until the next start"),
        }
    }

    async fn write_until_done(&self, batch: &Batch) {
        self.write_events(batch).await;
        while batch.ends_run
            && let Err(error) = quota::end_run(&self.store, batch.run.as_str()).await
        {
            tracing::debug!(%error, "the leases of an earlier run are not ended yet");
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn write_events(&self, batch: &Batch) {
        let mut tries = 0;
        while let Err(error) = self.write(batch, &batch.events).await {
            tries += 1;
            if tries == 1 {
                tracing::warn!(%error, "usage events wait for the store");
            }
            // A store that is away comes back; one that says no goes on saying it.
            if !error.is_unavailable() && tries >= MAX_REFUSALS {
                return self.write_one_by_one(batch).await;
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// What the store refuses is set aside, so that the rest can pass.
    async fn write_one_by_one(&self, batch: &Batch) {
        for event in &batch.events {
            while let Err(error) = self.write(batch, std::slice::from_ref(event)).await {
                if !error.is_unavailable() {
                    tracing::error!(request = %event.request, ?error, "the store refuses a usage event; it is set aside");
                    self.set_aside.inc();
                    self.reader.set_aside(event);
                    break;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    async fn write(&self, batch: &Batch, events: &[UsageEvent]) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        let inserted = usage_events::insert_batch(&mut tx, events).await?;
        quota::count(&mut tx, batch.run.as_str(), &inserted).await?;
        api_keys::touch_last_used(&mut tx, &last_used(events)).await?;
        tx.commit().await
    }
}

/// Sums and series have a row for each key and model of a batch, so events in a large one cost less; but for as long as
/// it takes, other nodes on the same PostgreSQL wait for those rows.
const fn most_at_once(engine: Engine) -> usize {
    match engine {
        Engine::Sqlite => 20_000,
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
