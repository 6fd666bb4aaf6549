//! Prompts that were served lately.

use super::PERIOD;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The prompts that are remembered as served; one in the place of another replaces it.
pub(super) const SERVED_PROMPTS: usize = 1024;

/// Short prompts that were served lately: in each place the upper bits of a fingerprint, and the second.
pub(super) struct ServedPrompts {
    start: Instant,
    places: Box<[AtomicU64]>,
}

impl Default for ServedPrompts {
    fn default() -> Self {
        Self { start: Instant::now(), places: (0..SERVED_PROMPTS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl ServedPrompts {
    #[inline]
    fn place(&self, fingerprint: u64) -> &AtomicU64 {
        &self.places[fingerprint as usize % SERVED_PROMPTS]
    }

    /// The lower bits choose the place; the upper ones tell prompts apart.
    #[inline]
    fn entry(&self, fingerprint: u64, now: Instant) -> (u64, u16) {
        let second = now.saturating_duration_since(self.start).as_secs() as u16;
        (fingerprint >> 16 << 16, second)
    }

    #[inline]
    pub(super) fn add(&self, fingerprint: u64, now: Instant) {
        let (prompt, second) = self.entry(fingerprint, now);
        self.place(fingerprint).store(prompt | u64::from(second), Ordering::Relaxed);
    }

    /// Whether the prompt was served within the last minute. Only once: what is lost again was not served since.
    pub(super) fn take(&self, fingerprint: u64, now: Instant) -> bool {
        let (prompt, second) = self.entry(fingerprint, now);
        let place = self.place(fingerprint);
        let found = place.load(Ordering::Relaxed);
        if found == 0 || found >> 16 << 16 != prompt {
            return false;
        }
        place.store(0, Ordering::Relaxed);
        u64::from(second.wrapping_sub(found as u16)) <= PERIOD.as_secs()
    }
}
