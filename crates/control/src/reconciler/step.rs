//! The next thing to do for a replica: a plain function of its row and of what was seen.

use domain::Timestamp;
use domain::endpoint::failure::{self, Ending};
use domain::endpoint::replica::{Replica, ReplicaState, Wish};
use fleet::drivers::{Exit, FailureClass, Sighting};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Wait,
    /// It has its GPUs and no process yet.
    Start,
    /// It runs: ask how it is.
    Ask,
    /// It runs and is to go: let it finish.
    Drain,
    Stop,
    /// There is nothing of it any more.
    Over {
        at: Timestamp,
        ending: Option<(Ending, String)>,
    },
}

/// `sighting` is nothing where this machine knows nothing of the replica.
pub(super) fn decide(replica: &Replica, sighting: Option<&Sighting>, now: Timestamp) -> Step {
    match (replica.wish, replica.state) {
        (_, ReplicaState::Released | ReplicaState::Failed) => Step::Wait,
        (Wish::Run, ReplicaState::Pending) => Step::Wait, // for GPUs
        (Wish::Go, ReplicaState::Pending) => Step::Over { at: now, ending: None },
        (Wish::Run, ReplicaState::Bound) if sighting.is_none() => Step::Start,
        (Wish::Run, _) => match sighting {
            Some(Sighting::Launching | Sighting::OutOfSight) => Step::Wait,
            Some(Sighting::Running(_)) if starts_too_long(replica, now) => Step::Stop,
            Some(Sighting::Running(_)) => Step::Ask,
            Some(Sighting::Stray { .. }) => Step::Stop,
            Some(Sighting::Exited(exit)) => Step::Over { at: exit.at, ending: Some(ending_of(exit)) },
            Some(Sighting::Lost { last_seen }) => lost(*last_seen, now),
            None => lost(None, now),
        },
        (Wish::Go, state) => match sighting {
            Some(Sighting::Launching | Sighting::OutOfSight) => Step::Wait,
            Some(Sighting::Running(_)) if state == ReplicaState::Draining => Step::Drain,
            Some(Sighting::Running(_) | Sighting::Stray { .. }) => Step::Stop,
            Some(Sighting::Exited(exit)) => Step::Over { at: exit.at, ending: None },
            Some(Sighting::Lost { last_seen }) => Step::Over { at: last_seen.unwrap_or(now), ending: None },
            None => Step::Over { at: now, ending: None },
        },
    }
}

fn starts_too_long(replica: &Replica, now: Timestamp) -> bool {
    let starting = matches!(replica.state, ReplicaState::Bound | ReplicaState::Starting) && replica.ready_at.is_none();
    starting && replica.started_at.is_some_and(|bound_at| failure::start_timed_out(bound_at, now))
}

fn lost(last_seen: Option<Timestamp>, now: Timestamp) -> Step {
    let ending = (Ending::NodeLost, "the replica's process is gone and left no word".to_owned());
    Step::Over { at: last_seen.unwrap_or(now), ending: Some(ending) }
}

fn ending_of(exit: &Exit) -> (Ending, String) {
    match &exit.failure {
        Some(failure) => (ending(failure.class), failure.message.clone()),
        // Nobody here asked it to end.
        None => (Ending::Crash, "the replica was ended by somebody else".to_owned()),
    }
}

const fn ending(class: FailureClass) -> Ending {
    match class {
        FailureClass::WeightsMissing => Ending::WeightsMissing,
        FailureClass::WeightsUnauthorized => Ending::WeightsUnauthorized,
        FailureClass::OutOfMemory => Ending::OutOfMemory,
        FailureClass::EngineRejectedConfig => Ending::EngineRejectedConfig,
        FailureClass::ImageMissing => Ending::ImageMissing,
        // Another program was faster: the machine's fault, not the engine's.
        FailureClass::PortTaken | FailureClass::NodeLost => Ending::NodeLost,
        FailureClass::Crash => Ending::Crash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::DriverKind;
    use domain::{EndpointId, ReplicaId};
    use fleet::drivers::{Failure, Running};

    const NOW: Timestamp = Timestamp::from_millis(10_000_000);

    fn replica(wish: Wish, state: ReplicaState) -> Replica {
        Replica {
            id: ReplicaId::new(NOW, 1),
            endpoint: EndpointId::new(NOW, 1),
            wish,
            drain_until: None,
            state,
            driver: DriverKind::Process,
            node: Some("node_1".into()),
            address: Some("127.0.0.1:1".into()),
            gpu_ids: Vec::new(),
            created_at: NOW,
            started_at: Some(NOW),
            ready_at: None,
            ended_at: None,
            last_error: None,
            ending: None,
            log_tail: String::new(),
        }
    }

    fn running() -> Sighting {
        Sighting::Running(Running { pid: 1, started_at: NOW, draining_since: None, supervised: true, leaving: false })
    }

    fn exited(failure: Option<FailureClass>) -> Sighting {
        let failure = failure.map(|class| Failure { class, message: "why".into() });
        Sighting::Exited(Exit { started_at: None, at: Timestamp::from_millis(7), code: Some(1), signal: None, failure })
    }

    #[test]
    fn every_replica_has_its_next_thing() {
        use ReplicaState::{Bound, Draining, Pending, Ready, Starting};
        let over = |ending: Option<(Ending, &str)>| Step::Over {
            at: Timestamp::from_millis(7),
            ending: ending.map(|(ending, why)| (ending, why.to_owned())),
        };
        for (wish, state, sighting, expected) in [
            (Wish::Run, Pending, None, Step::Wait),
            (Wish::Go, Pending, None, Step::Over { at: NOW, ending: None }),
            (Wish::Run, Bound, None, Step::Start),
            (Wish::Run, Bound, Some(running()), Step::Ask),
            (Wish::Run, Starting, Some(Sighting::Launching), Step::Wait),
            (Wish::Run, Starting, Some(running()), Step::Ask),
            (Wish::Run, Ready, Some(exited(Some(FailureClass::OutOfMemory))), over(Some((Ending::OutOfMemory, "why")))),
            (Wish::Run, Starting, Some(exited(Some(FailureClass::PortTaken))), over(Some((Ending::NodeLost, "why")))),
            (Wish::Go, Draining, Some(running()), Step::Drain),
            (Wish::Go, Starting, Some(running()), Step::Stop),
            (Wish::Go, Draining, Some(exited(None)), over(None)),
            (Wish::Go, Draining, Some(exited(Some(FailureClass::Crash))), over(None)),
        ] {
            let found = decide(&replica(wish, state), sighting.as_ref(), NOW);
            assert_eq!(found, expected, "{wish:?} {state:?} {sighting:?}");
        }
    }

    #[test]
    fn what_left_no_word_was_lost_when_it_was_last_seen() {
        let seen = Sighting::Lost { last_seen: Some(Timestamp::from_millis(5)) };
        let step = decide(&replica(Wish::Run, ReplicaState::Ready), Some(&seen), NOW);
        assert!(matches!(step, Step::Over { at, ending: Some((Ending::NodeLost, _)) } if at.millis() == 5), "{step:?}");
    }

    #[test]
    fn a_start_that_takes_too_long_is_stopped_and_a_slow_answer_later_is_not() {
        let later = NOW.plus_millis(1_800_000);
        assert_eq!(decide(&replica(Wish::Run, ReplicaState::Starting), Some(&running()), later), Step::Stop);
        let served = Replica { ready_at: Some(NOW), ..replica(Wish::Run, ReplicaState::Starting) };
        assert_eq!(decide(&served, Some(&running()), later), Step::Ask);
    }
}
