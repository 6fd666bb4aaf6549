//! How many lines of a batch run on this node: more as long as they find room at once, fewer when they wait, and from time to
//! time a few if none can begin.

use std::time::Duration;
use tokio::time::Instant;

/// This many lines of a batch may always run, or wait for room.
pub(super) const LEAST: usize = 4;
const MOST: usize = super::MAX_RUNNING;
const FIRST: usize = 8;
/// A line that waited longer found no room.
const SHORT_WAIT: Duration = Duration::from_millis(500);
/// The window shrinks at most once in this time: the lines of one moment find the same.
const SHRINK_PERIOD: Duration = Duration::from_secs(1);
/// A batch whose lines have to run again later is left alone for this time, which doubles as long as that goes on. The other
/// lines would probably fare no better.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    shrunk_at: Option<Instant>,
    /// Pauses since the last line that ended for good.
    pauses: u32,
    paused_until: Option<Instant>,
}

impl Default for Window {
    fn default() -> Self {
        Self { size: FIRST, shrunk_at: None, pauses: 0, paused_until: None }
    }
}

impl Window {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Whether no lines are claimed for now.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// A line has ended that waited for room for this long, or that will run again.
    pub(super) fn ended(&mut self, held: Option<Duration>, runs_again: bool, now: Instant) {
        self.resize(held, runs_again, now);
        if !runs_again {
            (self.pauses, self.paused_until) = (0, None);
        } else if self.size == LEAST && !self.is_paused(now) {
            self.paused_until = Some(now + (FIRST_PAUSE * (1 << self.pauses.min(5))).min(LONGEST_PAUSE));
            self.pauses += 1;
        }
    }

    fn resize(&mut self, held: Option<Duration>, runs_again: bool, now: Instant) {
        if !runs_again && held.is_none_or(|held| held < SHORT_WAIT) {
            self.size = (self.size + 1).min(MOST);
            return;
        }
        if self.shrunk_at.is_none_or(|at| now - at >= SHRINK_PERIOD) {
            self.size = (self.size * 3 / 4).max(LEAST);
            self.shrunk_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_every_line_that_found_room_and_shrinks_once_a_second() {
        let mut window = Window::default();
        let mut now = Instant::now();
        (0..1_000).for_each(|_| window.ended(None, false, now));
        assert_eq!(window.size(), MOST);
        (0..50).for_each(|_| window.ended(Some(Duration::from_secs(3)), false, now));
        assert_eq!(window.size(), MOST * 3 / 4);
        for _ in 0..50 {
            now += SHRINK_PERIOD;
            window.ended(None, true, now);
        }
        assert_eq!(window.size(), LEAST);
        window.ended(Some(Duration::from_millis(20)), false, now);
        assert_eq!(window.size(), LEAST + 1);
    }

    #[test]
    fn pauses_grow_while_no_line_ends_for_good() {
        let mut window = Window { size: LEAST, ..Window::default() };
        let mut now = Instant::now();
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            (0..LEAST).for_each(|_| window.ended(None, true, now));
            now += Duration::from_secs(seconds) - Duration::from_millis(1);
            assert!(window.is_paused(now), "{seconds} s");
            now += Duration::from_millis(1);
            assert!(!window.is_paused(now), "{seconds} s");
        }
        window.ended(None, true, now);
        window.ended(None, false, now);
        assert!(!window.is_paused(now), "there is room again");
    }
}
