//! What was just appended, kept for the reader: as long as it keeps up, it need not read the disk.

use domain::UsageEvent;
use std::collections::VecDeque;

/// Lines that are kept, about 16 MB: two seconds of a core that does nothing but take calls. A reader that is further
/// behind finds the older ones in the files, which costs so much more that it would stay behind under that load.
const MOST: usize = 64 << 10;

/// The newest lines, in the order of the files.
#[derive(Default)]
pub(super) struct Fresh {
    lines: VecDeque<Line>,
}

struct Line {
    file: u64,
    start: u64,
    end: u64,
    /// None for a mark, which means something only when its run is over.
    event: Option<UsageEvent>,
}

impl Fresh {
    pub(super) fn push(&mut self, file: u64, start: u64, end: u64, event: Option<UsageEvent>) {
        if self.lines.len() == MOST {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { file, start, end, event });
    }

    /// Moves up to `most` events that stand right at the position, and moves the position behind them.
    pub(super) fn take(&mut self, file: u64, position: &mut u64, most: usize) -> Vec<UsageEvent> {
        while self.lines.front().is_some_and(|line| (line.file, line.start) < (file, *position)) {
            self.lines.pop_front();
        }
        let mut events = Vec::new();
        while events.len() < most
            && let Some(line) = self.lines.pop_front_if(|line| (line.file, line.start) == (file, *position))
        {
            *position = line.end;
            events.extend(line.event);
        }
        // Memory of a busy time goes back bit by bit.
        if self.lines.len() < self.lines.capacity() / 8 {
            self.lines.shrink_to(self.lines.capacity() / 2);
        }
        events
    }

    /// Where the lines of a file that are here begin; what stands before is only in the file.
    pub(super) fn start_in(&self, file: u64) -> Option<u64> {
        self.lines.front().filter(|line| line.file == file).map(|line| line.start)
    }
}
