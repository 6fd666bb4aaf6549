//! The newest lines in memory, so that a reader that keeps up need not read the disk.

use domain::UsageEvent;
use std::collections::VecDeque;

/// Lines in memory, about 40 MB: three seconds of a core that does nothing but accept calls, which is how long the writer pauses
/// when thousands of keys call. A reader that is further behind reads the files, which is slower, so it would stay behind under
/// that load.
const MAX_LINES: usize = 128 << 10;
/// Turns of the reader that found little before half of the memory is returned. Under a steady load every batch is about as
/// large as the one before, so that threads which serve never wait for memory to grow again.
const SMALL_TURNS: u32 = 8;

/// The newest lines, in the order of the files.
#[derive(Default)]
pub(super) struct FreshLines {
    lines: VecDeque<FreshLine>,
    small_turns: u32,
}

struct FreshLine {
    file: u64,
    start: u64,
    end: u64,
    /// `None` for a mark, which is only used after its run is over.
    event: Option<UsageEvent>,
}

impl FreshLines {
    pub(super) fn push(&mut self, file: u64, start: u64, end: u64, event: Option<UsageEvent>) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(FreshLine { file, start, end, event });
    }

    /// Takes the events of up to `max` lines that start exactly at `position`, and advances the position past them.
    /// Returns none if the line at the position is no longer in memory.
    pub(super) fn take(&mut self, file: u64, position: &mut u64, max: usize) -> Vec<UsageEvent> {
        while self.lines.front().is_some_and(|line| (line.file, line.start) < (file, *position)) {
            self.lines.pop_front();
        }
        let mut events = Vec::new();
        while events.len() < max
            && let Some(line) = self.lines.pop_front_if(|line| (line.file, line.start) == (file, *position))
        {
            *position = line.end;
            events.extend(line.event);
        }
        events
    }

    /// Returns the memory of a traffic peak step by step. Called at every turn of the reader, before it takes lines.
    pub(super) fn return_unused_memory(&mut self) {
        let is_small = self.lines.len() < self.lines.capacity() / 8;
        self.small_turns = if is_small { self.small_turns + 1 } else { 0 };
        if self.small_turns == SMALL_TURNS {
            self.small_turns = 0;
            self.lines.shrink_to(self.lines.capacity() / 2);
        }
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }

    /// Where the lines of a file in memory begin; everything before is only in the file.
    pub(super) fn start_in(&self, file: u64) -> Option<u64> {
        self.lines.front().filter(|line| line.file == file).map(|line| line.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds lines, then takes all as the reader does. Returns how many lines there is memory for.
    fn turn(fresh: &mut FreshLines, position: &mut u64, lines: u64) -> usize {
        for line in *position..*position + lines {
            fresh.push(1, line, line + 1, None);
        }
        fresh.return_unused_memory();
        fresh.take(1, position, MAX_LINES);
        fresh.lines.capacity()
    }

    #[test]
    fn memory_is_kept_between_batches_and_returned_after_a_peak() {
        let (mut fresh, mut position) = (FreshLines::default(), 0);
        let peak = turn(&mut fresh, &mut position, 4_000);
        assert!(peak >= 4_000);
        for lines in [4_000, 1, 0, 1, 3_000, 0, 1_000] {
            assert_eq!(turn(&mut fresh, &mut position, lines), peak);
        }
        let mut turns = 0;
        while turn(&mut fresh, &mut position, 0) > 16 {
            turns += 1;
        }
        assert!((SMALL_TURNS..100).contains(&turns), "{turns}");
    }
}
