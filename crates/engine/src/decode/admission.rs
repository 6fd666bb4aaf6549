//! Assigns sequences and cache cells to waiting generations, and takes them back.

use super::cache::{self, Placement};
use super::generation::Generation;
use super::worker::{Running, Worker};

/// Free cells required in addition to a prompt, so that it is not displaced immediately.
const ROOM_TO_GROW: usize = 64;

impl Worker<'_> {
    /// Starts waiting generations while sequences and cells are available.
    pub(super) fn admit(&mut self) {
        while let Some(at) = (0..self.waiting.len()).find(|&at| !self.shares_prompt_being_computed(&self.waiting[at])) {
            let Generation { tokens, salt, .. } = &self.waiting[at];
            let enough_room = cache::cells_in_use(&self.sequences) + tokens.len() + ROOM_TO_GROW <= self.cells;
            if !enough_room && !self.running.is_empty() {
                return;
            }
            let Some(placement) = cache::find_placement(&self.sequences, tokens, salt) else { return };
            let Some(mut generation) = self.waiting.remove(at) else { return };
            let (sequence, reused) = self.apply_placement(&placement, &generation);
            generation.start_with(reused, &self.metrics);
            self.running.push(Running { generation, sequence });
        }
    }

    /// Whether another generation is computing the same prompt, which can then be copied.
    fn shares_prompt_being_computed(&self, generation: &Generation) -> bool {
        let mut computing = self.running.iter().filter(|running| self.pending(running) > 1);
        computing.any(|running| running.generation.same_prompt(generation))
    }

    /// Applies a placement to llama.cpp's cache; returns the sequence and the number of reused tokens.
    fn apply_placement(&mut self, placement: &Placement, generation: &Generation) -> (usize, usize) {
        let (sequence, mut reused) = match *placement {
            Placement::Own { sequence, reused } => (sequence, reused),
            Placement::Copied { sequence, from, reused } => {
                self.truncate(sequence, 0);
                let copied = self.context.copy_kv_cache_seq(from as i32, sequence as i32, None, Some(reused as u32));
                (sequence, if copied.is_ok() { reused } else { 0 })
            }
        };
        reused = reused.min(generation.reusable());
        if !self.truncate(sequence, reused) {
            // Recurrent models cannot truncate their state.
            self.truncate(sequence, 0);
            reused = 0;
        }
        self.sequences[sequence].tokens = generation.tokens[..reused].to_vec();
        self.sequences[sequence].salt.clone_from(&generation.salt);
        self.sequences[sequence].busy = true;
        (sequence, reused)
    }

    /// Truncates a sequence to `keep` tokens.
    pub(super) fn truncate(&mut self, sequence: usize, keep: usize) -> bool {
        self.sequences[sequence].tokens.truncate(keep);
        let from = (keep > 0).then_some(keep as u32);
        self.context.clear_kv_cache_seq(Some(sequence as u32), from, None).unwrap_or(false)
    }

    /// Evicts idle sequences until `needed` cells are free; returns false if that is not enough.
    pub(super) fn make_room(&mut self, needed: usize) -> bool {
        while cache::cells_filled(&self.sequences) + needed > self.cells {
            match cache::oldest_filled_idle(&self.sequences) {
                Some(idle) => self.truncate(idle, 0),
                // A single generation always fits: the context is never longer than the cache.
                None => return self.running.len() == 1,
            };
        }
        true
    }

    /// Moves the youngest generation to the front of the queue; it resumes from its tokens when there is room.
    pub(super) fn displace_youngest(&mut self) {
        let Some(at) = self.running.len().checked_sub(1) else { return };
        self.metrics.displaced();
        let generation = self.remove(at);
        self.waiting.push_front(generation);
    }
}
