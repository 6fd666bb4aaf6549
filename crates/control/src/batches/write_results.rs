//! Ends lines: the result of a line and its usage event are written by one transaction.

use super::{BatchStorage, content::Content};
use crate::usage::record_events;
use bytes::Bytes;
use domain::batches::{LineOutcome, LineUsage};
use domain::{BatchId, NanoUsd, RunId, UsageEvent};
use store::batches::{self, Deferral, EndedLine};
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
    /// The status of the response; 0 if there is none.
    pub status: u16,
    /// The body of the response.
    pub body: Option<Bytes>,
    pub reasoning_tokens: u64,
    /// `None` if no engine was called.
    pub event: Option<UsageEvent>,
}

/// A line that runs again later.
#[derive(Debug, Clone)]
pub struct DeferredLine {
    pub batch: BatchId,
    pub number: u64,
    pub deferral: Deferral,
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
            content: line.body.as_ref().map(|body| self.content.seal(scope, body.to_vec())),
            usage,
            cost: line.event.as_ref().map_or(NanoUsd::ZERO, |event| event.cost),
        }
    }

    /// Lets lines wait for their next attempts.
    pub async fn defer(&self, lines: &[DeferredLine]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        for DeferredLine { batch, number, deferral } in lines {
            batches::defer(&mut tx, (batch, *number), &self.run, deferral).await?;
        }
        tx.commit().await
    }
}
