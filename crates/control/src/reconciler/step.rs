//! The next thing to do for a replica: a plain function of its row and of what was seen.

use domain::Timestamp;
use domain::endpoint::failure::{self, FailureClass};
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use fleet::drivers::{Exit, Sighting};

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
    /// Others have asked it to end: it gets no calls, and another one takes its place.
    LetGo,
    /// There is nothing of it any more. Where nobody can say since when, it was over when it was last seen.
    Over {
        at: Option<Timestamp>,
        ending: Option<(FailureClass, String)>,
    },
}

/// `sighting` is nothing where this machine knows nothing of the replica.
pub(super) fn decide(replica: &Replica, sighting: Option<&Sighting>, now: Timestamp) -> Step {
    match (replica.intent, replica.state()) {
        (_, ReplicaState::Released | ReplicaState::Failed) => Step::Wait,
        (Intent::Run, ReplicaState::Pending) => Step::Wait, // for GPUs
        (Intent::Go, ReplicaState::Pending) => Step::Over { at: Some(now), ending: None },
        (Intent::Run, ReplicaState::Bound) if never_started(sighting) => Step::Start,
        (Intent::Run, _) => match sighting {
            Some(Sighting::Launching | Sighting::OutOfSight) => Step::Wait,
            Some(Sighting::Running(running)) if running.leaving => Step::LetGo,
            Some(Sighting::Running(_)) if starts_too_long(replica, now) => Step::Stop,
            Some(Sighting::Running(_)) => Step::Ask,
            Some(Sighting::Stray { .. }) => Step::Stop,
            Some(Sighting::Exited(exit)) => Step::Over { at: Some(exit.at), ending: Some(ending_of(replica, exit)) },
            Some(Sighting::Lost { last_seen }) => lost(*last_seen),
            None => lost(None),
        },
        (Intent::Go, state) => match sighting {
            Some(Sighting::Launching | Sighting::OutOfSight) => Step::Wait,
            Some(Sighting::Running(_)) if state == ReplicaState::Draining => Step::Drain,
            Some(Sighting::Running(_) | Sighting::Stray { .. }) => Step::Stop,
            Some(Sighting::Exited(exit)) => Step::Over { at: Some(exit.at), ending: None },
            Some(Sighting::Lost { last_seen }) => Step::Over { at: *last_seen, ending: None },
            None => Step::Over { at: None, ending: None },
        },
    }
}

/// Whoever wrote that it has its GPUs was ended before there was a process; perhaps its folder is there already.
const fn never_started(sighting: Option<&Sighting>) -> bool {
    matches!(sighting, None | Some(Sighting::Lost { last_seen: None }))
}

fn starts_too_long(replica: &Replica, now: Timestamp) -> bool {
    let starting =
        matches!(replica.state(), ReplicaState::Bound | ReplicaState::Starting) && replica.ready_at.is_none();
    starting && replica.started_at.is_some_and(|bound_at| failure::start_timed_out(bound_at, now))
}

fn lost(last_seen: Option<Timestamp>) -> Step {
    let ending = (FailureClass::NodeLost, "the replica's process is gone and left no word".to_owned());
    Step::Over { at: last_seen, ending: Some(ending) }
}

fn ending_of(replica: &Replica, exit: &Exit) -> (FailureClass, String) {
    match (&exit.failure, &replica.last_error) {
        (Some(failure), _) => (failure.class, failure.message.clone()),
        (None, _) if starts_too_long(replica, exit.at) => {
            (FailureClass::StartTimeout, "the replica was not ready within half an hour of getting its GPUs".to_owned())
        }
        // It was told to end, and why was written down before.
        (None, Some(why)) => (FailureClass::Crash, why.clone()),
        (None, None) => (FailureClass::Crash, "the replica was ended by somebody else".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, ReplicaId};
    use fleet::drivers::{Failure, Running};

    const NOW: Timestamp = Timestamp::from_millis(10_000_000);

    fn replica(intent: Intent, state: ReplicaState) -> Replica {
        let mut replica = Replica::new(ReplicaId::new(NOW, 1), EndpointId::new(NOW, 1), NOW).restored(state);
        (replica.intent, replica.started_at) = (intent, Some(NOW));
        (replica.node, replica.address) = (Some("node_1".into()), Some("127.0.0.1:1".into()));
        replica
    }

    fn running() -> Sighting {
        Sighting::Running(Running { pid: 1, started_at: NOW, draining_since: None, supervised: true, leaving: false })
    }

    fn leaving() -> Sighting {
        let Sighting::Running(running) = running() else { unreachable!() };
        Sighting::Running(Running { leaving: true, ..running })
    }

    fn exited(failure: Option<FailureClass>) -> Sighting {
        let failure = failure.map(|class| Failure { class, message: "why".into() });
        Sighting::Exited(Exit { started_at: None, at: Timestamp::from_millis(7), code: Some(1), signal: None, failure })
    }

    #[test]
    fn every_replica_has_its_next_thing() {
        use ReplicaState::{Bound, Draining, Pending, Ready, Starting};
        let over = |ending: Option<(FailureClass, &str)>| Step::Over {
            at: Some(Timestamp::from_millis(7)),
            ending: ending.map(|(ending, why)| (ending, why.to_owned())),
        };
        for (intent, state, sighting, expected) in [
            (Intent::Run, Pending, None, Step::Wait),
            (Intent::Go, Pending, None, Step::Over { at: Some(NOW), ending: None }),
            (Intent::Run, Bound, None, Step::Start),
            (Intent::Run, Bound, Some(Sighting::Lost { last_seen: None }), Step::Start),
            (Intent::Go, Bound, None, Step::Over { at: None, ending: None }),
            (Intent::Run, Bound, Some(running()), Step::Ask),
            (Intent::Run, Starting, Some(Sighting::Launching), Step::Wait),
            (Intent::Run, Ready, Some(Sighting::OutOfSight), Step::Wait),
            (Intent::Run, Ready, Some(leaving()), Step::LetGo),
            (Intent::Go, Draining, Some(leaving()), Step::Drain),
            (Intent::Go, Draining, Some(Sighting::OutOfSight), Step::Wait),
            (
                Intent::Run,
                Ready,
                Some(exited(Some(FailureClass::NodeLost))),
                over(Some((FailureClass::NodeLost, "why"))),
            ),
            (Intent::Run, Starting, Some(running()), Step::Ask),
            (
                Intent::Run,
                Ready,
                Some(exited(Some(FailureClass::OutOfMemory))),
                over(Some((FailureClass::OutOfMemory, "why"))),
            ),
            (
                Intent::Run,
                Starting,
                Some(exited(Some(FailureClass::PortTaken))),
                over(Some((FailureClass::PortTaken, "why"))),
            ),
            (Intent::Go, Draining, Some(running()), Step::Drain),
            (Intent::Go, Starting, Some(running()), Step::Stop),
            (Intent::Go, Draining, Some(exited(None)), over(None)),
            (Intent::Go, Draining, Some(exited(Some(FailureClass::Crash))), over(None)),
        ] {
            let found = decide(&replica(intent, state), sighting.as_ref(), NOW);
            assert_eq!(found, expected, "{intent:?} {state:?} {sighting:?}");
        }
    }

    #[test]
    fn what_left_no_word_was_lost_when_it_was_last_seen() {
        let seen = Sighting::Lost { last_seen: Some(Timestamp::from_millis(5)) };
        let step = decide(&replica(Intent::Run, ReplicaState::Ready), Some(&seen), NOW);
        assert!(
            matches!(step, Step::Over { at, ending: Some((FailureClass::NodeLost, _)) } if at == Some(Timestamp::from_millis(5))),
            "{step:?}"
        );
        let step = decide(&replica(Intent::Run, ReplicaState::Ready), None, NOW);
        assert!(matches!(step, Step::Over { at: None, ending: Some((FailureClass::NodeLost, _)) }), "{step:?}");
    }

    #[test]
    fn a_start_that_takes_too_long_is_stopped_and_a_slow_answer_later_is_not() {
        let later = NOW.plus_millis(1_800_000);
        assert_eq!(decide(&replica(Intent::Run, ReplicaState::Starting), Some(&running()), later), Step::Stop);
        let mut served = replica(Intent::Run, ReplicaState::Starting);
        served.ready_at = Some(NOW);
        assert_eq!(decide(&served, Some(&running()), later), Step::Ask);
    }

    #[test]
    fn the_end_of_one_that_was_told_to_end_says_whose_doing_it_was() {
        let ended = |replica: &Replica, at| {
            let exit = Exit { started_at: None, at, code: Some(0), signal: None, failure: None };
            match decide(replica, Some(&Sighting::Exited(exit)), at) {
                Step::Over { ending: Some((ending, why)), .. } => (ending, why),
                other => panic!("{other:?}"),
            }
        };
        let starting = replica(Intent::Run, ReplicaState::Starting);
        let (ending, why) = ended(&starting, NOW.plus_millis(1_800_000));
        assert_eq!((ending, why.contains("half an hour")), (FailureClass::StartTimeout, true));
        let mut ready = starting;
        ready.ready_at = Some(NOW);
        let (ending, why) = ended(&ready, NOW.plus_millis(1_800_000));
        assert_eq!((ending, why.contains("somebody else")), (FailureClass::Crash, true));
        ready.last_error = Some("it hangs".into());
        assert_eq!(ended(&ready, NOW), (FailureClass::Crash, "it hangs".to_owned()));
    }
}
