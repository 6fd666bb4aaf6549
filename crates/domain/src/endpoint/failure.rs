//! Failed replicas: their classes, when the next start may be tried, and when the endpoint gives up.

use crate::named_enum;
use crate::time::Timestamp;

named_enum! {
    /// Why an endpoint failed permanently.
    pub enum FailureReason {
        WeightsMissing = "weights-missing",
        WeightsUnauthorized = "weights-unauthorized",
        ImageMissing = "image-missing",
        EngineRejectedConfig = "engine-rejected-config",
        CrashLoop = "crash-loop",
        StartTimeout = "start-timeout",
    }
}

impl FailureReason {
    pub const fn message(self) -> &'static str {
        match self {
            Self::WeightsMissing => "The model's weights were not found in three attempts.",
            Self::WeightsUnauthorized => "The model's weights could not be read: access was denied three times.",
            Self::ImageMissing => "The engine's image or program was not found in three attempts.",
            Self::EngineRejectedConfig => "The engine rejected its configuration in three attempts.",
            Self::CrashLoop => "The engine ended five times within 15 minutes.",
            Self::StartTimeout => "No replica became ready within 30 minutes of getting its GPUs.",
        }
    }
}

named_enum! {
    /// Why a single replica failed.
    pub enum FailureClass {
        WeightsMissing = "weights-missing",
        WeightsUnauthorized = "weights-unauthorized",
        ImageMissing = "image-missing",
        EngineRejectedConfig = "engine-rejected-config",
        OutOfMemory = "out-of-memory",
        /// Not ready within 30 minutes of getting its GPUs.
        StartTimeout = "start-timeout",
        Crash = "crash",
        /// Another program uses its ports; the next start takes others. Not counted as a failed start.
        PortTaken = "port-taken",
        /// The node or Pod was lost; not the engine's fault.
        NodeLost = "node-lost",
    }
}

impl FailureClass {
    /// After how many failures of this class the endpoint fails, and with which reason.
    const fn permanent_after(self) -> Option<(usize, FailureReason)> {
        match self {
            Self::WeightsMissing => Some((PERMANENT_AFTER, FailureReason::WeightsMissing)),
            Self::WeightsUnauthorized => Some((PERMANENT_AFTER, FailureReason::WeightsUnauthorized)),
            Self::ImageMissing => Some((PERMANENT_AFTER, FailureReason::ImageMissing)),
            Self::EngineRejectedConfig => Some((PERMANENT_AFTER, FailureReason::EngineRejectedConfig)),
            Self::StartTimeout => Some((1, FailureReason::StartTimeout)),
            Self::OutOfMemory | Self::Crash | Self::PortTaken | Self::NodeLost => None,
        }
    }

    /// Whether the engine is to blame, so that the failure counts towards a crash loop.
    const fn is_engine_fault(self) -> bool {
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
    pub class: FailureClass,
    /// Whether it had been ready.
    pub has_served: bool,
}

/// The decision after replicas failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Retry { not_before: Timestamp },
    GiveUp(FailureReason),
}

const PERMANENT_AFTER: usize = 3;
const CRASHES: usize = 5;
const CRASH_WINDOW_MILLIS: u64 = 15 * 60_000;
const START_TIMEOUT_MILLIS: u64 = 1_800_000;
const FIRST_BACKOFF_MILLIS: i64 = 10_000;
const MAX_BACKOFF_MILLIS: i64 = 300_000;
const PORT_BACKOFF_MILLIS: i64 = 1_000;

/// Decides what follows from the [recent exits](super::replica::recent_exits). An endpoint with a ready replica never gives up.
///
/// Example: after crashes at 0 s and 100 s the next start is at 120 s, since the backoff is 10 s and doubles. A fifth crash
/// within 15 minutes fails the endpoint, and so does a third start without weights.
pub fn after_exit(exits: &[Exit], any_ready: bool, now: Timestamp) -> Verdict {
    match permanent_failure(exits, now) {
        Some(reason) if !any_ready => Verdict::GiveUp(reason),
        Some(_) | None => Verdict::Retry { not_before: next_start(exits) },
    }
}

fn permanent_failure(exits: &[Exit], now: Timestamp) -> Option<FailureReason> {
    let is_enough = |exit: &Exit| {
        let (enough, reason) = exit.class.permanent_after()?;
        (exits.iter().filter(|other| other.class == exit.class).count() >= enough).then_some(reason)
    };
    let is_recent = |exit: &&Exit| exit.class.is_engine_fault() && now.millis_since(exit.at) < CRASH_WINDOW_MILLIS;
    let is_loop = || (exits.iter().filter(is_recent).count() >= CRASHES).then_some(FailureReason::CrashLoop);
    exits.iter().find_map(is_enough).or_else(is_loop)
}

fn next_start(exits: &[Exit]) -> Timestamp {
    let Some(last) = exits.last() else { return Timestamp::default() };
    let own_faults = exits.iter().filter(|exit| exit.class.is_engine_fault()).count();
    // A node that rejects every replica is not the engine's fault, but still needs a backoff.
    let is_rejected_by_node = |exit: &&Exit| exit.class == FailureClass::NodeLost && !exit.has_served;
    let rejected = exits.iter().rev().take_while(is_rejected_by_node).count();
    let failures = own_faults.max(rejected);
    let backoff = if last.class == FailureClass::PortTaken { PORT_BACKOFF_MILLIS } else { backoff_millis(failures) };
    last.at.plus_millis(backoff)
}

/// Whether a replica that got its GPUs at `bound_at` has exceeded the start timeout.
pub fn start_timed_out(bound_at: Timestamp, now: Timestamp) -> bool {
    now.millis_since(bound_at) >= START_TIMEOUT_MILLIS
}

/// 10 s, doubled with every failure, at most 300 s.
fn backoff_millis(failures: usize) -> i64 {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    (FIRST_BACKOFF_MILLIS << doublings).min(MAX_BACKOFF_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exits(seconds_and_classes: &[(i64, FailureClass)]) -> Vec<Exit> {
        let exit = |(seconds, class): &(i64, FailureClass)| Exit {
            at: Timestamp::from_millis(seconds * 1_000),
            class: *class,
            has_served: false,
        };
        seconds_and_classes.iter().map(exit).collect()
    }

    fn verdict(seconds_and_classes: &[(i64, FailureClass)]) -> Verdict {
        let exits = exits(seconds_and_classes);
        after_exit(&exits, false, exits.last().unwrap().at)
    }

    fn not_before(seconds: i64) -> Verdict {
        Verdict::Retry { not_before: Timestamp::from_millis(seconds * 1_000) }
    }

    #[test]
    fn the_backoff_grows_from_ten_seconds_to_five_minutes() {
        let backoffs: Vec<i64> = (1..=7).map(|failures| backoff_millis(failures) / 1_000).collect();
        assert_eq!(backoffs, [10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(verdict(&[(0, FailureClass::Crash), (100, FailureClass::OutOfMemory)]), not_before(120));
        assert_eq!(
            verdict(&[(0, FailureClass::Crash), (100, FailureClass::PortTaken)]),
            not_before(101),
            "other ports are free"
        );
        assert_eq!(verdict(&[(0, FailureClass::NodeLost)]), not_before(10));
        assert_eq!(after_exit(&[], false, Timestamp::from_millis(5)), not_before(0));
    }

    #[test]
    fn a_node_that_rejects_replicas_is_tried_less_and_less_often() {
        let rejected = exits(&[(0, FailureClass::Crash), (10, FailureClass::NodeLost), (20, FailureClass::NodeLost)]);
        assert_eq!(after_exit(&rejected, false, Timestamp::from_millis(20_000)), not_before(40));
        assert_eq!(verdict(&[0, 10, 30, 70].map(|second| (second, FailureClass::NodeLost))), not_before(150));
        let mut served = rejected;
        served.iter_mut().for_each(|exit| exit.has_served = true);
        assert_eq!(after_exit(&served, false, Timestamp::from_millis(20_000)), not_before(30), "they had been ready");
    }

    #[test]
    fn an_endpoint_never_gives_up_while_a_replica_serves() {
        let crashes = exits(&[0, 10, 20, 30, 40].map(|second| (second, FailureClass::Crash)));
        let now = Timestamp::from_millis(40_000);
        assert_eq!(after_exit(&crashes, false, now), Verdict::GiveUp(FailureReason::CrashLoop));
        assert_eq!(after_exit(&crashes, true, now), not_before(200), "and the backoff keeps growing");
    }

    #[test]
    fn one_start_timeout_is_enough() {
        assert_eq!(verdict(&[(1_800, FailureClass::StartTimeout)]), Verdict::GiveUp(FailureReason::StartTimeout));
    }

    #[test]
    fn a_failure_that_no_retry_can_fix_is_permanent_after_three_attempts() {
        for (class, reason) in [
            (FailureClass::WeightsMissing, FailureReason::WeightsMissing),
            (FailureClass::WeightsUnauthorized, FailureReason::WeightsUnauthorized),
            (FailureClass::ImageMissing, FailureReason::ImageMissing),
            (FailureClass::EngineRejectedConfig, FailureReason::EngineRejectedConfig),
        ] {
            assert!(matches!(verdict(&[(0, class), (10, class)]), Verdict::Retry { .. }));
            assert_eq!(verdict(&[(0, class), (10, class), (30, class)]), Verdict::GiveUp(reason));
        }
    }

    #[test]
    fn five_failures_within_fifteen_minutes_are_a_crash_loop_and_lost_nodes_are_not() {
        let every = |seconds: i64, class| (0..5).map(|n| (n * seconds, class)).collect::<Vec<_>>();
        assert_eq!(verdict(&every(200, FailureClass::Crash)), Verdict::GiveUp(FailureReason::CrashLoop));
        assert!(matches!(verdict(&every(225, FailureClass::Crash)), Verdict::Retry { .. }), "15 minutes are over");
        assert!(matches!(verdict(&every(10, FailureClass::NodeLost)), Verdict::Retry { .. }));
    }

    #[test]
    fn a_start_times_out_half_an_hour_after_binding() {
        let at = Timestamp::from_millis;
        assert!(!start_timed_out(at(0), at(1_799_999)));
        assert!(start_timed_out(at(0), at(1_800_000)));
    }
}
