//! Calls whose clients left while a replica had their prompt, and calls whose replica reported an error.

use super::{Quarantine, WITH_OTHERS};
use crate::{Call, Dataplane};
use fleet::Backend;
use fleet::backend::Health;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Engines that refuse connections are down at once, and health probes notice the end of others within a few seconds.
const ABANDONED_FOR: Duration = Duration::from_secs(10);
/// The most abandoned calls of a workspace that are remembered; its oldest is forgotten first. More than the default
/// requests per minute, so that a client cannot hide a prompt behind others that it abandons.
const MAX_ABANDONED_PER_WORKSPACE: usize = 1024;
/// The bound of all workspaces together.
const MAX_ABANDONED: usize = 16 * MAX_ABANDONED_PER_WORKSPACE;
/// How often calls look whether replicas of abandoned calls are down.
const LOOK_PERIOD: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct AbandonedCalls {
    calls: Vec<AbandonedCall>,
    looked_at: Option<Instant>,
}

/// A call without a response whose replica had its prompt.
struct AbandonedCall {
    replica: Arc<Backend>,
    /// The fingerprint of the workspace.
    workspace: u64,
    /// The fingerprint of the workspace, the model and the prompt.
    prompt: u64,
    /// When its attempt began.
    began: Instant,
    left: Instant,
}

/// A running attempt. One that is dropped before it has ended was abandoned by its client, or its replica reported an error.
pub(crate) struct RunningAttempt<'a> {
    dataplane: &'a Dataplane,
    pub(crate) call: &'a Call,
    pub(crate) replica: &'a Arc<Backend>,
    pub(crate) began: Instant,
    /// The replica has the prompt of a side call. The tap does not know of it, because it costs nothing.
    was_written: AtomicBool,
    has_ended: AtomicBool,
}

impl RunningAttempt<'_> {
    pub(crate) fn side_call_was_written(&self) {
        self.was_written.store(true, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

impl Drop for RunningAttempt<'_> {
    fn drop(&mut self) {
        let was_written = *self.was_written.get_mut() || self.call.tap.is_prompt_sent();
        if *self.has_ended.get_mut() || !was_written {
            return;
        }
        let quarantine = &self.dataplane.quarantine;
        quarantine.abandon(AbandonedCall {
            replica: Arc::clone(self.replica),
            workspace: quarantine.workspace(self.call.caller.workspace.as_str()),
            prompt: self.dataplane.fingerprint(self.call),
            began: self.began,
            left: Instant::now(),
        });
    }
}

impl Quarantine {
    fn abandon(&self, call: AbandonedCall) {
        let calls = &mut self.shared.abandoned.lock().calls;
        let is_own = |other: &AbandonedCall| other.workspace == call.workspace;
        if calls.iter().filter(|other| is_own(other)).count() >= MAX_ABANDONED_PER_WORKSPACE {
            calls.extract_if(.., |other| is_own(other)).next();
        } else if calls.len() >= MAX_ABANDONED {
            calls.remove(0);
        }
        calls.push(call);
        self.shared.abandoned_count.store(calls.len(), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn has_abandoned(&self) -> bool {
        self.shared.abandoned_count.load(Ordering::Relaxed) > 0
    }

    /// Adds the losses of calls that were abandoned at replicas which are down now, unless this was looked for just before.
    /// The workspace has lost nothing: clients leave for many reasons, and find some replica restarting.
    pub(super) fn add_abandoned(&self, now: Instant) {
        let Some(mut abandoned) = self.shared.abandoned.try_lock() else { return };
        let AbandonedCalls { calls, looked_at } = &mut *abandoned;
        if looked_at.is_some_and(|at| now.saturating_duration_since(at) < LOOK_PERIOD) {
            return;
        }
        *looked_at = Some(now);
        let lost: Vec<AbandonedCall> = calls.extract_if(.., |call| call.replica.health() == Health::Down).collect();
        calls.retain(|call| now.saturating_duration_since(call.left) < ABANDONED_FOR);
        self.shared.abandoned_count.store(calls.len(), Ordering::Relaxed);
        drop(abandoned);
        for AbandonedCall { prompt, began, .. } in lost {
            self.add(prompt, WITH_OTHERS, began, now);
        }
    }
}

impl Dataplane {
    /// Marks an attempt that begins to run.
    pub(crate) fn running_attempt<'a>(
        &'a self,
        call: &'a Call,
        replica: &'a Arc<Backend>,
        began: Instant,
    ) -> RunningAttempt<'a> {
        let (was_written, has_ended) = (AtomicBool::default(), AtomicBool::default());
        RunningAttempt { dataplane: self, call, replica, began, was_written, has_ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quarantine::tests::is_rejected;
    use domain::model::Upstream;

    /// Not the number of a workspace.
    const PROMPT: u64 = u64::MAX;

    fn replica() -> Arc<Backend> {
        Arc::new(Backend::new("r", Upstream::plain("http://127.0.0.1:1/v1", "m")).unwrap())
    }

    fn abandoned(replica: &Arc<Backend>, workspace: u64, left: Instant) -> AbandonedCall {
        AbandonedCall { replica: Arc::clone(replica), workspace, prompt: PROMPT, began: left, left }
    }

    #[test]
    fn calls_whose_clients_left_are_lost_with_their_replica() {
        let (quarantine, replica, start) = (Quarantine::default(), replica(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        for round in 0..3 {
            quarantine.abandon(abandoned(&replica, 1, after(10 * round)));
            quarantine.add_abandoned(after(10 * round + 1));
            assert!(!is_rejected(&quarantine, PROMPT, after(10 * round + 1)), "{round}: the replica is up");
            replica.set_health(Health::Down);
            quarantine.add_abandoned(after(10 * round + 2));
            assert!(!quarantine.has_abandoned(), "{round}: it counts once");
            replica.set_health(Health::Up);
        }
        assert!(is_rejected(&quarantine, PROMPT, after(22)));
        assert_eq!(quarantine.remaining(|| 1, 1, after(22)), None, "the workspace has lost nothing");
    }

    #[test]
    fn few_abandoned_calls_are_remembered_and_not_for_long() {
        let (quarantine, replica, start) = (Quarantine::default(), replica(), Instant::now());
        for number in 0..MAX_ABANDONED + 100 {
            quarantine.abandon(abandoned(&replica, number as u64 / 100, start));
        }
        assert_eq!(quarantine.shared.abandoned.lock().calls.len(), MAX_ABANDONED);
        quarantine.sweep(start + ABANDONED_FOR);
        replica.set_health(Health::Down);
        quarantine.sweep(start + 2 * ABANDONED_FOR);
        assert!(!quarantine.has_abandoned() && quarantine.is_empty(), "the replica ended too late");
    }

    #[test]
    fn a_workspace_that_abandons_many_calls_hides_none_of_another() {
        let (quarantine, replica, now) = (Quarantine::default(), replica(), Instant::now());
        for workspace in [vec![1; 3], vec![2; 2 * MAX_ABANDONED_PER_WORKSPACE]].concat() {
            quarantine.abandon(abandoned(&replica, workspace, now));
        }
        let count = |workspace| {
            quarantine.shared.abandoned.lock().calls.iter().filter(|call| call.workspace == workspace).count()
        };
        assert_eq!((count(1), count(2)), (3, MAX_ABANDONED_PER_WORKSPACE));
    }
}
