//! Who gets a sequence and cells of the cache, and who gives them back.

use super::cache::{self, Place};
use super::generation::Generation;
use super::worker::{Running, Worker};

/// Cells that must be free beside a prompt before it starts, so that it is not displaced at once.
const ROOM_TO_GROW: usize = 64;

impl Worker<'_> {
    /// Gives waiting answers a sequence, as long as there are sequences and cells.
    pub(super) fn admit(&mut self) {
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
    pub(super) fn cut(&mut self, sequence: usize, keep: usize) -> bool {
        self.sequences[sequence].tokens.truncate(keep);
        let from = (keep > 0).then_some(keep as u32);
        self.context.clear_kv_cache_seq(Some(sequence as u32), from, None).unwrap_or(false)
    }

    /// Empties idle sequences until `wanted` cells are free; false when that was not enough.
    pub(super) fn make_room(&mut self, wanted: usize) -> bool {
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
    pub(super) fn displace_youngest(&mut self) {
        let Some(at) = self.running.len().checked_sub(1) else { return };
        self.metrics.displaced();
        let generation = self.remove(at);
        self.waiting.push_front(generation);
    }
}
