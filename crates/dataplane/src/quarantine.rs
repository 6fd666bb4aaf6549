//! Requests that end engines.
//!
//! A prompt that crashes an engine in prefill would be retried elsewhere by the gateway and again by the client, and end
//! one replica after another. Losses are counted by workspace, model and prompt; at [`MAX_LOSSES`] the prompt is rejected
//! for [`PERIOD`]. One loss rejects nothing, because every call that an engine was serving is lost with it: calls that
//! were running together count as one. A workspace that crashes engines on purpose, with a prompt that others use, too,
//! gets its own calls rejected only.

use crate::error::CallError;
use crate::{Call, Dataplane};
use foldhash::quality::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often a request may be lost, on this node, before it is rejected.
pub(crate) const MAX_LOSSES: u8 = 2;
const PERIOD: Duration = Duration::from_secs(60);
/// The most prompts that are remembered; those with the fewest and oldest losses are forgotten first.
const MAX_SUSPECTS: usize = 1024;

/// The lost requests of a node, shared by its cores.
#[derive(Clone, Default)]
pub struct Quarantine {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The number of suspects. Usually 0, and then a call costs neither a hash nor a lock.
    count: AtomicUsize,
    /// Seeded at random, so that a client cannot make its prompt look like another one.
    hasher: RandomState,
    suspects: Mutex<HashMap<u64, Suspect>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Suspect {
    losses: u8,
    last: Instant,
}

impl Suspect {
    fn is_remembered(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < PERIOD
    }
}

impl Quarantine {
    fn fingerprint(&self, workspace: &str, model: &str, prompt: &[u8]) -> u64 {
        self.shared.hasher.hash_one((workspace, model, prompt))
    }

    /// How long the request is still rejected.
    fn remaining(&self, fingerprint: impl FnOnce() -> u64, now: Instant) -> Option<Duration> {
        if self.shared.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let fingerprint = fingerprint();
        let suspects = self.shared.suspects.lock();
        let suspect = suspects.get(&fingerprint).filter(|suspect| suspect.losses >= MAX_LOSSES)?;
        suspect.is_remembered(now).then(|| PERIOD - now.saturating_duration_since(suspect.last))
    }

    /// Counts the losses of a call that started at `began`, and returns whether the request is rejected from now on.
    fn add(&self, fingerprint: u64, losses: u8, began: Instant, now: Instant) -> bool {
        let mut suspects = self.shared.suspects.lock();
        suspects.retain(|_, suspect| suspect.is_remembered(now));
        if suspects.len() >= MAX_SUSPECTS
            && let Some(least) =
                suspects.iter().min_by_key(|(_, suspect)| **suspect).map(|(fingerprint, _)| *fingerprint)
        {
            suspects.remove(&least);
        }
        let suspect = suspects.entry(fingerprint).or_insert(Suspect { losses: 0, last: now });
        // It was already running at the last loss, so the same engine may have ended both.
        let ran_together = began < suspect.last;
        suspect.losses = if ran_together { suspect.losses.max(losses) } else { suspect.losses.saturating_add(losses) };
        suspect.last = now;
        let is_rejected = suspect.losses >= MAX_LOSSES;
        self.shared.count.store(suspects.len(), Ordering::Relaxed);
        is_rejected
    }

    /// Forgets what has expired.
    pub(crate) fn sweep(&self, now: Instant) {
        if self.shared.count.load(Ordering::Relaxed) > 0 {
            let mut suspects = self.shared.suspects.lock();
            suspects.retain(|_, suspect| suspect.is_remembered(now));
            self.shared.count.store(suspects.len(), Ordering::Relaxed);
        }
    }
}

impl Dataplane {
    /// Rejects a request that has ended engines within the last minute.
    pub(crate) fn check_quarantine(&self, call: &Call) -> Result<(), CallError> {
        match self.quarantine.remaining(|| self.fingerprint(call), call.tap.started()) {
            Some(left) => Err(CallError::Quarantined { retry_after_secs: left.as_secs() + 1 }),
            None => Ok(()),
        }
    }

    /// Records that the call was lost `losses` times.
    pub(crate) fn note_losses(&self, call: &Call, losses: u8) {
        if losses > 0 && self.quarantine.add(self.fingerprint(call), losses, call.tap.started(), Instant::now()) {
            let (model, request) = (&call.request.model, call.tap.request_id());
            tracing::warn!(
                model, request.id = %request, workspace = %call.caller.workspace,
                "a request to {model} lost {MAX_LOSSES} connections before its response began; it is rejected for a minute",
            );
        }
    }

    fn fingerprint(&self, call: &Call) -> u64 {
        self.quarantine.fingerprint(call.caller.workspace.as_str(), &call.request.model, call.request.prompt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_rejected_for_a_minute_after_two_losses() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        let fingerprint = quarantine.fingerprint("ws_1", "a/b", b"bad");
        let remaining = |after| quarantine.remaining(|| fingerprint, now + Duration::from_secs(after));
        assert!(!quarantine.add(fingerprint, 1, now, now));
        assert_eq!(remaining(0), None, "one loss may be the fault of another call");
        assert!(quarantine.add(fingerprint, 1, now, now));
        assert_eq!((remaining(0), remaining(59)), (Some(PERIOD), Some(Duration::from_secs(1))));
        assert_eq!(remaining(60), None);
        for (workspace, model, prompt) in
            [("ws_1", "a/c", &b"bad"[..]), ("ws_1", "a/b", b"good"), ("ws_2", "a/b", b"bad")]
        {
            let other = || quarantine.fingerprint(workspace, model, prompt);
            assert_eq!(quarantine.remaining(other, now), None, "{workspace} {model}");
        }
    }

    #[test]
    fn calls_that_an_engine_lost_together_count_as_one() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        let after = |millis| now + Duration::from_millis(millis);
        for lost_at in 10..20 {
            assert!(!quarantine.add(1, 1, now, after(lost_at)));
        }
        assert!(quarantine.add(1, 1, after(20), after(30)), "one that started later");
        assert!(!quarantine.add(2, 1, now, after(10)));
        assert!(quarantine.add(2, 2, now, after(11)), "one that ended two engines");
    }

    #[test]
    fn losses_more_than_a_minute_apart_do_not_add_up() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        assert!(!quarantine.add(1, 1, now, now));
        assert!(!quarantine.add(1, 1, now + PERIOD, now + PERIOD));
        quarantine.sweep(now + 2 * PERIOD);
        assert_eq!(quarantine.remaining(|| unreachable!("nothing is remembered"), now + 2 * PERIOD), None);
    }

    #[test]
    fn memory_is_bounded_and_the_worst_are_kept() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.add(u64::MAX, 2, now, now);
        for fingerprint in 0..2 * MAX_SUSPECTS as u64 {
            quarantine.add(fingerprint, 1, now, now + Duration::from_secs(1));
        }
        assert_eq!(quarantine.shared.suspects.lock().len(), MAX_SUSPECTS);
        assert!(quarantine.remaining(|| u64::MAX, now).is_some());
    }
}
