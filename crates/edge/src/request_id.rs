//! Unique request ids.

use domain::{RequestId, Timestamp};
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids made of the time, 48 random bits per process, and a counter.
pub struct RequestIds {
    process: u128,
    count: AtomicU64,
}

impl RequestIds {
    pub fn new() -> anyhow::Result<Self> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
        Ok(Self { process: u128::from(u64::from_le_bytes(seed) >> 16) << 32, count: AtomicU64::new(0) })
    }

    pub fn next(&self, now: Timestamp) -> RequestId {
        let count = u128::from(self.count.fetch_add(1, Ordering::Relaxed) & 0xFFFF_FFFF);
        RequestId::new(now, self.process | count)
    }
}
