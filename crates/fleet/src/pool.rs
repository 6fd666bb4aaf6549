//! The replicas of one model, and the choice of one for a call.
//!
//! Every call goes to the replica with the least prompt work, see [`crate::routing`]. A pool of one replica skips all of it.

use crate::backend::{Backend, BackendId, Claim, Health};
use crate::breaker::Breaker;
use crate::pace::Pace;
use crate::queue::Queue;
use crate::routing::fingerprint::covered_bytes;
use crate::routing::policy::{Candidate, Cheapest};
use crate::routing::{Decisions, Fingerprint, Reason, TokenRatio};
use domain::capabilities::{Capabilities, CapabilitySet};
use domain::model::BatchShare;
use domain::{CallClass, named_enum};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

#[derive(Debug, Default)]
pub struct Pool {
    replicas: Vec<Arc<Backend>>,
    ratio: Arc<TokenRatio>,
    pace: Arc<Pace>,
    /// Bytes per token of whole prompts, for calls whose engine never counts them.
    prompt_ratio: Arc<TokenRatio>,
    decisions: Arc<Decisions>,
    /// Calls that wait for room.
    queue: Arc<Queue>,
    batch_share: BatchShare,
}

named_enum! {
    /// The availability of a model, from the health of its replicas.
    pub enum Availability {
        Available = "available",
        Degraded = "degraded",
        Unavailable = "unavailable",
    }
}

/// No replica can accept a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no replica can accept a call")]
pub struct PickError;

/// The place of one call at a replica, released on drop.
#[derive(Debug)]
pub struct Slot {
    replica: Arc<Backend>,
    class: CallClass,
    /// When it was taken.
    since: Instant,
    /// The call tests whether a failing replica has recovered.
    is_trial: bool,
    /// The uncached tokens of a prompt that counts as in flight.
    prefill: Option<u64>,
    /// `None` if the replica was not chosen among several.
    placement: Option<Placement>,
}

/// The replica that was chosen for a call.
struct ChosenReplica<'a> {
    candidate: Candidate<&'a Arc<Backend>>,
    reason: Reason,
    is_trial: bool,
}

/// The prompt of a call at a replica.
#[derive(Debug)]
struct Placement {
    bytes: u64,
    /// Estimated tokens that the replica has in its cache.
    cached: u64,
    ratio: Arc<TokenRatio>,
}

impl Slot {
    pub fn replica(&self) -> &Arc<Backend> {
        &self.replica
    }

    /// Tokens of the prompt that the replica probably has in its cache; `None` if it was not chosen among several.
    pub fn cached_estimate(&self) -> Option<u64> {
        self.placement.as_ref().map(|placement| placement.cached)
    }

    /// The first event of the response has arrived, so the prompt was processed.
    pub fn first_event(&mut self) {
        self.end_prefill();
        self.replica.first_event_after(|| self.since.elapsed());
    }

    fn end_prefill(&mut self) {
        if let Some(tokens) = self.prefill.take() {
            self.replica.prompt_load().end(tokens);
        }
    }

    /// Counts the prompt as in flight at a replica that was not chosen among several, where it was not counted before.
    pub fn count_prompt(&mut self, tokens: u64) {
        if self.placement.is_none() && self.prefill.is_none() {
            self.replica.prompt_load().begin(tokens);
            self.prefill = Some(tokens);
        }
    }

    /// Learns from the tokens that the engine counted in the prompt and, if it says so, found in its cache.
    pub fn learn(&self, prompt: u64, cached: Option<u64>) {
        if cached.is_some_and(|cached| cached > 0) {
            self.replica.note_cached();
        }
        let Some(placement) = &self.placement else { return };
        placement.ratio.learn(placement.bytes, prompt);
        if let Some(cached) = cached {
            self.replica.prompt_load().count_cached(placement.cached, cached);
            self.replica.prefixes(|prefixes| prefixes.learn(placement.cached, cached));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.end_prefill();
        if self.is_trial {
            self.replica.breaker(Breaker::undecided);
        }
        self.replica.leave(self.class);
    }
}

impl Pool {
    pub fn new(replicas: Vec<Arc<Backend>>) -> Self {
        Self::default().with(replicas)
    }

    /// A pool of a dedicated endpoint without replicas.
    pub(crate) fn of_endpoint() -> Self {
        Self { queue: Arc::new(Queue::of_endpoint()), ..Self::default() }
    }

    /// The same pool with these replicas, whose calls wake those that wait.
    fn with(self, replicas: Vec<Arc<Backend>>) -> Self {
        replicas.iter().for_each(|replica| replica.wakes(&self.queue));
        Self { replicas, ..self }
    }

    /// The same pool with this share for yielding calls.
    #[must_use]
    pub(crate) fn sharing(self, batch_share: BatchShare) -> Self {
        Self { batch_share, ..self }
    }

    /// A pool that replaces another one of the same model and keeps what that has learned.
    pub fn replacing(before: Option<&Self>, replicas: Vec<Arc<Backend>>) -> Self {
        let Some(before) = before else { return Self::new(replicas) };
        let Self { ratio, pace, prompt_ratio, decisions, queue, batch_share, replicas: _ } = before;
        let after = Self {
            replicas: Vec::new(),
            ratio: Arc::clone(ratio),
            pace: Arc::clone(pace),
            prompt_ratio: Arc::clone(prompt_ratio),
            decisions: Arc::clone(decisions),
            queue: Arc::clone(queue),
            batch_share: *batch_share,
        };
        after.with(replicas)
    }

    pub fn replicas(&self) -> &[Arc<Backend>] {
        &self.replicas
    }

    /// How fast the model writes.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How many bytes of a prompt make one token of the model.
    pub fn prompt_ratio(&self) -> &TokenRatio {
        &self.prompt_ratio
    }

    /// Why replicas were chosen so far.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Calls that wait for room.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Before the first call of the queue sleeps: whatever gives it room wakes it from now on. It must try once more after
    /// this.
    pub fn await_room(&self) {
        self.replicas.iter().for_each(|replica| replica.await_room());
        // Calls that end leave first and look for the mark then.
        fence(Ordering::SeqCst);
    }

    /// Whether calls that yield to interactive ones are in flight or wait.
    pub(crate) fn has_yielding_calls(&self) -> bool {
        !self.queue.is_empty() || self.replicas.iter().any(|replica| replica.yielding() > 0)
    }

    /// What its replicas can do together.
    pub fn capabilities(&self) -> Capabilities {
        let known: Vec<Arc<Capabilities>> = self.replicas.iter().map(|replica| replica.capabilities()).collect();
        Capabilities::of_all(known.iter().map(|one| &**one))
    }

    /// The part of `needed` that every replica lacks.
    pub fn lacking(&self, needed: CapabilitySet) -> CapabilitySet {
        let mut lacking = if self.replicas.is_empty() { CapabilitySet::EMPTY } else { needed };
        for replica in &self.replicas {
            // Nearly always after the first one.
            if lacking.is_empty() {
                break;
            }
            lacking = lacking.and(replica.missing_capabilities());
        }
        lacking
    }

    pub fn availability(&self) -> Availability {
        let up = self.replicas.iter().filter(|replica| replica.health() != Health::Down);
        let (mut reachable, mut healthy) = (0, 0);
        for replica in up {
            reachable += 1;
            healthy += usize::from(replica.breaker(|breaker| breaker.is_closed()));
        }
        match (reachable, healthy) {
            (0, _) => Availability::Unavailable,
            (_, healthy) if healthy == self.replicas.len() => Availability::Available,
            _ => Availability::Degraded,
        }
    }

    /// A slot at a replica with room for a call of this class, which has not `tried` it. `prompt` is called only if there are
    /// several replicas.
    pub fn pick<'a>(
        &self,
        class: CallClass,
        prompt: impl FnOnce() -> &'a Fingerprint,
        tried: &[BackendId],
        now: Instant,
    ) -> Result<Slot, PickError> {
        let claim = self.claim(class, now);
        let is_usable = |replica: &Arc<Backend>| {
            replica.health() != Health::Down && replica.has_room(claim) && !tried.contains(&replica.id)
        };
        if let [only] = &self.replicas[..] {
            // The breaker is ignored: without another replica, a bad response is better than none.
            if !is_usable(only) {
                return Err(PickError);
            }
            self.decisions.count(Reason::Only);
            return take(only, claim, false);
        }
        let prompt = prompt();
        // Another call may take the last slot at the chosen replica, which has no room in the next round.
        for _ in 0..self.replicas.len() {
            let choice = self.choose(prompt, is_usable, now).ok_or(PickError)?;
            if let Ok(slot) = self.place(&choice, claim, prompt) {
                self.decisions.count(choice.reason);
                return Ok(slot);
            }
        }
        Err(PickError)
    }

    /// The replica with the least prompt work, or one that is due for a trial.
    fn choose(
        &self,
        prompt: &Fingerprint,
        is_usable: impl Fn(&Arc<Backend>) -> bool,
        now: Instant,
    ) -> Option<ChosenReplica<'_>> {
        let tokens = self.ratio.tokens(prompt.bytes());
        let (mut closed, mut open) = (Cheapest::default(), Cheapest::default());
        for replica in self.replicas.iter().filter(|replica| is_usable(replica)) {
            let (is_closed, is_trial) = replica.breaker(|breaker| match breaker.is_closed() {
                true => (true, false),
                false => (false, breaker.admits(now)),
            });
            let candidate = self.candidate(replica, prompt, tokens);
            if is_trial {
                return Some(ChosenReplica { candidate, reason: Reason::LeastLoaded, is_trial });
            }
            if is_closed { &mut closed } else { &mut open }.offer(candidate, |below| fastrand::u32(..below));
        }
        // With every breaker open, a failing replica is better than none.
        let cheapest = if closed.is_empty() { open } else { closed };
        cheapest.take().map(|(candidate, reason)| ChosenReplica { candidate, reason, is_trial: false })
    }

    /// A slot for a request that generates nothing, at the suitable replica with the fewest calls. It leaves no prompt in
    /// the index of prefixes, which belongs to calls that fill caches, and takes no trial from them.
    pub fn pick_for_side_request(&self, is_suitable: impl Fn(&Backend) -> bool) -> Result<Slot, PickError> {
        let claim = self.claim(CallClass::Interactive, Instant::now());
        let suitable = self
            .replicas
            .iter()
            .filter(|replica| replica.health() != Health::Down && replica.has_room(claim) && is_suitable(replica));
        let best =
            suitable.min_by_key(|replica| (!replica.breaker(|breaker| breaker.is_closed()), replica.in_flight()));
        take(best.ok_or(PickError)?, claim, false)
    }

    fn claim(&self, class: CallClass, now: Instant) -> Claim {
        Claim { class, batch_share: self.batch_share, now }
    }

    fn candidate<'a>(
        &self,
        replica: &'a Arc<Backend>,
        prompt: &Fingerprint,
        tokens: u64,
    ) -> Candidate<&'a Arc<Backend>> {
        let (depth, has_session) = if prompt.hashes().is_empty() && prompt.session().is_none() {
            (0, false)
        } else {
            replica.prefixes(|prefixes| {
                let has_session = prompt.session().is_some_and(|session| prefixes.contains(session));
                (prefixes.depth_of(prompt.hashes()), has_session)
            })
        };
        let cached = self.ratio.tokens(covered_bytes(depth)).min(tokens);
        let load = replica.prompt_load();
        let (queued, running) = (load.queued_tokens(), load.running(replica.in_flight()));
        let (uncached, is_foreign) = (tokens - cached, load.is_foreign());
        Candidate { replica, queued, running, cached, uncached, has_session, is_foreign }
    }

    /// Takes the slot and records where the prompt is.
    fn place(&self, choice: &ChosenReplica<'_>, claim: Claim, prompt: &Fingerprint) -> Result<Slot, PickError> {
        let Candidate { replica, cached, uncached, .. } = choice.candidate;
        let mut slot = take(replica, claim, choice.is_trial)?;
        slot.count_prompt(uncached);
        slot.placement = Some(Placement { bytes: prompt.bytes(), cached, ratio: Arc::clone(&self.ratio) });
        if !prompt.hashes().is_empty() || prompt.session().is_some() {
            replica.prefixes(|prefixes| prefixes.place(prompt));
        }
        Ok(slot)
    }
}

fn take(replica: &Arc<Backend>, claim: Claim, is_trial: bool) -> Result<Slot, PickError> {
    if !replica.enter(claim) {
        // Another call was faster. Without a result, no further trial would ever be admitted.
        if is_trial {
            replica.breaker(Breaker::undecided);
        }
        return Err(PickError);
    }
    let Claim { class, batch_share: _, now: since } = claim;
    Ok(Slot { replica: Arc::clone(replica), class, since, is_trial, prefill: None, placement: None })
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
