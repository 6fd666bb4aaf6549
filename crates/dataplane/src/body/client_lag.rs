//! How long a stream waits for its client to read.
//!
//! A client is behind from the first piece that it has not taken until all was passed that the engine has sent. Meanwhile the
//! gateway takes nothing from the engine, which may go on: sockets have room for much text.

use std::time::{Duration, Instant};

/// The client has something to take, and the engine may have written more than was passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    pub(super) since: Instant,
    /// The tokens that were passed until then.
    pub(super) completion: u64,
}

#[derive(Debug, Default)]
pub(super) struct ClientLag {
    behind: Option<Behind>,
    /// How long it was behind before, in all.
    earlier: Duration,
}

impl ClientLag {
    pub(super) fn behind(&self) -> Option<Behind> {
        self.behind
    }

    pub(super) fn begin(&mut self, behind: Behind) {
        self.behind = Some(behind);
    }

    /// All was passed that the engine has sent.
    pub(super) fn end(&mut self, now: Instant) {
        self.earlier = self.total(now);
        self.behind = None;
    }

    /// How long the client was behind, in all.
    pub(super) fn total(&self, now: Instant) -> Duration {
        self.earlier + self.behind.map_or(Duration::ZERO, |behind| now.saturating_duration_since(behind.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_client_that_is_behind_add_up() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut lag = ClientLag::default();
        assert_eq!(lag.total(at(9)), Duration::ZERO);
        lag.begin(Behind { since: at(10), completion: 1 });
        assert_eq!(lag.total(at(12)), Duration::from_secs(2));
        lag.end(at(13));
        assert!(lag.behind().is_none() && lag.total(at(20)) == Duration::from_secs(3));
        lag.begin(Behind { since: at(21), completion: 5 });
        assert_eq!(lag.total(at(22)), Duration::from_secs(4));
        lag.end(at(20));
        assert_eq!(lag.total(at(30)), Duration::from_secs(3), "a clock that lags behind takes nothing away");
    }
}
