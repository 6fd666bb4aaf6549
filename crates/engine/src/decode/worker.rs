//! The decoding thread. Each iteration receives requests, drops abandoned ones, admits, plans and computes one step.

use super::cache::{self, Sequence};
use super::generation::Generation;
use super::share::{PREFILL_ALONE, PREFILL_SHARED, PromptNeed, share_among_prompts};
use crate::metrics::Metrics;
use crate::model::{Capacity, Model};
use anyhow::Context;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::{self, error::TryRecvError};
use tracing::{error, warn};

/// A generation with an assigned sequence.
pub(super) struct Running {
    pub(super) generation: Generation,
    pub(super) sequence: usize,
}

/// Share of one generation in the next batch.
struct Part {
    running: usize,
    tokens: usize,
    /// The row of its first token.
    first_row: i32,
    /// Row of its logits, if its last token is in the batch.
    row: Option<i32>,
}

pub(super) struct Worker<'model> {
    model: &'model Model,
    pub(super) context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) cells: usize,
    /// In the order in which they were admitted.
    pub(super) running: Vec<Running>,
    pub(super) waiting: VecDeque<Generation>,
    incoming: mpsc::Receiver<Generation>,
    pub(super) metrics: Arc<Metrics>,
    steps: u64,
}

impl<'model> Worker<'model> {
    pub(super) fn new(
        model: &'model Model,
        capacity: Capacity,
        incoming: mpsc::Receiver<Generation>,
        metrics: Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let max_tokens_per_batch = PREFILL_ALONE.max(capacity.parallel + PREFILL_SHARED);
        let context = model.chat_context(capacity, max_tokens_per_batch)?;
        let cells = context.n_ctx() as usize;
        let mut worker = Self {
            model,
            context,
            batch: LlamaBatch::new(max_tokens_per_batch, 1),
            sequences: (0..capacity.parallel).map(|_| Sequence::default()).collect(),
            cells,
            running: Vec::new(),
            waiting: VecDeque::new(),
            incoming,
            metrics,
            steps: 0,
        };
        worker.warm_up()?;
        Ok(worker)
    }

    /// Computes one token and discards it, so that the weights are in memory for the first call.
    fn warm_up(&mut self) -> anyhow::Result<()> {
        self.batch.clear();
        self.batch.add(self.model.any_token(), 0, &[0], true)?;
        self.context.decode(&mut self.batch).context("the first computation failed")?;
        self.context.clear_kv_cache();
        Ok(())
    }

    /// Runs until the decoder is dropped.
    pub(super) fn run(&mut self) {
        while self.receive() {
            self.drop_abandoned();
            self.admit();
            self.report_load();
            if !self.running.is_empty() {
                self.step();
                self.report_load();
            }
        }
    }

    /// Receives new generations, blocking while idle. Returns false once the decoder is dropped and no work is left.
    fn receive(&mut self) -> bool {
        if self.running.is_empty() && self.waiting.is_empty() {
            let Some(generation) = self.incoming.blocking_recv() else { return false };
            self.waiting.push_back(generation);
        }
        loop {
            match self.incoming.try_recv() {
                Ok(generation) => self.waiting.push_back(generation),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return !self.running.is_empty() || !self.waiting.is_empty(),
            }
        }
    }

    /// Removes generations whose client has disconnected.
    fn drop_abandoned(&mut self) {
        self.waiting.retain(|generation| !generation.abandoned());
        for at in (0..self.running.len()).rev() {
            if self.running[at].generation.abandoned() {
                self.remove(at);
            }
        }
    }

    /// Tokens that are not in the cache yet; 1 once the prompt has been computed.
    pub(super) fn pending(&self, running: &Running) -> usize {
        running.generation.tokens.len() - self.sequences[running.sequence].tokens.len()
    }

    fn step(&mut self) {
        let mut parts = self.plan();
        self.fill_batch(&mut parts);
        self.steps += 1;
        self.metrics.step();
        if let Err(error) = self.context.decode(&mut self.batch) {
            return self.recover(&error.to_string());
        }
        for part in &parts {
            let running = &self.running[part.running];
            let cached = self.sequences[running.sequence].tokens.len();
            let computed = &running.generation.tokens[cached..cached + part.tokens];
            self.sequences[running.sequence].tokens.extend_from_slice(computed);
        }
        self.score_prompts(&parts);
        let vocabulary = self.model.vocabulary();
        // In reverse, so that removals do not change the indices of the others.
        for part in parts.iter().rev() {
            let Some(row) = part.row else { continue };
            let generation = &mut self.running[part.running].generation;
            if let Some(reason) = generation.advance(&self.context, row, &vocabulary, &self.metrics) {
                let ended = self.remove(part.running);
                // A client that has its complete response must not be counted anymore.
                self.report_load();
                ended.finish(reason);
            }
        }
    }

    /// Scores the prompts whose tokens were just computed.
    fn score_prompts(&mut self, parts: &[Part]) {
        for part in parts {
            let running = &mut self.running[part.running];
            if running.generation.is_scoring() {
                let computed = self.sequences[running.sequence].tokens.len();
                for (at, row) in (computed - part.tokens..computed).zip(part.first_row..) {
                    running.generation.score(&self.context, at, row);
                }
            }
        }
    }

    /// Plans a step: one token per running generation, and the rest of the budget for prompts.
    fn plan(&mut self) -> Vec<Part> {
        loop {
            let needs: Vec<usize> = self.running.iter().map(|running| self.pending(running)).collect();
            let decoding = needs.iter().filter(|need| **need == 1).count();
            let budget = if decoding == 0 { PREFILL_ALONE } else { PREFILL_SHARED };
            let prompt = |(running, need): (&Running, &usize)| PromptNeed {
                tokens: if *need == 1 { 0 } else { *need },
                is_scored: running.generation.is_scoring(),
            };
            let prompts: Vec<PromptNeed> = self.running.iter().zip(&needs).map(prompt).collect();
            let parts = share_among_prompts(budget, &prompts);
            let parts: Vec<usize> =
                parts.iter().zip(&needs).map(|(part, need)| if *need == 1 { 1 } else { *part }).collect();
            if self.make_room(parts.iter().sum()) {
                let parts = parts.into_iter().enumerate().filter(|(_, tokens)| *tokens > 0);
                return parts.map(|(running, tokens)| Part { running, tokens, first_row: 0, row: None }).collect();
            }
            self.displace_youngest();
        }
    }

    fn fill_batch(&mut self, parts: &mut [Part]) {
        self.batch.clear();
        for part in parts {
            let running = &self.running[part.running];
            let cached = self.sequences[running.sequence].tokens.len();
            let tokens = &running.generation.tokens;
            let is_scoring = running.generation.is_scoring();
            part.first_row = self.batch.n_tokens();
            for at in cached..cached + part.tokens {
                let last = at + 1 == tokens.len();
                if last {
                    part.row = Some(self.batch.n_tokens());
                }
                let added = self.batch.add(tokens[at], at as i32, &[running.sequence as i32], last || is_scoring);
                debug_assert!(added.is_ok(), "the batch fits the largest plan");
            }
        }
    }

    /// Recovers from a failed step by displacing a generation; a single remaining one fails.
    fn recover(&mut self, reason: &str) {
        // The batch may have been computed partially, so tokens beyond our bookkeeping are removed.
        for at in 0..self.sequences.len() {
            let known = self.sequences[at].tokens.len();
            self.truncate(at, known);
        }
        if self.running.len() > 1 {
            warn!("a step of {} generations failed ({reason}); the youngest one is requeued", self.running.len());
            return self.displace_youngest();
        }
        error!("a step failed: {reason}");
        if !self.running.is_empty() {
            self.remove(0).fail();
        }
    }

    /// Removes a generation; its sequence becomes idle.
    pub(super) fn remove(&mut self, at: usize) -> Generation {
        let Running { generation, sequence } = self.running.remove(at);
        self.sequences[sequence].busy = false;
        self.sequences[sequence].idle_since = self.steps;
        generation
    }

    fn report_load(&self) {
        let usage = cache::cells_in_use(&self.sequences) as f64 / self.cells as f64;
        self.metrics.set_load(self.running.len(), self.waiting.len(), usage);
    }
}
