//! Starts that fail: what may be tried again, when, and when to give up.

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
    Crash,
    /// The node went, the engine did nothing wrong.
    NodeLost,
}

impl Ending {
    pub const ALL: [Self; 7] = [
        Self::WeightsMissing,
        Self::WeightsUnauthorized,
        Self::ImageMissing,
        Self::EngineRejectedConfig,
        Self::OutOfMemory,
        Self::Crash,
        Self::NodeLost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WeightsMissing => "weights-missing",
            Self::WeightsUnauthorized => "weights-unauthorized",
            Self::ImageMissing => "image-missing",
            Self::EngineRejectedConfig => "engine-rejected-config",
            Self::OutOfMemory => "out-of-memory",
            Self::Crash => "crash",
            Self::NodeLost => "node-lost",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == text)
    }

    /// What three of the same kind mean.
    const fn hopeless_as(self) -> Option<FailureReason> {
        match self {
            Self::WeightsMissing => Some(FailureReason::WeightsMissing),
            Self::WeightsUnauthorized => Some(FailureReason::WeightsUnauthorized),
            Self::ImageMissing => Some(FailureReason::ImageMissing),
            Self::EngineRejectedConfig => Some(FailureReason::EngineRejectedConfig),
            Self::OutOfMemory | Self::Crash | Self::NodeLost => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub at: Timestamp,
    pub ending: Ending,
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
/// A replica that served so long has earned a fresh budget.
pub const HEALTHY_MILLIS: u64 = 10 * 60_000;

/// `exits` are those since the endpoint was started or last healthy for [`HEALTHY_MILLIS`], oldest first, at least one.
pub fn after_exit(exits: &[Exit], now: Timestamp) -> Verdict {
    let hopeless = exits.iter().filter_map(|exit| exit.ending.hopeless_as()).find(|reason| {
        exits.iter().filter(|exit| exit.ending.hopeless_as() == Some(*reason)).count() >= HOPELESS_AFTER
    });
    if let Some(reason) = hopeless {
        return Verdict::GiveUp(reason);
    }
    let own_fault = || exits.iter().filter(|exit| exit.ending != Ending::NodeLost);
    if own_fault().filter(|exit| now.millis_since(exit.at) < CRASH_WINDOW_MILLIS).count() >= CRASHES {
        return Verdict::GiveUp(FailureReason::CrashLoop);
    }
    let last = exits.last().map_or(now, |exit| exit.at);
    Verdict::StartAgain { not_before: last.plus_millis(pause_millis(own_fault().count())) }
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

    fn exits(seconds_and_endings: &[(i64, Ending)]) -> Vec<Exit> {
        let exit =
            |(seconds, ending): &(i64, Ending)| Exit { at: Timestamp::from_millis(seconds * 1_000), ending: *ending };
        seconds_and_endings.iter().map(exit).collect()
    }

    fn verdict(seconds_and_endings: &[(i64, Ending)]) -> Verdict {
        let exits = exits(seconds_and_endings);
        after_exit(&exits, exits.last().unwrap().at)
    }

    #[test]
    fn pauses_grow_from_ten_seconds_to_five_minutes() {
        let pauses: Vec<i64> = (1..=7).map(|failures| pause_millis(failures) / 1_000).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 300, 300]);
        let again = Verdict::StartAgain { not_before: Timestamp::from_millis(120_000) };
        assert_eq!(verdict(&[(0, Ending::Crash), (100, Ending::OutOfMemory)]), again);
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
