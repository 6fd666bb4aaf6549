//! Limits of client connections, and how often they were enforced.

use crate::peers::PeerTable;
use http1::server::Cutoff;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Limits that all cores share.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// The window in which a client has to take some of a response that waits for it.
    pub stall_timeout: Duration,
    /// From the head of a request to the end of its response.
    pub call_timeout: Duration,
    pub peers: Arc<PeerTable>,
    pub figures: Arc<ConnectionFigures>,
}

/// Calls and connections that the edge ended.
#[derive(Debug, Default)]
pub struct ConnectionFigures {
    stalled: AtomicU64,
    no_memory: AtomicU64,
    timed_out: AtomicU64,
}

impl ConnectionFigures {
    pub(crate) fn count(&self, cutoff: Cutoff) {
        let counter = match cutoff {
            Cutoff::Stalled => &self.stalled,
            Cutoff::NoMemory => &self.no_memory,
            Cutoff::TimedOut => &self.timed_out,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that were cut off, by reason.
    pub fn cut_off(&self) -> [(&'static str, u64); 3] {
        [("stalled", &self.stalled), ("no_memory", &self.no_memory), ("timed_out", &self.timed_out)]
            .map(|(reason, counter)| (reason, counter.load(Ordering::Relaxed)))
    }
}
