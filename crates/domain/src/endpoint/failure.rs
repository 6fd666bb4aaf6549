//! Starts that fail: what may be tried again, when, and when to give up.

use super::replica::Replica;
use crate::time::Timestamp;

/// Why an endpoint failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureReason {
    WeightsMissing,
    WeightsUnauthorized,
    ImageMissing,
    EngineRejectedConfig,
    CrashLoop,
    StartTimeout,
}

impl FailureReason {
    pub const ALL: [Self; 6] = [
        Self::WeightsMissing,
        Self::WeightsUnauthorized,
        Self::ImageMissing,
        Self::EngineRejectedConfig,
        Self::CrashLoop,
        Self::StartTimeout,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WeightsMissing => "weights-missing",
            Self::WeightsUnauthorized => "weights-unauthorized",
            Self::ImageMissing => "image-missing",
            Self::EngineRejectedConfig => "engine-rejected-config",
            Self::CrashLoop => "crash-loop",
            Self::StartTimeout => "start-timeout",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    pub const fn message(self) -> &'static str {
        match self {
            Self::WeightsMissing => "The model's weights were not found in three attempts.",
            Self::WeightsUnauthorized => "The model's weights could not be read: access was denied three times.",
            Self::ImageMissing => "The engine's image or program was not found in three attempts.",
            Self::EngineRejectedConfig => "The engine refused its configuration in three attempts.",
            Self::CrashLoop => "The engine ended five times within 15 minutes.",
            Self::StartTimeout => "No replica became ready within 30 minutes of getting its GPUs.",
        }
    }
}

/// How one replica ended when it should not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    WeightsMissing,
    WeightsUnauthorized,
    ImageMissing,
    EngineRejectedConfig,
    OutOfMemory,
    /// It had its GPUs for half an hour and was never ready.
    StartTimeout,
    Crash,
    /// Another program was faster at its ports; the next start takes others.
    PortTaken,
    /// The node went, the engine did nothing wrong.
    NodeLost,
}

impl Ending {
    pub const ALL: [Self; 9] = [
        Self::WeightsMissing,
        Self::WeightsUnauthorized,
        Self::ImageMissing,
        Self::EngineRejectedConfig,
        Self::OutOfMemory,
        Self::StartTimeout,
        Self::Crash,
        Self::PortTaken,
        Self::NodeLost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WeightsMissing => "weights-missing",
            Self::WeightsUnauthorized => "weights-unauthorized",
            Self::ImageMissing => "image-missing",
            Self::EngineRejectedConfig => "engine-rejected-config",
            Self::OutOfMemory => "out-of-memory",
            Self::StartTimeout => "start-timeout",
            Self::Crash => "crash",
            Self::PortTaken => "port-taken",
            Self::NodeLost => "node-lost",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == text)
    }

    /// What so many of the same kind mean.
    const fn hopeless_after(self) -> Option<(usize, FailureReason)> {
        match self {
            Self::WeightsMissing => Some((HOPELESS_AFTER, FailureReason::WeightsMissing)),
            Self::WeightsUnauthorized => Some((HOPELESS_AFTER, FailureReason::WeightsUnauthorized)),
            Self::ImageMissing => Some((HOPELESS_AFTER, FailureReason::ImageMissing)),
            Self::EngineRejectedConfig => Some((HOPELESS_AFTER, FailureReason::EngineRejectedConfig)),
            Self::StartTimeout => Some((1, FailureReason::StartTimeout)),
            Self::OutOfMemory | Self::Crash | Self::PortTaken | Self::NodeLost => None,
        }
    }

    /// Whether the engine could have done better.
    const fn is_own_fault(self) -> bool {
        match self {
            Self::WeightsMissing
            | Self::WeightsUnauthorized
            | Self::ImageMissing
            | Self::EngineRejectedConfig
            | Self::OutOfMemory
            | Self::StartTimeout
            | Self::Crash => true,
            Self::PortTaken | Self::NodeLost => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub at: Timestamp,
    pub ending: Ending,
    /// Whether it was ready before.
    pub has_served: bool,
}

/// What to do after a replica ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    StartAgain { not_before: Timestamp },
    GiveUp(FailureReason),
}

const HOPELESS_AFTER: usize = 3;
const CRASHES: usize = 5;
const CRASH_WINDOW_MILLIS: u64 = 15 * 60_000;
const START_TIMEOUT_MILLIS: u64 = 1_800_000;
const FIRST_PAUSE_MILLIS: i64 = 10_000;
const LONGEST_PAUSE_MILLIS: i64 = 300_000;
const PORT_PAUSE_MILLIS: i64 = 1_000;
/// A replica that served so long has earned a fresh budget.
const HEALTHY_MILLIS: i64 = 10 * 60_000;

/// The ends among these replicas that still count, oldest first: not those before somebody last asked for a start, nor
/// those before a replica had been healthy for ten minutes.
pub fn that_count(replicas: &[Replica], started_at: Timestamp, now: Timestamp) -> Vec<Exit> {
    let healthy_at = |replica: &Replica| {
        let healthy = replica.ready_at?.plus_millis(HEALTHY_MILLIS);
        (replica.ended_at.unwrap_or(now) >= healthy).then_some(healthy)
    };
    let since = replicas.iter().filter_map(healthy_at).max().map_or(started_at, |healed| healed.max(started_at));
    let exit = |replica: &Replica| {
        Some(Exit { at: replica.ended_at?, ending: replica.ending?, has_served: replica.ready_at.is_some() })
    };
    let mut exits: Vec<Exit> = replicas.iter().filter_map(exit).filter(|exit| exit.at >= since).collect();
    exits.sort_by_key(|exit| exit.at);
    exits
}

/// What follows from `exits`, those [`that_count`]. As long as a replica is ready nothing is given up.
pub fn after_exit(exits: &[Exit], any_ready: bool, now: Timestamp) -> Verdict {
    match hopeless(exits, now) {
        Some(reason) if !any_ready => Verdict::GiveUp(reason),
        Some(_) | None => Verdict::StartAgain { not_before: next_start(exits) },
    }
}

fn hopeless(exits: &[Exit], now: Timestamp) -> Option<FailureReason> {
    let is_enough = |exit: &Exit| {
        let (enough, reason) = exit.ending.hopeless_after()?;
        (exits.iter().filter(|other| other.ending == exit.ending).count() >= enough).then_some(reason)
    };
    let is_recent = |exit: &&Exit| exit.ending.is_own_fault() && now.millis_since(exit.at) < CRASH_WINDOW_MILLIS;
    let is_loop = || (exits.iter().filter(is_recent).count() >= CRASHES).then_some(FailureReason::CrashLoop);
    exits.iter().find_map(is_enough).or_else(is_loop)
}

fn next_start(exits: &[Exit]) -> Timestamp {
    let Some(last) = exits.last() else { return Timestamp::default() };
    let own_faults = exits.iter().filter(|exit| exit.ending.is_own_fault()).count();
    // A machine that takes no replica at all is nobody's fault, and is not asked without end either.
    let is_turned_away = |exit: &&Exit| exit.ending == Ending::NodeLost && !exit.has_served;
    let turned_away = exits.iter().rev().take_while(is_turned_away).count();
    let failures = own_faults.max(turned_away);
    let pause = if last.ending == Ending::PortTaken { PORT_PAUSE_MILLIS } else { pause_millis(failures) };
    last.at.plus_millis(pause)
}

/// Whether the start of a replica that has had its GPUs since `bound_at` takes too long.
pub fn start_timed_out(bound_at: Timestamp, now: Timestamp) -> bool {
    now.millis_since(bound_at) >= START_TIMEOUT_MILLIS
}

/// 10 s, doubled with every failure, up to 300 s.
fn pause_millis(failures: usize) -> i64 {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    (FIRST_PAUSE_MILLIS << doublings).min(LONGEST_PAUSE_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EndpointId, ReplicaId};

    fn exits(seconds_and_endings: &[(i64, Ending)]) -> Vec<Exit> {
        let exit = |(seconds, ending): &(i64, Ending)| Exit {
            at: Timestamp::from_millis(seconds * 1_000),
            ending: *ending,
            has_served: false,
        };
        seconds_and_endings.iter().map(exit).collect()
    }

    fn verdict(seconds_and_endings: &[(i64, Ending)]) -> Verdict {
        let exits = exits(seconds_and_endings);
        after_exit(&exits, false, exits.last().unwrap().at)
    }

    fn not_before(seconds: i64) -> Verdict {
        Verdict::StartAgain { not_before: Timestamp::from_millis(seconds * 1_000) }
    }

    #[test]
    fn pauses_grow_from_ten_seconds_to_five_minutes() {
        let pauses: Vec<i64> = (1..=7).map(|failures| pause_millis(failures) / 1_000).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(verdict(&[(0, Ending::Crash), (100, Ending::OutOfMemory)]), not_before(120));
        assert_eq!(verdict(&[(0, Ending::Crash), (100, Ending::PortTaken)]), not_before(101), "other ports are free");
        assert_eq!(verdict(&[(0, Ending::NodeLost)]), not_before(10));
        assert_eq!(after_exit(&[], false, Timestamp::from_millis(5)), not_before(0));
    }

    #[test]
    fn a_machine_that_turns_replicas_away_is_asked_less_and_less_often() {
        let turned_away = exits(&[(0, Ending::Crash), (10, Ending::NodeLost), (20, Ending::NodeLost)]);
        assert_eq!(after_exit(&turned_away, false, Timestamp::from_millis(20_000)), not_before(40));
        assert_eq!(verdict(&[0, 10, 30, 70].map(|second| (second, Ending::NodeLost))), not_before(150));
        let mut served = turned_away;
        served.iter_mut().for_each(|exit| exit.has_served = true);
        assert_eq!(after_exit(&served, false, Timestamp::from_millis(20_000)), not_before(30), "they had a place");
    }

    #[test]
    fn nothing_is_given_up_while_a_replica_serves() {
        let crashes = exits(&[0, 10, 20, 30, 40].map(|second| (second, Ending::Crash)));
        let now = Timestamp::from_millis(40_000);
        assert_eq!(after_exit(&crashes, false, now), Verdict::GiveUp(FailureReason::CrashLoop));
        assert_eq!(after_exit(&crashes, true, now), not_before(200), "and the pause grows on");
    }

    #[test]
    fn one_start_that_takes_too_long_is_enough() {
        assert_eq!(verdict(&[(1_800, Ending::StartTimeout)]), Verdict::GiveUp(FailureReason::StartTimeout));
    }

    #[test]
    fn a_start_that_was_asked_for_and_ten_good_minutes_give_a_fresh_budget() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let crashed = |seconds, ready: Option<i64>| {
            let ready_at = ready.map(at);
            let lived =
                Replica { ready_at, ..Replica::new(ReplicaId::new(at(0), 1), EndpointId::new(at(0), 1), at(0)) };
            Replica { ended_at: Some(at(seconds)), ending: Some(Ending::Crash), ..lived }
        };
        let serves_since = |seconds| Replica { ended_at: None, ending: None, ..crashed(0, Some(seconds)) };
        let seconds = |replicas: &[Replica], started, now| {
            that_count(replicas, at(started), at(now)).iter().map(|exit| exit.at.seconds()).collect::<Vec<_>>()
        };
        let three = [crashed(200, None), crashed(100, None), crashed(300, None)];
        assert_eq!(seconds(&three, 0, 400), [100, 200, 300], "in the order of their ends");
        assert_eq!(seconds(&three, 200, 400), [200, 300], "a retry forgets what was before it");
        let healed = [crashed(100, None), crashed(1_000, Some(200)), crashed(1_500, Some(1_200))];
        assert_eq!(seconds(&healed, 0, 2_000), [1_000, 1_500], "its ten minutes were over at 800");
        assert_eq!(seconds(&[crashed(100, None), serves_since(200)], 0, 799), [100]);
        assert_eq!(seconds(&[crashed(100, None), serves_since(200)], 0, 800), [0; 0]);
    }

    #[test]
    fn what_no_attempt_can_mend_is_given_up_after_three() {
        for (ending, reason) in [
            (Ending::WeightsMissing, FailureReason::WeightsMissing),
            (Ending::WeightsUnauthorized, FailureReason::WeightsUnauthorized),
            (Ending::ImageMissing, FailureReason::ImageMissing),
            (Ending::EngineRejectedConfig, FailureReason::EngineRejectedConfig),
        ] {
            assert!(matches!(verdict(&[(0, ending), (10, ending)]), Verdict::StartAgain { .. }));
            assert_eq!(verdict(&[(0, ending), (10, ending), (30, ending)]), Verdict::GiveUp(reason));
        }
    }

    #[test]
    fn five_ends_within_fifteen_minutes_are_a_loop_and_lost_nodes_are_not() {
        let every = |seconds: i64, ending| (0..5).map(|n| (n * seconds, ending)).collect::<Vec<_>>();
        assert_eq!(verdict(&every(200, Ending::Crash)), Verdict::GiveUp(FailureReason::CrashLoop));
        assert!(matches!(verdict(&every(225, Ending::Crash)), Verdict::StartAgain { .. }), "15 minutes are over");
        assert!(matches!(verdict(&every(10, Ending::NodeLost)), Verdict::StartAgain { .. }));
    }

    #[test]
    fn a_start_has_half_an_hour_from_its_gpus() {
        let at = Timestamp::from_millis;
        assert!(!start_timed_out(at(0), at(1_799_999)));
        assert!(start_timed_out(at(0), at(1_800_000)));
    }
}
