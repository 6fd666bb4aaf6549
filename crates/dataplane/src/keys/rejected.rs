//! Credentials that the store has just rejected.

use domain::{SecretHash, Segment};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const REJECTION_TTL: Duration = Duration::from_secs(1);
const MAX_REJECTED: usize = 10_000;

/// The last rejected credential of each segment. The map hashes with a key of its own, because clients choose segments.
#[derive(Default)]
pub(super) struct RejectedKeys {
    by_segment: Mutex<HashMap<Segment, Rejection>>,
}

struct Rejection {
    hash: SecretHash,
    at: Instant,
    cause: &'static str,
}

impl RejectedKeys {
    /// The cause, if the credential was rejected a moment ago.
    pub(super) fn find(&self, segment: Segment, hash: SecretHash) -> Option<&'static str> {
        let rejected = self.by_segment.lock();
        let found = rejected.get(&segment)?;
        (found.hash == hash && found.at.elapsed() < REJECTION_TTL).then_some(found.cause)
    }

    /// Remembers a rejection if `is_current`, which is called while rejections cannot be removed.
    pub(super) fn insert_if(
        &self,
        segment: Segment,
        hash: SecretHash,
        cause: &'static str,
        is_current: impl Fn() -> bool,
    ) {
        let mut rejected = self.by_segment.lock();
        if !is_current() {
            return;
        }
        if rejected.len() >= MAX_REJECTED {
            rejected.clear();
        }
        rejected.insert(segment, Rejection { hash, at: Instant::now(), cause });
    }

    pub(super) fn remove(&self, segment: Segment) {
        self.by_segment.lock().remove(&segment);
    }

    pub(super) fn clear(&self) {
        self.by_segment.lock().clear();
    }
}
