//! How many lines of a batch run on this node: more as long as they find room at once, fewer when they wait.

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

#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    shrunk_at: Option<Instant>,
}

impl Default for Window {
    fn default() -> Self {
        Self { size: FIRST, shrunk_at: None }
    }
}

impl Window {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A line has ended that waited for room for this long, or that has failed and will run again.
    pub(super) fn ended(&mut self, held: Option<Duration>, has_failed: bool, now: Instant) {
        if !has_failed && held.is_none_or(|held| held < SHORT_WAIT) {
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
}
