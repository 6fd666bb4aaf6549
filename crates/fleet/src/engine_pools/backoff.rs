//! The pause before a process is started again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A run of this length starts the count anew.
const HEALTHY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Backoff {
    last: Option<Duration>,
}

impl Backoff {
    /// The pause after a run of this length.
    pub(super) fn after(&mut self, run: Duration) -> Duration {
        let pause = match self.last {
            Some(last) if run < HEALTHY => (last * 2).min(LONGEST),
            _ => FIRST,
        };
        self.last = Some(pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_start_anew_after_a_healthy_run() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u64> = (0..8).map(|_| backoff.after(Duration::from_secs(2)).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff.after(Duration::from_secs(61)), FIRST);
    }
}
