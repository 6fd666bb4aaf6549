//! Decides what a round does. Pure: all inputs are arguments, nothing is read or written.
//!
//! [`next_action`] advances one replica. [`plan`] then looks at the endpoint as a whole: its state, and the number of its
//! replicas. [`super::round::Round`] executes both.

use domain::endpoint::failure::{self, Exit, FailureClass, FailureReason, Verdict};
use domain::endpoint::replica::{Candidate, Intent, Replica, ReplicaState, pick_to_drain};
use domain::endpoint::state::{State, Trigger};
use domain::endpoint_load::Loads;
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::{self, Observation};

/// The next step of one replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplicaAction {
    Wait,
    /// It has GPUs and no process yet.
    Start,
    /// It runs: check its health.
    Probe,
    /// It runs and is to go: let it finish its calls.
    Drain,
    Stop,
    /// Something else is ending it, such as the eviction of its Pod: send it no more calls and replace it.
    Retire,
    /// Nothing of it is left. Without `at` it ended when it was last seen.
    End {
        at: Option<Timestamp>,
        failure: Option<(FailureClass, String)>,
    },
}

/// Decides the next step of a replica. `observation` is `None` if the driver has no trace of it.
pub(super) fn next_action(replica: &Replica, observation: Option<&Observation>, now: Timestamp) -> ReplicaAction {
    use ReplicaAction::{Drain, End, Probe, Retire, Start, Stop, Wait};
    match (replica.intent, replica.state()) {
        (_, ReplicaState::Released | ReplicaState::Failed) => Wait,
        (Intent::Run, ReplicaState::Pending) => Wait, // for GPUs
        (Intent::Remove, ReplicaState::Pending) => End { at: Some(now), failure: None },
        (Intent::Run, ReplicaState::Bound) if never_started(observation) => Start,
        (Intent::Run, _) => match observation {
            Some(Observation::Launching | Observation::Unreachable) => Wait,
            Some(Observation::Running(running)) if running.leaving => Retire,
            Some(Observation::Running(_)) if start_timed_out(replica, now) => Stop,
            Some(Observation::Running(_)) => Probe,
            Some(Observation::Stray { .. }) => Stop,
            Some(Observation::Exited(exit)) => End { at: Some(exit.at), failure: Some(failure_of(replica, exit)) },
            Some(Observation::Lost { last_seen }) => lost(*last_seen),
            None => lost(None),
        },
        (Intent::Remove, state) => match observation {
            Some(Observation::Launching | Observation::Unreachable) => Wait,
            Some(Observation::Running(_)) if state == ReplicaState::Draining => Drain,
            Some(Observation::Running(_) | Observation::Stray { .. }) => Stop,
            Some(Observation::Exited(exit)) => End { at: Some(exit.at), failure: None },
            Some(Observation::Lost { last_seen }) => End { at: *last_seen, failure: None },
            None => End { at: None, failure: None },
        },
    }
}

/// The leader that bound the replica died before it started a process, perhaps after it created the replica's folder.
const fn never_started(observation: Option<&Observation>) -> bool {
    matches!(observation, None | Some(Observation::Lost { last_seen: None }))
}

fn start_timed_out(replica: &Replica, now: Timestamp) -> bool {
    let starts = matches!(replica.state(), ReplicaState::Bound | ReplicaState::Starting) && replica.ready_at.is_none();
    starts && replica.started_at.is_some_and(|bound_at| failure::start_timed_out(bound_at, now))
}

fn lost(last_seen: Option<Timestamp>) -> ReplicaAction {
    let failure = (FailureClass::NodeLost, "the replica's process disappeared without an exit record".to_owned());
    ReplicaAction::End { at: last_seen, failure: Some(failure) }
}

fn failure_of(replica: &Replica, exit: &drivers::Exit) -> (FailureClass, String) {
    match (&exit.failure, &replica.last_error) {
        (Some(failure), _) => (failure.class, failure.message.clone()),
        (None, _) if start_timed_out(replica, exit.at) => {
            (FailureClass::StartTimeout, "the replica was not ready within half an hour of getting its GPUs".to_owned())
        }
        // We stopped it, and stored the reason before.
        (None, Some(reason)) => (FailureClass::Crash, reason.clone()),
        (None, None) => (FailureClass::Crash, "the replica was stopped from outside".to_owned()),
    }
}

/// A step of an endpoint as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EndpointAction {
    /// Apply a trigger to the endpoint's state machine.
    Apply(Trigger),
    /// Starts failed permanently.
    GiveUp(FailureReason),
    /// Drain these surplus replicas.
    Drain(Vec<ReplicaId>),
    /// Add this many replicas.
    Add(usize),
    /// Find GPUs for the pending replicas, including added ones, and start them.
    PlacePending,
}

/// Draining replicas to keep, because the endpoint needs them again: that saves a cold start.
pub(super) fn to_keep(endpoint: &Endpoint, replicas: &[Replica], now: Timestamp) -> Vec<ReplicaId> {
    let missing = (endpoint.status.desired as usize).saturating_sub(running(replicas));
    replicas.iter().filter(|replica| replica.may_stay(now)).take(missing).map(|replica| replica.id.clone()).collect()
}

/// Plans the steps of an endpoint after its replicas were advanced. `exits` are its recent failures; they may be empty if
/// [`needs_history`] returns false.
pub(super) fn plan(
    endpoint: &Endpoint,
    replicas: &[Replica],
    loads: Loads<'_>,
    exits: &[Exit],
    now: Timestamp,
) -> Vec<EndpointAction> {
    let trigger = trigger(endpoint, replicas, exits);
    if trigger == Some(Trigger::LastHoldReleased) {
        return vec![EndpointAction::Apply(Trigger::LastHoldReleased)];
    }
    let mut actions: Vec<EndpointAction> = trigger.map(EndpointAction::Apply).into_iter().collect();
    let number = reconcile_replica_count(endpoint, replicas, loads, exits, now);
    let stays_pending = |replica: &Replica| match &number {
        Some(EndpointAction::Drain(drained)) => is_pending(replica) && !drained.contains(&replica.id),
        _ => is_pending(replica),
    };
    let places = match &number {
        Some(EndpointAction::Add(_)) => true,
        Some(EndpointAction::GiveUp(_)) => false,
        _ => replicas.iter().any(stays_pending),
    };
    actions.extend(number);
    actions.extend(places.then_some(EndpointAction::PlacePending));
    actions
}

/// Whether the plan of the endpoint depends on its recently failed replicas.
pub(super) fn needs_history(endpoint: &Endpoint, replicas: &[Replica]) -> bool {
    let desired = endpoint.status.desired;
    let is_degraded = endpoint.state == State::Serving && serving(replicas) < desired;
    is_degraded || running(replicas) < desired as usize || replicas.iter().any(is_pending)
}

/// The trigger by which the endpoint's state follows its replicas.
fn trigger(endpoint: &Endpoint, replicas: &[Replica], exits: &[Exit]) -> Option<Trigger> {
    let (ready, desired) = (serving(replicas), endpoint.status.desired);
    match endpoint.state {
        State::Deleting if replicas.is_empty() => Some(Trigger::LastHoldReleased),
        State::Provisioning if ready > 0 => Some(Trigger::Ready),
        State::Serving if ready == 0 && desired > 0 => Some(Trigger::ReplicaLost { ready }),
        State::Serving if ready < desired && !exits.is_empty() => Some(Trigger::ReplicaLost { ready }),
        State::Serving if ready >= desired => Some(Trigger::Ready),
        State::Provisioning
        | State::Serving
        | State::ScaledToZero
        | State::Suspended
        | State::Failed
        | State::Deleting => None,
    }
}

fn reconcile_replica_count(
    endpoint: &Endpoint,
    replicas: &[Replica],
    loads: Loads<'_>,
    exits: &[Exit],
    now: Timestamp,
) -> Option<EndpointAction> {
    let (running, desired) = (running(replicas), endpoint.status.desired as usize);
    if running > desired {
        let candidate = |replica: &Replica| Candidate {
            id: replica.id.clone(),
            state: replica.state(),
            ready_at: replica.ready_at,
            in_flight: loads.in_flight(&replica.id),
        };
        let candidates: Vec<Candidate> =
            replicas.iter().filter(|one| one.intent == Intent::Run).map(candidate).collect();
        let drained = pick_to_drain(&candidates, running - desired, endpoint.scaling.windows.down_secs, now);
        return Some(EndpointAction::Drain(drained));
    }
    if running == desired {
        return None;
    }
    let any_ready = replicas.iter().any(|replica| replica.state() == ReplicaState::Ready);
    match failure::after_exit(exits, any_ready, now) {
        Verdict::GiveUp(reason) => Some(EndpointAction::GiveUp(reason)),
        Verdict::Retry { not_before } if not_before > now => None,
        Verdict::Retry { .. } => Some(EndpointAction::Add(desired - running)),
    }
}

fn running(replicas: &[Replica]) -> usize {
    replicas.iter().filter(|replica| replica.intent == Intent::Run).count()
}

fn serving(replicas: &[Replica]) -> u32 {
    u32::try_from(replicas.iter().filter(|replica| replica.is_serving()).count()).unwrap_or(u32::MAX)
}

/// Whether the replica waits for GPUs.
pub(super) fn is_pending(replica: &Replica) -> bool {
    replica.state() == ReplicaState::Pending && replica.intent == Intent::Run
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
