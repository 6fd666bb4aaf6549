//! The newest lines in memory, so that a reader that keeps up need not read the disk.

use domain::UsageEvent;
use std::collections::VecDeque;

/// Lines in memory, about 32 MB: three seconds of a core that does nothing but accept calls, which is how long the writer pauses
/// when thousands of keys call. A reader that is further behind reads the files, which is slower, so it would stay behind under
/// that load.
const MAX_LINES: usize = 128 << 10;

/// The newest lines, in the order of the files.
#[derive(Default)]
pub(super) struct FreshLines {
    lines: VecDeque<FreshLine>,
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
        // Return the memory of a traffic peak step by step.
        if self.lines.len() < self.lines.capacity() / 8 {
            self.lines.shrink_to(self.lines.capacity() / 2);
        }
        events
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }

    /// Where the lines of a file in memory begin; everything before is only in the file.
    pub(super) fn start_in(&self, file: u64) -> Option<u64> {
        self.lines.front().filter(|line| line.file == file).map(|line| line.start)
    }
}
