//! The lines of batches, as nodes take and end them.

use super::{BatchError, BatchStorage};
use crate::command_error::CommandError;
use domain::batches::{Batch, LineOutcome};
use domain::{BatchId, RunId, Timestamp};
use store::StoreError;
use store::batches::{self, ClaimedLine, OpenBatch};
use store::content_keys::Scope;

/// A line that this run has taken.
#[derive(Debug, Clone)]
pub struct RunnableLine {
    pub number: u64,
    pub custom_id: String,
    /// The body of the call.
    pub body: Vec<u8>,
    /// Attempts before this one.
    pub attempts: u32,
}

impl BatchStorage {
    /// The batches that have work to do, without metadata and problems.
    pub async fn open(&self, now: Timestamp) -> Result<Vec<OpenBatch>, StoreError> {
        batches::open(&self.store, now).await
    }

    /// Takes up to `limit` lines of a batch until `until`, without those that cannot be opened, which are tried again then.
    pub async fn claim(
        &self,
        batch: &BatchId,
        run: &RunId,
        (now, until): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<RunnableLine>, BatchError> {
        let mut tx = self.store.begin().await?;
        let claimed = batches::claim(&mut tx, batch, run, (now, until), limit).await?;
        tx.commit().await?;
        let storage = self.clone();
        let id = batch.clone();
        let open = move || {
            let (mut opened, mut unreadable) = (Vec::with_capacity(claimed.len()), Vec::new());
            for line in claimed {
                match storage.open_line(line) {
                    Ok(line) => opened.push(line),
                    Err(error) => unreadable.push(error),
                }
            }
            if let Some(error) = unreadable.first() {
                tracing::warn!(?error, batch.id = %id, "{} lines of {id} cannot be read; they wait", unreadable.len());
            }
            opened
        };
        Ok(self.threads.run(open).await)
    }

    fn open_line(&self, line: ClaimedLine) -> Result<RunnableLine, CommandError> {
        let ClaimedLine { batch, number, custom_id, content, attempts } = line;
        let scope = Scope::BatchLine { batch: &batch, line: &number.to_string() };
        let body = self.content.open(scope, content)?;
        Ok(RunnableLine { number, custom_id, body, attempts })
    }

    /// Ends all lines of a batch that no node runs.
    pub async fn end_waiting(&self, batch: &Batch, outcome: LineOutcome, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let mut tx = self.store.begin().await?;
            let is_left = batches::end_waiting(&mut tx, &batch.id, outcome, now).await?;
            tx.commit().await?;
            if !is_left {
                return Ok(());
            }
        }
    }

    /// Keeps lines of a run until `until`.
    pub async fn renew(
        &self,
        run: &RunId,
        batch: &BatchId,
        numbers: &[u64],
        until: Timestamp,
    ) -> Result<(), StoreError> {
        batches::renew(&self.store, run, batch, numbers, until).await
    }

    /// Gives the lines of a run back, because it ends.
    pub async fn release(&self, run: &RunId) -> Result<(), StoreError> {
        batches::release(&self.store, run).await
    }
}
