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
    /// Others have asked it to end: it gets no calls, and another one takes its place.
    LetGo,
    /// There is nothing of it any more. Where nobody can say since when, it was over when it was last seen.
    Over {
        at: Option<Timestamp>,
        ending: Option<(Ending, String)>,
    },
}

/// `sighting` is nothing where this machine knows nothing of the replica.
pub(super) fn decide(replica: &Replica, sighting: Option<&Sighting>, now: Timestamp) -> Step {
    match (replica.wish, replica.state) {
        (_, ReplicaState::Released | ReplicaState::Failed) => Step::Wait,
        (Wish::Run, ReplicaState::Pending) => Step::Wait, // for GPUs
        (Wish::Go, ReplicaState::Pending) => Step::Over { at: Some(now), ending: None },
        (Wish::Run, ReplicaState::Bound) if never_started(sighting) => Step::Start,
        (Wish::Run, _) => match sighting {
            Some(Sighting::Launching | Sighting::OutOfSight) => Step::Wait,
            Some(Sighting::Running(running)) if running.leaving => Step::LetGo,
            Some(Sighting::Running(_)) if starts_too_long(replica, now) => Step::Stop,
            Some(Sighting::Running(_)) => Step::Ask,
            Some(Sighting::Stray { .. }) => Step::Stop,
            Some(Sighting::Exited(exit)) => Step::Over { at: Some(exit.at), ending: Some(ending_of(replica, exit)) },
            Some(Sighting::Lost { last_seen }) => lost(*last_seen),
            None => lost(None),
        },
        (Wish::Go, state) => match sighting {
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
    let starting = matches!(replica.state, ReplicaState::Bound | ReplicaState::Starting) && replica.ready_at.is_none();
    starting && replica.started_at.is_some_and(|bound_at| failure::start_timed_out(bound_at, now))
}

fn lost(last_seen: Option<Timestamp>) -> Step {
    let ending = (Ending::NodeLost, "the replica's process is gone and left no word".to_owned());
    Step::Over { at: last_seen, ending: Some(ending) }
}

fn ending_of(replica: &Replica, exit: &Exit) -> (Ending, String) {
    match (&exit.failure, &replica.last_error) {
        (Some(failure), _) => (ending(failure.class), failure.message.clone()),
        (None, _) if starts_too_long(replica, exit.at) => {
            (Ending::StartTimeout, "the replica was not ready within half an hour of getting its GPUs".to_owned())
        }
        // It was told to end, and why was written down before.
        (None, Some(why)) => (Ending::Crash, why.clone()),
        (None, None) => (Ending::Crash, "the replica was ended by somebody else".to_owned()),
    }
}

const fn ending(class: FailureClass) -> Ending {
    match class {
        FailureClass::WeightsMissing => Ending::WeightsMissing,
        FailureClass::WeightsUnauthorized => Ending::WeightsUnauthorized,
        FailureClass::OutOfMemory => Ending::OutOfMemory,
        FailureClass::EngineRejectedConfig => Ending::EngineRejectedConfig,
        FailureClass::ImageMissing => Ending::ImageMissing,
        FailureClass::PortTaken => Ending::PortTaken,
        FailureClass::NodeLost => Ending::NodeLost,
        FailureClass::Crash => Ending::Crash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{EndpointId, ReplicaId};
    use fleet::drivers::{Failure, Running};

    const NOW: Timestamp = Timestamp::from_millis(10_000_000);

    fn replica(wish: Wish, state: ReplicaState) -> Replica {
        Replica {
            wish,
            state,
            node: Some("node_1".into()),
            address: Some("127.0.0.1:1".into()),
            started_at: Some(NOW),
            ..Replica::new(ReplicaId::new(NOW, 1), EndpointId::new(NOW, 1), NOW)
        }
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
        let over = |ending: Option<(Ending, &str)>| Step::Over {
            at: Some(Timestamp::from_millis(7)),
            ending: ending.map(|(ending, why)| (ending, why.to_owned())),
        };
        for (wish, state, sighting, expected) in [
            (Wish::Run, Pending, None, Step::Wait),
            (Wish::Go, Pending, None, Step::Over { at: Some(NOW), ending: None }),
            (Wish::Run, Bound, None, Step::Start),
            (Wish::Run, Bound, Some(Sighting::Lost { last_seen: None }), Step::Start),
            (Wish::Go, Bound, None, Step::Over { at: None, ending: None }),
            (Wish::Run, Bound, Some(running()), Step::Ask),
            (Wish::Run, Starting, Some(Sighting::Launching), Step::Wait),
            (Wish::Run, Ready, Some(Sighting::OutOfSight), Step::Wait),
            (Wish::Run, Ready, Some(leaving()), Step::LetGo),
            (Wish::Go, Draining, Some(leaving()), Step::Drain),
            (Wish::Go, Draining, Some(Sighting::OutOfSight), Step::Wait),
            (Wish::Run, Ready, Some(exited(Some(FailureClass::NodeLost))), over(Some((Ending::NodeLost, "why")))),
            (Wish::Run, Starting, Some(running()), Step::Ask),
            (Wish::Run, Ready, Some(exited(Some(FailureClass::OutOfMemory))), over(Some((Ending::OutOfMemory, "why")))),
            (Wish::Run, Starting, Some(exited(Some(FailureClass::PortTaken))), over(Some((Ending::PortTaken, "why")))),
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
        assert!(
            matches!(step, Step::Over { at, ending: Some((Ending::NodeLost, _)) } if at == Some(Timestamp::from_millis(5))),
            "{step:?}"
        );
        let step = decide(&replica(Wish::Run, ReplicaState::Ready), None, NOW);
        assert!(matches!(step, Step::Over { at: None, ending: Some((Ending::NodeLost, _)) }), "{step:?}");
    }

    #[test]
    fn a_start_that_takes_too_long_is_stopped_and_a_slow_answer_later_is_not() {
        let later = NOW.plus_millis(1_800_000);
        assert_eq!(decide(&replica(Wish::Run, ReplicaState::Starting), Some(&running()), later), Step::Stop);
        let served = Replica { ready_at: Some(NOW), ..replica(Wish::Run, ReplicaState::Starting) };
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
        let starting = replica(Wish::Run, ReplicaState::Starting);
        let (ending, why) = ended(&starting, NOW.plus_millis(1_800_000));
        assert_eq!((ending, why.contains("half an hour")), (Ending::StartTimeout, true));
        let ready = Replica { ready_at: Some(NOW), ..starting };
        let (ending, why) = ended(&ready, NOW.plus_millis(1_800_000));
        assert_eq!((ending, why.contains("somebody else")), (Ending::Crash, true));
        let unwell = Replica { last_error: Some("it hangs".into()), ..ready };
        assert_eq!(ended(&unwell, NOW), (Ending::Crash, "it hangs".to_owned()));
    }
}
