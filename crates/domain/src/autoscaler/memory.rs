//! The autoscaler's state of one endpoint between ticks. It is stored, so it survives restarts.

use crate::autoscaler::Notice;
use crate::endpoint::scaling::Milli;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

const MEAN_MILLIS: i64 = 60_000;
/// No window is longer than this.
const KEPT_MILLIS: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    samples: Vec<(i64, Milli)>,
    up: Lows,
    recommended: Highs,
    panic_until: Option<i64>,
    missing_since: Option<i64>,
    #[serde(rename = "toldMissing")]
    reported_missing: bool,
}

/// For how long the metric has been missing, and whether to report it now.
pub(super) struct Missing {
    pub(super) millis: u64,
    pub(super) notice: Option<Notice>,
}

impl Memory {
    /// A fresh memory. The current number counts as recommended now, so nothing shrinks for one window.
    pub fn seeded(current: u32, now: Timestamp) -> Self {
        let mut memory = Self {
            samples: Vec::new(),
            up: Lows::default(),
            recommended: Highs::default(),
            panic_until: None,
            missing_since: None,
            reported_missing: false,
        };
        memory.recommend_up(current, now);
        memory.recommend(current, now);
        memory
    }

    /// Adds a load to those of the last minute.
    pub(super) fn sample(&mut self, load: Milli, now: Timestamp) -> Mean {
        self.samples.retain(|(at, _)| *at > now.millis() - MEAN_MILLIS && *at < now.millis());
        self.samples.push((now.millis(), load));
        Mean {
            sum: self.samples.iter().map(|(_, load)| load).sum(),
            count: u64::try_from(self.samples.len()).unwrap_or(1),
        }
    }

    pub(super) fn recommend_up(&mut self, replicas: u32, now: Timestamp) {
        self.up.push(replicas, now.millis());
    }

    pub(super) fn recommend(&mut self, replicas: u32, now: Timestamp) {
        self.recommended.push(replicas, now.millis());
    }

    pub(super) fn least_up(&self, secs: u32, now: Timestamp) -> u32 {
        self.up.least(now.millis() - i64::from(secs) * 1_000)
    }

    pub(super) fn most_recommended(&self, secs: u32, now: Timestamp) -> u32 {
        self.recommended.most(now.millis() - i64::from(secs) * 1_000)
    }

    pub(super) fn panic_until(&mut self, until: Timestamp) {
        self.panic_until = Some(until.millis());
    }

    pub(super) fn is_panicking(&self, now: Timestamp) -> bool {
        self.panic_until.is_some_and(|until| now.millis() < until)
    }

    pub(super) fn metric_is_missing(&mut self, now: Timestamp) -> Missing {
        let since = *self.missing_since.get_or_insert(now.millis());
        let millis = now.millis_since(Timestamp::from_millis(since));
        let is_new = millis > super::MISSING_TOO_LONG_MILLIS && !self.reported_missing;
        self.reported_missing |= is_new;
        Missing { millis, notice: is_new.then_some(Notice::MetricsMissing) }
    }

    pub(super) fn metric_is_back(&mut self) -> Option<Notice> {
        self.missing_since = None;
        std::mem::take(&mut self.reported_missing).then_some(Notice::MetricsRecovered)
    }
}

/// The mean load of the last minute, as a fraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mean {
    sum: Milli,
    count: u64,
}

impl Mean {
    pub(super) fn replicas(self, target: Milli) -> u64 {
        self.sum.div_ceil(self.count * target)
    }

    /// A load exactly ten per cent off is within the tolerance.
    pub(super) fn is_within_tolerance_of(self, target: Milli, replicas: u32) -> bool {
        let aim = target * u64::from(replicas) * self.count;
        self.sum.abs_diff(aim) * 10 <= aim
    }

    pub(super) fn per_replica(self, replicas: u32) -> Milli {
        self.sum / (self.count * u64::from(replicas.max(1)))
    }
}

/// Sliding-window maximum. A number followed by a greater one can never be the maximum again and is dropped, so the kept
/// numbers fall towards the newest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Highs(Vec<(i64, u32)>);

impl Highs {
    fn push(&mut self, number: u32, at: i64) {
        self.0.retain(|(then, kept)| *kept > number && *then > at - KEPT_MILLIS);
        self.0.push((at, number));
    }

    /// The maximum after `since`; at least the newest number.
    fn most(&self, since: i64) -> u32 {
        first_after(&self.0, since)
    }
}

/// Sliding-window minimum; the kept numbers rise towards the newest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Lows(Vec<(i64, u32)>);

impl Lows {
    fn push(&mut self, number: u32, at: i64) {
        self.0.retain(|(then, kept)| *kept < number && *then > at - KEPT_MILLIS);
        self.0.push((at, number));
    }

    fn least(&self, since: i64) -> u32 {
        first_after(&self.0, since)
    }
}

/// The oldest number inside the window, which is its extreme.
fn first_after(kept: &[(i64, u32)], since: i64) -> u32 {
    let inside = kept.iter().find(|(at, _)| *at > since).or(kept.last());
    inside.map_or(0, |(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_extremes_of_every_window_are_those_of_the_full_history(
            numbers in prop::collection::vec(0..6_u32, 1..60), since in -5..70_i64,
        ) {
            let (mut highs, mut lows) = (Highs::default(), Lows::default());
            for (at, number) in (0..).zip(&numbers) {
                highs.push(*number, at);
                lows.push(*number, at);
            }
            let newest = numbers.last().copied().unwrap();
            let inside = (0..).zip(&numbers).filter(|(at, _)| *at > since).map(|(_, number)| *number);
            prop_assert_eq!(highs.most(since), inside.clone().max().unwrap_or(newest));
            prop_assert_eq!(lows.least(since), inside.min().unwrap_or(newest));
        }
    }
}
