//! The decoding thread: take in, let go, admit, plan, compute; again and again.

use super::Capacity;
use super::cache::{self, Place, Sequence};
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

/// Cells that must be free beside a prompt before it starts, so that it is not displaced at once.
const ROOM_TO_GROW: usize = 64;

/// An answer with a sequence of its own.
struct Running {
    generation: Generation,
    sequence: usize,
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
    context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
    sequences: Vec<Sequence>,
    cells: usize,
    /// In the order in which they were admitted.
    running: Vec<Running>,
    waiting: VecDeque<Generation>,
    orders: mpsc::Receiver<Generation>,
    metrics: Arc<Metrics>,
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

    /// Gives waiting answers a sequence, as long as there are sequences and cells.
    fn admit(&mut self) {
        while let Some(at) = (0..self.waiting.len()).find(|&at| !self.shares_a_prompt_in_the_making(&self.waiting[at]))
        {
            let tokens = &self.waiting[at].tokens;
            let enough_room = cache::cells_in_use(&self.sequences) + tokens.len() + ROOM_TO_GROW <= self.cells;
            if !enough_room && !self.running.is_empty() {
                return;
            }
            let Some(place) = cache::place(&self.sequences, tokens) else { return };
            let Some(mut generation) = self.waiting.remove(at) else { return };
            let (sequence, reused) = self.settle(&place, &generation);
            generation.start_with(reused, &self.metrics);
            self.running.push(Running { generation, sequence });
        }
    }

    /// Whether another answer computes the same prompt right now: a moment later it can be copied.
    fn shares_a_prompt_in_the_making(&self, generation: &Generation) -> bool {
        let mut in_the_making = self.running.iter().filter(|running| self.pending(running) > 1);
        in_the_making.any(|running| running.generation.same_prompt(generation))
    }

    /// Makes llama.cpp's sequence hold the beginning that the place promises; gives the sequence and that length.
    fn settle(&mut self, place: &Place, generation: &Generation) -> (usize, usize) {
        let (sequence, mut reused) = match *place {
            Place::Own { sequence, reused } => (sequence, reused),
            Place::Copied { sequence, from, reused } => {
                self.cut(sequence, 0);
                let copied = self.context.copy_kv_cache_seq(from as i32, sequence as i32, None, Some(reused as u32));
                (sequence, if copied.is_ok() { reused } else { 0 })
            }
        };
        if !self.cut(sequence, reused) {
            // Models with a state instead of a cache keep it whole or not at all.
            self.cut(sequence, 0);
            reused = 0;
        }
        self.sequences[sequence].tokens = generation.tokens[..reused].to_vec();
        self.sequences[sequence].busy = true;
        (sequence, reused)
    }

    /// Removes what a sequence has from `keep` on.
    fn cut(&mut self, sequence: usize, keep: usize) -> bool {
        self.sequences[sequence].tokens.truncate(keep);
        let from = (keep > 0).then_some(keep as u32);
        self.context.clear_kv_cache_seq(Some(sequence as u32), from, None).unwrap_or(false)
    }

    /// Tokens of an answer that are not in the cache yet; one while it is being written.
    fn pending(&self, running: &Running) -> usize {
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
            if generation.advance(&self.context, row, &vocabulary, &self.metrics) {
                self.remove(part.running);
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

    /// Empties idle sequences until `wanted` cells are free; false when that was not enough.
    fn make_room(&mut self, wanted: usize) -> bool {
        while cache::cells_filled(&self.sequences) + wanted > self.cells {
            match cache::oldest_filled_idle(&self.sequences) {
                Some(idle) => self.cut(idle, 0),
                // The last answer fits by itself: a context is never longer than the cache.
                None => return self.running.len() == 1,
            };
        }
        true
    }

    /// Puts the answer that came last back to the front of the queue; it goes on from its tokens when there is room.
    fn displace_youngest(&mut self) {
        let Some(at) = self.running.len().checked_sub(1) else { return };
        self.metrics.displaced();
        let generation = self.remove(at);
        self.waiting.push_front(generation);
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
    fn remove(&mut self, at: usize) -> Generation {
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
