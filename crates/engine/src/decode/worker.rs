//! The decoding thread: take in, let go, admit, plan, compute; again and again. `admission.rs` has who gets room.

use super::Capacity;
use super::cache::{self, Sequence};
use super::generation::Generation;
use super::share::{PREFILL_ALONE, PREFILL_BESIDE_OTHERS, share};
use crate::metrics::Metrics;
use crate::model::Model;
use anyhow::Context;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::{self, error::TryRecvError};
use tracing::{error, warn};

/// An answer with a sequence of its own.
pub(super) struct Running {
    pub(super) generation: Generation,
    pub(super) sequence: usize,
}

/// What one answer has in the next batch.
struct Part {
    running: usize,
    tokens: usize,
    /// The row of its logits, when its last token is in the batch.
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
    orders: mpsc::Receiver<Generation>,
    pub(super) metrics: Arc<Metrics>,
    steps: u64,
}

impl<'model> Worker<'model> {
    pub(super) fn new(
        model: &'model Model,
        capacity: Capacity,
        orders: mpsc::Receiver<Generation>,
        metrics: Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let most_tokens = PREFILL_ALONE.max(capacity.parallel + PREFILL_BESIDE_OTHERS);
        let context = model.chat_context(capacity, most_tokens)?;
        let cells = context.n_ctx() as usize;
        let mut worker = Self {
            model,
            context,
            batch: LlamaBatch::new(most_tokens, 1),
            sequences: (0..capacity.parallel).map(|_| Sequence::default()).collect(),
            cells,
            running: Vec::new(),
            waiting: VecDeque::new(),
            orders,
            metrics,
            steps: 0,
        };
        worker.warm_up()?;
        Ok(worker)
    }

    /// Computes one token and forgets it: the weights are in memory when the first call comes.
    fn warm_up(&mut self) -> anyhow::Result<()> {
        self.batch.clear();
        self.batch.add(self.model.any_token(), 0, &[0], true)?;
        self.context.decode(&mut self.batch).context("the first computation failed")?;
        self.context.clear_kv_cache();
        Ok(())
    }

    /// Works until nobody can order any more.
    pub(super) fn run(&mut self) {
        while self.take_in() {
            self.let_go();
            self.admit();
            self.tell_load();
            if !self.running.is_empty() {
                self.step();
                self.tell_load();
            }
        }
    }

    /// Takes the orders that have come; waits for one when there is nothing to do. False when none can come.
    fn take_in(&mut self) -> bool {
        if self.running.is_empty() && self.waiting.is_empty() {
            let Some(generation) = self.orders.blocking_recv() else { return false };
            self.waiting.push_back(generation);
        }
        loop {
            match self.orders.try_recv() {
                Ok(generation) => self.waiting.push_back(generation),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return !self.running.is_empty() || !self.waiting.is_empty(),
            }
        }
    }

    /// Ends the answers that nobody waits for.
    fn let_go(&mut self) {
        self.waiting.retain(|generation| !generation.abandoned());
        for at in (0..self.running.len()).rev() {
            if self.running[at].generation.abandoned() {
                self.remove(at);
            }
        }
    }

    /// Tokens of an answer that are not in the cache yet; one while it is being written.
    pub(super) fn pending(&self, running: &Running) -> usize {
        running.generation.tokens.len() - self.sequences[running.sequence].tokens.len()
    }

    fn step(&mut self) {
        let mut parts = self.plan();
        self.fill_batch(&mut parts);
        self.steps += 1;
        self.metrics.step();
        if let Err(problem) = self.context.decode(&mut self.batch) {
            return self.give_way(&problem.to_string());
        }
        for part in &parts {
            let running = &self.running[part.running];
            let cached = self.sequences[running.sequence].tokens.len();
            let computed = &running.generation.tokens[cached..cached + part.tokens];
            self.sequences[running.sequence].tokens.extend_from_slice(computed);
        }
        let vocabulary = self.model.vocabulary();
        // From the back, so that removing one leaves the others where they are.
        for part in parts.iter().rev() {
            let Some(row) = part.row else { continue };
            let generation = &mut self.running[part.running].generation;
            if let Some(reason) = generation.advance(&self.context, row, &vocabulary, &self.metrics) {
                let ended = self.remove(part.running);
                // Whoever has the whole answer is not counted any more.
                self.tell_load();
                ended.finish(reason);
            }
        }
    }

    /// Who computes how much: one token for each answer being written, the rest of the step for prompts.
    fn plan(&mut self) -> Vec<Part> {
        loop {
            let needs: Vec<usize> = self.running.iter().map(|running| self.pending(running)).collect();
            let writing = needs.iter().filter(|need| **need == 1).count();
            let budget = if writing == 0 { PREFILL_ALONE } else { PREFILL_BESIDE_OTHERS };
            let prompts: Vec<usize> = needs.iter().map(|need| if *need == 1 { 0 } else { *need }).collect();
            let parts = share(budget, &prompts);
            let parts: Vec<usize> =
                parts.iter().zip(&needs).map(|(part, need)| if *need == 1 { 1 } else { *part }).collect();
            if self.make_room(parts.iter().sum()) {
                let parts = parts.into_iter().enumerate().filter(|(_, tokens)| *tokens > 0);
                return parts.map(|(running, tokens)| Part { running, tokens, row: None }).collect();
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
            for at in cached..cached + part.tokens {
                let last = at + 1 == tokens.len();
                if last {
                    part.row = Some(self.batch.n_tokens());
                }
                let added = self.batch.add(tokens[at], at as i32, &[running.sequence as i32], last);
                debug_assert!(added.is_ok(), "the batch is as large as the largest plan");
            }
        }
    }

    /// After a step that failed: with one answer less it may work; the last one is given up.
    fn give_way(&mut self, problem: &str) {
        // A batch may have been computed in part; what the cache has beyond our book is removed.
        for at in 0..self.sequences.len() {
            let known = self.sequences[at].tokens.len();
            self.cut(at, known);
        }
        if self.running.len() > 1 {
            warn!("a step of {} answers failed ({problem}); the youngest one waits", self.running.len());
            return self.displace_youngest();
        }
        error!("a step failed: {problem}");
        if !self.running.is_empty() {
            self.remove(0).fail();
        }
    }

    /// Takes an answer out; its sequence is idle from now on.
    pub(super) fn remove(&mut self, at: usize) -> Generation {
        let Running { generation, sequence } = self.running.remove(at);
        self.sequences[sequence].busy = false;
        self.sequences[sequence].idle_since = self.steps;
        generation
    }

    fn tell_load(&self) {
        let usage = cache::cells_in_use(&self.sequences) as f64 / self.cells as f64;
        self.metrics.set_load(self.running.len(), self.waiting.len(), usage);
    }
}
