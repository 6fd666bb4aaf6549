//! Ends lines: the result of a line and its usage event are written by one transaction.

use super::{BatchStorage, content::Content};
use crate::usage::record_events;
use domain::batches::{LineOutcome, LineUsage};
use domain::{BatchId, NanoUsd, RunId, Timestamp, UsageEvent};
use store::batches::{self, EndedLine};
use store::content_keys::Scope;
use store::usage::UsageWriter;
use store::{Store, StoreError};

/// A line whose response is known, or that has none.
#[derive(Debug, Clone)]
pub struct FinishedLine {
    pub batch: BatchId,
    pub number: u64,
    pub custom_id: String,
    pub outcome: LineOutcome,
    /// Of the response; 0 if there is none.
    pub status: u16,
    /// The body of the response.
    pub body: Option<Vec<u8>>,
    pub reasoning_tokens: u64,
    /// `None` if no engine was called.
    pub event: Option<UsageEvent>,
}

/// Writes results of this run.
pub struct LineWriter {
    store: Store,
    content: Content,
    usage: UsageWriter,
    run: RunId,
}

impl LineWriter {
    pub fn new(storage: &BatchStorage, run: RunId) -> Self {
        Self { store: storage.store.clone(), content: storage.content.clone(), usage: UsageWriter::default(), run }
    }

    /// Ends lines, all or none of them. Idempotent: a line that has ended keeps its result, and leaves no other event.
    pub async fn end(&mut self, lines: &[FinishedLine]) -> Result<(), StoreError> {
        let ended: Vec<EndedLine> = lines.iter().map(|line| self.seal(line)).collect();
        let mut tx = self.store.begin().await?;
        let is_first = batches::end_lines(&mut tx, &ended).await?;
        let events: Vec<UsageEvent> = lines
            .iter()
            .zip(is_first)
            .filter_map(|(line, is_first)| if is_first { line.event.clone() } else { None })
            .collect();
        if !events.is_empty() {
            record_events(&mut tx, &mut self.usage, self.run.as_str(), &events).await?;
        }
        tx.commit().await
    }

    fn seal(&self, line: &FinishedLine) -> EndedLine {
        let tokens = line.event.as_ref().map(|event| event.tokens).unwrap_or_default();
        let usage = LineUsage {
            input: tokens.prompt,
            cached: tokens.cached,
            output: tokens.completion,
            reasoning: line.reasoning_tokens.min(tokens.completion),
        };
        let number = line.number.to_string();
        let scope = Scope::BatchResult { batch: &line.batch, line: &number };
        EndedLine {
            batch: line.batch.clone(),
            number: line.number,
            custom_id: line.custom_id.clone(),
            outcome: line.outcome,
            status: line.status,
            content: line.body.clone().map(|body| self.content.seal(scope, body)),
            usage,
            cost: line.event.as_ref().map_or(NanoUsd::ZERO, |event| event.cost),
        }
    }

    /// Lets a line wait for its next attempt.
    pub async fn defer(&self, line: (&BatchId, u64), available_at: Timestamp, code: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        batches::defer(&mut tx, line, &self.run, available_at, code).await?;
        tx.commit().await
    }
}
