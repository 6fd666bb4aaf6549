//! Requests that end engines.
//!
//! A prompt that crashes an engine in prefill would be retried elsewhere by the gateway and again by the client, and end
//! one replica after another. Losses are weighed by workspace, model and prompt; at [`MAX_WEIGHT`] the prompt is rejected
//! for [`PERIOD`]. A workspace that crashes engines on purpose, with a prompt that others use, too, gets its own calls
//! rejected only.
//!
//! Most lost requests are innocent: every call that an engine was serving is lost with it, and replicas are restarted. So:
//!
//! - A request that was alone at its replica weighs more than one that was lost together with others. Two losses alone
//!   reject a prompt, and so do one alone and one with others, or three with others.
//! - Calls that engines were serving at the same time count as one, since one of them may have ended the engine. When
//!   their clients began to send them does not matter.
//! - A prompt that was served within the last minute, after its last loss, has no losses, and the next call that is lost
//!   does not reject it, however many replicas that call loses. Example: a monitor that repeats one chat while replicas
//!   are replaced is served, lost at two of them, served. Only short prompts are remembered as served, unless they were
//!   lost before.
//! - A call, or a request to count or list tokens, whose client left while a replica had its prompt is lost with others if
//!   the replica is found down within [`ABANDONED_FOR`](abandoned::ABANDONED_FOR). Else a client could end engines without
//!   being seen, by never waiting for a response. The same holds for a call whose replica responded with an error of its own:
//!   the engine of a vLLM ends before its server does, which reports that as status 500.
//!
//! A workspace that lost [`MAX_LOST_CALLS`] calls within the period, each after the one before, gets no second attempt for
//! calls that were lost, and its tokens are estimated instead of counted by engines: it may change its prompt every time.

mod abandoned;
mod served;

pub(crate) use abandoned::RunningAttempt;

use crate::error::CallError;
use crate::{Call, Dataplane};
use abandoned::AbandonedCalls;
use foldhash::quality::RandomState;
use parking_lot::{Mutex, MutexGuard};
use served::ServedPrompts;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often a request may be lost in one call.
pub(crate) const MAX_LOSSES: u8 = 2;
/// From this weight on, a prompt is rejected.
const MAX_WEIGHT: u8 = 5;
/// The weight of a request that was the only one at its replica.
const ALONE: u8 = 3;
/// The weight of a request that was lost together with others.
const WITH_OTHERS: u8 = 2;
/// The calls that a workspace may lose, on this node.
const MAX_LOST_CALLS: u8 = 3;
const PERIOD: Duration = Duration::from_secs(60);
/// The most prompts that are remembered; those with the fewest and oldest losses are forgotten first.
const MAX_SUSPECTS: usize = 1024;
/// Prompts up to this size are remembered when they are served, because hashing them costs next to nothing.
const SHORT_PROMPT: usize = 4 << 10;

/// The lost requests of a node, shared by its cores.
#[derive(Clone, Default)]
pub struct Quarantine {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The number of suspects. Usually 0, and then a call costs no lock, and a hash only if its prompt is short.
    count: AtomicUsize,
    /// Seeded at random, so that a client cannot make its prompt look like another one.
    hasher: RandomState,
    /// Prompts and workspaces.
    suspects: Mutex<HashMap<u64, Suspect>>,
    served: ServedPrompts,
    /// The number of abandoned calls.
    abandoned_count: AtomicUsize,
    abandoned: Mutex<AbandonedCalls>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Suspect {
    weight: u8,
    last: Instant,
    /// It was served since, so it does not end every engine.
    was_served: bool,
}

impl Suspect {
    fn is_remembered(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < PERIOD
    }
}

/// How often one call was lost after its request was written and before its response began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Losses {
    pub(crate) count: u8,
    weight: u8,
    /// When the first lost attempt began; `None` if none was lost.
    began: Option<Instant>,
}

impl Losses {
    /// Lost with a replica that may have ended for another reason.
    pub(crate) fn with_others(count: u8, began: Instant) -> Self {
        Self { count, weight: count.saturating_mul(WITH_OTHERS), began: Some(began) }
    }

    /// Adds an attempt that began then.
    pub(crate) fn add(&mut self, was_alone: bool, began: Instant) {
        self.count = self.count.saturating_add(1);
        self.weight = self.weight.saturating_add(if was_alone { ALONE } else { WITH_OTHERS });
        self.began.get_or_insert(began);
    }
}

impl Quarantine {
    fn fingerprint(&self, workspace: &str, model: &str, prompt: &[u8]) -> u64 {
        self.shared.hasher.hash_one((workspace, model, prompt))
    }

    fn workspace(&self, workspace: &str) -> u64 {
        self.shared.hasher.hash_one(workspace)
    }

    fn is_empty(&self) -> bool {
        self.shared.count.load(Ordering::Relaxed) == 0
    }

    /// How long a suspect with at least this weight is still one.
    fn remaining(&self, fingerprint: impl FnOnce() -> u64, weight: u8, now: Instant) -> Option<Duration> {
        if self.is_empty() {
            return None;
        }
        let fingerprint = fingerprint();
        let suspects = self.shared.suspects.lock();
        let suspect = suspects.get(&fingerprint).filter(|suspect| suspect.weight >= weight)?;
        suspect.is_remembered(now).then(|| PERIOD - now.saturating_duration_since(suspect.last))
    }

    /// Adds the losses of a call whose first lost attempt began at `began`, and returns their weight in all.
    fn add(&self, fingerprint: u64, weight: u8, began: Instant, now: Instant) -> u8 {
        let mut suspects = self.make_room(now);
        let suspect = suspects.entry(fingerprint).or_insert(Suspect { weight: 0, last: now, was_served: false });
        let was_served = std::mem::take(&mut suspect.was_served) | self.shared.served.take(fingerprint, now);
        let weight = if was_served { weight.min(ALONE) } else { weight };
        // It was already running at the last loss, so the same engine may have ended both.
        let ran_together = began < suspect.last;
        suspect.weight = if ran_together { suspect.weight.max(weight) } else { suspect.weight.saturating_add(weight) };
        suspect.last = now;
        let weight = suspect.weight;
        self.shared.count.store(suspects.len(), Ordering::Relaxed);
        weight
    }

    /// The request was served. `was_lost` before, in the same call.
    fn clear(&self, fingerprint: impl FnOnce() -> u64, was_lost: bool, now: Instant) {
        if self.is_empty() && !was_lost {
            return;
        }
        let fingerprint = fingerprint();
        let served = Suspect { weight: 0, last: now, was_served: true };
        if was_lost {
            let mut suspects = self.make_room(now);
            suspects.insert(fingerprint, served);
            self.shared.count.store(suspects.len(), Ordering::Relaxed);
        } else if let Some(suspect) = self.shared.suspects.lock().get_mut(&fingerprint) {
            *suspect = served;
        }
    }

    fn make_room(&self, now: Instant) -> MutexGuard<'_, HashMap<u64, Suspect>> {
        let mut suspects = self.shared.suspects.lock();
        suspects.retain(|_, suspect| suspect.is_remembered(now));
        if suspects.len() >= MAX_SUSPECTS
            && let Some(least) =
                suspects.iter().min_by_key(|(_, suspect)| **suspect).map(|(fingerprint, _)| *fingerprint)
        {
            suspects.remove(&least);
        }
        suspects
    }

    /// Forgets what has expired.
    pub(crate) fn sweep(&self, now: Instant) {
        if self.has_abandoned() {
            self.add_abandoned(now);
        }
        if !self.is_empty() {
            let mut suspects = self.shared.suspects.lock();
            suspects.retain(|_, suspect| suspect.is_remembered(now));
            self.shared.count.store(suspects.len(), Ordering::Relaxed);
        }
    }
}

impl Dataplane {
    /// Rejects a request that has ended engines within the last minute.
    pub(crate) fn check_quarantine(&self, call: &Call) -> Result<(), CallError> {
        if self.quarantine.has_abandoned() {
            self.quarantine.add_abandoned(Instant::now());
        }
        match self.quarantine.remaining(|| self.fingerprint(call), MAX_WEIGHT, call.tap.started()) {
            Some(left) => Err(CallError::Quarantined { retry_after_secs: left.as_secs() + 1 }),
            None => Ok(()),
        }
    }

    /// Records that the call was lost, and not served in the end.
    pub(crate) fn note_losses(&self, call: &Call, losses: Losses) {
        let Some(began) = losses.began else { return };
        let now = Instant::now();
        let workspace = &call.caller.workspace;
        self.quarantine.add(self.quarantine.workspace(workspace.as_str()), 1, began, now);
        if self.quarantine.add(self.fingerprint(call), losses.weight, began, now) >= MAX_WEIGHT {
            let (model, request) = (&call.request.model, call.tap.request_id());
            tracing::warn!(
                model, request.id = %request, workspace = %workspace,
                "a request to {model} lost its connections before a response began; it is rejected for a minute",
            );
        }
    }

    /// Records that the call was served, after some losses.
    pub(crate) fn note_served(&self, call: &Call, losses: Losses) {
        if losses.count > 0 || !self.quarantine.is_empty() {
            self.quarantine.clear(|| self.fingerprint(call), losses.count > 0, Instant::now());
        }
        if call.request.prompt().len() <= SHORT_PROMPT {
            self.quarantine.shared.served.add(self.fingerprint(call), Instant::now());
        }
    }

    /// Whether the workspace has lost three calls within the last minute, so that its next ones get one attempt.
    pub(crate) fn loses_too_many(&self, call: &Call) -> bool {
        let workspace = || self.quarantine.workspace(call.caller.workspace.as_str());
        self.quarantine.remaining(workspace, MAX_LOST_CALLS, Instant::now()).is_some()
    }

    fn fingerprint(&self, call: &Call) -> u64 {
        self.quarantine.fingerprint(call.caller.workspace.as_str(), &call.request.model, call.request.prompt())
    }
}

#[cfg(test)]
mod tests {
    use super::served::SERVED_PROMPTS;
    use super::*;

    pub(super) fn is_rejected(quarantine: &Quarantine, fingerprint: u64, now: Instant) -> bool {
        quarantine.remaining(|| fingerprint, MAX_WEIGHT, now).is_some()
    }

    #[test]
    fn a_prompt_is_rejected_for_a_minute_after_two_losses() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        let fingerprint = quarantine.fingerprint("ws_1", "a/b", b"bad");
        let remaining = |after| quarantine.remaining(|| fingerprint, MAX_WEIGHT, now + Duration::from_secs(after));
        quarantine.add(fingerprint, ALONE, now, now);
        assert_eq!(remaining(0), None, "one loss may be the fault of another call");
        quarantine.add(fingerprint, ALONE, now, now);
        assert_eq!((remaining(0), remaining(59)), (Some(PERIOD), Some(Duration::from_secs(1))));
        assert_eq!(remaining(60), None);
        for (workspace, model, prompt) in
            [("ws_1", "a/c", &b"bad"[..]), ("ws_1", "a/b", b"good"), ("ws_2", "a/b", b"bad")]
        {
            let other = quarantine.fingerprint(workspace, model, prompt);
            assert!(!is_rejected(&quarantine, other, now), "{workspace} {model}");
        }
    }

    #[test]
    fn a_request_that_was_lost_with_others_at_two_replicas_is_not_rejected() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        let mut losses = Losses::default();
        losses.add(false, now);
        losses.add(false, now);
        quarantine.add(1, losses.weight, now, now);
        assert!(!is_rejected(&quarantine, 1, now));
        quarantine.add(1, WITH_OTHERS, now, now);
        assert!(is_rejected(&quarantine, 1, now), "the third time");
        losses = Losses::default();
        losses.add(true, now);
        losses.add(false, now);
        quarantine.add(2, losses.weight, now, now);
        assert!(is_rejected(&quarantine, 2, now), "once alone");
    }

    #[test]
    fn a_prompt_that_is_served_between_its_losses_is_never_rejected() {
        let (quarantine, start) = (Quarantine::default(), Instant::now());
        let mut now = start;
        for round in 0..20 {
            now += Duration::from_secs(2);
            quarantine.clear(|| 1, round == 0, now);
            now += Duration::from_secs(1);
            // Two replicas in one call, each alone.
            quarantine.add(1, 2 * ALONE, now, now);
            assert!(!is_rejected(&quarantine, 1, now), "{round}");
        }
        quarantine.add(1, ALONE, now, now);
        assert!(is_rejected(&quarantine, 1, now), "it was not served in between");
    }

    #[test]
    fn serving_other_prompts_remembers_nothing() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.clear(|| unreachable!("nothing is suspected"), false, now);
        quarantine.add(1, ALONE, now, now);
        quarantine.clear(|| 2, false, now);
        assert_eq!(quarantine.shared.suspects.lock().len(), 1);
    }

    #[test]
    fn calls_that_an_engine_lost_together_count_as_one() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        let after = |millis| now + Duration::from_millis(millis);
        for lost_at in 10..20 {
            assert_eq!(quarantine.add(1, ALONE, now, after(lost_at)), ALONE);
        }
        quarantine.add(1, ALONE, after(20), after(30));
        assert!(is_rejected(&quarantine, 1, after(30)), "one that started later");
        quarantine.add(2, ALONE, now, after(10));
        quarantine.add(2, 2 * ALONE, now, after(11));
        assert!(is_rejected(&quarantine, 2, after(11)), "one that ended two engines");
    }

    #[test]
    fn losses_begin_with_the_first_lost_attempt() {
        let now = Instant::now();
        let mut losses = Losses::default();
        assert_eq!(losses.began, None);
        losses.add(true, now);
        losses.add(true, now + Duration::from_secs(1));
        assert_eq!(losses.began, Some(now));
    }

    #[test]
    fn a_prompt_that_was_served_just_before_loses_two_replicas_for_free() {
        let (quarantine, start) = (Quarantine::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let fingerprint = quarantine.fingerprint("ws_1", "a/b", b"monitor");
        quarantine.shared.served.add(fingerprint, after(1));
        quarantine.add(fingerprint, 2 * ALONE, after(2), after(2));
        assert!(!is_rejected(&quarantine, fingerprint, after(2)));
        quarantine.add(fingerprint, 2 * ALONE, after(3), after(3));
        assert!(is_rejected(&quarantine, fingerprint, after(3)), "it was not served since");
        let other = fingerprint ^ 1 << 40;
        quarantine.shared.served.add(other, after(1));
        quarantine.add(other, 2 * ALONE, after(90), after(90));
        assert!(is_rejected(&quarantine, other, after(90)), "served too long ago");
        quarantine.shared.served.add(other, after(1));
        quarantine.add(other + SERVED_PROMPTS as u64 * 64, 2 * ALONE, after(2), after(2));
        assert!(is_rejected(&quarantine, other + SERVED_PROMPTS as u64 * 64, after(2)), "another prompt in its place");
    }

    #[test]
    fn losses_more_than_a_minute_apart_do_not_add_up() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.add(1, ALONE, now, now);
        quarantine.add(1, ALONE, now + PERIOD, now + PERIOD);
        assert!(!is_rejected(&quarantine, 1, now + PERIOD));
        quarantine.sweep(now + 2 * PERIOD);
        assert!(quarantine.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_worst_are_kept() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.add(u64::MAX, 2 * ALONE, now, now);
        for fingerprint in 0..2 * MAX_SUSPECTS as u64 {
            quarantine.add(fingerprint, ALONE, now, now + Duration::from_secs(1));
        }
        assert_eq!(quarantine.shared.suspects.lock().len(), MAX_SUSPECTS);
        assert!(is_rejected(&quarantine, u64::MAX, now));
    }
}
